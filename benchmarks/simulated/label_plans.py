"""Whether as many labels as `plan --labels` says make intervals as narrow as it promises, where the truth is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from benchmarks.simulated.labels import SUPPORTED, Setting
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.labels.label_counts import LabelSetting, supported_share, unexplained_variance
from steelyard.stats.labels.prediction_powered import LabelledMean, corrected_mean

RATES = {"biased": (0.95, 0.5), "noisy": (0.75, 0.75), "good": (0.95, 0.95), "perfect": (0.99, 0.99)}
"""Sensitivity and specificity of the judges of `simulated/labels.py`."""


@dataclass(frozen=True)
class PlannedLabels:
    """A plan from verdicts of a judge whose sensitivity and specificity are known."""

    judge: str
    n_questions: int
    n_units: int
    width: float
    seed: int = 1


@dataclass(frozen=True)
class PlanOutcome:
    """What came of a plan: labels, with the judge and without, and how wide intervals are, and how often they hold."""

    labels: int
    alone: int
    width: float
    covers: float


SETTINGS = tuple(
    PlannedLabels(judge, n_questions, n_units, width)
    for judge, (n_questions, n_units), width in product(RATES, ((300, 4), (1000, 4)), (0.2, 0.12, 0.08))
)


def outcome(setting: PlannedLabels, draws: int) -> PlanOutcome:
    """Plan from the verdicts of one world, and label so many of others."""
    rng, n = np.random.default_rng(setting.seed), setting.n_questions
    world = Setting(n, setting.n_units, setting.judge, 0, stratified=False)
    owner, _, judged, _ = world.world(rng)
    labelled = _setting(setting, owner, judged)
    supported = supported_share(*RATES[setting.judge], float(_values(owner, judged, n).mean()))
    labels, alone = labelled.needed(setting.width), labelled.without_judge(supported).needed(setting.width)
    assert labels is not None
    assert alone is not None
    means = [_labelled(rng, world, labels) for _ in range(draws)]
    return PlanOutcome(
        labels, alone, float(np.mean([mean.high - mean.low for mean in means])),
        float(np.mean([mean.low <= SUPPORTED <= mean.high for mean in means])),
    )  # fmt: skip


def _setting(setting: PlannedLabels, owner: Ints, judged: Floats) -> LabelSetting:
    n, rates, values = setting.n_questions, RATES[setting.judge], _values(owner, judged, setting.n_questions)
    called = float(values.mean())
    supported = supported_share(*rates, called)
    share = 1 / np.bincount(owner)[owner] / n
    spread = float(np.var(values, ddof=1)) / n * supported * (1 - supported) / (called * (1 - called))
    design = len(owner) * float(np.square(share).sum())
    return LabelSetting(unexplained_variance(*rates, supported), len(owner), n, spread, design)


def _values(owner: Ints, judged: Floats, n: int) -> Floats:
    return np.asarray(np.bincount(owner, judged, n) / np.bincount(owner, minlength=n))


def _labelled(rng: np.random.Generator, world: Setting, n_labels: int) -> LabelledMean:
    """The corrected mean by so many labels of a world, as many of each stratum as it is of all."""
    owner, people, judged, _ = world.world(rng)
    labels, stratum = np.full(len(owner), np.nan), judged.astype(np.int64)
    for members in (np.flatnonzero(stratum == side) for side in (0, 1)):
        size = min(len(members), max(2, round(n_labels * len(members) / len(owner))))
        drawn = rng.choice(members, size, replace=False)
        labels[drawn] = people[drawn]
    return corrected_mean(owner, judged, labels, stratum, world.n_questions).corrected


def plan_table(draws: int) -> Table:
    """A row a setting."""
    rows: list[Sequence[str]] = []
    for setting in SETTINGS:
        own = outcome(setting, draws)
        name = f"{setting.judge}, {setting.n_questions} questions"
        counts = (f"{setting.width:g}", str(own.labels), str(own.alone))
        rows.append([name, *counts, f"{own.width:.3f}", percent(own.covers)])
    columns = ("judge", "width promised", "labels planned", "without the judge", "width", "covers")
    return Table("Intervals by as many labels as `plan --labels` says, questions of 4 units.", columns, rows)
