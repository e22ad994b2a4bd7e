"""How often a true loss of just the margin passes as "not worse"."""

from __future__ import annotations

from functools import cache

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Floats
from steelyard.base.extras import require
from steelyard.stats.equivalence import non_inferiority

LOSSES, GAINS = (0.02, 0.05, 0.10), (0.0, 0.01, 0.03, 0.05)
CELLS = [(loss, gain) for loss in LOSSES for gain in GAINS if loss > gain]
QUESTIONS = (10, 20, 50, 100, 200, 500)


def hits(n: int, n_lost: int, n_gained: int = 0) -> Floats:
    """Differences of n hits: so many lost, so many gained."""
    return np.repeat([-1.0, 1.0, 0.0], [n_lost, n_gained, n - n_lost - n_gained])


@cache
def passes(n: int, n_lost: int, n_gained: int, margin: float, *, alone: bool = False) -> bool:
    """Whether these hits are not worse by the margin: by both tests, or by t alone, for which equal ones are."""
    d = hits(n, n_lost, n_gained)
    by_t = (np.ptp(d) == 0 and d[0] > -margin) or non_inferiority(d, margin=margin).not_worse
    # Both tests must rule the margin out, and t is the quicker one to ask.
    return bool(by_t) and (alone or non_inferiority(d, margin=margin, width=1.0).not_worse)


def false_passes(n: int, loss: float, gain: float, *, alone: bool = False) -> float:
    """The exact chance that a true loss of just the margin passes, over all numbers of lost and gained hits."""
    binom = require("scipy.stats", extra="stats", what="the chance").binom
    lost = binom.pmf(np.arange(n + 1), n, loss)
    total = 0.0
    for n_lost in np.flatnonzero(lost > 1e-6).tolist():
        gained = binom.pmf(np.arange(n - n_lost + 1), n - n_lost, gain / (1 - loss))
        for n_gained in np.flatnonzero(gained > 1e-6).tolist():
            if passes(n, n_lost, n_gained, round(loss - gain, 9), alone=alone):
                total += lost[n_lost] * gained[n_gained]
    return total


def gate_table(draws: int, seed: int) -> Table:
    """Hits lost and gained by the number of questions: exact, without a draw."""
    return Table(
        'A true loss of just the margin passes as "not worse" (in brackets by t alone), exactly',
        ["lost, gained, margin", *(f"{n} questions" for n in QUESTIONS)],
        [
            [
                f"{loss:.0%}, {gain:.0%}, {loss - gain:.2f}",
                *(f"{percent(false_passes(n, loss, gain))} ({percent(false_passes(n, loss, gain, alone=True))})"
                  for n in QUESTIONS),
            ]
            for loss, gain in CELLS
        ],
    )  # fmt: skip
