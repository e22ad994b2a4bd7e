import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.segments import LENGTHS, UNKNOWN, UNTAGGED, length_bounds, segments
from tests.hypothesis_profiles import examples


def asked(*lines: tuple[str | None, list[str]]) -> tuple[dict[str, Question], list[str]]:
    """Questions by id, and their ids."""
    given = [{"qid": f"q{i}", "query": query, "tags": tags, "relevant": ["d"]} for i, (query, tags) in enumerate(lines)]
    return {question.query_id: question for question in Questions(given)}, [line["qid"] for line in given]


def members(found: dict[str, np.ndarray]) -> dict[str, list[int]]:
    return {name: np.flatnonzero(each).tolist() for name, each in found.items()}


def test_a_question_is_in_the_segment_of_each_tag() -> None:
    questions, ids = asked(("a?", ["x", "y"]), ("b?", []), ("c?", ["y"]))
    assert members(segments(questions, ids, "tag")) == {"x": [0], "y": [0, 2], UNTAGGED: [1]}


def test_ids_that_nobody_asked_are_untagged_and_unknown() -> None:
    questions, ids = asked(("a?", ["x"]))
    assert members(segments(questions, [*ids, "other"], "tag")) == {"x": [0], UNTAGGED: [1]}
    assert members(segments(questions, [*ids, "other"], "language")) == {"en": [0], UNKNOWN: [1]}


def test_a_tag_may_be_called_as_the_rest_is() -> None:
    questions, ids = asked(("a?", [UNTAGGED]), ("b?", []))
    assert members(segments(questions, ids, "tag")) == {UNTAGGED: [0], f"({UNTAGGED})": [1]}


def test_no_rest_where_all_have_tags() -> None:
    questions, ids = asked(("a?", ["x"]), ("b?", ["x"]))
    assert members(segments(questions, ids, "tag")) == {"x": [0, 1]}


def test_languages_in_one_order() -> None:
    questions, ids = asked(("怎么退款？", []), ("How do I pay?", []), ("退货", []), (None, []))
    assert members(segments(questions, ids, "language")) == {"en": [1], "zh": [0, 2], UNKNOWN: [3]}


def test_length_is_a_third_of_the_questions_of_the_same_language() -> None:
    english = ["one two", "one two three", "one two three four five six"]
    chinese = ["退款怎么办理", "退款怎么办理需要几天", "退款怎么办理需要几天才能到账呢请问一下"]
    questions, ids = asked(*((text, []) for text in english + chinese))
    assert members(segments(questions, ids, "length")) == {"short": [0, 3], "medium": [1, 4], "long": [2, 5]}
    assert length_bounds(questions, ids) == {
        "en": {"short": (2, 2), "medium": (3, 3), "long": (6, 6)},
        "zh": {"short": (5, 5), "medium": (9, 9), "long": (18, 18)},
    }


def test_questions_of_one_length_stay_together() -> None:
    questions, ids = asked(*(("two words", []) for _ in range(7)))
    assert members(segments(questions, ids, "length")) == {"medium": list(range(7))}
    questions, ids = asked(("a b", []), ("a b", []), ("a b", []), ("a b c", []))
    assert members(segments(questions, ids, "length")) == {"medium": [0, 1, 2], "long": [3]}


@examples(60)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30))
def test_longer_questions_are_never_in_a_shorter_segment(counts: list[int]) -> None:
    questions, ids = asked(*((" ".join(["word"] * n) or "?", []) for n in counts))
    found = segments(questions, ids, "length")
    place = np.array([[LENGTHS.index(name) for name in found if found[name][i]] for i in range(len(ids))])
    assert place.shape == (len(ids), 1)
    order = np.argsort(counts, kind="stable")
    assert (np.diff(place[order, 0]) >= 0).all()
    assert all(each.any() for each in found.values())
    for i, n in enumerate(counts):
        fewest, most = length_bounds(questions, ids)["en"][LENGTHS[place[i, 0]]]
        assert fewest <= n <= most


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("tag", "none of 2 questions has a tag; give questions with `tags`, or a file of them with --questions FILE"),
        ("language", "no text is known of any of 2 questions; give questions with texts, or a file of them"),
        ("length", "no text is known of any of 2 questions"),
        ("topic", "no segments are called 'topic'; there are tag, language, length"),
    ],
)
def test_what_is_not_known_is_asked_for(by: str, said: str) -> None:
    with pytest.raises(sy.InputError, match=re.escape(said)):
        segments({}, ["q1", "q2"], by)
