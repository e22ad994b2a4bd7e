"""Answers of a system judged by a model, through `judge` and the tables of Verdicts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.experiment.judging import judge, plan_judging
from steelyard.judges.judging import JudgeOptions
from tests.judges.llm_server import PATH, QUICK, REFUSAL, edits, items, judging, says_json
from tests.rag.server import Server, status

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

CHUNKS = [
    {"id": "h#1", "text": "The hall opens at 9. It is not free on Sundays."},
    {"id": "h#2", "text": "The hall has a garden."},
]
QUESTIONS = [
    {"qid": "q1", "query": "When does it open?", "answer": "The hall opens at 9.", "nuggets": ["The hall opens at 9"]},
    {"qid": "q2", "query": "什么时候开门？", "answer": "展厅九点开门。"},
]
OUTPUTS = [
    {"qid": "q1", "retrieved": CHUNKS, "answer": "The hall opens at 9 [h#1]. The hall has a café [h#2]."},
    {"qid": "q2", "retrieved": [{"id": "z#1", "text": "展厅九点开门。"}], "answer": "展厅九点开门 [z#1]。"},
]
MEASURES = ["faithfulness", "answer_precision", "answer_recall", "citation_support", "answer_relevance"]


@pytest.fixture
def server() -> Iterator[Server]:
    with judging() as server:
        yield server


def settings(server: Server, **more: Any) -> dict[str, Any]:
    return {"model": "m", "base_url": server.base_url, **QUICK, **more}


def test_answers_are_judged_in_both_languages_and_weighed(server: Server, tmp_path: Path) -> None:
    options = JudgeOptions(save=tmp_path / "v.parquet", settings={"price": "1,2", **settings(server)})
    plan = plan_judging(QUESTIONS, OUTPUTS, "llm", options)
    verdicts = judge(QUESTIONS, OUTPUTS, "llm", save=tmp_path / "v.parquet", **settings(server))
    calls = verdicts.recipe["calls"]
    assert (plan.n_calls, plan.n_cached, calls["calls"]) == (len(server.seen(PATH)), 0, len(server.seen(PATH)))
    assert plan.cost_usd == pytest.approx((plan.tokens_in + 2 * plan.tokens_out) / 1e6)
    assert calls["cost_usd"] is None
    assert verdicts.recipe["judge"]["model"] == "m"
    scores = sy.evaluate(QUESTIONS, OUTPUTS, MEASURES, verdicts=verdicts)
    assert scores.means[0].tolist() == pytest.approx([0.75, 0.75, 1, 0.75, 0.25])
    assert [nugget.credit for nugget in verdicts.records["q1"].nuggets] == [1.0]
    log = (tmp_path / "v.calls.jsonl").read_text("utf-8")
    assert len(log.splitlines()) == calls["attempts"]
    assert "hall" not in log
    again = judge(QUESTIONS, OUTPUTS, "llm", save=tmp_path / "v.parquet", **settings(server))
    assert again.records == verdicts.records
    assert again.recipe["calls"]["cached"] == plan.n_calls == len(server.seen(PATH))


def test_unknown_ids_are_errors_of_the_verdicts_also_from_the_cache(server: Server, tmp_path: Path) -> None:
    server.script(PATH, edits(lambda rows: rows.append({"id": "9", "verdict": "supported"})))
    options = {"tables": ["support"], "save": tmp_path / "v.parquet", **settings(server)}
    judged = [judge(QUESTIONS, OUTPUTS, "llm", **options) for _ in range(2)]
    assert [dict(verdicts.errors) for verdicts in judged] == [{"unknown_id": 1}] * 2
    assert sy.Verdicts.read(tmp_path / "v.parquet").errors == {"unknown_id": 1}


def test_a_context_is_judged_at_once_where_that_is_asked(server: Server) -> None:
    verdicts = judge(QUESTIONS, OUTPUTS, "llm", tables=["grounded"], save=False, **settings(server))
    assert len(server.seen(PATH)) == 2
    [first, _] = verdicts.records.values()
    assert [verdict and verdict.label for verdict in first.grounded] == ["supported", "not_found"]


def test_claims_are_split_and_then_judged(server: Server, tmp_path: Path) -> None:
    answer = "The hall opens at 9 and it has a café [h#1]. It has a garden."
    outputs = [{"qid": "q1", "retrieved": CHUNKS[:1], "answer": answer}]
    server.script(PATH, says_json(sentences=[{"id": "1", "claims": ["The hall opens at 9", "it has a café [h#1]."]}]))
    verdicts = judge(
        QUESTIONS[:1], outputs, "llm", answer_units="claims", save=False, **settings(server, concurrency=1)
    )
    assert verdicts.recipe["units"] == "claims"
    record = verdicts.records["q1"]
    assert [unit.text for unit in record.units] == ["The hall opens at 9", "it has a café [h#1].", "It has a garden."]
    assert [row[0].label for row in record.support] == ["supported", "not_found", "not_found"]
    assert items(server.seen(PATH)[1].body) == {"2": "It has a garden."}  # It was left out of the first reply.
    options = JudgeOptions(save=False, settings=settings(server))
    plan = plan_judging(QUESTIONS[:1], outputs, "llm", replace(options, answer_units="claims"))
    by_sentence = plan_judging(QUESTIONS[:1], outputs, "llm", options)
    assert (plan.n_calls, plan.n_cases) == ((by_sentence.n_calls or 0) + 2, by_sentence.n_cases)


def test_a_sentence_that_cannot_be_split_stays(server: Server) -> None:
    server.script(PATH, *[REFUSAL] * 2)
    verdicts = judge(QUESTIONS, OUTPUTS, "llm", answer_units="claims", save=False, **settings(server, concurrency=1))
    assert len(verdicts.records["q1"].units) == 2
    assert verdicts.recipe["calls"]["not_answered"] == {"refusal": 2}


GOLD = [
    {"qid": "q1", "query": "When does it open?", "answer": "The hall opens at 9. It is free."},
    {"qid": "q2", "query": "What is there?", "answer": "A garden.", "nuggets": ["The hall has a garden"]},
    {"qid": "q3", "query": "Where?"},
]


def test_nuggets_are_drawn_up_where_there_are_none_and_then_judged(server: Server) -> None:
    outputs = [{"qid": q["qid"], "retrieved": CHUNKS, "answer": "The hall opens at 9."} for q in GOLD]
    options: dict[str, Any] = {"tables": ["nuggets"], "new_nuggets": True, "save": False}
    plan = plan_judging(GOLD, outputs, "llm", JudgeOptions(**options, settings=settings(server)))
    assert plan.n_calls == 2  # One draws up, and one judges the nugget that is known by now.
    verdicts = judge(GOLD, outputs, "llm", **options, **settings(server))
    nuggets = {qid: [(n.text, n.vital, n.credit) for n in record.nuggets] for qid, record in verdicts.records.items()}
    assert nuggets == {
        "q1": [("The hall opens at 9", True, 1.0), ("It is free.", False, 0.0)],
        "q2": [("The hall has a garden", True, 0.0)],
        "q3": [],
    }
    assert verdicts.recipe["new_nuggets"] is True
    assert len(server.seen(PATH)) == 3
    scores = sy.evaluate(GOLD, outputs, ["nugget_recall", "nugget_recall(nuggets=all)"], verdicts=verdicts)
    assert scores.means[0].tolist() == pytest.approx([0.5, 0.25])


def test_a_model_that_draws_up_nothing_leaves_no_nuggets(server: Server) -> None:
    outputs = [{"qid": "q1", "retrieved": CHUNKS, "answer": "The hall opens at 9."}]
    server.always(PATH, says_json(nuggets=[]))
    verdicts = judge(GOLD[:1], outputs, "llm", tables=["nuggets"], new_nuggets=True, save=False, **settings(server))
    assert verdicts.records["q1"].nuggets == ()
    with pytest.raises(sy.SteelyardError, match="judge lexical writes no nuggets"):
        judge(GOLD, outputs, "lexical", new_nuggets=True, save=False)


def test_units_that_there_are_not_are_refused() -> None:
    with pytest.raises(sy.SteelyardError, match="take sentences or claims"):
        judge(QUESTIONS, OUTPUTS, "lexical", answer_units="words", save=False)  # type: ignore[arg-type]
    with pytest.raises(sy.SteelyardError, match="judge lexical splits no sentences"):
        judge(QUESTIONS, OUTPUTS, "lexical", answer_units="claims", save=False)


def test_what_the_budget_leaves_is_not_judged_and_has_bounds(server: Server) -> None:
    verdicts = judge(QUESTIONS, OUTPUTS, "llm", save=False, budget="0tokens", **settings(server))
    assert set(verdicts.not_judged) == {"budget"}
    assert server.seen(PATH) == []


def test_a_wrong_key_ends_judging_and_is_shown_nowhere(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-hidden")
    server.always(PATH, status(401, "no such key: sk-hidden"))
    with pytest.raises(sy.SteelyardError, match="check the key in MY_KEY") as caught:
        judge(QUESTIONS, OUTPUTS, "llm", save=tmp_path / "v.parquet", **settings(server, api_key_env="MY_KEY"))
    assert "sk-hidden" not in str(caught.value)
    assert not any(b"sk-hidden" in path.read_bytes() for path in tmp_path.iterdir())
