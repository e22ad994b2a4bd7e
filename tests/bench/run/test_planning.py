"""What a bench would take, before anybody is asked."""

from dataclasses import replace
from pathlib import Path

import pytest

import steelyard as sy
from steelyard.bench.load.levels import MOST_PROBES
from steelyard.bench.load.served import Request, Served
from steelyard.bench.run.planning import PLAN, plan_bench, plan_work
from steelyard.bench.run.preparing import prepare_bench
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.services.announcements import Usage
from tests.bench.run.test_rerankers import DOCUMENTS, FAILING, QUERIES, SYSTEMS, bench_config


def test_every_request_is_counted(tmp_path: Path) -> None:
    systems = SYSTEMS | {"api": {"rerank": "lexical", "price": {"per_query": 0.01}}}
    config = bench_config(tmp_path, systems=systems, load={"rates": [1, 4], "concurrency": [2], "duration": 8})
    plan = plan_bench(config)
    assert plan.frame.schema == PLAN
    assert (plan.n_blocks, plan.n_done, plan.currency) == (12, 0, "USD")
    assert not config.folder.exists()
    rows = {(row["system"], row["depth"], row["loop"]): row for row in plan.frame.to_dicts()}
    assert len(rows) == 3 * (2 + 3)
    # 6 questions, twice, and one to warm up; 3 or 6 candidates each.
    assert [rows["words", depth, "sequential"]["requests"] for depth in (3, 6)] == [13, 13]
    assert [rows["words", depth, "sequential"]["pairs"] for depth in (3, 6)] == [39, 78]
    assert rows["words", 3, "sequential"]["cost"] is None
    assert rows["api", 3, "sequential"]["cost"] == pytest.approx(0.13)
    # Two rates for 8 s and 2 s to warm up.
    assert rows["api", 6, "open"] == {
        "system": "api", "depth": 6, "loop": "open", "requests": 50, "pairs": 300, "cost": pytest.approx(0.5),
        "seconds": 20.0, "tokens": rows["words", 6, "open"]["tokens"],
    }  # fmt: skip
    assert rows["api", 6, "closed"]["requests"] is None
    assert rows["api", 6, "closed"]["seconds"] == 10.0
    # So many probes at most, each of four times 72 requests at the lowest rate, and 2 s to warm up.
    assert rows["api", 6, "search"]["seconds"] == MOST_PROBES * (288 / 1 + 2)
    assert rows["api", 6, "search"]["requests"] is None


def test_tokens_are_those_of_the_bench(tmp_path: Path) -> None:
    config = bench_config(tmp_path, warm_up=0, repetitions=1)
    planned = plan_bench(config).frame.filter(system="words", depth=6)["tokens"].item()
    bench = bench_rerankers(config)
    measured = bench.requests.filter(system="words", depth=6)["tokens_in"].sum()
    assert planned == measured


def test_tokens_of_a_chat_model_are_those_of_its_prompts(tmp_path: Path) -> None:
    model = {"kind": "llm", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    systems = {mode: {"rerank": {**model, "mode": mode}} for mode in ("pointwise", "listwise")}
    plan = plan_bench(bench_config(tmp_path, systems={"words": {"rerank": "lexical"}, **systems}))
    tokens = dict(plan.frame.filter(depth=6).select("system", "tokens").iter_rows())
    assert tokens["words"] < tokens["listwise"] < tokens["pointwise"]


def test_time_and_tokens_are_in_proportion_to_those_of_a_first_answer(tmp_path: Path) -> None:
    gpu = {"per_gpu_hour": 3.6, "source": "mine"}
    chat = {"kind": "llm", "mode": "pointwise", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    price = {"per_1m_tokens": {"in": 1, "out": 10}}
    systems = {"words": {"rerank": "lexical", "price": gpu}, "chat": {"rerank": chat, "price": price}}
    work = prepare_bench(bench_config(tmp_path, systems=systems))
    before = plan_work(work, set())
    assert before.frame["seconds"].null_count() == len(before.frame)
    assert before.without_price == ["words"]  # By the hour: its time is not known.
    words = Request(0, "q0", 1.0, 1.0, 1.5, "ok", served=Served(6))
    usage = work.rerankers["chat"].estimate(QUERIES["q0"], [DOCUMENTS[f"d{(5 - place) % 12}"] for place in range(6)])
    counted = Usage(2 * usage.tokens_in, 3 * usage.tokens_out)
    plan = plan_work(work, set(), {"words": words, "chat": replace(words, served=Served(6, usage=counted))})
    rows, rows_before = ({(row["system"], row["depth"]): row for row in p.frame.to_dicts()} for p in (plan, before))
    assert (plan.without_price, plan.callers) == ([], ["chat"])
    seconds = rows["words", 6]["seconds"]
    assert seconds == pytest.approx(13 * 0.5, rel=0.1)  # Questions are not equally long.
    assert rows["words", 6]["cost"] == pytest.approx(seconds * 0.001)
    assert rows["words", 3]["seconds"] == pytest.approx(seconds / 2, rel=0.1)
    row, row_before = rows["chat", 6], rows_before["chat", 6]
    tokens_out = 13 * usage.tokens_out
    assert row_before["tokens"] + 13 * usage.tokens_in + 2 * tokens_out == pytest.approx(row["tokens"], rel=0.02)
    assert row["cost"] == pytest.approx((row["tokens"] + 9 * 3 * tokens_out) / 1e6, rel=0.02)


def test_what_is_measured_already_is_not_planned(tmp_path: Path) -> None:
    bench_rerankers(bench_config(tmp_path, repetitions=1))
    plan = plan_bench(bench_config(tmp_path))
    assert (plan.n_blocks, plan.n_done) == (8, 4)
    assert plan.frame["requests"].to_list() == [7] * 4
    bench_rerankers(bench_config(tmp_path))
    assert plan_bench(bench_config(tmp_path)).frame["requests"].sum() == 0
    assert plan_bench(bench_config(tmp_path), overwrite=True).frame["requests"].to_list() == [13] * 4


def test_what_cannot_be_measured_cannot_be_planned(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match="names no candidates"):
        plan_bench({"systems": {"words": {"rerank": "lexical"}}})
    config = bench_config(tmp_path, systems={"down": {"rerank": {"kind": FAILING, "on": "what"}}})
    assert plan_bench(config).frame["requests"].to_list() == [13] * 2  # Nobody is asked.
