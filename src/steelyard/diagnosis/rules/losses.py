"""Questions and gold that no reranker can bring back: failures, the corpus, chunking, retrieval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts, QuestionGroup, SystemFacts
from steelyard.diagnosis.funnel import AT
from steelyard.diagnosis.thresholds import (
    ALPHA,
    DEEP,
    MIN_CLUSTER,
    MIN_CUT,
    MIN_GROUP,
    MIN_QUESTIONS,
    MIN_SHARE,
    RERANKED,
    Z,
    corrected,
    tails,
)
from steelyard.experiment.door.gold import label_gains


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
    for code, system in product(("failed", "missing"), facts.systems):
        mask = system.at(code)
        if mask.any():
            yield advice_on(code, system, gain=system.as_others(mask), query_ids=system.ids(mask))


@rule
def lost_before_retrieval(facts: Facts) -> Iterator[Advice]:
    """Gold that no document of the corpus holds, as labels or loading are wrong; or that no chunk holds by the rule."""
    for code, system in product(("not_in_corpus", "cut"), facts.systems):
        lost, n_gold = system.funnel.pieces[:, AT[code]], system.funnel.n_gold
        mask = lost > 0
        if mask.any():
            share = np.divide(lost, n_gold, out=np.zeros(len(lost)), where=n_gold > 0)
            sound = system.answered & (share == 0)
            gain = float(share.mean()) * (float(system.value[sound].mean()) if sound.any() else 1.0)
            yield advice_on(
                code, system, gain=gain, query_ids=system.ids(mask, share), pieces=int(lost.sum()), rule=system.rule,
                whole=int(system.at(code).sum()), all_pieces=int(n_gold.sum()),
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
                "borders", system, gain=lack * float(split.sum()) / len(split),
                query_ids=system.ids(split, 1 - np.nan_to_num(system.span_recall)), measure=f"span_recall@{facts.k}",
                pieces=int(system.funnel.split.sum()), all_pieces=int(system.funnel.n_gold.sum()),
                shown=float(shown.mean()), wished=float(wished.mean()),
            )  # fmt: skip


@rule
def beyond_lists(facts: Facts) -> Iterator[Advice]:
    """Questions whose gold is nowhere in deep lists; or not in lists so short that it may be ranked just below."""
    for i, system in enumerate(facts.systems):
        mask = system.at("not_retrieved")
        few = mask.sum() < max(MIN_QUESTIONS, MIN_SHARE * system.winnable.sum())
        if few or system.matches_nothing:
            continue
        code = "not_retrieved" if system.lists.reach(max(DEEP * facts.k, RERANKED)) else "shallow"
        depths = [k for k in facts.curves.ks if not np.isnan(facts.mean(i, facts.coverage, k))]
        deepest = max(depths, default=facts.k)
        yield advice_on(
            code, system, gain=system.as_others(mask), query_ids=system.ids(mask), depth=system.lists.depth,
            share=float(mask.sum() / system.winnable.sum()), recall_k=facts.mean(i, facts.coverage), deepest=deepest,
            recall_deepest=facts.mean(i, facts.coverage, deepest), coverage=facts.coverage, untold=system.funnel.untold,
        )  # fmt: skip


@rule
def clusters(facts: Facts) -> Iterator[Advice]:
    """Questions of one tag, document, language, or length are lost more often than the others, beyond chance."""
    for system in facts.systems:
        if system.matches_nothing:
            continue
        # Which groups are tested must not depend on how much of them is lost, or the correction would be too small.
        tested = _different([group for group in facts.groups if _is_testable(group, system)], system.answered)
        languages = [g.mask & system.answered for g in facts.groups if g.code == "language"]
        by_language = [g for g in tested if any(_same(g.mask & system.answered, mask) for mask in languages)]
        others = [group for group in tested if group not in by_language]
        tables = [_Table.of(group, system, [system.answered]) for group in by_language]
        of_others = [_Table.of(group, system, [system.answered]) for group in others]
        blamed = list(_beyond_chance(tables, [*tables, *of_others]))
        if blamed:
            # Where a language fails as a whole, other groups are held against the questions of the same language.
            unknown = system.answered & ~np.any([np.zeros_like(system.answered), *languages], axis=0)
            of_others = [_Table.of(group, system, [*languages, unknown]) for group in others]
        for table, p in (*blamed, *_beyond_chance(of_others, [*tables, *of_others])):
            if system.as_others(table.group.mask & system.answered) >= MIN_CLUSTER:
                yield _cluster(facts, table, system, p=p, tested=len(tested))


@dataclass(frozen=True, eq=False)
class _Table:
    """The questions of a group beside others, which without a reason would be lost alike.

    beside   (q,) the others;   lost, expected   lost questions of the group, and how many chance has it lose
    tails    (x + 1,) the chance to lose at least so many
    """

    group: QuestionGroup
    beside: Bools
    lost: int
    expected: float
    tails: Floats

    @classmethod
    def of(cls, group: QuestionGroup, system: SystemFacts, strata: Sequence[Bools]) -> _Table:
        """By strata, within which questions are lost alike; those without questions of the group do not count."""
        lost, inside = system.answered & ~system.hit, group.mask & system.answered
        own = [mask for mask in strata if (mask & group.mask).any()]
        counts = [(int((mask & inside).sum()), int((mask & lost).sum()), int(mask.sum())) for mask in own]
        expected = sum(float(n_inside) * float(n_lost) / float(n_all) for n_inside, n_lost, n_all in counts)
        beside = np.any(own, axis=0) & ~group.mask
        return cls(group, beside, int((lost & inside).sum()), expected, tails(*counts))


def _beyond_chance(tables: Sequence[_Table], tested: Sequence[_Table]) -> Iterator[tuple[_Table, float]]:
    """Groups lost more often than chance has it, with p, corrected for all that are tested."""
    for table in tables:
        if table.lost >= max(MIN_QUESTIONS, table.expected):
            p = corrected(float(table.tails[table.lost]), (other.tails for other in tested))
            if p <= ALPHA:
                yield table, p


def _same(first: Bools, second: Bools) -> bool:
    return bool((first == second).all())


def _is_testable(group: QuestionGroup, system: SystemFacts) -> bool:
    inside = int((group.mask & system.answered).sum())
    return min(inside, int(system.answered.sum()) - inside) >= MIN_GROUP


def _different(groups: list[QuestionGroup], among: Bools) -> list[QuestionGroup]:
    """Groups of different questions: a tag that names the language counts once, as the language."""
    by_members = {(group.mask & among).tobytes(): group for group in reversed(groups)}
    return list(reversed(by_members.values()))


def _cluster(facts: Facts, table: _Table, system: SystemFacts, *, p: float, tested: int) -> Advice:
    group, lost = table.group, system.answered & ~system.hit
    inside, others = group.mask & system.answered, system.answered & table.beside
    share, share_others = float(lost[inside].mean()), float(lost[others].mean())
    return advice_on(
        f"cluster_{group.code}", system, gain=system.as_others(inside), query_ids=system.ids(lost & inside),
        name=group.name, length=group.length, size=int(inside.sum()), others=int(others.sum()), share=share,
        share_others=share_others, p=p, tested=tested,
        explained=float(inside.sum()) * (share - share_others) / float(lost.sum()),
    )  # fmt: skip
