"""Which reranker to take: what nothing beats in quality, latency and cost, and which good one is preferred."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from steelyard.base.choices import Prefer
from steelyard.bench.axes import Axis, Option, Quality, cost_axis, latency_axis, options_of, percentile_ms
from steelyard.bench.config import BenchConfig
from steelyard.bench.config_table import percentile_share
from steelyard.bench.frames import CHOICE
from steelyard.bench.throughput import INCONCLUSIVE
from steelyard.experiment.scores import Scores
from steelyard.stats.corrections import correct
from steelyard.stats.equivalence import loss_p, non_inferiority
from steelyard.stats.pareto import dominates
from steelyard.stats.percentiles import PercentileInterval

ALPHA = 0.05
"""So often at most is any option called good enough that is worse than the best one by the margin, in truth."""
_HOPELESS = 0.5
"""Options whose p is above this are further below a rival than the margin; they do not count for the family."""
_BASE = 0
"""The place of the base among the options."""
_P95 = 0.95
_MS = 1000


def choice(
    config: BenchConfig, scores: Scores, requests: pl.DataFrame, *, gains: pl.DataFrame, costs: pl.DataFrame,
    sustained: pl.DataFrame, net: Axis | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The base and each reranker at each depth, with what speaks for it and against it; of schema CHOICE.

    Latency and cost are what reranking adds, so the base has none.  Eligible is what holds the objective of [load]:
    each percentile by its whole interval, one request after the other, and some of the load where load was put on.
    Good enough is what is shown not to be worse by the margin of the configuration than any that is eligible,
    whichever of them is the best, with Holm's correction for all that come near it.

    A reranker has to be shown to be better than the base, as it is what costs time and money.  Which of the base and
    those that are is recommended goes by the preference of the configuration:

    cheap      the cheapest that is good enough; of equal ones, or without any price, the fastest
    quality    the one with the best mean that is good enough
    net        the one with the highest net benefit that is shown to bring in more than it costs, or else the base; how
               far below the best its quality is, is in the net benefit already

    Where none of them is shown to be good enough, it is the best of the rerankers so far; where no reranker is shown to
    be better, the base.

    requests   sequential ones, of schema REQUESTS;   gains, costs, sustained   of schemas QUALITY, COSTS and SUSTAINED
    net        of `net_axis`; None where the preference is not for it and cannot be
    """
    options = options_of(config, scores)
    if not options:
        return CHOICE.to_frame()
    quality = Quality.of(scores, options)
    axes = {
        "quality": quality.axis, "latency": latency_axis(requests, options, _P95), "cost": cost_axis(costs, options),
    }  # fmt: skip
    front, apart = _front([axis for axis in axes.values() if axis.measured], options)
    slo = [_holds_slo(config, requests, sustained, option) for option in options]
    eligible = [i for i in range(len(options)) if front[i] is not None and slo[i] in ("yes", None)]
    by_quality = _preference(axes, "quality", "cost", "latency")
    ahead = max(eligible, key=by_quality, default=_BASE)
    inferior = _not_inferior(quality, ahead, eligible, config, scores, options)
    gainful = _gainful(gains, str(quality.measure), options)
    rerankers = [i for i in eligible if gainful[i]]
    enough = [i for i in eligible if inferior[i] == "yes" and (i == _BASE or gainful[i])]
    best = max(rerankers, key=by_quality, default=_BASE)
    places = {
        "cheap": max(enough, key=_preference(axes, "cost", "latency", "quality"), default=best),
        "quality": max(enough, key=by_quality, default=best),
    }  # fmt: skip
    if net is not None:
        paying = [i for i in rerankers if net.better[i, _BASE]]
        places["net"] = max(paying, key=_preference({"net": net, **axes}, "net", "quality", "cost"), default=_BASE)
    place = places[config.prefer]
    by_net = net if config.prefer == "net" else None
    codes = [
        _against(
            config.prefer, is_known=front[i] is not None and not (by_net and math.isnan(by_net.values[i])),
            inferior=inferior[i], slo=slo[i], gainful=i == _BASE or gainful[i],
            pays=i == _BASE or bool(by_net and by_net.better[i, _BASE]),
        )
        for i in range(len(options))
    ]  # fmt: skip
    codes[place] = _for(config.prefer, inferior[place], is_base=place == _BASE, any_gain=bool(rerankers))
    sign = np.array([quality.sign, -1.0, -1.0])
    numbers = np.stack([axis.values for axis in axes.values()], axis=1) * sign
    rows = [
        {
            "system": option.system, "depth": option.depth, "measure": str(quality.measure),
            **dict(zip(("quality", "p95", "cost"), numbers[i].tolist(), strict=True)),
            "on_front": front[i], "not_told_apart": apart[i], "not_inferior": inferior[i], "holds_slo": slo[i],
            "net": None if net is None else float(net.values[i]),
            "net_not_told_apart": [] if net is None else _alike(net, i, rerankers, options),
            "recommended": i == place, "preferred_by": [prefer for prefer, of in places.items() if of == i],
            "reason": codes[i],
        }
        for i, option in enumerate(options)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=CHOICE).with_columns(pl.col("quality", "p95", "cost", "net").fill_nan(None) + 0.0)


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


def _preference(axes: Mapping[str, Axis], *names: str) -> Callable[[int], tuple[float, ...]]:
    """The key of an option: its values on some axes, by the first of them; of equal ones, the earlier."""
    columns = [np.nan_to_num(axes[name].values, nan=0.0) for name in names]
    return lambda i: (*(float(column[i]) for column in columns), -i)


def _gainful(gains: pl.DataFrame, measure: str, options: Sequence[Option]) -> list[bool]:
    """Whether each option is shown to be better than the base; p is corrected for all rows of the frame."""
    better = set(gains.filter(measure=measure, verdict="better").select("system", "depth").iter_rows())
    return [(option.system, option.depth) in better for option in options]


def _not_inferior(
    quality: Quality, best: int, eligible: Sequence[int], config: BenchConfig, scores: Scores,
    options: Sequence[Option],
) -> list[str]:  # fmt: skip
    """Whether each option is within the margin of all that are eligible: "yes", "no" or "open".

    Which of them is the best is not certain: one that is within the margin of each of them is within that of the best.
    Hopeless options do not make the others pay for their number, as those with p up to 1/2 have theirs doubled.

    Source   Zhao, Small & Su, Multiple Testing When Many p-Values Are Uniformly Conservative, JASA 2019.
    """
    width = quality.measure.definition.width
    lists = [scores.run_digest(option.label) for option in options]
    rivals = sorted(eligible, key=lambda i: -quality.means[i])

    def p_against(i: int, j: int) -> float:
        d, codes = quality.paired(i, j)
        alike = lists[i] is not None and lists[i] == lists[j] and not d.any()
        return 0.0 if alike else loss_p(d, margin=config.margin, width=width, clusters=codes)

    def p_of(i: int) -> float:
        largest = 0.0
        for j in rivals:
            p = 0.0 if j == i else p_against(i, j)
            if not p <= _HOPELESS:  # Or there is no test.
                return math.nan
            largest = max(largest, p)
        return largest

    p = np.array([p_of(i) for i in range(len(options))]) / _HOPELESS
    corrected = correct(np.minimum(p, 1.0), method="holm", family="options that are not hopeless").adjusted
    return [
        "yes" if corrected[i] < ALPHA else "no" if _is_inferior(quality, i, best, config.margin, width) else "open"
        for i in range(len(options))
    ]


def _is_inferior(quality: Quality, i: int, best: int, margin: float, width: float) -> bool:
    """Whether an option is shown to be worse than the best so far by the margin or more."""
    gain, codes = quality.paired(best, i)
    return non_inferiority(gain, margin=margin, width=width, alpha=ALPHA, clusters=codes).low >= margin


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
    failing = rows.filter(pl.col("rate").is_null() & ~pl.col("reason").is_in(INCONCLUSIVE))
    return bool(failing.height)


def _within(interval: PercentileInterval | None, limit: float) -> str:
    if interval is None:
        return "open"
    return "yes" if interval.high <= limit else "no" if interval.low > limit else "open"


def _alike(net: Axis, i: int, rerankers: Sequence[int], options: Sequence[Option]) -> list[str]:
    """Labels of the rerankers that may be chosen whose net benefit is not shown to differ from that of an option."""
    apart = net.better[i] | net.better[:, i] | np.isnan(net.values) | np.isnan(net.values[i])
    return [options[j].label for j in rerankers if j != i and not apart[j]]


def _for(prefer: Prefer, inferior: str, *, is_base: bool, any_gain: bool) -> str:
    """Why an option is recommended, as a code."""
    if prefer == "net":
        return "recommended" if not is_base else "no_net" if any_gain else "no_gain"
    return "recommended" if inferior == "yes" else "no_gain" if is_base else "best_so_far"


def _against(
    prefer: Prefer, *, is_known: bool, inferior: str, slo: str | None, gainful: bool, pays: bool
) -> str:  # fmt: skip
    """Why an option is not recommended, as a code: what weighs most.  By net benefit, quality is in that already."""
    by_net = prefer == "net"
    conditions = {
        "inferior": inferior == "no" and not by_net, "slow": slo == "no", "unknown": not is_known,
        "not_better": not gainful, "maybe_inferior": inferior == "open" and not by_net, "maybe_slow": slo == "open",
        "not_paying": by_net and not pays,
    }  # fmt: skip
    last = {"cheap": "dearer", "quality": "lower", "net": "less_net"}
    return next((reason for reason, holds in conditions.items() if holds), last[prefer])
