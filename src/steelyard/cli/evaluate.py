"""`steelyard evaluate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.cli.terminal import terminal_width
from steelyard.data.truth import OnDuplicate
from steelyard.experiment import defaults
from steelyard.experiment.defaults import Policy
from steelyard.experiment.evaluation import evaluate
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import rate
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.report.formats.scores import FORMATS, IN_WORDS
from steelyard.report.formats.sheets import SHEET_FORMATS
from steelyard.report.formats.suffix import format_of
from steelyard.report.sheets.rating import rating_sheets
from steelyard.report.words import read_words


def run(
    truth: str, runs: list[str], measures: list[str], *, min_gain: float | None, missing: Policy, no_relevant: Policy,
    on_duplicate: OnDuplicate, per_query: bool, format: str | None, output: Path | None, seed: int,
    rule: str, steps: Sequence[str] | None, corpus: str | None, profile: str | None, lang: str | None,
) -> None:  # fmt: skip
    """Weigh the runs, rate them where there is a profile, and write the result."""
    refuse_overwriting(output or "-", [truth, *runs])
    words, format = read_words(lang), format_of(output, format)
    if format not in FORMATS:
        raise InputError(f"scores cannot be written as {format}; choose {', '.join(FORMATS)}")
    rated = None if profile is None else Profile.read(profile)
    specs = measures or (rated.measures if rated else ()) or defaults.MEASURES
    scores = evaluate(
        truth, runs, specs, min_gain=min_gain, missing=missing, no_relevant=no_relevant,
        on_duplicate=on_duplicate, seed=seed, rule=rule, steps=steps,
        corpus=corpus,
    )  # fmt: skip
    on_screen = format == "table" and output is None
    view: dict[str, Any] = {"width": terminal_width(), "colour": sys.stdout.isatty()} if on_screen else {}
    in_words = format in IN_WORDS
    text = FORMATS[format](scores, per_query=per_query, **({"words": words} if in_words else {}), **view)
    if rated and in_words:  # The other formats hold numbers for programs, which rate by levels of their own.
        sheets = rating_sheets(rate(scores, rated), rated, words)
        text = "\n".join([text, *(SHEET_FORMATS[format](sheet, **view) for sheet in sheets)])
    write_text(output or "-", text)
