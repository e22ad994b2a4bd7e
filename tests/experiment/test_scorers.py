"""A measure as a function of one sample, called as other tools call theirs."""

import inspect
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError

SAMPLE = {
    "user_input": "When?",
    "response": "At 9. It is free.",
    "retrieved_contexts": ["It opens at 9."],
    "reference": "At 9.",
}


@pytest.mark.parametrize(
    "names",
    [
        {},
        {"user_input": "input", "response": "actual_output", "retrieved_contexts": "retrieval_context",
         "reference": "expected_output"},
        {"user_input": "query", "retrieved_contexts": "retrieved_context", "reference": "gt_answer"},
        {"user_input": "question", "response": "answer", "retrieved_contexts": "contexts", "reference": "ground_truth"},
    ],
)  # fmt: skip
def test_a_sample_under_the_names_of_each_tool(names: dict[str, str]) -> None:
    sample = {names.get(name, name): value for name, value in SAMPLE.items()}
    assert sy.scorer("faithfulness")(sample) == (0.5, "1 of 2 supported; not_found: It is free. (missing: free)")
    value, reason = sy.scorer("answer_f1")(sample)
    assert value == pytest.approx(2 / 3)
    assert reason == ""


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        ({**SAMPLE, "response": "I don't know."}, "abstained"),
        ({**SAMPLE, "response": None}, "no answer"),
        ({"user_input": "When?"}, "no answer"),
    ],
)
def test_what_is_undefined_says_why(sample: dict[str, Any], reason: str) -> None:
    assert sy.scorer("faithfulness")(sample) == (None, reason)


def evaluated(score: Callable[..., Any], **available: Any) -> Any:
    """Called as mlflow calls a scorer: with those of its four arguments that the signature has."""
    parameters = inspect.signature(score).parameters
    return score(**{name: value for name, value in available.items() if name in parameters})


def test_it_is_called_as_mlflow_calls_a_scorer() -> None:
    row = {
        "inputs": {"question": "When?"},
        "expectations": {"expected_response": "At 9."},
        "trace": None,
        "outputs": {"response": "At 9. It is free.", "retrieved_context": ["It opens at 9."]},
    }
    assert evaluated(sy.scorer("faithfulness").score, **row) == 0.5
    wrapped = evaluated(sy.scorer("faithfulness", feedback=SimpleNamespace).score, **row)
    assert (wrapped.value, wrapped.rationale[:16]) == (0.5, "1 of 2 supported")
    assert evaluated(sy.scorer("answer_f1").score, **{**row, "outputs": "At 9."}) == 1.0
    assert math.isnan(evaluated(sy.scorer("answer_f1").score, inputs="When?", outputs="", expectations=None))


def test_another_judge_and_its_settings() -> None:
    always = sy.scorer("faithfulness", lambda pairs: [True] * len(pairs))
    assert always(SAMPLE)[0] == 1.0
    assert sy.scorer("faithfulness", threshold=0.0, numbers=False)(SAMPLE)[0] == 1.0


def test_measures_of_rankings_are_refused() -> None:
    with pytest.raises(InputError, match="is a measure of rankings"):
        sy.scorer("ndcg@10")
    with pytest.raises(InputError, match="a sample is a dict"):
        sy.scorer("faithfulness")("At 9.")  # type: ignore[arg-type]
