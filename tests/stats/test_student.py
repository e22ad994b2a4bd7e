"""Quantiles of Student's t, against SciPy."""

import pytest

from steelyard.stats.numerics import t_quantile

scipy_special = pytest.importorskip("scipy.special", reason="the oracle is in the extra stats")


@pytest.mark.parametrize("df", [1, 1.0001, 2, 2.5, 3, 4, 9, 9.73, 49, 300, 9_999, 100_000])
@pytest.mark.parametrize("share", [1e-9, 0.025, 0.3, 0.4999, 0.5, 0.5001, 0.6, 0.8, 0.975, 0.999, 1 - 1e-9])
def test_against_scipy(share: float, df: float) -> None:
    assert t_quantile(share, df) == pytest.approx(scipy_special.stdtrit(df, share), rel=2e-9)


def test_of_very_many_it_is_the_normal_one() -> None:
    assert t_quantile(0.975, 10_000_000) == pytest.approx(1.959964, abs=1e-6)
