"""Thresholds: by hand, beside a naive search over all of them, and how sure they are."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError
from steelyard.stats.labels.raters import wilson_ends
from steelyard.stats.labels.thresholds import choose_threshold, optimism
from tests.hypothesis_profiles import examples

ITEMS = st.lists(
    st.tuples(st.sampled_from([-math.inf, 0.0, 0.1, 0.25, 0.5, 0.75, 1.0]), st.booleans(), st.integers(1, 4)),
    min_size=2,
    max_size=25,
)


def youden(scores, positives, weights, threshold):
    def rate(wanted, called):
        total = sum(w for p, w in zip(positives, weights, strict=True) if p == wanted)
        right = sum(
            w for s, p, w in zip(scores, positives, weights, strict=True) if p == wanted and (s >= threshold) == called
        )
        return right / total

    return rate(True, True) + rate(False, False) - 1


@examples(200)
@given(ITEMS)
def test_no_other_threshold_is_better(rows):
    scores, positives, weights = zip(*rows, strict=True)
    choice = choose_threshold(scores, positives, weights=weights, n_resamples=0)
    if len(set(positives)) < 2:
        assert choice.undefined == "equal_labels"
        return
    finite = sorted({score for score in scores if score > -math.inf})
    best = max((youden(scores, positives, weights, score) for score in finite), default=0.0)
    if choice.undefined:
        assert best < 1e-9 or len(set(scores)) == 1
    else:
        assert youden(scores, positives, weights, choice.value) == pytest.approx(best)


@examples(200)
@given(ITEMS, st.sampled_from([0.5, 0.8, 1.0]))
def test_no_lower_threshold_has_the_precision(rows, target):
    scores, positives, weights = zip(*rows, strict=True)
    choice = choose_threshold(scores, positives, rule="precision", target=target, weights=weights, n_resamples=0)

    def precision(threshold):
        called = [(p, w) for s, p, w in rows if s >= threshold]
        return sum(w for p, w in called if p) / sum(w for _, w in called)

    if choice.undefined in ("equal_labels", "equal_scores"):
        return
    reached = [s for s in sorted(set(scores)) if s > -math.inf and precision(s) >= target - 1e-12]
    assert bool(reached) == (choice.undefined is None)
    if reached:
        assert precision(choice.value) >= target - 1e-12
        assert [s for s in scores if s >= choice.value] == [s for s in scores if s >= reached[0]]


def test_order_changes_nothing_and_weights_are_repeats():
    rng = np.random.default_rng(0)
    scores, weights = rng.random(30).round(1), rng.integers(1, 4, 30)
    positives = scores + rng.normal(0, 0.3, 30) > 0.5
    order = rng.permutation(30)
    value = choose_threshold(scores, positives, weights=weights, n_resamples=0).value
    shuffled = choose_threshold(scores[order], positives[order], weights=weights[order], n_resamples=0)
    repeated = choose_threshold(np.repeat(scores, weights), np.repeat(positives, weights), n_resamples=0)
    assert shuffled.value == repeated.value == value


def test_of_equally_good_thresholds_the_middle_one_counts():
    # From .2 to .7 nothing is lost or gained: yes, no, yes, no, yes between the two sure ends.
    scores = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.8, 0.9]
    positives = [False, False, True, False, True, False, True, True]
    assert choose_threshold(scores, positives, n_resamples=0).value == pytest.approx(0.35)


def test_the_median_of_resamples_jumps_less():
    rng = np.random.default_rng(4)
    values: dict[int, list[float]] = {0: [], 300: []}
    for seed in range(40):
        positives = rng.random(80) < 0.6
        scores = rng.normal(size=80) + 1.2 * positives
        for n, thresholds in values.items():
            thresholds.append(choose_threshold(scores, positives, n_resamples=n, seed=seed).value)
    assert np.std(values[300]) < 0.9 * np.std(values[0])


def test_neighbouring_floats_are_parted():
    low = 0.3
    high = math.nextafter(low, 1)
    value = choose_threshold([low, high], [False, True], n_resamples=0).value
    assert low < value <= high


@pytest.mark.parametrize(
    ("scores", "positives", "undefined"),
    [([0.1, 0.2], [True, True], "equal_labels"), ([], [], "equal_labels"), ([0.5, 0.5], [True, False], "equal_scores"),
     ([0.1, 0.2, 0.8, 0.9], [True, True, False, False], "useless")],
)  # fmt: skip
def test_why_there_is_none(scores, positives, undefined):
    choice = choose_threshold(scores, positives)
    assert math.isnan(choice.value)
    assert choice.undefined == undefined


@pytest.mark.parametrize(
    "arguments",
    [
        {"scores": [0.1], "positives": [True, False]},
        {"scores": [math.nan, 1], "positives": [True, False]},
        {"scores": [math.inf, 1], "positives": [True, False]},
        {"scores": [0, 1], "positives": [True, False], "rule": "precision"},
        {"scores": [0, 1], "positives": [True, False], "weights": [1, -1]},
    ],
)
def test_items_that_cannot_be(arguments):
    with pytest.raises(InputError):
        choose_threshold(**arguments)


def test_whole_clusters_are_drawn():
    rng = np.random.default_rng(5)
    of_cluster = rng.normal(size=12)
    clusters = np.repeat(np.arange(12), 10)
    scores = of_cluster[clusters] + rng.normal(size=120) / 5
    positives = of_cluster[clusters] + rng.normal(size=120) > 0
    apart = choose_threshold(scores, positives)
    together = choose_threshold(scores, positives, clusters=clusters)
    assert together.value == pytest.approx(apart.value, abs=0.3)
    assert together.high - together.low > apart.high - apart.low


@pytest.mark.slow
@pytest.mark.parametrize("distance", [0.7, 1.5, 2.5])
@pytest.mark.parametrize("n", [40, 100, 400])
def test_intervals_cover(distance, n):
    """Normal scores, of which the best threshold is known: the threshold's interval, and Wilson's about the rates."""
    rng, normal = np.random.default_rng(1), NormalDist()

    def rates(tables):
        return np.stack([tables[:, i, i] / tables.sum(axis=2)[:, i] for i in (0, 1)], axis=1)

    rows = []
    for seed in range(400):
        positives = rng.random(n) < 0.6
        scores = rng.normal(size=n) + distance * positives
        choice = choose_threshold(scores, positives, n_resamples=300, seed=seed)
        if choice.undefined:
            continue
        true = [normal.cdf(choice.value), 1 - normal.cdf(choice.value - distance)]
        seen = [(scores < choice.value)[~positives].mean(), (scores >= choice.value)[positives].mean()]
        values = np.clip(seen - optimism(scores, positives, rates, n_resamples=200, seed=seed), 0, 1)
        ends = [wilson_ends(v, m) for v, m in zip(values, ((~positives).sum(), positives.sum()), strict=True)]
        covered = [low <= t <= high for (low, high), t in zip(ends, true, strict=True)]
        rows.append(
            (choice.low <= distance / 2 <= choice.high, *covered, values.sum() - sum(true), sum(seen) - sum(true))
        )
    threshold, specificity, sensitivity, bias, apparent = np.mean(rows, axis=0)
    assert threshold > 0.9
    assert 0.92 < sensitivity < 0.99
    assert 0.92 < specificity < 0.99
    assert bias < apparent / 2
