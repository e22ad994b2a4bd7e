"""`steelyard diagnose`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import screen_view, write_result
from steelyard.diagnosis.diagnosing import diagnose
from steelyard.diagnosis.funnel import STAGES
from steelyard.diagnosis.outcomes import OUTCOMES
from steelyard.io.write import refuse_overwriting
from steelyard.report.formats.blocks import blocks_markdown, blocks_terminal
from steelyard.report.formats.diagnosis import diagnosis_json
from steelyard.report.formats.suffix import format_of
from steelyard.report.views.diagnosis import diagnosis_sections, stage_lists
from steelyard.report.words import read_words


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
    format = format_of(output, format)
    if format not in ("table", "markdown", "json"):
        raise InputError(f"a diagnosis cannot be written as {format}; choose table, markdown or json")
    with progress_bars(words, after=SOON) as bars:
        diagnosis = diagnose(truth, runs, **keywords(options), progress=bars)
    if stages and format != "json":
        text = stage_lists(diagnosis, stages, words)
    elif format == "json":
        text = diagnosis_json(diagnosis, words)
    elif format == "markdown":
        text = blocks_markdown(diagnosis_sections(diagnosis, words))
    else:
        text = blocks_terminal(diagnosis_sections(diagnosis, words), **screen_view(output))
    write_result(text, format, output)
