"""Which runs of a sweep are still to be asked anew, so that `sweep --overwrite` goes on where it was interrupted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.base.own_paths import own_file
from steelyard.data.manifests import write_json
from steelyard.data.run_folder import manifest_stamp

OVERWRITING = ".overwriting.json"


@contextmanager
def overwriting(folders: Sequence[Path]) -> Iterator[Callable[[Path], bool]]:
    """Whether a run is one that was there when the overwriting began, and not its successor.

    folders   of the runs, all in one folder, where a file remembers the runs that were there until this is through
    """
    path = own_file(folders[0].parent, OVERWRITING)
    stamps = {folder.name: _stamp(folder) for folder in folders} | _read(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, stamps)
    yield lambda folder: _stamp(folder) == stamps[folder.name]
    path.unlink(missing_ok=True)


def _stamp(folder: Path) -> list[int] | None:
    stamp = manifest_stamp(folder)
    return None if stamp is None else list(stamp)


def _read(path: Path) -> dict[str, Any]:
    """What an overwriting that was interrupted remembers; nothing where there was none."""
    try:
        stamps = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return stamps if isinstance(stamps, dict) else {}
