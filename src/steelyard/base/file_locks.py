"""Locks of the operating system on open files, which it lets go of however their process ends."""

from __future__ import annotations

import errno
import os
import sys
from io import FileIO

_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)

if sys.platform == "win32":
    import msvcrt

    _BYTE = 1 << 30  # A locked byte cannot be read: one far behind the text.

    def _lock(file: FileIO) -> None:
        os.lseek(file.fileno(), _BYTE, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _lock(file: FileIO) -> None:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)


def try_lock(file: FileIO) -> bool | None:
    """Lock an open file until it is closed.

    Returns   whether it is ours now; None where the file system has no locks
    """
    try:
        _lock(file)
    except OSError as error:
        return False if error.errno in _HELD else None
    return True


def is_at(file: FileIO, path: str | os.PathLike[str]) -> bool:
    """True if an open file still has this path, not removed and made anew by another process."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False
