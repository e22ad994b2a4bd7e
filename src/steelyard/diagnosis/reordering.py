"""What a reranker changed in what was returned, by ids."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from steelyard.data.run import ranked
from steelyard.experiment.weighed import Weighed


@dataclass(frozen=True)
class Reordering:
    """What a reranker changed in what was returned, in shares of the questions that got anything.

    first   another result at rank 1;   order   any other order;   members   other results
    """

    first: float
    order: float
    members: float


def reordering_of(weighed: Weighed) -> Reordering | None:
    """What the reranker of a system changed; None without candidates.

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
