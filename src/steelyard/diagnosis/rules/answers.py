"""What answers make of gold that was retrieved."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts
from steelyard.diagnosis.thresholds import MIN_QUESTIONS, MIN_SHARE


@rule
def unused(facts: Facts) -> Iterator[Advice]:
    """The gold was in the first k, and the answer cites other chunks."""
    for system in facts.systems:
        mask, cited = system.at("unused"), system.funnel.cited
        if cited is None:
            continue
        n_citing = (cited & system.hit & system.answered).sum()
        if mask.sum() >= max(MIN_QUESTIONS, MIN_SHARE * n_citing):
            yield advice_on(
                facts, "unused", system, gain=float(mask.sum() / len(mask)), query_ids=system.ids(mask),
                measure="answers", citing=int(n_citing), share=float(mask.sum() / n_citing), precision=system.precision,
            )  # fmt: skip
