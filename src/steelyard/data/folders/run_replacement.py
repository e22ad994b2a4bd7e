"""A run that takes the place of another one: written beside it, and moved into its place when it is whole."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

from steelyard.base.errors import OutputError
from steelyard.base.own_paths import own_file
from steelyard.data.folders.manifests import CHUNKS, CONFIG, DOCUMENTS, MANIFEST, OUTPUTS, PARTIAL, read_manifest
from steelyard.data.folders.run_lock import run_lock

NEW = ".new"
_COUNTED = {CHUNKS: "chunks", DOCUMENTS: "documents"}
_PATIENCE_S = 2.0


def _finished_manifest(folder: Path) -> dict[str, Any] | None:
    """That of a run that is to be moved into a folder: it is written when all else is, and the last to go."""
    manifest = read_manifest(own_file(folder, NEW)) if os.path.isdir(folder / NEW) else None
    return manifest if manifest is not None and manifest.get("finished") else None


def is_being_replaced(folder: Path) -> bool:
    """True if a run is about to be moved into the place of the one that a folder holds."""
    return _finished_manifest(folder) is not None


def replace_run(folder: Path) -> None:
    """Move a finished run of the folder `.new` into the place of the one before; the folder's lock is ours.

    The new manifest is moved last, and `.new` holds it until then: whatever interrupts this, a later call completes it.
    Raises   OutputError where files cannot be moved.
    """
    new = folder / NEW
    manifest = _finished_manifest(folder)
    if manifest is None:
        return
    try:
        (folder / PARTIAL).unlink(missing_ok=True)
        for name in (CHUNKS, DOCUMENTS, CONFIG, OUTPUTS):
            if (new / name).exists():
                os.replace(new / name, folder / name)
            elif name in _COUNTED and _COUNTED[name] not in manifest["counts"]:
                (folder / name).unlink(missing_ok=True)
        os.replace(new / MANIFEST, folder / MANIFEST)
    except OSError as error:
        raise OutputError(
            f"{folder}: the new run cannot take the place of the old one ({error.strerror or error}); it is whole in "
            f"{new}, and moved when the same run is started again"
        ) from error
    shutil.rmtree(new, ignore_errors=True)


def complete_replacement(folder: Path) -> None:
    """The same for whoever reads a folder: what a crash interrupted is completed, what another process does awaited.

    Raises   OutputError where it cannot be.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while is_being_replaced(folder):
        try:
            with run_lock(folder):
                replace_run(folder)
        except OutputError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
