"""Agreement of the leaderboards by several measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.comparison.samples import Sample
from steelyard.stats.rankings import kendall_tau, rank_biased_overlap, tau_ap

_DEEP = 0.9


@dataclass(frozen=True)
class LeaderboardAgreement:
    """Agreement of the leaderboard by another measure with that by the first one.

    kendall   tau-b;   tau_ap   the same with the weight at the top
    rbo       rank-biased overlap;   rbo_p   its p, so that one looks half of the way down s systems on average, and ten
              places at most: min(0.9, 1 - 2 / s)
    """

    first: str
    other: str
    kendall: float
    tau_ap: float
    rbo: float
    rbo_p: float


def agreements(samples: Sequence[Sample], systems: Sequence[str]) -> list[LeaderboardAgreement]:
    """Agreement of each further leaderboard with the first one; none for two systems, which can only swap."""
    if len(systems) < 3:
        return []
    means = [np.nan_to_num(sample.sign * sample.means) for sample in samples]  # Infinite ones are the last.
    boards = [[systems[i] for i in np.argsort(-mean, kind="stable").tolist()] for mean in means]
    p = min(_DEEP, 1 - 2 / len(systems))
    return [
        LeaderboardAgreement(
            str(samples[0].measure), str(sample.measure), kendall_tau(means[0], mean), tau_ap(means[0], mean),
            rank_biased_overlap(boards[0], board, p=p).extrapolated, p,
        )
        for sample, mean, board in zip(samples[1:], means[1:], boards[1:], strict=True)
    ]  # fmt: skip
