"""`steelyard compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from steelyard.base.choices import Policy, Unit
from steelyard.base.errors import InputError
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.comparison.comparison import compare
from steelyard.comparison.result import Comparison
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.verdict_choice import named_verdicts
from steelyard.experiment.review_choice import named_labels
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.report.words import read_words
from steelyard.report.writing import chosen_format


def run(
    truth: str, runs: list[str], measures: list[str], *, baseline: str | None, test: str | None,
    correction: str | None, margin: float | None, alpha: float, strict: bool, format: str | None, output: Path | None,
    seed: int, min_gain: float | None, rule: str, steps: Sequence[str] | None, unit: Unit | None, corpus: str | None,
    segment: str | None, movers: int | None, queries: str | None, cluster: str | None, lang: str | None,
    missing: Policy, verdicts: list[str], judge: str | None, labels: list[str], no_labels: bool,
    anchors: Sequence[str] | None, mixed_judges: bool, safe_csv: bool,
) -> None:  # fmt: skip
    """Compare the runs and write the result."""
    inputs = [truth, *run_paths(runs), *([queries] if queries else []), *(anchors or [])]
    words, format = read_words(lang), chosen_format(Comparison, output, format)
    if movers and format in ("csv", "latex"):
        raise InputError(f"--movers: rankings are not written as {format}; choose table, markdown or json")
    refuse_overwriting(output or "-", inputs)
    with progress_bars(words, after=SOON) as bars:
        weighing = weigh(
            truth, runs, rule=rule, steps=steps, unit=unit, corpus=corpus, queries=queries, cluster=cluster,
            verdicts=named_verdicts(verdicts), judge=judge, labels=named_labels(labels, without=no_labels),
            progress=bars,
        )  # fmt: skip
        comparison = compare(
            weighing, measures, baseline=baseline, test=test, correction=correction, margin=margin, alpha=alpha,
            strict=strict, seed=seed, segments=segment, movers=movers, min_gain=min_gain, missing=missing,
            anchors=(anchors[0], anchors[1]) if anchors else None, mixed_judges=mixed_judges,
        )  # fmt: skip
    write_result(comparison, format, output, lang=words.code, safe_csv=safe_csv)
