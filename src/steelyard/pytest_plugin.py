"""Gates in pytest: the fixture `sy_gate` judges, and `assert_gate` fails a test with the reasons.

pytest loads this module by itself where Steelyard is installed, so it imports nothing but pytest until it is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pytest

if TYPE_CHECKING:
    from steelyard.experiment.scores import Scores
    from steelyard.gates.gating import Gate
    from steelyard.gates.profiles import Profile


class SyGate(Protocol):
    """What the fixture `sy_gate` is: see `judge`."""

    def __call__(self, scores: Scores | str | Path, profile: Profile | str | None = None, **options: Any) -> Gate:
        """Judge."""
        ...


def judge(scores: Scores | str | Path, profile: Profile | str | None = None, **options: Any) -> Gate:
    """Judge as `steelyard gate` does, and give back what was found.

    scores    Scores, a JSON of scores, or a run folder, whose latencies then count too
    profile   of `steelyard.gates.profiles`, or its name or path
    options   those of `steelyard.gates.gating.gate`: level, baseline, margin, max_failed, ...; baseline may be a
              path; truth names the questions of a run folder that cannot tell them
    """
    from steelyard.cli.gate import baseline_of, latencies_at, scores_at
    from steelyard.gates.gating import gate
    from steelyard.gates.profiles import Profile

    if isinstance(profile, str):
        profile = Profile.read(profile)
    truth = options.pop("truth", None)
    if isinstance(scores, str | Path):
        options.setdefault("latency_ms", latencies_at(scores))
        scores = scores_at(scores, measures=profile.measures if profile else (), truth=truth)
    if isinstance(baseline := options.get("baseline"), str | Path):
        options["baseline"] = baseline_of(str(baseline), scores, truth=truth)
    return gate(scores, profile, **options)


@pytest.fixture(scope="session")
def sy_gate() -> SyGate:
    """Judge scores: `assert sy_gate("scores.json", "production").outcome == "pass"`."""
    return judge


def assert_gate(
    scores: Scores | str | Path,
    profile: Profile | str | None = None,
    *,
    insufficient: Literal["fail", "skip"] = "fail",
    lang: str | None = None,
    **options: Any,
) -> None:
    """Fail the test, with the tables and reasons of `steelyard gate`, unless the gate passes.

    insufficient  what too few data do to the test;   lang   of the message, "en" or "zh"; the locale's by default
    scores, profile, options   as in `judge`
    """
    __tracebackhide__ = True
    from steelyard.report.formats.gating import gate_text
    from steelyard.report.words import read_words

    if insufficient not in ("fail", "skip"):
        raise ValueError(f"insufficient is {insufficient!r}, expected 'fail' or 'skip'")
    found = judge(scores, profile, **options)
    if found.outcome == "pass":
        return
    message = gate_text(found, read_words(lang), width=100)
    if found.outcome == "insufficient" and insufficient == "skip":
        pytest.skip(message)
    pytest.fail(message, pytrace=False)
