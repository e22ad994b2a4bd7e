"""Two systems that people would call alike, and a judge that favours one: how often they are called different."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.labels.prediction_powered import CorrectedMean, corrected_difference, corrected_mean
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import MeanError, mean_error

_SUPPORTED = 0.7
_UNITS = 3


@dataclass(frozen=True)
class Favour:
    """A judge, and by how much it favours the second system.

    sensitivity, false_alarms   shares of supported units, and of others, that it calls supported
    favour       by so much it calls more of the second system's supported, of both kinds
    """

    sensitivity: float
    false_alarms: float
    favour: float


@dataclass(frozen=True)
class JudgedPair:
    """Two systems on the same n questions of three units each, with labels of some units of each.

    stratified   labels are drawn half of what the judge supports and half of the rest, else at random
    n_labels_of_first   where the first system has another number of them
    """

    n_questions: int
    n_labels: int
    judge: Favour
    stratified: bool = False
    better: float = 0.0
    n_labels_of_first: int | None = None

    def draw(self, rng: np.random.Generator) -> tuple[MeanError, MeanError]:
        """The difference by the judge alone, and corrected."""
        chance = rng.beta(3 * _SUPPORTED, 3 * (1 - _SUPPORTED), self.n_questions)
        one, by_judge_of_one = self._system(rng, chance, 0.0, self.n_labels_of_first or self.n_labels)
        other, by_judge = self._system(rng, np.clip(chance + self.better, 0, 1), self.judge.favour, self.n_labels)
        d = other.corrected.values - one.corrected.values
        return mean_error(by_judge - by_judge_of_one), corrected_difference(d, [one, other])

    def period(self, rng: np.random.Generator, favour: float) -> tuple[CorrectedMean, Floats]:
        """The corrected mean, and values by the judge, of one system over questions of its own."""
        chance = rng.beta(3 * _SUPPORTED, 3 * (1 - _SUPPORTED), self.n_questions)
        return self._system(rng, chance, favour, self.n_labels)

    def _system(
        self, rng: np.random.Generator, chance: Floats, favour: float, n_labels: int
    ) -> tuple[CorrectedMean, Floats]:
        owner = np.repeat(np.arange(self.n_questions), _UNITS)
        people = (rng.random(len(owner)) < chance[owner]).astype(float)
        rate = np.where(people > 0, self.judge.sensitivity, self.judge.false_alarms) + favour
        judged = (rng.random(len(owner)) < rate).astype(float)
        strata = judged.astype(int) if self.stratified else np.zeros(len(owner), int)
        drawn = np.concatenate(
            [
                rng.permutation(np.flatnonzero(strata == stratum))[: n_labels // (1 + self.stratified)]
                for stratum in range(1 + self.stratified)
            ]
        )
        labels = np.full(len(owner), np.nan)
        labels[drawn] = people[drawn]
        return corrected_mean(owner, judged, labels, strata, self.n_questions), judged.reshape(-1, _UNITS).mean(axis=1)


def shown(difference: MeanError) -> bool:
    """Whether a difference is shown at 5%."""
    return abs(difference.mean) > t_quantile(0.975, difference.df) * difference.error


JUDGES = {
    "fair": Favour(0.85, 0.25, 0.0),
    "favours by .08": Favour(0.85, 0.25, 0.08),
    "favours by .15": Favour(0.7, 0.3, 0.15),
    "is right but for 3%, of one alone": Favour(0.97, 0.0, 0.03),
}


def judged_table(draws: int, seed: int) -> Table:
    """False positives of differences by the judge alone, and corrected by labels of each system."""
    rows = []
    for name, judge in JUDGES.items():
        for n_questions, n_labels, stratified in (
            (200, 50, False), (200, 100, False), (200, 100, True), (200, 200, True), (1000, 100, True)
        ):  # fmt: skip
            rng = np.random.default_rng(seed)
            pair = JudgedPair(n_questions, n_labels, judge, stratified=stratified)
            shares = np.mean([list(map(shown, pair.draw(rng))) for _ in range(draws)], axis=0)
            rows.append([
                name, f"{n_questions:,}", f"{n_labels}", "by verdict" if stratified else "at random",
                *map(percent, shares),
            ])  # fmt: skip
    return Table(
        "Two systems that people would call alike: how often a difference is shown at 5%",
        ["judge", "questions", "labels each", "drawn", "by the judge alone", "corrected"],
        rows,
    )
