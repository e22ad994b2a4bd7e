"""A system that is measured again and again on the same questions: noise between its runs, and a loss beyond it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.stats.numerics import t_quantile
from steelyard.stats.samples import RARE, fsum, mean_error, t_sf
from steelyard.stats.spread import spread_df

_JUMP = 3.0
"""Neighbouring runs whose means differ by more than so many errors are of a system that changed in between."""


@dataclass(frozen=True)
class RunNoise:
    """Variance of the value of one question from run to run.

    variance  of one run;   df   degrees of freedom, fewer where a few values differ far
    n         values of one run beside those of its neighbour, over all pairs
    """

    variance: float
    df: float
    n: int


def run_noise(runs: Sequence[Floats]) -> RunNoise | None:
    """How much runs of one system differ by chance: half the squared differences between neighbours.

    Neighbours between which the level jumped are left out: a system that was worse for a while is noisy in two pairs
    otherwise.

    runs      (n,) values of each run, in the order of time, NaN where a question has none
    Returns   None where no two neighbours are left
    Source    von Neumann, Distribution of the Ratio of the Mean Square Successive Difference to the Variance, 1941

    >>> rng = np.random.default_rng(7)
    >>> truth = rng.random(400)
    >>> noise = run_noise([truth + 0.1 * rng.standard_normal(400) - 0.3 * (i >= 4) for i in range(8)])
    >>> round(noise.variance, 3), noise.n
    (0.01, 2400)
    """
    pairs = [away for earlier, later in pairwise(runs) if not _jumps(away := later - earlier)]
    squares = np.concatenate([away[~np.isnan(away)] ** 2 / 2 for away in pairs]) if pairs else np.zeros(0)
    if not len(squares):
        return None
    # Of n equal normal values, the sum of squares has three times their number in it; neighbours share a run.
    df = 2 * fsum(squares) ** 2 / fsum(squares**2) if squares.any() else len(squares)
    return RunNoise(float(squares.mean()), max(df, 1.0), len(squares))


def _jumps(away: Floats) -> bool:
    """Whether the level changed between two runs, or they have no two questions in common."""
    average = mean_error(away[~np.isnan(away)])
    return average.n < 2 or abs(average.mean) > _JUMP * average.error


@dataclass(frozen=True)
class PairedGain:
    """A mean gain over the baseline, and how surely it is a loss.

    mean    above 0 is better;   error   of run noise;   df   its degrees of freedom;   n   questions
    p       of so large a loss where only chance differs: 1 where all gains are 0
    """

    mean: float
    error: float
    df: float
    n: int
    p: float

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Both ends of the interval of the mean."""
        half = t_quantile((1 + level) / 2, self.df) * self.error if self.error else 0.0
        return self.mean - half, self.mean + half


def paired_gain(gain: Floats, noise: RunNoise | None, *, n_baseline: int = 1) -> PairedGain:
    """The mean gain of one run over a baseline on the same questions, beside the noise between runs.

    The questions are fixed: what is asked is whether the system gives less on them than it did, so that the spread of
    gains between questions is no error.  Before anything is known of the noise, that spread stands in for it, which is
    larger.  Where runs were alike so far, they may differ by chance all the same, more rarely than was seen (RARE), by
    as much as the largest gain or loss.

    gain        (n,) above 0 being better, n from 2;   n_baseline   runs that the baseline is the mean of
    Raises      InputError for fewer than two questions

    >>> gain = paired_gain(np.repeat([-0.5, 0.0], [12, 108]), RunNoise(0.005, 119, 840))
    >>> round(gain.mean, 3), round(gain.error, 4), gain.p < 1 / 1200
    (-0.05, 0.0091, True)
    >>> paired_gain(np.zeros(120), None).p
    1.0
    """
    n = len(gain)
    if n < 2:
        raise InputError(f"{n} questions have a value on both sides, expected at least two")
    mean, largest = float(gain.mean()), float(np.abs(gain).max())
    if not largest:
        return PairedGain(0.0, 0.0, n - 1, n, 1.0)
    away = (gain - mean) ** 2
    seen = n if noise is None else noise.n
    least = RARE / seen * largest**2
    if noise is None:
        variance, df = max(float(away.sum()) / (n - 1), least), spread_df(away, most=n - 1) if away.any() else n - 1
    else:
        variance, df = max(noise.variance, least) * (1 + 1 / n_baseline), noise.df
    error = math.sqrt(variance / n)
    return PairedGain(mean, error, df, n, t_sf(-mean / error, df))
