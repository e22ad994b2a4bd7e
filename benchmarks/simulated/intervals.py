"""How often intervals of differences leave out the truth."""

from __future__ import annotations

import math

import numpy as np
from benchmarks.simulated.power import Draw, normal, plan_of, real
from benchmarks.simulated.tables import Table, percent

from steelyard.comparison.differences import difference_interval
from steelyard.stats.samples import differences

QUESTIONS = {"t": (10, 20, 50), "randomization": (10, 12)}
"""Few of sign flips, which try all patterns of few questions, and draw very many of more."""


def misses(test: str, draw: Draw, n: int, *, n_others: int, draws: int, seed: int) -> float:
    """The share of samples in which any interval of the others' differences from the first system leaves out a true 0.

    n_others   systems; each interval by itself has their share of .05, as by Bonferroni and the first step of Holm's
    """
    rng, missed = np.random.default_rng(seed), []
    plan, alpha = plan_of(1 + n_others, test), 0.05 / n_others
    for _ in range(draws):
        values = draw(rng)(n)
        ends = [
            difference_interval(differences(values[0], other), plan, alpha=alpha, width=math.inf)
            for other in values[1:]
        ]
        missed.append(any(low > 0 or high < 0 for low, high in ends))
    return float(np.mean(missed))


def interval_table(draws: int, seed: int) -> Table:
    """Intervals of one difference by itself, and of three together."""
    rows = []
    for test, counts in QUESTIONS.items():
        for n_others in (1, 3):
            for n in counts:
                draws_of = (normal(1 + n_others), real(1 + n_others))
                shares = [misses(test, draw, n, n_others=n_others, draws=draws, seed=seed) for draw in draws_of]
                rows.append([f"{test}, {n} questions, {n_others} at once", *map(percent, shares)])
    return Table(
        "How often some 95% interval of a difference leaves out a true 0",
        ["test, questions, intervals", "normal differences", "TREC's"],
        rows,
    )
