"""Which format a file is written in: the one that is named, or that of its suffix."""

from __future__ import annotations

from pathlib import Path

from steelyard.io.source import strip_compression

_BY_SUFFIX = {".html": "html", ".htm": "html", ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex",
              ".xml": "junit"}  # fmt: skip


def format_of(output: str | Path | None, format: str | None) -> str:
    """The format that is named, else the one that belongs to the output's suffix, else a table."""
    name = strip_compression(str(output or ""))[0]
    return format or ("parts" if name.endswith(".parts.json") else _BY_SUFFIX.get(Path(name).suffix, "table"))
