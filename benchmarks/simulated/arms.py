"""Two arms of users: how often intervals and tests of contrasts are wrong, and what a time before is good for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.arms.contrast import Contrast
from steelyard.stats.arms.percentiles import percentile_contrast
from steelyard.stats.arms.ratios import ratio_contrast

UNITS = (10, 100, 1000)
"""Users of each arm."""
Draw = Callable[[np.random.Generator, int, float], tuple[Floats, Floats]]


def geometric(rng: np.random.Generator, n: int, mean: float = 6.0) -> Floats:
    """(n,) requests of users: 1 at least, and of a few users many."""
    return rng.geometric(1 / mean, n).astype(np.float64)


def clicks(rng: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Clicks and impressions of users, who differ in how readily they click: a quarter of all."""
    requests = geometric(rng, n)
    return rng.binomial(requests.astype(np.int64), gain * rng.beta(1, 3, n)).astype(np.float64), requests


def answered(rng: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Users who click at all: 30%."""
    return (rng.random(n) < 0.3 * gain).astype(np.float64), np.ones(n)


def complaints(rng: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Users who complain: 1%."""
    return (rng.random(n) < 0.01 * gain).astype(np.float64), np.ones(n)


def failures(rng: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Failed requests: of 2% of the users every other one."""
    requests = geometric(rng, n)
    return rng.binomial(requests.astype(np.int64), 0.5 * (rng.random(n) < 0.02 * gain)).astype(np.float64), requests


def costs(rng: np.random.Generator, n: int, gain: float) -> tuple[Floats, Floats]:
    """Costs of users, lognormal with a sigma of 1: a few cost much."""
    return gain * rng.lognormal(0, 1, n), np.ones(n)


def before_and_after(
    rng: np.random.Generator, n: int, shared: float, gain: Floats | float = 1.0
) -> tuple[Floats, Floats, Floats, Floats]:
    """Clicks and impressions of users, and both of before: that share of the users click as readily as before."""
    own, new = rng.beta(1, 3, (2, n))
    requests, early = geometric(rng, n), geometric(rng, n)
    now = gain * np.where(rng.random(n) < shared, own, new)
    late = rng.binomial(requests.astype(np.int64), now).astype(np.float64)
    return late, requests, rng.binomial(early.astype(np.int64), own).astype(np.float64), early


def ratios(draw: Draw, rng: np.random.Generator, sizes: tuple[int, int], gain: float) -> Contrast:
    """An experiment with a ratio."""
    pairs = [draw(rng, size, own) for size, own in zip(sizes, (1.0, gain), strict=True)]
    numerator, denominator = (np.concatenate(values) for values in zip(*pairs, strict=True))
    return ratio_contrast(np.repeat([0, 1], sizes), numerator, denominator)


def adjusted(rng: np.random.Generator, sizes: tuple[int, int], gain: float) -> Contrast:
    """An experiment with clicks, which is adjusted by clicks of before and by how much users ask."""
    n, arm = sum(sizes), np.repeat([0, 1], sizes)
    numerator, denominator, *before = before_and_after(rng, n, 0.9, np.where(arm == 1, gain, 1.0))
    strata = np.minimum(denominator, 12).astype(np.int64) // 4
    return ratio_contrast(arm, numerator, denominator, before=(before[0], before[1]), strata=strata)


def latencies(p: float, rng: np.random.Generator, sizes: tuple[int, int], gain: float) -> Contrast:
    """An experiment with a percentile of lognormal latencies of users, each of whom has a line of its own speed."""
    n = sum(sizes)
    requests, arm = geometric(rng, n).astype(np.int64), np.repeat([0, 1], sizes)
    unit = np.repeat(np.arange(n), requests)
    speed = rng.normal(0, 0.3, n)[unit] + rng.normal(0, 0.4, len(unit))
    return percentile_contrast(arm, unit, np.exp(speed) * np.where(arm[unit] == 1, gain, 1.0), p)


@dataclass(frozen=True)
class World:
    """What is drawn of each arm: a value of the baseline, times a gain in the other arm.

    experiment   of users of both arms and a gain;   share   users of the other arm, over those of the baseline
    """

    title: str
    experiment: Callable[[np.random.Generator, tuple[int, int], float], Contrast]
    value: float
    gain: float = 0.8
    share: float = 1.0

    def contrast(self, rng: np.random.Generator, n: int) -> Contrast:
        """One experiment with n users of the baseline."""
        return self.experiment(rng, (n, max(round(self.share * n), 2)), self.gain)


WORLDS = (
    World("clicks over impressions", partial(ratios, clicks), 0.25),
    World("clicks, a third as many users in the other arm", partial(ratios, clicks), 0.25, share=1 / 3),
    World("clicks, adjusted by those of before and by requests", adjusted, 0.25),
    World("users who click, 30%", partial(ratios, answered), 0.3),
    World("users who complain, 1%", partial(ratios, complaints), 0.01, gain=3.0),
    World("failed requests, 1%, half of those of a few users", partial(ratios, failures), 0.01, gain=3.0),
    World("costs of users, lognormal", partial(ratios, costs), math.exp(0.5)),
    World("costs, a third as many users in the other arm", partial(ratios, costs), math.exp(0.5), share=1 / 3),
    World("P50 of latencies", partial(latencies, 0.5), 1.0),
    World("P95 of latencies", partial(latencies, 0.95), math.exp(0.5 * 1.6448536)),
)


@dataclass(frozen=True)
class Rates:
    """Shares of experiments, of those that have an interval: it holds the difference; the relative one, of those that
    have one; the truth is refused in favour of more, and of less, one-sided at 5%; and those that have no interval."""

    covers: float
    covers_relative: float
    refused_for_more: float
    refused_for_less: float
    without: float
    without_relative: float


def rates(world: World, n: int, *, draws: int, rng: np.random.Generator) -> Rates:
    """Rates of so many experiments; one-sided tests are those of the 90% interval, which has the same ends."""
    difference, relative = world.value * (world.gain - 1), world.gain - 1
    contrasts = [world.contrast(rng, n) for _ in range(draws)]
    ends, narrow, shares = (
        np.array(values).reshape(draws, -1)
        for values in zip(*((c.interval(), c.interval(0.9), c.relative()[1:]) for c in contrasts), strict=True)
    )
    there, known = np.isfinite(ends[:, 0]), np.isfinite(shares[:, 0])
    return Rates(
        covers=_mean((ends[:, 0] <= difference) & (difference <= ends[:, 1]), there),
        covers_relative=_mean((shares[:, 0] <= relative) & (relative <= shares[:, 1]), known),
        refused_for_more=_mean(narrow[:, 0] > difference, there),
        refused_for_less=_mean(narrow[:, 1] < difference, there), without=float((~there).mean()),
        without_relative=float((~known).mean()),
    )  # fmt: skip


def _mean(values: np.ndarray, of: np.ndarray) -> float:
    return float(values[of].mean()) if of.any() else math.nan


def arm_table(draws: int, seed: int) -> Table:
    """Coverage and one-sided errors of contrasts."""
    rng = np.random.default_rng(seed)
    rows = []
    for world in WORLDS:
        for n in UNITS:
            own = rates(world, n, draws=draws, rng=rng)
            rows.append([
                f"{world.title}, {n:,}", f"{_percent(own.covers)} ({percent(own.without)})",
                f"{_percent(own.covers_relative)} ({percent(own.without_relative)})",
                f"{_percent(own.refused_for_more)}, {_percent(own.refused_for_less)}",
            ])  # fmt: skip
    return Table(
        "How often 95% intervals of two arms hold the truth (in brackets: there is none), and how often a one-sided "
        "test at 5%, as of a margin, refuses it",
        ["world, users of an arm", "difference", "relative difference", "truth refused for more, for less"], rows,
    )  # fmt: skip


def _percent(value: float) -> str:
    return "–" if math.isnan(value) else percent(value)


def false_alarms(n: int, *, draws: int, rng: np.random.Generator) -> Mapping[str, float]:
    """How often p < .05 where nothing differs: with users as units, and as if every impression were one."""
    p = np.empty((draws, 2))
    for row in p:
        arm = np.repeat([0, 1], n)
        numerator, denominator = clicks(rng, 2 * n, 1.0)
        trials = np.repeat(arm, denominator.astype(np.int64))
        place = np.arange(len(trials)) - np.repeat(np.cumsum(denominator) - denominator, denominator.astype(np.int64))
        clicked = (place < np.repeat(numerator, denominator.astype(np.int64))).astype(np.float64)
        row[:] = (
            ratio_contrast(arm, numerator, denominator).p(), ratio_contrast(trials, clicked, np.ones(len(trials))).p(),
        )  # fmt: skip
    return dict(zip(("users", "impressions"), (p < 0.05).mean(axis=0).tolist(), strict=True))


def unit_table(draws: int, seed: int) -> Table:
    """False alarms with users as units, and with impressions."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in UNITS:
        own = false_alarms(n, draws=draws, rng=rng)
        rows.append([f"{n:,}", percent(own["impressions"]), percent(own["users"])])
    return Table(
        "How often the click rates of two arms that are alike differ at 5%; users ask 6 times on average",
        ["users of an arm", "impressions as units", "users as units"], rows,
    )  # fmt: skip


def reduction(n: int, shared: float, *, draws: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Correlation with the time before, variance of differences kept, as said, and coverage of no difference."""
    differences, said, held = np.empty((draws, 2)), np.empty((draws, 2)), np.empty(draws, bool)
    for i in range(draws):
        arm = np.repeat([0, 1], n)
        numerator, denominator, *before = before_and_after(rng, 2 * n, shared)
        plain = ratio_contrast(arm, numerator, denominator)
        contrast = ratio_contrast(arm, numerator, denominator, before=(before[0], before[1]))
        differences[i] = plain.difference, contrast.difference
        said[i] = contrast.details["rho"], contrast.details["variance_kept"]
        low, high = contrast.interval()
        held[i] = low <= 0 <= high
    variances = differences.var(axis=0)
    rho, kept = said.mean(axis=0).tolist()
    return rho, float(variances[1] / variances[0]), kept, float(held.mean())


def cuped_table(draws: int, seed: int) -> Table:
    """What the time before takes off the variance."""
    rng = np.random.default_rng(seed)
    rows = []
    for n in UNITS[1:]:
        for shared in (0.0, 0.5, 1.0):
            rho, variance, kept, held = reduction(n, shared, draws=draws, rng=rng)
            rows.append([f"{n:,}, {shared:g}", f"{rho:.2f}", f"{1 - rho**2:.3f}", f"{variance:.3f}", f"{kept:.3f}",
                         percent(held)])  # fmt: skip
    return Table(
        "What the time before an experiment leaves of the variance (CUPED), click rates of users who stay as they were",
        ["users of an arm, who stay", "correlation", "1 - its square", "variance kept", "as said", "95% intervals"],
        rows,
    )
