"""Estimators of what a policy gets from the log of another one, with intervals that take users as units."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from steelyard.abtests.offpolicy.reward_model import Predictions
from steelyard.abtests.offpolicy.showings import Showings
from steelyard.base.arrays import Floats
from steelyard.stats.intervals.skewed import Moments, skewed_end

LOGGED = "logged"
LEVEL = 0.95
"""Of intervals."""


@dataclass(frozen=True)
class PolicyEstimate:
    """What a policy gets a request, by one estimator.

    method   "logged" (the policy of the log), "ips", "snips" or "dr"
    value, low, high   rewards a request and the ends of the interval
    difference, difference_low, difference_high   less what the log has; NaN for the log itself
    """

    method: str
    value: float
    low: float
    high: float
    difference: float = math.nan
    difference_low: float = math.nan
    difference_high: float = math.nan


@dataclass(frozen=True, eq=False)
class _Linear:
    """A mean of rewards a request, with what every showing and every request contribute to it.

    value      of the estimator
    slope      (n,) change of the value by a reward;   rest   (r,) what requests contribute besides
    centre     (r,) what is taken off each request, so that all contributions add up to about 0
    """

    value: float
    slope: Floats
    rest: Floats
    centre: Floats

    def less(self, other: _Linear) -> _Linear:
        """The difference of two of the same requests."""
        return _Linear(
            self.value - other.value, self.slope - other.slope, self.rest - other.rest, self.centre - other.centre
        )


Estimator = Callable[[Showings, Floats, Predictions], _Linear]


def _logged(showings: Showings, weight: Floats, model: Predictions) -> _Linear:
    """Mean of the rewards in the log."""
    return _inverse(showings, np.ones_like(weight), model)


def _inverse(showings: Showings, weight: Floats, model: Predictions) -> _Linear:
    """Inverse propensity scores: rewards by the weight of their showing, over requests."""
    n = showings.n_requests
    slope = weight / n
    value = float(slope @ showings.reward)
    return _Linear(value, slope, np.zeros(n), np.full(n, value / n))


def _self_normalised(showings: Showings, weight: Floats, model: Predictions) -> _Linear:
    """The same over the sum of weights, times the positions that the policy fills a request."""
    n, filled, total = showings.n_requests, showings.slots.sum(), weight.sum()
    slope = weight * filled / n / total
    value = float(slope @ showings.reward)
    by_request = np.bincount(showings.request, weight, n)
    # Linear in all four sums: rewards by weight, weights, positions and requests.
    return _Linear(value, slope, np.zeros(n), value * (by_request / total - showings.slots / filled + 1 / n))


def _doubly_robust(showings: Showings, weight: Floats, model: Predictions) -> _Linear:
    """What a model expects of the policy, and by weight what the model misses of the log."""
    n = showings.n_requests
    slope = weight / n
    rest = model.policy / n - np.bincount(showings.request, slope * model.shown, n)
    value = float(rest.sum() + slope @ showings.reward)
    return _Linear(value, slope, rest, np.full(n, value / n))


ESTIMATORS: Mapping[str, Estimator] = {"ips": _inverse, "snips": _self_normalised, "dr": _doubly_robust}
"""Estimators by name.

Sources   Horvitz & Thompson, JASA 1952 (ips); Swaminathan & Joachims, The Self-Normalized Estimator for Counterfactual
          Learning, NeurIPS 2015 (snips); Dudik, Langford & Li, Doubly Robust Policy Evaluation and Learning, ICML 2011
          (dr); by position: Li et al., Offline Evaluation of Ranking Policies with Click Models, KDD 2018.
"""


def estimate(showings: Showings, weight: Floats, model: Predictions) -> list[PolicyEstimate]:
    """What the log has, and what the policy would get by each estimator, where it has anything in common with the log.

    weight   (n,) probability of the policy over propensity, clipped where that was asked
    """
    logged = _logged(showings, weight, model)
    low, high = _ends(showings, logged, model)
    rows = [PolicyEstimate(LOGGED, logged.value, max(low, 0.0), high)]
    for method, estimator in ESTIMATORS.items() if weight.any() else ():
        linear = estimator(showings, weight, model)
        low, high = _ends(showings, linear, model)
        difference = linear.less(logged)
        ends = _ends(showings, difference, model)
        low = max(low, min(linear.value, 0.0))
        rows.append(PolicyEstimate(method, linear.value, low, high, difference.value, ends[0], ends[1]))
    return rows


def _ends(showings: Showings, linear: _Linear, model: Predictions) -> tuple[float, float]:
    """Both ends of the interval of a mean.

    The variance is that of users.  Rewards that are rare, and heavy, mostly did not come yet, so that it is too small
    where the value is: the upper end takes the larger one of it and of what the model expects of all showings, and
    allows for one more reward on a showing drawn at random.
    """
    n_units = int(showings.unit.max()) + 1
    if n_units < 2:
        return math.nan, math.nan

    def by_unit(rewards: Floats) -> Floats:
        by_request = np.bincount(showings.request, linear.slope * rewards, showings.n_requests)
        return np.bincount(showings.unit, by_request + linear.rest - linear.centre, n_units).astype(np.float64)

    expected = by_unit(model.shown)
    seen = Moments.of_sum(by_unit(showings.reward))
    modelled = Moments.of_sum(expected - expected.mean()) + Moments(
        0.0, float(linear.slope**2 @ model.variance), float(linear.slope**3 @ model.third)
    )
    more = linear.slope * (model.size - model.shown)
    fewer = -linear.slope * model.shown
    above, below = np.maximum(more, fewer), np.minimum(more, fewer)
    return (
        linear.value + skewed_end(seen + Moments.of_one(below), LEVEL, n_units - 1, upper=False),
        linear.value + skewed_end(seen.wider(modelled) + Moments.of_one(above), LEVEL, n_units - 1, upper=True),
    )
