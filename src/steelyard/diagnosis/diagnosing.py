"""Where each system loses the gold, what could be reached, and what to try: everything that a diagnosis says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.base.errors import InputError
from steelyard.comparison.result import Comparison
from steelyard.data.segments import tag_segments
from steelyard.diagnosis.advice import Advice, advise
from steelyard.diagnosis.ceilings import Captured, Ceilings, captured, ceilings, values
from steelyard.diagnosis.curves import KS, Curves, curves
from steelyard.diagnosis.facts import facts_of
from steelyard.diagnosis.funnel import Funnel, funnel
from steelyard.diagnosis.lists import lists_of
from steelyard.experiment import defaults
from steelyard.experiment.scores import Scores
from steelyard.experiment.weighing import Weighing
from steelyard.measures import parse

MEASURES = ("ndcg", "mrr", "recall", "hit_rate")


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What a diagnosis found.

    k          results that count as found
    measure    what gains are told in: ndcg@k, or recall@k where ideal rankings are not known
    funnels    one a system;   by_tag   tag -> one a system, of the questions that bear the tag
    ceilings   what could be reached;   captured   what each reranker captured of its headroom; empty without rerankers
    curves     measures by depth
    advice     what to try: on the best system first, then on the others; largest possible gain first
    """

    k: int
    measure: str
    funnels: Sequence[Funnel]
    by_tag: Mapping[str, Sequence[Funnel]]
    ceilings: Ceilings
    captured: Sequence[Captured]
    curves: Curves
    advice: Sequence[Advice]
    recipe: Mapping[str, object] = field(repr=False, default_factory=dict)

    def __repr__(self) -> str:
        s, a = len(self.funnels), len(self.advice)
        systems = f"{s} system{'s' * (s != 1)} × {self.funnels[0].n_queries} questions"
        return f"Diagnosis({systems}, k={self.k}, {a} piece{'s' * (a != 1)} of advice)"


def diagnose(
    weighing: Weighing,
    *,
    k: int | None = None,
    scores: Scores | None = None,
    comparison: Comparison | None = None,
    baseline: str | None = None,
    min_gain: float | None = None,
    reranked: Mapping[str, bool] | None = None,
    seed: int = defaults.SEED,
) -> Diagnosis:
    """Find where each system loses the gold, what could be reached, and what to try.

    weighing    of `weigh`
    k           results that count as found; by default the k of the first measure of scores, or else 5
    baseline    the system that others are held against; by default that of comparison, or else the first one
    min_gain    smallest gain that counts as relevant; 1 by default
    reranked    name -> whether a system has a reranker; of others it is told by whether their results stand in another
                order than their candidates
    Raises      InputError for a k below 1, or a baseline that is not there.

    >>> from steelyard import weigh
    >>> found = diagnose(weigh({"q": {"a": 1}}, {"q": ["b", "a"]}), k=1)
    >>> found.funnels[0].lists()["below_k"], [advice.code for advice in found.advice]
    (['q'], [])
    """
    if k is None:
        k = (scores.measures[0].depth if scores is not None and len(scores.measures) else None) or defaults.K
    min_gain = float(defaults.MIN_GAIN if min_gain is None else min_gain)
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InputError(f"k is a whole number from 1, not {k!r}")
    systems, has_reranker = weighing.systems, {**weighing.reranks, **(reranked or {})}
    held_against = baseline or (comparison.baseline if comparison else systems[0])
    if held_against not in systems:
        raise InputError(f"no system is called {held_against!r}; there are {', '.join(systems)}")
    lists = [lists_of(each, k=k, reranked=has_reranker.get(each.name)) for each in weighing.weighed]
    funnels = [
        funnel(each, of_one, k=k, min_gain=min_gain) for each, of_one in zip(weighing.weighed, lists, strict=True)
    ]
    # Ideal rankings that are made of what each system retrieved itself cannot be held against one another.
    ideals_known = all(each.mapping is None or each.mapping.complete for each in weighing.weighed)
    order = MEASURES if ideals_known else ("recall", *(name for name in MEASURES if name != "recall"))
    measures = [parse(f"{name}@{k}", min_gain=min_gain) for name in order]
    drawn = curves(systems, lists, min_gain=min_gain, ks=sorted({*KS, k}), seed=seed)
    found = values(lists, measures)
    reached = ceilings(lists, measures, found, drawn, k=k)
    tags = tag_segments(weighing.questions, weighing.query_ids)
    known = facts_of(
        weighing, lists=lists, funnels=funnels, ceilings=reached, curves=drawn, values=found, measures=measures,
        tags=tags, k=k, min_gain=min_gain, baseline=held_against,
    )  # fmt: skip
    return Diagnosis(
        k, str(measures[0]), funnels, {tag: [one.by(mask) for one in funnels] for tag, mask in tags.items()}, reached,
        captured(reached, [of_one.reranked for of_one in lists]), drawn, _best_first(advise(known), reached, scores),
        {"k": k, "min_gain": min_gain, **weighing.recipe},
    )  # fmt: skip


def _best_first(given: list[Advice], reached: Ceilings, scores: Scores | None) -> list[Advice]:
    """Advice on the best system before that on the others: who reads it will improve that one."""
    means = reached.reached[:, 0] if scores is None else scores.means[:, 0]
    best = reached.systems[int(np.argmax(np.nan_to_num(means, nan=-np.inf)))]
    return sorted(given, key=lambda advice: best not in advice.systems)
