"""The seam: whatever the order, the batches and the hashes, the ranks of the judged documents are these."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align import rankings
from steelyard.align.hits import Aligned
from steelyard.align.rankings import align, align_all, align_rankings
from steelyard.align.rows import align_rows
from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import InputError
from steelyard.base.schema import RUN
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.measures.alignment import Alignment, Ties
from tests.hypothesis_profiles import examples

Row = tuple[str, str, float]
Nested = Mapping[str, Mapping[str, float]]


@dataclass
class FakeReader:
    """A run in memory, cut into the batches that a test wants."""

    rows: list[Row]
    cuts: list[int]
    name: str = "fake"

    def batches(self) -> Iterator[pl.DataFrame]:
        frame = pl.DataFrame(self.rows, schema=RUN, orient="row")
        ends = [0, *sorted(min(cut, len(self.rows)) for cut in self.cuts), len(self.rows)]
        for start, end in pairwise(ends):
            yield frame[start:end]

    def locate(self, query_id: str, doc_id: str) -> str:
        at = [i for i, row in enumerate(self.rows, 1) if row[:2] == (query_id, doc_id)]
        return f"{self.name}, rows {' and '.join(map(str, at))}"


def naive(truth: Nested, run: Nested) -> Alignment:
    """The definition, with loops: sort by score descending, then id descending by bytes, and look for labels."""
    queries = sorted(truth, key=str.encode)
    rank, gain, starts, ideal, ideal_starts = [], [], [0], [], [0]
    tie_starts, tie_first, tie_size = [0], [], []
    for query in queries:
        docs = sorted(run.get(query, {}), key=str.encode, reverse=True)
        docs.sort(key=lambda doc: run[query][doc], reverse=True)  # stable, so ids settle the ties
        found = [(place, truth[query][doc]) for place, doc in enumerate(docs, 1) if doc in truth[query]]
        rank += [place for place, _ in found]
        gain += [label for _, label in found]
        starts.append(len(rank))
        ideal += sorted(truth[query].values(), reverse=True)
        ideal_starts.append(len(ideal))
        for score in sorted(set(run.get(query, {}).values()), reverse=True):
            places = [place for place, doc in enumerate(docs, 1) if run[query][doc] == score]
            if len(places) > 1 and (places[0] <= 1000 or any(docs[place - 1] in truth[query] for place in places)):
                tie_first.append(places[0])
                tie_size.append(len(places))
        tie_starts.append(len(tie_first))
    ties = Ties(*(np.array(column, np.int64) for column in (tie_starts, tie_first, tie_size)))
    return Alignment(
        query_id=queries,
        n_retrieved=np.array([len(run.get(query, {})) for query in queries], np.int64),
        missing=np.array([query not in run for query in queries], bool),
        starts=np.array(starts, np.int64),
        hit_rank=np.array(rank, np.int64),
        hit_gain=np.array(gain, np.float64),
        ideal_starts=np.array(ideal_starts, np.int64),
        ideal_gain=np.array(ideal, np.float64),
        ties=ties if tie_first else None,
    )


def assert_equal(aligned: Aligned, want: Alignment, n_unjudged: int = 0) -> None:
    """Equal in every value, type and bit."""
    got_ties, want_ties = aligned.alignment.ties, want.ties
    assert (got_ties is None) == (want_ties is None)
    names = [field.name for field in fields(Alignment) if field.name not in ("evidence", "ties")]
    columns = [(name, getattr(aligned.alignment, name), getattr(want, name)) for name in names]
    columns += [(f.name, getattr(got_ties, f.name), getattr(want_ties, f.name)) for f in fields(Ties) if want_ties]
    for name, got, expected in columns:
        if name == "query_id":
            assert list(got) == list(expected)
        else:
            assert (name, got.dtype, got.tolist()) == (name, expected.dtype, expected.tolist())
            assert got.tobytes() == expected.tobytes(), name
    assert aligned.alignment.evidence is None
    assert aligned.n_unjudged_queries == n_unjudged


def as_rows(run: Nested) -> list[Row]:
    return [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]


# Prefixes of each other, other scripts, a character beyond the first plane (UTF-16 would sort it otherwise), U+2028.
QUERIES = ["q1", "q10", "q2", "查询一", "查询", "\uffee", "😀", "Q1"]
DOCS = ["d1", "d10", "d2", "d", "文档", "文档2", "\uffeed", "😀", "é", "e\u0301", "a\u2028b", " d1"]
SCORES = [0.0, -0.0, 1.0, 1.0000000000000002, -1.5, 1e300, 5e-324, 3.0, 2.5]
GAINS = [0.0, 1.0, 2.0, -1.0, 0.5]

truths = st.dictionaries(
    st.sampled_from(QUERIES[:6]),
    st.dictionaries(st.sampled_from(DOCS), st.sampled_from(GAINS), max_size=8),
    min_size=1,
    max_size=5,
)
runs = st.dictionaries(
    st.sampled_from(QUERIES),
    st.dictionaries(st.sampled_from(DOCS), st.sampled_from(SCORES), min_size=1),
    min_size=1,
    max_size=6,
)
cuts = st.lists(st.integers(0, 60), max_size=8)


def joined(truth: Nested, run: Nested) -> Nested:
    """The run, made to share a query with the truth."""
    return run if truth.keys() & run.keys() else {**run, next(iter(truth)): {"d1": 1.0, "文档": 1.0}}


def shuffled(rows: list[Row], order: random.Random) -> list[Row]:
    """Rows in any order, or in their queries' blocks with the blocks and the documents in any order."""
    mixed = order.sample(rows, len(rows))
    place = {query: order.random() for query, _, _ in rows}
    return mixed if order.random() < 0.5 else sorted(mixed, key=lambda row: place[row[0]])


@examples(50)
@given(truths, runs, cuts, st.randoms(use_true_random=False), st.integers(1, 20))
def test_scattered_queries_are_gathered_in_any_portions(
    truth: Nested, run: Nested, cuts: list[int], order: random.Random, n_rows: int
) -> None:
    run = joined(truth, run)
    rows = order.sample(as_rows(run), sum(map(len, run.values())))
    with patch("steelyard.align.rows._GATHERED_ROWS", n_rows), patch("steelyard.align.rows._EDGE_ROWS", n_rows):
        aligned = align_rows(Truth(truth), FakeReader(rows, cuts))
    assert_equal(aligned, naive(truth, run), len(run.keys() - truth.keys()))


@examples(150)
@given(truths, runs, cuts, st.randoms(use_true_random=False))
def test_any_order_and_any_batches_give_the_canonical_ranks(
    truth: Nested, run: Nested, cuts: list[int], order: random.Random
) -> None:
    run = joined(truth, run)
    want, n_unjudged = naive(truth, run), len(run.keys() - truth.keys())
    held = Truth(truth)
    for rows in (as_rows(run), shuffled(as_rows(run), order), shuffled(as_rows(run), order)):
        assert_equal(align_rows(held, FakeReader(rows, cuts)), want, n_unjudged)
        assert_equal(align_rows(held, FakeReader(rows, list(range(len(rows))))), want, n_unjudged)
    assert_equal(align_rankings(held, run, "dict"), want, n_unjudged)
    backwards = {query: dict(reversed(docs.items())) for query, docs in reversed(run.items())}
    assert_equal(align_rankings(held, backwards, "dict"), want, n_unjudged)


@examples(100)
@given(truths, runs, cuts)
def test_a_list_is_a_run_with_falling_scores(truth: Nested, run: Nested, cuts: list[int]) -> None:
    lists = {query: list(docs) for query, docs in joined(truth, run).items()}
    scored = {query: {doc: float(-i) for i, doc in enumerate(docs)} for query, docs in lists.items()}
    want, n_unjudged = naive(truth, scored), len(lists.keys() - truth.keys())
    held = Truth(truth)
    assert_equal(align_rankings(held, lists, "lists"), want, n_unjudged)
    assert_equal(align_rows(held, FakeReader(as_rows(scored), cuts)), want, n_unjudged)


def test_a_worked_case() -> None:
    truth = Truth({"b": {"x": 1, "y": 0, "far": 2}, "a": {"x": -1}, "none": {}, "absent": {"x": 1}})
    rows = [("b", "y", 2.0), ("b", "u", 2.0), ("a", "x", 0.0), ("b", "x", 2.0), ("none", "x", 1.0), ("c", "x", 1.0)]
    got = align_rows(truth, FakeReader(rows, [2, 4])).alignment  # b: y x u at 2.0 in descending order of ids: y, x, u
    assert list(got.query_id) == ["a", "absent", "b", "none"]
    assert got.n_retrieved.tolist() == [1, 0, 3, 1]
    assert got.missing.tolist() == [False, True, False, False]
    assert got.starts.tolist() == [0, 1, 1, 3, 3]
    assert (got.hit_rank.tolist(), got.hit_gain.tolist()) == ([1, 1, 2], [-1.0, 0.0, 1.0])
    assert got.ideal_starts.tolist() == [0, 1, 2, 5, 5]
    assert got.ideal_gain.tolist() == [-1.0, 1.0, 2.0, 1.0, 0.0]


def test_a_query_of_a_dict_without_documents_is_not_missing() -> None:
    got = align_rankings(Truth({"q": ["a"], "r": ["a"], "s": ["a"]}), {"q": {}, "r": []}, "dict").alignment
    assert got.missing.tolist() == [False, False, True]
    assert got.n_retrieved.tolist() == [0, 0, 0]


def test_an_empty_list_of_a_file_retrieves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"qid": "q", "retrieved": []}\n{"qid": "r", "retrieved": [{"id": "b", "score": 2}]}\n')
    scores = sy.evaluate({"q": ["a"], "r": ["a", "b"], "s": ["a"]}, path, "n_retrieved")
    assert (scores.values.ravel().tolist(), scores.missing.ravel().tolist()) == ([0.0, 1.0, 0.0], [False, False, True])


# --------------------------------------------------------------------------- ties


def test_ties_of_a_worked_case() -> None:
    truth = Truth({"a": {"x": 1}, "b": {"y": 1, "z": 0}, "c": {"x": 1}})
    run = {
        "a": {"x": 3.0, "u": 2.0, "v": 2.0, "w": 2.0, "t": -0.0, "s": 0.0},
        "b": {"y": 2.0, "z": 1.0},
        "c": {"x": 0.5, "y": 0.5},
    }
    rows = as_rows(run)
    scattered = [*rows[1::2], *rows[::2]]  # the tied documents of a query come in several blocks
    readers = [FakeReader(rows[::-1], [3]), FakeReader(scattered, []), FakeReader(scattered, [4, 6])]
    for aligned in (align_rankings(truth, run, "dict"), *(align_rows(truth, reader) for reader in readers)):
        ties = aligned.alignment.ties
        assert ties is not None
        assert (ties.starts.tolist(), ties.first.tolist(), ties.size.tolist()) == ([0, 2, 2, 3], [2, 5, 1], [3, 2, 2])
        assert ties.query.tolist() == [0, 0, 2]
        assert aligned.alignment.hit_block.tolist() == [-1, -1, -1, 2]


@pytest.mark.parametrize("judged", [["d0001"], ["d1500", "d1501"], ["d2999"], ["nowhere"]])
def test_of_the_ties_far_down_only_those_with_judged_documents_are_kept(judged: list[str]) -> None:
    truth = {"q": dict.fromkeys(judged, 1.0)}
    run = {"q": {f"d{i:04d}": float(-(i // 3)) for i in range(3000)}}
    want = naive(truth, run)
    assert want.ties is not None
    assert len(want.ties.first) in (334, 335)
    rows = as_rows(run)
    assert_equal(align_rows(Truth(truth), FakeReader(rows, [1000, 1001])), want)
    assert_equal(align_rows(Truth(truth), FakeReader(rows[::-1], [])), want)
    assert_equal(align_rankings(Truth(truth), run, "dict"), want)


def test_whole_numbers_that_would_be_rounded_are_refused() -> None:
    truth, run = Truth({"q": {"a": 1, "b": 2}}), {"q": {"a": 2**53 + 1, "b": 2**53}}
    with pytest.raises(InputError, match=r"document 'a': score 9007199254740993 is a whole number beyond 2\*\*53"):
        align_rankings(truth, run, "dict")
    floats = {"q": {doc: float(score) for doc, score in run["q"].items()}}
    for exact in (floats, {"q": {"a": 2**53, "b": 2**53}}):
        got = align_rankings(truth, exact, "dict").alignment
        assert (got.hit_rank.tolist(), got.hit_gain.tolist()) == ([1, 2], [2.0, 1.0])


@examples(100)
@given(truths, runs, st.integers(1, 12))
def test_views_change_ties_as_if_the_run_were_another(truth: Nested, run: Nested, k: int) -> None:
    """The first k documents alone, the judged documents alone: the ties are those of such a run."""
    run = joined(truth, run)
    a = align_rankings(Truth(truth), run, "dict")
    shorter: dict[str, dict[str, float]] = {}
    for query, docs in run.items():
        order = sorted(docs, key=str.encode, reverse=True)
        order.sort(key=lambda doc: docs[doc], reverse=True)
        shorter[query] = {doc: docs[doc] for doc in order[:k]}
    n_unjudged = len(run.keys() - truth.keys())
    assert_equal(Aligned(a.alignment.top(k), n_unjudged), naive(truth, shorter), n_unjudged)
    judged = {
        query: {doc: score for doc, score in docs.items() if truth.get(query, {}).get(doc, -1) >= 0}
        for query, docs in run.items()
    }
    assert_equal(Aligned(a.alignment.condensed(), n_unjudged), naive(truth, judged), n_unjudged)


# --------------------------------------------------------------------------- duplicates

LONG = [("q1", f"d{i:05d}", float(-i)) for i in range(3000)] + [("q2", f"d{i:05d}", float(i % 7)) for i in range(3000)]
TWICE: list[tuple[str, list[Row], list[int]]] = [
    # label, rows, cuts; q1 is judged, its document x is judged, u is not
    ("side by side", [("q1", "x", 2.0), ("q1", "x", 1.0)], []),
    ("equal scores", [("q1", "x", 2.0), ("q1", "y", 2.0), ("q1", "x", 2.0)], []),
    ("far apart", [("q1", "x", 9e9), *LONG[:3000], ("q1", "x", -9e9)], []),
    ("unjudged document", [("q1", "u", 2.0), ("q1", "x", 1.5), ("q1", "u", 1.0)], []),
    ("next batch", [("q1", "x", 2.0), ("q1", "x", 1.0)], [1]),
    ("unjudged document in the next batch", [("q1", "u", 2.0), ("q1", "y", 1.5), ("q1", "u", 1.0)], [1, 2]),
    ("another block", [("q1", "x", 2.0), ("q2", "x", 1.0), ("q1", "x", 1.0)], []),
    ("another block of another batch", [("q1", "x", 2.0), ("q2", "x", 1.0), ("q1", "y", 1.0), ("q1", "x", 1.0)], [2]),
    ("unjudged document in another block", [("q1", "u", 2.0), *LONG[3000:], ("q1", "u", 1.0)], [1000]),
    ("third block", [("q1", "y", 2.0), ("q2", "x", 1.0), ("q1", "x", 1.0), ("q2", "y", 1.0), ("q1", "x", 0.5)], [1]),
    ("around an unjudged query", [("q1", "x", 2.0), ("zzz", "x", 1.0), ("q1", "x", 1.0)], []),
]


@pytest.mark.parametrize(("rows", "cuts"), [pytest.param(rows, cuts, id=label) for label, rows, cuts in TWICE])
def test_a_duplicate_is_found_wherever_it_is(rows: list[Row], cuts: list[int]) -> None:
    truth = Truth({"q1": {"x": 1, "y": 2}, "q2": {"x": 1}})
    twice = next(row[:2] for i, row in enumerate(rows) if row[:2] in [r[:2] for r in rows[max(0, i - 3100) : i]])
    at = [i for i, row in enumerate(rows, 1) if row[:2] == twice]
    for batches in (cuts, [], [len(rows) // 2]):
        with pytest.raises(sy.DuplicateError) as caught:
            align_rows(truth, FakeReader(rows, batches))
        assert str(caught.value).startswith(
            f"fake, rows {at[0]} and {at[1]}: document {twice[1]!r} is retrieved twice for question "
        )
        assert f"question {twice[0]!r}" in str(caught.value)
        assert "max: --on-duplicate first" in str(caught.value)


def test_the_same_document_of_two_queries_is_no_duplicate() -> None:
    truth = {"q1": {"d00001": 1.0}, "q2": {"d00001": 1.0}}
    run = {query: {doc: score for q, doc, score in LONG if q == query} for query in ("q1", "q2")}
    assert_equal(align_rows(Truth(truth), FakeReader(LONG, [2999])), naive(truth, run))


with_duplicates = st.lists(
    st.tuples(st.sampled_from(["q1", "q2", "查询", "other"]), st.sampled_from(DOCS[:5]), st.sampled_from(SCORES)),
    max_size=25,
)


def kept(rows: list[Row], on_duplicate: OnDuplicate) -> dict[str, dict[str, float]]:
    """The rule, with a loop: the first row of a document, or the one with the highest score."""
    run: dict[str, dict[str, float]] = {}
    for query, doc, score in rows:
        docs = run.setdefault(query, {})
        docs[doc] = docs.get(doc, score) if on_duplicate == "first" else max(docs.get(doc, score), score)
    return run


@examples(200)
@given(with_duplicates, cuts, st.randoms(use_true_random=False))
def test_what_is_kept_of_duplicates(rows: list[Row], cuts: list[int], order: random.Random) -> None:
    rows = [("q1", "d1", 1.0), *rows]
    truth = {"q1": {"d1": 1.0, "d2": 2.0}, "q2": {"d1": 1.0}, "查询": {"d": 1.0, "文档": 0.0}}
    held = Truth(truth)
    run = kept(rows, "first")
    n_unjudged = len(run.keys() - truth.keys())
    assert_equal(align_rows(held, FakeReader(rows, cuts), on_duplicate="first"), naive(truth, run), n_unjudged)
    want = naive(truth, kept(rows, "max"))
    for each in (rows, order.sample(rows, len(rows))):
        assert_equal(align_rows(held, FakeReader(each, cuts), on_duplicate="max"), want, n_unjudged)
    if any(len([r for r in rows if r[:2] == row[:2]]) > 1 for row in rows if row[0] in truth):
        with pytest.raises(sy.DuplicateError):
            align_rows(held, FakeReader(rows, cuts))


def test_first_and_max_of_a_run_and_of_a_truth() -> None:
    run = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b", "a"], "score": [1.0, 2.0, 3.0]})
    values = {how: sy.evaluate({"q": ["a"]}, run, "mrr", on_duplicate=how).values.item() for how in ("first", "max")}
    assert values == {"first": 0.5, "max": 1.0}
    truth = pl.DataFrame({"query_id": "q", "doc_id": ["a", "b", "a"], "gain": [0.0, 1.0, 3.0]})
    assert Truth(truth, on_duplicate="first").labels == [{"b": 1.0, "a": 0.0}]
    assert Truth(truth, on_duplicate="max").labels == [{"a": 3.0, "b": 1.0}]
    with pytest.raises(sy.DuplicateError, match="document 'a' is judged twice for question 'q'"):
        Truth(truth)


def test_a_list_that_names_a_document_twice() -> None:
    with pytest.raises(sy.DuplicateError, match="question 'q': document 'b' is retrieved twice"):
        sy.evaluate({"q": ["a"]}, {"q": ["c", "b", "a", "b"]})


@pytest.mark.parametrize("how", ["first", "max"])
def test_what_is_kept_of_a_list_that_names_a_document_twice(how: OnDuplicate) -> None:
    # Places fall, so the first one is also the best one.
    scores = sy.evaluate({"q": ["a", "b"]}, {"q": ["c", "b", "b", "a"]}, ["map", "n_retrieved"], on_duplicate=how)
    assert scores.values[0, :, 0].tolist() == [pytest.approx((1 / 2 + 2 / 3) / 2), 3.0]


# --------------------------------------------------------------------------- no query in common

NAMED = ["case", "white space", "decimal point", "prefix", "same collection"]
SLIPS: list[tuple[str, list[str], list[str], str]] = [
    # label, ids of the truth and of the run in ascending order, which of NAMED the message names, and no other
    ("decimal point", ["1", "2", "3", "4"], ["1.0", "2.0", "3.0", "4.0"], "decimal point"),
    ("zero-padding", ["1", "2", "3", "4"], ["001", "002", "003", "004"], "decimal point"),
    ("upper case", ["Q1", "Q2", "Q3", "Q4"], ["q1", "q2", "q3", "q4"], "case"),
    ("white space", ["q1", "q2", "q3", "q4"], ["q1 ", "q2 ", "q3 ", "q4 "], "white space"),
    ("ideographic blank", ["查询1", "查询2"], ["\u3000查询1", "\u3000查询2"], "white space"),
    ("prefix", ["1", "2", "3", "4"], ["q1", "q2", "q3", "q4"], "prefix"),
    ("prefix of the truth", ["MED-1", "MED-2"], ["1", "2"], "prefix"),
    ("other prefixes", ["topic_001", "topic_002"], ["q:1", "q:2"], "prefix"),
    ("only one alike", ["a", "b", "c", "d9"], ["9", "x", "y", "z"], "prefix"),
    ("nothing alike", ["q1", "q2"], ["x7", "x8"], "same collection"),
    ("words", ["what is bm25", "who"], ["when", "why"], "same collection"),
]


@pytest.mark.parametrize(("ours", "theirs", "named"), [pytest.param(*rest, id=label) for label, *rest in SLIPS])
def test_no_common_query_names_the_slip(ours: list[str], theirs: list[str], named: str) -> None:
    truth = Truth({query: ["d"] for query in ours})
    rows = [(query, "d", 1.0) for query in theirs]
    for attempt in (
        lambda: align_rows(truth, FakeReader(rows, [1])),
        lambda: align_rankings(truth, {query: {"d": 1.0} for query in theirs}, "fake"),
        lambda: align_rankings(truth, {query: ["d"] for query in reversed(theirs)}, "fake"),
    ):
        with pytest.raises(sy.NoCommonQueryError) as caught:
            attempt()
        message = str(caught.value)
        assert message.startswith("fake: no question of the run is in the truth: ")
        assert (
            f"the truth has {', '.join(map(repr, ours[:3]))}; the run has {', '.join(map(repr, theirs[:3]))}" in message
        )
        assert [query for query in (*ours[3:], *theirs[3:]) if repr(query) in message] == []
        assert [word for word in NAMED if word in message] == [named]


def test_whole_numbers_on_one_side_and_fractions_on_the_other() -> None:
    """The classic slip of pandas: one column of ids became floats on its way."""
    with pytest.raises(sy.NoCommonQueryError, match="decimal point differ; ids are text"):
        sy.evaluate({1: ["d"], 2: ["d"]}, {"1.0": ["d"], "2.0": ["d"]})


def test_one_common_query_is_enough() -> None:
    scores = sy.evaluate({"q1": ["d"], "q2": ["d"]}, {"Q1": ["d"], "q2": ["d"]}, "map")
    assert scores.unjudged_queries.tolist() == [1]
    assert scores.values[0, 0].tolist() == [0.0, 1.0]


# --------------------------------------------------------------------------- the index of labels


def big_case(n_labels: int, n_rows: int, seed: int) -> tuple[Nested, Nested]:
    """One query with many labels, one with one, one with none; ties everywhere; few labels are retrieved or most."""
    order = random.Random(seed)
    pool = [f"文档{i}" for i in range(n_labels * 2)]
    truth = {
        "many": {doc: order.choice(GAINS) for doc in order.sample(pool, n_labels)},
        "one": {pool[0]: 1.0},
        "none": {},
    }
    run = {
        query: {doc: float(order.randrange(20)) for doc in order.sample(pool, min(n_rows, len(pool)))}
        for query in truth
    }
    return truth, run


@pytest.mark.parametrize(("n_labels", "n_rows"), [(1, 50), (3, 4), (4000, 30), (4000, 8000), (30, 60), (257, 200)])
def test_many_labels_in_one_query(n_labels: int, n_rows: int) -> None:
    truth, run = big_case(n_labels, n_rows, seed=n_labels + n_rows)
    want = naive(truth, run)
    rows = random.Random(1).sample(as_rows(run), len(as_rows(run)))
    for each in (as_rows(run), rows):
        assert_equal(align_rows(Truth(truth), FakeReader(each, [10, 500])), want)
    assert_equal(align_rankings(Truth(truth), run, "dict"), want)


Hash = Callable[[pl.Series], np.ndarray]
FEW_HASHES: dict[str, Hash] = {
    "all zero": lambda ids: np.zeros(len(ids), np.uint64),
    "all ones": lambda ids: np.full(len(ids), 2**64 - 1, np.uint64),
    "by length": lambda ids: ids.str.len_bytes().to_numpy().astype(np.uint64),
    "by length, high bits only": lambda ids: ids.str.len_bytes().to_numpy().astype(np.uint64) << np.uint64(40),
    "two values": lambda ids: (ids.str.len_bytes().to_numpy() % 2).astype(np.uint64) * np.uint64(2**64 - 1),
    "low bits only": lambda ids: ids.hash().to_numpy() & np.uint64(0xFFF),
    "high bits only": lambda ids: ids.hash().to_numpy() & ~np.uint64((1 << 60) - 1),
    "middle bits only": lambda ids: ids.hash().to_numpy() & np.uint64(0xF << 20),
}


@pytest.fixture(params=FEW_HASHES)
def _few_hashes(request: pytest.FixtureRequest) -> Iterator[None]:
    made = FEW_HASHES[request.param]
    with patch("steelyard.data.truth.hash_ids", made), patch("steelyard.align.rows.hash_ids", made):
        yield


@pytest.mark.usefixtures("_few_hashes")
def test_equal_hashes_change_nothing() -> None:
    order = random.Random(5)
    for seed in range(6):
        truth, run = big_case(order.randrange(1, 40), order.randrange(1, 60), seed)
        want, rows = naive(truth, run), order.sample(as_rows(run), len(as_rows(run)))
        assert_equal(align_rows(Truth(truth), FakeReader(as_rows(run), [order.randrange(60)])), want)
        assert_equal(align_rows(Truth(truth), FakeReader(rows, [order.randrange(60)])), want)


@pytest.mark.usefixtures("_few_hashes")
def test_equal_hashes_neither_hide_nor_make_duplicates() -> None:
    docs = [f"d{i}" for i in range(40)]
    rows = [("q", doc, float(i % 5)) for i, doc in enumerate(docs)]
    truth = {"q": dict.fromkeys(docs[::3], 1.0)}
    assert_equal(
        align_rows(Truth(truth), FakeReader(rows, [])), naive(truth, {"q": {doc: score for _, doc, score in rows}})
    )
    for at in (0, 1, 17, 39):
        again = [*rows, ("q", docs[at], -1.0)]
        with pytest.raises(sy.DuplicateError, match=rf"rows {at + 1} and 41: document '{docs[at]}' is retrieved twice"):
            align_rows(Truth(truth), FakeReader(again, [20]))
        for how in ("first", "max"):
            want = naive(truth, kept(again, how))
            assert_equal(align_rows(Truth(truth), FakeReader(again, [20]), on_duplicate=how), want)


@pytest.mark.usefixtures("_few_hashes")
def test_equal_hashes_of_a_list_with_a_document_many_times() -> None:
    rows = [("q", doc, float(i)) for i, doc in enumerate(["a", "b", "a", "c", "a", "b", "d"])]
    truth = {"q": {"a": 1.0, "b": 2.0, "d": 0.0}}
    for how in ("first", "max"):
        assert_equal(align_rows(Truth(truth), FakeReader(rows, [3]), on_duplicate=how), naive(truth, kept(rows, how)))


def small_file(folder: Path, number: int, rng: random.Random) -> Path:
    """A small TREC run with ties, queries of its own, and missing ones; the last line may lack its end."""
    queries = rng.sample(["q1", "q2", "q3", "q4", "other", "another"], rng.randint(2, 6))
    lines = [
        f"{query} Q0 {doc} 1 {rng.choice([0.5, 1, 1.5, 2])} tag"
        for query in dict.fromkeys(["q1", *queries])
        for doc in rng.sample([f"d{i}" for i in range(12)], rng.randint(1, 12))
    ]
    file = folder / f"{number}.run"
    file.write_text("\n".join(lines) + rng.choice(["", "\n"]))
    return file


def aligned_alike(one: Aligned, other: Aligned) -> bool:
    """Whether everything in two alignments is equal."""
    return one.n_unjudged_queries == other.n_unjudged_queries and same(one.alignment, other.alignment)


def same(one: Alignment, other: Alignment) -> bool:
    """Whether all arrays of two alignments are equal, ties included."""
    names = ("n_retrieved", "missing", "starts", "hit_rank", "hit_gain", "ideal_starts", "ideal_gain")
    tied = [
        None if a.ties is None else [a.ties.starts.tolist(), a.ties.first.tolist(), a.ties.size.tolist()]
        for a in (one, other)
    ]
    return tied[0] == tied[1] and all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@pytest.mark.parametrize("odd", ["", "# a comment\n", "q1 Q0 d0 1 3 tag\nq2 Q0 d0 1 3 tag\nq1 Q0 d1 1 2 tag\n"])
def test_small_files_are_aligned_together_as_one_by_one(tmp_path: Path, odd: str) -> None:
    """Comments, and queries in several blocks, send the files of a group back to the other way."""
    rng = random.Random(odd)
    truth = Truth({f"q{q}": {f"d{i}": rng.randint(-1, 2) for i in range(0, 12, 2)} for q in range(1, 6)})
    files = [small_file(tmp_path, number, rng) for number in range(40)]
    if odd:
        (tmp_path / "odd.run").write_text(odd + "q2 Q0 d7 1 1 tag\n" * (odd[0] == "#"))
        files.insert(20, tmp_path / "odd.run")
    together = list(align_all(truth, [StreamedRun(file) for file in files]))
    alone = [align(truth, StreamedRun(file)) for file in files]
    assert all(map(aligned_alike, together, alone))
    assert len(together) == len(files)


def test_small_files_are_read_together_up_to_a_block_and_other_runs_alone(tmp_path: Path) -> None:
    truth, line = Truth({"q": {"a": 1}}), "q Q0 a 1 1 tag\n"
    files = [tmp_path / f"{number}.run" for number in range(6)]
    for file in files:
        file.write_text(line)
    runs = [StreamedRun(file) for file in files]
    runs.insert(2, Run({"q": {"b": 2.0, "a": 1.0}}))
    with (
        patch.object(rankings, "BLOCK_BYTES", 3 * len(line)),
        patch.object(rankings, "read_together", wraps=rankings.read_together) as read_together,
    ):
        aligned = list(align_all(truth, runs))
    assert [item.alignment.hit_rank.tolist() for item in aligned] == [[1], [1], [2], [1], [1], [1], [1]]
    assert [len(call.args[0]) for call in read_together.call_args_list] == [2, 3]


def test_a_small_file_among_many_is_refused_by_its_name(tmp_path: Path) -> None:
    rng = random.Random(1)
    files = [small_file(tmp_path, number, rng) for number in range(5)]
    truth = Truth({"q1": {"d1": 1}, "q2": {"d1": 1}})
    for odd, message in [
        ("q1 Q0 d1 1 3 tag\nq1 Q0 d1 2 2 tag\n", r"odd.run, lines 1 and 2: document 'd1' is retrieved twice"),
        ("q9 Q0 d1 1 3 tag\n", "odd.run: no question of the run is in the truth"),
        ("q1 Q0 d1 1 high tag\n", "odd.run, line 1: score 'high'"),
    ]:
        (tmp_path / "odd.run").write_text(odd)
        runs = [StreamedRun(file) for file in [*files, tmp_path / "odd.run"]]
        with pytest.raises(sy.SteelyardError, match=message):
            list(align_all(truth, runs))
