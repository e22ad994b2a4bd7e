"""Showings: a document at a position in answer to a request, with its propensity and what its user did with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.abtests.offpolicy.policies import Key, Policy
from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError, quoted
from steelyard.traffic.logs import Logs
from steelyard.traffic.requests import requests

_VALUED = {"dwell", "rating"}
"""Kinds of events whose value is added up; of others it counts whether there was one."""


@dataclass(frozen=True, eq=False)
class Showings:
    """What was shown, and what a policy would have shown, of the same requests.

    request    (n,) number of the request of each showing, from 0;   position   (n,) rank from 1
    doc        (n,) number of the document
    cell       (n,) number of the query (or request) and position in `policy`; -1 where the policy shows nothing there
    propensity, probability   (n,) with which the log and the policy show it there
    reward     (n,) from 0
    unit       (r,) number of the user of each request, from 0
    request_cell   (c, 2) pairs of request and cell: all positions that the policy fills in answer to each request
    rows_cell, rows_position, rows_doc, rows_probability   (m,) rows of the policy
    excluded   requests and events that are left out, by reason
    never      what the policy would show most often and the log never does: key, position, doc_id, n (times)
    """

    request: Ints
    position: Ints
    doc: Ints
    cell: Ints
    propensity: Floats
    probability: Floats
    reward: Floats
    unit: Ints
    request_cell: Ints
    rows_cell: Ints
    rows_position: Ints
    rows_doc: Ints
    rows_probability: Floats
    excluded: Mapping[str, int]
    never: pl.DataFrame

    @property
    def n_requests(self) -> int:
        """Requests that the policy answers."""
        return len(self.unit)

    @property
    def slots(self) -> Floats:
        """(r,) positions that the policy fills, in expectation."""
        return self.by_request(self.rows_probability)

    def by_request(self, values: Floats) -> Floats:
        """(r,) sums over the rows of the policy that answer each request, of (m,) values of rows."""
        request, cell = self.request_cell.T
        by_cell = np.bincount(self.rows_cell, values)
        return np.bincount(request, by_cell[cell], self.n_requests).astype(np.float64)


def logged_requests(logs: Logs, by: Key) -> tuple[pl.DataFrame, dict[str, int]]:
    """Requests of people that were served with propensities, and how many others there are, by reason.

    Returns   request, unit, key, doc_ids, propensities, and team_shares where impressions have the column
    Raises    InputError for logs without propensities
    """
    own = ["team_shares"] if "team_shares" in logs.impressions.collect_schema() else []
    frame = requests(logs, ["request", "unit", "query", "doc_ids", "propensities", "is_served", *own]).collect()
    key = pl.col("request") if by == "request" else pl.col("query").str.strip_chars()
    frame = frame.with_columns(key=key.fill_null("")).sort("request")
    served = frame.filter(pl.col("is_served") & pl.col("doc_ids").is_not_null())
    has = pl.col("propensities").list.len() == pl.col("doc_ids").list.len()
    whole = served.filter((has & ~pl.col("propensities").list.eval(pl.element().is_null()).list.any()).fill_null(False))
    if not whole.height:
        raise InputError(
            "the logs have no propensities: with which probability each result was shown; log them beside doc_ids, "
            "without them nothing can be said about another ranking"
        )
    left_out = {"failed": frame.height - served.height, "no_propensity": served.height - whole.height}
    return whole.select("request", "unit", "key", "doc_ids", "propensities", *own), left_out


def showings(logs: Logs, whole: pl.DataFrame, policy: Policy, metric: str, k: int | None) -> Showings:
    """Showings of the requests that a policy answers, up to a position.

    whole    of `logged_requests`;   k   positions that count; None is as many as the policy has
    metric   a kind of event: "click", "dwell" (seconds), "citation_click", ...
    Raises   InputError where the policy answers no request, and for an unknown or negative metric
    """
    rows = policy.frame if k is None else policy.frame.filter(pl.col("position") <= k)
    depth = int(rows["position"].max() or 0)  # type: ignore[arg-type]
    ranked = whole if policy.is_for_all else whole.join(rows.select("key").unique(), on="key", how="semi")
    if not (ranked.height and rows.height):
        first = quoted(rows["key"][0]) if rows.height else "-"
        raise InputError(
            f"policy {quoted(policy.name)} has none of the {whole.height} requests: its first key, {first}, is not in "
            "the logs; name queries as users write them, or give the questions that its ids are of"
        )
    if policy.is_for_all:
        rows, ranked = rows.with_columns(key=pl.lit("")), ranked.with_columns(key=pl.lit(""))
    if depth > 1 and "team_shares" in ranked.columns and ranked["team_shares"].null_count() < ranked.height:
        raise InputError(
            "pages of probabilistic interleaving have propensities given the places above; expected k=1, where they "
            "are those of the place"
        )
    ranked = ranked.with_row_index("number")
    shown = (
        ranked.select("number", "request", "key", doc_id="doc_ids", propensity="propensities")
        .with_columns(position=pl.int_ranges(1, pl.col("doc_id").list.len() + 1))
        .explode("position", "doc_id", "propensity", empty_as_null=False, keep_nulls=False)
    )
    rewards, n_unplaced = _rewards(logs, shown, metric)
    shown = shown.filter(pl.col("position") <= depth).join(
        rewards, on=["request", "position"], how="left", maintain_order="left"
    )
    excluded = Counter(not_ranked=whole.height - ranked.height, unplaced=n_unplaced)
    return _numbered(shown, rows, ranked, excluded)


def _numbered(shown: pl.DataFrame, rows: pl.DataFrame, ranked: pl.DataFrame, excluded: Mapping[str, int]) -> Showings:
    """Showings and rows of the policy with numbers for documents, and for queries and positions."""
    cells = rows.select("key", "position").unique(maintain_order=True).with_row_index("cell")
    documents = pl.concat([shown["doc_id"], rows["doc_id"]]).unique().sort()
    codes = pl.DataFrame({"doc_id": documents}).with_row_index("doc")
    rows, shown = (
        frame.join(cells, on=["key", "position"], how="left", maintain_order="left").join(
            codes, on="doc_id", how="left", nulls_equal=True, maintain_order="left"
        )
        for frame in (rows, shown)
    )
    shown = shown.join(rows.select("cell", "doc", "probability"), on=["cell", "doc"], how="left", maintain_order="left")
    filled = ranked.select("number", "key").join(cells, on="key", maintain_order="left").select("number", "cell")
    request_cell = filled.to_numpy().astype(np.int64)
    return Showings(
        request=_ints(shown["number"]), position=_ints(shown["position"]), doc=_ints(shown["doc"]),
        cell=_ints(shown["cell"].cast(pl.Int64).fill_null(-1)), propensity=_floats(shown["propensity"]),
        probability=_floats(shown["probability"]), reward=_floats(shown["reward"]),
        unit=_ints(ranked["unit"].rank("dense") - 1),
        request_cell=request_cell, rows_cell=_ints(rows["cell"]), rows_position=_ints(rows["position"]),
        rows_doc=_ints(rows["doc"]), rows_probability=_floats(rows["probability"]), excluded=excluded,
        never=_never(rows, shown, filled),
    )  # fmt: skip


def _ints(column: pl.Series) -> Ints:
    return column.cast(pl.Int64).to_numpy()


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(0.0).to_numpy()


def _rewards(logs: Logs, shown: pl.DataFrame, metric: str) -> tuple[pl.DataFrame, int]:
    """What users did with a position of a request: request, position, reward; and events that name no result."""
    events = logs.events.filter(pl.col("kind") == metric).collect().join(shown, on="request", how="semi")
    if not events.height:
        kinds = sorted(logs.events.select(pl.col("kind").unique()).collect()["kind"].drop_nulls())
        raise InputError(f"the requests have no event {quoted(metric)}; the logs have {', '.join(kinds) or 'none'}")
    value = pl.col("value").fill_null(0.0) if metric in _VALUED else pl.lit(1.0)
    if metric == "thumb" or (metric in _VALUED and (events["value"] < 0).any()):
        raise InputError(f"{metric} may be below 0; expected a metric of values from 0, such as click or dwell")
    position = pl.col("position").cast(pl.Int64)
    places = shown.select("request", "doc_id", place="position").unique(["request", "doc_id"], keep="first")
    placed = events.join(places, on=["request", "doc_id"], how="left").with_columns(
        position=pl.coalesce(position, "place"), reward=value
    )
    own = placed.filter(pl.col("position").is_not_null()).group_by("request", "position")
    return own.agg(pl.col("reward").sum() if metric in _VALUED else pl.col("reward").max()), (
        placed["position"].null_count()
    )


def _never(rows: pl.DataFrame, shown: pl.DataFrame, filled: pl.DataFrame) -> pl.DataFrame:
    """Rows of the policy that the log never shows, by how often the policy would."""
    asked = filled.group_by("cell").agg(n=pl.len())
    never = rows.join(shown.select("cell", "doc").unique(), on=["cell", "doc"], how="anti").join(asked, on="cell")
    counted = never.with_columns(n=pl.col("n") * pl.col("probability")).filter(pl.col("n") > 0)
    return counted.sort("n", "key", "position", descending=[True, False, False]).select(
        "key", "position", "doc_id", "n"
    )
