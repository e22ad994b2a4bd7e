"""p of a margin, absolute or a share of the baseline, against its definition."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.abtests.config import Amount
from steelyard.abtests.effects import margin_p
from steelyard.stats.arms.contrast import Normal


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
    assert p == pytest.approx(expected, rel=1e-4, abs=2e-12)


def test_an_absolute_margin_is_that_of_the_contrast() -> None:
    own = contrast(0.01)
    assert margin_p(own, Amount.of(0.1), 1) == own.p(0.1, "less")
    assert margin_p(own, Amount.of(0.1), -1) == own.p(-0.1, "greater")
    assert margin_p(own, Amount.of(0.1), 1, is_broken=True) == own.p(0.1, "greater")


def test_without_a_baseline_that_is_clearly_above_0_a_relative_margin_has_no_test() -> None:
    assert math.isnan(margin_p(contrast(0.01, baseline_error=2.0), Amount.of("5%"), 1))
