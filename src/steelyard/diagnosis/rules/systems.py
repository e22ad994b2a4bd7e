"""Two systems side by side: one against the baseline, and two that complete each other."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts
from steelyard.diagnosis.thresholds import MIN_GROUP, MIN_ORACLE, MIN_QUESTIONS, SAME
from steelyard.diagnosis.uncertainty import interval


@rule
def order_only(facts: Facts) -> Iterator[Advice]:
    """Against the baseline the order improved and coverage did not: what is still lost must be retrieved."""
    base = facts.systems[facts.baseline]
    for i, system in enumerate(facts.systems):
        both = base.answered & system.answered
        if i == facts.baseline or both.sum() < MIN_GROUP:
            continue
        ndcg, recall = (facts.of(name)[i] - facts.of(name)[facts.baseline] for name in ("ndcg", facts.coverage))
        lost = system.answered & ~system.hit
        if interval(ndcg[both])[0] > 0 and abs(recall.mean()) < SAME and lost.sum() >= MIN_QUESTIONS:
            yield advice_on(
                facts, "order_only", system, gain=system.as_others(lost), query_ids=system.ids(lost),
                systems=(base.name, system.name), baseline=base.name, ndcg=float(ndcg.mean()),
                recall=float(recall.mean()), coverage=facts.coverage,
            )  # fmt: skip


@rule
def hybrid(facts: Facts) -> Iterator[Advice]:
    """The two systems that complete each other best retrieve what the other one misses."""
    pairs = [pair for pair in facts.ceilings.pairs if pair.measure == facts.measure]
    if not pairs:
        return
    pair = min(pairs, key=lambda pair: (-pair.mean, pair.first, pair.second))
    by_name = {system.name: system for system in facts.systems}
    first, second = by_name[pair.first], by_name[pair.second]
    best_system = max(facts.systems, key=lambda system: float(system.value.mean()))
    best = float(best_system.value.mean())
    only_first, only_second = first.hit & ~second.hit, second.hit & ~first.hit
    if pair.mean - best >= MIN_ORACLE and min(only_first.sum(), only_second.sum()) >= MIN_QUESTIONS:
        yield advice_on(
            facts, "hybrid", best_system, gain=pair.mean - best, query_ids=first.ids(only_first | only_second),
            systems=(first.name, second.name), first=first.name, second=second.name, ceiling=pair.mean, best=best,
            only_first=int(only_first.sum()), only_second=int(only_second.sum()), best_system=best_system.name,
        )  # fmt: skip
