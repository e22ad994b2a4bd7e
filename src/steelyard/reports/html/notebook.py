"""Results and bars of progress in a notebook."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from steelyard.reports.html.shell import escaped
from steelyard.reports.words import read_words

_SOON_S, _REDRAWN_S = 2.0, 0.25
"""Seconds in which a call may be ready without a bar, and between two looks at one."""


def displayer() -> Any:
    """The function that displays a value below a cell; None outside of a notebook."""
    if "ipykernel" not in sys.modules or getattr(import_module("IPython").get_ipython(), "kernel", None) is None:
        return None
    return import_module("IPython.display").display


@dataclass
class _Bar:
    """A stage that is under way: when it began, how much was done then and is by now, and what shows it."""

    began: float
    first: int
    done: int
    drawn: float = -math.inf
    handle: Any = None


_BARS: dict[str, _Bar] = {}


def show_progress(stage: str, done: int, total: int) -> None:
    """Draw how far a stage is below the cell of a notebook, in place, and take it away when all is done."""
    if (display := displayer()) is None:
        return
    now, bar = time.monotonic(), _BARS.get(stage)
    if bar is None or done < bar.done:  # A stage that was interrupted begins once more.
        bar = _BARS[stage] = _Bar(now, done, done)
    bar.done = done
    if done >= total:
        del _BARS[stage]
        if bar.handle is not None:
            bar.handle.update({"text/html": "", "text/plain": ""}, raw=True)
    elif now - bar.began >= _SOON_S and now - bar.drawn >= _REDRAWN_S:
        bar.drawn, words = now, read_words()
        name = words(f"progress.{stage}") if f"progress.{stage}" in words else stage
        text = f"{name} {done:,}/{total:,}"
        if done > bar.first:
            seconds = (total - done) * (now - bar.began) / (done - bar.first)
            text = words("progress.left", done=text, seconds=f"{seconds:,.0f}")
        drawn = f'<progress value="{done}" max="{total}"></progress> {escaped(text)}'
        content = {"text/html": drawn, "text/plain": text}
        if bar.handle is None:
            bar.handle = display(content, raw=True, display_id=True)
        else:
            bar.handle.update(content, raw=True)
