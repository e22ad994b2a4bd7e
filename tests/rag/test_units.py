"""Lists of documents from a pipeline of chunks, and how a run chooses between chunks and documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError, MeasureError
from steelyard.base.notes import Note
from steelyard.data.folders.run_folder import read_run_folder
from steelyard.rag.config import Config
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.sweeping import sweep
from steelyard.rag.weighed_run import run_and_weigh
from tests.cli.command import printed
from tests.hypothesis_profiles import examples
from tests.rag.small import QUESTIONS, TEXTS, Common, Shortest, Stops, write

HERE = "tests.rag.small"
GAINS = {"q1": {"scales": 2, "sea": 1}, "q2": {"sea": 1}, "q3": {"茶": 1, "gone": 1}}
STAGES = {"chunk": f"{HERE}:Stops", "index": f"{HERE}:Common"}


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """A BEIR folder whose documents have three or four sentences each, and an empty one."""
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    texts = {name.removesuffix(".txt"): text for name, text in TEXTS.items()} | {"void": ""}
    lines = [{"_id": name, "title": "", "text": text} for name, text in texts.items()]
    asked = [{"_id": question["qid"], "text": question["query"]} for question in QUESTIONS]
    labels = [f"{q}\t{doc}\t{gain}" for q, gains in GAINS.items() for doc, gain in gains.items()]
    for name, rows in (("corpus", lines), ("queries", asked)):
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *labels]), encoding="utf-8")
    return folder


def configured(folder: Path, **changes: Any) -> Config:
    values = {"name": "s", "documents": str(folder), "questions": str(folder), "k": 2, "cache": False, **STAGES}
    return Config.of(values | changes, base=folder.parent)


def weighed(folder: Path, **changes: Any) -> Any:
    return run_and_weigh(configured(folder, **changes))


def documents_of(run: Any) -> dict[str, dict[str, float]]:
    """The lists of a run as a plain run of documents."""
    return {id: {p.doc_id: p.score for p in response.passages} for id, response in run.folder.responses()}


@examples(60)
@given(
    texts=st.lists(st.text("ab.", max_size=8), min_size=1, max_size=6),
    k=st.integers(1, 6),
    more=st.integers(0, 12),
    reranked=st.booleans(),
)
def test_passages_are_the_best_chunks_of_k_documents(texts: list[str], k: int, more: int, reranked: bool) -> None:
    """After reranking, of as many chunks as the indexes give: the first chunk of each document in their order."""
    documents = {name: text + "." for name, text in zip(("d", "d1", "d10", "d9", "e", "茶"), texts, strict=False)}
    options: dict[str, Any] = {"chunk": Stops(), "index": Common(), "depth": k + more}
    options |= {"rerank": Shortest(), "top_n": 3} if reranked else {}
    best: dict[str | None, Any] = {}
    for passage in Pipeline(documents, **options, k=k + more).search("a"):
        best.setdefault(passage.doc_id, passage)
    assert Pipeline(documents, **options, k=k, unit="document").search("a") == list(best.values())[:k]


def test_documents_of_one_score_are_ordered_as_they_are_weighed() -> None:
    """By the ids of the documents, descending: a chunk of "d !" is called "d !#1", which is before "d#1"."""
    names = ("d", "d !", "d#", "茶")
    pipeline = Pipeline(dict.fromkeys(names, "x."), chunk=Stops(), index=Common(), unit="document")
    assert [passage.doc_id for passage in pipeline.search("x")] == sorted(names, reverse=True)


def test_a_run_of_documents_is_weighed_as_any_run_of_documents(beir: Path) -> None:
    run = weighed(beir)
    plain = sy.evaluate(beir / "qrels" / "test.tsv", {"s": documents_of(run)}, [str(m) for m in run.scores.measures])
    assert run.scores.values.tolist() == plain.values.tolist()
    assert run.scores.judged.tolist() == plain.judged.tolist()
    assert all(len(response.passages) == 2 for _, response in run.folder.responses())


def test_a_truth_is_the_same_one_wherever_its_folder_is_named_from(beir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = weighed(beir)
    monkeypatch.chdir(beir.parent)
    assert sy.evaluate("beir", run.folder.path, "mrr").signature.truth == run.scores.signature.truth


def test_a_run_over_whole_gold_documents_lists_documents(beir: Path) -> None:
    run = weighed(beir)
    assert run.folder.config["unit"] == "document"
    assert [str(m) for m in run.scores.measures][:2] == ["ndcg@10", "map"]
    text = run.text(lang="en", explain=True)
    assert "chunks are evaluated as their documents, each at its best chunk" in text
    assert "unit:document" in text
    assert "on average" not in text


def test_the_unit_that_is_named_wins(beir: Path) -> None:
    run = weighed(beir, unit="chunk", k=4)
    assert run.folder.config["unit"] == "chunk"
    assert run.scores.recipe["unit"] == "chunk"
    assert "each chunk of one counts by itself" in run.text(lang="en", explain=True)
    assert any(len(r.passages) > len({p.doc_id for p in r.passages}) for _, r in run.folder.responses())
    # By itself such a run is weighed as its configuration says, and by `evaluate` as the gold says.
    gated = sy.gate(run.folder.path, max_failed=0.5, truth=beir)
    assert "unit" not in str(gated.signature)
    of_gold = sy.evaluate(beir, run.folder.path)
    assert of_gold.recipe["unit"] == "document"
    assert of_gold.notes["s"][0].values["chunks"] == 4


def test_quotes_and_spans_are_run_in_chunks(tmp_path: Path) -> None:
    folder = write(tmp_path)
    config = Config.of(
        {"documents": "documents", "questions": "questions.jsonl", "k": 2, "cache": False, **STAGES}, base=folder
    )
    assert run_and_weigh(config).folder.config["unit"] == "chunk"


def test_the_unit_is_part_of_the_fingerprint(beir: Path) -> None:
    options: dict[str, Any] = {"chunk": Stops(), "index": Common()}
    of_chunks, of_documents, unsaid = (
        Pipeline(TEXTS, **options, unit=unit).fingerprint for unit in ("chunk", "document", None)
    )
    assert of_chunks == unsaid
    assert {part for part in of_chunks if of_chunks[part] != of_documents[part]} == {"all"}
    weighed(beir)
    with pytest.raises(InputError, match="unit document → chunk"):
        weighed(beir, unit="chunk")


def test_candidates_reach_as_deep_as_they_did(beir: Path) -> None:
    run = weighed(beir, k=1)
    for _, response in run.folder.responses():
        assert response.candidates is not None
        assert response.candidates[0] == response.passages[0].chunk_id
        assert len(response.candidates) == 9
    diagnosis = sy.diagnose(sy.weigh(beir, run.folder.path), k=1)
    counts = diagnosis.funnels[0].n_at_stage
    assert counts["not_in_corpus"] == 1
    assert sum(counts.values()) == 5


def test_fewer_documents_than_k_are_noted(beir: Path) -> None:
    run = weighed(beir, k=9)
    assert Note("few_documents", {"k": 9, "n": 3}) in run.folder.notes
    assert "k is 9, but there are only 3 documents" in run.text(lang="en", explain=True)
    assert "总共只有 3 篇文档" in run.text(lang="zh", explain=True)


def test_candidates_of_fewer_documents_than_are_looked_at_are_noted(beir: Path) -> None:
    """Three candidates are of two documents or fewer; what k alone cuts is no reason to go deeper."""
    noted = weighed(beir, k=3, depth=3, weigh={"measures": ["ndcg@3"]}).scores.notes["s"]
    assert [note.code for note in noted] == ["few_documents_among_candidates"]
    assert (noted[0].values["chunks"], noted[0].values["k"]) == (3.0, 3)
    assert noted[0].values["documents"] < 3
    cut = weighed(beir, k=1, depth=9, name="cut", weigh={"measures": ["ndcg@3"]})
    assert cut.scores.notes == {"cut": [Note("lists_end", {"k": 1, "measures": ["ndcg@3"]})]}


def test_measures_that_look_deeper_than_the_run_are_noted(beir: Path) -> None:
    run = weighed(beir, weigh={"measures": ["mrr@2", "recall@3", "map", "ndcg@10"]})
    noted = Note("lists_end", {"k": 2, "measures": ["recall@3", "ndcg@10"]})
    assert run.scores.notes == {"s": [noted]}
    assert "Lists end at rank 2, the k of the run: recall@3, ndcg@10 would look deeper" in run.text(
        lang="en", explain=True
    )
    assert sy.evaluate(str(beir), run.folder.path, ["ndcg@10", "recall@3"]).notes == {
        "s": [Note("lists_end", {"k": 2, "measures": ["ndcg@10", "recall@3"]})]
    }
    whole = weighed(beir, k=3, name="all", weigh={"measures": ["recall@3"]})
    assert whole.scores.notes == {}


def test_measures_of_chunks_are_refused_before_anything_is_asked(beir: Path) -> None:
    config = configured(beir)
    with pytest.raises(MeasureError, match=r"span_recall@5 is of the characters that chunks show"):
        run_and_weigh(config, measures=["span_recall@5"])
    assert not config.folder.exists()


# Documents that stay whole --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", ["none", None, {"kind": "none"}, "whole"])
def test_documents_stay_whole(chunk: Any) -> None:
    pipeline = Pipeline(TEXTS | {"blank": " "}, chunk=chunk, index=Common())
    assert pipeline.chunks.ids == [f"{name}#1" for name in TEXTS]
    assert pipeline.chunks.texts == list(TEXTS.values())
    assert Note("documents_without_chunks", {"n": 1, "names": ["blank"]}) in pipeline.notes


def test_whole_documents_are_the_same_as_chunks_and_as_documents(beir: Path) -> None:
    of_documents = weighed(beir, chunk="none", name="a")
    assert of_documents.folder.config["chunk"] == {"kind": "whole"}
    of_chunks = sy.evaluate(beir, weighed(beir, chunk="none", unit="chunk", name="b").folder.path, "ndcg@10")
    assert of_documents.scores.filter(measures="ndcg@10").values.tolist() == of_chunks.values.tolist()


def test_a_sweep_of_chunkings_weighs_documents(beir: Path) -> None:
    config = configured(beir, sweep={"chunk": ["none", f"{HERE}:Stops"], "k": [1, 2]})
    swept = sweep(config)
    assert list(swept.measures) == ["ndcg", "recall", "precision", "mrr"]
    text = swept.text(lang="en", seed=0, explain=True)
    assert "Documents are evaluated, so all measures compare across chunkings" in re.sub(r"\s+", " ", text)
    for folder in swept.folders:
        assert read_run_folder(folder).config["unit"] == "document"
    with pytest.raises(MeasureError, match="span_iou"):
        sweep(config, measures=["span_iou"])


# The command line -----------------------------------------------------------------------------------------------------


def test_commands_take_the_unit(beir: Path) -> None:
    (beir.parent / "s.toml").write_text(
        f'documents = "beir"\nquestions = "beir"\nk = 2\nunit = "chunk"\ncache = false\n'
        f'chunk = "{STAGES["chunk"]}"\nindex = "{STAGES["index"]}"\n[sweep]\nk = [1, 2]\n'
    )
    where = {"cwd": beir.parent}
    assert "unit:document" in printed("run", "s.toml", "--unit", "document", "-o", "runs/d", "-v", **where)
    assert "unit:document" not in printed("run", "s.toml", "-o", "runs/c", "-v", **where)
    for command in ("evaluate", "compare", "diagnose", "report"):
        runs = ["beir", "c=runs/c", "d=runs/d"] if command != "evaluate" else ["beir", "runs/c"]
        texts = [printed(command, *runs, *options, **where) for options in ([], ["--unit", "chunk"])]
        assert texts[0] != texts[1]
    assert "unit:document" in printed(
        "gate", "runs/c", "--truth", "beir", "--max-failed", "0.5", "--unit", "document", "-v", **where
    )
    assert "ndcg" in printed("sweep", "s.toml", "--unit", "document", **where).splitlines()[0]
