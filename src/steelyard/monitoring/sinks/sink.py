"""What a sink is: a table [[sink]] of monitor.toml, which takes messages or is written at every look."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from steelyard.base.limits import Words
from steelyard.monitoring.sinks.message import Message

Variable = Annotated[
    str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), Words('the name of an environment variable, such as "SLACK_URL"')
]
Name = Annotated[str, Field(min_length=1, max_length=60), Words("a name of up to 60 characters")]


class Sink(BaseModel):
    """A sink.

    name   by which messages and the outbox call it; its type where it has none
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    TAKES_MESSAGES: ClassVar[bool] = True

    type: str
    name: Name | None = None

    @property
    def label(self) -> str:
        """Its name among the sinks of a monitor."""
        return self.name or self.type

    def send(self, message: Message, seconds: float) -> None:
        """Deliver a message, in that time at most.

        Raises   SteelyardError where it was not taken, in words without secrets.
        """
        raise NotImplementedError

    def beside(self, folder: Path) -> Self:
        """The same, with paths that count from a folder."""
        return self

    def check(self) -> None:
        """Look whether all is there that it needs, without sending anything.

        Raises   SteelyardError.
        """
