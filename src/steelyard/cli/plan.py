"""`steelyard plan`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.base.choices import Policy, Unit
from steelyard.base.errors import InputError
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import screen_view, write_result
from steelyard.comparison.design import plan
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.verdict_choice import named_verdicts
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.design import DESIGN_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.words import read_words


def run(
    truth: str | None, runs: list[str], measures: list[str], *, difference: float, sd: float | None,
    n_systems: int | None, power: float, alpha: float, min_gain: float | None, missing: Policy, rule: str,
    steps: Sequence[str] | None, unit: Unit | None, corpus: str | None, cluster: str | None, verdicts: list[str],
    judge: str | None, format: str | None, output: Path | None, safe_csv: bool, lang: str | None,
) -> None:  # fmt: skip
    """Plan from the pilot, or from a standard deviation, and write the result."""
    words, format = read_words(lang), format_of(output, format)
    if format not in DESIGN_FORMATS:
        raise InputError(f"a plan cannot be written as {format}; choose table, markdown, latex, csv or json")
    if truth is not None and not runs:
        raise InputError(f"{truth}: a truth without a run; name one run or several behind it, better two")
    refuse_overwriting(output or "-", [truth, *run_paths(runs)] if truth else [])
    with progress_bars(words, after=SOON) as bars:
        pilot = None if truth is None else weigh(
            truth, runs, rule=rule, steps=steps, unit=unit, corpus=corpus, cluster=cluster,
            verdicts=named_verdicts(verdicts), judge=judge, progress=bars,
        )  # fmt: skip
        design = plan(
            pilot, measures, difference=difference, sd=sd, n_systems=n_systems, power=power, alpha=alpha,
            min_gain=min_gain, missing=missing,
        )  # fmt: skip
    view = screen_view(output) if format == "table" else {}
    write_result(DESIGN_FORMATS[format](design, words, **view), format, output, safe_csv=safe_csv)
