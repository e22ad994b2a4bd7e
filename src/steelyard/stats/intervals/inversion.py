"""p of tests by inverting an interval: the least level at which it leaves a value out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

_LEAST_TAIL = 1e-9
_STEPS = 30


class ByInterval(ABC):
    """A difference that is tested by its own interval, so that both always agree."""

    @abstractmethod
    def interval(self, level: float) -> tuple[float, float]:
        """Both ends; infinite where there are too few values for them."""

    def p_above(self, limit: float) -> float:
        """One-sided p of a difference of at most this: the least at which the interval is above it."""
        return self._tail(lambda low, _: low > limit)

    def p_below(self, limit: float) -> float:
        """One-sided p of a difference of at least this: the least at which the interval is below it."""
        return self._tail(lambda _, high: high < limit)

    @cached_property
    def p(self) -> float:
        """Two-sided p of no difference: the least at which the interval leaves out 0."""
        return min(1.0, 2 * min(self.p_above(0.0), self.p_below(0.0)))

    def _tail(self, leaves_out: Callable[[float, float], bool]) -> float:
        return least_tail(self.interval, leaves_out)


def least_tail(interval: Callable[[float], tuple[float, float]], leaves_out: Callable[[float, float], bool]) -> float:
    """The least share beyond an end at which an interval leaves a value out, 1 where it does at none.

    interval     both ends at a level;   leaves_out   whether these ends leave the value out
    """
    least, most = math.log(_LEAST_TAIL), math.log(0.5)
    if not leaves_out(*interval(1 - 2 * math.exp(most - 1e-9))):
        return 1.0
    if leaves_out(*interval(1 - 2 * _LEAST_TAIL)):
        return _LEAST_TAIL
    for _ in range(_STEPS):
        middle = (least + most) / 2
        least, most = (least, middle) if leaves_out(*interval(1 - 2 * math.exp(middle))) else (middle, most)
    return math.exp(most)
