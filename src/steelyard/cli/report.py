"""`steelyard report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError
from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.data.folders.manifests import find_bench_folder
from steelyard.io.write import refuse_overwriting
from steelyard.reports import report as reports
from steelyard.reports.formats.suffix import format_of
from steelyard.reports.words import read_words
from steelyard.reports.writing import view_of

if TYPE_CHECKING:
    from steelyard.reports.benching import BenchReport


def run(
    truth: str, runs: list[str], measures: list[str], *, output: Sequence[Path], charts: Path | None, safe_csv: bool,
    lang: str | None, **options: Any,
) -> None:  # fmt: skip
    """Write one report of the runs, or of a bench, into each file, or onto the terminal."""
    words, formats = read_words(lang), view_of(reports.Report).formats
    for path in output:
        refuse_overwriting(path, inputs_of(truth, runs, options))
        if format_of(path, None) not in formats or (format_of(path, None) == "table" and path.suffix != ".txt"):
            raise InputError(f"{path}: no report is written so; let it end in .html, .md, .tex, .csv, .json or .txt")
    report: reports.Report | BenchReport
    if runs:
        with progress_bars(words, after=SOON) as bars:
            report = reports.report(truth, runs, measures, **keywords(options), progress=bars)
    else:
        report = _of_bench(truth, measures, **options)
    for path in output:
        write_result(report, format_of(path, None), path, lang=words.code, safe_csv=safe_csv)
        print(path)
    if charts is not None:
        for path in report.save_charts(charts, lang=words.code):
            print(path)
    if not output and charts is None:
        write_result(report, "table", None, lang=words.code)


def _of_bench(path: str, measures: Sequence[str], *, title: str = "", **options: Any) -> BenchReport:
    """The report of a bench, whose modules take a moment to import.

    Raises   InputError for options of runs, which were weighed when it was measured.
    """
    from steelyard.reports.benching import BenchReport

    if find_bench_folder(path) is None:
        raise InputError(f"{path}: name the runs behind it; alone, only the folder of a bench has a report")
    for name in [*(["measure"] if measures else []), *options]:
        raise InputError(f"--{name.replace('_', '-')} is for runs, and only {path} is named; name a run behind it")
    return BenchReport.read(path, title=title)
