"""`steelyard review sample`."""

from __future__ import annotations

from pathlib import Path

from steelyard.base.choices import ItemTable
from steelyard.cli.reviewing import text_of
from steelyard.cli.terminal import write_result
from steelyard.experiment.door.choices import named_labels, named_verdicts
from steelyard.reports.reviewing import sample_review
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format
from steelyard.reviewing.rounds import SampledReview


def run(
    questions: str, runs: list[str], *, output: Path, n: int | None, width: float | None, table: ItemTable,
    whole_answers: bool, adjudicate: bool, verdicts: list[str], judge: str | None, against_judges: list[str],
    labels: list[str], title: str, instructions: Path | None, format: str | None, seed: int, lang: str | None,
) -> None:  # fmt: skip
    """Draw, write the form, and say what was drawn."""
    words, format = read_words(lang), chosen_format(SampledReview, None, format)
    sampled = sample_review(
        questions, runs, output, n=n, width=width, table=table, whole_answers=whole_answers, adjudicate=adjudicate,
        judge=judge, verdicts=named_verdicts(verdicts), labels=named_labels(labels), against=against_judges, seed=seed,
        title=title, instructions=text_of(instructions), lang=words.code,
    )  # fmt: skip
    write_result(sampled, format, None, lang=words.code)
