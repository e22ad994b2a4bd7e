"""Which reranker to take: what nothing beats in quality, latency and cost, and the cheapest that is good enough."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from steelyard.bench.axes import Axis, Option, Quality, cost_axis, latency_axis, options_of, percentile_ms
from steelyard.bench.config import BenchConfig
from steelyard.bench.config_table import percentile_share
from steelyard.bench.frames import CHOICE
from steelyard.experiment.scores import Scores
from steelyard.stats.corrections import correct
from steelyard.stats.equivalence import IDENTICAL, non_inferiority
from steelyard.stats.pareto import dominates
from steelyard.stats.percentiles import PercentileInterval

ALPHA = 0.05
"""So often at most is any option that is worse than the best by the margin called good enough."""
_P95 = 0.95
_MS = 1000


def choice(
    config: BenchConfig, scores: Scores, requests: pl.DataFrame, costs: pl.DataFrame, sustained: pl.DataFrame
) -> pl.DataFrame:
    """The base and each reranker at each depth, with what speaks for it and against it; of schema CHOICE.

    Latency and cost are what reranking adds, so the base has none.  Good enough is what is not inferior to the best by
    the margin of the configuration, with Holm's correction for as many tests as there are others, and what holds the
    objective of [load]: each percentile by its whole interval, one request after the other, and some of the load where
    load was put on.  Of these the cheapest is recommended; of equal ones, or without any price, the fastest.

    requests   sequential ones, of schema REQUESTS;   costs, sustained   of schemas COSTS and SUSTAINED
    """
    options = options_of(config, scores)
    if not options:
        return CHOICE.to_frame()
    quality = Quality.of(scores, options)
    axes = [quality.axis, latency_axis(requests, options, _P95), cost_axis(costs, options)]
    front, apart = _front([axis for axis in axes if axis.measured], options)
    inferior = _not_inferior(quality, _best(axes), config, scores, options)
    slo = [_holds_slo(config, requests, sustained, option) for option in options]
    place = _recommended(axes, [i for i in range(len(options)) if _is_enough(front[i], inferior[i], slo[i])])
    sign = np.array([-1.0 if scores.primary.definition.direction == "lower" else 1.0, -1.0, -1.0])
    numbers = np.stack([axis.values for axis in axes], axis=1) * sign
    rows = [
        {
            "system": option.system, "depth": option.depth, "measure": str(scores.primary),
            **dict(zip(("quality", "p95", "cost"), numbers[i].tolist(), strict=True)),
            "on_front": front[i], "not_told_apart": apart[i], "not_inferior": inferior[i], "holds_slo": slo[i],
            "recommended": i == place, "reason": _reason(front[i], inferior[i], slo[i], recommended=i == place),
        }
        for i, option in enumerate(options)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=CHOICE).with_columns(pl.col("quality", "p95", "cost").fill_nan(None) + 0.0)


def _front(axes: Sequence[Axis], options: Sequence[Option]) -> tuple[list[bool | None], list[list[str]]]:
    """Whether nothing dominates an option, None where a value is unknown; and those that may as well do."""
    points = np.stack([axis.values for axis in axes], axis=1)
    dominated = dominates(points)
    better = np.asarray(np.stack([axis.better for axis in axes]).any(axis=0))
    complete = np.asarray(~np.isnan(points).any(axis=1))
    front: list[bool | None] = []
    apart = list[list[str]]()
    for i in range(len(options)):
        front.append(None if not complete[i] else not dominated[:, i].any())
        rivals = complete & ~better[i] if front[i] else dominated[:, i] & ~better[:, i]
        apart.append([options[j].label for j in np.flatnonzero(rivals).tolist() if j != i and complete[i]])
    return front, apart


def _best(axes: Sequence[Axis]) -> int:
    """The best in quality; of equal ones the cheapest, then the fastest."""
    quality, latency, cost = (np.nan_to_num(axis.values, nan=-np.inf) for axis in axes)
    return max(range(len(quality)), key=lambda i: (quality[i], cost[i], latency[i], -i))


def _not_inferior(
    quality: Quality, best: int, config: BenchConfig, scores: Scores, options: Sequence[Option]
) -> list[str]:
    """Whether each option is within the margin of the best: "yes", "no" or "open"."""
    verdicts = ["open"] * len(options)
    lists = [scores.run_digest(option.label) for option in options]
    p = np.full(len(options), np.nan)
    for i in range(len(options)):
        d, codes = quality.paired(i, best)
        test, mirrored = (
            non_inferiority(
                gain, margin=config.margin, width=scores.primary.definition.width, alpha=ALPHA, clusters=codes,
                identical=lists[i] is not None and lists[i] == lists[best],
            )
            for gain in (d, -d)
        )  # fmt: skip
        p[i] = test.p
        if i == best or test.reason == IDENTICAL:
            verdicts[i], p[i] = "yes", np.nan
        elif -mirrored.low <= -config.margin:
            verdicts[i] = "no"
    corrected = correct(p, method="holm", family="all options against the best").adjusted
    return ["yes" if corrected[i] < ALPHA else verdicts[i] for i in range(len(options))]


def _holds_slo(config: BenchConfig, requests: pl.DataFrame, sustained: pl.DataFrame, option: Option) -> str | None:
    """Whether an option holds every limit; None where [load] sets none.  The base adds nothing, and holds them."""
    if config.load is None:
        return None
    if option.depth is None:
        return "yes"
    if _bears_nothing(sustained, option):
        return "no"
    verdicts = {
        _within(percentile_ms(requests, option, percentile_share(name)), limit_s * _MS)
        for name, limit_s in config.load.slo.items()
    }
    return next((verdict for verdict in ("no", "open") if verdict in verdicts), "yes")


def _bears_nothing(sustained: pl.DataFrame, option: Option) -> bool:
    """Whether the system failed under every load, and not for want of requests or of a machine that sends them."""
    rows = sustained.filter(pl.col("system") == option.system, pl.col("depth").eq_missing(option.depth))
    failing = rows.filter(pl.col("rate").is_null() & ~pl.col("reason").is_in(["few", "generator"]))
    return bool(failing.height)


def _within(interval: PercentileInterval | None, limit: float) -> str:
    if interval is None:
        return "open"
    return "yes" if interval.high <= limit else "no" if interval.low > limit else "open"


def _is_enough(front: bool | None, inferior: str, slo: str | None) -> bool:
    return front is not None and inferior == "yes" and slo in ("yes", None)


def _recommended(axes: Sequence[Axis], places: Sequence[int]) -> int | None:
    """The cheapest of some options, then the fastest, then the best."""
    quality, latency, cost = (np.nan_to_num(axis.values, nan=0.0) for axis in axes)
    return max(places, key=lambda i: (cost[i], latency[i], quality[i], -i), default=None)


def _reason(front: bool | None, inferior: str, slo: str | None, *, recommended: bool) -> str:
    """Why an option is recommended or not, as a code: what weighs most."""
    conditions = {
        "recommended": recommended, "inferior": inferior == "no", "slow": slo == "no", "unknown": front is None,
        "maybe_inferior": inferior == "open", "maybe_slow": slo == "open",
    }  # fmt: skip
    return next((reason for reason, holds in conditions.items() if holds), "dearer")
