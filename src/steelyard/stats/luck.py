"""Luck of a selection: how far the best of many equally good systems leads, on the questions that chose it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.stats.samples import ROUNDING, Clusters, MeanError, mean_error, whole

_NUMBERS, _MOST_DRAWS, _FEWEST_DRAWS = 2_000_000, 9_999, 999
"""Normal numbers that a simulation draws, as many draws as that gives, within these."""
_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class LuckyLead:
    """The lead of the best of some means, and what luck gives equally good systems.

    lead    of the best, 0 or more;   mean   what equally good systems lead by on average
    limit   they lead by more in a share of 1 - level of all samples of questions
    p       the chance that they lead as far
    """

    lead: float
    mean: float
    limit: float
    p: float

    @property
    def share(self) -> float:
        """Share of the lead that luck explains on average, at most 1; NaN without a lead.

        >>> LuckyLead(0.04, 0.03, 0.05, 0.2).share
        0.75
        """
        return min(1.0, self.mean / self.lead) if self.lead > 0 else math.nan


@dataclass(frozen=True)
class Luck:
    """Leads of the best of several systems over the average and the next of those that are here.

    n_systems   that were tried, of which some may not be here
    error       standard error of each mean, besides what the questions do to all alike
    """

    n_systems: int
    error: float
    over_average: LuckyLead
    over_next: LuckyLead


def luck(means: Floats, error: MeanError, n_systems: int, *, seed: int, level: float = 0.95) -> Luck:
    """The leads of the best of (s,) means, larger being better, held against those of so many equal systems.

    The best of all is taken to be here, beside others that were not chosen by their means; all scatter alike.

    error       of each mean, besides what the questions do to all alike: `scatter`
    n_systems   that were tried on these questions, s at least
    seed        of the simulation
    Raises      InputError for fewer than s systems, or 2

    >>> values = np.random.default_rng(0).normal(size=(4, 50))
    >>> few, many = (luck(values.mean(axis=1), scatter(values), n, seed=0).over_average for n in (4, 40))
    >>> few.lead == many.lead, round(few.mean, 2), round(many.mean, 2)
    (True, 0.14, 0.22)
    """
    whole(n_systems, "the number of systems that were tried", max(len(means), 2))
    best, following = np.sort(means)[::-1][:2]
    draws = lucky_leads(n_systems, len(means), seed=seed)
    draws *= error.error * np.sqrt(error.df / np.random.default_rng([seed, 1]).chisquare(error.df, draws.shape[1]))
    leads = zip((best - means.mean(), best - following), draws, strict=True)
    return Luck(n_systems, error.error, *(_held_against(lead, by_luck, level) for lead, by_luck in leads))


def scatter(values: Floats, *, clusters: Clusters | None = None) -> MeanError | None:
    """Standard error of the mean of each of (s, n) values, besides what the questions do to all alike: of all pooled.

    The difference of two means has an error sqrt(2) times as large.
    Returns   None for one system, too few questions, and systems that differ by a constant

    >>> error = scatter(np.array([[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]))
    >>> round(error.error * 2**0.5, 4)                    # of the difference 0, -1, 1, 0
    0.4082
    """
    s = len(values)
    errors = [mean_error(own, clusters=clusters) for own in values - values.mean(axis=0)]
    if s < 2 or errors[0].reason:
        return None
    pooled = math.sqrt(sum(own.error**2 for own in errors) / (s - 1))
    if pooled <= ROUNDING * float(np.abs(values).max()):
        return None
    return MeanError(0.0, pooled, errors[0].df, errors[0].n)


def lucky_leads(n_systems: int, n_here: int, *, seed: int) -> Floats:
    """(2, d) leads of the largest of so many standard normal numbers over the average and the next of those here.

    n_here   2 to n_systems: the largest, and others at random

    >>> lucky_leads(8, 8, seed=0).mean(axis=1).round(2), lucky_leads(8, 2, seed=0).mean(axis=1).round(2)
    (array([1.42, 0.57]), array([0.82, 1.64]))
    """
    rng = np.random.default_rng(seed)
    n_draws = min(max(_NUMBERS // n_systems, _FEWEST_DRAWS), _MOST_DRAWS)
    rows = max(_AT_ONCE // n_systems, 1)
    parts = list[Floats]()
    for start in range(0, n_draws, rows):
        drawn = rng.standard_normal((min(rows, n_draws - start), n_systems))
        every, best = np.arange(len(drawn)), drawn.argmax(axis=1)
        largest = drawn[every, best]
        drawn[every, best] = drawn[:, 0]
        others = drawn[:, 1:n_here]
        parts.append(np.stack([(largest - others.mean(axis=1)) * (1 - 1 / n_here), largest - others.max(axis=1)]))
    return np.concatenate(parts, axis=1)


def _held_against(lead: float, draws: Floats, level: float) -> LuckyLead:
    lead = max(0.0, float(lead))
    p = (1 + np.count_nonzero(draws >= lead * (1 - ROUNDING))) / (1 + len(draws))
    return LuckyLead(lead, float(draws.mean()), float(np.quantile(draws, level, method="higher")), float(p))
