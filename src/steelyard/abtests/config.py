"""The declaration of an A/B test: experiment.toml, or a dict of the same shape, written before it starts.

name = "reranker-v2"                 the file's stem by default
start = 2026-10-05                   first day, or moment
days = 28                            the horizon: whole weeks are best
timezone = "Asia/Shanghai"           in which days begin
unit = "user"                        or "session", "request": what was assigned to an arm
arm = "arm"                          the column of impressions that says which arm it was
salt = "reranker-v2"                 of `steelyard ab assign`, where that assigned the units: checked
analysis = "fixed"                   one look at the horizon; or "always-valid", any number of looks
primary = ["ctr"]                    what decides: one is best
difference = "5%"                    the smallest gain that matters: of the baseline, or a number
secondary = ["clicks@5"]             shown, and corrected among themselves
segments = ["browser", "language"]   columns of impressions: explored, and where a sample ratio mismatch is looked for
strata = ["language"]                columns by which the estimate is post-stratified
trigger = "differs"                  a column of impressions that says where both arms would have differed
other_arms = ["arm_layout"]          columns with arms of experiments that ran at the same time
least_days = 7                       before which there is no verdict, however clear
planned_units = 20000                of an always-valid analysis: where its intervals are narrowest; few cost little
before = "14d"                       requests before the start that reduce the variance (CUPED); "0d" for none
alpha = 0.05
power = 0.8
[arms]                               the first one is the baseline; shares of the traffic
control = 0.5
treatment = 0.5
[[guardrail]]                        what must not get worse by the margin or more
metric = "latency_ms:p95"
margin = "5%"
[better]                             direction of metrics that have none by themselves
tokens_out = "lower"
[judged]                             answers that a judge reads: metrics such as "judged:faithfulness"
n = 100                              drawn from every arm
judge = "llm"
labels = "labels.csv"                of people, by which the mean of every arm is corrected
[winsorise]                          values of users above this share of them are taken as equal to it
cost_usd = 0.999
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from steelyard.base.choices import Analysis, UnitKind
from steelyard.base.limits import Words, above, at_least, between
from steelyard.base.settings import Origin, SettingError, validate
from steelyard.monitoring.streams.drawing import JudgedTable
from steelyard.rag.config import Text, Written
from steelyard.traffic.series import Better
from steelyard.traffic.settings import Zone, duration, listed

JUDGED = "judged:"
"""Before the name of a measure of answers: the metric that a judge says."""
_SHARES_OFF = 1e-9
_AMOUNT = "a share of the baseline such as '5%', or a number in the metric's unit"


class Amount(BaseModel):
    """A difference: a number, or a share of the baseline's value.

    >>> Amount.of("5%").absolute(0.5), Amount.of(0.01).absolute(0.5), str(Amount.of("5%"))
    (0.025, 0.01, '5%')
    """

    model_config = ConfigDict(frozen=True)
    value: float
    is_relative: bool = False

    @classmethod
    def of(cls, value: object) -> Amount:
        """Of a text such as "5%", or a number.

        Raises   ValueError for anything else, and for what is not above 0.
        """
        if isinstance(value, Amount):
            return value
        is_relative = isinstance(value, str) and value.strip().endswith("%")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        try:
            number = float(value.strip().rstrip("%")) / 100 if isinstance(value, str) and is_relative else float(value)
        except ValueError:
            raise ValueError from None
        if not (math.isfinite(number) and number > 0):
            raise ValueError
        return cls(value=number, is_relative=is_relative)

    def absolute(self, baseline: float) -> float:
        """In the metric's unit, where the baseline has that value."""
        return self.value * abs(baseline) if self.is_relative else self.value

    def __str__(self) -> str:
        return f"{self.value * 100:g}%" if self.is_relative else f"{self.value:g}"


def _before(value: object) -> timedelta:
    is_none = isinstance(value, str) and value.strip() in ("0d", "0")
    return timedelta() if is_none else duration(value)


def _moment(value: object) -> object:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError from None


Difference = Annotated[Amount, BeforeValidator(Amount.of), Words(_AMOUNT)]
Level = Annotated[float, Words("a share such as 0.05"), between(0.0001, 0.5)]
Columns = Annotated[list[Text], BeforeValidator(listed), Words("a list of columns of impressions")]
Metrics = Annotated[list[Text], BeforeValidator(listed), Words("a list of metrics, such as ctr or clicks@5")]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Guardrail(_Table):
    """What must not get worse by the margin or more: a test of non-inferiority at its own level, one-sided."""

    metric: Text
    margin: Difference
    alpha: Level = 0.05


class ExperimentConfig(Written, _Table):
    """An A/B test: read it with `ExperimentConfig.read(path)` or `ExperimentConfig.of(mapping)`.

    >>> config = ExperimentConfig.of({
    ...     "start": "2026-10-05", "primary": "ctr", "difference": "5%", "arms": {"control": 0.5, "treatment": 0.5},
    ... })
    >>> config.baseline, config.treatments, config.ends.isoformat()
    ('control', ['treatment'], '2026-11-02T00:00:00+00:00')
    """

    name: Text = "experiment"
    start: Annotated[datetime | date, BeforeValidator(_moment), Words("a day such as 2026-10-05, or a time")]
    days: Annotated[int, at_least(1)] = 28
    timezone: Zone = "UTC"
    unit: UnitKind = "user"
    arm: Text = "arm"
    salt: Text | None = None
    analysis: Analysis = "fixed"
    primary: Annotated[Metrics, Field(min_length=1)]
    difference: Difference
    secondary: Metrics = []
    segments: Columns = []
    strata: Columns = []
    trigger: Text | None = None
    other_arms: Columns = []
    before: Annotated[timedelta, BeforeValidator(_before), Words("a time such as '14d', or '0d' for none")] = timedelta(
        days=14
    )
    alpha: Level = 0.05
    power: Annotated[float, Words("a share such as 0.8"), between(0.5, 0.999)] = 0.8
    least_days: Annotated[int, at_least(1)] = 7
    planned_units: Annotated[int, at_least(10)] = 2_000
    arms: Annotated[dict[Text, Annotated[float, above(0)]], Words("a table of arms and their shares")]
    guardrail: Annotated[list[Guardrail], Words("tables [[guardrail]] with metric and margin")] = []
    better: dict[Text, Better] = {}
    judged: Annotated[JudgedTable, Words("a table of settings of a judge")] | None = None
    winsorise: dict[Text, Annotated[float, between(0.5, 1.0)]] = {}

    @classmethod
    def _of(
        cls, values: Mapping[str, Any], *, base: Path, stem: str | None = None, origin: Origin | None = None
    ) -> Self:
        config: Self = validate(cls, values)
        name = config.name if stem is None or "name" in config.model_fields_set else stem
        config._check()
        return config.model_copy(update={"name": name})._written(values, base, origin)

    def _check(self) -> None:
        """Raise   SettingError for arms and metrics that do not fit together."""
        if len(self.arms) < 2:
            raise SettingError(f"there is 1 arm, {next(iter(self.arms))!r}; expected a baseline and another", "arms")
        total = math.fsum(self.arms.values())
        if abs(total - 1) > _SHARES_OFF:
            raise SettingError(f"the shares of the arms add up to {total:g}; expected 1", "arms")
        both = [metric for metric in self.secondary if metric in self.primary]
        if both:
            raise SettingError(f"{both[0]!r} is a primary metric, too; name it once", "secondary")
        judged = [] if self.judged is None else [f"{JUDGED}{name}" for name in self.judged.names]
        for metric in self.metrics:
            if metric.startswith(JUDGED) and metric not in judged:
                raise SettingError(
                    f"{metric!r} is not judged; add {metric.removeprefix(JUDGED)!r} to measures of a table [judged]",
                    "judged",
                )

    @property
    def baseline(self) -> str:
        """The first arm."""
        return next(iter(self.arms))

    @property
    def treatments(self) -> list[str]:
        """The other arms."""
        return list(self.arms)[1:]

    @cached_property
    def begins(self) -> datetime:
        """The start, in UTC."""
        zone, start = ZoneInfo(self.timezone), self.start
        moment = start if isinstance(start, datetime) else datetime.combine(start, time())
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)

    @cached_property
    def ends(self) -> datetime:
        """The horizon, in UTC: so many days after the start by the calendar of the time zone."""
        local = self.begins.astimezone(ZoneInfo(self.timezone))
        return (local.replace(tzinfo=None) + timedelta(days=self.days)).replace(tzinfo=local.tzinfo).astimezone(UTC)

    @property
    def metrics(self) -> list[str]:
        """All metrics, each once: primary ones, guardrails, secondary ones."""
        return list(dict.fromkeys([*self.primary, *(item.metric for item in self.guardrail), *self.secondary]))
