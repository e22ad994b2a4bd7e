"""How often a percentile passes as "not worse": of systems that are equal, and with a true loss of the margin."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from benchmarks.simulated.tables import Table

from steelyard.base.arrays import Floats
from steelyard.gates.against import percentile_resolution
from steelyard.stats.intervals.percentiles import percentile_difference

QUESTIONS = (75, 100, 225, 500, 1000)
PILOTS = (100, 225)
SHARE = 0.95
MARGIN = 0.15
"""Of the baseline's P95."""
ALPHA = 0.05

Shape = Callable[[Floats], Floats]
"""Milliseconds of standard normal values."""


def lognormal(sigma: float) -> Shape:
    return lambda z: 100 * np.exp(sigma * z)


def rounded(z: Floats) -> Floats:
    """To 10 ms, so that many are equal."""
    return np.round(100 * np.exp(0.6 * z), -1)


@dataclass(frozen=True)
class Pair:
    """The latencies of two systems;   alike   correlation of their logarithms, by the question."""

    first: Shape
    second: Shape
    alike: float

    @property
    def margin(self) -> float:
        """In milliseconds."""
        return float(MARGIN * _true(self.first))

    def draw(self, rng: np.random.Generator, n: int, loss: float) -> tuple[Floats, Floats]:
        """(n,) latencies of both, the percentile of the second being larger by the loss."""
        shared = rng.normal(size=n)
        z = math.sqrt(self.alike) * shared + math.sqrt(1 - self.alike) * rng.normal(size=(2, n))
        moved = _true(self.first) - _true(self.second) + loss
        return self.first(z[0]), self.second(z[1]) + moved


def _true(shape: Shape) -> float:
    return float(shape(np.array([NormalDist().inv_cdf(SHARE)]))[0])


PAIRS: Mapping[str, Pair] = {
    **{f"alike, correlation {r:g}": Pair(lognormal(0.6), lognormal(0.6), r) for r in (0.0, 0.5, 0.9)},
    "second steadier, correlation .5": Pair(lognormal(0.8), lognormal(0.2), 0.5),
    "second less steady, correlation .5": Pair(lognormal(0.2), lognormal(0.8), 0.5),
    "rounded to 10 ms, correlation .5": Pair(rounded, rounded, 0.5),
}


def limit(pair: Pair, n: int, loss: float, rng: np.random.Generator) -> tuple[float, float]:
    """The difference of n questions, and the limit that has to be below the margin."""
    first, second = pair.draw(rng, n, loss)
    difference = percentile_difference(first[None], second[None], SHARE)
    return difference.value, difference.interval(1 - 2 * ALPHA)[1]


def passes(pair: Pair, n: int, loss: float, *, draws: int, rng: np.random.Generator) -> float:
    """The share of samples in which the gate passes."""
    return sum(limit(pair, n, loss, rng)[1] < pair.margin for _ in range(draws)) / draws


def passes_at_needed(pair: Pair, n: int, *, draws: int, rng: np.random.Generator) -> tuple[int, float]:
    """The median number of questions that n equal ones say are needed, and the share of samples of it that pass."""
    numbers, count = list[int](), 0
    for _ in range(draws):
        value, high = limit(pair, n, 0.0, rng)
        needed = percentile_resolution(high - value, n, SHARE, margin=pair.margin, alpha=ALPHA)[1] or n
        numbers.append(needed)
        count += limit(pair, needed, 0.0, rng)[1] < pair.margin
    return int(np.median(numbers)), count / draws


def percentile_gate_table(draws: int, seed: int) -> Table:
    """Passes of a true loss of the margin, of equal percentiles, and of these with the questions that are needed."""
    rng = np.random.default_rng(seed)

    def text(pair: Pair, n: int) -> str:
        shares = (passes(pair, n, loss, draws=draws, rng=rng) for loss in (pair.margin, 0.0))
        return " / ".join(f"{100 * share:.0f}" for share in shares)

    def needed(pair: Pair, n: int) -> str:
        number, share = passes_at_needed(pair, n, draws=draws, rng=rng)
        return f"{number}: {100 * share:.0f}"

    return Table(
        "A P95 passes as not worse by 15% of the baseline's, in %: with a true loss of the margin / with equal P95",
        ["latencies", *(f"{n} questions" for n in QUESTIONS), *(f"needed by {n}, and passes" for n in PILOTS)],
        [
            [name, *(text(pair, n) for n in QUESTIONS), *(needed(pair, n) for n in PILOTS)]
            for name, pair in PAIRS.items()
        ],
    )
