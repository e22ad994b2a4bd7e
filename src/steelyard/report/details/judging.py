"""Who judged the answers of a system, and what came of it, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from steelyard.experiment.verdict_choice import RunVerdicts


@dataclass(frozen=True)
class Judging:
    """The verdicts on the answers of one system in numbers.

    recipe      what they depend on, as of `Verdicts`
    counts      answers by state, sentences by verdict, citations by problem
    not_judged  cause -> verdicts that are lacking;   errors   what the judge did wrong, by kind
    """

    recipe: Mapping[str, Any]
    counts: Mapping[str, int]
    not_judged: Mapping[str, int]
    errors: Mapping[str, int]

    @classmethod
    def of(cls, run: RunVerdicts) -> Judging:
        """That of the verdicts on a run; those that were made for the report have its date."""
        verdicts, made_now = run.verdicts, run.origin == "default"
        recipe = {key: value for key, value in verdicts.recipe.items() if key != "date" or not made_now}
        return cls(recipe, dict(verdicts.counts), dict(verdicts.not_judged), dict(verdicts.errors))
