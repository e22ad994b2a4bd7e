"""Questions with their gold evidence, as they are labelled: nothing is looked up yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from steelyard.base.errors import DuplicateError, InputError, quoted
from steelyard.base.short_repr import plural
from steelyard.data.question import Question, parse_question
from steelyard.data.question_files import beir_questions, dataset_file, placed_questions, read_lines
from steelyard.data.truth import Truth
from steelyard.io.formats import TruthFile
from steelyard.io.objects import truth_from_dict
from steelyard.io.retrieved_items import content_id
from steelyard.io.source import Source, source_of


class Questions(Sequence[Question]):
    """A dataset: questions with gold evidence.

    Make one with `Questions.read(path)`, where path is JSONL, JSON (a list, columns, or texts by their ids), rows of
    other tools, one question a line of plain text, lines of id, tab and text, a folder that holds one of these as
    `questions`, or a BEIR folder, whose judged documents become document gold; or with `Questions(data)`.

    data     dicts of the shape of a line, texts alone, columns, a frame, or questions that were parsed already
    source   the file that the digest is of; None for one of the questions themselves
    unjudged ids of further questions of a BEIR folder, which have no gold: they are neither asked nor weighed
    Raises   InputError, DuplicateError naming file and line.
    """

    def __init__(self, data: object, *, name: str = "questions", source: Source | None = None) -> None:
        questions = [
            line if isinstance(line, Question) else parse_question(line, where)
            for where, line in placed_questions(data, name)
        ]
        if not questions:
            where = name if source is None else source.name
            raise InputError(f"{where}: holds no question; expected one JSON object a line with `qid` and `query`")
        first: dict[str, Question] = {}
        for question in questions:
            if question.query_id in first:
                raise DuplicateError(
                    f"{question.where}: question {_name(question)} is listed already, in "
                    f"{first[question.query_id].where}; rename or remove one"
                )
            first[question.query_id] = question
        self.name = name
        self.unjudged: Sequence[str] = ()
        self._questions = questions
        self._source = source

    @classmethod
    def read(cls, path: str | Path | Source) -> Questions:
        """Read a file of questions in any form, a folder with one, or a BEIR folder."""
        file = path if isinstance(path, Source) else dataset_file(path)
        if file is None:
            folder = Path(cast("str | Path", path))
            judged, unjudged = beir_questions(folder)
            questions = cls(judged, name=folder.name)
            questions.unjudged = unjudged
            return questions
        source = source_of(file)
        lines = (parse_question(line, where) for where, line in read_lines(source))
        return cls(lines, name=source.stem, source=source)

    @classmethod
    def of(cls, questions: Iterable[Question], *, name: str = "questions") -> Questions:
        """Questions that are there already, for instance some of a larger set."""
        return cls(questions, name=name)

    def restricted(self, query_ids: Collection[str]) -> Questions:
        """Some of the questions; the digest stays that of all."""
        some = Questions.of((question for question in self if question.query_id in query_ids), name=self.name)
        some.unjudged, some.digest = self.unjudged, self.digest  # type: ignore[method-assign]
        return some

    def __len__(self) -> int:
        return len(self._questions)

    def __getitem__(self, index: Any) -> Any:
        return self._questions[index]

    def __repr__(self) -> str:
        pieces = plural(self.n_pieces, "piece")
        return f"Questions({self.name!r}: {plural(len(self), 'question')}, {pieces} of evidence)"

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
                    "has ids alone; give texts or offsets in the run, or the chunks of the corpus (--documents)"
                )
        frame, name = truth_from_dict(labels, self.name), self.name
        return Truth(TruthFile(name, lambda: frame, lambda query, doc: name, self.digest))


def _name(question: Question) -> str:
    """A question as messages call it: by its id, or by its text where it is called after that."""
    of_text = question.query is not None and question.query_id == content_id(question.query)
    return quoted(question.query) if of_text else repr(question.query_id)


class LateQuestions(Mapping[str, Question]):
    """Questions by id, read when the first of them is asked for: few commands need more than their labels.

    is_open   whether the file has been read for its labels, and its first bytes are at hand
    """

    def __init__(self, source: Source, *, is_open: bool = False) -> None:
        self._source, self._is_open = source, is_open

    @cached_property
    def _by_id(self) -> dict[str, Question]:
        by_id: dict[str, Question] = {}
        for where, line in read_lines(self._source):
            question = parse_question(line, where)
            by_id.setdefault(question.query_id, question)
        return by_id

    def mentions(self, key: str) -> bool:
        """True if the first bytes of a file that is open hold a key, so that it is worth reading."""
        return self._is_open and f'"{key}"'.encode() in self._source.head

    def __getitem__(self, query_id: str) -> Question:
        return self._by_id[query_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __len__(self) -> int:
        return len(self._by_id)
