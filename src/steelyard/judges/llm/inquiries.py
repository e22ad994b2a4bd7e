"""Cases that a model is asked about together: one call about all chunks of a context, one that compares two answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal

from steelyard.base.choices import AskBy, Language
from steelyard.judges.llm.asking import ModelRequest, numbered_items
from steelyard.judges.llm.evidence import Ids, Statement
from steelyard.judges.llm.replies import ReplyEntries
from steelyard.judges.llm.tasks import COMPARISON, FACT, OF_ANSWER, OF_REFERENCE, RELEVANCE, VERDICTS, WHOLE, Task
from steelyard.judges.verdict import Case, Verdict, VerdictTable
from steelyard.services.models.chat import Items
from steelyard.services.prices import estimate_tokens

Kind = Literal["chunks", "gold_chunks", "whole", "comparison"]
_KINDS: Mapping[VerdictTable, Kind] = {
    "support": "chunks", "grounded": "chunks", "joint": "chunks", "reach": "gold_chunks", "correctness": "comparison",
    "said": "comparison", "nuggets": "comparison", "relevance": "comparison", "context_relevance": "chunks",
}  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What all inquiries of one judge share.

    ask_by        which cases are asked together
    chunk_tokens  of chunks that one call has at most, as an estimate; one chunk is never cut
    language      of the prompt for some texts
    """

    ask_by: AskBy
    chunk_tokens: int
    language: Callable[..., Language]


@dataclass(frozen=True, eq=False)
class Inquiry:
    """Cases that are asked together.

    places   of the cases, among all that are asked
    epoch    which of several samples of the same
    """

    places: Sequence[int]
    cases: Sequence[Case]
    epoch: int
    asked: Asked

    def requests(self) -> list[ModelRequest[Any]]:
        """What is asked first."""
        raise NotImplementedError

    def looks(self) -> list[ModelRequest[Any]]:
        """What is asked then, where the first replies leave something open."""
        return []

    def rows(self) -> list[list[Verdict]]:
        """The verdicts on each case, by all that was taken in."""
        rows = []
        for case in self.cases:
            texts, lines = self._ids(case), map(partial(self._line, case), _statements(case))
            rows.append([self._verdict(case, texts, self.statements[line]) for line in lines])
        return rows

    def take(self, request: ModelRequest[Any], result: ReplyEntries[Any]) -> None:
        """Take in what the model said."""
        shown = frozenset(
            text_id for value in request.texts.values() if not isinstance(value, str) for text_id, _ in value
        )
        for line in request.ids:
            if line in result.values:
                self.statements[line].read.append(result.values[line])
            else:
                self.statements[line].failed.append((shown, result.causes[line]))

    @cached_property
    def language(self) -> Language:
        """The language of the prompt."""
        return self.asked.language(*(text for case in self.cases for text in case.hypotheses))

    @cached_property
    def lines(self) -> Mapping[tuple[str, str, str], str]:
        """Ids of the distinct statements: by the letter that they begin with, lead and text."""
        listed: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
        for case in self.cases:
            listed[self._letter(case)] |= dict.fromkeys(_statements(case))
        return {
            (letter, *statement): letter if letter == RELEVANCE else f"{letter}{n}"
            for letter, statements in listed.items()
            for n, statement in enumerate(statements, 1)
        }

    @cached_property
    def statements(self) -> Mapping[str, Statement]:
        """What was said of each statement by now, by its id."""
        return {line: Statement() for line in self.lines.values()}

    def _request(
        self, task: Task[Any], texts: Mapping[str, str | Items], asked: tuple[str, ...] | None = None
    ) -> ModelRequest[Any]:
        query = self.cases[0].query
        return ModelRequest(
            task, self.language, {**texts, **({"question": query} if query else {})}, "statements",
            tuple((line, text) for (_, _, text), line in self.lines.items()), self.epoch,
            leads={line: lead for (_, lead, _), line in self.lines.items() if lead}, asked=asked,
        )  # fmt: skip

    def _line(self, case: Case, statement: tuple[str, str]) -> str:
        return self.lines[self._letter(case), *statement]

    def _letter(self, case: Case) -> str:
        """The letter that ids of the statements of a case begin with."""
        return ""

    def _ids(self, case: Case) -> Ids:
        """Ids of the numbered texts that a case is about; none where it is about one text without an id."""
        return frozenset()

    def _verdict(self, case: Case, texts: Ids, statement: Statement) -> Verdict:
        return statement.verdict(texts) if texts else statement.verdict_by_all()


def _statements(case: Case) -> list[tuple[str, str]]:
    """Leads and texts of the hypotheses."""
    return list(zip(case.leads or [""] * len(case.hypotheses), case.hypotheses, strict=True))


def inquiries(cases: Sequence[Case], asked: Asked, epoch: int) -> list[Inquiry]:
    """Inquiries about some cases, in the order of their first ones.

    None is about a case without hypotheses, and none about criteria: see `steelyard.judges.llm.criteria`.
    """
    groups: dict[tuple[str, str | int], list[int]] = defaultdict(list)
    for place, case in enumerate(cases):
        if case.hypotheses and case.table in _KINDS:
            groups[_group(case, place, asked.ask_by)].append(place)
    listed = list[Inquiry]()
    for places in groups.values():
        own = [cases[place] for place in places]
        tables = {case.table for case in own}
        kind = Whole if tables == {"grounded"} else Comparison if _KINDS[own[0].table] == "comparison" else Chunks
        listed.append(kind(places, own, epoch, asked))
    return listed


def _group(case: Case, place: int, ask_by: AskBy) -> tuple[str, str | int]:
    if ask_by == "chunk" or not case.answer_id:
        return "", place
    kind = _KINDS[case.table]
    return case.answer_id, "chunks" if kind == "gold_chunks" and ask_by == "question" else kind


class Chunks(Inquiry):
    """Statements of an answer, and of its gold answers, by the chunks of its context.

    In windows, where the chunks do not fit into one call.  What a statement then needs of several windows, by what each
    says of it, is asked once more, about these chunks alone.
    """

    @cached_property
    def chunks(self) -> Mapping[str, str]:
        """Ids of the distinct chunks of all cases, by their texts."""
        texts = dict.fromkeys(text for case in self.cases for text in _chunks(case))
        return {text: f"c{n}" for n, text in enumerate(texts, 1)}

    def requests(self) -> list[ModelRequest[Any]]:
        """A request for each window of chunks."""
        items = tuple((chunk_id, text) for text, chunk_id in self.chunks.items())
        windows = _windows(items, self.asked.chunk_tokens)
        return [part for window in windows for part in self._request(VERDICTS, {"chunks": window}).parts()]

    def looks(self) -> list[ModelRequest[Any]]:
        """Requests about chunks of several windows that each say something for the same statement."""
        apart: dict[str, Ids] = defaultdict(frozenset)
        for case in self.cases:
            chunk_ids = self._ids(case)
            for line in map(partial(self._line, case), _statements(case)):
                apart[line] |= self.statements[line].apart(chunk_ids)
        lines_of: dict[Ids, list[str]] = defaultdict(list)
        for line, chunk_ids in apart.items():
            lines_of[chunk_ids].append(line)
        return [
            part
            for chunk_ids, lines in lines_of.items()
            if chunk_ids
            for part in self._request(VERDICTS, {"chunks": self._items(chunk_ids)}, tuple(lines)).parts()
        ]

    def _items(self, chunk_ids: Ids) -> Items:
        return tuple((chunk_id, text) for text, chunk_id in self.chunks.items() if chunk_id in chunk_ids)

    def _ids(self, case: Case) -> Ids:
        return frozenset(self.chunks[text] for text in _chunks(case))

    def _letter(self, case: Case) -> str:
        return {"reach": "b", "context_relevance": RELEVANCE}.get(case.table, "")


def _chunks(case: Case) -> tuple[str, ...]:
    return case.chunks or (case.premise,)


def _windows(chunks: Items, n_tokens: int) -> list[Items]:
    """Chunks for one call each: as many as have so many tokens, and one at least.

    >>> [len(window) for window in _windows((("c1", "a" * 40), ("c2", "b" * 40), ("c3", "c" * 400)), 20)]
    [2, 1]
    """
    windows, size = [list[tuple[str, str]]()], 0
    for chunk in chunks:
        n = estimate_tokens(chunk[1])
        if windows[-1] and size + n > n_tokens:
            windows.append([])
            size = 0
        windows[-1].append(chunk)
        size += n
    return [tuple(window) for window in windows]


class Whole(Inquiry):
    """An answer by its whole context: which of its statements that does not support."""

    def requests(self) -> list[ModelRequest[Any]]:
        """One request."""
        return [self._request(WHOLE, {"chunks": numbered_items(_chunks(self.cases[0]), "c")})]


_LETTERS: Mapping[VerdictTable, str] = {
    "correctness": OF_ANSWER, "said": OF_REFERENCE, "nuggets": FACT, "relevance": RELEVANCE,
}  # fmt: skip


class Comparison(Inquiry):
    """An answer and its gold answers: what either says of the other, facts, and whether it addresses the question."""

    @cached_property
    def references(self) -> Mapping[str, str]:
        """Ids of the distinct gold answers that the answer is judged by, by their texts."""
        texts = dict.fromkeys(case.premise for case in self.cases if case.table == "correctness")
        return {text: f"g{n}" for n, text in enumerate(texts, 1)}

    def requests(self) -> list[ModelRequest[Any]]:
        """One request, unless there are very many statements."""
        answer = next((case.premise for case in self.cases if case.table != "correctness"), None)
        items = tuple((reference_id, text) for text, reference_id in self.references.items())
        references: dict[str, str | Items] = {"references": items} if items else {}
        texts = references if answer is None else {**references, "answer": answer}
        return self._request(COMPARISON, texts).parts()

    def _letter(self, case: Case) -> str:
        return _LETTERS[case.table]

    def _ids(self, case: Case) -> Ids:
        return frozenset({self.references[case.premise]}) if case.table == "correctness" else frozenset()

    def _verdict(self, case: Case, texts: Ids, statement: Statement) -> Verdict:
        verdict = super()._verdict(case, texts, statement)
        if verdict.label == "not_judged" or case.table in ("correctness", "said"):
            return verdict
        if case.table == "relevance":
            return replace(verdict, label="supported" if verdict.score else "not_found")
        credit = 1.0 if verdict.label == "supported" else 0.5 if statement.read[-1].is_partial else 0.0
        return Verdict("supported" if credit else "not_found", credit, verdict.reason)
