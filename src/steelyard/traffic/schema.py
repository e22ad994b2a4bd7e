"""Names, types and meaning of the columns of logs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

TIME: Any = pl.Datetime("us", "UTC")

IMPRESSIONS = pl.Schema(
    {
        "time": TIME, "request": pl.String, "user": pl.String, "session": pl.String, "query": pl.String,
        "arm": pl.String, "language": pl.String, "doc_ids": pl.List(pl.String), "scores": pl.List(pl.Float64),
        "propensities": pl.List(pl.Float64), "teams": pl.List(pl.String), "team_shares": pl.List(pl.Float64),
        "seed": pl.Int64, "latency_ms": pl.Float64, "tokens_in": pl.Int64, "tokens_out": pl.Int64,
        "cost_usd": pl.Float64, "error": pl.String, "config": pl.String, "corpus": pl.String,
    }
)  # fmt: skip
"""One request a row: what was asked, and what was shown, best first.

`request` is unique; `user` and `session` are null where unknown; `scores`, `propensities`, `teams` and `team_shares`
are as long as `doc_ids`, or null; `error` is null for a request that was served; `config` and `corpus` are
fingerprints, any text that changes with the configuration of the system, or with its documents.

Of an interleaved page, `teams` has the system that a click at each place is credited to, null where a click says
nothing of a preference; `team_shares` the probability that this system picked what is shown there, where picks were
drawn with probabilities; `seed` the number that its coins were drawn from.
"""

EVENTS = pl.Schema(
    {
        "time": TIME, "request": pl.String, "kind": pl.String, "position": pl.Int32, "doc_id": pl.String,
        "value": pl.Float64, "user": pl.String,
    }
)  # fmt: skip
"""One event a row: what a user did with a request.  `position` is a rank from 1; `value` is explained by its kind."""

ANSWERS = pl.Schema(
    {
        "time": TIME, "request": pl.String, "answer": pl.String, "citations": pl.List(pl.String),
        "contexts": pl.List(pl.String), "abstained": pl.Boolean,
    }
)  # fmt: skip
"""One answer a row: its text, the documents that it cites, and the texts that it was written from, where logged."""

TABLES: Mapping[str, pl.Schema] = {"impression": IMPRESSIONS, "event": EVENTS, "answer": ANSWERS}
"""Kinds of records: the value of the column `type` of a file that holds several."""

KINDS: Mapping[str, str] = {
    "click": "a result was opened; position, or doc_id, says which",
    "citation_click": "a citation of the answer was opened",
    "dwell": "a result was read for so many seconds (value)",
    "copy": "something was copied, of a result or of the answer",
    "thumb": "value 1 for up, -1 for down",
    "rating": "satisfaction by a survey; value from 1 to 5",
    "survey": "a survey or a thumb was offered, whether or not anything came back",
    "accept": "the answer was accepted, or used",
    "reformulation": "the user asked again in other words",
    "success": "the user reached the goal, as the service knows it",
    "good_abandon": "the user left satisfied without a click, as the service knows it",
}
"""Kinds of events, and what they say.  Others stay in the log, and are counted as unknown."""

SCORE = "score:"
"""Before the name of a score that an evaluator of the service gave an answer: the kind of such an event is
"score:faithfulness", its value is the score."""
