"""`steelyard label`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base.choices import Unit
from steelyard.cli.asking import asking
from steelyard.cli.terminal import write_result
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.judges.grading.grades import Grades
from steelyard.rag.labelling import label, plan_labelling
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    questions: str, sources: list[str], *, judge: str, scale: str, depth: int, keep: str | None, corpus: str | None,
    unit: Unit, cache: bool, dry_run: bool, format: str | None, output: Path, lang: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Draw up a truth and write it, and print what it is; or what that would take."""
    words, format = read_words(lang), chosen_format(Grades, None, format)
    refuse_overwriting(output, [questions, *run_paths(sources)])
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {} if cache else {"cache": None}
    what: dict[str, Any] = {
        "scale": scale, "depth": depth, "keep": keep, "corpus": corpus, "unit": unit, "save": output,
        **settings,
    }  # fmt: skip
    with asking(words, "truth was") as bars:
        if dry_run:
            result: Any = plan_labelling(questions, sources, judge, **what)
        else:
            result = label(questions, sources, judge, progress=bars, **what)
    named: dict[str, Any] = {"file": str(output), "sources": sources} if isinstance(result, Grades) else {}
    write_result(result, format, None, lang=words.code, **named)
