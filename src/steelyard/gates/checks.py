"""Checks that a gate makes, and how each came out: pass, fail, or too few data to say."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import polars as pl

from steelyard.measures.registry import Direction

Outcome = Literal["pass", "fail", "insufficient"]
CheckKind = Literal[
    "level", "baseline", "best", "relative", "share", "judge", "people", "self_test", "load", "sustained"
]
CheckReason = Literal[
    "reached", "missed", "spans", "out_of_reach", "beyond_candidates", "few_questions", "no_interval", "not_measured",
    "no_gold", "not_worse", "worse", "lost", "identical", "undecided", "no_ratio", "within", "exceeded", "few_labels",
    "undefined", "no_second_rater", "few_trials", "held", "errors", "overloaded", "backlog", "slow", "late",
    "limit_spanned", "no_upper_end",
]  # fmt: skip

SHARES = ("failed", "missing", "unjudged", "unmapped", "not_judged")
"""What a gate may bound besides measures."""

_OF_REASON: dict[CheckReason, Outcome] = {
    "reached": "pass", "not_worse": "pass", "identical": "pass", "within": "pass",
    "missed": "fail", "worse": "fail", "lost": "fail", "exceeded": "fail",
    "held": "pass", "errors": "fail", "overloaded": "fail", "backlog": "fail", "slow": "fail",
}  # fmt: skip
"""Any other reason is one of too few data."""

OUT_OF_REACH = ("out_of_reach", "beyond_candidates")
"""Reasons that say nothing of a system: no ranking, or no order of its candidates, has what is asked for."""

COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(("system", "name", "kind", "outcome", "reason"), pl.String),
    **dict.fromkeys(("value", "low", "high", "limit", "reachable"), pl.Float64),
    **dict.fromkeys(("better", "level"), pl.String),
    **dict.fromkeys(("n", "n_left_out", "n_left_out_baseline"), pl.Int64),
    **{"detectable": pl.Float64, "needed": pl.Int64, "unseen_share": pl.Float64, "unseen_loss": pl.Float64},
}
"""Columns of `Gate.frame`."""

MORE_COLUMNS: dict[str, dict[str, type[pl.DataType]]] = {
    "n_labels": {"n_labels": pl.Int64, "n_undecided": pl.Int64},
    "needed_runs": {"needed_runs": pl.Int64},
    "alarm": {"alarm": pl.Float64},
    "luck": {"luck": pl.Float64},
}
"""Field of a check -> columns that a frame has too where that field of any check says something."""


@dataclass(frozen=True)
class Check:
    """One thing that a gate looked at, for one system.

    name        a measure, the name of a number handed in, or one of SHARES
    kind        level     its value against a level of the profile
                baseline  its mean difference to the baseline against -limit, the margin
                best      the same to the best accepted entry of a store, against two margins
                relative  its change as a share of the baseline's mean against the least gain: upwards, or downwards
                          where lower is better
                share     a share of questions, documents or gold pieces against the most that is allowed
                judge     how well a judge agrees with people, against a level
                people    kappa of a judge with people, less that of people with each other, against -limit
                self_test   the share of trials in which a judge went wrong, against the most that is allowed
                load      a rate that was offered, by the percentile of the objective that decides, in milliseconds
                sustained   the highest rate that holds the objective, up to the lowest that does not
    reason      reached, missed: the whole interval lies on that side of the level, or of the least gain
                spans: it lies on both;   few_questions: there are fewer than asked for
                out_of_reach: no ranking reaches the level on these questions
                beyond_candidates: no order of the candidates that are reranked does
                no_interval: there is one question;   not_measured: there is no such value in the scores
                no_gold: no question has the gold that the measure needs
                not_worse, worse: by the margin;   undecided: neither can be said
                lost: with alarms, a loss is shown at their level, and one of the margin is not ruled out
                identical: both gave the same lists, so there is nothing to lose
                no_ratio: the baseline's mean is too near 0 for a share of it
                within, exceeded: what is allowed
                held: a load, within the objective;   errors, overloaded, backlog, slow: a load that is not, by
                failures, answers that fall behind, requests that pile up, or a percentile beyond its limit
                late: this machine did not send in time;   limit_spanned, no_upper_end: an interval that decides nothing
                few_labels: there are fewer than asked for;   undefined: all labels of people are equal
                no_second_rater: one person decided alone;   few_trials: the interval of a self-test spans its limit
    value, low, high   the value and its interval: of 95% for levels and relative changes; the one-sided limits
                at alpha for differences, which make an interval of 1 - 2 alpha; NaN where there is none
    limit       level, margin, least gain, or most that is allowed
    reachable   mean of a perfect ranking, or of the best order of the candidates that are reranked, for measures that
                they bound; NaN for all else
    level       name of the level, or None
    n           questions (gold pieces for unmapped, labels or trials of a judge) behind the value; 0 where it was
                handed in, or there is none
    n_failed    those of them that failed, for latencies: they count as slower than any limit
    n_labels    labels of people that correct the value, of each of both systems where it is a difference (of the one
                with fewer); 0 where none do
    n_undecided   of what was drawn for them, those without a label, where low and high allow for all at either end
    left_out    questions that only the system, and only the baseline, has a value for; (0, 0) without a baseline
    detectable  undecided: smallest margin that n questions can hold in 80 of 100 cases, where nothing was lost
    needed      undecided: questions that hold the margin so; None where that is no more than there are.  Of a judge
                whose interval spans a level: labels that would decide, if the value stays
    needed_runs undecided, and runs of the system or the baseline vary: runs of both that hold the margin so, with the
                questions that there are; None where no number of runs does
    alarm       with alarms, level of the upper limit of the gain: the share of false alarms that this check may have
    luck        what was taken off the baseline's mean, as it is expected to be luck of the run that was accepted
    unseen_share, unseen_loss   of a mean that passed: the share of all questions that may be of a kind which none of
                these is, with 95% certainty, or that of the test against the baseline; and by how much worse the mean
                is, if they lose all they can: infinite where the measure has no range.  NaN where nothing passed
    """

    system: str
    name: str
    kind: CheckKind
    reason: CheckReason
    _: KW_ONLY
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    limit: float
    n: int
    reachable: float = math.nan
    n_failed: int = 0
    n_labels: int = 0
    n_undecided: int = 0
    better: Direction = "higher"
    level: str | None = None
    left_out: tuple[int, int] = (0, 0)
    detectable: float = math.nan
    needed: int | None = None
    needed_runs: int | None = None
    alarm: float = math.nan
    luck: float = 0.0
    unseen_share: float = math.nan
    unseen_loss: float = math.nan

    @property
    def outcome(self) -> Outcome:
        """Pass, fail, or insufficient: too few data to say."""
        return _OF_REASON.get(self.reason, "insufficient")

    @property
    def row(self) -> dict[str, object]:
        """The check by column, and by those of MORE_COLUMNS.

        n_left_out questions have a value for the system alone, n_left_out_baseline for its baseline alone.
        """
        here, there = self.left_out
        more = {"n_left_out": here, "n_left_out_baseline": there}
        fields = (*COLUMNS, *(name for names in MORE_COLUMNS.values() for name in names))
        return {name: more[name] if name in more else getattr(self, name) for name in fields}

    def says(self, name: str) -> bool:
        """True if a field of numbers says something: it is not 0, NaN or None."""
        value = getattr(self, name)
        return bool(value) and not math.isnan(value)

    @property
    def deciding(self) -> int | None:
        """Questions that would decide an undecided difference, if it stays as it is: its limits draw in as their root.

        None for all else, and where the difference lies just between what passes and what fails.
        """
        if self.reason != "undecided" or not math.isfinite(self.high - self.low):
            return None
        turned = (self.value, self.low, self.high) if self.better == "higher" else (-self.value, -self.high, -self.low)
        gain, least, most = turned
        shown_below = 0.0 if self.says("alarm") else -self.limit
        shares = [(gain - least) / (gain + self.limit)] if gain > -self.limit else []
        shares += [(most - gain) / (shown_below - gain)] if gain < shown_below else []
        return math.ceil(self.n * min(shares) ** 2) if shares else None
