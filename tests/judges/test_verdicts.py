"""Verdicts as frames, as a file, merged, and refused."""

import contextlib
import json
import os
import pickle
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import DuplicateError, InputError
from steelyard.judges.criteria import Grade
from steelyard.judges.tables.columns import SCHEMA, VerdictColumns
from steelyard.judges.tables.files import encode_verdicts
from steelyard.judges.tables.verdicts import Verdicts, unit_verdict
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Nugget, Unit, Verdict, check_record
from tests.hypothesis_profiles import examples
from tests.judges.small import MISSING, RECORD

RECIPE = {
    "judge": {"name": "lexical", "version": 1}, "units": "sentences", "calibration": "uncalibrated",
    "system": "mine", "outputs": "sha256:1", "questions": "sha256:2", "date": "2026-01-02T03:04:05+00:00",
}  # fmt: skip


@pytest.fixture
def verdicts() -> Verdicts:
    return Verdicts([RECORD, MISSING], RECIPE, errors={"unknown_id": 2})


def test_frames_are_the_tables(verdicts: Verdicts) -> None:
    assert verdicts.answers.to_dicts() == [
        {"query_id": "q1", "state": "answered", "answer": RECORD.answer, "n_context": 2, "n_gold": 2, "n_units": 3,
         "n_no_claim": 1, "answerable": True, "grade": 0.75, "reason": ""},
        {"query_id": "q2", "state": "missing", "answer": "", "n_context": None, "n_gold": 0, "n_units": 0,
         "n_no_claim": 0, "answerable": None, "grade": None, "reason": None},
    ]  # fmt: skip
    assert verdicts.units.select("unit", "start", "no_claim", "verdict").rows() == [
        (0, 0, "greeting", None),
        (1, 7, "", "supported"),
        (2, 27, "", "not_found"),
    ]
    assert verdicts.support.drop("query_id").rows() == [
        (1, 0, "h#1", "not_found", 0.1, ""),
        (1, 1, "h#2", "supported", 0.9, "all words"),
        (2, 0, "h#1", "contradicted", 0.0, "9 is not 10"),
        (2, 1, "h#2", "not_judged", None, "budget"),
    ]
    assert verdicts.correctness.select("unit", "gold_answer", "verdict").rows() == [
        (1, 0, "supported"),
        (1, 1, "not_judged"),
        (2, 0, "not_found"),
        (2, 1, "not_found"),
    ]
    assert verdicts.said.select("gold_unit", "verdict").rows() == [(0, "supported"), (2, "not_found")]
    assert verdicts.reach.select("gold_unit", "chunk_id", "verdict").rows() == [
        (0, "h#1", "not_found"),
        (0, "h#2", "supported"),
        (2, "h#1", "not_judged"),
        (2, "h#2", "not_found"),
    ]
    assert verdicts.joint.select("unit", "verdict").rows() == [(1, "supported"), (2, "not_found")]
    assert verdicts.grounded.select("unit", "verdict").rows() == [(1, "supported"), (2, "not_found")]
    assert verdicts.citations.select("unit", "mark", "chunk_id", "problem", "without").rows() == [
        (1, "[h#2]", "h#2", None, None),
        (2, "[h#1]", "h#1", None, "not_found"),
        (2, "[h#2]", "h#2", None, "not_judged"),
        (2, "[x#9]", None, "dangling", None),
    ]
    assert verdicts.gold_units["gold_answer"].to_list() == [0, 0, 1]
    assert verdicts.nuggets.select("text", "vital", "credit").rows() == [
        ("opens at 9", True, 1.0),
        ("closes at 20", False, None),
    ]


def test_a_unit_is_supported_by_any_chunk_and_unknown_where_one_was_not_judged_and_none_supports_it() -> None:
    by_chunks = Verdicts([replace(RECORD, grounded=())])
    assert by_chunks.units["verdict"].to_list() == [None, "supported", "not_judged"]


def test_counts(verdicts: Verdicts) -> None:
    counts = verdicts.counts
    assert {key: n for key, n in counts.items() if n} == {
        "questions": 2, "answered": 1, "missing": 1, "units": 3, "no_claim": 1, "supported": 1, "not_found": 1,
        "citations": 4, "dangling": 1,
    }  # fmt: skip
    assert verdicts.not_judged == {"budget": 4}
    assert repr(verdicts) == "Verdicts(2 questions, judged by lexical: 3 units, 1 supported, 1 not_found)"


def test_frames_of_no_rows_have_their_columns() -> None:
    empty = Verdicts([])
    for frame in (empty.answers, empty.units, empty.support, empty.reach, empty.citations, empty.nuggets):
        assert frame.height == 0
        assert "query_id" in frame.columns
    assert empty.arrays().n_queries == 0


def test_arrays_follow_the_questions_and_refuse_one_without_verdicts(verdicts: Verdicts) -> None:
    assert verdicts.arrays(["q2", "q1"]).state.tolist() == [4, 0]
    assert list(verdicts.arrays().query_id) == ["q1", "q2"]
    with pytest.raises(InputError, match=r"have no question 'q3' \(1 of 2 are not there\); judge the outputs again"):
        verdicts.arrays(["q1", "q3"])


def test_verdicts_of_further_questions_are_merged(verdicts: Verdicts) -> None:
    later = Verdicts([replace(MISSING, query_id="q3")], {**RECIPE, "date": "2027"}, errors={"unknown_id": 1})
    merged = verdicts.merge(later)
    assert list(merged.records) == ["q1", "q2", "q3"]
    assert merged.errors == {"unknown_id": 3}
    with pytest.raises(DuplicateError, match="question 'q1' comes twice"):
        verdicts.merge(verdicts)
    other = Verdicts([replace(MISSING, query_id="q3")], {**RECIPE, "judge": {"name": "nli"}})
    with pytest.raises(InputError, match=r"lexical.*nli.*cannot be merged"):
        verdicts.merge(other)


def test_a_record_with_a_hole_is_refused_by_its_question() -> None:
    with pytest.raises(InputError, match="question 'q1': `reach` has 0 rows for 3 gold units"):
        Verdicts([replace(RECORD, reach=())])


def test_half_a_character_is_refused_before_a_frame_or_file_fails_on_it() -> None:
    with pytest.raises(InputError, match="question 'q2' holds half a character"):
        Verdicts([RECORD, replace(MISSING, answer="\ud800")])


def test_verdicts_of_another_run_are_refused(verdicts: Verdicts) -> None:
    verdicts.check_outputs("sha256:1", "runs/mine")
    Verdicts([RECORD]).check_outputs("sha256:1", "runs/mine")
    with pytest.raises(InputError, match="are of another run than runs/mine; judge it"):
        verdicts.check_outputs("sha256:3", "runs/mine")


def test_the_file_is_read_back_equal(verdicts: Verdicts, tmp_path: Path) -> None:
    path = tmp_path / "lexical.parquet"
    verdicts.write(path)
    again = Verdicts.read(path)
    assert again == verdicts
    assert again.method == {
        "judge": {"name": "lexical", "version": 1},
        "units": "sentences",
        "calibration": "uncalibrated",
    }
    assert pl.read_parquet(path)["support_verdict"].to_list()[0] == [
        "not_found",
        "supported",
        "contradicted",
        "not_judged",
    ]


_texts = st.text(st.characters(codec="utf-8"), max_size=8)
_scores = st.none() | st.floats(0, 1)
_verdicts = st.builds(
    Verdict, st.sampled_from(["supported", "contradicted", "not_found", "not_judged"]), _scores, _texts
)


_grades = st.builds(Grade, _texts, _texts, st.just("1-5"), st.none() | st.floats(1, 5), _texts)


@st.composite
def _records(draw: st.DrawFn) -> JudgedAnswer:
    """Any record whose tables are whole."""
    context = draw(st.none() | st.lists(_texts, max_size=3).map(tuple))
    n_chunks, golds = len(context or ()), draw(st.lists(_texts, max_size=2).map(tuple))
    no_claims = st.sampled_from(["", "greeting"])
    units = draw(st.lists(st.builds(Unit, st.integers(0, 9), st.integers(0, 9), _texts, no_claims), max_size=3))
    gold_units = [
        draw(st.builds(Unit, st.just(0), st.just(1), _texts, no_claims, st.just(n)))
        for n in range(len(golds))
        for _ in range(draw(st.integers(0, 2)))
    ]
    places = st.none() | st.integers(0, n_chunks - 1) if n_chunks else st.none()
    citations = [
        CitedChunk(draw(st.integers(0, len(units) - 1)), 0, 1, draw(_texts), draw(places), draw(st.sampled_from(
            [None, "dangling", "malformed"])))
        for _ in range(draw(st.integers(0, 2)) if units else 0)
    ]  # fmt: skip
    rows: Any = lambda owners, n: tuple(  # noqa: E731
        tuple(draw(_verdicts) for _ in range(n)) if unit.checkable else () for unit in owners
    )
    column: Any = lambda owners: tuple(draw(st.none() | _verdicts) for _ in owners)  # noqa: E731
    return JudgedAnswer(
        draw(_texts), draw(st.sampled_from(["answered", "abstained", "empty", "failed", "missing"])),
        answer=draw(_texts), context=context, units=tuple(units), citations=tuple(citations), gold_answers=golds,
        gold_units=tuple(gold_units), support=rows(units, n_chunks),
        grounded=column(units) if draw(st.booleans()) else (),
        joint=column(units), without=column(citations), correctness=rows(units, len(golds)), said=column(gold_units),
        reach=rows(gold_units, n_chunks),
        nuggets=tuple(draw(st.lists(st.builds(Nugget, _texts, st.booleans(), st.sampled_from([None, 0, 0.5, 1.0])),
                                    max_size=2))),
        grade=draw(st.none() | _verdicts), criteria=tuple(draw(st.lists(_grades, max_size=2))),
        answerable=draw(st.none() | st.booleans()),
    )  # fmt: skip


@examples(100)
@given(st.lists(_records(), max_size=3, unique_by=lambda record: record.query_id))
def test_any_verdicts_are_read_back_equal(
    tmp_path_factory: pytest.TempPathFactory, records: list[JudgedAnswer]
) -> None:
    path = tmp_path_factory.mktemp("verdicts") / "any.parquet"
    verdicts = Verdicts(records, RECIPE)
    verdicts.write(path)
    assert Verdicts.read(path) == verdicts


@examples(200)
@given(st.data())
def test_columns_are_refused_exactly_where_their_record_is(data: st.DataObject) -> None:
    """Of lists of a whole record with one cell changed, a check of all at once says what one of the record says."""
    lists = VerdictColumns.of_records([replace(MISSING, query_id="first"), data.draw(_records())]).lists()
    name = data.draw(st.sampled_from([name for name in SCHEMA if name not in ("query_id", "answerable")]))
    other = VerdictColumns.of_records([data.draw(_records())]).lists()[name]
    changed = lists.with_columns(pl.concat([lists[name].head(1), other]))
    with contextlib.suppress(ValueError):
        for record in VerdictColumns.of_lists(changed).records().values():
            check_record(record)
        return
    with pytest.raises(ValueError, match=r"^question (?!.*its verdicts do not fit together)"):
        VerdictColumns.of_lists(changed)


def test_a_file_of_version_2_is_read_with_empty_leads(tmp_path: Path) -> None:
    path = Path(__file__).parents[1] / "golden" / "verdicts_version_2.parquet"
    assert Verdicts.read(path) == Verdicts([RECORD, MISSING], RECIPE, errors={"unknown_id": 2})
    damaged = _with_column(path, tmp_path / "t.parquet", answer=pl.lit("another"))
    with pytest.raises(InputError, match="is damaged, or was edited; judge again"):
        Verdicts.read(damaged)
    with pytest.raises(InputError, match="holds other columns than verdicts have"):
        Verdicts.read(_with_head(path, tmp_path / "t.parquet", version=3))


def test_a_file_of_a_question_twice_is_refused_although_its_fingerprint_is_right(
    verdicts: Verdicts, tmp_path: Path
) -> None:
    twice = verdicts.columns.and_those_of([verdicts.columns])
    (path := tmp_path / "t.parquet").write_bytes(encode_verdicts(twice, RECIPE, {}))
    with pytest.raises(InputError, match=r"t.parquet: .*question 'q1' comes twice; remove one; judge again"):
        Verdicts.read(path)


def test_verdicts_that_were_read_are_pickled_and_make_their_records_when_asked(
    verdicts: Verdicts, tmp_path: Path
) -> None:
    verdicts.write(path := tmp_path / "v.parquet")
    again = pickle.loads(pickle.dumps(Verdicts.read(path)))
    assert again == verdicts
    assert again.records["q1"] == RECORD
    assert again.records["q1"] is again.records["q1"]
    assert "q3" not in again.records
    assert again.restricted(["q2"]).records == {"q2": MISSING}


@examples(100)
@given(st.lists(_records(), max_size=3, unique_by=lambda record: record.query_id))
def test_the_verdict_of_a_unit_in_frames_is_that_of_its_record(records: list[JudgedAnswer]) -> None:
    units = [(record, n, unit) for record in records for n, unit in enumerate(record.units)]
    by_record = [unit_verdict(record, n) if unit.checkable else None for record, n, unit in units]
    assert Verdicts(records).units["verdict"].to_list() == by_record


def _with_head(path: Path, target: Path, **change: object) -> Path:
    """The file with another head."""
    head = json.loads(pl.read_parquet_metadata(path)["steelyard_verdicts"]) | change
    pl.read_parquet(path).write_parquet(target, metadata={"steelyard_verdicts": json.dumps(head)})
    return target


def _with_column(path: Path, target: Path, **columns: pl.Expr) -> Path:
    """The file with other values."""
    metadata = {"steelyard_verdicts": pl.read_parquet_metadata(path)["steelyard_verdicts"]}
    pl.read_parquet(path).with_columns(**columns).write_parquet(target, metadata=metadata)
    return target


def _with_criterion(path: Path, target: Path, **fields: Any) -> Path:
    """The file with a grade by a criterion, changed, in each answer."""
    values = {"name": "short", "text": "It is short.", "scale": "1-5", "value": 4.0, "reason": "", **fields}
    return _with_column(path, target, **{f"criterion_{name}": pl.lit([value]) for name, value in values.items()})


_REFUSALS: dict[str, Callable[[Path, Path], object]] = {
    "version 9, newer than this Steelyard; upgrade it": lambda path, target: _with_head(path, target, version=9),
    "version 'a', not 3; judge again": lambda path, target: _with_head(path, target, version="a"),
    "`recipe.judge` is missing; judge again": lambda path, target: _with_head(path, target, recipe={}),
    "`unit_text` has holes; judge again": lambda path, target: _with_column(
        path, target, unit_text=pl.col("unit_text").list.eval(pl.lit(None, pl.String).repeat_by(pl.len()).explode())
    ),
    "has verdicts on 2 questions, of 3; judge again": lambda path, target: _with_head(path, target, questions=3),
    "question 'q1': its lists of support differ in length": lambda path, target: _with_column(
        path, target, support_verdict=pl.col("support_verdict").list.head(3)
    ),
    "is damaged, or was edited; judge again": lambda path, target: _with_column(path, target, answer=pl.lit("another")),
    "holds other columns": lambda path, target: _with_column(path, target, unit_text=pl.lit(None, pl.List(pl.String))),
    "'x' is none of supported": lambda path, target: _with_column(
        path, target, grade_verdict=pl.lit(["x"]), grade_score=pl.lit([0.5]), grade_reason=pl.lit([""])
    ),
    "'x' is none of answered, abstained": lambda path, target: _with_column(path, target, state=pl.lit("x")),
    "a score is 2.0, not from 0 to 1": lambda path, target: _with_column(
        path, target, grade_verdict=pl.lit(["supported"]), grade_score=pl.lit([2.0]), grade_reason=pl.lit([""])
    ),
    "the scale 'x' is none of yes/no": lambda path, target: _with_criterion(path, target, scale="x"),
    "a share of the scale is 1.5, not from 0 to 1": lambda path, target: _with_criterion(path, target, value=7.0),
    "t.parquet: is damaged|t.parquet: cannot be read": lambda path, target: target.write_bytes(
        path.read_bytes()[:-900]
    ),
    "holds no verdicts; expected the Parquet": lambda path, target: pl.DataFrame({"a": [1]}).write_parquet(target),
    "t.parquet: cannot be read .*; expected the file of verdicts that `steelyard judge` writes": lambda path, target: (
        target.write_text("no Parquet at all")
    ),
    "t.parquet: cannot be read .*No such file": lambda path, target: None,
}


@pytest.mark.parametrize("message", _REFUSALS)
def test_files_that_cannot_be_used_say_why(verdicts: Verdicts, tmp_path: Path, message: str) -> None:
    path, target = tmp_path / "v.parquet", tmp_path / "t.parquet"
    verdicts.write(path)
    _REFUSALS[message](path, target)
    with pytest.raises(InputError, match=message) as refusal:
        Verdicts.read(target)
    assert str(target) in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_may_have_a_name_that_is_no_utf8_and_none_is_asked_for_over_a_network(
    verdicts: Verdicts, tmp_path: Path
) -> None:
    verdicts.write(path := tmp_path / os.fsdecode(b"v\xff.parquet"))
    assert Verdicts.read(path).records == verdicts.records
    with pytest.raises(InputError, match=r"http:/.*v.parquet: cannot be read .*No such file"):
        Verdicts.read("http://127.0.0.1:9/v.parquet")


def test_no_flipped_bit_becomes_another_verdict(verdicts: Verdicts, tmp_path: Path) -> None:
    verdicts.write(tmp_path / "v.parquet")
    data, rng = (tmp_path / "v.parquet").read_bytes(), random.Random(3)
    n_refused = 0
    for _ in range(200):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        (tmp_path / "t.parquet").write_bytes(damaged)
        try:
            again = Verdicts.read(tmp_path / "t.parquet")
        except InputError:
            n_refused += 1
        else:
            assert again == verdicts
    assert n_refused > 10


def test_half_a_record_is_no_record(tmp_path: Path) -> None:
    Verdicts([RECORD]).write(tmp_path / "v.parquet")
    file = _with_column(
        tmp_path / "v.parquet",
        tmp_path / "t.parquet",
        **{f"support_{name}": pl.col(f"support_{name}").list.head(3) for name in ("verdict", "score", "reason")},
    )
    with pytest.raises(InputError, match="question 'q1': `support` has 3 verdicts for 2 × 2; judge again"):
        Verdicts.read(file)


def test_verdicts_on_some_questions_keep_their_order() -> None:
    verdicts = Verdicts([JudgedAnswer(query_id, "missing") for query_id in ("a", "b", "c")])
    assert list(verdicts.restricted(["c", "a"]).records) == ["c", "a"]
    with pytest.raises(InputError, match=r"have no question 'd' \(1 of 2"):
        verdicts.restricted(["c", "d"])
