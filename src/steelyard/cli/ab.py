"""The commands of A/B tests: plan, assign, register, analyse."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import quoted
from steelyard.reports.visible import single_line

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.abtests.experiment import Experiment
    from steelyard.cli.calls import Call

STATUS = {"ship": 0, "do_not_ship": 1, "inconclusive": 3, "blocked": 3}
"""Exit status by the outcome of the decision; what cannot be analysed is 2, as everywhere."""


def margin(text: str) -> tuple[str, str]:
    """A metric and the margin of a guardrail.

    >>> margin("latency_ms:p95=5%"), margin("language=zh=0.01")
    (('latency_ms:p95', '5%'), ('language=zh', '0.01'))
    """
    metric, _, number = text.rpartition("=")
    if not metric or not number:
        raise argparse.ArgumentTypeError(
            f"{quoted(text)} is no guardrail; expected METRIC=MARGIN, such as latency_ms:p95=5%"
        )
    return metric, number


def plan(
    call: Call, logs: list[str] | None, *, guardrails: list[tuple[str, str]], name: str | None, **options: Any
) -> None:
    """Say how many users and days a difference needs, or write the declaration of the test."""
    is_declared = call.output is not None and call.format == "toml"
    name = name or (call.output.stem if is_declared and call.output is not None else "experiment")
    result = call.compute(logs, guardrails=dict(guardrails), name=name, **options)
    call.write(result, following=[*call.typed, "-o", "experiment.toml"] if result.days is not None else [])


def assign(call: Call, salt: str, units: list[str], *, split: str) -> None:
    """Print units with their arms, one a line with a tab between."""
    from steelyard.abtests.assigning import parse_split

    for unit, arm in zip(units, call.function(salt, units, parse_split(split)), strict=True):
        print(f"{single_line(unit)}\t{single_line(arm)}")


def register(call: Call, experiment: Path) -> None:
    """Write what was declared beside the declaration, and say where."""
    registered = call.function(experiment)
    code = "ab.registered_late" if registered.is_late else "ab.registered"
    print(call.words(code, path=registered.path, fingerprint=registered.fingerprint[:12]))


def analyse(call: Call, experiment: Path, logs: list[str]) -> int:
    """Analyse a test and return the status of its decision: that of the best arm."""
    result: Experiment = call.function(experiment, logs)
    page = ["ab", "analyse", str(experiment), *logs, "-o", f"{result.name}.html"]
    call.write(result, following=page if call.output is None else [])
    return min(STATUS[decision.outcome] for decision in result.decisions)
