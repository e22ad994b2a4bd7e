"""Which chunks of a context are of use for the answer: asked in the call about support, by a judge that grades."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.experiment.judging import judge
from steelyard.judges.tables.verdicts import Verdicts
from tests.judges.llm_server import PATH, QUICK, block, items, judging
from tests.rag.server import Server

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

QUESTIONS = [
    {"qid": "q1", "query": "opens at 9?", "answer": "It opens at 9."},
    {"qid": "q2", "query": "九点开门？"},
    {"qid": "q3", "query": "how much?"},
]
OUTPUTS = [
    {"qid": "q1", "retrieved": [{"id": "a", "text": "The hall opens at 9."}, {"id": "b", "text": "It has a garden."}],
     "answer": "It opens at 9."},
    {"qid": "q2", "retrieved": [{"id": "c", "text": "展厅九点开门。"}], "answer": "无法作答。"},
    {"qid": "q3", "retrieved": [], "answer": "Nobody says."},
]  # fmt: skip
TABLES: Any = ("support", "joint", "context_relevance")


@pytest.fixture
def server() -> Iterator[Server]:
    with judging() as server:
        yield server


def judged(server: Server, tables: Any = TABLES, save: Path | bool = False, **more: Any) -> Verdicts:
    return judge(
        QUESTIONS, OUTPUTS, "llm", tables=tables, save=save, model="m", base_url=server.base_url, **QUICK, **more
    )


@pytest.mark.parametrize("ask_by", ["question", "chunk"])
def test_each_chunk_is_judged_by_the_question(server: Server, tmp_path: Path, ask_by: str) -> None:
    verdicts = judged(server, save=tmp_path / "v.parquet", ask_by=ask_by)
    rows = verdicts.context_relevance.select("query_id", "chunk_id", "verdict").rows()
    assert rows == [("q1", "a", "supported"), ("q1", "b", "not_found"), ("q2", "c", "supported")]
    scores = sy.evaluate(QUESTIONS, OUTPUTS, ["context_relevance", "faithfulness"], verdicts=verdicts)
    assert scores.values[0, 0].tolist() == [0.5, 1.0, 0.0]
    again = Verdicts.read(tmp_path / "v.parquet")
    assert again == verdicts
    assert again.records["q1"].context_relevance[0].label == "supported"


def test_it_takes_no_call_of_its_own(server: Server) -> None:
    judged(server, ("support", "reach"))
    n_calls = len(server.seen(PATH))
    judged(server, ("support", "reach", "context_relevance"))
    # The calls are concurrent, so their order is not known.
    prompts = {frozenset(items(request.body)): request.body for request in server.seen(PATH)[n_calls:]}
    assert set(prompts) == {frozenset({"1", "b1", "q"}), frozenset({"q"})}
    graded = prompts[frozenset({"1", "b1", "q"})]
    assert block(graded, "QUESTION") == items(graded)["q"] == "opens at 9?"


def test_it_is_not_asked_unless_it_is_named_nor_of_a_judge_that_does_not_grade(server: Server) -> None:
    by_words = judge(QUESTIONS, OUTPUTS, "lexical", tables=TABLES, save=False)
    for verdicts in (judged(server, ("support",)), by_words):
        assert verdicts.context_relevance.is_empty()
        assert "context_relevance" not in verdicts.recipe["tables"]
        scores = sy.evaluate(QUESTIONS, OUTPUTS, "context_relevance", verdicts=verdicts)
        assert scores.means.tolist() == [[0.0]]  # Of the question without chunks alone.
