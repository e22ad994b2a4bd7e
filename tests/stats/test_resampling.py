"""Intervals by resampling questions: against one by one, and how often they hold the truth."""

import numpy as np
import pytest

from steelyard.base.arrays import Floats
from steelyard.stats.intervals.resampling import cluster_bootstrap
from steelyard.stats.labels.raters import kappa_of_counts


def kappa(sums: Floats) -> Floats:
    return kappa_of_counts(sums)[:, None]


def noisy(rng: np.random.Generator, n_questions: int, n_items: int) -> Floats:
    """Tables of questions that differ in how many items are positive, and in how well the judge does."""
    share, skill = rng.beta(2, 2, n_questions), rng.beta(6, 2, n_questions)
    truth = rng.random((n_questions, n_items)) < share[:, None]
    judged = np.where(rng.random((n_questions, n_items)) < skill[:, None], truth, ~truth)
    cells = 2 * truth + judged
    return np.stack([(cells == cell).sum(axis=1) for cell in range(4)], axis=1).reshape(-1, 2, 2).astype(float)


def test_the_same_seed_gives_the_same_interval_whatever_the_order_of_questions() -> None:
    tables = noisy(np.random.default_rng(3), 30, 8)
    interval = cluster_bootstrap(tables, kappa)
    again = cluster_bootstrap(tables[::-1], kappa)
    assert (interval.low, interval.high) == (again.low, again.high)
    assert interval.low[0] < interval.values[0] == kappa_of_counts(tables.sum(axis=0)) < interval.high[0]
    assert cluster_bootstrap(tables, kappa, seed=1).low != interval.low


def test_draws_in_blocks_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = np.random.default_rng(2).integers(0, 5, (12, 2, 2)).astype(float)
    at_once = cluster_bootstrap(tables, kappa, n_resamples=500)
    monkeypatch.setattr("steelyard.stats.intervals.resampling._CELLS_AT_ONCE", 1000)
    in_blocks = cluster_bootstrap(tables, kappa, n_resamples=500)
    assert (in_blocks.low, in_blocks.high) == (at_once.low, at_once.high)


def test_its_spread_is_that_of_questions_drawn_one_by_one() -> None:
    rng = np.random.default_rng(4)
    tables = noisy(rng, 60, 6)
    drawn = [kappa_of_counts(tables[rng.integers(0, 60, 60)].sum(axis=0)) for _ in range(2_000)]
    interval = cluster_bootstrap(tables, kappa)
    assert interval.high[0] - interval.low[0] == pytest.approx(2 * 2.0 * np.std(drawn), rel=0.08)


def test_no_interval_without_spread_or_with_one_question() -> None:
    alike = np.array([[[3.0, 1.0], [1.0, 3.0]]] * 5)
    assert np.isnan(cluster_bootstrap(alike, kappa).low).all()
    assert np.isnan(cluster_bootstrap(alike[:1], kappa).high).all()
    undefined = np.array([[[3.0, 0.0], [0.0, 0.0]]] * 5)
    assert np.isnan(cluster_bootstrap(undefined, kappa).values).all()


@pytest.mark.slow
@pytest.mark.parametrize(("n_questions", "n_items", "low", "high"), [(25, 40, 0.92, 0.97), (100, 4, 0.93, 0.97)])
def test_intervals_hold_the_truth_as_often_as_they_claim(
    n_questions: int, n_items: int, low: float, high: float
) -> None:
    rng = np.random.default_rng(5)
    truth = float(kappa_of_counts(noisy(rng, 200_000, n_items).sum(axis=0)))
    intervals = [cluster_bootstrap(noisy(rng, n_questions, n_items), kappa, n_resamples=1_000) for _ in range(1_000)]
    held = np.mean([interval.low[0] <= truth <= interval.high[0] for interval in intervals])
    assert low <= held <= high
