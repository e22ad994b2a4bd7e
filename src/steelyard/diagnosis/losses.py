"""Gold that was lost before any ranking, and gold that an answer left unused, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from steelyard.align.evidence import reached
from steelyard.align.resolver import ResolvedGold
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.experiment.weighed import Weighed
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
