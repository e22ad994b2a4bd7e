"""The commands of interleaving: pages of runs, and what a log of such pages says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.cli.calls import Call


def build(call: Call, runs: list[str], *, output: Path | None, **options: Any) -> None:
    """Write a page of each question, and say how often systems differ."""
    call.write(call.compute(runs, output, **options), following=["interleave", "analyse", "LOGS"])


def analyse(call: Call, logs: list[str], **options: Any) -> None:
    """Say which system users prefer, by a log."""
    result = call.compute(logs, **options)
    is_gain = any(preference.verdict == "better" for preference in result.preferences)
    plan = ["ab", "plan", "--metric", "first_click_rr", "--from", *logs, "--difference", "5%"]
    call.write(result, following=plan if is_gain else [])
