"""The report of a bench: what it says in both languages, in every format, and where axes are missing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rich.cells import cell_len

from steelyard.bench import frames
from steelyard.bench.bench import Bench
from steelyard.bench.config import BenchConfig
from steelyard.bench.run.rerankers import bench_rerankers
from steelyard.experiment.table.scores import Scores
from steelyard.reports.benching import BenchReport
from steelyard.reports.charts.bench import draw_bench
from steelyard.reports.views.bench import AXES, bench_sections
from steelyard.reports.views.bench_tables import TABLES
from steelyard.reports.views.numbers import money
from steelyard.reports.views.view import Section, view_of
from steelyard.reports.words import read_words
from tests.bench.benches import CONFIG, MEASURE, axes, frame, load_bench, rerank_bench
from tests.cli.command import steelyard
from tests.reports.untranslated import untranslated

EN, ZH = read_words("en"), read_words("zh")
NAMES = ["words", "api", "bm25", "halls", "slow-server", MEASURE, "hit@1", "latency_ms:p95", "Holm", "Kendall",
         "Little", "cohere/rerank-v3.5", "self-host", "bge-reranker-base", "bge-reranker-v2-m3", "bge-reranker-large",
         "steelyard", "python", "a processor", "--prefer net", "https://example.com/pricing"]  # fmt: skip
"""What stays as it is in Chinese."""


NO_NAMES = pl.lit([], dtype=pl.List(pl.String))
VALUED = [f"{name}{end}" for name in ("net_per_day", "roi", "break_even") for end in ("", "_low", "_high")]


def changed(name: str, **columns: object) -> pl.DataFrame:
    """An axis with other values in some columns."""
    axis = axes()[name]
    return axis.with_columns(pl.lit(value).cast(axis.schema[column]).alias(column) for column, value in columns.items())


def summary(bench: Bench, words: Any = EN) -> str:
    return bench.text(lang=words.code, explain=True)


# What is recommended -----------------------------------------------------------------------------------------------


def test_the_summary_says_what_to_take_and_why_in_ten_lines(tmp_path: Path) -> None:
    text = summary(rerank_bench(tmp_path))
    assert text.splitlines() == [
        "Recommended: api@50.",
        "━" * 20,
        "Of all that are shown to be better than the candidates as they are, and not shown to be worse than the best "
        "ndcg@10 among those that keep P95 ≤ 500 ms one request at a time, its net benefit has the greatest lower end, "
        "+$10 a day. It is shown to be less than 0.01 below the best.",
        "Preferred to bm25 (ndcg@10 0.300, $0 a day; here ndcg@10 0.420, +$40 a day): shown to be worse than the best. "
        "With --prefer net it would be that one.",
        "Quality: ndcg@10 0.300 → 0.420, +0.120 (+0.095 to +0.145), p = 0.004; 38% of what a perfect order of the "
        "first 50 would add (ceiling 0.620).",
        "Latency: P50 155 ms, P95 310 ms (279–341), P99 403 ms, one request at a time; P95 of 3 repetitions 301 to 322 "
        "ms.",
        "Throughput: api@50 holds 11.5 requests a second (P95 ≤ 500 ms), and not 12.7: too slow.",
        "Cost: $0.002 a question (15,000 tokens by estimate; price: cohere/rerank-v3.5), $200 a day.",
        "Return by hit@1: +$40 a day (+$10 to +$70), above 0 in 93% of draws.",
        "Worth having: ndcg@10 gains +40.0%; 15% or more, by the whole interval.",
        "halls      ndcg@10   to base   P95 ms   holds/s   a question   net a day",
        "─" * 72,
        "bm25         0.300         –        0         –            –           –",
        "words@50     0.320    +0.020     6.25        96     $0.00004        +$36",
        "api@50       0.420   +0.120†      310      11.5       $0.002        +$40",
        "NAME@N: N candidates are reranked. †, ‡: better, worse than the base over 40 questions (paired, Holm over 4 "
        "comparisons). Intervals are of 95%.",
        "2 rows more are in the report, with every axis by itself.",
        "Pairs of question and text that are longer than the model reads are cut: api@10, api@50.",
    ]


def test_the_base_may_be_recommended(tmp_path: Path) -> None:
    choice = axes()["choice"].with_columns(recommended=pl.col("depth").is_null(), preferred_by=NO_NAMES)
    lines = summary(rerank_bench(tmp_path, choice=choice)).splitlines()
    assert lines[0] == "Recommended: no reranker (bm25)."
    assert lines[2] == (
        "The candidates as they are are shown to be less than 0.01 below the best ndcg@10 among those that keep "
        "P95 ≤ 500 ms one request at a time."
    )
    assert lines[3] == "What api@50, the best reranker, would bring:"
    assert lines[4].startswith("Quality: ndcg@10 0.300 → 0.420")


def test_the_best_so_far_is_not_called_recommended(tmp_path: Path) -> None:
    so_far = changed("choice", reason="best_so_far", not_inferior="open", needed=720)
    lines = summary(rerank_bench(tmp_path, choice=so_far)).splitlines()
    assert lines[0] == "Best so far: api@50."
    assert lines[2].endswith("It is not shown to be less than 0.01 below the best, which takes about 720 questions.")
    unknown = summary(rerank_bench(tmp_path, choice=changed("choice", reason="best_so_far", not_inferior="open")))
    assert "It is not shown to be less than 0.01 below the best.\n" in unknown
    assert summary(rerank_bench(tmp_path, choice=so_far), ZH).startswith("目前最好：api@50。")


def without_gain(**columns: object) -> dict[str, pl.DataFrame]:
    """A choice without a reranker that is shown to be better, and what the gains are."""
    is_base = pl.col("depth").is_null()
    reason = pl.when(is_base).then(pl.lit("no_gain")).otherwise(pl.lit("not_better")).alias("reason")
    gains = changed("quality", difference_low=-0.016, difference_high=0.256, verdict="not_shown", **columns)
    return {
        "choice": axes()["choice"].with_columns(reason, recommended=is_base, preferred_by=NO_NAMES),
        "quality": gains,
    }


def test_without_a_gain_the_largest_is_named_and_what_so_many_questions_show(tmp_path: Path) -> None:
    bench = rerank_bench(tmp_path, **without_gain(detectable=0.1234))
    lines = summary(bench).splitlines()
    assert lines[0] == "Recommended: no reranker (bm25)."
    assert lines[2] == (
        "No reranker among those that keep P95 ≤ 500 ms one request at a time is shown to be better than the "
        "candidates as they are: api@50, the best of them, changes ndcg@10 by +0.120 (−0.016 to +0.256); 40 questions "
        "show a gain of 0.123 or more in 80 of 100 cases."
    )
    assert lines[3] == "What api@50, the best reranker, would bring:"
    assert "（−0.016 至 +0.256）；40 个问题在 100 次中有 80 次能显示出不小于 0.123 的提升。" in summary(bench, ZH)
    few = summary(rerank_bench(tmp_path, **without_gain(detectable=None))).splitlines()
    assert few[2].endswith("changes ndcg@10 by +0.120 (−0.016 to +0.256).")


def preferring(prefer: str, recommended: str, reason: str, **others: tuple[list[str], str]) -> pl.DataFrame:
    """The choice of another preference;   others   label, _ for @ -> by what it would be recommended, and why not"""
    rows = axes()["choice"].to_dicts()
    for row in rows:
        name = row["system"] if row["depth"] is None else f"{row['system']}@{row['depth']}"
        by, against = others.get(name.replace("@", "_"), ([], row["reason"]))
        row |= {"recommended": name == recommended, "preferred_by": by, "reason": against}
        row |= {"preferred_by": [prefer], "reason": reason} if name == recommended else {}
    return frame(frames.CHOICE, rows)


PREFERENCES = [
    (
        "net", "words@50", "recommended", {"api_50": (["cheap", "quality"], "less_net")},
        [
            "Of the rerankers that are shown to be better than the candidates as they are, and to bring in more than "
            "they cost, it has the highest net benefit among those that keep P95 ≤ 500 ms one request at a time.",
            "By net benefit it is not told apart from words@10.",
            "Preferred to api@50 (ndcg@10 0.420, +$40 a day; here ndcg@10 0.320, +$36 a day): another has a higher net "
            "benefit. With --prefer cheap, --prefer quality it would be that one.",
        ],
        [
            "在已显示出优于原来的次序、而且收益高于花费的重排序器中，它的净收益最高（只看逐个请求时满足 P95 ≤ 500 "
            "毫秒的方案）。",
            "按净收益，与 words@10 未能区分。",
            "优先于 api@50（ndcg@10 0.420，每天 +$40；此处为 ndcg@10 0.320，每天 +$36）：另有净收益更高的。"
            "用 --prefer cheap、--prefer quality 则推荐后者。",
        ],
    ),
    (
        "quality", "api@50", "recommended", {"words_50": (["cheap"], "lower")},
        [
            "Of all that are shown to be better than the candidates as they are among those that keep P95 ≤ 500 ms one "
            "request at a time, it has the best ndcg@10. It is shown to be less than 0.01 below the best.",
            "Preferred to words@50 (ndcg@10 0.320, +$36 a day; here ndcg@10 0.420, +$40 a day): good enough, and "
            "another has a better mean. With --prefer cheap it would be that one.",
        ],
        [
            "已显示出优于原来次序的方案中（只看逐个请求时满足 P95 ≤ 500 毫秒的方案），它的 ndcg@10 "
            "最好。已显示出它与最好的相差不到 0.01。",
            "优先于 words@50（ndcg@10 0.320，每天 +$36；此处为 ndcg@10 0.420，每天 +$40）：够好，但另有均值更好的。"
            "用 --prefer cheap 则推荐后者。",
        ],
    ),
    (
        "net", "bm25", "no_net", {"api_50": (["cheap"], "not_paying")},
        [
            "No reranker among those that keep P95 ≤ 500 ms one request at a time is shown to bring in more than it "
            "costs: api@50, which brings in the most, comes to +$40 a day (+$10 to +$70).",
            "Preferred to api@50 (ndcg@10 0.420, +$40 a day; here ndcg@10 0.300, $0 a day): not shown to bring in more "
            "than it costs. With --prefer cheap it would be that one.",
        ],
        [
            "尚无重排序器显示出收益高于花费（只看逐个请求时满足 P95 ≤ 500 毫秒的方案）：收益最高的 api@50 每天为 "
            "+$40（+$10 至 +$70）。",
            "优先于 api@50（ndcg@10 0.420，每天 +$40；此处为 ndcg@10 0.300，每天 $0）：未显示出收益高于花费。"
            "用 --prefer cheap 则推荐后者。",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("prefer", "recommended", "reason", "others", "english", "chinese"), PREFERENCES)
def test_it_says_what_is_preferred_to_what_and_why(
    tmp_path: Path, prefer: str, recommended: str, reason: str, others: Any, english: list[str], chinese: list[str]
) -> None:
    choice = preferring(prefer, recommended, reason, **others)
    bench = rerank_bench(tmp_path, config={**CONFIG, "prefer": prefer}, choice=choice)
    for words, lines in ((EN, english), (ZH, chinese)):
        assert summary(bench, words).splitlines()[2 : 2 + len(lines)] == lines
    assert recommended in summary(bench).splitlines()[0]
    (about,) = [section for section in bench_sections(bench, EN) if section.title == EN("bench.about.title")]
    assert ["preference", EN(f"bench.preference.{prefer}")] in about.sheets[0].rows


def test_net_benefits_that_are_not_told_apart_are_said_to_be_so(tmp_path: Path) -> None:
    rows = preferring("cheap", "words@10", "recommended", words_50=(["net"], "inferior"))
    bench = rerank_bench(tmp_path, choice=rows)
    assert "+$16 a day; net benefits not told apart): shown to be worse than the best" in summary(bench)
    assert "；净收益未能区分）：" in summary(bench, ZH)


def test_where_all_rerankers_are_too_slow_none_has_a_gain(tmp_path: Path) -> None:
    axis = without_gain()
    slow = pl.when(pl.col("depth").is_null()).then(pl.lit("yes")).otherwise(pl.lit("no"))
    reason = pl.when(pl.col("depth").is_null()).then(pl.lit("no_gain")).otherwise(pl.lit("slow"))
    axis["choice"] = axis["choice"].with_columns(holds_slo=slow, reason=reason)
    lines = summary(rerank_bench(tmp_path, **axis)).splitlines()
    assert lines[2] == "No reranker has a value on every axis among those that keep P95 ≤ 500 ms one request at a time."


def test_where_lower_is_better_the_lowest_is_named_as_the_best(tmp_path: Path) -> None:
    axis = {name: of.with_columns(measure=pl.lit("rank_error")) for name, of in without_gain().items()}
    scores = Scores.of(pl.DataFrame({"query_id": ["q1"], "system": "bm25", "measure": "rank_error", "value": [1.0]}))
    lines = summary(rerank_bench(tmp_path, scores=scores, **axis)).splitlines()
    assert "words@10, the best of them, changes rank_error by +0.010" in lines[2]
    assert any(line.startswith("api@10") for line in lines)


def test_the_net_is_named_where_the_gain_is_no_share_of_the_base(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("relative_gain", "relative_gain_low", "relative_gain_high"))
    text = summary(rerank_bench(tmp_path, returns=changed("returns", worth="open", **nothing)))
    assert "Return by hit@1: +$40 a day (+$10 to +$70), above 0 in 93% of draws.\n" in text


def for_the_base(reason: str, against: str) -> pl.DataFrame:
    """A choice of the base, for a reason, and with another against all rerankers."""
    is_base = pl.col("depth").is_null()
    code = pl.when(is_base).then(pl.lit(reason)).otherwise(pl.lit(against)).alias("reason")
    return axes()["choice"].with_columns(code, recommended=is_base, preferred_by=NO_NAMES)


def test_what_is_better_and_does_not_pay_is_not_recommended(tmp_path: Path) -> None:
    net = {"net_per_day": -80.0, "net_per_day_low": -110.0, "net_per_day_high": -50.0}
    choice = for_the_base("none_pays", "loss").with_columns(
        net=pl.when(pl.col("depth") == 50).then(-80.0).otherwise(-90.0)
    )
    bench = rerank_bench(tmp_path, choice=choice, returns=changed("returns", **net))
    lines = summary(bench).splitlines()
    assert lines[0] == "Better, but does not pay at this value: words@50. Recommended: no reranker (bm25)."
    assert lines[2] == (
        "All that are shown to be better than the candidates as they are cost more than they bring in, by the whole "
        "interval: words@50, which comes nearest, comes to −$80 a day (−$110 to −$50)."
    )
    assert "At this value it costs more than it brings, by the whole interval." in lines
    assert summary(bench, ZH).startswith("质量更好，但按这样的价值得不偿失：words@50。推荐：不用重排序（bm25）。")


def test_why_what_is_better_may_not_be_recommended_is_said(tmp_path: Path) -> None:
    lines = summary(rerank_bench(tmp_path, choice=for_the_base("barred", "failing"))).splitlines()
    assert lines[0] == "Recommended: no reranker (bm25)."
    assert lines[2] == (
        "Of the rerankers that are shown to be better than the candidates as they are, none can be recommended: api@10 "
        "(more than 5% of the questions are not answered), api@50 (more than 5% of the questions are not answered)."
    )
    assert lines[3] == "What api@50, the best reranker, would bring:"


def test_a_cheaper_one_in_place_of_the_surest_is_said_to_be_so(tmp_path: Path) -> None:
    reason = pl.when(pl.col("system") == "words").then(pl.lit("not_more")).otherwise(pl.col("reason"))
    text = summary(rerank_bench(tmp_path, choice=axes()["choice"].with_columns(reason.alias("reason"))))
    assert (
        "words@50 has the net benefit with the greatest lower end, +$6 a day; this one is cheaper, and is not shown to "
        "bring in less. It is shown to be less than 0.01 below the best."
    ) in text


def test_nothing_may_be_recommended(tmp_path: Path) -> None:
    lines = summary(rerank_bench(tmp_path, choice=changed("choice", recommended=False))).splitlines()
    assert lines[0] == "Nothing can be recommended."
    assert lines[2] == "Nothing has a value on every axis among those that keep P95 ≤ 500 ms one request at a time."


def test_without_prices_and_load_the_fastest_is_recommended_and_no_column_is_empty(tmp_path: Path) -> None:
    bench = rerank_bench(
        tmp_path, config={key: value for key, value in CONFIG.items() if key not in ("load", "value")},
        choice=changed("choice", cost=None, holds_slo=None, net=None), costs=frame(frames.COSTS, []),
        sustained=frame(frames.SUSTAINED, []), scalability=frame(frames.SCALABILITY, []),
        throughput=frame(frames.THROUGHPUT, []), latency=axes()["latency"].filter(loop="sequential"),
        returns=changed("returns", **dict.fromkeys(["cost", *VALUED])),
    )  # fmt: skip
    text = summary(bench)
    assert "not shown to be worse than the best ndcg@10, it is the fastest. Prices would say" in text
    assert "Worth having: ndcg@10 gains +40.0%" in text
    assert "halls      ndcg@10   to base   P95 ms\n" in text
    names = [section.name for section in bench_sections(bench, EN)]
    assert names == ["summary", "quality", "changes", "latency", "returns", "choice", "about"]


@pytest.mark.parametrize(
    ("name", "columns", "sentence"),
    [
        (
            "sustained",
            {"rate": None, "failing_rate": 4.0, "reason": "errors"},
            "api@50 holds no rate that was tried (P95 ≤ 500 ms): too many errors.",
        ),
        ("sustained", {"failing_rate": None, "reason": None}, "holds 11.5 requests a second (P95 ≤ 500 ms); more"),
        ("quality", {"captured": None}, "p = 0.004; ceiling of the first 50: 0.620."),
        ("quality", {"captured": None, "ceiling": None}, "p = 0.004.\n"),
        ("costs", {"per_query": None, "status": "no_rate"}, "held no rate within the objective"),
        ("diagnostics", {"overlap": 1.0, "tau": 1.0}, "The candidates stay in the order that they had: words@10,"),
        ("diagnostics", {"overlap": 1.0}, "in no question which of them are returned: words@50, api@50."),
        ("latency", {"repetitions": 1}, "P99 403 ms, one request at a time.\n"),
        ("diagnostics", {"ties": 0.5}, "Many candidates have the same score"),
        ("diagnostics", {"judged_after": 0.5}, "Documents without a label come up"),
        ("diagnostics", {"n_short": 3}, "Too few: questions with fewer than N candidates"),
        ("diagnostics", {"n_unstable": 3}, "Repetitions order the same candidates differently"),
        ("diagnostics", {"n_repaired": 3}, "Replies of the model left out texts"),
        ("throughput", {"little_gap": 0.2}, "trust no number there: words@50 (4/s, 8/s"),
        ("costs", {"status": "outdated"}, "The price is old, see its date: words, api."),
        ("latency", {"n_censored": 2}, "Requests without an answer: words@10 2 of 120"),
    ],
)
def test_the_report_says_what_is_odd(tmp_path: Path, name: str, columns: dict[str, Any], sentence: str) -> None:
    bench = rerank_bench(tmp_path, **{name: changed(name, **columns)})
    assert sentence in BenchReport(bench).text(lang="en", explain=True)


def test_notes_of_the_bench_are_in_the_summary(tmp_path: Path) -> None:
    notes = [{"code": "documents_empty", "values": {"n": 1, "names": ["d4"]}}]
    assert "Note: 1 document is empty: d4\n" in summary(rerank_bench(tmp_path, notes=notes))
    assert "Note: 1 document is empty: d4 (2 more like it.)\n" in summary(rerank_bench(tmp_path, notes=notes * 3))
    assert "注意：1 篇文档为空：d4" in summary(rerank_bench(tmp_path, notes=notes), ZH)


def sections_of(bench: Bench) -> dict[str, Section]:
    return {section.name: section for section in bench_sections(bench, EN) if section.name in ("quality", "choice")}


# Every code has words ------------------------------------------------------------------------------------------------


def test_a_reranker_that_fails_on_questions_has_a_base_of_its_own(tmp_path: Path) -> None:
    one = (pl.col("system") == "words") & (pl.col("depth") == 10)
    nothing = [name for name, kind in frames.QUALITY.items() if kind == pl.Float64]
    quality = axes()["quality"].with_columns(
        n=pl.when(one).then(0).otherwise("n"),
        verdict=pl.when(one).then(pl.lit("not_shown")).otherwise("verdict"),
        **{name: pl.when(one).then(None).otherwise(name) for name in nothing},
    )
    bench = rerank_bench(tmp_path, quality=quality)
    sheet = next(section for section in bench_sections(bench, EN) if section.name == "quality").sheets[0]
    assert sheet.header[:4] == [MEASURE, "questions", "base", "mean"]
    assert [row[:4] for row in sheet.rows[:2]] == [["words@10", "0", "–", "–"], ["words@50", "40", "0.3000", "0.3200"]]
    assert sheet.best == {(3, 3)}
    assert "shares" in draw_bench(bench, words=EN)


def test_where_lower_is_better_the_lowest_mean_is_bold(tmp_path: Path) -> None:
    axis = {name: of.with_columns(measure=pl.lit("rank_error")) for name, of in axes().items() if "measure" in of}
    scores = Scores.of(pl.DataFrame({"query_id": ["q1"], "system": "bm25", "measure": "rank_error", "value": [1.0]}))
    for name, section in sections_of(rerank_bench(tmp_path, scores=scores, **axis)).items():
        sheet = section.sheets[0]
        means = [row[sheet.header.index("mean" if name == "quality" else "rank_error")] for row in sheet.rows]
        assert {means[r] for r, _ in sheet.best} == {min(means)}


def test_a_reranker_that_alone_has_a_value_is_not_bold(tmp_path: Path) -> None:
    first, second = axes()["quality"].head(2).rows(named=True)
    nothing = {name: None for name, kind in frames.QUALITY.items() if kind == pl.Float64}
    quality = pl.DataFrame([first, {**second, **nothing, "n": 0}], schema=axes()["quality"].schema)
    sheet = sections_of(rerank_bench(tmp_path, quality=quality))["quality"].sheets[0]
    assert len(sheet.rows) == 2
    assert sheet.best == set()


@pytest.mark.parametrize(
    ("axis", "column", "codes"),
    [
        ("choice", "reason",
         ["recommended", "best_so_far", "no_gain", "barred", "none_pays", "no_net", "inferior", "failing", "slow",
          "unknown", "not_better", "loss", "maybe_slow", "not_paying", "dearer", "lower", "less_net", "less_sure",
          "not_more"]),
        ("choice", "holds_slo", ["yes", "no", "open", None]),
        ("choice", "on_front", [True, False, None]),
        ("quality", "verdict", ["better", "worse", "not_shown"]),
        ("throughput", "reason", ["achieved", "errors", "latency", "backlog", "generator", "few"]),
        ("sustained", "reason", ["achieved", "errors", "latency", "backlog", "generator", "few", None]),
        ("costs", "status",
         ["known", "outdated", "no_price", "no_tokens", "no_rate", "scaled", "sequential"]),
        ("costs", "unit", ["per_search_unit", "per_query", "per_1m_tokens", "per_gpu_hour", None]),
        ("costs", "counted", ["server", "tokenizer", "estimate", None]),
        ("returns", "worth", ["yes", "no", "open"]),
    ],
)  # fmt: skip
def test_every_code_has_words_in_both_languages(tmp_path: Path, axis: str, column: str, codes: list[Any]) -> None:
    for code in codes:
        more = {"holds": False} if (axis, column) == ("throughput", "reason") else {}
        bench = rerank_bench(tmp_path, **{axis: changed(axis, **{column: code}, **more)})
        assert bench_sections(bench, EN)
        assert bench_sections(bench, ZH)


# Formats -------------------------------------------------------------------------------------------------------------

Make = Callable[[Path], Bench]
BENCHES: list[Make] = [rerank_bench, load_bench]


@pytest.mark.parametrize("make", BENCHES)
def test_chinese_is_chinese(tmp_path: Path, make: Make) -> None:
    bench = make(tmp_path)
    text = BenchReport(bench).text(lang="zh").split("签名")[0].replace("2026-11-22T12:00:00+00:00", "")
    assert untranslated(text, NAMES) == []


@pytest.mark.parametrize("width", [60, 80, 133])
@pytest.mark.parametrize("words", [EN, ZH])
@pytest.mark.parametrize("make", BENCHES)
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int, words: Any, make: Make) -> None:
    text = BenchReport(make(tmp_path)).text(lang=words.code, width=width)
    assert [line for line in text.splitlines() if cell_len(line) > width] == []


def test_json_has_every_axis_in_full_precision(tmp_path: Path) -> None:
    bench = rerank_bench(tmp_path)
    content = json.loads(BenchReport(bench).text("json"))
    assert content["recommended"] == {"system": "api", "depth": 50}
    for axis in AXES:
        assert len(content[axis]) == len(getattr(bench, axis))
    assert content["quality"][3]["difference"] == bench.quality["difference"][3]
    assert content["latency"][0]["p99_high"] is None
    assert content["config"]["name"] == "halls"


def test_csv_has_a_row_for_each_value(tmp_path: Path) -> None:
    bench = rerank_bench(tmp_path)
    rows = list(csv.DictReader(io.StringIO(BenchReport(bench).text("csv"))))
    assert len(rows) == 5 * 40
    assert BenchReport(bench).text("csv", lang="zh") == BenchReport(bench).text("csv", lang="en")


def test_markdown_and_latex_hold_the_tables(tmp_path: Path) -> None:
    report = BenchReport(rerank_bench(tmp_path), title="My *bench*")
    markdown = report.text("markdown", lang="en")
    assert markdown.startswith("# My \\*bench\\*\n\n## Recommended: api@50.\n")
    assert "| api@50 | **0.4200** | +0.1200 | +0.095 to +0.145 | 0.004 | 12/20/8 | 0.6200 | 38% |" in markdown
    latex = report.text("latex", lang="zh")
    assert "\\caption{推荐：api@50。" in latex
    assert "api@50 & \\textbf{0.420} & +0.120\\rlap{$^{\\dagger}$} & 310 & 11.5 & \\$0.002 & +\\$40" in latex


def test_the_suffix_names_the_format(tmp_path: Path) -> None:
    report = BenchReport(rerank_bench(tmp_path))
    for name, begin in (("a.md", "# "), ("a.csv", "system,"), ("a.json", "{"), ("a.txt", "Bench of rerankers: halls")):
        report.write(tmp_path / name, lang="en")
        assert (tmp_path / name).read_text("utf-8").startswith(begin)
    assert set(view_of(BenchReport).formats) == {"table", "html", "markdown", "latex", "csv", "json"}


# Load ----------------------------------------------------------------------------------------------------------------


def test_a_load_test_says_whether_the_rate_holds(tmp_path: Path) -> None:
    text = summary(load_bench(tmp_path))
    assert text.splitlines()[:2] == ["slow-server holds 20 requests a second (P95 ≤ 500 ms).", "━" * 54]
    assert "slow-server   20/s           20        19.8     0.0%     40.0      120        108–132      156" in text
    failing = load_bench(tmp_path, holds=False)
    assert summary(failing).startswith(
        "slow-server does not hold 20 requests a second (P95 ≤ 500 ms): a backlog grows."
    )


@pytest.mark.parametrize(
    ("rows", "headline"),
    [
        ([{"system": "a", "rate": 8.0, "failing_rate": 9.0, "reason": "backlog"}],
         "a holds 8 requests a second (P95 ≤ 500 ms), and not 9: a backlog grows."),
        ([{"system": "a", "rate": None, "failing_rate": 9.0, "reason": "few"}],
         "Too few independent requests to say whether a holds 9 a second (P95 ≤ 500 ms)."),
        ([{"system": "a", "rate": 8.0, "failing_rate": 9.0, "reason": "few"}],
         "a holds 8 requests a second (P95 ≤ 500 ms); of 9, more requests would decide."),
        ([{"system": "a", "rate": 8.0}, {"system": "b", "rate": None}],
         "Rates that are held (P95 ≤ 500 ms): a 8/s, b –/s."),
        ([], "halls: users who wait for answers; a rate that it holds shows with --rate."),
    ],
)  # fmt: skip
def test_the_headline_of_a_load_test(tmp_path: Path, rows: list[dict[str, Any]], headline: str) -> None:
    bench = load_bench(tmp_path)
    bench.__dict__["sustained"] = frame(frames.SUSTAINED, rows)
    assert summary(bench).splitlines()[0] == headline


def test_open_and_closed_loops_are_in_tables_of_their_own(tmp_path: Path) -> None:
    load = next(section for section in bench_sections(rerank_bench(tmp_path), EN) if section.name == "load")
    heads = [sheet.header[1] for sheet in load.sheets]
    assert heads == ["holds/s", "offered/s", "users", "γ (rate of one)"]
    assert [row[-1] for row in load.sheets[1].rows] == ["yes"] * 6 + ["no: too slow"] * 2


# The command ---------------------------------------------------------------------------------------------------------


def stored(folder: Path) -> Path:
    """A small bench that was measured, as it is on disk."""
    documents = [{"_id": f"d{n}", "text": text} for n, text in enumerate(["cats purr", "dogs bark", "birds sing"])]
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents), encoding="utf-8")
    (folder / "qrels.txt").write_text("q1 0 d0 1\nq2 0 d1 1\n", encoding="utf-8")
    (folder / "queries.tsv").write_text("q1\tcats\nq2\tdogs\n", encoding="utf-8")
    lists = "".join(f"q{q} Q0 d{d} {n + 1} {3 - n} bm25\n" for q in (1, 2) for n, d in enumerate((2, 1, 0)))
    (folder / "bm25.run").write_text(lists, encoding="utf-8")
    config = {
        "name": "pets", "truth": "qrels.txt", "candidates": "bm25.run", "documents": "documents.jsonl",
        "questions": "queries.tsv", "depths": [2, 3], "systems": {"words": {"rerank": "lexical"}}, "repetitions": 1,
        "warm_up": 0,
    }  # fmt: skip
    return bench_rerankers(BenchConfig.of(config, base=folder), folder=folder / "bench").folder.path


def test_the_command_writes_the_report_of_a_bench(tmp_path: Path) -> None:
    path = stored(tmp_path)
    shown, _, following = steelyard("report", path, "--lang", "en").stdout.decode().partition("Next: ")
    assert shown == BenchReport.read(path).text(lang="en", width=80)
    assert following == f"steelyard report {path} --lang en -o report.html\n"
    written = steelyard(
        "report", path, "-o", tmp_path / "a.md", "-o", tmp_path / "a.json", "--lang", "zh", "--title", "评测"
    )
    assert written.stdout.decode().split() == [str(tmp_path / "a.md"), str(tmp_path / "a.json")]
    assert (tmp_path / "a.md").read_text("utf-8") == BenchReport.read(path, title="评测").text("markdown", lang="zh")
    assert "words@3" in shown


def test_options_of_runs_are_refused_beside_a_bench(tmp_path: Path) -> None:
    refused = steelyard("report", stored(tmp_path), "--baseline", "bm25")
    assert refused.returncode == 2
    assert "--baseline is for runs, and only" in refused.stderr.decode()
    missing = steelyard("report", tmp_path / "qrels.txt", "--baseline", "bm25")
    assert missing.returncode == 2
    assert "holds judged documents and no results; name one run or several behind it" in missing.stderr.decode()


# Money ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "currency", "text"),
    [
        (0.00125, "USD", "$0.00125"), (125.0, "USD", "$125"), (0.0008, "usd", "$0.0008"), (208.3333, "USD", "$208.33"),
        (2500.0, "USD", "$2,500"), (0.0, "USD", "$0"), (None, "USD", "–"), (float("inf"), "USD", "∞"),
        (-20.1, "EUR", "−€20.10"), (12.5, "CNY", "¥12.50"), (0.5, "CHF", "CHF 0.5"), (1e-7, "USD", "$0.0000001"),
    ],
)  # fmt: skip
def test_money_is_written_as_people_read_it(value: float | None, currency: str, text: str) -> None:
    assert money(value, currency) == text


def test_numbers_of_the_choice_have_the_digits_that_their_intervals_allow(tmp_path: Path) -> None:
    net = {"net_per_day": 7.8012, "net_per_day_low": 1.888, "net_per_day_high": 14.93}
    latency, returns = changed("latency", p95=3.02, p95_low=2.1, p95_high=8.3), changed("returns", **net)
    choice = changed("choice", p95=3.02, net=7.8012)
    bench = rerank_bench(tmp_path, choice=choice, latency=latency, returns=returns)
    text = BenchReport(bench).text(lang="en")
    assert "api@50       0.420   +0.120†      3.0      11.5       $0.002       +$7.8" in text


def test_a_rate_that_was_not_found_has_no_number_of_candidates(tmp_path: Path) -> None:
    text = summary(rerank_bench(tmp_path, sustained=changed("sustained", rate=None, depth=10)))
    assert "– @" not in text
    assert "@N was measured" not in text


def test_levels_that_miss_littles_law_share_a_line(tmp_path: Path) -> None:
    text = summary(rerank_bench(tmp_path, throughput=changed("throughput", little_gap=0.2)))
    (line,) = [line for line in text.splitlines() if "Little" in line]
    assert "api@50 (" in line


def test_of_few_questions_it_is_open_whether_a_gain_is_worth_having(tmp_path: Path) -> None:
    few = changed("returns", worth="open", worth_gain_low=0.2, worth_gain_high=0.4)
    assert "whether that is 15% or more takes 50 questions at least" in summary(rerank_bench(tmp_path, returns=few))
    assert "至少要有 50 个问题" in summary(rerank_bench(tmp_path, returns=few), ZH)


def test_what_reranking_gains_and_what_it_brings_are_tables_that_fit_a_page(tmp_path: Path) -> None:
    (returns,) = TABLES["returns"]
    gains, money = returns(rerank_bench(tmp_path), EN)
    assert gains.header == ["system", "gain", "95% interval", "relative", "95% interval", "15% or more"]
    assert money.header[:3] == ["system", "cost a question", "net a day"]
    assert not gains.notes
    assert "Break-even value" in money.notes[0]


# Short screens -------------------------------------------------------------------------------------------------------


def test_a_short_screen_has_the_reason_one_row_a_system_and_the_gravest_caution(tmp_path: Path) -> None:
    lines = rerank_bench(tmp_path).text(lang="en", width=80).splitlines()
    assert lines[0].startswith("Recommended: api@50. Of all that are shown to be better")
    assert [line.split()[0] for line in lines if line.startswith(("bm25", "words@", "api@"))] == [
        "bm25", "words@50", "api@50"
    ]  # fmt: skip
    assert "Careful: --prefer net would recommend bm25 (ndcg@10 0.300, $0 a day)." in " ".join(lines)
    assert len(lines) <= 15
    so_far = changed("choice", reason="best_so_far", not_inferior="open", needed=720)
    text = rerank_bench(tmp_path, choice=so_far).text(lang="en")
    assert "Careful: It is not shown to be less than 0.01 below the best, which takes about 720 questions." in text


def test_a_short_screen_of_load_shows_the_levels_about_the_first_that_fails(tmp_path: Path) -> None:
    bench = load_bench(tmp_path)
    level, times = bench.throughput, bench.latency
    rates = [10.0 * i for i in range(1, 13)]
    failing = [rate >= 90 for rate in rates]
    copies = {
        "throughput": pl.concat([
            level.with_columns(
                rate=pl.lit(rate), holds=pl.lit(not fails), reason=pl.lit("backlog" if fails else None, pl.String)
            )
            for rate, fails in zip(rates, failing, strict=True)
        ]),
        "latency": pl.concat([times.with_columns(rate=pl.lit(rate)) for rate in rates]),
    }  # fmt: skip
    bench.__dict__.update(copies)
    lines = bench.text(lang="en", width=80).splitlines()
    shown = [line.split()[1] for line in lines if line.startswith("slow-server   ")]
    assert shown == [f"{rate}/s" for rate in range(50, 130, 10)]
    assert [line.split()[-1] for line in lines if line.startswith("slow-server   ")] == ["yes"] * 4 + ["no"] * 4
    assert "... and 4 levels of load more." in lines
    assert len(lines) <= 15
