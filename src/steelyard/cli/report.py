"""`steelyard report`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.experiment.evaluation import weigh
from steelyard.experiment.review_choice import named_labels
from steelyard.experiment.verdict_choice import named_verdicts
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.report import report_terminal
from steelyard.report.formats.suffix import format_of
from steelyard.report.report import REPORT_FORMATS, Report
from steelyard.report.words import read_words


def run(
    truth: str, runs: list[str], measures: list[str], *, output: Sequence[Path], charts: Path | None, title: str,
    baseline: str | None, test: str | None, correction: str | None, margin: float | None, alpha: float,
    profile: str | None, k: int | None, min_gain: float | None, queries: str | None, rule: str,
    steps: Sequence[str] | None, unit: Unit | None, corpus: str | None, cluster: str | None, seed: int,
    verdicts: list[str], judge: str | None, labels: list[str], no_labels: bool, mixed_judges: bool, lang: str | None,
) -> None:  # fmt: skip
    """Weigh, compare, rate and diagnose the runs; write one report into each file, or onto the terminal."""
    words = read_words(lang)
    for path in output:
        refuse_overwriting(path, [truth, *run_paths(runs)])
        if format_of(path, None) not in REPORT_FORMATS or (format_of(path, None) == "table" and path.suffix != ".txt"):
            raise InputError(f"{path}: no report is written so; let it end in .html, .md, .tex, .csv, .json or .txt")
    with progress_bars(words, after=SOON) as bars:
        weighing = weigh(
            truth, runs, rule=rule, steps=steps, unit=unit, queries=queries, corpus=corpus, cluster=cluster,
            verdicts=named_verdicts(verdicts), judge=judge, labels=named_labels(labels, without=no_labels),
            progress=bars,
        )  # fmt: skip
        report = Report.of(
            weighing, measures, baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha,
            profile=profile, k=k, min_gain=min_gain, seed=seed, title=title, mixed_judges=mixed_judges,
        )  # fmt: skip
    for path in output:
        report.write(path, lang=words.code)
        print(path)
    if charts is not None:
        from steelyard.report.charts.saving import save_charts

        for path in save_charts(report, charts, words=words):
            print(path)
    if not output and charts is None:
        print(report_terminal(report, words, width=terminal_width(), colour=sys.stdout.isatty()), end="")
