"""How often a series whose level never changes shows a change all the same, and how soon a true loss is located.

`python -m benchmarks.simulated.changes` draws the penalties of `steelyard.stats.changes` again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.changes import RATES, find_levels, step_interval

_DRAWS = {8: 40_000, 20: 20_000, 100: 10_000, 300: 3000, 1000: 1500}
"""Series for the penalties, by their greatest length."""


def best_partitions(series: Floats, penalties: Floats) -> tuple[Floats, Ints]:
    """How much less the squares of (d, n) series sum up to in their best partition, and the changes in it.

    All partitions are looked at, a start at a time for all series together: nothing is pruned.
    """
    d, n = series.shape
    sums, rows = np.concatenate([np.zeros((d, 1)), np.cumsum(series, axis=1)], axis=1), np.arange(d)
    cost, changes = np.full((d, n + 1), np.inf), np.zeros((d, n + 1), np.int64)
    cost[:, 0], changes[:, 0] = -penalties, -1
    for end in range(1, n + 1):
        ways = cost[:, :end] - (sums[:, [end]] - sums[:, :end]) ** 2 / (end - np.arange(end))
        best = ways.argmin(axis=1)
        cost[:, end] = ways[rows, best] + penalties
        changes[:, end] = changes[rows, best] + 1
    gains = penalties * changes[:, n] - cost[:, n] - sums[:, n] ** 2 / n
    return gains, changes[:, n]


def least_penalties(series: Floats) -> Floats:
    """(d,) the least penalty at which a series of (d, n) has no change."""
    penalties, open_rows = np.zeros(len(series)), np.arange(len(series))
    while len(open_rows):
        gains, changes = best_partitions(series[open_rows], penalties[open_rows] * (1 + 1e-9))
        gains, changes, open_rows = gains[changes > 0], changes[changes > 0], open_rows[changes > 0]
        penalties[open_rows] = gains / changes
    return penalties


def drawn_penalties(n: int, draws: int, seed: int) -> Floats:
    """Penalties that so many of normal series without a change exceed as RATES say, in variances of the noise.

    That is each series' own estimate; n is FEWEST at least.
    """
    series = np.random.default_rng([seed, n]).normal(size=(draws, n))
    noise = np.array([find_levels(row).noise for row in series])
    return np.quantile(least_penalties(series) / noise**2, 1 - np.array(RATES))


def _repeated(rng: np.random.Generator, draws: int, n: int) -> Floats:
    """Seven entries of ten measure nothing again."""
    fresh = rng.random((draws, n)) > 0.7
    fresh[:, 0] = True
    last = np.maximum.accumulate(np.where(fresh, np.arange(n), 0), axis=1)
    return np.take_along_axis(rng.normal(size=(draws, n)), last, axis=1)


def _correlated(rng: np.random.Generator, draws: int, n: int) -> Floats:
    """An entry takes over .3 of how far the one before was off."""
    series = rng.normal(size=(draws, n))
    for place in range(1, n):
        series[:, place] = 0.3 * series[:, place - 1] + 0.91**0.5 * series[:, place]
    return series


NOISE: Mapping[str, Callable[[np.random.Generator, int, int], Floats]] = {
    "normal": lambda rng, draws, n: rng.normal(size=(draws, n)),
    "rounded to one sd": lambda rng, draws, n: np.round(rng.normal(size=(draws, n))),
    "7 entries of 10 repeat the one before": _repeated,
    "heavy tails (t, 4 df)": lambda rng, draws, n: rng.standard_t(4, size=(draws, n)),
    "sd between 1 and 3": lambda rng, draws, n: rng.normal(size=(draws, n)) * rng.uniform(1, 3, (draws, n)),
    "neighbours correlated by .3": _correlated,
    "a random walk": lambda rng, draws, n: np.cumsum(rng.normal(size=(draws, n)), axis=1),
}
LENGTHS = (10, 30, 100, 300)
LOSSES, AFTER, BEFORE = (1, 2, 3, 5), (2, 3, 5, 10, 20), 30


def false_alarms(draws: int, seed: int, kind: str, n: int) -> float:
    """The share of series without a change that show one."""
    series = NOISE[kind](np.random.default_rng([seed, n]), draws, n)
    return float(np.mean([len(find_levels(row).starts) > 1 for row in series]))


def change_table(draws: int, seed: int) -> Table:
    """False alarms by what the noise is like, and by the number of entries."""
    return Table(
        "How often a change is shown where the level never changes, at 5%",
        ["noise", *(f"{n} entries" for n in LENGTHS)],
        [[kind, *(percent(false_alarms(draws, seed, kind, n)) for n in LENGTHS)] for kind in NOISE],
    )


def located(draws: int, seed: int, loss: float) -> tuple[list[float], float, float]:
    """After how many entries a loss shows, and at its end whether at the right entry, or two beside it at most."""
    rng, starts = np.random.default_rng([seed, round(10 * loss)]), list[list[int]]()
    for _ in range(draws):
        series = rng.normal(size=BEFORE + AFTER[-1])
        series[BEFORE:] -= loss
        starts.append([_nearest(series[: BEFORE + n]) for n in AFTER])
    away = np.abs(np.array(starts) - BEFORE)
    shown = (away < BEFORE).mean(axis=0).tolist()
    at_end = away[away[:, -1] < BEFORE, -1]
    return shown, float(np.mean(at_end == 0)), float(np.mean(at_end <= 2))


def _nearest(series: Floats) -> int:
    """The start of the level that begins nearest to the loss; 0 where there is one level."""
    return min(find_levels(series).starts.tolist(), key=lambda start: abs(start - BEFORE))


def loss_table(draws: int, seed: int) -> Table:
    """How soon a loss after 30 entries shows, and where."""
    rows = [(loss, *located(draws, seed, loss)) for loss in LOSSES]
    return Table(
        f"How soon a loss shows that follows {BEFORE} entries at one level, and at which entry",
        ["loss", *(f"shown {n} entries later" for n in AFTER), "then at the right entry", "or at most 2 beside it"],
        [[f"{loss} sd", *map(percent, [*shown, right, near])] for loss, shown, right, near in rows],
    )


N_QUESTIONS, SD, N_STEPS = 120, 0.05, (1, 3, 6)
"""Questions, of which each commit that changes anything moves half, by so much; and such commits in a history."""


def step_rates(draws: int, seed: int, n_steps: int, loss: float) -> tuple[float, float]:
    """How often any step of luck shows, and how often the last one does where a loss is added to it."""
    rng, any_shown, last_shown = np.random.default_rng([seed, n_steps]), 0, 0
    for _ in range(draws):
        moved = rng.normal(0, SD, (n_steps, N_QUESTIONS)) * (rng.random((n_steps, N_QUESTIONS)) < 0.5)
        any_shown += any(_is_shown(d, n_steps) for d in moved)
        last_shown += _is_shown(moved[-1] - loss, n_steps)
    return any_shown / draws, last_shown / draws


def _is_shown(d: Floats, n_steps: int) -> bool:
    _, low, high = step_interval(d, n_steps=n_steps)
    return low > 0 or high < 0


def step_table(draws: int, seed: int) -> Table:
    """False alarms and losses of a system that repeats itself but for a few commits."""
    rates = {(n, loss): step_rates(draws, seed, n, loss) for n in N_STEPS for loss in (0.01, 0.02)}
    return Table(
        f"How often a step shows in a history that repeats itself but for a few commits, each of which moves half of "
        f"{N_QUESTIONS} questions by sd {SD:g}",
        ["commits", "any, without a loss", "a loss of .01", "a loss of .02"],
        [[str(n), *map(percent, [rates[n, 0.01][0], *(rates[n, loss][1] for loss in (0.01, 0.02))])] for n in N_STEPS],
    )


if __name__ == "__main__":
    for n in map(int, sys.argv[1:]):
        draws = next(_DRAWS[most] for most in _DRAWS if n <= most)
        print(n, drawn_penalties(n, draws, 1).round(2).tolist(), flush=True)
