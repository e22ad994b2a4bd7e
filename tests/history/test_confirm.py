"""Confirmations: answers, the budget, what they refuse, and searches that would overfit the held-out part."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.hold_out import is_held_out
from steelyard.experiment.table.scores import Scores
from steelyard.history.confirm import confirm

IDS = [f"q{i}" for i in range(120)]
TRUTH = {q: {"d": 1} for q in IDS}


def scores(good: int, *, good_held: int | None = None, name: str = "s", hold_out: float | None = 0.3) -> Scores:
    """MRR 1 of `good` of 4 questions, else 0.5; of held-out questions of `good_held` of 4."""
    shares = {True: good if good_held is None else good_held, False: good}
    run = {q: ["d"] if i % 4 < shares[is_held_out(q, 0.3)] else ["x", "d"] for i, q in enumerate(IDS)}
    options = {} if hold_out is None else {"hold_out": hold_out}
    return sy.evaluate(TRUTH, {name: run}, ["mrr", "recall@2", "gm_map"], **options)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[sy.Store]:
    with sy.Store(tmp_path / "history.db") as opened:
        yield opened


def noise() -> np.random.Generator:
    return np.random.default_rng(3)


def test_parts_that_agree_say_nothing_of_the_held_out_one(store: sy.Store) -> None:
    of = scores(2)
    entry = store.add(of)
    own = confirm(store, rng=noise())
    assert (own.outcome, own.mean, own.open_mean) == ("agrees", of.means[0, 0], of.means[0, 0])
    assert (own.entry, own.system, own.measure, own.against) == (entry.id, "s", "mrr", "")
    assert of.held_out is not None
    assert (own.n_open, own.n_held) == (len(of.query_ids), len(of.held_out.query_ids))
    assert (own.n_spent, own.rules.budget) == (0, own.n_held // 12)
    assert store.confirmations()["charged"].to_list() == [False]


def test_a_system_that_fits_the_open_questions_alone_is_not_confirmed(store: sy.Store) -> None:
    """Open 1, held out .5: said with noise, rounded, and charged; asked again, the same is said."""
    store.add(scores(3, good_held=0))
    own = confirm(store, rng=noise())
    assert (own.outcome, own.n_spent) == ("differs", 1)
    assert own.mean == pytest.approx(0.5, abs=0.15)
    assert own.mean != own.open_mean
    again = [confirm(store, rng=np.random.default_rng(seed)) for seed in range(5)]
    assert {(other.mean, other.n_spent) for other in again} == {(own.mean, 1)}


def test_nothing_is_answered_once_the_budget_is_spent(store: sy.Store) -> None:
    for n in range(5):
        store.add(scores(3, good_held=0, name=f"s{n}"))
        own = confirm(store, rng=np.random.default_rng(n))
    assert (own.outcome, own.mean, own.n_spent) == ("refused", None, own.rules.budget)
    store.add(scores(2, name="agreeing"))
    assert confirm(store).outcome == "refused"
    kept = store.confirmations()
    assert kept["charged"].sum() == own.rules.budget
    assert kept["mean"].null_count() == len(kept) - own.rules.budget


def test_a_difference_from_another_entry(store: sy.Store) -> None:
    first = store.add(scores(1, name="old"), tags=["v1"])
    store.accept(first.id, who="ann")
    store.add(scores(3, name="new"))
    for ref in ("accepted", "tag=v1", first.id):
        own = confirm(store, against=ref, rng=noise())
        assert (own.against, own.outcome) == (first.id, "agrees")
        assert own.open_mean == pytest.approx(0.25, abs=0.03)


def test_what_is_refused(store: sy.Store) -> None:
    whole = store.add(scores(2, hold_out=None))
    with pytest.raises(sy.InputError, match=f"entry {whole.id}: no questions were held out"):
        confirm(store, whole.id)
    store.add(scores(2))
    with pytest.raises(sy.InputError, match="is of other questions"):
        confirm(store, against=whole.id)
    with pytest.raises(sy.InputError, match="arithmetic means alone"):
        confirm(store, measure="gm_map")
    with pytest.raises(sy.InputError, match=r"measure 'mrx': the entry has none of that name .*mrr"):
        confirm(store, measure="mrx")
    with pytest.raises(sy.InputError, match="system 't': the entry has none of that name"):
        confirm(store, system="t")
    assert store.confirmations().is_empty()


def test_the_best_of_several_systems_and_a_measure_that_is_better_low(store: sy.Store) -> None:
    rng, systems = np.random.default_rng(0), ["a", "b"]
    run = {
        name: {q: ["d"] if rng.random() < share else ["x", "d"] for q in IDS}
        for name, share in zip(systems, (0.3, 0.7), strict=True)
    }
    store.add(sy.evaluate(TRUTH, run, ["mrr"], hold_out=0.3))
    assert confirm(store, rng=noise()).system == "b"


@pytest.mark.slow
def test_a_search_overfits_the_open_questions_and_not_the_answers(tmp_path: Path) -> None:
    """100 random configurations, each confirmed where it leads: no answer is off .75 by more than stated."""
    rng = np.random.default_rng(5)
    with sy.Store(tmp_path / "history.db") as store:
        best = 0.0
        for n in range(100):
            run = {q: ["d"] if rng.random() < 0.5 else ["x", "d"] for q in IDS}
            of = sy.evaluate(TRUTH, {f"s{n}": run}, "mrr", hold_out=0.3)
            if of.means[0, 0] > best:
                best = of.means[0, 0]
                entry = store.add(of)
                own = confirm(store, entry.id, rng=rng)
                if own.mean is not None:
                    assert abs(own.mean - 0.75) <= own.rules.error
