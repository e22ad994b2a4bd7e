"""Files of questions: which one a path means, BEIR folders, and lines of id and text."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.data.pieces import Piece
from steelyard.data.question import Question, answer_fields
from steelyard.data.truth import Truth
from steelyard.io.json_files import json_lines
from steelyard.io.objects import text_id
from steelyard.io.source import Source


def dataset_file(path: str | Path) -> Path | None:
    """The JSONL file of a dataset, or None for a BEIR folder.

    Raises   InputError for a folder that is neither.
    """
    path = Path(path)
    if str(path) == "-" or not os.path.isdir(path):
        return path
    for name in ("questions.jsonl", "questions.jsonl.gz", "questions.jsonl.zst"):
        if (path / name).is_file():
            return path / name
    if (path / "qrels").is_dir():
        return None
    raise InputError(f"{path}: is no dataset; it has neither questions.jsonl nor qrels/*.tsv")


def beir_questions(folder: Path) -> tuple[list[Question], list[str]]:
    """Questions of a BEIR folder: every judged document is gold, or judged not to be, as a whole and by its id.

    Returns  the questions, and ids of the queries that no document is judged for: of another split as a rule
    """
    truth = Truth.read(folder, format="beir")
    pieces: dict[str, list[Piece]] = {query_id: [] for query_id in truth.query_ids}
    labels = dict(zip(truth.query_ids, truth.labels, strict=True))
    for query_id, doc_id, gain in truth.frame.drop_nulls().iter_rows():
        pieces[query_id].append(Piece("document", gain, doc=doc_id))
    file = beir_queries_file(folder)
    if file is None:
        raise InputError(f"{folder}: has no queries.jsonl beside its qrels")

    def question(query_id: str, text: str | None, where: str, line: Mapping[str, Any]) -> Question:
        gold = pieces[query_id]
        of_answers = answer_fields(line, where, has_gold=any(piece.gain > 0 for piece in gold))
        return Question(query_id, text, evidence=tuple(gold), labels=labels[query_id], where=where, **of_answers)

    questions, unjudged = list[Question](), list[str]()
    for where, query_id, line in beir_queries(Source(file)):
        if query_id in pieces:
            questions.append(question(query_id, line["text"], where, line))
        else:
            unjudged.append(query_id)
    without_text = sorted(pieces.keys() - {question.query_id for question in questions})
    return [*questions, *(question(query_id, None, str(folder), {}) for query_id in without_text)], unjudged


def beir_queries_file(folder: Path) -> Path | None:
    """The file of queries of a BEIR folder; None for a folder without one."""
    files = (folder / f"queries.jsonl{end}" for end in ("", ".gz", ".zst"))
    return next((file for file in files if file.is_file()), None)


def beir_queries(source: Source) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Place (file and line), id and line, which has a `text`, of each query of a BEIR file.

    Raises   InputError naming a line without them.
    """
    for number, line in json_lines(source):
        where = f"{source.name}, line {number}"
        if "_id" not in line or not isinstance(line.get("text"), str):
            raise InputError(f"{where}: must have `_id` and `text` (keys: {', '.join(line) or 'none'})")
        yield where, text_id(line["_id"], where, "`_id`"), line


def tabbed_questions(source: Source) -> Iterator[Question]:
    """Questions of lines that are an id, a tab and a text.

    Raises   InputError naming another line.
    """
    for number, line in enumerate(source.read().decode("utf-8-sig", "replace").splitlines(), 1):
        where = f"{source.name}, line {number}"
        query_id, tab, text = line.partition("\t")
        if not line.strip():
            continue
        if not tab:
            raise InputError(f"{where}: must be an id, a tab and a text, not {quoted(line)}")
        yield Question(text_id(query_id.strip(), where, "the id"), text.strip(), where=where)
