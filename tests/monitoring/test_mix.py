"""What a change of all traffic consists of: by hand, and for any rates and shares."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.monitoring.mix import Explanation, Move, explain
from tests.hypothesis_profiles import examples

EN, ZH, AR = "language=en", "language=zh", "language=ar"


def moves(
    n: dict[str, float], changes: dict[str, float], whole: float | None = None, error: float = 0.01
) -> dict[str, Move]:
    """Moves of segments; all traffic moves as they do by their shares, or by `whole`."""
    total = sum(n.values())
    own = sum(n[name] * changes[name] for name in n) / total if whole is None else whole
    return {"": Move(own, error, total), **{name: Move(changes[name], error, n[name]) for name in n}}


CASES = [
    ("one", moves({EN: 70, ZH: 30}, {EN: 0.0, ZH: -0.2}), (ZH, True, False)),
    ("others move by less", moves({EN: 70, ZH: 30}, {EN: -0.06, ZH: -0.2}), (ZH, False, False)),
    ("others move by half", moves({EN: 70, ZH: 30}, {EN: -0.1, ZH: -0.2}), ("", False, False)),
    ("a large one", moves({EN: 95, ZH: 5}, {EN: -0.1, ZH: 0.0}), (EN, True, False)),
    ("luck", moves({EN: 70, ZH: 30}, {EN: 0.0, ZH: -0.02}), ("", False, False)),
    ("mix: both as before", moves({EN: 50, ZH: 50}, {EN: 0.0, ZH: 0.0}, -0.05), ("", False, True)),
    ("mix: both better, all worse", moves({EN: 50, ZH: 50}, {EN: 0.01, ZH: 0.01}, -0.05), ("", False, True)),
    ("a part that is mix", moves({EN: 50, ZH: 50}, {EN: -0.1, ZH: -0.1}, -0.12), ("", False, False)),
    ("one, and another mix", moves({EN: 70, ZH: 30}, {EN: 0.0, ZH: -0.2}, -0.2), (ZH, True, False)),
    ("of three", moves({EN: 40, ZH: 30, AR: 30}, {EN: 0.0, ZH: -0.2, AR: 0.01}), (ZH, True, False)),
    ("without all traffic", {EN: Move(0, 0.01, 70), ZH: Move(-0.2, 0.01, 30)}, (ZH, True, False)),
    ("one segment of all traffic", {"": Move(-0.06, 0.01, 100), ZH: Move(-0.2, 0.01, 30)}, (ZH, True, False)),
    ("alone", {ZH: Move(-0.2, 0.01, 30)}, ("", False, False)),
    ("two kinds", {**moves({EN: 70, ZH: 30}, {EN: 0.0, ZH: -0.2}), "arm=b": Move(-0.07, 0.01, 50)}, (ZH, True, False)),
    ("nothing", {}, ("", False, False)),
]  # fmt: skip


@pytest.mark.parametrize(("moved", "want"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_a_change_consists_of(moved: dict[str, Move], want: tuple[str, bool, bool]) -> None:
    found = explain(moved)
    assert (found.segment, found.is_alone, found.is_mix) == want


def test_the_others_of_a_segment_are_all_traffic_without_it() -> None:
    found = explain({"": Move(-0.07, 0.0, 100), ZH: Move(-0.2, 0.01, 30)})
    others, error = (-0.07 + 0.3 * 0.2) / 0.7, 0.3 * 0.01 / 0.7
    assert found.distance == pytest.approx((0.2 + others) / math.hypot(0.01, error))


rates = st.floats(0.05, 0.95)
shares = st.lists(st.integers(1, 99), min_size=2, max_size=2)


@examples(200)
@given(rates, rates, shares, shares)
def test_the_same_rates_in_another_mix_name_no_segment(
    en: float, zh: float, before: list[int], after: list[int]
) -> None:
    change = (after[0] * en + after[1] * zh) / sum(after) - (before[0] * en + before[1] * zh) / sum(before)
    found = explain(moves({EN: after[0], ZH: after[1]}, {EN: 0.0, ZH: 0.0}, change))
    assert found == Explanation(is_mix=abs(change) > 0.01)


@examples(200)
@given(st.floats(-0.5, 0.5), shares)
def test_a_change_of_all_alike_is_neither_a_segment_nor_a_mix(change: float, n: list[int]) -> None:
    assert explain(moves({EN: n[0], ZH: n[1]}, {EN: change, ZH: change}, change)) == Explanation()
