"""`steelyard evaluate`."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.cli.terminal import terminal_width
from steelyard.errors import InputError
from steelyard.evaluation import DEFAULT_MEASURES, Policy, evaluate
from steelyard.io.source import strip_compression
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.report.formats import FORMATS
from steelyard.truth import OnDuplicate

_BY_SUFFIX = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}


def run(
    truth: str, runs: list[str], measures: list[str], *, min_gain: float | None, missing: Policy, no_relevant: Policy,
    on_duplicate: OnDuplicate, per_query: bool, format: str | None, output: Path | None, seed: int,
) -> None:  # fmt: skip
    """Weigh the runs and write the result."""
    if [truth, *runs].count("-") > 1:
        raise InputError("standard input (-) can be given once only")
    refuse_overwriting(output or "-", [truth, *runs])
    format = format or _BY_SUFFIX.get(Path(strip_compression(str(output))[0]).suffix, "table")
    scores = evaluate(
        truth, runs, measures or DEFAULT_MEASURES, min_gain=min_gain, missing=missing, no_relevant=no_relevant,
        on_duplicate=on_duplicate, seed=seed,
    )  # fmt: skip
    on_screen = format == "table" and output is None
    view = {"width": terminal_width(), "colour": sys.stdout.isatty()} if on_screen else {}
    write_text(output or "-", FORMATS[format](scores, per_query=per_query, **view))
