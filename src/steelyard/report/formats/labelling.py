"""A truth that a judge drew up, or what that would take, as text, Markdown or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from steelyard.base.errors import InputError
from steelyard.judges.grading.grades import Grades
from steelyard.rag.labelling import LabellingPlan
from steelyard.report.formats.blocks import blocks_markdown, blocks_terminal
from steelyard.report.views.judging import labelling_plan_section, labelling_sections
from steelyard.report.words import Words

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""


def check_format(format: str) -> None:
    """Raise   InputError for a format that grades are not shown in."""
    if format not in ("table", "markdown", "json"):
        raise InputError(f"what was graded cannot be shown as {format}; choose table, markdown or json")


def labelling_text(
    result: Grades | LabellingPlan, format: str, words: Words, *, file: str = "", sources: Sequence[str] = (),
    width: int | None = None, colour: bool = False,
) -> str:  # fmt: skip
    """What was graded, or what grading would take, in a format.

    file, sources   as they were named, for the command that weighs with the truth
    Raises   InputError for another format.
    """
    check_format(format)
    if format == "json":
        content = asdict(result) if isinstance(result, LabellingPlan) else _content(result, file)
        return json.dumps({"format": FORMAT, **content}, ensure_ascii=False, indent=2) + "\n"
    if isinstance(result, LabellingPlan):
        sections = [labelling_plan_section(result, words)]
    else:
        sections = labelling_sections(result, words, file=file, sources=sources)
    if format == "markdown":
        return blocks_markdown(sections)
    return blocks_terminal(sections, width=width, colour=colour)


def _content(grades: Grades, file: str) -> dict[str, object]:
    return {
        "recipe": grades.recipe,
        "pairs": {"by_people": len(grades.by("people")), "by_judge": len(grades.by("judge"))},
        "not_judged": dict(grades.not_judged),
        "agreement": None if grades.agreement is None else asdict(grades.agreement),
        "file": file or None,
    }
