"""The commands that get questions from elsewhere than people's heads: from the logs of a service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from steelyard.cli.calls import Call


def from_logs(call: Call, logs: list[str], *, output: Path, **options: Any) -> None:
    """Draw questions from logs into a file."""
    call.write(
        call.compute(logs, save=output, **options),
        following=["review", "pool", str(output), "RUN", "-o", "review", "--into", "truth.jsonl"],
    )
