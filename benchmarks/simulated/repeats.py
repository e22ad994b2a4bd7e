"""How often several runs of two equally good systems show a difference that is none."""

from __future__ import annotations

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.tests.paired import paired_t

N_QUESTIONS, N_RUNS = 40, (1, 3, 10)
SD_RUNS = (0.05, 0.15, 0.3)
"""Between runs of one question, where questions differ by .3."""


def differences_of_runs(rng: np.random.Generator, n_runs: int, sd_runs: float) -> Floats:
    """(r, n) differences of two systems: alike on the mean of all questions and runs."""
    return rng.normal(0, 0.3, N_QUESTIONS) + rng.normal(0, sd_runs, (n_runs, N_QUESTIONS))


def false_positives(draws: int, seed: int, n_runs: int, sd_runs: float) -> tuple[float, float]:
    """The share of samples with p of .05 or less: averaged within the question, and each run as further questions."""
    rng, shown = np.random.default_rng(seed), np.zeros(2)
    for _ in range(draws):
        d = differences_of_runs(rng, n_runs, sd_runs)
        shown += [paired_t(values).p <= 0.05 for values in (d.mean(axis=0), d.ravel())]
    averaged, pooled = shown / draws
    return float(averaged), float(pooled)


def repeat_table(draws: int, seed: int) -> Table:
    """False positives of several runs over the same questions, by how much runs differ."""
    return Table(
        f"How often a difference is shown that is none, of several runs over {N_QUESTIONS} questions",
        ["runs", "sd between runs (.3 between questions)", "averaged within the question", "as further questions"],
        [
            [str(n_runs), f"{sd:g}", *map(percent, false_positives(draws, seed, n_runs, sd))]
            for n_runs in N_RUNS
            for sd in SD_RUNS
        ],
    )
