"""What a run keeps of the candidates, so that it can be told what a reranker did, and what lies below k."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.data.outputs import Outputs
from steelyard.rag.pipeline.pipeline import Pipeline
from tests.rag.small import QUESTIONS, TEXTS, Common, Shortest, Stops


def made(**options: Any) -> Pipeline:
    return Pipeline(TEXTS, **{"chunk": Stops(), "index": Common(), "k": 2} | options)


def lines(pipeline: Pipeline, folder: Path) -> list[dict[str, Any]]:
    run = pipeline.run(QUESTIONS, folder)
    return [json.loads(line) for line in run.outputs.read_text("utf-8").splitlines()]


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["id"] for item in items]


def test_without_a_reranker_results_are_the_head_of_the_candidates(tmp_path: Path) -> None:
    deep = lines(made(k=9), tmp_path / "deep")
    assert all("candidates" not in line for line in deep), "the results are all there is"
    for line, whole in zip(lines(made(), tmp_path / "run"), deep, strict=True):
        assert line["candidates"] == ids(whole["retrieved"])
        assert ids(line["retrieved"]) == line["candidates"][:2]


def test_a_reranker_does_not_change_the_candidates(tmp_path: Path) -> None:
    plain = lines(made(), tmp_path / "plain")
    reranked = lines(made(rerank=Shortest(), top_n=4), tmp_path / "reranked")
    assert [line["candidates"] for line in reranked] == [line["candidates"] for line in plain]
    assert [line["retrieved"] for line in reranked] != [line["retrieved"] for line in plain]
    for line in reranked:
        assert set(ids(line["retrieved"])) <= set(line["candidates"][:4])


def test_a_reranker_has_candidates_even_where_all_are_returned(tmp_path: Path) -> None:
    for line in lines(made(rerank=Shortest(), k=9), tmp_path / "run"):
        assert sorted(line["candidates"]) == sorted(ids(line["retrieved"]))


def test_candidates_go_as_deep_as_the_indexes_gave(tmp_path: Path) -> None:
    for line in lines(made(depth=3, rerank=Shortest()), tmp_path / "run"):
        assert len(line["candidates"]) == 3


def test_candidates_of_several_indexes_are_those_of_the_fusion(tmp_path: Path) -> None:
    pipeline = made(index=[Common(), Common()], rerank=Shortest())
    plain = made(index=[Common(), Common()], k=9)
    for line in lines(pipeline, tmp_path / "run"):
        assert line["candidates"] == [passage.chunk_id for passage in plain.search(line["query"])]


def test_a_question_that_failed_has_none(tmp_path: Path) -> None:
    first, *_ = lines(made(rerank=Shortest(_fail_on="beam")), tmp_path / "run")
    assert first["error"]
    assert "candidates" not in first


def test_they_are_read_again(tmp_path: Path) -> None:
    pipeline = made(rerank=Shortest())
    written = lines(pipeline, tmp_path / "run")
    outputs = Outputs.read(tmp_path / "run")
    assert outputs.candidates is not None
    for line in written:
        top = outputs.candidates.top(100)
        assert top.filter(top["query_id"] == line["qid"])["doc_id"].to_list() == line["candidates"]


def test_an_interrupted_run_has_them_too(tmp_path: Path) -> None:
    whole = lines(made(rerank=Shortest()), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        made(rerank=Shortest(_stop_on="whale")).run(QUESTIONS, tmp_path / "run")
    again = lines(made(rerank=Shortest()), tmp_path / "run")
    assert [line["candidates"] for line in again] == [line["candidates"] for line in whole]
