"""Gates: may it ship?  Pass, fail, or too few data to say, each check with its reason."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack, cast

import polars as pl

from steelyard.base import defaults
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.notes import Note
from steelyard.base.options import GateKeywords, GateOptions, WeighOptions, check_names, with_options
from steelyard.base.result import Result
from steelyard.data.clusters import Clustering
from steelyard.data.folders.manifests import find_bench_folder
from steelyard.data.folders.run_folder import find_run_folder
from steelyard.experiment.door.evaluation import (
    Origin,
    StoredScores,
    check_scores,
    counting,
    open_scores,
    refuse_options,
    weighed_or_scores,
)
from steelyard.experiment.table.behind import OfScores
from steelyard.experiment.table.recipes import Signature, check_same_judge
from steelyard.experiment.table.scores import COMPONENTS, Scores
from steelyard.gates.against import MarginTest, Sides, baseline_checks, best_checks, tested_measures
from steelyard.gates.alarms import alarm_share
from steelyard.gates.checks import COLUMNS, MORE_COLUMNS, SHARES, Check, Outcome
from steelyard.gates.judges import Trust, calibration_named, check_judged_by, judge_gate, verdict_recipes
from steelyard.gates.levels import level_check, share_checks
from steelyard.gates.loads import SUSTAINED_RATE, Loads
from steelyard.gates.past import BaselineEntry, Past, past_of
from steelyard.gates.profiles import Profile, profile_of
from steelyard.gates.values import Latencies, StandardValue, standard_values
from steelyard.measures.spec import measure_or_column
from steelyard.store.entries import PREFIX
from steelyard.store.opening import is_reference, scores_at

EXIT_CODES: dict[Outcome, int] = {"pass": 0, "fail": 1, "insufficient": 3}
"""What `steelyard gate` exits with; 2 is an error."""

_GRAVE: tuple[Outcome, ...] = ("fail", "insufficient", "pass")


@dataclass(frozen=True, repr=False)
class Gate(OfScores, Result):
    """The outcome of a gate, check by check.

    profile, level   by which it judged, or None
    baselines        system -> name of what it was compared with; empty without a baseline
    margin           in each measure's unit, or None
    min_questions    fewer are too few;   alpha   of the tests against the baseline
    checks           of every system, in the order of the profile and of the scores
    other_truth      whether system and baseline were weighed against truths that differ
    not_judged       the profile's relative requirement, where there is no baseline to judge it by
    signature        of the scores that were judged
    recipe           of the scores;   clustering   which of their questions count as one, or None
    components       how much values differ between questions and between runs, as of Scores
    notes            system -> what a reader should know of how it was weighed, as of Scores
    origin           what the scores were read from, by which a reader is told how to weigh them otherwise
    n_others         systems of a bench that were not judged, as it recommends another one
    alarms           share of gates that may fail where nothing was lost; None: each test has its own level
    entry            what is known of a baseline that is an entry of a store, or None
    """

    VIEW = "views.gate"

    profile: Profile | None
    level: str | None
    baselines: Mapping[str, str]
    margin: float | None
    min_questions: int
    alpha: float
    checks: tuple[Check, ...]
    other_truth: bool = False
    not_judged: tuple[str, float] | None = field(default=None)
    signature: Signature | None = None
    recipe: Mapping[str, Any] = field(repr=False, default_factory=dict)
    clustering: Clustering | None = field(repr=False, default=None)
    components: pl.DataFrame = field(
        repr=False, default_factory=lambda: pl.DataFrame(schema=COMPONENTS), metadata={"columns": COMPONENTS}
    )
    notes: Mapping[str, Sequence[Note]] = field(repr=False, default_factory=dict)
    origin: Origin = "scores"
    n_others: int = 0
    alarms: float | None = None
    entry: BaselineEntry | None = None

    @property
    def outcome(self) -> Outcome:
        """The gravest of all checks: fail, then insufficient, then pass."""
        outcomes = {check.outcome for check in self.checks}
        return next(outcome for outcome in _GRAVE if outcome in outcomes)

    @property
    def frame(self) -> pl.DataFrame:
        """One row a check: the fields of `Check` and its outcome; null where there is no number.

        n_left_out questions have a value for the system alone, n_left_out_baseline for its baseline alone.  Where
        labels of people correct a value, n_labels and n_undecided too; with alarms, alarm; where runs vary, needed_runs
        and luck.
        """
        schema = dict(COLUMNS)
        for name, columns in MORE_COLUMNS.items():
            if any(check.says(name) for check in self.checks):
                schema |= columns
        rows = [{name: check.row[name] for name in schema} for check in self.checks]
        return pl.DataFrame(rows, schema=schema).with_columns(pl.col(pl.Float64).fill_nan(None))

    @property
    def exit_code(self) -> int:
        """0 for pass, 1 for fail, 3 for insufficient data."""
        return EXIT_CODES[self.outcome]

    @property
    def systems(self) -> list[str]:
        """The systems that were judged."""
        return list(dict.fromkeys(check.system for check in self.checks))


@with_options("gate")
def gate(
    scores: object = None, runs: object = None, /, profile: Profile | str | None = None, **options: Unpack[GateKeywords]
) -> Gate:
    """Judge systems by a profile's levels, by a baseline, and by what could not be measured; and a judge by labels.

    A level is reached where the whole 95% interval is at it or beyond; it is missed where the whole interval is short
    of it; an interval that spans it, or fewer questions than asked for, are too few data.  Numbers that are handed in
    have no interval and are judged as they are.  What the profile asks for by name and was not measured is too few
    data.

    Against a baseline, a system passes where it is shown not to be worse by the margin (one-sided, at alpha, on the
    questions that both have), and fails where it is shown to be; the measures are those that the profile covers, all of
    them without a profile.  A profile that asks for a gain over the baseline is judged by that too; without a baseline
    that requirement is left open, and named in `not_judged`, since most gates have none.

    A judge, by its calibration, is trusted where the whole interval of its kappa, sensitivity and specificity is at the
    level or beyond, and where it passes its self-tests.  Beside scores, it must be the judge that they are by, and the
    gravest outcome of both counts.

    scores        Scores, a Weighing, the path of a JSON of scores or of the folder of a bench, or that of a run folder,
                  which is weighed by the measures that the profile recommends, else by those of its configuration, and
                  whose latencies count; with runs, their truth, as of `evaluate`; nothing, to gate a judge alone
    profile       Profile, or name or path of one; None: by the baseline and the bounds alone
    measures      that count, in place of all that the profile covers
    baseline      a system of the scores; or other Scores, or a path to such: of one system, or with a system of the
                  same name.  Where a file has the name of a system, write its path as ./NAME.  By default, of a bench
                  the candidates as they are, where the profile or a margin asks for a baseline; with a margin, of two
                  runs the first; else none
    cluster, unit   of a run folder by default as its configuration has them, as all options of weighing; scores must be
                  by these
    system        by default that which the folder of a bench recommends, else all but the baseline
    max_unjudged  of the first k documents, for the measure of which it is largest; the whole list counts only where no
                  measure has a k
    max_not_judged  for the measure of answers of which it is largest
    store         of a baseline such as store:accepted: a Store, or its address; by default that of STEELYARD_STORE,
                  else history.db in the working folder
    alarms        "1 in 200", or a share: of gates where nothing was lost, so many may fail.  A gate then fails where
                  any loss against the baseline is shown at that level, shared among all measures and systems, and a
                  loss of the margin is not ruled out
    numbers, latency_ms   as in `rate`
    judge         that of a baseline's folder too;   labels   False: none correct a value, here and in the baseline
    calibration   a Calibration, or the path of one, of the judge that is to be trusted
    min_kappa, min_sensitivity, min_specificity   levels of that judge, in place of those of the profile's table
                  [judge], else .4, .7 and .7 (see `steelyard.gates.judges.JudgeLevels`); min_questions is of labels too
    max_below_people   most by which its kappa with people may be less than that of two people with each other
    Raises        InputError where there is nothing to judge by, naming what to weigh; for a level, system or baseline
                  that is not there, a baseline without a margin, and numbers out of range
    """
    check_names("gate", options, GateOptions, WeighOptions)
    asked, of_weighing = GateOptions.of(options), WeighOptions.among(options)
    profile = None if profile is None else profile_of(profile)
    level, baseline, margin, system = asked.level, asked.baseline, asked.margin, asked.system
    min_questions, alpha = asked.min_questions, asked.alpha
    latency_ms = cast("Latencies | None", asked.latency_ms)
    calibration = calibration_named(asked.calibration)
    trust = judge_gate(
        calibration, profile, needs_levels=scores is None, min_labels=min_questions, kappa=asked.min_kappa,
        sensitivity=asked.min_sensitivity, specificity=asked.min_specificity, below_people=asked.max_below_people,
    )  # fmt: skip
    if scores is None:
        of_scores = ("measures", "baseline", "margin", "system", "level", "numbers", *of_weighing)
        named = {name: value for name, value in options.items() if name in of_scores}
        return _of_judge_alone(trust, profile, named, min_questions, alpha)
    given = scores
    stored = _stored(given, runs, asked, profile, of_weighing)
    scores, origin = stored.scores, stored.origin
    latency_ms = stored.latency_ms if latency_ms is None else latency_ms
    recommended = stored.recommended if stored.recommended != stored.base else None
    if origin == "load" and baseline is None:
        by_load = _gate_of_loads(cast("str | Path", given), scores, profile, asked)
        return replace(by_load, checks=(*by_load.checks, *(trust.checks if trust else ())))
    if baseline is None and (margin is not None or (profile is not None and profile.relative is not None)):
        baseline = stored.base
    if calibration is not None:
        check_judged_by(calibration, verdict_recipes(scores))
    most = {name: getattr(asked, f"max_{name}") for name in SHARES}
    other, against, past = _baseline(
        scores, baseline, asked.truth if runs is None else given, of_weighing, store=asked.store
    )
    cluster, unit, mixed_judges = of_weighing.get("cluster"), of_weighing.get("unit"), asked.mixed_judges
    _check_clusters(scores, other, cluster, origin)
    _check_units(scores, other, unit, origin)
    _check_forms(scores, other)
    _check_margin(profile, other is not None, margin)
    alarms = _alarms(asked.alarms, margin)
    judged = _judged(scores, system, against if isinstance(baseline, str) and other is scores else None)
    n_others = len(judged) - 1 if recommended in judged else 0
    judged = [recommended] if n_others and recommended is not None else judged
    wanted = _level(profile, level)
    if other is not None and not mixed_judges:
        partners = [against] if against is not None else [name for name in judged if name in other.systems]
        _check_same_judge(scores, judged, other, partners)
    checks = _level_checks(scores, profile, wanted, judged=judged, asked=asked, latency_ms=latency_ms)
    if other is not None:
        test = None if margin is None else MarginTest(margin, alpha, min_questions, alarms)
        checks += _checks_of_baseline(
            [Sides(scores, name, other, against or name, past) for name in judged],
            profile=profile, test=test, min_questions=min_questions,
        )  # fmt: skip
    for name in judged:
        checks += share_checks(scores, name, profile, most)
    checks = [check for name in judged for check in checks if check.system == name]
    _check_any(checks, scores, profile if other is not None else None)
    open_ = profile.relative if profile is not None and other is None else None
    notes = {name: scores.notes[name] for name in judged if name in scores.notes}
    by_values = [check for check in checks if check.kind in ("level", "baseline", "best", "relative") and check.n]
    measures = [check.name for check in by_values]
    return Gate(
        profile=profile, level=wanted if any(check.kind == "level" for check in checks) else None,
        baselines={} if other is None else {name: past.entry.name if past else against or name for name in judged},
        margin=margin,
        min_questions=min_questions, alpha=alpha, checks=(*checks, *(trust.checks if trust else ())),
        other_truth=len({_truth(part) for part in (scores, other) if part is not None} - {None}) > 1,
        not_judged=None if open_ is None else (str(open_.measure), open_.least),
        signature=_signature(scores, by_values), recipe=scores.recipe, clustering=scores.clustering,
        components=scores.components.filter(
            pl.col("system").is_in(judged), pl.col("measure").is_in(measures) if measures else pl.lit(True)
        ),
        notes=notes | (dict(trust.notes) if trust else {}), origin=origin, n_others=n_others,
        alarms=alarms, entry=past.entry_beside(scores, judged, against) if past else None,
    ).of_scores(scores)  # fmt: skip


def _checks_of_baseline(
    pairs: Sequence[Sides], *, profile: Profile | None, test: MarginTest | None, min_questions: int
) -> list[Check]:
    """The checks of all systems against the baseline, which share the alarms of the gate (Bonferroni).

    Where entries were accepted before the baseline, half of them are for the best of these.
    """
    accepted = [sides for sides in pairs if sides.past is not None and sides.past.earlier]
    if test is not None and test.alarm is not None:
        n_tests = sum(len(tested_measures(sides.scores, profile)) for sides in pairs) * (2 if accepted else 1)
        test = replace(test, alarm=test.alarm / max(n_tests, 1))
    checks = list[Check]()
    for sides in pairs:
        checks += baseline_checks(sides, profile=profile, test=test, min_questions=min_questions)
        if test is not None and sides in accepted:
            checks += best_checks(sides, profile=profile, test=test)
    return checks


def _stored(
    truth: object, runs: object, asked: GateOptions, profile: Profile | None, options: Mapping[str, Any]
) -> StoredScores:
    """Scores that are judged: those that are there, or those of runs that are weighed now.

    options   of weighing that are given
    """
    own = [asked.measures] if isinstance(asked.measures, str) else [*asked.measures]
    measures = own or (profile.measures if profile is not None else ())
    if runs is None and is_reference(truth):
        truth = scores_at(str(truth), cast("Any", asked.store))
    if runs is None and isinstance(truth, str | Path):
        stored = open_scores(truth, measures=measures, truth=asked.truth, options=options)
        return replace(stored, scores=stored.scores.filter(measures=own)) if own else stored
    if asked.truth is not None:
        raise InputError("truth=... names the questions of a run folder; leave it out, or call sy.gate(truth, runs)")
    if isinstance(truth, Scores):
        refuse_options("these are scores", options)
        options = {}
    of = weighed_or_scores("gate", truth, runs, options)
    if isinstance(of, Scores):
        return StoredScores(of.filter(measures=own) if own else of)
    scores = of.scores(of.measures_or(measures, defaults.MEASURES), **counting(options))
    # Of two runs and a margin the first is the baseline, as where they are compared.
    is_pair = runs is not None and asked.margin is not None and len(scores.systems) == 2
    return StoredScores(scores, of.latency_ms, origin="run", base=scores.systems[0] if is_pair else None)


def _gate_of_loads(path: str | Path, scores: Scores, profile: Profile | None, asked: GateOptions) -> Gate:
    """The gate of a load test: by its own objective, or by what a profile asks of times and rates.

    Raises   InputError where no rate was offered, and for a profile that asks for neither.
    """
    level, system, numbers = asked.level, asked.system, asked.numbers or {}
    wanted, columns, folder = _level(profile, level), {measure.name for measure in scores.measures}, Path(path)
    bench = find_bench_folder(folder)
    assert bench is not None
    by_rate = profile.standards.get(SUSTAINED_RATE) if profile is not None else None
    checks = list[Check]()
    if profile is None or (by_rate is not None and wanted in by_rate.levels):
        checks = Loads.read(bench).checks(system, by_rate, wanted)
    standards = {} if profile is None else {
        name: standard for name, standard in profile.standards.items()
        if standard.handed_in and (name in numbers or measure_or_column(name).name in columns)
    }  # fmt: skip
    if profile is None and not checks:
        raise InputError(f"{path}: no rate was offered, and users who wait hold none; put load on it with --rate")
    if profile is not None and not checks and not standards:
        raise InputError(
            f"{path}: is a load test, which has times and rates, and profile {profile.name} asks for none; leave the "
            f"profile out, to judge by the objective of the test, or name one with latency_ms:p95 or {SUSTAINED_RATE}"
        )
    by_times: tuple[Check, ...] = ()
    if profile is not None and standards:
        times = replace(profile, standards=standards, relative=None, recommend=())
        by_times = gate(
            scores, profile=times, level=level, system=system if system in scores.systems else None,
            min_questions=asked.min_questions, alpha=asked.alpha, numbers=asked.numbers, max_failed=asked.max_failed,
        ).checks  # fmt: skip
    return Gate(
        profile=profile, level=wanted, baselines={}, margin=None, min_questions=asked.min_questions,
        alpha=asked.alpha, checks=(*by_times, *checks), signature=scores.signature, recipe=scores.recipe, origin="load",
    )  # fmt: skip


def _signature(scores: Scores, checks: Sequence[Check]) -> Signature | None:
    """The signature of the scores, of the measures that checks judge; as it is where they judge none."""
    if scores.signature is None or not checks:
        return scores.signature
    counts = [check.n for check in checks]
    return replace(
        scores.signature, measures=tuple(dict.fromkeys(check.name for check in checks)), n=(min(counts), max(counts))
    )


def _of_judge_alone(
    trust: Trust | None, profile: Profile | None, of_scores: Mapping[str, object], min_labels: int, alpha: float
) -> Gate:
    """The gate of a judge without scores.

    Raises   InputError where there is no judge either, and for what is of scores alone
    """
    if trust is None:
        raise InputError(
            "there is nothing to gate; give SCORES of `evaluate --format json`, a run folder, or the calibration of a "
            "judge (calibration=FILE, --calibration FILE)"
        )
    if named := [name for name, value in of_scores.items() if value is not None]:
        raise InputError(
            f"{named[0]} is of scores, and this gate is of a judge alone; name the scores, or leave it out"
        )
    return Gate(
        profile=profile, level=None, baselines={}, margin=None, min_questions=min_labels, alpha=alpha,
        checks=trust.checks, notes=trust.notes,
    )  # fmt: skip


def _check_same_judge(scores: Scores, systems: list[str], other: Scores, partners: list[str]) -> None:
    """Refuse systems that were judged otherwise than their baselines, by measures that labels do not correct for all.

    Raises   InputError
    """
    sides = ((scores, systems), (other, partners))
    names = [
        str(measure)
        for measure in scores.measures
        if measure in other.measures
        and not all(str(measure) in side.corrections.get(name, {}) for side, listed in sides for name in listed)
    ]
    if names:
        check_same_judge([side.filter(systems=listed, measures=names) for side, listed in sides])


def _level_checks(
    scores: Scores, profile: Profile | None, level: str | None, *, judged: list[str], asked: GateOptions,
    latency_ms: Latencies | None,
) -> list[Check]:  # fmt: skip
    """The checks of what the profile has this level for; none without a level."""
    if profile is None or level is None:
        if asked.numbers:
            raise InputError("numbers are judged by the levels of a profile, and there is none; name a profile")
        return []
    values = standard_values(scores, profile, numbers=asked.numbers, latency_ms=latency_ms)
    held = [value for value in values if level in value.standard.levels]
    _check_held(scores, profile, held, judged)
    return [level_check(value, level, asked.min_questions) for value in held]


def _check_any(checks: list[Check], scores: Scores, profile: Profile | None) -> None:
    """Refuse a gate without checks; profile is the one that judged a baseline, if any."""
    if not checks and profile is not None:
        raise _unfit(profile, scores)
    if not checks:
        raise InputError(
            "there is nothing to judge by; name a profile with levels, a baseline and a margin, or a bound"
        )


def _check_margin(profile: Profile | None, has_baseline: bool, margin: float | None) -> None:
    if margin is not None and not has_baseline:
        raise InputError(f"a margin of {margin:g} needs a baseline to hold against; name one")
    if has_baseline and margin is None and (profile is None or profile.relative is None):
        raise InputError("a baseline needs a margin: the smallest loss that matters, such as 0.01")


def _alarms(alarms: str | float | None, margin: float | None) -> float | None:
    """The share of false alarms, where one is asked for.

    Raises   InputError without a margin
    """
    if alarms is not None and margin is None:
        raise InputError(
            "alarms are of losses against a baseline: name one, and a margin, the smallest loss that matters, such as "
            "0.01"
        )
    return None if alarms is None else alarm_share(alarms)


def _check_clusters(scores: Scores, other: Scores | None, cluster: str | None, origin: Origin) -> None:
    """Refuse scores that are not by the clusters asked for, and a baseline by others."""
    by, of_baseline = (
        None if part is None or part.clustering is None else part.clustering.by for part in (scores, other)
    )
    if cluster is not None and by != cluster:
        what = "each question by itself" if by is None else f"the clusters {by!r}"
        again = f"write them with `evaluate --cluster {cluster}`"
        if origin == "bench":
            again = (
                f'put cluster = "{cluster}" into the configuration of the bench, and run it again: nothing is measured'
            )
        raise InputError(f"cluster {cluster!r}: these scores take {what}; {again}")
    if other is not None and of_baseline != by:
        raise InputError(
            f"the scores go by the clusters {by!r}, and the baseline by {of_baseline!r}; evaluate both alike"
        )


def _check_units(scores: Scores, other: Scores | None, unit: Unit | None, origin: Origin) -> None:
    """Refuse scores that are not of the unit asked for, and a baseline of the other one."""
    of_scores, of_baseline = (None if part is None else part.recipe_parts.get("unit") for part in (scores, other))
    if unit is not None and of_scores not in (None, unit):
        again = "leave it out" if origin == "bench" else f"write them with `evaluate --unit {unit}`"
        raise InputError(f"unit {unit!r}: these scores evaluate {of_scores}s; {again}")
    if None not in (of_scores, of_baseline) and of_scores != of_baseline:
        raise InputError(
            f"the scores evaluate {of_scores}s, and the baseline {of_baseline}s; evaluate both alike: a run folder "
            f"with --unit {of_scores}, scores by `evaluate --unit {of_scores}`"
        )


def _check_forms(scores: Scores, other: Scores | None) -> None:
    """Refuse a baseline whose ids were brought into another form, or of which other questions are held out."""
    forms = [None if part is None else part.recipe_parts.get("normalise_ids") for part in (scores, other)]
    if other is not None and forms[0] != forms[1]:
        raise InputError(
            f"the ids of one side were brought into the form {forms[0] or forms[1]}, and those of the other are as "
            "they were; evaluate both alike (--normalise-ids)"
        )
    shares = [None if part is None else part.recipe_parts.get("hold_out") for part in (scores, other)]
    if other is not None and shares[0] != shares[1]:
        raise InputError(
            f"hold_out is {shares[0]} for the scores and {shares[1]} for the baseline; evaluate both alike (--hold-out)"
        )


def _baseline(
    scores: Scores, baseline: object, truth: object, options: Mapping[str, Any], *, store: object
) -> tuple[Scores | None, str | None, Past | None]:
    """Scores that hold the baseline, its name, and what a store says of it.

    The name is None where it is that of each system judged.
    """
    past = None
    if baseline is None:
        return None, None, past
    if isinstance(baseline, str) and baseline in scores.systems:
        return scores, baseline, past
    if isinstance(baseline, str) and baseline.startswith(PREFIX):
        baseline = past_of(baseline, store, scores)
    if isinstance(baseline, Past):
        past, baseline = baseline, baseline.baseline
    if isinstance(baseline, str | Path):
        if not os.path.exists(baseline):
            systems = nearest(str(baseline), scores.systems)
            raise InputError(f"{baseline}: is neither a system of the scores ({systems}) nor a file")
        own = {name: value for name, value in options.items() if name != "verdicts" and (name != "labels" or not value)}
        is_run = find_run_folder(baseline) is not None
        baseline = open_scores(baseline, measures=scores.measures, truth=truth, options=own if is_run else {}).scores
    check_scores("gate", baseline)
    baseline = cast("Scores", baseline)
    return baseline, baseline.systems[0] if len(baseline.systems) == 1 else None, past


def _judged(scores: Scores, system: str | None, baseline: str | None) -> list[str]:
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


def _level(profile: Profile | None, level: str | None) -> str | None:
    """The level to reach, if there is any."""
    levels = profile.levels if profile is not None else ()
    if level is None:
        return levels[0] if levels else None
    if profile is None:
        raise InputError(f"level {level!r} is one of a profile's; name the profile")
    if level not in levels:
        raise InputError(f"profile {profile.name} has no level {level!r}; {nearest(level, levels)}")
    return level


def _check_held(scores: Scores, profile: Profile, held: list[StandardValue], judged: list[str]) -> None:
    """Refuse scores of which the profile can judge nothing."""
    if any(not math.isnan(value.value) for value in held if value.system in judged):
        return
    if any(
        value.n == 0 and profile.standard_of(measure) is value.standard for value in held for measure in scores.measures
    ):
        return  # weighed, but of no question
    raise _unfit(profile, scores)


def _unfit(profile: Profile, scores: Scores) -> InputError:
    """The error for scores that hold nothing that a profile judges."""
    there = ", ".join(map(str, scores.measures))
    names = profile.measures or [key.replace("@k", "@10") for key in profile.standards]
    return InputError(
        f"profile {profile.name} does not judge {there}; evaluate what it does: steelyard evaluate ... "
        + " ".join(f"-m {name}" for name in names)
    )


def _truth(scores: Scores) -> str | None:
    """The digest of what the scores were weighed against, where it is known."""
    part = scores.recipe_parts.get("truth")
    truth = part() if callable(part) else part
    return str(truth["digest"]) if isinstance(truth, Mapping) and "digest" in truth else None
