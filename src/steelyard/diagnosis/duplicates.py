"""The same text twice in a list: documents that the corpus holds under several ids."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from steelyard.base.arrays import Ints
from steelyard.experiment.weighed import Weighed
from steelyard.measures import Alignment
from steelyard.measures.alignment import offsets, rank_order
from steelyard.text.matching import encodable


@dataclass(frozen=True, eq=False)
class DuplicateTexts:
    """What of the first places of each list was there already, under another id.

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
            a.evidence, pieces=self._moved(a.evidence.pieces), counted=self.without(a.evidence.counted),
            gold=self._moved(a.evidence.gold),
        )  # fmt: skip
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
            a, starts=offsets(query, a.n_queries), hit_rank=rank[order], hit_gain=moved["gain"].to_numpy()[order],
            ties=None,
        )  # fmt: skip


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
