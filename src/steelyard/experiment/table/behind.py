"""Scores behind a result that was computed from them: no part of it, and kept beside it in a store."""

from __future__ import annotations

from typing import Self

from steelyard.experiment.table.scores import Scores


class OfScores:
    """A result that knows the scores that it was computed from, until it is written."""

    @property
    def scores(self) -> Scores | None:
        """The scores behind it; None without any, and for a result that was read.

        They are no part of what is written; a store keeps them beside it.
        """
        return self.__dict__.get("_scores")

    def of_scores(self, scores: Scores) -> Self:
        """The same, with the scores that it was computed from."""
        self.__dict__["_scores"] = scores
        return self
