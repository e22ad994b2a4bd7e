"""Gates in pytest: the fixture `sy_gate` judges, and `assert_gate` fails a test with the reasons.

pytest loads this module by itself where Steelyard is installed, so it imports nothing but pytest until it is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pytest

if TYPE_CHECKING:
    from steelyard.experiment.table.scores import Scores
    from steelyard.gates.gating import Gate
    from steelyard.gates.profiles import Profile


class SyGate(Protocol):
    """What the fixture `sy_gate` is: see `judge`."""

    def __call__(
        self, scores: Scores | str | Path | None = None, profile: Profile | str | None = None, **options: Any
    ) -> Gate:
        """Judge."""
        ...


def judge(scores: Scores | str | Path | None = None, profile: Profile | str | None = None, **options: Any) -> Gate:
    """Judge as `steelyard gate` and `sy.gate` do.

    scores, profile, options   those of `sy.gate`: level, baseline, margin, max_failed, ...; without scores,
        `calibration="calibration.json"` gates the judge alone
    """
    from steelyard.gates.gating import gate

    return gate(scores, profile=profile, **options)


@pytest.fixture(scope="session")
def sy_gate() -> SyGate:
    """Judge scores: `assert sy_gate("scores.json", "production").outcome == "pass"`."""
    return judge


def assert_gate(
    scores: Scores | str | Path | None = None,
    profile: Profile | str | None = None,
    *,
    insufficient: Literal["fail", "skip"] = "fail",
    lang: str | None = None,
    **options: Any,
) -> None:
    """Fail the test, with the tables and reasons of `steelyard gate`, unless the gate passes.

    insufficient  what too few data do to the test;   lang   of the message, "en" or "zh"; the locale's by default
    scores, profile, options   as in `judge`; what is wrong with them fails the test in one line
    """
    __tracebackhide__ = True
    from steelyard.base.errors import SteelyardError

    if insufficient not in ("fail", "skip"):
        raise ValueError(f"insufficient is {insufficient!r}, expected 'fail' or 'skip'")
    try:
        verdict = judge(scores, profile, **options)
    except SteelyardError as error:
        pytest.fail(f"steelyard: {error}", pytrace=False)
    if verdict.outcome == "pass":
        return
    message = verdict.text(lang=lang, width=100, explain=True)
    if verdict.outcome == "insufficient" and insufficient == "skip":
        pytest.skip(message)
    pytest.fail(message, pytrace=False)
