"""Several runs of one system."""

from __future__ import annotations

from collections.abc import Iterable

from steelyard.base.errors import InputError


class Repeats:
    """Runs of one system over the same questions: other seeds, or answers of a model that differ each time.

    runs     anything that `evaluate` takes as a run: paths, Runs, Outputs, dicts, frames, run folders
    Raises   InputError where there is none

    >>> Repeats(["run1.trec", "run2.trec"])
    Repeats(2 runs)
    """

    def __init__(self, runs: Iterable[object]) -> None:
        self.runs = tuple(runs)
        if not self.runs:
            raise InputError("there is no run among the repeats; pass one or several")

    def __repr__(self) -> str:
        return f"Repeats({len(self.runs)} run{'s' * (len(self.runs) > 1)})"
