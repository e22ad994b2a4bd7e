import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import DuplicateError, InputError, OutputError, StageError
from steelyard.base.notes import Note
from steelyard.data.folders.run_folder import read_run_folder
from steelyard.data.folders.run_lock import LOCK, Holder, run_lock
from steelyard.rag.config import Config
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.runs.running import run
from tests.rag import small
from tests.rag.small import QUESTIONS, TEXTS, Common, Letters, Nearest, Shortest, Stops


def made(**options: object) -> Pipeline:
    return Pipeline(TEXTS, **{"chunk": Stops(), "index": Common(), "k": 3, "name": "mine", **options})


def lines(folder: Path, name: str = "outputs.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def n_answered(folder: Path) -> int:
    """Whole lines with an answer, of a run that is not finished."""
    raw = (folder / "outputs.partial.jsonl").read_bytes().splitlines(keepends=True)
    return sum(b'"error"' not in line for line in raw if line.endswith(b"\n"))


def many(n: int, **odd: str) -> list[dict[str, Any]]:
    """n questions; odd ones by id."""
    return [{"qid": f"q{i}", "query": odd.get(f"q{i}", f"the whale {i}"), "gold_evidence": []} for i in range(n)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "mine"


def test_a_run_folder_holds_everything(folder: Path) -> None:
    pipeline = made(generate=Echo())
    made_folder = pipeline.run(QUESTIONS, folder)
    assert sorted(os.listdir(folder)) == [
        "chunks.parquet", "config.json", "documents.parquet", "manifest.json", "outputs.jsonl"
    ]  # fmt: skip
    written = lines(folder)
    assert [line["qid"] for line in written] == ["q1", "q2", "q3"]
    first = written[0]
    assert list(first) == ["qid", "query", "retrieved", "candidates", "answer", "latency_ms"]
    assert first["answer"] == "What slides along the beam? 3"
    assert set(first["latency_ms"]) == {"search", "generate", "total"}
    expected = pipeline.search(first["query"])
    assert [
        (item["id"], item["score"], item["text"], item["doc"], item["start"], item["end"])
        for item in first["retrieved"]
    ] == [(p.chunk_id, p.score, p.text, p.doc_id, p.start, p.end) for p in expected]
    manifest = made_folder.manifest
    assert manifest["counts"] == {"documents": 3, "chunks": 9, "questions": 3, "failed": 0}
    assert manifest["fingerprint"] == pipeline.fingerprint
    assert set(manifest["latency_ms"]["total"]) == {"p50", "p95"}
    assert manifest["started"] <= manifest["finished"]
    assert manifest["finished"].endswith("+00:00")
    assert "numpy" in manifest["libraries"]
    assert made_folder.name == "mine"


class Echo:
    def answer(self, query: str, passages: list[Any]) -> str:
        return f"{query} {len(passages)}"


def test_chunks_are_read_back_as_they_were(folder: Path) -> None:
    pipeline = made()
    pipeline.run(QUESTIONS, folder)
    chunks = read_run_folder(folder).chunks
    assert chunks is not None
    assert chunks.ids == pipeline.chunks.ids
    assert chunks.texts == pipeline.chunks.texts
    assert list(chunks.documents) == list(pipeline.documents)


def test_what_is_no_run_folder_is_told(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no run folder"):
        read_run_folder(tmp_path)
    made().run(QUESTIONS, folder)
    (folder / "chunks.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match=r"chunks\.parquet: cannot be read"):
        _ = read_run_folder(folder).chunks


def test_tables_of_two_runs_do_not_fit(folder: Path, tmp_path: Path) -> None:
    made().run(QUESTIONS, folder)
    Pipeline({"a": "x."}, chunk=Stops(), index=Common()).run(QUESTIONS, tmp_path / "other")
    (folder / "documents.parquet").write_bytes((tmp_path / "other" / "documents.parquet").read_bytes())
    with pytest.raises(InputError, match="are not of one run"):
        _ = read_run_folder(folder).chunks


# Interruptions


class Stopping(Shortest):
    """Stops before a question of its choice, as Ctrl-C does, and counts."""

    asked: list[str]
    stop_on: str | None

    def scores(self, query: str, texts: list[str]) -> list[float]:
        if query == type(self).stop_on:
            raise KeyboardInterrupt
        type(self).asked.append(query)
        return super().scores(query, texts)


def stopping(query: str | None) -> Stopping:
    Stopping.asked, Stopping.stop_on = [], query
    return Stopping()


def test_an_interrupted_run_goes_on_where_it_was(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(rerank=stopping("the whale 7")).run(many(20), folder)
    assert n_answered(folder) == 7
    assert len(lines(folder, "outputs.partial.jsonl")) == 7
    with pytest.raises(InputError, match="was interrupted; start it again"):
        read_run_folder(folder)
    seen: list[tuple[str, int, int]] = []
    made(rerank=stopping(None)).run(many(20), folder, progress=lambda *step: seen.append(step))
    assert Stopping.asked == [f"the whale {i}" for i in range(7, 20)]
    assert next(step for step in seen if step[0] == "questions") == ("questions", 7, 20)
    assert seen[-1] == ("questions", 20, 20)
    assert [line["qid"] for line in lines(folder)] == [f"q{i}" for i in range(20)]
    assert not (folder / "outputs.partial.jsonl").exists()


@pytest.mark.parametrize("cut", [1, 40, 400])
def test_a_torn_last_line_is_asked_again(cut: int, folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(rerank=stopping("the whale 5")).run(many(8), folder)
    partial = folder / "outputs.partial.jsonl"
    partial.write_bytes(partial.read_bytes()[:-cut])
    assert n_answered(folder) == 4
    made(rerank=stopping(None)).run(many(8), folder)
    assert Stopping.asked == [f"the whale {i}" for i in range(4, 8)]
    assert [line["qid"] for line in lines(folder)] == [f"q{i}" for i in range(8)]


def test_a_damaged_line_is_asked_again_and_no_other(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(rerank=stopping("the whale 5")).run(many(8), folder)
    partial = folder / "outputs.partial.jsonl"
    raw = partial.read_bytes().splitlines(keepends=True)
    partial.write_bytes(b"".join([*raw[:2], b"\0\0\0\n", *raw[3:], b"\0" * 50]))
    made(rerank=stopping(None)).run(many(8), folder)
    assert Stopping.asked == [f"the whale {i}" for i in (2, 5, 6, 7)]
    assert [line["qid"] for line in lines(folder)] == [f"q{i}" for i in range(8)]


def test_vectors_of_questions_survive_too(folder: Path, tmp_path: Path) -> None:
    options = {"index": Nearest(), "cache": tmp_path / "cache.sqlite"}
    with pytest.raises(KeyboardInterrupt):
        made(embed=Letters(), rerank=stopping("the whale 5"), **options).run(many(8), folder)
    made(embed=(second := Letters()), rerank=stopping(None), **options).run(many(8), folder)
    assert second._queries == ["the whale 6", "the whale 7"]


def test_the_time_of_a_vector_from_the_cache_is_what_it_took(folder: Path, tmp_path: Path) -> None:
    options = {"index": Nearest(), "cache": tmp_path / "cache.sqlite"}
    made(embed=Letters(), **options).run(many(8), folder)
    made(embed=(second := Letters()), rerank=Shortest(), **options).run(many(8), tmp_path / "other")
    assert second._queries == []
    before, after = ([line["latency_ms"] for line in lines(each)] for each in (folder, tmp_path / "other"))
    assert [one["embed"] for one in before] == [one["embed"] for one in after]
    assert all(one["total"] >= one["embed"] for one in after)


# Runs that are finished


def test_a_finished_run_is_not_run_again(folder: Path) -> None:
    made(rerank=stopping(None)).run(many(6), folder)
    before = {name: (folder / name).read_bytes() for name in os.listdir(folder)}
    made(rerank=stopping(None)).run(many(6), folder)
    assert Stopping.asked == []
    assert {name: (folder / name).read_bytes() for name in os.listdir(folder)} == before
    made(rerank=stopping(None)).run(many(6), folder, overwrite=True)
    assert len(Stopping.asked) == 6


def test_a_finished_run_of_another_configuration_is_not_lost(folder: Path) -> None:
    first = made().run(many(3), folder)
    before = first.outputs.read_bytes()
    other = made(rerank=Shortest())
    with pytest.raises(InputError) as caught:
        other.run(many(3), folder)
    message = str(caught.value)
    assert "holds the finished run 'mine' of another configuration: rerank.kind none → " in message
    assert "--overwrite" in message
    assert first.outputs.read_bytes() == before
    assert other.run(many(3), folder, overwrite=True).manifest["fingerprint"] == other.fingerprint


def test_questions_may_be_added_but_not_lost(folder: Path) -> None:
    made(rerank=stopping(None)).run(many(3), folder)
    with pytest.raises(InputError, match=r"other questions \(1 of its 3 are no longer asked so, first 'q1'"):
        made(rerank=stopping(None)).run(many(3, q1="something else"), folder)
    made(rerank=stopping(None)).run(many(5)[::-1], folder)
    assert Stopping.asked == ["the whale 4", "the whale 3"]
    assert [line["qid"] for line in lines(folder)] == ["q4", "q3", "q2", "q1", "q0"]


def test_a_folder_of_other_things_is_left_alone(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match=r"holds other things \(thesis.tex\)"):
        made().run(QUESTIONS, folder)
    with pytest.raises(OutputError, match="cannot be a run folder"):
        made().run(QUESTIONS, folder / "thesis.tex")


def test_a_full_disk_is_told_and_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(rerank=stopping("the whale 3")).run(many(6), folder)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.replace", full)
        with pytest.raises(OutputError, match="No space left on device"):
            made(rerank=stopping(None)).run(many(6), folder)
    assert n_answered(folder) >= 3
    made(rerank=stopping(None)).run(many(6), folder)
    assert [line["qid"] for line in lines(folder)] == [f"q{i}" for i in range(6)]


# Two at once


def test_a_folder_that_is_being_written_is_refused_before_anything_is_done(folder: Path) -> None:
    embedder = Letters()
    with run_lock(folder), pytest.raises(OutputError, match=f"is being written by process {os.getpid()} on "):
        made(embed=embedder, index=Nearest()).run(many(3), folder)
    assert embedder._texts == []
    made().run(many(3), folder)
    with run_lock(folder):
        assert len(list(read_run_folder(folder).responses())) == 3


def test_a_run_whose_writer_was_killed_goes_on_and_says_so(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        made(rerank=stopping("the whale 3")).run(many(6), folder)
    dead = replace(Holder.current(), pid=2**22 + 1)
    (folder / LOCK).write_bytes(dead.as_json())
    result = made(rerank=stopping(None)).run(many(6), folder)
    assert Stopping.asked == ["the whale 3", "the whale 4", "the whale 5"]
    assert result.notes == (Note("lock_taken_over", asdict(dead)),)
    assert LOCK not in os.listdir(folder)


def test_a_run_that_fails_before_its_first_question_leaves_no_folder(folder: Path) -> None:
    def refuse() -> None:
        raise InputError("gold is nowhere")

    with pytest.raises(InputError, match="gold is nowhere"):
        run(made(), many(3), folder, check=refuse)
    assert not folder.exists()


# Questions that fail


def test_a_question_on_which_a_stage_fails_is_recorded_and_tried_again(folder: Path) -> None:
    questions = many(6, q1="I am tiring", q4="I am tiring too")
    result = made(rerank=Shortest(_fail_on="tiring")).run(questions, folder)
    assert result.manifest["counts"]["failed"] == 2
    assert [line.get("error") for line in lines(folder)] == [
        None, "the reranker is tired", None, None, "the reranker is tired", None
    ]  # fmt: skip
    assert [len(line["retrieved"]) for line in lines(folder)] == [3, 0, 3, 3, 0, 3]
    again = made(rerank=Shortest()).run(questions, folder)
    assert again.manifest["counts"]["failed"] == 0
    assert [line["qid"] for line in lines(folder)] == [f"q{i}" for i in range(6)]
    assert all("error" not in line for line in lines(folder))


def test_a_reranker_that_gives_nan_fails_its_question_only(folder: Path) -> None:
    result = made(rerank=Shortest(_nan_on="odd")).run(many(3, q1="odd"), folder)
    assert result.manifest["counts"]["failed"] == 1
    assert "nan" in lines(folder)[1]["error"]


def test_a_system_that_fails_from_the_start_is_stopped(folder: Path) -> None:
    with pytest.raises(StageError, match="the first 5 questions all failed: the reranker is tired"):
        made(rerank=Shortest(_fail_on="whale")).run(many(9), folder)
    assert n_answered(folder) == 0
    made(rerank=Shortest()).run(many(9), folder)
    assert [line["qid"] for line in lines(folder)] == [f"q{i}" for i in range(9)]


def test_fewer_than_five_questions_may_all_fail(folder: Path) -> None:
    assert made(rerank=Shortest(_fail_on="whale")).run(many(4), folder).manifest["counts"]["failed"] == 4


# Questions that are none


@pytest.mark.parametrize("query", ["", "  \n"])
def test_an_empty_question_is_named_before_anything_is_done(query: str, folder: Path) -> None:
    with pytest.raises(InputError, match="question 2: question 'q1' has an empty `query`"):
        made().run(many(3, q1=query), folder)
    assert not folder.exists()


def test_questions_that_cannot_be_asked(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="question 'q' has no `query`"):
        made().run([{"qid": "q", "gold_evidence": ["a"]}], folder)
    with pytest.raises(DuplicateError):
        made().run([*many(1), *many(1)], folder)
    with pytest.raises(InputError, match="no question"):
        made().run([], folder)
    small.write(tmp_path)
    made().run(tmp_path / "questions.jsonl", folder)
    assert len(lines(folder)) == 3


# Systems of the user's own

TARGET = """
calls = []

def search(query, k=10):
    calls.append(query)
    if "tiring" in query:
        raise RuntimeError("tired")
    return [{"id": "茶", "score": 2.0, "text": "t", "doc": "d", "start": 0, "end": 1}, {"id": "b", "score": 1}][:k]
"""


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"own_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{name}.py").write_text(TARGET)
    monkeypatch.syspath_prepend(tmp_path)
    return f"{name}:search"


def test_a_target_is_run_like_a_pipeline(target: str, folder: Path, tmp_path: Path) -> None:
    system = TargetSystem.read(Config.of({"target": {"callable": target}, "k": 2}, base=tmp_path))
    result = run(system, many(4, q2="tiring"), folder)
    assert result.name == "search"
    assert result.chunks is None
    assert result.manifest["counts"] == {"questions": 4, "failed": 1}
    written = lines(folder)
    assert written[0]["retrieved"] == [
        {"id": "茶", "score": 2.0, "text": "t", "doc": "d", "start": 0, "end": 1},
        {"id": "b", "score": 1.0},
    ]
    assert "tired" in written[2]["error"]
    assert sorted(os.listdir(folder)) == ["config.json", "manifest.json", "outputs.jsonl"]


def test_options_that_a_target_does_not_take(target: str, tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(f'k = 3\n[target]\ncallable = "{target}"\ntext = true')
    with pytest.raises(
        InputError, match=r"c.toml, line \d: target callable: takes no setting 'text'; did you mean texts"
    ):
        TargetSystem.read(Config.read(tmp_path / "c.toml"))
    with pytest.raises(InputError, match="has no"):
        TargetSystem.read(Config.of({"target": {"callable": "numpy:loadz"}}, base=tmp_path))
