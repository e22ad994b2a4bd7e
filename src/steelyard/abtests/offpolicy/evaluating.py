"""What another ranking would have got, from the log of the one that served."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from steelyard.abtests.offpolicy.estimators import LEVEL, PolicyEstimate, estimate
from steelyard.abtests.offpolicy.policies import UNIFORM, read_policy, uniform_policy
from steelyard.abtests.offpolicy.reward_model import predict
from steelyard.abtests.offpolicy.showings import Showings, logged_requests, showings
from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.data.questions import Questions
from steelyard.data.run import Run
from steelyard.stats.intervals.skewed import Moments, skewed_end
from steelyard.traffic.logs import Logs, Trouble
from steelyard.traffic.reading import read_logs

PolicyVerdict = Literal["better", "worse", "unclear", "few", "refused"]
"""better, worse: than the log, by the doubly robust interval of the difference;   few: the effective sample size is
below 20;   refused: the log never shows much of what the policy would."""
LEAST_EFFECTIVE = 20.0
MOST_UNSEEN = 0.05
"""Share of what the policy would show that the log may never show; above it, as far as that is sure, is refused."""
_MOST_NEVER = 20


@dataclass(frozen=True)
class Overlap:
    """How far what the log shows lets one speak of what the policy would show.

    position     rank from 1; None for all of them
    n            results that the log shows there;   n_weighted   those that the policy may show, too
    effective    effective sample size: the square of the sum of weights over the sum of their squares
    weight       mean weight: about 1 where the log may show all that the policy would, and propensities are right;
                 weight_low, weight_high   ends of its interval
    smallest     the smallest propensity;   largest   the largest weight;   share   of the largest in the sum of all
    """

    position: int | None
    n: int
    n_weighted: int
    effective: float
    weight: float
    weight_low: float
    weight_high: float
    smallest: float
    largest: float
    share: float


@dataclass(frozen=True, eq=False, repr=False)
class OffPolicy(Result):
    """What a policy would have got of the requests in a log, position by position.

    metric      kind of event;   policy   its name;   k   positions that count
    verdict     of the policy against that of the log
    estimates   the log's own value, then ips, snips and dr; without the latter where it is refused
    overlap     of all positions, then one by one
    never       what the policy would show most often and the log never does: key, position, doc_id, n
    unseen      share of what the policy would show that is like that
    n_requests, n_users, n_rewards   requests that the policy answers, their users, and results with a reward
    clip        largest weight that counts, None for any;   n_clipped   results whose weight was larger
    excluded    requests and events that are left out, by reason
    """

    VIEW: ClassVar[str] = "views.off_policy"

    metric: str
    policy: str
    k: int
    verdict: PolicyVerdict
    estimates: Sequence[PolicyEstimate]
    overlap: Sequence[Overlap]
    never: pl.DataFrame
    unseen: float
    n_requests: int
    n_users: int
    n_rewards: int
    clip: float | None = None
    n_clipped: int = 0
    excluded: Mapping[str, int] = field(default_factory=dict)
    troubles: Sequence[Trouble] = ()

    @property
    def frame(self) -> pl.DataFrame:
        """One estimator a row: the fields of `PolicyEstimate`; NaN is null."""
        return pl.DataFrame([vars(row) for row in self.estimates]).with_columns(pl.col(pl.Float64).fill_nan(None))


def off_policy(
    logs: Logs | str | Path | Sequence[str | Path], policy: str | Path | pl.DataFrame | Run | Mapping[Any, Any], *,
    metric: str = "click", k: int | None = None, questions: str | Path | Questions | None = None,
    clip: float | None = None, timezone: str = "UTC",
) -> OffPolicy:  # fmt: skip
    """What a policy would have got of the requests in a log whose results have propensities.

    A result counts by the probability with which the policy shows it at its position, over its propensity in the log.
    That holds where a user's reaction to a result depends on the query, the result and its position, not on what is
    beside it.  Users are independent; sessions, or requests, where users are unknown.

    logs            Logs, or files and folders as `read_logs` takes them
    policy          a run (the order of its documents), a table of probabilities (see `read_policy`), or "uniform"
    metric          kind of event: "click", "citation_click", ... count once a result; seconds of "dwell" are added up
    k               positions that count; by default as many as the policy has, or for "uniform" the log
    questions       texts of the run's query ids
    clip            largest weight that counts; None for any.  It makes intervals narrower and values wrong
    Raises          InputError for logs without propensities or such events, and a policy that answers no request
    """
    if clip is not None and not clip > 0:
        raise InputError(f"clip is {clip:g}; expected the largest weight that counts, such as 100")
    if k is not None and k < 1:
        raise InputError(f"k is {k}; expected a number of positions from 1")
    own = logs if isinstance(logs, Logs) else read_logs(logs, timezone=timezone)
    whole, left_out = logged_requests(own, "query")
    if isinstance(policy, str) and policy == UNIFORM:
        documents = whole["doc_ids"].list.head(k) if k else whole["doc_ids"]
        depth = int(documents.list.len().max() or 0)  # type: ignore[arg-type]
        target = uniform_policy(documents.explode(empty_as_null=False), depth)
    else:
        target = read_policy(policy, questions=questions)
        if target.by == "request":
            whole, left_out = logged_requests(own, "request")
    shown = showings(own, whole, target, metric, k)
    excluded = {name: n for name, n in {**left_out, **shown.excluded}.items() if n}
    weight = shown.probability / shown.propensity
    places = sorted({*shown.rows_position.tolist()})
    overlap = [_overlap(shown, weight, None)]
    if len(places) > 1:
        overlap += [_overlap(shown, weight, place) for place in places]
    counted = weight if clip is None else np.minimum(weight, clip)
    estimates = estimate(shown, counted, predict(shown))
    verdict = _verdict(overlap[0], estimates)
    return OffPolicy(
        metric=metric, policy=target.name, k=max(places), verdict=verdict,
        estimates=[row for row in estimates if verdict != "refused" or row.method == "logged"], overlap=overlap,
        never=shown.never.head(_MOST_NEVER),
        unseen=float(shown.never["n"].sum() / shown.slots.sum()), n_requests=shown.n_requests,
        n_users=int(shown.unit.max()) + 1, n_rewards=int((shown.reward > 0).sum()), clip=clip,
        n_clipped=0 if clip is None else int((weight > clip).sum()), excluded=excluded, troubles=own.troubles,
    )  # fmt: skip


def _overlap(shown: Showings, weight: Floats, position: int | None) -> Overlap:
    """Weights of all showings, or of those of a position."""
    n_users = int(shown.unit.max()) + 1
    rows = np.ones(len(weight), np.bool_) if position is None else shown.position == position
    slots = shown.by_request(shown.rows_probability * (shown.rows_position == (position or shown.rows_position)))
    own, total, n_slots = weight[rows], weight[rows].sum(), slots.sum()
    mean = float(total / n_slots)
    by_request = np.bincount(shown.request[rows], own, shown.n_requests)
    away = Moments.of_sum(np.bincount(shown.unit, by_request - mean * slots, n_users) / n_slots)
    ends = [math.nan, math.nan]
    if n_users > 1:
        ends = [mean + skewed_end(away, LEVEL, n_users - 1, upper=upper) for upper in (False, True)]
    largest = float(own.max(initial=0.0))
    return Overlap(
        position, len(own), int((own > 0).sum()), float(total**2 / (own @ own)) if total else 0.0, mean,
        max(ends[0], 0.0), ends[1], float(shown.propensity[rows].min(initial=1.0)), largest,
        float(largest / total) if total else math.nan,
    )  # fmt: skip


def _verdict(overlap: Overlap, estimates: Sequence[PolicyEstimate]) -> PolicyVerdict:
    if len(estimates) < 2 or overlap.weight_high < 1 - MOST_UNSEEN:
        return "refused"
    if overlap.effective < LEAST_EFFECTIVE:
        return "few"
    last = estimates[-1]
    return "better" if last.difference_low > 0 else "worse" if last.difference_high < 0 else "unclear"
