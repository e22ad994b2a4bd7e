import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from steelyard.base.errors import InputError
from steelyard.experiment.door.evaluation import evaluate
from steelyard.rag.chatting import Assistant
from steelyard.rag.config import Config
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.reports.formats.chat import response_text
from steelyard.reports.words import read_words
from tests.rag import small
from tests.rag.server import Server

MADE: list["Known"] = []
BASE = {
    "documents": "documents", "questions": "questions.jsonl", "k": 2, "name": "mine",
    "chunk": "tests.rag.small:Stops", "index": "tests.rag.small:Common", "embed": "tests.rag.test_chatting:known",
}  # fmt: skip


class Known(small.Letters):
    """An embedder that says that it was made."""


def known() -> Known:
    MADE.append(Known())
    return MADE[-1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    MADE.clear()
    return small.write(tmp_path)


def assistant(folder: Path, **changes: object) -> Assistant:
    return Assistant(Config.of({**BASE, **changes}, base=folder))


def cosine(a: str, b: str, size: int = 32) -> float:
    """Of the counts of letters, by the definition."""
    one, two = (np.zeros(size), np.zeros(size))
    for text, counts in ((a, one), (b, two)):
        for letter in text:
            counts[ord(letter) % size] += 1
    return float(one @ two / np.sqrt((one @ one) * (two @ two)))


@pytest.mark.parametrize("index", ["tests.rag.small:Common", "tests.rag.small:Nearest"])
@pytest.mark.parametrize("query", ["Who fears the whale?", "龙井茶来自哪里？", "nothing of the kind"])
def test_passages_come_with_their_cosine(query: str, index: str, folder: Path) -> None:
    talker = assistant(folder, index=index, k=4)
    response = talker.ask(query)
    assert len(response.passages) == 4
    assert talker.cosines(response) == pytest.approx(
        [cosine(query, passage.text) for passage in response.passages], abs=1e-6
    )
    assert len(MADE) == 1  # A pipeline that has an embedder shares it.
    if index.endswith("Nearest"):
        assert talker.cosines(response) == pytest.approx([passage.score for passage in response.passages], abs=1e-6)


def test_answers_are_extractive_with_citations_where_no_generator_is_named(folder: Path) -> None:
    answer = assistant(folder).ask("Who fears the whale?").answer
    assert answer is not None
    assert "Sailors fear the whale." in answer
    assert "[sea#2]" in answer


class Parrot:
    def answer(self, query: str, passages: Sequence[object]) -> str:
        return f"{query} {len(passages)}"


def parrot() -> Parrot:
    return Parrot()


def test_a_named_generator_answers(folder: Path) -> None:
    assert assistant(folder, generate="tests.rag.test_chatting:parrot").ask("Why?").answer == "Why? 2"


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_question_of_the_dataset_is_weighed_as_a_run_is(number: int, k: int, folder: Path) -> None:
    question = small.QUESTIONS[number]
    talker = assistant(folder, k=k)
    response = talker.ask(f"  {question['query'].upper()} ")
    asked = talker.question(response.query)
    assert asked is not None
    assert asked.query_id == question["qid"]
    run = Pipeline.read(Config.of({**BASE, "k": k}, base=folder)).run(folder / "questions.jsonl", folder / "run")
    specs = [f"{name}@{k}" for name in ("hit_rate", "precision", "recall", "f1")]
    scores = evaluate(folder / "questions.jsonl", [run.path], specs)
    assert list(talker.scores(response)) == ["Hit", "Precision", "Recall", "F1"]
    # The question in capitals may find other passages; weigh what it found.
    if [p.chunk_id for p in response.passages] == [
        item["id"] for item in json.loads(run.outputs.read_text().splitlines()[number])["retrieved"]
    ]:
        np.testing.assert_array_equal(list(talker.scores(response).values()), scores.values[0, :, number])
    exact = talker.ask(question["query"])
    np.testing.assert_array_equal(list(talker.scores(exact).values()), scores.values[0, :, number])


def test_scores_by_hand(folder: Path) -> None:
    """Two passages, of which the one gold is one."""
    talker = assistant(folder)
    response = talker.ask("Who fears the whale?")
    assert response.passages[0].chunk_id == "sea#2"
    assert talker.scores(response) == {"Hit": 1.0, "Precision": 0.5, "Recall": 1.0, "F1": pytest.approx(2 / 3)}
    assert assistant(folder, weigh={"hold_out": 0.5}).scores(response) == talker.scores(response)


def test_whole_gold_documents_are_answered_with_documents(folder: Path) -> None:
    asked = {"qid": "q", "query": "What weighs goods?", "evidence": [{"doc": "scales.txt"}, {"doc": "sea.txt"}]}
    (folder / "questions.jsonl").write_text(json.dumps(asked) + "\n")
    talk = assistant(folder)
    response = talk.ask("What weighs goods?")
    assert sorted(passage.doc_id or "" for passage in response.passages) == ["scales", "sea"]
    assert talk.scores(response) == {"Hit": 1.0, "Precision": 1.0, "Recall": 1.0, "F1": 1.0}
    of_chunks = assistant(folder, unit="chunk", k=9).ask("What weighs goods?").passages
    assert len(of_chunks) == 9


def test_gold_that_was_not_found_scores_nothing(folder: Path) -> None:
    question = {"qid": "q9", "query": "whale", "evidence": [{"doc": "茶.txt", "start": 17, "end": 25}]}
    (folder / "questions.jsonl").write_text(json.dumps(question) + "\n")
    talker = assistant(folder)
    assert set(talker.scores(talker.ask("whale")).values()) == {0.0}


def test_an_unknown_question_has_no_scores(folder: Path) -> None:
    talker = assistant(folder)
    response = talker.ask("Who fears the shark?")
    assert (talker.question(response.query), talker.scores(response)) == (None, {})
    del (alone := dict(BASE))["questions"]
    assert Assistant(Config.of(alone, base=folder)).question("Who fears the whale?") is None


@pytest.mark.parametrize("query", ["", "  \t "])
def test_an_empty_question_is_refused(query: str, folder: Path) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        assistant(folder).ask(query)


class Never(small.Common):
    def search(self, query: str, vector: object, k: int) -> tuple[np.ndarray, np.ndarray]:
        return np.empty(0, np.int64), np.empty(0)


def test_nothing_found(folder: Path) -> None:
    talker = assistant(folder, index="tests.rag.test_chatting:Never")
    response = talker.ask("Who fears the whale?")
    assert (response.passages, talker.cosines(response)) == ((), [])
    assert set(talker.scores(response).values()) == {0.0}


def test_a_target_cannot_be_talked_to(folder: Path) -> None:
    with pytest.raises(InputError, match="is of a \\[target\\], not of a pipeline"):
        Assistant(Config.of({"target": {"callable": "os:getcwd"}}, base=folder))


def test_endpoints_embed_and_answer(server: Server, folder: Path) -> None:
    pytest.importorskip("httpx2", reason="needs the extra endpoints")
    embed = {"kind": "openai", "model": "m", "base_url": server.base_url}
    generate = {"kind": "openai", "model": "m", "base_url": server.base_url, "attempts": 1}
    talker = assistant(folder, index="tests.rag.small:Nearest", embed=embed, generate=generate)
    n_before = len(server.seen("/v1/embeddings"))
    response = talker.ask("Who fears the whale?")
    assert response.answer == "It says so [sea#2]."
    assert talker.cosines(response) == pytest.approx([passage.score for passage in response.passages], abs=1e-6)
    assert len(server.seen("/v1/embeddings")) - n_before <= 3  # the question, and its passages
    from tests.rag.server import status

    server.script("/v1/chat/completions", status(500))
    unanswered = talker.ask("Who fears the whale?")
    assert (unanswered.passages, unanswered.answer, unanswered.failed) == (response.passages, None, "generate")
    text = response_text(unanswered, talker.cosines(unanswered), read_words("en"), k=3, width=80)
    assert "Sailors fear the whale." in text
    assert "No answer: chat: http://" in text
    assert talker.ask("Who fears the whale?").answer == response.answer
