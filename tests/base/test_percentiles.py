"""Percentiles: their names and their values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.percentiles import percentile_name, percentile_share, percentile_value
from tests.hypothesis_profiles import examples


@examples(100)
@given(st.integers(1, 999_999))
def test_a_name_is_read_as_what_it_was_written_for(millionths: int) -> None:
    share = round(millionths / 1e6, 6)
    assert percentile_share(percentile_name(share)) == share


@pytest.mark.parametrize("name", ["p0", "p100", "p", "95", "p-5", "p1e1", "P95", "p99.99999999", "p9.", "median"])
def test_what_is_no_percentile_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is no percentile; expected one such as p95"):
        percentile_share(name)


@examples(100)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0.01, 0.99))
def test_finite_values_have_numpys_percentile(values: list[float], share: float) -> None:
    assert percentile_value(np.sort(values), share) == np.quantile(values, share)


def test_infinite_neighbours_make_it_infinite() -> None:
    values = np.array([-np.inf, 1.0, 2.0, np.inf])
    assert [percentile_value(values, share) for share in (0.1, 0.5, 0.9)] == [-math.inf, 1.5, math.inf]
    assert percentile_value(values, 1 / 3) == 1.0
    assert math.isnan(percentile_value(np.zeros(0), 0.5))
