"""Differences of two means that labels correct: errors, degrees of freedom, and how often they mislead."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.simulated.judged_differences import JUDGES, Favour, JudgedPair, shown

from steelyard.stats.labels.prediction_powered import CorrectedMean, corrected_difference, corrected_mean
from steelyard.stats.samples import RARE, mean_error

pytest.importorskip("scipy.stats", reason="tests need the extra stats")


def mean_of(seed: int, n_labels: int = 60, *, wrong: float = 0.2) -> CorrectedMean:
    rng = np.random.default_rng(seed)
    people = (rng.random(200) < 0.7).astype(float)
    judged = np.where(rng.random(200) < wrong, 1 - people, people)
    labels = np.where(np.arange(200) < n_labels, people, np.nan)
    return corrected_mean(np.arange(200), judged, labels, np.zeros(200, int), 200)


def test_the_error_is_that_of_pairs_and_of_what_the_fewest_labels_may_miss() -> None:
    one, other = mean_of(1), mean_of(2)
    d = other.corrected.values - one.corrected.values
    average, plain = corrected_difference(d, [one, other]), mean_error(d)
    assert average.mean == plain.mean
    assert average.error**2 == pytest.approx(plain.error**2 + (1 - 60 / 200) * (RARE / 60) ** 2)
    many = mean_of(2, 150)
    assert corrected_difference(d, [one, many]).error == pytest.approx(average.error)
    assert min(one.corrected.df, other.corrected.df) < average.df < 199


def test_labels_that_never_contradict_the_judge_leave_an_error() -> None:
    one, other = mean_of(1, wrong=0.0), mean_of(2, wrong=0.0)
    average = corrected_difference(np.full(200, 0.01), [one, other])
    assert average.error == pytest.approx(RARE * math.sqrt(0.7) / 60)


def test_few_labels_are_refused_in_parts_too() -> None:
    one, other = mean_of(1), mean_of(2, 9)
    assert math.isnan(corrected_difference(np.arange(200.0), [one, other]).error)
    assert math.isnan(corrected_difference(np.arange(30.0), [one, one], share=0.15).error)
    part = corrected_difference(np.arange(100.0), [one, one], share=0.5)
    assert part.df < corrected_difference(np.arange(200.0), [one, one]).df


def test_clusters_bound_the_degrees_of_freedom() -> None:
    one = mean_of(1)
    assert corrected_difference(np.arange(200.0), [one, one], clusters=np.arange(200) // 20).df <= 9


@pytest.mark.slow
@pytest.mark.parametrize(("n_labels", "stratified"), [(50, False), (100, False), (100, True), (200, True)])
@pytest.mark.parametrize("judge", ["fair", "favours by .08", "favours by .15", "is right but for 3%, of one alone"])
def test_systems_that_people_call_alike_are_seldom_called_different(
    judge: str, n_labels: int, stratified: bool
) -> None:
    """4 to 6% are, and fewer where the judge is hardly ever wrong; by a biased judge alone, many."""
    pair, rng = JudgedPair(200, n_labels, JUDGES[judge], stratified=stratified), np.random.default_rng(1)
    alone, corrected = np.mean([list(map(shown, pair.draw(rng))) for _ in range(1500)], axis=0)
    assert corrected <= 0.065
    assert corrected >= 0.035 or "3%" in judge
    assert alone >= 0.2 if judge != "fair" else alone <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize(("n_labels", "wrong"), [(50, 0.045), (50, 0.055), (100, 0.022), (100, 0.028)])
def test_errors_that_few_labels_of_one_system_may_miss_are_no_difference(n_labels: int, wrong: float) -> None:
    """`wrong` of all units are; many labels of the other, and so many questions that all other error is small."""
    judge, rng = Favour(1.0, 0.0, wrong / 0.3), np.random.default_rng(6)
    pair = JudgedPair(2000, n_labels, judge, n_labels_of_first=1000)
    assert np.mean([shown(pair.draw(rng)[1]) for _ in range(600)]) <= 0.06
