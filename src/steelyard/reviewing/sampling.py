"""Sampling of items for people: strata by what judges say, their allocation, and random draws among them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError
from steelyard.judges.panel import disagreements
from steelyard.judges.people.review import Drawn, StratifiedSample, Stratum
from steelyard.judges.tables.items import items, judged
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Label, text_digest

MOST_STRATA, _A_STRATUM, _LEAST = 6, 10, 2
"""Of the judge's score at most, how many drawn items each should have, and how many each gets where it has them."""
_SPREAD_AGREED, _SPREAD_DISPUTED = 0.3, 0.5
"""Standard deviations of judge and people apart, as foreseen: 1 in 10 is wrong, and where judges differ 1 in 2."""
WORST_VARIANCE = 0.25
"""Of what people say about an item, or an answer, as nobody knows it: half of them are supported."""
DISPUTED = "disputed"
"""The name of the stratum of items that judges differ on."""
_ORDER: Sequence[Label] = ("not_judged", "contradicted", "not_found", "supported")


@dataclass(frozen=True, slots=True)
class Member:
    """An item, or a whole answer, as the judge sees it.

    label     of an item; None of an answer
    score     of an item; of an answer the share of its items that are supported; None where the judge gives none
    disputed  whether other judges differ
    """

    id: str
    label: Label | None
    score: float | None
    disputed: bool = False

    @property
    def key(self) -> tuple[int, float]:
        """Order of members: those that are rather supported last."""
        return (0 if self.label is None else _ORDER.index(self.label), -1.0 if self.score is None else self.score)


def members(
    verdicts: Verdicts, table: ItemTable, unit: Drawn = "item", others: Sequence[Verdicts] = ()
) -> list[Member]:
    """All items of a table, each once, or all answers that have any, in the order of the questions.

    others   verdicts of further judges on the same outputs, to see where they differ
    """
    differing = frozenset(disagreements([verdicts, *others], table)) if others else frozenset()
    by_id: dict[str, Member] = {}
    for record in verdicts.records.values():
        own = [_member(record, table, item.unit, item.item_id, differing) for item in items(record, table)]
        for member in own if unit == "item" else [_answer(record.query_id, own)] if own else []:
            by_id.setdefault(member.id, member)
    return list(by_id.values())


def _member(record: JudgedAnswer, table: ItemTable, unit: int, item_id: str, differing: frozenset[str]) -> Member:
    verdict = judged(record, table, unit)
    label = "not_judged" if verdict is None else verdict.label
    return Member(item_id, label, None if verdict is None else verdict.score, item_id in differing)


def _answer(query_id: str, own: Sequence[Member]) -> Member:
    labels = [member.label for member in own if member.label != "not_judged"]
    share = labels.count("supported") / len(labels) if labels else None
    return Member(query_id, None, share, any(member.disputed for member in own))


def items_digest(verdicts: Verdicts, table: ItemTable) -> str:
    """A fingerprint of what a judge says of the items of a table, whatever the order of the questions."""
    says = {(member.id, member.label, member.score) for member in members(verdicts, table)}
    return text_digest(json.dumps(sorted(says, key=str)))


def undrawn(
    verdicts: Verdicts, table: ItemTable, strata: tuple[Stratum, ...], *, system: str, seed: int, unit: Drawn = "item"
) -> StratifiedSample:
    """The sample of strata of which nothing is drawn yet."""
    return StratifiedSample(table, system, items_digest(verdicts, table), seed, strata, verdicts.judge, unit)


def draw(sample: StratifiedSample, n: int) -> StratifiedSample:
    """A random sample of n items, or answers, more than those that are drawn, within strata of the judge's score.

    Members of a stratum are drawn in an order that depends on seed and id alone, so an item, or a question, that two
    systems share is likely to be drawn in both, and one decision serves both. A later draw goes on in that order:
    both together are a random sample as if drawn at once.
    Raises    InputError where there is nothing to draw.
    """
    drawn = [len(stratum.drawn) for stratum in sample.strata]
    n = min(sum(drawn) + n, sample.n_members)
    if not sample.n_members:
        raise InputError(f"{sample.system}: has no items of the table {sample.table} that people could decide about")
    sizes = [len(stratum.members) for stratum in sample.strata]
    spreads = [_SPREAD_DISPUTED if s.name == DISPUTED else _SPREAD_AGREED for s in sample.strata]
    counts = allocation(n, np.array(sizes), np.array(spreads), np.array(drawn))
    strata = tuple(
        replace(stratum, drawn=in_random_order(stratum.members, sample.seed)[:count])
        for stratum, count in zip(sample.strata, counts.tolist(), strict=True)
    )
    return replace(sample, strata=strata)


def in_random_order(ids: Sequence[str], seed: int) -> tuple[str, ...]:
    """Ids by the hash of each with the seed: in any list of them, they come in the same order.

    >>> in_random_order("abcd", 0), in_random_order("dba", 0)
    (('d', 'a', 'b', 'c'), ('d', 'a', 'b'))
    """

    def key(member: str) -> bytes:
        return hashlib.sha256(f"{seed}\n{member}".encode("utf-8", "surrogatepass")).digest()

    return tuple(sorted(ids, key=key))


def strata_of(population: Sequence[Member], n: int, unit: Drawn = "item") -> tuple[Stratum, ...]:
    """Members that the judge sees alike, in the order of label and score, and those that judges differ on last.

    n   how many are to be drawn: fewer make fewer strata

    What is supported and what is not is never in one stratum, unless there is but one; members with the same label and
    score are never in two.
    """
    agreed = sorted((member for member in population if not member.disputed), key=lambda member: member.key)
    disputed = tuple(member.id for member in population if member.disputed)
    sides = [list(side) for _, side in groupby(agreed, key=lambda member: member.label == "supported")]
    n_strata = max(1, min(MOST_STRATA, n // _A_STRATUM))
    if n_strata < len(sides):
        sides = [agreed]
    # Each side gets one stratum at least.
    most = n_strata - len(sides) + 1
    parts = [p for side in sides for p in _parts(side, min(max(1, round(n_strata * len(side) / len(agreed))), most))]
    strata = [Stratum(_name(part), tuple(member.id for member in part), ()) for part in parts]
    return (*strata, Stratum(DISPUTED, disputed, ())) if disputed else tuple(strata)


def _parts(side: Sequence[Member], n: int) -> list[list[Member]]:
    """Parts of about the same length; equal keys stay together."""
    parts: list[list[Member]] = [[]]
    for _, group in groupby(side, key=lambda member: member.key):
        if parts[-1] and sum(map(len, parts)) >= len(side) * len(parts) / n:
            parts.append([])
        parts[-1] += group
    return parts


def _name(part: Sequence[Member]) -> str:
    """Labels and scores of a stratum: "contradicted/not_found 0-0.31"."""
    labels = [label for label in _ORDER if any(member.label == label for member in part)]
    scores = [member.score for member in part if member.score is not None]
    span = f"{min(scores):.3g}-{max(scores):.3g}" if scores else ""
    return " ".join(filter(None, ["/".join(labels), span])) or "all"


def allocation(n: int, sizes: Ints, spreads: Floats, drawn: Ints) -> Ints:
    """Counts to draw of each stratum, n in all: in proportion to size × spread, as Neyman (1934) has it.

    sizes    (h,) members of each, n at most in all;   spreads   (h,) how far people are foreseen to differ there
    drawn    (h,) how many are drawn already, n at most in all: no fewer
    Returns  (h,) at least 2 of each as far as n and sizes go, and no more than there are

    >>> allocation(20, np.array([60, 30, 10, 1]), np.ones(4), np.zeros(4, int))
    array([11,  6,  2,  1])
    """
    least = np.maximum(drawn, np.minimum(_LEAST, sizes))
    if least.sum() > n:
        least = drawn.copy()
    shares = _filled(n, sizes * spreads, least, sizes)
    counts = np.clip(np.floor(shares).astype(np.int64), least, sizes)
    rest = np.argsort(-(shares - counts), kind="stable")
    for place in [place for _ in range(int(n)) for place in rest]:
        if counts.sum() == n:
            break
        counts[place] += counts[place] < sizes[place]
    return counts


def _filled(n: int, weights: Floats, least: Ints, most: Ints) -> Floats:
    """(h,) shares of n in proportion to the weights, within bounds: by bisection of the factor."""
    low, high = 0.0, float((most / weights).max())
    for _ in range(100):
        factor = (low + high) / 2
        low, high = (low, factor) if np.clip(factor * weights, least, most).sum() > n else (factor, high)
    return np.clip(low * weights, least, most)


def size_for_width(width: float, values: Floats, weights: Floats, *, variance: float = WORST_VARIANCE) -> int:
    """Count of items that people must decide, so that the interval of a corrected mean is about so wide.

    values    (q,) of the measure by the judge, of questions for which it is defined: those of people vary as much
    weights   (u,) of each item in the mean, 1 in all; those of an answer share its question's
    variance  of people's verdict on an item about the judge's; at most that of people's verdicts alone, 1/4

    The variance of the mean is s²/q, as these questions are a sample of all, and d · variance · (1/n - 1/u), as n of u
    items are decided, with d = u Σ weights² as items do not count alike.
    Raises    InputError for a width that the questions alone exceed.
    """
    wished = (width / 2 / NormalDist().inv_cdf(0.975)) ** 2
    by_questions = float(np.var(values, ddof=1)) / len(values) if len(values) > 1 else math.inf
    room = wished - by_questions
    if room <= 0:
        least = width * math.sqrt(by_questions / wished)
        raise InputError(
            f"an interval {width:g} wide cannot be had of {len(values)} questions: if people decided all, it would be "
            f"about {least:.2g}; take more questions, or a greater width"
        )
    n_items = len(weights)
    design = n_items * float(np.square(weights).sum())
    return min(n_items, max(_LEAST, math.ceil(1 / (room / (design * variance) + 1 / n_items))))


def residual_variance(sample: StratifiedSample, judge: Mapping[str, bool], people: Mapping[str, bool]) -> float | None:
    """The variance of people's verdicts about the judge's, by the labels of a sample; None with fewer than 10.

    judge, people   item -> whether it is supported

    A verdict that is right, and one that is wrong, are added to each stratum, lest one without errors seem infallible.
    """
    if sum(item in people and item in judge for item in sample.drawn) < _A_STRATUM:
        return None
    total = 0.0
    for stratum in sample.merged(people.keys() & judge.keys()):
        says = [judge[item] for item in stratum.drawn]
        apart = [int(people[item]) - judge[item] for item in stratum.drawn]
        apart += [0, -1 if 2 * sum(says) > len(says) else 1]
        total += len(stratum.members) / sample.n_members * float(np.var(apart))
    return min(total, WORST_VARIANCE)
