"""What reranking brings in: the sums that are known, intervals, and what cannot be said."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from steelyard.base.errors import InputError
from steelyard.bench.choice.returns import returns, saving_per_query, success_measure, success_of
from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import REQUEST_COSTS
from steelyard.bench.frames import RETURNS
from steelyard.experiment.table.scores import Scores
from steelyard.gates.gating import gate

RELATIVE = {"value_per_query": 0.01, "queries_per_day": 100_000}
ABSOLUTE = {"value_per_success": 0.01, "queries_per_day": 100_000}
HITS = np.repeat([1.0, 0.0], [72, 28]), np.repeat([1.0, 0.0], [87, 13])
HITS_OF_200 = np.repeat([1.0, 0.0], [160, 40]), np.repeat([1.0, 0.0], [165, 35])


def config_of(value: object = None, depths: Sequence[int] = (50,)) -> BenchConfig:
    values: dict[str, Any] = {"systems": {"none": {}, "mine": {"rerank": "lexical"}}, "depths": list(depths)}
    return BenchConfig.of(values | ({} if value is None else {"value": value}))


def scores_of(base: npt.ArrayLike, *reranked: npt.ArrayLike, measure: str = "hit_rate@5", **more: Any) -> Scores:
    systems = {"none": base, **{f"mine@{50 * (i + 1)}": values for i, values in enumerate(reranked)}}
    frames = [
        pl.DataFrame({"query_id": [f"q{i:03}" for i in range(len(np.atleast_1d(values)))], "system": system,
                      "measure": measure, "value": np.asarray(values, float), **more}).fill_nan(None)
        for system, values in systems.items()
    ]  # fmt: skip
    return Scores.of(pl.concat(frames), cluster="session" if "session" in more else None)


def costs_of(*costs: npt.ArrayLike, n: int = 100) -> pl.DataFrame:
    rows = [
        {"system": "mine", "depth": 50 * (i + 1), "repetition": 1, "query_id": f"q{k:03}", "cost": value}
        for i, cost in enumerate(costs)
        for k, value in enumerate(np.broadcast_to(cost, n).tolist())
    ]
    return pl.DataFrame(rows, schema=REQUEST_COSTS)


def row_of(value: object, base: npt.ArrayLike, reranked: npt.ArrayLike, cost: npt.ArrayLike = 0.001) -> dict[str, Any]:
    frame = returns(config_of(value), scores_of(base, reranked), costs_of(cost, n=len(np.atleast_1d(base))))
    assert frame.schema == RETURNS
    return frame.row(0, named=True)


def test_the_sums_that_are_known() -> None:
    row = row_of(RELATIVE, *HITS)
    assert row["gain"] == pytest.approx(0.15)
    assert row["relative_gain"] == pytest.approx((0.87 - 0.72) / 0.72)
    assert round(row["relative_gain"], 4) == 0.2083
    assert row["cost"] * 100_000 == pytest.approx(100)
    assert row["net_per_day"] + 100 == pytest.approx(208.33, abs=0.005)
    assert round(row["roi"], 3) == 1.083
    assert row["break_even"] == pytest.approx(0.001 / (0.15 / 0.72))


def test_value_of_each_question_more_that_succeeds() -> None:
    row = row_of(ABSOLUTE, *HITS)
    assert row["net_per_day"] == pytest.approx(100_000 * (0.01 * 0.15 - 0.001))
    assert (row["roi"], row["break_even"]) == (pytest.approx(0.5), pytest.approx(0.001 / 0.15))


def test_ends_are_those_of_the_paired_difference() -> None:
    rng = np.random.default_rng(1)
    base = rng.beta(2, 2, 400)
    reranked = np.clip(base + rng.normal(0.05, 0.2, 400), 0, 1)
    row = row_of(ABSOLUTE, base, reranked)
    difference = reranked - base
    half = 1.966 * difference.std(ddof=1) / 20
    assert row["gain_low"] == pytest.approx(difference.mean() - half, abs=half / 10)
    assert row["gain_high"] == pytest.approx(difference.mean() + half, abs=half / 10)
    # What all questions pay and are worth alike moves the ends as it moves the mean.
    assert row["net_per_day_low"] == pytest.approx(100_000 * (0.01 * row["gain_low"] - 0.001))
    assert row["roi_high"] == pytest.approx((0.01 * row["gain_high"] - 0.001) / 0.001)
    assert row["break_even_low"] == pytest.approx(0.001 / row["gain_high"])
    assert row["break_even_high"] == pytest.approx(0.001 / row["gain_low"])


def test_the_chance_of_a_net_benefit_is_that_of_questions_drawn_one_by_one() -> None:
    rng = np.random.default_rng(2)
    base, cost = rng.integers(0, 2, 80).astype(float), rng.gamma(2, 0.0006, 80)
    reranked = np.where(rng.random(80) < 0.3, 1.0, base)
    row = row_of(ABSOLUTE, base, reranked, cost)
    drawn = rng.integers(0, 80, (20_000, 80))
    net = (0.01 * (reranked - base) - cost)[drawn].mean(axis=1)
    assert row["p_positive"] == pytest.approx((net > 0).mean(), abs=0.015)
    assert 0.01 < row["p_positive"] < 0.99


def test_costs_are_drawn_with_the_quality_that_they_buy() -> None:
    rng = np.random.default_rng(3)
    base, gain = np.zeros(200), rng.random(200)
    dear, cheap = 0.01 * gain, 0.01 * (1 - gain)  # Mean costs are alike; what a question brings is what it costs.
    frame = returns(config_of(ABSOLUTE, [50, 100]), scores_of(base, gain, gain), costs_of(dear, cheap, n=200))
    width = frame["net_per_day_high"] - frame["net_per_day_low"]
    assert width[1] > 50
    assert frame["net_per_day"][0] == pytest.approx(0, abs=1e-6)
    assert width[0] == pytest.approx(0, abs=1e-6)  # Nothing is left to vary.


def test_a_gain_that_may_be_none_has_no_upper_break_even_value() -> None:
    base = np.tile([1.0, 0.0, 0.0, 1.0], 25)
    row = row_of(ABSOLUTE, base, np.tile([0.0, 1.0, 1.0, 1.0], 25))
    assert 0 < row["break_even_low"] < row["break_even"] < row["break_even_high"]
    row = row_of(ABSOLUTE, base, np.concatenate([np.tile([0.0, 1.0, 0.0, 1.0], 24), [1.0, 1.0, 0.0, 1.0]]))
    assert row["gain_low"] < 0 < row["gain"]
    assert (row["break_even"], row["break_even_high"]) == (pytest.approx(0.1), np.inf)


def test_a_loss_never_pays() -> None:
    row = row_of(ABSOLUTE, HITS[1], HITS[0])
    assert row["break_even"] == row["break_even_low"] == row["break_even_high"] == np.inf
    assert (row["p_positive"], row["worth"]) == (0, "no")
    assert row["net_per_day_high"] < 0


def test_shorter_prompts_save() -> None:
    prompt = {"chunks_before": 10, "chunks_after": 4, "tokens_per_chunk": 250, "price_per_1m_tokens": 2.0}
    value = {**ABSOLUTE, "prompt": prompt}
    row = row_of(value, *HITS, cost=0.005)
    assert row["saving"] == saving_per_query(config_of(value).value) == pytest.approx(6 * 250 * 2e-6)
    assert row["net_per_day"] == pytest.approx(100_000 * (0.0015 - 0.005 + 0.003))
    assert row["break_even"] == pytest.approx(0.002 / 0.15)
    # Where it saves more than it costs, no value is too small.
    assert row_of(value, *HITS, cost=0.001)["break_even"] is None


@pytest.mark.parametrize(("hits", "worth"), [(100, "yes"), (87, "open"), (75, "no"), (60, "no")])
def test_worth_having_goes_by_the_whole_interval(hits: int, worth: str) -> None:
    row = row_of(RELATIVE, HITS[0], np.repeat([1.0, 0.0], [hits, 100 - hits]))
    assert row["worth"] == worth
    assert (row["relative_gain"] >= 0.15) == (hits >= 83)


def test_few_questions_leave_it_open_whether_a_gain_is_worth_having() -> None:
    for n, worth in ((49, "open"), (50, "yes")):
        base = np.linspace(0.3, 0.7, n)
        row = row_of(None, base, base * 1.4 + np.resize([0.01, -0.01], n))
        assert (row["worth"], row["worth_measure"]) == (worth, "hit_rate@5")


def test_whether_a_gain_is_worth_having_is_what_a_gate_by_the_profile_says() -> None:
    """By the measure of the profile, whatever success is; both gains and their ends are those of the gate's check."""
    rng = np.random.default_rng(3)
    base = rng.beta(2, 2, 200)
    parts = [scores_of(*HITS_OF_200), scores_of(base, np.clip(base * 1.3, 0, 1), measure="ndcg@10")]
    scores = Scores.concat(parts)
    row = returns(config_of(ABSOLUTE), scores, costs_of(0.001, n=200)).row(0, named=True)
    (check,) = [check for check in gate(scores, profile="reranker", baseline="none").checks if check.kind == "relative"]
    assert (row["success"], row["worth_measure"], check.name) == ("hit_rate@5", "ndcg@10", "ndcg@10")
    assert (row["worth"], check.reason) == ("yes", "reached")
    assert [row[f"worth_gain{end}"] for end in ("", "_low", "_high")] == [check.value, check.low, check.high]


def test_without_a_price_or_a_value_gains_are_all_there_is() -> None:
    money = [name for name in RETURNS if name.startswith(("net", "roi", "break_even", "p_positive"))]
    unpriced = returns(config_of(RELATIVE), scores_of(*HITS), costs_of(np.nan).fill_nan(None)).row(0, named=True)
    valueless = row_of(None, *HITS)
    for row in (unpriced, valueless):
        assert row["gain"] == pytest.approx(0.15)
        assert row["worth"] == "open"
        assert [row[name] for name in money] == [None] * len(money)
    assert (unpriced["cost"], valueless["cost"]) == (None, pytest.approx(0.001))


def test_a_question_that_has_no_value_counts_for_neither_and_one_without_a_cost_costs_what_others_do() -> None:
    base, reranked = (values.copy() for values in HITS)
    reranked[:10] = np.nan
    row = row_of(RELATIVE, base, reranked)
    assert row["gain"] == pytest.approx((77 - 62) / 90)
    cost = np.full(100, 0.001)
    cost[90:] = np.nan
    frame = returns(config_of(RELATIVE), scores_of(*HITS), costs_of(cost).fill_nan(None))
    assert frame["gain"].item() == pytest.approx(0.15)
    assert frame["cost"].item() == pytest.approx(0.001)


def test_questions_of_one_session_count_as_one() -> None:
    sessions = [f"s{k // 10}" for k in range(100)]
    alone, together = (
        returns(config_of(RELATIVE), scores_of(*HITS, **more), costs_of(0.001)).row(0, named=True)
        for more in ({}, {"session": sessions})
    )
    assert together["gain"] == alone["gain"]
    assert together["gain_high"] - together["gain_low"] > 2 * (alone["gain_high"] - alone["gain_low"])


def test_a_base_without_any_success_has_no_relative_gain() -> None:
    row = row_of(RELATIVE, np.zeros(100), HITS[0])
    assert row["gain"] == 0.72
    assert (row["relative_gain"], row["net_per_day"], row["worth"]) == (None, None, "open")


@pytest.mark.parametrize(("n_successes", "is_clear"), [(4, False), (8, False), (10, True)])
def test_a_base_near_0_has_no_relative_gain(n_successes: int, is_clear: bool) -> None:
    base = np.repeat([1.0, 0.0], [n_successes, 200 - n_successes])
    reranked = np.repeat([1.0, 0.0], [n_successes + 6, 194 - n_successes])
    of_requests = costs_of(0.001, n=200)
    relative, absolute = (
        returns(config_of(value), scores_of(base, reranked), of_requests).row(0, named=True)
        for value in (RELATIVE, ABSOLUTE | {"success": "hit_rate@5"})
    )
    assert [(relative[name] is not None) for name in ("relative_gain", "net_per_day", "roi")] == [is_clear] * 3
    assert (absolute["relative_gain"] is not None, absolute["net_per_day"] is not None) == (is_clear, True)


def test_what_success_is() -> None:
    scores = Scores.concat([scores_of(*HITS, measure=name) for name in ("ndcg@10", "hit_rate@5", "recall@5")])
    assert success_measure(config_of(RELATIVE), scores) == 0
    assert success_measure(config_of(ABSOLUTE), scores) == 1
    assert success_measure(config_of({**ABSOLUTE, "success": "R@5"}), scores) == 2
    assert success_of(config_of(None)) is None
    with pytest.raises(InputError, match=r"goes by ndcg@10:p10, .*; value is of means"):
        success_measure(config_of({**ABSOLUTE, "success": "ndcg@10:p10"}), scores)
    with_percentile = Scores.concat([scores_of(*HITS, measure=name) for name in ("ndcg@10:p10", "mrr@10")])
    assert success_measure(config_of(RELATIVE), with_percentile) == 1
    with pytest.raises(InputError, match="goes by recall@50, which was not measured; did you mean recall@5"):
        success_measure(config_of({**ABSOLUTE, "success": "recall@50"}), scores)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "least"), [("rare", 50, 0.84), ("rare", 225, 0.905), ("hits", 50, 0.88), ("hits", 225, 0.905)]
)
def test_intervals_hold_the_truth_as_often_as_they_claim(kind: str, n: int, least: float) -> None:
    """Of 1,500 benches, 89% and 92% to 93% of 50 questions, and of 1,000 benches 94% to 95% of 225; here of 200."""
    rng = np.random.default_rng(11)
    base, reranked, cost = drawn(rng, kind, 2_000_000)
    relative, paid = reranked.mean() / base.mean() - 1, cost.mean()
    net = 0.01 * relative - paid
    truth = {"gain": reranked.mean() - base.mean(), "relative_gain": relative, "net_per_day": 1_000 * net,
             "roi": net / paid, "break_even": paid / relative}  # fmt: skip
    rows = []
    for seed in range(200):
        base, reranked, cost = drawn(rng, kind, n)
        values = config_of({"value_per_query": 0.01, "queries_per_day": 1_000}).values
        config = BenchConfig.of({**values, "seed": seed})
        rows.append(returns(config, scores_of(base, reranked), costs_of(cost, n=n)).row(0, named=True))
    rows = [row for row in rows if row["gain_low"] is not None]
    assert len(rows) > 190
    for name, of_all in truth.items():
        held = np.mean([row[f"{name}_low"] <= of_all <= row[f"{name}_high"] for row in rows])
        assert least <= held <= 0.99, (name, held)


def drawn(rng: np.random.Generator, kind: str, n: int) -> tuple[npt.NDArray[np.float64], ...]:
    """Base, reranked and cost: of "rare", one gain in ten is large and the others small; of "hits", all are 0 or 1."""
    length = rng.gamma(4, 0.25, n)
    if kind == "hits":
        base = (rng.random(n) < 0.6).astype(float)
        reranked = np.where(rng.random(n) < 0.25, (rng.random(n) < 0.85).astype(float), base)
    else:
        base = np.where(rng.random(n) < 0.35, rng.beta(1, 6, n), rng.beta(6, 2, n))
        large = rng.random(n) < 0.1 * length
        reranked = np.clip(base + np.where(large, 0.6 * (1 - base), rng.normal(0.02, 0.05, n)), 0, 1)
    return base, reranked, 0.0006 * length
