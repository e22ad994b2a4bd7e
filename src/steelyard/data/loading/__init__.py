"""Documents from files and folders: text, Markdown, HTML, JSONL, PDF and BEIR."""

from steelyard.data.loading.files import KINDS, Loaded, beir_corpus, load, read_texts

__all__ = ["KINDS", "Loaded", "beir_corpus", "load", "read_texts"]
