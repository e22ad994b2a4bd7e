"""Lines of a run's outputs, as far as they are whole, and which of them counts for a question."""

from __future__ import annotations
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from steelyard.data.responses import Response, decode_response


class RunLine(NamedTuple):
    """A line: its question, how that went, and where it is."""

    query_id: str
    response: Response
    path: Path
    start: int
    end: int


@dataclass(frozen=True)
class RunLines:
    """The whole lines of one file, in its order.

    n_damaged   lines that are torn or damaged, in between or at the end
    """

    lines: list[RunLine] = field(default_factory=list)
    n_damaged: int = 0

    @classmethod
    def read(cls, path: Path) -> RunLines:
        """The contents of a file; none where there is no file.

        Raises   OSError where it cannot be read.
        """
        lines, n_damaged, start = list[RunLine](), 0, 0
        try:
            file = path.open("rb")
        except FileNotFoundError:
            return cls()
        with file:
            for raw in file:
                end = start + len(raw)
                try:
                    query_id, response = decode_response(raw)
                except ValueError:
                    n_damaged += 1
                else:
                    if raw.endswith(b"\n"):
                        lines.append(RunLine(query_id, without_results(response), path=path, start=start, end=end))
                    else:
                        n_damaged += 1
                start = end
        return cls(lines, n_damaged)

    @property
    def size(self) -> int:
        """Bytes up to the end of the last whole line."""
        return self.lines[-1].end if self.lines else 0

    @property
    def is_contiguous(self) -> bool:
        """True if nothing damaged is between the whole lines; what is behind them can be cut."""
        return self.size == sum(line.end - line.start for line in self.lines)

    @property
    def n_repeated(self) -> int:
        """Lines of questions that have one before."""
        return len(self.lines) - len(set(self.query_ids))

    @property
    def query_ids(self) -> list[str]:
        """The question of each line."""
        return [line.query_id for line in self.lines]


def lines_that_count(files: Iterable[RunLines], queries: Mapping[str, str]) -> dict[str, RunLine]:
    """One line of each question that is asked as it was asked then: the last answer, or the last error without one.

    queries   query_id to what is asked
    """
    latest: dict[str, RunLine] = {}
    for lines in files:
        for line in lines.lines:
            earlier = latest.get(line.query_id)
            if queries.get(line.query_id) == line.response.query and (
                earlier is None or line.response.error is None or earlier.response.error is not None
            ):
                latest[line.query_id] = line
    return latest


def n_answered(files: Iterable[RunLines]) -> int:
    """The number of questions that have an answer in some file."""
    return len({line.query_id for lines in files for line in lines.lines if line.response.error is None})


def without_results(response: Response) -> Response:
    """The course of a question, small enough to keep for all questions of a run: query, times, error and its stage."""
    return Response(response.query, latency_ms=response.latency_ms, error=response.error, failed=response.failed)


def read_bytes(lines: Iterable[RunLine]) -> bytes:
    """The lines, one after another.

    Raises   OSError where a file cannot be read.
    """
    contents: dict[Path, bytes] = {}
    pieces = []
    for line in lines:
        if line.path not in contents:
            contents[line.path] = line.path.read_bytes()
        pieces.append(contents[line.path][line.start : line.end])
    return b"".join(pieces)
