"""Analyse interleaving: which system users prefer, and what an A/B test of the same traffic would have shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from steelyard.abtests.experiment import Check
from steelyard.abtests.interleaving.credits import Credits, credits
from steelyard.abtests.sample_ratio import MISMATCH_P
from steelyard.base.arrays import Floats
from steelyard.base.choices import Analysis, Credit
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.stats.arms.contrast import Contrast, Normal
from steelyard.stats.arms.ratios import ratio_contrast
from steelyard.stats.counts import goodness_of_fit
from steelyard.stats.samples import mean_error
from steelyard.stats.sequences import Betting, Sequential
from steelyard.stats.tests.corrections import correct
from steelyard.stats.tests.paired import sign_test
from steelyard.traffic.logs import Logs, Trouble
from steelyard.traffic.reading import read_logs
from steelyard.traffic.tabulating import LEAST_UNITS, per_user

PreferenceVerdict = Literal["better", "worse", "unclear", "few", "blocked"]
"""better, worse: users prefer the system, or the baseline;   few: too few units for a test;   blocked: by a check."""
_MORE = NormalDist().inv_cdf(0.8)
"""Errors by which a difference is larger than half its interval that is shown with a power of 80 %."""
AB_METRICS = ("ctr", "clicks@1", "clicks@5", "first_click_rr")
"""Metrics of an A/B test that interleaving is measured against."""
_Z_SHOWN = 1.96
_SEEDS = 0.9
"""Share of requests with seeds of their own, below which pages were built for many requests together."""


@dataclass(frozen=True)
class Preference:
    """What users prefer, of a system and the baseline.

    n_units             users; sessions or requests where they are unknown
    baseline, value     credits per request of both systems
    difference, low, high   value - baseline; the interval is at 1 - alpha, or always valid
    p, adjusted         of no preference; corrected for several systems (Holm)
    wins, losses, ties  units with more credits for the system, for the baseline, for neither
    sign_p              by them alone, by the binomial distribution; always valid by bets on the first preference of
                        each unit, however few there are
    detectable          the smallest difference that so many units show with a power of 80 %, at this look
    ab_ratio            as many times the units would an A/B test need to show a difference of the same size in what
                        users do per request: it compares different users, and half of them
    """

    system: str
    verdict: PreferenceVerdict
    n_units: int
    baseline: float
    value: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    wins: int
    losses: int
    ties: int
    sign_p: float
    detectable: float
    ab_ratio: float


@dataclass(frozen=True)
class Sensitivity:
    """An A/B test of the same systems in the same log, against interleaving.

    z, z_interleaving   differences in standard errors;   n, n_interleaving   requests behind them
    times       requests that the A/B test needs for each one of interleaving, (z_interleaving / z)**2 per request
    at_least    the same with both z 1.96 errors less favourable to interleaving; 0 where they do not say
    """

    system: str
    metric: str
    z: float
    z_interleaving: float
    n: int
    n_interleaving: int
    times: float
    at_least: float


@dataclass(frozen=True, eq=False, repr=False)
class Interleaving(Result):
    """Pages that systems shared, analysed: which one users prefer.

    baseline, systems   the system that others are compared with, and those
    credit, analysis, alpha   as they were asked for
    n_requests, n_units    that count;   n_alike   requests where all systems showed the same
    n_acts, n_credited     places that users acted on, and those of them that say something
    preferences            of each other system, in the order of `systems`
    sensitivities          where the log has requests of the systems by themselves (`arm` is the system's name)
    checks                 "draft": each system was first as often as others;   "seeds": pages have coins of their own
    """

    VIEW: ClassVar[str] = "views.interleaving"

    baseline: str
    systems: Sequence[str]
    credit: Credit
    analysis: Analysis
    alpha: float
    n_requests: int
    n_units: int
    n_alike: int
    n_acts: int
    n_credited: int
    preferences: Sequence[Preference]
    sensitivities: Sequence[Sensitivity] = ()
    checks: Sequence[Check] = ()
    troubles: Sequence[Trouble] = ()

    @property
    def frame(self) -> pl.DataFrame:
        """One system a row: the fields of `Preference`."""
        return pl.DataFrame([vars(preference) for preference in self.preferences])


def analyse_interleaving(
    logs: Logs | str | Path | Sequence[str | Path], *, baseline: str | None = None, credit: Credit = "click",
    analysis: Analysis = "fixed", planned_units: int = 2_000, alpha: float = 0.05, timezone: str = "UTC",
) -> Interleaving:  # fmt: skip
    """Which system users prefer, by what they did with pages that systems shared (`interleave`).

    Credits per request are compared, with users as units: however much one asks, that is one person.  Requests of
    bots, and those that were not served, do not count, nor do clicks on places of no team.  Where systems were not
    first equally often (p < .001), pages were not built or logged as drafted, and nothing is concluded.

    logs       Logs, or files and folders as `read_logs` takes them
    baseline   system that others are compared with; None for the first by name
    credit     "click", "dwell" (read for 30 seconds or longer), "citation" (cited by the answer)
    analysis   "fixed": one look, when the planned requests are there;   "always-valid": any number of looks
    planned_units   of an always-valid analysis: users for which its intervals are narrowest, fixed before it; ten
               times too many make them 27% wider, a tenth 7%
    timezone   IANA name: of times without an offset
    Raises     InputError for a log without pages of two systems, or with nothing to credit, a baseline that is on none,
               an alpha outside (0, 1), and as `read_logs`
    """
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}; expected above 0 and below 1")
    if planned_units < LEAST_UNITS:
        raise InputError(f"planned_units is {planned_units}; expected {LEAST_UNITS} or more")
    logs = logs if isinstance(logs, Logs) else read_logs(logs, timezone=timezone)
    counted = credits(logs, credit, baseline)
    if not counted.n_acts:
        raise InputError(f"no interleaved page has a {credit} to credit; log its events, or credit something else")
    checks = list(_checks(counted))
    shown = preferences(counted, planned_units=planned_units if analysis == "always-valid" else None, alpha=alpha)
    if any(check.state == "blocks" for check in checks):
        shown = [replace(own, verdict="blocked") for own in shown]
    return Interleaving(
        counted.systems[0], counted.systems[1:], credit, analysis, alpha,
        int(counted.n.sum()), len(counted.n), counted.n_alike, counted.n_acts, counted.n_credited, shown,
        list(_sensitivities(logs, counted)), checks, logs.troubles,
    )  # fmt: skip


def preferences(counted: Credits, *, planned_units: int | None = None, alpha: float = 0.05) -> list[Preference]:
    """What users prefer, of each system and the baseline.

    planned_units   as of `analyse_interleaving`, for an always-valid analysis; None for a single look
    """
    places = range(1, len(counted.systems))
    shown = [_preference(counted, place, planned_units, alpha / len(places)) for place in places]
    family = "each system against the baseline"
    adjusted = correct([own.p for own in shown], method="holm", family=family).adjusted.tolist()
    return [replace(own, adjusted=p, verdict=_verdict(own, p, alpha)) for own, p in zip(shown, adjusted, strict=True)]


def _verdict(own: Preference, p: float, alpha: float) -> PreferenceVerdict:
    if own.n_units < LEAST_UNITS:
        return "few"
    return "unclear" if not p < alpha else "better" if own.difference > 0 else "worse"


def _contrast(counted: Credits, place: int) -> Normal:
    """Credits per request of a system less those of the baseline, with units as they are: each is in both."""
    values = counted.per_request
    average = mean_error(values[:, place] - values[:, 0])
    return Normal(
        baseline=float(values[:, 0].mean()), other=float(values[:, place].mean()), difference=average.mean,
        error=average.error if average.error > 0 else math.nan, n_baseline=average.n, n_other=average.n,
        df=average.df, method="paired",
    )  # fmt: skip


def _preference(counted: Credits, place: int, planned_units: int | None, alpha: float) -> Preference:
    values, single = counted.per_request, _contrast(counted, place)
    leads = np.round(counted.sums[:, place] - counted.sums[:, 0], 9)
    contrast: Contrast = single if planned_units is None else Sequential(single, 2 * planned_units)
    d = values[:, place] - values[:, 0]
    low, high = contrast.interval(1 - alpha)
    wins, losses = int((leads > 0).sum()), int((leads < 0).sum())
    sign_p = sign_test(leads).p if planned_units is None else Betting(counted.first_preferences[place - 1], -1, 1).p()
    return Preference(
        counted.systems[place], "unclear", len(d), contrast.baseline, contrast.other, contrast.difference, low, high,
        contrast.p(), math.nan, wins, losses, len(d) - wins - losses, sign_p, (high - low) / 2 + _MORE * contrast.error,
        4 * _variance(values.sum(axis=1)) / _variance(d) if contrast.error > 0 else math.nan,
    )  # fmt: skip


def _variance(values: Floats) -> float:
    return float(np.var(values, ddof=1))


def _checks(counted: Credits) -> Iterator[Check]:
    """Whether systems were first equally often, and whether pages have coins of their own."""
    first = dict(zip(counted.systems, counted.first.tolist(), strict=True))
    p = goodness_of_fit(counted.first, np.ones(len(first)))
    yield Check("draft", "blocks" if p < MISMATCH_P else "few" if math.isnan(p) else "well", p, {"first": first})
    if counted.n_seeded:
        is_own = counted.n_seeds >= _SEEDS * counted.n_seeded
        values = {"n_seeds": counted.n_seeds, "n_requests": counted.n_seeded}
        yield Check("seeds", "well" if is_own else "careful", values=values)


def _sensitivities(logs: Logs, counted: Credits) -> Iterator[Sensitivity]:
    """Interleaving against metrics of an A/B test, best one first, of systems that the log has by themselves."""
    alone = replace(logs, impressions=logs.impressions.filter(pl.col("teams").is_null()))
    arms = set(alone.impressions.select(pl.col("arm").unique()).collect()["arm"])
    n_interleaving = int(counted.n.sum())
    for place, system in enumerate(counted.systems[1:], 1):
        contrast = _contrast(counted, place)
        if not {system, counted.systems[0]} <= arms or not contrast.error > 0:
            continue
        z = contrast.difference / contrast.error
        rows = [_ab(alone, metric, counted.systems[0], system) for metric in AB_METRICS]
        for metric, (other, n) in sorted(zip(AB_METRICS, rows, strict=True), key=lambda row: -abs(row[1][0])):
            yield Sensitivity(system, metric, other, z, n, n_interleaving, *_times(z, other, n / n_interleaving))


def _ab(alone: Logs, metric: str, baseline: str, system: str) -> tuple[float, int]:
    """Difference of two arms in standard errors, 0 where there is none, and their requests."""
    sums = per_user(alone, metric).filter(pl.col("arm").is_in([baseline, system]))
    arm = (sums["arm"] == system).cast(pl.Int64).to_numpy()
    contrast = ratio_contrast(arm, sums["numerator"].to_numpy(), sums["denominator"].to_numpy())
    z = contrast.difference / contrast.error if contrast.error > 0 else 0.0
    return z, int(sums["denominator"].sum())


def _times(z: float, other: float, n_ratio: float) -> tuple[float, float]:
    """Requests of an A/B test for each one of interleaving, and the fewest that both z allow."""
    low = max(abs(z) - _Z_SHOWN, 0.0) / (abs(other) + _Z_SHOWN)
    return ((z / other) ** 2 * n_ratio if other else math.inf), low**2 * n_ratio
