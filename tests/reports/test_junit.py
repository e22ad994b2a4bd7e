import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.gates.gating import gate
from steelyard.reports.words import Words, read_words
from tests.gates.stated import scores_of, stated
from tests.hypothesis_profiles import examples

EN, ZH = read_words("en"), read_words("zh")
PARTLY = {"recall@5": (0.6, 0.5, 0.65), "mrr@10": (0.5, 0.4, 0.6), "precision@5": (0.9, 0.88, 0.92)}


@pytest.mark.parametrize(
    ("lang", "message"), [(EN, "the whole interval misses 0.7"), (ZH, "整个置信区间都不满足 0.7 的要求")]
)
def test_a_suite_a_system_and_a_case_a_check(lang: Words, message: str) -> None:
    suites = ET.fromstring(gate(stated(PARTLY), profile="production").text("junit", lang=lang.code))
    assert {key: suites.get(key) for key in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    (suite,) = suites
    assert (suite.tag, suite.get("name"), suite.get("tests")) == ("testsuite", "a", "3")
    failed, open_, passed = cases = suite.findall("testcase")
    assert [case.get("classname") for case in cases] == ["steelyard.a"] * 3
    assert len(suite) == len(cases) + len(suite.findall("properties"))
    assert failed.get("name", "").startswith("recall@5 ≥ 0.7")
    assert [(child.tag, child.get("type"), child.get("message")) for child in failed] == [("failure", "level", message)]
    assert [(child.tag, child.get("type")) for child in open_] == [("error", "insufficient data")]
    assert [(child.tag, "5.8%" in (child.text or "")) for child in passed] == [("system-out", True)]


def test_counts_are_those_of_each_system() -> None:
    scores = scores_of([[[0.9] * 30], [[0.1] * 30]], ["mrr"], systems=["x", "y"])
    suites = ET.fromstring(gate(scores, profile="ratings").text("junit", lang="en"))
    assert [(suite.get("name"), suite.get("failures")) for suite in suites] == [("x", "0"), ("y", "1")]
    assert suites.get("failures") == "1"


@examples(200)
@given(st.text(min_size=1, max_size=12))
def test_whatever_a_system_is_called_the_xml_is_well_formed(name: str) -> None:
    text = gate(scores_of(np.full((1, 1, 12), 0.1), ["mrr"], systems=[name]), profile="ratings").text(
        "junit", lang="en"
    )
    (suite,) = ET.fromstring(text.encode("utf-8"))
    allowed = [
        c
        for c in name
        if c in "\t\n\r" or (0x20 <= ord(c) <= 0xFFFD and not 0xD800 <= ord(c) <= 0xDFFF) or ord(c) > 0xFFFF
    ]
    assert suite.get("name") == "".join(allowed)


def test_control_characters_and_markup() -> None:
    text = gate(
        scores_of(np.full((1, 1, 12), 0.1), ["mrr"], systems=['\x00\x1b[31m<&"\ufffe名']), profile="ratings"
    ).text("junit", lang="en")
    (suite,) = ET.fromstring(text.encode("utf-8"))
    assert suite.get("name") == '[31m<&"名'


def test_the_same_result_gives_the_same_bytes() -> None:
    assert gate(stated(PARTLY), profile="production").text("junit", lang="en") == gate(
        stated(PARTLY), profile="production"
    ).text("junit", lang="en")
