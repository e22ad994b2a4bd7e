"""One request under load, what came of it, and many of them as a table and as scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import polars as pl

from steelyard.base.errors import StageError, exception_line
from steelyard.bench.frames import (
    DISPATCH_MS,
    ITL_MS,
    LATENCY_MS,
    REQUESTS,
    SERVICE_MS,
    TTFT_MS,
    Loop,
    Outcome,
    rows_of,
    system_label,
)
from steelyard.experiment.table.arrays import SECOND
from steelyard.experiment.table.scores import Scores
from steelyard.services.announcements import Usage
from steelyard.services.http.client import ServiceError


class Streamed(NamedTuple):
    """An answer that came piece by piece.

    first_at, last_at   by `time.perf_counter`, when the first and the last piece with text were there
    n_pieces            pieces with text; tokens, where nothing else counts them
    """

    first_at: float
    last_at: float
    n_pieces: int


@dataclass(frozen=True, slots=True)
class Served:
    """A request that was answered, and what it took as far as the system accounts for it.

    answered_at   by `time.perf_counter`, when the answer was there, where work of ours follows it, such as reading or
                  counting; None for the moment at which the function returns
    streamed      how it came piece by piece; None where it came whole
    others        as the columns of REQUESTS have them
    """

    n_pairs: int | None = None
    n_truncated: int | None = None
    usage: Usage | None = None
    search_units: float | None = None
    n_repaired: int | None = None
    stages_ms: Mapping[str, float] = field(default_factory=dict)
    answered_at: float | None = None
    streamed: Streamed | None = None


Ask = Callable[[str, str], Served]
"""Asks a system: query_id and question, from several threads at once.

Raises StageError where the system fails, and TimeoutError, or a ServiceError whose reason is "timeout", where it takes
too long."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request and what came of it, in seconds of `time.perf_counter`; served is None where there was no answer."""

    number: int
    query_id: str
    intended: float
    sent: float
    end: float
    outcome: Outcome
    error: str | None = None
    served: Served | None = None


class Task(NamedTuple):
    """A request to send; an answer that takes longer than `timeout_s` counts as none.

    intended   when it is due, by `time.perf_counter`; None for when it is sent
    """

    number: int
    query_id: str
    query: str
    timeout_s: float
    intended: float | None = None

    def send(self, ask: Ask, sent: float | None = None) -> Request:
        """Ask once, and time it; whatever the system raises is its failure;   sent   None for now"""
        sent = perf_counter() if sent is None else sent
        try:
            served = ask(self.query_id, self.query)
            end = perf_counter() if served.answered_at is None else served.answered_at
        except (Exception, SystemExit) as failure:  # A function that exits would end the test as if all were done.
            end = perf_counter()
            error = str(failure) if isinstance(failure, StageError) else exception_line(failure)
            return self._ended(sent, end, _outcome(failure), error)
        return self.given_up(sent, end) if end - sent > self.timeout_s else self._ended(sent, end, "ok", served=served)

    def given_up(self, sent: float, end: float | None = None) -> Request:
        """The request without an answer in time.

        end   when the answer came after all; None where it had not come when the wait was over
        """
        end = sent + self.timeout_s if end is None else end
        return self._ended(sent, end, "timeout", f"no answer within {self.timeout_s:g} s")

    def _ended(
        self, sent: float, end: float, outcome: Outcome, error: str | None = None, served: Served | None = None
    ) -> Request:
        intended = sent if self.intended is None else self.intended
        return Request(self.number, self.query_id, intended, sent, end, outcome, error, served)


def _outcome(failure: BaseException) -> Outcome:
    reason = failure.reason if isinstance(failure, ServiceError) else None
    return "timeout" if isinstance(failure, TimeoutError) or reason == "timeout" else "error"


def requests_frame(
    requests: Iterable[Request], *, loop: Loop, start: float, rate: float | None = None, users: int | None = None
) -> pl.DataFrame:
    """Requests as a frame of schema REQUESTS, in the order of their numbers; system and depth are null.

    start   what their seconds count from; requests that were intended before are left out: they warmed the system up
    """
    measured = sorted(
        (request for request in requests if request.intended >= start), key=lambda request: request.number
    )
    rows = [_row(request, start) for request in measured]
    return rows_of(REQUESTS, rows).with_columns(
        loop=pl.lit(loop), repetition=pl.lit(1, pl.Int64), rate=pl.lit(rate, pl.Float64), users=pl.lit(users, pl.Int64)
    )


def _row(request: Request, start: float) -> dict[str, object]:
    served = request.served or Served()
    usage, streamed = served.usage, served.streamed
    return {
        "number": request.number, "query_id": request.query_id, "intended_s": request.intended - start,
        "sent_s": request.sent - start, "end_s": request.end - start, "outcome": request.outcome,
        "error": request.error, "n_pairs": served.n_pairs, "n_truncated": served.n_truncated,
        "tokens_in": None if usage is None else usage.tokens_in,
        "tokens_out": None if usage is None else usage.tokens_out, "search_units": served.search_units,
        "n_repaired": served.n_repaired,
        "stages_ms": [{"stage": stage, "ms": ms} for stage, ms in served.stages_ms.items()] or None,
        "first_s": None if streamed is None else streamed.first_at - start,
        "last_s": None if streamed is None else streamed.last_at - start,
        "pieces": None if streamed is None else streamed.n_pieces,
    }  # fmt: skip


_OPTIONAL = ("tokens", "search_units", "ttft_ms", "itl_ms")


def load_name(rate: float | None, users: int | None) -> str:
    """A level of load: requests a second of an open loop, or users of a closed one.

    >>> load_name(2.5, None), load_name(None, 1)
    ('2.5/s', '1 user')
    """
    return f"{users} user{'s' * (users != 1)}" if rate is None else f"{rate:g}/s"


def request_scores(requests: pl.DataFrame) -> Scores:
    """A system for each level of load, such as "mine 20/s", and a question for each request, such as "20/s:000017".

    requests   of schema REQUESTS, at least one
    Measures   latency_ms from the intended start, service_ms from sending, dispatch_ms between the two; where they are
               known tokens and search_units, and ttft_ms and itl_ms of streamed answers.  A request without an answer
               has no value, and failed

    Requests of the same second count as one for intervals and tests: they stood in the same queue; for percentiles,
    those of neighbouring seconds count as far as they are alike.  Those of closed
    loops are called after the system too, since nothing makes pairs of them.
    """
    load = pl.struct("rate", "users").map_elements(
        lambda level: load_name(level["rate"], level["users"]), return_dtype=pl.String
    )
    load = pl.concat_str(pl.when(pl.col("loop") == "ramp").then(pl.lit("ramp ")).otherwise(pl.lit("")), load)
    system = pl.struct("system", "depth").map_elements(
        lambda label: system_label(label["system"], label["depth"]), return_dtype=pl.String
    )
    configured = requests.filter(repetition=1)  # The others looked for a rate.
    ordered = configured.sort("loop", "rate", "users", descending=[True, False, False], maintain_order=True)
    labelled = ordered.with_columns(_load=load).with_columns(system=pl.concat_str(system, pl.lit(" "), "_load"))
    # Open loops of one rate send the same requests at the same times, whatever the system, so that these are pairs.
    series = pl.when(pl.col("loop") != "closed").then(pl.col("_load")).otherwise(pl.col("system"))
    # Times are differences of a clock's: whole seconds may have lost a billionth.
    second = pl.col("intended_s").round(6).floor().cast(pl.Int64).cast(pl.String)
    labelled = labelled.with_columns(
        query_id=pl.concat_str(series, pl.lit(":"), pl.col("number").cast(pl.String).str.zfill(6)),
        second=pl.concat_str(series, pl.lit(":"), second),
        status=pl.when(pl.col("outcome") == "ok").then(pl.lit("ok")).otherwise(pl.lit("failed")),
        latency_ms=LATENCY_MS, service_ms=SERVICE_MS, dispatch_ms=DISPATCH_MS, tokens=pl.col("tokens_in"),
        ttft_ms=TTFT_MS, itl_ms=ITL_MS,
    )  # fmt: skip
    measures = ["latency_ms", "service_ms", "dispatch_ms"]
    measures += [name for name in _OPTIONAL if labelled[name].is_not_null().any()]
    rows = labelled.select(
        "system", "query_id", "status", SECOND, *(pl.col(name).cast(pl.Float64) for name in measures)
    )
    long = rows.unpivot(measures, index=["system", "query_id", "status", SECOND], variable_name="measure")
    answered = pl.when(pl.col("status") == "ok").then(pl.col("value"))
    return Scores.of(long.with_columns(value=answered), cluster=SECOND)
