"""How a judge did where the right verdict is known without people, each time with the share that it got wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TestResult = Literal["passed", "failed", "too_few"]


@dataclass(frozen=True, slots=True)
class SelfTest:
    """How often a judge failed at one thing.

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
    def passed(self) -> bool:
        """Whether the whole interval is within the limit."""
        return self.result == "passed"
