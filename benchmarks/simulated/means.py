"""How often intervals of means hold the true mean, and how wide they are beside Student's t."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist

import numpy as np
from benchmarks.simulated.samples import real_scores
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.intervals.means import mean_intervals, skewed_intervals

QUESTIONS = (5, 10, 20, 50, 100, 200)
HITS = (0.5, 0.8, 0.9, 0.95)
FIRST = (0.6, 0.8, 0.95)
"""Shares of questions with the relevant document first, or with a perfect list."""
REAL = {
    "RR": ("adhoc5_rr", "adhoc6_rr", "adhoc7_rr", "adhoc8_rr"),
    "P@10": ("adhoc5_p10", "adhoc6_p10", "adhoc7_p10", "adhoc8_p10"),
    "AP": ("adhoc5_ap", "adhoc6_ap", "adhoc7_ap", "adhoc8_ap"),
    "nDCG@20": ("web2010_ndcg20", "web2011_ndcg20", "web2012_ndcg20", "web2013_ndcg20"),
}
PLACES = {"best": 0.0, "upper quarter": 0.25, "median": 0.5, "lower quarter": 0.75}
"""Which of a file's runs, as a share of those that are better."""
NARROW = [(0.95, 0.015, 0.03), (0.9, 0.05, 0.05), (0.9, 0.05, 0.02), (0.5, 0.05, 0.03), (0.8, 0.1, 0.05)]
"""Where most values lie, their standard deviation, and the share of others at 0."""
DEEPEST = 1000
FEW_AND_MANY = (2, 3, 5, 10, 20, 50, 200)
COVERS = 0.92
"""An interval of 95% that holds the mean in so many samples is right enough."""

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]


@dataclass(frozen=True)
class Population:
    """What questions are drawn from: (draws, n) values in 0 to 1, and their true mean."""

    draw: Draw
    mean: float


def of_values(values: Floats, chances: Floats | None = None) -> Population:
    """Values, each of which has a chance; equal ones by default."""
    mean = float(values.mean() if chances is None else values @ chances)
    return Population(lambda rng, shape: rng.choice(values, shape, p=chances), mean)


def reciprocal_ranks(first: float) -> Population:
    """A share first; of the others three in ten are missing, and the rest are at rank 2 with .4, at 3 with .24, …"""
    ranks = np.arange(2, DEEPEST)
    chances = 0.4 * 0.6 ** (ranks - 2)
    chances *= 0.7 * (1 - first) / chances.sum()
    return of_values(np.append(1 / ranks, [1.0, 0.0]), np.append(chances, [first, 0.3 * (1 - first)]))


def perfect_or_any(share: float) -> Population:
    """A share at 1, and the others anywhere around .5, as nDCG of an easy collection."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return np.where(rng.random(shape) < share, 1.0, rng.beta(2, 2, shape))

    return Population(draw, (1 + share) / 2)


def narrow(centre: float, sd: float, share: float) -> Population:
    """Values that scatter little, and a share of others at 0."""

    def draw(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return np.where(rng.random(shape) < share, 0.0, rng.normal(centre, sd, shape).clip(0, 1))

    # The means of the normal variables below 0 and above 1, which are clipped.
    normal, above = NormalDist(centre, sd), (1 - centre) / sd
    beyond = sd * NormalDist().pdf(above) - (1 - centre) * (1 - normal.cdf(1))
    return Population(draw, (1 - share) * (centre - beyond))


def invented() -> dict[str, Population]:
    """Hits, reciprocal ranks and nDCG of which the distribution is known."""
    return {
        **{f"hits, p = {p:g}": of_values(np.array([0.0, 1.0]), np.array([1 - p, p])) for p in HITS},
        **{f"RR, {p:.0%} first": reciprocal_ranks(p) for p in FIRST},
        **{f"nDCG, {p:.0%} perfect": perfect_or_any(p) for p in FIRST},
        **{f"{at:g} ± {sd:g}, {p:.0%} at 0": narrow(at, sd, p) for at, sd, p in NARROW},
    }


def real() -> dict[str, list[Population]]:
    """By measure and place: runs of four of TREC's tasks, whose questions are drawn with replacement."""
    populations: dict[str, list[Population]] = {}
    for measure, files in REAL.items():
        for values in real_scores(names=files):
            best_first = values[np.argsort(-values.mean(axis=1), kind="stable")]
            for place, share in PLACES.items():
                run = best_first[int(share * len(values))]
                populations.setdefault(f"{measure}, {place}", []).append(of_values(run))
    return populations


@dataclass(frozen=True)
class Cell:
    """Shares of intervals that hold the mean, by our rule and by t, and how wide ours is beside t's."""

    held: float
    held_by_t: float
    width: float


def coverage(population: Population, n: int, *, draws: int, rng: np.random.Generator) -> Cell:
    """Many samples of n questions."""
    values = population.draw(rng, (draws, n)).T
    ours, t = mean_intervals(values, bounds=(0, 1)), mean_intervals(values)
    # Of equal values t has none: it takes their mean for certain.
    low, high = (np.where(np.isnan(end), values[0], end) for end in (t.low, t.high))
    held, held_by_t = (
        float(np.mean((least <= population.mean + 1e-9) & (population.mean - 1e-9 <= most)))
        for least, most in ((ours.low, ours.high), (low, high))
    )
    return Cell(held, held_by_t, float((ours.high - ours.low).mean() / max((high - low).mean(), 1e-9)))


def worst(populations: Sequence[Population], n: int, *, draws: int, rng: np.random.Generator) -> str:
    """The least shares of several populations, and the largest width beside t's of those where t holds 92%."""
    cells = [coverage(population, n, draws=draws, rng=rng) for population in populations]
    held, held_by_t = min(cell.held for cell in cells), min(cell.held_by_t for cell in cells)
    widths = [cell.width for cell in cells if cell.held_by_t >= COVERS]
    beside = f"{max(widths):.2f}" if widths else "–"
    return f"{percent(held)} ({percent(held_by_t)}; {beside})"


def mean_table(draws: int, seed: int, questions: Sequence[int] = QUESTIONS) -> Table:
    """How often an interval of 95% holds the true mean."""
    rng = np.random.default_rng(seed)
    rows: Mapping[str, Sequence[Population]] = {
        **{name: [population] for name, population in invented().items()},
        **real(),
    }
    text = partial(worst, draws=draws, rng=rng)
    return Table(
        "Intervals of 95% hold the true mean (in brackets t's; how much wider ours are, where t's hold it in 92%)",
        ["values", *(f"{n} questions" for n in questions)],
        [[name, *(text(populations, n) for n in questions)] for name, populations in rows.items()],
    )


def unbounded() -> dict[str, Population]:
    """Values without a highest one: as latencies and costs are, and some that are not."""

    def outliers(share: float, times: float) -> Population:
        mean = math.exp(0.045) * (1 - share + share * times)
        return Population(
            lambda rng, shape: rng.lognormal(0, 0.3, shape) * np.where(rng.random(shape) < share, times, 1.0), mean
        )

    return {
        **{
            f"lognormal, σ = {sigma:g}": Population(partial(_lognormal, sigma), math.exp(sigma**2 / 2))
            for sigma in (0.25, 0.5, 1.0, 1.5)
        },
        **{f"gamma, shape {shape:g}": Population(partial(_gamma, shape), shape) for shape in (0.5, 1.0, 4.0)},
        "normal": Population(lambda rng, shape: rng.normal(10, 1, shape), 10.0),
        "lognormal, one in ten 10 times as long": outliers(0.1, 10),
        "lognormal, one in twenty 5 times as long": outliers(0.05, 5),
    }


def _lognormal(sigma: float, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.lognormal(0, sigma, shape)


def _gamma(k: float, rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.gamma(k, 1, shape)


def skewed_coverage(population: Population, n: int, *, draws: int, rng: np.random.Generator) -> Cell:
    """The same of many samples of n values that have no bound."""
    values = population.draw(rng, (draws, n)).T
    ours, t = skewed_intervals(values), mean_intervals(values)
    held, held_by_t = (
        float(np.mean((ends.low <= population.mean) & (population.mean <= ends.high))) for ends in (ours, t)
    )
    return Cell(held, held_by_t, float(np.median(ours.high - ours.low) / np.median(t.high - t.low)))


def skewed_table(draws: int, seed: int, questions: Sequence[int] = FEW_AND_MANY) -> Table:
    """How often an interval of 95% holds the true mean of latencies and costs."""
    rng = np.random.default_rng(seed)

    def text(population: Population, n: int) -> str:
        cell = skewed_coverage(population, n, draws=draws, rng=rng)
        return f"{100 * cell.held:.0f} ({100 * cell.held_by_t:.0f}; {cell.width:.2f})"

    return Table(
        "Intervals of 95% hold the true mean of unbounded values, in % (in brackets t's; median width beside)",
        ["values", *(f"{n}" for n in questions)],
        [[name, *(text(population, n) for n in questions)] for name, population in unbounded().items()],
    )
