"""What an entry says of documents: a digest of each, and which are gold of which questions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import polars as pl

from steelyard.data.folders.manifests import DOCUMENTS as DOCUMENTS_FILE
from steelyard.data.folders.run_folder import RunFolder, read_documents
from steelyard.experiment.table.scores import Scores

DOCUMENTS, GOLD = "documents", "gold"
"""Names of the parts of an entry: corpus, doc_id, digest; and query_id, doc_id."""
_BYTES = 8
_SCHEMAS: dict[str, dict[str, type[pl.DataType]]] = {
    DOCUMENTS: {"corpus": pl.String, "doc_id": pl.String, "digest": pl.Binary},
    GOLD: {"query_id": pl.String, "doc_id": pl.String},
}


def document_frames(folders: Iterable[RunFolder], scores: Scores | None) -> dict[str, pl.DataFrame]:
    """Name of a part -> its frame, of those that are known.

    folders   of the runs: each corpus of theirs is there once, under the fingerprint that entries have of it
    scores    of a weighing, whose gold is listed by documents; those of files know none
    """
    corpora = {corpus: own for own in folders if (corpus := _corpus(own))}
    rows = [
        (corpus, document.doc_id, hashlib.sha256(document.text.encode("utf-8", "surrogatepass")).digest()[:_BYTES])
        for corpus, own in corpora.items()
        if (own.path / DOCUMENTS_FILE).exists()
        for document in read_documents(own.path)
    ]
    weighing = None if scores is None else scores.source
    gold = [] if weighing is None or not rows else _gold_rows(weighing)
    frames = {
        name: pl.DataFrame(own, schema=_SCHEMAS[name], orient="row") for name, own in ((DOCUMENTS, rows), (GOLD, gold))
    }
    return {name: frame for name, frame in frames.items() if len(frame)}


def _corpus(folder: RunFolder) -> str:
    """The fingerprint of the documents that a pipeline, or a system of the user's own, searched; "" if not known."""
    stages = folder.manifest.get("fingerprint") or {}
    return str(stages.get("corpus") or stages.get("documents") or "")


def _gold_rows(weighing: Any) -> list[tuple[str, str]]:
    """Question and document of all gold: of evidence, the documents whose chunks hold it, by any of the systems."""
    pairs = set[tuple[str, str]]()
    for system, labels in zip(weighing.weighed, weighing.labels, strict=True):
        table = None if system.evidence is None or system.documents is not None else system.evidence.table
        for query_id, id in labels.filter(pl.col("gain") > 0).select("query_id", "doc_id").iter_rows():
            place = None if table is None else table.place(id)
            pairs.add((query_id, id if place is None else place.doc))
    return sorted(pairs)
