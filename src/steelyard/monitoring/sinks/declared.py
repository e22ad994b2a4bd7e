"""The tables [[sink]] of a configuration, and what is done with all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar

import polars as pl
from pydantic import AfterValidator, BeforeValidator

from steelyard.base.errors import SteelyardError
from steelyard.base.limits import Words
from steelyard.base.nearest import nearest
from steelyard.base.result import Result
from steelyard.base.settings import SettingError, validate
from steelyard.monitoring.looking import Look
from steelyard.monitoring.sinks.chats import DingTalk, Feishu, Slack, Webhook
from steelyard.monitoring.sinks.files import JSONLines, Markdown, Prometheus
from steelyard.monitoring.sinks.mail import Email
from steelyard.monitoring.sinks.message import Message
from steelyard.monitoring.sinks.serving import exposition
from steelyard.monitoring.sinks.sink import Sink

SINKS: Mapping[str, type[Sink]] = {
    "json": JSONLines, "webhook": Webhook, "slack": Slack, "feishu": Feishu, "dingtalk": DingTalk, "email": Email,
    "prometheus": Prometheus, "markdown": Markdown,
}  # fmt: skip
"""Types of sinks."""
TEST_S = 15.0


def parse_sink(value: object) -> Sink:
    """The sink of a table; a sink as it is.

    Raises   ValueError for what is no table; SettingError for a table that declares none.
    """
    if isinstance(value, Sink):
        return value
    if not isinstance(value, Mapping):
        raise ValueError
    kind, names = value.get("type"), list(SINKS)
    if not isinstance(kind, str):
        raise SettingError(f"a sink is a table with `type`: {', '.join(names)}")
    if kind not in SINKS:
        raise SettingError(f"there is no sink of type {kind!r}; {nearest(kind, names)}", "type")
    sink: Sink = validate(SINKS[kind], dict(value))
    return sink


def _check_names(sinks: list[Sink]) -> list[Sink]:
    labels = [sink.label for sink in sinks]
    for i, label in enumerate(labels):
        if label in labels[:i]:
            raise SettingError(f"two sinks are called {label}; give one of them another name", i)
    return sinks


SinkTable = Annotated[
    Any, BeforeValidator(parse_sink), Words('a table such as { type = "slack", url_env = "SLACK_URL" }')
]
Sinks = Annotated[list[SinkTable], AfterValidator(_check_names), Words("tables [[sink]]")]
"""The sinks of a configuration, whose names differ."""


def sinks_beside(sinks: Sequence[Sink], folder: Path) -> list[Sink]:
    """The sinks with paths that count from a folder."""
    return [sink.beside(folder) for sink in sinks]


@dataclass(frozen=True)
class Outcome:
    """How a sink did.

    sink, type   its name and type;   error   why it failed; empty where all is well
    seconds      that it took;   is_sent   whether a message was for it
    """

    sink: str
    type: str
    error: str
    seconds: float
    is_sent: bool


@dataclass(frozen=True, eq=False, repr=False)
class SinkTest(Result):
    """A test of all sinks of a monitor, in their order."""

    VIEW: ClassVar[str] = "views.sinks"

    monitor: str
    outcomes: Sequence[Outcome]

    @property
    def failures(self) -> list[Outcome]:
        """Those that did not take the message, or cannot be written."""
        return [outcome for outcome in self.outcomes if outcome.error]

    @property
    def frame(self) -> pl.DataFrame:
        """A sink a row: sink, type, error (empty where all is well), seconds, is_sent."""
        texts = dict.fromkeys(("sink", "type", "error"), pl.String)
        schema = {**texts, "seconds": pl.Float64, "is_sent": pl.Boolean}
        return pl.DataFrame([asdict(outcome) for outcome in self.outcomes], schema)


def write_files(sinks: Sequence[Sink], look: Look, *, report: str, now: datetime) -> list[Outcome]:
    """Write the files that show a look, each whole or not at all; one that cannot be written stops no other.

    report   the look in Markdown
    """
    texts = {"prometheus": exposition(look, now), "markdown": report}
    files = [sink for sink in sinks if isinstance(sink, Markdown | Prometheus)]
    return [_outcome(sink, partial(sink.write, texts[sink.type])) for sink in files]


def lacks(sinks: Sequence[Sink]) -> Iterator[tuple[Sink, str]]:
    """Sinks that lack what they need, such as a variable of the environment, and what; nothing is sent."""
    for sink in sinks:
        if error := _outcome(sink, sink.check).error:
            yield sink, error


def test_sinks(sinks: Sequence[Sink], message: Message) -> SinkTest:
    """Send a message to every sink now, outside of the outbox; of files that show a look, try whether they can be."""
    outcomes = [
        _outcome(sink, partial(sink.send, message, TEST_S) if sink.TAKES_MESSAGES else sink.check) for sink in sinks
    ]
    return SinkTest(message.monitor, outcomes)


def _outcome(sink: Sink, act: Callable[[], None]) -> Outcome:
    began = time.monotonic()
    try:
        act()
        error = ""
    except SteelyardError as failure:
        error = str(failure)
    return Outcome(sink.label, sink.type, error, time.monotonic() - began, sink.TAKES_MESSAGES)
