"""What a judge said of answers as text, Markdown or JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from steelyard.base.errors import InputError
from steelyard.experiment.judging import JudgedRun, JudgingPlan
from steelyard.judges.tables.items import unsupported_units
from steelyard.report.formats.blocks import blocks_markdown, blocks_terminal
from steelyard.report.views.judging import judging_plan_section, judging_sections
from steelyard.report.words import Words

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""


def check_format(format: str, what: str = "verdicts") -> None:
    """Raise   InputError for a format that what a judge said is not written in."""
    if format not in ("table", "markdown", "json"):
        raise InputError(f"{what} cannot be written as {format}; choose table, markdown or json")


def judging_text(
    result: JudgedRun | JudgingPlan, format: str, words: Words, *, questions: str = "", outputs: str = "",
    width: int | None = None, colour: bool = False,
) -> str:  # fmt: skip
    """What was judged, or what judging would take, in a format.

    questions, outputs   as they were named, for the command that weighs them
    Raises   InputError for another format.
    """
    check_format(format)
    if format == "json":
        content = asdict(result) if isinstance(result, JudgingPlan) else _content(result)
        return json.dumps({"format": FORMAT, **content}, ensure_ascii=False, indent=2) + "\n"
    if isinstance(result, JudgingPlan):
        sections = [judging_plan_section(result, words)]
    else:
        sections = judging_sections(result, words, questions=questions, outputs=outputs)
    if format == "markdown":
        return blocks_markdown(sections)
    return blocks_terminal(sections, width=width, colour=colour)


def _content(run: JudgedRun) -> dict[str, Any]:
    verdicts = run.verdicts
    return {
        "recipe": dict(verdicts.recipe),
        "counts": dict(verdicts.counts),
        "not_judged": dict(verdicts.not_judged),
        "errors": dict(verdicts.errors),
        "unsupported": [
            {
                "query_id": unit.query_id, "sentence": unit.unit.text, "start": unit.unit.start, "end": unit.unit.end,
                "verdict": unit.label, "score": unit.nearest.score, "reason": unit.nearest.reason,
                "chunk_id": unit.chunk_id,
            }
            for unit in unsupported_units(verdicts)
        ],
        "file": None if run.file is None else str(run.file),
    }  # fmt: skip
