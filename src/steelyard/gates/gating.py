"""Gates: may it ship?  Pass, fail, or too few data to say, each check with its reason."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.experiment import defaults
from steelyard.experiment.scores import LEVEL, Scores
from steelyard.experiment.stored import open_scores
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Known, Latencies, Measured, measured, reaches
from steelyard.gates.standard import Better
from steelyard.measures import Measure
from steelyard.stats.effects import relative_change
from steelyard.stats.equivalence import non_inferiority
from steelyard.stats.power import min_detectable_difference, questions_needed
from steelyard.stats.samples import differences, mean_error, share, whole

Outcome = Literal["pass", "fail", "insufficient"]
Kind = Literal["level", "baseline", "relative", "share"]
Reason = Literal[
    "reached", "missed", "spans", "few_questions", "no_interval", "not_measured", "not_worse", "worse", "undecided",
    "no_ratio", "within", "exceeded",
]  # fmt: skip

EXIT_CODES: dict[Outcome, int] = {"pass": 0, "fail": 1, "insufficient": 3}
"""What `steelyard gate` exits with; 2 is an error."""

_GRAVE: tuple[Outcome, ...] = ("fail", "insufficient", "pass")
_OF_REASON: dict[Reason, Outcome] = {
    "reached": "pass", "not_worse": "pass", "within": "pass", "missed": "fail", "worse": "fail", "exceeded": "fail",
}  # fmt: skip
"""Any other reason is one of too few data."""

SHARES = ("failed", "missing", "unjudged", "unmapped")
"""What a gate may bound besides measures."""


@dataclass(frozen=True)
class Check:
    """One thing that a gate looked at, for one system.

    name        a measure, the name of a number that is handed in, or one of SHARES
    kind        level     its value against a level of the profile
                baseline  its mean difference to the baseline against -limit, the margin
                relative  its change as a share of the baseline's mean against the least gain
                share     a share of questions, documents or gold pieces against the most that is allowed
    reason      reached, missed: the whole interval lies on that side of the level, or of the least gain
                spans: it lies on both;   few_questions: there are fewer than asked for
                no_interval: there is one question;   not_measured: there is no such value in the scores
                not_worse, worse: by the margin;   undecided: neither can be said
                no_ratio: the baseline's mean is too near 0 for a share of it
                within, exceeded: what is allowed
    value, low, high   what was found, and its interval: of 95 % for levels and relative changes; the one-sided limits
                at alpha for differences, which make an interval of 1 - 2 alpha; NaN where there is none
    limit       level, margin, least gain, or most that is allowed
    level       name of the level, or None
    n           questions (gold pieces for unmapped) behind the value; 0 where it was handed in, or there is none
    left_out    questions that only the system, and only the baseline, has a value for; (0, 0) without a baseline
    detectable  undecided: smallest margin that n questions can hold in 80 of 100 cases, where nothing was lost
    needed      undecided: questions that hold the margin so; None where that is no more than there are
    """

    system: str
    name: str
    kind: Kind
    reason: Reason
    value: float
    low: float
    high: float
    limit: float
    n: int
    better: Better = "higher"
    level: str | None = None
    left_out: tuple[int, int] = (0, 0)
    detectable: float = math.nan
    needed: int | None = None

    @property
    def outcome(self) -> Outcome:
        """Pass, fail, or insufficient: too few data to say."""
        return _OF_REASON.get(self.reason, "insufficient")


@dataclass(frozen=True)
class Gate:
    """What a gate found.

    profile, level   by which it judged, or None
    baselines        system -> name of what it was compared with; empty without a baseline
    margin           in each measure's unit, or None
    min_questions    fewer are too few;   alpha   of the tests against the baseline
    checks           of every system, in the order of the profile and of the scores
    other_truth      whether system and baseline were weighed against truths that differ
    not_judged       the profile's relative requirement, where there is no baseline to judge it by
    """

    profile: Profile | None
    level: str | None
    baselines: Mapping[str, str]
    margin: float | None
    min_questions: int
    alpha: float
    checks: tuple[Check, ...]
    other_truth: bool = False
    not_judged: tuple[str, float] | None = field(default=None)

    @property
    def outcome(self) -> Outcome:
        """The gravest of all checks: fail, then insufficient, then pass."""
        found = {check.outcome for check in self.checks}
        return next(outcome for outcome in _GRAVE if outcome in found)

    @property
    def exit_code(self) -> int:
        """0 for pass, 1 for fail, 3 for insufficient data."""
        return EXIT_CODES[self.outcome]

    @property
    def systems(self) -> list[str]:
        """The systems that were judged."""
        return list(dict.fromkeys(check.system for check in self.checks))


def gate(
    scores: Scores | str | Path,
    profile: Profile | str | None = None,
    *,
    level: str | None = None,
    baseline: Scores | str | Path | None = None,
    margin: float | None = None,
    system: str | None = None,
    min_questions: int = defaults.MIN_QUESTIONS,
    max_failed: float | None = None,
    max_missing: float | None = None,
    max_unjudged: float | None = None,
    max_unmapped: float | None = None,
    known: Known | None = None,
    latency_ms: Latencies | None = None,
    truth: str | Path | None = None,
    alpha: float = defaults.ALPHA,
) -> Gate:
    """Judge systems by a profile's levels, by a baseline, and by what could not be measured.

    A level is reached where the whole 95 % interval is at it or beyond; it is missed where the whole interval is short
    of it; an interval that spans it, or fewer questions than asked for, are too few data.  Numbers that are handed in
    have no interval and are judged as they are.  What the profile asks for by name and nobody measured is too few data.

    Against a baseline, a system passes where it is shown not to be worse by the margin (one-sided, at alpha, on the
    questions that both have), and fails where it is shown to be; the measures are those that the profile covers, all of
    them without a profile.  A profile that asks for a gain over the baseline is judged by that too; without a baseline
    that requirement is left open, and told in `not_judged`, since most gates have none.

    scores        Scores, the path of a JSON of scores, or that of a run folder, which is weighed by the measures that
                  the profile recommends, else by those of its configuration, and whose latencies count
    profile       Profile, or name or path of one; None: by the baseline and the bounds alone
    level         one of the profile's levels; its first by default
    baseline      a system of `scores`; or other Scores, or a path to such: of one system, or with a system of the same
                  name.  Where a file bears the name of a system, write its path as ./NAME
    truth         questions of a run folder, where its configuration names none or they have moved
    margin        above 0, in each measure's unit: the smallest loss that matters
    system        which one to judge; all but the baseline by default
    max_failed, max_missing   most of the questions that the system failed on, that are absent from the run: 0 to 1
    max_unjudged  most of the first k documents without a label, for the measure of which it is largest; the whole list
                  counts only where no measure has a k
    max_unmapped  most of the gold pieces that are in no chunk; only gold that is evidence tells that
    known, latency_ms   as in `rate`
    Raises        InputError where there is nothing to judge by, naming what to weigh; for a level, system or baseline
                  that is not there, a baseline without a margin, and numbers out of range
    """
    profile = Profile.read(profile) if isinstance(profile, str) else profile
    whole(min_questions, "min_questions")
    share(alpha, "alpha")
    if isinstance(scores, str | Path):
        stored = open_scores(scores, measures=profile.measures if profile is not None else (), truth=truth)
        scores, latency_ms = stored.scores, stored.latency_ms if latency_ms is None else latency_ms
    most = dict(zip(SHARES, (max_failed, max_missing, max_unjudged, max_unmapped), strict=True))
    _check_bounds(most)
    other, against = _baseline(scores, baseline, truth)
    _check_margin(profile, other is not None, margin)
    judged = _chosen(scores, system, against if isinstance(baseline, str) and other is scores else None)
    wanted = _wanted(profile, level)
    checks: list[Check] = []
    if profile is not None and wanted is not None:
        found = measured(scores, profile, known=known, latency_ms=latency_ms)
        held = [each for each in found if wanted in each.standard.levels]
        _check_held(scores, profile, held, judged)
        checks += [_by_level(each, wanted, min_questions) for each in held]
    elif known:
        raise InputError("numbers are judged by the levels of a profile, and there is none; name a profile")
    if other is not None:
        for name in judged:
            checks += _by_baseline(scores, name, other, against or name, profile, margin, min_questions, alpha)
    for name in judged:
        checks += _by_shares(scores, name, profile, most)
    checks = [check for name in judged for check in checks if check.system == name]
    if not checks and profile is not None and other is not None:
        raise _unfit(profile, scores)
    if not checks:
        raise InputError(
            "there is nothing to judge by; name a profile with levels, a baseline and a margin, or a bound"
        )
    open_ = profile.relative if profile is not None and other is None else None
    truths = {_truth(scores), None if other is None else _truth(other)} - {None}
    return Gate(
        profile=profile, level=wanted if any(check.kind == "level" for check in checks) else None,
        baselines={} if other is None else {name: against or name for name in judged}, margin=margin,
        min_questions=min_questions, alpha=alpha, checks=tuple(checks), other_truth=len(truths) > 1,
        not_judged=None if open_ is None else (str(open_.measure), open_.least),
    )  # fmt: skip


def _check_bounds(most: Mapping[str, float | None]) -> None:
    for name, bound in most.items():
        if bound is not None and not 0 <= bound <= 1:
            raise InputError(f"max_{name} is {bound}, expected a share from 0 to 1, such as 0.05")


def _check_margin(profile: Profile | None, has_baseline: bool, margin: float | None) -> None:
    if margin is not None and not (math.isfinite(margin) and margin > 0):
        raise InputError(f"the margin is {margin}, expected a number above 0: the smallest loss that matters")
    if margin is not None and not has_baseline:
        raise InputError(f"a margin of {margin:g} needs a baseline to hold against; name one")
    if has_baseline and margin is None and (profile is None or profile.relative is None):
        raise InputError("a baseline needs a margin: the smallest loss that matters, such as 0.01")


def _baseline(
    scores: Scores, baseline: Scores | str | Path | None, truth: str | Path | None
) -> tuple[Scores | None, str | None]:
    """Scores that hold the baseline, and its name; None for the name where it is that of each system judged."""
    if baseline is None:
        return None, None
    if isinstance(baseline, str) and baseline in scores.systems:
        return scores, baseline
    if isinstance(baseline, str | Path):
        if not os.path.exists(baseline):
            systems = nearest(str(baseline), scores.systems)
            raise InputError(f"{baseline}: is neither a system of the scores ({systems}) nor a file")
        baseline = open_scores(baseline, measures=scores.measures, truth=truth).scores
    return baseline, baseline.systems[0] if len(baseline.systems) == 1 else None


def _chosen(scores: Scores, system: str | None, baseline: str | None) -> list[str]:
    """The systems to judge."""
    if system is not None:
        if system not in scores.systems:
            raise InputError(f"no system is called {system!r}; {nearest(system, scores.systems)}")
        if system == baseline:
            raise InputError(f"{system} is the baseline itself; name another baseline, or another system")
        return [system]
    others = [name for name in scores.systems if name != baseline]
    if not others:
        raise InputError(f"{baseline} is the only system, and the baseline; name another baseline")
    return others


def _wanted(profile: Profile | None, level: str | None) -> str | None:
    """The level to reach, if there is any."""
    levels = profile.levels if profile is not None else ()
    if level is None:
        return levels[0] if levels else None
    if profile is None:
        raise InputError(f"level {level!r} is one of a profile's; name the profile")
    if level not in levels:
        raise InputError(f"profile {profile.name} has no level {level!r}; {nearest(level, levels)}")
    return level


def _check_held(scores: Scores, profile: Profile, held: list[Measured], judged: list[str]) -> None:
    """Refuse scores of which the profile can judge nothing."""
    if any(not math.isnan(each.value) for each in held if each.system in judged):
        return
    if any(
        each.n == 0 and profile.standard_of(measure) is each.standard for each in held for measure in scores.measures
    ):
        return  # weighed, but of no question
    raise _unfit(profile, scores)


def _unfit(profile: Profile, scores: Scores) -> InputError:
    """The error for scores that hold nothing that a profile judges."""
    there = ", ".join(map(str, scores.measures))
    names = profile.measures or [key.replace("@k", "@10") for key in profile.standards]
    return InputError(
        f"profile {profile.name} does not judge {there}; weigh what it does: steelyard evaluate ... "
        + " ".join(f"-m {name}" for name in names)
    )


def _by_level(each: Measured, level: str, min_questions: int) -> Check:
    limit, better = each.standard.levels[level], each.standard.better
    if math.isnan(each.value):
        reason: Reason = "not_measured"
    elif each.is_given:
        reason = "reached" if reaches(each.value, limit, better) else "missed"
    elif each.n < min_questions:
        reason = "few_questions"
    elif math.isnan(each.low) or math.isnan(each.high):
        reason = "no_interval"
    else:
        reason = _side(each.low, each.high, limit, better)
    return Check(
        each.system, each.measure, "level", reason, each.value, each.low, each.high, limit, each.n, better, level
    )  # fmt: skip


def _side(low: float, high: float, limit: float, better: Better) -> Reason:
    """On which side of a limit a whole interval lies."""
    ends = reaches(low, limit, better), reaches(high, limit, better)
    return "reached" if all(ends) else "spans" if any(ends) else "missed"


def _by_baseline(
    scores: Scores, system: str, other: Scores, against: str, profile: Profile | None, margin: float | None,
    min_questions: int, alpha: float,
) -> Iterator[Check]:  # fmt: skip
    if against not in other.systems:
        raise InputError(
            f"the baseline has several systems, and none is called {against!r}: {', '.join(other.systems)}; name one"
        )
    for measure in scores.measures if margin is not None else ():
        if profile is not None and not profile.covers(measure):
            continue
        standard = None if profile is None else profile.standard_of(measure)
        pair = _paired(scores, system, other, against, measure)
        yield _not_worse(
            system,
            measure,
            pair,
            margin or 0.0,
            min_questions,
            alpha,
            standard.better if standard else measure.definition.direction,
        )
    if profile is not None and profile.relative is not None:
        pair = _paired(scores, system, other, against, profile.relative.measure)
        yield _relative(system, profile.relative.measure, pair, profile.relative.least, min_questions)


@dataclass(frozen=True)
class _Pair:
    """(n,) values of the same questions of both, and how many questions only one of them has.

    measured   whether both were weighed by the measure at all
    """

    values: Floats
    baseline: Floats
    left_out: tuple[int, int]
    measured: bool = True

    def too_few(self, min_questions: int) -> Reason | None:
        """Why nothing can be said of the pair, if so."""
        n = len(self.values)
        if not self.measured:
            return "not_measured"
        return "few_questions" if n < min_questions else "no_interval" if n < 2 else None


def _paired(scores: Scores, system: str, other: Scores, against: str, measure: Measure) -> _Pair:
    if measure.definition.aggregate == "geometric":
        raise InputError(f"{measure} is a geometric mean, and a margin is of arithmetic ones; judge by another")
    if measure not in scores.measures or measure not in other.measures:
        return _Pair(np.zeros(0), np.zeros(0), (0, 0), measured=False)
    one, two = _values(scores, system, measure), _values(other, against, measure)
    common = [query_id for query_id in one if query_id in two]
    left_out = len(one) - len(common), len(two) - len(common)
    return _Pair(np.array([one[q] for q in common]), np.array([two[q] for q in common]), left_out)


def _values(scores: Scores, system: str, measure: Measure) -> dict[str, float]:
    """query_id -> value of the questions that have one."""
    row = scores.values[list(scores.systems).index(system), list(scores.measures).index(measure)].tolist()
    return {query_id: v for query_id, v in zip(scores.query_ids, row, strict=True) if not math.isnan(v)}


def _unpaired(
    system: str, measure: Measure, kind: Kind, reason: Reason, limit: float, better: Better, pair: _Pair
) -> Check:
    """A check that too few questions, or none, can answer."""
    nothing = math.nan
    return Check(
        system, str(measure), kind, reason, nothing, nothing, nothing, limit, len(pair.values), better,
        left_out=pair.left_out,
    )  # fmt: skip


def _not_worse(
    system: str, measure: Measure, pair: _Pair, margin: float, min_questions: int, alpha: float, better: Better
) -> Check:
    if (why := pair.too_few(min_questions)) is not None:
        return _unpaired(system, measure, "baseline", why, margin, better, pair)
    d = differences(pair.baseline, pair.values)
    gain = d if better == "higher" else -d
    found = non_inferiority(gain, margin=margin, alpha=alpha)
    most = 2 * found.difference - found.low
    reason: Reason = "not_worse" if found.not_worse else "worse" if most <= -margin else "undecided"
    low, high = (found.low, most) if better == "higher" else (-most, -found.low)
    detectable, needed = (math.nan, None) if reason != "undecided" else _wanting(gain, margin, alpha)
    return Check(
        system, str(measure), "baseline", reason, float(d.mean()), low, high, margin, found.n, better,
        left_out=pair.left_out, detectable=detectable, needed=needed,
    )  # fmt: skip


def _wanting(d: Floats, margin: float, alpha: float) -> tuple[float, int | None]:
    """The margin that these questions can hold where nothing was lost, and how many hold the margin that is asked."""
    detectable = min_detectable_difference(d, alpha=alpha, n_sides=1)
    spread = mean_error(d).error * math.sqrt(len(d))
    try:
        needed = questions_needed(margin / spread, alpha=alpha, n_sides=1)
    except InputError:
        return detectable, None  # more than anybody will ever ask
    return detectable, needed if needed > len(d) else None


def _relative(system: str, measure: Measure, pair: _Pair, least: float, min_questions: int) -> Check:
    if (why := pair.too_few(min_questions)) is not None:
        return _unpaired(system, measure, "relative", why, least, "higher", pair)
    found = relative_change(pair.baseline, pair.values, level=LEVEL)
    reason: Reason = "no_ratio" if math.isnan(found.low) else _side(found.low, found.high, least, "higher")
    return Check(
        system, str(measure), "relative", reason, found.change, found.low, found.high, least, len(pair.values),
        left_out=pair.left_out,
    )  # fmt: skip


def _by_shares(
    scores: Scores, system: str, profile: Profile | None, most: Mapping[str, float | None]
) -> Iterator[Check]:
    i, n = list(scores.systems).index(system), len(scores.query_ids)
    found = {
        "failed": float(scores.failed[i].mean()) if n else math.nan,
        "missing": float(scores.missing[i].mean()) if n else math.nan,
        "unjudged": _unjudged(scores, i, profile),
        "unmapped": _unmapped(scores, i),
    }
    for name, bound in most.items():
        if bound is not None:
            value = found[name]
            reason: Reason = (
                "not_measured" if math.isnan(value) else "within" if reaches(value, bound, "lower") else "exceeded"
            )
            report = scores.gold[i]
            behind = report.n_pieces if name == "unmapped" and report is not None else n
            yield Check(system, name, "share", reason, value, math.nan, math.nan, bound, behind, "lower")


def _unjudged(scores: Scores, i: int, profile: Profile | None) -> float:
    """The largest mean share of documents without a label, of the measures that are judged; NaN without any.

    A measure without a k looks down the whole list, most of which matters to nobody: it counts where no other does.
    """
    judged = [j for j, measure in enumerate(scores.measures) if profile is None or profile.covers(measure)]
    cut = [j for j in judged if scores.measures[j].depth is not None]
    shares = []
    for j in cut or judged:
        # An absent list has no document that could lack a label.
        there = ~scores.missing[i] & ~np.isnan(scores.values[i, j]) & ~np.isnan(scores.judged[i, j])
        kept = scores.judged[i, j][there]
        if len(kept):
            shares.append(1 - float(kept.mean()))
    return max(shares, default=math.nan)


def _unmapped(scores: Scores, i: int) -> float:
    report = scores.gold[i]
    return len(report.lost) / report.n_pieces if report is not None and report.n_pieces else math.nan


def _truth(scores: Scores) -> str | None:
    """The digest of what the scores were weighed against, where it is known."""
    told = scores.recipe_parts.get("truth")
    told = told() if callable(told) else told
    return str(told["digest"]) if isinstance(told, Mapping) and "digest" in told else None
