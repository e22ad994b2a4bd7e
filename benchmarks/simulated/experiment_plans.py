"""How often tests of the planned size show the difference that they were planned for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.exposing import exposures
from steelyard.abtests.exposures import Sums
from steelyard.abtests.planning import ExperimentPlan, plan_experiment
from steelyard.base.arrays import Floats, Ints
from steelyard.base.choices import Analysis
from steelyard.stats.arms.contrast import Contrast
from steelyard.stats.arms.ratios import ratio_contrast
from steelyard.stats.sequences import Sequential
from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS, TIME

_START = datetime(2026, 9, 7, tzinfo=UTC)
_PEOPLE, _FEW_PEOPLE, _DAYS, _LONG, _BEFORE, _DIFFERENCE = 30_000, 3_000, 42, 119, 14, 0.1


def _people(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Requests a day and chance of a click of people: some come daily, most seldom; those who click do so again."""
    return rng.gamma(0.5, 0.4, n), rng.beta(3, 7, n)


def service_logs(
    rng: np.random.Generator, days: int = _DAYS, *, n_people: int = _PEOPLE, before: int = 0, gain: float = 0.0
) -> Logs:
    """Logs of so many days; people are in an arm from the day `before` on, where the treatment has more clicks."""
    rate, chance = _people(rng, n_people)
    user = np.repeat(np.arange(n_people), rng.poisson(rate * days))
    moment = rng.uniform(0, days, len(user))
    order = np.argsort(moment)
    user, moment = user[order], moment[order]
    in_test = moment >= before
    click = rng.random(len(user)) < chance[user] * (1 + gain * (user % 2) * in_test)
    time = pl.Series((moment * 86_400e6).astype(np.int64)).cast(pl.Duration("us")) + _START
    arms = np.where(user % 2, "treatment", "control")
    number, user = np.arange(len(user), dtype=np.uint32), user.astype(str)
    rows = pl.DataFrame({"time": time.cast(TIME), "user": user, "request": number.astype(str), "row": number})
    rows = rows.with_columns(is_bot=pl.lit(value=False), arm=pl.Series(arms).set(pl.Series(~in_test), None))
    absent = {name: pl.lit(None, dtype) for name, dtype in IMPRESSIONS.items() if name not in rows.columns}
    events = rows.filter(pl.Series(click)).select(
        "time", "request", "row", kind=pl.lit("click"), position=pl.lit(1, pl.Int32), doc_id=pl.lit(None, pl.String),
        value=pl.lit(None, pl.Float64), user="user",
    )  # fmt: skip
    answers = pl.DataFrame(schema={**ANSWERS, "row": pl.UInt32})
    return Logs(
        rows.with_columns(**absent).lazy(), events.select(*EVENTS, "row").lazy(), answers.lazy(), first=rows["time"][0],
        last=rows["time"][-1],
    )  # fmt: skip


def planned(
    rng: np.random.Generator, analysis: Analysis = "fixed", before: str = "14d", *, n_days: int = _DAYS,
    n_people: int = _PEOPLE,
) -> ExperimentPlan:  # fmt: skip
    """A plan from so many days of logs of one such service."""
    return plan_experiment(
        service_logs(rng, n_days, n_people=n_people),
        metric="ctr",
        difference=f"{_DIFFERENCE:.0%}",
        analysis=analysis,
        before=before,
    )


def _day_sums(rng: np.random.Generator, n: int, days: int) -> tuple[Ints, Floats, Floats, Floats, Floats]:
    """Arm, requests and clicks by day, and those before, of the first n people who come within so many days."""
    rate, chance = (np.concatenate(part) for part in zip(*(_people(rng, 2 * n) for _ in range(2)), strict=True))
    requests = rng.poisson(rate[:, None] / 1.0, (len(rate), days))
    came = np.flatnonzero(requests.any(axis=1))[:n]
    rate, chance, requests = rate[came], chance[came], requests[came]
    arm = rng.integers(0, 2, len(came))
    clicks = rng.binomial(requests, np.minimum(chance * (1 + _DIFFERENCE * arm), 1)[:, None])
    earlier = rng.poisson(rate * _BEFORE)
    return arm, requests.astype(float), clicks.astype(float), earlier.astype(float), rng.binomial(earlier, chance) + 0.0


def is_shown(rng: np.random.Generator, n: int, days: int, *, with_before: bool, daily: bool) -> bool:
    """Whether a test of so many users shows the difference: at its end, or at any day from the first week on."""
    arm, requests, clicks, earlier, earlier_clicks = _day_sums(rng, n, days)
    for day in range(7, days + 1) if daily else [days]:
        total = requests[:, :day].sum(axis=1)
        came = total > 0
        before = (earlier_clicks[came], earlier[came]) if with_before else None
        look: Contrast = ratio_contrast(arm[came], clicks[:, :day].sum(axis=1)[came], total[came], before=before)
        if (Sequential(look, n) if daily else look).p() < 0.05:
            return True
    return False


def is_shown_by_logs(rng: np.random.Generator, n: int, days: int) -> bool:
    """The same of a whole log, read as one is: so many people that about n of them come."""
    rate, _ = _people(rng, 20_000)
    n_people = round(n / (1 - np.exp(-rate * days)).mean())
    logs = service_logs(rng, _BEFORE + days, n_people=n_people, before=_BEFORE, gain=_DIFFERENCE)
    config = ExperimentConfig.of(
        {
            "start": _START + timedelta(days=_BEFORE), "days": days, "primary": "ctr", "difference": "10%",
            "arms": {"control": 0.5, "treatment": 0.5}, "before": f"{_BEFORE}d",
        }
    )  # fmt: skip
    exposed = exposures(logs, config)
    own = exposed.metrics["ctr"]
    assert isinstance(own, Sums)
    sums = [np.bincount(own.unit, part, len(exposed.units)) for part in (own.numerator, own.denominator)]
    assert own.before_numerator is not None
    assert own.before_denominator is not None
    return ratio_contrast(exposed.arm, *sums, before=(own.before_numerator, own.before_denominator)).p() < 0.05


_Power = tuple[float, float, float]


def power_of_plans(
    draws: int, seed: int, *, analysis: Analysis, before: str = "14d", n_days: int = _DAYS, n_people: int = _PEOPLE,
    n_plans: int = 4,
) -> _Power:  # fmt: skip
    """Users and days of plans from several logs, the mean, and the share of tests of their size that show it."""
    users, days, shown = [], [], []
    for number in range(n_plans):
        rng = np.random.default_rng([seed, number])
        plan = planned(rng, analysis, before, n_days=n_days, n_people=n_people)
        assert plan.users is not None
        assert plan.days is not None
        users.append(plan.users)
        days.append(plan.days)
        shown += [
            is_shown(rng, plan.users, plan.days, with_before=before != "0d", daily=analysis != "fixed")
            for _ in range(-(-draws // n_plans))
        ]
    return float(np.mean(users)), float(np.mean(days)), float(np.mean(shown))


def power_by_logs(draws: int, seed: int) -> _Power:
    """The same of one plan, of tests whose logs are read as those of a service are."""
    rng = np.random.default_rng([seed, 99])
    plan = planned(rng)
    assert plan.users is not None
    assert plan.days is not None
    shown = [is_shown_by_logs(rng, plan.users, plan.days) for _ in range(draws)]
    return float(plan.users), float(plan.days), float(np.mean(shown))


def planned_table(draws: int, seed: int) -> Table:
    """Power of tests of the planned size."""
    rows = []
    few: dict[str, Any] = {"n_people": _FEW_PEOPLE, "n_plans": 8}
    cases: dict[str, dict[str, Any]] = {
        "one look": {"analysis": "fixed"},
        "one look, nothing before the start": {"analysis": "fixed", "before": "0d"},
        "a look a day, always-valid": {"analysis": "always-valid"},
        "one look, small logs": {"analysis": "fixed", **few},
        "one look, small logs, nothing before the start": {"analysis": "fixed", "before": "0d", **few},
        "a look a day, small logs": {"analysis": "always-valid", **few},
        "a look a day, small logs of 17 weeks": {"analysis": "always-valid", "n_days": _LONG, **few},
    }
    for name, options in cases.items():
        users, days, power = power_of_plans(draws, seed, **options)
        rows.append([name, f"{users:,.0f}", f"{days:.0f}", percent(power)])
    users, days, power = power_by_logs(draws, seed)
    rows.append(["one look, of whole logs", f"{users:,.0f}", f"{days:.0f}", percent(power)])
    title = "Tests that show a true difference of 10% in ctr, of the size that a log of six weeks plans for 80%"
    return Table(title, ["analysis", "users", "days", "shown"], rows)
