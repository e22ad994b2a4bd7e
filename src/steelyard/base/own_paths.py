"""Which paths a stored file may name: those of its own folder, and no others.

A form, a run folder or the folder of a bench may come from somebody else.  What is read or written outside of it is
chosen by the command line, or by a configuration that people wrote, never by what such a folder holds.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path, PureWindowsPath

from steelyard.base.errors import InputError, quoted


def inside(folder: Path, name: str) -> Path | None:
    """The path that a stored file names, as seen from its folder; None where it is not within that folder.

    Links are followed to see where it leads.  A path of Windows leads out on every system, as a backslash is no part of
    a name that Steelyard writes.

    >>> inside(Path("form"), "labels.json").as_posix()
    'form/labels.json'
    >>> [inside(Path("form"), name) for name in ("../labels.json", "/etc/passwd", "C:x", "..\\\\x", ".", "a\\0b")]
    [None, None, None, None, None, None]
    """
    if "\\" in name or PureWindowsPath(name).drive:
        return None
    try:
        root, path = (Path(os.path.realpath(path)) for path in (folder, folder / name))
    except ValueError:  # The character NUL, or half a character.
        return None
    return folder / name if root in path.parents else None


def own_file(folder: Path, name: str) -> Path:
    """The path of a file of a folder.

    Raises   InputError where its name, or a link, leads out of the folder.
    """
    path = inside(folder, name)
    if path is None:
        raise InputError(
            f"{folder}: its {quoted(name)} leads out of the folder, and is not followed; put the file itself there"
        )
    return path


def check_links(folder: Path) -> None:
    """Hold a folder that may come from somebody else against links that lead out of it, before it is used.

    Raises   InputError naming the first one, and for a pipe or a device.
    """
    for parent, folders, files in os.walk(folder):
        for name in sorted(folders + files):
            path = Path(parent, name)
            if path.is_symlink():
                own_file(folder, path.relative_to(folder).as_posix())
            if name in files and not _is_plain(path):
                raise InputError(f"{path}: is no file but a pipe or a device; remove it")


def _is_plain(path: Path) -> bool:
    """True if a path is that of a file, or of nothing, as where it was removed meanwhile."""
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return True
