"""How often intervals of agreement hold the true value, where questions differ in base rate and in a judge's skill."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.comparison.raters.pairs import STATISTICS, LabelMeaning
from steelyard.stats.intervals.resampling import cluster_bootstrap
from steelyard.stats.labels.raters import (
    alpha_of_coincidences,
    auc_of_counts,
    balanced_accuracy_of_counts,
    coincidences_of_pairs,
    kappa_of_counts,
)
from steelyard.stats.rankings import kendall_tau

N_DRAWS, N_RESAMPLES = 1_500, 1_000
_POPULATION = 4_000_000


@dataclass(frozen=True)
class Design:
    """Questions with items each; beta distributions of the share of positives and of how often the judge is right."""

    n_questions: int
    n_items: int
    share: tuple[float, float]
    skill: tuple[float, float]

    def tables(self, rng: np.random.Generator, n_questions: int) -> Floats:
        """(q, 2, 2) labels of truth and judge by question."""
        share, skill = rng.beta(*self.share, (n_questions, 1)), rng.beta(*self.skill, (n_questions, 1))
        truth = rng.random((n_questions, self.n_items)) < share
        judged = truth ^ (rng.random((n_questions, self.n_items)) >= skill)
        cells = 2 * truth + judged
        return np.stack([(cells == cell).sum(axis=1) for cell in range(4)], axis=1).reshape(-1, 2, 2).astype(float)


HALF, MOST = (2.0, 2.0), (9.0, 1.0)
MIDDLING, GOOD = (6.0, 2.0), (20.0, 1.0)
DESIGNS = [
    Design(10, 20, HALF, MIDDLING), Design(15, 10, HALF, MIDDLING), Design(25, 40, HALF, MIDDLING),
    Design(50, 1, HALF, MIDDLING), Design(100, 4, HALF, MIDDLING), Design(300, 1, HALF, MIDDLING),
    Design(50, 1, HALF, GOOD), Design(100, 1, HALF, GOOD), Design(200, 1, HALF, GOOD),
    Design(100, 1, MOST, MIDDLING), Design(25, 20, MOST, GOOD),
]  # fmt: skip


def statistics(sums: Floats) -> Floats:
    """(b, 4) kappa, alpha, balanced accuracy and AUC."""
    alpha = alpha_of_coincidences(coincidences_of_pairs(sums), "nominal")
    return np.stack([kappa_of_counts(sums), alpha, balanced_accuracy_of_counts(sums), auc_of_counts(sums)], axis=1)


def coverage(design: Design, *, n_draws: int = N_DRAWS, seed: int = 5) -> tuple[Floats, Floats, int]:
    """(4,) true values, (4,) shares of the intervals that hold them, and how many draws had no interval."""
    rng = np.random.default_rng(seed)
    population = design.tables(rng, _POPULATION // design.n_items // 10)
    truth = statistics(population.sum(axis=0, keepdims=True))[0]
    held = np.empty((n_draws, 4))
    for draw in range(n_draws):
        tables = design.tables(rng, design.n_questions)
        interval = cluster_bootstrap(tables, statistics, n_resamples=N_RESAMPLES)
        holds = (interval.low <= truth) & (truth <= interval.high)
        held[draw] = np.where(np.isnan(interval.low), np.nan, holds)
    return truth, np.nanmean(held, axis=0), int(np.isnan(held[:, 0]).sum())


def coverage_table(n_draws: int = N_DRAWS) -> Table:
    """One row a design."""
    rows = []
    for design in DESIGNS:
        truth, held, n_without = coverage(design, n_draws=n_draws)
        positive = design.share[0] / sum(design.share)
        rows.append(
            (
                f"{design.n_questions} × {design.n_items}",
                f"{100 * positive:.0f}%",
                f"{truth[0]:.2f}",
                *map(percent, held.tolist()),
                f"{n_without}",
            )
        )
    title = f"How often 95% intervals hold the true value ({n_draws:,} draws of each design)"
    header = ("questions × items", "positive", "true κ", "κ", "α", "balanced accuracy", "AUC", "draws without interval")
    return Table(title, header, rows)


GRADE_DESIGNS = [(10, 30), (25, 40), (100, 4), (100, 1)]
GRADE_STATISTICS = ("kappa", "kappa_quadratic", "alpha_ordinal", "mean_difference", "spearman", "kendall", "auc")
_CUTS = (-0.2, 0.7, 1.5)
_GRADES = LabelMeaning(np.arange(4.0), np.arange(4.0), True, 2)
_GRADE_DRAWS, _GRADE_RESAMPLES = 600, 600


def grade_table(n_draws: int = _GRADE_DRAWS) -> Table:
    """Grades 0 to 3, where questions differ in level and in how strict the judge is about them."""
    rows = []
    for q, m in GRADE_DESIGNS:
        rng = np.random.default_rng(7)
        truth = _of_grades(_graded(rng, _POPULATION // 10 // m, m).sum(axis=0, keepdims=True))[0]
        held = np.empty((n_draws, len(truth)))
        for draw in range(n_draws):
            interval = cluster_bootstrap(_graded(rng, q, m), _of_grades, n_resamples=_GRADE_RESAMPLES)
            held[draw] = (interval.low <= truth) & (truth <= interval.high)
        rows.append((f"{q} × {m}", *map(percent, held.mean(axis=0).tolist())))
    title = f"The same of grades 0 to 3, and questions that differ much ({n_draws} draws of each design)"
    return Table(title, ("questions × items", *GRADE_STATISTICS), rows)


def _graded(rng: np.random.Generator, q: int, m: int) -> Floats:
    """(q, 4, 4) grades of truth and judge by question."""
    level, strictness = rng.normal(0, 0.8, (q, 1)), rng.normal(-0.2, 0.5, (q, 1))
    relevance = level + rng.normal(0, 1, (q, m))
    judged = np.digitize(relevance + strictness + rng.normal(0, 0.8, (q, m)), _CUTS)
    cells = 4 * np.digitize(relevance, _CUTS) + judged
    return np.stack([(cells == cell).sum(axis=1) for cell in range(16)], axis=1).reshape(-1, 4, 4).astype(float)


def _of_grades(sums: Floats) -> Floats:
    return np.stack([STATISTICS[name](sums, _GRADES) for name in GRADE_STATISTICS], axis=1)


ORDERS = [(20, 50, 0.02), (10, 50, 0.05), (37, 43, 0.03), (6, 100, 0.05), (20, 25, 0.1)]
"""Systems, questions, and how far a judge's grades move the mean of a system (standard deviation)."""
_ORDER_DRAWS, _ORDER_RESAMPLES = 200, 500


def order_table(n_draws: int = _ORDER_DRAWS) -> Table:
    """Why Kendall's tau of the order of systems has no interval: two that resample questions, and what they hold."""
    rows = [
        (f"{s} systems, {q} questions, {shift:g}", *map(percent, _order_coverage(s, q, shift, n_draws=n_draws)))
        for s, q, shift in ORDERS
    ]
    title = f"How often 95% intervals of the tau of systems hold that of all questions ({n_draws} draws of each design)"
    return Table(title, ("systems, questions, judge's shift of a system", "percentiles", "BCa"), rows)


def _order_coverage(s: int, q: int, shift: float, *, n_draws: int, seed: int = 3) -> tuple[float, float]:
    """Of percentiles, and of BCa: systems' means scatter by .08, questions by .2, values by .15, a judge's by .1."""
    rng = np.random.default_rng(seed)
    held = np.empty((n_draws, 2))
    for draw in range(n_draws):
        means, shifts = rng.normal(0.5, 0.08, s), rng.normal(0, shift, s)
        truth = kendall_tau(means, means + shifts)
        values = means + rng.normal(0, 0.2, (q, 1)) + rng.normal(0, 0.15, (q, s))
        both = np.stack([values, values + shifts + rng.normal(0, 0.1, (q, s))], axis=1)
        bca = cluster_bootstrap(both, _taus, n_resamples=_ORDER_RESAMPLES)
        drawn = rng.multinomial(q, np.full(q, 1 / q), size=_ORDER_RESAMPLES) @ both.reshape(q, -1)
        ends = np.quantile(_taus(drawn.reshape(-1, 2, s)), [0.025, 0.975])
        low, high = np.stack([ends, [bca.low[0], bca.high[0]]], axis=1)
        held[draw] = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
    percentiles, accelerated = held.mean(axis=0).tolist()
    return percentiles, accelerated


def _taus(sums: Floats) -> Floats:
    """(b, 1) Kendall's tau of (b, 2, s) sums, which have no ties."""
    first, second = (np.sign(side[:, :, None] - side[:, None, :]) for side in (sums[:, 0], sums[:, 1]))
    s = sums.shape[-1]
    return np.asarray((first * second).sum(axis=(1, 2))[:, None] / (s * (s - 1)))
