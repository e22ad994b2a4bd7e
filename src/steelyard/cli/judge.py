"""`steelyard judge`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from steelyard.base import defaults
from steelyard.base.choices import AnswerUnits
from steelyard.cli.asking import asking
from steelyard.cli.terminal import write_result
from steelyard.experiment.judging import JudgedRun, JudgeOptions, JudgingPlan, judge_panel, judge_run, plan_judging
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.judges.answers.cases import TABLES
from steelyard.judges.verdict import VerdictTable
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format


def run(
    questions: str, outputs: str, *, judge: str, tables: list[VerdictTable] | None, units: AnswerUnits,
    verdicts: Path | None, new_nuggets: bool, calibration: Path | None, panel: list[str] | None,
    weights: list[Path], cache: bool, dry_run: bool, format: str | None, output: Path | None, lang: str | None,
    **settings: Any,
) -> None:  # fmt: skip
    """Judge the answers of a system, keep the verdicts, and write what they are; or what judging would take."""
    words, format = read_words(lang), chosen_format(JudgedRun, output, format)
    for file in filter(None, (output, verdicts)):
        refuse_overwriting(
            file, [questions, *run_paths([outputs]), *filter(None, [calibration]), *weights, *(panel or [])]
        )
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {} if cache else {"cache": None}
    save: bool | Path = True if verdicts is None else verdicts
    with asking(words, "verdicts were") as bars:
        result: JudgedRun | JudgingPlan
        if panel or weights:
            result = judge_panel(
                questions, outputs, panel or [], weights=weights, save=save, must_keep=True,
                of_one_judge={"--dry-run": dry_run, "--calibration": calibration, "--tables": tables,
                              "--new-nuggets": new_nuggets, "--units": units != defaults.UNITS,
                              "--judge": judge != defaults.JUDGE, **settings},
            )  # fmt: skip
        else:
            options = JudgeOptions(
                tables=tables or TABLES, units=units, new_nuggets=new_nuggets, calibration=calibration, save=save,
                must_keep=True, progress=bars, settings=settings,
            )  # fmt: skip
            result = (plan_judging if dry_run else judge_run)(questions, outputs, judge, options)
    named: dict[str, Any] = {"questions": questions, "outputs": outputs} if isinstance(result, JudgedRun) else {}
    write_result(result, format, output, lang=words.code, **named)
