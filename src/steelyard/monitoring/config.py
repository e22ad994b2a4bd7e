"""The configuration of a monitor: monitor.toml, or a dict of the same shape.

name = "support"                     the file's stem by default
logs = ["logs"]                      files and folders; relative paths count from the configuration's folder
window = "1h"                        or "1d", "15m", "500 requests"
timezone = "Asia/Shanghai"           in which days begin, and times without a zone are
lateness = "1h"                      how long after its end a window waits for late events
false_alarms = "1 per month"         over all series and segments together
segments = ["language", "arm"]       columns of impressions whose values are watched apart
measures = ["ctr", "empty_rate"]     those that the logs allow by default
drift = true                         compare queries and scores with those of the first windows
[store]
url = "history.db"                   where the monitor remembers, and the baseline of replays is
[replay]                             questions that are asked of the live system again
[sample]                             answers of the log that a judge reads
[[deployment]]                       what else changed, and when: named beside alerts
time = 2026-10-05T12:00:00Z
text = "reranker v2"
[[holiday]]                          days of which nothing is learned, and in which nothing alarms
start = 2026-10-01
end = 2026-10-07                     the last one
text = "National Day"
[[sink]]                             where alerts are sent
type = "slack"
url_env = "SLACK_URL"
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from steelyard.base.choices import Language
from steelyard.base.errors import InputError, quoted
from steelyard.base.limits import Words, above
from steelyard.base.settings import Origin, SettingError, validate
from steelyard.monitoring.alerts import Change
from steelyard.monitoring.sinks.declared import Sinks, sinks_beside
from steelyard.monitoring.streams.asking import ReplayTable
from steelyard.monitoring.streams.drawing import SampleTable
from steelyard.rag.config import File, Text, Written, path_in
from steelyard.store.settings import StoreTable
from steelyard.traffic.settings import Duration, Zone, listed
from steelyard.traffic.windows import Windows

DAYS_A_MONTH = 365.25 / 12
_RATE = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(?:per|a|/)\s*(day|week|month|year)\s*")
_PER_MONTH = {"day": DAYS_A_MONTH, "week": DAYS_A_MONTH / 7, "month": 1.0, "year": 1 / 12}
_RATES = "false alarms over all series, such as '1 per month', '2 per year', or a number a month"


def alarms_per_month(value: object) -> float:
    """False alarms a month, of a text such as "1 per month", or a number.

    Raises   ValueError for anything else, and for none at all.

    >>> alarms_per_month("1 per month"), alarms_per_month("6 per year"), alarms_per_month(0.5)
    (1.0, 0.5, 0.5)
    """
    if isinstance(value, str) and (match := _RATE.fullmatch(value)) is not None:
        value = float(match[1]) * _PER_MONTH[match[2]]
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise ValueError
    return float(value)


Rate = Annotated[float, BeforeValidator(alarms_per_month), Words(_RATES), above(0)]


def _check_window(text: str) -> str:
    try:
        Windows.parse(text)
    except InputError as error:
        raise SettingError(str(error)) from None
    return text


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Deployment(_Table):
    """Something that was changed by hand."""

    time: datetime
    text: Text


class Holiday(_Table):
    """Days on which traffic is not as usual: from the first to the last one, in the zone of the monitor."""

    start: date
    end: date | None = None
    text: Text


class MonitorConfig(Written, _Table):
    """A monitor: read it with `MonitorConfig.read(path)` or `MonitorConfig.of(mapping)`.  Its paths are absolute.

    >>> config = MonitorConfig.of({"logs": "logs", "window": "1d", "false_alarms": "1 per week"})
    >>> config.windows.every.days, round(config.false_alarms, 2)
    (1, 4.35)
    """

    name: Text = "monitor"
    logs: Annotated[list[File], BeforeValidator(listed), Words("a path, or a list of paths")] = []
    window: Annotated[Text, AfterValidator(_check_window)] = "1h"
    timezone: Zone = "UTC"
    lateness: Duration = timedelta(hours=1)
    false_alarms: Rate = 1.0
    lang: Language | None = None
    segments: Annotated[list[Text], BeforeValidator(listed), Words("a list of columns of impressions")] = []
    measures: Annotated[list[Text], Field(min_length=1), Words("a list of measures of logs")] | None = None
    drift: bool = True
    store: StoreTable = StoreTable(url="history.db")
    replay: Annotated[ReplayTable, Words("a table with questions and system")] | None = None
    deployment: Annotated[list[Deployment], Words("tables [[deployment]] with time and text")] = []
    holiday: Annotated[list[Holiday], Words("tables [[holiday]] with start, end and text")] = []
    sample: Annotated[SampleTable, Words("a table of settings of a judge")] | None = None
    sink: Sinks = []

    @classmethod
    def _of(
        cls, values: Mapping[str, Any], *, base: Path, stem: str | None = None, origin: Origin | None = None
    ) -> Self:
        config: Self = validate(cls, values)
        name = config.name if stem is None or "name" in config.model_fields_set else stem
        url = config.store.url if "://" in config.store.url else str(path_in(base, config.store.url))
        changes = {
            "name": name,
            "logs": [path_in(base, path) for path in config.logs],
            "store": config.store.model_copy(update={"url": url}),
            "sink": sinks_beside(config.sink, base),
        }
        config._check_streams()
        config._check_holidays()
        return config.model_copy(update=changes)._written(values, base, origin)

    def _check_streams(self) -> None:
        """Raise   SettingError where nothing is watched."""
        if not self.logs and self.replay is None:
            raise SettingError('nothing is watched; name logs, such as logs = ["logs"], or a table [replay]', "logs")
        if self.sample is not None and not self.logs:
            raise SettingError("[sample] draws answers of logs, and none are named", "sample")

    def _check_holidays(self) -> None:
        for i, holiday in enumerate(self.holiday):
            if holiday.end is not None and holiday.end < holiday.start:
                raise SettingError(
                    f"holiday {quoted(holiday.text)} ends on {holiday.end}, before it starts on {holiday.start}",
                    "holiday", i, "end",
                )  # fmt: skip

    @cached_property
    def windows(self) -> Windows:
        """How its logs are cut."""
        return Windows.parse(self.window, timezone=self.timezone)

    def changes(self) -> list[Change]:
        """Deployments and holidays of the configuration."""
        zone = ZoneInfo(self.timezone)
        local = partial(datetime.combine, time=time(), tzinfo=zone)
        deployments = [
            Change("deployment", (item.time if item.time.tzinfo else item.time.replace(tzinfo=zone)).astimezone(UTC),
                   item.text)
            for item in self.deployment
        ]  # fmt: skip
        day = timedelta(days=1)
        holidays = [
            Change("holiday", local(item.start).astimezone(UTC), item.text,
                   local((item.end or item.start) + day).astimezone(UTC))
            for item in self.holiday
        ]  # fmt: skip
        return sorted([*deployments, *holidays], key=lambda change: change.time)
