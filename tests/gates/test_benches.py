"""Gates of benches: quality against the candidates as they are, P95 of latency, and cost by tokens."""

import math
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.data.folders.manifests import write_bench_manifest
from steelyard.experiment.door.evaluation import open_scores
from steelyard.experiment.table.json import as_json
from steelyard.gates.gating import Gate, gate
from steelyard.gates.ratings import rate
from steelyard.stats.intervals.percentiles import percentile_difference, percentile_interval
from tests.cli.test_gate import exits
from tests.gates.stated import stated
from tests.gates.test_gating import FINE

pytest.importorskip("scipy.stats", reason="gates against a baseline need the extra stats")

MEASURES = ["ndcg@10", "mrr", "recall@5", "precision@5"]
FAST = np.linspace(100, 400, 80)


def ranked(n: int, n_before: int) -> dict[str, list[str]]:
    """Of n questions, lists in which so many other documents are before the five that are relevant."""
    return {f"q{i:03}": [f"x{j}" for j in range(n_before)] + [f"d{i}-{j}" for j in range(5)] for i in range(n)}


def column(name: str, values: Any, failed: Any = ()) -> sy.Scores:
    ids = [f"q{i:03}" for i in range(len(values))]
    rows = [
        (q, name, None if i in failed else v, "failed" if i in failed else "ok")
        for i, (q, v) in enumerate(zip(ids, values, strict=True))
    ]
    return sy.Scores.of(
        pl.DataFrame(rows, schema=["query_id", "measure", "value", "status"], orient="row"), system="mine@50"
    )


def bench(
    folder: Path, times: Any = FAST, *, before: int = 3, failed: Any = (), price: float | None = 4e-8, **manifest: Any
) -> Path:
    """The folder of a bench whose reranker is perfect, or not where the base is: its scores, and a manifest."""
    n = len(times)
    truth = {f"q{i:03}": {f"d{i}-{j}": 1 for j in range(5)} for i in range(n)}
    quality = sy.evaluate(truth, {"none": ranked(n, before), "mine@50": ranked(n, 0)}, MEASURES)
    tokens = np.linspace(9_000, 20_000, n)
    parts = [quality, column("latency_ms", times, failed), column("tokens", tokens)]
    parts += [] if price is None else [column("cost_usd", tokens * price)]
    folder.mkdir()
    (folder / "scores.json").write_text(as_json(sy.Scores.concat(parts)), encoding="utf-8")
    write_bench_manifest(folder, {"name": "b", "kind": "rerank", "base": "none", "finished": "yes"} | manifest)
    return folder


def reasons(verdict: Gate) -> dict[str, str]:
    return {f"{check.kind} {check.name}": check.reason for check in verdict.checks}


def test_all_that_the_profile_asks_for_is_in_the_folder(tmp_path: Path) -> None:
    verdict = gate(bench(tmp_path / "b"), profile="reranker")
    assert (verdict.outcome, verdict.baselines, verdict.not_judged) == ("pass", {"mine@50": "none"}, None)
    assert reasons(verdict) == {
        **{f"level {name}": "reached" for name in (*MEASURES, "latency_ms:p95", "cost_usd_per_million_tokens")},
        "relative ndcg@10": "reached",
    }
    (latency,) = [check for check in verdict.checks if check.name == "latency_ms:p95"]
    want = percentile_interval(FAST, 0.95)
    assert (latency.value, latency.low, latency.high, latency.n) == (want.value, want.low, want.high, 80)
    (cost,) = [check for check in verdict.checks if check.name.startswith("cost")]
    assert (cost.value, cost.low, cost.high) == pytest.approx((0.04, 0.04, 0.04))
    assert (cost.unseen_share, cost.unseen_loss) == (pytest.approx(1 - 0.05 ** (1 / 80)), math.inf)


@pytest.mark.parametrize(
    ("options", "check", "reason", "outcome"),
    [
        ({"times": FAST + 500}, "level latency_ms:p95", "missed", "fail"),
        ({"times": np.linspace(100, 520, 80)}, "level latency_ms:p95", "spans", "insufficient"),
        ({"times": FAST[:60]}, "level latency_ms:p95", "spans", "insufficient"),
        ({"failed": range(12)}, "level latency_ms:p95", "missed", "fail"),
        ({"failed": range(2)}, "level latency_ms:p95", "spans", "insufficient"),
        ({"price": 6e-8}, "level cost_usd_per_million_tokens", "missed", "fail"),
        ({"price": None}, "level cost_usd_per_million_tokens", "not_measured", "insufficient"),
        ({"before": 0}, "relative ndcg@10", "missed", "fail"),
    ],
)
def test_each_outcome_of_the_profile(
    tmp_path: Path, options: dict[str, Any], check: str, reason: str, outcome: str
) -> None:
    verdict = gate(bench(tmp_path / "b", **options), profile="reranker")
    assert (reasons(verdict)[check], verdict.outcome) == (reason, outcome)


def test_the_command_exits_by_it_and_writes_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junit = tmp_path / "gate.xml"
    outcomes = []
    for name, times in (("good", FAST), ("slow", FAST + 500), ("few", FAST[:60])):
        outcomes.append(exits(bench(tmp_path / name, times), profile="reranker", junit=junit))
        (suite,) = ET.parse(junit).getroot()
        assert (suite.get("name"), suite.get("tests")) == ("mine@50", "7")
    assert outcomes == [0, 1, 3]
    out = " ".join(capsys.readouterr().out.split())
    assert "baseline none" in out
    assert "60 questions are too few for both ends of an interval" in out
    assert exits(tmp_path / "good", profile="reranker", level="excellent", numbers=["latency_ms_p95=200"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "latency_ms:p95 pass 200 –" in out
    assert "cost_usd_per_million_tokens: the whole interval misses 0.03" in out


def test_the_base_is_the_baseline_of_a_margin_too_and_others_are_taken_where_named(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b")
    assert gate(folder, margin=0.01).baselines == {"mine@50": "none"}
    verdict = gate(folder, profile="reranker", baseline="mine@50", system="none")
    assert verdict.baselines == {"none": "mine@50"}
    assert reasons(verdict)["relative ndcg@10"] == "missed"
    assert gate(folder, profile="production").systems == ["none", "mine@50"]


def test_ratings_read_the_columns(tmp_path: Path) -> None:
    ratings = {r.measure: r for r in rate(open_scores(bench(tmp_path / "b")).scores, "reranker") if r.system != "none"}
    assert (ratings["latency_ms:p95"].level, ratings["latency_ms:p95"].n) == ("target", 80)
    assert ratings["cost_usd_per_million_tokens"].level == "target"


def test_percentiles_of_measures_have_levels_too(tmp_path: Path) -> None:
    (path := tmp_path / "worst.toml").write_text('levels = ["ok"]\n[measures."mrr:p10"]\nlevels.ok = 0.3\n')
    verdict = gate(bench(tmp_path / "b"), profile=str(path))
    assert [(check.system, check.name, check.reason) for check in verdict.checks] == [
        ("none", "mrr:p10", "missed"),
        ("mine@50", "mrr:p10", "reached"),
    ]


@pytest.mark.parametrize(
    ("margin", "factor", "n", "reason"),
    [
        (30.0, 1.0, 80, "not_worse"),
        (30.0, 2.0, 80, "worse"),
        (30.0, 1.12, 80, "undecided"),
        (30.0, 1.0, 9, "few_questions"),
    ],
)
def test_percentiles_are_held_against_those_of_the_baseline(margin: float, factor: float, n: int, reason: str) -> None:
    ids, rng = [f"q{i:03}" for i in range(n)], np.random.default_rng(1)
    base = np.linspace(100, 400, n)
    rows = [
        (s, q, "latency_ms", v)
        for s, values in (("old", base), ("new", base * factor + rng.random(n)))
        for q, v in zip(ids, values, strict=True)
    ]
    frame = pl.DataFrame(rows, schema=["system", "query_id", "measure", "value"], orient="row")
    scores = sy.Scores.of(frame).filter(measures="latency_ms:p50")
    verdict = gate(scores, baseline="old", margin=margin)
    (check,) = verdict.checks
    assert (check.name, check.reason, check.n) == ("latency_ms:p50", reason, n)
    for code in ("en", "zh"):
        assert verdict.text(lang=code)
    if reason == "undecided":
        want = percentile_difference(base[None], scores.filter(systems="new").values[0], 0.5)
        assert (check.low, check.high) == want.interval(0.9)
        text = " ".join(verdict.text(lang="en").split())
        assert "a loss of 30 cannot be ruled out, nor shown; 80 questions can rule out" in text
        assert 0 < check.detectable < 30
        assert check.needed is None


def test_an_undecided_percentile_says_how_many_questions_would_decide() -> None:
    rng, n = np.random.default_rng(2), 150
    base = rng.lognormal(5, 0.6, n)
    rows = [
        (s, f"q{i:03}", "latency_ms", v)
        for s in ("old", "new")
        for i, v in enumerate(base * rng.lognormal(0, 0.3, n) if s == "new" else base)
    ]
    scores = sy.Scores.of(pl.DataFrame(rows, schema=["system", "query_id", "measure", "value"], orient="row"))
    p95, half, wide = (
        gate(scores.filter(measures=f"latency_ms:{name}"), baseline="old", margin=margin).checks[0]
        for name, margin in (("p95", 40.0), ("p95", 20.0), ("p99", 40.0))
    )
    assert (p95.reason, half.reason, wide.reason) == ("undecided",) * 3
    assert p95.detectable == half.detectable > 40
    assert half.needed == pytest.approx(4 * p95.needed, abs=4)
    assert (wide.needed, math.isnan(wide.detectable)) == (299, True)
    few = gate(scores.filter(measures="latency_ms:p99"), baseline="old", margin=40.0)
    text = " ".join(few.text(lang="en").split())
    assert "this percentile needs 299 at least" in text


@pytest.mark.parametrize("n_above", [0, 2, 3, 9, 10, 11, 40])
def test_a_level_of_a_percentile_is_the_exact_test_of_how_many_are_above(n_above: int) -> None:
    """At least 95% within the limit is shown where so few above it, or fewer, have a chance of 2.5% at exactly 95%."""
    stats = pytest.importorskip("scipy.stats")
    times = np.where(np.arange(200) < n_above, 600.0, 400.0)
    scores = stated({"ndcg@10": FINE, "mrr": FINE, "recall@5": FINE, "precision@5": FINE})
    (check,) = [
        c for c in gate(scores, profile="reranker", latency_ms={"a": times}).checks if c.name == "latency_ms:p95"
    ]
    shown = stats.binomtest(n_above, 200, 0.05, alternative="less").pvalue <= 0.025
    refuted = stats.binomtest(n_above, 200, 0.05, alternative="greater").pvalue <= 0.025
    assert check.reason == ("reached" if shown else "missed" if refuted else "spans")


def test_an_interrupted_bench_and_a_folder_of_something_else_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds a bench that was interrupted; start it again"):
        gate(bench(tmp_path / "b", finished=None), profile="reranker")
    (tmp_path / "c").mkdir()
    with pytest.raises(InputError, match="is a folder but neither of a run nor of a bench"):
        gate(tmp_path / "c", profile="reranker")
    with pytest.raises(InputError, match="holds scores already, and verdicts is an option of evaluating"):
        gate(bench(tmp_path / "d"), profile="reranker", verdicts=["x.json"])


def test_runs_of_systems_that_are_not_judged_are_left_out() -> None:
    columns = {"query_id": ["a", "b"] * 2, "system": ["x", "x", "y", "y"], "measure": "mrr", "value": [0.5, 1, 1, 1]}
    scores = sy.Scores.of(pl.DataFrame(columns))
    scores = replace(scores, repeats={name: np.full((2, 1, 2), 0.5) for name in "xy"})
    verdict = gate(scores, profile="monitoring", max_failed=0.5, system="y", min_questions=1)
    assert verdict.components["system"].unique().to_list() == ["y"]


def test_what_the_bench_recommends_is_judged_and_any_other_by_its_name(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b")
    scores = open_scores(folder).scores
    again = scores.filter(systems="mine@50").frame.with_columns(system=pl.lit("mine@20"))
    others = sy.Scores.concat([scores, sy.Scores.of(again.select("query_id", "system", "measure", "value"))])
    (folder / "scores.json").write_text(as_json(others), encoding="utf-8")
    manifest = {"name": "b", "kind": "rerank", "base": "none", "finished": "yes"}
    write_bench_manifest(folder, manifest | {"recommended": "mine@50"})
    verdict = gate(folder, profile="reranker")
    assert (verdict.systems, verdict.n_others) == (["mine@50"], 1)
    assert "Judged is mine@50, which the bench recommends, and not 1 other" in verdict.text(lang="en")
    assert "只评判评测推荐的 mine@50，另外 1 个未评判" in verdict.text(lang="zh")
    assert gate(folder, profile="reranker", system="mine@20").systems == ["mine@20"]
    assert gate(folder / "scores.json", max_failed=0.1).systems == ["none", "mine@50", "mine@20"]
    for recommended in ("none", None):  # No reranker is worth having, or nothing can be said.
        write_bench_manifest(folder, manifest | {"recommended": recommended})
        verdict = gate(folder, profile="reranker")
        assert (verdict.systems, verdict.n_others) == (["mine@50", "mine@20"], 0)


def test_what_a_bench_did_not_weigh_is_added_to_its_measures(tmp_path: Path) -> None:
    folder = bench(tmp_path / "b")
    names = ["ndcg@10", "latency_ms", "tokens", "cost_usd"]
    few = open_scores(folder).scores.filter(measures=names)
    (folder / "scores.json").write_text(as_json(few), encoding="utf-8")
    verdict = gate(folder, profile="reranker")
    line = "mrr, recall@5, precision@5: not measured; add to `measures` in the configuration of the bench"
    assert line in verdict.text(lang="en")
    assert "mrr、recall@5、precision@5：未测量；请加入评测配置的 `measures`" in verdict.text(lang="zh")
    assert "measure it with `evaluate -m mrr`" in gate(folder / "scores.json", profile="reranker").text(lang="en")
    quality = gate(sy.evaluate({"q": {"a": 1}}, {"x": {"q": ["a"]}}, ["mrr", "map"]), profile="faq", min_questions=1)
    assert quality.signature is not None
    assert (quality.signature.measures, quality.signature.n) == (("mrr",), (1, 1))


def test_numbers_and_their_intervals_are_written_alike_by_their_size(tmp_path: Path) -> None:
    verdict = gate(bench(tmp_path / "b", price=3.4790218e-10), profile="reranker")
    rows = [line.split() for line in verdict.text(lang="en").splitlines()]
    cells = {row[0]: row[1:4] for row in rows if len(row) > 3}
    assert cells["cost_usd_per_million_tokens"] == ["pass", "0.0003479", "0.0003479–0.0003479"]
    assert cells["latency_ms:p95"] == ["pass", "385", "369.6–400"]
