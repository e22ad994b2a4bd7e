"""Judged answers of two arms: how often the interval of their difference holds the truth, where the judge is biased."""

from __future__ import annotations

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.arms.judged import judged_contrast


def held(draws: int, seed: int, *, n: int, n_labels: int, bias: float, is_labelled: bool = True) -> Floats:
    """(draws,) whether the 95% interval holds the difference, which is 0: shares of good answers vary by user.

    n        answers of each arm, two of a user;   n_labels   of each arm
    bias     share of the other arm's bad answers that the judge takes for good
    """
    rng, holds = np.random.default_rng(seed), np.zeros(draws)
    for draw in range(draws):
        unit = np.repeat(np.arange(n), 2)
        arm = np.repeat([0, 1], n // 2)
        truth = (rng.random(2 * n) < rng.beta(4, 2, n)[unit]).astype(float)
        is_other = arm[unit] == 1
        judged = np.where(rng.random(2 * n) < 0.1, 1 - truth, truth)
        judged = np.where(is_other & (rng.random(2 * n) < bias), 1.0, judged)
        people = np.full(2 * n, np.nan)
        for place in (0, 1) if is_labelled else ():
            drawn = rng.choice(np.flatnonzero(is_other == bool(place)), n_labels, replace=False)
            people[drawn] = truth[drawn]
        low, high = judged_contrast(arm, unit, judged, people).interval()
        holds[draw] = low <= 0 <= high
    return holds


def judged_arm_table(draws: int, seed: int) -> Table:
    """By the number of labels."""
    rows = []
    for n, n_labels in ((100, 10), (100, 30), (200, 50), (200, 100)):
        cells = [percent(float(held(draws, seed, n=n, n_labels=n_labels, bias=bias).mean())) for bias in (0.0, 0.5)]
        plain = held(draws, seed, n=n, n_labels=n_labels, bias=0.5, is_labelled=False).mean()
        rows.append([f"{n} answers of each arm, {n_labels} labels", *cells, percent(float(plain))])
    columns = ["drawn", "judge alike", "judge favours an arm", "the same, without labels"]
    return Table("How often 95% intervals of judged arms hold the truth", columns, rows)
