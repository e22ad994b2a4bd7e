"""The names of a run folder's files, and manifest.json, which makes it one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.io.write import write_text

MANIFEST, CONFIG, OUTPUTS, PARTIAL = "manifest.json", "config.json", "outputs.jsonl", "outputs.partial.jsonl"
CHUNKS, DOCUMENTS = "chunks.parquet", "documents.parquet"
MARK = "steelyard_run"
_VERSION = 1


def read_manifest(path: Path) -> dict[str, Any] | None:
    """What manifest.json holds, or None where the folder holds no run.

    Raises   InputError for a run of a later version.
    """
    manifest = _marked_manifest(path)
    if manifest is None:
        return None
    if not isinstance(manifest[MARK], int) or manifest[MARK] > _VERSION:
        raise InputError(f"{path / MANIFEST}: is of version {manifest[MARK]!r}, newer than this Steelyard; upgrade it")
    return manifest


def _marked_manifest(path: Path) -> dict[str, Any] | None:
    try:
        manifest = json.loads((path / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and MARK in manifest else None


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write manifest.json whole; what it holds makes the folder a run folder."""
    write_json(path / MANIFEST, {MARK: _VERSION, **manifest})


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file that people may read."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
