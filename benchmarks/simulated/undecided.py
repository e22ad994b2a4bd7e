"""Units that people were asked about and left without a label: what corrected means make of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.experiment.door.correcting import MANY_UNDECIDED
from steelyard.stats.labels.prediction_powered import CorrectedMean, Ends, corrected_difference, corrected_mean
from steelyard.stats.numerics import t_quantile

_SUPPORTED = 0.7
_UNITS = 3
_LEVEL = 0.75
"""Of a gate that the true mean does not reach."""


@dataclass(frozen=True)
class Undecided:
    """Answers of n questions with three units each; people are asked about n_drawn, half of each verdict of the judge.

    unsupported, supported   shares of units of either kind that they leave without a label
    """

    n_questions: int
    n_drawn: int
    unsupported: float
    supported: float = 0.0

    def draw(self, rng: np.random.Generator) -> CorrectedMean:
        """The corrected mean in one world, with what it is at either end from so many undecided units on."""
        n = self.n_questions
        owner = np.repeat(np.arange(n), _UNITS)
        chance = rng.beta(3 * _SUPPORTED, 3 * (1 - _SUPPORTED), n)
        people = (rng.random(len(owner)) < chance[owner]).astype(float)
        judged = np.where(rng.random(len(owner)) < 0.15, 1 - people, people)
        drawn = np.concatenate(
            [rng.permutation(np.flatnonzero(judged == says))[: self.n_drawn // 2] for says in (0.0, 1.0)]
        )
        share = np.where(people[drawn] > 0, self.supported, self.unsupported)
        open_ = drawn[rng.random(len(drawn)) < share]
        labels = np.full(len(owner), np.nan)
        labels[drawn] = people[drawn]
        labels[open_] = np.nan
        stratum = judged.astype(int)
        mean = corrected_mean(owner, judged, labels, stratum, n)
        if len(open_) < MANY_UNDECIDED * len(drawn):
            return mean
        ends = []
        for value in (0.0, 1.0):
            labels[open_] = value
            ends.append(corrected_mean(owner, judged, labels, stratum, n).corrected)
        return replace(mean, ends=Ends(ends[0], ends[1], len(open_)))


def outcomes(world: Undecided, draws: int, seed: int) -> dict[str, float]:
    """Shares of worlds: the true mean is held, a level above it is passed, the mean is called better than an equal."""
    rng = np.random.default_rng(seed)
    means = [world.draw(rng) for _ in range(draws)]
    others = [replace(world, unsupported=0.0, supported=0.0).draw(rng) for _ in range(draws)]
    places = [np.ones(world.n_questions, bool)] * 2
    better = dict.fromkeys(("better", "better_by_ends"), 0)
    for mean, other in zip(means, others, strict=True):
        d = mean.corrected.values - other.corrected.values
        for name, given in (("better", ()), ("better_by_ends", places)):
            average = corrected_difference(d, [mean, other], places=given)
            quantile = t_quantile(0.975, average.df)
            better[name] += average.ends(quantile, quantile)[0] > 0
    return {
        "mean": float(np.mean([mean.corrected.mean for mean in means])),
        "holds": float(np.mean([mean.corrected.low <= _SUPPORTED <= mean.corrected.high for mean in means])),
        "holds_by_ends": float(np.mean([mean.interval[0] <= _SUPPORTED <= mean.interval[1] for mean in means])),
        "passes": float(np.mean([mean.corrected.low >= _LEVEL for mean in means])),
        "passes_by_ends": float(np.mean([mean.interval[0] >= _LEVEL for mean in means])),
        **{name: n / draws for name, n in better.items()},
        "width": float(np.mean([mean.interval[1] - mean.interval[0] for mean in means])),
    }


def undecided_table(draws: int, seed: int) -> Table:
    """Intervals, gates and comparisons that take undecided units to be like the others, and at either end."""
    rows = []
    for unsupported, supported in ((0, 0), (0.1, 0.1), (0.3, 0.3), (0.3, 0), (0.7, 0), (0, 0.3)):
        for n_questions, n_drawn in ((200, 100), (500, 300)):
            found = outcomes(Undecided(n_questions, n_drawn, unsupported, supported), draws, seed)
            rows.append([
                f"{unsupported:.0%}", f"{supported:.0%}", str(n_drawn), f"{found['mean']:.3f}",
                *(percent(found[f"{name}{by}"]) for name in ("holds", "passes", "better") for by in ("", "_by_ends")),
                f"{found['width']:.2f}",
            ])  # fmt: skip
    columns = ["unsupported left out", "supported left out", "asked", "mean", "holds .70", "at either end",
               "passes .75", "at either end", "better than an equal", "at either end", "width"]  # fmt: skip
    return Table("Units of a true mean of .70 that people leave without a label", columns, rows)
