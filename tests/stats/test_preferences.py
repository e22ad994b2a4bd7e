"""Bradley and Terry's model: the closed form of two systems, SciPy's maximum of several, and symmetries."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.stats.preferences import PRIOR, bradley_terry, chances, win_shares


def tables(s: int) -> st.SearchStrategy[np.ndarray]:
    cells = st.lists(st.integers(0, 40).map(lambda n: n / 2), min_size=s * s, max_size=s * s)
    return cells.map(lambda values: np.reshape(values, (1, s, s)) * (1 - np.eye(s)))


@given(won=st.integers(0, 500), lost=st.integers(0, 500))
def test_two_systems_have_a_closed_form(won: int, lost: int) -> None:
    [first, second] = bradley_terry(np.array([[[0.0, won], [lost, 0.0]]]))[0]
    assert first - second == pytest.approx(math.log((won + PRIOR) / (lost + PRIOR)), abs=1e-8)


@given(wins=tables(4))
def test_several_have_the_greatest_likelihood_that_scipy_finds(wins: np.ndarray) -> None:
    optimize = pytest.importorskip("scipy.optimize", reason="the extra 'stats' is not installed")
    own = wins[0] + PRIOR * (1 - np.eye(4))

    def loss(free: np.ndarray) -> float:
        strengths = np.append(free, 0.0)
        return float((own * np.logaddexp(0.0, strengths[None, :] - strengths[:, None])).sum())

    wanted = np.append(optimize.minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x, 0.0)
    np.testing.assert_allclose(bradley_terry(wins)[0], wanted - wanted.mean(), atol=1e-4)


@given(wins=tables(3), order=st.permutations(range(3)))
def test_strengths_follow_their_systems_and_turn_with_the_table(wins: np.ndarray, order: list[int]) -> None:
    strengths = bradley_terry(wins)[0]
    np.testing.assert_allclose(bradley_terry(wins[:, order][:, :, order])[0], strengths[order], atol=1e-7)
    np.testing.assert_allclose(bradley_terry(wins.transpose(0, 2, 1))[0], -strengths, atol=1e-7)


@given(wins=tables(3))
def test_expected_wins_are_those_that_were_counted(wins: np.ndarray) -> None:
    own = wins + PRIOR * (1 - np.eye(3))
    expected = ((own + own.transpose(0, 2, 1)) * chances(bradley_terry(wins))).sum(axis=2)
    np.testing.assert_allclose(expected, own.sum(axis=2), atol=1e-6)
    shares = win_shares(bradley_terry(wins))
    assert ((shares > 0) & (shares < 1)).all()
    assert shares.sum() == pytest.approx(1.5)
