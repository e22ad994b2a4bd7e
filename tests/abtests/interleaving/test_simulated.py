"""Interleaving where the truth is known: small tables of `benchmarks/simulated/interleaving.py`."""

import numpy as np
import pytest
from benchmarks.simulated.interleaving import ALIKE, READINGS, credits_until, equal_credits, gains, service

import steelyard as sy
from steelyard.abtests.interleaving.analysing import preferences

pytestmark = pytest.mark.slow


def test_interleaving_needs_several_times_fewer_requests_than_an_ab_test():
    rng = np.random.default_rng(3)
    logs = [service(READINGS["one answer is enough"], ALIKE["alike"], 6_000, rng)[0] for _ in range(3)]
    results = [sy.analyse_interleaving(log, baseline="old") for log in logs]
    assert {result.preferences[0].verdict for result in results} == {"better"}
    assert 5 * 0.6 <= min(gains(results).values()) <= 8 * 1.4


def test_one_of_two_equal_systems_is_seldom_preferred():
    rng = np.random.default_rng(4)
    wrong = np.zeros(2)
    for _ in range(200):
        user, credit = equal_credits(60, 0.6, rng)
        looks = [credits_until(user, credit, int(len(user) * look / 8)) for look in range(1, 9)]
        often = [preferences(look, planned_units=60)[0].p < 0.05 for look in looks]
        wrong += preferences(looks[-1])[0].p < 0.05, any(often)
    assert wrong[0] <= 200 * 0.05 + 3 * (200 * 0.05 * 0.95) ** 0.5
    assert wrong[1] <= 200 * 0.05


def test_what_an_ab_test_of_the_same_size_needs_is_by_its_error():
    """`ab_ratio` is one of squared errors: users who see one system, half of them each, over users who see both."""
    rng = np.random.default_rng(5)
    credit = rng.poisson(0.4, size=(3000, 2)).astype(float)
    user = np.arange(3000)
    own = preferences(credits_until(user, credit, 3000))[0]
    both = credit[:, 1] - credit[:, 0]
    totals = credit.sum(axis=1)
    halves = [totals[half].mean() - totals[~half].mean() for half in (rng.random(3000) < 0.5 for _ in range(400))]
    assert own.ab_ratio == pytest.approx(np.var(halves) / (both.var() / 3000), rel=0.25)
