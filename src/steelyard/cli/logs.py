"""The commands about logs of a service: what they hold, and how they become those of the one schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.cli.calls import Call


def check(call: Call, logs: list[str], **options: Any) -> None:
    """Say what logs hold, and what is wrong with them."""
    result = call.compute(logs, **options)
    call.write(
        result, following=["questions", "from-logs", *logs, "-o", "questions.jsonl"] if result.n["impression"] else []
    )


def convert(call: Call, logs: list[str], *, output: Path, **options: Any) -> None:
    """Write logs in the one schema, and say what was read."""
    call.write(call.compute(logs, output, **options), following=["logs", "check", str(output)])
