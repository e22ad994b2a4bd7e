"""How far something is that takes a while, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""progress(stage, done, total): called now and then, first with what was done before."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""
