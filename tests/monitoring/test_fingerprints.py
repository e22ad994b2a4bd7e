"""Changes by the fingerprints of impressions: new ones, roll-outs, roll-backs, rare ones, and looks in between."""

import json
from collections.abc import Sequence
from datetime import timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.monitoring.alerts import Change
from steelyard.monitoring.fingerprints import changes_in, difference
from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import IMPRESSIONS
from steelyard.traffic.windows import Windows
from tests.hypothesis_profiles import examples
from tests.monitoring.looks import START

HOUR = timedelta(hours=1)


def logs_of(hours: Sequence[str | None], column: str = "config") -> Logs:
    """A log of an hour each; the letters of an hour are fingerprints of its requests, "-" for one without."""
    rows = [
        (START + place * HOUR + n * timedelta(seconds=1), None if letter == "-" else letter)
        for place, letters in enumerate(hours)
        for n, letter in enumerate(letters or "")
    ]
    times, letters = zip(*rows, strict=True) if rows else ((), ())
    frame = pl.LazyFrame({"time": times, column: letters}, {"time": IMPRESSIONS["time"], column: pl.String})
    columns = [name for name in IMPRESSIONS if name not in ("time", column)]
    missing = [pl.lit(None, IMPRESSIONS[name]).alias(name) for name in columns]
    return Logs(frame.with_columns(missing), pl.LazyFrame(), pl.LazyFrame())


def change(hour: int, text: str, until: int | None = None, kind: str = "config") -> Change:
    return Change(kind, START + hour * HOUR, text, None if until is None else START + until * HOUR)


A, B, HALF = "a" * 20, "b" * 20, "ab" * 10
CASES = [
    ([A, A, B, B], [change(2, "a -> b")]),
    ([A, None, None, B], [change(3, "a -> b")]),
    ([A, "a" * 15 + "b" * 5, "a" * 10 + "b" * 10, B, B], [change(1, "a -> b", 4)]),
    ([A, B, A, A], [change(1, "a -> b"), change(2, "b -> a")]),
    ([HALF, "b" * 14 + "a" * 6, "a" * 18 + "bb"], []),
    ([A, "a" * 200 + "b" * 3, A], []),
    ([A, "a" * 15 + "b" * 5, A, A, "a" * 15 + "b" * 5], [change(1, "a -> b")]),
    (["-" * 20, A, "-" * 20, B], [change(3, "a -> b")]),
    (["aaa", "bbb", "c"], [change(1, "a -> b")]),
    ([A, "".join(chr(n) for n in range(200, 230))], []),
    ([], []),
]


@pytest.mark.parametrize(("hours", "want"), CASES)
def test_what_came_into_use(hours: list[str | None], want: list[Change]) -> None:
    found, state = changes_in(logs_of(hours), Windows(HOUR))
    assert found == want
    assert json.loads(json.dumps(state)) == state


def test_the_corpus_is_a_kind_of_its_own_and_windows_may_be_of_requests() -> None:
    logs = logs_of([A, B], "corpus")
    assert (
        changes_in(logs, Windows(10))[0] == changes_in(logs, Windows(HOUR))[0] == [change(1, "a -> b", kind="corpus")]
    )


@examples(60)
@given(st.lists(st.text("abc-", max_size=12), max_size=8), st.integers(0, 8))
def test_two_looks_see_what_one_does(hours: list[str], cut: int) -> None:
    hours = [letters * 5 for letters in hours]
    whole, end = changes_in(logs_of(hours), Windows(HOUR))
    first, state = changes_in(logs_of(hours[:cut]), Windows(HOUR))
    second, state = changes_in(logs_of([*[""] * len(hours[:cut]), *hours[cut:]]), Windows(HOUR), state=state)
    together = {(item.time, item.text): item for item in [*first, *second]}
    assert list(together.values()) == whole
    assert state == end


@pytest.mark.parametrize(("before", "after", "want"), [
    ("reranker=v1;prompt=7", "reranker=v1;prompt=8", "prompt: 7 -> 8"),
    ("index: 3, k: 10", "index: 4", "index: 3 -> 4, k: 10 -> –"),
    ("reranker=v1", "reranker=v1 ", "reranker=v1 -> reranker=v1 "),
    ("{bad", "{worse", "{bad -> {worse"), ("[" * 9, "{" + "[" * 99_999, f"{'[' * 9} -> {'{' + '[' * 58}…"),
    ('{"a":[1],"b":null}', '{"a":[2],"b":null}', "a: [1] -> [2]"),
])  # fmt: skip
def test_the_parts_that_differ_are_named(before: str, after: str, want: str) -> None:
    assert difference(before, after) == want
