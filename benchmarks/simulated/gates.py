"""How often a true loss of just the margin passes as "not worse"."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import numpy as np
from benchmarks.simulated.samples import drawn_pair, real_scores
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.power.resolution import Resolution
from steelyard.stats.tests.equivalence import loss_p, non_inferiority

Draw = Callable[[np.random.Generator], Callable[[int], Floats]]
"""Of two systems that are in truth alike: (n,) differences of n questions at a time."""

LOSSES, GAINS = (0.02, 0.05, 0.10), (0.0, 0.01, 0.03, 0.05)
CELLS = [(loss, gain) for loss in LOSSES for gain in GAINS if loss > gain]
QUESTIONS = (10, 20, 50, 100, 200, 500)
RARE = [(share, loss) for share in (0.01, 0.02, 0.03, 0.05) for loss in (0.3, 0.5, 1.0)]
"""Shares of questions that lose, and how much: the mean loss is their product."""
MARGINS = (0.02, 0.05)
PILOTS, OTHERS, MOST = (10, 20, 50, 100), 4, 20_000
"""Questions that say how many rule a margin out; samples of as many that try it, and the most that are tried."""


def hits(n: int, n_lost: int, n_gained: int = 0) -> Floats:
    """Differences of n hits: so many lost, so many gained."""
    return np.repeat([-1.0, 1.0, 0.0], [n_lost, n_gained, n - n_lost - n_gained])


@cache
def passes(n: int, n_lost: int, n_gained: int, margin: float, *, alone: bool = False) -> bool:
    """Whether these hits are not worse by the margin: by both tests, or by t alone, for which equal ones are."""
    d = hits(n, n_lost, n_gained)
    by_t = (np.ptp(d) == 0 and d[0] > -margin) or non_inferiority(d, margin=margin).not_worse
    # Both tests must rule the margin out, and t is the quicker one to ask.
    return bool(by_t) and (alone or non_inferiority(d, margin=margin, width=1.0).not_worse)


def false_passes(n: int, loss: float, gain: float, *, alone: bool = False) -> float:
    """The exact chance that a true loss of just the margin passes, over all numbers of lost and gained hits."""
    binom = require("scipy.stats", extra="stats", what="the chance").binom
    lost = binom.pmf(np.arange(n + 1), n, loss)
    total = 0.0
    for n_lost in np.flatnonzero(lost > 1e-6).tolist():
        gained = binom.pmf(np.arange(n - n_lost + 1), n - n_lost, gain / (1 - loss))
        for n_gained in np.flatnonzero(gained > 1e-6).tolist():
            if passes(n, n_lost, n_gained, round(loss - gain, 9), alone=alone):
                total += lost[n_lost] * gained[n_gained]
    return total


def gate_table(draws: int, seed: int) -> Table:
    """Hits lost and gained by the number of questions: exact, without a draw."""
    return Table(
        'A true loss of just the margin passes as "not worse" (in brackets by t alone), exactly',
        ["lost, gained, margin", *(f"{n} questions" for n in QUESTIONS)],
        [
            [
                f"{loss:.0%}, {gain:.0%}, {loss - gain:.2f}",
                *(
                    f"{percent(false_passes(n, loss, gain))} ({percent(false_passes(n, loss, gain, alone=True))})"
                    for n in QUESTIONS
                ),
            ]
            for loss, gain in CELLS
        ],
    )


def real_differences(rng: np.random.Generator) -> Callable[[int], Floats]:
    """Of a pair of TREC's systems, whose topics are drawn with replacement; the mean is moved to 0."""
    d = drawn_pair(rng, _matrices())
    return lambda n: np.asarray(rng.choice(d - d.mean(), n))


@cache
def _matrices() -> Sequence[Floats]:
    return real_scores()


def scatters() -> Mapping[str, Draw]:
    """Ways in which differences scatter where nothing is lost."""
    return {
        "none: all are 0": lambda rng: np.zeros,
        "N(0, 1e-9)": lambda rng: lambda n: rng.normal(0, 1e-9, n),
        "within ±.01": lambda rng: lambda n: rng.uniform(-0.01, 0.01, n),
        "within ±.05": lambda rng: lambda n: rng.uniform(-0.05, 0.05, n),
        "normal, sd .05": lambda rng: lambda n: rng.normal(0, 0.05, n),
        "normal, sd .1": lambda rng: lambda n: rng.normal(0, 0.1, n),
        "70% tie, the others normal": lambda rng: lambda n: np.where(rng.random(n) < 0.7, 0.0, rng.normal(0, 0.1, n)),
        "re-graded labels: 20% move, sd .1": lambda rng: (
            lambda n: np.where(rng.random(n) < 0.8, 0.0, rng.normal(0, 0.1, n))
        ),
        "re-chunked: 40% move by 1/5 or 1/3": lambda rng: (
            lambda n: np.where(rng.random(n) < 0.6, 0.0, rng.choice([-1 / 3, -0.2, 0.2, 1 / 3], n))
        ),
        "a model's grades in tenths, sd .1": lambda rng: lambda n: np.round(rng.normal(0, 0.1, n), 1),
        "a model's verdicts: 3% flip each way": lambda rng: (
            lambda n: rng.choice([-1.0, 1.0, 0.0], n, p=[0.03, 0.03, 0.94])
        ),
        "TREC's systems": real_differences,
    }


def pass_shares(draw: Draw, n: int, margin: float, *, rare: tuple[float, float], draws: int, seed: int) -> list[float]:
    """The share of samples that are not worse by the margin: by the gate's test, and by t alone.

    rare   the share of questions that lose, and how much
    """
    rng, passed = np.random.default_rng(seed), np.zeros(2)
    for _ in range(draws):
        d = np.where(rng.random(n) < rare[0], -rare[1], draw(rng)(n))
        by_t = bool(d[0] > -margin) if np.ptp(d) == 0 else loss_p(d, margin=margin) < 0.05
        passed += [by_t and loss_p(d, margin=margin, width=1.0) < 0.05, by_t]
    return (passed / draws).tolist()


def rare_table(draws: int, seed: int) -> Table:
    """A loss of just the margin on a few questions, beside what the others scatter: the worst of RARE."""

    def worst(draw: Draw, n: int) -> str:
        cells = [pass_shares(draw, n, share * loss, rare=(share, loss), draws=draws, seed=seed) for share, loss in RARE]
        ours, t = (max(cell[place] for cell in cells) for place in (0, 1))
        return f"{percent(ours)} ({percent(t)})"

    return Table(
        'A loss of .3, .5 or 1 on 1% to 5% of questions passes as "not worse" by just that much: the worst of 12 '
        "(in brackets by t alone)",
        ["the others scatter", *(f"{n} questions" for n in QUESTIONS)],
        [[name, *(worst(draw, n) for n in QUESTIONS)] for name, draw in scatters().items()],
    )


def holds(d: Floats, margin: float) -> bool:
    """Whether a gate passes."""
    by_t = np.ptp(d) == 0 or loss_p(d, margin=margin) < 0.05
    return bool(by_t and loss_p(d, margin=margin, width=1.0) < 0.05)


def shown_at_needed(draw: Draw, n: int, margin: float, *, draws: int, seed: int) -> tuple[float, float]:
    """The share of samples that pass of as many questions as undecided ones ask for, and the median of these numbers.

    NaN where nearly all are decided, or a fifth asks for no more questions than there are
    """
    rng, shown, counts = np.random.default_rng(seed), list[bool](), list[int]()
    for _ in range(draws):
        questions = draw(rng)
        d = questions(n)
        needed = None if holds(d, margin) else Resolution.of(d, width=1.0).questions(margin)
        if needed is not None and n < needed <= MOST:
            counts.append(needed)
            shown += [holds(questions(needed), margin) for _ in range(OTHERS)]
    return (float(np.mean(shown)), float(np.median(counts))) if len(counts) > draws / 5 else (math.nan, math.nan)


def needed_table(draws: int, seed: int) -> Table:
    """How often as many questions rule a margin out as are said to do so in 80 of 100 cases."""

    def cell(draw: Draw, n: int, margin: float) -> str:
        share, count = shown_at_needed(draw, n, margin, draws=max(draws // 4, 1), seed=seed)
        return "–" if math.isnan(share) else f"{percent(share)} of {count:.0f}"

    return Table(
        "How often equal systems pass with as many questions as a gate says would rule the margin out in 80 of 100 "
        "cases (and the median of these numbers)",
        ["differences scatter; margin", *(f"said by {n} questions" for n in PILOTS)],
        [
            [f"{name}; {margin}", *(cell(draw, n, margin) for n in PILOTS)]
            for name, draw in scatters().items()
            for margin in MARGINS
        ],
    )


def alike_table(draws: int, seed: int) -> Table:
    """How often systems that are in truth alike pass."""

    def cell(draw: Draw, n: int, margin: float) -> str:
        ours, t = pass_shares(draw, n, margin, rare=(0, 0), draws=draws, seed=seed)
        return f"{percent(ours)} ({percent(t)})"

    return Table(
        'Systems that are in truth alike pass as "not worse" (in brackets by t alone)',
        ["differences scatter; margin", *(f"{n} questions" for n in QUESTIONS)],
        [
            [f"{name}; {margin}", *(cell(draw, n, margin) for n in QUESTIONS)]
            for name, draw in scatters().items()
            for margin in MARGINS
        ],
    )
