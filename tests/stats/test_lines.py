"""Lines through points, and the intervals of their slopes."""

import math

import numpy as np
import pytest

from steelyard.stats.load import fit_line
from steelyard.stats.numerics import t_quantile


def test_the_line_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=40), rng.normal(size=40)
    line = fit_line(x, y)
    slope, at_0 = np.polyfit(x, y, 1)
    assert (line.at_0, line.slope, line.n) == (pytest.approx(at_0), pytest.approx(slope), 40)


def test_the_interval_is_that_of_leaving_out_one_cluster_at_a_time() -> None:
    rng = np.random.default_rng(2)
    x, y, clusters = rng.normal(size=12), rng.normal(size=12), np.arange(12) // 3
    line = fit_line(x, y, clusters=clusters)
    without = np.array([np.polyfit(x[clusters != c], y[clusters != c], 1)[0] for c in range(4)])
    away = (x - x.mean()) ** 2
    shares = np.array([away[clusters == c].sum() for c in range(4)]) / away.sum()
    half = t_quantile(0.975, max(1 / (shares**2).sum() - 1, 1.0)) * math.sqrt(
        3 / 4 * ((without - without.mean()) ** 2).sum()
    )
    assert (line.low, line.high) == (pytest.approx(line.slope - half), pytest.approx(line.slope + half))


def test_points_in_one_place_have_no_line_and_few_have_no_interval() -> None:
    assert math.isnan(fit_line(np.ones(4), np.arange(4.0)).slope)
    assert math.isnan(fit_line(np.zeros(0), np.zeros(0)).at_0)
    two = fit_line(np.array([0.0, 1.0]), np.array([1.0, 3.0]))
    assert (two.at_0, two.slope, math.isnan(two.low)) == (1.0, 2.0, True)
    decided_by_one = fit_line(np.array([0.0, 0.0, 0.0, 1.0]), np.arange(4.0))
    assert math.isnan(decided_by_one.low)


@pytest.mark.slow
@pytest.mark.parametrize("n_questions", [10, 30, 225])
def test_the_level_holds_where_longer_requests_scatter_more_and_repetitions_are_alike(n_questions: int) -> None:
    rng, n_simulations, holds = np.random.default_rng(3), 1000, 0
    for _ in range(n_simulations):
        x = np.tile(rng.lognormal(0, 0.5, n_questions), 3)
        of_questions = np.tile(rng.lognormal(0, 0.3, n_questions), 3)
        y = 10 + 3 * x + x * of_questions * rng.lognormal(0, 0.2, len(x))
        mean = math.exp(0.3**2 / 2 + 0.2**2 / 2)
        line = fit_line(x, y, clusters=np.tile(np.arange(n_questions), 3))
        holds += line.low <= 3 + mean <= line.high
    assert holds / n_simulations > 0.93
