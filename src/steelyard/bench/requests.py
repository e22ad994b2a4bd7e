"""The one record of all that is timed: a row for each request, whoever sent it and in whichever loop."""

from __future__ import annotations

from typing import Literal, get_args

import polars as pl

Loop = Literal["sequential", "open", "closed", "ramp"]
"""How requests were sent: one after the other; at times that were laid down before the first of them; by so many
users, each of whom waits for the answer; or at times of a rate that rises.  Their percentiles are of different things
and are never put together."""
Outcome = Literal["ok", "timeout", "error"]
Counted = Literal["server", "tokenizer", "estimate"]
"""Who counted tokens: the server, by its account; the model's own tokenizer; or nobody, so that they are estimated by
`steelyard.services.budget.estimate_tokens`."""
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
