"""The answer of each question as a page shows it: its sentences with the verdicts on them, citations, and the gold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from operator import itemgetter
from typing import TypeVar

from steelyard.judges.answers.plain import TAG
from steelyard.judges.lexical import best_sentence
from steelyard.judges.tables.verdicts import overall, unit_verdict
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Unit, Verdict
from steelyard.reports.details.limits import Limits, shortened
from steelyard.reports.visible import visible
from steelyard.text.spans import Span

TextOf = Callable[[str], str | None]
"""The text of a chunk by its id; None where it is not at hand."""

SIGNS = {"supported": "✓", "not_found": "✗", "contradicted": "≠", "not_judged": "?", "no_context": "?", "no_claim": ""}
"""What stands before a sentence, for readers who do not see colours."""

_WORST_FIRST = ("contradicted", "not_found", "not_judged", "no_context", "supported", "no_claim")


@dataclass(frozen=True)
class UnitDetails:
    """A sentence or claim of an answer, and what speaks for it.

    label    a key of SIGNS;   reason   of the judge, such as missing words
    chunk    id of the chunk that supports it best, or comes nearest to it; "" where none was judged
    place    of that chunk in the list that the page shows, from 0; -1 where it does not
    start, end   the sentence of that chunk that supports it, in its text; -1 where none does
    correct  label of the best gold answer; "" without one
    claim    its text, where it is no sentence of the answer;   lead   what of the answer it is understood by
    """

    label: str
    reason: str = ""
    chunk: str = ""
    place: int = -1
    start: int = -1
    end: int = -1
    correct: str = ""
    claim: str = ""
    lead: str = ""


@dataclass(frozen=True)
class CitationDetails:
    """A citation mark: places of the chunks that it names in the list, -1 for those that it does not show.

    problem   why it names no chunk of the context; "" where it does
    """

    chunks: Sequence[str]
    places: Sequence[int]
    problem: str = ""


@dataclass(frozen=True)
class GoldUnitDetails:
    """A unit of a gold answer.

    alternative   which gold answer it is of, from 0;   said   label of whether the answer says it;   reason   of that
    reached       label of whether a chunk of the context supports it; "" where the context is unknown
    """

    alternative: int
    text: str
    said: str
    reason: str = ""
    reached: str = ""


@dataclass(frozen=True)
class AnswerDetails:
    """One judged answer.

    parts        the answer cut into texts, each with the place of its sentence in `sentences` and of its mark in
                 `citations`, -1 for none
    sentences    units of one place in the answer: one, or the claims that were taken from a sentence
    labels       of each sentence, the worst of its units
    explanation  of a judge that reads the whole answer; "" without one
    """

    state: str
    parts: Sequence[tuple[str, int, int]] = field(default=())
    sentences: Sequence[Sequence[UnitDetails]] = field(default=())
    labels: Sequence[str] = field(default=())
    citations: Sequence[CitationDetails] = field(default=())
    gold: Sequence[GoldUnitDetails] = field(default=())
    explanation: str = ""

    @property
    def size(self) -> int:
        """Bytes that it takes on a page, about."""
        return len(json.dumps(asdict(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def answer_details(record: JudgedAnswer, places: Mapping[str, int], text_of: TextOf, limits: Limits) -> AnswerDetails:
    """A judged answer as a page shows it.

    places    of chunks in the list that the page shows, from 0
    """
    spans = _apart(((unit.start, unit.end), u) for u, unit in enumerate(record.units))
    of_span = [[_unit(record, u, places, text_of, limits) for u in units] for units in spans.values()]
    marks = _apart(((cited.start, cited.end), cited) for cited in record.citations)
    # What a judge of whole answers said: of the answer to the query, and of the context, each once; one that judged by
    # chunks has said its reasons of each sentence.
    by_chunk = any(verdict.label != "not_judged" for row in record.support for verdict in row)
    of_whole = (record.grade, *(() if by_chunk else record.grounded))
    said = [verdict.reason for verdict in of_whole if verdict is not None]
    return AnswerDetails(
        record.state,
        parts=[(visible(text), s, c) for text, s, c in _parts(record.answer, list(spans), list(marks))],
        sentences=of_span,
        labels=[min((unit.label for unit in units), key=_WORST_FIRST.index) for units in of_span],
        citations=[_citation(record, cited, places) for cited in marks.values()],
        gold=[_gold_unit(record, g, limits) for g in range(len(record.gold_units))],
        explanation=shortened("\n".join(dict.fromkeys(filter(None, said))), limits.reason),
    )


_Item = TypeVar("_Item")


def _apart(items: Iterable[tuple[Span, _Item]]) -> dict[Span, list[_Item]]:
    """Places in the answer, in order and apart, each with its items: what overlaps the place before is shown there."""
    spans: dict[Span, list[_Item]] = {}
    for span, item in sorted(items, key=itemgetter(0)):
        last = next(reversed(spans), (0, 0))
        spans.setdefault(last if spans and span[0] < last[1] else span, []).append(item)
    return spans


def _parts(answer: str, sentences: Sequence[Span], marks: Sequence[Span]) -> Iterator[tuple[str, int, int]]:
    """The answer cut where a sentence or a mark begins or ends: text, place of its sentence, place of its mark."""
    bounds = sorted({0, len(answer), *(min(end, len(answer)) for span in (*sentences, *marks) for end in span)})
    s = c = 0
    for start, end in pairwise(bounds):
        while s < len(sentences) and sentences[s][1] <= start:
            s += 1
        while c < len(marks) and marks[c][1] <= start:
            c += 1
        in_sentence = s < len(sentences) and sentences[s][0] <= start
        in_mark = c < len(marks) and marks[c][0] <= start
        yield answer[start:end], s if in_sentence else -1, c if in_mark else -1


def _unit(record: JudgedAnswer, u: int, places: Mapping[str, int], text_of: TextOf, limits: Limits) -> UnitDetails:
    unit, row = record.units[u], record.support[u]
    claim = "" if _is_sentence(record, unit) else shortened(unit.text, limits.reason)
    lead = shortened(unit.lead, limits.reason)
    if not unit.checkable:
        return UnitDetails("no_claim", visible(unit.no_claim), claim=claim)
    whole = record.grounded[u] if record.grounded else None
    correct = overall(record.correctness[u]) or ""
    if record.context is None:
        return UnitDetails("no_context", correct=correct, claim=claim, lead=lead)
    label = unit_verdict(record, u) or "not_found"
    best = _best_chunk(row, label)
    if best is None:
        return UnitDetails(label, shortened(_reason(whole), limits.reason), correct=correct, claim=claim, lead=lead)
    chunk_id = record.context[best]
    reason = row[best].reason or _reason(whole)
    # The sentence of the chunk that supports a unit best, by its words.
    clear = label in ("supported", "contradicted")
    start, end = (best_sentence(unit.text, text_of(chunk_id) or "") if clear else None) or (-1, -1)
    return UnitDetails(
        label, shortened(reason, limits.reason), chunk=visible(chunk_id), place=places.get(chunk_id, -1),
        start=start, end=end, correct=correct, claim=claim, lead=lead,
    )  # fmt: skip


def _is_sentence(record: JudgedAnswer, unit: Unit) -> bool:
    """True if a unit is what the answer says at its place up to its end, marks and signs aside; else a claim."""
    own, end = list[str](), unit.start
    for citation in sorted(record.citations, key=lambda citation: citation.start):
        if end <= citation.start < unit.end:
            own.append(record.answer[end : citation.start])
            end = citation.end
    own.append(record.answer[end : unit.end])
    n_there = sum((other.start, other.end) == (unit.start, unit.end) for other in record.units)
    return n_there == 1 and _letters(TAG.sub("", "".join(own))).endswith(_letters(unit.text))


def _letters(text: str) -> str:
    return "".join(character for character in text if character.isalnum())


def _best_chunk(row: Sequence[Verdict], label: str) -> int | None:
    """The chunk that says so most clearly; of what none supports, the one that comes nearest."""
    judged = [(chunk, verdict) for chunk, verdict in enumerate(row) if verdict.label != "not_judged"]
    of_label = [item for item in judged if item[1].label == label] or judged
    if label == "not_judged":
        return None
    return max(of_label, key=lambda item: (item[1].score or 0.0, -item[0]), default=(None, None))[0]


def _reason(verdict: Verdict | None) -> str:
    return "" if verdict is None else verdict.reason


def _citation(record: JudgedAnswer, cited: Sequence[CitedChunk], places: Mapping[str, int]) -> CitationDetails:
    context = record.context or ()
    ids = list(dict.fromkeys(context[citation.chunk] for citation in cited if citation.chunk is not None))
    problem = next((citation.problem for citation in cited if citation.problem), None)
    return CitationDetails([visible(id) for id in ids], [places.get(id, -1) for id in ids], problem or "")


def _gold_unit(record: JudgedAnswer, g: int, limits: Limits) -> GoldUnitDetails:
    unit = record.gold_units[g]
    text = shortened(unit.text, limits.query)
    said = record.said[g]
    if said is None:
        return GoldUnitDetails(unit.alternative, text, "no_claim")
    reached = "" if record.context is None else overall(record.reach[g]) or "not_found"
    return GoldUnitDetails(
        unit.alternative, text, said.label, reason=shortened(said.reason, limits.reason), reached=reached
    )
