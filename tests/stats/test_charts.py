"""Run lengths of control charts against simulation and published ones, and limits for a rate."""

import numpy as np
import pytest
from scipy import stats

from steelyard.base.errors import InputError
from steelyard.stats.charts import (
    limits,
    normal_scores,
    run_length_of_cusum,
    run_length_of_jumps,
    run_length_of_runs,
    student_scores,
)


@pytest.mark.parametrize(
    ("h", "shift", "length"), [(4.0, 0.0, 336), (5.0, 0.0, 930), (4.0, 1.0, 8.38), (5.0, 1.0, 10.4), (5.0, 0.5, 38.0)]
)
def test_run_lengths_of_sums_are_the_published_ones(h, shift, length):
    """Montgomery, Introduction to Statistical Quality Control, table 9.3: of both sides, so twice as long at 0."""
    assert run_length_of_cusum(h, shift=shift) == pytest.approx(length, rel=0.02)


def test_run_lengths_are_those_of_a_long_simulation():
    z = np.random.default_rng(4).normal(size=(4000, 300)) + 1.0
    over = z > 2.0
    runs = over[:, 1:] & (over[:, :-1] | np.concatenate([np.zeros((4000, 1), bool), over[:, :-2]], axis=1))
    assert run_length_of_runs(2.0, shift=1.0) == pytest.approx(np.mean(runs.argmax(axis=1) + 2), rel=0.05)
    assert run_length_of_jumps(2.0, shift=1.0) == pytest.approx(1 / stats.norm.sf(1.0))


def test_limits_have_the_rate_that_is_wanted():
    rate = 1 / 2000
    one, two = limits(rate), limits(rate, two_sided=True)
    for limit, sides in ((one, 1), (two, 2)):
        alarms = 1 / run_length_of_jumps(limit.jump) + 1 / run_length_of_runs(limit.run)
        assert sides * (alarms + 1 / run_length_of_cusum(limit.cusum)) == pytest.approx(rate, rel=1e-3)
    assert two.cusum > one.cusum


def test_scores_are_as_rare_as_those_of_t():
    df = np.array([6.0, 15.0, 300.0])[:, None]
    z = np.array([-5.0, -1.0, 0.0, 2.0, 4.5])
    t = stats.t.ppf(stats.norm.cdf(-abs(z)), df) * -np.sign(z)
    assert normal_scores(t, df) == pytest.approx(np.broadcast_to(z, t.shape), abs=0.12)
    assert normal_scores(t, df)[1:] == pytest.approx(np.broadcast_to(z, t.shape)[1:], abs=0.03)
    assert normal_scores(student_scores(z, df), df) == pytest.approx(np.broadcast_to(z, t.shape))


def test_a_rate_that_is_none_is_refused():
    with pytest.raises(InputError, match="a window, not 0"):
        limits(0.0)
