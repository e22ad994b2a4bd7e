"""How often a difference is shown: of the size that questions "can show", and with as many as a plan asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.simulated.families import N_SHUFFLES, Adjusted, flips_baseline, holm_baseline, tukey_pairs
from benchmarks.simulated.samples import real_scores, resampled
from benchmarks.simulated.tables import Table, percent

from steelyard import parse
from steelyard.base.arrays import Floats
from steelyard.comparison.plan import Plan
from steelyard.comparison.power import detectable_difference
from steelyard.comparison.samples import Sample
from steelyard.stats.power.detectable import questions_planned
from steelyard.stats.power.power import fewest_questions, power
from steelyard.stats.spread import paired_spread
from steelyard.stats.tests.pairs import tukey

Draw = Callable[[np.random.Generator], Callable[[int], Floats]]
"""Of one population: (s, n) scores of n questions at a time, in which no two systems truly differ."""

OTHERS = 4
"""Samples that are tested for each that says what it can show."""
QUESTIONS = (6, 8, 10, 15, 20, 40)
MEASURE = parse("mrr")
TESTS: Mapping[str, Adjusted] = {"t": holm_baseline, "randomization": flips_baseline, "tukey": tukey_pairs}
CASES: Mapping[str, tuple[str, int]] = {
    "t": ("t", 2),
    "t, Holm over 3": ("t", 4),
    "sign flips": ("randomization", 2),
    "sign flips, Holm over 3": ("randomization", 4),
    "Tukey of 4": ("tukey", 4),
}


def normal(s: int) -> Draw:
    """Systems whose values scatter as normal ones do, about questions of unlike difficulty."""
    return lambda rng: lambda n: 0.5 + rng.normal(0, 0.15, n) + rng.normal(0, 0.1, (s, n))


def real(s: int) -> Draw:
    """Systems of one of TREC's evaluations, none of which is a copy of another."""
    matrices = real_scores()

    def draw(rng: np.random.Generator) -> Callable[[int], Floats]:
        values = matrices[rng.integers(len(matrices))]
        while True:
            some = values[rng.choice(len(values), s, replace=False)]
            if all(np.count_nonzero(some[a] != some[b]) > values.shape[1] / 4 for a in range(s) for b in range(a)):
                return lambda n: resampled(rng, some, n)

    return draw


def plan_of(s: int, test: str) -> Plan:
    """The first of s systems compared with the others at .05."""
    return Plan(
        [str(i) for i in range(s)], [MEASURE], 0, test=test, correction="tukey" if test == "tukey" else "holm",
        alpha=0.05, margin=None, seed=0,
    )  # fmt: skip


def printed(values: Floats, test: str) -> float:
    """The difference of the second system from the first one that the questions "can show"."""
    none, everything = np.zeros(len(values), dtype=np.int64), np.ones(values.shape[1], bool)
    critical = tukey(values, seed=0, n_resamples=N_SHUFFLES).critical if test == "tukey" else None
    sample = Sample(None, MEASURE, values, 0, lacking=none, missing=none, common=everything)
    return detectable_difference(sample, 1, plan_of(len(values), test), critical)


def shown_at_printed(test: str, draw: Draw, n: int, *, draws: int, seed: int) -> float:
    """The share of cases in which a difference of the size that some questions "can show" is shown by others.

    The first system is the baseline; the second one is better or worse by so much.  NaN where no number was printed
    """
    rng, shown = np.random.default_rng(seed), []
    while len(shown) < draws * OTHERS:
        questions = draw(rng)
        difference = printed(questions(n), test)
        if not math.isfinite(difference):
            shown += [math.nan] * OTHERS
            continue
        for _ in range(OTHERS):
            values = questions(n)
            values[1] += difference * rng.choice((-1, 1))
            shown.append(TESTS[test](values, len(shown))[0] <= 0.05)
    return float(np.nanmean(shown)) if np.isfinite(shown).mean() > 0.5 else math.nan


def power_table(draws: int, seed: int) -> Table:
    """The true power of the number that is printed, of normal and of real differences."""
    rows = []
    for name, (test, s) in CASES.items():
        for kind, draw in (("normal", normal(s)), ("TREC's", real(s))):
            shares = [shown_at_printed(test, draw, n, draws=draws, seed=seed) for n in QUESTIONS]
            rows.append([f"{name}; {kind}", *("–" if math.isnan(share) else percent(share) for share in shares)])
    return Table(
        'How often a difference of the size that n questions "can show" is shown by n others',
        ["test; differences", *(f"{n} questions" for n in QUESTIONS)],
        rows,
    )


PILOTS = (10, 20, 40)
WISHED = (0.3, 0.5)
"""Differences, in standard deviations of the population."""


def planned_power(draw: Draw, n: int, effect: float, *, draws: int, seed: int) -> tuple[list[float], list[float]]:
    """True power of a t test with the questions that pilots of n ask for: on average over pilots, and by each alone."""
    rng, averaged, alone = np.random.default_rng(seed), list[float](), list[float]()
    while len(averaged) < draws:
        questions = draw(rng)
        pilot, everything = paired_spread(questions(n)), questions(4000)
        if not pilot.sd:
            continue
        true = paired_spread(everything).sd
        for shares, number in (
            (averaged, questions_planned(effect * true / pilot.sd, df=pilot.df)),
            (alone, fewest_questions(effect * true / pilot.sd)),
        ):
            assert number is not None
            shares.append(power(effect, number))
    return averaged, alone


def plan_table(draws: int, seed: int) -> Table:
    """The true power of plans: its mean, and that of the pilots at the lower tenth and at the upper one."""
    rows = []
    for kind, draw in (("normal", normal(2)), ("TREC's", real(2))):
        for effect in WISHED:
            cells = []
            for n in PILOTS:
                ours, alone = planned_power(draw, n, effect, draws=draws, seed=seed)
                low, high = np.quantile(ours, (0.1, 0.9))
                mean, before = (100 * float(np.mean(shares)) for shares in (ours, alone))
                cells.append(f"{mean:.0f} ({before:.0f}); {100 * low:.0f} to {100 * high:.0f}")
            rows.append([f"{kind}, {effect:g} standard deviations", *cells])
    return Table(
        "True power of a planned number of questions, in %: mean over pilots (of the pilot's spread taken as exact), "
        "and four pilots of five",
        ["differences, wished for", *(f"pilot of {n}" for n in PILOTS)],
        rows,
    )
