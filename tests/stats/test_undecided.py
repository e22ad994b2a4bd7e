"""Means of which many units were drawn and have no label: in worlds whose mean is known."""

import pytest

undecided = pytest.importorskip("benchmarks.simulated.undecided")


def test_no_interval_is_moved_where_all_have_a_label() -> None:
    found = undecided.outcomes(undecided.Undecided(100, 60, 0.0), 40, 1)
    assert (found["holds"], found["passes"], found["better"]) == (
        found["holds_by_ends"],
        found["passes_by_ends"],
        found["better_by_ends"],
    )


@pytest.mark.parametrize("unsupported", [0.5, 0.7, 0.9])
def test_the_mean_is_held_whatever_is_left_out(unsupported: float) -> None:
    found = undecided.outcomes(undecided.Undecided(200, 100, unsupported), 60, 1)
    assert found["mean"] > 0.77
    assert found["holds"] < 0.7
    assert found["holds_by_ends"] > 0.9
    assert found["passes_by_ends"] == 0
    assert found["better_by_ends"] <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("n_drawn", [100, 300])
def test_levels_hold_where_most_of_the_unsupported_have_no_label(n_drawn: int) -> None:
    found = undecided.outcomes(undecided.Undecided(500, n_drawn, 0.7), 400, 2)
    assert found["holds_by_ends"] > 0.95
    assert found["passes_by_ends"] <= 0.01
    assert found["better_by_ends"] <= 0.05
