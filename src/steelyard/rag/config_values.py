"""The parts of a configuration: stages, a target of the user's own, and how the run is weighed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from steelyard.align.document_lists import DocumentResolver
from steelyard.align.resolver import Resolver
from steelyard.base import defaults
from steelyard.base.choices import Unit
from steelyard.data.questions import Questions
from steelyard.experiment.door.units import resolver_of
from steelyard.text.folding import DEFAULT_STEPS


@dataclass(frozen=True)
class Stage:
    """A stage to make: a registered name or module:object, and its settings."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TargetSettings:
    """A system of the user's own: a callable, or an address, its options, and the documents that it searches.

    concurrency   questions that it takes at once
    """

    callable: str | None
    url: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    documents: Path | None = None
    concurrency: int | None = None


@dataclass(frozen=True)
class Weigh:
    """How the run is weighed; None leaves it to the weighing.

    fold      steps by which texts are compared;   cluster   which questions count as one
    """

    measures: tuple[str, ...] | None = None
    rule: str | None = None
    min_gain: float | None = None
    fold: tuple[str, ...] | None = None
    cluster: str | None = None

    def options(self) -> dict[str, Any]:
        """Keyword arguments of `evaluate`, the measures left aside."""
        return {
            "rule": self.rule or defaults.RULE,
            "min_gain": self.min_gain,
            "steps": self.fold,
            "cluster": self.cluster,
        }

    def resolver(self, questions: Questions, unit: Unit | None) -> Resolver | DocumentResolver:
        """Resolves the gold of questions by this rule and these steps, once for each corpus.

        Raises   InputError for a rule that does not exist, and for gold that does not fit the unit.
        """
        steps = DEFAULT_STEPS if self.fold is None else self.fold
        return resolver_of(questions, rule=self.rule or defaults.RULE, steps=steps, unit=unit)
