"""The judge that compares vectors, against a server on this machine; with a model here, tests/judges/test_models.py."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError, MissingExtraError
from steelyard.judges.embedding import EmbeddingJudge
from steelyard.judges.registry import make_judge
from steelyard.judges.verdict import Case, Verdict
from steelyard.services.models import local
from tests.rag.server import Server, put, serving, status, vector

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

EMBEDDINGS = "/v1/embeddings"
HOURS = "The hall was built in 1901. It opens at nine on Sundays. Dogs stay outside."
ZEITEN = "礼堂建于一九〇一年。周日九点开门。狗不得入内。"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def make(server: Server, **settings: Any) -> EmbeddingJudge:
    return EmbeddingJudge("m", base_url=server.base_url, **settings)


def cosine(one: str, other: str) -> float:
    a, b = np.array(vector(one)), np.array(vector(other))
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def test_the_nearest_sentence_counts_in_both_languages(server: Server) -> None:
    cases = [Case(HOURS, ("It opens at nine on Sunday.", "Bees dance.")), Case(ZEITEN, ("周日九点开门", "蜜蜂跳舞。"))]
    (opens, bees), (opens_zh, bees_zh) = make(server).judge(cases)
    assert opens.label == opens_zh.label == "supported"
    assert bees.label == bees_zh.label == "not_found"
    assert opens.score == pytest.approx(cosine("It opens at nine on Sunday.", "It opens at nine on Sundays."), abs=1e-6)
    assert opens.reason == "cosine 0.83 with sentence 2 of 3: “It opens at nine on Sundays.”"
    assert opens_zh.reason == "cosine 1.00 with sentence 2 of 3: “周日九点开门。”"


def test_a_unit_is_embedded_behind_its_lead(server: Server) -> None:
    led = Case(HOURS, ("at nine on Sundays.",), leads=("It opens:",))
    whole = Case(HOURS, ("It opens: at nine on Sundays.",))
    assert list(make(server).judge([led])) == list(make(server).judge([whole]))


def test_a_negated_sentence_is_near_and_never_contradicted(server: Server) -> None:
    ((verdict,),) = make(server).judge([Case(HOURS, ("It never opens at nine on Sundays.",))])
    assert verdict.label == "supported"


def test_the_threshold_is_met_from_it_on(server: Server) -> None:
    case = Case("red green", ("red blue",))
    score = cosine("red green", "red blue")
    (lower,), (higher,) = (
        next(iter(make(server, threshold=threshold).judge([case]))) for threshold in (score - 0.01, score + 0.01)
    )
    assert (lower.label, higher.label) == ("supported", "not_found")
    assert lower.score == higher.score == pytest.approx(score, abs=1e-6)


def test_a_text_that_comes_again_is_asked_once(server: Server) -> None:
    judge = make(server, batch_size=2)
    cases = [Case(HOURS, ("Dogs stay outside.", "Bees dance.")), Case(HOURS, ("Bees dance.",))]
    first, again = list(judge.judge(cases)), list(judge.judge(cases))
    texts = [text for request in server.seen(EMBEDDINGS) for text in request.body["input"]]
    assert len(texts) == len(set(texts)) == 4
    assert first == again


@pytest.mark.parametrize(
    ("premise", "unit", "reason"),
    [("", "It opens.", "the premise is empty"), (" \n", "It opens.", "the premise is empty"),
     ("It opens.", " ", "the unit is empty"), ("", "", "the premise is empty")],
)  # fmt: skip
def test_nothing_is_found_in_nothing(server: Server, premise: str, unit: str, reason: str) -> None:
    assert list(make(server).judge([Case(premise, (unit,))])) == [[Verdict("not_found", 0.0, reason)]]


def test_no_cases_and_no_units_ask_nothing(server: Server) -> None:
    assert list(make(server).judge([])) == []
    assert list(make(server).judge([Case("", ())])) == [[]]
    assert server.seen(EMBEDDINGS) == []


def test_odd_characters_are_judged(server: Server) -> None:
    units = ("half \ud83d a character", "nul \x00 and <b>tags</b>", "a" * 100_000, "[1][2]")
    (verdicts,) = make(server).judge([Case("half \ud83d a character", units)])
    assert [verdict.label for verdict in verdicts] == ["supported", "not_found", "not_found", "not_found"]


def test_a_failing_batch_leaves_its_own_units_unjudged(server: Server) -> None:
    server.script(EMBEDDINGS, status(400))
    judge = make(server, batch_size=1, concurrency=1)  # The longest text comes first.
    (verdicts,) = judge.judge([Case("red green.", ("red green.", "a longer unit that fails"))])
    assert [verdict.label for verdict in verdicts] == ["supported", "not_judged"]
    assert verdicts[1].score is None
    assert "answered 400 (Bad Request)" in verdicts[1].reason


def test_a_failing_sentence_leaves_open_what_no_other_supports(server: Server) -> None:
    server.script(EMBEDDINGS, status(400))
    judge = make(server, batch_size=1, concurrency=1)
    premise = "This sentence is the longest and fails. Dogs stay outside."
    (verdicts,) = judge.judge([Case(premise, ("Dogs stay outside.", "Bees dance."))])
    assert [verdict.label for verdict in verdicts] == ["supported", "not_judged"]


def test_what_failed_is_asked_again_when_it_comes_again(server: Server) -> None:
    judge, case = make(server), Case("red green", ("red green!",))
    server.script(EMBEDDINGS, status(400))
    labels = [verdicts[0].label for _ in range(2) for verdicts in judge.judge([case])]
    assert labels == ["not_judged", "supported"]


def test_a_server_that_never_answers_well_is_given_up(server: Server) -> None:
    server.always(EMBEDDINGS, status(404, "no such model"))
    judge = make(server, batch_size=1, concurrency=2)
    with pytest.raises(InputError, match=r"^judge embedding: embedding: .*answered 404 .*no such model"):
        list(judge.judge([Case("Hall.", tuple(f"unit {i}" for i in range(100)))]))
    assert len(server.seen(EMBEDDINGS)) < 100


def test_vectors_of_another_width_are_no_verdict(server: Server) -> None:
    server.script(EMBEDDINGS, None, put([1.0, 2.0], "data", 0, "embedding"))
    judge = make(server, batch_size=1, concurrency=1)
    ((verdict,),) = judge.judge([Case("red green blue", ("red",))])
    assert verdict.label == "not_judged"
    assert verdict.reason.startswith("embedding: answered vectors of 2 numbers, before of 256")


def test_the_key_is_in_no_reason_and_no_recipe(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-secret")
    server.script(EMBEDDINGS, status(401, "no such key: sk-secret"))
    judge = make(server, api_key_env="JUDGE_KEY")
    ((verdict,),) = judge.judge([Case("red", ("green",))])
    assert verdict.label == "not_judged"
    assert "sk-secret" not in f"{verdict}{judge.recipe()}{judge!r}"


def test_the_recipe_has_what_verdicts_depend_on(server: Server) -> None:
    assert make(server, threshold=0.8).recipe() == {
        "judge": "embedding", "version": 2, "model": "m", "base_url": server.base_url,
        "threshold": 0.8, "calibration": "uncalibrated",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "EmbeddingJudge: model must be"),
        ({"threshold": 1.5}, "EmbeddingJudge: threshold must be a number from 0 to 1, not 1.5"),
        ({"batch_size": 0}, "EmbeddingJudge: batch_size must be a whole number from 1, not 0"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
        ({"base_url": None, "model": "./none"}, "the model folder is not there"),
    ],
)
def test_refuses(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        EmbeddingJudge(**{"model": "m", "base_url": "http://127.0.0.1/v1", **settings})


def test_is_made_by_name(server: Server) -> None:
    judge = make_judge("embedding", {"model": "m", "base_url": server.base_url, "threshold": 0.8})
    assert isinstance(judge, EmbeddingJudge)
    assert judge.threshold == 0.8
    with pytest.raises(InputError, match=r"judge embedding: model is missing; expected a folder, a name on"):
        make_judge("embedding")
    with pytest.raises(InputError, match=r"did you mean threshold"):
        make_judge("embedding", {"model": "m", "treshold": 0.8})


def test_a_missing_library_has_its_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"judge embedding needs .*pip install .*\[models\]'"):
        EmbeddingJudge(str(tmp_path))
