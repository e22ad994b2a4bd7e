"""Judges of the user's own, before they are asked."""

import pytest

from steelyard.base.errors import InputError
from steelyard.judges.registry import PairJudge


def test_a_function_that_takes_premise_and_hypothesis_apart_is_refused() -> None:
    with pytest.raises(InputError, match=r"takes \(premise, hypothesis\); expected one argument, a list of pairs"):
        PairJudge(lambda premise, hypothesis: premise == hypothesis, "apart")
    assert PairJudge(list, "builtin").name == "builtin"
