"""The shift of a judge, measured on anchors, and differences without it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.simulated.drift import Judges, TwoRuns

from steelyard.stats.labels.judge_shift import AnchorShift, bounded_difference, judge_shift, less_shift, without_shift
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import RARE, mean_error

pytest.importorskip("scipy.stats", reason="tests need the extra stats")


def anchors(shift: list[float], anchored: list[float], count: list[float], exposed: float = 1.0) -> AnchorShift:
    parts = (np.array(part) for part in (shift, anchored, [exposed] * len(shift), count))
    return AnchorShift(*parts)


def test_whole_answers_leave_the_difference_by_one_judge() -> None:
    """All units are anchors: the shift of each question is taken off that question, and nothing else has an error."""
    same, shift = np.array([0.1, -0.2, 0.3, 0.0, 0.2]), np.array([0.5, 0.0, 0.25, 0.0, -0.5])
    average = without_shift(same + shift, anchors(shift.tolist(), [1.0] * 5, [4.0] * 5))
    assert (average.mean, average.error) == pytest.approx((same.mean(), mean_error(same).error))
    assert average.df == 4
    identical = without_shift(shift, anchors(shift.tolist(), [1.0] * 5, [4.0] * 5))
    assert (identical.mean, identical.error) == (0, 0)


def test_anchors_speak_for_the_units_that_are_none() -> None:
    """Two of four questions have anchors, in one of which both of two units are: (0 + .5) / (1 + .5) a unit."""
    listed = anchors([0.0, 0.5, 0.0, 0.0], [1.0, 0.5, 0.0, 0.0], [2.0, 1.0, 0.0, 0.0])
    assert (listed.n_anchors, listed.n_questions) == (3, 2)
    assert judge_shift(listed).mean == pytest.approx(1 / 3)
    average = without_shift(np.array([0.5, 0.5, 0.25, 0.0]), listed)
    assert average.mean == pytest.approx(1.25 / 4 - 1 / 3)
    # Of units without citations nobody says anything: these do not shift.
    half = anchors([0.0, 0.5, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], exposed=0.5)
    assert judge_shift(half).mean == pytest.approx(0.25)


def test_the_error_is_that_of_both_parts() -> None:
    """Anchors in half of the questions, all units of these: by hand, the halves are weighed as strata are."""
    rng = np.random.default_rng(1)
    shift, d = rng.normal(size=40), rng.normal(size=80)
    d[:40] = shift
    listed = anchors([*shift, *[0.0] * 40], [1.0] * 40 + [0.0] * 40, [5.0] * 40 + [0.0] * 40)
    average, rest = without_shift(d, listed), d[40:]
    by_hand = math.sqrt((shift.var(ddof=1) + rest.var(ddof=1)) / 40) / 2
    assert average.error == pytest.approx(by_hand, rel=0.03)
    assert average.df == pytest.approx(78, abs=5)
    few = anchors([*shift[:3], *[0.0] * 77], [1.0] * 3 + [0.0] * 77, [5.0] * 3 + [0.0] * 77)
    assert without_shift(d, few).df < 5


def test_clusters_count_as_one() -> None:
    listed = anchors([0.5, 0.0, 0.5, 0.0] * 10, [1.0] * 40, [2.0] * 40)
    codes = np.repeat(np.arange(10), 4)
    assert judge_shift(listed, clusters=codes).df == 9
    assert without_shift(np.arange(40.0), listed, clusters=codes).df <= 9


def test_a_shift_that_no_anchor_shows_has_an_error() -> None:
    listed = anchors([0.0] * 50, [1.0] * 50, [2.0] * 50)
    assert judge_shift(listed).error == pytest.approx(RARE / 100)
    assert without_shift(np.zeros(50), listed).error == 0


def test_a_shift_from_elsewhere_adds_its_variance() -> None:
    listed = anchors([0.5, 0.0, 0.5, 0.0] * 10, [1.0] * 40, [2.0] * 40)
    shift, d = judge_shift(listed), np.tile([0.0, 1.0, 0.5], 20)
    average = less_shift(d, shift)
    assert average.mean == pytest.approx(0.25)
    assert average.error == pytest.approx(math.hypot(shift.error, mean_error(d).error))
    assert shift.df < average.df < shift.df + 59


def test_too_few_anchors_have_no_error() -> None:
    """However many anchors one question has, they do not say how far questions differ."""
    listed, d = anchors([0.5, 0.0, 0.0], [1.0, 0.0, 0.0], [40.0, 0.0, 0.0]), np.array([0.5, 0.25, 0.0])
    shift = judge_shift(listed)
    assert math.isnan(shift.error)
    for average in (without_shift(d, listed), less_shift(d, shift)):
        assert average.mean == pytest.approx(d.mean() - 0.5)
        assert math.isnan(average.error)
        assert average.reason is not None
    two = anchors([0.5, 0.0, 0.25, 0.0], [1.0, 0.0, 1.0, 0.0], [20.0, 0.0, 20.0, 0.0])
    assert math.isnan(without_shift(np.arange(4.0), two, clusters=np.array([0, 1, 0, 1])).error)
    assert without_shift(np.arange(4.0), two).error > 0


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("n_questions", "n_anchors"), [(100, 30), (100, 200), (300, 200), (300, 600), (1000, 30)])
@pytest.mark.parametrize("judges", [Judges(0.05, 0.0), Judges(0.075, 0.025), Judges(0.01, 0.0)])
def test_a_shift_is_never_called_an_improvement(judges: Judges, n_questions: int, n_anchors: int, whole: bool) -> None:
    """Two runs of one system, whose judges are apart: `better` stays below 5% and the intervals hold."""
    runs = TwoRuns(n_questions, n_anchors, judges, whole=whole)
    rng, outcomes = np.random.default_rng(3), []
    for _ in range(1000):
        d, listed, _ = runs.draw(rng)
        average, shift = without_shift(d, listed), judge_shift(listed)
        half = t_quantile(0.975, average.df) * average.error
        of_shift = t_quantile(0.975, shift.df) * shift.error
        outcomes.append((average.mean - half > 0, abs(average.mean) > half, abs(shift.mean - judges.shift) <= of_shift))
    better, shown, covered = np.mean(outcomes, axis=0)
    assert better <= 0.05
    assert shown <= 0.065
    assert covered >= 0.92 or judges.shift * n_anchors < 5


@pytest.mark.slow
@pytest.mark.parametrize(("n_anchors", "shift"), [(30, 0.08), (60, 0.045)])
def test_a_shift_that_few_anchors_may_miss_is_no_improvement(n_anchors: int, shift: float) -> None:
    """Of so many sentences that all other error is small: by one anchor more or less it was 7% to 8%."""
    runs, rng = TwoRuns(2000, n_anchors, Judges(shift, 0.0)), np.random.default_rng(5)
    averages = [without_shift(*runs.draw(rng)[:2]) for _ in range(600)]
    assert np.mean([own.mean > t_quantile(0.975, own.df) * own.error for own in averages]) <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("n_questions", "most"), [(100, 0.01), (300, 0.0125)])
def test_a_shift_of_five_points_is_found_and_removed(n_questions: int, most: float) -> None:
    """At 200 anchors, of 300 units or 900: what is left of it is .01 on average, or a little more."""
    runs = TwoRuns(n_questions, 200, Judges(0.05, 0.0))
    rng, errors, found = np.random.default_rng(4), [], []
    for _ in range(1000):
        d, listed, by_one = runs.draw(rng)
        shift = judge_shift(listed)
        errors.append(abs(without_shift(d, listed).mean - by_one))
        found.append(shift.mean > t_quantile(0.975, shift.df) * shift.error)
    assert np.mean(errors) <= most
    assert np.mean(found) >= 0.9


@pytest.mark.parametrize("times", [0.0, 1.0, 2.0])
def test_units_that_are_no_anchors_shift_so_many_times_as_far(times: float) -> None:
    """What anchors make of their own question is taken off as it is."""
    own = anchors([0.5, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [1, 1, 0, 0])
    d = np.array([0.6, 0.1, 0.3, 0.2])
    average = without_shift(d, own, times=times)
    assert average.mean == pytest.approx(d.mean() - 0.5 / 4 - times * 0.5 * (0.75))
    assert average.error > 0


def test_the_bound_holds_all_between() -> None:
    rng = np.random.default_rng(1)
    d, own, _ = TwoRuns(100, 150, Judges(0.1, 0.0)).draw(rng)
    for frozen in (False, True):
        low, high = bounded_difference(d, own, frozen=frozen, alpha=0.05)
        for times in (0.0, 0.5, 1.0, 1.5, 2.0):
            shift = judge_shift(own)
            mean = d.mean() - times * shift.mean if frozen else without_shift(d, own, times=times).mean
            assert low < mean < high
        assert (low, high) == (
            min(bounded_difference(d, own, frozen=frozen, alpha=0.05, most=most)[0] for most in (1.0, 2.0)),
            max(bounded_difference(d, own, frozen=frozen, alpha=0.05, most=most)[1] for most in (1.0, 2.0)),
        )


@pytest.mark.slow
@pytest.mark.parametrize(("on_anchors", "elsewhere"), [(0.02, 0.04), (0.05, 0.1), (0.05, 0.05), (0.05, 0.0)])
@pytest.mark.parametrize(("n_questions", "n_anchors"), [(100, 100), (300, 200), (1000, 300)])
def test_the_bound_is_not_wrong_up_to_twice_the_shift(
    on_anchors: float, elsewhere: float, n_questions: int, n_anchors: int
) -> None:
    rng = np.random.default_rng(1)
    runs = TwoRuns(n_questions, n_anchors, Judges(on_anchors, 0.0), elsewhere=Judges(elsewhere, 0.0))
    ends = np.array([bounded_difference(*runs.draw(rng)[:2], frozen=False, alpha=0.05) for _ in range(400)])
    assert (ends[:, 0] > 0).mean() <= 0.05
    assert (ends[:, 1] < 0).mean() <= 0.05
