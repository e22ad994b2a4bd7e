"""The citations in an answer."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.text.citing import citations
from tests.hypothesis_profiles import examples

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "citations.jsonl").read_text(encoding="utf-8").splitlines()
]
CASES = [row for row in ROWS if "context" not in row]


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_citation_cases(case: dict[str, object]) -> None:
    assert citations(str(case["input"])) == case["want"], case["comment"]


doc_ids = st.text(
    st.characters(exclude_characters="[]【】［］;；#,，、", exclude_categories=["Z", "C"]), min_size=1, max_size=8
)
chunk_ids = st.builds("{}#{}".format, doc_ids, st.integers(1, 99))


@examples(150)
@given(
    st.lists(st.lists(chunk_ids, min_size=1, max_size=3), max_size=4),
    st.sampled_from(["[]", "【】", "［］", "[】"]),
    st.sampled_from(["; ", "；", ", ", "、"]),
)
def test_every_id_in_brackets_is_found(groups: list[list[str]], pair: str, separator: str) -> None:
    answer = " ".join(f"Said, so # it is. {pair[0]}{separator.join(group)}{pair[1]}" for group in groups)
    assert citations(answer) == list(dict.fromkeys(itertools.chain.from_iterable(groups)))


@examples(200)
@given(st.text(st.sampled_from("[]【】a#1;, \n中")))
def test_citations_of_anything_are_ids(answer: str) -> None:
    found = citations(answer)
    assert len(set(found)) == len(found)
    assert all("#" in each and each.strip() == each and each in answer for each in found)
