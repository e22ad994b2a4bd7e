"""Two runs of one system, judged by two judges: how far the second one's shift is removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Bools, Floats
from steelyard.stats.labels.judge_shift import (
    AnchorShift,
    bounded_difference,
    independence_p,
    judge_shift,
    less_shift,
    without_shift,
)
from steelyard.stats.labels.raters import wilson_interval
from steelyard.stats.labels.rogan_gladen import people_difference
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import MeanError, mean_error

_UNITS = 3
_Z = 1.96
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
    elsewhere   how the judges differ on the other units; None: as on anchors
    """

    n_questions: int
    n_anchors: int
    judges: Judges
    whole: bool = False
    elsewhere: Judges | None = None

    def draw(self, rng: np.random.Generator) -> tuple[Floats, AnchorShift, float]:
        """Differences as judged, the anchors, and the mean difference had the first judge judged both."""
        shape = (self.n_questions, _UNITS)
        chance = rng.beta(3 * _SUPPORTED, 3 * (1 - _SUPPORTED), self.n_questions)[:, None]
        first, again = (rng.random(shape) < chance for _ in range(2))
        alike = self._alike(rng)
        second = np.where(alike, first, again)
        moved = rng.random(shape)
        other = self.elsewhere or self.judges
        up = np.where(alike, self.judges.up, other.up) / (1 - _SUPPORTED)
        down = np.where(alike, self.judges.down, other.down) / _SUPPORTED
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
    half, of_shift, of_judged = (t_quantile(0.975, part.df) * part.error for part in (average, shift, judged))
    return (
        float(abs(shift.mean) > of_shift),
        abs(average.mean - by_one),
        float(judged.mean > of_judged),
        float(average.mean > half),
        float(average.mean < -half),
    )


def elsewhere_table(draws: int, seed: int) -> Table:
    """How often the second run is called better where its judge shifts otherwise on what is no anchor."""
    rows = []
    for on_anchors, elsewhere in ((0.02, 0.0), (0.02, 0.02), (0.02, 0.04), (0.05, 0.1), (0.02, 0.08), (0.0, 0.08)):
        for n_questions, n_anchors in ((100, 100), (300, 200), (300, 450), (1000, 300)):
            rng = np.random.default_rng(seed)
            runs = TwoRuns(n_questions, n_anchors, Judges(on_anchors, 0.0), elsewhere=Judges(elsewhere, 0.0))
            better, bound, worse = np.mean([_verdicts(*runs.draw(rng)[:2]) for _ in range(draws)], axis=0)
            rows.append([
                f"{on_anchors:g}", f"{elsewhere:g}", f"{n_questions * _UNITS:,}", f"{n_anchors}",
                percent(better), percent(bound), percent(worse),
            ])  # fmt: skip
    columns = ["shift on anchors", "elsewhere", "units", "anchors", "better", "better by the bound", "worse by it"]
    return Table("Two runs of one system, whose second judge shifts otherwise elsewhere", columns, rows)


def _verdicts(d: Floats, anchors: AnchorShift) -> tuple[float, ...]:
    average = without_shift(d, anchors)
    low, high = bounded_difference(d, anchors, frozen=False, alpha=0.05)
    return float(average.mean > t_quantile(0.975, average.df) * average.error), float(low > 0), float(high < 0)


@dataclass(frozen=True)
class Borderline:
    """A judge who shifts sentences of the highest quarter of scores alone, all of them alike anchors or not.

    lean   how much rarer anchors are there: 0 for anchors like the others, 1 for none there
    """

    n_questions: int
    share: float
    lean: float

    def flagged(self, rng: np.random.Generator) -> tuple[bool, bool]:
        """Whether anchors are called unlike the others by score, and by a length that has nothing to do with it."""
        n = self.n_questions * _UNITS
        owner, score, length = np.repeat(np.arange(self.n_questions), _UNITS), rng.random(n), rng.random(n)
        chance = self.share * np.where(score > 0.75, 1 - self.lean, 1 + self.lean / 3)
        anchors = (rng.random(n) < chance).astype(float)
        return independence_p(owner, anchors, score) < 0.05, independence_p(owner, anchors, length) < 0.05


def likeness_table(draws: int, seed: int) -> Table:
    """How often anchors are called unlike the other units, by what the shift hangs on and by what it does not."""
    rows = []
    for n_questions in (30, 100, 300):
        for lean in (0.0, 0.25, 0.5, 1.0):
            rng = np.random.default_rng(seed)
            world = Borderline(n_questions, 0.4, lean)
            by_score, by_length = np.mean([world.flagged(rng) for _ in range(draws)], axis=0)
            on_anchors, elsewhere = 1 - lean, (0.25 - 0.4 * 0.25 * (1 - lean)) / (0.6 * 0.25)
            rows.append([f"{n_questions * _UNITS}", f"{on_anchors:g}", f"{elsewhere:.2f}", percent(by_score),
                         percent(by_length)])  # fmt: skip
    columns = ["units", "of the shift of all, on anchors", "elsewhere", "unlike by score", "unlike by length"]
    return Table("Anchors beside other units, where the judge shifts at high scores alone", columns, rows)


@dataclass(frozen=True)
class CalibratedRuns:
    """Two systems, each judged by a version of one judge; people labelled some sentences that the first one judged.

    supported     shares that people support of the sentences of both
    sensitivity, specificity   of the first version;   up   of what it does not support, the share that the second does
    n_anchors     answers that both versions judged;   n_labels   sentences
    """

    supported: tuple[float, float]
    sensitivity: float
    specificity: float
    up: float
    n_labels: int
    n_anchors: int = 100
    n_questions: int = 300

    @property
    def truth(self) -> float:
        """The difference that people would find."""
        return self.supported[1] - self.supported[0]

    def draw(self, rng: np.random.Generator) -> tuple[MeanError, MeanError, tuple[float, float, float]]:
        """The difference as judged, without the shift, and as people would find it with the ends of its interval."""
        first, second = (self._people(rng, share, self.n_questions) for share in self.supported)
        d = self._second(rng, self._first(rng, second)).mean(axis=1) - self._first(rng, first).mean(axis=1)
        before = self._first(rng, self._people(rng, sum(self.supported) / 2, self.n_anchors))
        shift = (self._second(rng, before) - before).mean(axis=1)
        ones = np.ones(self.n_anchors)
        without = less_shift(d, judge_shift(AnchorShift(shift, ones, ones, _UNITS * ones)))
        people = rng.random(self.n_labels) < self.supported[0]
        right = self._first(rng, people) == people
        rates = [
            (right[side].mean(), *wilson_interval(int(right[side].sum()), int(side.sum())))
            for side in (people, ~people)
        ]
        errors = [(high - low) / 2 / _Z for _, low, high in rates]
        j, error = rates[0][0] + rates[1][0] - 1, float(np.hypot(*errors))
        return mean_error(d), without, people_difference(without, float(j), error, alpha=0.05)

    def _people(self, rng: np.random.Generator, share: float, n: int) -> Bools:
        chance = rng.beta(3 * share, 3 * (1 - share), n)[:, None]
        return rng.random((n, _UNITS)) < chance

    def _first(self, rng: np.random.Generator, people: Bools) -> Floats:
        chance = rng.random(people.shape)
        return np.where(people, chance < self.sensitivity, chance >= self.specificity).astype(float)

    def _second(self, rng: np.random.Generator, first: Floats) -> Floats:
        return np.maximum(first, rng.random(first.shape) < self.up)


CALIBRATED = tuple(
    CalibratedRuns(supported, sensitivity, specificity, up, n_labels)
    for supported in ((0.6, 0.6), (0.6, 0.75))
    for sensitivity, specificity in ((0.9, 0.7), (0.8, 0.8))
    for up, n_labels in ((0.0, 100), (0.2, 100), (0.2, 300))
)


def held(setting: CalibratedRuns, draws: int, seed: int = 1) -> tuple[float, float, float]:
    """How often intervals hold the truth: as judged, without the shift, and with labels too."""
    rng, counts = np.random.default_rng(seed), np.zeros(3)
    for _ in range(draws):
        judged, without, people = setting.draw(rng)
        ends = [own.ends(t_quantile(0.975, own.df), t_quantile(0.975, own.df)) for own in (judged, without)]
        counts += [low <= setting.truth <= high for low, high in (*ends, people[1:])]
    return tuple((counts / draws).tolist())


def calibrated_table(draws: int, seed: int) -> Table:
    """A row a setting of CALIBRATED."""
    rows = []
    for setting in CALIBRATED:
        name = f"{setting.truth:+.2f}, sensitivity {setting.sensitivity:g}, specificity {setting.specificity:g}"
        facts = [name, f"{setting.up:g}", str(setting.n_labels)]
        rows.append([*facts, *(percent(share) for share in held(setting, draws, seed))])
    columns = (
        "true difference, judge",
        "new version adds",
        "labels",
        "as judged",
        "without the shift",
        "with labels too",
    )
    return Table("95% intervals of a difference of 300 questions, 100 answers judged by both versions.", columns, rows)
