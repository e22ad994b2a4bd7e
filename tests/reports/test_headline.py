"""The verdict in ten words: every case that a comparison can be, in both languages; and what it never says again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.reports.views.verdicts import headline, headline_numbers
from steelyard.reports.words import read_words

pytest.importorskip("scipy", reason="comparisons need the extra stats")
EN, ZH = read_words("en"), read_words("zh")
RNG = np.random.default_rng(7)
NOISE = {name: RNG.normal(0, 0.01, 30) for name in "abcde"}


def comparison_of(means: Sequence[float], **options) -> sy.Comparison:
    """Systems a, b, ... with these means on 30 questions, and noise of their own."""
    frames = [
        {"system": name, "query_id": f"q{q}", "measure": "map", "value": float(mean + NOISE[name][q])}
        for name, mean in zip("abcde", means, strict=False)
        for q in range(30)
    ]
    return sy.compare(sy.Scores.of(pl.DataFrame(frames)), **options)


@pytest.mark.parametrize(
    ("means", "baseline", "en", "zh"),
    [
        ([0.5, 0.7], "a", "b beats a.", "b 优于 a。"),
        ([0.5, 0.7], "b", "b beats a.", "b 优于 a。"),
        ([0.5, 0.5], "a", "{} and {} are not told apart§.", "{}、{} 之间尚无法区分§。"),
        ([0.5, 0.6, 0.7], "a", "c beats all 2 others.", "c 优于其余 2 个系统。"),
        ([0.7, 0.6, 0.5], "a", "a beats all 2 others.", "a 优于其余 2 个系统。"),
        ([0.5, 0.6, 0.7], None, "c beats all 2 others.", "c 优于其余 2 个系统。"),
        ([0.5, 0.7, 0.7], "a", "{} beats a and is not told apart from {}.", "{} 优于 a，与 {} 尚无法区分。"),
        ([0.5, 0.5, 0.5], "a", "{}, {} and {} are not told apart§.", "{}、{}、{} 之间尚无法区分§。"),
        ([0.5, 0.5, 0.5], None, "{}, {} and {} are not told apart§.", "{}、{}、{} 之间尚无法区分§。"),
        (
            [0.5, 0.7, 0.7],
            None,
            "{} and {} lead and are not told apart§; {} is worse.",
            "{}、{} 领先，彼此尚无法区分§；{} 较差。",
        ),
        ([0.7, 0.7, 0.5], "a", "{} and {} are not told apart§; {} is worse.", "{}、{} 之间尚无法区分§；{} 较差。"),
        (
            [0.7, 0.5, 0.5, 0.5, 0.7],
            "a",
            "{} and {} are not told apart§; 3 others are worse.",
            "{}、{} 之间尚无法区分§；另外 3 个系统较差。",
        ),
        (
            [0.7, 0.5, 0.5, 0.5, 0.7],
            None,
            "{} and {} lead and are not told apart§; 3 others are worse.",
            "{}、{} 领先，彼此尚无法区分§；另外 3 个系统较差。",
        ),
        (
            [0.2, 0.7, 0.7, 0.7, 0.7],
            "a",
            "{} beats a and is not told apart from {}, {} and {}.",
            "{} 优于 a，与 {}、{}、{} 尚无法区分。",
        ),
        ([0.5] * 5, "a", "{} and 4 others are not told apart§.", "{} 与另外 4 个系统 之间尚无法区分§。"),
    ],
)
def test_every_kind_of_verdict(means: list[float], baseline: str | None, en: str, zh: str) -> None:
    comparison = comparison_of(means, baseline=baseline)
    order = [row.system for row in comparison.rows["map"] if "{}" in en and not ("beats a" in en and row.system == "a")]
    for words, text in ((EN, en), (ZH, zh)):
        said = re.sub(r" ?[(（]30 (questions can show|个问题可检出) ≥ 0\.0\d\d[)）]", "§", headline(comparison, words))
        assert said.replace(" ", "") == text.format(*order).replace(" ", "")
        assert len(said.split()) <= 13


def test_nothing_is_called_a_tie_that_so_few_questions_could_not_show() -> None:
    d = np.array([0.42, 0.02, 0.38, 0.3, -0.06, 0.14])
    comparison = sy.compare(scores_of([[0.3] * 6, (0.3 + d).tolist()]))
    row = comparison.rows["map"][0]
    assert row.difference == pytest.approx(0.2)
    assert 0.05 < row.p < 0.07
    assert headline(comparison, EN) == f"b and a are not told apart (6 questions can show ≥ {row.detectable:.3f})."
    five = sy.compare(scores_of([[0.3] * 5, (0.3 + d[:5]).tolist()]))
    assert headline(five, EN) == "b and a are not told apart (5 questions are too few)."


def test_the_best_is_not_told_apart_from_two_that_are_told_apart() -> None:
    pattern = np.tile([1.0, -1.0], 15)
    base = np.linspace(0.3, 0.7, 30)
    values = [base + 0.02 + 0.2 * pattern, base + 0.01 + 0.001 * pattern, base]
    comparison = sy.compare(scores_of([row.tolist() for row in values]))
    assert comparison.groups["map"] == [["a", "b"], ["a", "c"]]
    assert headline(comparison, EN).startswith("a is not told apart from b and c (30 questions can show ≥ ")


def scores_of(values: Sequence[Sequence[float]]) -> sy.Scores:
    rows = [
        {"system": name, "query_id": f"q{q}", "measure": "map", "value": value}
        for name, row in zip("abcde", values, strict=False)
        for q, value in enumerate(row)
    ]
    return sy.Scores.of(pl.DataFrame(rows))


def test_equal_systems_have_no_winner_and_nothing_is_ahead_by_zero() -> None:
    comparison = sy.compare(scores_of([[0.5, 0.25, 1.0] * 5] * 2))
    assert headline(comparison, EN) == "No winner: b and a are equal on all 15 questions."
    assert "ahead" not in next(headline_numbers(comparison, EN))
    assert "+0.0000" not in next(headline_numbers(comparison, EN))


def test_what_cannot_be_tested_has_no_verdict() -> None:
    for values in ([[0.5], [0.75]], [[0.25] * 5, [0.5] * 5]):
        comparison = sy.compare(scores_of(values))
        assert re.fullmatch(
            r"No verdict: (a test needs two questions at least|all differences .*)\.", headline(comparison, EN)
        )
        assert "nan" not in next(headline_numbers(comparison, EN))


def test_equivalence_is_said_where_it_is_shown() -> None:
    comparison = comparison_of([0.5, 0.5], margin=0.2)
    assert headline(comparison, EN).endswith(" are equivalent within 0.2.")
    assert headline(comparison_of([0.5, 0.6], margin=0.2), EN) == "b beats a, by less than the margin of 0.2."
    assert headline(comparison_of([0.6, 0.5], margin=0.2), ZH) == "a 优于 b，但差距小于 0.2。"


def test_the_interval_is_the_one_that_the_verdict_is_by() -> None:
    rng = np.random.default_rng(3)
    base = rng.uniform(0.45, 0.55, 400)
    for shift, verdict, ends, chinese in (
        (0.02, "not worse", "95% limit, one-sided: ≥ −0.0", "95% 单侧置信限：≥ −0.0"),
        (-0.02, "no difference shown", "95% limit, one-sided: ≥ −0.0", "95% 单侧置信限：≥ −0.0"),
        (0.0, "equivalent", "95% limit, one-sided: −0.0", "95% 单侧置信限：−0.0"),
        (0.055, "better", "95% interval +0.0", "95% 置信区间 +0.0"),
    ):
        d = rng.normal(0, 0.06, 400) if verdict == "equivalent" else np.resize([-0.38, 0.38, 0.0, 0.0], 400)
        comparison = sy.compare(scores_of([base, base + d - d.mean() + shift]), margin=0.03)
        row = next(row for row in comparison.rows["map"] if row.system == "b")
        assert verdict in (row.verdict, "equivalent" if row.equivalent else "")
        assert ends in next(headline_numbers(comparison, EN)), verdict
        assert chinese in next(headline_numbers(comparison, ZH))
    noise = np.resize([-0.38, 0.38, 0.0, 0.0], 400)
    assert "≥ −0.0" in sy.compare(scores_of([base, base + noise]), margin=0.02).text(lang="en", width=200)


def test_the_baseline_asked_for_is_named_in_the_numbers() -> None:
    for baseline in "abc":
        assert f"{baseline} (baseline) " in next(
            headline_numbers(comparison_of([0.5, 0.6, 0.7], baseline=baseline), EN)
        )
        assert f"{baseline}（基线）" in next(headline_numbers(comparison_of([0.5, 0.6, 0.7], baseline=baseline), ZH))


def of_aims(aims: dict[str, Sequence[float | None]], **options) -> sy.Comparison:
    """Systems a, b, ... with these means by each measure on 30 questions; None: without a value of any."""
    frames = [
        {"system": name, "query_id": f"q{q}", "measure": measure, "value": float(mean + NOISE[name][q])}
        for measure, means in aims.items()
        for name, mean in zip("abcde", means, strict=False)
        if mean is not None
        for q in range(30)
    ]
    return sy.compare(sy.Scores.of(pl.DataFrame(frames)), **options)


@pytest.mark.parametrize(
    ("aims", "baseline", "en", "zh"),
    [
        (
            {"faithfulness": [0.6, 0.9], "answer_recall": [0.5, 0.3]}, "a",
            "By faithfulness: b beats a. By answer_recall: a beats b.",
            "按 faithfulness：b 优于 a。按 answer_recall：a 优于 b。",
        ),
        ({"faithfulness": [0.6, 0.9], "answer_recall": [0.3, 0.5]}, "a", "b beats a.", "b 优于 a。"),
        ({"faithfulness": [0.6, 0.9], "answer_recall": [0.5, 0.5]}, "a", "b beats a.", "b 优于 a。"),
        (
            {"faithfulness": [0.6, 0.9], "citation_support": [0.6, 0.8], "answer_recall": [0.5, 0.3],
             "answer_f1": [0.6, 0.4]}, "b",
            "By faithfulness: b beats a. By answer_recall and answer_f1: a beats b.",
            "按 faithfulness：b 优于 a。按 answer_recall、answer_f1：a 优于 b。",
        ),
        (
            {"ndcg@10": [0.6, 0.9], "latency_ms": [20.0, 90.0]}, "a",
            "By ndcg@10: b beats a. By latency_ms: a beats b.", "按 ndcg@10：b 优于 a。按 latency_ms：a 优于 b。",
        ),
        ({"ndcg@10": [0.6, 0.9], "latency_ms": [90.0, 20.0]}, "a", "b beats a.", "b 优于 a。"),
        (
            {"faithfulness": [0.5, 0.6, 0.7], "answer_recall": [0.5, 0.6, 0.3]}, None,
            "By faithfulness: c beats all 2 others. By answer_recall: b and a beat c.",
            "按 faithfulness：c 优于其余 2 个系统。按 answer_recall：b、a 优于 c。",
        ),
        (
            {"faithfulness": [0.5, 0.6, 0.7, 0.8, 0.9], "answer_recall": [0.9, 0.8, 0.7, 0.6, 0.5]}, None,
            "By faithfulness: e beats all 4 others. "
            "By answer_recall: a beats b, c, d and e; b beats c, d and e; and so on.",
            "按 faithfulness：e 优于其余 4 个系统。按 answer_recall：a 优于 b、c、d、e；b 优于 c、d、e；等等。",
        ),
        (
            {"faithfulness": [0.5, 0.6, 0.7], "answer_recall": [0.7, 0.6, 0.5]}, "a",
            "By faithfulness: c beats all 2 others. By answer_recall: a beats b and c; b beats c.",
            "按 faithfulness：c 优于其余 2 个系统。按 answer_recall：a 优于 b、c；b 优于 c。",
        ),
    ],
)  # fmt: skip
def test_a_headline_of_several_aims_says_the_opposite_too(
    aims: dict[str, Sequence[float]], baseline: str | None, en: str, zh: str
) -> None:
    comparison = of_aims(aims, baseline=baseline)
    assert headline(comparison, EN) == en
    assert headline(comparison, ZH) == zh
    assert len(list(headline_numbers(comparison, EN))) == 1 + len(comparison.opposed)


def test_the_numbers_of_an_opposite_aim_are_of_the_pair_that_it_turns() -> None:
    comparison = of_aims({"faithfulness": [0.5, 0.6, 0.7], "answer_recall": [0.5, 0.6, 0.3]}, baseline="a")
    assert comparison.opposed == {"answer_recall": [("b", "c"), ("a", "c")]}
    first, second = headline_numbers(comparison, EN)
    assert first.startswith("faithfulness: c 0.69")
    assert second.startswith("answer_recall: c 0.29")


def test_an_aim_that_cannot_be_tested_opposes_nothing() -> None:
    comparison = of_aims({"faithfulness": [0.6, 0.9], "answer_recall": [0.5, 0.3]})
    frame = comparison.frame.with_columns(
        pl.when(measure="answer_recall").then(pl.lit("no test")).otherwise("verdict").alias("verdict")
    )
    assert headline(replace(comparison, frame=frame), EN) == "b beats a."


def test_every_format_begins_with_the_verdict() -> None:
    comparison = comparison_of([0.5, 0.7])
    assert comparison.text(lang="en").startswith("b beats a.\n\n")
    assert comparison.text("markdown", lang="zh").startswith("**b 优于 a。**\n\n")
    assert comparison.text("markdown", lang="en", width=40) == comparison.text("markdown", lang="en")
    assert '"headline": "b beats a."' in comparison.text("json")


def test_p_below_a_thousandth_has_one_sign() -> None:
    text = next(headline_numbers(comparison_of([0.5, 0.7]), EN))
    assert "p < 0.001" in text
    assert "= <" not in text


@pytest.mark.parametrize("test", ["t", "randomization", "tukey"])
@pytest.mark.parametrize("margin", [None, 0.01])
def test_no_interval_without_0_beside_no_difference_shown(test: str, margin: float | None) -> None:
    """It was "+0.058 … +0.155, p = .917, no difference shown"."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = 0.5 + 0.1 * rng.standard_normal((4, 12)) + np.array([0, 0.02, 0.06, 0.15])[:, None]
        for row in sy.compare(scores_of(values.tolist()), baseline="a", test=test, margin=margin).rows["map"]:
            if row.verdict in ("no difference shown", "not worse"):
                assert row.low <= 0 <= row.high
                assert row.adjusted > 0.05
            elif row.verdict in ("better", "worse"):
                assert row.low > 0 or row.high < 0
