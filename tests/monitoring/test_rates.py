"""What is claimed of false alarms and of losses, by simulation."""

import numpy as np
import pytest
from benchmarks.simulated.monitoring import (
    DAYS,
    HOURS,
    LOSSES,
    NOISE,
    delays,
    psi_rates,
    quiet_rate,
    simulated_run_length,
    since_coverage,
)

from steelyard.stats.charts import run_length_of_cusum

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("windows", [DAYS, HOURS], ids=["days", "hours"])
@pytest.mark.parametrize("kind", [*NOISE][:2])
def test_quiet_traffic_alarms_as_often_as_the_budget_says(kind, windows):
    assert 0.7 <= np.mean([quiet_rate(400, seed, kind, windows) for seed in (1, 2)]) <= 1.3


@pytest.mark.parametrize(("kind", "most"), [*zip(LOSSES, (2, 2, 1, 16), strict=True)])
def test_losses_are_found_soon(kind, most):
    assert np.median(delays(100, 1, kind)) <= most


def test_sums_run_as_long_as_computed():
    simulated = simulated_run_length(np.random.default_rng(1), 2000, "CUSUM", 0.0)
    assert simulated == pytest.approx(run_length_of_cusum(5.0), rel=0.1)


@pytest.mark.parametrize("n", [100, 5000])
def test_distributions_alarm_at_their_level(n):
    of_psi, _, _ = psi_rates(1000, 1, "tenths", n)
    assert 0.04 <= of_psi <= 0.06


def test_the_interval_of_a_change_holds_it():
    held, _, _ = since_coverage(400, 1, 2.0, 0.0)
    assert held >= 0.93
