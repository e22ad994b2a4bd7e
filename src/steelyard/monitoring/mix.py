"""Which segment explains a change of all traffic: rates within segments against the mix of segments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import NormalDist

import numpy as np
import polars as pl

from steelyard.base.arrays import Floats
from steelyard.monitoring.alerts import Shift

_CLEAR = 3.0
"""Standard errors from which the others moved themselves, and the fewest by which a segment stands out of them."""
_CHANCE = 0.01
"""How often some segment stands out by luck, of all that were looked at."""
_LESS = 1 / 3
"""The others move by no more than this part of what a segment moves by that explains a change."""
_COVERED = 0.8
"""Share of all units that the segments of one kind must have, for the rest to be the mix."""
_MIXED = 0.5
"""Share of a change from which the mix explains it."""
_INTERVAL = 2 * 1.96


@dataclass(frozen=True)
class Move:
    """Change of a level, its standard error, and the units behind it."""

    change: float
    error: float
    n: float

    @property
    def clearness(self) -> float:
        """Change in standard errors."""
        return abs(self.change) / max(self.error, 1e-12)


@dataclass(frozen=True)
class Explanation:
    """What a change of one series consists of.

    segment    the one that moved while the others did not, or by less than a third; "" for none
    change     of its value;   distance   from that of the others, in standard errors
    is_alone   whether the others did not move at all, so that this segment explains all of the change
    is_mix     whether most of the change is another mix of segments, whose own values did not change
    """

    segment: str = ""
    change: float = 0.0
    distance: float = 0.0
    is_alone: bool = False
    is_mix: bool = False


def move_of(chart: pl.DataFrame, since: datetime, stop: datetime, restart: Shift | None = None) -> Move | None:
    """How a series of one segment moved in the windows that start in [since, stop); None where it has none.

    chart     schema CHART: the change is against what was expected, which has the rhythm of days and weeks; its error
              is from the spread between windows that taught the chart
    restart   levels before and after a change at which the chart was restarted, so that it expects the new level
    """
    off = chart.with_columns((pl.col("value") - pl.col("expected")).fill_nan(None).alias("off"))
    after = off.filter(pl.col("start").is_between(since, stop, closed="left"), pl.col("off").is_not_null())
    n = after["n"].fill_null(1).to_numpy().astype(np.float64)
    if not n.sum():
        return None
    if restart is not None:
        return Move(restart.after - restart.before, (restart.high - restart.low) / _INTERVAL, float(n.sum()))
    usual = off.filter(pl.col("is_reference"), pl.col("start") < since)["off"].drop_nulls().to_numpy()
    within = after["error"].fill_null(0.0).fill_nan(0.0).to_numpy()
    spread = float(usual.std(ddof=1)) if len(usual) > 1 else float(np.sqrt((within**2).mean()))
    return Move(float(np.average(after["off"].to_numpy(), weights=n)), spread / math.sqrt(len(after)), float(n.sum()))


def explain(moves: Mapping[str, Move], n_tried: int = 1) -> Explanation:
    """What the change of a series consists of.

    n_tried  series and segments that are looked at for one that stands out, this one among them
    moves    by segment: "" is all traffic, others are "language=zh"; of several kinds of segments, the one that tells
             the segments best apart explains
    Source   Kitagawa 1955: the change of a mean is that of the rates, weighted by segment, and that of the mix.
    """
    kinds = sorted({segment.partition("=")[0] for segment in moves} - {""})
    clear = max(_CLEAR, NormalDist().inv_cdf(1 - _CHANCE / (2 * max(n_tried, 1))))
    of_kinds = [
        _of_kind(moves.get(""), {name: move for name, move in moves.items() if name.partition("=")[0] == kind}, clear)
        for kind in kinds
    ]
    return max(of_kinds, key=lambda of: (of.distance, of.is_mix), default=Explanation())


def _of_kind(whole: Move | None, moves: Mapping[str, Move], clear: float) -> Explanation:
    """What segments of one kind, such as languages, explain of the change of all traffic."""
    changes, errors, n = np.array([(move.change, move.error, move.n) for move in moves.values()]).T
    shares = n / max(n.sum(), whole.n if whole is not None else 0.0)
    is_covered = shares.sum() >= _COVERED and len(moves) > 1
    best = Explanation()
    clearest = 0.0
    for place in np.flatnonzero(np.abs(changes) >= clear * errors).tolist():
        others = _others(place, None if is_covered else whole, changes, errors, shares)
        change, error = float(changes[place]), max(float(errors[place]), 1e-12)
        if others is None or others.change * np.sign(change) > _LESS * abs(change) or abs(change) / error < clearest:
            continue
        distance = abs(change - others.change) / math.hypot(error, others.error)
        if distance >= clear:
            is_alone = bool(abs(others.change) < _CLEAR * others.error)
            clearest, best = abs(change) / error, Explanation([*moves][place], change, float(distance), is_alone)
    within = float((shares * changes).sum() / shares.sum())
    is_mix = whole is not None and is_covered and whole.clearness > 1 and 1 - within / whole.change > _MIXED
    return best if best.segment else Explanation(is_mix=is_mix)


def _others(place: int, whole: Move | None, changes: Floats, errors: Floats, shares: Floats) -> Move | None:
    """How all but one segment moved: by the other segments, or by all traffic less this segment."""
    share = float(shares[place])
    if whole is not None and share < 1:
        change, error = whole.change - share * changes[place], math.hypot(whole.error, share * errors[place])
        return Move(float(change) / (1 - share), error / (1 - share), 1 - share)
    weights = np.delete(shares, place)
    if whole is not None or not weights.sum():
        return None
    change = float((weights * np.delete(changes, place)).sum())
    error = float(np.sqrt(((weights * np.delete(errors, place)) ** 2).sum()))
    return Move(change / weights.sum(), error / weights.sum(), float(weights.sum()))
