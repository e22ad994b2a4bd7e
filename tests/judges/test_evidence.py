"""Evidence of several texts: verdicts by any of them, quotations, and what was not read together."""

import json
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.judges.llm.evidence import Evidence, Statement, checked, read_evidence
from tests.hypothesis_profiles import examples

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "chunk_evidence.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_an_entry_gives_the_verdict_by_any_of_its_chunks(case: dict[str, Any]) -> None:
    evidence = read_evidence(case["entry"])
    assert evidence is not None
    own, cause, n_unknown = checked(evidence, case["chunks"])
    assert n_unknown == case["n_unknown"]
    statement = Statement() if own else Statement(failed=[(frozenset(case["chunks"]), cause)])
    if own is not None:
        statement.read.append(own)
        assert own.is_misquoted == case["misquoted"]
        assert ("not in" in own.reason) == case["misquoted"]
        assert evidence.quote in own.reason
    labels = {names: statement.verdict(frozenset(names.split())).label for names in case["want"]}
    assert labels == case["want"]


NAMES = ("c1", "c2", "c3", "c4")
SUBSETS = [frozenset(own) for own in chain.from_iterable(combinations(NAMES, n) for n in range(1, 5))]
SETS = st.sets(st.sampled_from(SUBSETS), max_size=4)


def evidence_of(sets: set[frozenset[str]], against: frozenset[str], shown: frozenset[str]) -> Evidence:
    """What a model that knows the sets that support a statement says of some texts."""
    own = [texts for texts in sets if texts <= shown]
    least = [texts for texts in own if not any(other < texts for other in own)]
    part = shown.intersection(*[frozenset().union(*sets)]) if sets else frozenset[str]()
    return Evidence(
        "supported" if own else "contradicted" if against & shown else "not_found",
        alone=frozenset(chain.from_iterable(texts for texts in least if len(texts) == 1)),
        together=tuple(texts for texts in least if len(texts) > 1),
        part=part, against=against & shown, shown=shown,
    )  # fmt: skip


def truth(sets: set[frozenset[str]], against: frozenset[str], texts: frozenset[str]) -> str:
    if any(own <= texts for own in sets):
        return "supported"
    return "contradicted" if against & texts else "not_found"


@examples(300)
@given(SETS, st.sampled_from([frozenset[str](), *SUBSETS]), st.sampled_from(SUBSETS))
def test_all_verdicts_follow_from_one_call(
    sets: set[frozenset[str]], against: frozenset[str], texts: frozenset[str]
) -> None:
    statement = Statement([evidence_of(sets, against, frozenset(NAMES))])
    assert statement.verdict(texts).label == truth(sets, against, texts)


@examples(300)
@given(SETS, st.sampled_from([frozenset[str](), *SUBSETS]), st.sampled_from(SUBSETS), st.integers(1, 3))
def test_windows_and_a_second_look_say_what_one_call_says(
    sets: set[frozenset[str]], against: frozenset[str], texts: frozenset[str], cut: int
) -> None:
    """Before the look, what spans windows is not judged, or as one call would say."""
    windows = [frozenset(NAMES[:cut]), frozenset(NAMES[cut:])]
    statement = Statement([evidence_of(sets, against, window) for window in windows])
    due = truth(sets, against, texts)
    assert statement.verdict(texts).label in {due, "not_judged"} or against & texts
    if apart := statement.apart(texts):
        statement.read.append(evidence_of(sets, against, apart))
    assert statement.verdict(texts).label == due
    assert not statement.apart(texts)


def test_what_was_not_read_is_not_judged_for_its_cause() -> None:
    first = Evidence("not_found", 0.5, "a part", part=frozenset({"c1"}), shown=frozenset({"c1", "c2"}))
    statement = Statement([first], [(frozenset({"c3"}), "budget")])
    verdicts = {names: statement.verdict(frozenset(names.split())) for names in ("c1", "c2", "c3", "c1 c3", "c1 c2")}
    assert {names: (verdict.label, verdict.reason) for names, verdict in verdicts.items()} == {
        "c1": ("not_found", "a part"), "c2": ("not_found", ""), "c3": ("not_judged", "budget"),
        "c1 c3": ("not_judged", "budget"), "c1 c2": ("not_found", "a part"),
    }  # fmt: skip
    assert [verdicts[names].score for names in ("c1", "c2", "c1 c2")] == [0.5, 0.0, 0.5]
