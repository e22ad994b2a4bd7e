"""Plan an A/B test: users and days that a difference needs, and what shorter and longer tests can show."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from steelyard.abtests.accrual import Accrual, Accruals, read_accruals, steady
from steelyard.abtests.assigning import parse_split
from steelyard.abtests.config import Amount, ExperimentConfig
from steelyard.base.choices import Analysis, UnitKind
from steelyard.base.errors import InputError, quoted
from steelyard.base.result import Result
from steelyard.stats.power.detectable import detectable_errors
from steelyard.stats.power.looks import detectable_by_looks, power_by_looks
from steelyard.stats.power.power import fewest_questions
from steelyard.stats.power.power import power as power_of_test
from steelyard.stats.sequences import errors_at_any_time
from steelyard.traffic.logs import Logs
from steelyard.traffic.reading import read_logs
from steelyard.traffic.series import Better

_WEEK, _MOST_WEEKS, _LEAST_WEEKS = 7, 52, 4
_GUARDRAIL_ALPHA = 0.05
_MOST_USERS = 2**29


@dataclass(frozen=True)
class PlannedLength:
    """What a test of so many days can show.

    users         that come within these days, in all arms
    detectable    smallest difference that one look at the end shows with the planned power, in the metric's unit
    always_valid  the same of a look a day from the first week on, by always-valid intervals
    needed, needed_always_valid   users that the planned difference needs at this length; None for more than 2**29
    power         chance that the planned analysis shows the planned difference
    is_measured   whether the logs hold as many days; others go on as the logs do from their middle to their end
    """

    days: int
    users: int
    detectable: float
    always_valid: float
    needed: int | None
    needed_always_valid: int | None
    power: float
    is_measured: bool


@dataclass(frozen=True)
class PlannedGuardrail:
    """A guardrail of a planned test, whose margin is to be ruled out where nothing gets worse.

    value    of the metric in the logs;   margin   in its unit
    days     whole weeks that rule the margin out with the planned power; None for more than a year
    users    that this needs within the planned days; None for more than 2**29
    detectable   the margin that the planned days rule out with this power
    """

    metric: str
    value: float
    margin: float
    better: Better
    days: int | None
    users: int | None
    detectable: float


@dataclass(frozen=True, eq=False, repr=False)
class ExperimentPlan(Result):
    """Users and days of an A/B test.

    metric       that decides;   baseline   its value;   difference   that is to be shown, in its unit
    days         whole weeks in which enough users come for the metric and all guardrails, by the planned analysis;
                 None where a year is not enough
    users        that the difference and all margins need within these days, in all arms; None without them
    lengths      by week, to one behind the planned days, and to four at least
    guardrails   those that were named
    variance_kept   share of the variance that requests before the start leave (CUPED); 1 where they take none
    n_days       whole days of the logs; 0 without logs;   n_before   days before the start that reduce the variance
    n_requests, n_unknown   requests of these days, and those of them without a unit
    declaration  values of experiment.toml
    """

    VIEW: ClassVar[str] = "experiment_planning"

    metric: str
    baseline: float
    difference: float
    is_relative: bool
    analysis: Analysis
    alpha: float
    power: float
    arms: Mapping[str, float]
    unit: UnitKind
    days: int | None
    users: int | None
    lengths: Sequence[PlannedLength]
    guardrails: Sequence[PlannedGuardrail]
    variance_kept: float
    n_days: int
    n_before: int
    n_requests: int
    n_unknown: int
    declaration: Mapping[str, Any]

    @property
    def planned(self) -> PlannedLength:
        """The planned length; the longest one where none is enough."""
        return next((row for row in self.lengths if row.days == self.days), self.lengths[-1])

    @property
    def frame(self) -> pl.DataFrame:
        """A length a row, with the fields of PlannedLength, and the differences as shares of the baseline."""
        types = {"needed": pl.Int64, "needed_always_valid": pl.Int64}
        lengths = pl.DataFrame([vars(row) for row in self.lengths], schema_overrides=types)
        base = pl.when(self.baseline != 0).then(abs(self.baseline))
        differences = pl.col("detectable", "always_valid")
        return lengths.with_columns((differences / base).name.suffix("_relative"))


def plan_experiment(
    logs: Logs | str | Path | Sequence[str | Path] | None = None, *, metric: str, difference: str | float,
    split: str | Mapping[str, float] = "50/50", analysis: Analysis = "fixed", alpha: float = 0.05, power: float = 0.8,
    before: str = "14d", unit: UnitKind = "user", guardrails: Mapping[str, str | float] | None = None,
    baseline: float | None = None, users_per_day: float | None = None, sd: float | None = None,
    name: str = "experiment", start: date | str | None = None, timezone: str = "UTC",
) -> ExperimentPlan:  # fmt: skip
    """Users and days that a difference needs, from logs of the present system, or from three numbers.

    How many users a test of so many days has, how often they come back, and how much their sums vary is read from the
    latest days of the logs, for each length; longer tests go on as the logs do from their middle to their end.

    logs         Logs, or files and folders as `read_logs` takes them; None with baseline and users_per_day
    metric       that decides: "ctr", "latency_ms:p95", a column, as `tabulate` takes it
    difference   that is to be shown: "5%" of the baseline, or a number in the metric's unit
    split        weights of the arms, the baseline first: "50/50", "now=90/next=10", or by name; alpha is shared among
                 several treatments
    analysis     "fixed", one look at the end, or "always-valid", a look a day from the first week on
    before       time before the start whose requests reduce the variance, where the logs have room for it
    unit         what is assigned to an arm: "user", "session" or "request"
    guardrails   metric -> margin that is to be ruled out, one-sided, at .05
    baseline, users_per_day, sd   without logs: the metric's value, new users a day, and the standard deviation of a
                 value of a user; without sd the metric is a share of users
    name, start, timezone   of the declaration that `write("experiment.toml")` writes; start is the next Monday
    Raises       InputError for metrics that have no values of users, logs of less than a week, and settings that do not
                 fit; SettingError for values that a declaration cannot have
    """
    config = ExperimentConfig.of(
        {
            "name": name, "start": start or _next_monday(timezone), "timezone": timezone, "unit": unit, "salt": name,
            "analysis": analysis, "primary": [metric], "difference": difference, "before": before, "alpha": alpha,
            "power": power, "arms": _shares(split),
            "guardrail": [{"metric": own, "margin": margin} for own, margin in (guardrails or {}).items()],
        }
    )  # fmt: skip
    if logs is None:
        accruals = _of_numbers(config, baseline, users_per_day, sd)
    else:
        if not (baseline is None and users_per_day is None and sd is None):
            raise InputError("baseline, users_per_day and sd are for a plan without logs; leave them out, or the logs")
        metrics = config.metrics
        read = logs if isinstance(logs, Logs) else read_logs(logs, measures=metrics, timezone=timezone)
        accruals = read_accruals(read, metrics, unit=unit, before=config.before)
    return _plan(config, accruals)


def _next_monday(timezone: str) -> date:
    """The first day of the next week where the users are."""
    try:
        today = datetime.now(ZoneInfo(timezone)).date()
    except (ValueError, OSError, LookupError):
        today = datetime.now(UTC).date()  # The declaration refuses the time zone.
    return today + timedelta(days=_WEEK - today.weekday())


def _shares(split: str | Mapping[str, float]) -> dict[str, float]:
    """Arms with their shares, of a split as `parse_split` reads it, or by name; they add up to 1.

    >>> _shares("90/10"), _shares("now=1/next=1/other=2")
    ({'control': 0.9, 'treatment': 0.1}, {'now': 0.25, 'next': 0.25, 'other': 0.5})
    """
    weights = parse_split(split) if isinstance(split, str) else split
    total = sum(weights.values())
    if not total > 0:
        raise InputError(f"the split {quoted(str(split))} has no traffic; expected weights above 0")
    return {name: float(weight / total) for name, weight in weights.items()}


def _of_numbers(
    config: ExperimentConfig, baseline: float | None, users_per_day: float | None, sd: float | None
) -> Accruals:
    if baseline is None or users_per_day is None:
        raise InputError("a plan is from logs (--from LOGS), or from --baseline and --users-per-day; name either")
    if config.guardrail:
        raise InputError("guardrails are planned from logs; leave them out, or name logs")
    if sd is None and not 0 < baseline < 1:
        raise InputError(
            f"the baseline {baseline:g} is no share of users; name the standard deviation of a user (--sd)"
        )
    sd = math.sqrt(baseline * (1 - baseline)) if sd is None else sd
    for what, number in (("users_per_day", users_per_day), ("sd", sd)):
        if not 0 < number < math.inf:
            raise InputError(f"{what} is {number:g}, expected a number above 0")
    accrual = steady(config.primary[0], baseline=float(baseline), per_day=users_per_day, sd=sd)
    return Accruals([accrual], n_days=0, n_before=0, n_requests=0, n_unknown=0)


def _plan(config: ExperimentConfig, accruals: Accruals) -> ExperimentPlan:
    by_name = {accrual.metric: accrual for accrual in accruals.metrics}
    primary, n_treatments = by_name[config.primary[0]], len(config.treatments)
    difference = _amount(config.difference, primary)
    test = _Test(
        analysis=config.analysis, alpha=config.alpha / n_treatments, power=config.power, n_sides=2,
        shares=(config.arms[config.baseline], min(config.arms[arm] for arm in config.treatments)),
        growth=difference / abs(primary.value) if primary.value else 0.0,
    )  # fmt: skip
    margins = [(by_name[item.metric], _amount(item.margin, by_name[item.metric])) for item in config.guardrail]
    rule_out = replace(test, alpha=_GUARDRAIL_ALPHA, n_sides=1, growth=0.0)
    weeks = [test.weeks(primary, difference), *(rule_out.weeks(*margin) for margin in margins)]
    days = None if None in weeks else max(week or 0 for week in weeks) * _WEEK
    guardrails = [
        _guardrail(rule_out, *margin, week, days or _MOST_WEEKS * _WEEK)
        for margin, week in zip(margins, weeks[1:], strict=True)
    ]
    needed = [None if days is None else test.needed(primary, difference, days), *(own.users for own in guardrails)]
    users = None if days is None else max(n or 0 for n in needed)
    shown = [*range(1, max(_LEAST_WEEKS, min(_MOST_WEEKS, (days or 0) // _WEEK + 1)) + 1)]
    lengths = [
        _length(test, primary, difference, week * _WEEK, accruals.n_days)
        for week in (shown if days else [*shown, _MOST_WEEKS])
    ]
    return ExperimentPlan(
        primary.metric, primary.value, difference, config.difference.is_relative, config.analysis, config.alpha,
        config.power, config.arms, config.unit, days, users, lengths, guardrails,
        primary.left_at(days or _MOST_WEEKS * _WEEK), accruals.n_days, accruals.n_before if primary.left else 0,
        accruals.n_requests, accruals.n_unknown, dict(_declared(config, days, users)),
    )  # fmt: skip


def _amount(amount: Amount, accrual: Accrual) -> float:
    """A difference or a margin in the unit of a metric."""
    absolute = amount.absolute(accrual.value)
    if not absolute > 0:
        raise InputError(
            f"{accrual.metric} is 0 here, so that {amount} of it is nothing; name a number in its own unit"
        )
    return absolute


def _guardrail(test: _Test, accrual: Accrual, margin: float, week: int | None, days: int) -> PlannedGuardrail:
    return PlannedGuardrail(
        accrual.metric, accrual.value, margin, accrual.better, None if week is None else week * _WEEK,
        test.needed(accrual, margin, days), test.detectable(accrual, days),
    )  # fmt: skip


def _length(test: _Test, accrual: Accrual, difference: float, days: int, n_days: int) -> PlannedLength:
    once, often = replace(test, analysis="fixed"), replace(test, analysis="always-valid")
    return PlannedLength(
        days,
        round(accrual.units.at(days)),
        once.detectable(accrual, days),
        often.detectable(accrual, days),
        once.needed(accrual, difference, days),
        often.needed(accrual, difference, days),
        test.power_of(accrual, difference, days),
        is_measured=days <= n_days or not n_days,
    )


@dataclass(frozen=True)
class _Test:
    """How a difference of two arms is tested.

    shares   of the baseline, and of the other arm
    growth   of the other arm's variance by the difference, as a share: that of a count grows as its mean does, that of
             an additive effect not at all, that of an effect that multiplies values twice as much
    """

    analysis: Analysis
    alpha: float
    power: float
    n_sides: int
    shares: tuple[float, float]
    growth: float

    def weeks(self, accrual: Accrual, difference: float) -> int | None:
        """The fewest weeks in which enough users come; None for more than a year."""
        weeks = range(1, _MOST_WEEKS + 1)
        return next((week for week in weeks if self.detectable(accrual, week * _WEEK) <= difference), None)

    def sd(self, accrual: Accrual, days: int) -> float:
        """Standard error of a difference after so many days, times the root of the number of users."""
        baseline, other = self.shares
        return math.sqrt(accrual.variance_at(days) * (1 / baseline + (1 + self.growth) / other))

    def error(self, accrual: Accrual, days: int) -> float:
        """Standard error of a difference after so many days."""
        return self.sd(accrual, days) / math.sqrt(accrual.units.at(days))

    def detectable(self, accrual: Accrual, days: int) -> float:
        """Smallest difference that is shown with the planned power after so many days."""
        if self.analysis == "always-valid":
            return _errors_by_looks(self, accrual, days) * self.error(accrual, days)
        n = max(round(accrual.units.at(days)), 4)
        errors = detectable_errors(n, df=n - 2, power=self.power, alpha=self.alpha, n_sides=self.n_sides)
        return errors * self.error(accrual, days)

    def needed(self, accrual: Accrual, difference: float, days: int) -> int | None:
        """Users that a difference needs who vary as they do within so many days; None for more than 2**29."""
        effect = difference / self.sd(accrual, days)
        if self.analysis == "always-valid":
            n = math.ceil((_errors_by_looks(self, accrual, days) / effect) ** 2)
            return n if n <= _MOST_USERS else None
        return fewest_questions(effect, power=self.power, alpha=self.alpha, n_sides=self.n_sides)

    def power_of(self, accrual: Accrual, difference: float, days: int) -> float:
        """Chance that a difference is shown after so many days."""
        errors = difference / self.error(accrual, days)
        if self.analysis == "always-valid":
            return power_by_looks(*_looks(accrual, days, self.level), errors, n_sides=self.n_sides)
        n = max(round(accrual.units.at(days)), 4)
        return power_of_test(errors / math.sqrt(n), n, alpha=self.alpha, n_sides=self.n_sides)

    @property
    def level(self) -> float:
        """Of an interval whose ends are tests of this alpha."""
        return 1 - 2 * self.alpha / self.n_sides


@lru_cache(maxsize=1024)
def _errors_by_looks(test: _Test, accrual: Accrual, days: int) -> float:
    """What a look a day shows, in standard errors at the end."""
    return detectable_by_looks(*_looks(accrual, days, test.level), power=test.power, n_sides=test.n_sides)


def _looks(accrual: Accrual, days: int, level: float) -> tuple[list[float], list[float]]:
    """A look a day from the first week on: the share of what is known at the end, and the bound in standard errors.

    Users who come back tell more without being more, while always-valid intervals are narrowest at a number of users.
    """
    looks = range(min(_WEEK, days), days + 1)
    information = [accrual.units.at(day) / accrual.variance_at(day) for day in looks]
    shares = np.maximum.accumulate(information) / max(information)
    users = accrual.units.at(days)
    return shares.tolist(), [errors_at_any_time(accrual.units.at(day), users, level) for day in looks]


def _declared(config: ExperimentConfig, days: int | None, users: int | None) -> Iterator[tuple[str, Any]]:
    """Values of the declaration, with the planned days."""
    for key, value in config.values.items():
        if key != "guardrail":
            yield key, {"difference": _written(config.difference), "start": config.start}.get(key, value)
        if key == "start":
            yield "days", days or _LEAST_WEEKS * _WEEK
        if key == "analysis" and config.analysis == "always-valid" and users is not None:
            yield "planned_units", users
    if config.guardrail:
        yield "guardrail", [{"metric": own.metric, "margin": _written(own.margin)} for own in config.guardrail]


def _written(amount: Amount) -> str | float:
    return str(amount) if amount.is_relative else amount.value
