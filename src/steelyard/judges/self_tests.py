"""Self-tests of a judge, where the right verdict is known without people: the share that each got wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from steelyard.base.result import Result

if TYPE_CHECKING:
    import polars as pl

_Z = 1.959963984540054
"""Of intervals of 95%."""
TestResult = Literal["passed", "failed", "too_few"]


@dataclass(frozen=True, slots=True)
class SelfTest:
    """Failures of a judge at one kind of trial.

    name       of the test, such as "injection"
    n          trials that could be decided;   n_failed   of them went wrong
    low, high  95% interval of the share that goes wrong; from 0 to 1 where there is no trial
    limit      the largest share at which a judge can be relied on for this
    n_not_judged   trials that lack a verdict; they are not among the n

    >>> test = SelfTest("number", n=100, n_failed=40, low=0.309, high=0.498, limit=0.1)
    >>> test.rate, test.result, test.passed
    (0.4, 'failed', False)
    """

    name: str
    n: int
    n_failed: int
    low: float
    high: float
    limit: float
    n_not_judged: int = 0

    @property
    def rate(self) -> float | None:
        """The share of trials that went wrong; None without trials."""
        return self.n_failed / self.n if self.n else None

    @property
    def result(self) -> TestResult:
        """Passed where the whole interval is within the limit, failed where all is beyond; else too few trials."""
        if self.low > self.limit:
            return "failed"
        return "passed" if self.high <= self.limit else "too_few"

    @property
    def needed(self) -> int | None:
        """Count of trials that would decide, if the share stays; None without trials, and where it is the limit.

        >>> SelfTest("gold", n=20, n_failed=0, low=0.0, high=0.161, limit=0.1).needed
        35
        """
        if self.rate is None or self.rate == self.limit:
            return None
        return math.ceil(_Z**2 * self.limit * (1 - self.limit) / (self.rate - self.limit) ** 2)

    @property
    def passed(self) -> bool:
        """True where the whole interval is within the limit."""
        return self.result == "passed"


@dataclass(frozen=True, eq=False, repr=False)
class SelfTests(Result):
    """Results of a judge in all self-tests.

    trials   a row a trial: test, query_id, premise, sentence, verdict; second_premise, second_sentence and
             second_verdict of what was asked besides; and its result: passed, failed, not_judged, or no_basis where it
             can show nothing, such as an instruction beside a sentence that was called supported without it
    recipe   the judge, what the trials are from, seed and date
    errors   what the judge did wrong, by kind
    """

    VIEW = "views.self_tests"

    tests: Sequence[SelfTest]
    trials: pl.DataFrame
    recipe: Mapping[str, Any]
    errors: Mapping[str, int]

    @property
    def judge(self) -> str:
        """The name of the judge."""
        return str(self.recipe["judge"]["name"])

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the tests that the judge failed."""
        return tuple(test.name for test in self.tests if test.result == "failed")

    @cached_property
    def always(self) -> str | None:
        """The only verdict that the judge ever gave, on right and wrong sentences alike; None where there are two."""
        rows = self.trials.filter(self.trials["test"] == "constant")
        labels = {*rows["verdict"], *rows["second_verdict"]} - {"not_judged"}
        return labels.pop() if len(labels) == 1 else None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row a test: name, n, n_failed, rate, low, high, limit, n_not_judged, result."""
        import polars as pl

        rows = [{**asdict(test), "rate": test.rate, "result": test.result} for test in self.tests]
        columns = ["name", "n", "n_failed", "rate", "low", "high", "limit", "n_not_judged", "result"]
        return pl.DataFrame(rows, schema_overrides={"rate": pl.Float64}).select(columns)

    def __repr__(self) -> str:
        failed = ", ".join(self.failed) or "none"
        return f"SelfTests({self.judge}: {len(self.tests)} tests, failed: {failed})"
