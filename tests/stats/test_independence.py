"""Whether a property goes with another one, over units of questions: the level of the test, and what it finds."""

import math

import numpy as np
import pytest

from steelyard.stats.labels.judge_shift import independence_p

RNG = np.random.default_rng(3)


def share_below(n_questions: int, *, together: bool, lean: float = 0.0, draws: int = 300) -> float:
    """How often p is below .05;   together   both properties are by question;   lean   of x on the upper half of y"""
    n = 4 * n_questions
    owner, shown = np.repeat(np.arange(n_questions), 4), 0
    for _ in range(draws):
        y, x = RNG.random(n), RNG.random(n)
        if together:
            y, x = y + 2 * RNG.random(n_questions)[owner], x + 2 * RNG.random(n_questions)[owner]
        shown += independence_p(owner, (x - lean * (y > np.median(y)) < np.quantile(x, 0.4)).astype(float), y) < 0.05
    return shown / draws


@pytest.mark.parametrize("n_questions", [20, 60, 200])
@pytest.mark.parametrize("together", [False, True])
def test_the_level_holds_where_questions_go_together_too(n_questions: int, together: bool) -> None:
    assert share_below(n_questions, together=together) < 0.09


def test_what_goes_together_is_found() -> None:
    assert share_below(60, together=False, lean=0.3, draws=60) > 0.9


def test_nothing_to_test_has_no_p() -> None:
    owner, y = np.arange(20), np.arange(20.0)
    assert math.isnan(independence_p(owner, np.ones(20), y))
    assert math.isnan(independence_p(owner, y % 2, np.ones(20)))
    assert math.isnan(independence_p(owner[:4], y[:4] % 2, y[:4]))
    assert math.isnan(independence_p(owner[:0], y[:0], y[:0]))
    assert math.isnan(independence_p(np.zeros(20, int), y % 2, y))


def test_equal_values_stay_together() -> None:
    y = np.repeat([0.0, 1.0], 50)
    assert independence_p(np.arange(100), np.tile([0.0, 1.0], 50), y) == pytest.approx(1)
    assert independence_p(np.arange(100), y, y) < 1e-9
