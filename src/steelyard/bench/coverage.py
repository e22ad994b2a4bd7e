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
    unions, everything = {0}, 0
    for mask in useful:
        everything |= mask
    for _ in range(min(k, len(useful))):
        unions = {union | mask for union in unions for mask in useful}
        if everything in unions:
            break
        if len(unions) > _STATES:
            return None
    return max(union.bit_count() for union in unions)


def _undominated(masks: Iterable[int]) -> Sequence[int]:
    """Masks that are within no other one, each once."""
    useful = list[int]()
    for mask in sorted(set(masks), key=int.bit_count, reverse=True):
        if not any(mask | other == other for other in useful):
            useful.append(mask)
    return useful
