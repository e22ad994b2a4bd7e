"""Retrieval and answer read together, in words: what became of the questions, faithfulness, abstention."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.diagnosis.outcomes import OUTCOMES, AnswerOutcomes, Criteria
from steelyard.diagnosis.thresholds import MIN_GROUP, MIN_QUESTIONS
from steelyard.report.views.notes import notes_of_systems
from steelyard.report.views.numbers import ends, number, percent, signed
from steelyard.report.views.sheet import Section, Sheet
from steelyard.report.words import Words

_RARE = {
    "beyond_context", "other_support", "unanswerable_abstained", "unanswerable_answered", "no_answer", "not_judged",
    "unknown",
}  # fmt: skip
"""Outcomes that have a row where some question has them."""


def outcome_sections(diagnosis: Diagnosis, words: Words) -> Iterator[Section]:
    """What became of the questions, and the same by tag; none without verdicts."""
    if diagnosis.outcomes:
        notes = notes_of_systems(diagnosis.judges, words, n_systems=len(diagnosis.outcomes))
        sheets = [outcomes_sheet(diagnosis.outcomes, words, notes), faithfulness_sheet(diagnosis.outcomes, words)]
        abstentions = abstention_sheet(diagnosis.outcomes, words)
        yield Section("outcomes", words("outcomes.title"), sheets=[*sheets, *([abstentions] if abstentions else [])])
        if by_tag := outcome_tags_sheet(diagnosis, words):
            yield Section("outcomes_by_tag", words("diagnose.by_tag"), sheets=[by_tag])


def outcome_name(code: str, words: Words) -> str:
    """What an outcome is called."""
    return words(f"outcomes.name.{code}")


def answer_outcome(code: str, words: Words) -> str:
    """An outcome with what it is made of, on one line."""
    return words("outcomes.of", **{part: words(f"outcomes.{part}.{code}") for part in ("context", "answer", "name")})


def outcomes_sheet(outcomes: Sequence[AnswerOutcomes], words: Words, notes: Iterable[str] = ()) -> Sheet:
    """A row an outcome, a column a system: how many questions, and their share; of one system, its interval.

    notes   on who judged
    """
    rows = []
    for code in listed_outcomes(outcomes):
        names = (words(f"outcomes.{part}.{code}") for part in ("context", "answer", "name"))
        rows.append([*names, *(_share(of_system, code, alone=len(outcomes) == 1) for of_system in outcomes)])
    rows.append([words("diagnose.head.total"), "", "", *(f"{of_system.n_queries:,}" for of_system in outcomes)])
    header = [words(f"outcomes.head.{name}") for name in ("context", "answer", "says")]
    shares = [words("outcomes.note.shares")] if len(outcomes) == 1 else []
    return Sheet(
        [*header, *(of_system.system for of_system in outcomes)], rows,
        notes=[*shares, *_criteria_notes(outcomes[0].criteria, words), *notes],
    )  # fmt: skip


def listed_outcomes(outcomes: Sequence[AnswerOutcomes]) -> list[str]:
    """Outcomes that some question has, and those that a reader looks for; in order."""
    return [code for code in OUTCOMES if code not in _RARE or any(of.counts()[code] for of in outcomes)]


def _share(outcomes: AnswerOutcomes, code: str, *, alone: bool) -> str:
    """How many questions, and their share; of a system alone its interval too."""
    n, total = outcomes.counts()[code], outcomes.n_queries
    place, intervals = OUTCOMES.index(code), outcomes.share_intervals()
    low, high = intervals.low[place], intervals.high[place]
    if not alone or np.isnan(low):
        return _count(n, total)
    return f"{n:,} ({percent(n / total)}; {percent(low)}–{percent(high)})"


def _count(n: int, total: int) -> str:
    return f"{n:,} ({percent(n / total)})" if n else "0"


def _criteria_notes(criteria: Criteria, words: Words) -> Iterator[str]:
    yield words("outcomes.note.criteria", correct=f"{criteria.correct:g}", faithful=f"{criteria.faithful:g}")
    yield words("outcomes.note.in_context", in_context=f"{criteria.in_context:g}")


def faithfulness_sheet(outcomes: Sequence[AnswerOutcomes], words: Words) -> Sheet:
    """A row a system: mean faithfulness with and without gold in the context, and the difference."""
    rows = []
    for of_system in outcomes:
        groups = of_system.faithfulness_by_gold
        rows.append([
            of_system.system, _mean(groups.first, groups.n_first), _mean(groups.second, groups.n_second),
            signed(groups.difference, 3), _signed_ends(groups.low, groups.high),
        ])  # fmt: skip
    names = ("system", "with_gold", "without_gold", "difference", "interval")
    return Sheet([words(f"outcomes.head.{name}") for name in names], rows, notes=[words("outcomes.note.faithfulness")])


def _mean(value: float, n: int) -> str:
    return f"{number(value, 3)} ({n:,})" if n else "–"


def _signed_ends(low: float, high: float) -> str:
    return "–" if np.isnan(low) else ends(low, high) if low >= 0 else f"{signed(low, 3)} … {signed(high, 3)}"


def abstention_sheet(outcomes: Sequence[AnswerOutcomes], words: Words) -> Sheet | None:
    """A row a system and a way to tell what is answerable; None where nothing abstains and all can be answered."""
    rows = []
    for of_system in outcomes:
        for by in of_system.abstention:
            counts = (by.answered_rightly, by.answered_wrongly, by.abstained_rightly, by.abstained_wrongly)
            if any(counts[1:]):
                values = [number(value, 3) for value in (by.precision, by.recall, by.f1)]
                cells = [*(f"{n:,}" for n in counts), *values]
                rows.append([of_system.system, words(f"outcomes.by.{by.by}"), *cells])
    if not rows:
        return None
    names = (
        "system", "answerable_by", "answered_rightly", "answered_wrongly", "abstained_rightly", "abstained_wrongly",
        "precision", "recall", "f1",
    )  # fmt: skip
    return Sheet([words(f"outcomes.head.{name}") for name in names], rows, notes=[words("outcomes.note.abstention")])


def outcome_tags_sheet(diagnosis: Diagnosis, words: Words) -> Sheet | None:
    """Questions by tag, a row each: what became of those of one system, or how many each of several answered well.

    None where no tag has MIN_GROUP questions; smaller tags are left out, and counted.
    """
    by_tag = {tag: of for tag, of in diagnosis.outcomes_by_tag.items() if of[0].n_queries >= MIN_GROUP}
    if not by_tag:
        return None
    several = len(diagnosis.outcomes) > 1
    codes = [] if several else [code for code, n in diagnosis.outcomes[0].counts().items() if n >= MIN_QUESTIONS]
    rows = []
    for tag, outcomes in by_tag.items():
        counts = [of_system.counts() for of_system in outcomes]
        shares = [_count(n["works"], of_system.n_queries) for n, of_system in zip(counts, outcomes, strict=True)]
        listed = [counts[0][code] for code in codes]
        cells = shares if several else [f"{n:,}" for n in (*listed, outcomes[0].n_queries - sum(listed))]
        rows.append([tag, f"{outcomes[0].n_queries:,}", *cells])
    named = [*(outcome_name(code, words) for code in codes), words("outcomes.head.others")]
    columns = [of_system.system for of_system in diagnosis.outcomes] if several else named
    small = len(diagnosis.outcomes_by_tag) - len(by_tag)
    notes = [words("outcomes.note.works_by_tag")] if several else []
    notes += [words("outcomes.note.small_tags", n=small, least=MIN_GROUP)] if small else []
    return Sheet([words("diagnose.head.tag"), words("diagnose.head.total"), *columns], rows, notes=notes)
