"""Levels of contrasts of two arms, where the truth is known."""

import numpy as np
import pytest

arms = pytest.importorskip("benchmarks.simulated.arms")
pytest.importorskip("scipy", reason="the tests need the extra stats")


@pytest.mark.slow
@pytest.mark.parametrize("world", arms.WORLDS, ids=lambda world: world.title)
def test_intervals_and_one_sided_tests_hold_their_level(world: "arms.World") -> None:
    """Of 1,000 experiments three standard errors are 2%: of a level of 95%, and of 5%, and a little for skew."""
    rates = arms.rates(world, 1000, draws=1000, rng=np.random.default_rng(2))
    assert 0.93 <= rates.covers <= 0.98
    assert 0.93 <= rates.covers_relative <= 0.98
    assert max(rates.refused_for_more, rates.refused_for_less) <= 0.075
    assert rates.without == rates.without_relative == 0


@pytest.mark.slow
def test_impressions_as_units_alarm_too_often_and_users_do_not() -> None:
    alarms = arms.false_alarms(100, draws=4000, rng=np.random.default_rng(2))
    assert 0.2 < alarms["impressions"] < 0.32
    assert 0.04 <= alarms["users"] <= 0.06


@pytest.mark.slow
def test_the_time_before_takes_off_the_square_of_its_correlation() -> None:
    rho, variance, said, held = arms.reduction(300, 1.0, draws=4000, rng=np.random.default_rng(2))
    assert said == pytest.approx(1 - rho**2, rel=0.01)
    assert variance == pytest.approx(1 - rho**2, rel=0.05)
    assert 0.935 <= held <= 0.96
