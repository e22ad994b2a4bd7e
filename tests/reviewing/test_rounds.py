"""Rounds of review: what is drawn, what is asked, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.options import ReviewOptions
from steelyard.judges.people.review import Decision, Review
from steelyard.reviewing.rounds import Round, conflicts_round, next_round
from steelyard.reviewing.systems import ReviewedSystem, open_reviewed
from tests.reviewing.small import QUESTIONS, outputs

RUNS = {"good": outputs(), "bad": outputs(wrong=range(0, 12, 3))}


def opened(runs: object = RUNS, **options: Any) -> list[ReviewedSystem]:
    return open_reviewed(QUESTIONS, runs, ReviewOptions(**options), begin=True)[1]


def never(pairs: Sequence[tuple[str, str]]) -> list[bool]:
    """A judge that never sees support."""
    return [False for _ in pairs]


def keep(round: Round, file: Path) -> None:
    round.reviews[file].write(file)


def test_items_that_systems_share_are_asked_once() -> None:
    round = next_round(opened(), "grounded", n=24)
    assert len(round.asked) == 24 + 4
    assert sorted({tuple(own.systems) for own in round.asked}) == [("bad",), ("good",), ("good", "bad")]
    assert round.n_new == {"good": 24, "bad": 24}
    assert [own.review.samples[0].n_members for own in round.systems] == [24, 24]


def test_items_are_shown_with_their_texts() -> None:
    asked = next_round(opened(), "grounded", n=24).asked
    (own,) = [own for own in asked if own.unit.text == "It closes at 19." and own.item.query_id == "q3"]
    assert own.premises == [("h3", "Hall 3 opens at 3 and closes at 20."), ("t", "Tickets cost 5 euros.")]
    assert own.answer[own.unit.start : own.unit.end].startswith("It closes at 19")
    assert own.candidate is not None
    assert own.premises[own.candidate[0]][1][own.candidate[1] : own.candidate[2]] == own.premises[0][1]
    assert own.verdict is not None
    assert own.verdict.label != "supported"


@pytest.mark.parametrize(
    ("table", "premises"),
    [
        ("joint", [("h1", "Hall 1 opens at 1 and closes at 20.")]),
        ("correctness", [("1", "It opens at 1.")]),
        ("said", [("", "Hall 1 opens at 1 [1]. It closes at 20 [1].")]),
    ],
)
def test_premises_are_those_of_the_table(table: Any, premises: list[tuple[str, str]]) -> None:
    asked = next_round(opened({"good": outputs()}), table, n=24).asked
    own = next(own for own in asked if own.item.query_id == "q1")
    assert own.premises == premises
    assert own.answer[own.unit.start : own.unit.end]


def test_the_order_depends_on_the_seed_and_keeps_questions_together() -> None:
    orders = [[own.item.query_id for own in next_round(opened(), "grounded", n=24, seed=s).asked] for s in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    for order in orders:
        changes = [id for n, id in enumerate(order) if n == 0 or order[n - 1] != id]
        assert len(changes) == len({*changes}) == 12
        assert changes != sorted(changes)


def test_a_second_round_asks_what_is_not_decided(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    first = next_round(opened(labels=file), "grounded", n=8)
    keep(first, file)
    decided = [own.item.item_id for own in first.asked][:5]
    Review.update(file, lambda review: review.with_decisions(Decision(id, "ann", "supported") for id in decided))
    second = next_round(opened(labels=file), "grounded", n=4, seed=5)
    assert second.n_new == {"good": 4, "bad": 4}
    assert second.n_decided == 5
    ids = {own.item.item_id for own in second.asked}
    assert not ids & {*decided}
    assert {own.item.item_id for own in first.asked} - {*decided} < ids
    assert {own.item.item_id for own in next_round(opened(labels=file), "grounded", n=0).asked} == {
        own.item.item_id for own in first.asked
    } - {*decided}


def test_decisions_for_one_system_are_good_for_another(tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.json" for name in RUNS}
    good = next_round(opened({"good": RUNS["good"]}, labels=files["good"]), "grounded", n=24)
    decisions = [Decision(own.item.item_id, "ann", "supported") for own in good.asked]
    keep(good, files["good"])
    Review.update(files["good"], lambda review: review.with_decisions(decisions))
    both = next_round(opened(labels=files), "grounded", n=24)
    assert [own.systems for own in both.asked] == [["bad"]] * 4
    reviews = {own.name: own.review for own in both.systems}
    assert len(reviews["good"].labels) == 24


def test_whole_answers_are_asked_in_full() -> None:
    round = next_round(opened({"good": RUNS["good"]}), "grounded", n=5, unit="answer")
    assert len(round.asked) == 10
    assert len({own.item.query_id for own in round.asked}) == 5


def test_a_width_asks_for_so_many() -> None:
    wide = next_round(opened({"bad": RUNS["bad"]}), "grounded", width=0.6)
    narrow = next_round(opened({"bad": RUNS["bad"]}), "grounded", width=0.45)
    assert 2 < wide.n_new["bad"] < narrow.n_new["bad"] <= 24
    with pytest.raises(sy.InputError, match=r"bad: an interval 0\.05 wide cannot be had of 12 quest"):
        next_round(opened({"bad": RUNS["bad"]}), "grounded", width=0.05)


def test_conflicts_are_asked_with_what_people_said(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    round = next_round(opened(labels=file), "grounded", n=8)
    keep(round, file)
    first, second = (own.item.item_id for own in round.asked[:2])
    decisions = [Decision(first, "ann", "supported"), Decision(first, "bob", "not_found", "why"),
                 Decision(second, "ann", "supported"), Decision(second, "bob", "supported")]  # fmt: skip
    Review.update(file, lambda review: review.with_decisions(decisions))
    (own,) = conflicts_round(opened(labels=file), "grounded").asked
    assert own.item.item_id == first
    assert [(d.rater, d.label, d.note) for d in own.decisions] == [
        ("ann", "supported", ""),
        ("bob", "not_found", "why"),
    ]
    Review.update(file, lambda review: review.with_decisions([Decision(first, "adjudication", "supported")]))
    with pytest.raises(sy.InputError, match="there is no conflict among 5 decisions"):
        conflicts_round(opened(labels=file), "grounded")


def test_what_does_not_fit_the_first_sample_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "labels.json"
    keep(next_round(opened(labels=file), "grounded", n=8), file)
    with pytest.raises(
        sy.InputError, match=r"good: its sample of grounded is of single items; .*leave out --whole-ans"
    ):
        next_round(opened(labels=file), "grounded", n=8, unit="answer")
    strict = {name: sy.judge(QUESTIONS, {name: run}, never) for name, run in RUNS.items()}
    with pytest.raises(sy.InputError, match=r"was drawn by other verdicts than these .by never, not lexical."):
        next_round(opened(labels=file, verdicts=strict), "grounded", n=8)
    everything = next_round(opened(labels=file), "grounded", n=99)
    keep(everything, file)
    all_decided = [Decision(own.item.item_id, "ann", "supported") for own in everything.asked]
    Review.update(file, lambda review: review.with_decisions(all_decided))
    with pytest.raises(
        sy.InputError, match="people decided about all 28 items that were drawn, and there are no others"
    ):
        next_round(opened(labels=file), "grounded", n=8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n is -1, not 0 or more"),
        ({"n": 3, "width": 0.1}, "give n or a width"),
        ({"width": 1.5}, "from 0 to 1, not 1.5"),
    ],
)
def test_sizes_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(sy.InputError, match=message):
        next_round(opened(), "grounded", **options)


def test_several_runs_of_a_system_are_refused() -> None:
    with pytest.raises(sy.InputError, match="several: has 2 runs; people decide about one of them"):
        opened({"several": sy.Repeats([sy.Outputs(outputs()), sy.Outputs(outputs())])})
