"""The order of what is retrieved: what a perfect one would reach, and what a reranker makes of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts, SystemFacts
from steelyard.diagnosis.thresholds import (
    EQUAL,
    MIN_GAIN,
    MIN_GROUP,
    MIN_ORACLE,
    MIN_QUESTIONS,
    MORE,
    MUCH_OF_LOSS,
    RERANKED,
    SAME,
    interval,
)
from steelyard.measures import parse


@rule
def not_ranked(facts: Facts) -> Iterator[Advice]:
    """A perfect order of what is retrieved would make good most of what is missing, and there is no reranker."""
    for i, system in enumerate(facts.systems):
        if not system.lists.reranked and (room := _room(system)) is not None:
            yield _order(facts, "not_ranked", i, *room)


@rule
def reranker_headroom(facts: Facts) -> Iterator[Advice]:
    """The same, though there is a reranker, which captures little of what it could; not where it only harms."""
    for i, system in enumerate(facts.systems):
        if system.lists.reranked and not _idle(system) and not _late(system) and (room := _room(system)) is not None:
            n, ceiling = room
            base, reached, best = (float(values.mean()) for values in (system.base, system.value, ceiling))
            if reached < base - EQUAL or _harm(facts, system) is not None:
                continue
            share = (reached - base) / (best - base) if best > base else 0.0
            advice = _order(facts, "reranker_headroom", i, n, ceiling)
            yield replace(advice, numbers={**advice.numbers, "base": base, "share": share})


def _room(system: SystemFacts) -> tuple[int, Floats] | None:
    """Number of candidates in perfect order, and (q,) what that reaches; None where little is to be had."""
    ns = [n for n in system.perfect if n <= RERANKED]
    if not ns:
        return None
    ceiling = system.perfect[max(ns)]
    reached, best = float(system.value.mean()), float(ceiling.mean())
    # Only questions that have gold can gain anything.
    missing = float(system.winnable.mean()) - reached
    return (max(ns), ceiling) if best - reached >= max(MIN_GAIN, MUCH_OF_LOSS * missing) else None


def _order(facts: Facts, code: str, i: int, n: int, ceiling: Floats) -> Advice:
    system = facts.systems[i]
    better = ceiling - system.value
    deeper = [k for k in facts.curves.ks if k > facts.k and not np.isnan(facts.mean(i, facts.coverage, k))]
    more = min((k for k in deeper if k >= MORE * facts.k), default=max(deeper, default=facts.k))
    return advice_on(
        code, system, gain=float(better.mean()), query_ids=system.ids(better > EQUAL, better), candidates=n,
        reached=float(system.value.mean()), ceiling=float(ceiling.mean()), coverage=facts.coverage,
        recall_k=facts.mean(i, facts.coverage), below=int(system.at("below_k", "reranked_out").sum()),
        more=more, recall_more=facts.mean(i, facts.coverage, more),
    )  # fmt: skip


@rule
def reranker_harms(facts: Facts) -> Iterator[Advice]:
    """Results that are worse than the candidates were, by more than chance."""
    for system in facts.systems:
        if (harm := _harm(facts, system)) is not None:
            measure, base, value = harm
            loss = base - value
            yield advice_on(
                "reranker_harms", system, gain=float(loss.mean()), query_ids=system.ids(loss > 0, loss),
                base=float(base.mean()), reached=float(value.mean()), better=int((loss < 0).sum()), measure=measure,
            )  # fmt: skip


def _harm(facts: Facts, system: SystemFacts) -> tuple[str, Floats, Floats] | None:
    """A measure by which reranking harms, and (q,) values before and after; None where it does not.

    The measure of gains; where reranking leaves its mean as it was, mrr, which sees the order among the first k.
    """
    if not system.lists.reranked or system.answered.sum() < 2:
        return None
    for measure in (facts.measure, f"mrr@{facts.k}"):
        base, value = (parse(measure)(a) for a in (system.lists.before, system.lists.final))
        change = (value - base)[system.answered]
        if interval(change)[1] < 0:
            return measure, base, value
        if abs(change.mean()) > EQUAL:
            return None
    return None


@rule
def without_effect(facts: Facts) -> Iterator[Advice]:
    """A reranker that leaves every list as it was; or that reorders, but never changes what is returned."""
    for (code, holds), system in product({"reranker_idle": _idle, "reranker_late": _late}.items(), facts.systems):
        if holds(system) and system.perfect:
            n = max((n for n in system.perfect if n <= RERANKED), default=min(system.perfect))
            better = system.perfect[n] - system.value
            yield advice_on(
                code, system, gain=float(better.mean()), query_ids=system.ids(better > EQUAL, better),
                candidates=n, returned=system.lists.final_depth, depth=system.lists.depth,
                reached=float(system.value.mean()), ceiling=float(system.perfect[n].mean()),
            )  # fmt: skip


def _idle(system: SystemFacts) -> bool:
    if system.reordering is None or int(system.answered.sum()) < MIN_GROUP:
        return False
    return bool(system.reordering.order == 0)


def _late(system: SystemFacts) -> bool:
    reordering = system.reordering
    if reordering is None or int(system.answered.sum()) < MIN_GROUP or system.lists.depth <= system.lists.final_depth:
        return False
    return bool(reordering.order > 0 and reordering.members == 0)


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
                "order_only", system, gain=system.as_others(lost), query_ids=system.ids(lost),
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
            "hybrid", best_system, gain=pair.mean - best, query_ids=first.ids(only_first | only_second),
            systems=(first.name, second.name), first=first.name, second=second.name, ceiling=pair.mean, best=best,
            only_first=int(only_first.sum()), only_second=int(only_second.sum()), best_system=best_system.name,
        )  # fmt: skip
