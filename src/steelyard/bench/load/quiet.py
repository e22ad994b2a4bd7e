"""An interpreter that interrupts nobody for long, while times are taken."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_INTERVAL_S = 0.0005
"""After so long, a thread that computes lets another one on; Python's own 5 ms would delay whoever sends."""


def allow_open_files(n: int) -> None:
    """Raise this process's own limit of open files to n, where the system allows: each connection is one."""
    try:
        import resource
    except ImportError:  # A system that has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = n if hard == resource.RLIM_INFINITY else min(n, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextmanager
def quiet_interpreter() -> Iterator[None]:
    """While requests are under way: threads take turns ten times as often, and garbage collection looks at new objects.

    What was there before, such as texts of a corpus, would be walked through again and again, for tenths of a second.
    """
    before = sys.getswitchinterval()
    gc.freeze()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
