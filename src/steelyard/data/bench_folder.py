"""Where a bench keeps what it measured, and manifest.json, which makes a folder one of a bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Table, check_shape
from steelyard.data.run_manifest import CONFIG, MANIFEST, write_json
from steelyard.io.json_files import parse_json

MARK = "steelyard_bench"
BLOCKS, SCORES, CEILINGS = "blocks", "scores.json", "ceilings.json"
_VERSION = 1
Kind = Literal["rerank", "load"]
_SHAPE = Table(
    {"name": str, "kind": str},
    {
        "base": str, "recommended": (str, NoneType),
        "blocks": Each(dict, str), "other_blocks": Each(dict, str), "notes": Each(list, dict),
        "machine": dict, "machines": Each(list, dict), "finished": (str, NoneType), "started": str,
        "libraries": dict, "computing": dict,
        "steelyard": str, "python": str,
    },
)  # fmt: skip
"""What commands take from a manifest."""


@dataclass(frozen=True)
class BenchFolder:
    """The folder of a bench that is finished.

    manifest   kind, name, base and recommended (what scores call the candidates as they are, and what is to be taken),
               machine, versions, notes, and more
    """

    path: Path
    manifest: Mapping[str, Any]

    @property
    def kind(self) -> Kind:
        """What was measured: rerankers, or systems under load."""
        kind: Kind = self.manifest["kind"]
        return kind

    @property
    def scores(self) -> Path:
        """The JSON of its scores: quality, latency, tokens and cost of each question."""
        return self.path / SCORES

    @property
    def config(self) -> Path:
        """The JSON of its configuration."""
        return self.path / CONFIG


def read_bench_manifest(path: Path) -> dict[str, Any] | None:
    """What manifest.json of a bench holds; None where the folder is none of a bench.

    Raises   InputError for one of a later version, and for a manifest that is damaged.
    """
    file = path / MANIFEST
    try:
        data = file.read_bytes()
    except (OSError, ValueError):
        return None
    try:
        manifest = parse_json(data, str(file))
    except InputError:
        return None
    if not isinstance(manifest, dict) or MARK not in manifest:
        return None
    if not isinstance(manifest[MARK], int) or manifest[MARK] > _VERSION:
        raise InputError(f"{file}: is of version {quoted(manifest[MARK])}, newer than this Steelyard; upgrade it")
    try:
        check_shape(manifest, _SHAPE)
    except ValueError as error:
        raise InputError(f"{file}: {error}; remove the folder, and run the bench again") from None
    return manifest


def write_bench_manifest(path: Path, manifest: Mapping[str, Any]) -> None:
    """Write manifest.json whole; what it holds makes the folder one of a bench."""
    write_json(path / MANIFEST, {MARK: _VERSION, **manifest})


def find_bench_folder(path: str | Path) -> BenchFolder | None:
    """The finished bench at a path; None where the path is no folder of a bench.

    Raises   InputError for a bench that was interrupted, or is of a later version.
    """
    manifest = read_bench_manifest(Path(path))
    if manifest is None:
        return None
    if not manifest.get("finished"):
        raise InputError(f"{path}: holds a bench that was interrupted; start it again, and it goes on from there")
    return BenchFolder(Path(path), manifest)
