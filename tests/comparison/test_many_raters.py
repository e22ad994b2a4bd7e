"""Many raters: the values of pairs are those that counting item by item gives, and what takes too long is said."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.comparison.raters import agreement as agreements
from steelyard.comparison.raters import pairs
from tests.hypothesis_profiles import examples

Labels = dict[str, dict[str, int]]
Both = list[tuple[int, int]]


def naive_exact(both: Both) -> float:
    return sum(a == b for a, b in both) / len(both)


def naive_kappa(both: Both, cost: Callable[[int, int], float]) -> float:
    """Observed disagreement over that of all combinations of a label of one with a label of the other."""
    used = sorted({label for pair in both for label in pair})
    place = {label: n for n, label in enumerate(used)}
    observed = sum(cost(place[a], place[b]) for a, b in both) * len(both)
    expected = sum(cost(place[a], place[b]) for a, _ in both for _, b in both)
    return 1 - observed / expected if expected else math.nan


def naive_alpha(both: Both) -> float:
    """Krippendorff's alpha of numbers, from all pairs of values of an item, and of all items."""
    values = [label for pair in both for label in pair]
    observed = sum((a - b) ** 2 for a, b in both) * 2 / len(values)
    apart = sum((a - b) ** 2 for i, a in enumerate(values) for j, b in enumerate(values) if i != j)
    return 1 - observed * len(values) * (len(values) - 1) / apart if apart else math.nan


def naive_tau(both: Both) -> float:
    """Kendall's tau-b, pair of items by pair of items."""
    signs = [((a > c) - (a < c), (b > d) - (b < d)) for (a, b), (c, d) in combinations(both, 2)]
    untied = [sum(bool(sign[side]) for sign in signs) for side in (0, 1)]
    return sum(x * y for x, y in signs) / math.sqrt(untied[0] * untied[1]) if all(untied) else math.nan


NAIVE: dict[str, Callable[[Both], float]] = {
    "exact": naive_exact,
    "kappa": lambda both: naive_kappa(both, lambda a, b: float(a != b)),
    "kappa_linear": lambda both: naive_kappa(both, lambda a, b: float(abs(a - b))),
    "kappa_quadratic": lambda both: naive_kappa(both, lambda a, b: float((a - b) ** 2)),
    "alpha_interval": naive_alpha,
    "mean_difference": lambda both: sum(b - a for a, b in both) / len(both),
    "kendall": naive_tau,
}
gaps_or_labels = st.lists(st.lists(st.sampled_from([None, 0, 1, 3]), min_size=7, max_size=7), min_size=2, max_size=6)


@examples(200)
@given(gaps_or_labels)
def test_pairs_are_what_counting_item_by_item_gives(rows: list[list[int | None]]) -> None:
    data: Labels = {
        f"r{r}": {f"i{n}": label for n, label in enumerate(row) if label is not None} for r, row in enumerate(rows)
    }
    data = {rater: labels for rater, labels in data.items() if labels}
    if len(data) < 2:
        return
    pairs = {frozenset((pair.rater, pair.against)): pair for pair in sy.agreement(data).pairs}
    assert len(pairs) == math.comb(len(data), 2)
    for first, second in combinations(data, 2):
        pair = pairs[frozenset((first, second))]
        one, other = data[pair.against], data[pair.rater]
        both = [(one[item], other[item]) for item in one if item in other]
        assert pair.n == len(both)
        for name, naive in NAIVE.items():
            want = naive(both) if both else math.nan
            assert pair.estimates[name].value == pytest.approx(want, abs=1e-12, nan_ok=True), name


def crowd(n_raters: int, n_items: int) -> Labels:
    return {f"r{r}": {f"i{i}": (i * 7 + r * (i % 3)) % 4 for i in range(n_items)} for r in range(n_raters)}


def test_many_pairs_have_the_same_values_and_no_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    with_intervals = sy.agreement(crowd(4, 12), n_resamples=50)
    monkeypatch.setattr(pairs, "MOST_RESAMPLED", 5)
    without = sy.agreement(crowd(4, 12), n_resamples=50)
    assert {pair.no_interval for pair in without.pairs} == {"many"}
    for own, other in zip(without.pairs, with_intervals.pairs, strict=True):
        assert (own.rater, own.against, other.no_interval) == (other.rater, other.against, "")
        for name, estimate in own.estimates.items():
            assert estimate.value == pytest.approx(other.estimates[name].value, abs=1e-12, nan_ok=True)
            assert math.isnan(estimate.low)
    assert without.together == with_intervals.together
    assert "No pair has an interval, as 6 pairs are more" in without.text(lang="en")


@pytest.mark.parametrize(
    ("lang", "sentences"),
    [
        ("en", ["120 raters make 7,140 pairs, and more than 5,000 are not", "There are 120 raters of 30 items."]),
        ("zh", ["120 位标注者共有 7,140 对", "共有 120 位标注者、30 个条目。"]),
    ],
)
def test_too_many_raters_have_alpha_and_a_hint(lang: str, sentences: list[str]) -> None:
    done: list[tuple[str, int, int]] = []
    many = sy.agreement(crowd(120, 30), n_resamples=50, progress=lambda *call: done.append(call))
    assert (many.pairs, done) == ([], [])
    assert 0 < many.together["ordinal"].value < 1
    text = many.text(lang=lang, explain=True)
    for sentence in sentences:
        assert sentence in text
    against = sy.agreement(crowd(120, 30), reference="r0", n_resamples=50, progress=lambda *call: done.append(call))
    assert len(against.pairs) == 119
    assert done[0] == ("pairs", 0, 119)


def test_every_format_can_do_without_pairs(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(agreements, "MOST_PAIRS", 2)
    few = sy.agreement(crowd(3, 12), n_resamples=50)
    for format in ("table", "markdown", "latex", "csv", "json"):
        assert few.text(format, lang="en"), format
