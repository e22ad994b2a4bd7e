"""Which reranker to take: what nothing beats in quality, latency and cost, and which good one is preferred."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.percentiles import percentile_share
from steelyard.bench.choice.returns import Axis, NetBenefit, Quality, cost_axis, latency_axis, options_of, percentile_ms
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.bench.frames import CHOICE, Option
from steelyard.bench.load.throughput import INCONCLUSIVE
from steelyard.experiment.table.scores import Scores
from steelyard.stats.intervals.percentiles import PercentileInterval
from steelyard.stats.power.resolution import Resolution
from steelyard.stats.rankings import dominates
from steelyard.stats.samples import n_clusters
from steelyard.stats.tests.corrections import correct
from steelyard.stats.tests.equivalence import loss_p
from steelyard.stats.tests.paired import paired_t

ALPHA = 0.05
"""So often at most is any option called good enough that is worse than the best one by the margin, in truth."""
_HOPELESS = 0.5
"""Options whose p is above this are further below a rival than the margin; they do not count for the family."""
ALPHA_OF_TWO = ALPHA * _HOPELESS / 2
"""Of the test of one option against the margin where two are near each other."""
_BASE = 0
"""The place of the base among the options."""
_P95 = 0.95
_MS = 1000


def choice(
    config: BenchConfig, scores: Scores, requests: pl.DataFrame, *, gains: pl.DataFrame, costs: pl.DataFrame,
    sustained: pl.DataFrame, net: NetBenefit | None = None,
) -> pl.DataFrame:  # fmt: skip
    """The base and each reranker at each depth, with what speaks for it and against it; of schema CHOICE.

    Latency and cost are what reranking adds, so the base has none.  Eligible is what holds the objective of [load]:
    each percentile by its whole interval, one request after the other, and some of the load where load was put on.
    Not eligible is what leaves so many questions without an answer that its P95 is infinite, and what has a net benefit
    that is below 0 by its whole interval.

    A reranker has to be shown to be better than the base, as it is what costs time and money.  Of those that are, good
    enough is each that is not shown to be worse than another one, with the level of the test shared among all that have
    a higher mean, or that is shown to lose less than the margin.  Which of them is recommended goes by the preference:

    cheap      the cheapest; of equal ones, or without any price, the fastest
    quality    the one with the best mean
    auto       without [value] or any price as `cheap`; else the one whose net benefit has the greatest lower end, but a
               cheaper one in its place, unless that is shown to bring in less
    net        the one with the highest net benefit that is shown to bring in more than it costs, or else the base; how
               far below the best its quality is, is in the net benefit already

    Where no reranker is shown to be better, or none of them pays, it is the base; likewise where the base itself is
    shown to be less than the margin below all of them, unless their net benefit has a lower end above 0.

    requests   sequential ones, of schema REQUESTS;   gains, costs, sustained   of schemas QUALITY, COSTS and SUSTAINED
    net        of `net_benefit`; None where nothing says what success is worth
    """
    options = options_of(config, scores)
    if not options:
        return CHOICE.to_frame()
    quality = Quality.of(scores, options)
    axes = {
        "quality": quality.axis,
        "latency": latency_axis(requests, options, _P95),
        "cost": cost_axis(costs, options),
    }
    front, apart = _front([axis for axis in axes.values() if axis.measured], options)
    slo = [_holds_slo(config.load, requests, sustained, option) for option in options]
    # Whether each option is shown to be better than the base; p is corrected for all rows of the frame.
    better = set(gains.filter(measure=str(quality.measure), verdict="better").select("system", "depth").iter_rows())
    gainful = [(option.system, option.depth) in better for option in options]
    is_failing = np.isinf(axes["latency"].values)
    is_loss = np.zeros(len(options), bool) if net is None else net.high < 0
    holding = [i for i in range(len(options)) if front[i] is not None and slo[i] in ("yes", None) and not is_failing[i]]
    eligible = [i for i in holding if not is_loss[i]]
    rerankers = [i for i in eligible if gainful[i]]
    lists = [scores.run_digest(option.label) for option in options]
    closeness = _Closeness.of(quality, eligible, rerankers, margin=config.margin, lists=lists)
    inferior = closeness.not_inferior
    enough = [i for i in eligible if (i == _BASE and inferior[i] == "yes") or (gainful[i] and inferior[i] != "no")]
    places = {
        "cheap": max(enough, key=_preference(axes, "cost", "latency", "quality"), default=_BASE),
        "quality": max(enough, key=_preference(axes, "quality", "cost", "latency"), default=_BASE),
    }
    if net is not None:
        paying = [i for i in rerankers if net.better[i, _BASE]]
        places["net"] = max(paying, key=_preference({"net": net, **axes}, "net", "quality", "cost"), default=_BASE)
        places["auto"] = places["cheap"] if not net.measured else _surest(net, axes["cost"], enough)
    prefer = "cheap" if config.prefer == "auto" and (net is None or not net.measured) else config.prefer
    place = places[prefer]

    def against(i: int) -> str:
        """Why an option is not recommended, as a code: what weighs most; by net benefit, quality is in that."""
        by_net = net if prefer in ("auto", "net") else None
        conditions = {
            "inferior": inferior[i] == "no" and prefer != "net", "failing": is_failing[i], "slow": slo[i] == "no",
            "unknown": front[i] is None or (by_net is not None and math.isnan(by_net.values[i])),
            "not_better": i != _BASE and not gainful[i], "loss": is_loss[i], "maybe_slow": slo[i] == "open",
            "not_paying": net is not None and not _pays(net, i, prefer),
        }  # fmt: skip
        last = {"cheap": "dearer", "quality": "lower", "net": "less_net", "auto": "less_sure"}
        if prefer == "auto" and by_net is not None and by_net.low[i] >= by_net.low[place]:
            last["auto"] = "not_more"
        return next((reason for reason, holds in conditions.items() if holds), last[prefer])

    codes = [against(i) for i in range(len(options))]
    without = "" if rerankers else "none_pays" if any(gainful[i] for i in holding) else "barred" if any(gainful) else ""
    codes[place] = _for(prefer, inferior[place], is_base=place == _BASE, any_gain=bool(rerankers), without=without)
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
            "needed": closeness.needed(place) if i == place and codes[i] == "best_so_far" else None, "reason": codes[i],
        }
        for i, option in enumerate(options)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=CHOICE).with_columns(pl.col("quality", "p95", "cost", "net").fill_nan(None) + 0.0)


def _surest(net: NetBenefit, cost: Axis, enough: Sequence[int]) -> int:
    """The option whose net benefit has the greatest lower end, or the cheapest that is not shown to bring in less.

    Without the second part, the dearer of two that are equally good is taken nearly as often as the cheaper one, where
    chance moves the value of a gain by more than they differ in price.
    """
    paying = [i for i in enough if i == _BASE or net.values[i] > 0]
    surest = max(paying, key=lambda i: (net.low[i], cost.values[i], -i), default=_BASE)
    cheaper = [i for i in paying if cost.values[i] > cost.values[surest]]
    alike = [i for i, ahead in zip(cheaper, net.ahead(surest, cheaper), strict=True) if not ahead]
    return max(alike, key=lambda i: (cost.values[i], net.low[i], -i), default=surest)


def _front(axes: Sequence[Axis], options: Sequence[Option]) -> tuple[list[bool | None], list[list[str]]]:
    """True if nothing dominates an option, None where a value is unknown; with those that may do as well."""
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


@dataclass(frozen=True, eq=False)
class _Closeness:
    """How near each option is to the best: "yes" within the margin, "no" shown to be worse and not within it, "open".

    rivals   that an option must not be further below than the margin, those with the best means first
    alpha    of the test of one option against one rival, as Holm's correction shares it at first
    """

    quality: Quality
    rivals: Sequence[int]
    margin: float
    alpha: float
    not_inferior: Sequence[str]

    @classmethod
    def of(
        cls, quality: Quality, eligible: Sequence[int], rerankers: Sequence[int], *, margin: float,
        lists: Sequence[str | None],
    ) -> _Closeness:  # fmt: skip
        """Which is the best is not certain: within the margin of each that is eligible is within that of the best.

        Hopeless options do not make the others pay for their number, as those with p up to 1/2 have theirs doubled.

        rerankers   that are shown to be better than the base: worse is what is shown to be worse than one of them
        lists       digests of the lists of all options
        Source      Zhao, Small & Su, Multiple Testing When Many p-Values Are Uniformly Conservative, JASA 2019.
        """
        width = quality.measure.definition.width
        rivals = sorted(eligible, key=lambda i: -quality.means[i])

        def p_of(i: int) -> float:
            largest = 0.0
            for j in rivals:
                d, codes = quality.paired(i, j)
                alike = i == j or (lists[i] is not None and lists[i] == lists[j] and not d.any())
                p = 0.0 if alike else loss_p(d, margin=margin, width=width, clusters=codes)
                if not p <= _HOPELESS:  # Or there is no test.
                    return math.nan
                largest = max(largest, p)
            return largest

        n = len(quality.values)
        p = np.array([p_of(i) for i in range(n)]) / _HOPELESS
        corrected = correct(np.minimum(p, 1.0), method="holm", family="options that are not hopeless").adjusted
        not_inferior = [
            "yes" if corrected[i] < ALPHA else "no" if _is_worse(quality, i, rerankers) else "open" for i in range(n)
        ]
        alpha = ALPHA * _HOPELESS / max(int((~np.isnan(p)).sum()), 1)
        return cls(quality, rivals, margin, alpha, not_inferior)

    def needed(self, i: int) -> int | None:
        """Questions that show an option to be within the margin of those that it is not told apart from.

        In 80 of 100 cases, if it is as good as they are; None where there are too few to say.
        """
        width, n = self.quality.measure.definition.width, list[int]()
        for j in self.rivals:
            d, codes = self.quality.paired(i, j)
            if j in (i, _BASE) or self.not_inferior[j] == "no" or n_clusters(codes, len(d)) < 2 or not np.ptp(d):
                continue
            resolution = Resolution.of(d, width=width, alpha=self.alpha, clusters=codes)
            if (of_rival := resolution.questions(self.margin)) is not None:
                n.append(of_rival)
        return max(n, default=None)


def _is_worse(quality: Quality, i: int, rerankers: Sequence[int]) -> bool:
    """True if an option is shown to be worse than one of these; the level is shared among those with a higher mean."""
    ahead = [j for j in rerankers if j != i and quality.means[j] > quality.means[i]]
    tests = (quality.paired(j, i) for j in ahead)
    return any(paired_t(d, clusters=codes).p * len(ahead) < ALPHA for d, codes in tests)


def _holds_slo(load: LoadTable | None, requests: pl.DataFrame, sustained: pl.DataFrame, option: Option) -> str | None:
    """True if an option holds every limit; None where [load] sets none.  The base adds nothing, and holds them.

    It does not where it failed under every load, and not for want of requests or of a machine that sends them.
    """
    if load is None:
        return None
    if option.depth is None:
        return "yes"
    failed = pl.col("rate").is_null() & ~pl.col("reason").is_in(INCONCLUSIVE)
    if sustained.filter(option.rows & failed).height:
        return "no"
    verdicts = {
        _within(percentile_ms(requests, option, percentile_share(name)), limit_s * _MS)
        for name, limit_s in load.slo.items()
    }
    return next((verdict for verdict in ("no", "open") if verdict in verdicts), "yes")


def _within(interval: PercentileInterval | None, limit: float) -> str:
    if interval is None:
        return "open"
    return "yes" if interval.high <= limit else "no" if interval.low > limit else "open"


def _alike(net: Axis, i: int, rerankers: Sequence[int], options: Sequence[Option]) -> list[str]:
    """Labels of the rerankers that may be chosen whose net benefit is not shown to differ from that of an option."""
    apart = net.better[i] | net.better[:, i] | np.isnan(net.values) | np.isnan(net.values[i])
    return [options[j].label for j in rerankers if j != i and not apart[j]]


def _pays(net: NetBenefit, i: int, prefer: Prefer) -> bool:
    """True if the net benefit of an option is as high as a preference for it asks; any will do by the others."""
    return i == _BASE or {"net": bool(net.better[i, _BASE]), "auto": bool(net.values[i] > 0)}.get(prefer, True)


def _for(prefer: Prefer, inferior: str, *, is_base: bool, any_gain: bool, without: str) -> str:
    """Why an option is recommended, as a code;   without   why no better reranker may be chosen, or "" """
    if not is_base:
        return "recommended" if inferior == "yes" or prefer == "net" else "best_so_far"
    if without:
        return without
    if inferior == "yes" and prefer != "net":
        return "recommended"
    return "no_net" if any_gain else "no_gain"
