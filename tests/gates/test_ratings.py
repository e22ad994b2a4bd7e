import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import rate, reaches
from steelyard.stats.intervals.percentiles import percentile_interval
from tests.gates.stated import scores_of, stated
from tests.hypothesis_profiles import examples

CASES = [json.loads(line) for line in (Path(__file__).parents[1] / "cases" / "ratings.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_cases(case: dict[str, Any]) -> None:
    told, want = case["input"], case["want"]
    value, low, high = (math.nan if told[key] is None else float(told[key]) for key in ("value", "low", "high"))
    profile = Profile.read(told["profile"])
    if profile.is_handed_in(told["measure"]):
        rated = _held(profile, told["measure"], (value, low, high), told["n"])
    else:
        rated = rate(stated({told["measure"]: (value, low, high)}, n=told["n"]), profile)
    found = [rating for rating in rated if rating.measure == told["measure"]]
    if want["level"] == "not rated":
        assert not found
    else:
        assert [(rating.level, list(rating.could_be)) for rating in found] == [(want["level"], want["could_be"])]


def _held(profile: Profile, name: str, value: tuple[float, float, float], n: int) -> list[Any]:
    from steelyard.gates import ratings as module

    mean, low, high = value
    standard = profile.standards[name]
    return [module._rating(module.StandardValue("a", name, standard, value=mean, low=low, high=high, n=n), profile)]


def test_every_system_in_the_order_of_the_measures_then_what_is_not_measured() -> None:
    scores = scores_of(np.full((2, 2, 30), 0.9), ["mrr@10", "recall@5"])
    found = [(rating.system, rating.measure, rating.level) for rating in rate(scores, "production")]
    assert found == [
        (system, *of)
        for system in "ab"
        for of in (("mrr@10", "excellent"), ("recall@5", "excellent"), ("precision@5", None))
    ]


def test_numbers_are_those_of_the_scores() -> None:
    scores = scores_of(np.random.default_rng(0).random((1, 1, 40)), ["recall@5"])
    row, rating = scores.mean().to_dicts()[0], rate(scores, "ratings")[0]
    assert (rating.value, rating.low, rating.high, rating.n) == (row["mean"], row["low"], row["high"], 40)
    assert (rating.key, rating.better, rating.is_top) == ("recall@k", "higher", False)


def test_latencies_become_the_percentile_with_its_interval() -> None:
    scores = scores_of(np.full((2, 1, 30), 0.9), ["mrr"])
    times = np.linspace(100, 400, 200)
    found = {(r.system, r.measure): r for r in rate(scores, "reranker", latency_ms={"a": times.tolist()})}
    want = percentile_interval(times, 0.95)
    one = found["a", "latency_ms:p95"]
    assert (one.value, one.low, one.high, one.n) == (want.value, want.low, want.high, 200)
    assert (one.level, one.could_be) == ("target", ())
    assert found["b", "latency_ms:p95"].level is None


def test_runs_of_the_same_questions_say_hardly_more_than_one() -> None:
    scores = scores_of(np.full((1, 1, 30), 0.9), ["mrr"])
    times = np.linspace(100, 400, 200)
    runs = [times.tolist(), [*times[:-1].tolist(), math.nan], [*times[:-2].tolist(), math.inf, math.inf]]
    one, several = (
        {r.measure: r for r in rate(scores, "reranker", latency_ms={"a": of})}["latency_ms:p95"]
        for of in (times.tolist(), runs)
    )
    assert several.low < one.low + 5
    assert several.high > one.high - 5
    assert (several.n, several.n_failed) == (200, 2)


def test_a_number_that_is_handed_in_counts_before_latencies_and_for_all_systems() -> None:
    scores = scores_of(np.full((2, 1, 30), 0.9), ["mrr"])
    rated = rate(scores, "reranker", numbers={"latency_ms:p95": 200}, latency_ms={"a": [900.0] * 100})
    found = [r for r in rated if r.measure == "latency_ms:p95"]
    assert [(r.value, r.low, r.high, r.n, r.level, r.could_be) for r in found] == [
        (200, 200, 200, 0, "excellent", ())
    ] * 2


def test_bad_numbers_are_refused() -> None:
    scores = scores_of(np.full((1, 1, 30), 0.9), ["mrr"])
    with pytest.raises(InputError, match=r"no levels for a number 'latency_p95'; did you mean latency_ms:p95\?"):
        rate(scores, "reranker", numbers={"latency_p95": 1})
    with pytest.raises(InputError, match="it asks for no number"):
        rate(scores, "faq", numbers={"latency_ms:p95": 1})
    with pytest.raises(InputError, match="expected a finite number"):
        rate(scores, "reranker", numbers={"latency_ms:p95": math.nan})


ordered = st.lists(st.integers(0, 1000).map(lambda i: i / 1000), min_size=3, max_size=3).map(sorted)


@examples(100)
@given(ordered, st.sampled_from(["precision@3", "recall@7", "mrr", "ndcg@10"]))
def test_the_interval_decides_what_else_it_could_be(three: list[float], measure: str) -> None:
    low, value, high = three
    profile = Profile.read("ratings")
    rating = rate(stated({measure: (value, low, high)}), profile)[0]
    names = ("poor", *profile.levels)
    by_hand = [sum(end >= level for level in rating.levels.values()) for end in (low, value, high)]
    assert rating.level == names[by_hand[1]]
    assert set(rating.could_be) == set(names[by_hand[0] : by_hand[2] + 1]) - {rating.level}
    distances = [abs(names.index(other) - by_hand[1]) for other in rating.could_be]
    assert distances == sorted(distances)


@examples(200)
@given(st.floats(-1e3, 1e3), st.floats(-1e3, 1e3))
def test_a_number_is_reached_from_both_sides_only_where_they_meet(value: float, number: float) -> None:
    assert reaches(value, number, "higher") or reaches(value, number, "lower")
    if reaches(value, number, "higher") and reaches(value, number, "lower"):
        assert value == pytest.approx(number, rel=1e-11)
    assert reaches(value, number, "higher") == reaches(-value, -number, "lower")


HITS = Profile.read("faq")


@pytest.mark.parametrize(("n", "low"), [(2, 0.0), (10, 0.703), (36, 0.918)])
def test_questions_that_all_succeed_are_not_certain_to(n: int, low: float) -> None:
    truth = {f"q{i}": {"d": 1} for i in range(n)}
    scores = sy.evaluate(truth, {q: ["d"] for q in truth}, "hit_rate@3")
    rated = next(rating for rating in rate(scores, HITS) if rating.measure == "hit_rate@3")
    assert (rated.value, rated.high) == (1.0, 1.0)
    assert rated.low == pytest.approx(low, abs=5e-4)
    assert rated.could_be == (() if low >= 0.9 else ("below_target",))
    assert (rated.low, rated.high) == tuple(scores.mean().row(0, named=True)[end] for end in ("low", "high"))


def test_ratings_are_columns_too() -> None:
    ratings = rate(stated({"recall@5": (0.72, 0.66, 0.78), "mrr": (0.9, math.nan, math.nan)}), "production")
    assert ratings.frame["measure"].to_list() == [rating.measure for rating in ratings]
    row = ratings.frame.row(0, named=True)
    assert (row["level"], row["could_be"], row["low"], row["n"]) == ("minimum", ["below_minimum"], 0.66, 50)
    assert ratings.frame.filter(measure="mrr")["low"].to_list() == [None]
