"""What benches recommend whose truth is known: the dear one of twins seldom, one that is better, and else none."""

import math

import numpy as np
import pytest
from benchmarks.simulated.choices import BETTER, CHEAP, DEAR, MARGIN, TWINS, choices, choose, draw

from steelyard.bench.run.planning import margin_questions


@pytest.mark.parametrize("value", [None, 0.5])
def test_the_dear_one_of_two_that_are_not_told_apart_is_not_named(value: float | None) -> None:
    """It is ahead by chance, by one standard error; a success is worth so much that prices hardly count."""
    values = draw(np.random.default_rng(1), 225, [0.1, 0.1])
    d = values[1] - values[2]
    values[1] += d.std(ddof=1) / 15 - d.mean()
    made = choose(values, TWINS, value)
    assert (made.place, made.reason) == (1, "best_so_far")
    assert made.needed is not None
    assert made.needed > 225


def test_what_does_not_pay_is_not_named() -> None:
    """Both are better than the base: the dear one costs more than it brings in, or both do."""
    values = draw(np.random.default_rng(2), 400, [0.12, 0.1])
    assert choose(values, TWINS, 0.01).place == 1
    none = choose(values, [DEAR, DEAR / 2], 0.002)
    assert (none.place, none.reason) == (None, "none_pays")


@pytest.mark.slow
@pytest.mark.parametrize(("n", "gain"), [(225, 0.05), (225, 0.1), (700, 0.1)])
def test_the_dear_one_of_twins_is_seldom_named(n: int, gain: float) -> None:
    places = [made.place for made in choices([gain] * 2, TWINS, n, draws=200, seed=1)]
    assert places.count(0) / 200 <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("value", [0.03, 0.5])
def test_the_dear_one_of_twins_is_seldom_named_and_none_that_does_not_pay_where_a_success_has_a_value(
    value: float,
) -> None:
    """A success is worth fifteen prices of the dear one, which chance then moves by more, or so much more still."""
    made = choices([0.1] * 2, TWINS, 120, draws=60, seed=2, value=value)
    assert [one.place for one in made].count(0) / 60 <= 0.05
    assert not any(one.high < 0 for one in made)


@pytest.mark.slow
def test_one_that_is_better_by_two_margins_is_found_with_the_questions_that_are_named_beforehand() -> None:
    """Beside three that cost a fortieth, with as many questions as differences like those of questions take."""
    n = margin_questions(MARGIN, float(draw(np.random.default_rng(3), 300, [])[0].std(ddof=1)))
    assert 2_000 < n < 20_000
    places = [made.place for made in choices([0.1, *[0.1 - 2 * MARGIN] * 3], BETTER, n, draws=40, seed=3)]
    assert places.count(0) / 40 >= 0.9


@pytest.mark.slow
def test_the_questions_that_are_named_reach_the_margin() -> None:
    """In 80 of 100 cases, as is said: within four standard errors of that, or more often."""
    needed = [made.needed for made in choices([0.1] * 2, TWINS, 225, draws=40, seed=4) if made.needed is not None]
    n = math.ceil(float(np.median(needed)))
    made = choices([0.1] * 2, TWINS, n, draws=80, seed=5)
    assert sum(one.reason == "recommended" for one in made) / 80 >= 0.8 - 4 * 0.045


@pytest.mark.slow
@pytest.mark.parametrize("n", [225, 700])
def test_of_rerankers_that_change_nothing_on_average_none_is_named(n: int) -> None:
    places = [made.place for made in choices([0.0] * 6, [DEAR, *[CHEAP] * 5], n, draws=200, seed=6)]
    assert places.count(None) / 200 >= 0.95
