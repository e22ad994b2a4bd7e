"""Corrected shares: by hand, at the edges, and how often their intervals hold."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from benchmarks.corrected_rates import JUDGES, SHARES, SIZES, coverage

from steelyard.base.errors import InputError
from steelyard.stats.labels.rogan_gladen import corrected_rate

GOOD = {"hits": 90, "misses": 10, "false_alarms": 20, "rejections": 80}


def test_the_share_is_that_of_rogan_and_gladen():
    # (.55 + .8 - 1) / (.9 + .8 - 1) = .35 / .7
    assert corrected_rate(550, 1000, **GOOD).value == pytest.approx(0.5)


def test_a_judge_that_is_never_wrong_changes_nothing():
    rate = corrected_rate(300, 1000, hits=500, misses=0, false_alarms=0, rejections=500)
    assert rate.value == pytest.approx(0.3)
    assert 0.265 < rate.low < 0.275
    assert 0.325 < rate.high < 0.335


def test_shares_stay_within_their_range():
    assert corrected_rate(100, 1000, **GOOD).value == 0
    assert corrected_rate(100, 1000, **GOOD).low == 0
    assert corrected_rate(950, 1000, **GOOD).value == 1


def test_labelled_items_among_the_judged_ones_narrow_the_interval():
    apart, among = corrected_rate(220, 400, **GOOD), corrected_rate(220, 400, **GOOD, n_shared=200)
    assert apart.value == among.value
    assert among.high - among.low < 0.8 * (apart.high - apart.low)


@pytest.mark.parametrize(
    ("counts", "undefined"),
    [((5, 5, 5, 5), "weak_judge"), ((54, 46, 45, 55), "weak_judge"), ((10, 0, 10, 0), "weak_judge"),
     ((0, 0, 2, 8), "no_labels"), ((2, 8, 0, 0), "no_labels")],
)  # fmt: skip
def test_a_judge_that_says_nothing_corrects_nothing(counts, undefined):
    rate = corrected_rate(50, 100, **dict(zip(("hits", "misses", "false_alarms", "rejections"), counts, strict=True)))
    assert math.isnan(rate.value)
    assert rate.undefined == undefined
    assert corrected_rate(0, 0, **GOOD).undefined == "no_labels"


@pytest.mark.parametrize(
    "arguments", [(11, 10, GOOD), (-1, 10, GOOD), (1, 10, GOOD | {"misses": -1}), (1, 10, GOOD | {"n_shared": 11})]
)
def test_counts_must_fit_together(arguments):
    n_called, n, rest = arguments
    with pytest.raises(InputError, match="expected"):
        corrected_rate(n_called, n, **rest)


@pytest.mark.slow
@pytest.mark.parametrize("among", [False, True])
def test_the_interval_holds_in_95_of_100(among):
    rng = np.random.default_rng(7)
    for judge, share, sizes in product(JUDGES, SHARES, SIZES):
        covered = coverage(rng, judge, share, sizes, among=among, n_draws=2500)
        assert 0.93 <= covered <= (0.975 if sizes[0] >= 100 else 0.985), (judge, share, sizes, covered)
