"""Two periods with different questions: how often a difference is shown that is none, and a loss passes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from benchmarks.simulated.judged_differences import JUDGES, JudgedPair, shown
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.labels.prediction_powered import with_error_of_labels
from steelyard.stats.samples import t_sf
from steelyard.stats.unpaired import UnpairedDifference

Draw = Callable[[np.random.Generator, int], tuple[Floats, Ints | None]]
"""From a generator and a number of questions to their values, and the clusters that they are in, if any."""

_PER_CONVERSATION = 5


def conversations(rng: np.random.Generator, n: int) -> tuple[Floats, Ints]:
    """Hits of questions of conversations, 5 on average, some of which are easy and others hard."""
    n_clusters = max(n // _PER_CONVERSATION, 2)
    clusters = rng.integers(0, n_clusters, n)
    return (rng.random(n) < rng.beta(2, 0.6, n_clusters)[clusters]).astype(float), clusters


KINDS: dict[str, tuple[Draw, float, float]] = {
    "hits, 95%": (lambda rng, n: ((rng.random(n) < 0.95).astype(float), None), 0.95, 1.0),
    "hits, 50%": (lambda rng, n: ((rng.random(n) < 0.5).astype(float), None), 0.5, 1.0),
    "80% are 1, others spread": (lambda rng, n: (np.where(rng.random(n) < 0.8, 1.0, rng.random(n)), None), 0.9, 1.0),
    "reciprocal ranks": (lambda rng, n: (1.0 / rng.geometric(0.6, n), None), -0.6 / 0.4 * math.log(0.6), 1.0),
    "hits of conversations": (conversations, 2 / 2.6, 1.0),
    "latencies, lognormal": (lambda rng, n: (rng.lognormal(0, 0.8, n), None), math.exp(0.32), math.inf),
}
"""What questions score, with the mean and the highest value."""

SIZES = ((20, 20), (200, 20), (50, 50), (1000, 50), (300, 300))
MARGIN = 0.1


def two_periods(rng: np.random.Generator, kind: str, sizes: tuple[int, int], loss: float = 0.0) -> UnpairedDifference:
    """Two samples of a kind, of which the second truly loses so much of its mean: some questions then score 0."""
    draw, mean, most = KINDS[kind]
    (first, codes), (second, others) = (draw(rng, n) for n in sizes)
    second = second * (rng.random(len(second)) >= loss / mean)
    clusters = None if codes is None or others is None else (codes, others + codes.max() + 1)
    return UnpairedDifference(first, second, clusters=clusters, bounds=(0.0, most))


def rates(draws: int, seed: int, kind: str, sizes: tuple[int, int]) -> list[float]:
    """Shares of samples: Welch's t shows a difference that is none, ours does, a loss is missed, passes, is shown.

    Returns   false positives of Welch's t and of ours; how often the interval leaves out a true loss of MARGIN; how
              often that loss passes as less; and how often a loss is shown that the questions can show, NaN where that
              is no smaller than the mean
    """
    rng, counts, able = np.random.default_rng(seed), np.zeros(5), list[float]()
    for _ in range(draws):
        difference = two_periods(rng, kind, sizes)
        average = difference.average
        low, high = difference.interval(0.95)
        differs = 2 * t_sf(abs(average.mean) / average.error, average.df) < 0.05 if average.error else average.mean != 0
        counts[:2] += [differs, low > 0 or high < 0]
        able.append(difference.detectable())
        lost = two_periods(rng, kind, sizes, MARGIN)
        low, high = lost.interval(0.95)
        counts[2:4] += [not low <= -MARGIN <= high, lost.interval(0.9)[0] > -MARGIN]
    loss = float(np.nanmean(able))
    counts[4] = math.nan
    if loss < KINDS[kind][1]:
        counts[4] = sum(two_periods(rng, kind, sizes, loss).interval(0.95)[1] < 0 for _ in range(draws))
    return (counts / draws).tolist()


def unpaired_table(draws: int, seed: int) -> Table:
    """Two periods alike, or of which the second truly loses .1, by what questions score and how many there are."""
    rows = []
    for kind in KINDS:
        for sizes in SIZES:
            shares = [percent(share) if share >= 0 else "–" for share in rates(draws, seed, kind, sizes)]
            rows.append([kind, f"{sizes[0]:,} and {sizes[1]}", *shares])
    return Table(
        f"Two periods with different questions: no true difference, and a true loss of {MARGIN:g} (5% is the level)",
        ["scores", "questions", "Welch's t alone shows a difference", "shown", "interval misses the loss",
         f"loss of {MARGIN:g} passes a margin of {MARGIN:g}", "loss of \"can show\" is shown"],
        rows,
    )  # fmt: skip


def corrected_periods(rng: np.random.Generator, judge: str, n_questions: int, n_labels: int) -> tuple[bool, bool]:
    """Whether a difference that is none is shown by a judge alone, and corrected by labels of each period."""
    pair = JudgedPair(n_questions, n_labels, JUDGES[judge])
    means, by_judge = zip(*(pair.period(rng, favour) for favour in (0.0, pair.judge.favour)), strict=True)
    alone = UnpairedDifference(by_judge[0], by_judge[1]).average
    values = [mean.corrected.values for mean in means]
    return shown(alone), shown(with_error_of_labels(UnpairedDifference(values[0], values[1]).average, means))


def unpaired_label_table(draws: int, seed: int) -> Table:
    """False positives of two periods that people would call alike, and a judge that favours the second."""
    rows = []
    for judge in JUDGES:
        for n_questions, n_labels in ((200, 50), (200, 100), (1000, 100)):
            rng = np.random.default_rng(seed)
            shares = np.mean([corrected_periods(rng, judge, n_questions, n_labels) for _ in range(draws)], axis=0)
            rows.append([judge, f"{n_questions:,}", str(n_labels), *map(percent, shares)])
    return Table(
        "Two periods with different questions that people would call alike: how often a difference is shown at 5%",
        ["judge", "questions each", "labels each", "by the judge alone", "corrected"],
        rows,
    )
