"""The rankings of a system as deep as they are at hand, and faults of them: other gold, repeated texts, reordering."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import polars as pl

from steelyard.align.rankings import align
from steelyard.align.resolver import Resolver
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.data.chunk_table import Corpus
from steelyard.data.questions import Questions
from steelyard.data.run import Run, ranked
from steelyard.data.truth import Truth
from steelyard.diagnosis.thresholds import CROSSED, MIN_GROUP, MIN_SHARE, MORE
from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.door.weighing import Weighing
from steelyard.measures import Alignment, make, parse
from steelyard.measures.alignment import by_query, offsets, rank_order
from steelyard.text.matching import encodable

_MANY = 10
"""Of fewer lists, one may be the longest though all were cut at its length."""


@dataclass(frozen=True, eq=False)
class Lists:
    """A system's rankings, as deep as they are at hand.

    final     what the system returned; without a reranker, the longer list that this is the head of, where there is one
              and k results were returned
    before    the candidates, in the order before reranking; `final` itself where there are none
    reranked  whether a reranker is between the two
    whole     whether nothing lies below `before`: it holds the whole corpus, or no common depth cut the lists
    """

    final: Alignment
    before: Alignment
    reranked: bool
    whole: bool

    @cached_property
    def depth(self) -> int:
        """Length of the longest list of candidates; what they would be below it is unknown."""
        return int(self.before.n_retrieved.max(initial=0))

    @cached_property
    def final_depth(self) -> int:
        """Length of the longest list that was returned."""
        return int(self.final.n_retrieved.max(initial=0))

    def reach(self, k: int, *, final: bool = False) -> bool:
        """True if the lists hold the first k places of the candidates (or of what was returned)."""
        return k <= (self.final_depth if final else self.depth) or (self.whole and not (final and self.reranked))


def lists_of(weighed: Weighed, *, k: int = 1, reranked: bool | None = None) -> Lists:
    """The rankings of a system.

    k          results that count as found: where fewer were returned, candidates do not count as such
    reranked   whether it has a reranker; by default, whether its results are in another order than its candidates
    """
    n_chunks = None if weighed.corpus is None else len(weighed.corpus)
    final = weighed.alignment
    before = final if weighed.candidates is None else _candidates(weighed.candidates, final)
    whole = (n_chunks is not None and before.n_retrieved.max(initial=0) >= n_chunks) or (
        before.n_queries >= _MANY and int((before.n_retrieved == before.n_retrieved.max()).sum()) == 1
    )
    same = before is final or is_head(final, before)
    if same if reranked is None else not reranked:
        shown = before if same and k <= final.n_retrieved.max(initial=0) else final
        return Lists(shown, before if same else final, False, whole and same)
    return Lists(final, before, True, whole)


def _candidates(candidates: Alignment, final: Alignment) -> Alignment:
    """The candidates, and what was returned where a question has none."""
    listed = (candidates.n_retrieved > 0) | (final.n_retrieved == 0)
    before = candidates if listed.all() else by_query(listed, candidates, final)
    return replace(before, missing=final.missing)


def is_head(final: Alignment, before: Alignment) -> bool:
    """True if a list begins with the other, as far as judged documents show."""
    head = before.hit_rank <= final.n_retrieved[before.hit_query]
    return (
        bool((final.n_retrieved <= before.n_retrieved).all())
        and int(head.sum()) == len(final.hit_rank)
        and np.array_equal(before.hit_query[head], final.hit_query)
        and np.array_equal(before.hit_rank[head], final.hit_rank)
        and np.array_equal(before.hit_gain[head], final.hit_gain)
    )


def reversed_lists(a: Alignment) -> Alignment:
    """Every list from its end."""
    rank = a.n_retrieved[a.hit_query] + 1 - a.hit_rank
    order = rank_order(a.hit_query, rank)
    evidence = a.evidence and replace(
        a.evidence,
        pieces=reversed_lists(a.evidence.pieces),
        counted=reversed_lists(a.evidence.counted),
        gold=reversed_lists(a.evidence.gold),
    )
    return replace(a, hit_rank=rank[order], hit_gain=a.hit_gain[order], evidence=evidence, ties=None)


def completed(a: Alignment, k: int) -> Alignment:
    """Lists shorter than k, as if they went on to k with all the gold that they lack, best first."""
    query, rank, gain = [a.hit_query], [a.hit_rank], [a.hit_gain]
    for q in np.flatnonzero(a.n_retrieved < k).tolist():
        ideal = a.ideal_gain[a.ideal_starts[q] : a.ideal_starts[q + 1]]
        left = Counter(ideal[ideal > 0].tolist())
        left.subtract(a.hit_gain[a.starts[q] : a.starts[q + 1]].tolist())
        more = sorted((+left).elements(), reverse=True)[: k - int(a.n_retrieved[q])]
        query.append(np.full(len(more), q))
        rank.append(a.n_retrieved[q] + np.arange(1, len(more) + 1))
        gain.append(np.array(more, float))
    query_of, ranks, gains = np.concatenate(query), np.concatenate(rank), np.concatenate(gain)
    order = rank_order(query_of, ranks)
    evidence = a.evidence and replace(
        a.evidence, pieces=completed(a.evidence.pieces, k), counted=completed(a.evidence.counted, k)
    )
    return replace(
        a, n_retrieved=np.maximum(a.n_retrieved, k), starts=offsets(query_of, a.n_queries), hit_rank=ranks[order],
        hit_gain=gains[order], evidence=evidence, ties=None,
    )  # fmt: skip


def count_gold(a: Alignment, min_gain: float) -> Ints:
    """(q,) relevant documents, or pieces of gold."""
    return np.bincount(a.ideal_query[a.ideal_gain >= min_gain], minlength=a.n_queries)


_MOST_PAIRS = 5_000_000
"""Pairs of questions that are looked at for exchanged labels, which memory holds at once."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Answers that are out of step with the questions, from one on, in the order of a file.

    by        1 where a list holds the gold of the next question, -1 for the one before
    first     place of the first question that is out of step;   whole   whether it is the first of all
    partner   (q,) place of the question whose list that is; -1 for lists in step
    beside    (q,) questions out of step whose list holds the neighbour's gold and none of their own
    n_own     how many of them hold their own gold and none of the neighbour's
    """

    by: int
    first: int
    whole: bool
    partner: Ints
    beside: Bools
    n_own: int


class Crossings:
    """The first results of a system against the gold of all questions.

    hit, answered   (q,) whether any own gold is among the first k, and whether the list can be judged at all
    nowhere         (q,) whether there is none even among the first 4k
    """

    def __init__(self, weighing: Weighing, place: int, *, k: int, min_gain: float, hit: Bools, answered: Bools) -> None:
        self.weighing, self.system = weighing, weighing.weighed[place]
        self.hit, self.answered, self.min_gain = hit, answered, min_gain
        ids = pl.Series("query_id", weighing.query_ids, dtype=pl.String)
        self.rows = pl.DataFrame({"query_id": ids, "q": np.arange(len(ids))})
        self.labels = _labels(weighing, place).join(self.rows, on="query_id").select("q", "doc_id", "gain")
        self.gold = self.labels.filter(pl.col("gain") >= min_gain).select("q", "doc_id")
        deep = self.system.run.top(MORE * k).join(self.rows, on="query_id").select("q", "doc_id", "rank")
        self.lists = deep.filter(pl.col("rank") <= k)
        self.nowhere = answered & ~_mask(deep.join(self.gold, on=["q", "doc_id"], how="semi"), len(hit))

    def shift(self) -> Shift | None:
        """The longest stretch up to the end of a file where lists hold the neighbour's gold instead of their own."""
        shifts = [self._shift(order, by) for order in self._orders() for by in (1, -1)]
        return max((s for s in shifts if s is not None), key=lambda s: int(s.beside.sum()) - s.n_own, default=None)

    def swaps(self) -> Ints:
        """(q,) place of the question whose gold a list holds, and that holds this one's in turn; -1 for no such pair.

        Both have none of their own, however deep it is looked for; what is ranked somewhat low is no mistake of labels.
        Pairs that rank each other's gold highest come first.
        """
        lists, gold = (f.filter(pl.Series(self.nowhere[f["q"].to_numpy()])) for f in (self.lists, self.gold))
        # What is gold of many questions tells least whose labels a list holds, and makes most pairs.
        met = lists.join(gold.group_by("doc_id").len(), on="doc_id").sort("len", "q", "rank")
        lists = met.filter(pl.col("len").cum_sum() <= _MOST_PAIRS).drop("len")
        pairs = lists.join(gold.rename({"q": "other"}), on="doc_id").filter(pl.col("q") != pl.col("other"))
        n, rank = len(self.nowhere), pairs["rank"].to_numpy()
        # Pairs as numbers, each once at its best rank, are many times as fast as groups and a join of two columns.
        pair = pairs["q"].to_numpy() * n + pairs["other"].to_numpy()
        order = np.lexsort((rank, pair))
        order = order[np.diff(pair[order], prepend=-1) != 0]
        pair, rank = pair[order], rank[order]
        back = np.searchsorted(pair, pair % n * n + pair // n)
        mutual = np.flatnonzero(np.append(pair, -1)[back] == pair % n * n + pair // n)
        mutual = mutual[np.lexsort((pair[mutual], rank[mutual] + rank[back[mutual]]))]
        partner = np.full(n, -1)
        for q, other in zip((pair[mutual] // n).tolist(), (pair[mutual] % n).tolist(), strict=True):
            if partner[q] < 0 and partner[other] < 0:
                partner[q], partner[other] = other, q
        return partner

    def first(self, partner: Ints) -> Bools:
        """(q,) whether the first result is gold of the question's partner."""
        return (partner >= 0) & (self.value_with(partner, f"hit_rate(min_gain={self.min_gain!r})@1") > 0)

    def value_with(self, partner: Ints, measure: str) -> Floats:
        """(q,) values, had each question the labels of its partner, where it has one.

        Labels are of chunks, so that recall of them stands for that of evidence.
        """
        owner = pl.DataFrame(
            {"query": np.arange(len(partner)), "q": np.where(partner >= 0, partner, np.arange(len(partner)))}
        )
        labels = owner.join(self.labels, on="q").select(q="query", doc_id="doc_id", gain="gain")
        labels = labels.join(self.rows, on="q").select("query_id", "doc_id", "gain")
        policy = self.weighing.recipe["on_duplicate"]
        a = align(Truth(labels), self.system.run, on_duplicate=policy).alignment
        values = np.zeros(len(partner))
        places = pl.DataFrame({"query_id": pl.Series(a.query_id, dtype=pl.String)}).join(
            self.rows, on="query_id", maintain_order="left"
        )
        spec = parse(measure)
        of_evidence = {"pieces", "characters"} & set(spec.definition.inputs)
        values[places["q"].to_numpy()] = (make("recall", spec.depth) if of_evidence else spec)(a)
        return values

    def _orders(self) -> Iterator[Ints]:
        """Places of the questions in the orders that files may have: of the run, of the questions, and of their ids."""
        ids = list(self.weighing.query_ids)
        place = {query_id: q for q, query_id in enumerate(ids)}
        run = self.system.run
        in_run = run.frame["query_id"].unique(maintain_order=True).to_list() if isinstance(run, Run) else []
        orders = (in_run, list(self.weighing.questions), _in_natural_order(tuple(ids)))
        distinct = {tuple(place[query_id] for query_id in order if query_id in place) for order in orders}
        yield from (np.array(order, np.int64) for order in sorted(distinct) if len(order) > 1)

    def _shift(self, order: Ints, by: int) -> Shift | None:
        partner = np.full(len(self.hit), -1)
        partner[order[:-1] if by > 0 else order[1:]] = order[1:] if by > 0 else order[:-1]
        near = self._holds_gold_of(partner)
        beside, own = self.answered & near & ~self.hit, self.answered & self.hit & ~near
        balance = beside[order].astype(np.int64) - own[order]
        start = int(np.argmax(np.cumsum(balance[::-1])[::-1]))
        out_of_step = np.zeros(len(partner), bool)
        out_of_step[order[start:]] = True
        beside, n_own = beside & out_of_step, int((own & out_of_step).sum())
        # Neighbours that share their gold say nothing.
        n, n_telling = int(beside.sum()), int((self.answered & out_of_step & ~(self.hit & near)).sum())
        if n < max(MIN_GROUP, MIN_SHARE * self.answered.sum(), CROSSED * n_telling) or CROSSED * n < n_own:
            return None
        earlier = self.answered & ~out_of_step
        return Shift(
            by=by, first=int(order[start]), whole=not earlier.any(), partner=np.where(out_of_step, partner, -1),
            beside=beside, n_own=n_own,
        )  # fmt: skip

    def _holds_gold_of(self, partner: Ints) -> Bools:
        """(q,) whether the list of each question holds gold of its partner."""
        pairs = pl.DataFrame({"q": partner, "owner": np.arange(len(partner))}).filter(pl.col("q") >= 0)
        wanted = self.gold.join(pairs, on="q").select(q="owner", doc_id="doc_id")
        return _mask(self.lists.join(wanted, on=["q", "doc_id"], how="semi"), len(partner))


def _mask(frame: pl.DataFrame, n: int) -> Bools:
    """(n,) which questions have a row."""
    mask = np.zeros(n, bool)
    mask[frame["q"].to_numpy()] = True
    return mask


def _labels(weighing: Weighing, place: int) -> pl.DataFrame:
    """query_id, doc_id and gain of all labels of a system, whichever question retrieved what they are on."""
    gold, system = weighing.gold, weighing.weighed[place]
    evidence, outputs = system.evidence, system.outputs
    if evidence is None or outputs is None or evidence.table.complete or not isinstance(gold, Questions):
        return weighing.labels[place]
    # Where not all chunks are at hand, labels are of what the question itself retrieved: here, of what any did.
    corpus = Corpus(replace(evidence.table, complete=True), evidence.resolution.documents.texts)
    resolver = Resolver(gold, corpus=corpus, rule=evidence.mapping.rule, steps=evidence.mapping.steps)
    return resolver.resolve(outputs).labels.frame.drop_nulls("doc_id")


@lru_cache(maxsize=1)
def _in_natural_order(query_ids: tuple[str, ...]) -> Sequence[str]:
    return sorted(query_ids, key=_natural)


def _natural(query_id: str) -> list[Any]:
    """Numbers within ids by their size: q2 before q10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", query_id)]


@dataclass(frozen=True, eq=False)
class DuplicateTexts:
    """Documents in the first places of each list that were there already, under another id.

    n       (q,) such results among the first k
    places  query, rank, and `place`: the rank of a text if every text were listed once
    example two ids of one text
    """

    n: Ints
    places: pl.DataFrame
    example: tuple[str, str]

    def without(self, a: Alignment) -> Alignment:
        """The lists with every text once, as deep as they were looked at."""
        hits = pl.DataFrame({"query": a.hit_query, "rank": a.hit_rank, "gain": a.hit_gain})
        once = hits.join(self.places, on=["query", "rank"]).group_by("query", "place").agg(pl.col("gain").max())
        query, rank = once["query"].to_numpy(), once["place"].to_numpy()
        order = rank_order(query, rank)
        evidence = a.evidence and replace(
            a.evidence,
            pieces=self._moved(a.evidence.pieces),
            counted=self.without(a.evidence.counted),
            gold=self._moved(a.evidence.gold),
        )
        return replace(
            a, starts=offsets(query, a.n_queries), hit_rank=rank[order], hit_gain=once["gain"].to_numpy()[order],
            evidence=evidence, ties=None,
        )  # fmt: skip

    def _moved(self, a: Alignment) -> Alignment:
        """Gold pieces or characters at the places of the texts that hold them."""
        hits = pl.DataFrame({"query": a.hit_query, "rank": a.hit_rank, "gain": a.hit_gain})
        moved = hits.join(self.places, on=["query", "rank"], maintain_order="left")
        query, rank = moved["query"].to_numpy(), moved["place"].to_numpy()
        order = rank_order(query, rank)
        return replace(
            a,
            starts=offsets(query, a.n_queries),
            hit_rank=rank[order],
            hit_gain=moved["gain"].to_numpy()[order],
            ties=None,
        )


def duplicate_texts(weighed: Weighed, k: int) -> DuplicateTexts | None:
    """Texts that come again in what was returned, twice as deep as k; None where there are none, or no texts."""
    table = None if weighed.outputs is None else weighed.outputs.table
    if table is None or not table.has_text:
        return None
    a = weighed.alignment
    rows = pl.DataFrame({"query_id": pl.Series(a.query_id, dtype=pl.String), "query": np.arange(a.n_queries)})
    whole = [None if text is None else encodable(text) for text in table.texts]
    texts = pl.DataFrame({"doc_id": pl.Series(table.ids), "text": pl.Series(whole, dtype=pl.String)})
    results = weighed.run.top(2 * k).join(rows, on="query_id").join(texts, on="doc_id", maintain_order="left")
    results = results.with_columns(text=pl.coalesce("text", "doc_id")).sort("query", "rank")
    first = results.select("query", "doc_id", "text").unique(["query", "text"], keep="first", maintain_order=True)
    first = first.with_columns(place=pl.int_range(1, pl.len() + 1).over("query")).rename({"doc_id": "same"})
    results = results.join(first, on=["query", "text"], maintain_order="left")
    again = results.filter((pl.col("doc_id") != pl.col("same")) & (pl.col("rank") <= k))
    if again.is_empty():
        return None
    return DuplicateTexts(
        n=np.bincount(again["query"].to_numpy(), minlength=a.n_queries),
        places=results.select("query", "rank", "place"),
        example=again.select("same", "doc_id").row(0),
    )


@dataclass(frozen=True)
class Reordering:
    """Changes that a reranker made in what was returned, in shares of the questions that got anything.

    first   another result at rank 1;   order   any other order;   members   other results
    """

    first: float
    order: float
    members: float


def reordering_of(weighed: Weighed) -> Reordering | None:
    """Changes that the reranker of a system made; None without candidates.

    All results count, judged or not: other results may be there though the judged ones do not move.
    """
    if weighed.outputs is None or weighed.outputs.candidates is None:
        return None
    after = ranked(weighed.outputs.run.frame)
    lengths = after.group_by("query_id").agg(length=pl.len())
    # What was ranked below every list that was returned came from outside it, wherever that was.
    deep = pl.col("rank") <= lengths["length"].max()
    before = ranked(weighed.outputs.candidates.frame).filter(deep).select("query_id", "doc_id", before="rank")
    joined = after.join(before, on=["query_id", "doc_id"], how="left").join(lengths, on="query_id")
    changes = (
        joined.group_by("query_id")
        .agg(
            first=(pl.col("before").filter(pl.col("rank") == 1) != 1).fill_null(True).any(),
            order=(pl.col("before") != pl.col("rank")).fill_null(True).any(),
            members=(pl.col("before") > pl.col("length")).fill_null(True).any(),
        )
        # Of questions without candidates nothing is known.
        .join(before.select("query_id").unique(), on="query_id", how="semi")
    )
    if not changes.height:
        return None
    first, order, members = changes.select(pl.col("first", "order", "members").mean()).row(0)
    return Reordering(first, order, members)
