"""Two runs of one system, judged by two judges: how far the second one's shift is removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.stats.judge_shift import AnchorShift, judge_shift, without_shift
from steelyard.stats.samples import mean_error
from steelyard.stats.student import t_quantile

_UNITS = 3
_SUPPORTED = 0.7


@dataclass(frozen=True)
class Judges:
    """How two judges differ: of all units, the share that only the second one supports, and only the first one."""

    up: float
    down: float

    @property
    def shift(self) -> float:
        """By how much the second one's means are higher."""
        return self.up - self.down


@dataclass(frozen=True)
class TwoRuns:
    """Runs of one system on n questions of three units each, of which some come again word by word.

    n_anchors   units that do;   whole   whether all units of an answer do, or any
    """

    n_questions: int
    n_anchors: int
    judges: Judges
    whole: bool = False

    def draw(self, rng: np.random.Generator) -> tuple[Floats, AnchorShift, float]:
        """Differences as judged, the anchors, and the mean difference had the first judge judged both."""
        shape = (self.n_questions, _UNITS)
        chance = rng.beta(3 * _SUPPORTED, 3 * (1 - _SUPPORTED), self.n_questions)[:, None]
        first, again = (rng.random(shape) < chance for _ in range(2))
        alike = self._alike(rng)
        second = np.where(alike, first, again)
        moved = rng.random(shape)
        up, down = self.judges.up / (1 - _SUPPORTED), self.judges.down / _SUPPORTED
        judged = np.where(second, moved >= down, moved < up).astype(float)
        shift = np.where(alike, judged - second, 0.0).mean(axis=1)
        anchors = AnchorShift(shift, alike.mean(axis=1), np.ones(self.n_questions), alike.sum(axis=1).astype(float))
        before = first.mean(axis=1)
        return judged.mean(axis=1) - before, anchors, float((second.mean(axis=1) - before).mean())

    def _alike(self, rng: np.random.Generator) -> np.ndarray:
        """(q, u) which units come again."""
        times = _UNITS if self.whole else 1
        places = rng.permutation(self.n_questions * _UNITS // times)[: self.n_anchors // times]
        alike = np.zeros(self.n_questions * _UNITS // times, bool)
        alike[places] = True
        return np.repeat(alike, times).reshape(self.n_questions, _UNITS)


def drift_table(draws: int, seed: int) -> Table:
    """How often a planted shift is found, what is left of it, and how often the second run is called better."""
    one_way, both_ways = Judges(0.05, 0.0), Judges(0.075, 0.025)
    rows = []
    for judges, way in ((one_way, "up alone"), (both_ways, "both ways")):
        for n_questions, n_anchors in ((100, 50), (100, 100), (100, 200), (300, 200), (300, 500), (1000, 200)):
            rng = np.random.default_rng(seed)
            runs = TwoRuns(n_questions, n_anchors, judges)
            outcomes = np.array([_outcome(*runs.draw(rng)) for _ in range(draws)])
            found, error, raw, better, worse = outcomes.mean(axis=0)
            rows.append([
                way, f"{n_questions * _UNITS}", f"{n_anchors}", percent(found), f"{error:.4f}",
                f"{np.quantile(outcomes[:, 1], 0.95):.3f}", *map(percent, (raw, better, worse)),
            ])  # fmt: skip
    return Table(
        "Two runs of one system, the second judged by a judge who supports .05 more units",
        [
            "verdicts move",
            "units",
            "anchors",
            "found",
            "error left",
            "95% below",
            "better as judged",
            "better",
            "worse",
        ],
        rows,
    )


def _outcome(d: Floats, anchors: AnchorShift, by_one: float) -> tuple[float, ...]:
    shift, average, judged = judge_shift(anchors), without_shift(d, anchors), mean_error(d)
    half, of_shift, of_judged = (
        t_quantile(0.975, part.df) * part.error for part in (average, shift, judged)
    )  # fmt: skip
    return (
        float(abs(shift.mean) > of_shift), abs(average.mean - by_one), float(judged.mean > of_judged),
        float(average.mean > half), float(average.mean < -half),
    )  # fmt: skip
