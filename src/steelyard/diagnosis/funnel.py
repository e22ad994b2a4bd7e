"""Stages at which the gold of each question was lost: the first stage of the pipeline that lost it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from steelyard.align.evidence import reached
from steelyard.align.resolver import ResolvedGold
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.diagnosis.lists import Lists, count_gold
from steelyard.diagnosis.outcomes import NO, UNDEFINED
from steelyard.experiment.door.weighed import Weighed
from steelyard.measures import Alignment
from steelyard.measures.judged_answers import Codes
from steelyard.text.citing import citations
from steelyard.text.spans import join


def count_losses(weighed: Weighed, evidence: ResolvedGold, n_queries: int, min_gain: float) -> Mapping[str, Ints]:
    """(q,) groups of relevant pieces that were lost before any ranking.

    cut             that no chunk holds by itself, and the lists do not hold together; or all chunks do not
    not_in_corpus   that the corpus lacks
    unseen          outside the lists, where documents are at hand and the chunks that may have them are not
    """
    resolution, gold = evidence.resolution, evidence.resolution.gold
    query, gain = _groups(evidence)
    codes = {code: gold.groups_of(_rows(evidence, code)) for code in ("cut", "not_in_corpus")}
    is_open = gain >= min_gain
    in_lists = np.zeros(gold.n_groups, bool)
    if weighed.corpus_known and not resolution.whole.all():
        lists = (weighed.outputs, weighed.outputs and weighed.outputs.before_reranking())
        in_lists = reached(evidence, *(outputs for outputs in lists if outputs is not None))
    counts: dict[str, Ints] = {}
    # Of alternatives, the one that came furthest counts: a cut one before one that the corpus lacks.
    for code, mask in (
        ("cut", codes["cut"]),
        ("not_in_corpus", codes["not_in_corpus"]),
        ("cut", resolution.parted & ~in_lists),
        ("unseen", ~resolution.whole & ~in_lists & (not evidence.table.complete)),
    ):
        groups = np.flatnonzero(mask & is_open)
        is_open[groups] = False
        counts[code] = counts.get(code, 0) + np.bincount(query[groups], minlength=n_queries)
    return counts


def _rows(evidence: ResolvedGold, code: str) -> Ints:
    """The lost pieces of a code."""
    return np.array([row for row, loss in evidence.lost.items() if loss.code == code], np.int64)


def count_split(evidence: ResolvedGold, n_queries: int, min_gain: float) -> Ints | None:
    """(q,) groups of relevant pieces that no chunk holds whole; None where it is unknown which characters chunks hold.

    Spans, quotes and texts alone, as far as they have a place.
    """
    resolution, gold = evidence.resolution, evidence.resolution.gold
    rows = np.flatnonzero(np.isin(resolution.placed, gold.rows("span", "quote", "text")))
    if not evidence.table.complete or not evidence.table.has_offsets or not len(rows):
        return None
    _, chunks = evidence.table.spans(resolution.documents.row)
    span, _ = join(resolution.spans.take(rows), chunks, 1.0)
    has_place = gold.groups_of(resolution.placed[rows])
    whole = gold.groups_of(resolution.placed[rows[span]])
    query, gain = _groups(evidence)
    return np.bincount(query[(gain >= min_gain) & has_place & ~whole], minlength=n_queries)


def _groups(evidence: ResolvedGold) -> tuple[Ints, Floats]:
    """(g,) the row of the query of each group, in the order of an alignment, and (g,) its best gain."""
    gold = evidence.resolution.gold
    place = evidence.labels.places(pl.Series(gold.query_ids, dtype=pl.String))
    query, gain = np.zeros(gold.n_groups, np.int64), np.full(gold.n_groups, -np.inf)
    query[gold.group] = place[gold.query]
    np.maximum.at(gain, gold.group, gold.gain)
    return query, gain


def unused_gold(weighed: Weighed, query_ids: Sequence[str], min_gain: float) -> tuple[Bools | None, Bools]:
    """(q,) whether each answer cites chunks, None where none does; and (q,) whether none of those holds gold.

    Where documents are weighed, a chunk of a gold document does.
    """
    answers = weighed.outputs.answers if weighed.outputs else {}
    if not answers:
        return None, np.zeros(len(query_ids), bool)
    cited_ids = [set(citations(answers.get(query_id, ""))) for query_id in query_ids]
    cited = np.array([bool(ids) for ids in cited_ids], bool)
    if not cited.any() or weighed.labels is None:
        return None, np.zeros(len(query_ids), bool)
    labelled = {} if weighed.documents is None else weighed.documents.document_of
    used = [
        any(gains.get(labelled.get(id, id), -np.inf) >= min_gain for id in ids)
        for ids, gains in zip(cited_ids, weighed.labels.labels, strict=True)
    ]
    return cited, cited & ~np.array(used, bool)


STAGES = (
    "failed", "missing", "no_gold", "not_in_corpus", "cut", "not_retrieved", "below_k", "reranked_out", "unused",
    "found",
)  # fmt: skip
"""How far the gold of a question came, in the order of the pipeline.

failed         the system says that it failed
missing        the question is absent from the run
no_gold        nothing is labelled relevant: there is nothing to find, and nothing lost, whatever the system did
not_in_corpus  no document, or no chunk of the label's id, is in the corpus
cut            the document is there, but no chunk holds the gold by the rule, nor do those in the lists together
not_retrieved  not within the depth of the lists
below_k        retrieved, below rank k
reranked_out   in the first k before reranking, and pushed below them by the reranker
unused         in the first k, but the answer rests on other chunks only, by verdicts on it, or cites others only
found          in the first k
"""
AT = {name: place for place, name in enumerate(STAGES)}
NOT_LOST = ("no_gold", "found")


@dataclass(frozen=True, eq=False)
class Funnel:
    """Losses of gold of one system, question by question, at the stage that the furthest of its gold reached.

    k             results that count as found;   depth   length of the lists, as far as they are at hand
    query_ids     q ids
    stage         (q,) places in STAGES
    n_gold        (q,) pieces of gold
    by_evidence   whether these pieces are evidence; else relevant documents, by their ids
    pieces        (q, len(STAGES)) how many of them were lost at each stage, or found.  reranked_out is what the
                  reranker pushed below k less what it pulled above it; `found` counts what an answer left unused too
    corpus_known  whether the corpus is at hand; else not_in_corpus and cut count as not_retrieved
    reranked      whether there are candidates from before a reranker
    cited         (q,) whether the answer cites chunks; None where no answer does
    judged        (q,) whether verdicts say on which chunks of its context the answer rests; None without verdicts.
                  `unused` needs one of the two
    split         (q,) pieces that no chunk holds whole; None where it is unknown which characters chunks hold
    unseen        (q,) pieces at not_retrieved that may have been cut: no question retrieved the chunks that would show
                  it, and all chunks are not at hand; None where the whole corpus is not
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
    judged: Bools | None = None
    unseen: Ints | None = None

    def counts(self) -> dict[str, int]:
        """Number of questions of each stage, in the order of STAGES."""
        n = np.bincount(self.stage, minlength=len(STAGES)).tolist()
        return dict(zip(STAGES, n, strict=True))

    def lists(self) -> dict[str, list[str]]:
        """Ids of each stage's questions, in the order of query_ids."""
        return {name: self.at(name) for name in STAGES}

    def at(self, stage: str) -> list[str]:
        """Ids of the questions of a stage."""
        return [self.query_ids[q] for q in np.flatnonzero(self.stage == AT[stage]).tolist()]

    @property
    def frame(self) -> pl.DataFrame:
        """One row a question.

        system, query_id, stage   the stage by its name
        n_gold, n_found           pieces of gold, and those among the first k
        n_split                   pieces that no chunk holds whole; null where that is unknown
        cited                     whether the answer cites chunks; null where no answer does
        judged                    whether verdicts say on which chunks the answer rests; null without verdicts
        """
        columns = {
            "system": pl.repeat(self.system, self.n_queries, dtype=pl.String, eager=True),
            "query_id": pl.Series(self.query_ids, dtype=pl.String),
            "stage": pl.Series([STAGES[place] for place in self.stage.tolist()], dtype=pl.String),
            "n_gold": self.n_gold,
            "n_found": self.pieces[:, AT["found"]],
        }
        unknown = pl.lit(None, pl.Int64)
        return pl.DataFrame(columns).with_columns(
            n_split=unknown if self.split is None else pl.Series(self.split, dtype=pl.Int64),
            cited=unknown.cast(pl.Boolean) if self.cited is None else pl.Series(self.cited),
            judged=unknown.cast(pl.Boolean) if self.judged is None else pl.Series(self.judged),
        )

    @property
    def n_at_stage(self) -> dict[str, int]:
        """Number of pieces of gold that each stage lost, or found."""
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
        """Questions at not_retrieved whose gold may not be in the corpus, or may have been cut."""
        mask = self.stage == AT["not_retrieved"]
        if self.corpus_known:
            mask &= self.unseen is not None and self.unseen > 0
        return int(mask.sum())

    @property
    def untold(self) -> str:
        """The code of the note on what is not known of them; empty where there are none."""
        if not self.n_untold:
            return ""
        return "untold_cut" if self.corpus_known else "untold" if self.by_evidence else "untold_ids"

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages that can be seen in the outputs of this system."""
        unseen = {
            *(() if self.corpus_known else ("not_in_corpus",)),
            *(() if self.corpus_known and self.by_evidence else ("cut",)),
            *(() if self.depth > self.k else ("below_k",)),
            *(() if self.reranked else ("reranked_out",)),
            *(("unused",) if self.cited is None and self.judged is None else ()),
        }
        n = self.counts()
        return tuple(name for name in STAGES if name not in unseen or n[name])

    def by(self, mask: Bools) -> Funnel:
        """The same of some questions: (q,) a mask."""
        rows = np.flatnonzero(mask)
        return replace(
            self,
            query_ids=[self.query_ids[q] for q in rows.tolist()],
            stage=self.stage[rows],
            n_gold=self.n_gold[rows],
            pieces=self.pieces[rows],
            cited=None if self.cited is None else self.cited[rows],
            split=None if self.split is None else self.split[rows],
            judged=None if self.judged is None else self.judged[rows],
            unseen=None if self.unseen is None else self.unseen[rows],
        )


def funnel(
    weighed: Weighed, lists: Lists, *, k: int, min_gain: float = 1.0, absent: pl.DataFrame | None = None,
    rests: Codes | None = None,
) -> Funnel:  # fmt: skip
    """Funnel of a system: where it lost the gold; see STAGES.

    k          results that count as found, from 1;   min_gain   smallest gain that counts as relevant
    absent     labels that the corpus lacks, where ids name documents, as of `Weighing`; None where that is not known
    rests      (q,) whether each answer rests on chunks that hold gold, as of `JudgedSystem`; None without verdicts
    """
    final, evidence = lists.final.pieces, weighed.evidence
    query_ids, n = list(final.query_id), final.n_queries
    counts = _count_pieces(weighed, lists, k, min_gain, absent)
    cited, unused = unused_gold(weighed, query_ids, min_gain)
    if rests is not None:
        unused = np.where(rests == UNDEFINED, unused, rests == NO)
    failed = np.isin(query_ids, list(weighed.failures)) if weighed.failures else np.zeros(n, bool)
    # The first that holds; what is left has all of its gold outside the corpus.
    reached = {
        "no_gold": counts["gold"] == 0,
        "failed": failed,
        "missing": lists.final.missing,
        "unused": (counts["found"] > 0) & unused,
        "found": counts["found"] > 0,
        "reranked_out": counts["in_first_k_before"] > 0,
        "below_k": counts["in_lists"] > 0,
        "not_retrieved": counts["gold"] - counts["not_in_corpus"] - counts["cut"] > 0,
        "cut": counts["cut"] > 0,
    }
    stage = np.select(list(reached.values()), [AT[name] for name in reached], AT["not_in_corpus"])
    return Funnel(
        system=weighed.name,
        k=k,
        depth=lists.depth,
        query_ids=query_ids,
        stage=stage,
        n_gold=counts["gold"],
        by_evidence=evidence is not None,
        pieces=_pieces_by_stage(stage, counts),
        corpus_known=absent is not None or weighed.corpus_known,
        reranked=lists.reranked,
        cited=cited,
        split=None if evidence is None else count_split(evidence, n, min_gain),
        judged=None if rests is None else rests != UNDEFINED,
        unseen=counts.get("unseen"),
    )


def _count_pieces(
    weighed: Weighed, lists: Lists, k: int, min_gain: float, absent: pl.DataFrame | None
) -> dict[str, Ints]:
    """(q,) pieces of gold: all, outside the corpus, cut, in the lists, in the first k before reranking, and found."""
    final, before = lists.final.pieces, lists.before.pieces
    n = final.n_queries
    losses: Mapping[str, Ints] = {}
    if weighed.evidence is not None:
        losses = count_losses(weighed, weighed.evidence, n, min_gain)
    elif weighed.documents is not None:
        losses = {"not_in_corpus": weighed.documents.count_lost(n, min_gain)}
    # What is returned should be among the candidates; where it is not, these are not listed in full.
    in_lists = np.maximum(n_within(before, None, min_gain), n_within(final, None, min_gain))
    n_gold = count_gold(final, min_gain)
    if absent is not None:
        # What was retrieved from a corpus of other ids than the named one is not lost there.
        losses = {"not_in_corpus": np.minimum(_count_labels(absent, final, min_gain), n_gold - in_lists)}
    return {
        "gold": n_gold,
        "not_in_corpus": np.zeros(n, np.int64),
        "cut": np.zeros(n, np.int64),
        **losses,
        "in_lists": in_lists,
        "in_first_k_before": n_within(before, k, min_gain) * lists.reranked,
        "found": n_within(final, k, min_gain),
    }


def _count_labels(labels: pl.DataFrame, a: Alignment, min_gain: float) -> Ints:
    """(q,) labels of at least this gain."""
    place = {query_id: q for q, query_id in enumerate(a.query_id)}
    queries = labels.filter(pl.col("gain") >= min_gain)["query_id"].to_list()
    return np.bincount(np.array([place[query_id] for query_id in queries], np.int64), minlength=a.n_queries)


def _pieces_by_stage(stage: Ints, counts: dict[str, Ints]) -> Ints:
    """(q, len(STAGES)) pieces that each stage lost, or found; all those of a failed or missing question are at that."""
    n_found, n_gold, in_lists = counts["found"], counts["gold"], counts["in_lists"]
    n_pushed = np.clip(counts["in_first_k_before"] - n_found, 0, in_lists - n_found)
    pieces = np.zeros((len(stage), len(STAGES)), np.int64)
    pieces[:, AT["not_in_corpus"]] = counts["not_in_corpus"]
    pieces[:, AT["cut"]] = counts["cut"]
    pieces[:, AT["not_retrieved"]] = np.maximum(n_gold - counts["not_in_corpus"] - counts["cut"] - in_lists, 0)
    pieces[:, AT["below_k"]] = in_lists - n_found - n_pushed
    pieces[:, AT["reranked_out"]] = n_pushed
    pieces[:, AT["found"]] = n_found
    for name in ("failed", "missing"):
        rows = stage == AT[name]
        pieces[rows] = 0
        pieces[rows, AT[name]] = n_gold[rows]
    return pieces


def n_within(a: Alignment, k: int | None, min_gain: float) -> Ints:
    """(q,) relevant hits among the first k."""
    mask = a.hit_gain >= min_gain
    if k is not None:
        mask &= a.hit_rank <= k
    return np.bincount(a.hit_query[mask], minlength=a.n_queries)
