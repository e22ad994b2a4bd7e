"""How often several systems that are equally good are called different, and what a broken one hides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
import polars as pl
from benchmarks.simulated.samples import alike, near_copies, real_scores, resampled
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.comparison.comparison import compare
from steelyard.experiment.table.scores import Scores
from steelyard.stats.tests.pairs import sign_flip_pairs, t_pairs, tukey

N_TOPICS = 43
N_MEASURES, N_QUESTIONS = 5, 40
N_FLIPS, N_SHUFFLES = 1999, 499
COPIES = ((3, 2), (5, 3), (10, 3), (20, 5), (30, 7))
REAL_SYSTEMS = (3, 10, 37)

Adjusted = Callable[[Floats, int], Floats]
"""Scores of systems and a seed to corrected p, that of the second system beside the first one first."""


def holm_baseline(values: Floats, seed: int) -> Floats:
    """Paired t of all systems beside the first one."""
    return t_pairs(values, pairs=[(0, i) for i in range(1, len(values))]).adjusted


def flips_baseline(values: Floats, seed: int) -> Floats:
    """Sign flips of all systems beside the first one."""
    pairs = [(0, i) for i in range(1, len(values))]
    return sign_flip_pairs(values, pairs=pairs, seed=seed, n_resamples=N_FLIPS).adjusted


def holm_pairs(values: Floats, seed: int) -> Floats:
    """Paired t of all pairs."""
    return t_pairs(values).adjusted


def tukey_pairs(values: Floats, seed: int) -> Floats:
    """Randomised Tukey of all pairs, and no p below that of the pair's own sign flips: as `guarded_tukey`, quicker."""
    own = sign_flip_pairs(values, seed=seed, n_resamples=N_FLIPS, correction="none").p
    return np.maximum(tukey(values, seed=seed, n_resamples=N_SHUFFLES).p, own)


METHODS: Mapping[str, Adjusted] = {"Holm, baseline": holm_baseline, "Holm, all pairs": holm_pairs, "Tukey": tukey_pairs}


def any_shown(collections: Iterable[Floats], adjusted: Adjusted, seed: int) -> float:
    """The share of collections in which any difference is shown."""
    return float(np.mean([(adjusted(values, seed + i) <= 0.05).any() for i, values in enumerate(collections)]))


def family_table(draws: int, seed: int) -> Table:
    """Family-wise errors of equally good systems: unlike ones, near copies, and such as TREC's."""
    rng = np.random.default_rng(seed)
    rows = {"4 unlike systems": [alike(rng, 4, 25) for _ in range(draws)]}
    for n_copies, n_others in COPIES:
        name = f"{n_copies} near copies + {n_others} others"
        rows[name] = [near_copies(rng, n_copies, n_others, N_TOPICS) for _ in range(draws)]
    matrices = real_scores()
    for s in REAL_SYSTEMS:
        rows[f"{s} of TREC's systems"] = [
            resampled(rng, values[rng.choice(len(values), s, replace=False)], N_TOPICS)
            for values in (matrices[rng.integers(len(matrices))] for _ in range(draws))
        ]
    return Table(
        f"How often some difference is shown although there is none ({N_TOPICS} questions; 25 of unlike systems)",
        ["systems", *METHODS],
        [
            [name, *(percent(any_shown(drawn, method, seed)) for method in METHODS.values())]
            for name, drawn in rows.items()
        ],
    )


def shown_by_family(rng: np.random.Generator, s: int, draws: int, *, baseline: bool) -> list[float]:
    """The share of collections of alike systems in which `compare` shows something: by the primary measure, and others.

    baseline   whether the first system is named as such; without, all pairs are compared
    """
    shown = np.zeros(2)
    for _ in range(draws):
        comparison = compare(_scores(together(rng, s, N_MEASURES, N_QUESTIONS)), baseline="s0" if baseline else None)
        told_apart = pl.col("verdict").is_in(["better", "worse"])
        primary = pl.col("measure") == comparison.primary
        shown += [comparison.frame.filter(told_apart, part).height > 0 for part in (primary, ~primary)]
    return (shown / draws).tolist()


def together(rng: np.random.Generator, s: int, m: int, n: int) -> Floats:
    """(s, m, n) values of systems that are alike, by measures that go together."""
    shared = rng.normal(size=(1, 1, n)) + rng.normal(size=(s, 1, n))
    return np.clip(0.5 + 0.15 * (shared + 0.5 * rng.normal(size=(s, m, n))), 0, 1)


def _scores(values: Floats) -> Scores:
    s, m, n = values.shape
    measures = ("ndcg@10", "mrr@10", "recall@5", "map", "precision@5")[:m]
    index = [(f"s{i}", f"q{q}", measure) for i in range(s) for measure in measures for q in range(n)]
    frame = pl.DataFrame(index, schema=["system", "query_id", "measure"], orient="row")
    return Scores.of(frame.with_columns(value=pl.Series(values.ravel())))


def primary_table(draws: int, seed: int) -> Table:
    """Errors of the primary measure, of all secondary ones together, and of headlines without a baseline."""
    rng = np.random.default_rng(seed)
    cases = [(2, True), (4, True), (10, True), (3, False), (4, False), (10, False)]
    return Table(
        f"How often a difference is shown that is none, by {N_MEASURES} measures of {N_QUESTIONS} questions",
        ["systems", "by the primary measure", "by any secondary one"],
        [[f"{s} {'beside a baseline' if baseline else 'without a baseline'}",
          *map(percent, shown_by_family(rng, s, draws, baseline=baseline))] for s, baseline in cases],
    )  # fmt: skip


def third_runs(draws: int, seed: int, n_sound: int) -> dict[str, tuple[float, float]]:
    """By method: how often a true difference of two of TREC's systems is shown among sound runs, and a broken one.

    n_sound   further runs, all of which are as good as the first one; then nine of ten values of one of them are 0
    """
    rng, shown = np.random.default_rng(seed), {name: np.zeros(2) for name in METHODS}
    matrices = real_scores()
    for i in range(draws):
        values = matrices[rng.integers(len(matrices))]
        sound = resampled(rng, values[rng.choice(len(values), 2 + n_sound, replace=False)], N_TOPICS) + 0.3
        d = sound[1] - sound[0]
        sound[1] += 3 * d.std() / np.sqrt(N_TOPICS)
        broken = sound.copy()
        broken[2] *= rng.random(N_TOPICS) < 0.1
        for name, method in METHODS.items():
            shown[name] += [method(sound, seed + i)[0] <= 0.05, method(broken, seed + i)[0] <= 0.05]
    return {name: (float(a), float(b)) for name, (a, b) in ((name, both / draws) for name, both in shown.items())}


def third_run_table(draws: int, seed: int) -> Table:
    """What one broken run does to the verdict between two others."""
    columns: list[list[str]] = [[*METHODS]]
    heads = []
    for n_sound in (1, 10):
        rates = third_runs(draws, seed, n_sound)
        heads += [f"{n_sound} further, sound", "one of them broken"]
        columns += [[percent(rates[name][k]) for name in METHODS] for k in (0, 1)]
    return Table(
        f"How often a difference of three standard errors is shown beside further runs ({N_TOPICS} questions)",
        ["test", *heads],
        list(zip(*columns, strict=True)),
    )
