"""Credits: what users did with the results of each system on pages that systems share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.base.choices import Credit
from steelyard.base.errors import InputError
from steelyard.stats.arms.ratios import linearised
from steelyard.traffic.logs import Logs
from steelyard.traffic.requests import requests

READ_S = 30.0
"""Seconds from which on a result was read."""
_COLUMNS = ("request", "time", "unit", "is_served", "teams", "team_shares", "seed", "doc_ids")


@dataclass(frozen=True, eq=False)
class Credits:
    """Credits of the systems by unit (user; session or request where unknown), of pages that were served to people.

    systems     names, the baseline first
    sums        (u, m) credits of each unit to each system: places that users acted on, each once a request
    n           (u,) requests of each unit
    first_preferences   of each system but the baseline, 1 or -1 for each unit whose credits were ever unequal: by the
                first request where they were, which no later one changes, in the order of time
    first       (m,) requests whose first place of any system is of each
    n_alike     requests without such a place: the systems showed the same
    n_acts      places that users acted on;   n_credited   those that have a team
    n_seeds     different seeds;   n_seeded   requests with one
    """

    systems: list[str]
    sums: Floats
    n: Ints
    first_preferences: list[Floats]
    first: Ints
    n_alike: int
    n_acts: int
    n_credited: int
    n_seeds: int
    n_seeded: int

    @property
    def per_request(self) -> Floats:
        """(u, m) values whose means are the credits per request of all requests, with units as what is drawn."""
        return np.stack([linearised(sums, self.n.astype(np.float64)) for sums in self.sums.T], axis=1)


def credits(logs: Logs, credit: Credit = "click", baseline: str | None = None) -> Credits:
    """Count what users did with the results of each system.

    A place is credited to its team; of two systems whose picks were drawn, to both, by the probability that each
    picked what is shown (`team_shares`), which is as right on average and less noisy.

    baseline   system that others are compared with; None for the first by name
    Raises     InputError for a log without pages of two systems, and a baseline that is on none
    """
    pages = requests(logs, _COLUMNS).filter("is_served", pl.col("teams").is_not_null()).collect()
    systems = _systems(pages, baseline)
    codes = {system: place for place, system in enumerate(systems)}
    places = _places(pages).with_columns(pl.col("team").replace_strict(codes, default=None, return_dtype=pl.Int64))
    acts = _acted(places, _ACTS[credit](logs).collect())
    units = pages.group_by("unit").agg(n=pl.len()).sort("unit").with_row_index("place")
    credited = _credited(acts, len(systems)).join(units.drop("n"), on="unit")
    sums = np.zeros((len(units), len(systems)))
    np.add.at(sums, (credited["place"].to_numpy(), credited["team"].to_numpy()), credited["credit"].to_numpy())
    first = (
        places.filter(pl.col("team").is_not_null()).group_by("request").agg(pl.col("team").sort_by("position").first())
    )
    return Credits(
        systems, sums, units["n"].cast(pl.Int64).to_numpy(),
        _first_preferences(credited, len(systems)),
        np.bincount(first["team"].to_numpy(), minlength=len(systems)), len(pages) - len(first),
        len(acts), acts["team"].count(),
        pages["seed"].drop_nulls().n_unique(), len(pages) - pages["seed"].null_count(),
    )  # fmt: skip


def _systems(pages: pl.DataFrame, baseline: str | None) -> list[str]:
    names = sorted(pages["teams"].explode().drop_nulls().unique())
    if len(names) < 2:
        raise InputError(
            f"the log has pages of {len(names)} systems; expected two or more: write down the `teams` that "
            "`interleave` gives for each page"
        )
    if baseline is not None and baseline not in names:
        raise InputError(
            f"no page has a result of the baseline {baseline!r}; systems of the log are {', '.join(names)}"
        )
    return sorted(names, key=lambda name: name != baseline)


def _places(pages: pl.DataFrame) -> pl.DataFrame:
    """A row for each place of each page, with its team, and the share of this team where it was drawn."""
    shares = pl.coalesce("team_shares", pl.lit(None, pl.Float64).repeat_by(pl.col("teams").list.len()))
    positions = pl.int_ranges(1, pl.col("teams").list.len() + 1, dtype=pl.Int32)
    lists = pages.select("request", "unit", "time", position=positions, doc_id="doc_ids", team="teams", share=shares)
    return lists.filter(pl.col("team").list.len() > 0).explode("position", "doc_id", "team", "share")


def _acted(places: pl.DataFrame, acts: pl.DataFrame) -> pl.DataFrame:
    """Places that acts are of, by position, or by document where an act has no position; each place once."""
    by_position, by_document = (
        places.join(acts.filter(pl.col("position").is_null() == is_bare).unique(key), on=key, how="semi")
        for is_bare, key in ((False, ["request", "position"]), (True, ["request", "doc_id"]))
    )
    return pl.concat([by_position, by_document]).unique(["request", "position"], maintain_order=True)


def _credited(acts: pl.DataFrame, n_systems: int) -> pl.DataFrame:
    """Acts by the systems that they are credited to, with how much: two rows where two systems share one."""
    share = pl.col("share").fill_null(1.0) if n_systems == 2 else pl.lit(1.0)
    own = acts.filter(pl.col("team").is_not_null()).with_columns(credit=share)
    other = own.filter(pl.col("credit") < 1).with_columns(team=1 - pl.col("team"), credit=1 - pl.col("credit"))
    return pl.concat([own, other])


def _first_preferences(credited: pl.DataFrame, n_systems: int) -> list[Floats]:
    """Of each system but the baseline, the sign of the first request of each unit that prefers one of both."""
    signs = list[Floats]()
    for place in range(1, n_systems):
        own = pl.when(team=place).then("credit").when(team=0).then(-pl.col("credit")).otherwise(0.0)
        by_request = credited.group_by("request").agg(pl.first("unit", "time"), own.sum().round(9).sign().alias("sign"))
        first = by_request.filter(pl.col("sign") != 0).sort("time", "request").unique("unit", keep="first")
        signs.append(first.sort("time", "request")["sign"].to_numpy())
    return signs


def _clicks(logs: Logs) -> pl.LazyFrame:
    return logs.events.filter(pl.col("kind") == "click").select("request", "position", "doc_id")


def _read(logs: Logs) -> pl.LazyFrame:
    is_read = (pl.col("kind") == "dwell") & (pl.col("value") >= READ_S)
    return logs.events.filter(is_read).select("request", "position", "doc_id")


def _cited(logs: Logs) -> pl.LazyFrame:
    cited = logs.answers.select("request", doc_id="citations").explode("doc_id").drop_nulls()
    return cited.select("request", pl.lit(None, pl.Int32).alias("position"), "doc_id")


_ACTS: Mapping[Credit, Callable[[Logs], pl.LazyFrame]] = {"click": _clicks, "dwell": _read, "citation": _cited}
"""What counts for a result: request, position (null where it names a document alone), doc_id."""
