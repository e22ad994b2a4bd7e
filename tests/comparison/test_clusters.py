"""Comparisons of questions that are no independent evidence."""

import math
from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.result import ComparisonRow
from steelyard.data.clusters import Clustering
from steelyard.stats.intervals.means import mean_intervals
from steelyard.stats.power.detectable import min_detectable_difference
from steelyard.stats.tests.effects import relative_change
from steelyard.stats.tests.equivalence import non_inferiority
from steelyard.stats.tests.groups import guarded_tukey, indistinguishable
from steelyard.stats.tests.paired import paired_t, sign_flip, sign_flip_interval
from steelyard.stats.tests.pairs import t_pairs
from tests.comparison.test_comparison import drawn, scores_of

CODES = np.repeat(np.arange(9), [1, 2, 3, 3, 4, 4, 5, 6, 8])
VALUES = drawn(4, len(CODES))[:, 0] + 0.05 * np.random.default_rng(5).normal(size=(4, 9))[:, CODES]


def clustered(codes: np.ndarray = CODES, values: np.ndarray = VALUES) -> sy.Scores:  # type: ignore[type-arg]
    return replace(
        scores_of(values), clustering=Clustering("doc", codes), recipe_parts={"steelyard": "x", "cluster": "doc"}
    )


def row_of(comparison: sy.Comparison, system: str = "b") -> ComparisonRow:
    return next(row for row in comparison.rows["map"] if row.system == system)


def test_t_goes_by_cluster() -> None:
    row, d = row_of(sy.compare(clustered(values=VALUES[:2]), margin=0.1)), VALUES[1] - VALUES[0]
    assert row.p == pytest.approx(paired_t(d, clusters=CODES).p)
    assert row.p > paired_t(d).p
    want = mean_intervals(d[:, None], clusters=CODES)
    assert (row.low, row.high) == pytest.approx((want.low[0], want.high[0]))
    change = relative_change(VALUES[0], VALUES[1], clusters=CODES)
    assert (row.relative_low, row.relative_high) == pytest.approx((change.low, change.high))
    assert row.detectable == pytest.approx(min_detectable_difference(d, clusters=CODES))
    assert row.not_worse == non_inferiority(d, margin=0.1, width=1, clusters=CODES).not_worse
    assert (row.n, row.n_clusters) == (36, 9)


def test_sign_flips_and_tukey_go_by_cluster() -> None:
    row, d = row_of(sy.compare(clustered(values=VALUES[:2]), test="randomization")), VALUES[1] - VALUES[0]
    assert row.p == sign_flip(d, seed=0, clusters=CODES).p
    assert (row.low, row.high) == pytest.approx(sign_flip_interval(d, seed=0, clusters=CODES))
    tukey = sy.compare(clustered(), baseline="a", test="tukey")
    assert row_of(tukey).p == pytest.approx(guarded_tukey(VALUES, seed=0, clusters=CODES).p[0])


def test_letters_go_by_cluster() -> None:
    comparison = sy.compare(clustered())
    groups = indistinguishable(VALUES.mean(axis=1), t_pairs(VALUES, clusters=CODES))
    assert comparison.groups["map"] == [["abcd"[i] for i in group] for group in groups]


def test_segments_go_by_cluster() -> None:
    inside = np.arange(36) >= 10
    part = sy.compare(clustered(values=VALUES[:2]), segments={"late": inside}).segments["late"]
    d = (VALUES[1] - VALUES[0])[inside]
    assert row_of(part).p == pytest.approx(paired_t(d, clusters=CODES[inside]).p)
    assert row_of(part).n_clusters == len(set(CODES[inside].tolist()))


def test_copies_of_a_question_need_as_many_questions_again() -> None:
    values = drawn(2, 20, seed=3)[:, 0] * np.array([[1.0], [0.97]])
    plain = row_of(sy.compare(scores_of(values)))
    copies = row_of(sy.compare(clustered(np.repeat(np.arange(20), 3), np.repeat(values, 3, axis=1))))
    assert plain.needed is not None
    assert copies.needed is not None
    assert copies.detectable == pytest.approx(plain.detectable, rel=1e-9)
    # Hedges' correction is for the number of questions; all else is that of the clusters.
    assert copies.needed == pytest.approx(3 * plain.needed, rel=0.1)


def test_a_plan_of_copies_needs_as_many_questions_again() -> None:
    """Every question three times in its cluster: three times as many questions, and the same can be shown."""
    values = drawn(3, 20, seed=3)[:, 0]
    plain = sy.plan(scores_of(values), difference=0.05)
    copies = sy.plan(clustered(np.repeat(np.arange(20), 3), np.repeat(values, 3, axis=1)), difference=0.05)
    assert plain.pilot is not None
    assert copies.pilot is not None
    for row, again in zip(plain.rows, copies.rows, strict=True):
        for name in ("needed", "needed_low", "needed_high", "needed_f"):
            assert getattr(again, name) == 3 * getattr(row, name)
    assert copies.pilot.detectable == pytest.approx(plain.pilot.detectable, rel=1e-9)
    assert (copies.pilot.n, copies.pilot.n_clusters) == (60, 20)
    with pytest.raises(sy.InputError, match="all in one cluster"):
        sy.plan(clustered(np.zeros(36, int)), difference=0.05)


def test_one_cluster_tests_nothing() -> None:
    for test in ("t", "randomization", "tukey"):
        comparison = sy.compare(clustered(np.zeros(36, int), VALUES[:2]), test=test, margin=0.1)
        row = row_of(comparison)
        assert (row.verdict, row.reason, row.not_worse) == ("no test", "one cluster", None)
        assert all(map(math.isnan, (row.p, row.low, row.high)))
        assert "all questions are in one cluster" in comparison.text(lang="en")


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_tests_of_single_questions_are_refused(test: str) -> None:
    with pytest.raises(sy.InputError, match=f"test '{test}' takes each question by itself; by cluster there are t,"):
        sy.compare(clustered(), test=test)


def test_too_few_clusters_for_a_test_are_named() -> None:
    codes = np.repeat(np.arange(4), 9)
    comparison = sy.compare(clustered(codes, VALUES[:2]), test="randomization")
    text = comparison.text(lang="en", explain=True)
    assert "this test cannot show anything with fewer than 6 clusters" in text
    assert "36 questions in 4 clusters" in text
    assert "4 clusters are few: intervals are wide" in text
