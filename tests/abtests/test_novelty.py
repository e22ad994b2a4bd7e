"""What an arm does in its first week and later is compared with users as units, however often they come."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.experiment import Check
from steelyard.abtests.exposures import Exposures, Sums
from steelyard.abtests.novelty import novelty_checks
from steelyard.traffic.series import Series

CONFIG = ExperimentConfig.of(
    {"start": "2026-10-05", "primary": "ctr", "difference": 0.02, "arms": {"a": 0.5, "b": 0.5}}
)
START = datetime(2026, 10, 5, tzinfo=UTC)


def check(seed: int, *, lift: float = 0.0, days: int = 21, n: int = 300, arms: int = 2) -> list[Check]:
    """Users of a single week, in which they click on every day or on none; a lift is of the first week."""
    rng = np.random.default_rng(seed)
    arm, week, clicks = rng.integers(0, arms, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    user, day = np.repeat(np.arange(n), 7), (7 * week[:, None] + np.arange(7)).ravel()
    clicks = clicks[user] + lift * arm[user] * (week[user] == 0)
    order = np.lexsort((user, day))
    order = order[day[order] < days]
    sums = Sums(Series("ctr", "sample"), user[order], day[order], clicks[order].astype(float), np.ones(len(order)))
    units = pl.DataFrame({"arm": arm})
    return novelty_checks(Exposures(["a", "b"], units, {"ctr": sums}, days, START, START, len(order)), CONFIG)


def test_users_who_come_for_a_week_are_no_change() -> None:
    """Errors of days that are added as if days were independent call 3 of 10 of these a change."""
    alarms = sum(own.state == "careful" for seed in range(200) for own in check(seed))
    assert alarms <= 6


def test_a_gain_that_fades_is_said() -> None:
    (fading,) = check(1, lift=0.6, n=900)
    assert fading.state == "careful"
    assert fading.values["first"] > 0.4 > 2 * abs(fading.values["later"])


def test_less_than_two_weeks_and_an_empty_arm_are_not_compared() -> None:
    assert check(1, days=13) == check(1, arms=1) == []
    assert len(check(1, days=14)) == 1
