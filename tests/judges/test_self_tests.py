"""Self-tests of judges: what a share of failures comes to."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from steelyard.judges.self_tests import SelfTest, TestResult


@pytest.mark.parametrize(
    ("low", "high", "result"),
    [(0.0, 0.1, "passed"), (0.0, 0.11, "too_few"), (0.1, 0.5, "too_few"), (0.11, 0.5, "failed"), (0, 1, "too_few")],
)
def test_a_judge_passes_or_fails_with_the_whole_interval(low: float, high: float, result: TestResult) -> None:
    test = SelfTest("number", n=10, n_failed=1, low=low, high=high, limit=0.1)
    assert (test.result, test.passed) == (result, result == "passed")
    assert SelfTest(**asdict(test)) == test


def test_without_trials_there_is_no_rate() -> None:
    assert SelfTest("number", n=0, n_failed=0, low=0.0, high=1.0, limit=0.1).rate is None
