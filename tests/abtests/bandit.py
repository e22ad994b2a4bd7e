"""Logs with propensities: of a small service, and of a bandit in a shop, which lies beside the repository."""

from typing import Any

import numpy as np
import polars as pl

from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS
from tests.shared_data import shared
from tests.traffic.made_logs import logs_of


def bandit_logs(name: str) -> Logs:
    """Logs of a file of impressions, each of one item: the user is not known, so that requests are independent.

    The item lies in one of three places of a page, for which the log has a propensity each: one list a place.
    """
    table = pl.read_csv(shared("open_bandit_small", name)).with_row_index("number")
    request, item = pl.col("number").cast(pl.String), pl.col("item_id").cast(pl.String)
    time = pl.col("timestamp").str.to_datetime(time_unit="us", time_zone="UTC")
    impressions = table.sort("timestamp").select(
        time=time, request=request, doc_ids=pl.concat_list(item), propensities=pl.concat_list("propensity_score"),
        is_bot=pl.lit(False),
    )  # fmt: skip
    events = table.filter(pl.col("click") == 1).select(time=time, request=request, kind=pl.lit("click"), doc_id=item)
    return Logs(_of(impressions, IMPRESSIONS), _of(events, EVENTS), pl.LazyFrame(schema=ANSWERS))


def _of(frame: pl.DataFrame, schema: pl.Schema) -> pl.LazyFrame:
    lacking = [pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns]
    return frame.with_columns(lacking).lazy()


def propensity_rows(
    seed: int, n: int = 300, n_users: int = 40
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Pages of two of four documents for three queries, with propensities, and clicks."""
    rng = np.random.default_rng(seed)
    impressions, events = list[dict[str, Any]](), list[dict[str, Any]]()
    for i in range(n):
        chances = [0.4, 0.3, 0.2, 0.1]
        first = int(rng.choice(4, p=chances))
        docs = [f"d{first}", f"d{(first + 1) % 4}"]
        user = f"u{rng.integers(40):02}"
        impressions.append(
            {
                "request": f"r{i:03}", "user": user, "query": f"q{rng.integers(3)}", "doc_ids": docs,
                "propensities": [chances[first]] * 2,
            }
        )  # fmt: skip
        events += [
            {"request": f"r{i:03}", "kind": "click", "position": place + 1}
            for place in range(2)
            if rng.random() < (0.1 + 0.15 * int(docs[place][1])) / (place + 1)
        ]
    return impressions, events


def propensity_logs(seed: int = 1) -> Logs:
    """The same as logs."""
    return logs_of(*propensity_rows(seed))
