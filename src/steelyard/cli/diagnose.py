"""`steelyard diagnose`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.diagnosis.diagnosing import Diagnosis, diagnose
from steelyard.diagnosis.funnel import STAGES
from steelyard.diagnosis.outcomes import OUTCOMES
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    truth: str, runs: list[str], *, stages: list[str], format: str | None, output: Path | None, lang: str | None,
    **options: Any,
) -> None:  # fmt: skip
    """Diagnose the runs and write where the gold was lost, what could be reached, and what to try."""
    words = read_words(lang)
    for stage in stages:
        if stage not in (*STAGES, *OUTCOMES):
            raise InputError(f"no stage or outcome is called {stage!r}; {nearest(stage, [*STAGES, *OUTCOMES])}")
    refuse_overwriting(output or "-", inputs_of(truth, runs, options))
    format = chosen_format(Diagnosis, output, format)
    with progress_bars(words, after=SOON) as bars:
        diagnosis = diagnose(truth, runs, **keywords(options), progress=bars)
    write_result(diagnosis, format, output, lang=words.code, stages=stages)
