"""A function of the user's own as a reranker."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pytest

import steelyard as sy
from steelyard.base.errors import InputError, StageError
from steelyard.base.limits import at_least
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import describe
from steelyard.rag.protocols import Reranker
from steelyard.rag.registry import FunctionReranker, make, make_stage, takes_texts

_MODULE = """
def longest(query, texts):
    return [len(text) for text in texts]

def weighted(query: str, texts: list[str], *, weight: float = 1.0) -> list[float]:
    return [weight * len(text) for text in texts]

def one_too_few(query, texts):
    return [1.0] * (len(texts) - 1)

def raising(query, texts):
    raise RuntimeError("no model")

def other(question, passages):
    return []
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "own_rerankers.py").write_text(_MODULE)
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "a.txt").write_text("a whale")
    (tmp_path / "documents" / "b.txt").write_text("a whale and a ship")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_rerankers", raising=False)
    return tmp_path


def pipeline(folder: Path, rerank: Any) -> sy.Pipeline:
    return sy.Pipeline.read(Config.of({"documents": "documents", "rerank": rerank, "cache": False}, base=folder))


def test_a_configuration_names_it(folder: Path) -> None:
    shortest = pipeline(folder, {"kind": "own_rerankers:weighted", "weight": -1.0}).ask("whale")
    longest = pipeline(folder, "own_rerankers:longest").ask("whale")
    assert [passage.doc_id for passage in shortest.passages] == ["a", "b"]
    assert [passage.doc_id for passage in longest.passages] == ["b", "a"]


def test_python_gives_it(folder: Path) -> None:
    def longest(query: str, texts: Sequence[str]) -> list[float]:
        return [float(len(text)) for text in texts]

    response = sy.Pipeline({"a": "a whale", "b": "a whale and a ship"}, rerank=longest).ask("whale")
    assert [passage.doc_id for passage in response.passages] == ["b", "a"]


@pytest.mark.parametrize(
    ("rerank", "message"),
    [
        ({"kind": "own_rerankers:weighted", "wieght": 1.0}, "own_rerankers:weighted: takes no setting 'wieght'"),
        ({"kind": "own_rerankers:weighted", "weight": "much"}, "weight must be a number, not 'much'"),
        ({"kind": "own_rerankers:longest", "query": "x"}, "query is what it is asked, and no setting"),
        ("own_rerankers:other", r"or name a function of \(query, texts\) that gives scores"),
    ],
)
def test_what_does_not_fit_is_refused_before_it_is_called(folder: Path, rerank: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        pipeline(folder, rerank)


@pytest.mark.parametrize(("name", "message"), [("one_too_few", "gave 1 scores for 2 texts"), ("raising", "no model")])
def test_what_it_does_wrong_fails_the_question(folder: Path, name: str, message: str) -> None:
    with pytest.raises(StageError, match=message):
        pipeline(folder, f"own_rerankers:{name}").ask("whale")


def test_settings_are_checked_by_their_limits() -> None:
    def cut(query: str, texts: list[str], n: Annotated[int, at_least(1)]) -> list[float]:
        return [float(len(text[:n])) for text in texts]

    assert FunctionReranker.of(cut, {"n": 2}).scores("", ["whale"]) == [2.0]
    with pytest.raises(InputError, match="n must be a whole number from 1, not 0"):
        FunctionReranker.of(cut, {"n": 0})
    with pytest.raises(InputError, match="n is missing; expected a whole number from 1"):
        FunctionReranker.of(cut, {})


def test_other_code_is_another_reranker(folder: Path) -> None:
    descriptions = [
        describe(make_stage("rerank", function)).digest
        for function in (lambda query, texts: [1.0] * len(texts), lambda query, texts: [2.0] * len(texts))
    ]
    descriptions += [
        describe(make("rerank", "own_rerankers:weighted", {"weight": weight}, folder=folder)).digest
        for weight in (1.0, 2.0)
    ]
    assert len(set(descriptions)) == 4
    again = describe(make("rerank", "own_rerankers:weighted", {"weight": 2.0}, folder=folder)).digest
    assert again == descriptions[-1]


def test_what_takes_texts() -> None:
    class Own:
        def scores(self, query: str, texts: Sequence[str]) -> list[float]:
            return []

    assert takes_texts(Own().scores)
    assert isinstance(make_stage("rerank", Own().scores), Reranker)
    assert not any(takes_texts(other) for other in (Own, Own(), print, dict, None, lambda texts, query: []))
    own = Own()
    assert make_stage("rerank", own) is own
    with pytest.raises(InputError, match="gives function, which has no scores"):
        make_stage("rerank", lambda question: [])
