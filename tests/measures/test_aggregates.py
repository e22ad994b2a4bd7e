"""How values of queries become one, where it is not their mean."""

import numpy as np
import polars as pl
import pytest

import steelyard as sy


def scores(hits: list[float | None], system: str = "s") -> sy.Scores:
    frame = pl.DataFrame(
        {"query_id": [f"q{n}" for n in range(len(hits))], "measure": "abstention_f1", "value": hits},
        schema_overrides={"value": pl.Float64},
    )
    return sy.Scores.of(frame, system=system)


def test_f1_of_abstaining_is_that_of_the_whole_confusion() -> None:
    """Three abstained rightly, two wrongly, one did not abstain where it should have: P 3/5, R 3/4."""
    found = scores([1, 1, 1, 0, 0, 0, None, None])
    precision, recall = 3 / 5, 3 / 4
    assert found.means.item() == pytest.approx(2 * precision * recall / (precision + recall))
    same = sy.Scores.of(found.frame.select("query_id", "value").with_columns(measure=pl.lit("hit_rate")))
    for end, of_mean in ((found.intervals.low, same.intervals.low), (found.intervals.high, same.intervals.high)):
        assert end.item() == pytest.approx(2 * of_mean.item() / (1 + of_mean.item()))
    assert found.intervals.low.item() < found.means.item() < found.intervals.high.item()


def test_what_is_no_arithmetic_mean_is_not_tested() -> None:
    both = sy.Scores.concat([scores([1, 0, 1, 1], "a"), scores([0, 0, 1, 1], "b")])
    with pytest.raises(sy.InputError, match="abstention_f1 is an F1 over all questions, and the tests are of"):
        sy.compare(both)


def test_nothing_to_average() -> None:
    assert np.isnan(scores([None, None]).means.item())
    assert scores([0, 0, 0]).means.item() == 0
    assert scores([1, 1, 1]).means.item() == 1
