"""The verdict in ten words: every case that a comparison can be, in both languages; and what it never says again."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.report.formats.comparison import comparison_json, comparison_markdown, comparison_terminal
from steelyard.report.sheets.headline import headline, headline_numbers
from steelyard.report.words import read_words

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
        ([0.5, 0.5], "a", "No clear winner: {} and {} tie.", "没有明显的优胜者：{}、{} 未分高下。"),
        ([0.5, 0.6, 0.7], "a", "c beats all 2 others.", "c 优于其余 2 个系统。"),
        ([0.7, 0.6, 0.5], "a", "a beats all 2 others.", "a 优于其余 2 个系统。"),
        ([0.5, 0.7, 0.7], "a", "{} beats a, but ties with {}.", "{} 优于 a，但与 {} 未分高下。"),
        ([0.5, 0.5, 0.5], "a", "No clear winner: {}, {} and {} tie.", "没有明显的优胜者：{}、{}、{} 未分高下。"),
        (
            [0.7, 0.7, 0.5],
            "a",
            "No clear winner: {} and {} tie; {} is worse.",
            "没有明显的优胜者：{}、{} 未分高下；{} 较差。",
        ),
        (
            [0.7, 0.5, 0.5, 0.5, 0.7],
            "a",
            "No clear winner: {} and {} tie; 3 others are worse.",
            "没有明显的优胜者：{}、{} 未分高下；另外 3 个系统较差。",
        ),
        (
            [0.2, 0.7, 0.7, 0.7, 0.7],
            "a",
            "{} beats a, but ties with {}, {} and {}.",
            "{} 优于 a，但与 {}、{}、{} 未分高下。",
        ),
        ([0.5] * 5, "a", "No clear winner: {} and 4 others tie.", "没有明显的优胜者：{} 与另外 4 个系统 未分高下。"),
    ],
)
def test_every_kind_of_verdict(means: list[float], baseline: str, en: str, zh: str) -> None:
    comparison = comparison_of(means, baseline=baseline)
    order = [row.system for row in comparison.rows["map"] if "{}" in en and not ("beats a" in en and row.system == "a")]
    assert headline(comparison, EN) == en.format(*order)
    assert headline(comparison, ZH).replace(" ", "") == zh.format(*order).replace(" ", "")
    assert len(headline(comparison, EN).split()) <= 12


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
    assert "ahead" not in headline_numbers(comparison, EN)
    assert "+0.0000" not in headline_numbers(comparison, EN)


def test_what_cannot_be_tested_has_no_verdict() -> None:
    for values in ([[0.5], [0.75]], [[0.25] * 5, [0.5] * 5]):
        comparison = sy.compare(scores_of(values))
        assert re.fullmatch(
            r"No verdict: (a test needs two questions at least|all differences .*)\.", headline(comparison, EN)
        )
        assert "nan" not in headline_numbers(comparison, EN)


def test_equivalence_is_said_where_it_is_shown() -> None:
    comparison = comparison_of([0.5, 0.5], margin=0.05)
    assert headline(comparison, EN).endswith(" are equivalent within 0.05.")
    assert headline(comparison_of([0.5, 0.6], margin=0.2), EN) == "b beats a, by less than the margin of 0.2."
    assert headline(comparison_of([0.6, 0.5], margin=0.2), ZH) == "a 优于 b，但差距小于 0.2。"


def test_the_baseline_asked_for_is_named_in_the_numbers() -> None:
    for baseline in "abc":
        assert f"{baseline} (baseline) " in headline_numbers(comparison_of([0.5, 0.6, 0.7], baseline=baseline), EN)
        assert f"{baseline}（基线）" in headline_numbers(comparison_of([0.5, 0.6, 0.7], baseline=baseline), ZH)


def test_every_format_begins_with_the_verdict() -> None:
    comparison = comparison_of([0.5, 0.7])
    assert comparison_terminal(comparison, EN).startswith("b beats a.\n\n")
    assert comparison_markdown(comparison, ZH).startswith("**b 优于 a。**\n\n")
    assert '"headline": "b beats a."' in comparison_json(comparison)


def test_p_below_a_thousandth_has_one_sign() -> None:
    text = headline_numbers(comparison_of([0.5, 0.7]), EN)
    assert "p < 0.001" in text
    assert "= <" not in text


@pytest.mark.parametrize("test", ["t", "randomization", "tukey"])
@pytest.mark.parametrize("margin", [None, 0.01])
def test_no_interval_without_0_beside_no_difference_shown(test: str, margin: float | None) -> None:
    """It was "+0.058 … +0.155, p = .917, no difference shown"."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = 0.5 + 0.1 * rng.standard_normal((4, 12)) + np.array([0, 0.02, 0.06, 0.15])[:, None]
        for row in sy.compare(scores_of(values.tolist()), test=test, margin=margin).rows["map"]:
            if row.verdict in ("no difference shown", "not worse"):
                assert row.low <= 0 <= row.high
                assert row.adjusted > 0.05
            elif row.verdict in ("better", "worse"):
                assert row.low > 0 or row.high < 0
