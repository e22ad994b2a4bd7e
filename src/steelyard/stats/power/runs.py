"""How many runs of each of two systems make the error of their difference so much smaller."""

from __future__ import annotations

import math


def runs_needed(sd: float, sd_runs: float, *, n_runs: tuple[int, int], share: float) -> int | None:
    """Fewest runs of both systems with which a mean difference on the same questions has so small a share of its error.

    The variance of a difference is that of the questions and that of the runs, of which only the second one falls with
    more runs: sd**2 = questions + sd_runs**2 (1 / runs of one + 1 / runs of the other).

    sd        standard deviation of differences of a question, as they are
    sd_runs   of the value of one question, from run to run;   n_runs   of each system, as they are
    share     of the error, in (0, 1)
    Returns   None where the questions alone have a larger error

    >>> runs_needed(0.15, 0.1, n_runs=(1, 1), share=0.5)
    7
    >>> runs_needed(0.15, 0.1, n_runs=(1, 1), share=0.3) is None
    True
    """
    of_questions = max(sd**2 - sd_runs**2 * sum(1 / n for n in n_runs), 0.0)
    room = (share * sd) ** 2 - of_questions
    return math.ceil(2 * sd_runs**2 / room) if room > 0 else None
