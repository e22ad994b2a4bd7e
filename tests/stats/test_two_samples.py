import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.intervals.means import group_difference, mean_intervals
from tests.hypothesis_profiles import examples

Floats = npt.NDArray[np.float64]
SHARES = st.lists(st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]), min_size=2, max_size=30)


def _lump(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return np.where(rng.random(shape) < 0.7, 1.0, rng.integers(0, 3, shape) / 3)


DRAWS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Floats], float]] = {
    # what one draws from, and its mean
    "seldom unfaithful": (lambda rng, shape: (rng.random(shape) < 0.98).astype(float), 0.98),
    "often unfaithful": (lambda rng, shape: (rng.random(shape) < 0.6).astype(float), 0.6),
    "four sentences": (lambda rng, shape: rng.binomial(4, 0.7, shape) / 4, 0.7),
    "mostly 1": (_lump, 0.8),
    "both ends": (lambda rng, shape: rng.beta(0.4, 0.4, shape), 0.5),
}


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(5, 5), (5, 60), (10, 80), (30, 30), (100, 20), (150, 150)], ids=str)
def test_intervals_hold_their_level(sizes: tuple[int, int]) -> None:
    rng, n_samples = np.random.default_rng(7), 1_000
    covered = {}
    for first, (draw, mean) in DRAWS.items():
        for second, (other_draw, other_mean) in DRAWS.items():
            groups = [f(rng, (n_samples, n)) for f, n in zip((draw, other_draw), sizes, strict=True)]
            intervals = [group_difference(a, b, bounds=(0, 1)) for a, b in zip(*groups, strict=True)]
            covered[first, second] = np.mean([i.low <= mean - other_mean <= i.high for i in intervals])
    # Three standard errors of a simulated .95 are .02.
    assert min(covered.values()) > 0.925, covered
    assert np.mean(list(covered.values())) > 0.945


@examples(100)
@given(first=SHARES, second=SHARES)
def test_the_interval_holds_the_difference_and_turns_with_it(first: list[float], second: list[float]) -> None:
    there, back = group_difference(first, second, bounds=(0, 1)), group_difference(second, first, bounds=(0, 1))
    assert -1 <= there.low <= there.difference <= there.high <= 1
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-12)
    assert (there.n_first, there.n_second) == (len(first), len(second))


def test_by_the_definition() -> None:
    first, second = np.array([1.0, 0.5, 0.75]), np.array([0.0, 0.5, 0.25, 0.25])
    a, b = (mean_intervals(values[:, None], bounds=(0, 1), level=0.9) for values in (first, second))
    found = group_difference(first, second, bounds=(0, 1), level=0.9)
    assert found.difference == 0.5
    assert found.low == pytest.approx(0.5 - math.sqrt((0.75 - a.low[0]) ** 2 + (b.high[0] - 0.25) ** 2))
    assert found.high == pytest.approx(0.5 + math.sqrt((a.high[0] - 0.75) ** 2 + (0.25 - b.low[0]) ** 2))


def test_equal_values_are_not_certain() -> None:
    found = group_difference([1.0] * 4, [1.0] * 9, bounds=(0, 1))
    assert found.difference == 0
    assert found.low < -0.2
    assert found.high > 0.2


def test_clusters_widen_it() -> None:
    values = [1.0] * 8 + [0.0] * 8
    alone = group_difference(values, values, bounds=(0, 1))
    codes = [i // 4 for i in range(16)]
    together = group_difference(values, values, bounds=(0, 1), clusters=(codes, codes))
    assert together.high - together.low > 1.3 * (alone.high - alone.low)


@pytest.mark.parametrize(("first", "second"), [([], [1.0, 0.0]), ([1.0, 0.0], []), ([], [])])
def test_an_empty_group_has_no_difference(first: list[float], second: list[float]) -> None:
    found = group_difference(first, second, bounds=(0, 1))
    assert np.isnan([found.difference, found.low, found.high]).all()


def test_one_query_has_a_difference_and_no_interval() -> None:
    found = group_difference([1.0], [0.0, 0.5], bounds=(0, 1))
    assert found.difference == 0.75
    assert np.isnan([found.low, found.high]).all()


def test_nan_is_refused() -> None:
    with pytest.raises(InputError, match="not finite"):
        group_difference([math.nan], [0.5, 1.0])
