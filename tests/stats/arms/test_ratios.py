"""Ratios of two arms: their errors, what reduces them, shares and rare events, and what cannot be known."""

import math
from typing import Any

import numpy as np
import pytest

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.stats.arms.ratios import ratio_contrast
from steelyard.stats.arms.shares import Exact

stats = pytest.importorskip("scipy.stats", reason="tests need the extra stats")
sm = pytest.importorskip("statsmodels.api", reason="the oracle is statsmodels")
proportions = pytest.importorskip("statsmodels.stats.proportion", reason="the oracle is statsmodels")

U = 400


def _users(seed: int = 3) -> tuple[Ints, Floats, Floats, tuple[Floats, Floats], Ints]:
    """Arm, clicks, impressions, both of before, and a kind of each user."""
    rng = np.random.default_rng(seed)
    arm, kind = rng.integers(0, 2, U), rng.integers(0, 3, U)
    taste = rng.beta(2 + kind, 5, U)
    n, before = 1 + rng.poisson(4, U), rng.poisson(5, U)
    clicks, early = rng.binomial(n, np.minimum(taste * (1 + 0.2 * arm), 1)), rng.binomial(before, taste)
    return arm, clicks.astype(float), n.astype(float), (early.astype(float), before.astype(float)), kind


ARM, CLICKS, N, BEFORE, KIND = _users()
ONES = np.ones(U)
SIDES = [ARM == 0, ARM == 1]


def test_the_delta_method_is_a_regression_weighted_by_impressions_with_users_as_clusters() -> None:
    """statsmodels, with an error by cluster in each arm by itself: times n / (n - 1), as of a variance."""
    contrast = ratio_contrast(ARM, CLICKS, N)
    own = [sm.WLS((CLICKS / N)[side], np.ones(side.sum()), weights=N[side]).fit(cov_type="HC0") for side in SIDES]
    n = [int(side.sum()) for side in SIDES]
    squares = [float(fit.bse[0]) ** 2 * m / (m - 1) for fit, m in zip(own, n, strict=True)]
    assert [contrast.baseline, contrast.other] == pytest.approx([float(fit.params[0]) for fit in own])
    assert (contrast.n_baseline, contrast.n_other) == tuple(n)
    assert contrast.error == pytest.approx(math.sqrt(sum(squares)), rel=1e-12)


def test_a_mean_of_units_is_tested_by_welch() -> None:
    contrast = ratio_contrast(ARM, CLICKS, ONES)
    oracle = stats.ttest_ind(CLICKS[ARM == 1], CLICKS[ARM == 0], equal_var=False)
    assert contrast.p() == pytest.approx(float(oracle.pvalue), rel=1e-10)
    assert contrast.interval(0.9) == pytest.approx(tuple(oracle.confidence_interval(0.9)), rel=1e-10)
    assert contrast.method == "delta"


def test_a_margin_is_tested_from_one_side() -> None:
    contrast = ratio_contrast(ARM, CLICKS, ONES)
    oracle = stats.ttest_ind(CLICKS[ARM == 1] + 0.5, CLICKS[ARM == 0], equal_var=False, alternative="greater")
    assert contrast.p(null=-0.5, sides="greater") == pytest.approx(float(oracle.pvalue), rel=1e-9)


PLACE = np.arange(300)
VISITS = (1 + PLACE * 7 % 5).astype(float)
VISITS_WITH_CLICK = ((PLACE**2 + 3 * (PLACE % 2)) % (VISITS + 1)).astype(float)


@pytest.mark.parametrize(
    ("denominator", "values", "want"),
    [
        (np.ones(300), VISITS_WITH_CLICK, (0.6, 0.18375485404009342, 0.0012346448751827666, 0.9617707522487247)),
        (VISITS, VISITS_WITH_CLICK, (0.2, 0.04980513671167183, 7.62726482033127e-05, 0.2980417588513743)),
        (
            None,
            PLACE // 2 * 13 % 17 + 0.5 * (PLACE * 11 % 6),
            (0.5, 0.09459623420426815, 2.425581226983553e-07, 0.6861612745956865),
        ),
    ],
    ids=["mean", "ratio", "cuped"],
)
def test_values_are_those_of_gbstats(
    denominator: Floats | None, values: Floats, want: tuple[float, float, float, float]
) -> None:
    """gbstats 0.8.0: difference, error, p and upper end of a two-sided t test."""
    before = None if denominator is not None else (PLACE // 2 * 13 % 17).astype(float)
    contrast = ratio_contrast(PLACE % 2, values, np.ones(300) if denominator is None else denominator, before=before)
    assert (contrast.difference, contrast.error) == pytest.approx(want[:2], rel=1e-9)
    # A covariate takes one degree of freedom here, and none there.
    rel = 1e-9 if before is None else 0.02
    assert (contrast.p(), contrast.interval()[1]) == pytest.approx(want[2:], rel=rel)


def test_what_the_time_before_foretells_is_an_analysis_of_covariance() -> None:
    """statsmodels' slope within arms; its error where both arms have one variance of what is left."""
    contrast = ratio_contrast(ARM, CLICKS, ONES, before=BEFORE[0])
    fit = sm.OLS(CLICKS, np.column_stack([ONES, ARM, BEFORE[0]])).fit()
    assert contrast.method == "cuped"
    assert contrast.difference == pytest.approx(float(fit.params[1]), rel=1e-10)
    assert contrast.error == pytest.approx(float(fit.bse[1]), rel=0.02)
    assert contrast.details["variance_kept"] == pytest.approx(1 - contrast.details["rho"] ** 2, rel=0.02)


def test_kinds_of_units_are_compared_by_themselves() -> None:
    contrast = ratio_contrast(ARM, CLICKS, ONES, strata=KIND)
    means = [[CLICKS[side & (kind == KIND)].mean() for side in SIDES] for kind in range(3)]
    shares = np.bincount(KIND) / U
    assert contrast.difference == pytest.approx(sum(w * (b - a) for w, (a, b) in zip(shares, means, strict=True)))
    assert (contrast.method, contrast.details["n_strata"]) == ("stratified", 3)


def test_few_units_of_a_kind_are_compared_with_other_small_kinds() -> None:
    kind = np.zeros(U, np.int64)
    kind[:3] = [1, 2, 2]
    assert ratio_contrast(ARM, CLICKS, N, strata=kind).details["n_strata"] in (1, 2)
    lonely = ratio_contrast(np.array([0, 0, 1, 1]), np.array([1.0, 2, 3, 5]), np.ones(4), strata=np.arange(4))
    plain = ratio_contrast(np.array([0, 0, 1, 1]), np.array([1.0, 2, 3, 5]), np.ones(4))
    assert (lonely.difference, lonely.error) == (plain.difference, plain.error)
    arm, kind = np.repeat([0, 1, 0, 1], [9, 1, 2, 2]), np.repeat([0, 1], [10, 4])  # the largest kind is a small one
    largest = ratio_contrast(arm, np.arange(14.0) ** 1.5, np.ones(14), strata=kind)
    assert largest.error == ratio_contrast(arm, np.arange(14.0) ** 1.5, np.ones(14)).error


def test_single_trials_are_newcombes() -> None:
    hit = (CLICKS > 1).astype(float)
    contrast = ratio_contrast(ARM, hit, ONES)
    n, k = np.bincount(ARM), np.bincount(ARM, hit).astype(int)
    oracle = proportions.confint_proportions_2indep(k[1], n[1], k[0], n[0], method="newcomb", compare="diff")
    assert contrast.method == "newcombe"
    assert contrast.interval() == pytest.approx(oracle, rel=1e-6)
    low, high = contrast.interval(1 - contrast.p())
    assert min(abs(low), abs(high)) == pytest.approx(0, abs=1e-6)


def test_rare_events_are_exact() -> None:
    hit = np.zeros(U)
    hit[np.flatnonzero(ARM == 1)[:6]] = 1
    contrast = ratio_contrast(ARM, hit, ONES)
    assert contrast.method == "exact"
    assert contrast.interval()[0] > 0
    n = np.bincount(ARM)
    oracle = stats.binomtest(6, int(n[1])).proportion_ci(method="exact")
    assert Exact(6 / n[1], n[1]).ends_between(0.95) == pytest.approx((oracle.low, oracle.high))
    assert all(math.isnan(end) for end in contrast.relative())
    assert ratio_contrast(ARM, 1 - hit, ONES).interval() == pytest.approx([-end for end in contrast.interval()[::-1]])


def test_no_event_at_all_leaves_an_interval() -> None:
    low, high = ratio_contrast(ARM, np.zeros(U), N).interval()
    assert -0.03 < low < 0 < high < 0.03


@pytest.mark.parametrize(
    ("arm", "numerator", "reason"),
    [
        (np.zeros(10, np.int64), np.arange(10.0), "empty_arm"),
        (np.full(10, 2), np.arange(10.0), "empty_arm"),
        (np.array([0] * 9 + [1]), np.arange(10.0), "few_units"),
        (np.arange(10) % 2, np.full(10, 0.3), "no_variance"),
        (np.arange(0), np.arange(0.0), "empty_arm"),
    ],
)
def test_what_cannot_be_known_has_a_reason(arm: Ints, numerator: Floats, reason: str) -> None:
    contrast = ratio_contrast(arm, numerator, np.ones(len(arm)), before=numerator * 2, strata=np.zeros(len(arm), int))
    assert contrast.details["reason"] == reason
    values = [*contrast.interval(), contrast.p(), *contrast.relative(), contrast.error]
    assert all(math.isnan(value) for value in values)


def test_values_above_a_share_of_the_units_are_taken_as_equal_to_it() -> None:
    cost = np.random.default_rng(1).lognormal(0, 2, U)
    contrast = ratio_contrast(ARM, cost, ONES, winsorise=0.99)
    capped = ratio_contrast(ARM, np.minimum(cost, np.quantile(cost, 0.99)), ONES)
    assert contrast.interval() == capped.interval()
    assert contrast.details["winsorised"] == 4


def test_a_difference_is_skewed_where_values_are_and_arms_differ_in_size() -> None:
    """Of independent values: the third moment over n squared, of each arm, with its sign."""
    values = np.random.default_rng(2).lognormal(0, 1, 600)
    arm = (np.arange(600) % 10 == 0).astype(np.int64)
    skewed = ratio_contrast(arm, values, np.ones(600))
    own = np.concatenate([values[arm == place] - values[arm == place].mean() for place in (0, 1)])
    expected = (own**3).mean() * (60**-2 - 540**-2) / skewed.error**3
    assert skewed.details["skewness"] == pytest.approx(expected)
    assert expected > 0.15
    assert ratio_contrast(np.arange(600) % 2, values, np.ones(600)).details["skewness"] == 0


def test_units_without_a_denominator_and_of_other_arms_do_not_count() -> None:
    contrast = ratio_contrast(ARM, CLICKS, N, before=BEFORE)
    more: dict[str, Any] = {"before": (np.append(BEFORE[0], [3, 1]), np.append(BEFORE[1], [9, 2]))}
    again = ratio_contrast(np.append(ARM, [0, 2]), np.append(CLICKS, [0, 7]), np.append(N, [0, 9]), **more)
    assert again == contrast


def test_arrays_must_agree() -> None:
    with pytest.raises(InputError, match="399 numerators of 400 units"):
        ratio_contrast(ARM, CLICKS[1:], N)
    with pytest.raises(InputError, match="not finite"):
        ratio_contrast(ARM, CLICKS, N * np.nan)
    with pytest.raises(InputError, match="denominators hold -1"):
        ratio_contrast(ARM, CLICKS, N * 0 - 1)
