"""`steelyard run` against real HTTP endpoints on loopback, which misbehave."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import StageError
from steelyard.data.folders.run_folder import RunFolder
from steelyard.experiment.door.evaluation import evaluate
from steelyard.rag.config import Config
from steelyard.rag.own.system import TargetSystem
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.runs.running import run
from tests.cli.command import printed, steelyard
from tests.rag import small
from tests.rag.server import CUT, MALFORMED, WEB_PAGE, Fault, Server, change, overlap, put, stall, status, vector

pytest.importorskip("httpx2", reason="needs the extra endpoints")
EMBED, RERANK, CHAT, SEARCH = "/v1/embeddings", "/rerank", "/v1/chat/completions", "/search"
PATIENCE = {"wait_initial_s": 0.01, "wait_max_s": 0.02, "timeout_s": 0.4, "attempts": 3}
SENTENCES = [
    (f"{name.removesuffix('.txt')}#{i}", piece)
    for name, text in small.TEXTS.items()
    for i, piece in enumerate(re.findall(r"[^.。]*[.。]", text), 1)
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small.write(tmp_path)


def configured(folder: Path, server: Server, **changes: Any) -> Config:
    given = {
        "name": "far", "documents": "documents", "questions": "questions.jsonl", "k": 3, "concurrency": 1,
        "chunk": "tests.rag.small:Stops", "index": {"kind": "dense", "backend": "numpy"},
        "embed": {"kind": "openai", "model": "m", "base_url": server.base_url, "batch_size": 4, **PATIENCE},
        "rerank": {"kind": "http", "url": f"{server.url}{RERANK}", "top_n": 5, **PATIENCE},
        "generate": {"kind": "openai", "model": "g", "base_url": server.base_url, **PATIENCE},
    }  # fmt: skip
    return Config.of({**given, **changes}, base=folder)


def ran(config: Config, **options: Any) -> RunFolder:
    system = TargetSystem.read(config) if config.target else Pipeline.read(config)
    return run(system, config.questions, config.folder, **options)


def lines(folder: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in folder.outputs.read_text(encoding="utf-8").splitlines()]


def expected(query: str) -> list[str]:
    """Ids of the best three: the five nearest by cosine (ties by id, descending), then by the words in common."""

    def unit(text: str) -> np.ndarray:
        counts = np.array(vector(text))
        return (counts / np.linalg.norm(counts)).astype(np.float32)

    asked = unit(query)
    near = sorted(SENTENCES, key=lambda pair: (round(float(unit(pair[1]) @ asked), 6), pair[0].encode()), reverse=True)
    best = sorted(near[:5], key=lambda pair: overlap(query, pair[1]), reverse=True)
    return [name for name, _ in best[:3]]


def test_everything_far_away(folder: Path, server: Server) -> None:
    made = ran(configured(folder, server))
    found = lines(made)
    assert [line["qid"] for line in found] == ["q1", "q2", "q3"]
    for line in found:
        assert [item["id"] for item in line["retrieved"]] == expected(line["query"])
        assert list(line["latency_ms"]) == ["embed", "search", "rerank", "generate", "total"]
        for item in line["retrieved"]:
            text = small.TEXTS[f"{item['doc']}.txt"]
            assert text[item["start"] : item["end"]] == item["text"]
    assert found[1]["answer"] == "It says so [sea#2]."
    assert made.manifest["counts"]["failed"] == 0
    assert len(server.seen(RERANK)) == len(server.seen(CHAT)) == 3
    texts = [text for request in server.seen(EMBED) for text in request.body["input"]]
    assert len(texts) == len(SENTENCES) + 3
    assert {len(request.body["documents"]) for request in server.seen(RERANK)} == {5}
    scores = evaluate(folder / "questions.jsonl", [made.path], ["evidence_recall@3"])
    assert scores.means[0].tolist() == [1.0]


@pytest.mark.parametrize("path", [EMBED, RERANK, CHAT])
@pytest.mark.parametrize(
    "fault", [status(429), status(503, Retry_After="0"), CUT, stall(2)], ids=lambda f: str(f.status)
)
def test_what_passes_is_asked_again_and_changes_nothing(path: str, fault: Fault, folder: Path, server: Server) -> None:
    server.script(path, fault)
    found = lines(ran(configured(folder, server)))
    assert [[item["id"] for item in line["retrieved"]] for line in found] == [expected(line["query"]) for line in found]
    assert all("error" not in line for line in found)


def _scores(change_score: Callable[[int, float], float]) -> Fault:
    return change(
        lambda answer: {
            "results": [
                {**r, "relevance_score": change_score(r["index"], r["relevance_score"])} for r in answer["results"]
            ]
        }
    )


@pytest.mark.parametrize(
    ("path", "fault", "reason"),
    [
        (RERANK, status(500), "answered 500 (Internal Server Error) after 3 attempts"),
        (RERANK, status(429), "answered 429 (Too Many Requests) after 3 attempts"),
        (RERANK, status(400), "answered 400 (Bad Request) after 1 attempt"),
        (RERANK, stall(9), "did not answer within 0.4 s after 3 attempts"),
        (RERANK, CUT, "after 3 attempts"),
        (RERANK, MALFORMED, "malformed JSON"),
        (RERANK, WEB_PAGE, "a web page instead of JSON"),
        (RERANK, change(lambda answer: {"results": answer["results"][1:]}), "4 scores"),
        (RERANK, change(lambda answer: {"results": answer["results"] * 2}), "10 scores"),
        (RERANK, _scores(lambda i, score: float("nan") if i == 2 else score), "as the score of text 3 of 5"),
        (RERANK, _scores(lambda i, score: float("inf")), "as the score of text 1 of 5"),
        (CHAT, status(500), "answered 500"),
        (CHAT, put(None, "choices", 0, "message", "content"), "answered no text"),
        (EMBED, MALFORMED, "malformed JSON"),
        (EMBED, put([1.0, 2.0], "data", 0, "embedding"), "gave a question an array of shape (2,)"),
    ],
)
def test_a_question_that_fails_is_recorded_and_asked_again(
    path: str, fault: Fault, reason: str, folder: Path, server: Server
) -> None:
    config = configured(folder, server)
    Pipeline.read(config).prepare()  # Documents are in the cache: what is scripted meets questions.
    times = 3 if "after 3" in reason or reason == "answered 500" else 1
    server.script(path, None, *[fault] * times)
    made = ran(config)
    first, second, third = lines(made)
    stage = {RERANK: "rerank", CHAT: "generate", EMBED: "embed"}[path]
    assert ("error" in first, "error" in third) == (False, False)
    assert [item["id"] for item in second["retrieved"]] == (expected(second["query"]) if path == CHAT else [])
    assert reason in second["error"]
    assert second["failed"] == stage
    assert made.manifest["counts"]["failed"] == 1
    assert made.manifest["failed_at"] == {stage: 1}
    scores = evaluate(folder / "questions.jsonl", [made.path], ["evidence_recall@3"])
    assert scores.failed.tolist() == [[False, path != CHAT, False]]
    assert scores.values[0, 0].tolist() == [1.0, float(path == CHAT), 1.0]
    n_before = {each: len(server.seen(each)) for each in (EMBED, RERANK, CHAT)}
    again = ran(config)
    assert lines(again)[0] == first
    assert "error" not in lines(again)[1]
    assert lines(again)[2] == third
    assert again.manifest["counts"]["failed"] == 0
    asked = {each: len(server.seen(each)) - n_before[each] for each in (EMBED, RERANK, CHAT)}
    assert (asked[RERANK], asked[CHAT]) == (int(path != CHAT), 1)  # the failed question alone, and of it what failed
    assert set(lines(again)[1]["latency_ms"]) == set(first["latency_ms"])
    assert asked[EMBED] == (1 if path == EMBED else 0)
    assert evaluate(folder / "questions.jsonl", [again.path], ["evidence_recall@3"]).means[0, 0] == 1.0


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (put([1.0, 2.0], "data", 1, "embedding"), "not lists of equally many numbers"),
        (change(lambda answer: {"data": answer["data"][1:]}), "vectors"),
        (put([float("nan")] * 256, "data", 0, "embedding"), "NaN"),
        (MALFORMED, "malformed JSON"),
        (status(401), "401"),
    ],
)
def test_indexing_that_fails_keeps_the_batches_before(fault: Fault, reason: str, folder: Path, server: Server) -> None:
    many = {f"{i:03}.txt": f"Text number {i} of many." for i in range(150)}
    for name, text in many.items():
        (folder / "documents" / name).write_text(text)
    batch = {"kind": "openai", "model": "m", "base_url": server.base_url, "batch_size": 64, **PATIENCE}
    config = configured(folder, server, embed=batch)
    server.script(EMBED, None, fault)
    with pytest.raises(StageError, match=reason):
        ran(config)
    assert len(server.seen(EMBED)) == 2
    assert not (config.folder / "outputs.jsonl").exists()
    made = ran(config)
    first, _, *rest = (request.body["input"] for request in server.seen(EMBED))
    assert len(first) == 64
    assert not set(first) & {text for texts in rest for text in texts}  # The first batch is not asked again.
    assert made.manifest["counts"] == {"documents": 153, "chunks": 159, "questions": 3, "failed": 0}


def test_a_server_that_is_dead_ends_the_run_and_loses_nothing(folder: Path, server: Server) -> None:
    asked = [{"qid": f"q{i}", "query": f"whale {i}", "evidence": [{"text": "whale"}]} for i in range(9)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in asked))
    server.always(RERANK, status(500))
    with pytest.raises(StageError, match="the first 5 questions all failed: rerank: http"):
        ran(configured(folder, server))
    server.always(RERANK, None)
    n_before = len(server.seen(EMBED))
    made = ran(configured(folder, server))
    assert made.manifest["counts"]["failed"] == 0
    texts = [text for request in server.seen(EMBED)[n_before:] for text in request.body["input"]]
    assert texts == [f"whale {i}" for i in range(5, 9)]


def test_another_reranker_embeds_nothing_again(folder: Path, server: Server) -> None:
    ran(configured(folder, server))
    n_before = len(server.seen(EMBED))
    ran(configured(folder, server, rerank="lexical", name="near", generate=None))
    assert len(server.seen(EMBED)) == n_before


def _renamed(answer: Any) -> Any:
    hits = [
        {
            "meta": {"key": r["id"], "file": r["doc"], "from": r["start"], "to": r["end"]},
            "body": r["text"],
            "w": r["score"],
        }
        for r in answer["results"]
    ]
    return {"found": {"hits": hits}, "said": answer["answer"]}


def test_an_endpoint_with_names_of_its_own(folder: Path, server: Server) -> None:
    names = {
        "results_field": "found.hits", "answer_field": "said", "id_field": "meta.key", "doc_field": "meta.file",
        "start_field": "meta.from", "end_field": "meta.to", "text_field": "body", "score_field": "w", "k_field": "k",
    }  # fmt: skip
    (folder / "questions.jsonl").write_text(
        '{"qid": "q1", "query": "known weight of a load", "evidence": [{"doc": "d0", "start": 4, "end": 13}]}\n'
        '{"qid": "q2", "query": "秤", "evidence": [{"text": "已知的砣"}]}\n'
    )
    target = {"url": f"{server.url}{SEARCH}", **names, **PATIENCE}
    config = Config.of({"target": target, "questions": "questions.jsonl", "k": 2, "concurrency": 1}, base=folder)
    server.always(SEARCH, change(_renamed))
    server.script(SEARCH, status(429), change(_renamed), *[status(500)] * 3)
    made = ran(config)
    first, second = lines(made)
    assert first["retrieved"][0] == {
        "id": "d0#1", "score": 0.8, "text": "The steelyard weighs an unknown load against one known weight.",
        "doc": "d0", "start": 0, "end": 62,
    } | {"score": first["retrieved"][0]["score"]}  # fmt: skip
    assert first["answer"] == "See [d0#1]."
    assert len(first["retrieved"]) == 2
    assert "answered 500" in second["error"]
    n_before = len(server.seen(SEARCH))
    assert "error" not in lines(ran(config))[1]
    assert len(server.seen(SEARCH)) == n_before + 1
    scores = evaluate(folder / "questions.jsonl", [config.folder], ["recall@2", "mrr@2"])
    assert scores.means[0].tolist() == [1.0, 1.0]


def test_a_target_that_repeats_the_key_and_one_answer_that_is_too_great(
    folder: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_TEST_KEY", "Bearer sk-very/secret")
    texts = "".join(f'{{"qid": "q{i}", "query": "load", "evidence": [{{"text": "load"}}]}}\n' for i in range(3))
    (folder / "questions.jsonl").write_text(texts)

    def repeat(answer: Any) -> Any:
        headers = server.seen(SEARCH)[-1].headers
        return {"results": [{"id": "d1", "text": str(headers)}], "answer": f"I was sent {json.dumps(dict(headers))}"}

    server.script(SEARCH, change(repeat), Fault(body="[" + " " * 100_000), None)
    target = {"url": f"{server.url}{SEARCH}", "headers_env": {"Authorization": "STEELYARD_TEST_KEY"}}

    def config(limit: float) -> Config:
        limited = {**target, "reply_max_mb": limit, **PATIENCE}
        return Config.of({"target": limited, "questions": "questions.jsonl", "concurrency": 1}, base=folder)

    made = ran(config(0.1))
    first, second, third = lines(made)
    assert first["retrieved"][0]["text"].count("Bearer [key]") == first["answer"].count("Bearer [key]") == 1
    assert f"{server.url}{SEARCH} answered more than 0.1 MB" in second["error"]
    assert third["retrieved"]
    assert not [path for path in made.path.rglob("*") if path.is_file() and b"very" in path.read_bytes()]
    assert "error" not in lines(ran(config(1.0)))[1]  # As the message says what to raise.


def test_the_command_line_tells_of_failures_and_goes_on(folder: Path, server: Server) -> None:
    toml = f"""
documents = "documents"
questions = "questions.jsonl"
index = {{kind = "dense", backend = "numpy"}}
k = 3
concurrency = 1
[embed]
kind = "openai"
model = "m"
base_url = "{server.base_url}"
[rerank]
kind = "http"
url = "{server.url}{RERANK}"
attempts = 1
[weigh]
measures = ["recall@3"]
"""
    (folder / "far.toml").write_text(toml)
    server.script(RERANK, None, None, status(500))  # A question comes before all others.
    text = " ".join(printed("run", "far.toml", "-v", cwd=folder).split())
    assert "1 of 3 questions failed (1 at rerank); the same command asks them again. First q2: rerank: http://" in text
    assert "far: 1 of 3 questions failed and counts 0: q2." in " ".join(text.split())
    again = printed("run", "far.toml", cwd=folder)
    assert "2 of 3 questions were answered before and are kept." in again
    assert "failed" not in again
    server.script(EMBED, MALFORMED)
    done = steelyard("run", "far.toml", "--no-cache", "--output", "other", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.decode().startswith("steelyard: embedding: http://")
    assert done.stderr.count(b"\n") == 1
