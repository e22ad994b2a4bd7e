"""Documents from files and folders: text, Markdown, HTML, JSONL, PDF and BEIR."""

from steelyard.data.loading.files import KINDS, Loaded, load

__all__ = ["KINDS", "Loaded", "load"]
