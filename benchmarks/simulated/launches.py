"""Launches: how often an A/B test ships what is no gain, or a loss, and how often what is a gain, by its decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent
from benchmarks.simulated.traffic import logs_of

from steelyard.abtests.analysing import analyse_experiment
from steelyard.abtests.config import ExperimentConfig
from steelyard.stats.arms.ratios import ratio_contrast
from steelyard.stats.power.power import fewest_questions
from steelyard.traffic.logs import Logs

_DAY, _DAYS = 24 * 3_600_000_000, 7
DECLARATION: Mapping[str, Any] = {
    "start": "2026-09-28", "days": _DAYS, "primary": "ctr", "difference": "5%", "arms": {"a": 0.5, "b": 0.5},
    "before": "0d", "guardrail": [{"metric": "latency_ms", "margin": "10%"}],
}  # fmt: skip


@dataclass(frozen=True)
class Launch:
    """A test of a week: users come again, few of them often, and click as they use to.

    n      users;   lift   by which the other arm's clicks differ, as a share;   slower   the same of its latency
    days   of the test;   stay   days after which a user, who may come first on any day, does not come again
    """

    n: int
    lift: float = 0.0
    slower: float = 0.0
    days: int = _DAYS
    stay: int | None = None

    def requests(self, rng: np.random.Generator) -> tuple[Any, ...]:
        """(r,) user, day and click of each request, and (n,) arms of users."""
        arm = rng.integers(0, 2, self.n)
        rate, chance = rng.gamma(1.5, 0.3, self.n), rng.beta(6, 9, self.n)
        requests = rng.poisson(rate, (self.days, self.n))
        if self.stay is not None:
            age = np.arange(self.days)[:, None] - rng.integers(-self.stay, self.days, self.n)
            requests[(age < 0) | (age >= self.stay)] = 0
        day, user = (np.repeat(place, requests.ravel()) for place in np.indices(requests.shape).reshape(2, -1))
        clicked = rng.random(len(user)) < chance[user] * np.where(arm[user] == 1, 1 + self.lift, 1)
        return user, day, clicked, arm

    def logs(self, rng: np.random.Generator) -> Logs:
        """Its logs."""
        user, day, clicked, arm = self.requests(rng)
        latency = rng.lognormal(5, 0.5, len(user)) * np.where(arm[user] == 1, 1 + self.slower, 1)
        columns = {"arm": np.array(["a", "b"])[arm[user]], "latency_ms": latency}
        return logs_of(day, pl.Series(user.astype(str)), columns, np.flatnonzero(clicked), length=_DAY)


@cache
def planned_users(lift: float = 0.05, power: float = 0.8) -> int:
    """Users of both arms with which a test has this power, by the spread of a large sample of them."""
    n = 200_000
    user, _, clicked, arm = Launch(n).requests(np.random.default_rng(11))
    contrast = ratio_contrast(arm, np.bincount(user, clicked, n), np.bincount(user, minlength=n).astype(float))
    deviation = contrast.error * np.sqrt(n)
    return int(fewest_questions(lift * contrast.baseline / deviation, power=power) or 0)


def outcomes(launch: Launch, draws: int, seed: int, **settings: Any) -> Counter[str]:
    """How often each outcome is decided on."""
    config = ExperimentConfig.of({**DECLARATION, **settings})
    children = np.random.default_rng(seed).spawn(draws)
    return Counter(
        analyse_experiment(config, launch.logs(rng)).decisions[0].outcome for rng in children
    )  # fmt: skip


def launch_table(draws: int, seed: int) -> Table:
    """Decisions on launches whose truth is known, with as many users as the gain that matters needs."""
    n = planned_users()
    rows = []
    for title, lift, slower in (
        ("no effect", 0.0, 0.0), ("5% fewer clicks", -0.05, 0.0), ("5% more clicks", 0.05, 0.0),
        ("5% more clicks, 15% slower", 0.05, 0.15),
    ):  # fmt: skip
        counts = outcomes(Launch(n, lift, slower), draws, seed)
        shares = [percent(counts[name] / draws) for name in ("ship", "do_not_ship", "inconclusive", "blocked")]
        rows.append([title, *shares])
    columns = ["truth", "ship", "do not ship", "inconclusive", "blocked"]
    return Table(f"Decisions of A/B tests with {n:,} users, planned for a gain of 5% with power 80%", columns, rows)
