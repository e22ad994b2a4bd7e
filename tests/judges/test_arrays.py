"""Records as flat arrays, and records whose tables do not fit."""

from dataclasses import replace

import numpy as np
import pytest

from steelyard.judges.tables.arrays import judged_arrays
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Unit, Verdict, check_record
from steelyard.measures.judged_answers import CONTRADICTED, NONE, NOT_FOUND, NOT_JUDGED, SUPPORTED
from tests.judges.small import MISSING, NO, RECORD, YES


def test_arrays_leave_out_units_that_assert_nothing_and_keep_the_order_of_the_questions() -> None:
    arrays = judged_arrays({"q1": RECORD, "q2": MISSING}, ["q2", "q1"])
    assert arrays.state.tolist() == [4, 0]
    assert arrays.n_chunks.tolist() == [-1, 2]
    assert arrays.n_gold.tolist() == [0, 2]
    np.testing.assert_array_equal(arrays.answerable, [np.nan, 1.0])
    np.testing.assert_array_equal(arrays.grade, [np.nan, 0.75])
    assert arrays.answers == ["", "Hello! It opens at 9 . It closes at 20 . "]
    assert arrays.unit_query.tolist() == [1, 1]
    assert arrays.n_no_claim.tolist() == [0, 1]
    assert arrays.grounded.tolist() == [SUPPORTED, NOT_FOUND]
    assert arrays.joint.tolist() == [SUPPORTED, NOT_FOUND]
    rows = zip(arrays.support_unit.tolist(), arrays.support_chunk.tolist(), arrays.support.tolist(), strict=True)
    assert list(rows) == [(0, 0, NOT_FOUND), (0, 1, SUPPORTED), (1, 0, CONTRADICTED), (1, 1, NOT_JUDGED)]
    rows = zip(arrays.correct_unit.tolist(), arrays.correct_gold.tolist(), arrays.correct.tolist(), strict=True)
    assert list(rows) == [(0, 0, SUPPORTED), (0, 1, NOT_JUDGED), (1, 0, NOT_FOUND), (1, 1, NOT_FOUND)]
    assert (arrays.gold_query.tolist(), arrays.gold_answer.tolist()) == ([1, 1], [0, 1])
    assert arrays.said.tolist() == [SUPPORTED, NOT_FOUND]
    rows = zip(arrays.reach_gold.tolist(), arrays.reach_chunk.tolist(), arrays.reach.tolist(), strict=True)
    assert list(rows) == [(0, 0, NOT_FOUND), (0, 1, SUPPORTED), (1, 0, NOT_JUDGED), (1, 1, NOT_FOUND)]
    assert arrays.citation_query.tolist() == [1, 1, 1, 1]
    assert arrays.citation_unit.tolist() == [0, 1, 1, 1]
    assert arrays.citation_chunk.tolist() == [1, 0, 1, -1]
    assert arrays.without.tolist() == [NONE, NOT_FOUND, NOT_JUDGED, NONE]
    assert (arrays.nugget_query.tolist(), arrays.vital.tolist()) == ([1, 1], [True, False])
    np.testing.assert_array_equal(arrays.credit, [1.0, np.nan])


def test_a_citation_by_a_unit_that_asserts_nothing_has_no_unit_and_a_grade_that_was_not_judged_is_unknown() -> None:
    greeting = JudgedAnswer(
        "q", "answered", context=("c",), units=(Unit(0, 9, "Hello!", "greeting"),),
        citations=(CitedChunk(0, 6, 9, "[c]", 0),), support=((),), joint=(None,), without=(None,), correctness=((),),
        grade=Verdict("not_judged", 0.5, "budget"),
    )  # fmt: skip
    check_record(greeting)
    arrays = judged_arrays({"q": greeting}, ["q"])
    assert (arrays.citation_unit.tolist(), arrays.citation_chunk.tolist()) == ([-1], [0])
    assert np.isnan(arrays.grade).all()
    assert arrays.support.dtype == np.int8
    assert arrays.grounded.tolist() == []


def test_without_a_judge_that_reads_the_whole_context_grounded_is_none() -> None:
    assert judged_arrays({"q1": replace(RECORD, grounded=())}, ["q1"]).grounded.tolist() == [NONE, NONE]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"support": ((), (NO, YES))}, "`support` has 2 rows for 3 units"),
        ({"support": ((), (NO,), (NO, NO))}, r"`support\[1\]` has 1 verdict for 2 chunks"),
        ({"support": ((NO, NO), (NO, NO), (NO, NO))}, r"`support\[0\]` has 2 verdicts for 0 chunks"),
        ({"reach": ()}, "`reach` has 0 rows for 3 gold units"),
        ({"said": (YES,)}, "`said` has 1 verdict for 3 gold units"),
        ({"grounded": (YES,)}, "`grounded` has 1 verdict for 3 units"),
        ({"without": ()}, "`without` has 0 verdicts for 4 citations"),
        ({"correctness": ((), (YES,), (NO, NO))}, r"`correctness\[1\]` has 1 verdict for 2 gold answers"),
        ({"citations": (CitedChunk(3, 0, 1, "[c]", 0),) * 4}, r"citation '\[c\]' is of unit 3, of 3"),
        ({"citations": (CitedChunk(1, 0, 1, "[c]", 2),) * 4}, r"citation '\[c\]' is of chunk 2, of 2"),
        ({"gold_units": (Unit(0, 1, "a", "", 2),) * 3, "reach": ((NO, NO),) * 3}, "is of gold answer 2, of 2"),
    ],
)
def test_tables_that_do_not_fit_are_named(change: dict[str, object], message: str) -> None:
    check_record(RECORD)
    with pytest.raises(ValueError, match=message):
        check_record(replace(RECORD, **change))  # type: ignore[arg-type]
