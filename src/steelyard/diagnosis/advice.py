"""What to try, from patterns in the numbers: one small function a pattern, each with its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.base.errors import InputError
from steelyard.diagnosis.facts import Facts, Group, SystemFacts
from steelyard.diagnosis.funnel import AT

MIN_QUESTIONS = 3
"""Fewer questions may do anything by chance, and can be read one by one."""
MIN_SHARE = 0.10
"""A stage that loses fewer questions than this is not where effort pays first."""
MIN_GAIN = 0.05
"""A ceiling less than this above what is there: a real method reaches a part of it, which nobody would notice."""
MUCH_OF_LOSS = 1 / 3
"""It is found but not ranked where a perfect order would make good at least so much of what is missing."""
RERANKED = 50
"""Candidates that a reranker is usually given."""
MIN_ORACLE = 0.03
"""Two systems never fail alike, so that the better of them is always above the best; less is not worth fusing for."""
SAME = 0.01
"""Means that differ by less are called unchanged."""
ALPHA = 0.05
"""Level of the tests for clusters, shared among all groups of a system, and of intervals of differences."""
MIN_GROUP = 5
"""A group of fewer questions is not tested: even if all of it fails, little is known."""
MIN_CLUSTER = 0.01
"""A cluster of a few questions among thousands is real and not worth a word."""
MIN_CUT = 0.10
"""Cut gold is shown less of than whole gold by at least this share of its characters, or borders do not matter."""
EQUAL = 1e-9
"""Values of a question that differ by less are equal."""
MORE = 4
"""What so many times k results would give is told beside a reranker: it is the cheaper way."""
DEEP = 2
"""Lists are deep where they are known to this many times k; else, what is not in them may stand just below."""

_Z = NormalDist().inv_cdf(1 - ALPHA / 2)


@dataclass(frozen=True)
class Advice:
    """One pattern that was found, and what it could gain.

    code        of the pattern: words stand in the catalogues
    systems     whom it is about: one system, or two
    measure     what gain is told in
    gain        how much the measure could rise at best; advice comes in this order
    numbers     what the pattern was seen in, and fills the texts
    query_ids   the questions that show it
    """

    code: str
    systems: tuple[str, ...]
    measure: str
    gain: float
    numbers: Mapping[str, object] = field(hash=False)
    query_ids: tuple[str, ...]


Rule = Callable[[Facts], Iterator[Advice]]
RULES: dict[str, Rule] = {}
"""Every pattern that advice is drawn from, by name."""


def rule(function: Rule) -> Rule:
    """Register a rule under its own name."""
    if function.__name__ in RULES:
        raise InputError(f"a rule is called {function.__name__!r} already; choose another name")
    RULES[function.__name__] = function
    return function


def advise(facts: Facts) -> list[Advice]:
    """What all rules say, largest possible gain first, then by code and system."""
    given = chain.from_iterable(rule(facts) for rule in RULES.values())
    return sorted(given, key=lambda advice: (-advice.gain, advice.code, advice.systems))


def _advice(
    facts: Facts, code: str, system: SystemFacts, gain: float, ids: tuple[str, ...], **numbers: object
) -> Advice:
    common = {"k": facts.k, "total": int(system.winnable.sum()), "n": len(ids), "system": system.name}
    return Advice(code, (system.name,), facts.measure, float(gain), common | numbers, ids)


@rule
def failed(facts: Facts) -> Iterator[Advice]:
    """The system failed on questions, or they are absent from its run: nothing else can be said of them."""
    for code in ("failed", "missing"):
        for system in facts.systems:
            mask = system.at(code)
            if mask.any():
                yield _advice(facts, code, system, system.as_others(mask), system.ids(mask))


@rule
def nothing_matches(facts: Facts) -> Iterator[Advice]:
    """Not one judged document in any list: the labels and the run do not speak of the same things."""
    for system in facts.systems:
        n = int(system.answered.sum())
        if n >= MIN_GROUP and _matches_nothing(system):
            gain = float(system.winnable.mean())
            yield _advice(facts, "nothing_matches", system, gain, system.ids(system.answered), depth=system.lists.depth)


def _matches_nothing(system: SystemFacts) -> bool:
    lists = system.lists
    return not any(len(a.hit_rank) for each in (lists.final, lists.before) for a in (each, each.pieces))


@rule
def not_in_corpus(facts: Facts) -> Iterator[Advice]:
    """Gold that no document of the corpus holds: labels or loading are wrong, not retrieval."""
    yield from _lost_before_retrieval(facts, "not_in_corpus")


@rule
def cut(facts: Facts) -> Iterator[Advice]:
    """Gold that no chunk holds by the rule, though its document is there."""
    yield from _lost_before_retrieval(facts, "cut")


def _lost_before_retrieval(facts: Facts, code: str) -> Iterator[Advice]:
    for system in facts.systems:
        lost = system.funnel.pieces[:, AT[code]]
        mask = lost > 0
        if mask.any():
            share = np.divide(lost, system.funnel.n_gold, out=np.zeros(len(lost)), where=system.funnel.n_gold > 0)
            sound = system.answered & (share == 0)
            gain = float(share.mean()) * (float(system.value[sound].mean()) if sound.any() else 1.0)
            yield _advice(
                facts, code, system, gain, system.ids(mask, share), pieces=int(lost.sum()), rule=system.rule,
                whole=int(system.at(code).sum()), all_pieces=int(system.funnel.n_gold.sum()),
            )  # fmt: skip


@rule
def borders(facts: Facts) -> Iterator[Advice]:
    """Gold cut by chunk borders, of which the first k show less than of gold that stands in one chunk."""
    for system in facts.systems:
        if system.span_recall is None or system.funnel.split is None:
            continue
        known = system.answered & system.hit & ~np.isnan(system.span_recall)
        split, whole = known & (system.funnel.split > 0), known & (system.funnel.split == 0)
        if min(split.sum(), whole.sum()) < MIN_QUESTIONS:
            continue
        shown, wished = system.span_recall[split], system.span_recall[whole]
        lack = float(wished.mean() - shown.mean())
        error = float(np.sqrt(shown.var(ddof=1) / len(shown) + wished.var(ddof=1) / len(wished)))
        if lack >= MIN_CUT and lack > _Z * error:
            gain = lack * float(split.sum()) / len(split)
            made = _advice(
                facts, "borders", system, gain, system.ids(split, 1 - np.nan_to_num(system.span_recall)),
                pieces=int(system.funnel.split.sum()), all_pieces=int(system.funnel.n_gold.sum()),
                shown=float(shown.mean()), wished=float(wished.mean()),
            )  # fmt: skip
            yield Advice(made.code, made.systems, f"span_recall@{facts.k}", made.gain, made.numbers, made.query_ids)


@rule
def not_retrieved(facts: Facts) -> Iterator[Advice]:
    """Questions whose gold is nowhere in deep lists: recall is low at every depth."""
    yield from _beyond_lists(facts, "not_retrieved", deep=True)


@rule
def shallow(facts: Facts) -> Iterator[Advice]:
    """Questions whose gold is not in lists that are too short to tell whether it stands just below."""
    yield from _beyond_lists(facts, "shallow", deep=False)


def _beyond_lists(facts: Facts, code: str, *, deep: bool) -> Iterator[Advice]:
    for i, system in enumerate(facts.systems):
        mask = system.at("not_retrieved")
        few = mask.sum() < max(MIN_QUESTIONS, MIN_SHARE * system.winnable.sum())
        if few or system.lists.reach(max(DEEP * facts.k, RERANKED)) != deep or _matches_nothing(system):
            continue
        depths = [k for k in facts.curves.ks if not np.isnan(facts.mean(i, "recall", k))]
        yield _advice(
            facts, code, system, system.as_others(mask), system.ids(mask), depth=system.lists.depth,
            share=float(mask.sum() / system.winnable.sum()), recall_k=facts.mean(i, "recall"),
            deepest=max(depths, default=facts.k), recall_deepest=facts.mean(i, "recall", max(depths, default=facts.k)),
            untold=("untold" if system.funnel.by_evidence else "untold_ids") if system.funnel.n_untold else "",
        )  # fmt: skip


@rule
def not_ranked(facts: Facts) -> Iterator[Advice]:
    """A perfect order of what is retrieved would make good most of what is missing, and there is no reranker."""
    for i, system in enumerate(facts.systems):
        if not system.lists.reranked and (room := _room(system)) is not None:
            yield _ranking(facts, "not_ranked", i, *room)


@rule
def reranker_headroom(facts: Facts) -> Iterator[Advice]:
    """The same, though there is a reranker: it captures little of what it could."""
    for i, system in enumerate(facts.systems):
        if system.lists.reranked and not _idle(system) and not _late(system) and (room := _room(system)) is not None:
            n, ceiling = room
            base, reached = float(system.base.mean()), float(system.value.mean())
            share = (reached - base) / (float(ceiling.mean()) - base) if ceiling.mean() > base else 0.0
            yield _ranking(facts, "reranker_headroom", i, n, ceiling, base=base, share=share)


def _room(system: SystemFacts) -> tuple[int, Floats] | None:
    """How many candidates are put in perfect order, and (q,) what that reaches; None where little is to be had."""
    known = [n for n in system.perfect if n <= RERANKED]
    if not known:
        return None
    ceiling = system.perfect[max(known)]
    reached, best = float(system.value.mean()), float(ceiling.mean())
    # What can be had at all is had by the questions that have gold.
    missing = float(system.winnable.mean()) - reached
    return (max(known), ceiling) if best - reached >= max(MIN_GAIN, MUCH_OF_LOSS * missing) else None


def _ranking(facts: Facts, code: str, i: int, n: int, ceiling: Floats, **numbers: object) -> Advice:
    system = facts.systems[i]
    better = ceiling - system.value
    mask = better > EQUAL
    deeper = [k for k in facts.curves.ks if k > facts.k and not np.isnan(facts.mean(i, "recall", k))]
    more = min((k for k in deeper if k >= MORE * facts.k), default=max(deeper, default=facts.k))
    return _advice(
        facts, code, system, float(better.mean()), system.ids(mask, better), candidates=n,
        reached=float(system.value.mean()), ceiling=float(ceiling.mean()), mrr=facts.mean(i, "mrr"),
        recall_k=facts.mean(i, "recall"), below=int(system.at("below_k", "reranked_out").sum()),
        more=more, recall_more=facts.mean(i, "recall", more), **numbers,
    )  # fmt: skip


@rule
def reranker_harms(facts: Facts) -> Iterator[Advice]:
    """What was returned is worse than the candidates were, by more than chance."""
    for system in facts.systems:
        change = (system.value - system.base)[system.answered]
        if system.lists.reranked and len(change) > 1 and _interval(change)[1] < 0:
            loss = system.base - system.value
            yield _advice(
                facts, "reranker_harms", system, float(loss.mean()), system.ids(loss > 0, loss),
                base=float(system.base.mean()), reached=float(system.value.mean()), better=int((loss < 0).sum()),
            )  # fmt: skip


@rule
def reranker_idle(facts: Facts) -> Iterator[Advice]:
    """There is a reranker, and every list is as it was before it."""
    yield from _without_effect(facts, "reranker_idle", _idle)


@rule
def reranker_late(facts: Facts) -> Iterator[Advice]:
    """A reranker that changes the order, but never what is returned: it runs after the list was cut."""
    yield from _without_effect(facts, "reranker_late", _late)


def _without_effect(facts: Facts, code: str, holds: Callable[[SystemFacts], bool]) -> Iterator[Advice]:
    for system in facts.systems:
        if holds(system) and system.perfect:
            n = max((n for n in system.perfect if n <= RERANKED), default=min(system.perfect))
            better = system.perfect[n] - system.value
            yield _advice(
                facts, code, system, float(better.mean()), system.ids(better > EQUAL, better), candidates=n,
                returned=system.lists.final_depth, depth=system.lists.depth, reached=float(system.value.mean()),
                ceiling=float(system.perfect[n].mean()),
            )  # fmt: skip


def _idle(system: SystemFacts) -> bool:
    if system.reordering is None or int(system.answered.sum()) < MIN_GROUP:
        return False
    return bool(system.reordering.order == 0)


def _late(system: SystemFacts) -> bool:
    changed = system.reordering
    if changed is None or int(system.answered.sum()) < MIN_GROUP or system.lists.depth <= system.lists.final_depth:
        return False
    return bool(changed.order > 0 and changed.members == 0)


@rule
def order_only(facts: Facts) -> Iterator[Advice]:
    """Against the baseline the order improved and coverage did not: what is still lost must be retrieved."""
    base = facts.systems[facts.baseline]
    for i, system in enumerate(facts.systems):
        both = base.answered & system.answered
        if i == facts.baseline or both.sum() < MIN_GROUP:
            continue
        ndcg, recall = (facts.of(name)[i] - facts.of(name)[facts.baseline] for name in ("ndcg", "recall"))
        lost = system.answered & ~system.hit
        if _interval(ndcg[both])[0] > 0 and abs(recall.mean()) < SAME and lost.sum() >= MIN_QUESTIONS:
            made = _advice(
                facts, "order_only", system, system.as_others(lost), system.ids(lost), baseline=base.name,
                ndcg=float(ndcg.mean()), recall=float(recall.mean()), recall_k=facts.mean(i, "recall"),
            )  # fmt: skip
            yield Advice(made.code, (base.name, system.name), made.measure, made.gain, made.numbers, made.query_ids)


@rule
def hybrid(facts: Facts) -> Iterator[Advice]:
    """The two systems that complete each other best find what the other one misses."""
    pairs = [pair for pair in facts.ceilings.pairs if pair.measure == facts.measure]
    if not pairs:
        return
    names = [system.name for system in facts.systems]
    best = max(float(system.value.mean()) for system in facts.systems)
    pair = min(pairs, key=lambda pair: (-pair.mean, pair.first, pair.second))
    one, two = (facts.systems[names.index(name)] for name in (pair.first, pair.second))
    only_one, only_two = one.hit & ~two.hit, two.hit & ~one.hit
    if pair.mean - best >= MIN_ORACLE and min(only_one.sum(), only_two.sum()) >= MIN_QUESTIONS:
        made = _advice(
            facts, "hybrid", one, pair.mean - best, one.ids(only_one | only_two), first=one.name, second=two.name,
            only_first=int(only_one.sum()), only_second=int(only_two.sum()), ceiling=pair.mean, best=best,
            best_system=max(facts.systems, key=lambda system: float(system.value.mean())).name,
        )  # fmt: skip
        yield Advice(made.code, (one.name, two.name), made.measure, made.gain, made.numbers, made.query_ids)


@rule
def clusters(facts: Facts) -> Iterator[Advice]:
    """Questions of one tag, document, language, or length are lost more often than the others, beyond chance."""
    for system in facts.systems:
        if _matches_nothing(system):
            continue
        lost = system.answered & ~system.hit
        # Which groups are tested must not depend on how much of them is lost, or the correction would be too small.
        tested = _different([group for group in facts.groups if _is_testable(group, system)], system.answered)
        for group in tested:
            inside = group.mask & system.answered
            n_lost = int((lost & inside).sum())
            expected = float(inside.sum()) * float(lost.sum()) / float(system.answered.sum())
            if n_lost < max(MIN_QUESTIONS, expected):
                continue
            p = tail(n_lost, int(inside.sum()), int(lost.sum()), int(system.answered.sum()))
            if p * len(tested) <= ALPHA and system.as_others(inside) >= MIN_CLUSTER:
                others = system.answered & ~inside
                yield _advice(
                    facts, f"cluster_{group.kind}", system, system.as_others(inside), system.ids(lost & inside),
                    name=group.name, length=group.length, size=int(inside.sum()), others=int(others.sum()),
                    share=float(lost[inside].mean()), share_others=float(lost[others].mean()), p=p * len(tested),
                    tested=len(tested),
                )  # fmt: skip


def _is_testable(group: Group, system: SystemFacts) -> bool:
    inside = int((group.mask & system.answered).sum())
    return min(inside, int(system.answered.sum()) - inside) >= MIN_GROUP


def _different(groups: list[Group], among: Bools) -> list[Group]:
    """Groups of other questions each: a tag that says the language is not told twice."""
    kept = {(group.mask & among).tobytes(): group for group in reversed(groups)}
    return list(reversed(kept.values()))


def tail(lost_inside: int, inside: int, lost: int, total: int) -> float:
    """The chance that at least so many of the lost questions fall into a group, if they fell anywhere alike.

    Fisher's exact test, one-sided: the upper tail of the hypergeometric distribution.

    >>> tail(3, 3, 3, 6)
    0.05
    """
    logs = _log_factorials(total)
    x = np.arange(lost_inside, min(inside, lost) + 1)
    x = x[lost - x <= total - inside]

    def chosen(n: int, k: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
        return np.asarray(logs[n] - logs[k] - logs[n - k])

    log_p = chosen(inside, x) + chosen(total - inside, lost - x) - chosen(total, np.array([lost]))
    return min(1.0, round(float(np.exp(log_p).sum()), 12))


@cache
def _log_factorials(n: int) -> Floats:
    """(n + 1,) logarithms of 0! to n!."""
    return np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))


@rule
def unused(facts: Facts) -> Iterator[Advice]:
    """The gold was in the first k, and the answer cites other chunks."""
    for system in facts.systems:
        mask, cited = system.at("unused"), system.funnel.cited
        if cited is None:
            continue
        told = cited & system.hit & system.answered
        if mask.sum() >= max(MIN_QUESTIONS, MIN_SHARE * told.sum()):
            made = _advice(
                facts, "unused", system, float(mask.sum() / len(mask)), system.ids(mask), told=int(told.sum()),
                share=float(mask.sum() / told.sum()), precision=system.precision,
            )  # fmt: skip
            yield Advice(made.code, made.systems, "answers", made.gain, made.numbers, made.query_ids)


def _interval(d: Floats) -> tuple[float, float]:
    """Ends of the interval of a mean difference, by the normal approximation."""
    half = _Z * float(d.std(ddof=1)) / np.sqrt(len(d))
    return float(d.mean()) - half, float(d.mean()) + half
