"""Expose: which units saw which arm of an experiment since when, read from logs in one pass, with their sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from steelyard.abtests.config import JUDGED, ExperimentConfig
from steelyard.abtests.exposures import Exposures, Metric, Percentiles, Sums
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError, quoted
from steelyard.base.nearest import nearest
from steelyard.traffic.logs import Logs
from steelyard.traffic.measures import Percentile, Total, TrafficMeasure, traffic_measures
from steelyard.traffic.requests import Abstains, column_type, requests
from steelyard.traffic.series import Series
from steelyard.traffic.tabulating import Columns
from steelyard.traffic.windows import microseconds, time_of

ON = ["true", "1", "1.0", "yes"]
"""What a column of a trigger has where both arms would have differed, in small letters."""
_MOST_NAMES = 5


def experiment_columns(config: ExperimentConfig) -> list[str]:
    """Columns of impressions that a declaration names: those to be read from files beside the usual ones."""
    trigger = [config.trigger] if config.trigger else []
    return list(dict.fromkeys([config.arm, *trigger, *unit_columns(config)]))


def logged(config: ExperimentConfig) -> list[str]:
    """Metrics that the log says by itself: all but those that a judge says."""
    return [metric for metric in config.metrics if not metric.startswith(JUDGED)]


def unit_columns(config: ExperimentConfig) -> list[str]:
    """Columns of `Exposures.units` beside the usual ones: segments, strata, and arms of other experiments."""
    return list(dict.fromkeys([*config.segments, *config.strata, *config.other_arms]))


def exposures(logs: Logs, config: ExperimentConfig, *, abstains: Abstains | None = None) -> Exposures:
    """Units of an experiment with their arms, and sums of what they did from their first exposure on.

    A unit is exposed by its first request that names an arm, within whole days of the experiment; with a trigger, by
    the first of those where both arms would have differed.  From then on all of its requests count, and with a trigger
    those where it is on.  Requests of bots count nowhere.

    abstains   as of `requests`
    Raises     InputError for columns that the log lacks, a metric that has no value per unit, and a log without a whole
               day of the experiment, or without a request of any of its arms in them
    """
    _check_columns(logs, config)
    logs = numbered(logs)
    measures = traffic_measures(logged(config), partial(column_type, logs))
    columns = Columns(measure.quantity for measure in measures)
    edges = day_edges(config)
    n_days = whole_days(logs, config, edges)
    table = _read(logs, config, columns, time_of(int(edges[n_days])), abstains)
    requests_ = _Requests.of(table, config, edges[: n_days + 1])
    units = _units(table, requests_, config)
    excluded = {
        **_left_out(logs, config, edges, n_days),
        "mixed": int(requests_.is_mixed.sum()),
        "before_exposure": _early_events(logs, table["row"].filter(requests_.is_early)),
        "untriggered": int(requests_.is_untriggered.sum()),
    }
    return Exposures(
        list(config.arms), units, dict(_metrics(measures, columns, table, requests_, config)), n_days,
        config.begins, time_of(int(edges[n_days])), int(requests_.counts.sum()),
        {reason: n for reason, n in excluded.items() if n},
    )  # fmt: skip


def day_edges(config: ExperimentConfig) -> Ints:
    """(days + 1,) moments at which days of the experiment begin, by the calendar of its time zone, in microseconds."""
    local = config.begins.astimezone(ZoneInfo(config.timezone))
    plain = local.replace(tzinfo=None)
    days = [(plain + timedelta(days=day)).replace(tzinfo=local.tzinfo) for day in range(config.days + 1)]
    return np.array([microseconds(day) for day in days], np.int64)


def whole_days(logs: Logs, config: ExperimentConfig, edges: Ints) -> int:
    """Days of the experiment that the log holds whole.

    The last day counts where what is left of it behind the last request is no longer than the longest gap between two.

    Raises   InputError where there is none
    """
    times = logs.impressions.select("time").filter(pl.col("time") >= config.begins).collect()["time"]
    moments = np.sort(times.to_physical().to_numpy())
    n_days = 0
    if len(moments):
        gap = int(np.diff(moments).max(initial=0))
        n_days = int(np.searchsorted(edges, int(moments[-1]) + gap, side="right")) - 1
        n_days = min(n_days, int(np.searchsorted(edges, moments[-1], side="right")), config.days)
    if n_days < 1:
        where = "it has no request since then" if not len(moments) else f"its last one is from {time_of(moments[-1])}"
        if lost := sum(trouble.n for trouble in logs.troubles if trouble.is_fatal):
            where += f" (left out: {lost:,} records, see steelyard logs check)"
        raise InputError(
            f"the log holds no whole day of experiment {quoted(config.name)}, which starts at {config.begins}: "
            f"{where}; read the logs of its days, or set start"
        )
    return n_days


def _check_columns(logs: Logs, config: ExperimentConfig) -> None:
    own = logs.impressions.collect_schema().names()
    names = experiment_columns(config)
    n_values = logs.impressions.select(pl.col(name).count() for name in names if name in own).collect()
    for name in names:
        if name not in own:
            raise InputError(f"impressions have no column {quoted(name)}; {nearest(name, own)}")
        if logs.n.get("impression") and name != config.arm and not n_values[name].item():
            raise InputError(f"no impression has a value in column {quoted(name)}; check its name, or log it")


def numbered(logs: Logs) -> Logs:
    """The same, with the number of each impression, `row`, in the order of time."""
    if "row" in logs.impressions.collect_schema():
        return logs
    return replace(logs, impressions=logs.impressions.sort("time").with_row_index("row"))


def _read(
    logs: Logs, config: ExperimentConfig, columns: Columns, end: datetime, abstains: Abstains | None
) -> pl.DataFrame:
    """Requests since the time before the start: row, time, unit, arm, trigger, columns of units and of metrics."""
    texts = dict.fromkeys([config.unit, *experiment_columns(config)])
    frame = requests(logs, ["row", "time", *texts, *columns.roots()], abstains=abstains)
    held: dict[str, Any] = {name: pl.Categorical(pl.Categories.random()) for name in texts}
    rows = frame.filter(pl.col("time").is_between(config.begins - config.before, end, closed="left")).select(
        "row",
        "time",
        *(pl.col(name).cast(pl.String).cast(held[name]).alias(f"text:{name}") for name in texts),
        **columns.rounded(frame),
    )
    table = rows.collect()
    return table if table["row"].is_sorted() else table.sort("row")


@dataclass(frozen=True, eq=False)
class _Requests:
    """Requests of units, in the order of time, as numbers.

    unit      (n,) row of each request's unit among those that are exposed in one arm; -1 for others
    day       (n,) since the start; -1 before
    counts    (n,) whether a request is of such a unit, from its exposure on, and triggered
    first     (u,) the request that exposed each unit, ascending;   arm   (u,) its place among the arms
    is_mixed  (v,) whether each unit of the log was in several arms
    n_days    days of the experiment
    is_early, is_untriggered   (n,) requests of exposed units that do not count: before the exposure, without a trigger
    """

    unit: Ints
    day: Ints
    counts: Bools
    first: Ints
    arm: Ints
    n_days: int
    is_mixed: Bools
    is_early: Bools
    is_untriggered: Bools

    @classmethod
    def of(cls, table: pl.DataFrame, config: ExperimentConfig, edges: Ints) -> _Requests:
        """Of requests in the order of time, until the last edge.

        Raises   InputError where none is of an arm
        """
        who, arm = codes(table[f"text:{config.unit}"]), arm_codes(table[f"text:{config.arm}"], config)
        day = np.searchsorted(edges, table["time"].to_physical().to_numpy(), side="right") - 1
        is_on = _triggered(table, config)
        in_arm = (who >= 0) & (arm >= 0) & (day >= 0)
        seen = np.zeros((int(who.max(initial=-1)) + 1, len(config.arms) + 1), np.bool_)
        seen[who[in_arm], arm[in_arm]] = True
        is_mixed = seen.sum(axis=1) > 1
        exposing = np.flatnonzero(in_arm & is_on & (arm < len(config.arms)))
        exposing = exposing[~is_mixed[who[exposing]]]
        if not len(exposing):
            raise InputError(_without_arms(table, config, day))
        place = np.full(len(seen), len(who))
        place[who[exposing][::-1]] = exposing[::-1]  # the first one is written last
        first = np.sort(place[place < len(who)])
        of_unit = np.full(len(seen) + 1, -1)  # the last one is that of requests of no unit
        of_unit[who[first]] = np.arange(len(first))
        unit = of_unit[who]
        is_exposed = (unit >= 0) & (day >= 0)
        is_early = is_exposed & (np.arange(len(who)) < first[unit])
        return cls(
            unit, day, is_exposed & ~is_early & is_on, first, arm[first], len(edges) - 1, is_mixed,
            is_early, is_exposed & ~is_early & ~is_on,
        )  # fmt: skip


def codes(texts: pl.Series) -> Ints:
    """(n,) a number for each text, from 0; -1 for null."""
    return texts.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()


def arm_codes(texts: pl.Series, config: ExperimentConfig) -> Ints:
    """(n,) place of each text among the arms, their number for another text, and -1 for null."""
    values = texts.unique().drop_nulls()
    arms = list(config.arms)
    place = np.full(int(codes(values).max(initial=-1)) + 2, -1)  # the last one is that of null
    place[codes(values)] = [arms.index(name) if name in arms else len(arms) for name in values.cast(pl.String)]
    return place[codes(texts)]


def _triggered(table: pl.DataFrame, config: ExperimentConfig) -> Bools:
    """(n,) whether both arms would have differed, or the experiment has no trigger."""
    if config.trigger is None:
        return np.ones(table.height, np.bool_)
    texts = table[f"text:{config.trigger}"].cast(pl.String).str.to_lowercase()
    return texts.is_in(ON).fill_null(value=False).to_numpy()


def _without_arms(table: pl.DataFrame, config: ExperimentConfig, day: Ints) -> str:
    arms = table[f"text:{config.arm}"].filter(day >= 0).drop_nulls().cast(pl.String).unique().sort().to_list()
    others = ", ".join(map(quoted, arms[:_MOST_NAMES])) or "none"
    trigger = f", column {quoted(config.trigger)} is true" if config.trigger else ""
    if not table[f"text:{config.unit}"].count():
        return (
            f"no request names its {config.unit}, which experiment {quoted(config.name)} has as its unit; log it, or "
            'set unit to what was assigned: "user", "session" or "request"'
        )
    return (
        f"no unit was in one arm of experiment {quoted(config.name)} alone; expected requests from "
        f"{config.begins} on whose column {quoted(config.arm)} is {' or '.join(map(quoted, config.arms))}{trigger} "
        f"(its values: {others})"
    )


def _units(table: pl.DataFrame, requests_: _Requests, config: ExperimentConfig) -> pl.DataFrame:
    """As `Exposures.units`, in the order of exposure."""
    rows = table[requests_.first]
    return pl.DataFrame(
        {
            "unit": rows[f"text:{config.unit}"].cast(pl.String),
            "arm": requests_.arm,
            "time": rows["time"],
            "day": requests_.day[requests_.first],
            **{name: rows[f"text:{name}"].cast(pl.String) for name in unit_columns(config)},
        }
    )


def _metrics(
    measures: list[TrafficMeasure], columns: Columns, table: pl.DataFrame, requests_: _Requests,
    config: ExperimentConfig,
) -> Iterator[tuple[str, Metric]]:  # fmt: skip
    """The metrics by name, as `Exposures.metrics`."""
    sums = _Summed.of(requests_, has_before=config.unit == "user" and bool((requests_.day < 0).any()))
    for measure in measures:
        name, quantity = measure.series.name, measure.quantity
        series = replace(measure.series, better=config.better.get(name, measure.series.better))
        if isinstance(quantity, Total):
            if quantity.of != "requests":
                raise InputError(f"metric {quoted(name)} has no value per unit; expected a share or a mean")
            yield name, sums.totals(requests_, series, config.before)
        elif isinstance(quantity, Percentile):
            values = table[columns.names(quantity)[0]].cast(pl.Float64).fill_null(np.nan).to_numpy()
            order = np.flatnonzero(requests_.counts & np.isfinite(values))
            order = order[np.argsort(values[order], kind="stable")]
            yield name, Percentiles(series, quantity.share, requests_.unit[order], requests_.day[order], values[order])
        else:
            parts = [table[column].fill_null(0).to_numpy() for column in columns.names(quantity)]
            before = [sums.before(part) for part in parts]
            yield name, Sums(series, sums.unit, sums.day, *map(sums.during, parts), *before)


@dataclass(frozen=True, eq=False)
class _Summed:
    """Where requests are added: a pair of unit and day each, or a unit before the start.

    unit, day   (m,) of the pairs, ascending by day, then unit;   n_units   u
    counted, pair   (c,) requests that count, and the pair of each
    early       (b,) requests before the start, and the unit of each; None without such a time
    """

    unit: Ints
    day: Ints
    n_units: int
    counted: Ints
    pair: Ints
    early: tuple[Ints, Ints] | None

    @classmethod
    def of(cls, requests_: _Requests, *, has_before: bool) -> _Summed:
        n_units, counted = len(requests_.first), np.flatnonzero(requests_.counts)
        keys, pair = np.unique(requests_.day[counted] * n_units + requests_.unit[counted], return_inverse=True)
        early = np.flatnonzero((requests_.day < 0) & (requests_.unit >= 0))
        before = (early, requests_.unit[early]) if has_before else None
        return cls(keys % n_units, keys // n_units, n_units, counted, pair, before)

    def during(self, values: Floats) -> Floats:
        """(m,) sums of the requests of each pair;   values   (n,) of requests"""
        return np.bincount(self.pair, values[self.counted], len(self.unit)).astype(np.float64, copy=False)

    def before(self, values: Floats) -> Floats | None:
        """(u,) sums of the requests of each unit before the start."""
        if self.early is None:
            return None
        rows, unit = self.early
        return np.bincount(unit, values[rows], self.n_units).astype(np.float64, copy=False)

    def totals(self, requests_: _Requests, series: Series, before: timedelta) -> Sums:
        """Requests per unit and day since its exposure: a pair for each such day, also of those without a request."""
        exposed = np.searchsorted(requests_.day[requests_.first], np.arange(requests_.n_days), side="right")
        starts = np.cumsum(exposed) - exposed
        unit = np.arange(int(exposed.sum())) - np.repeat(starts, exposed)
        place = starts[requests_.day[self.counted]] + requests_.unit[self.counted]
        numerator = np.bincount(place, minlength=len(unit)).astype(np.float64)
        earlier = self.before(np.ones(len(requests_.unit)))
        days = None if earlier is None else np.full(self.n_units, before / timedelta(days=1))
        day = np.repeat(np.arange(requests_.n_days), exposed)
        return Sums(series, unit, day, numerator, np.ones(len(unit)), earlier, days)


def _left_out(logs: Logs, config: ExperimentConfig, edges: Ints, n_days: int) -> dict[str, int]:
    """Requests with an arm, since the start, that do not count: of bots, of no unit, of other arms, of other days."""
    time, arm = pl.col("time"), pl.col(config.arm).cast(pl.String)
    end, horizon = time_of(int(edges[n_days])), time_of(int(edges[-1]))
    inside = (time < end) & ~pl.col("is_bot")
    counts = logs.impressions.filter(time >= config.begins, arm.is_not_null()).select(
        bots=((time < end) & pl.col("is_bot")).sum(),
        unknown_unit=(inside & pl.col(config.unit).is_null()).sum(),
        unknown_arm=(inside & ~arm.is_in(list(config.arms))).sum(),
        partial_day=time.is_between(end, horizon, closed="left").sum(),
        after_end=(time >= horizon).sum(),
    )
    return counts.collect().row(0, named=True)


def _early_events(logs: Logs, rows: pl.Series) -> int:
    """Events of the requests of some rows."""
    if not len(rows):
        return 0
    early = logs.impressions.join(rows.to_frame().lazy(), on="row", how="semi").select("request")
    return int(logs.events.join(early, on="request", how="semi").select(pl.len()).collect().item())
