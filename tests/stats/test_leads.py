"""Leads of the best of several systems: by hand, against the paired t test, and how often equally good ones exceed."""

import math

import numpy as np
import pytest
from benchmarks.simulated.leads import DRAWS, exceeded

from steelyard.stats.rankings import lead_over_average, lead_over_next
from steelyard.stats.tests.paired import paired_t

pytest.importorskip("scipy", reason="the tests need the extra stats")


def noisy(s: int, n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.uniform(0.3, 0.7, n) + rng.normal(0, 0.2, (s, n))


def test_the_lead_over_the_next_one_is_the_paired_t_test_of_the_first_two() -> None:
    values = noisy(5, 30)
    third, second, best = np.argsort(values.mean(axis=1))[-3:]
    for clusters in (None, np.arange(30) // 4):
        lead, test = (
            lead_over_next(values, clusters=clusters),
            paired_t(values[best] - values[second], clusters=clusters),
        )
        assert lead.lead == pytest.approx(values[best].mean() - values[second].mean())
        assert lead.p == test.p
        # A lead of exactly the limit is what p of 5% is of.
        moved = values.copy()
        moved[best] += lead.limit - lead.lead
        moved[third] = -1
        assert lead_over_next(moved, clusters=clusters).p == pytest.approx(0.05)


def test_of_two_systems_the_average_says_the_same() -> None:
    values = noisy(2, 15)
    average, over_next = lead_over_average(values, seed=1, n_resamples=40_000), lead_over_next(values)
    assert average.lead == pytest.approx(over_next.lead / 2)
    assert average.limit == pytest.approx(over_next.limit / 2, rel=0.03)
    assert average.p == pytest.approx(over_next.p, abs=0.03)


def test_what_systems_share_and_how_good_they_are_moves_no_limit() -> None:
    values = noisy(6, 40)
    lead = lead_over_average(values, seed=3)
    shifted = values + np.linspace(0, 1, 40) - np.arange(6)[:, None]
    assert lead_over_average(shifted, seed=3).limit == pytest.approx(lead.limit)
    assert lead_over_average(shifted, seed=3).p < 0.001
    assert lead.p > 0.05


def test_copies_of_a_question_that_count_as_one_show_no_more() -> None:
    values, clusters = noisy(4, 30), np.repeat(np.arange(30), 3)
    alone, copies = lead_over_average(values, seed=1), np.repeat(values, 3, axis=1)
    assert lead_over_average(copies, seed=1, clusters=clusters).limit == pytest.approx(alone.limit)
    assert lead_over_average(copies, seed=1).limit < 0.7 * alone.limit


@pytest.mark.parametrize("s", [2, 3, 12])
def test_systems_that_are_alike_have_no_lead(s: int) -> None:
    values = np.tile(noisy(1, 9), (s, 1))
    for lead in (lead_over_next(values), lead_over_average(values, seed=0)):
        assert (lead.lead, lead.limit, lead.p) == (0, 0, 1)


@pytest.mark.parametrize("values", [[[0.5], [0.25], [0.0]], [[0.5, 0.75], [0.25, 0.5], [0.0, 0.25]]])
def test_one_question_and_equal_differences_test_nothing(values: list[list[float]]) -> None:
    for lead in (lead_over_next(np.array(values)), lead_over_average(np.array(values), seed=0)):
        assert lead.lead == 0.25
        assert math.isnan(lead.limit)
        assert math.isnan(lead.p)


def test_the_best_of_equally_good_systems_seldom_exceeds() -> None:
    by_mean, over_average, over_next, two_ahead = exceeded(DRAWS["share difficulty, bounded"], 8, 30, draws=300, seed=1)
    assert by_mean > 0.3  # As often as a mean is exceeded.
    assert max(over_average, over_next, two_ahead) <= 0.08


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("s", [3, 8, 24])
@pytest.mark.parametrize("n", [20, 50, 200])
def test_levels_of_leads(name: str, s: int, n: int) -> None:
    _, *shares = exceeded(DRAWS[name], s, n, draws=1000, seed=2)
    # Three standard errors of a simulated .05 are .021.
    assert max(shares) <= 0.071
