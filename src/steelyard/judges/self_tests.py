"""Whether a judge does what any judge must: what a test of it is, and how it came out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SelfTest:
    """How a judge did in one test.

    name     such as "gold" or "injection"
    n        cases that it was tried on;   rate   share of them in which the judge did what the test counts
    low, high   interval of the rate;   limit   what the rate is held against
    passed   whether it did well enough;   detail   what a reader should know besides, such as the worst case
    """

    name: str
    n: int
    rate: float
    low: float
    high: float
    limit: float
    passed: bool
    detail: str = ""
