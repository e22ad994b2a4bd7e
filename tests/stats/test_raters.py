"""Agreement of raters, against scikit-learn, SciPy and loops over pairs of labels, and by Krippendorff's example."""

import math
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.choices import Scale
from steelyard.base.errors import InputError
from steelyard.stats.labels.raters import (
    Weights,
    auc,
    balanced_accuracy,
    cohen_kappa,
    confusion_matrix,
    kendall_of_counts,
    krippendorff_alpha,
    pair_counts,
    spearman,
    spearman_of_counts,
    wilson_interval,
)
from tests.hypothesis_profiles import examples

quick = examples(80)
grades = st.integers(0, 4)
pairs = st.lists(st.tuples(grades, grades), min_size=1, max_size=30)
tables = st.integers(2, 4).flatmap(
    lambda r: st.lists(st.lists(st.one_of(st.none(), grades), min_size=r, max_size=r), min_size=1, max_size=12)
)
WEIGHTS: tuple[Weights, ...] = get_args(Weights)
SCALES: tuple[Scale, ...] = get_args(Scale)


def naive_alpha(units: Sequence[Sequence[Any]], scale: Scale) -> float:
    """By pairs of labels, as Krippendorff writes it."""
    units = [[label for label in unit if label is not None] for unit in units]
    units = [unit for unit in units if len(unit) > 1]
    n = Counter(label for unit in units for label in unit)

    def distance(a: Any, b: Any) -> float:
        if scale == "nominal":
            return float(a != b)
        if scale == "interval":
            return float((a - b) ** 2)
        low, high = sorted((a, b))
        return (sum(n[g] for g in n if low <= g <= high) - (n[a] + n[b]) / 2) ** 2 if a != b else 0.0

    total = sum(n.values())
    observed = sum(distance(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2))
    expected = sum(n[a] * n[b] * distance(a, b) for a in n for b in n)
    return 1 - (total - 1) * observed / expected if expected else math.nan


@quick
@given(pairs, st.sampled_from(WEIGHTS))
def test_kappa_against_scikit_learn(labels: list[tuple[int, int]], weights: Weights) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    first, second = zip(*labels, strict=True)
    if len({*first, *second}) == 1:
        assert math.isnan(cohen_kappa(first, second, weights))
        return
    oracle = metrics.cohen_kappa_score(first, second, weights=None if weights == "nominal" else weights)
    assert cohen_kappa(first, second, weights) == pytest.approx(oracle, abs=1e-12)


@quick
@given(tables, st.sampled_from(SCALES))
def test_alpha_against_loops_over_pairs(units: list[list[int | None]], scale: Scale) -> None:
    ratings = list(zip(*units, strict=True))
    assert krippendorff_alpha(ratings, scale) == pytest.approx(naive_alpha(units, scale), abs=1e-9, nan_ok=True)


def test_alpha_of_krippendorffs_example() -> None:
    """Computing Krippendorff's Alpha-Reliability, 2011, example C: .743, .815, .849."""
    rows = ["1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."]
    ratings = [[math.nan if cell == "." else float(cell) for cell in row.split()] for row in rows]
    assert [round(krippendorff_alpha(np.array(ratings), scale), 3) for scale in SCALES] == [0.743, 0.815, 0.849]


@quick
@given(tables, st.randoms(use_true_random=False))
def test_alpha_heeds_neither_the_order_of_raters_and_items_nor_names_of_words(
    units: list[list[int | None]], random: Any
) -> None:
    shuffled = [random.sample(unit, len(unit)) for unit in random.sample(units, len(units))]
    renamed = [[label if label is None else "edcba"[label] for label in unit] for unit in shuffled]
    for scale in SCALES:
        alpha = krippendorff_alpha(list(zip(*units, strict=True)), scale)
        assert math.isnan(alpha) or alpha <= 1 + 1e-12
        other = krippendorff_alpha(list(zip(*shuffled, strict=True)), scale)
        assert other == pytest.approx(alpha, abs=1e-9, nan_ok=True)
    words, numbers = (krippendorff_alpha(list(zip(*rows, strict=True))) for rows in (renamed, units))
    assert words == pytest.approx(numbers, abs=1e-12, nan_ok=True)


@quick
@given(pairs, st.permutations(range(5)))
def test_kappa_is_of_both_alike_and_heeds_no_names(labels: list[tuple[int, int]], names: list[int]) -> None:
    first, second = zip(*labels, strict=True)
    for weights in WEIGHTS:
        kappa = cohen_kappa(first, second, weights)
        assert math.isnan(kappa) or -1 - 1e-12 <= kappa <= 1 or weights != "nominal"
        assert cohen_kappa(second, first, weights) == pytest.approx(kappa, abs=1e-12, nan_ok=True)
    renamed = cohen_kappa([names[label] for label in first], [names[label] for label in second])
    assert renamed == pytest.approx(cohen_kappa(first, second), abs=1e-12, nan_ok=True)


@quick
@given(pairs)
def test_ranks_against_scipy(labels: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second = (np.array(side, float) for side in zip(*labels, strict=True))
    counts = pair_counts(first.astype(int), second.astype(int), (5, 5))
    if len(np.unique(first)) < 2 or len(np.unique(second)) < 2:
        assert math.isnan(spearman(first, second))
        assert np.isnan([spearman_of_counts(counts)[0], kendall_of_counts(counts)[0]]).all()
        return
    want = stats.spearmanr(first, second).statistic
    assert spearman(first, second) == pytest.approx(want, abs=1e-12)
    assert spearman_of_counts(counts)[0] == pytest.approx(want, abs=1e-12)
    assert kendall_of_counts(counts)[0] == pytest.approx(stats.kendalltau(first, second).statistic, abs=1e-12)


@quick
@given(st.lists(st.tuples(grades, st.booleans()), min_size=1, max_size=30))
def test_auc_against_pairs(scored: list[tuple[int, bool]]) -> None:
    scores, positives = zip(*scored, strict=True)
    high, low = ([score for score, positive in scored if positive is side] for side in (True, False))
    wins = [(a > b) + (a == b) / 2 for a in high for b in low]
    assert auc(scores, positives) == pytest.approx(np.mean(wins) if wins else math.nan, abs=1e-12, nan_ok=True)


@quick
@given(pairs)
def test_balanced_accuracy_against_scikit_learn(labels: list[tuple[int, int]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, judged = zip(*labels, strict=True)
    recalls = metrics.recall_score(truth, judged, labels=sorted(set(truth)), average="macro", zero_division=0)
    assert balanced_accuracy(truth, judged) == pytest.approx(recalls, abs=1e-12)


@quick
@given(st.integers(0, 40), st.integers(0, 40))
def test_wilson_against_statsmodels(hits: int, misses: int) -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    if hits + misses == 0:
        assert np.isnan(wilson_interval(0, 0)).all()
        return
    want = proportion.proportion_confint(hits, hits + misses, method="wilson")
    assert wilson_interval(hits, hits + misses) == pytest.approx(want, abs=1e-9)


def test_gaps_leave_items_out() -> None:
    first, second = ["a", None, "b", "c"], ["a", "b", "b", None]
    counts, categories = confusion_matrix(first, second)
    assert (counts.tolist(), list(categories)) == ([[1, 0, 0], [0, 1, 0], [0, 0, 0]], ["a", "b", "c"])
    assert cohen_kappa(first, second, "quadratic") == 1
    assert math.isnan(cohen_kappa([None], ["a"]))


def test_categories_give_words_their_order() -> None:
    first, second = ["poor", "fair", "good", "good"], ["fair", "fair", "good", "poor"]
    order = ["poor", "fair", "good"]
    places = [[order.index(label) for label in row] for row in (first, second)]
    assert cohen_kappa(first, second, "quadratic", categories=order) == cohen_kappa(places[0], places[1], "quadratic")
    for scale in SCALES:
        assert krippendorff_alpha([first, second], scale, categories=order) == krippendorff_alpha(places, scale)
    # A category that nobody uses lies between, all the same.
    assert cohen_kappa([0, 2, 0], [0, 2, 2], "linear", categories=[0, 1, 2]) == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "raters have 2, 1 labels"),
        (lambda: cohen_kappa([1, 5], [1, 1], categories=[0, 1]), "the label 5 is none of 0, 1"),
        (lambda: cohen_kappa([1, "a"], [1, 1]), "labels are numbers and words, such as 'a'"),
        (lambda: krippendorff_alpha([["a", "b"], ["c", "b"]], "ordinal"), "labels such as 'a' have no order"),
        (lambda: auc([1, 2], [True]), "2 scores and truth values of shape"),
        (lambda: spearman([1, 2], [1]), "2 values and 1"),
        (lambda: wilson_interval(3, 2), "3 of 2 items"),
    ],
)
def test_refusals(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
