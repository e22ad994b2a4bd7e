"""The terminal that a command writes to."""

from __future__ import annotations

import os
import shutil
import sys


def terminal_width() -> int | None:
    """Columns of the terminal, or None where the output goes into a file or a pipe and COLUMNS does not say."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None
