"""The share of a headroom: by hand, at its limits, and how often its interval covers."""

import math

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.stats.intervals.means import captured_share, mean_intervals


def test_all_of_the_headroom_in_each_query_is_1_and_leaves_room_for_other_queries():
    headroom = np.array([0.0, 0.5, 0.25, 0.0, 1.0] * 6)
    captured = captured_share(headroom, headroom, width=1)
    assert (captured.share, captured.high) == (1.0, 1.0)
    assert 0.5 < captured.low < 0.95
    assert captured_share(np.tile(headroom, 20), np.tile(headroom, 20), width=1).low > captured.low


def test_no_gain_is_0_and_a_loss_below_it():
    headroom = np.linspace(0, 1, 40)
    assert captured_share(0 * headroom, headroom, width=1).share == 0
    harm = captured_share(-0.5 * headroom, headroom, width=1)
    assert harm.share == pytest.approx(-0.5)
    assert harm.low < -0.5 < harm.high < 0


def test_nothing_is_said_of_a_headroom_that_may_be_nothing():
    few = np.zeros(5000)
    few[:12] = 0.2
    for headroom in (np.zeros(50), few, np.ones(1)):
        captured = captured_share(0.5 * headroom, headroom, width=1)
        assert all(map(math.isnan, (captured.share, captured.low, captured.high)))


def test_the_interval_holds_the_share_and_shrinks_with_queries():
    rng = np.random.default_rng(3)
    headroom = rng.beta(1, 3, 400)
    gain = headroom * rng.uniform(-0.5, 1, 400)
    intervals = [captured_share(gain[:n], headroom[:n], width=1) for n in (25, 100, 400)]
    for captured in intervals:
        assert captured.low < captured.share < captured.high <= 1
    widths = [captured.high - captured.low for captured in intervals]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("captured", [-0.5, 0.0, 0.5])
def test_ends_are_the_shares_at_which_the_rest_may_just_be_nothing(captured):
    headroom = np.tile([0.0, 0.0, 0.3], 14)
    gain = captured * headroom
    result = captured_share(gain, headroom, width=1)
    for r, end in ((result.low, "low"), (result.high, "high")):
        # A gain is from -1 to its headroom, which is 1 at most: the rest is from -1 to (1 - r).
        rest = mean_intervals((gain - r * headroom)[:, None], bounds=(-1, 1 - r))
        assert getattr(rest, end)[0] == pytest.approx(0, abs=1e-9)
    assert result.low < captured < result.high < 1


def test_at_a_strict_level_nothing_may_be_ruled_out():
    headroom = np.tile([0.0, 0.0, 0.3], 14)
    loose, strict = (captured_share(0.5 * headroom, headroom, width=1, level=level) for level in (0.9, 1 - 1e-9))
    assert -1.5 < loose.low < 0.5
    assert (strict.share, strict.low, strict.high) == (0.5, -math.inf, 1.0)


def test_clusters_widen_it():
    rng = np.random.default_rng(4)
    headroom = np.repeat(rng.beta(1, 3, 30), 5)
    gain = headroom * np.repeat(rng.uniform(-0.5, 1, 30), 5)
    alone = captured_share(gain, headroom, width=1)
    clustered = captured_share(gain, headroom, width=1, clusters=np.repeat(np.arange(30), 5))
    assert clustered.share == alone.share
    assert clustered.low < alone.low
    assert clustered.high > alone.high


def test_measures_without_a_range_have_one_too():
    headroom = np.linspace(0, 30, 50)
    captured = captured_share(headroom * np.tile([0.2, 0.4], 25), headroom)
    assert captured.low < captured.share < captured.high


@pytest.mark.parametrize(
    ("gain", "headroom", "message"),
    [
        ([0.1], [0.2, 0.3], "there are 1 gains and 2 headrooms"),
        ([0.1, 0.0], [0.2, -0.3], "a headroom is -0.3"),
        ([0.3, 0.0], [0.2, 0.3], "a gain is 0.3 and its headroom 0.2"),
    ],
)
def test_what_cannot_be(gain, headroom, message):
    with pytest.raises(InputError, match=message):
        captured_share(gain, headroom)


def _population(kind: str, n: int = 200_000) -> tuple[np.ndarray, np.ndarray]:
    """Gains and headrooms of very many queries."""
    rng = np.random.default_rng(5)
    of_headroom, captured, harmed = {"half": (0.6, 0.4, 0.1), "some": (0.1, 0.5, 0.02), "few": (0.03, 0.5, 0.0)}.get(
        kind, (0.3, 0.97, 0.0)
    )
    has = rng.random(n) < of_headroom
    if kind == "nearly all":
        return np.where(has, rng.random(n) < captured, 0.0), has.astype(float)
    headroom = np.where(has, rng.beta(2, 3, n), 0.0)
    gain = np.where(has, headroom * np.clip(rng.normal(captured, 0.5, n), -1, 1), 0.0)
    return np.where(~has & (rng.random(n) < harmed), -rng.beta(1, 3, n), gain), headroom


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["half", "some", "few", "nearly all"])
@pytest.mark.parametrize("n", [20, 50, 200, 1000])
def test_intervals_cover(kind, n):
    gain, headroom = _population(kind)
    truth, rng = gain.sum() / headroom.sum(), np.random.default_rng(n)
    drawn = (rng.integers(0, len(gain), n) for _ in range(500))
    intervals = [captured_share(gain[i], headroom[i], width=1) for i in drawn]
    said = [captured for captured in intervals if not math.isnan(captured.share)]
    missed = sum(not captured.low <= truth <= captured.high for captured in said)
    # Of those that say something, 5% may miss; 4 standard errors more.
    assert missed <= 0.05 * len(said) + 4 * math.sqrt(0.05 * 0.95 * len(said)) + 1
    if n * {"half": 0.6, "some": 0.1, "few": 0.03, "nearly all": 0.3}[kind] >= 60:
        assert len(said) > 0.95 * len(intervals)
