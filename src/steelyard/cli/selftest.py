"""`steelyard selftest`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from steelyard.cli.asking import asking
from steelyard.cli.terminal import write_result
from steelyard.experiment.judging import JudgingPlan
from steelyard.experiment.self_testing import plan_self_test, self_test
from steelyard.io.named import run_paths
from steelyard.io.write import refuse_overwriting
from steelyard.judges.self_tests import SelfTests
from steelyard.reports.words import read_words
from steelyard.reports.writing import chosen_format

FAILED = 1


def run(
    questions: str | None, outputs: str | None, *, judge: str, n: int, seed: int, calibration: Path | None, cache: bool,
    dry_run: bool, strict: bool, format: str | None, output: Path | None, lang: str | None, **settings: Any,
) -> None:  # fmt: skip
    """Test a judge, and write how it did; or what testing would take."""
    words, format = read_words(lang), chosen_format(SelfTests, output, format)
    if output is not None:
        read = filter(None, [questions, calibration, *run_paths(filter(None, [outputs]))])
        refuse_overwriting(output, [*map(str, read)])
    settings = {name: value for name, value in settings.items() if value is not None}
    settings |= {} if cache else {"cache": None}
    keep = (calibration or output or Path("selftest")).parent
    settings |= {"n": n, "seed": seed, "calibration": calibration, "keep": keep}
    with asking(words, "results were") as bars:
        result: SelfTests | JudgingPlan
        if dry_run:
            result = plan_self_test(judge, questions, outputs, **settings)
        else:
            result = self_test(judge, questions, outputs, progress=bars, **settings)
    named: dict[str, Any] = {"file": calibration} if isinstance(result, SelfTests) else {}
    write_result(result, format, output, lang=words.code, **named)
    if strict and isinstance(result, SelfTests) and result.failed:
        sys.exit(FAILED)
