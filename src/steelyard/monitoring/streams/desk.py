"""The judge of a sample of answers, with what it may spend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError, StageError
from steelyard.base.own_code import import_object
from steelyard.base.progress import no_progress
from steelyard.experiment.judging import judge, lent
from steelyard.judges.judging import judge_recipe
from steelyard.judges.registry import JUDGES, make_judge
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.monitoring.streams.drawing import Answer, JudgedTable
from steelyard.monitoring.streams.result import Spent


@dataclass(eq=False)
class Desk:
    """The judge, with what it may still spend at this look.

    n_left, usd_left   answers and dollars;   skipped   answers that there was no room for
    """

    settings: JudgedTable
    base: Path
    n_left: float
    usd_left: float
    spent: Spent = field(default_factory=Spent)
    skipped: int = 0

    @classmethod
    def of(cls, settings: JudgedTable, base: Path) -> Desk:
        """With the whole budget of a look."""
        budget, price = settings.budget, settings.usd_per_request
        of_money = math.inf if budget.usd is None or price is None else budget.usd // price
        return cls(settings, base, min(budget.requests or math.inf, of_money), budget.usd or math.inf)

    @cached_property
    def _named(self) -> Any:
        """The judge by its name, or that of the user's own, whose module is beside the configuration."""
        own = self.settings.judge
        return import_object(own, "judge", self.base) if ":" in own else own

    @cached_property
    def method(self) -> dict[str, Any]:
        """What the recipe of the judge says, before anything is judged; the settings too of one of the user's own."""
        settings = self.settings.settings
        with lent(self._named, settings, {}, no_progress, make_judge, JUDGES) as own:
            recipe = dict(judge_recipe(own)["judge"])
        return recipe | ({"settings": settings} if ":" in self.settings.judge else {})

    def values(self, answers: Sequence[Answer]) -> Floats:
        """(m, q) values of answers, NaN where one has none or the budget has no room for it."""
        specs = self.settings.specs
        values = np.full((len(specs), len(answers)), np.nan)
        judged = list(answers[: int(min(self.n_left, len(answers)))]) if self.usd_left > 0 else []
        self.skipped += len(answers) - len(judged)
        if judged:
            arrays = self._judged(judged).arrays([str(i) for i in range(len(judged))])
            values[:, : len(judged)] = [spec(arrays) for spec in specs]
        return values

    def _judged(self, answers: Sequence[Answer]) -> Verdicts:
        """Verdicts, which are kept nowhere; questions are numbered."""
        own, settings = self.settings, dict(self.settings.settings)
        if own.judge == "llm" and math.isfinite(self.usd_left):
            settings["budget"] = f"{self.usd_left:.6f}usd"
        try:
            verdicts = judge(
                [{"qid": str(i), "query": answer.query} for i, answer in enumerate(answers)],
                [
                    {"qid": str(i), "retrieved": answer.retrieved, "answer": answer.answer}
                    for i, answer in enumerate(answers)
                ],
                self._named, save=False, progress=no_progress, **settings,
            )  # fmt: skip
        except InputError as error:  # Settings fit, as the recipe was read: the judge failed on all that it was asked.
            raise StageError(str(error)) from error
        calls = verdicts.recipe.get("calls") or {}
        usd = float(calls.get("cost_usd") or 0.0) or len(answers) * (own.usd_per_request or 0.0)
        tokens = int(calls.get("tokens_in") or 0) + int(calls.get("tokens_out") or 0)
        spent = self.spent
        self.spent = Spent(spent.requests + len(answers), spent.tokens + tokens, spent.usd + usd)
        self.n_left, self.usd_left = self.n_left - len(answers), self.usd_left - usd
        return verdicts
