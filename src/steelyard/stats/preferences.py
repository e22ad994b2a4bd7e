"""Strengths of systems from comparisons in pairs, by the model of Bradley and Terry."""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Floats

PRIOR = 0.5
"""Wins that each system has over each other one beforehand, as if all had tied once more: no strength is infinite."""
_STEPS, _LONGEST, _SMALL = 100, 2.0, 1e-10


def bradley_terry(wins: Floats, *, prior: float = PRIOR) -> Floats:
    """Strengths by which the odds that i is preferred to j are exp(strength i - strength j), of greatest likelihood.

    wins     (b, s, s) of row over column, a tie counts half; nothing on the diagonal;   prior   added to each, above 0
    Returns  (b, s) strengths with mean 0, by Newton's method; of two systems their difference is
             log((wins + prior) / (losses + prior))
    Source   Bradley & Terry, Biometrika 1952; Hunter, MM algorithms for generalized Bradley-Terry models, 2004.

    >>> bradley_terry(np.array([[[0.0, 6.0], [2.0, 0.0]]])).round(4).tolist(), round(float(np.log(6.5 / 2.5) / 2), 4)
    ([[0.4778, -0.4778]], 0.4778)
    """
    s = wins.shape[1]
    own = wins + prior * (1 - np.eye(s))
    n, won = own + own.transpose(0, 2, 1), own.sum(axis=2)
    strengths = np.zeros(wins.shape[:2])
    for _ in range(_STEPS):
        chance = chances(strengths)
        gradient = won - (n * chance).sum(axis=2)
        weight = n * chance * (1 - chance)
        # Strengths are known up to a constant: the added 1 keeps their mean where it is.
        hessian = np.einsum("bi,ij->bij", weight.sum(axis=2), np.eye(s)) - weight * (1 - np.eye(s)) + 1.0
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        longest = np.abs(step).max(axis=1, keepdims=True, initial=0.0)
        strengths += step * np.minimum(1.0, _LONGEST / np.maximum(longest, _SMALL))
        if longest.max(initial=0.0) < _SMALL:
            break
    return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))


def chances(strengths: Floats) -> Floats:
    """(b, s, s) chance that the row is preferred to the column, by (b, s) strengths; .5 on the diagonal."""
    return np.asarray(1 / (1 + np.exp(strengths[:, None, :] - strengths[:, :, None])))


def win_shares(strengths: Floats) -> Floats:
    """(b, s) chance that each system is preferred to another one, the mean over the others.

    >>> win_shares(np.array([[np.log(3) / 2, -np.log(3) / 2]])).round(9).tolist()
    [[0.75, 0.25]]
    """
    s = strengths.shape[1]
    return np.asarray((chances(strengths).sum(axis=2) - 0.5) / (s - 1))
