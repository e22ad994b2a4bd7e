"""Self-tests of a judge: it is asked, and what it says is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from steelyard._version import __version__
from steelyard.base.errors import InputError
from steelyard.base.machine import timestamp
from steelyard.base.progress import Progress, no_progress
from steelyard.judges.asking import Asking
from steelyard.judges.judging import calls_of, judge_recipe
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.self_tests import SelfTest, SelfTests
from steelyard.judges.trials.trials import MAKERS, Trial, failure
from steelyard.judges.verdict import Case, Judge, Verdict
from steelyard.stats.labels.raters import wilson_interval

LIMITS: Mapping[str, float] = {**dict.fromkeys(MAKERS, 0.1), "injection": 0.05}
"""Test -> the largest share of failures.  A tenth of wrong verdicts can move a mean by .1; and whoever puts an
instruction into a document picks a wording that works."""

ROW = {
    "test": pl.String, "query_id": pl.String, "premise": pl.String, "sentence": pl.String, "verdict": pl.String,
    "second_premise": pl.String, "second_sentence": pl.String, "second_verdict": pl.String, "result": pl.String,
}  # fmt: skip


def cases_to_ask(listed: Sequence[Trial]) -> tuple[list[Case], list[Case]]:
    """Cases of these trials, and those that are asked a second time; each once."""
    once = [case for trial in listed for case in (trial.first, trial.second) if case is not None]
    return list(dict.fromkeys(once)), list(dict.fromkeys(trial.first for trial in listed if trial.is_repeated))


def run_trials(
    judge: Judge, listed: Sequence[Trial], *, facts: Mapping[str, Any], calibration: Calibration | None = None,
    progress: Progress = no_progress,
) -> SelfTests:  # fmt: skip
    """Ask a judge, and count what went wrong.

    facts      what the result says of where the trials are from
    calibration   of the judge, which has its threshold already
    progress   called as progress("cases", done, total)
    Raises     InputError where there are no trials, where the judge fails on all that it is asked, and for a
               calibration of another judge.
    """
    if not listed:
        raise InputError("there is nothing to test a judge on; give questions with gold answers, or outputs with texts")
    recipe = judge_recipe(judge, calibration)
    cases, again = cases_to_ask(listed)
    asking = Asking(judge)
    verdicts = asking.verdicts(cases, lambda n: progress("cases", n, len(cases) + len(again)))
    asking.refuse_failure()
    asking_again = Asking(_Anew(judge))
    verdicts_again = asking_again.verdicts(again, lambda n: progress("cases", len(cases) + n, len(cases) + len(again)))
    rows = [_row(trial, verdicts, verdicts_again) for trial in listed]
    return SelfTests(
        tests=tuple(_counted(name, rows) for name in MAKERS),
        trials=pl.DataFrame(rows, schema=ROW),
        recipe={**recipe, **facts, "steelyard": __version__, "date": timestamp(), **calls_of(judge)},
        errors=dict(Counter(asking.errors) + Counter(asking_again.errors)),
    )


class _Anew:
    """A judge that is asked again what it said before."""

    def __init__(self, judge: Judge) -> None:
        self.name, self.recipe = judge.name, judge.recipe
        self.judge = getattr(judge, "judge_again", judge.judge)


def _row(
    trial: Trial, verdicts: Mapping[Case, Sequence[Verdict]], verdicts_again: Mapping[Case, Sequence[Verdict]]
) -> dict[str, Any]:
    second = trial.first if trial.is_repeated else trial.second
    verdict = verdicts[trial.first][0]
    other = None if second is None else (verdicts_again if trial.is_repeated else verdicts)[second][0]
    labels = [verdict.label, *([] if other is None else [other.label])]
    failed = (
        None if "not_judged" in labels else failure(trial.test, verdict.label, None if other is None else other.label)
    )
    result = "not_judged" if "not_judged" in labels else {None: "no_basis", True: "failed", False: "passed"}[failed]
    return {
        "test": trial.test, "query_id": trial.query_id, "premise": trial.first.premise,
        "sentence": trial.first.hypotheses[0], "verdict": verdict.label,
        "second_premise": None if second is None else second.premise,
        "second_sentence": None if second is None else second.hypotheses[0],
        "second_verdict": None if other is None else other.label, "result": result,
    }  # fmt: skip


def _counted(name: str, rows: Collection[Mapping[str, Any]]) -> SelfTest:
    counts = Counter(row["result"] for row in rows if row["test"] == name)
    n = counts["passed"] + counts["failed"]
    low, high = wilson_interval(counts["failed"], n) if n else (0.0, 1.0)
    return SelfTest(name, n, counts["failed"], low, high, LIMITS[name], counts["not_judged"])
