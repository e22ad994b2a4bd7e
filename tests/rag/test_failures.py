"""An error belongs to its stage: what earlier stages gave is kept, weighed, and not asked for again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.errors import StageError
from steelyard.data.corpus import Passage
from steelyard.data.folders.run_folder import RunFolder
from steelyard.data.outputs import Outputs
from steelyard.data.responses import Response, decode_response, encode_response
from steelyard.diagnosis.diagnosing import diagnose
from steelyard.experiment.door.evaluation import weigh
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.reports.views.runs import run_lines
from steelyard.reports.words import read_words
from tests.cli.command import steelyard
from tests.rag import small
from tests.rag.small import QUESTIONS, TEXTS, Common, Shortest, Stops


class Moody:
    """A generator that answers, unless it is told to fail; counts what it is asked."""

    asked: list[str]
    fails: bool

    def answer(self, query: str, passages: Sequence[Passage]) -> Any:
        Moody.asked.append(query)
        if Moody.fails and "whale" in query:
            raise ValueError("garbage")
        return f"{len(passages)} passages"


class Searched(Common):
    """An index that counts its questions."""

    asked: list[str]

    def search(self, query: str, vector: Any, k: int) -> Any:
        Searched.asked.append(query)
        return super().search(query, vector, k)


@pytest.fixture(autouse=True)
def _in_a_mood() -> None:
    Moody.asked, Moody.fails, Searched.asked = [], True, []


def made(**options: Any) -> Pipeline:
    stages = {"chunk": Stops(), "index": Searched(), "generate": Moody(), "k": 3, "name": "mine"}
    return Pipeline(TEXTS, **{**stages, **options})


def lines(folder: RunFolder) -> dict[str, dict[str, Any]]:
    return {line["qid"]: line for line in map(json.loads, folder.outputs.read_text(encoding="utf-8").splitlines())}


def test_what_was_retrieved_is_kept_where_the_answer_fails(tmp_path: Path) -> None:
    Moody.fails = False
    well = lines(made().run(QUESTIONS, tmp_path / "well"))["q2"]
    Moody.fails = True
    folder = made().run(QUESTIONS, tmp_path / "run")
    line = lines(folder)["q2"]
    assert line["error"].startswith("generate raised ValueError: garbage (")
    assert line["failed"] == "generate"
    assert (line["retrieved"], line["candidates"]) == (well["retrieved"], well["candidates"])
    assert set(line["latency_ms"]) == {"search"}
    assert "answer" not in line
    assert (folder.manifest["counts"]["failed"], folder.manifest["failed_at"]) == (1, {"generate": 1})


def test_the_failed_stage_alone_is_asked_again(tmp_path: Path) -> None:
    before = lines(made().run(QUESTIONS, tmp_path / "run"))
    Moody.asked, Moody.fails, Searched.asked = [], False, []
    folder = made().run(QUESTIONS, tmp_path / "run")
    assert (Moody.asked, Searched.asked) == (["Who fears the whale?"], [])
    after = lines(folder)
    assert after["q2"]["answer"] == "3 passages"
    assert after["q2"]["retrieved"] == before["q2"]["retrieved"]
    assert not {"error", "failed"} & after["q2"].keys()
    latency_ms = after["q2"]["latency_ms"]
    assert latency_ms["search"] == before["q2"]["latency_ms"]["search"]
    assert latency_ms["total"] >= latency_ms["search"] + latency_ms["generate"] - 1e-3
    assert (after["q1"], after["q3"]) == (before["q1"], before["q3"])
    assert folder.manifest["failed_at"] == {}


def test_a_reranker_that_fails_leaves_nothing_to_weigh(tmp_path: Path) -> None:
    folder = made(rerank=Shortest(_fail_on="whale")).run(QUESTIONS, tmp_path / "run")
    line = lines(folder)["q2"]
    assert (line["retrieved"], line["error"], line["failed"]) == ([], "the reranker is tired", "rerank")
    assert folder.manifest["failed_at"] == {"rerank": 1}
    Searched.asked = []
    made(rerank=Shortest()).run(QUESTIONS, tmp_path / "run")
    assert Searched.asked == ["Who fears the whale?"]


def test_retrieval_is_weighed_and_the_failed_answer_is_counted(tmp_path: Path) -> None:
    Moody.fails = False
    well = made().run(QUESTIONS, tmp_path / "well").path
    Moody.fails = True
    failing = made().run(QUESTIONS, tmp_path / "run").path
    weighing = weigh(QUESTIONS, {"well": well, "run": failing})
    scores = weighing.scores(["recall@3", "mrr@3"])
    assert scores.values[0].tolist() == scores.values[1].tolist()
    assert not scores.failed.any()
    assert [note.code for note in scores.notes["run"]] == ["answers_failed"]
    assert "Answers that failed: 1 of 3 (q2); what was retrieved is evaluated." in " ".join(
        scores.text(lang="en").split()
    )
    assert [max(ms) == float("inf") for (ms,) in weighing.latency_ms.values()] == [False, True]
    assert diagnose(weighing, k=3).funnels[1].counts()["failed"] == 0
    checks = sy.gate(scores, margin=0.5, baseline="well", max_failed=0.2).checks
    assert [(c.value, c.outcome) for c in checks if c.kind == "share"] == [(pytest.approx(1 / 3), "fail")]


def test_lines_of_others_and_of_earlier_versions_are_read() -> None:
    outputs = Outputs(
        [
            {"qid": "a", "retrieved": ["d1"], "error": "no answer", "failed": "generate"},
            {"qid": "b", "retrieved": ["d1"], "error": "late", "failed": "rerank"},
            {"qid": "c", "retrieved": [], "error": "old"},
        ]
    )
    assert (outputs.unanswered, outputs.failures) == ({"a": "no answer"}, {"b": "late", "c": "old"})
    assert outputs.run.frame["doc_id"].drop_nulls().to_list() == ["d1"]


def test_a_line_keeps_what_failed() -> None:
    response = Response(
        "why?", (Passage("d#1", score=1.0),), latency_ms={"search": 1.0, "total": 1.5}, error="no", failed="generate"
    )
    query_id, read = decode_response(encode_response("q", response))
    assert (query_id, read.passages, read.error, read.failed) == ("q", response.passages, "no", "generate")
    assert read.latency_ms == {"search": 1.0}


def test_a_pipeline_that_is_asked_raises_and_names_the_stage() -> None:
    with pytest.raises(StageError, match="generate raised ValueError: garbage") as raised:
        made().ask("Who fears the whale?")
    assert raised.value.stage == "generate"


@pytest.mark.parametrize(
    ("code", "sentence"), [("en", "2 of 3 questions failed (2 at generate)"), ("zh", "（generate 2 个）")]
)
def test_how_many_failed_where_is_said(code: str, sentence: str, tmp_path: Path) -> None:
    asked = [{**question, "query": question["query"] + " whale" * (question["qid"] != "q3")} for question in QUESTIONS]
    folder = made().run(asked, tmp_path / "run")
    assert any(sentence in line for line in run_lines(folder, 0, read_words(code)))


CONFIG = """
documents = "documents"
questions = "questions.jsonl"
index = "tests.rag.small:Common"
generate = "moods:Angry"
k = 3
[weigh]
measures = ["recall@3"]
[sweep]
k = [2, 3]
"""


@pytest.mark.parametrize("command", ["run", "sweep"])
def test_strict_ends_with_one_where_a_question_failed(command: str, tmp_path: Path) -> None:
    small.write(tmp_path)
    (tmp_path / "moods.py").write_text(
        "class Angry:\n    def answer(self, query, passages):\n        return 5 if 'whale' in query else 'yes'\n"
    )
    (tmp_path / "moody.toml").write_text(CONFIG if command == "sweep" else CONFIG.partition("[sweep]")[0])
    lenient = steelyard(command, "moody.toml", cwd=tmp_path)
    assert lenient.returncode == 0, lenient.stderr
    strict = steelyard(command, "moody.toml", "--strict", cwd=tmp_path)
    assert strict.returncode == 1
    assert "q2" in strict.stdout.decode()
    (tmp_path / "moods.py").write_text("class Angry:\n    def answer(self, query, passages):\n        return 'yes'\n")
    assert steelyard(command, "moody.toml", "--strict", "--overwrite", cwd=tmp_path).returncode == 0
