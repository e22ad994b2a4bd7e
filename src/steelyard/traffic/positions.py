"""Where a look at growing logs ended, so that the next one goes on from there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

from steelyard.traffic.files import LogFile


@dataclass(frozen=True)
class Position:
    """A place in a file.

    size     bytes that the file had;   head   digest of its first bytes
    offset   bytes, unpacked, before the first record that is to be read;   line   number of its line
    lines    how many lines were read up to its end
    """

    size: int
    head: str
    offset: int = 0
    line: int = 1
    lines: int = 0

    @classmethod
    def of(cls, value: Any) -> Self | None:
        """The position that was written as JSON; None for anything else."""
        try:
            numbers = {name: int(value[name]) for name in ("size", "offset", "line", "lines")}
            return cls(head=str(value["head"]), **numbers) if min(numbers.values()) >= 0 else None
        except (TypeError, ValueError, LookupError):
            return None

    def is_of(self, file: LogFile) -> bool:
        """True if a file begins as this one did, and has not shrunk."""
        return file.size >= self.size and file.head(self.size) == self.head


@dataclass(frozen=True)
class Positions:
    """Where the last look ended.

    closed    windows before it are measured;   since   before which nothing is needed any more
    by_name   place in each file
    """

    closed: datetime | None = None
    since: datetime | None = None
    by_name: Mapping[str, Position] = field(default_factory=dict)

    @classmethod
    def parse(cls, value: Mapping[str, Any] | None) -> Self:
        """Positions that were written as JSON; none where they cannot be read, so that all is read again."""
        try:
            closed, since = (datetime.fromisoformat((value or {})[name]) for name in ("closed", "since"))
            places = {str(name): Position.of(place) for name, place in (value or {})["files"].items()}
        except (TypeError, ValueError, LookupError, AttributeError):
            return cls()
        if closed.tzinfo is None or since.tzinfo is None:
            return cls()
        return cls(closed, since, {name: place for name, place in places.items() if place is not None})

    def data(self) -> dict[str, Any]:
        """The same as JSON holds it."""
        assert self.closed is not None
        assert self.since is not None
        files = {name: asdict(place) for name, place in self.by_name.items()}
        return {"closed": self.closed.isoformat(), "since": self.since.isoformat(), "files": files}

    def place(self, file: LogFile) -> Position | None:
        """The place in a file, by its name or, where it was renamed, by its beginning; None for one that is new."""
        own = self.by_name.get(file.name)
        if own is not None and own.is_of(file):
            return own
        return next((place for place in self.by_name.values() if place.size and place.is_of(file)), None)

    def gone(self, files: Sequence[LogFile]) -> list[str]:
        """Names of files that were read before and are not there any more, by any name."""
        left = [self.place(file) for file in files]
        return [name for name, place in self.by_name.items() if place not in left]

    def rewritten(self, files: Sequence[LogFile]) -> list[str]:
        """Names of files that have another beginning than before, or fewer bytes."""
        return [file.name for file in files if (own := self.by_name.get(file.name)) and not own.is_of(file)]
