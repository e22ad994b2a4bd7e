"""`steelyard report`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.cli.commands import COMMANDS
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import screen_view, show, write_result
from steelyard.data.folders.manifests import find_bench_folder
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.verdict_choice import named_verdicts
from steelyard.experiment.review_choice import named_labels
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.report import report_terminal
from steelyard.report.formats.suffix import format_of
from steelyard.report.report import REPORT_FORMATS, Report
from steelyard.report.words import Words, read_words

if TYPE_CHECKING:
    from steelyard.report.benching import BenchReport


def run(
    truth: str, runs: list[str], *, output: Sequence[Path], charts: Path | None, title: str, safe_csv: bool,
    lang: str | None, **options: Any,
) -> None:  # fmt: skip
    """Write one report of the runs, or of a bench, into each file, or onto the terminal."""
    words = read_words(lang)
    for path in output:
        refuse_overwriting(path, [truth, *run_paths(runs)])
        if format_of(path, None) not in REPORT_FORMATS or (format_of(path, None) == "table" and path.suffix != ".txt"):
            raise InputError(f"{path}: no report is written so; let it end in .html, .md, .tex, .csv, .json or .txt")
    report = _of_runs(truth, runs, title, words, **options) if runs else _of_bench(truth, title, options)
    for path in output:
        format = format_of(path, None)
        write_result(report.text(format, lang=words.code), format, path, safe_csv=safe_csv)
        print(path)
    if charts is not None:
        for path in _saved(report, charts, words):
            print(path)
    if not output and charts is None:
        show(_shown(report, words))


def _saved(report: Report | BenchReport, folder: Path, words: Words) -> list[Path]:
    """The files of every chart."""
    if not isinstance(report, Report):
        return report.save_charts(folder, lang=words.code)
    from steelyard.report.charts.saving import save_charts

    return save_charts(report, folder, words=words)


def _shown(report: Report | BenchReport, words: Words) -> str:
    """What the terminal shows."""
    if isinstance(report, Report):
        return report_terminal(report, words, **screen_view())
    from steelyard.report.formats.bench import bench_terminal

    return bench_terminal(report.bench, words, title=report.title, **screen_view())


def _of_bench(path: str, title: str, options: Mapping[str, Any]) -> BenchReport:
    """The report of a bench, whose modules take a moment to import."""
    from steelyard.report.benching import BenchReport

    if find_bench_folder(path) is None:
        raise InputError(f"{path}: name the runs behind it; alone, only the folder of a bench has a report")
    _refuse_options(path, options)
    return BenchReport.read(path, title=title)


def _of_runs(
    truth: str, runs: list[str], title: str, words: Words, *, measures: list[str], baseline: str | None,
    test: str | None, correction: str | None, margin: float | None, alpha: float, profile: str | None, k: int | None,
    min_gain: float | None, queries: str | None, rule: str, steps: Sequence[str] | None, unit: Unit | None,
    corpus: str | None, cluster: str | None, seed: int, verdicts: list[str], judge: str | None, labels: list[str],
    no_labels: bool, mixed_judges: bool,
) -> Report:  # fmt: skip
    """Weigh, compare, rate and diagnose the runs."""
    with progress_bars(words, after=SOON) as bars:
        weighing = weigh(
            truth, runs, rule=rule, steps=steps, unit=unit, queries=queries, corpus=corpus, cluster=cluster,
            verdicts=named_verdicts(verdicts), judge=judge, labels=named_labels(labels, without=no_labels),
            progress=bars,
        )  # fmt: skip
        return Report.of(
            weighing, measures, baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha,
            profile=profile, k=k, min_gain=min_gain, seed=seed, title=title, mixed_judges=mixed_judges,
        )  # fmt: skip


def _refuse_options(path: str, options: Mapping[str, Any]) -> None:
    """Raise   InputError for an option of runs beside a bench, which was weighed when it was measured."""
    command = COMMANDS["report"]
    defaults = command.parse("steelyard report", [path])
    for argument in command.arguments:
        name = argument.settings.get("dest", argument.names[0].lstrip("-").replace("-", "_"))
        if name in options and options[name] != defaults[name]:
            raise InputError(f"{argument.names[0]} is for runs, and only {path} is named; name a run behind it")
