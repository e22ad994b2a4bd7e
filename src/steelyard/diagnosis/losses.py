"""Gold that was lost before any ranking, and gold that an answer left unused, question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from steelyard.align.gold import Gold
from steelyard.align.resolver import ResolvedGold
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.experiment.weighed import Weighed
from steelyard.text.citing import citations
from steelyard.text.spans import join


def count_losses(evidence: ResolvedGold, n_queries: int, min_gain: float) -> Mapping[str, Ints]:
    """(q,) groups of relevant pieces that no chunk holds: "cut", and "not_in_corpus"."""
    gold = evidence.resolution.gold
    query, gain = _groups(evidence)
    counts: dict[str, Ints] = {}
    open_groups = gain >= min_gain
    # Of alternatives, the one that came furthest counts: a cut one before one that the corpus lacks.
    for code in ("cut", "not_in_corpus"):
        groups = np.unique(gold.group[[row for row, loss in evidence.lost.items() if loss.code == code]])
        lost = groups[open_groups[groups]]
        open_groups[lost] = False
        counts[code] = np.bincount(query[lost], minlength=n_queries)
    return counts


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
    has_place = _mask(gold, resolution.placed[rows])
    whole = _mask(gold, resolution.placed[rows[span]])
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


def _mask(gold: Gold, rows: Ints) -> Bools:
    """(g,) the groups of some pieces."""
    mask = np.zeros(gold.n_groups, bool)
    mask[gold.group[rows]] = True
    return mask


def unused_gold(weighed: Weighed, query_ids: Sequence[str], min_gain: float) -> tuple[Bools | None, Bools]:
    """(q,) whether each answer cites chunks, None where none does; and (q,) whether none of those holds gold.

    Where documents are weighed, a chunk of a gold document does.
    """
    answers = weighed.outputs.answers if weighed.outputs else {}
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
