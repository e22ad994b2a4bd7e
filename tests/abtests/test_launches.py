"""Decisions on launches whose truth is simulated; `python -m benchmarks.decisions --table launches` has all."""

import pytest
from benchmarks.simulated.experiment_levels import CASES, Case
from benchmarks.simulated.launches import Launch, outcomes, planned_users


@pytest.mark.slow
def test_what_is_no_gain_is_seldom_shipped_and_a_gain_at_the_planned_power() -> None:
    n = planned_users()
    assert outcomes(Launch(n), 200, 1)["ship"] <= 10
    assert outcomes(Launch(n, -0.05), 200, 2)["ship"] == 0
    assert 140 <= outcomes(Launch(n, 0.05), 200, 3)["ship"] <= 178


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_is_not_so_is_said_no_oftener_than_promised(case: Case) -> None:
    draws = 30 if case.looks else 150
    assert case.share(draws, 5) * draws <= 4 * case.level * draws + 1
