"""The benchmark of calibrated thresholds, on the smallest set."""

from benchmarks.thresholds import row, table

from tests.shared_data import shared


def test_halves_are_held_out_and_the_best_threshold_is_no_worse() -> None:
    of_set = row("AttributedQA", shared("answers"), 3)
    assert (of_set.n, of_set.rarer) == (146, 36)
    assert len(of_set.thresholds) == 6
    assert 0.6 < of_set.calibrated < of_set.best < 0.8
    assert len(list(table([of_set]).lines())) == 4
