"""Cases worked by hand, as data."""

import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from tests.measures import naive
from tests.measures.random_collections import frame, without_evidence

TABLES = tomllib.loads(Path(__file__).with_name("cases.toml").read_text("utf-8"))
CLOSE = {"abs": 5.1e-7, "rel": 0}


def table(name: str) -> list[Any]:
    return [pytest.param(case, id=case["label"]) for case in TABLES[name]]


@pytest.mark.parametrize("case", table("case"))
def test_one_list(case: dict[str, Any]) -> None:
    truth, run = {"q": case["gains"]}, {"q": case["retrieved"]}
    assert sy.plain.score(case["measure"], case["retrieved"], case["gains"]) == pytest.approx(case["want"], **CLOSE)
    scores = sy.evaluate(truth, run, case["measure"])
    if scores.without_gold:  # Where no question has gold, nothing is measured.
        assert (np.isnan(scores.values.item()), case["want"]) == (True, 0)
    else:
        assert scores.values.item() == pytest.approx(case["want"], **CLOSE)


@pytest.mark.parametrize("case", table("mean"))
def test_several_queries(case: dict[str, Any]) -> None:
    scores = sy.evaluate(case["gains"], case["retrieved"], case["measure"])
    assert scores.means.item() == pytest.approx(case["want"], **CLOSE)


@pytest.mark.parametrize("case", table("tie"))
def test_ties(case: dict[str, Any]) -> None:
    scores, first = case["scores"], case["first"]
    assert naive.canonical(scores)[0] == first
    for rows in (scores, dict(reversed(scores.items()))):
        for run in ({"q": rows}, frame({"q": rows})):
            assert sy.evaluate({"q": {first: 1}}, run, "mrr").values.item() == 1


def test_two_cases_for_every_measure() -> None:
    counts = Counter(sy.parse(case["measure"]).name for case in TABLES["case"])
    assert {
        definition.name: counts[definition.name] for definition in without_evidence() if counts[definition.name] < 2
    } == {}


def test_every_case_has_its_working() -> None:
    assert all(case["comment"] for case in TABLES["case"] + TABLES["mean"])
