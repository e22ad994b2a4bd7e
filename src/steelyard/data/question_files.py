"""Files and objects that hold questions, in any form, plain text too: each as lines of ours, with where they are."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

from steelyard.base.errors import InputError, quoted
from steelyard.base.schema import COLUMN_NAMES
from steelyard.data.pieces import Piece
from steelyard.data.question import Question, parse_question
from steelyard.data.truth import Truth
from steelyard.io import formats
from steelyard.io.evaluation_lines import question_lines
from steelyard.io.evaluation_rows import columns_of, holds_rows, read_rows, rows_of, rows_of_columns
from steelyard.io.json_files import (
    LABEL_KEYS,
    QUERY_KEYS,
    QUERY_TEXT_KEYS,
    json_lines,
    parse_json,
    query_id_of,
    query_text_key,
)
from steelyard.io.retrieved_items import answer_of, result_key
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
    """True if the first lines of a file are questions as they are written, and no labels: these have numbers."""
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
    """Kind of a text that holds no questions, as half a sentence; None of one that may."""
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
    """True if these are names of columns, some of which questions have."""
    names = {cell.strip('"') for cell in cells}
    return not _NAMES.isdisjoint(names) and all(re.fullmatch(r"[\w-]+", name) for name in names)


def _is_header(cells: Sequence[str]) -> bool:
    """True if cells are the names of the columns of id and text."""
    query_id, *texts = (cell.lower().replace("-", "_") for cell in cells)
    return query_id in QUERY_KEYS and len(texts) == 1 and texts[0] in (*QUERY_TEXT_KEYS, "text")


Placed = tuple[str, dict[str, Any]]
"""Where a question is, for messages, and its line."""

_LISTS = ("questions", "queries", "data")
"""Keys of an object that hold the questions of a whole dataset, first choice first."""
_MORE = (b'"query"', b'"question"', b'"user_input"', b'"input"', b'"answer', b'"gold_answer', b'"nuggets"', b'"tags"')
_ENDINGS = ("", ".gz", ".zst")

_QUESTIONS = re.compile(
    rb'\A\[\s*[{"]|"(?:%s)"\s*:\s*[\["]|"(?:%s)"\s*:\s*\[\s*\{'
    % ("|".join(QUERY_TEXT_KEYS).encode(), "|".join(_LISTS).encode())
)
"""What JSON has that maps no question to documents: a list of objects or texts, or the key of a text or of a list."""


def questions_file(folder: Path) -> Path | None:
    """The file of questions of a folder; None for one without."""
    files = (folder / f"questions{kind}{end}" for kind in (".jsonl", ".json", ".txt") for end in _ENDINGS)
    return next((file for file in files if file.is_file()), None)


def dataset_file(path: str | Path) -> Path | None:
    """The file of questions that a path means, or None for a BEIR folder.

    Raises   InputError for a folder that is neither.
    """
    path = Path(path)
    if str(path) == "-" or not os.path.isdir(path):
        return path
    file = questions_file(path)
    if file is None and not (path / "qrels").is_dir():
        raise InputError(f"{path}: is no dataset; it has neither questions.jsonl nor qrels/*.tsv")
    return file


def read_lines(source: Source) -> Iterator[Placed]:
    """Questions of a file, whatever its form; none of one that is empty.

    Raises   InputError naming the line, and for a file that is of another kind.
    """
    if (traces := formats.open_traces(source)) is not None:
        return iter(traces.lines)
    format = question_format(source)
    if holds_rows(source, format):
        return question_lines(read_rows(source, format))
    if format == "jsonl":
        return ((f"{source.name}, line {number}", line) for number, line in json_lines(source))
    if not source.head.strip():
        return iter(())
    if format == "json":
        return placed_questions(parse_json(source.read(), source.name), source.name)
    return text_lines(source, format)


def question_format(source: Source) -> str:
    """The format of a file; what JSON has begun with goes before its suffix."""
    format = formats.sniff(source)
    if format in ("json", "jsonl") and not holds_rows(source, format):
        by_content = formats.format_of(source.head, "")
        if source.head.lstrip().startswith(b"[") or by_content == "jsonl":
            return by_content
    return format


def holds_questions(source: Source, format: str) -> bool:
    """True if a file that is not JSONL has questions, rather than judged documents, by its first bytes."""
    if formats.holds_traces(source):
        return True
    if format == "json" and not holds_rows(source, format):
        return _QUESTIONS.search(source.head.lstrip()) is not None
    return holds_rows(source, format) or looks_asked(source, format)


def holds_other_gold(source: Source, first: Mapping[str, Any]) -> bool:
    """True if lines of JSONL have evidence, or are questions without any gold, by the first one and all bytes.

    Lines with what a system retrieved and answered to a question are questions, too; without an answer they are a run.
    """
    if any(b'"evidence"' in block for block in source.blocks()):
        return True
    if query_text_key(first) is None or (result_key(first) is not None and answer_of(first) is None):
        return False
    marks = [f'"{key}"'.encode() for key in ("gold_evidence", *LABEL_KEYS)]
    return not any(mark in block for block in source.blocks() for mark in marks)


def says_more(source: Source) -> bool:
    """True if JSONL with labels has texts, tags or answers of its questions, too."""
    return any(mark in block for block in source.blocks() for mark in _MORE)


def are_questions(data: Any) -> bool:
    """True if an object in memory is questions, rather than judged documents."""
    if names := columns_of(data):
        return not {*QUERY_TEXT_KEYS}.isdisjoint(names) and {*COLUMN_NAMES["doc_id"]}.isdisjoint(names)
    if isinstance(data, Mapping):
        return any(isinstance(data.get(key), str) for key in QUERY_TEXT_KEYS) or _whole(data) is not None
    return isinstance(data, list | tuple) or rows_of(data) is not None


def _whole(data: Mapping[Any, Any]) -> Any:
    """The list of objects that is all of a dataset; None of an object without one."""
    listed = (data.get(key) for key in _LISTS)
    return next((rows for rows in listed if isinstance(rows, list) and rows and isinstance(rows[0], Mapping)), None)


def placed_questions(data: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Questions of an object, such as the value of a JSON file: a list, columns, or texts by their ids.

    Raises   InputError for what is none of these.
    """
    rows = rows_of(data)
    listed = enumerate(_listed(data, name) if rows is None else rows, 1)
    placed = ((f"{name}, question {number}", line) for number, line in listed)
    if rows is not None:
        return question_lines(placed)
    return ((where, line if isinstance(line, Question) else _fields(line, where)) for where, line in placed)


def _listed(data: Any, name: str) -> Iterable[Any]:
    if columns_of(data):
        return rows_of_columns(data, name)
    if isinstance(data, Mapping):
        if whole := _whole(data):
            return cast("list[Any]", whole)
        if any(isinstance(data.get(key), str) for key in QUERY_TEXT_KEYS):
            return [data]
        if all(isinstance(text, str) for text in data.values()):
            return [{"query_id": query_id, "query": text} for query_id, text in data.items()]
        raise InputError(
            f"{name}: is an object with the keys {', '.join(map(str, islice(data, 5)))}; questions are a list of "
            'objects with `query`, or columns: {"query": [...], "gold_answer": [...]}'
        )
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InputError(
            f"{name}: cannot be read from {type(data).__name__}; pass dicts with `qid` and `query`, or "
            "Questions.read(path)"
        )
    return data


def _fields(line: object, where: str) -> dict[str, Any]:
    """The keys of a question; a text is one that has nothing else."""
    if isinstance(line, str) and line.strip():
        return {"query": line}
    if not isinstance(line, Mapping):
        raise InputError(
            f"{where}: {quoted(line)} is no dict with `qid` and `query`; where these are labels, give them names "
            "(query_id, doc_id, gain) in a frame or in named tuples"
        )
    return dict(line)


def beir_questions(folder: Path) -> tuple[list[Question], list[str]]:
    """Questions of a BEIR folder: every judged document is gold, or judged not to be, as a whole and by its id.

    Returns  the questions, and ids of the queries that no document is judged for: of another split as a rule
    """
    truth = Truth.read(folder, format="beir")
    labels = dict(zip(truth.query_ids, truth.labels, strict=True))
    pieces: dict[str, list[Piece]] = {query_id: [] for query_id in truth.query_ids}
    for query_id, doc_id, gain in truth.frame.drop_nulls().iter_rows():
        pieces[query_id].append(Piece("document", gain, doc=doc_id))
    file = beir_queries_file(folder)
    if file is None:
        raise InputError(f"{folder}: has no queries.jsonl beside its qrels")

    def question(line: dict[str, Any], query_id: str, where: str) -> Question:
        judged = {**line, "evidence": None, "gold_evidence": None, "rel_map": labels[query_id]}
        return replace(parse_question(judged, where), evidence=tuple(pieces[query_id]))

    lines = [(query_id_of(line, where), line, where) for where, line in read_lines(Source(file))]
    questions = [question(line, query_id, where) for query_id, line, where in lines if query_id in pieces]
    without_text = sorted(pieces.keys() - {query_id for query_id, _, _ in lines})
    questions += [question({"query_id": query_id}, query_id, str(folder)) for query_id in without_text]
    return questions, [query_id for query_id, _, _ in lines if query_id not in pieces]


def beir_queries_file(folder: Path) -> Path | None:
    """The file of queries of a BEIR folder; None for a folder without one."""
    files = (folder / f"queries.jsonl{end}" for end in _ENDINGS)
    return next((file for file in files if file.is_file()), None)
