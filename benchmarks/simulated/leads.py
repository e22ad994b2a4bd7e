"""How often the best of equally good pipelines of a sweep leads by more than its 95% point."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.simulated.samples import alike
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.rankings import lead_over_average, lead_over_next

PIPELINES, QUESTIONS = (3, 8, 24), (20, 50, 200)
N_RESAMPLES = 999
BEHIND = 5.0
"""How far all but two pipelines are behind, where two are ahead."""

LIMITS = (
    "the mean lead over the average",
    "the 95% point of that",
    "the 95% point over the next one",
    "the same, two ahead of all others",
)

Draw = Callable[[np.random.Generator, int, int], Floats]


def copies(rng: np.random.Generator, s: int, n: int) -> Floats:
    """(s, n) values in threes that hardly differ, as of settings without much effect, over what questions share."""
    families = np.repeat(rng.normal(0, 0.2, (-(-s // 3), n)), 3, axis=0)[:s]
    return np.asarray(rng.beta(1, 1, n) + families + rng.normal(0, 0.02, (s, n)))


def hits(rng: np.random.Generator, s: int, n: int) -> Floats:
    """(s, n) values of 0 and 1, nine of ten the same for all pipelines."""
    own = rng.random((s, n)) < 0.1
    return np.where(own, rng.random((s, n)) < 0.7, rng.random(n) < 0.7).astype(np.float64)


def thirds(rng: np.random.Generator, s: int, n: int) -> Floats:
    """(s, n) recall of three gold pieces, four of five values the same for all pipelines."""
    own = rng.random((s, n)) < 0.2
    return np.asarray(np.where(own, rng.integers(0, 4, (s, n)), rng.integers(0, 4, n)) / 3)


def uneven(rng: np.random.Generator, s: int, n: int) -> Floats:
    """(s, n) values of one pipeline that scatters twenty times as much as the others, which share nothing."""
    return np.asarray(rng.normal(size=(s, n)) * np.where(np.arange(s) == 0, 1.0, 0.05)[:, None])


DRAWS: Mapping[str, Draw] = {
    "share difficulty, bounded": alike,
    "near copies in threes": copies,
    "0 or 1, nine of ten shared": hits,
    "thirds, four of five shared": thirds,
    "one scatters, nothing shared": uneven,
}


def exceeded(draw: Draw, s: int, n: int, *, draws: int, seed: int) -> list[float]:
    """Shares of sweeps whose best exceeds: the old mean lead; the 95% points over average and next; two being ahead."""
    rng, counts = np.random.default_rng([seed, s, n]), np.zeros(4)
    for i in range(draws):
        values = draw(rng, s, n)
        average = lead_over_average(values, seed=i, n_resamples=N_RESAMPLES)
        two_ahead = values - BEHIND * (np.arange(s) > 1)[:, None]
        counts += [
            average.lead > mean_lead(values, rng),
            average.p <= 0.05,
            lead_over_next(values).p <= 0.05,
            lead_over_next(two_ahead).p <= 0.05,
        ]
    return (counts / draws).tolist()


def mean_lead(values: Floats, rng: np.random.Generator) -> float:
    """The mean lead over the average, of centred values whose questions are drawn with replacement."""
    n = values.shape[1]
    drawn = rng.multinomial(n, np.full(n, 1 / n), size=200) @ (values - values.mean(axis=1)[:, None]).T / n
    return float((drawn.max(axis=1) - drawn.mean(axis=1)).mean())


def lead_table(draws: int, seed: int) -> Table:
    """Leads of equally good pipelines, by what they have in common and how many they are: the most of three counts."""
    rows = []
    for name, draw in DRAWS.items():
        for s in PIPELINES:
            shares = [exceeded(draw, s, n, draws=draws, seed=seed) for n in QUESTIONS]
            rows.append([name, str(s), *(percent(max(column)) for column in zip(*shares, strict=True))])
    return Table(
        f"How often the best of equally good pipelines leads by more than a limit (the most of {QUESTIONS} questions)",
        ["values", "pipelines", *LIMITS],
        rows,
    )
