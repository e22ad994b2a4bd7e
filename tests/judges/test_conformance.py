"""What every registered judge keeps to, and one of a user's own; a new judge is noticed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from steelyard.judges.registry import JUDGES as REGISTERED
from steelyard.judges.registry import make_judge
from steelyard.judges.verdict import Case, Judge, Verdict
from tests.judges.llm_server import QUICK, judging
from tests.judges.own_judges import within
from tests.rag.server import serving
from tests.services.tiny import cross_encoder_folder

LABELS = {"supported", "contradicted", "not_found", "not_judged"}
SOURCE, SOURCE_ZH = "The hall opens at 9. It is not free on Sundays.", "大厅九点开门。周日不免费。"
CASES = [
    Case(SOURCE, ("The hall opens at 9.", "It has a garden."), query="When does it open?"),
    Case(SOURCE_ZH, ("大厅九点开门。",), query="几点开门？"),
    Case(SOURCE, ()),
    Case(SOURCE, ("free on Sundays",), table="joint"),
    Case(SOURCE_ZH, ("The hall opens at 9.", "大厅九点开门。", "大厅九点开门。")),
]
ODD_CASES = [
    Case("", ("The hall opens at 9.",)),
    Case(" \n\t", ("大厅九点开门。",)),
    Case(
        SOURCE, ("[1][2]", "```\nx = 1\n```", "| a | b |\n|---|---|", "…", "<b>bold</b> \x00 \x1b[31m", "\ud83d half")
    ),
    Case("\ud83d half. \x00 <script>alert(1)</script>", ("half", "\ud83d half", "\u202e\u200b")),
    Case("word " * 20_000, ("w" * 2_000, "秤 " * 200)),
]


def _nli(stack: ExitStack, folder: Path) -> Judge:
    if find_spec("sentence_transformers") is None:
        pytest.skip("sentence-transformers is not installed")
    model = cross_encoder_folder(folder / "nli", ("entailment", "neutral", "contradiction"))
    return make_judge("nli", {"model": model, "device": "cpu"})


def _embedding(stack: ExitStack, folder: Path) -> Judge:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    return make_judge("embedding", {"model": "m", "base_url": stack.enter_context(serving()).base_url})


def _llm(stack: ExitStack, folder: Path) -> Judge:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    return make_judge("llm", {"model": "m", "base_url": stack.enter_context(judging()).base_url, **QUICK})


JUDGES: Mapping[str, Callable[[ExitStack, Path], Judge]] = {
    "lexical": lambda stack, folder: make_judge("lexical"),
    "embedding": _embedding,
    "nli": _nli,
    "llm": _llm,
    "own": lambda stack, folder: make_judge(within),
}


@pytest.fixture(scope="module", params=JUDGES)
def judge(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    with ExitStack() as stack:
        yield JUDGES[request.param](stack, tmp_path_factory.mktemp("models"))


def verdicts(judge: Judge, cases: list[Case]) -> list[list[Verdict]]:
    return [list(row) for row in judge.judge(cases)]


def test_every_registered_judge_is_tried() -> None:
    assert set(REGISTERED.names()) == set(JUDGES) - {"own"}


@pytest.mark.parametrize("cases", [CASES, ODD_CASES], ids=["plain", "odd"])
def test_a_verdict_a_hypothesis_in_their_order(judge: Judge, cases: list[Case]) -> None:
    rows = verdicts(judge, cases)
    assert [len(row) for row in rows] == [len(case.hypotheses) for case in cases]
    for verdict in (verdict for row in rows for verdict in row):
        assert verdict.label in LABELS
        assert verdict.score is None or 0 <= verdict.score <= 1
        assert type(verdict.score) in (float, type(None))
        if verdict.label == "not_judged":
            assert verdict.score is None
            assert verdict.reason
        assert len(verdict.reason) <= 2_000


def test_plain_cases_are_all_judged(judge: Judge) -> None:
    assert all(verdict.label != "not_judged" for row in verdicts(judge, CASES) for verdict in row)


def test_verdicts_follow_their_cases_when_those_are_in_another_order(judge: Judge) -> None:
    forth, back = verdicts(judge, CASES), verdicts(judge, CASES[::-1])
    assert [[v.label for v in row] for row in forth] == [[v.label for v in row] for row in back[::-1]]
    first, second = forth[4][1:]  # The same hypothesis twice.
    assert (first.label, first.score) == (second.label, second.score)


def test_asked_again_it_says_the_same(judge: Judge) -> None:
    assert verdicts(judge, CASES) == verdicts(judge, CASES)


def test_no_cases_have_no_verdicts(judge: Judge) -> None:
    assert verdicts(judge, []) == []


def test_the_recipe_is_json_and_does_not_change(judge: Judge) -> None:
    before: Any = dict(judge.recipe())
    verdicts(judge, CASES)
    assert json.loads(json.dumps(before)) == json.loads(json.dumps(dict(judge.recipe())))
    assert before
    assert isinstance(judge.name, str)
