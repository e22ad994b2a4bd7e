"""Gold replay: how often an unchanged system is alarmed for, and how soon a loss is, where the truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.tests.replays import paired_gain, run_noise

QUESTIONS, LOOKS, LATER, SHARE, MARGIN, RUNS = 120, 30, 6, 1 / 1200, 0.02, 8
Run = Callable[[Floats, np.random.Generator], Floats]
"""(n,) values as they are measured once, of (n,) true ones."""

NOISES: Mapping[str, Run] = {
    "runs are alike": lambda truth, rng: truth,
    "runs differ by sd .1 a question": lambda truth, rng: truth + 0.1 * rng.standard_normal(len(truth)),
    "one question in 12 is a hit or a miss by chance": lambda truth, rng: np.where(
        np.arange(len(truth)) % 12, truth, rng.random(len(truth)) < 0.5
    ),
    "one run in 300 misses a question": lambda truth, rng: np.where(rng.random(len(truth)) < 1 / 300, 0.0, truth),
}
LOSSES: Mapping[str, Floats] = {
    "each question loses .05": np.full(QUESTIONS, 0.05),
    "12 of 120 lose .5": np.repeat([0.5, 0.0], [12, 108]),
    "6 of 120 lose 1": np.repeat([1.0, 0.0], [6, 114]),
    "30 lose .4, 30 gain .2": np.repeat([0.4, -0.2, 0.0], [30, 30, 60]),
}


def first_alarms(run: Run, loss: Floats, rng: np.random.Generator, *, quiet: int = LOOKS) -> tuple[int, float]:
    """False alarms among the quiet looks of one history, and the look after the loss that alarms first (inf: none)."""
    truth = np.where(rng.random(QUESTIONS) < 0.3, 0.5, 1.0)
    runs = [run(truth, rng)]
    baseline, n_false = runs[0], 0
    for look in range(quiet + LATER):
        now = run(truth - loss * (look >= quiet), rng)
        gain = paired_gain(now - baseline, run_noise(runs[-RUNS:]))
        is_alarm = gain.p < SHARE and gain.mean <= -MARGIN
        if is_alarm and look >= quiet:
            return n_false, look - quiet + 1
        n_false += is_alarm
        runs.append(now)
    return n_false, math.inf


def rates(run: Run, loss: Floats, *, draws: int, seed: int, quiet: int = LOOKS) -> tuple[float, float, float]:
    """False alarms a look; the share of losses that are found at the first look; the median look that finds one."""
    rng = np.random.default_rng(seed)
    counts, looks = zip(*(first_alarms(run, loss, rng, quiet=quiet) for _ in range(draws)), strict=True)
    first = np.array(looks)
    return sum(counts) / (draws * max(quiet, 1)), float((first == 1).mean()), float(np.median(first))


def replay_table(draws: int, seed: int) -> Table:
    """Noise between runs, and losses of .05 of several shapes."""
    rows = []
    for noise, run in NOISES.items():
        found = [rates(run, loss, draws=draws, seed=seed + i) for i, loss in enumerate(LOSSES.values())]
        alarms = float(np.mean([own[0] for own in found])) / SHARE
        rows.append([noise, f"{alarms:.2f}", *(f"{percent(own[1])}, {own[2]:g}" for own in found)])
    return Table(
        f"Replay of {QUESTIONS} questions at 1 false alarm in 1,200 looks: false alarms as a multiple of that; and of "
        "a loss of .05 in recall: found at the first look, and the median look",
        ["between runs", "false alarms", *LOSSES],
        rows,
    )
