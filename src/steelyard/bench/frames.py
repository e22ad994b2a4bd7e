"""Names, types and meaning of the columns of a bench: the record of all requests, and a frame for each axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import polars as pl

from steelyard.stats.intervals.percentiles import PercentileInterval


@dataclass(frozen=True)
class Option:
    """A reranker over the first `depth` candidates; without a depth a whole system, or the candidates as they are."""

    system: str
    depth: int | None

    @property
    def label(self) -> str:
        """The name in scores."""
        return system_label(self.system, self.depth)

    @property
    def rows(self) -> pl.Expr:
        """Which rows of a frame are of it."""
        return (pl.col("system") == self.system) & pl.col("depth").eq_missing(self.depth)


def system_label(system: str, depth: int | None) -> str:
    """The name in scores of a system over so many candidates.

    >>> system_label("minilm", 50), system_label("mine", None)
    ('minilm@50', 'mine')
    """
    return system if depth is None else f"{system}@{depth}"


def rows_of(schema: pl.Schema, rows: Sequence[Mapping[str, object]] | Sequence[Sequence[object]]) -> pl.DataFrame:
    """Rows of a schema, each a table or a list in its order; NaN is null."""
    frame = pl.DataFrame(rows, schema=schema, orient=None if rows and isinstance(rows[0], Mapping) else "row")
    return frame.with_columns(pl.col(pl.Float64).fill_nan(None))


def interval_columns(name: str, interval: PercentileInterval) -> dict[str, float]:
    """A value and the ends of its interval, as columns."""
    return {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}


_Columns = dict[str, type[pl.DataType] | pl.DataType]
_LABEL: _Columns = {"system": pl.String, "depth": pl.Int64}
_AT: _Columns = {**_LABEL, "loop": pl.String, "rate": pl.Float64, "users": pl.Int64}


def _with_interval(*names: str) -> _Columns:
    return {f"{name}{end}": pl.Float64 for name in names for end in ("", "_low", "_high")}


QUALITY = pl.Schema(
    {
        **_LABEL, "measure": pl.String, "n": pl.Int64, "base": pl.Float64, "reranked": pl.Float64,
        **_with_interval("difference"), "detectable": pl.Float64, "p": pl.Float64, "p_corrected": pl.Float64,
        "won": pl.Int64, "tied": pl.Int64, "lost": pl.Int64, "ceiling": pl.Float64, **_with_interval("captured"),
        "verdict": pl.String,
    }
)  # fmt: skip
"""A row for each reranker, depth and measure.

n           questions that both have a value for;   base, reranked   means before and after
difference  reranked less base, with its 95% interval (difference_low, difference_high) under the same correction as p:
            it leaves 0 out exactly where p_corrected is .05 or less
detectable  smallest difference that these questions show in 80 of 100 cases, so corrected; null for percentiles
p           of the paired t test, for percentiles by ranks
p_corrected by Holm, over all rows: rerankers × depths × measures
ceiling     mean of the ideal order of the first `depth` candidates, the tail behind them untouched;
            null where the best order is not known
captured    (reranked - base) / (ceiling - base), with its 95% interval under the same correction; null where the
            ceiling is hardly above the base (see `steelyard.stats.intervals.means`), and its low end where none is
            ruled out
verdict     "better", "worse" or "not_shown"
"""

DIAGNOSTICS = pl.Schema(
    {
        **_LABEL, "n": pl.Int64, "first_changed": pl.Float64, "k": pl.Int64, "overlap": pl.Float64, "tau": pl.Float64,
        "ties": pl.Float64, "truncated": pl.Float64, "judged_before": pl.Float64, "judged_after": pl.Float64,
        "worst": pl.Float64, "best": pl.Float64, "n_short": pl.Int64, "n_failed": pl.Int64, "n_unstable": pl.Int64,
        "n_repaired": pl.Int64,
    }
)  # fmt: skip
"""A row for each reranker and depth: what it did to the lists.

first_changed   share of the questions whose first result is another one;   overlap   share of the first k that stayed
tau             Kendall's tau of the reranked candidates with their order before
ties            share of pairs of candidates that have the same score
truncated       share of pairs that are longer than the model reads; null where that is not known
judged_before, judged_after   share of the first k that has a label
worst, best     the first measure's mean if all unjudged documents were not relevant, and if all were
n_short         questions with fewer candidates than depth;   n_failed   questions that the reranker failed on
n_unstable      questions whose order differs between repetitions
n_repaired      questions with a listwise reply that left out texts, or named some twice or that were not there
"""

LATENCY = pl.Schema(
    {
        **_AT, "repetitions": pl.Int64, "n": pl.Int64, "n_censored": pl.Int64, **_with_interval("p50", "p95", "p99"),
        "p95_least": pl.Float64, "p95_greatest": pl.Float64, "service_p50": pl.Float64, "service_p95": pl.Float64,
        "service_p99": pl.Float64, "dispatch_p99": pl.Float64, "ms_per_pair": pl.Float64, "tokens_per_s": pl.Float64,
    }
)  # fmt: skip
"""A row for each system, depth and load, in milliseconds; requests without an answer count as infinitely slow.

p50, p95, p99   from the intended start, with 95% intervals; an end is infinite (-inf, inf) where n is too small for it
p95_least, p95_greatest   of the repetitions, each by itself
service_*       from the moment of sending;   dispatch_p99   how late requests were sent
ms_per_pair     time in service over pairs;   tokens_per_s   tokens over the time in which a request was under way
"""

STAGES = pl.Schema({**_AT, "stage": pl.String, "n": pl.Int64, "p50": pl.Float64, "p95": pl.Float64})
"""Milliseconds of the stages of whole systems at each load; the stage "rest" is what no stage accounts for."""

STREAMING = pl.Schema(
    {
        **_AT,
        "n": pl.Int64,
        **_with_interval("ttft_p50", "ttft_p95", "itl_p50", "itl_p95"),
        "tokens": pl.Float64,
        "tokens_per_s": pl.Float64,
    }
)
"""A row for each system, depth and load whose answers came token by token; milliseconds, with 95% intervals.

ttft_p50, ttft_p95   to the first token, from the intended start; requests without an answer are infinitely slow
itl_p50, itl_p95     of the mean time from one token to the next, one value an answer
tokens      mean of an answer, by the server's account, else pieces with text;   tokens_per_s   of all answers together,
            over the time in which a request was under way
"""

TOKEN_FIT = pl.Schema({**_LABEL, "n": pl.Int64, "fixed_ms": pl.Float64, **_with_interval("ms_per_1k_tokens")})
"""milliseconds = fixed_ms + ms_per_1k_tokens * tokens / 1000, over the requests of a system; depth is null for all."""

THROUGHPUT = pl.Schema(
    {
        **_AT, "duration_s": pl.Float64, "n": pl.Int64, "offered": pl.Float64, "achieved": pl.Float64,
        "goodput": pl.Float64, "error_rate": pl.Float64, "in_flight": pl.Float64, "little_gap": pl.Float64,
        "backlog_slope": pl.Float64, "backlog_p": pl.Float64, "holds": pl.Boolean, "reason": pl.String,
        "percentile": pl.String, "limit_ms": pl.Float64, **_with_interval("latency_ms"),
    }
)  # fmt: skip
"""A row for each level of load.

offered         requests a second that were sent;   achieved, goodput   answers a second, and those within the
                objective's limit, as they were counted between 10% and 90% of the level: what ended in a timeout or an
                error is none, nor is what the server answers after nobody waits any longer
in_flight       mean number of requests under way;   little_gap   how far rate × (mean time + think time) is from the
                number of users in a closed loop, as a share; null for an open one, where any times agree
backlog_slope   by how many a second the requests under way grow, with its p (one-sided); null for a closed loop
holds           whether the load is sustained within the objective, null for a closed loop; reason names what it fails
                first: "errors", "achieved" (less than 98%), "backlog", "latency" (a percentile is above its limit by
                its whole interval), "generator" (it would hold, if this machine had sent requests in time), "few" (an
                interval has no upper end), "open" (an interval spans the limit)
percentile      of the objective that decides: which is missed, else left open, else comes nearest to its limit;
latency_ms      that percentile with its 95% interval, beside limit_ms; null for a closed loop
"""

RAMP = pl.Schema(
    {
        **_LABEL, "rate": pl.Float64, "low_rate": pl.Float64, "high_rate": pl.Float64, "n": pl.Int64,
        "error_rate": pl.Float64, "p50": pl.Float64, **_with_interval("p95"), "p99": pl.Float64, "verdict": pl.String,
    }
)  # fmt: skip
"""A row for each stretch of a rate that rose, in milliseconds from the intended start.

rate       in the middle of the stretch, which began at low_rate and ended at high_rate
verdict    "held": every percentile of the objective, as it was measured, is within its limit, and errors are few;
           "missed"; or "few": so few requests that none may be late
"""

RAMP_ENDS = pl.Schema(
    {
        **_LABEL, "first": pl.Float64, "last": pl.Float64, "held": pl.Float64, "missed_low": pl.Float64,
        "missed_high": pl.Float64,
    }
)  # fmt: skip
"""A row for each system and depth whose rate rose from `first` to `last`, once.

held       the end of the last stretch that was held, before any that was missed; null where none was
missed_low, missed_high   of the first stretch that was missed; null where none was
"""

SUSTAINED = pl.Schema({**_LABEL, "rate": pl.Float64, "failing_rate": pl.Float64, "reason": pl.String})
"""The highest rate that held, the lowest above it that did not (null where none was tried), and why not."""

SCALABILITY = pl.Schema(
    {**_LABEL, "n": pl.Int64, **_with_interval("gamma", "sigma", "kappa"), "peak_users": pl.Float64,
     "peak_rate": pl.Float64}
)  # fmt: skip
"""The Universal Scalability Law, rate = gamma c / (1 + sigma (c - 1) + kappa c (c - 1)), over c users at once.

n           numbers of users that it is fitted to, three at least; intervals from four on
peak_users  beyond which the rate falls, null where it never does;   peak_rate   there, or what it comes near to with
            ever more users; null where it grows without end
"""

COSTS = pl.Schema(
    {
        **_LABEL, "price": pl.String, "unit": pl.String, "unit_price": pl.Float64, "currency": pl.String,
        "date": pl.String, "source": pl.String, "tokens": pl.Float64, "counted": pl.String,
        **_with_interval("per_query"), "per_day": pl.Float64, "per_1m_tokens": pl.Float64, "status": pl.String,
    }
)  # fmt: skip
"""A row for each system and depth.

price     what the price is called;   unit   "per_search_unit", "per_query", "per_1m_tokens" or "per_gpu_hour"
tokens    mean of a question;   counted   who counted them: "server", "tokenizer" or "estimate"
per_query mean cost of a question;   per_day   of the questions of a day, where [value] names them
status    "known"; "outdated": the price is old; "no_price"; "no_tokens": nobody counted, or nothing was answered;
          of a machine of one's own also "no_rate": no load held within the objective; "scaled": by the rate that was
          sustained at another depth; "sequential": no load was put on that would say, and one request at a time pays
          for all of it
"""

RETURNS = pl.Schema(
    {
        **_LABEL, "success": pl.String, **_with_interval("gain", "relative_gain"), "cost": pl.Float64,
        "saving": pl.Float64, **_with_interval("net_per_day", "roi", "break_even"), "p_positive": pl.Float64,
        "worth_measure": pl.String, **_with_interval("worth_gain"), "worth": pl.String,
    }
)  # fmt: skip
"""A row for each reranker and depth; intervals are of 95%, by drawing questions anew.

gain, relative_gain   of `success` over the base, as a difference and as a share of the base, null where the base is
            less than three standard errors above 0
cost        more than the base, a question;   saving   of tokens in the prompt, a question
net_per_day value of the gain, less cost, plus saving;   roi   net / cost;   break_even   value at which net is 0
p_positive  share of the draws in which net is above 0
worth_gain  relative gain by `worth_measure`, that of the profile "reranker" where it was measured, with Fieller's
            interval
worth       "yes", "no" or "open": whether worth_gain is 15% or more, by its whole interval, as a gate asks
"""

CHOICE = pl.Schema(
    {
        **_LABEL, "measure": pl.String, "quality": pl.Float64, "p95": pl.Float64, "cost": pl.Float64,
        "on_front": pl.Boolean, "not_told_apart": pl.List(pl.String), "not_inferior": pl.String, "holds_slo": pl.String,
        "net": pl.Float64, "net_not_told_apart": pl.List(pl.String), "recommended": pl.Boolean,
        "preferred_by": pl.List(pl.String), "needed": pl.Int64, "reason": pl.String,
    }
)  # fmt: skip
"""A row for the base and for each reranker and depth.

on_front        whether nothing is at least as good in quality, P95 and cost, and better in one;
                as axes count those that any reranker has a value for; null for one that lacks a value there
not_told_apart  labels: of one on the front, those that it is not shown to be better than in anything; of another, those
                that dominate it and are not shown to be better in anything
not_inferior    "yes": shown to be within the margin of all that may be recommended; "no": shown to be worse than one of
                them that is shown to be better than the base, and not within the margin; else "open"
holds_slo       likewise: the objective of [load]; null where there is none
net             net benefit a day over the base; null without a price, and where nobody says what success is worth
net_not_told_apart   labels of rerankers that hold the objective and are shown to be better than the base, and whose net
                benefit is not shown to differ from this one's
recommended     of the base, and of rerankers that are shown to be better than the base, not shown to be worse than the
                best, hold the objective, answer 95% of the questions and have no net benefit that is wholly below 0:
                by the preference the cheapest, the best, or the one with the surest net benefit; or the one with the
                highest net benefit of those whose net benefit is shown to be above 0
preferred_by    the preferences by which this row would be recommended
needed          of the best so far: questions that show it to be within the margin of those that it is not told apart
                from, in 80 of 100 cases, if it is as good as they are
reason          "recommended", "best_so_far" (recommended, and not shown to be within the margin), "no_gain" (the base,
                as no reranker is shown to be better), "barred" (the base, as those that are better are too slow, fail
                or lack a value), "none_pays" (the base, as those that are better have a net benefit that is wholly
                below 0), "no_net" (the base, as none is shown to bring in more than it costs); or what is against it:
                "inferior" (not_inferior is "no"), "failing" (its P95 is infinite), "slow", "unknown" (a value is
                missing), "not_better" (not shown to be better than the base), "loss" (its net benefit is wholly below
                0), "maybe_slow", "not_paying" (not shown to bring in more than it costs); and of what is good enough
                "dearer" (another one is cheaper, or as cheap and faster), "lower" (another one has a better mean),
                "less_net" (another one brings in more), "less_sure" (the lower end of another one's net benefit is
                greater), "not_more" (dearer, and not shown to bring in more)
"""


Loop = Literal["sequential", "open", "closed", "ramp"]
"""How requests were sent: one after the other; at times that were laid down before the first of them; by so many
users, each of whom waits for the answer; or at times of a rate that rises.  Their percentiles are of different things
and are never put together."""
Outcome = Literal["ok", "timeout", "error"]
Counted = Literal["server", "tokenizer", "estimate"]
"""Who counted tokens: the server, by its account; the model's own tokenizer; or nobody, so that they are estimated by
`steelyard.services.prices.estimate_tokens`."""
LOOPS, OUTCOMES = get_args(Loop), get_args(Outcome)

_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String, "depth": pl.Int64, "loop": pl.String, "repetition": pl.Int64, "rate": pl.Float64,
    "users": pl.Int64, "number": pl.Int64, "query_id": pl.String, "intended_s": pl.Float64, "sent_s": pl.Float64,
    "end_s": pl.Float64, "outcome": pl.String, "error": pl.String, "n_pairs": pl.Int64, "n_truncated": pl.Int64,
    "tokens_in": pl.Int64, "tokens_out": pl.Int64, "counted": pl.String, "search_units": pl.Float64,
    "n_repaired": pl.Int64, "stages_ms": pl.List(pl.Struct({"stage": pl.String, "ms": pl.Float64})),
    "first_s": pl.Float64, "last_s": pl.Float64, "pieces": pl.Int64,
}  # fmt: skip
REQUESTS = pl.Schema(_COLUMNS)
"""One request a row.

system, depth   what was asked: a name of the configuration, and the candidates that were reranked; depth is null for a
                whole system
loop            one of LOOPS
repetition      from 1
rate            requests a second that were offered, in an open loop; in the middle of its stretch of a ramp; else null
users           users at once, in a closed loop; else null
number          of the request in its block, from 0
intended_s      seconds since the block began at which it was to be sent: in an open loop by the schedule, else sent_s
sent_s, end_s   when it was sent, and when the answer or the failure was there, by a clock that never goes back
outcome         one of OUTCOMES; error says what else came than an answer
n_pairs         pairs of question and text that were scored; null for a whole system
n_truncated     those of them that are longer than the model reads; null where that is not known
tokens_in, tokens_out   that the request took; null where they are not known
counted         one of Counted: who says so; null where tokens_in is null
search_units    that the server says it bills; null where it does not say
n_repaired      texts that a listwise reply left out, and numbers that it repeated or made up; null of other replies
stages_ms       milliseconds of the stages, where a system reports them
first_s, last_s, pieces   of an answer that was streamed: when its first and its last piece with text were there, and
                how many pieces there were; null for one that came whole
"""
ADDED = frozenset({"n_repaired", "first_s", "last_s", "pieces"})
"""Columns that blocks of earlier versions lack; null there."""

_RANKING_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "system": pl.String, "depth": pl.Int64, "repetition": pl.Int64, "query_id": pl.String,
    "scores": pl.List(pl.Float64), "pair_tokens": pl.List(pl.Int64),
}  # fmt: skip
RANKINGS = pl.Schema(_RANKING_COLUMNS)
"""What a reranker gave a question: a row for each, beside that of REQUESTS.

scores        of the first `depth` candidates, in the order of the candidates; null where it failed
pair_tokens   tokens of each pair of question and candidate, before anything is cut: by the tokenizer, else an estimate
"""

LATENCY_MS = (pl.col("end_s") - pl.col("intended_s")) * 1000
"""Milliseconds from the intended start: what a user waits, time in queues included."""
SERVICE_MS = (pl.col("end_s") - pl.col("sent_s")) * 1000
"""Milliseconds from the moment of sending."""
DISPATCH_MS = (pl.col("sent_s") - pl.col("intended_s")) * 1000
"""Milliseconds by which it was sent late."""
TTFT_MS = (pl.col("first_s") - pl.col("intended_s")) * 1000
"""Milliseconds from the intended start to the first token: queues included, as a user waits."""
TOKENS_STREAMED = pl.when(pl.col("pieces").is_not_null()).then(pl.coalesce("tokens_out", "pieces"))
"""Tokens of a streamed answer: by the server's account, else its pieces with text."""
ITL_MS = pl.when(TOKENS_STREAMED > 1).then((pl.col("last_s") - pl.col("first_s")) * 1000 / (TOKENS_STREAMED - 1))
"""Mean milliseconds from one token of a streamed answer to the next; null for an answer of one token."""
CENSORED_MS = pl.when(pl.col("outcome") == "ok").then(LATENCY_MS).otherwise(float("inf"))
"""As LATENCY_MS; infinite for a request without an answer, which took longer than any limit for all that is known."""
