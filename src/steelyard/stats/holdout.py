"""A held-out part of the questions that may be asked more than once: answers that tell an adaptive search little."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from steelyard.base.errors import InputError

_THRESHOLD, _NOISE, _SURE = 2.0, 0.5, 1.96
"""Threshold in standard errors of the difference of both parts' means; noise, and what a held-out mean itself may be
off by, in errors of that mean."""
_QUESTIONS_A_LOOK, _MOST_LOOKS = 12, 10
"""Held-out questions for one answer that is charged, and charged answers at most."""


@dataclass(frozen=True)
class HoldoutRules:
    """What a held-out part answers by, from how much the mean of a system varies; see `holdout_rules`.

    threshold   both means agree where they are apart by less, in the unit of the measure
    noise       scale of the Laplace noise;   step   to which held-out means are rounded
    budget      answers that may be given from the held-out part
    error       some answer is off the truth by more in fewer than 5% of searches
    """

    threshold: float
    noise: float
    step: float
    budget: int
    error: float


@dataclass(frozen=True)
class HoldoutAnswer:
    """An answer of a held-out part.

    mean     the open mean where both parts agree, else the held-out one with noise, rounded; None where refused
    agrees   whether both parts agree; None where refused, as the budget is spent
    """

    mean: float | None
    agrees: bool | None

    @property
    def charged(self) -> bool:
        """True if the budget pays for it."""
        return self.agrees is False


def holdout_rules(error: float, n_open: int, n_held: int) -> HoldoutRules:
    """Threshold, noise and budget of a held-out part, from its size and the spread on the open part alone.

    error    standard error of the open mean, or of the open mean difference, 0 or more
    n_open, n_held   questions of both parts, or clusters, 2 at least
    Raises   InputError for parts of fewer than 2

    >>> rules = holdout_rules(0.02, 84, 36)
    >>> round(rules.threshold, 3), round(rules.noise, 4), rules.step, rules.budget, round(rules.error, 3)
    (0.073, 0.0153, 0.01, 3, 0.148)
    """
    if min(n_open, n_held) < 2:
        raise InputError(f"{n_open} questions are open and {n_held} held out; expected 2 of both at least")
    held_error = error * math.sqrt(n_open / n_held)
    threshold = _THRESHOLD * math.hypot(error, held_error)
    noise = _NOISE * held_error
    step = 10.0 ** math.floor(math.log10(noise)) if noise > 0 else 0.0
    budget = min(max(n_held // _QUESTIONS_A_LOOK, 1), _MOST_LOOKS)
    return HoldoutRules(threshold, noise, step, budget, threshold + _SURE * held_error + noise)


def holdout_answer(
    open_mean: float, held_mean: float, rules: HoldoutRules, *, n_spent: int, rng: np.random.Generator
) -> HoldoutAnswer:
    """What may be said of a mean by the held-out part: nothing new where both parts agree, else a noisy value.

    n_spent  answers that were charged before;   rng   of the noise, which is not to be guessed
    Source   Thresholdout: Dwork, Feldman, Hardt, Pitassi, Reingold & Roth, The Reusable Holdout: Preserving Validity in
             Adaptive Data Analysis, Science 2015; the threshold's noise is drawn at each answer, as nothing secret is
             kept between them.

    >>> rules = holdout_rules(0.02, 84, 36)
    >>> holdout_answer(0.9, 0.7, rules, n_spent=0, rng=np.random.default_rng(1))
    HoldoutAnswer(mean=0.74, agrees=False)
    >>> holdout_answer(0.71, 0.7, rules, n_spent=2, rng=np.random.default_rng(1))
    HoldoutAnswer(mean=0.71, agrees=True)
    >>> holdout_answer(0.71, 0.7, rules, n_spent=3, rng=np.random.default_rng(1))
    HoldoutAnswer(mean=None, agrees=None)
    """
    if n_spent >= rules.budget:
        return HoldoutAnswer(None, None)
    if abs(held_mean - open_mean) <= rules.threshold + rng.laplace(0, rules.noise):
        return HoldoutAnswer(open_mean, True)
    noisy = held_mean + rng.laplace(0, rules.noise)
    return HoldoutAnswer(round(noisy / rules.step) * rules.step if rules.step else noisy, False)
