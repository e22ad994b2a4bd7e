"""Systems compared by percentiles of a measure or a column."""

import json
import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.reports.words import read_words
from steelyard.stats.intervals.percentiles import percentile_difference

pytest.importorskip("scipy.stats", reason="comparisons need the extra stats")

RNG = np.random.default_rng(6)
BASE = RNG.lognormal(4, 0.5, 150)
LATER = BASE * RNG.lognormal(0.4, 0.1, 150)
P95 = "latency_ms:p95"


def times(failed: int = 0, **systems: np.ndarray) -> sy.Scores:
    """Scores of latencies, of which the last system failed on some questions."""
    *_, last = systems
    rows = [
        (name, f"q{q:03}", "latency_ms", *((None, "failed") if name == last and q < failed else (value, "ok")))
        for name, values in systems.items()
        for q, value in enumerate(values.tolist())
    ]
    return sy.Scores.of(pl.DataFrame(rows, schema=["system", "query_id", "measure", "value", "status"], orient="row"))


def compared(scores: sy.Scores, *measures: str, **options: object) -> dict[tuple[str, str], dict[str, object]]:
    comparison = sy.compare(scores.filter(measures=measures or [P95]), **options)  # type: ignore[arg-type]
    return {(row["measure"], row["system"]): row for row in comparison.frame.iter_rows(named=True)}


def test_a_percentile_is_compared_by_ranks() -> None:
    row = compared(times(a=BASE, b=LATER))[P95, "b"]
    want = percentile_difference(BASE[None], LATER[None], 0.95)
    assert (row["mean"], row["difference"]) == (np.quantile(LATER, 0.95), want.value)
    assert (row["low"], row["high"]) == want.interval(0.95)
    assert (row["p"], row["adjusted"], row["verdict"]) == (want.p, want.p, "worse")
    assert row["relative"] == pytest.approx(want.value / np.quantile(BASE, 0.95))
    assert [row[name] for name in ("effect", "detectable", "needed", "relative_low", "groups")] == [None] * 5
    assert (row["n_wins"], row["n_ties"], row["n_losses"]) == ((LATER < BASE).sum(), 0, (LATER > BASE).sum())


def test_runs_are_pooled_and_clusters_count_as_one() -> None:
    scores = times(a=BASE, b=LATER)
    runs = np.stack([LATER * factor for factor in RNG.lognormal(0, 0.05, (3, 150))])
    scores = replace(scores, repeats={"b": runs[:, None]})
    want = percentile_difference(BASE[None], runs, 0.95)
    row = compared(scores)[P95, "b"]
    assert (row["difference"], row["p"]) == (want.value, want.p)
    frame = scores.frame.with_columns(session=pl.col("query_id").str.slice(0, 3))
    clusters = np.repeat(np.arange(15), 10)
    together = compared(sy.Scores.of(frame, cluster="session"), "latency_ms:p50")["latency_ms:p50", "b"]
    assert together["n_clusters"] == 15
    assert together["p"] == percentile_difference(BASE[None], LATER[None], 0.5, clusters=clusters).p


def test_percentiles_are_secondary_beside_a_mean_and_segments_have_their_own() -> None:
    scores = times(a=BASE, b=LATER)
    rows = compared(scores, "latency_ms", P95, "latency_ms:p50", segments={"first": np.arange(150) < 100})
    assert rows["latency_ms", "b"]["verdict"] == "worse"
    whole = sy.compare(scores.filter(measures=["latency_ms", P95]))
    assert (whole.test, [family.n_comparisons for family in whole.families]) == ("t", [1, 1])
    assert sy.compare(scores.filter(measures=[P95])).test == "ranks"
    assert rows[P95, "b"]["segment"] == "first"
    assert rows[P95, "b"]["difference"] == percentile_difference(BASE[None, :100], LATER[None, :100], 0.95).value


def test_margins_are_tested_by_ranks_too() -> None:
    near = BASE * RNG.lognormal(0, 0.02, 150)
    rows = compared(times(a=BASE, b=LATER, c=near), "latency_ms:p50", margin=15.0, baseline="a")
    b, c = (rows["latency_ms:p50", name] for name in "bc")
    assert (c["not_worse"], c["equivalent"], c["verdict"]) == (True, True, "not worse")
    assert -15 < c["limit_low"] < c["limit_high"] < 15 < b["limit_high"]
    assert (b["not_worse"], b["equivalent"], b["verdict"]) == (False, False, "worse")
    fast = compared(times(a=LATER, b=BASE), "latency_ms:p50", margin=15.0)["latency_ms:p50", "b"]
    assert (fast["verdict"], fast["not_worse"], fast["equivalent"]) == ("better", True, False)


def test_failures_decide_where_they_are_many_and_leave_ends_open_where_they_are_few() -> None:
    many, few = (compared(times(n, a=BASE, b=LATER))[P95, "b"] for n in (40, 4))
    assert (many["verdict"], many["mean"], many["difference"], many["low"]) == ("worse", math.inf, None, math.inf)
    assert many["n"] == 150
    assert (few["verdict"], few["high"]) == ("worse", math.inf)
    text = sy.compare(times(40, a=BASE, b=LATER).filter(measures=P95)).text(lang="en", width=120)
    assert json.loads(sy.compare(times(40, a=BASE, b=LATER).filter(measures=P95)).text("json"))
    assert "∞" in text
    assert "inf" not in text


def test_too_few_values_are_no_test() -> None:
    row = compared(times(a=BASE[:40], b=LATER[:40]))[P95, "b"]
    assert (row["verdict"], row["reason"], row["p"], row["low"]) == ("no test", "few values", None, None)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_text_says_by_ranks_and_not_t(lang: str) -> None:
    words = read_words(lang)
    scores = times(a=BASE, b=LATER, c=BASE[::-1])
    alone = sy.compare(scores.filter(measures=P95), margin=9.0, baseline="a").text(
        lang=words.code, width=500, explain=True
    )
    assert words("compare.test.ranks") in alone
    assert words("compare.head.value") in alone
    assert words("compare.test.t") not in alone
    assert words("compare.effect") not in alone
    mixed = sy.compare(scores.filter(measures=["latency_ms", P95])).text(lang=words.code, width=500, explain=True)
    assert words("compare.percentiles", measures=P95) in mixed


def test_measures_of_rankings_have_them_and_other_tests_are_refused() -> None:
    truth = {f"q{i:03}": {"d": 1} for i in range(90)}
    good = {q: ["d"] if i % 5 else ["x", "d"] for i, q in enumerate(truth)}
    bad = {q: ["x", "y", "z", "d"] if i % 3 else ["d"] for i, q in enumerate(truth)}
    comparison = sy.compare(sy.weigh(truth, {"a": bad, "b": good}), measures="mrr:p10")
    row = next(row for row in comparison.rows["mrr:p10"] if row.system == "b")
    assert (row.mean, row.difference, row.verdict) == (0.5, 0.25, "better")
    for test in ("randomization", "tukey", "sign"):
        with pytest.raises(sy.InputError, match=f"mrr:p10 is a percentile, and the test '{test}' is of arithmetic"):
            sy.compare(sy.weigh(truth, {"a": bad, "b": good}), measures="mrr:p10", test=test)
