"""An experiment that was analysed: checks of its data, effects on its metrics, and what to decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

import polars as pl
import polars.selectors as cs

from steelyard.base.notes import Note
from steelyard.base.result import Result
from steelyard.traffic.logs import Trouble
from steelyard.traffic.series import Better

Role = Literal["primary", "guardrail", "secondary"]
Outcome = Literal["ship", "do_not_ship", "inconclusive", "blocked"]
EffectVerdict = Literal["better", "worse", "not_worse", "broken", "unclear", "none"]
"""better, worse: shown at the level of its family;   not_worse: a guardrail whose margin is ruled out;   broken: a
guardrail that is shown to be worse by its margin or more;   unclear: nothing is shown, as before the
horizon of an analysis with one look;   none: there is no test."""
CheckState = Literal["well", "careful", "blocks", "few"]


@dataclass(frozen=True)
class Check:
    """A check of the data, before anything is concluded from them.

    code     "sample_ratio", "arms_of_unit", "assignment", "exposure", "fingerprints", "carry_over", "bots", "overlap",
             "covariate", "declaration", ...: the catalogues have a title and a text for each, by state
    state    blocks: no verdict;   careful: a verdict, with a caution;   few: too few data to check
    p        of its test; NaN without one
    values   numbers and names that the text names
    rows     where it comes from: a row for each value of a segment, day or arm, as plain data
    """

    code: str
    state: CheckState
    p: float = math.nan
    values: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Effect:
    """What an arm did to a metric, against the baseline.

    role, segment, day   segment is "" for all units, else "browser=firefox"; day is None for all days
    n_baseline, n        units of the two arms
    baseline, value      of the metric in each arm
    error                   standard error of the difference
    difference, low, high   value less baseline (after adjustment), and its ends: at the level of its family, or always
                         valid, as the declaration says; those of a guardrail are two-sided at 1 - 2 alpha
    relative, relative_low, relative_high   the same over the baseline; NaN where that is not clearly above 0, and of a
                         guardrail whose margin is no share of it
    p, adjusted          two-sided, or of the margin for a guardrail; corrected within its family
    margin               of a guardrail, in the metric's unit; NaN else
    detectable           the smallest difference that so many units would show with the declared power; NaN if unknown
    method               "delta", "cuped", "newcombe", "exact", "percentile", "sequence", ...
    details              what else is worth saying: variance_kept, winsorised, share_triggered, ...
    """

    metric: str
    arm: str
    role: Role
    better: Better
    verdict: EffectVerdict
    n_baseline: int
    n: int
    baseline: float
    value: float
    difference: float = math.nan
    error: float = math.nan
    low: float = math.nan
    high: float = math.nan
    relative: float = math.nan
    relative_low: float = math.nan
    relative_high: float = math.nan
    p: float = math.nan
    adjusted: float = math.nan
    margin: float = math.nan
    detectable: float = math.nan
    method: str = "delta"
    segment: str = ""
    day: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """What to do with an arm, and why.

    outcome     "ship", "do_not_ship", "inconclusive" or "blocked"
    reasons     gravest first, as codes with values; the catalogues have a text for each
    days_needed   further days after which the primary metric would show the declared difference; None where unknown
    detectable    what the primary metric could show by now, in its unit; NaN if unknown
    """

    arm: str
    outcome: Outcome
    reasons: Sequence[Note]
    days_needed: int | None = None
    detectable: float = math.nan


@dataclass(frozen=True, eq=False, repr=False)
class Experiment(Result):
    """An A/B test that was analysed.

    name, analysis, alpha, power, start, end, n_days   of the declaration; `n_days` are those that the log holds whole
    horizon      days of the declaration;   timezone   IANA name
    arms         name -> share, the baseline first;   units   units of each arm, in the same order
    decisions    one for each arm but the baseline, in the order of the arms
    effects      of all units and days: primary metrics, guardrails, secondary ones
    segments     of the primary metrics by segment: exploration, corrected among themselves
    daily        of the primary metrics, one a day: novelty;   running   the same up to each day
    checks       of the data, those that block first
    fingerprint  of the declaration;   changed   settings that were changed after it was registered: name -> (then, now)
    registered   when it was; None where it was not
    excluded     units and requests that do not count, by reason;   troubles   of the logs
    unit         what was assigned to an arm: "user", "session" or "request"
    declaration  its settings as text, by name; such as {"difference": "5%"}
    """

    VIEW: ClassVar[str] = "experiment"

    name: str
    analysis: str
    alpha: float
    power: float
    start: datetime
    end: datetime
    n_days: int
    horizon: int
    arms: Mapping[str, float]
    units: Sequence[int]
    decisions: Sequence[Decision]
    effects: Sequence[Effect]
    checks: Sequence[Check]
    fingerprint: str
    segments: Sequence[Effect] = ()
    daily: Sequence[Effect] = ()
    running: Sequence[Effect] = ()
    changed: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    registered: datetime | None = None
    excluded: Mapping[str, int] = field(default_factory=dict)
    troubles: Sequence[Trouble] = ()
    notes: Sequence[Note] = ()
    timezone: str = "UTC"
    n_requests: int = 0
    unit: str = "user"
    declaration: Mapping[str, str] = field(default_factory=dict)

    @property
    def frame(self) -> pl.DataFrame:
        """One effect a row, of all units, of segments and of days: the columns of `Effect` but for details."""
        rows = [
            {name: getattr(effect, name) for name in EFFECTS}
            for effect in (*self.effects, *self.segments, *self.daily, *self.running)
        ]
        return pl.DataFrame(rows, schema=EFFECTS).with_columns(cs.float().fill_nan(None))


EFFECTS = pl.Schema(
    {
        "metric": pl.String, "arm": pl.String, "role": pl.String, "segment": pl.String, "day": pl.Int64,
        "verdict": pl.String, "n_baseline": pl.Int64, "n": pl.Int64, "baseline": pl.Float64, "value": pl.Float64,
        "difference": pl.Float64, "error": pl.Float64, "low": pl.Float64, "high": pl.Float64, "relative": pl.Float64,
        "relative_low": pl.Float64, "relative_high": pl.Float64, "p": pl.Float64, "adjusted": pl.Float64,
        "margin": pl.Float64, "detectable": pl.Float64, "method": pl.String,
    }
)  # fmt: skip
