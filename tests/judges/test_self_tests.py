"""Self-tests of judges: what a share of failures comes to."""

from __future__ import annotations

import math
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


@pytest.mark.parametrize(
    ("n_failed", "limit"), [(0, 0.1), (0, 0.05), (1, 0.1), (4, 0.1), (5, 0.2), (40, 0.1), (20, 0.05)]
)
def test_as_many_trials_as_are_needed_decide(n_failed: int, limit: float) -> None:
    rate = n_failed / 100
    needed = SelfTest("number", 100, n_failed, 0.0, 1.0, limit).needed
    assert needed is not None

    def decides(n: int) -> bool:
        test = SelfTest("number", n, 0, *wilson(rate, n), limit)
        return test.result != "too_few"

    assert decides(needed)
    assert not decides(needed - 1)


def wilson(rate: float, n: int) -> tuple[float, float]:
    """The interval, written out once more, of a share that need not be one of n."""
    z = 1.959964
    centre, reach = rate + z * z / (2 * n), z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return (centre - reach) / (1 + z * z / n), (centre + reach) / (1 + z * z / n)


def test_at_the_limit_no_number_of_trials_decides() -> None:
    assert SelfTest("number", 100, 10, 0.05, 0.17, 0.1).needed is None
    assert SelfTest("number", 0, 0, 0.0, 1.0, 0.1).needed is None
