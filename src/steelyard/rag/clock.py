"""How long each stage of a question takes."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter


class Clock:
    """Milliseconds of each stage of one question.

    earlier   those of stages that were done before, and maybe the total of these
    """

    __slots__ = ("_kept", "_last", "_shift", "_start")

    def __init__(self, earlier: Mapping[str, float] | None = None) -> None:
        self._kept = dict(earlier or {})
        self._shift = self._kept.pop("total", sum(self._kept.values()))
        self._start = self._last = perf_counter()

    def lap(self, stage: str | None = None, instead: float | None = None) -> float:
        """Time since the last lap; `instead` of it another, which then counts in the total too."""
        now = perf_counter()
        ms = elapsed = (now - self._last) * 1000
        if instead is not None:
            self._shift += instead - elapsed
            ms = instead
        if stage is not None:
            self._kept[stage] = ms
        self._last = now
        return ms

    def latency_ms(self) -> dict[str, float]:
        """Milliseconds of each stage, and the total until now."""
        self._kept["total"] = (perf_counter() - self._start) * 1000 + self._shift
        return self._kept
