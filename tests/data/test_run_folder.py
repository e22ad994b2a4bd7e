"""A run folder stored in parts, and made again from them."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from steelyard.base.errors import InputError, OutputError
from steelyard.data.corpus import Chunks, Document
from steelyard.data.folders.run_folder import RunFolder, read_run_folder, write_run_folder
from steelyard.data.responses import decode_response
from steelyard.experiment.door.evaluation import evaluate
from steelyard.rag.pipeline.pipeline import Pipeline
from tests.rag.small import QUESTIONS, TEXTS, Common, Shortest, Stops


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run with a note and a question that failed."""
    pipeline = Pipeline(
        {**TEXTS, "empty": ""}, chunk=Stops(), index=Common(), rerank=Shortest(_fail_on="whale"), k=2, name="mine"
    )
    return pipeline.run(QUESTIONS, tmp_path / "run")


def test_a_run_folder_is_made_again_from_stored_parts(folder: RunFolder, tmp_path: Path) -> None:
    chunks = folder.chunks
    assert chunks is not None
    stored = json.dumps(
        {
            "config": dict(folder.config),
            "manifest": dict(folder.manifest),
            "outputs": folder.outputs.read_text(encoding="utf-8").splitlines(),
            "documents": [[document.doc_id, document.text] for document in chunks.documents],
            "chunks": [chunks.owner.tolist(), chunks.start.tolist(), chunks.end.tolist()],
        }
    )
    parts = json.loads(stored)
    again = write_run_folder(
        tmp_path / "again",
        config=parts["config"],
        manifest=parts["manifest"],
        responses=map(decode_response, parts["outputs"]),
        chunks=Chunks([Document(*pair) for pair in parts["documents"]], *(np.array(c) for c in parts["chunks"])),
    )
    assert sorted(path.name for path in again.path.iterdir()) == sorted(path.name for path in folder.path.iterdir())
    for name in ("manifest.json", "config.json", "outputs.jsonl"):
        assert (again.path / name).read_bytes() == (folder.path / name).read_bytes()
    assert (again.name, again.manifest, again.config, again.notes) == (
        folder.name,
        folder.manifest,
        folder.config,
        folder.notes,
    )
    assert [note.code for note in again.notes] == ["documents_empty"]
    assert list(again.responses()) == list(folder.responses())
    assert again.chunks is not None
    assert (again.chunks.ids, again.chunks.texts) == (chunks.ids, chunks.texts)
    before, after = (evaluate(QUESTIONS, [run.path], ["mrr", "span_recall@2"]) for run in (folder, again))
    np.testing.assert_array_equal(before.values, after.values)


def test_a_run_without_chunks_has_none_again(folder: RunFolder, tmp_path: Path) -> None:
    parts = {"config": {}, "manifest": folder.manifest, "responses": folder.responses()}
    assert write_run_folder(tmp_path / "again", **parts).chunks is None


def test_a_folder_that_cannot_be_made_again(folder: RunFolder, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "within"):
        with pytest.raises(OutputError, match="cannot be made"):
            write_run_folder(place, config={}, manifest=folder.manifest, responses=[])


def test_nothing_is_written_over(folder: RunFolder) -> None:
    with pytest.raises(InputError, match="holds something already"):
        write_run_folder(folder.path, config={}, manifest=folder.manifest, responses=[])


def test_a_configuration_that_is_damaged_or_absent(folder: RunFolder) -> None:
    assert folder.config["k"] == 2
    (folder.path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config\.json, line 1: is not JSON"):
        _ = read_run_folder(folder.path).config
    (folder.path / "config.json").unlink()
    assert read_run_folder(folder.path).config == {}


def test_a_damaged_line_is_named(folder: RunFolder) -> None:
    lines = folder.outputs.read_text(encoding="utf-8").splitlines(keepends=True)
    folder.outputs.write_text(lines[0] + "{}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"outputs.jsonl, line 2: is no line of a run"):
        list(folder.responses())


@pytest.mark.parametrize(
    ("manifest", "says"),
    [
        ("", "is not JSON"),
        ('{"steelyard_run": 1, "name"', "is not JSON"),
        ("[" * 100_000, "is nested too deep to be read"),
        ('{"steelyard_run": 1, "finished": "now"}', "`name` is missing"),
        ('{"steelyard_run": 1, "name": "a", "latency_ms": {"total": {"p50": null}}}', "latency_ms.total"),
        ('{"steelyard_run": "x"}', "is of version 'x'"),
    ],
)
def test_a_damaged_manifest_is_said_to_be_one(manifest: str, says: str, folder: RunFolder) -> None:
    """It was "holds other things, but no run; choose a folder of its own"."""
    (folder.path / "manifest.json").write_text(manifest)
    pipeline = Pipeline(TEXTS, chunk=Stops(), index=Common(), name="mine")
    for use in (lambda: read_run_folder(folder.path), lambda: pipeline.run(QUESTIONS, folder.path)):
        with pytest.raises(InputError, match=rf"manifest\.json.*{says}"):
            use()


def test_a_chunk_that_the_run_does_not_have(folder: RunFolder) -> None:
    lines = folder.outputs.read_text(encoding="utf-8").replace('"sea.txt#1"', '"sea.txt#9"')
    folder.outputs.write_text(lines, encoding="utf-8")
    with pytest.raises(InputError, match=r": chunk 'sea\.txt#9' is none of the run's own"):
        evaluate(QUESTIONS, folder.path)


@pytest.mark.parametrize("name", ["chunks.parquet", "documents.parquet"])
def test_tables_with_other_columns_are_refused(name: str, folder: RunFolder) -> None:
    table = pl.read_parquet(folder.path / name)
    odd = [table.cast({"doc_id": pl.Categorical}), table.with_columns(doc_id=pl.lit(None, pl.String))]
    odd += [table.with_columns(pl.col("start") - 7)] if "start" in table.columns else []
    for damaged in odd:
        damaged.write_parquet(folder.path / name)
        with pytest.raises(InputError, match=r"holds other columns than those of a run|are not of one run"):
            _ = read_run_folder(folder.path).chunks
