"""p of a margin against its definition, and intervals of segments and days at the level of their family."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.abtests.analysing import skewness_checks
from steelyard.abtests.config import Amount, ExperimentConfig
from steelyard.abtests.effects import margin_p, measured
from steelyard.abtests.exposures import Exposures, Sums
from steelyard.stats.arms.contrast import Normal
from steelyard.stats.arms.percentiles import percentile_contrast
from steelyard.traffic.series import Series


def contrast(difference: float, baseline_error: float = 0.02, other_error: float = 0.03) -> Normal:
    """Of two independent arms, the baseline at 1."""
    return Normal(
        baseline=1.0, other=1 + difference, difference=difference, error=math.hypot(baseline_error, other_error),
        n_baseline=900, n_other=400, baseline_error=baseline_error, covariance=-(baseline_error**2),
    )  # fmt: skip


@given(
    difference=st.floats(-0.15, 0.15),
    share=st.floats(0.01, 0.3),
    worse=st.sampled_from([1, -1]),
    is_broken=st.booleans(),
)
def test_a_relative_margin_is_a_test_of_other_less_so_many_baselines(
    difference: float, share: float, worse: int, is_broken: bool
) -> None:
    """other - (1 + worse * share) * baseline, whose error is that of two independent values."""
    factor = 1 + worse * share
    z = (1 + difference - factor) / math.hypot(0.03, factor * 0.02)
    expected = NormalDist().cdf(z if (worse > 0) is not is_broken else -z)
    p = margin_p(contrast(difference), Amount.of(f"{share * 100!r}%"), worse, is_broken=is_broken)
    assert p == pytest.approx(expected if expected < 0.5 else 1.0, rel=1e-4, abs=2e-9)


def test_a_margin_at_the_middle_of_an_interval_that_is_not_around_its_value_has_a_p() -> None:
    """The P95 is read between ranks, so that there is no level whose interval ends at it."""
    rng = np.random.default_rng(6)
    user = np.repeat(np.arange(200), 3)
    shown = percentile_contrast(np.arange(200) % 2, user, rng.lognormal(5, 0.5, 600), 0.95)
    for share in np.linspace(-0.01, 0.01, 21) + shown.relative()[0]:
        worse = 1 if share > 0 else -1
        p = [margin_p(shown, Amount.of(abs(share)).model_copy(update={"is_relative": True}), worse, is_broken=broken)
             for broken in (True, False)]  # fmt: skip
        assert min(p) > 0.3


def test_an_absolute_margin_is_that_of_the_contrast() -> None:
    own = contrast(0.01)
    assert margin_p(own, Amount.of(0.1), 1) == own.p(0.1, "less")
    assert margin_p(own, Amount.of(0.1), -1) == own.p(-0.1, "greater")
    assert margin_p(own, Amount.of(0.1), 1, is_broken=True) == own.p(0.1, "greater")


def test_without_a_baseline_that_is_clearly_above_0_a_relative_margin_has_no_test() -> None:
    for own in (contrast(0.01, baseline_error=2.0), replace(contrast(0.01), baseline=-1.0)):
        assert math.isnan(margin_p(own, Amount.of("5%"), 1))


def exposed(lift: float) -> Exposures:
    """Three arms of users in five countries, a click or none on two days: arm c has more with a lift."""
    rng = np.random.default_rng(4)
    n, start = 1200, datetime(2026, 10, 5, tzinfo=UTC)
    arm, country = rng.integers(0, 3, n), rng.integers(0, 5, n)
    clicks = (rng.random((2, n)) < 0.3 + lift * country * (arm == 2)).astype(float).ravel()
    sums = Sums(Series("ctr", "sample", better="higher"), np.tile(np.arange(n), 2), np.repeat([0, 1], n), clicks,
                np.ones(2 * n))  # fmt: skip
    units = pl.DataFrame({"arm": arm, "country": country.astype(str)})
    return Exposures(["a", "b", "c"], units, {"ctr": sums}, 2, start, start, 2 * n)


DECLARATION = {
    "start": "2026-10-05", "days": 2, "primary": "ctr", "difference": 0.02, "arms": {"a": 0.4, "b": 0.3, "c": 0.3},
    "guardrail": [{"metric": "ctr", "margin": 0.2}, {"metric": "ctr", "margin": "60%"}],
}  # fmt: skip


def test_intervals_of_segments_and_up_to_the_last_day_are_at_the_level_of_their_family() -> None:
    """An interval leaves 0 out where p times the number of tests is below alpha, as Holm's first step has it."""
    found = measured(exposed(0.05), ExperimentConfig.of({**DECLARATION, "segments": "country"}))
    is_shown = [effect.low > 0 or effect.high < 0 for effect in found.segments]
    assert is_shown == [effect.p * 10 < 0.05 for effect in found.segments]
    assert sum(effect.p < 0.05 for effect in found.segments) > sum(is_shown) > 0
    last = [effect for effect in found.running if effect.day == 1]
    assert [(effect.low, effect.high) for effect in last] == [(effect.low, effect.high) for effect in found.effects[:2]]


def test_before_the_horizon_one_look_shows_nothing() -> None:
    for settings, verdicts in (
        ({}, ["unclear", "better", *["not_worse"] * 4]),
        ({"days": 3}, ["unclear"] * 6),
        ({"days": 3, "analysis": "always-valid", "planned_units": 1200}, ["unclear", "better", *["not_worse"] * 4]),
    ):
        effects = measured(exposed(0.06), ExperimentConfig.of({**DECLARATION, **settings})).effects
        assert [effect.verdict for effect in effects] == verdicts


def test_a_guardrail_with_a_margin_in_its_unit_has_its_interval_in_it_alone() -> None:
    guardrails = [
        effect for effect in measured(exposed(0.0), ExperimentConfig.of(DECLARATION)).effects if effect.margin
    ]
    assert [math.isnan(effect.relative_low) for effect in guardrails[2:]] == [True, True, False, False]


def test_a_metric_of_few_large_values_in_arms_of_different_sizes_is_a_caution() -> None:
    effects = measured(exposed(0.0), ExperimentConfig.of(DECLARATION)).effects
    (check,) = skewness_checks(effects)
    assert check.state == "well"
    (check,) = skewness_checks([replace(effects[0], details={"skewness": -0.2}), effects[1]])
    assert (check.state, check.values["metrics"]) == ("careful", ["ctr"])
    assert skewness_checks([replace(effects[0], details={})]) == []
