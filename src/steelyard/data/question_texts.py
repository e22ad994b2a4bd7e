"""Questions in plain text: one a line, or lines of an id, a tab and a text; files of other kinds are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.io.json_files import QUERY_KEYS, QUERY_TEXT_KEYS
from steelyard.io.source import BARE_RETURN, NOT_UTF8, Source, has_bare_return

_FORMS = (
    "questions are JSONL, JSON (a list of objects, or columns), one question a line of plain text (.txt), or lines of "
    "id, tab and text"
)
_SUFFIXES = ("", ".txt", ".text", ".tsv")
"""Files that may hold a question a line; lines of id, tab and text may be in any."""
_CONTROL = re.compile("[\0-\x06\x0e-\x1a\x1c-\x1f]")
_ROW = re.compile(r"\S+\s+Q?0\s+\S+\s+-?\d+(\s+-?[\d.]+(e-?\d+)?\s+\S.*)?", re.IGNORECASE)
"""A row of TREC: of a run where it has a score, else of qrels."""
_ENDS = ("?", "？", "؟")
_N_SEEN = 20
"""Lines by which a file is recognised."""
_NAMES = {*QUERY_KEYS, *QUERY_TEXT_KEYS, "answer", "gold_answer", "reference"}


def looks_asked(source: Source, format: str) -> bool:
    """Whether the first lines of a file are questions as they are written, and no labels: these have numbers."""
    if format != "trec" or source.suffix not in _SUFFIXES:
        return False
    beginning = [line.strip() for line in source.head.decode("utf-8", "replace").split("\n")[:_N_SEEN]]
    lines = [line for line in beginning if line and not line.startswith("#")]
    n_asked = sum(line.endswith(_ENDS) for line in lines)
    return 2 * n_asked > len(lines) or (bool(lines) and not any(map(str.isdigit, "".join(lines))))


def text_lines(source: Source, format: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Questions of a text, each with where it is.

    Raises   InputError for a file that is no such text, saying what it is, and for a line that is unlike the others.
    """
    if format not in ("trec", "csv", "tsv"):
        raise InputError(f"{source.name}: is {format}; {_FORMS}")
    lines = [(number, line.strip()) for number, line in enumerate(_text(source).split("\n"), 1) if line.strip()]
    tabbed = any("\t" in line for _, line in lines)
    if other := lines and _other_kind([line for _, line in lines[:_N_SEEN]], source.suffix, format, tabbed=tabbed):
        raise InputError(f"{source.name}: {other}; {_FORMS}")
    for number, line in lines:
        where = f"{source.name}, line {number}"
        if not tabbed:
            yield where, {"query": line}
            continue
        query_id, *texts = (cell.strip() for cell in line.split("\t"))
        if len(texts) != 1:
            raise InputError(f"{where}: must be an id, a tab and a text, not {quoted(line)}")
        if not _is_header([query_id, *texts]):
            yield where, {"query_id": query_id, "query": texts[0]}


def _text(source: Source) -> str:
    data = source.read()
    if has_bare_return(data):
        raise InputError(f"{source.name}: {BARE_RETURN}")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source.name}: byte {data[error.start]:#04x} at {error.start} is not UTF-8; {NOT_UTF8}"
        ) from None
    if binary := _CONTROL.search(text):
        raise InputError(f"{source.name}: is no text (byte {ord(binary[0]):#04x} at {binary.start()}); {_FORMS}")
    return text


def _other_kind(lines: Sequence[str], suffix: str, format: str, *, tabbed: bool) -> str | None:
    """What a text is that holds no questions, as half a sentence; None of one that may."""
    first = lines[0]
    marks = [mark for mark in "\t,;" if mark in first and _names_columns(first.lower().split(mark))]
    if format != "trec" or (marks and not (tabbed and _is_header(first.split("\t")))):
        return f"is a table ({quoted(first)})"
    if first.startswith("<"):
        return f"is HTML or XML ({quoted(first)})"
    if all(_ROW.fullmatch(line) for line in lines):
        return f"holds rows of TREC ({quoted(first)})"
    if suffix not in _SUFFIXES and not tabbed:
        return f"is called {suffix}"
    odd = next((line for line in lines if not tabbed and not any(map(str.isalpha, line))), None)
    return None if odd is None else f"has a line without a letter ({quoted(odd)})"


def _names_columns(cells: Sequence[str]) -> bool:
    """Whether these are names of columns, some of which questions have."""
    names = {cell.strip('"') for cell in cells}
    return not _NAMES.isdisjoint(names) and all(re.fullmatch(r"[\w-]+", name) for name in names)


def _is_header(cells: Sequence[str]) -> bool:
    """Whether cells are the names of the columns of id and text."""
    query_id, *texts = (cell.lower().replace("-", "_") for cell in cells)
    return query_id in QUERY_KEYS and len(texts) == 1 and texts[0] in (*QUERY_TEXT_KEYS, "text")
