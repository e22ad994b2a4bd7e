"""The names of a run folder's files, and manifest.json, which makes it one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any

from steelyard.base.errors import InputError, OutputError, quoted
from steelyard.base.shapes import Each, Shape, Table, check_shape
from steelyard.io.json_files import parse_json
from steelyard.io.write import write_text

MANIFEST, CONFIG, OUTPUTS, PARTIAL = "manifest.json", "config.json", "outputs.jsonl", "outputs.partial.jsonl"
CHUNKS, DOCUMENTS = "chunks.parquet", "documents.parquet"
MARK = "steelyard_run"
_VERSION = 1
_NUMBER = (int, float)
_ANY: Mapping[str, Shape] = {
    "notes": Each(list, (str, dict)),
    "fingerprint": dict,
    "libraries": dict,
    "machine": dict,
    "finished": (str, NoneType),
    "counts": Each(dict, int),
    "latency_ms": Each(dict, Table({"p50": _NUMBER, "p95": _NUMBER})),
}
_SHAPE = Table({"name": str}, _ANY)
"""What commands take from a manifest."""


def read_manifest(path: Path) -> dict[str, Any] | None:
    """What manifest.json holds, or None where the folder holds no run.

    Raises   InputError for a run of a later version, and a manifest that is damaged.
    """
    file = path / MANIFEST
    try:
        data = file.read_bytes()
    except (OSError, ValueError):
        return None
    try:
        manifest = parse_json(data, str(file))
    except InputError as error:
        if not any((path / name).exists() for name in (OUTPUTS, PARTIAL)):
            return None
        raise InputError(f"{error}; the run beside it cannot be read: remove the folder, and run it again") from None
    if not isinstance(manifest, dict) or MARK not in manifest:
        return None
    if not isinstance(manifest[MARK], int) or manifest[MARK] > _VERSION:
        raise InputError(f"{file}: is of version {quoted(manifest[MARK])}, newer than this Steelyard; upgrade it")
    try:
        check_shape(manifest, _SHAPE)
    except ValueError as error:
        raise InputError(f"{file}: {error}; remove the folder, and run it again") from None
    return manifest


def write_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write manifest.json whole; what it holds makes the folder a run folder."""
    write_json(path / MANIFEST, {MARK: _VERSION, **manifest})


def visible_entries(path: Path, *, wanted: str) -> list[str]:
    """Names in a folder but hidden ones, sorted; none where the folder is absent.

    wanted   what it is to be, for the message: "cannot " and these words
    Raises   OutputError where the path is no folder, or cannot be read.
    """
    try:
        return [name for name in sorted(os.listdir(path)) if not name.startswith(".")]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise OutputError(f"{path}: cannot {wanted} ({error.strerror or error}); choose another path") from error


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file that people may read."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")
