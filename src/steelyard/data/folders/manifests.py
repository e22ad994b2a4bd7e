"""Folders of runs and of benches: the names of their files, and manifest.json, which makes them such folders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args

from steelyard.base.errors import InputError, OutputError, quoted
from steelyard.base.json_text import json_text
from steelyard.base.own_paths import check_links
from steelyard.base.shapes import Each, Object, Shape, check_shape
from steelyard.io.json_files import parse_json
from steelyard.io.write import write_text

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Manifests:
    """The manifests of one kind of folder.

    noun      what such a folder holds
    mark      key of the version, which no other manifest has
    shape     what commands take from it
    beside    names that are in such folders alone: beside one of them, a manifest that cannot be read is damaged
    """

    noun: str
    mark: str
    version: int
    shape: Shape
    beside: tuple[str, ...]

    def read(self, path: Path) -> dict[str, Any] | None:
        """Content of manifest.json, or None where the folder is none of this kind.

        Raises   InputError for a later version, for a manifest that is damaged, and for links that lead out of the
                 folder, which may come from somebody else.
        """
        if os.path.isfile(path):
            return None
        file, remedy = path / MANIFEST, f"remove the folder, and start the {self.noun} again"
        if os.path.lexists(file):
            check_links(path)
        try:
            data = file.read_bytes()
        except (OSError, ValueError):
            return None
        try:
            manifest = parse_json(data, str(file))
        except InputError as error:
            if not any((path / name).exists() for name in self.beside):
                return None
            raise InputError(f"{error}; the {self.noun} beside it cannot be read: {remedy}") from None
        if not isinstance(manifest, dict) or self.mark not in manifest:
            return None
        version = manifest[self.mark]
        if not isinstance(version, int) or version > self.version:
            raise InputError(f"{file}: is of version {quoted(version)}, newer than this Steelyard; upgrade it")
        try:
            check_shape(manifest, self.shape)
        except ValueError as error:
            raise InputError(f"{file}: {error}; {remedy}") from None
        return manifest

    def write(self, path: Path, manifest: Mapping[str, Any]) -> None:
        """Write manifest.json whole; what it holds makes the folder one of this kind."""
        write_json(path / MANIFEST, {self.mark: self.version, **manifest})


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
    write_text(path, json_text(value))


CONFIG, OUTPUTS, PARTIAL = "config.json", "outputs.jsonl", "outputs.partial.jsonl"
CHUNKS, DOCUMENTS = "chunks.parquet", "documents.parquet"
RUN_MARK = "steelyard_run"
_NUMBER = (int, float)
_ANY: Mapping[str, Shape] = {
    "notes": Each(list, (str, dict)),
    "fingerprint": dict,
    "libraries": dict,
    "machine": dict,
    "finished": (str, NoneType),
    "counts": Each(dict, int),
    "latency_ms": Each(dict, Object({"p50": _NUMBER, "p95": _NUMBER})),
}
_OF_RUNS = Manifests("run", RUN_MARK, version=1, shape=Object({"name": str}, _ANY), beside=(OUTPUTS, PARTIAL))
read_manifest, write_manifest = _OF_RUNS.read, _OF_RUNS.write


BENCH_MARK = "steelyard_bench"
BLOCKS, SCORES, CEILINGS, LEVELS = "blocks", "scores.json", "ceilings.json", "levels.json"
Kind = Literal["rerank", "load"]
_SHAPE = Object(
    {"name": str, "kind": str},
    {
        "base": str, "recommended": (str, NoneType),
        "blocks": Each(dict, str), "other_blocks": Each(dict, str), "notes": Each(list, dict),
        "machine": dict, "machines": Each(list, dict), "finished": (str, NoneType), "started": str,
        "libraries": dict, "computing": dict,
        "steelyard": str, "python": str,
    },
)  # fmt: skip
_OF_BENCHES = Manifests("bench", BENCH_MARK, version=1, shape=_SHAPE, beside=(BLOCKS,))
read_bench_manifest, write_bench_manifest = _OF_BENCHES.read, _OF_BENCHES.write


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
        """Kind of what was measured: rerankers, or systems under load."""
        kind: Kind = self.manifest["kind"]
        return kind

    @property
    def scores(self) -> Path:
        """The JSON of its scores: quality, latency, tokens and cost of each question."""
        return self.path / SCORES

    @property
    def levels(self) -> Path:
        """The JSON of what each level of load came to, of a load test."""
        return self.path / LEVELS

    @property
    def config(self) -> Path:
        """The JSON of its configuration."""
        return self.path / CONFIG


def find_bench_folder(path: str | Path) -> BenchFolder | None:
    """The finished bench at a path; None where the path is no folder of a bench.

    Raises   InputError for a bench that was interrupted, or is of a later version.
    """
    manifest = read_bench_manifest(Path(path))
    if manifest is None:
        return None
    if manifest["kind"] not in get_args(Kind):
        raise InputError(
            f"{path}: holds a bench of kind {quoted(manifest['kind'])}; expected {' or '.join(get_args(Kind))}"
        )
    if not manifest.get("finished"):
        raise InputError(f"{path}: holds a bench that was interrupted; start it again, and it goes on from there")
    return BenchFolder(Path(path), manifest)
