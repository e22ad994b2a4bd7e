"""`steelyard measures`."""

from __future__ import annotations

import sys

from steelyard.cli.terminal import terminal_width
from steelyard.report.formats.measures import measures_text


def run(name: str | None) -> None:
    """List all measures, or explain one."""
    print(measures_text(name, width=terminal_width(), colour=sys.stdout.isatty()), end="")
