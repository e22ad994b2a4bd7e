"""How often several runs of two equally good systems show a difference that is none."""

from __future__ import annotations

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import mean_error
from steelyard.stats.spread import variance_components
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


COMMIT_QUESTIONS, SD_CHANGE = 120, 0.05
"""Of a set that each commit is measured on; half of its questions change, by so much."""
RUNS_OF_COMMITS = ((1, 1), (3, 1), (3, 3), (10, 10))


def commit_rates(draws: int, seed: int, runs: tuple[int, int], sd_runs: float, loss: float) -> list[float]:
    """Of two commits, each the mean of its runs: how often their difference is shown, half the width of its interval
    on average, and the standard deviation between runs as these estimate it.

    loss   of the second commit, of every question
    """
    rng, totals, estimates = np.random.default_rng(seed), np.zeros(2), list[float]()
    for _ in range(draws):
        own, changed = rng.normal(0, 0.3, COMMIT_QUESTIONS), rng.random(COMMIT_QUESTIONS) < 0.5
        change = np.where(changed, rng.normal(0, SD_CHANGE, COMMIT_QUESTIONS), 0.0)
        first, second = (
            mean + rng.normal(0, sd_runs, (n, COMMIT_QUESTIONS))
            for mean, n in zip((own, own + change - loss), runs, strict=True)
        )
        average = mean_error(second.mean(axis=0) - first.mean(axis=0))
        half = t_quantile(0.975, average.df) * average.error
        totals += [abs(average.mean) > half, half]
        estimates.append(variance_components(first).sd_runs)
    return [*(totals / draws).tolist(), float(np.mean(estimates))]


def commit_table(draws: int, seed: int) -> Table:
    """Two commits of a system whose answers vary, by how many runs there are of each."""
    rows = []
    for sd in SD_RUNS:
        for runs in RUNS_OF_COMMITS:
            shown, half, estimate = commit_rates(draws, seed, runs, sd, 0.0)
            losses = [commit_rates(draws, seed, runs, sd, loss)[0] for loss in (0.02, 0.05)]
            rows.append([
                f"{sd:g}", f"{runs[0]} and {runs[1]}", percent(shown), *map(percent, losses), f"{half:.3f}",
                f"{estimate:.3f}" if runs[0] > 1 else "–",
            ])  # fmt: skip
    return Table(
        f"Two commits of a system whose answers vary, on {COMMIT_QUESTIONS} questions, by the runs of each",
        ["sd between runs", "runs", "difference shown that is none", "loss of .02 shown", "loss of .05 shown",
         "half the interval", "sd between runs, estimated"],
        rows,
    )  # fmt: skip


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
