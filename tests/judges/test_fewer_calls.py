"""All chunks in one call: the same verdicts as one chunk a call, in a tenth of the calls and a fourth of the tokens."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks.fewer_calls import endpoint, main
from benchmarks.judged.calls import N_CALLS_BEFORE, N_TOKENS_BEFORE, agreement, asked, labels, oracle
from benchmarks.judged.halls import Halls, halls
from benchmarks.judged.oracle import OracleJudge, reply

from steelyard.experiment.judging import judge, plan_judging
from steelyard.judges.judging import JudgeOptions
from steelyard.judges.llm.asking import ModelRequest
from steelyard.judges.llm.judge import LLMJudge
from steelyard.judges.verdict import Verdict
from steelyard.services.prices import estimate_tokens
from tests.judges.llm_server import QUICK, block, items, numbered
from tests.rag.server import ANSWERS, Server, change, serving, status

pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")

PATH = "/oracle/v1/chat/completions"
CITED = halls(9, cited=True, nuggets=True)


def completion(body: Any) -> Any:
    """The oracle behind the form of a server; tokens are those of what was sent and said, as an estimate."""
    text = reply(body["messages"])
    tokens_in = sum(estimate_tokens(message["content"]) for message in body["messages"])
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": tokens_in, "completion_tokens": estimate_tokens(text)}
    return {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


ANSWERS[PATH] = completion


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as server:
        yield server


def settings(server: Server, **more: Any) -> dict[str, Any]:
    return {"model": "m", "base_url": f"{server.url}/oracle/v1", **QUICK, **more}


def same(n_and_all: tuple[int, int]) -> bool:
    return n_and_all[0] == n_and_all[1] > 0


def test_a_hundred_questions_of_ten_chunks_take_two_calls_each_and_a_fourth_of_the_tokens(server: Server) -> None:
    data = halls(100)
    verdicts = judge(data.questions, data.outputs, "llm", save=False, **settings(server))
    calls = verdicts.recipe["calls"]
    assert N_CALLS_BEFORE == 2300
    assert len(server.seen(PATH)) == calls["calls"] == 200
    assert (calls["tokens_in"] + calls["tokens_out"]) * 4 <= N_TOKENS_BEFORE
    assert {len(record.support[0]) for record in verdicts.records.values()} == {10}
    assert {len(record.units) for record in verdicts.records.values()} == {5}
    assert verdicts.not_judged == {}
    assert (verdicts.recipe["judge"]["ask_by"], verdicts.errors) == ("question", {})


@pytest.mark.parametrize(
    ("ask_by", "chunk_tokens"), [("question", 6000), ("text", 6000), ("question", 150), ("text", 1), ("question", 400)]
)
def test_verdicts_are_those_of_one_chunk_a_call(ask_by: Any, chunk_tokens: int) -> None:
    """In windows too, with statements that need chunks of two of them, and citations of such chunks."""
    by_chunk = asked(CITED, oracle, "chunk")
    way = asked(CITED, oracle, ask_by, chunk_tokens=chunk_tokens)
    counts = agreement(by_chunk.verdicts, way.verdicts)
    assert set(counts) == {"support", "joint", "without", "correctness", "said", "reach", "nuggets", "relevance"}
    assert all(map(same, counts.values())), counts
    assert way.verdicts.not_judged == {}
    assert {label for _, _, label in labels(way.verdicts)} >= {"supported", "contradicted", "not_found", 0.5, 1.0}


def test_a_statement_that_needs_two_chunks_is_supported_by_the_context_and_by_none_of_them() -> None:
    way = asked(CITED, oracle, "question", chunk_tokens=150)
    records = way.verdicts.records.values()
    needing = [
        (record.grounded[place], record.joint[place])
        for record in records
        for place, row in enumerate(record.support)
        if all(verdict.label != "supported" for verdict in row)
    ]
    supported = [(whole, joint) for whole, joint in needing if whole is not None and whole.label == "supported"]
    assert 5 <= len(supported) < len(needing)
    assert {joint.label for _, joint in supported if joint is not None} == {"supported"}
    by_whole = judge(CITED.questions, CITED.outputs, oracle(ask_by="chunk"), tables=["grounded"], save=False)
    for record, other in zip(records, by_whole.records.values(), strict=True):
        pairs = zip(record.grounded, other.grounded, strict=True)
        assert all((a is None) == (b is None) for a, b in zip(record.grounded, other.grounded, strict=True))
        assert all((a.label == "supported") == (b.label == "supported") for a, b in pairs if a and b)


def test_without_the_second_look_what_spans_windows_would_not_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.judges.llm.inquiries.Chunks.looks", lambda inquiry: [])
    verdicts = asked(CITED, oracle, "question", chunk_tokens=150).verdicts
    assert set(verdicts.not_judged) == {"not read together"}


class Wrong(OracleJudge):
    """Takes the first chunk for one that supports each statement."""

    async def ask_async(self, messages: Any, **options: Any) -> Any:
        said = await super().ask_async(messages, **options)
        entries = json.loads(said.text)
        for entry in entries.get("verdicts", ()):
            entry |= {"verdict": "supported", "alone": ["c1"], "quote": "never said"}
        return replace(said, text=json.dumps(entries))


def test_a_judge_that_errs_does_not_agree_and_its_quotations_are_counted() -> None:
    by_chunk = asked(CITED, oracle, "chunk").verdicts

    def wrong(**settings: Any) -> LLMJudge:
        return Wrong(model="wrong", base_url="http://127.0.0.1:9/v1", **settings)

    way = asked(CITED, wrong, "question")
    n_same, n = agreement(by_chunk, way.verdicts)["support"]
    assert n_same < 0.95 * n
    quotes = way.verdicts.recipe["calls"]["quotes"]
    assert quotes["misquoted"] == quotes["checked"] == way.verdicts.errors["misquoted"] > 0
    shown = " ".join(way.verdicts.text(lang="en").split())
    assert f"{quotes['misquoted']} quotations of the judge are in no text that it names" in shown
    assert "no verdicts" not in shown
    [reason] = {record.support[0][0].reason.partition(" (")[2] for record in way.verdicts.records.values()}
    assert reason == "not in c1: “never said”)"


def test_gold_answers_change_no_verdict_on_an_answer_where_they_are_asked_apart() -> None:
    """What is asked of the answer is the same with and without them, and so is its key in the cache."""
    bare = Halls([{**question, "answer": []} for question in CITED.questions], CITED.outputs)
    facts = {}
    for ask_by in ("text", "question"):
        asked_of = [list(_chunk_requests(data, ask_by)) for data in (CITED, bare)]
        facts[ask_by] = [request.facts() for request in asked_of[1]], [request.facts() for request in asked_of[0]]
    assert all(fact in facts["text"][1] for fact in facts["text"][0])
    assert not any(fact in facts["question"][1] for fact in facts["question"][0])


def _chunk_requests(data: Halls, ask_by: Any) -> Iterator[ModelRequest[Any]]:
    seen: list[ModelRequest[Any]] = []

    class Noting(OracleJudge):
        def _ask(self, pairs: Any, stage: str) -> None:
            seen.extend(request for _, request in pairs if request.task.name == "verdicts")
            super()._ask(pairs, stage)

    judge(data.questions, data.outputs, Noting(model="m", base_url="http://127.0.0.1:9/v1", ask_by=ask_by), save=False)
    return iter(seen)


@pytest.mark.parametrize(("ask_by", "n_calls"), [("question", 12), ("text", 18), ("chunk", 138)])
def test_a_plan_counts_what_is_asked(server: Server, ask_by: str, n_calls: int) -> None:
    data, own = halls(6), settings(server, ask_by=ask_by)
    plan = plan_judging(data.questions, data.outputs, "llm", JudgeOptions(save=False, settings=own))
    judge(data.questions, data.outputs, "llm", save=False, **own)
    assert plan.n_calls == len(server.seen(PATH)) == n_calls


def test_a_plan_counts_windows_and_no_second_look(server: Server) -> None:
    data, own = halls(6), settings(server, chunk_tokens=330)
    plan = plan_judging(data.questions, data.outputs, "llm", JudgeOptions(save=False, settings=own))
    calls = judge(data.questions, data.outputs, "llm", save=False, **own).recipe["calls"]["calls"]
    assert 12 < (plan.n_calls or 0) < calls == len(server.seen(PATH))


def test_missing_statements_are_asked_for_once_more_with_all_chunks(server: Server) -> None:
    data = halls(1)

    def drop(answer: Any) -> Any:
        choice = answer["choices"][0]["message"]
        entries = json.loads(choice["content"])
        entries["verdicts"] = [entry for entry in entries["verdicts"] if entry["id"] not in ("2", "b1")]
        choice["content"] = json.dumps(entries)
        return answer

    server.script(PATH, change(drop))
    verdicts = judge(data.questions, data.outputs, "llm", save=False, **settings(server, concurrency=1))
    assert agreement(judge(data.questions, data.outputs, oracle(), save=False), verdicts)["support"] == (50, 50)
    first, second, *_ = (seen.body for seen in server.seen(PATH))
    assert (items(second).keys(), len(items(first))) == ({"2", "b1"}, 8)
    assert block(second, "STATEMENTS").count("[-] ") == 6
    assert numbered(first) == numbered(second)
    assert verdicts.recipe["calls"]["repeated"] == 1


def test_a_run_that_breaks_off_asks_only_for_the_rest(server: Server, tmp_path: Path) -> None:
    data = halls(5, cited=True)
    own = settings(server, cache=str(tmp_path / "cache.sqlite"), concurrency=1, attempts=1)
    server.script(PATH, *[None] * 4, *[status(500)] * 6)
    first = judge(data.questions, data.outputs, "llm", save=False, **own)
    assert set(first.not_judged) == {"status 500"}
    assert len(server.seen(PATH)) == 10
    again = judge(data.questions, data.outputs, "llm", save=False, **own)
    assert len(server.seen(PATH)) == 10 + 6
    assert all(map(same, agreement(asked(data, oracle, "question").verdicts, again).values()))


def test_what_the_budget_leaves_of_a_second_look_is_not_judged() -> None:
    n_first = asked(CITED, oracle, "text", chunk_tokens=150).calls
    judged = asked(CITED, oracle, "text", chunk_tokens=150, budget="1tokens").verdicts
    assert set(judged.not_judged) == {"budget"}
    assert n_first > len(CITED.questions) * 5


def test_samples_of_many_chunks_are_merged_by_cell() -> None:
    verdicts = judge(CITED.questions, CITED.outputs, oracle(epochs=3, temperature=1.0), save=False)
    assert all(map(same, agreement(asked(CITED, oracle, "question").verdicts, verdicts).values()))
    assert verdicts.recipe["calls"]["epochs"]["n_differing"] == 0


def test_the_command_compares_a_real_model_where_one_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: Server
) -> None:
    monkeypatch.setattr("sys.argv", ["fewer_calls", "--endpoint", "--questions", "2"])
    monkeypatch.delenv("STEELYARD_JUDGE_MODEL", raising=False)
    assert (main(), endpoint()) == (0, None)
    assert capsys.readouterr().out == "skipped: no model is configured; set STEELYARD_JUDGE_MODEL\n"
    monkeypatch.setenv("STEELYARD_JUDGE_MODEL", "m")
    monkeypatch.setenv("STEELYARD_JUDGE_URL", f"{server.url}/oracle/v1")
    assert main() == 0
    [*_, question, _, chunk] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert question.split("|")[2].strip() == "4"
    assert question.split("|")[5:] == chunk.split("|")[5:]


def test_a_verdict_by_no_chunk_is_asked_again_and_then_not_judged(server: Server) -> None:
    def unnamed(answer: Any) -> Any:
        choice = answer["choices"][0]["message"]
        entries = json.loads(choice["content"])
        for entry in entries.get("verdicts", ()):
            entry |= {"alone": [], "together": []}
        choice["content"] = json.dumps(entries)
        return answer

    server.always(PATH, change(unnamed))
    data = halls(1)
    verdicts = judge(data.questions, data.outputs, "llm", save=False, **settings(server))
    [record] = verdicts.records.values()
    assert set(record.support[0]) == {Verdict("not_judged", None, "supported, and by no text that it names")}
    assert record.support[4][0].label == "not_found"
