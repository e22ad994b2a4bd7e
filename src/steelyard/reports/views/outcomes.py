"""Retrieval and answer read together, in words: what became of the questions, faithfulness, abstention."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import numpy as np

from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.diagnosis.outcomes import OUTCOMES, AnswerOutcomes
from steelyard.diagnosis.thresholds import MIN_GROUP, MIN_QUESTIONS
from steelyard.reports.views.notes import notes_of_systems
from steelyard.reports.views.numbers import count, ends, number, part_of, percent, signed
from steelyard.reports.views.view import Column, Section, Sheet, sheet_of
from steelyard.reports.words import Words

_T = TypeVar("_T")
_RARE = {
    "beyond_context", "other_support", "unanswerable_abstained", "unanswerable_answered", "no_answer", "not_judged",
    "unknown",
}  # fmt: skip
"""Outcomes that have a row where some question has them."""
_ABSTENTIONS = ("answered_rightly", "answered_wrongly", "abstained_rightly", "abstained_wrongly")


def outcome_sections(diagnosis: Diagnosis, words: Words) -> Iterator[Section]:
    """Sections on the outcomes of the questions, and the same by tag; none without verdicts."""
    if diagnosis.outcomes:
        notes = notes_of_systems(diagnosis.judges, words, n_systems=len(diagnosis.outcomes))
        sheets = [outcomes_sheet(diagnosis.outcomes, words, notes), faithfulness_sheet(diagnosis.outcomes, words)]
        abstentions = abstention_sheet(diagnosis.outcomes, words)
        yield Section("outcomes", words("outcomes.title"), sheets=[*sheets, *([abstentions] if abstentions else [])])
        if by_tag := outcome_tags_sheet(diagnosis, words):
            yield Section("outcomes_by_tag", words("diagnose.by_tag"), sheets=[by_tag])


_WELL = ("works", "other_support", "unanswerable_abstained")
"""Outcomes with a right answer, or a right refusal."""


def answers_text(outcomes: AnswerOutcomes, words: Words) -> str:
    """The number of questions that a system answers well, and what becomes of most others."""
    counts, worst = outcomes.counts(), worst_outcome(outcomes)
    values = {"system": outcomes.system, "n": sum(counts[code] for code in _WELL),
              "questions": words("count.questions", n=outcomes.n_queries)}  # fmt: skip
    if worst is None:
        return words("brief.diagnose.well", **values)
    return words("brief.diagnose.answers", **values, outcome=outcome_name(worst[0], words), others=worst[1])


def worst_outcome(outcomes: AnswerOutcomes) -> tuple[str, int] | None:
    """What becomes of most questions that are not answered well, and how many; None where all are."""
    counts = [(code, n) for code, n in outcomes.counts().items() if n and code not in _WELL]
    return max(counts, key=lambda count: count[1], default=None)


def outcome_name(code: str, words: Words) -> str:
    """The name of an outcome."""
    return words(f"outcomes.name.{code}")


def answer_outcome(code: str, words: Words) -> str:
    """An outcome with what it is made of, on one line."""
    return words("outcomes.of", **{part: words(f"outcomes.{part}.{code}") for part in ("context", "answer", "name")})


def outcomes_sheet(outcomes: Sequence[AnswerOutcomes], words: Words, notes: Iterable[str] = ()) -> Sheet:
    """A row an outcome, a column a system: how many questions, and their share; of one system, its interval.

    notes   on who judged
    """
    alone, criteria = len(outcomes) == 1, outcomes[0].criteria

    def share(of_system: AnswerOutcomes, code: str) -> str:
        n, total, place = of_system.counts()[code], of_system.n_queries, OUTCOMES.index(code)
        low, high = (bound[place] for bound in (of_system.share_intervals().low, of_system.share_intervals().high))
        if not alone or np.isnan(low):
            return part_of(n, total)
        return f"{n:,} ({percent(n / total)}; {percent(low)}–{percent(high)})"

    rows = [
        [
            *(words(f"outcomes.{part}.{code}") for part in ("context", "answer", "name")),
            *(share(of_system, code) for of_system in outcomes),
        ]
        for code in listed_outcomes(outcomes)
    ]
    rows.append([words("diagnose.head.total"), "", "", *(count(of_system.n_queries) for of_system in outcomes)])
    header = [words(f"outcomes.head.{name}") for name in ("context", "answer", "says")]
    own = [words("outcomes.note.shares")] if alone else []
    own.append(words("outcomes.note.criteria", correct=f"{criteria.correct:g}", faithful=f"{criteria.faithful:g}"))
    own.append(words("outcomes.note.in_context", in_context=f"{criteria.in_context:g}"))
    return Sheet([*header, *(of_system.system for of_system in outcomes)], rows, notes=[*own, *notes])


def listed_outcomes(outcomes: Sequence[AnswerOutcomes]) -> list[str]:
    """Outcomes that some question has, and those that a reader looks for; in order."""
    return [code for code in OUTCOMES if code not in _RARE or any(of.counts()[code] for of in outcomes)]


def faithfulness_sheet(outcomes: Sequence[AnswerOutcomes], words: Words) -> Sheet:
    """A row a system: mean faithfulness with and without gold in the context, and the difference."""

    def mean(value: float, n: int) -> str:
        return f"{number(value, 3)} ({n:,})" if n else "–"

    def interval(low: float, high: float) -> str:
        return "–" if np.isnan(low) else ends(low, high) if low >= 0 else f"{signed(low, 3)} … {signed(high, 3)}"

    groups = {of_system.system: of_system.faithfulness_by_gold for of_system in outcomes}
    texts: dict[str, Callable[[str], str]] = {
        "system": str,
        "with_gold": lambda name: mean(groups[name].first, groups[name].n_first),
        "without_gold": lambda name: mean(groups[name].second, groups[name].n_second),
        "difference": lambda name: signed(groups[name].difference, 3),
        "interval": lambda name: interval(groups[name].low, groups[name].high),
    }
    columns = [Column(words(f"outcomes.head.{name}"), text) for name, text in texts.items()]
    return sheet_of(groups, columns, [words("outcomes.note.faithfulness")])


def abstention_sheet(outcomes: Sequence[AnswerOutcomes], words: Words) -> Sheet | None:
    """A row a system and a way to tell what is answerable; None where nothing abstains and all can be answered."""
    rows = [
        [of_system.system, words(f"outcomes.by.{by.by}"), *(count(getattr(by, name)) for name in _ABSTENTIONS),
         *(number(value, 3) for value in (by.precision, by.recall, by.f1))]
        for of_system in outcomes for by in of_system.abstention
        if any(getattr(by, name) for name in _ABSTENTIONS[1:])
    ]  # fmt: skip
    names = ("system", "answerable_by", *_ABSTENTIONS, "precision", "recall", "f1")
    header = [words(f"outcomes.head.{name}") for name in names]
    return Sheet(header, rows, notes=[words("outcomes.note.abstention")]) if rows else None


def outcome_tags_sheet(diagnosis: Diagnosis, words: Words) -> Sheet | None:
    """Questions by tag, a row each: what became of those of one system, or how many each of several answered well."""
    if (several := len(diagnosis.outcomes) > 1) or not diagnosis.outcomes:
        heads, codes = [of_system.system for of_system in diagnosis.outcomes], list[str]()
    else:
        codes = [code for code, n in diagnosis.outcomes[0].counts().items() if n >= MIN_QUESTIONS]
        heads = [*(outcome_name(code, words) for code in codes), words("outcomes.head.others")]

    def cells(outcomes: Sequence[AnswerOutcomes]) -> list[str]:
        if several:
            return [part_of(of_system.counts()["works"], of_system.n_queries) for of_system in outcomes]
        listed = [outcomes[0].counts()[code] for code in codes]
        return [count(n) for n in (*listed, outcomes[0].n_queries - sum(listed))]

    sheet = tags_sheet(diagnosis.outcomes_by_tag, heads, cells, lambda own: own.n_queries, words, area="outcomes")
    if sheet is not None and several:
        sheet.notes.insert(0, words("outcomes.note.works_by_tag"))
    return sheet


def tags_sheet(
    by_tag: Mapping[str, Sequence[_T]], heads: Sequence[str], cells: Callable[[Sequence[_T]], list[str]],
    size: Callable[[_T], int], words: Words, *, area: str,
) -> Sheet | None:  # fmt: skip
    """A row a tag: how many questions it has, and cells of its systems.

    None where no tag has MIN_GROUP questions; smaller tags are left out, and counted.
    """
    large = {tag: of for tag, of in by_tag.items() if size(of[0]) >= MIN_GROUP}
    if not large:
        return None
    small = len(by_tag) - len(large)
    notes = [words(f"{area}.note.small_tags", n=small, least=MIN_GROUP)] if small else []
    rows = [[tag, count(size(of[0])), *cells(of)] for tag, of in large.items()]
    return Sheet([words("diagnose.head.tag"), words("diagnose.head.total"), *heads], rows, notes=notes)
