"""Power: what a paired t test, or an F test of several systems, can show with n questions."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.stats.numerics import nodes, t_quantile
from steelyard.stats.samples import fsum, share, whole

_MOST_QUERIES = 10**9
_MOST_TRIED = 2**29
_PRECISION = 1e-12
_ROUGH = 1e-9
"""More than a quick sum can be off."""

_REACH = 9.0
"""Standard deviations beyond which a normal variable has a chance below 1e-18."""

_MANY_DF = 100
_NORMAL = NormalDist()


def power(effect: float, n: int, *, alpha: float = 0.05, n_sides: int = 2, n_comparisons: int = 1) -> float:
    """Chance that a paired t test of n queries shows a true effect.

    effect          true mean difference over the differences' standard deviation (d_z); its sign does not matter
    n_sides         2 for a test of difference; 1 for non-inferiority, where the effect is the margin's
    n_comparisons   alpha is shared among so many (Bonferroni)
    Returns         in [alpha, 1]; NaN below two queries
    Raises          InputError for alpha outside (0, 1), n_sides other than 1 and 2, effect NaN
    Source          Noncentral t: Cohen 1988.

    >>> round(power(0.5, 34), 4)
    0.8078
    """
    shared = alpha_per_test(alpha, n_sides, n_comparisons)
    if not math.isfinite(effect):
        raise InputError(f"the effect is {effect}, expected a finite number of standard deviations")
    return _rejected(abs(effect) * math.sqrt(n), n - 1, shared, n_sides) if n >= 2 else math.nan


def questions_needed(
    effect: float, *, power: float = 0.8, alpha: float = 0.05, n_sides: int = 2, n_comparisons: int = 1
) -> int:
    """Fewest questions with which a paired t test shows this effect with this chance.

    effect    d_z: the difference that would matter over the differences' standard deviation, from a pilot
    Raises    InputError where the effect is 0 or needs more than 10**9 questions, and as `fewest_questions` does

    >>> [questions_needed(effect) for effect in (0.2, 0.3, 0.5)]
    [199, 90, 34]
    """
    if not (effect and math.isfinite(effect)):
        raise InputError(f"the effect is {effect}, expected a finite number of standard deviations other than 0")
    n = fewest_questions(effect, power=power, alpha=alpha, n_sides=n_sides, n_comparisons=n_comparisons)
    if n is None:
        raise InputError(f"an effect of {effect} needs more than {_MOST_QUERIES} questions; wish for a larger one")
    return n


def fewest_questions(
    effect: float, *, power: float = 0.8, alpha: float = 0.05, n_sides: int = 2, n_comparisons: int = 1
) -> int | None:
    """The same as `questions_needed`, and None where the effect needs more than 10**9 questions.

    Raises    InputError where power is not between alpha and 1, and as `power` does

    >>> fewest_questions(0.3), fewest_questions(1e-9)
    (90, None)
    """
    shared = alpha_per_test(alpha, n_sides, n_comparisons)
    check_power(power, shared)

    def enough(n: int) -> bool:
        return _rejects(abs(effect) * math.sqrt(n), n - 1, shared, n_sides, power=power)

    # The normal limit with Guenther's correction is hardly off.
    strict = _NORMAL.inv_cdf(1 - shared / n_sides)
    ratio = min((strict + _NORMAL.inv_cdf(power)) / abs(effect), float(_MOST_TRIED)) if effect else math.inf
    return fewest(enough, ratio * ratio + strict * strict / 2 + 0.5)


def fewest(enough: Callable[[int], bool], guess: float) -> int | None:
    """The smallest n from 2 on that is enough, where all larger ones are too; None where 2**29 is not.

    guess   a number that is hardly off: from there a step, then two, four, ... find both sides
    """
    low, high = 1, int(min(max(guess, 2), _MOST_TRIED))
    step = 1
    while not enough(high):
        if high == _MOST_TRIED:
            return None
        low, high, step = high, min(high + step, _MOST_TRIED), 2 * step
    step = 1
    while high - low > 1 and step < high - low and enough(high - step):
        high, step = high - step, 2 * step
    return _first(enough, max(low, high - step) + 1, high)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest whole number from low to high that it holds for; it holds for high, and from there on."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _rejected(noncentrality: float, df: float, alpha: float, n_sides: int) -> float:
    critical = t_quantile(1 - alpha / n_sides, df)
    shown = _above(critical, df, noncentrality)
    return min(1.0, shown + _above(critical, df, -noncentrality) if n_sides == 2 else shown)


def _rejects(noncentrality: float, df: float, alpha: float, n_sides: int, *, power: float) -> bool:
    """True if `_rejected` reaches the power: by quick sums, and by exact ones and both sides where these decide."""
    critical = t_quantile(1 - alpha / n_sides, df)
    shown = _above(critical, df, noncentrality, total=np.sum)
    if shown > power + _ROUGH or shown + alpha < power - _ROUGH:
        return shown > power
    return _rejected(noncentrality, df, alpha, n_sides) >= power


def _above(bound: float, df: float, noncentrality: float, *, total: Callable[[Floats], float] = fsum) -> float:
    """P(T > bound) of noncentral t, T = (Z + noncentrality) / S, by quadrature over Z or over S.

    SciPy's own function fails in the far tails that strict alphas and few questions lead to.  The variable is chosen
    so that what is integrated has no step that the nodes could miss; every term is positive, so small chances are
    as exact as large ones.
    """
    special = require("scipy.special", extra="stats", what="power")
    if bound < 0:
        return 1 - _above(-bound, df, -noncentrality, total=total)
    spread = 1 / math.sqrt(2 * df)
    if df >= _MANY_DF and bound * spread <= 1:
        away, weights = nodes(max(-1.0, -_REACH * spread), _REACH * spread)
        # The density of S at 1 + away, but for a factor that the weights' sum takes out.
        weights *= np.exp(df * (np.log1p(away) - away - away**2 / 2) - np.log1p(away))
        shares = special.ndtr(noncentrality - bound * (1 + away))
        return float(total(weights * shares) / total(weights))
    if bound == 0:
        return float(special.ndtr(noncentrality))
    least = max(-noncentrality, -_REACH)
    z, weights = nodes(least, max(least, 0.0) + _REACH)
    shares = special.gammainc(df / 2, df * ((z + noncentrality) / bound) ** 2 / 2)
    return float(total(weights * np.exp(-(z**2) / 2) * shares) / math.sqrt(2 * math.pi))


def alpha_per_test(alpha: float, n_sides: int, n_comparisons: int) -> float:
    """Alpha shared among comparisons.

    Raises   InputError for alpha outside (0, 1), n_sides other than 1 and 2, fewer than one comparison
    """
    share(alpha, "alpha")
    if n_sides not in (1, 2):
        raise InputError(f"n_sides is {n_sides}, expected 1 or 2")
    return alpha / whole(n_comparisons, "n_comparisons")


def check_power(power: float, alpha: float) -> None:
    """Raise   InputError unless power is between alpha and 1."""
    if not alpha < power < 1:
        raise InputError(f"power is {power}, expected a number between alpha ({alpha:g}) and 1, such as 0.8")


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
