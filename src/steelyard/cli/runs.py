"""The commands that weigh runs: they compute nothing, and hand on what the functions of the same names take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.cli.recording import PREFIX
from steelyard.io.named import named_paths
from steelyard.io.source import source_of

if TYPE_CHECKING:
    from steelyard.cli.calls import Call
    from steelyard.experiment.table.scores import Scores
    from steelyard.gates.gating import Gate
    from steelyard.reports.benching import BenchReport
    from steelyard.reports.report import Report

_OF_MEANS = ("level", "baseline", "best", "relative")
"""Kinds of checks that a mean fails, and a diagnosis may explain."""


_KEPT = ("baseline", "margin", "cluster", "questions", "hold_out")
"""Options of `compare` that the report after it takes, too."""


def evaluate(
    call: Call,
    truth: str,
    runs: list[str],
    *,
    measures: list[str],
    per_query: bool,
    profile: str | None = None,
    **options: Any,
) -> None:
    """Weigh the runs, and rate them where there is a profile."""
    rated = None
    if profile is not None:
        from steelyard.gates.profiles import Profile

        rated = Profile.read(profile)
    named = measures or (rated.measures if rated else ()) or None
    if stored := call.stored(truth, *runs):
        scores = _of_entries(stored, named, options)
        call.write(scores, per_query=per_query, profile=rated)
        return
    scores = call.ask(truth, runs or None, named, **options)
    call.write(scores, following=_following(scores, truth, runs, measures), per_query=per_query, profile=rated)


def _of_entries(stored: Mapping[str, Scores], measures: Iterable[str] | None, options: Mapping[str, Any]) -> Scores:
    """The scores of entries as one, by some measures.

    Raises   InputError for options of evaluating, and for a measure that they do not have.
    """
    from steelyard.experiment.door.evaluation import refuse_options
    from steelyard.store.opening import together

    refuse_options("an entry holds scores already", options)
    return together(stored).filter(measures=list(measures) if measures else None)


def _following(scores: Scores, truth: str, runs: list[str], measures: list[str]) -> list[str]:
    """The command after `evaluate`: compare several systems, diagnose one, or show answers and what lacks support."""
    if scores.primary in scores.without_gold:
        return []
    if len(scores.systems) > 1:
        return ["compare", truth, *runs, *(["-m", measures[0]] if measures else []), *held_out(scores)]
    if scores.primary.definition.of_answers:
        return ["report", truth, *runs, *held_out(scores), "-o", "report.html"]
    return ["diagnose", truth, *runs, *held_out(scores)]


def held_out(scores: Scores) -> list[str]:
    """The option by which a command that follows holds out the same questions."""
    share = scores.recipe_parts.get("hold_out")
    return [] if share is None else ["--hold-out", str(share)]


def compare(call: Call, truth: str, runs: list[str], *, measures: list[str], **options: Any) -> None:
    """Compare the runs."""
    if options.get("movers") and call.format in ("csv", "latex"):
        raise InputError(f"--movers: rankings are not written as {call.format}; choose table, markdown or json")
    words = [
        *(("-m", measure) for measure in measures),
        *((f"--{name.replace('_', '-')}", str(options[name])) for name in _KEPT if name in options),
    ]
    following = ["report", truth, *runs, *(word for pair in words for word in pair), "-o", "report.html"]
    if options.get("unpaired"):
        following = []  # Reports are of one truth.
    if call.recording is not None:
        options.setdefault("store", call.recording.store)
    if not (stored := call.stored(truth, *runs)):
        comparison = call.ask(truth, runs or None, measures, **options)
    elif options.get("unpaired"):
        (first, scores), *others = stored.items()
        comparison = call.compute({first: scores}, dict(others), measures, **options)
    else:
        comparison = call.compute(_of_entries(stored, measures, {}), None, (), **options)
    call.write(comparison, following=[] if stored else following, movers="movers" in options)


def plan(call: Call, truth: str | None, runs: list[str], *, measures: list[str], **options: Any) -> None:
    """Plan questions from the pilot, or from a standard deviation; or labels from verdicts."""
    from steelyard.comparison.label_design import LabelDesign

    if truth is not None and not runs:
        raise InputError(f"{truth}: a truth without a run; name one run or several behind it, better two")
    design = call.ask(truth, runs or None, measures, **options)
    if isinstance(design, LabelDesign):
        needed = design.wished["labels"]
        sample = ["review", "sample", truth, *runs, "-n", str(needed), "-o", "review"] if truth and needed else []
        call.write(design, following=sample)
        return
    needed = design.wished.needed
    is_enough = design.pilot is not None and needed is not None and needed <= design.pilot.n
    following = ["compare", truth, *runs, "-m", str(design.measure)] if truth and is_enough and len(runs) > 1 else []
    call.write(design, following=following)


def diagnose(call: Call, truth: str, runs: list[str], *, stages: list[str], **options: Any) -> None:
    """Diagnose the runs: where the gold was lost, what could be reached, and what to try."""
    from steelyard.diagnosis.funnel import STAGES
    from steelyard.diagnosis.outcomes import OUTCOMES
    from steelyard.reports.views.diagnosis import worst

    for stage in stages:
        if stage not in (*STAGES, *OUTCOMES):
            raise InputError(f"no stage or outcome is called {stage!r}; {nearest(stage, [*STAGES, *OUTCOMES])}")
    diagnosis = call.ask(truth, runs or None, **options)
    lost = None if stages else worst(diagnosis)
    call.write(diagnosis, following=[*call.typed, "--stage", lost[0]] if lost else [], stages=stages)


def report(
    call: Call, truth: str, runs: list[str], *, measures: list[str], output: list[Path], charts: Path | None,
    one_page: bool = False, **options: Any,
) -> None:  # fmt: skip
    """Write one report of the runs, or of a bench, into each file, or onto the terminal."""
    from steelyard.cli.terminal import write_result
    from steelyard.data.folders.manifests import find_bench_folder
    from steelyard.reports.page.slide import slide_format
    from steelyard.reports.report import Report
    from steelyard.reports.views.view import view_of
    from steelyard.reports.writing import format_of

    lang, formats = call.words.code, view_of(Report).formats
    is_bench = not runs and find_bench_folder(truth) is not None
    if one_page and (is_bench or not output):
        lacks = (
            "runs: a bench has no single finding; leave it out" if is_bench else "a file, such as --output slide.pdf"
        )
        raise InputError(f"--one-page needs {lacks}")
    for path in output:
        if one_page:
            slide_format(path)
        elif format_of(path, None) not in formats or (format_of(path, None) == "table" and path.suffix != ".txt"):
            raise InputError(
                f"{path}: no report is written so; let it end in .html, .md, .tex, .csv, .json or .txt, "
                "or with --one-page in .html, .pdf, .png or .svg"
            )
    of_kind = _of_entry if truth.startswith(PREFIX) else _of_bench if is_bench else None
    report = (
        call.ask(truth, runs or None, measures, **options)
        if of_kind is None
        else of_kind(call, truth, [*runs, *measures], **options)
    )
    for path in output:
        if one_page:
            report.write(path, lang=lang, one_page=True)
        else:
            write_result(report, format_of(path, None), path, lang=lang, safe_csv=call.safe_csv)
        print(path)
    if charts is not None:
        for path in report.save_charts(charts, lang=lang):
            print(path)
    if not output and charts is None:
        call.write(report, following=[*call.typed, "-o", "report.html"])
    else:
        call.record(report)


def _of_entry(call: Call, ref: str, others: list[str], **options: Any) -> Report:
    """The report that an entry holds.

    others   runs and measures, of which a report that is made already takes none, nor options
    Raises   InputError for these, and for an entry without a report.
    """
    from steelyard.reports.report import Report
    from steelyard.store.opening import open_store

    for other in [*others, *(f"--{name.replace('_', '-')}" for name in options)]:
        raise InputError(f"{ref}: is a report that is made already; leave out {other}")
    with open_store() if call.recording is None else call.recording.store as store:
        result = store.result(ref)
    if not isinstance(result, Report):
        raise InputError(f"{ref}: is no report; show it by `steelyard history show`, or report on its truth and runs")
    if call.recording is not None:
        call.recording.is_known = True
    return result


def _of_bench(call: Call, path: str, measures: list[str], *, title: str = "", **options: Any) -> BenchReport:
    """The report of a bench, whose modules take a moment to import.

    Raises   InputError for options of runs, which were weighed when it was measured.
    """
    from steelyard.reports.benching import BenchReport

    for name in [*(["measure"] if measures else []), *options]:
        raise InputError(f"--{name.replace('_', '-')} is for runs, and only {path} is named; name a run behind it")
    return BenchReport.read(path, title=title)


def gate(
    call: Call, scores: str | None, runs: list[str], *, junit: Path | None, summary: Path | None, **options: Any
) -> int:
    """Judge scores, and return 0 (pass), 1 (fail) or 3 (too few data); a baseline of a store is of the one named."""
    if call.recording is not None:
        options["store"] = call.recording.store
    verdict = call.compute(None, **options) if scores is None else call.ask(scores, runs or None, **options)
    if junit is not None:
        verdict.write(junit, format="junit", lang=call.words.code)
    if summary is not None:
        verdict.write(summary, format="markdown", lang=call.words.code)
    call.write(verdict, following=_diagnosis(verdict, scores, runs, options.get("truth")))
    return int(verdict.exit_code)


def comment(call: Call, summary: str, **options: Any) -> None:
    """Comment on the pull request, and print where; say so where the job is of none."""
    text = source_of(summary).read().decode(errors="replace")
    print(call.compute(text, **options) or call.words("gate.no_request"))


def _diagnosis(verdict: Gate, scores: str | None, runs: list[str], truth: object) -> list[str]:
    """The words of `diagnose` for the runs of systems that fail by a measure; none where no truth is named."""
    truth, runs = (scores, runs) if runs else (truth, [scores] if scores else [])
    failed = {own.system for own in verdict.checks if own.outcome == "fail" and own.n and own.kind in _OF_MEANS}
    if not failed or truth is None:
        return []
    names = {run: {named_paths(run)[0], Path(run).name, Path(run).stem} for run in runs}
    return ["diagnose", str(truth), *([run for run in runs if names[run] & failed] or runs)]


def agreement(call: Call, labels: list[str], *, runs: list[str], charts: Path | None, **options: Any) -> None:
    """Compare the raters, and draw charts where a folder is named."""
    result = call.ask(labels, runs=runs or None, **options)
    if charts is not None:
        from steelyard.reports.charts.agreement import draw_agreement
        from steelyard.reports.charts.plot import save_drawings

        save_drawings(lambda: draw_agreement(result, words=call.words), charts)
    call.write(result)


def measures(call: Call, name: str | None) -> None:
    """List all measures, or explain one."""
    from steelyard.cli.terminal import screen_view, show

    show(call.function(name, **screen_view()))


def convert(call: Call, source: str, target: Path, **options: Any) -> None:
    """Read a run or a truth and write it in another format."""
    from steelyard.reports.views.notes import note_text
    from steelyard.reports.visible import visible

    conversion = call.function(source, target, safe_csv=call.safe_csv, **options)
    if str(target) != "-":
        print(_written(call, target, conversion))
        for note in conversion.notes:
            print(visible(note_text(note, call.words)))


def export(call: Call, questions: str, outputs: str, *, to: str, **options: Any) -> None:
    """Write what another tool reads."""
    exported = call.ask(questions, outputs, to, save=call.output or "-", **options)
    if call.output is not None:
        print(_written(call, call.output, exported))


def _written(call: Call, file: Path, counts: object) -> str:
    """What was written into a file, in the language of the command."""
    from steelyard.cli.translation import translator

    return translator(call.words.code)(f"{file}: {counts}")
