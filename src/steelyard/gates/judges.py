"""May a judge be believed?  Checks of its calibration: agreement with people, their own, and self-tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.base.notes import Note
from steelyard.experiment.table.scores import Scores
from steelyard.gates.checks import Check, CheckReason
from steelyard.gates.levels import side_of
from steelyard.gates.profiles import Profile
from steelyard.judges.people.calibration import Calibration, Estimate
from steelyard.judges.self_tests import SelfTest
from steelyard.stats.labels.raters import wilson_ends

JUDGE_PREFIX = "judge "
"""Of a judge's name beside those of systems."""
_MOST = 1e7
"""Labels beyond which nobody asks how many would decide."""
_PRECISION = 1e-3


@dataclass(frozen=True)
class JudgeLevels:
    """Levels that a judge must reach to be trusted; None asks for nothing.

    Both rates at .7 tell supported from unsupported sentences well enough for a judged share to be corrected by them
    (together 1.3 is the least); kappa is .4 then, where half of the sentences are supported.

    kappa, sensitivity, specificity   the least
    below_people   by how much kappa with people may be less than that of two people with each other
    """

    kappa: float | None = 0.4
    sensitivity: float | None = 0.7
    specificity: float | None = 0.7
    below_people: float | None = None

    def changed(self, **levels: float | None) -> JudgeLevels:
        """With those that are not None in the place of these."""
        return replace(self, **{name: level for name, level in levels.items() if level is not None})


@dataclass(frozen=True)
class Trust:
    """Checks of a judge.

    checks   of its levels and self-tests;   notes   name of the judge -> what a reader should know of the labels
    """

    checks: tuple[Check, ...]
    notes: Mapping[str, Sequence[Note]]


def judge_gate(
    calibration: Calibration | None, profile: Profile | None, *, needs_levels: bool, min_labels: int,
    **levels: float | None,
) -> Trust | None:  # fmt: skip
    """The checks of a judge; None without one.

    needs_levels   whether a profile must have levels of judges, as nothing else of it counts
    levels         by the names of JudgeLevels, in place of the profile's
    Raises         InputError for levels without a judge, and for a profile without any
    """
    if calibration is None:
        if named := [name for name, level in levels.items() if level is not None]:
            raise InputError(
                f"there is a level of {named[0]}, and no judge; name its calibration (calibration=FILE, "
                "--calibration FILE)"
            )
        return None
    if needs_levels and profile is not None and not profile.judge:
        raise InputError(f"profile {profile.name}: has no levels of judges; add a table [judge], or leave it out")
    wanted = JudgeLevels().changed(**({} if profile is None else profile.judge)).changed(**levels)
    checks = tuple(judge_checks(calibration, wanted, min_labels))
    return Trust(checks, {judge_name(calibration): judge_notes(calibration)})


def verdict_recipes(scores: Scores) -> Iterator[Mapping[str, Any]]:
    """Recipes of the verdicts behind scores."""
    for recipes in (scores.recipe_parts.get("verdicts") or {}).values():
        yield from recipes


def calibration_named(calibration: object) -> Calibration | None:
    """A calibration that is given, or the file of one; None where none is.

    Raises   InputError for a file that is no calibration, and one that is not there.
    """
    if calibration is None or isinstance(calibration, Calibration):
        return calibration
    if isinstance(calibration, str | Path):
        return Calibration.read(calibration)
    raise InputError(f"a calibration is the path of one, or what Calibration.read returns, not {quoted(calibration)}")


def check_judged_by(calibration: Calibration, recipes: Iterable[Mapping[str, Any]]) -> None:
    """Hold a calibration against the verdicts behind scores.

    recipes   of the verdicts
    Raises    InputError where another judge, or the judge with another threshold, gave them.
    """
    for recipe in recipes:
        judge = recipe["judge"]
        if judge.get("name") != calibration.name:
            raise InputError(
                f"the calibration is of the judge {calibration.name}, and the scores are by {judge.get('name')}; gate "
                "the judge that judged"
            )
        calibration.check_threshold(judge, "the scores")


def judge_checks(calibration: Calibration, levels: JudgeLevels, min_labels: int) -> Iterator[Check]:
    """True if a judge reaches each level with the whole interval, and passes its self-tests."""
    system = judge_name(calibration)
    counts = calibration.confusion
    members = {
        "kappa": counts.n,
        "sensitivity": counts.hits + counts.misses,
        "specificity": counts.false_alarms + counts.rejections,
    }
    for name, n in members.items():
        limit: float | None = getattr(levels, name)
        if limit is not None:
            yield _level_check(calibration, name, limit, n, min_labels)
    if levels.below_people is not None:
        yield _people_check(system, calibration, levels.below_people, min_labels)
    for test in calibration.self_tests:
        yield _self_test_check(system, test)


def judge_name(calibration: Calibration) -> str:
    """Name of a judge beside systems."""
    model = calibration.judge.get("model")
    return JUDGE_PREFIX + calibration.name + (f" ({model})" if isinstance(model, str) else "")


def judge_notes(calibration: Calibration) -> list[Note]:
    """Notes on the labels: how many, of what, how well people agree, what did not count."""
    values = {"n": calibration.n, "questions": calibration.n_questions, "date": calibration.date[:10]}
    notes = [Note("judge_labels", {**values, "table": calibration.table})]
    if (human := calibration.human) is None:
        notes.append(Note("judge_one_rater"))
    elif not math.isnan(human.kappa.value):
        kappas = {"kappa": round(human.kappa.value, 3), "judge_kappa": round(human.judge_kappa.value, 3)}
        shown = {"n": human.n, **kappas, "labels": list(calibration.labels)}
        notes.append(Note("judge_beside_people", shown))
    notes += [Note(f"labels_{cause}", {"n": n}) for cause, n in calibration.left_out.items()]
    if not calibration.self_tests:
        notes.append(Note("judge_without_self_tests"))
    return notes


def _level_check(calibration: Calibration, name: str, limit: float, n: int, min_labels: int) -> Check:
    """Check that the whole interval is at a level; how many labels would decide where it spans it."""
    system, n_labels = judge_name(calibration), calibration.n
    estimate: Estimate = getattr(calibration, name)
    if math.isnan(estimate.value):
        reason: CheckReason = "undefined"
    elif n_labels < min_labels:
        reason = "few_labels"
    elif math.isnan(estimate.low) or math.isnan(estimate.high):
        reason = "no_interval"
    else:
        reason = side_of(limit, estimate.low, estimate.high, "higher")
    needed = _needed(name, estimate, limit, n_labels) if reason == "spans" else None
    return Check(
        system, name, "judge", reason, value=estimate.value, low=estimate.low, high=estimate.high, limit=limit,
        n=n_labels if reason == "few_labels" else n, needed=needed,
    )  # fmt: skip


def _people_check(system: str, calibration: Calibration, margin: float, min_labels: int) -> Check:
    """True if the judge is shown not to agree with people by so much less than they do."""
    human = calibration.human
    difference = Estimate(math.nan) if human is None else human.difference
    n = 0 if human is None else human.n
    if human is None:
        reason: CheckReason = "no_second_rater"
    elif n < min_labels:
        reason = "few_labels"
    elif math.isnan(difference.low):
        reason = "no_interval"
    else:
        reason = "not_worse" if difference.low > -margin else "worse" if difference.high <= -margin else "undecided"
    needed = _narrowed(difference, -margin, n) if reason == "undecided" else None
    return Check(
        system, "people", "people", reason, value=difference.value, low=difference.low, high=difference.high,
        limit=margin, n=n, needed=needed,
    )  # fmt: skip


def _self_test_check(system: str, test: SelfTest) -> Check:
    reasons: Mapping[str, CheckReason] = {"passed": "within", "failed": "exceeded", "too_few": "few_trials"}
    value = math.nan if test.rate is None else test.rate
    return Check(
        system, test.name, "self_test", reasons[test.result], value=value, low=test.low, high=test.high,
        limit=test.limit, n=test.n, better="lower",
    )  # fmt: skip


def _needed(name: str, estimate: Estimate, limit: float, n: int) -> int | None:
    """About how many labels would decide whether a level is reached, if the value stays; None for very many."""
    if name == "kappa":
        return _narrowed(estimate, limit, n)

    width = estimate.high - estimate.low
    worth = _least(lambda size: _width(estimate.value, size) <= width)
    if worth is None:
        return None

    def decides(factor: float) -> bool:
        low, high = wilson_ends(estimate.value, worth * factor)
        return low >= limit or high < limit

    factor = _least(decides)
    return None if factor is None or factor * n > _MOST else math.ceil(factor * n)


def _width(value: float, n: float) -> float:
    low, high = wilson_ends(value, n)
    return high - low


def _least(holds: Callable[[float], bool]) -> float | None:
    """About the least number from which on something holds, which holds for all greater ones; None beyond any."""
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
        if high > _MOST:
            return None
    while high - low > _PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _narrowed(estimate: Estimate, limit: float, n: int) -> int | None:
    """Labels with which the interval, narrower by their root, no longer spans a limit."""
    away = estimate.value - limit
    reach = estimate.value - estimate.low if away >= 0 else estimate.high - estimate.value
    if abs(away) * math.sqrt(_MOST / n) <= reach:
        return None
    return math.ceil(n * (reach / away) ** 2)
