"""Questions with their gold evidence, as they are labelled: nothing is looked up yet."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from steelyard.base.errors import DuplicateError, InputError, quoted
from steelyard.data.question import Question, answer_fields, parse_question
from steelyard.data.question_files import beir_queries, beir_questions, dataset_file, tabbed_questions
from steelyard.data.truth import Truth
from steelyard.io import formats
from steelyard.io.evaluation_lines import question_lines
from steelyard.io.evaluation_rows import holds_rows, read_rows, rows_of
from steelyard.io.json_files import json_lines
from steelyard.io.source import Source, source_of


class Questions(Sequence[Question]):
    """A dataset: questions with gold evidence.

    Make one with `Questions.read(path)`, where path is a JSONL file, a folder that holds `questions.jsonl`, or a BEIR
    folder, whose judged documents become document gold; or with `Questions(dicts)`, one dict a question.

    lines    dicts of the shape of a line, or questions that were parsed already
    source   the file that the digest is of; None for one of the questions themselves
    unjudged ids of further queries of a BEIR folder, which have no gold: they are neither asked nor weighed
    Raises   InputError, DuplicateError naming file and line.
    """

    def __init__(
        self, lines: Iterable[Mapping[str, Any] | Question], *, name: str = "questions", source: Source | None = None
    ) -> None:
        rows = rows_of(lines)
        if rows is not None:
            placed = ((f"{name}, question {number}", row) for number, row in enumerate(rows, 1))
            lines = (parse_question(line, where) for where, line in question_lines(placed))
        if not isinstance(lines, Iterable):
            raise InputError(
                f"{name}: cannot be read from {type(lines).__name__}; pass dicts with `qid` and `query`, or "
                "Questions.read(path)"
            )
        questions = [
            line if isinstance(line, Question) else parse_question(*_fields(line, f"{name}, question {number}"))
            for number, line in enumerate(lines, 1)
        ]
        if not questions:
            where = name if source is None else source.name
            raise InputError(f"{where}: holds no question; expected one JSON object a line with `qid` and `query`")
        first: dict[str, Question] = {}
        for question in questions:
            if question.query_id in first:
                raise DuplicateError(
                    f"{question.where}: question {question.query_id!r} is listed already, in "
                    f"{first[question.query_id].where}; rename or remove one"
                )
            first[question.query_id] = question
        self.name = name
        self.unjudged: Sequence[str] = ()
        self._questions = questions
        self._source = source

    @classmethod
    def read(cls, path: str | Path | Source) -> Questions:
        """Read a JSONL file, a folder with questions.jsonl, or a BEIR folder."""
        file = path if isinstance(path, Source) else dataset_file(path)
        if file is None:
            folder = Path(cast("str | Path", path))
            judged, unjudged = beir_questions(folder)
            questions = cls(judged, name=folder.name)
            questions.unjudged = unjudged
            return questions
        source = source_of(file)
        lines = (parse_question(line, where) for where, line in _placed_lines(source))
        return cls(lines, name=source.stem, source=source)

    @classmethod
    def of(cls, questions: Iterable[Question], *, name: str = "questions") -> Questions:
        """Questions that are there already, for instance some of a larger set."""
        return cls(questions, name=name)

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, index: Any) -> Any:
        return self._questions[index]

    def __repr__(self) -> str:
        return f"Questions({self.name!r}: {len(self)} questions, {self.n_pieces} pieces of evidence)"

    @cached_property
    def n_pieces(self) -> int:
        """Pieces of evidence, those named by chunk id left aside."""
        return sum(len(question.evidence) for question in self._questions)

    def digest(self) -> str:
        """A fingerprint of the file, or of the questions."""
        if self._source is not None:
            return self._source.digest()
        import hashlib

        of_answers = [question.of_answers for question in self._questions if question.of_answers]
        facts = repr(self._questions) + (repr(of_answers) if of_answers else "")
        return "sha256:" + hashlib.sha256(facts.encode()).hexdigest()

    def truth(self) -> Truth:
        """The labels by id alone, for runs that hold nothing but ids.

        Raises   InputError naming a question that has only evidence.
        """
        labels = {question.query_id: question.labels_by_id for question in self._questions}
        for question in self._questions:
            if question.evidence and not labels[question.query_id]:
                raise InputError(
                    f"{question.where}: question {question.query_id!r} has evidence but no chunk ids, and the run "
                    "has ids alone; give texts or offsets in the run, or the chunks of the corpus (--corpus)"
                )
        return Truth(labels, name=self.name)


def _fields(line: object, where: str) -> tuple[dict[str, Any], str]:
    """The keys of a question, and where it is."""
    if not isinstance(line, Mapping):
        raise InputError(
            f"{where}: {quoted(line)} is no dict with `qid` and `query`; where these are labels, give them names "
            "(query_id, doc_id, gain) in a frame or in named tuples"
        )
    return dict(line), where


def _placed_lines(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    """Lines of questions of a file, each with where it is."""
    format = formats.sniff(source)
    if holds_rows(source, format):
        return question_lines(read_rows(source, format))
    return ((f"{source.name}, line {number}", line) for number, line in json_lines(source))


class LateQuestions(Mapping[str, Question]):
    """Questions by id, read when the first of them is asked for: few commands need the texts of queries."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _by_id(self) -> dict[str, Question]:
        return {question.query_id: question for question in read_queries(self._path)}

    def __getitem__(self, query_id: str) -> Question:
        return self._by_id[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)


def read_queries(path: str | Path) -> Questions:
    """Texts and tags of queries: questions in JSONL, BEIR's queries.jsonl, or lines of id, tab and text.

    Raises   InputError, DuplicateError naming file and line.
    """
    if os.path.isdir(path):
        return Questions.read(path)
    source = Source(path)
    format = formats.sniff(source)
    if holds_rows(source, format):
        return Questions.read(source)
    if format != "jsonl":
        return Questions.of(tabbed_questions(source), name=source.stem)
    source.hold()
    _, first = next(json_lines(source), (0, {}))
    if not {"_id", "text"} <= first.keys():
        return Questions.read(source)
    questions = (
        Question(query_id, line["text"], where=where, **answer_fields(line, where, has_gold=False))
        for where, query_id, line in beir_queries(source)
    )
    return Questions.of(questions, name=source.stem)
