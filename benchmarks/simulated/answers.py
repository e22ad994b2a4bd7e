"""How often intervals of faithfulness, of its difference between groups, and of abstention_f1 hold the truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.measures.aggregates import AGGREGATIONS
from steelyard.stats.intervals.means import group_difference, mean_intervals

QUESTIONS = (10, 20, 50, 100, 200)
WHOLE = (0.5, 0.8, 0.95)
"""Shares of answers of which all units are supported."""
SUPPORTED = 0.6
"""Of the units of other answers, the share that is."""
WITHOUT_GOLD = 0.2
"""Of all questions, the share without gold in the context, whose answers are whole three tenths less often."""
ABSTAINING = ((0.2, 0.8, 0.05), (0.1, 0.9, 0.02), (0.3, 0.5, 0.1))
"""Shares: of questions without an answer, of those that are abstained on, and of others that are."""

Held = tuple[float, float]
"""The share of intervals that hold the truth, and how wide they are on average."""


def faithful(rng: np.random.Generator, shape: tuple[int, ...], whole: float) -> Floats:
    """Shares of one to a handful of units, three on average; some answers are supported as a whole."""
    n_units = 1 + rng.poisson(2, shape)
    return np.where(rng.random(shape) < whole, 1.0, rng.binomial(n_units, SUPPORTED) / n_units)


def true_mean(whole: float) -> float:
    """What `faithful` gives on average."""
    return whole + (1 - whole) * SUPPORTED


def mean_held(rng: np.random.Generator, n: int, draws: int, whole: float) -> Held:
    """Of intervals of mean faithfulness."""
    interval, truth = mean_intervals(faithful(rng, (n, draws), whole), bounds=(0, 1)), true_mean(whole)
    held = (interval.low <= truth) & (truth <= interval.high)
    return float(held.mean()), float((interval.high - interval.low).mean())


def difference_held(rng: np.random.Generator, n: int, draws: int, whole: float) -> Held:
    """Of intervals of the difference between questions with and without gold in the context."""
    n_without, less = max(2, round(WITHOUT_GOLD * n)), whole - 0.3
    truth = true_mean(whole) - true_mean(less)
    intervals = [
        group_difference(faithful(rng, (n - n_without,), whole), faithful(rng, (n_without,), less), bounds=(0, 1))
        for _ in range(draws)
    ]
    held = [interval.low <= truth <= interval.high for interval in intervals]
    return float(np.mean(held)), float(np.mean([interval.high - interval.low for interval in intervals]))


def f1_held(rng: np.random.Generator, n: int, draws: int, shares: tuple[float, float, float]) -> Held:
    """Of intervals of abstention_f1, of those samples that have one: in which two questions or more count."""
    unanswerable, right, wrong = shares
    after = AGGREGATIONS["f1"].after
    truth = after(np.array(unanswerable * right / (unanswerable + (1 - unanswerable) * wrong)))
    held, widths = [], []
    for _ in range(draws):
        cannot = rng.random(n) < unanswerable
        abstains = rng.random(n) < np.where(cannot, right, wrong)
        counted = cannot | abstains
        if counted.sum() < 2:
            continue
        interval = mean_intervals((cannot & abstains)[counted, None].astype(float), bounds=(0, 1))
        low, high = after(interval.low)[0], after(interval.high)[0]
        held.append(low - 1e-12 <= truth <= high + 1e-12)
        widths.append(high - low)
    return float(np.mean(held)), float(np.mean(widths))


def answer_rows(draws: int, seed: int) -> dict[str, list[Held]]:
    """By name, for each number of questions."""
    rng = np.random.default_rng(seed)

    def row(held: Callable[..., Held], case: object) -> list[Held]:
        return [held(rng, n, draws, case) for n in QUESTIONS]

    return {
        **{f"faithfulness, {whole:.0%} of the answers at 1": row(mean_held, whole) for whole in WHOLE},
        **{f"its difference by gold, {whole:.0%} at 1 with it": row(difference_held, whole) for whole in WHOLE},
        **{
            f"abstention_f1, {a:.0%} without an answer, abstains on {b:.0%} and {c:.0%}": row(f1_held, (a, b, c))
            for a, b, c in ABSTAINING
        },
    }


def answer_table(draws: int, seed: int) -> Table:
    """How often an interval of 95% holds the truth, and how wide it is."""
    return Table(
        "Intervals of 95% of measures of answers hold the truth (in brackets how wide they are)",
        ["values", *(f"{n} questions" for n in QUESTIONS)],
        [
            [name, *(f"{percent(held)} ({width:.2f})" for held, width in cells)]
            for name, cells in answer_rows(draws, seed).items()
        ],
    )
