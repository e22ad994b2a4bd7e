"""The limit that allows for a loss not seen yet: against closed forms, draws, and all outcomes of hit rates."""

import math

import numpy as np
import pytest
from benchmarks.simulated.gates import CELLS, QUESTIONS, RARE, false_passes, hits, pass_shares, scatters
from hypothesis import assume, given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.intervals.unseen import UnseenLoss
from steelyard.stats.samples import NO_SPREAD
from steelyard.stats.tests.equivalence import IDENTICAL, non_inferiority, tost
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

scipy_stats = pytest.importorskip("scipy.stats", reason="the limit needs the extra stats")

samples = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.0, 0.25, 1.0]), min_size=2, max_size=30)


@pytest.mark.parametrize("n", [2, 10, 149, 2000])
@pytest.mark.parametrize("margin", [0.001, 0.02, 0.3])
def test_equal_values_follow_the_rule_of_three(n: int, margin: float) -> None:
    unseen = UnseenLoss.of(np.zeros(n), width=1.0)
    assert unseen.p(-margin) == pytest.approx((1 - margin) ** n, rel=1e-9)
    assert unseen.low(0.05) == pytest.approx(0.05 ** (1 / n) - 1, abs=1e-9)


@pytest.mark.parametrize(("n", "n_lost"), [(10, 1), (50, 3), (200, 4), (500, 60), (30, 29)])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
def test_losses_alone_are_a_beta_variable(n: int, n_lost: int, alpha: float) -> None:
    # What was lost and what was not lie far apart.
    agreement = (n_lost * (n_lost - 1) + (n - n_lost) * (n - n_lost - 1)) / n / (n - 1)
    beta = scipy_stats.beta(n_lost + agreement, n - n_lost)
    unseen = UnseenLoss.of(hits(n, n_lost), width=1.0)
    assert unseen.low(alpha) == pytest.approx(-beta.isf(alpha), abs=1e-8)
    for share in (0.01, 0.1, 0.5):
        assert unseen.p(-share) == pytest.approx(max(beta.sf(share), 1e-300), rel=1e-7)


def test_chances_are_right_wherever_the_search_for_the_saddle_ends() -> None:
    unseen = UnseenLoss.of(hits(200, 4), width=1.0)
    beta = scipy_stats.beta(4 + unseen.weight, 196)
    bounds = np.append(np.random.default_rng(2).uniform(0.01, 0.06, 2_000), 0.029098994399506188)
    assert [unseen.p(-bound) for bound in bounds] == pytest.approx(beta.sf(bounds), rel=1e-6)


def test_against_draws() -> None:
    rng = np.random.default_rng(4)
    for d in (rng.normal(0, 0.2, 12), np.append(np.zeros(9), [0.5, -0.3, 0.5]), np.array([0.1, 0.1, -0.2])):
        unseen = UnseenLoss.of(d, width=1.0)
        drawn = rng.gamma(np.append(np.ones(len(d)), max(unseen.weight, 1e-12)), size=(400_000, len(d) + 1))
        means = drawn @ np.append(d, -1.0) / drawn.sum(axis=1)
        for bound in np.quantile(means, [0.02, 0.3, 0.8]).tolist():
            assert unseen.p(bound) == pytest.approx(float((means <= bound).mean()), abs=0.003)


@examples(60)
@given(samples, st.sampled_from([0.01, 0.05, 0.4]))
def test_the_limit_has_its_chance_and_falls_with_it(values: list[float], alpha: float) -> None:
    assume(max(values) > -1)
    unseen = UnseenLoss.of(np.array(values), width=1.0)
    low = unseen.low(alpha)
    assert -1 <= low <= max(values)
    assert unseen.p(low) == pytest.approx(alpha, rel=1e-5)
    assert unseen.low(alpha / 2) < low
    chances = [unseen.p(bound) for bound in np.linspace(-1.1, 1.1, 23)]
    assert chances == sorted(chances)
    assert (chances[0], chances[-1]) == (pytest.approx(0, abs=1e-300), 1)


def test_clusters_are_weighted_whole() -> None:
    d = hits(12, 2, 1)
    copies, names = np.repeat(d, 4), np.repeat(np.arange(12), 4)
    alone, together = UnseenLoss.of(d, width=1.0), UnseenLoss.of(copies, width=1.0, clusters=names)
    assert together.p(-0.3) == pytest.approx(alone.p(-0.3), rel=1e-9)
    assert together.low(0.05) == pytest.approx(alone.low(0.05), abs=1e-9)


def test_the_largest_loss_is_that_of_the_measure() -> None:
    d = hits(60, 2, 1)
    narrow, wide = UnseenLoss.of(d / 4, width=0.25), UnseenLoss.of(d, width=1.0)
    assert narrow.low(0.05) == pytest.approx(wide.low(0.05) / 4, abs=1e-9)
    assert UnseenLoss.of(d / 4, width=1.0).low(0.05) < narrow.low(0.05)


def test_differences_that_lie_wide_apart_leave_t_alone() -> None:
    d = 0.25 * np.arange(-4, 5)
    bounded, alone = non_inferiority(d, margin=0.4, width=1.0), non_inferiority(d, margin=0.4)
    assert UnseenLoss.of(d, width=1.0).weight == pytest.approx(0, abs=1e-12)
    assert (bounded.low, bounded.p) == pytest.approx((alone.low, alone.p))


@pytest.mark.parametrize(("n", "lost"), [(10, 0), (20, 0), (148, 0), (149, 0), (260, 1), (400, 3)])
@pytest.mark.parametrize("noise", [0.0, 1e-12, 1e-9, 1e-6])
def test_a_little_noise_changes_no_verdict(n: int, lost: int, noise: float) -> None:
    """Ten differences of 0 rule out nothing, and neither do ten that a rounding has touched."""
    d = hits(n, lost)
    noisy = d + noise * np.random.default_rng(n).normal(size=n)
    plain, moved = (non_inferiority(x, margin=0.02, width=1.0) for x in (d, noisy))
    assert moved.not_worse == plain.not_worse
    assert moved.low == pytest.approx(plain.low, abs=20 * noise + 1e-9)
    assert UnseenLoss.of(noisy, width=1.0).p(-0.02) == pytest.approx(UnseenLoss.of(d, width=1.0).p(-0.02), rel=1e-3)


@examples(60)
@given(samples, st.floats(0, 0.05))
def test_it_is_never_surer_than_t(values: list[float], noise: float) -> None:
    d = np.array(values) + noise * np.random.default_rng(1).normal(size=len(values))
    assume(np.ptp(d) > 1e-9)  # Differences that are equal but for rounding have no t test.
    assume(d.mean() > -1)
    bounded, alone = non_inferiority(d, margin=0.05, width=1.0), non_inferiority(d, margin=0.05)
    assert bounded.low <= alone.low
    assert bounded.p >= alone.p
    p = [non_inferiority(d, margin=margin, width=1.0).p for margin in (0.01, 0.02, 0.05, 0.2)]
    assert p == sorted(p, reverse=True)


def test_both_tests_must_rule_the_margin_out() -> None:
    d = hits(200, 1, 3)
    low = UnseenLoss.of(d, width=1.0)
    found, alone, either = (
        non_inferiority(d, margin=0.02, width=1.0),
        non_inferiority(d, margin=0.02),
        tost(d, margin=0.02, width=1.0),
    )
    assert found.low == min(low.low(0.05), alone.low) == either.low
    assert found.p == max(low.p(-0.02), alone.p) == either.p_low
    mirrored = tost(-d, margin=0.02, width=1.0)
    assert (mirrored.low, mirrored.high, mirrored.p) == (-either.high, -either.low, either.p)


def test_equal_differences_are_evidence_only_if_there_are_many() -> None:
    few, many = (non_inferiority(np.zeros(n), margin=0.02, width=1.0) for n in (148, 149))
    assert (few.not_worse, many.not_worse, few.reason) == (False, True, None)
    assert many.p == pytest.approx(0.98**149)
    for value, better in ((0.5, True), (-0.5, False)):
        assert non_inferiority(np.full(3, value), margin=0.4, width=1.0).not_worse is False
        assert non_inferiority(np.full(30, value), margin=0.4, width=1.0).not_worse is better
    for width in (None, math.inf):
        unbounded = non_inferiority(np.zeros(1000), margin=0.02, width=width)
        assert (unbounded.not_worse, unbounded.reason, math.isnan(unbounded.low)) == (False, NO_SPREAD, True)


def test_without_a_range_the_largest_difference_seen_counts() -> None:
    d = 3 * hits(80, 1, 2)
    assert non_inferiority(d, margin=0.3, width=math.inf) == non_inferiority(d, margin=0.3, width=3.0)
    assert non_inferiority(np.full(40, -20.0), margin=5.0, width=math.inf).low <= -20
    assert non_inferiority(np.full(40, 20.0), margin=5.0, width=math.inf).not_worse


def test_identical_results_can_lose_nothing() -> None:
    for test, verdict in ((non_inferiority, "not_worse"), (tost, "equivalent")):
        for width in (1.0, math.inf):
            result = test(np.zeros(3), margin=0.01, width=width, identical=True)
            assert (getattr(result, verdict), result.low, result.reason) == (True, 0.0, IDENTICAL)
        assert not getattr(test([0.0, -0.1, 0.1], margin=0.01, width=1.0, identical=True), verdict)
        assert not getattr(test([0.0], margin=0.01, width=1.0, identical=True), verdict)


def test_a_width_is_above_0() -> None:
    with pytest.raises(InputError, match=r"the width is 0.0, expected a number above 0"):
        non_inferiority([0.1, 0.2], margin=0.01, width=0.0)


@pytest.mark.parametrize(("loss", "gain"), [(0.02, 0.0), (0.10, 0.05)])
def test_a_loss_of_just_the_margin_seldom_passes(loss: float, gain: float) -> None:
    assert false_passes(50, loss, gain) <= 0.06


SCATTERS = scatters()


@pytest.mark.parametrize("name", ["within ±.01", "normal, sd .1"])
def test_a_rare_loss_beside_differences_that_scatter_seldom_passes(name: str) -> None:
    for rare in ((0.02, 1.0), (0.03, 0.5)):
        ours, by_t = pass_shares(SCATTERS[name], 50, rare[0] * rare[1], rare=rare, draws=150, seed=1)
        assert ours <= 0.06
        assert by_t >= 0.06


@pytest.mark.slow
@pytest.mark.parametrize("n", QUESTIONS)
@pytest.mark.parametrize("name", SCATTERS)
def test_a_rare_loss_seldom_passes_anywhere(name: str, n: int) -> None:
    """At most 6%, and three standard errors of the worst of as many cells."""
    shared("trec_topic_scores")
    for rare in RARE:
        assert pass_shares(SCATTERS[name], n, rare[0] * rare[1], rare=rare, draws=400, seed=2)[0] <= 0.095


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n", "margin", "least"),
    [("normal, sd .1", 200, 0.02, 0.8), ("normal, sd .1", 50, 0.05, 0.6), ("TREC's systems", 50, 0.05, 0.6),
     ("TREC's systems", 200, 0.05, 0.95), ("within ±.05", 200, 0.02, 0.99)],
)  # fmt: skip
def test_the_price_in_power(name: str, n: int, margin: float, least: float) -> None:
    shared("trec_topic_scores")
    ours, by_t = pass_shares(SCATTERS[name], n, margin, rare=(0, 0), draws=400, seed=3)
    assert ours >= least * by_t > 0


@pytest.mark.slow
@pytest.mark.parametrize("n", QUESTIONS)
@pytest.mark.parametrize(("loss", "gain"), CELLS)
def test_a_loss_of_just_the_margin_seldom_passes_anywhere(n: int, loss: float, gain: float) -> None:
    assert false_passes(n, loss, gain) <= 0.06
