"""Answers beside the gold that was retrieved, and without any."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts, SystemFacts
from steelyard.diagnosis.outcomes import AT, NO, YES, JudgedSystem
from steelyard.diagnosis.thresholds import (
    GOOD_RETRIEVAL,
    LOW_UTILIZATION,
    MANY_WRONG,
    MIN_GROUP,
    MIN_QUESTIONS,
    MIN_SHARE,
)
from steelyard.measures.answers import context_utilization
from steelyard.measures.judged_answers import ABSTAINED, ANSWERED

_OF_ANSWERS = "answers"
"""What gains are counted in: questions whose answer could become right."""
_WRONG_WITH_GOLD = ("context_unused", "wrong_chunk")
_BETTER_NOT_ANSWERED = ("hallucination", "noise_followed", "unanswerable_answered")


@rule
def unused(facts: Facts) -> Iterator[Advice]:
    """The gold was in the first k, and the answer rests on other chunks, by verdicts, or cites others.

    Abstentions are left to `over_cautious`.
    """
    for system in facts.systems:
        mask, funnel = system.at("unused"), system.funnel
        if system.judged is not None:
            mask = mask & (system.judged.judged.state != ABSTAINED)
        shown = [sources for sources in (funnel.cited, funnel.judged) if sources is not None]
        if not shown:
            continue
        n_citing = (np.any(shown, axis=0) & system.hit & system.answered).sum()
        if mask.sum() >= max(MIN_QUESTIONS, MIN_SHARE * n_citing):
            yield advice_on(
                "unused", system, gain=float(mask.sum() / len(mask)), query_ids=system.ids(mask),
                measure=_OF_ANSWERS, citing=int(n_citing), share=float(mask.sum() / n_citing),
                precision=system.precision,
            )  # fmt: skip


@rule
def answers_wrong(facts: Facts) -> Iterator[Advice]:
    """Nearly every context holds gold, and many answers are wrong: the generator loses them, not retrieval."""
    for system, answers in _judged(facts):
        gold = answers.outcomes.gold_in_context
        n_with, n_known = int((gold == YES).sum()), int(np.isin(gold, (YES, NO)).sum())
        right = _at(answers, "works", "beyond_context")
        wrong = _at(answers, *_WRONG_WITH_GOLD)
        n_answered = int((right | wrong).sum())
        if n_with < GOOD_RETRIEVAL * n_known or wrong.sum() < max(MIN_QUESTIONS, MANY_WRONG * n_answered):
            continue
        yield _on_answers(
            "answers_wrong", system, wrong, of=n_answered, with_gold=n_with, known=n_known,
            unfaithful=int(_at(answers, "context_unused").sum()),
        )  # fmt: skip


@rule
def low_utilization(facts: Facts) -> Iterator[Advice]:
    """Answers say less than half of what is needed and was in their context."""
    for system, answers in _judged(facts):
        value = np.where(answers.judged.state == ANSWERED, context_utilization(answers.judged), np.nan)
        measured = ~np.isnan(value)
        if measured.sum() < MIN_GROUP or value[measured].mean() >= LOW_UTILIZATION:
            continue
        mask = measured & (np.nan_to_num(value, nan=1.0) < LOW_UTILIZATION)
        yield _on_answers(
            "low_utilization", system, mask, of=int(measured.sum()), worst_first=1 - np.nan_to_num(value),
            utilization=float(value[measured].mean()), gain=float(_at(answers, *_WRONG_WITH_GOLD).mean()),
        )  # fmt: skip


@rule
def wrong_outcomes(facts: Facts) -> Iterator[Advice]:
    """Answers that follow chunks beside the point, answers where abstaining was right, and abstentions on gold."""
    for system, answers in _judged(facts):
        outcomes, state = answers.outcomes, answers.judged.state
        answered, abstained = state == ANSWERED, state == ABSTAINED
        has_gold = (outcomes.gold_in_context == YES) & (answered | abstained)
        without = ((outcomes.answerable == NO) | (outcomes.gold_in_context == NO)) & (answered | abstained)
        with_gold = int(_at(answers, "wrong_chunk").sum())
        patterns: Mapping[str, tuple[Sequence[str], Bools, Mapping[str, Any]]] = {
            "noise_followed": (
                ("wrong_chunk", "noise_followed"), answered, {"precision": system.precision, "with_gold": with_gold}
            ),
            "should_abstain": (_BETTER_NOT_ANSWERED, without, {"abstained": int((without & abstained).sum())}),
            "over_cautious": (("over_cautious",), has_gold, {}),
        }  # fmt: skip
        for code, (wrong, among, numbers) in patterns.items():
            mask, of = _at(answers, *wrong), int(among.sum())
            # Whether a system should have abstained is a matter of all questions, those that it failed among them.
            whole = len(mask) if code == "should_abstain" else of
            if mask.sum() >= max(MIN_QUESTIONS, MIN_SHARE * whole):
                yield _on_answers(code, system, mask, of=of, **numbers)


@rule
def dangling(facts: Facts) -> Iterator[Advice]:
    """Citations that name no chunk of the context."""
    for system, answers in _judged(facts):
        judged = answers.judged
        invalid = judged.citation_chunk < 0
        n_citations, n_invalid = (
            np.bincount(judged.citation_query[mask], minlength=judged.n_queries)
            for mask in (np.ones_like(invalid), invalid)
        )
        mask = n_invalid > 0
        if mask.sum() >= max(MIN_QUESTIONS, MIN_SHARE * (n_citations > 0).sum()):
            marks = (c.mark for record in answers.records for c in record.citations if c.problem)
            yield _on_answers(
                "dangling", system, mask, of=int((n_citations > 0).sum()), worst_first=n_invalid.astype(float),
                invalid=int(n_invalid.sum()), citations=int(n_citations.sum()), mark=next(marks, ""),
            )  # fmt: skip


def _judged(facts: Facts) -> Iterator[tuple[SystemFacts, JudgedSystem]]:
    return ((system, system.judged) for system in facts.systems if system.judged is not None)


def _at(answers: JudgedSystem, *outcomes: str) -> Bools:
    """(q,) whether a question came to one of these outcomes."""
    return np.isin(answers.outcomes.outcome, [AT[outcome] for outcome in outcomes])


def _on_answers(
    code: str, system: SystemFacts, mask: Bools, *, of: int, worst_first: Floats | None = None,
    gain: float | None = None, **numbers: Any,
) -> Advice:  # fmt: skip
    """Advice on some answers, of so many that could show the pattern; by default all of them could become right."""
    share = float(mask.sum() / of) if of else 0.0
    return advice_on(
        code, system, gain=float(mask.mean()) if gain is None else gain,
        query_ids=system.ids(mask, worst_first), measure=_OF_ANSWERS, of=of, share=share, **numbers,
    )  # fmt: skip
