"""Levels of analysed experiments: how often, through logs, they say what is not so, beside what they promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl
from benchmarks.simulated.launches import DECLARATION, Launch
from benchmarks.simulated.tables import Table, percent

from steelyard.abtests.analysing import analyse_experiment
from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.experiment import Experiment
from steelyard.traffic.logs import Logs

Claim = Callable[[Experiment], bool]
_ALWAYS_VALID = {"analysis": "always-valid", "planned_units": 1_000, "days": 21}
_SLOWER = 0.1


def is_shipped(experiment: Experiment) -> bool:
    """Whether the arm is to be shipped."""
    return experiment.decisions[0].outcome == "ship"


def guardrail_holds(experiment: Experiment) -> bool:
    """Whether the guardrail is shown not to be worse by its margin."""
    return any(effect.role == "guardrail" and effect.verdict == "not_worse" for effect in experiment.effects)


def gain_is_ruled_out(experiment: Experiment) -> bool:
    """Whether the arm is said not to gain the difference that matters."""
    return any(reason.code == "gain_ruled_out" for reason in experiment.decisions[0].reasons)


def is_novelty(experiment: Experiment) -> bool:
    """Whether the effect is said to be another one later than in the first week."""
    return any(check.code == "novelty" and check.state == "careful" for check in experiment.checks)


@dataclass(frozen=True)
class Case:
    """A test of which something is not so, and how often it may be said at most.

    looks   days after each of which the log so far is analysed; the last one alone by default
    """

    title: str
    level: float
    claim: Claim
    launch: Launch
    settings: Mapping[str, Any] = field(default_factory=dict)
    looks: Sequence[int] = ()

    def share(self, draws: int, seed: int) -> float:
        """Share of tests in which it is said at any look."""
        config = ExperimentConfig.of({**DECLARATION, "days": self.launch.days, **self.settings})
        children = np.random.default_rng(seed).spawn(draws)
        return sum(self._is_said(config, self.launch.logs(rng)) for rng in children) / draws

    def _is_said(self, config: ExperimentConfig, logs: Logs) -> bool:
        whole = replace(logs, impressions=logs.impressions.collect().lazy(), events=logs.events.collect().lazy())
        looks = self.looks or [self.launch.days]
        return any(self.claim(analyse_experiment(config, _until(whole, config, day))) for day in looks)


def _until(logs: Logs, config: ExperimentConfig, day: int) -> Logs:
    """What a log has after so many days."""
    is_there = pl.col("time") < config.begins + timedelta(days=day)
    return replace(logs, impressions=logs.impressions.filter(is_there), events=logs.events.filter(is_there))


def _guardrail(metric: str) -> dict[str, Any]:
    return {"guardrail": [{"metric": metric, "margin": f"{_SLOWER:.0%}"}]}


_MONTH, _EVERY_DAY = Launch(1_000, days=21), range(7, 22)
CASES = (
    Case("a gain, where there is none: shipped at one of 15 daily looks", 0.05, is_shipped, _MONTH,
         {**_ALWAYS_VALID, "guardrail": []}, _EVERY_DAY),
    Case("the same, with a tenth of the planned users", 0.05, is_shipped, _MONTH,
         {**_ALWAYS_VALID, "guardrail": [], "planned_units": 10_000}, _EVERY_DAY),
    Case("the same, where users come for four days", 0.05, is_shipped, replace(_MONTH, n=4_000, stay=4),
         {**_ALWAYS_VALID, "guardrail": []}, _EVERY_DAY),
    Case("a guardrail at its margin, P95: holds at one of 15 daily looks", 0.05, guardrail_holds,
         replace(_MONTH, slower=_SLOWER), {**_ALWAYS_VALID, **_guardrail("latency_ms:p95")}, _EVERY_DAY),
    Case("a guardrail at its margin, mean: holds", 0.05, guardrail_holds, Launch(600, slower=_SLOWER)),
    Case("the same with 30 users", 0.05, guardrail_holds, Launch(30, slower=_SLOWER)),
    Case("a guardrail at its margin, P95: holds", 0.05, guardrail_holds, Launch(600, slower=_SLOWER),
         _guardrail("latency_ms:p95")),
    Case("a gain of the difference that matters, 50%, 60 users: ruled out", 0.05, gain_is_ruled_out, Launch(60, 0.5),
         {"difference": "50%"}),
    Case("no change after the first week, users come for four days: said", 0.01, is_novelty,
         replace(_MONTH, n=2_000, stay=4)),
)  # fmt: skip


def claim_table(draws: int, seed: int) -> Table:
    """How often an analysis says what is not so."""
    rows = [[case.title, percent(case.level), percent(case.share(draws, seed))] for case in CASES]
    return Table("What an analysed A/B test says wrongly, through logs", ["not so: said", "at most", "measured"], rows)
