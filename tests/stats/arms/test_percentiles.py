"""Percentiles of two arms with users as units: values of an oracle, speed, and what cannot be known."""

import math

import numpy as np
import pytest

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.arms.percentiles import percentile_contrast

pytest.importorskip("scipy", reason="the tests need the extra stats")

UNIT = np.repeat(np.arange(300), 6)
VALUE = ((UNIT * 13 + np.tile(np.arange(6), 300) * 7) % 53 + 20 * (UNIT % 7) + 15 * (UNIT % 2)).astype(float)
ARM = np.arange(300) % 2


@pytest.mark.parametrize(
    ("share", "difference", "error"),
    [(0.5, 14.0, 6.113142964181824), (0.9, 14.0, 3.8289961746772643), (0.95, 14.0, 3.784644566839664)],
)
def test_errors_are_near_those_of_gbstats(share: float, difference: float, error: float) -> None:
    """gbstats 0.8.0, QuantileClusteredStatistic: the normal's error, without what is here left for unseen clusters."""
    contrast = percentile_contrast(ARM, UNIT, VALUE, share)
    assert contrast.difference == pytest.approx(difference)
    assert error < contrast.error < 1.25 * error
    low, high = contrast.interval(1 - contrast.p())
    assert low == pytest.approx(0, abs=0.01) or high == pytest.approx(0, abs=0.01)


def test_requests_of_one_user_are_worth_less_than_those_of_many() -> None:
    rng = np.random.default_rng(5)
    speed = rng.normal(0, 1, 400)
    unit = np.repeat(np.arange(400), 10)
    value = np.exp(speed[unit] + rng.normal(0, 0.1, 4000))
    of_users = percentile_contrast(np.arange(400) % 2, unit, value, 0.5)
    of_requests = percentile_contrast((np.arange(4000) // 10) % 2, np.arange(4000), value, 0.5)
    assert of_users.difference == of_requests.difference
    assert of_users.error > 2 * of_requests.error


def test_a_ratio_of_percentiles_has_an_interval_where_the_baseline_is_above_0() -> None:
    contrast = percentile_contrast(ARM, UNIT, VALUE + 100, 0.9)
    relative, low, high = contrast.relative()
    assert relative == pytest.approx(contrast.difference / contrast.baseline)
    assert [low, high] == pytest.approx([end / contrast.baseline for end in contrast.interval()], abs=0.02)
    assert all(math.isnan(value) for value in percentile_contrast(ARM, UNIT, VALUE - 500, 0.9).relative())


def test_other_arms_and_the_order_of_requests_do_not_count() -> None:
    order = np.argsort(VALUE)
    units, values = np.append(UNIT[order], [300, 300]), np.append(VALUE[order], [999.0, 0.0])
    assert (
        percentile_contrast(np.append(ARM, 2), units, values, 0.9).interval()
        == percentile_contrast(ARM, UNIT, VALUE, 0.9).interval()
    )


@pytest.mark.parametrize(
    ("arm", "unit", "reason"),
    [
        (np.zeros(9, np.int64), np.arange(9), "empty_arm"),
        (np.array([0, 0, 1]), np.repeat(np.arange(3), 3), "few_units"),
        (np.arange(9) % 2, np.arange(9), "few_values"),
        (np.arange(9) % 2, np.arange(0), "empty_arm"),
    ],
)
def test_what_cannot_be_known_has_a_reason(arm: Ints, unit: Ints, reason: str) -> None:
    contrast = percentile_contrast(arm, unit, np.arange(float(len(unit))), 0.95)
    assert contrast.details["reason"] == reason
    assert all(math.isnan(value) for value in (*contrast.interval(), contrast.p(), *contrast.relative()))


@pytest.mark.parametrize(
    ("value", "share", "words"),
    [(VALUE[1:], 0.9, "1800 units of 1799 values"), (VALUE * math.nan, 0.9, "not finite"), (VALUE, 1.0, "share is 1")],
)
def test_arrays_must_agree(value: Floats, share: float, words: str) -> None:
    with pytest.raises(InputError, match=words):
        percentile_contrast(ARM, UNIT, value, share)
