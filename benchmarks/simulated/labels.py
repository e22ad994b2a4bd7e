"""How often intervals of means that a judge gives and some labels correct hold what people would say of all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.labels.prediction_powered import CorrectedMean, corrected_mean, corrected_part
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import mean_error

SUPPORTED = 0.7
"""Share of units that people support, over all questions."""
_ALPHA, _BETA = 3.5, 1.5
"""By which questions differ, where they have several units: a beta distribution of that mean."""
_STRATA = 4
JUDGES = ("biased", "noisy", "useless", "good", "perfect")
LABELS = (50, 100, 200, 500)


@dataclass(frozen=True)
class Setting:
    """What is simulated: questions of so many units on average, a judge, and labels.

    stratified   labels are drawn within strata of the judge's score, equally many in each
    """

    n_questions: int
    n_units: int
    judge: str
    n_labels: int
    stratified: bool
    supported: float = SUPPORTED

    def world(self, rng: np.random.Generator) -> tuple[Ints, Floats, Floats, Floats]:
        """Owner of each unit, what people and the judge say of it, and the judge's score."""
        n, mean = self.n_questions, self.supported
        sizes = np.ones(n, np.int64) if self.n_units == 1 else rng.integers(1, 2 * self.n_units, n)
        owner = np.repeat(np.arange(n), sizes)
        scale = (_ALPHA + _BETA) * (1 if self.n_units > 1 else np.inf)
        chance = np.full(n, mean) if np.isinf(scale) else rng.beta(scale * mean, scale * (1 - mean), n)
        people = (rng.random(len(owner)) < chance[owner]).astype(float)
        judged = _judged(people, self.judge, rng)
        return owner, people, judged, judged / 2 + rng.random(len(owner)) / 2

    def drawn(self, rng: np.random.Generator) -> CorrectedMean:
        """The correction in one world."""
        return self.labelled(rng, *self.world(rng))

    def labelled(
        self, rng: np.random.Generator, owner: Ints, people: Floats, judged: Floats, score: Floats
    ) -> CorrectedMean:
        """The correction of a world by labels that are drawn from it."""
        n = len(owner)
        stratum = np.argsort(np.argsort(score)) * _STRATA // n if self.stratified else np.zeros(n, np.int64)
        labels = np.full(n, np.nan)
        for place, members in enumerate(np.flatnonzero(stratum == s) for s in range(stratum.max() + 1)):
            n_strata = _STRATA if self.stratified else 1
            size = self.n_labels // n_strata + (place < self.n_labels % n_strata)
            units = rng.choice(members, min(size, len(members)), replace=False)
            labels[units] = people[units]
        return corrected_mean(owner, judged, labels, stratum, self.n_questions)


def _judged(people: Floats, judge: str, rng: np.random.Generator) -> Floats:
    """What a judge of some kind says: a biased one takes half of what is not supported for supported."""
    chance = rng.random(len(people))
    if judge == "biased":
        return np.where(chance < 0.45, 1.0, np.where(chance < 0.95, people, 1 - people))
    wrong = {"noisy": 0.25, "useless": 0.5, "good": 0.05, "perfect": 0.01}[judge]
    return np.where(chance < wrong, 1 - people, people)


@dataclass(frozen=True)
class Coverage:
    """What came out over many worlds: how often intervals hold the truth, and how wide they are on average.

    worth   the median of what the labels and the judge are worth
    """

    corrected: float
    people: float
    judge: float
    width: float
    width_of_people: float
    worth: float


def coverage(setting: Setting, draws: int, seed: int = 1) -> Coverage:
    """Of intervals by people and the judge, by people alone; `judge` is its mean less the truth."""
    rng = np.random.default_rng(seed)
    means = [setting.drawn(rng) for _ in range(draws)]
    truth = setting.supported

    def covers(which: str) -> float:
        return float(np.mean([getattr(mean, which).low <= truth <= getattr(mean, which).high for mean in means]))

    def width(which: str) -> float:
        return float(np.mean([getattr(mean, which).high - getattr(mean, which).low for mean in means]))

    return Coverage(
        covers("corrected"), covers("people"), float(np.mean([mean.judge for mean in means])) - truth,
        width("corrected"), width("people"), float(np.nanmedian([mean.worth for mean in means])),
    )  # fmt: skip


def width_of_people(setting: Setting, draws: int, seed: int = 1) -> float:
    """How wide intervals are on average by so many labels at random alone."""
    rng = np.random.default_rng(seed)
    ends = [replace(setting, stratified=False).drawn(rng).people for _ in range(draws)]
    return float(np.mean([mean.high - mean.low for mean in ends]))


def settings(n_questions: Sequence[int] = (100, 500, 2000), n_units: Sequence[int] = (1, 4)) -> Iterator[Setting]:
    """All of them, in which no more than half of the units have labels."""
    for questions in n_questions:
        for units in n_units:
            for labels in LABELS:
                if labels <= questions * units / 2:
                    for stratified in (False, True):
                        yield from (Setting(questions, units, judge, labels, stratified) for judge in JUDGES)


def tables(draws: int) -> Iterator[Table]:
    """A table for each number of questions and units, and whether labels were drawn within strata."""
    listed = list(settings())
    keys = dict.fromkeys((s.n_questions, s.n_units, s.stratified) for s in listed)
    for questions, units, stratified in keys:
        rows = [
            _row(setting, coverage(setting, draws))
            for setting in listed
            if (setting.n_questions, setting.n_units, setting.stratified) == (questions, units, stratified)
        ]
        how = "labels within strata of the judge's score" if stratified else "labels at random"
        of_units = "1 unit each" if units == 1 else f"{units} units each on average"
        columns = ("judge", "labels", "judge's error", "covers", "people alone", "width", "people alone", "worth")
        yield Table(f"{questions} questions, {of_units}, {how}.", columns, rows)


@dataclass(frozen=True)
class PartSetting:
    """Questions of which a part is judged in another way than the others, and labels of all, within strata.

    inside, outside   the judge of the part and of the others;   share   of the questions that the part is
    """

    inside: str
    outside: str
    n_labels: int
    share: float = 0.25
    n_questions: int = 400
    n_units: int = 3
    supported: float = SUPPORTED


@dataclass(frozen=True)
class PartCoverage:
    """What came out for a part, over worlds in which it has labels enough.

    n_labels   in the part, on average;   corrected   how often its interval holds the truth, and judge that of the
    judge alone;   width   of the corrected interval, on average
    """

    n_labels: float
    corrected: float
    judge: float
    width: float


def part_coverage(setting: PartSetting, draws: int, seed: int = 1) -> PartCoverage:
    """How often intervals of the mean of a part hold what people would say of any such questions."""
    rng, rows, truth = np.random.default_rng(seed), [], setting.supported
    base = Setting(setting.n_questions, setting.n_units, setting.outside, setting.n_labels, True, truth)
    for _ in range(draws):
        owner, people, judged, _ = base.world(rng)
        places = np.flatnonzero(rng.random(setting.n_questions) < setting.share)
        judged = np.where(np.isin(owner, places), _judged(people, setting.inside, rng), judged)
        mean = base.labelled(rng, owner, people, judged, judged / 2 + rng.random(len(owner)) / 2)
        values = np.bincount(owner, judged, setting.n_questions) / np.bincount(owner, minlength=setting.n_questions)
        if (part := corrected_part(mean, values, places)) is None:
            continue
        low, high = part.corrected.low, part.corrected.high
        own = mean_error(values[places])
        away = abs(own.mean - truth) <= t_quantile(0.975, own.df) * own.error
        rows.append((part.n_labels, low <= truth <= high, away, high - low))
    return PartCoverage(*np.mean(rows, axis=0).tolist())


PARTS = tuple(
    PartSetting(inside, outside, n_labels, supported=supported)
    for n_labels in (100, 200, 400)
    for inside, outside, supported in (
        ("biased", "good", SUPPORTED), ("good", "biased", SUPPORTED), ("useless", "good", SUPPORTED),
        ("noisy", "noisy", SUPPORTED), ("perfect", "perfect", SUPPORTED), ("good", "good", 0.95),
    )
)  # fmt: skip


def part_table(draws: int) -> Table:
    """A row a setting of PARTS."""
    rows = []
    for setting in PARTS:
        own = part_coverage(setting, draws)
        name = f"{setting.inside} in the part, {setting.outside} elsewhere, {percent(setting.supported)} supported"
        rows.append([name, f"{own.n_labels:.0f}", percent(own.judge), percent(own.corrected), f"{own.width:.3f}"])
    columns = ("judge", "labels in the part", "judge alone covers", "corrected covers", "width")
    return Table("A fourth of 400 questions of 3 units, 20 labels in it at least.", columns, rows)


def _row(setting: Setting, result: Coverage) -> list[str]:
    return [
        setting.judge, str(setting.n_labels), f"{result.judge:+.3f}", percent(result.corrected), percent(result.people),
        f"{result.width:.3f}", f"{result.width_of_people:.3f}", f"{result.worth:.0f}",
    ]  # fmt: skip
