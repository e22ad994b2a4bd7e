"""How a judge did in its self-tests as text, Markdown or JSON."""

from __future__ import annotations

import json
from pathlib import Path

from steelyard.experiment.judging import JudgingPlan
from steelyard.judges.self_tests import SelfTests
from steelyard.report.formats.blocks import blocks_markdown, blocks_terminal
from steelyard.report.formats.judging import check_format, judging_text
from steelyard.report.views.judging import self_tests_sections
from steelyard.report.words import Words

FORMAT = 1
"""Of the JSON; it rises where a key is renamed or goes."""


def self_tests_text(
    result: SelfTests | JudgingPlan, format: str, words: Words, *, file: Path | None = None, width: int | None = None,
    colour: bool = False,
) -> str:  # fmt: skip
    """How a judge did, or what testing it would take, in a format.

    file     the calibration that the results are kept in
    Raises   InputError for another format than table, markdown and json.
    """
    if isinstance(result, JudgingPlan):
        return judging_text(result, format, words, width=width, colour=colour)
    check_format(format, "self-tests")
    if format == "json":
        return json.dumps(_content(result), ensure_ascii=False, indent=2) + "\n"
    sections = self_tests_sections(result, words, file)
    if format == "markdown":
        return blocks_markdown(sections)
    return blocks_terminal(sections, width=width, colour=colour)


def _content(tests: SelfTests) -> dict[str, object]:
    """All tests, and the trials that went wrong."""
    failed_trials = tests.trials.filter(tests.trials["result"] == "failed").drop("result")
    return {
        "format": FORMAT, "recipe": dict(tests.recipe), "tests": tests.frame.to_dicts(), "always": tests.always,
        "errors": dict(tests.errors), "failed_trials": failed_trials.to_dicts(),
    }  # fmt: skip
