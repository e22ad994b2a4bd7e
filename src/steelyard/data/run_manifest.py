"""The names of a run folder's files, and what its manifest holds."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType

from steelyard.base.shapes import Each, Shape, Table
from steelyard.data.manifests import Manifests

CONFIG, OUTPUTS, PARTIAL = "config.json", "outputs.jsonl", "outputs.partial.jsonl"
CHUNKS, DOCUMENTS = "chunks.parquet", "documents.parquet"
MARK = "steelyard_run"
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
_MANIFESTS = Manifests("run", MARK, version=1, shape=Table({"name": str}, _ANY), beside=(OUTPUTS, PARTIAL))
read_manifest, write_manifest = _MANIFESTS.read, _MANIFESTS.write
