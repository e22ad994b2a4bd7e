"""Where a bench keeps what it measured, and manifest.json, which makes a folder one of a bench."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, Literal, get_args

from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Table
from steelyard.data.manifests import Manifests
from steelyard.data.run_manifest import CONFIG

MARK = "steelyard_bench"
BLOCKS, SCORES, CEILINGS, LEVELS = "blocks", "scores.json", "ceilings.json", "levels.json"
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
_MANIFESTS = Manifests("bench", MARK, version=1, shape=_SHAPE, beside=(BLOCKS,))
read_bench_manifest, write_bench_manifest = _MANIFESTS.read, _MANIFESTS.write


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
