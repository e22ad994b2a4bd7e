"""How many gold pieces a few chunks can show: the chunks that cover most of them, of all choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_STATES = 20_000
"""Unions that are looked at, at most: beyond, the best choice is not known."""


def most_covered(masks: Iterable[int], k: int) -> int | None:
    """The most bits that the union of k masks has; None where there are too many unions to look at.

    >>> most_covered([0b0011, 0b0110, 0b1100], 1), most_covered([0b0011, 0b0110, 0b1100], 2)
    (2, 4)
    """
    useful = _undominated(masks)
    if (greedy := _greedy(useful, k)) == _bound(useful, k):
        return greedy
    unions = {0}
    for _ in range(min(k, len(useful))):
        unions = {union | mask for union in unions for mask in useful}
        if len(unions) > _STATES:
            return None
    return max(union.bit_count() for union in unions)


def _greedy(masks: Sequence[int], k: int) -> int:
    """The bits that k masks cover, each of which adds most to those before."""
    union = 0
    for _ in range(min(k, len(masks))):
        union |= max(masks, key=lambda mask: (union | mask).bit_count())
    return union.bit_count()


def _bound(masks: Sequence[int], k: int) -> int:
    """No k masks cover more bits: than there are, or than the k largest have."""
    everything = 0
    for mask in masks:
        everything |= mask
    return min(everything.bit_count(), sum(sorted(map(int.bit_count, masks), reverse=True)[:k]))


def _undominated(masks: Iterable[int]) -> Sequence[int]:
    """Masks that are within no other one, each once."""
    useful = list[int]()
    for mask in sorted(set(masks), key=int.bit_count, reverse=True):
        if not any(mask | other == other for other in useful):
            useful.append(mask)
    return useful
