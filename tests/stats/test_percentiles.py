import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.percentiles import percentile_interval
from tests.hypothesis_profiles import examples


@pytest.mark.parametrize(("p", "least"), [(0.95, 72), (0.99, 368), (0.5, 6)])
def test_the_upper_end_exists_from_the_known_number_of_values_on(p: float, least: int) -> None:
    assert percentile_interval(range(least), p).high < math.inf
    assert percentile_interval(range(least - 1), p).high == math.inf


@pytest.mark.parametrize("n", [1, 2, 7, 40, 200])
@pytest.mark.parametrize("p", [0.05, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_ends_have_the_ranks_of_binomial_quantiles(n: int, p: float, level: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason="the oracle of binomial quantiles is SciPy")
    found = percentile_interval(np.arange(1, n + 1), p, level=level)
    first, last = stats.binom.ppf((1 - level) / 2, n, p), stats.binom.ppf((1 + level) / 2, n, p) + 1
    assert found.low == (first if first >= 1 else -math.inf)
    assert found.high == (last if last <= n else math.inf)
    assert found.value == pytest.approx(np.percentile(np.arange(1, n + 1), 100 * p))


def test_the_interval_covers_at_least_at_its_level() -> None:
    rng = np.random.default_rng(5)
    true = math.exp(0.6 * 1.6448536269514722)  # P95 of this lognormal
    found = [percentile_interval(rng.lognormal(0, 0.6, 100), 0.95) for _ in range(2000)]
    covered = np.mean([each.low <= true <= each.high for each in found])
    assert 0.94 < covered < 0.99


@examples(100)
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.floats(0.01, 0.99), st.randoms(use_true_random=False))
def test_order_moves_nothing_and_a_wider_level_holds_a_narrower(values, p, shuffler) -> None:
    narrow, wide = percentile_interval(values, p, level=0.5), percentile_interval(values, p, level=0.99)
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    assert percentile_interval(shuffler.sample(values, len(values)), p, level=0.5) == narrow


def test_nothing_gives_nan_and_bad_input_is_refused() -> None:
    empty = percentile_interval([], 0.95)
    assert math.isnan(empty.value)
    assert (empty.low, empty.high, empty.n) == (-math.inf, math.inf, 0)
    with pytest.raises(InputError, match="not finite"):
        percentile_interval([1.0, math.nan], 0.95)
    for p in (0.0, 1.0, 95.0):
        with pytest.raises(InputError, match="between 0 and 1"):
            percentile_interval([1.0], p)


def test_a_hundred_thousand_values_are_no_trouble() -> None:
    found = percentile_interval(np.arange(100_000.0), 0.95)
    assert 94_800 < found.low < found.value < found.high < 95_200


@pytest.mark.parametrize(
    ("n_infinite", "value"), [(0, 95.05), (1, 95.05), (4, 95.05), (5, math.inf), (50, math.inf), (100, math.inf)]
)
def test_values_known_only_to_be_large_are_larger_than_all_others(n_infinite: int, value: float) -> None:
    values = np.arange(1.0, 101.0)
    values[100 - n_infinite :] = math.inf
    interval = percentile_interval(values, 0.95)
    assert interval.value == pytest.approx(value)
    assert (interval.n, interval.n_censored) == (100, n_infinite)
    assert (interval.high == math.inf) == (n_infinite > 0)
    assert interval.low == (90.0 if n_infinite <= 10 else math.inf)
