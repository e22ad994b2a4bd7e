"""How long each stage of a question takes."""

from __future__ import annotations

from time import perf_counter


class Clock:
    """Milliseconds of each stage of one question."""

    __slots__ = ("_kept", "_last", "_shift", "_start")

    def __init__(self) -> None:
        self._kept: dict[str, float] = {}
        self.restart()

    def restart(self) -> None:
        """Count from now on."""
        self._start = self._last = perf_counter()
        self._shift = 0.0

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
