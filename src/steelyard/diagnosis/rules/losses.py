"""Questions and gold that no reranker can bring back: failures, the corpus, chunking, retrieval."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts
from steelyard.diagnosis.funnel import AT
from steelyard.diagnosis.thresholds import DEEP, MIN_CUT, MIN_QUESTIONS, MIN_SHARE, RERANKED
from steelyard.diagnosis.uncertainty import Z
from steelyard.experiment.gold_notes import label_gains


@rule
def no_gold(facts: Facts) -> Iterator[Advice]:
    """No question has gold, so that nothing could be found or lost, nor measured; nor is there an answer to read."""
    systems = facts.systems
    reads = any(system.judged is not None and system.judged.outcomes.is_read for system in systems)
    if not reads and not any(system.funnel.n_gold.any() for system in systems):
        numbers = {"n": systems[0].funnel.n_queries, "min_gain": f"{systems[0].min_gain:g}"}
        if (most := max(label_gains(systems[0].weighing.gold), default=0)) > 0:
            numbers["most"] = f"{most:g}"
        yield Advice("no_gold", tuple(system.name for system in systems), facts.measure, math.nan, numbers, ())


@rule
def failed(facts: Facts) -> Iterator[Advice]:
    """The system failed on questions, or they are absent from its run: nothing else can be said of them."""
    for code in ("failed", "missing"):
        for system in facts.systems:
            mask = system.at(code)
            if mask.any():
                yield advice_on(facts, code, system, gain=system.as_others(mask), query_ids=system.ids(mask))


@rule
def not_in_corpus(facts: Facts) -> Iterator[Advice]:
    """Gold that no document of the corpus holds: labels or loading are wrong, not retrieval."""
    yield from _lost_before_retrieval(facts, "not_in_corpus")


@rule
def cut(facts: Facts) -> Iterator[Advice]:
    """Gold that no chunk holds by the rule, though its document is in the corpus."""
    yield from _lost_before_retrieval(facts, "cut")


def _lost_before_retrieval(facts: Facts, code: str) -> Iterator[Advice]:
    for system in facts.systems:
        lost, n_gold = system.funnel.pieces[:, AT[code]], system.funnel.n_gold
        mask = lost > 0
        if mask.any():
            share = np.divide(lost, n_gold, out=np.zeros(len(lost)), where=n_gold > 0)
            sound = system.answered & (share == 0)
            gain = float(share.mean()) * (float(system.value[sound].mean()) if sound.any() else 1.0)
            yield advice_on(
                facts, code, system, gain=gain, query_ids=system.ids(mask, share), pieces=int(lost.sum()),
                rule=system.rule, whole=int(system.at(code).sum()), all_pieces=int(n_gold.sum()),
            )  # fmt: skip


@rule
def borders(facts: Facts) -> Iterator[Advice]:
    """Gold cut by chunk borders, of which the first k show less than of gold that is whole in one chunk."""
    for system in facts.systems:
        if system.span_recall is None or system.funnel.split is None:
            continue
        measured = system.answered & system.hit & ~np.isnan(system.span_recall)
        split, whole = measured & (system.funnel.split > 0), measured & (system.funnel.split == 0)
        if min(split.sum(), whole.sum()) < MIN_QUESTIONS:
            continue
        shown, wished = system.span_recall[split], system.span_recall[whole]
        lack = float(wished.mean() - shown.mean())
        error = float(np.sqrt(shown.var(ddof=1) / len(shown) + wished.var(ddof=1) / len(wished)))
        if lack >= MIN_CUT and lack > Z * error:
            yield advice_on(
                facts, "borders", system, gain=lack * float(split.sum()) / len(split),
                query_ids=system.ids(split, 1 - np.nan_to_num(system.span_recall)), measure=f"span_recall@{facts.k}",
                pieces=int(system.funnel.split.sum()), all_pieces=int(system.funnel.n_gold.sum()),
                shown=float(shown.mean()), wished=float(wished.mean()),
            )  # fmt: skip


@rule
def not_retrieved(facts: Facts) -> Iterator[Advice]:
    """Questions whose gold is nowhere in deep lists: recall is low at every depth."""
    yield from _beyond_lists(facts, "not_retrieved", deep=True)


@rule
def shallow(facts: Facts) -> Iterator[Advice]:
    """Questions whose gold is not in lists so short that it may be ranked just below."""
    yield from _beyond_lists(facts, "shallow", deep=False)


def _beyond_lists(facts: Facts, code: str, *, deep: bool) -> Iterator[Advice]:
    for i, system in enumerate(facts.systems):
        mask = system.at("not_retrieved")
        few = mask.sum() < max(MIN_QUESTIONS, MIN_SHARE * system.winnable.sum())
        if few or system.matches_nothing or system.lists.reach(max(DEEP * facts.k, RERANKED)) != deep:
            continue
        depths = [k for k in facts.curves.ks if not np.isnan(facts.mean(i, facts.coverage, k))]
        deepest = max(depths, default=facts.k)
        yield advice_on(
            facts, code, system, gain=system.as_others(mask), query_ids=system.ids(mask), depth=system.lists.depth,
            share=float(mask.sum() / system.winnable.sum()), recall_k=facts.mean(i, facts.coverage), deepest=deepest,
            recall_deepest=facts.mean(i, facts.coverage, deepest), coverage=facts.coverage, untold=system.funnel.untold,
        )  # fmt: skip
