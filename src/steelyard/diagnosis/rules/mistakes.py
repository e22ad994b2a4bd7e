"""Mistakes around the search engine, which make its numbers mean nothing: wrong order, wrong question, wrong ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts, SystemFacts
from steelyard.diagnosis.lists import completed, reversed_lists
from steelyard.diagnosis.thresholds import (
    CROSSED,
    EQUAL,
    FIRST,
    MIN_GAIN,
    MIN_GROUP,
    MIN_QUESTIONS,
    MIN_SHARE,
    MIN_SWAPPED,
    interval,
)
from steelyard.measures import parse
from steelyard.measures.perfect import perfect_reranking


@rule
def reversed_order(facts: Facts) -> Iterator[Advice]:
    """Every list is better when it is read from its end; in mrr where the measure of gains is blind to order."""
    for system in facts.systems:
        for measure in dict.fromkeys((facts.measure, f"mrr@{facts.k}")):
            now, value = (parse(measure)(a) for a in (system.lists.final, reversed_lists(system.lists.final)))
            change = (value - now)[system.answered]
            if len(change) < MIN_GROUP or change.mean() < MIN_GAIN or interval(change)[0] <= 0:
                continue
            better = np.maximum(value - now, 0.0)
            yield advice_on(
                "reversed_order", system, gain=float(value.mean() - now.mean()), measure=measure,
                query_ids=system.ids(better > EQUAL, better), reached=float(now.mean()), ceiling=float(value.mean()),
                depth=system.lists.final_depth,
            )  # fmt: skip
            break


@rule
def shifted(facts: Facts) -> Iterator[Advice]:
    """Lists hold the gold of the question before or behind, from some line of the file on."""
    for system in facts.systems:
        shift = system.shift
        if shift is not None:
            yield _exchanged(
                "shifted", system, partner=shift.partner, mask=shift.beside, by=shift.by, whole=shift.whole,
                first=system.funnel.query_ids[shift.first], own=shift.n_own,
                out_of_step=int((system.answered & (shift.partner >= 0)).sum()),
            )  # fmt: skip


@rule
def swapped(facts: Facts) -> Iterator[Advice]:
    """Pairs of questions that each find the other one's gold, and none of their own."""
    for system in facts.systems:
        if system.crossings is None or system.shift is not None:
            continue
        partner = system.crossings.swaps()
        mask = partner >= 0
        if mask.sum() < max(MIN_SWAPPED, CROSSED * system.crossings.nowhere.sum()):
            continue
        if system.crossings.first(partner)[mask].mean() >= min(1.0, FIRST / facts.k):
            first = int(np.flatnonzero(mask)[0])
            ids = system.funnel.query_ids
            yield _exchanged(
                "swapped", system, partner=partner, mask=mask, first=ids[first], second=ids[int(partner[first])]
            )


def _exchanged(code: str, system: SystemFacts, *, partner: Ints, mask: Bools, **numbers: Any) -> Advice:
    """Advice on lists that fit other questions; the gain is what these questions reach with the gold of those."""
    assert system.crossings is not None
    better = np.where(mask, system.crossings.value_with(partner, system.measure) - system.value, 0.0)
    return advice_on(
        code, system, gain=float(np.maximum(better, 0.0).mean()), query_ids=system.ids(mask, better), **numbers
    )


@rule
def nothing_matches(facts: Facts) -> Iterator[Advice]:
    """Hardly a judged document in any list: the labels and the run do not name the same things."""
    for system in facts.systems:
        if int(system.answered.sum()) < MIN_GROUP or not system.matches_nothing or system.shift is not None:
            continue
        labelled, retrieved = system.ids_on_both_sides
        yield advice_on(
            "nothing_matches", system, gain=float((system.answered & ~system.matched).mean()),
            query_ids=system.ids(system.answered & ~system.matched), depth=system.lists.depth,
            matching=int((system.answered & system.matched).sum()), labelled=labelled, retrieved=retrieved,
        )  # fmt: skip


@rule
def tied(facts: Facts) -> Iterator[Advice]:
    """All results of a list have one score, so that their ids alone decide on the order."""
    for system in facts.systems:
        a = system.weighed.alignment
        if a.ties is None:
            continue
        mask = np.zeros(a.n_queries, bool)
        mask[a.ties.query[(a.ties.first == 1) & (a.ties.size == a.n_retrieved[a.ties.query])]] = True
        mask &= system.answered
        if mask.sum() >= _many(system):
            best = parse(facts.measure)(perfect_reranking(a, int(a.n_retrieved.max())))
            yield _on_some("tied", system, mask, best)


@rule
def short_lists(facts: Facts) -> Iterator[Advice]:
    """Lists without any result, or of fewer than k: many that lack gold, or all lists."""
    for system in facts.systems:
        a = system.weighed.alignment
        best = parse(facts.measure)(completed(a, facts.k))
        empty = system.answered & (a.n_retrieved == 0)
        if empty.sum() >= _many(system):
            yield _on_some("empty_lists", system, empty, best)
        answered = system.answered & ~empty
        mask = answered & (a.n_retrieved < facts.k)
        if mask.sum() < _many(system):
            continue
        lacking = mask & (best > system.value + EQUAL)
        if lacking.sum() >= _many(system) or (mask.sum() >= MIN_GROUP and mask[answered].all()):
            yield _on_some(
                "short_lists", system, mask, best, longest=int(a.n_retrieved[mask].max()), lacking=int(lacking.sum())
            )


@rule
def doubled(facts: Facts) -> Iterator[Advice]:
    """The same text takes several of the first k places, under several ids."""
    for system in facts.systems:
        duplicates = system.duplicates
        if duplicates is None:
            continue
        mask = system.answered & (duplicates.n > 0)
        if mask.sum() >= _many(system):
            best = parse(facts.measure)(duplicates.without(system.weighed.alignment))
            first, second = duplicates.example
            yield _on_some(
                "doubled", system, mask, best, first=first, second=second,
                share=float(duplicates.n.sum() / np.minimum(system.weighed.alignment.n_retrieved, facts.k).sum()),
            )  # fmt: skip


def _many(system: SystemFacts) -> float:
    return max(MIN_QUESTIONS, MIN_SHARE * float(system.winnable.sum()))


def _on_some(code: str, system: SystemFacts, mask: Bools, best: Floats, **numbers: Any) -> Advice:
    """Advice on some questions, which could reach these values."""
    better = np.where(mask, np.maximum(best - system.value, 0.0), 0.0)
    return advice_on(
        code, system, gain=float(better.mean()), query_ids=system.ids(mask, better),
        reached=float(system.value.mean()), ceiling=float((system.value + better).mean()), **numbers,
    )  # fmt: skip
