"""What a system bears: throughput at each level and stretch of load, the rate that holds, and how it scales."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats
from steelyard.base.percentiles import percentile_share
from steelyard.bench.config import LoadTable
from steelyard.bench.frames import RAMP, RAMP_ENDS, SCALABILITY, SUSTAINED, THROUGHPUT, interval_columns, rows_of
from steelyard.bench.load.latency import SHARES, time_percentiles
from steelyard.stats.intervals.percentiles import PercentileInterval
from steelyard.stats.load import LEAST_LEVELS, backlog, fit_scalability
from steelyard.stats.samples import ROUNDING

LEAST_ACHIEVED = 0.98
"""Of the offered rate, that must be answered."""
INCONCLUSIVE = ("few", "open", "generator")
"""Reasons that say nothing against a system: a percentile whose interval has no upper end, or spans the limit, or a
machine that could not send requests in time."""
UNDECIDED = ("few", "open")
"""Those of them that more requests would decide."""
_ALPHA = 0.05
_MS_PER_S = 1000
_INNER = 0.1, 0.9
"""Of a block: there, requests that came before and after it hardly count."""
N_STRETCHES = 10
"""Stretches of equal length in time, and so in rates."""
_LABEL = ("system", "depth")
_LEVEL = (*_LABEL, "loop", "rate", "users")
_TIMES = ("query_id", "number", "intended_s", "sent_s", "end_s", "outcome")


@dataclass(frozen=True)
class Objective:
    """What a system is to hold under load.

    slo         percentile -> seconds from the intended start;   max_error   share of requests without an answer
    think_time_s   of the users of closed loops
    """

    slo: Mapping[str, float] = field(default_factory=lambda: {"p95": 0.5})
    max_error: float = 0.01
    think_time_s: float = 0.0

    @classmethod
    def of(cls, load: LoadTable | None) -> Objective:
        """The objective of a configuration, or the one by default."""
        load = LoadTable() if load is None else load
        return cls(load.slo, load.max_error, load.think_time)

    @property
    def limit_s(self) -> float:
        """Seconds within which an answer is of use: the largest limit."""
        return max(self.slo.values())

    @property
    def least_requests(self) -> int:
        """So many independent requests at least show that every percentile is within its limit."""
        return max(least_requests(percentile_share(name)) for name in self.slo)


def least_requests(share: float) -> int:
    """So many independent values at least give the interval of a percentile an upper end.

    >>> least_requests(0.95), least_requests(0.99)
    (72, 368)
    """
    return math.ceil(math.log(_ALPHA / 2) / math.log(share))


def throughput(requests: pl.DataFrame, objective: Objective) -> pl.DataFrame:
    """A row of schema THROUGHPUT for each level of load, of requests of schema REQUESTS.

    A level holds where as much is answered as comes (98%), errors are few, each percentile is within its limit by the
    upper end of its interval (of `time_percentiles`, which tables show), and requests do not pile up.  A closed loop
    holds nothing: its users wait until they are served.
    """
    loads = requests.filter(pl.col("loop").is_in(["open", "closed"])).select(*_LEVEL, "repetition", *_TIMES)
    rows = []
    for key, level in loads.group_by(_LEVEL, maintain_order=True):
        measured = _open(level, objective) if level["loop"][0] == "open" else _closed(level, objective)
        rows.append(dict.fromkeys(THROUGHPUT) | dict(zip(_LEVEL, key, strict=True)) | measured)
    levels = rows_of(THROUGHPUT, rows)
    return levels.sort(_LEVEL, descending=[name == "loop" for name in _LEVEL])


def sustained(levels: pl.DataFrame) -> pl.DataFrame:
    """A row of schema SUSTAINED for each system and depth, of open loops of schema THROUGHPUT.

    Levels that are undecided say nothing, unless there are no others.
    """
    rows = []
    for key, offers in levels.filter(loop="open").group_by(_LABEL, maintain_order=True):
        rate = offers.filter("holds")["rate"].max()
        above = offers.filter(~pl.col("holds") & (pl.col("rate") > (rate or 0.0))).sort("rate")
        decided = above.filter(~pl.col("reason").is_in(UNDECIDED))
        failing = above if decided.is_empty() else decided
        first = failing.head(1).to_dicts() or [{"rate": None, "reason": None}]
        rows.append([*key, rate, first[0]["rate"], first[0]["reason"]])
    return rows_of(SUSTAINED, rows)


def scalability(requests: pl.DataFrame) -> pl.DataFrame:
    """A row of schema SCALABILITY for each system and depth with closed loops of three numbers of users at least."""
    rows = []
    loads = requests.filter(loop="closed").sort(*_LABEL, "users", "repetition", "number")
    for key, closed in loads.group_by(_LABEL, maintain_order=True):
        levels = {
            users: np.concatenate([_Block.of(block).stretches() for block in level.partition_by("repetition")])
            for (users,), level in closed.group_by("users", maintain_order=True)
        }
        answered = {users: rates for users, rates in levels.items() if rates.any()}
        if len(answered) < LEAST_LEVELS:
            continue
        n = min(map(len, answered.values()))
        law = fit_scalability(list(answered), np.stack([rates[:n] for rates in answered.values()]))
        ends = [end for part in (law.gamma, law.sigma, law.kappa) for end in (part.value, part.low, part.high)]
        peak = (value if math.isfinite(value) else None for value in (law.peak_users, law.peak_rate))
        rows.append([*key, law.n, *ends, *peak])
    return rows_of(SCALABILITY, rows)


@dataclass(frozen=True)
class _Block:
    """Requests of one block: seconds of each, and whether it was answered.

    came   by the schedule, or when it was sent in a closed loop
    """

    came: Floats
    ends: Floats
    ok: Bools
    users: int | None

    @classmethod
    def of(cls, block: pl.DataFrame) -> _Block:
        came, ends = (block[column].to_numpy() for column in ("intended_s", "end_s"))
        return cls(came, ends, (block["outcome"] == "ok").to_numpy(), block["users"][0])

    @classmethod
    def all_of(cls, level: pl.DataFrame) -> list[_Block]:
        """The blocks of a level."""
        return [cls.of(block) for block in level.partition_by("repetition", maintain_order=True)]

    @property
    def until(self) -> float:
        """When the last request came."""
        return float(self.came.max())

    @property
    def latencies(self) -> Floats:
        """(n,) seconds; infinite without an answer."""
        return np.where(self.ok, self.ends - self.came, math.inf)

    def within(self, limit_s: float) -> Bools:
        """(n,) which requests were answered within a limit; rounding counts against none."""
        return np.asarray(self.latencies <= limit_s * (1 + ROUNDING))

    @property
    def growth(self) -> float:
        """By how many seconds a second latency grows, by its least-squares line over the times at which requests come.

        In a line that is served in turn, answers then come at 1 / (1 + growth) of the rate at which requests do.  What
        is under way at either end of the block, and would be missing if answers were counted, makes no difference.
        """
        away = self.came - self.came.mean()
        squares = float(away @ away)
        return max(float(away @ (self.ends - self.came)) / squares, 0.0) if squares else 0.0

    def stretches(self) -> Floats:
        """(10,) answers a second in stretches of the inner part of the block, of equal length."""
        if not self.until:
            return np.zeros(N_STRETCHES)
        bounds = np.linspace(_INNER[0], _INNER[1], N_STRETCHES + 1) * self.until
        return np.asarray(np.histogram(self.ends[self.ok], bounds)[0] / np.diff(bounds))

    def flow(self, limit_s: float) -> _Flow:
        """Requests that pass through the system in the inner part."""
        begin, end = (share * self.until for share in _INNER)
        spent = np.clip(self.ends, begin, end) - np.clip(self.came, begin, end)
        ended = (self.ends > begin) & (self.ends <= end)
        counts = (int((ended & part).sum()) for part in (True, self.ok, self.within(limit_s)))
        return _Flow(end - begin, float(spent.sum()), float((self.ends - self.came)[ended].sum()), *counts)


class _Flow(NamedTuple):
    """Requests in a stretch of time.

    length  of the stretch;   spent   seconds of requests under way in it;   taken   by requests that ended in it, which
            is as much in a steady state, by Little's law
    ended, answered, useful   requests that ended in it; those with an answer; those with one within the limit
    """

    length: float
    spent: float
    taken: float
    ended: int
    answered: int
    useful: int

    @classmethod
    def of(cls, blocks: list[_Block], limit_s: float) -> _Flow:
        """The sum of several blocks."""
        return cls(*(sum(parts) for parts in zip(*(block.flow(limit_s) for block in blocks), strict=True)))


def _open(level: pl.DataFrame, objective: Objective) -> dict[str, object]:
    blocks = _Block.all_of(level)
    n = sum(len(block.came) for block in blocks)
    duration = sum(float(np.ptp(block.came)) for block in blocks)
    offered = _ratio(n - len(blocks), duration)
    slope, p = _trend(blocks)
    flow = _Flow.of(blocks, objective.limit_s)
    reason, (name, interval, _) = _weakness(level, objective), _deciding(level, objective)
    # As if each request had been due when it was sent.
    if reason not in (None, *UNDECIDED) and not _weakness(level.with_columns(intended_s="sent_s"), objective):
        reason = "generator"
    return {
        "duration_s": duration, "n": n, "offered": offered, "achieved": _ratio(flow.answered, flow.length),
        "goodput": _ratio(flow.useful, flow.length), "error_rate": _error_rate(blocks),
        "in_flight": _ratio(flow.spent, flow.length),
        "backlog_slope": slope, "backlog_p": p,
        "holds": reason is None, "reason": reason, "percentile": name, "limit_ms": _MS_PER_S * objective.slo[name],
        **interval_columns("latency_ms", interval),
    }  # fmt: skip


def _closed(level: pl.DataFrame, objective: Objective) -> dict[str, object]:
    blocks = _Block.all_of(level)
    flow = _Flow.of(blocks, objective.limit_s)
    # Each user is either in the system or thinks: both together must fill their time.
    filled = flow.taken + flow.ended * objective.think_time_s
    return {
        "duration_s": sum(block.until for block in blocks),
        "n": sum(len(block.came) for block in blocks),
        "achieved": _ratio(flow.answered, flow.length),
        "goodput": _ratio(flow.useful, flow.length),
        "error_rate": _error_rate(blocks),
        "in_flight": _ratio(flow.spent, flow.length),
        "little_gap": _ratio(filled, (blocks[0].users or 0) * flow.length) - 1,
    }


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _weakness(level: pl.DataFrame, objective: Objective) -> str | None:
    """The first condition that a level of an open loop fails, or None."""
    verdicts, blocks = [verdict for _, _, verdict in limits_of(level, objective)], _Block.all_of(level)
    if level.height < objective.least_requests and "latency" not in verdicts:
        return "few"
    if _error_rate(blocks) > objective.max_error:
        return "errors"
    if _achieved(blocks) < LEAST_ACHIEVED:
        return "achieved"
    if _trend(blocks)[1] < _ALPHA:
        return "backlog"
    return next((reason for reason in ("latency", *UNDECIDED) if reason in verdicts), None)


def _deciding(level: pl.DataFrame, objective: Objective) -> tuple[str, PercentileInterval, str | None]:
    """The limit that is missed, else left open, else come nearest to."""
    order = (None, *reversed(UNDECIDED), "latency")
    return max(
        limits_of(level, objective), key=lambda limit: (order.index(limit[2]), limit[1].value / objective.slo[limit[0]])
    )


def limits_of(level: pl.DataFrame, objective: Objective) -> Iterator[tuple[str, PercentileInterval, str | None]]:
    """The percentiles of an objective in milliseconds, and what each shows: None within its limit, "latency" beyond.

    It is "open" where the interval spans the limit, and "few" where it has no upper end.
    """
    shares = {name: percentile_share(name) for name in objective.slo}
    for name, interval in zip(shares, time_percentiles(level, list(shares.values())), strict=True):
        limit_ms = _MS_PER_S * objective.slo[name] * (1 + ROUNDING)
        verdict = "few" if interval.n_effective < least_requests(shares[name]) else "open"
        if interval.low > limit_ms:
            verdict = "latency"
        yield name, interval, None if interval.high <= limit_ms else verdict


def _achieved(blocks: list[_Block]) -> float:
    """The share of what comes that answers keep up with, as far as growing latency foretells it.

    Counted answers are of a window that begins and ends amid requests: of few requests, they are never so near to it.
    """
    lengths = [len(block.came) for block in blocks]
    shares = [float(block.ok.mean()) / (1 + block.growth) for block in blocks]
    return float(np.average(shares, weights=lengths))


def _error_rate(blocks: list[_Block]) -> float:
    return float(1 - np.concatenate([block.ok for block in blocks]).mean())


def _trend(blocks: list[_Block]) -> tuple[float, float]:
    """Mean slope of the requests under way, and the smallest p, corrected for the number of blocks."""
    trends = [backlog(block.came, block.ends, begin=0.0, until=block.until) for block in blocks if block.until > 0]
    if not trends:
        return math.nan, math.nan
    return float(np.mean([trend.slope for trend in trends])), min(1.0, len(trends) * min(trend.p for trend in trends))


def stretch_rates(first: float, last: float) -> list[float]:
    """The ends of the stretches, in requests a second.

    >>> stretch_rates(1, 51)[:3]
    [1.0, 6.0, 11.0]
    """
    return [first + (last - first) * i / N_STRETCHES for i in range(N_STRETCHES + 1)]


def middle_rate(duration_s: float, first: float, last: float) -> pl.Expr:
    """The rate in the middle of the stretch that a request came in, which names it."""
    stretch = (pl.col("intended_s") / duration_s * N_STRETCHES).floor().clip(0, N_STRETCHES - 1)
    return (first + (last - first) * (stretch + 0.5) / N_STRETCHES).round_sig_figs(4)


def ramp(requests: pl.DataFrame, load: LoadTable | None) -> pl.DataFrame:
    """A row of schema RAMP for each stretch of a rate that rose, of requests of schema REQUESTS.

    Verdicts are by the percentiles that were measured: a stretch is short, and its seconds are alike, so that intervals
    would leave nearly all of them open.
    """
    rows, objective = [], Objective.of(load)
    if load is None or load.ramp is None:
        return RAMP.to_frame()
    first, last = load.ramp
    ends = stretch_rates(first, last)
    for key, stretch in requests.filter(loop="ramp").group_by(*_LABEL, "rate", maintain_order=True):
        place = sum(end < key[2] for end in ends) - 1
        p50, p95, p99 = time_percentiles(stretch, SHARES)
        error_rate = float(stretch.select((pl.col("outcome") != "ok").mean()).item())
        rows.append({
            **dict(zip((*_LABEL, "rate"), key, strict=True)), "low_rate": ends[place], "high_rate": ends[place + 1],
            "n": stretch.height, "error_rate": error_rate, "p50": p50.value, **interval_columns("p95", p95),
            "p99": p99.value, "verdict": _verdict(stretch, objective, error_rate),
        })  # fmt: skip
    return pl.DataFrame(rows, schema=RAMP)


def _verdict(stretch: pl.DataFrame, objective: Objective, error_rate: float) -> str:
    """ "few" where a percentile has no request beyond it: the slowest of all would decide alone."""
    shares = {name: percentile_share(name) for name in objective.slo}
    if stretch.height < max(1 / (1 - share) for share in shares.values()) * (1 - ROUNDING):
        return "few"
    values = [interval.value for interval in time_percentiles(stretch, list(shares.values()))]
    late = any(value > 1000 * limit for value, limit in zip(values, objective.slo.values(), strict=True))
    return "missed" if late or error_rate > objective.max_error else "held"


def ramp_ends(stretches: pl.DataFrame, load: LoadTable | None) -> pl.DataFrame:
    """Ends of the rates that rose, of schema RAMP_ENDS: a row for each system and depth of schema RAMP."""
    rows, first_and_last = [], [] if load is None or load.ramp is None else load.ramp
    for key, own in stretches.group_by(_LABEL, maintain_order=True):
        ordered = own.sort("rate")
        missed = ordered.filter(verdict="missed").head(1)
        before = ordered if missed.is_empty() else ordered.filter(pl.col("rate") < missed["rate"].item())
        held = before.filter(verdict="held")["high_rate"].max()
        ends = missed.select("low_rate", "high_rate").row(0) if missed.height else (None, None)
        rows.append([*key, *first_and_last, held, *ends])
    return rows_of(RAMP_ENDS, rows)
