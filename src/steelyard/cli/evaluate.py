"""`steelyard evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.cli.given import inputs_of, keywords
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.terminal import write_result
from steelyard.experiment.door.evaluation import evaluate
from steelyard.experiment.table.scores import Scores
from steelyard.io.write import refuse_overwriting
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    truth: str, runs: list[str], measures: list[str], *, per_query: bool, profile: str | None, format: str | None,
    output: Path | None, safe_csv: bool, lang: str | None, **options: Any,
) -> None:  # fmt: skip
    """Weigh the runs, rate them where there is a profile, and write the result."""
    refuse_overwriting(output or "-", inputs_of(truth, runs, options))
    words, format = read_words(lang), chosen_format(Scores, output, format)
    rated = None
    if profile is not None:
        from steelyard.gates.profiles import Profile

        rated = Profile.read(profile)
    specs = measures or (rated.measures if rated else ()) or None
    with progress_bars(words, after=SOON) as bars:
        scores = evaluate(truth, runs, specs, **keywords(options), progress=bars)
    view = {"per_query": per_query, "profile": rated}
    write_result(scores, format, output, lang=words.code, safe_csv=safe_csv, **view)
