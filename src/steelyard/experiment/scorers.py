"""A measure of answers as a function of one sample, for tools that ask sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from steelyard.base import defaults
from steelyard.base.errors import InputError, quoted
from steelyard.experiment.door.choices import VerdictChoice
from steelyard.experiment.door.opening import open_answers
from steelyard.experiment.exporting import Value, samples_of
from steelyard.io.evaluation_rows import ROLES, snake_case
from steelyard.judges.judging import judge_answers
from steelyard.judges.registry import make_judge
from steelyard.measures import Measure, parse

_NAMES: Mapping[str, tuple[str, ...]] = {
    "user_input": (*ROLES["query"], "prompt"),
    "response": (*ROLES["response"], "output"),
    "retrieved_contexts": (*ROLES["retrieved"], "context"),
    "reference": (*ROLES["reference"], "expected_response", "gold_answer"),
}
"""What the parts of a sample may be called, by their names in ragas."""


class Scorer:
    """A measure of one answer, by one judge.

    Called with a sample, it gives (value, reason): value is None where the measure is undefined, and reason names the
    sentences that count against the answer.  A sample is a dict with a question, an answer, what was retrieved (texts)
    and the expected answer, as far as the measure looks at them, under the names of ragas, deepeval or RAGChecker.

    name   the measure

    >>> scorer = Scorer("faithfulness")
    >>> scorer({"input": "When?", "actual_output": "At 9. It is free.", "retrieval_context": ["It opens at 9."]})
    (0.5, '1 of 2 supported; not_found: It is free. (missing: free)')
    """

    def __init__(
        self,
        measure: str | Measure,
        judge: object = defaults.JUDGE,
        *,
        feedback: Callable[..., Any] | None = None,
        **settings: Any,
    ) -> None:
        """Prepare to measure.

        measure    of answers
        judge      as `sy.judge` takes it, with its settings
        feedback   what `score` wraps value and reason in, called with value= and rationale=, such as mlflow's Feedback
        Raises     InputError for a measure that is of no answers, and as `sy.judge` does.
        """
        self._measure = parse(measure)
        if not self._measure.definition.of_answers:
            raise InputError(f"{self._measure}: is a measure of rankings; a scorer looks at one answer")
        self.name, self._judge, self._feedback = str(self._measure), make_judge(judge, settings), feedback

    def __call__(self, sample: Mapping[str, Any]) -> tuple[float | None, str]:
        """Value and reason of a sample."""
        if not isinstance(sample, Mapping):
            raise InputError(f"{self.name}: a sample is a dict with question and answer, not {quoted(sample)}")
        value = self._value([sample])
        return value.value, value.reason

    def score(self, inputs: Any = None, outputs: Any = None, expectations: Any = None) -> Any:
        """The value of what an application was asked, gave and was expected to give, as mlflow's scorers are called.

        inputs, outputs, expectations   dicts with the parts of a sample; the answer alone may be a text
        Returns   NaN where the measure is undefined; with `feedback` that, of value and reason
        """
        parts = [
            {"user_input": inputs} if isinstance(inputs, str) else inputs,
            {"response": outputs} if isinstance(outputs, str) else outputs,
            {"reference": expectations} if isinstance(expectations, str) else expectations,
        ]
        value = self._value([part for part in parts if isinstance(part, Mapping)])
        if self._feedback is not None:
            return self._feedback(value=value.value, rationale=value.reason)
        return float("nan") if value.value is None else value.value

    def _value(self, parts: Iterable[Mapping[str, Any]]) -> Value:
        cells = {snake_case(str(key)): value for part in parts for key, value in part.items()}
        row = {
            name: next((cells[other] for other in names if cells.get(other) is not None), None)
            for name, names in _NAMES.items()
        }
        if row["response"] is None or not str(row["response"]).strip():
            return Value(None, "no answer")
        row["user_input"] = row["user_input"] or "?"  # A file of ragas has one; no measure here looks at it.
        asked, system = open_answers([row], [row])
        verdicts = judge_answers(asked, system.answered(), self._judge)
        (sample,) = samples_of(asked, system, [self._measure], VerdictChoice(verdicts))
        value = sample.values[self.name]
        undefined = value.value is None or value.value != value.value
        return Value(None, value.reason or "undefined") if undefined else value


def scorer(
    measure: str | Measure,
    judge: object = defaults.JUDGE,
    *,
    feedback: Callable[..., Any] | None = None,
    **settings: Any,
) -> Scorer:
    """A measure of answers as a function of one sample; see `Scorer`.

    >>> scorer("exact_match")({"question": "When?", "answer": "At nine.", "ground_truth": "at nine"})
    (1.0, '')
    """
    return Scorer(measure, judge, feedback=feedback, **settings)
