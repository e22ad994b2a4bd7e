"""Agreement of leaderboards, against SciPy, against all ways of breaking ties, and by hand."""

import math
from itertools import permutations, product
from string import ascii_letters

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.rankings import kendall_tau, rank_biased_overlap, tau_ap
from tests.hypothesis_profiles import examples

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

quick = examples(80)
coarse = st.integers(0, 4).map(lambda x: x / 10)
boards = st.lists(st.tuples(coarse, coarse), min_size=2, max_size=12)
small_boards = st.lists(st.tuples(coarse, coarse), min_size=2, max_size=5)
rankings = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True)
persistence = st.sampled_from([0.1, 0.5, 0.9, 0.98])


@quick
@given(boards)
def test_tau_against_scipy(board: list[tuple[float, float]]) -> None:
    one, other = np.array(board).T
    want = scipy_stats.kendalltau(one, other).statistic
    assert kendall_tau(one, other) == pytest.approx(want, abs=1e-12, nan_ok=True)


def naive_tau_ap(truth: tuple[int, ...], estimate: tuple[int, ...]) -> float:
    """Both are orders, best first, without ties."""
    total = 0.0
    for i in range(1, len(estimate)):
        above = estimate[:i]
        total += sum(truth.index(other) < truth.index(estimate[i]) for other in above) / i
    return 2 * total / (len(estimate) - 1) - 1


def orders(scores: list[float]) -> list[tuple[int, ...]]:
    """Every order that these scores allow."""
    places = range(len(scores))
    return [o for o in permutations(places) if all(scores[o[i]] >= scores[o[i + 1]] for i in range(len(scores) - 1))]


@quick
@given(small_boards)
def test_tau_ap_is_the_mean_over_all_ways_of_breaking_ties(board: list[tuple[float, float]]) -> None:
    truth, estimate = ([pair[side] for pair in board] for side in (0, 1))
    want = np.mean([naive_tau_ap(one, other) for one, other in product(orders(truth), orders(estimate))])
    assert tau_ap(truth, estimate) == pytest.approx(want, abs=1e-12)


def test_tau_ap_by_hand() -> None:
    """Estimate b a c d of a b c d: rank 2 holds a, wrongly below b; ranks 3 and 4 are right: 2 / 3 * 2 - 1."""
    assert tau_ap([4, 3, 2, 1], [3, 4, 2, 1]) == pytest.approx(1 / 3)
    assert tau_ap([4, 3, 2, 1], [4, 3, 1, 2]) == pytest.approx(2 * (1 + 1 + 2 / 3) / 3 - 1)


@quick
@given(boards)
def test_correlations_stay_within_their_range(board: list[tuple[float, float]]) -> None:
    one, other = np.array(board).T
    for found in (kendall_tau(one, other), tau_ap(one, other)):
        assert math.isnan(found) or -1 - 1e-12 <= found <= 1 + 1e-12
    assert kendall_tau(one, other) == pytest.approx(kendall_tau(other, one), nan_ok=True)
    assert kendall_tau(one, -other) == pytest.approx(-kendall_tau(one, other), nan_ok=True)


@pytest.mark.parametrize("s", [2, 5, 37, 300])
def test_the_same_board_and_its_reverse(s: int) -> None:
    scores = np.random.default_rng(s).permutation(s) / s
    assert kendall_tau(scores, scores) == 1
    assert kendall_tau(scores, -scores) == -1
    assert tau_ap(scores, scores) == pytest.approx(1)
    assert tau_ap(scores, -scores) == pytest.approx(-1)


def test_a_swap_at_the_top_weighs_more() -> None:
    truth = [0.5, 0.4, 0.3, 0.2, 0.1]
    top, bottom = [0.4, 0.5, 0.3, 0.2, 0.1], [0.5, 0.4, 0.3, 0.1, 0.2]
    assert kendall_tau(truth, top) == kendall_tau(truth, bottom)
    assert tau_ap(truth, top) < tau_ap(truth, bottom)


def test_ties_and_rounding() -> None:
    assert kendall_tau([0.3, 0.1 + 0.2, 0.5], [1, 1, 2]) == 1
    assert math.isnan(kendall_tau([1, 1], [1, 2]))
    assert math.isnan(kendall_tau([1], [1]))
    assert math.isnan(tau_ap([1], [1]))
    assert tau_ap([1, 1, 1], [1, 2, 3]) == pytest.approx(0)
    assert tau_ap([1, 2, 3], [1, 1, 1]) == pytest.approx(0)


def to_the_end(one: list[str], other: list[str], p: float, depth: int = 3000) -> float:
    """Rank-biased overlap of two rankings that are as long as the depth."""
    total, first, second = 0.0, set(), set()
    both = 0
    for d in range(1, depth + 1):
        a, b = one[d - 1], other[d - 1]
        both += (a == b) + (a in second) + (b in first)
        first.add(a)
        second.add(b)
        total += (1 - p) * p ** (d - 1) * both / d
    return total


def longer(ranking: list[str], prefix: str, depth: int = 3000) -> list[str]:
    return [*ranking, *(f"{prefix}{i}" for i in range(depth))]


def at_best(one: list[str], other: list[str], depth: int = 3000) -> tuple[list[str], list[str]]:
    """Both rankings carried on so that they overlap as early as can be."""
    grown = [list(one), list(other)]
    while min(map(len, grown)) < depth:
        shorter = 0 if len(grown[0]) <= len(grown[1]) else 1
        mine, theirs = grown[shorter], grown[1 - shorter]
        seen = set(mine)
        new = next((item for item in theirs if item not in seen), f"new{len(mine)}")
        mine.append(new)
    return grown[0], grown[1]


@examples(40)
@given(rankings, rankings, st.sampled_from([0.1, 0.5, 0.9]))
def test_bounds_are_reached(one: list[str], other: list[str], p: float) -> None:
    """Carried on with nothing in common, and with all that can be, the rankings come to the two ends."""
    found = rank_biased_overlap(one, other, p=p)
    depth = 400
    worst = to_the_end(longer(one, "x", depth), longer(other, "y", depth), p, depth)
    best = to_the_end(*at_best(one, other, depth + 20), p, depth)
    assert found.low == pytest.approx(worst, abs=1e-9)
    assert found.high == pytest.approx(best, abs=1e-9)


@quick
@given(rankings, rankings, persistence)
def test_the_three_stand_in_order(one: list[str], other: list[str], p: float) -> None:
    found, mirrored = rank_biased_overlap(one, other, p=p), rank_biased_overlap(other, one, p=p)
    assert 0 <= found.low <= found.extrapolated <= found.high <= 1
    assert found == mirrored
    if not set(one) & set(other):
        assert found.extrapolated == 0
    if one == other:
        assert found.extrapolated == pytest.approx(1)
        assert found.high == pytest.approx(1)


def test_overlap_by_hand() -> None:
    """a b c and a c b at p = 1/2: agreement 1, 1/2, 1; weights 1/2, 1/4, 1/8, and 1/8 for the rest."""
    found = rank_biased_overlap("abc", "acb", p=0.5)
    assert found.extrapolated == pytest.approx(0.875)
    assert found.high == pytest.approx(0.875)
    assert found.low == pytest.approx(0.75 + 3 * (math.log(2) - 0.5 - 0.125 - 1 / 24))


def test_extrapolation_of_unequal_lengths_by_hand() -> None:
    """a of a b, at p = 1/2: at depth 2 the short one is taken to agree as before, so agreement is 1 throughout."""
    found = rank_biased_overlap("a", "ab", p=0.5)
    assert found.extrapolated == pytest.approx(0.5 * 1 + 0.25 * (0.5 + 0.5) + (0.0 / 2 + 1) * 0.25)
    other = rank_biased_overlap("b", "ab", p=0.5)
    assert other.extrapolated == pytest.approx(0.25 * 0.5 + 0.25 * 0.5)


def test_deep_lists_need_less_of_the_unseen() -> None:
    one, other = list(ascii_letters), list(reversed(ascii_letters))
    gaps = [
        found.high - found.low
        for depth in (2, 5, 20, 52)
        for found in [rank_biased_overlap(one[:depth], other[:depth])]
    ]
    assert gaps == sorted(gaps, reverse=True)


def test_bad_input() -> None:
    with pytest.raises(InputError, match="'a' is in a ranking twice"):
        rank_biased_overlap("aba", "ab")
    with pytest.raises(InputError, match="empty"):
        rank_biased_overlap([], "ab")
    with pytest.raises(InputError, match="p is 1"):
        rank_biased_overlap("a", "a", p=1)
    with pytest.raises(InputError, match="2 and of 3 systems"):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="not finite"):
        tau_ap([1, math.nan], [1, 2])
