"""What both commands of benches have in common while they measure."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from steelyard.base.progress import Progress
from steelyard.bench.interrupted import BenchInterrupted
from steelyard.cli.progress import progress_bars
from steelyard.cli.run import INTERRUPTED
from steelyard.report.words import Words


@contextmanager
def measuring(words: Words, blocks: str) -> Iterator[Progress]:
    """Bars while a bench is measured.

    blocks   what its parts are called, such as "levels of load"
    Raises   SystemExit where the user interrupts it, after a line on what is kept.
    """
    try:
        with progress_bars(words, between_calls=True) as bars:
            yield bars
    except KeyboardInterrupt as interrupted:
        kept = "what was measured is kept"
        if isinstance(interrupted, BenchInterrupted):
            kept = f"{interrupted.n_done} of {interrupted.n} {blocks} are measured and kept"
        print(f"steelyard: interrupted; {kept}. The same command goes on from there", file=sys.stderr)
        sys.exit(INTERRUPTED)
