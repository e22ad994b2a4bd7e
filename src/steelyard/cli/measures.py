"""`steelyard measures`."""

from __future__ import annotations

from steelyard.cli.terminal import screen_view, show
from steelyard.reports.formats.measures import measures_text


def run(name: str | None) -> None:
    """List all measures, or explain one."""
    show(measures_text(name, **screen_view()))
