"""How far a call is that takes a while, for what shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

Progress = Callable[[str, int, int], None]
"""progress(stage, done, total): called now and then, first with what was done before."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


def usual_progress(stage: str, done: int, total: int) -> None:
    """Show a bar in a notebook once a call takes seconds, and nothing anywhere else."""
    if "ipykernel" in sys.modules:
        import_module("steelyard.reports.html.notebook").show_progress(stage, done, total)
