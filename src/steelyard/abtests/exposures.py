"""Exposed units: who saw which arm of an experiment since when, and what they did from then on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.traffic.series import Series


@dataclass(frozen=True, eq=False)
class Sums:
    """A ratio of each unit: what is added to numerator and denominator, day by day.

    unit, day                (m,) row of `Exposures.units`, and day since the start of the experiment, from 0; each pair
                             once, ascending by day, then unit
    numerator, denominator   (m,) sums of the requests of that unit and day from its exposure on
    before_numerator, before_denominator   (u,) sums of each unit before the experiment started; None without such a
                             time, or such a log.  A unit that was not there has 0 and 0
    """

    series: Series
    unit: Ints
    day: Ints
    numerator: Floats
    denominator: Floats
    before_numerator: Floats | None = None
    before_denominator: Floats | None = None


@dataclass(frozen=True, eq=False)
class Percentiles:
    """A percentile of requests: their values with the unit of each.

    share   of the values below the percentile;   unit, day, value   (m,) ascending by value
    """

    series: Series
    share: float
    unit: Ints
    day: Ints
    value: Floats


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """Answers that were drawn from the arms and judged.

    unit            (q,) row of `Exposures.units` of each answer
    judged, people  (q,) values by the judge, and by people; NaN where there is none
    bounds          lowest and highest value
    """

    series: Series
    unit: Ints
    judged: Floats
    people: Floats
    bounds: tuple[float, float]


Metric = Sums | Percentiles | JudgedAnswers


@dataclass(frozen=True, eq=False)
class Exposures:
    """Units of an experiment, each in one arm, and what they did from their first exposure on.

    arms       names of the arms, the baseline first
    units      a row a unit: `unit` (text), `arm` (Int64, place among the arms), `time` (its first exposure), `day`
               (days from the start of the experiment to it), and a String column for each segment (its value at the
               first exposure; null where unknown).  Units that were in several arms are not among them
    metrics    by name, as it was asked for
    n_days     days of the experiment that the log holds whole, from its start on
    start      start of the experiment;   end   moment behind the last request that counts
    n_requests   requests of the units since their exposure
    excluded   what was left out, by reason, in units or requests: "mixed" (units that were in several arms),
               "unknown_arm", "unknown_unit", "bots", "before_exposure" (events), "partial_day" (requests), ...
    """

    arms: Sequence[str]
    units: pl.DataFrame
    metrics: Mapping[str, Metric]
    n_days: int
    start: datetime
    end: datetime
    n_requests: int
    excluded: Mapping[str, int] = field(default_factory=dict)

    @property
    def arm(self) -> Ints:
        """(u,) place of the arm of each unit."""
        return self.units["arm"].to_numpy()
