"""Samples for people: random within strata, with known probabilities, of a size for a wished interval."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.judges.people.review import StratifiedSample, Stratum
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer, Label, Unit, Verdict
from steelyard.reviewing.sampling import (
    DISPUTED,
    Member,
    allocation,
    items_digest,
    members,
    residual_variance,
    size_for_width,
    strata_of,
)
from tests.reviewing.small import sampled

LABELS: tuple[Label, ...] = ("supported", "not_found", "contradicted", "not_judged")


def verdicts_of(n_questions: int, seed: int = 0, n_units: int = 4, threshold: float = 0.5) -> Verdicts:
    """Verdicts with scores at random; texts are the same for any seed, so that items are too."""
    rng = np.random.default_rng(seed)
    records = []
    for q in range(n_questions):
        scores = rng.random(n_units).round(3)
        labels = ["supported" if score >= threshold else "not_found" for score in scores]
        records.append(
            JudgedAnswer(
                f"q{q}", "answered", answer="-", context=("c",), query=f"question {q}", context_digests=("d",),
                units=tuple(Unit(0, 1, f"unit {u}") for u in range(n_units)),
                support=tuple((Verdict(label, float(score)),) for label, score in zip(labels, scores, strict=True)),  # type: ignore[arg-type]
                joint=(None,) * n_units, correctness=((),) * n_units,
            )
        )  # fmt: skip
    return Verdicts(records, {"judge": {"name": f"judge{seed}"}})


def test_strata_part_what_is_supported_by_score() -> None:
    sample = sampled(verdicts_of(100), "grounded", 100, seed=1, system="s")
    assert len(sample.strata) == 6
    assert sample.n_members == 400
    assert len(sample.drawn) == 100
    kinds = [stratum.name.split()[0] for stratum in sample.strata]
    assert kinds == ["not_found"] * 3 + ["supported"] * 3
    assert all(0.2 < stratum.probability < 0.3 for stratum in sample.strata)
    by_id = {member.id: member for member in members(verdicts_of(100), "grounded")}
    highest = [max(by_id[id].score or 0 for id in stratum.members) for stratum in sample.strata]
    assert highest == sorted(highest)


@pytest.mark.parametrize(("n", "n_strata"), [(5, 1), (19, 1), (20, 2), (45, 4), (1000, 6)])
def test_fewer_to_draw_make_fewer_strata(n: int, n_strata: int) -> None:
    assert len(sampled(verdicts_of(50), "grounded", n, seed=1, system="s").strata) == n_strata


def test_labels_without_scores_are_strata() -> None:
    population = [Member(f"{label}{n}", label, None) for label in LABELS for n in range(10)]
    assert [(stratum.name, len(stratum.members)) for stratum in strata_of(population, 40)] == [
        ("not_judged", 10),
        ("contradicted", 10),
        ("not_found", 10),
        ("supported", 10),
    ]
    assert [stratum.name for stratum in strata_of(population[:10], 40)] == ["supported"]
    equal = [Member(str(n), "supported", 1.0) for n in range(10)]
    assert [stratum.name for stratum in strata_of(equal, 40)] == ["supported 1-1"]


@pytest.mark.slow
def test_every_member_is_as_likely_as_its_stratum_says() -> None:
    verdicts, times = verdicts_of(15), Counter[str]()
    first = sampled(verdicts, "grounded", 20, seed=0, system="s")
    undrawn = tuple(replace(stratum, drawn=()) for stratum in first.strata)
    for seed in range(2000):
        again = replace(first, seed=seed, strata=undrawn)
        sample = sampled(verdicts, "grounded", 20, seed=seed, system="s", earlier=again)
        times.update(sample.drawn)
    for stratum in sample.strata:
        shares = np.array([times[id] for id in stratum.members]) / 2000
        spread = np.sqrt(stratum.probability * (1 - stratum.probability) / 2000)
        assert np.abs(shares - stratum.probability).max() < 4 * spread


def test_a_later_draw_goes_on() -> None:
    verdicts = verdicts_of(50)
    first = sampled(verdicts, "grounded", 60, seed=1, system="s")
    second = sampled(verdicts, "grounded", 40, seed=99, system="s", earlier=first)
    assert second.seed == 1
    assert len(second.drawn) == 100
    for before, after in zip(first.strata, second.strata, strict=True):
        assert before.members == after.members
        assert after.drawn[: len(before.drawn)] == before.drawn
    whole = sampled(verdicts, "grounded", 1000, seed=1, system="s", earlier=second)
    assert sorted(whole.drawn) == sorted(id for stratum in first.strata for id in stratum.members)


def test_systems_share_what_is_drawn() -> None:
    one, other = (sampled(verdicts_of(100, seed), "grounded", 100, seed=5, system="s") for seed in (1, 2))
    assert len({*one.drawn} & {*other.drawn}) > 60
    assert len({*one.drawn} & {*sampled(verdicts_of(100, 2), "grounded", 100, seed=6, system="s").drawn}) < 40


def test_what_judges_differ_on_is_drawn_more() -> None:
    judges = [verdicts_of(100), verdicts_of(100, threshold=0.4)]
    sample = sampled(judges[0], "grounded", 100, seed=1, system="s", others=judges[1:])
    *agreed, disputed = sample.strata
    assert disputed.name == DISPUTED
    assert {m.score for m in members(judges[0], "grounded") if m.id in disputed.members} <= {
        n / 1000 for n in range(400, 500)
    }
    assert disputed.probability > 1.4 * agreed[0].probability
    alone = sampled(judges[0], "grounded", 100, seed=1, system="s", others=[judges[0]])
    assert DISPUTED not in [stratum.name for stratum in alone.strata]


def test_whole_answers_are_drawn_by_question() -> None:
    sample = sampled(verdicts_of(40), "grounded", 20, seed=1, system="s", unit="answer")
    assert sample.unit == "answer"
    assert {*sample.drawn} < {f"q{n}" for n in range(40)}
    assert len(sample.drawn) == 20


def test_an_item_that_comes_twice_is_asked_once() -> None:
    (record,) = verdicts_of(1).records.values()
    twice = replace(record, units=(record.units[0],) * 4)
    assert len(members(Verdicts([twice]), "grounded")) == 1


def test_without_items_there_is_nothing_to_draw() -> None:
    with pytest.raises(sy.InputError, match="hybrid: has no items of the table grounded"):
        sampled(Verdicts([JudgedAnswer("q", "abstained")]), "grounded", 10, seed=1, system="hybrid")


def test_digests_are_of_what_a_judge_says() -> None:
    verdicts = verdicts_of(5)
    turned = Verdicts(reversed(verdicts.records.values()))
    assert items_digest(verdicts, "grounded") == items_digest(turned, "grounded")
    assert items_digest(verdicts, "grounded") != items_digest(verdicts_of(5, threshold=0.2), "grounded")


@pytest.mark.parametrize(
    ("n", "sizes", "spreads", "drawn", "want"),
    [
        (10, [50, 50], [1, 1], [0, 0], [5, 5]),
        (10, [50, 50], [1, 4], [0, 0], [2, 8]),
        (10, [90, 1], [1, 1], [0, 0], [9, 1]),
        (10, [900, 10], [1, 1], [0, 0], [8, 2]),
        (3, [90, 10, 10], [1, 1, 1], [0, 0, 0], [3, 0, 0]),
        (10, [50, 50], [1, 1], [8, 0], [8, 2]),
        (100, [3, 4], [1, 1], [0, 0], [3, 4]),
        (0, [3, 4], [1, 1], [0, 0], [0, 0]),
    ],
)
def test_allocation_by_hand(n: int, sizes: list[int], spreads: list[float], drawn: list[int], want: list[int]) -> None:
    n = min(n, sum(sizes))
    assert allocation(n, np.array(sizes), np.array(spreads, float), np.array(drawn)).tolist() == want


def test_allocation_never_leaves_its_bounds() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        sizes = rng.integers(1, 60, size=rng.integers(1, 8))
        drawn = rng.integers(0, sizes // 3 + 1)
        n = int(rng.integers(drawn.sum(), sizes.sum() + 1))
        counts = allocation(n, sizes, rng.uniform(0.1, 1, len(sizes)), drawn)
        assert counts.sum() == n
        assert ((counts >= drawn) & (counts <= sizes)).all()
        if n >= np.maximum(drawn, np.minimum(sizes, 2)).sum():
            assert (counts >= np.minimum(sizes, 2)).all()


def test_size_by_hand() -> None:
    # 100 questions that vary by 0.04: their mean has variance .0004; a width of .1 allows (.05 / 1.96)² = .000651.
    values = np.array([0.3, 0.7] * 50) * np.sqrt(99 / 100)
    n = size_for_width(0.1, values, np.full(1000, 1 / 1000))
    assert n == int(np.ceil(1 / ((0.05 / 1.959964) ** 2 / 0.25 - 0.0004 / 0.25 + 1 / 1000)))
    assert size_for_width(0.1, values, np.full(1000, 1 / 1000), variance=0.05) < n / 2
    uneven = np.repeat([0.5, 1.5], 500) / 1000
    assert size_for_width(0.1, values, uneven) > n
    with pytest.raises(sy.InputError, match=r"cannot be had of 100 questions: if people decided all, .* about 0.078"):
        size_for_width(0.05, values, uneven)
    with pytest.raises(sy.InputError, match="cannot be had of 1 questions"):
        size_for_width(0.5, np.array([1.0]), uneven)


def test_variance_is_that_of_labels() -> None:
    strata = (
        Stratum("low", tuple("abcdefghij"), tuple("abcdefgh")),
        Stratum("high", tuple("klmnopqrst"), tuple("klmn")),
    )
    sample = StratifiedSample("grounded", "s", "", 0, strata)
    judge = {item: item > "j" for item in "abcdefghijklmnopqrst"}
    people = {item: judge[item] for item in sample.drawn}
    # One more of ten, and one more of six, is wrong.
    assert residual_variance(sample, judge, people) == pytest.approx((0.1 * 0.9 + 5 / 36) / 2)
    assert residual_variance(sample, judge, {**people, "a": True}) == pytest.approx((0.2 * 0.8 + 5 / 36) / 2)
    assert residual_variance(sample, judge, {"a": False}) is None


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.3])
@pytest.mark.parametrize("wished", [0.2, 0.15])
def test_intervals_are_as_wide_as_was_wished(noise: float, wished: float) -> None:
    """By the variance that labels show about as wide; by the greatest that there can be, no wider."""
    from steelyard.stats.labels.prediction_powered import corrected_mean

    rng, widths = np.random.default_rng(1), {0.25: list[float](), noise * (1 - noise): list[float]()}
    for _ in range(40):
        n_units = rng.integers(1, 9, 200)
        owner = np.repeat(np.arange(200), n_units)
        people = (rng.random(len(owner)) < np.clip(rng.beta(3, 1.5, 200), 0.02, 0.98)[owner]).astype(float)
        judge = np.where(rng.random(len(owner)) < noise, 1 - people, people)
        values, weights = np.bincount(owner, judge, 200) / n_units, 1 / n_units[owner] / 200
        for variance, of_variance in widths.items():
            drawn = rng.permutation(len(owner))[: size_for_width(wished, values, weights, variance=variance)]
            labels = np.full(len(owner), np.nan)
            labels[drawn] = people[drawn]
            mean = corrected_mean(owner, judge, labels, np.zeros(len(owner), int), 200).corrected
            of_variance.append(mean.high - mean.low)
    worst, labelled = (np.mean(of_variance) for of_variance in widths.values())
    assert labelled == pytest.approx(wished, rel=0.08)
    assert worst < wished * 1.02
