"""`steelyard export`."""

from __future__ import annotations

from pathlib import Path

from steelyard.cli.progress import SOON, progress_bars
from steelyard.experiment.door.choices import named_verdicts
from steelyard.experiment.exporting import export
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words


def run(
    questions: str, outputs: str, *, to: str, measures: list[str], verdicts: list[str], judge: str | None,
    output: Path | None, lang: str | None,
) -> None:  # fmt: skip
    """Write what another tool reads."""
    refuse_overwriting(output or "-", [questions, *run_paths([outputs])])
    with progress_bars(read_words(lang), after=SOON) as bars:
        exported = export(
            questions, outputs, to, measures=measures, verdicts=named_verdicts(verdicts), judge=judge,
            save=output or "-", progress=bars,
        )  # fmt: skip
    if output is not None:
        print(f"{output}: {exported}")
