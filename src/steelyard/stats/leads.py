"""How far the best of several systems leads, and how far one leads by chance where all are equally good."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.stats.flipping import on_grid, sign_blocks
from steelyard.stats.paired import t_test
from steelyard.stats.samples import ROUNDING, Clusters, cluster_codes, cluster_sums, mean_error
from steelyard.stats.student import t_quantile

_RESAMPLES = 4_999


@dataclass(frozen=True)
class Lead:
    """The lead of a mean, and what chance gives equally good systems.

    lead    the difference of two means, 0 or more
    limit   equally good systems lead by more in a share of 1 - level of all samples of questions
    p       the chance that they lead as far; as `limit` NaN where there is no test
    """

    lead: float
    limit: float
    p: float


def lead_over_next(values: Floats, *, level: float = 0.95, clusters: Clusters | None = None) -> Lead:
    """The lead of the best of (s, n) values over the second, by the paired t test of these two.

    Two systems that are equally good and ahead of all others lead each other by more than the limit in 1 - level of
    all samples; more than two, more rarely.
    Source   Gutmann & Maymin, Is the Selected Population the Best?, Annals of Statistics 1987.

    >>> lead = lead_over_next(np.array([[0.2, 0.3, 0.1, 0.4], [0.5, 0.7, 0.4, 0.6], [0.0, 0.1, 0.2, 0.1]]))
    >>> round(lead.lead, 3), round(lead.limit, 3), round(lead.p, 4)
    (0.3, 0.13, 0.0052)
    """
    second, best = np.argsort(values.mean(axis=1), kind="stable")[-2:]
    if (values[best] == values[second]).all():
        return Lead(0.0, 0.0, 1.0)
    error = mean_error(values[best] - values[second], clusters=clusters)
    test = t_test(error)
    limit = math.nan if math.isnan(test.p) else t_quantile((1 + level) / 2, error.df) * error.error
    return Lead(max(0.0, error.mean), limit, test.p)


def lead_over_average(
    values: Floats, *, seed: int, level: float = 0.95, clusters: Clusters | None = None, n_resamples: int = _RESAMPLES
) -> Lead:
    """The lead of the best of (s, n) values over the mean of all, held against that of s equally good systems.

    The values of each system, less their mean, change sign at random, at each question for all systems alike: what
    systems have in common remains, and how much each of them scatters.  Each pattern is then divided by the root of a
    chi-square variable over its degrees of freedom, since so few questions estimate the scatter; of two systems the
    test is the paired t test.

    seed   of the signs;   n_resamples   how many patterns

    >>> values = np.random.default_rng(0).normal(size=(8, 50))
    >>> lead = lead_over_average(values, seed=0)
    >>> bool(0 < lead.lead < lead.limit), lead.p > 0.05
    (True, True)
    """
    s, n = values.shape
    means = values.mean(axis=1)
    lead = float(means.max() - means.mean())
    if lead <= ROUNDING * float(np.abs(values).max()):
        return Lead(0.0, 0.0, 1.0)
    error = mean_error(values[means.argmax()] - values.mean(axis=0), clusters=clusters)
    if error.reason or error.flat:
        return Lead(lead, math.nan, math.nan)
    away = cluster_sums(values - means[:, None], clusters) / n
    sizes = np.ones(n) if clusters is None else np.bincount(cluster_codes(clusters, n))
    grid = on_grid(away / np.sqrt(1 - sizes / n))
    steps = np.ascontiguousarray(grid.steps.T)
    leads = np.concatenate([
        sums.max(axis=1) - sums.mean(axis=1)
        for sums in (signs @ steps for signs in sign_blocks(len(steps), n_resamples=n_resamples, seed=seed, width=s))
    ]) * grid.unit  # fmt: skip
    chi_square = np.random.default_rng([seed, 1]).chisquare(error.df, n_resamples)
    leads *= np.sqrt(error.df / chi_square)
    p = (1 + np.count_nonzero(leads >= lead * (1 - ROUNDING))) / (1 + n_resamples)
    return Lead(lead, float(np.quantile(leads, level, method="higher")), float(p))
