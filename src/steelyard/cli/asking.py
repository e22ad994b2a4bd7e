"""What commands that ask a judge have in common while they ask."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

from steelyard.base.progress import Progress
from steelyard.cli.progress import SOON, progress_bars
from steelyard.reports.words import Words

_INTERRUPTED = 130


@contextmanager
def asking(words: Words, unwritten: str) -> Iterator[Progress]:
    """Bars while a judge is asked; what a judge of the user's own prints goes to standard error, not among the result.

    unwritten   what an interruption leaves unwritten, such as "verdicts were"
    Raises      SystemExit where the user interrupts it, after a line on what is kept.
    """
    try:
        with progress_bars(words, after=SOON) as bars, redirect_stdout(sys.stderr):
            yield bars
    except KeyboardInterrupt:
        print(
            f"steelyard: interrupted; no {unwritten} written. What a model answered is in the cache, and the same "
            "command does not ask it again",
            file=sys.stderr,
        )
        sys.exit(_INTERRUPTED)
