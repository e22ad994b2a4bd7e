"""Questions from logs: which queries are one, what is suspected, and what the weights add up to."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.traffic.drawing import DRAWN, allocated, inclusion, questions_from_logs, systematic
from steelyard.traffic.pseudonyms import KEY_VARIABLE
from tests.hypothesis_profiles import examples
from tests.traffic.made_logs import chance_rows, logs_of


def asked(*queries: str, **more: Any) -> list[dict[str, Any]]:
    return [{"request": f"{query}{n}", "query": query, "doc_ids": ["d"], **more} for n, query in enumerate(queries)]


def signs(impressions: list[dict[str, Any]], **rows: Any) -> dict[str, list[str]]:
    frame = questions_from_logs(logs_of(impressions, **rows), n=9).frame
    return {query: said.split(", ") if said else [] for query, said in frame.select("query", "signs").iter_rows()}


def test_queries_that_differ_in_nothing_are_one_question() -> None:
    rows = asked("Opening hours?", "opening  hours", "opening hours", "OPENING HOURS", "开馆时间？", "開館時間", " ")
    rows += asked("robot", is_bot=True)
    drawn = questions_from_logs(logs_of(rows))
    assert drawn.frame.select("query", "n_requests", "weight").rows() == [
        ("OPENING HOURS", 4, 4.0),
        ("开馆时间？", 2, 2.0),
    ]
    assert (drawn.n_requests, drawn.n_queries, drawn.n_left_out, drawn.head_from) == (6, 2, 2, 4)


def test_signs_of_failure() -> None:
    rows = [
        *asked("fine"), *asked("left"), *asked("down"), *asked("none", doc_ids=[]),
        *asked("broken", error="timeout", doc_ids=None), *asked("half", "half"), *asked("mostly", "mostly", "mostly"),
    ]  # fmt: skip
    opened = ("fine0", "down0", "half0", "mostly0", "mostly1")
    events = [
        *({"request": name, "kind": "click", "position": 1} for name in opened),
        {"request": "down0", "kind": "thumb", "value": -1.0}, {"request": "down0", "kind": "rating", "value": 2.0},
    ]  # fmt: skip
    want = {
        "fine": [], "left": ["abandoned"], "down": ["thumb_down", "low_rating"], "none": ["empty", "abandoned"],
        "broken": ["error"], "half": ["abandoned"], "mostly": [],
    }  # fmt: skip
    assert signs(rows, events=events) == want
    assert signs(asked("left")) == {"left": []}, "without clicks in the logs, none is missing"
    click = {"request": "opened1", "kind": "click"}
    click = {"request": "opened1", "kind": "click"}
    answered = signs(asked("read", "opened"), events=[click], answers=[{"request": "read0", "answer": "At nine."}])
    assert answered == {"read": [], "opened": []}


def test_the_same_seed_draws_the_same_and_weights_are_requests() -> None:
    logs = logs_of(**chance_rows(3, n=400))
    drawn = [questions_from_logs(logs, n=30, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0].frame.equals(drawn[1].frame)
    assert not drawn[0].frame.equals(drawn[2].frame)
    frame = drawn[0].frame
    assert frame.schema == DRAWN
    assert frame.height == 30
    assert frame["weight"].sum() == pytest.approx(drawn[0].n_requests)
    by_stratum = frame.group_by("stratum").agg(pl.col("weight").sum()).sort("stratum")
    assert by_stratum["weight"].to_list() == pytest.approx(drawn[0].strata["n_requests"].to_list())


@examples(50)
@given(counts=st.lists(st.integers(1, 50), min_size=1, max_size=20), part=st.floats(0, 1))
def test_inclusion_is_proportional_and_a_comb_draws_as_many(counts: list[int], part: float) -> None:
    n = 1 + round(part * (len(counts) - 1))
    probability = inclusion(np.array(counts, float), n)
    assert probability.sum() == pytest.approx(n)
    assert ((probability > 0) & (probability <= 1)).all()
    open_ = probability < 1
    assert np.ptp((probability / counts)[open_]) < 1e-12 if open_.any() else True
    drawn = systematic(probability, np.random.default_rng(0))
    assert len(set(drawn)) == n
    assert set(np.flatnonzero(probability == 1)) <= set(drawn)


def test_a_comb_draws_each_unit_with_its_probability() -> None:
    probability = inclusion(np.array([8.0, 4, 2, 1, 1]), 3)
    rng, hits = np.random.default_rng(1), np.zeros(5)
    for _ in range(4_000):
        hits[systematic(probability, rng)] += 1
    assert hits / 4_000 == pytest.approx(probability, abs=0.03)


@examples(50)
@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6), n=st.integers(6, 80))
def test_every_stratum_gets_some_and_none_too_many(sizes: list[int], n: int) -> None:
    shares = np.array(sizes) / sum(sizes)
    counts = allocated(shares, np.array(sizes), n)
    assert counts.sum() == min(n, sum(sizes))
    assert (counts >= 1).all()
    assert (counts <= sizes).all()


def test_refusals() -> None:
    with pytest.raises(InputError, match="no query of a person"):
        questions_from_logs(logs_of(asked("robot", is_bot=True)))
    with pytest.raises(InputError, match="cannot speak for 2 strata"):
        questions_from_logs(logs_of([*asked("a"), *asked("b", error="x")]), n=1)


def test_the_file_is_one_of_questions_and_personal_data_is_masked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "a key of the tests, long enough")
    path = tmp_path / "questions.jsonl"
    logs = logs_of(asked("call 415-555-2671", "call 415-555-2672", "hours", language="en"))
    questions_from_logs(logs, n=5, pseudonymise=True, save=path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [(line["query"], line["weight"], line["language"]) for line in lines] == [
        ("call [phone]", 2.0, "en"), ("hours", 1.0, "en"),
    ]  # fmt: skip
    questions = sy.Questions.read(path)
    assert [question.fields["stratum"] for question in questions] == ["head", "tail"]
    scores = sy.evaluate(
        [{"qid": line["qid"], "relevant": ["d"]} for line in lines],
        {"run": {lines[0]["qid"]: {"d": 1.0}, lines[1]["qid"]: {"e": 1.0}}},
        "recall@1",
    )
    (row,) = sy.weighted_means(scores, path).to_dicts()
    assert (row["mean"], row["low"], row["n"], row["n_left_out"]) == (2 / 3, 2 / 3, 2, 0)


def test_questions_without_a_weight_are_refused() -> None:
    data = [{"qid": "a", "query": "x", "relevant": ["d"]}]
    scores = sy.evaluate(data, {"run": {"a": {"d": 1.0}}}, "recall@1")
    with pytest.raises(InputError, match="`weight` is None"):
        sy.weighted_means(scores, data)
