"""Check the data of an experiment, before anything is concluded from them.

Codes, what blocks, and the values that texts name; `rows` are plain data.

sample_ratio   units of the arms are not what their shares promise (p < .001): blocks.  See `sample_ratio`
trigger_ratio  the same of triggered units, beside `sample_ratio` of all: the trigger depends on the arm
arms_of_unit   units in several arms, which are left out; more than 1 % block.  n, n_units, share; rows: arms, n
unknown_arm    requests that name an arm that is not declared.  n, n_requests, share, arms; rows: arm, n
assignment     units that the declared salt puts into another arm; more than 1 % block.  n, n_units, share, salt;
               rows: unit, arm, expected
exposure       units that were in an arm and never shown a result, by arm, and clicks on what was not shown.  n,
               n_units, share, n_clicks, n_not_shown; rows: arm, n_units, n, n_requests, n_failed, n_empty
fingerprints   `config` of each arm: several in one, or the same in several.  several (arms), same (arms);
               rows: arm, config, n
covariate      units that were in another arm than the baseline before the start, so that the time before is none.
               n, n_units, share
carry_over     primary metrics that differed before the start.  metrics; rows: metric, arm, baseline, value, p
bots           units of bots, whose share differs by arm.  n, n_units; rows: arm, n, n_units
overlap        one for each column of `other_arms`: whether its arms are independent of these.  column, n_units (in
               both), share; rows: other, and units of each arm by its name
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from steelyard.abtests.assigning import assign
from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.experiment import Check, CheckState
from steelyard.abtests.exposures import Exposures, Sums
from steelyard.abtests.sample_ratio import MISMATCH_P, sample_ratio
from steelyard.stats.arms.ratios import ratio_contrast
from steelyard.stats.counts import independence
from steelyard.traffic.logs import Logs

_MANY, _SOME = 0.01, 0.001
"""Share of units from which on what is wrong with them blocks, or is a caution."""
_MOST_ROWS = 10


def check_data(logs: Logs, config: ExperimentConfig, exposures: Exposures) -> list[Check]:
    """Checks of the data of an experiment, in the order of their codes above.

    exposures   of these logs and this declaration
    """
    data = _Data(logs, config, exposures)
    return [
        *_ratios(data), _arms_of_unit(data), _unknown_arm(data), *_assignment(data), _exposure(data),
        *_fingerprints(data), *_covariate(data), *_carry_over(data), _bots(data), *_overlaps(data),
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Data:
    """What checks look at."""

    logs: Logs
    config: ExperimentConfig
    exposures: Exposures

    @cached_property
    def impressions(self) -> pl.LazyFrame:
        """Those of the experiment that name an arm."""
        inside = pl.col("time").is_between(self.config.begins, self.exposures.end, closed="left")
        arm = pl.col(self.config.arm).cast(pl.String)
        return self.logs.impressions.filter(inside, arm.is_not_null()).with_columns(arm=arm, unit=self.config.unit)

    @cached_property
    def stays(self) -> pl.DataFrame:
        """A row for each unit and arm: requests (n), those that failed, those without results, those of bots, start."""
        is_bot, failed = pl.col("is_bot"), pl.col("error").is_not_null()
        empty = ~failed & (pl.col("doc_ids").list.len() == 0).fill_null(value=False)
        stays = self.impressions.filter(pl.col("unit").is_not_null()).group_by("unit", "arm").agg(
            n=(~is_bot).sum(), n_failed=(failed & ~is_bot).sum(), n_empty=(empty & ~is_bot).sum(), n_bots=is_bot.sum(),
            time=pl.col("time").filter(~is_bot).min(),
        )  # fmt: skip
        return stays.collect().sort("time", "unit", "arm")

    @cached_property
    def people(self) -> pl.DataFrame:
        """Stays with requests of people."""
        return self.stays.filter(pl.col("n") > 0)

    def by_arm(self, frame: pl.DataFrame, *columns: pl.Expr) -> list[dict[str, Any]]:
        """A row for each declared arm."""
        rows = {row["arm"]: row for row in frame.group_by("arm").agg(*columns).rows(named=True)}
        empty = frame.clear().select(*columns).row(0, named=True) if columns else {}
        return [{"arm": arm, **empty, **rows.get(arm, {})} for arm in self.config.arms]


def _state(share: float) -> CheckState:
    return "blocks" if share > _MANY else "careful" if share > _SOME else "well"


def _share(n: int, n_units: int) -> float:
    return n / n_units if n_units else math.nan


def _ratios(data: _Data) -> Iterator[Check]:
    """Of all units in one arm, and with a trigger of those that are triggered, too."""
    config, units = data.config, data.exposures.units
    if config.trigger is None:
        yield sample_ratio(units, config)
        return
    arms = pl.DataFrame({"arm": list(config.arms), "place": range(len(config.arms))})
    alone = data.people.filter(pl.col("unit").is_unique()).join(arms, on="arm", how="inner")
    days = (pl.col("time") - config.begins).dt.total_days()
    yield sample_ratio(alone.select(arm="place", day=days), config.model_copy(update={"segments": []}))
    yield sample_ratio(units, config, "trigger_ratio")


def _arms_of_unit(data: _Data) -> Check:
    n_units = data.people["unit"].n_unique()
    mixed = data.people.filter(pl.col("unit").is_duplicated()).group_by("unit", maintain_order=True).agg("arm")
    counts = mixed["arm"].list.join(" → ").value_counts(sort=True)
    rows = [{"arms": arms, "n": n} for arms, n in counts.sort("count", "arm", descending=[True, False]).rows()]
    share = _share(len(mixed), n_units)
    return Check("arms_of_unit", _state(share), values={"n": len(mixed), "n_units": n_units, "share": share},
                 rows=rows[:_MOST_ROWS])  # fmt: skip


def _unknown_arm(data: _Data) -> Check:
    counts = data.people.group_by("arm").agg(pl.col("n").sum()).sort("n", "arm", descending=[True, False])
    unknown = counts.filter(~pl.col("arm").is_in(list(data.config.arms)))
    n, n_requests = int(unknown["n"].sum()), int(counts["n"].sum())
    share = _share(n, n_requests)
    state: CheckState = "careful" if share > _SOME else "well"
    values = {"n": n, "n_requests": n_requests, "share": share, "arms": unknown["arm"].to_list()[:_MOST_ROWS]}
    return Check("unknown_arm", state, values=values, rows=unknown.head(_MOST_ROWS).rows(named=True))


def _assignment(data: _Data) -> Iterator[Check]:
    """Nothing where the declaration has no salt."""
    config, units = data.config, data.exposures.units
    if config.salt is None:
        return
    names = pl.Series(list(config.arms)).gather(units["arm"])
    pairs = units.select("unit", arm=names, expected=assign(config.salt, units["unit"], config.arms))
    wrong = pairs.filter(pl.col("arm") != pl.col("expected"))
    share = _share(len(wrong), len(units))
    values = {"n": len(wrong), "n_units": len(units), "share": share, "salt": config.salt}
    yield Check("assignment", _state(share), values=values, rows=wrong.head(_MOST_ROWS).rows(named=True))


def _exposure(data: _Data) -> Check:
    """A request that failed, or had no result, showed nothing of its arm; a unit of such ones alone was not exposed."""
    unseen = pl.col("n") == pl.col("n_failed") + pl.col("n_empty")
    rows = data.by_arm(
        data.people, pl.len().alias("n_units"), unseen.sum().alias("n"), pl.col("n").sum().alias("n_requests"),
        pl.col("n_failed").sum(), pl.col("n_empty").sum(),
    )  # fmt: skip
    n, n_units = (sum(row[name] for row in rows) for name in ("n", "n_units"))
    p = independence([[row["n"], row["n_units"] - row["n"]] for row in rows])
    n_clicks, n_not_shown = _foreign_clicks(data)
    share = _share(n, n_units)
    is_off = share > _MANY or p < MISMATCH_P or n_not_shown > _MANY * n_clicks
    values = {"n": n, "n_units": n_units, "share": share, "n_clicks": n_clicks, "n_not_shown": n_not_shown}
    return Check("exposure", "careful" if is_off else "well", p, values, rows)


def _foreign_clicks(data: _Data) -> tuple[int, int]:
    """Clicks that name a document, and those of them whose request did not show it."""
    key = "row" if "row" in data.logs.events.collect_schema() else "request"
    clicks = data.logs.events.filter(pl.col("kind") == "click", pl.col("doc_id").is_not_null())
    shown = clicks.join(data.impressions.select(key, "doc_ids"), on=key, how="inner")
    foreign = ~pl.col("doc_ids").list.contains(pl.col("doc_id"))
    n, n_foreign = shown.select(pl.len(), foreign.sum().alias("foreign")).collect().row(0)
    return int(n), int(n_foreign)


def _fingerprints(data: _Data) -> Iterator[Check]:
    """Configurations of a hundredth of the requests of an arm, or more; nothing where none is logged."""
    counts = data.impressions.group_by("arm", "config").agg(n=pl.len()).drop_nulls("config").collect()
    is_often = pl.col("n") >= _MANY * pl.col("n").sum().over("arm")
    counts = counts.filter(pl.col("arm").is_in(list(data.config.arms)), is_often)
    counts = counts.sort("arm", "n", "config", descending=[False, True, False])
    if counts.is_empty():
        return
    several = counts.filter(pl.col("arm").is_duplicated())["arm"].unique().sort().to_list()
    same = counts.filter(pl.col("config").is_duplicated())["arm"].unique().sort().to_list()
    state: CheckState = "careful" if several or same else "well"
    yield Check("fingerprints", state, values={"several": several, "same": same}, rows=counts.rows(named=True))


def _covariate(data: _Data) -> Iterator[Check]:
    """Nothing for an experiment whose units have no time before."""
    config, exposures = data.config, data.exposures
    if not any(isinstance(own, Sums) and own.before_denominator is not None for own in exposures.metrics.values()):
        return
    before = pl.col("time").is_between(config.begins - config.before, config.begins, closed="left")
    own = pl.col(config.arm).cast(pl.String).is_in(config.treatments)
    early = data.logs.impressions.filter(before, own).select(unit=config.unit).unique().collect()
    n, n_units = len(exposures.units.join(early, on="unit", how="semi")), len(exposures.units)
    share = _share(n, n_units)
    state: CheckState = "careful" if share > _SOME else "well"
    yield Check("covariate", state, values={"n": n, "n_units": n_units, "share": share})


def _carry_over(data: _Data) -> Iterator[Check]:
    """Differences before the start, which chance makes in one of a thousand experiments."""
    exposures, rows = data.exposures, list[dict[str, Any]]()
    for name in data.config.primary:
        own = exposures.metrics[name]
        if not isinstance(own, Sums) or own.before_numerator is None or own.before_denominator is None:
            continue
        for place, arm in enumerate(exposures.arms[1:], 1):
            contrast = ratio_contrast(exposures.arm, own.before_numerator, own.before_denominator, other=place)
            values = {"baseline": contrast.baseline, "value": contrast.other, "p": contrast.p()}
            rows.append({"metric": name, "arm": arm, **values})
    if not rows:
        return
    off = list(dict.fromkeys(row["metric"] for row in rows if row["p"] * len(rows) < MISMATCH_P))
    p = min((min(len(rows) * row["p"], 1.0) for row in rows if not math.isnan(row["p"])), default=math.nan)
    yield Check("carry_over", "careful" if off else "well", p, {"metrics": off}, rows)


def _bots(data: _Data) -> Check:
    is_bot = pl.col("n_bots") > 0
    rows = data.by_arm(data.stays, is_bot.sum().alias("n"), pl.len().alias("n_units"))
    p = independence([[row["n"], row["n_units"] - row["n"]] for row in rows])
    values = {name: sum(row[name] for row in rows) for name in ("n", "n_units")}
    return Check("bots", "careful" if p < MISMATCH_P else "well", p, values, rows)


def _overlaps(data: _Data) -> Iterator[Check]:
    """Whether arms of experiments of the same time are independent of these, as they are by different salts."""
    units = data.exposures.units
    for column in data.config.other_arms:
        both = units.filter(pl.col(column).is_not_null())
        counts = [(pl.col("arm") == place).sum().alias(arm) for place, arm in enumerate(data.config.arms)]
        table = both.group_by(pl.col(column).alias("other:")).agg(counts).sort("other:")
        p = independence(table.drop("other:").to_numpy())
        rows = [{"other": row.pop("other:"), **row} for row in table.rows(named=True)]
        values = {"column": column, "n_units": len(both), "share": _share(len(both), len(units))}
        yield Check("overlap", "careful" if p < MISMATCH_P else "well", p, values, rows[:_MOST_ROWS])
