"""All numbers that advice is drawn from, computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats
from steelyard.base.schema import canonical_order
from steelyard.data.questions import Questions
from steelyard.data.segments import language_segments, length_segments
from steelyard.diagnosis.ceilings import Ceilings, Values
from steelyard.diagnosis.curves import Curves
from steelyard.diagnosis.funnel import AT, Funnel, n_within
from steelyard.diagnosis.lists import Lists
from steelyard.experiment.weighing import Weighed, Weighing
from steelyard.measures import Measure, make, parse

GroupKind = Literal["tag", "document", "language", "long"]


@dataclass(frozen=True, eq=False)
class Group:
    """Questions that have something in common.

    kind   tag, document (that holds their gold), language, or long (of one language)
    name   of the tag or document; en or zh
    mask   (q,) the questions;   length   fewest tokens of long ones, see `length_segments`
    """

    kind: GroupKind
    name: str
    mask: Bools
    length: int = 0


@dataclass(frozen=True)
class Reordering:
    """What a reranker changed in what was returned, in shares of the questions that got anything.

    first   another result at rank 1;   order   any other order;   members   other results
    """

    first: float
    order: float
    members: float


@dataclass(frozen=True, eq=False)
class SystemFacts:
    """What is known of one system; q questions.

    value, base      (q,) values of the measure that gains are told in: of what was returned, and before reranking
    perfect          {n: (q,)} the same with the first n candidates in perfect order, where they are known
    hit              (q,) whether any gold is in the first k
    span_recall      (q,) share of the gold's characters that the first k show; None where they are unknown
    precision        mean precision@k
    rule             by which a chunk holds gold evidence; empty where the gold is named by id
    reordering       None without a reranker
    """

    name: str
    lists: Lists
    funnel: Funnel
    value: Floats
    base: Floats
    perfect: Mapping[int, Floats]
    hit: Bools
    span_recall: Floats | None
    precision: float
    rule: str
    reordering: Reordering | None

    def at(self, *stages: str) -> Bools:
        """(q,) whether a question is at one of these stages."""
        return np.isin(self.funnel.stage, [AT[stage] for stage in stages])

    @cached_property
    def winnable(self) -> Bools:
        """(q,) questions that have gold."""
        return ~self.at("no_gold")

    @cached_property
    def answered(self) -> Bools:
        """(q,) questions that have gold and were neither failed nor missing."""
        return self.winnable & ~self.at("failed", "missing")

    def ids(self, mask: Bools, worst_first: Floats | None = None) -> tuple[str, ...]:
        """Ids of questions: in their order, or those with the largest number of worst_first first."""
        rows = np.flatnonzero(mask)
        if worst_first is not None:
            rows = rows[np.argsort(-worst_first[rows], kind="stable")]
        return tuple(self.funnel.query_ids[q] for q in rows.tolist())

    def as_others(self, mask: Bools) -> float:
        """How much the mean would rise if these questions did as well as the other ones that have gold.

        As well as can be, where there are no others.
        """
        others = self.winnable & ~mask
        if not mask.any():
            return 0.0
        wished = float(self.value[others].mean()) if others.any() else 1.0
        return max(0.0, float(mask.mean()) * (wished - float(self.value[mask].mean())))


@dataclass(frozen=True, eq=False)
class Facts:
    """What the rules of advice look at.

    k          results that count as found;   measure   what gains are told in
    baseline   place of the system that others are held against
    means      (s, m) of `ceilings.measures`;   each   (s, m, q) their values
    groups     questions that have something in common
    """

    k: int
    measure: str
    baseline: int
    systems: Sequence[SystemFacts]
    ceilings: Ceilings
    curves: Curves
    each: Floats = field(repr=False)
    groups: Sequence[Group] = ()

    def of(self, name: str) -> Floats:
        """(s, q) values of a measure at k by its plain name, such as recall."""
        at = next(j for j, spec in enumerate(self.ceilings.measures) if spec.split("(")[0].split("@")[0] == name)
        return self.each[:, at]

    def mean(self, system: int, name: str, k: int | None = None) -> float:
        """The mean of a measure of a system at a depth (by default k); NaN where it is not known."""
        return self.curves.at(system, name, self.k if k is None else k)


def facts_of(
    weighing: Weighing, *, lists: Sequence[Lists], funnels: Sequence[Funnel], ceilings: Ceilings, curves: Curves,
    values: Values, measures: Sequence[Measure], tags: Mapping[str, Bools], k: int, min_gain: float,
    baseline: str,
) -> Facts:  # fmt: skip
    """Gather the numbers; values are of `measures`, the first of which gains are told in."""
    systems = [
        _system(each, lists[i], funnels[i], ceilings, values, i, k, min_gain)
        for i, each in enumerate(weighing.weighed)
    ]  # fmt: skip
    return Facts(
        k, str(measures[0]), weighing.systems.index(baseline), systems, ceilings,
        curves, values.reached, groups_of(weighing, tags),
    )  # fmt: skip


def _system(
    weighed: Weighed, lists: Lists, funnel: Funnel, ceilings: Ceilings, values: Values, i: int, k: int, min_gain: float
) -> SystemFacts:
    hit = n_within(lists.final.pieces, k, min_gain) > 0
    perfect = {n: values.perfect[i, 0, j] for j, n in enumerate(ceilings.ns) if lists.reach(n)}
    return SystemFacts(
        weighed.name, lists, funnel, values.reached[i, 0], values.base[i, 0], perfect, hit,
        None if lists.final.evidence is None else make("span_recall", k)(lists.final),
        float(parse(f"precision@{k}", min_gain=min_gain)(lists.final).mean()),
        weighed.mapping.rule if weighed.mapping else "", _reordering(weighed) if lists.reranked else None,
    )  # fmt: skip


def _reordering(weighed: Weighed) -> Reordering | None:
    """What the reranker changed, by ids: other results may stand there though the judged ones do not move."""
    if weighed.outputs is None or weighed.outputs.candidates is None:
        return None
    after = _ranked(weighed.outputs.run.frame)
    lengths = after.group_by("query_id").agg(length=pl.len())
    # What stood below every list that was returned came from outside it, wherever that was.
    deep = pl.col("rank") <= lengths["length"].max()
    before = _ranked(weighed.outputs.candidates.frame).filter(deep).select("query_id", "doc_id", before="rank")
    joined = after.join(before, on=["query_id", "doc_id"], how="left").join(lengths, on="query_id")
    told = joined.group_by("query_id").agg(
        first=(pl.col("before").filter(pl.col("rank") == 1) != 1).fill_null(True).any(),
        order=(pl.col("before") != pl.col("rank")).fill_null(True).any(),
        members=(pl.col("before") > pl.col("length")).fill_null(True).any(),
    )
    # Questions whose candidates are not told say nothing.
    told = told.join(before.select("query_id").unique(), on="query_id", how="semi")
    if not told.height:
        return None
    first, order, members = told.select(pl.col("first", "order", "members").mean()).row(0)
    return Reordering(first, order, members)


def _ranked(frame: pl.DataFrame) -> pl.DataFrame:
    """Rank from 1 of every row, in canonical order."""
    frame = frame.drop_nulls("doc_id")
    first = _firsts(frame)
    score = frame["score"].to_numpy()
    whole = int(first.sum()) == frame["query_id"].n_unique()
    if not whole or not (first[1:] | (score[1:] < score[:-1])).all():
        frame = canonical_order(frame)
        first = _firsts(frame)
    starts = np.flatnonzero(first)
    rank = np.arange(1, len(first) + 1) - starts[np.cumsum(first) - 1]
    return frame.select("query_id", "doc_id").with_columns(rank=pl.Series(rank, dtype=pl.Int64))


def _firsts(frame: pl.DataFrame) -> Bools:
    """(n,) whether a row is the first of its query's block."""
    block = frame["query_id"].rle_id().to_numpy()
    first = np.ones(len(block), bool)
    first[1:] = block[1:] != block[:-1]
    return first


def groups_of(weighing: Weighing, tags: Mapping[str, Bools]) -> list[Group]:
    """Tags, documents of the gold, languages and long questions: what failures may cluster on."""
    n = len(weighing.query_ids)
    groups = [Group("tag", tag, mask) for tag, mask in tags.items()]
    groups += [Group("document", doc, _mask(rows, n)) for doc, rows in sorted(_documents(weighing).items())]
    languages = language_segments(weighing.questions, weighing.query_ids)
    if len(languages) > 1:
        groups += [Group("language", code, mask) for code, mask in languages.items()]
    lengths = length_segments(weighing.questions, weighing.query_ids)
    groups += [
        Group("long", code, parts["long"].members, parts["long"].fewest)
        for code, parts in lengths.items()
        if "long" in parts
    ]
    return groups


def _mask(rows: Sequence[int], n: int) -> Bools:
    mask = np.zeros(n, bool)
    mask[list(rows)] = True
    return mask


def _documents(weighing: Weighing) -> dict[str, list[int]]:
    """The questions whose gold lies in each document; none where the gold names chunks, or documents by id."""
    if not isinstance(weighing.gold, Questions):
        return {}
    place = {query_id: q for q, query_id in enumerate(weighing.query_ids)}
    rows: dict[str, set[int]] = {}
    for question in weighing.gold:
        for piece in question.evidence:
            if piece.doc and piece.gain > 0:
                rows.setdefault(piece.doc, set()).add(place[question.query_id])
    return {doc: sorted(of_one) for doc, of_one in rows.items()}
