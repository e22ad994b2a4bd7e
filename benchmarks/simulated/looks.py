"""Tests that are looked at again and again: how often they show a difference that is there, and one that is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.arms.contrast import Contrast, Normal
from steelyard.stats.arms.ratios import ratio_contrast
from steelyard.stats.sequences import Betting, Sequential

LOOKS, ALPHA = 30, 0.05
TUNED = (1.0, 0.1, 10.0)
"""Units for which sequences are tuned, over those at the last look."""
EFFECTS = (0.0, 2.8, 3.3, 3.7)
"""True differences in standard errors of the last look: none, what it shows in 80% and in 91% of cases, and the first
of these with 1.7 times as many users."""

Looks = Iterator[tuple[Ints, Floats, Floats]]
"""At each look the arm, numerator and denominator of each unit."""
Draw = Callable[[np.random.Generator, float], Looks]
"""From a difference in standard errors of the last look."""


def arriving(per_look: int, values: Callable[[np.random.Generator, int], Floats], sd: float) -> Draw:
    """So many users an arm come between looks, each with one value of that standard deviation, and do not return."""

    def draw(rng: np.random.Generator, effect: float) -> Looks:
        n = 2 * per_look * LOOKS
        arm = np.arange(n) % 2
        own = values(rng, n) + arm * effect * sd * 2 / n**0.5
        for units in range(2 * per_look, n + 1, 2 * per_look):
            yield arm[:units], own[:units], np.ones(units)

    return draw


def returning(first: int, per_look: int, rates: tuple[float, float]) -> Draw:
    """Users who return at half of the looks; some are there at first, others come.   rates   beta of their clicks"""

    def draw(rng: np.random.Generator, effect: float) -> Looks:
        n = 2 * (first + per_look * LOOKS)
        arm = np.arange(n) % 2
        own = rng.beta(*rates, n)
        impressions, clicks = np.zeros(n), np.zeros(n)
        for look in range(1, LOOKS + 1):
            here = 2 * (first + per_look * look)
            shown = rng.poisson(2.0, here) * (rng.random(here) < 0.5)
            clicks[:here] += rng.binomial(shown, own[:here])
            impressions[:here] += shown
            yield arm[:here], clicks[:here], impressions[:here]

    return draw


CASES: dict[str, Draw] = {
    "100 users, normal": arriving(100, lambda rng, n: rng.normal(size=n), 1.0),
    "5 users, normal": arriving(5, lambda rng, n: rng.normal(size=n), 1.0),
    "2 users, normal": arriving(2, lambda rng, n: rng.normal(size=n), 1.0),
    "100 users, lognormal": arriving(100, lambda rng, n: rng.lognormal(0, 1.0, n), 2.161),
    "100 users, 1 of 20 clicks": arriving(100, lambda rng, n: (rng.random(n) < 0.05).astype(float), 0.218),
    "none, 300 alike who return": returning(300, 0, (2000, 6000)),
    "none, 300 unlike who return": returning(300, 0, (2, 6)),
    "30 users, who return": returning(0, 30, (2, 6)),
}
"""New users of an arm at each look, and those who are there from the first look on."""


def contrasts(draw: Draw, rng: np.random.Generator, effect: float = 0.0) -> list[Contrast]:
    """That of each look."""
    return [ratio_contrast(*units) for units in draw(rng, effect)]


def first_shown(p: list[float]) -> float:
    """The first look, from 1, whose p is alpha or less; NaN without one."""
    return next((float(look) for look, value in enumerate(p, 1) if value <= ALPHA), nan)


def always_valid(looks: list[Contrast], tuned: float = 1.0) -> list[float]:
    """The p of each look, always valid."""
    n_tuned = tuned * (looks[-1].n_baseline + looks[-1].n_other)
    return [Sequential(look, n_tuned).p() for look in looks]


def shown_at_a_null(draw: Draw, *, draws: int, seed: int) -> list[float]:
    """Shares of cases in which some look shows a difference: by the contrast itself, and always valid, as TUNED."""
    shown = np.zeros(1 + len(TUNED))
    for i in range(draws):
        looks = contrasts(draw, np.random.default_rng([seed, i]))
        shown += np.isfinite(
            [first_shown([look.p() for look in looks]), *(first_shown(always_valid(looks, tuned)) for tuned in TUNED)]
        )
    return (shown / draws).tolist()


def peeking_table(draws: int, seed: int) -> Table:
    """Differences that are not there, shown by some of 30 looks."""
    rows = [[name, *map(percent, shown_at_a_null(draw, draws=draws, seed=seed))] for name, draw in CASES.items()]
    heads = ["one look's p", "always valid", "tuned to a tenth of the users", "to ten times as many"]
    return Table(f"Shown by some of {LOOKS} looks, without a difference", ["new users an arm and look", *heads], rows)


def waiting_table(draws: int, seed: int) -> Table:
    """True differences that the last look shows, and that some look shows always validly, and when."""
    rows = []
    for effect in EFFECTS:
        looks = [contrasts(CASES["100 users, normal"], np.random.default_rng([seed, i]), effect) for i in range(draws)]
        by_end = np.mean([case[-1].p() <= ALPHA for case in looks])
        first = np.array([first_shown(always_valid(case)) for case in looks])
        when = f"{np.nanmean(first):.1f}" if np.isfinite(first).any() else "–"
        mean = np.where(np.isfinite(first), first, LOOKS).mean()
        rows.append(
            [str(effect), percent(float(by_end)), percent(float(np.isfinite(first).mean())), when, f"{mean:.1f}"]
        )
    heads = [
        "shown by the last look alone",
        "always valid, by some look",
        "first one",
        "looks until the end of the test",
    ]
    return Table(f"True differences, {LOOKS} looks", ["difference in standard errors", *heads], rows)


Values = Callable[[np.random.Generator, int], Floats]
BOUNDED: dict[str, Values] = {
    "−1, 0, 1": lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[0.3, 0.4, 0.3]),
    "−1, 0, 1, seldom": lambda rng, n: rng.choice([-1.0, 0.0, 1.0], n, p=[0.03, 0.94, 0.03]),
    "−.1 or .9": lambda rng, n: np.where(rng.random(n) < 0.9, -0.1, 0.9),
}


def one_sample(values: Floats) -> Normal:
    """The mean of values as a contrast with 0."""
    n, mean = len(values), float(values.mean())
    error = float(values.std(ddof=1)) / n**0.5
    return Normal(baseline=0, other=mean, difference=mean, error=error, n_baseline=0, n_other=n, df=n - 1)


def bounded_at_a_null(draw: Values, most: int, *, draws: int, seed: int) -> list[float]:
    """Shares of cases in which a mean that is 0 is refuted at one of 5, 6, ... units: t, sequence, bets; and widths."""
    shown, widths = np.zeros(3), list[list[float]]()
    for i in range(draws):
        values = draw(np.random.default_rng([seed, i]), most)
        looks = [one_sample(values[:n]) for n in range(5, most + 1)]
        bets = Betting(values, -1, 1)
        by_t, by_sequence = first_shown([look.p() for look in looks]), first_shown(always_valid([*looks]))
        shown += np.isfinite(by_t), np.isfinite(by_sequence), bets.p() <= ALPHA
        widths.append([np.diff(kind.interval())[0] for kind in (Sequential(looks[-1], most), bets)])
    return [*(shown / draws), *np.nanmean(widths, axis=0)]


def bounded_table(draws: int, seed: int) -> Table:
    """Means of few bounded values that are 0, looked at after each value."""
    rows = []
    for name, draw in BOUNDED.items():
        for most in (20, 100):
            *shown, sequence, bets = bounded_at_a_null(draw, most, draws=draws, seed=seed)
            rows.append([name, str(most), *map(percent, shown), f"{sequence:.2f}", f"{bets:.2f}"])
    heads = ["t", "sequence", "bets", "width of the sequence at the end", "of the bets"]
    return Table("A mean of 0 that is refuted at some value from the fifth on", ["values", "up to", *heads], rows)


def returning_at_a_null(first: int, per_look: int, *, draws: int, seed: int) -> list[float]:
    """Shares of cases in which bets show a preference that users do not have: by signs to date, and by first ones."""
    shown = np.zeros(2)
    for i in range(draws):
        rng, n = np.random.default_rng([seed, i]), first + per_look * LOOKS
        sums, has_preferred, firsts, signs_to_date = np.zeros(n), np.zeros(n, bool), list[float](), False
        for look in range(1, LOOKS + 1):
            here = slice(first + per_look * look)
            preferred = rng.choice([-1.0, 0.0, 1.0], here.stop, p=[0.1, 0.8, 0.1])
            sums[here] += preferred
            firsts += preferred[(preferred != 0) & ~has_preferred[here]].tolist()
            has_preferred[here] |= preferred != 0
            signs_to_date |= Betting(np.sign(sums[here]), -1, 1).p() <= ALPHA
        shown += signs_to_date, Betting(np.array(firsts), -1, 1).p() <= ALPHA
    return (shown / draws).tolist()


def returning_table(draws: int, seed: int) -> Table:
    """Bets on users who return, by 30 looks: values that change from look to look, and those that do not."""
    rows = [
        [f"{first} and {per_look} a look", *map(percent, returning_at_a_null(first, per_look, draws=draws, seed=seed))]
        for first, per_look in ((20, 0), (100, 0), (0, 5), (50, 5))
    ]
    return Table("Bets on users without a preference who return", ["users", "signs to date", "first preferences"], rows)
