"""How many questions for several systems at once: the F test of systems that answer the same questions."""

from __future__ import annotations

import math

from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.stats.power import check_power, fewest
from steelyard.stats.samples import share, whole


def f_power(effect: float, n: int, *, n_systems: int, alpha: float = 0.05) -> float:
    """Chance that an F test shows that some of several systems differ, where best and worst differ by an effect.

    effect    difference of best and worst over the standard deviation of the differences of two systems (d_z); all
              other systems are midway between them, where the test has least power
    n         questions, the same for every system (questions x systems, one value each); 2 systems are a paired t test
    Returns   in [alpha, 1]; NaN below two questions
    Raises    InputError for alpha outside (0, 1), fewer than two systems, an effect that is not finite
    Source    Noncentral F: Sakai, Topic Set Size Design, Information Retrieval Journal 2016.  There every system has
              questions of its own, so that the variance within a system takes the place of that of the residuals, which
              is half the variance of differences, and n_systems * (n - 1) that of the degrees of freedom.

    >>> round(f_power(0.5, 34, n_systems=2), 4), round(f_power(0.5, 41, n_systems=3), 4)
    (0.8078, 0.8101)
    """
    share(alpha, "alpha")
    whole(n_systems, "n_systems", least=2)
    if not math.isfinite(effect):
        raise InputError(f"the effect is {effect}, expected a finite number of standard deviations")
    if n < 2:
        return math.nan
    special = require("scipy.special", extra="stats", what="power")
    df, df_residual = n_systems - 1, (n_systems - 1) * (n - 1)
    critical = special.fdtri(df, df_residual, 1 - alpha)
    below = float(special.ncfdtr(df, df_residual, n * effect * effect, critical))
    # SciPy has no number where F is so many standard deviations above the critical value (17 and more) that this is 0.
    return 1.0 if math.isnan(below) else 1 - below


def fewest_questions_f(effect: float, *, n_systems: int, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """Fewest questions with which an F test of several systems has this power; None where it takes more than 2**29.

    Raises    InputError where power is not between alpha and 1, and as `f_power` does

    >>> [fewest_questions_f(0.5, n_systems=s) for s in (2, 3, 10)]
    [34, 41, 64]
    """
    whole(n_systems, "n_systems", least=2)
    check_power(power, share(alpha, "alpha"))
    special = require("scipy.special", extra="stats", what="power")
    df = n_systems - 1
    # With many questions F is a chi-square over its degrees of freedom; so many questions are hardly too few.
    noncentrality = float(special.chndtrinc(special.chdtri(df, alpha), df, 1 - power))

    def enough(n: int) -> bool:
        return f_power(effect, n, n_systems=n_systems, alpha=alpha) >= power

    return fewest(enough, noncentrality / (effect * effect) if effect * effect else math.inf)
