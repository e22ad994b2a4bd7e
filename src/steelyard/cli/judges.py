"""The commands that ask judges, and those that let people review what judges said."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base import defaults
from steelyard.base.errors import InputError

if TYPE_CHECKING:
    from steelyard.base.progress import Progress
    from steelyard.cli.calls import Call
    from steelyard.experiment.judging import JudgedRun
    from steelyard.judges.grading.grades import Grades

FAILED = 1
_OPTIONS = {"calibrations": "--calibration", "criteria": "--criterion", "criteria_file": "--criteria"}
"""Options that are called otherwise than their values."""
"""Exit status of `steelyard selftest --strict` where the judge fails a test."""


@contextmanager
def _asking(call: Call, unwritten: str) -> Iterator[Progress]:
    """Bars while a judge is asked; what a judge of the user's own prints goes to standard error, not among the result.

    unwritten   what an interruption leaves unwritten, such as "verdicts were"
    """
    kept = f"no {unwritten} written. What a model answered is in the cache, and the same command does not ask it again"
    with call.progress(lambda _: kept) as bars, redirect_stdout(sys.stderr):
        yield bars


def judge(
    call: Call, questions: str, outputs: str | None, *, judge: str, into: Path | None, pairwise: list[str] | None,
    **options: Any,
) -> None:  # fmt: skip
    """Judge the answers of a system, keep the verdicts, and write what they are; or what judging would take."""
    hold_out = options.pop("hold_out", None)
    if pairwise is not None:
        _pairwise(call, questions, outputs, pairwise, judge=judge, into=into, hold_out=hold_out, **options)
        return
    if outputs is None:
        raise InputError("no outputs are given; name a run folder or a file with answers, or --pairwise RUN RUN")
    from steelyard.experiment.judging import JudgedRun, judge_panel, plan_judging
    from steelyard.judges.judging import JudgeOptions

    panel, calibrations, dry_run = (options.pop(name) for name in ("panel", "calibrations", "dry_run"))
    kinds = {name: options.pop(name) for name in ("tables", "new_nuggets", "answer_units", "criteria", "criteria_file")}
    settings, save = _settings(**options), True if into is None else into
    result: Any
    with _asking(call, "verdicts were") as bars:
        if panel or len(calibrations) > 1:
            of_one_judge = {_OPTIONS.get(name, f"--{name.replace('_', '-')}"): value for name, value in kinds.items()}
            own_units = kinds["answer_units"] != defaults.UNITS
            of_one_judge |= {"--answer-units": own_units, "--judge": judge != defaults.JUDGE}
            for name in (name for name, value in {"--dry-run": dry_run, **of_one_judge, **settings}.items() if value):
                raise InputError(
                    f"{name} is of one judge, and a panel is of verdicts that its members left; leave it out"
                )
            result = judge_panel(questions, outputs, panel or [], calibrations=calibrations, save=save, must_keep=True)
        else:
            given = {name: value for name, value in kinds.items() if value is not None}
            given |= {"calibration": calibrations[0]} if calibrations else {}
            asked = JudgeOptions(**given, save=save, must_keep=True, progress=bars, settings=settings)
            result = (plan_judging if dry_run else call.function)(questions, outputs, judge, asked)
    if not isinstance(result, JudgedRun):
        call.write(result)
        return
    following = _evaluation(result, questions, outputs)
    if hold_out is not None:
        result, following = result.without_held_out(hold_out), following and [*following, "--hold-out", str(hold_out)]
    call.write(result, following=following)


def _pairwise(
    call: Call, questions: str, outputs: str | None, systems: list[str], *, judge: str, into: Path | None,
    dry_run: bool, **options: Any,
) -> None:  # fmt: skip
    """Compare answers of several systems, and write who is preferred; or what comparing would take."""
    from steelyard.experiment.preferences import PairwiseOptions, compared_in_pairs, plan_pairwise

    if judge != "llm":
        raise InputError("--pairwise: answers are compared by a language model; name it: --judge llm --model MODEL")
    usual: dict[str, Any] = {"panel": None, "calibrations": [], "tables": None, "new_nuggets": False, "criteria": [],
             "criteria_file": None, "answer_units": defaults.UNITS, "hold_out": None}  # fmt: skip
    for name, value in usual.items():
        if options.pop(name) != value:
            option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
            raise InputError(f"{option} is of one system's answers, and --pairwise compares several; leave it out")
    runs = systems if outputs is None else [outputs, *systems]
    with _asking(call, "comparisons were") as bars:
        save = True if into is None else into
        asked = PairwiseOptions(save=save, must_keep=True, progress=bars, settings=_settings(**options))
        result = (plan_pairwise if dry_run else compared_in_pairs)(questions, runs, asked)
    call.write(result)


def _evaluation(run: JudgedRun, questions: str, outputs: str) -> list[str]:
    """The words of `evaluate` by the measures that the verdicts allow; none where they allow none."""
    from steelyard.judges.tables.verdicts import FOLDER

    verdicts, tables = run.verdicts, {*run.verdicts.recipe.get("tables", ())}
    has_gold = any(record.gold_units for record in verdicts.records.values())
    measures = {
        "faithfulness": bool(tables & {"support", "grounded"}),
        "answer_f1": has_gold and tables >= {"correctness", "said"},
        "citation_support": bool(verdicts.counts["citations"]) and "joint" in tables,
    }
    own = [criterion["name"] for criterion in verdicts.recipe.get("criteria", [])]
    measures |= {name if name == "answer_grade" else f"criterion(name={name})": True for name in own}
    named = [word for name, is_judged in measures.items() if is_judged for word in ("-m", name)]
    is_apart = run.file is not None and run.file.parent.name != FOLDER
    apart = ["--verdicts", str(run.file)] if is_apart else []
    return ["evaluate", questions, outputs, *named, *apart] if named else []


def _settings(*, cache: bool, **settings: Any) -> dict[str, Any]:
    """The settings of a judge that are given."""
    return {name: value for name, value in settings.items() if value is not None} | ({} if cache else {"cache": None})


def selftest(
    call: Call, questions: str | None, outputs: str | None, *, judge: str, dry_run: bool, strict: bool, **options: Any
) -> int:
    """Test a judge, and write how it did; or what testing would take."""
    from steelyard.experiment.self_testing import SelfTestOptions
    from steelyard.judges.self_tests import SelfTests

    n, seed, calibration = (options.pop(name) for name in ("n", "seed", "calibration"))
    keep = (calibration or call.output or Path("selftest")).parent
    asked = SelfTestOptions(n=n, seed=seed, calibration=calibration, keep=keep, settings=_settings(**options))
    with _asking(call, "results were") as bars:
        result = asked.plan(judge, questions, outputs) if dry_run else asked.run(judge, questions, outputs, bars)
    following = ["review", "sample", questions, outputs, "-o", "review"] if questions and outputs else []
    following = following if calibration is None else ["gate", "--calibration", str(calibration)]
    following = [] if dry_run else following
    call.write(result, following=following, **({"file": calibration} if isinstance(result, SelfTests) else {}))
    return FAILED if strict and isinstance(result, SelfTests) and result.failed else 0


def label(
    call: Call, questions: str, sources: list[str], *, judge: str, output: Path, dry_run: bool, **options: Any
) -> None:
    """Grade pooled documents and write the truth, and print what it is; or what that would take."""
    from steelyard.judges.grading.grades import Grades
    from steelyard.rag.labelling import LabelOptions

    of_pool = {name: options.pop(name) for name in ("scale", "depth", "keep", "documents", "unit")}
    asked = LabelOptions(**of_pool, save=output, settings=_settings(**options))
    with _asking(call, "truth was") as bars:
        result = asked.plan(questions, sources, judge) if dry_run else asked.run(questions, sources, judge, bars)
    if isinstance(result, Grades):
        call.write(result, following=_evaluation_with(result, str(output), sources), file=str(output))
    else:
        call.write(result)


def _evaluation_with(grades: Grades, file: str, sources: list[str]) -> list[str]:
    """The words of `evaluate` with graded pairs as truth, relevant from half of the scale on.

    The runs are those that were pooled; where documents were, others are to be named.
    """
    gains = sorted(float(grade["gain"]) for grade in grades.recipe["grades"])
    runs = ["RUN"] if grades.recipe["pool"]["documents"] else sources
    return ["evaluate", file, *runs, "--min-gain", f"{gains[len(gains) // 2]:g}"] if file != "-" else []


def review_sample(call: Call, questions: str, runs: list[str], *, output: Path, **options: Any) -> None:
    """Draw a sample, write the form, and say what was drawn."""
    sampled = call.compute(questions, runs, output, lang=call.lang, **options)
    files = {own.name: own.file for own in sampled.round.systems if own.file is not None}
    call.write(sampled, following=_importing(sampled.form, files))


def review_pool(call: Call, questions: str, sources: list[str], *, output: Path, into: Path, **options: Any) -> None:
    """Pool documents, write the form, and say what it asks."""
    from steelyard.reviewing.forms import INTO

    pooled = call.compute(questions, sources, output, into, lang=call.lang, **options)
    call.write(pooled, following=_importing(pooled.form, {INTO: pooled.into}))


def _importing(form: Path, files: Mapping[str, Path]) -> str:
    """`review import` of what people save beside a form;   files   where decisions go, by system or as `INTO`"""
    from steelyard.reviewing.forms import into_options

    folder = form.parent
    return f"review import {shlex.quote(str(folder))}/*.json {into_options(files, folder)}".rstrip()


def review_import(call: Call, files: list[str], *, into: list[str]) -> None:
    """Import labels from forms, and write what they are."""
    from steelyard.experiment.door.choices import named_labels

    call.write(call.function(files, into=named_labels(into)))


def review_report(call: Call, questions: str, runs: list[str], *, measures: list[str], **options: Any) -> None:
    """Write how far people agree with each other and with the judge."""
    report = call.compute(questions, runs, measures or None, **options)
    can_calibrate = any(own.calibration is not None and own.calibration.threshold is not None for own in report.tables)
    following = ["review", "calibrate", questions, *runs, "-o", "calibration.json"] if can_calibrate else []
    call.write(report, following=following)


def review_calibrate(call: Call, questions: str, runs: list[str], *, output: Path | None, **options: Any) -> None:
    """Calibrate a judge, keep the calibration where a file is named, and write what it is."""
    calibration = call.compute(questions, runs, **options)
    if output is not None:
        calibration = calibration.with_self_tests_in(output)
        calibration.write(output)
    following = [*call.typed, "-o", "calibration.json"] if output is None else ["gate", "--calibration", str(output)]
    call.write(calibration, following=following)
