"""Where the gold of each question was lost: the first stage of the pipeline that lost it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from steelyard.align.resolution import Resolution
from steelyard.align.resolver import ResolvedGold
from steelyard.base.arrays import Bools, Ints
from steelyard.diagnosis.lists import Lists
from steelyard.experiment.weighing import Weighed
from steelyard.measures import Alignment
from steelyard.text.citing import citations
from steelyard.text.spans import join

STAGES = (
    "failed", "missing", "no_gold", "not_in_corpus", "cut", "not_retrieved", "below_k", "reranked_out", "unused",
    "found",
)  # fmt: skip
"""What became of a question, in the order of the pipeline.

failed         the system says that it failed
missing        the question is absent from the run
no_gold        nothing is labelled relevant: there is nothing to find, and nothing lost, whatever the system did
not_in_corpus  no document, or no chunk of the label's id, is in the corpus
cut            the document is there, but no chunk holds the gold by the rule: chunking cut it apart or left it out
not_retrieved  not within the depth that is known
below_k        retrieved, below rank k
reranked_out   in the first k before reranking, and pushed below them by the reranker
unused         in the first k, but the answer cites other chunks only
found          in the first k
"""
AT = {name: place for place, name in enumerate(STAGES)}
NOT_LOST = ("no_gold", "found")


@dataclass(frozen=True, eq=False)
class Funnel:
    """Where one system lost the gold, question by question, at the stage that the furthest of its gold reached.

    k             what counts as found;   depth   the rank down to which the lists are known
    query_ids     q ids
    stage         (q,) places in STAGES
    n_gold        (q,) pieces of gold
    by_evidence   whether these pieces are evidence; else relevant documents, by their ids
    pieces        (q, len(STAGES)) how many of them were lost at each stage, or found.  reranked_out is what the
                  reranker pushed below k less what it pulled above it; `found` counts what an answer left unused too
    corpus_known  whether all chunks are known; else not_in_corpus and cut cannot be told from not_retrieved
    reranked      whether candidates from before a reranker are known
    cited         (q,) whether the answer cites chunks, so that `unused` can be told; None where no answer does
    split         (q,) pieces that no chunk holds whole;   None where it is not known which characters chunks hold
    """

    system: str
    k: int
    depth: int
    query_ids: Sequence[str]
    stage: Ints
    n_gold: Ints
    by_evidence: bool
    pieces: Ints
    corpus_known: bool
    reranked: bool
    cited: Bools | None
    split: Ints | None

    def counts(self) -> dict[str, int]:
        """How many questions each stage has, in the order of STAGES."""
        n = np.bincount(self.stage, minlength=len(STAGES)).tolist()
        return dict(zip(STAGES, n, strict=True))

    def lists(self) -> dict[str, list[str]]:
        """Ids of each stage's questions, in the order of query_ids."""
        return {name: self.at(name) for name in STAGES}

    def at(self, stage: str) -> list[str]:
        """Ids of the questions of a stage."""
        return [self.query_ids[q] for q in np.flatnonzero(self.stage == AT[stage]).tolist()]

    @property
    def n_at_stage(self) -> dict[str, int]:
        """How many pieces of gold each stage lost, or found."""
        return dict(zip(STAGES, self.pieces.sum(axis=0).tolist(), strict=True))

    @property
    def n_queries(self) -> int:
        """Questions."""
        return len(self.query_ids)

    @property
    def n_winnable(self) -> int:
        """Questions that have gold: those that can be lost."""
        return int((self.stage != AT["no_gold"]).sum())

    @property
    def n_untold(self) -> int:
        """Questions at not_retrieved of which nobody can tell whether the corpus holds their gold."""
        return 0 if self.corpus_known else int((self.stage == AT["not_retrieved"]).sum())

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that can be told of this system."""
        unknown = {
            *(() if self.corpus_known else ("not_in_corpus", "cut")),
            *(() if self.depth > self.k else ("below_k",)),
            *(() if self.reranked else ("reranked_out",)),
            *(() if self.cited is not None else ("unused",)),
        }
        n = self.counts()
        return tuple(name for name in STAGES if name not in unknown or n[name])

    def by(self, mask: Bools) -> Funnel:
        """The same of some questions: (q,) a mask."""
        rows = np.flatnonzero(mask)
        return replace(
            self, query_ids=[self.query_ids[q] for q in rows.tolist()], stage=self.stage[rows],
            n_gold=self.n_gold[rows], pieces=self.pieces[rows],
            cited=None if self.cited is None else self.cited[rows],
            split=None if self.split is None else self.split[rows],
        )  # fmt: skip


def funnel(weighed: Weighed, lists: Lists, *, k: int, min_gain: float = 1.0) -> Funnel:
    """Where a system lost the gold; see STAGES.

    k          results that count as found, from 1;   min_gain   smallest gain that counts as relevant
    """
    final, before = lists.final.pieces, lists.before.pieces
    query_ids = list(final.query_id)
    n = final.n_queries
    found = n_within(final, k, min_gain)
    above, deep = n_within(before, k, min_gain) * lists.reranked, n_within(before, None, min_gain)
    # What is returned should be among the candidates; where it is not, they are not told in full.
    deep = np.maximum(deep, n_within(final, None, min_gain))
    n_gold = np.bincount(final.ideal_query[final.ideal_gain >= min_gain], minlength=n)
    losses, split = _losses(weighed.evidence, query_ids, min_gain) if weighed.evidence else ({}, None)
    nowhere, cut = (losses.get(code, np.zeros(n, np.int64)) for code in ("not_in_corpus", "cut"))
    pushed = np.clip(above - found, 0, deep - found)
    cited, unused = _unused(weighed, lists.final, query_ids, k, min_gain)
    failed = np.isin(query_ids, list(weighed.failures)) if weighed.failures else np.zeros(n, bool)
    reached = {
        "no_gold": n_gold == 0, "failed": failed, "missing": lists.final.missing, "unused": (found > 0) & unused,
        "found": found > 0, "reranked_out": above > 0, "below_k": deep > 0,
        "not_retrieved": n_gold - nowhere - cut > 0, "cut": cut > 0,
    }  # fmt: skip
    stage = np.select(list(reached.values()), [AT[name] for name in reached], AT["not_in_corpus"])
    pieces = np.zeros((n, len(STAGES)), np.int64)
    pieces[:, AT["not_in_corpus"]], pieces[:, AT["cut"]], pieces[:, AT["found"]] = nowhere, cut, found
    pieces[:, AT["reranked_out"]], pieces[:, AT["below_k"]] = pushed, deep - found - pushed
    pieces[:, AT["not_retrieved"]] = np.maximum(n_gold - nowhere - cut - deep, 0)
    for name in ("failed", "missing"):
        rows = stage == AT[name]
        pieces[rows] = 0
        pieces[rows, AT[name]] = n_gold[rows]
    known = weighed.evidence is not None and weighed.evidence.table.complete
    return Funnel(
        weighed.name, k, lists.depth, query_ids, stage, n_gold, weighed.evidence is not None, pieces, known,
        lists.reranked, cited, split,
    )  # fmt: skip


def n_within(a: Alignment, k: int | None, min_gain: float) -> Ints:
    """(q,) relevant hits among the first k."""
    kept = a.hit_gain >= min_gain
    if k is not None:
        kept &= a.hit_rank <= k
    return np.bincount(a.hit_query[kept], minlength=a.n_queries)


def _losses(
    evidence: ResolvedGold, query_ids: Sequence[str], min_gain: float
) -> tuple[Mapping[str, Ints], Ints | None]:
    """(q,) groups of relevant pieces that no chunk holds, by why; and (q,) those that no chunk holds whole."""
    gold = evidence.resolution.gold
    place = evidence.labels.places(pl.Series([question.query_id for question in gold.questions], dtype=pl.String))
    n, n_groups = len(query_ids), gold.n_groups
    query, gain = np.zeros(n_groups, np.int64), np.full(n_groups, -np.inf)
    query[gold.group] = place[gold.query]
    np.maximum.at(gain, gold.group, gold.gain)
    relevant = gain >= min_gain
    made: dict[str, Ints] = {}
    left = relevant.copy()
    # Of alternatives, the one that came furthest tells.
    for code in ("cut", "not_in_corpus"):
        groups = np.unique(gold.group[[row for row, loss in evidence.lost.items() if loss.code == code]])
        chosen = groups[left[groups]]
        left[chosen] = False
        made[code] = np.bincount(query[chosen], minlength=n)
    whole, placed = _held_whole(evidence.resolution, evidence)
    if whole is None:
        return made, None
    return made, np.bincount(query[relevant & placed & ~whole], minlength=n)


def _held_whole(found: Resolution, evidence: ResolvedGold) -> tuple[Bools, Bools] | tuple[None, Bools]:
    """(g,) groups that some chunk holds whole, and (g,) those that have a place; spans, quotes and texts alone."""
    gold = found.gold
    rows = np.flatnonzero(np.isin(found.placed, gold.rows("span", "quote", "text")))
    placed = np.zeros(gold.n_groups, bool)
    placed[gold.group[found.placed[rows]]] = True
    if not evidence.table.complete or not evidence.table.has_offsets or not len(rows):
        return None, placed
    _, chunks = evidence.table.spans(found.doc_row)
    span, _ = join(found.spans.take(rows), chunks, 1.0)
    whole = np.zeros(gold.n_groups, bool)
    whole[gold.group[found.placed[rows[span]]]] = True
    return whole, placed


def _unused(
    weighed: Weighed, final: Alignment, query_ids: Sequence[str], k: int, min_gain: float
) -> tuple[Bools | None, Bools]:
    """(q,) whether each answer cites chunks, None where none does; and (q,) whether none of those holds gold."""
    n = len(query_ids)
    answers = weighed.outputs.answers if weighed.outputs else {}
    cited_ids = {query_id: set(citations(answer)) for query_id, answer in answers.items()}
    cited = np.array([bool(cited_ids.get(query_id)) for query_id in query_ids], bool)
    if not cited.any() or weighed.evidence is None:
        return None, np.zeros(n, bool)
    labels = weighed.evidence.labels
    gold: list[Collection[str]] = [
        [id for id, gain in of_one.items() if gain >= min_gain] for of_one in labels.labels
    ]  # fmt: skip
    used = np.array(
        [bool(cited_ids.get(query_id, set()) & set(ids)) for query_id, ids in zip(query_ids, gold, strict=True)], bool
    )
    return cited, cited & ~used
