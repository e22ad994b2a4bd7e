"""The reusable held-out part: rules by hand, answers that give nothing away, and searches that would fool it."""

import numpy as np
import pytest
from benchmarks.simulated.luck import SEARCHES, searched
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.holdout import holdout_answer, holdout_rules
from tests.hypothesis_profiles import examples

RULES = holdout_rules(0.02, 84, 36)


def test_rules_by_hand() -> None:
    """The held-out mean has the error .02 * sqrt(84 / 36) = .03055; with that of the open one, .03651."""
    assert RULES.threshold == pytest.approx(2 * 0.036515, rel=1e-4)
    assert RULES.noise == pytest.approx(0.030551 / 2, rel=1e-4)
    assert RULES.error == pytest.approx(2 * 0.036515 + 2.46 * 0.030551, rel=1e-4)
    assert [holdout_rules(0.1, 60, n).budget for n in (2, 23, 24, 36, 120, 5000)] == [1, 1, 2, 3, 10, 10]
    with pytest.raises(InputError, match="9 questions are open and 1 held out"):
        holdout_rules(0.1, 9, 1)


@examples(200)
@given(st.floats(-1, 1), st.floats(-1, 1), st.integers(0, 2), st.integers(0, 2**32))
def test_an_answer_is_the_open_mean_or_a_charged_round_number(one: float, other: float, spent: int, seed: int) -> None:
    answer = holdout_answer(one, other, RULES, n_spent=spent, rng=np.random.default_rng(seed))
    if answer.agrees:
        assert (answer.mean, answer.charged) == (one, False)
    else:
        assert answer.charged
        assert answer.mean is not None
        assert answer.mean / RULES.step == pytest.approx(round(answer.mean / RULES.step), abs=1e-6)


@given(st.floats(-1, 1), st.integers(3, 9))
def test_nothing_is_said_once_the_budget_is_spent(mean: float, spent: int) -> None:
    answer = holdout_answer(mean, mean, RULES, n_spent=spent, rng=np.random.default_rng(0))
    assert (answer.mean, answer.agrees, answer.charged) == (None, None, False)


def test_means_without_spread_are_compared_as_they_are() -> None:
    rules = holdout_rules(0.0, 20, 10)
    rng = np.random.default_rng(0)
    assert holdout_answer(0.25, 0.75, rules, n_spent=0, rng=rng).mean == 0.75
    assert holdout_answer(0.25, 0.25, rules, n_spent=0, rng=rng).mean == 0.25


@pytest.mark.slow
@pytest.mark.parametrize("search", SEARCHES)
def test_searches_learn_little(search: str) -> None:
    def worst(seed: int, *, naive: bool) -> float:
        return max(searched(SEARCHES[search], 400, np.random.default_rng(seed), naive=naive)[2])

    assert np.mean([worst(seed, naive=False) > 1 for seed in range(60)]) <= 0.1
    if search != "independent changes":
        assert min(worst(seed, naive=True) for seed in range(10)) > 2
