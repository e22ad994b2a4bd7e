"""Control charts of many series at once, which learn what is usual while nothing happens."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.stats.charts import Limits, normal_scores, student_scores
from steelyard.stats.seasons import LAGS, Learned, Rhythm, Spread, Usual

_LONGEST_BLOCK, _OFTEN = 24, 20
"""What is usual is learned again after each twentieth of the windows, 24 at most."""
_FAR, _MOST_Z = 1e3, 40.0
_CLEAR_RETURN, _CALM = 3.0, 2
"""A series is back when its windows are e**3 times as likely at the old level as at that of the alarm, two at least."""
_WAITING, _PATIENCE = 60, 8
_LOOK_BACK, _SETTLED, _MANY, _TINY = 400, 5, 1e6, 1e-24
_CHANGE_REACH = 3.7
"""Starts of a change whose log likelihood is so much below that of the best are in its 95% interval."""


@dataclass(frozen=True, eq=False)
class Charted:
    """Series as they are charted.

    values     (t, s) on a scale on which their spread is about even; NaN in windows without a value
    errors     (t, s) variance of a value within its window, on that scale; 0 where it is not known
    rhythm     effects of hours and weekdays that the windows have
    excluded   (t, s) windows of which nothing is learned, and in which nothing alarms
    restarts   (t, s) windows from which on the level is another one
    fixed      (s,) series whose level is known to be 0, such as differences from a baseline
    standard   (s,) series whose spread is known to be 1 at least, such as scores of tests
    up, down   (s,) whether a rise, and a fall, may alarm
    able       (t, s) windows in which an alarm may be raised, such as those in which the effect of a test is large
    matters    of a series, what is expected of a window and a change of it: whether so much may alarm
    """

    values: Floats
    errors: Floats
    rhythm: Rhythm
    excluded: Bools
    restarts: Bools
    fixed: Bools
    standard: Bools
    up: Bools
    down: Bools
    able: Bools
    matters: Callable[[int, float, float], bool]


@dataclass(frozen=True)
class Raised:
    """An alarm, or a restart.

    series, window   in which it was raised, by which rule: "jump", "run", "cusum", "restart"
    first            first window of the new level;   first_low, first_high   its 95% interval
    before           level before;   change   of the level, on the charted scale, and its standard error;   df   of it
    """

    series: int
    window: int
    rule: str
    first: int
    first_low: int
    first_high: int
    before: float
    change: float
    error: float
    df: float


@dataclass(frozen=True, eq=False)
class Chart:
    """What charts say, window by window; NaN where there is no chart yet.

    expected     (t, s) level and rhythm;   likely   (t, s) that and what neighbours let expect;   reach   (t, s) of the
                 limit of a jump around it
    z            (t, s) standard normal while nothing happens
    sums         (t, s) the larger one of the sums that may alarm
    plain        (t, s) deviations in standard deviations, whose tails are those of the series
    learned, in_alarm   (t, s)
    raised       alarms and restarts, in the order of time
    ready        (s,) whether there is a chart by now;   n   (s,) windows it has learned from;   least   that it needs
    spread, levels   (s,) as they are known by now
    """

    expected: Floats
    likely: Floats
    reach: Floats
    z: Floats
    sums: Floats
    plain: Floats
    learned: Bools
    in_alarm: Bools
    raised: list[Raised]
    ready: Bools
    n: Ints
    spread: Spread
    levels: Floats
    least: int


class _Neighbours:
    """What windows before let expect of the next one: the part that neighbours share, estimated as they come."""

    def __init__(self, n_series: int) -> None:
        self.shared, self.variance = np.zeros(n_series), np.zeros(n_series)

    def expect(self, spread: Spread) -> None:
        self.shared = self.shared * spread.likeness
        self.variance = self.variance * spread.likeness**2 + spread.alike * (1 - spread.likeness**2)

    def see(self, off: Floats, variance: Floats) -> None:
        gain = np.where(np.isfinite(off), self.variance / np.maximum(variance, 1e-300), 0.0)
        self.shared = self.shared + gain * np.where(np.isfinite(off), off, 0.0)
        self.variance = self.variance * (1 - gain)


def chart(series: Charted, limits: Sequence[Limits], *, memory: int) -> Chart:
    """Charts of s series over t windows, each of which is judged by windows before it alone.

    limits   of one side of each series;   memory   windows after which one counts a third of a new one
    """
    run = _Run(series, limits, memory)
    t, start = len(series.values), 0
    while start < t:
        stop = min(start + min(max(start // _OFTEN, 1), _LONGEST_BLOCK), t)
        run.block(slice(start, stop))
        start = stop
    return run.chart()


class _Run:
    """Charts in the making."""

    def __init__(self, series: Charted, limits: Sequence[Limits], memory: int) -> None:
        self.series = series
        t, s = series.values.shape
        self.usual = Usual(s, series.rhythm, memory=memory, fixed=series.fixed)
        self.neighbours = _Neighbours(s)
        self.expected, self.likely, self.reach, self.z, self.sums, self.plain = (
            np.full((t, s), np.nan) for _ in range(6)
        )
        self.learned, self.settled, self.in_alarm = (np.zeros((t, s), np.bool_) for _ in range(3))
        self.base, self.unknown, self.scaled, self.weights = (np.zeros((t + LAGS, s)) for _ in range(4))
        self.taught, self.clear = np.zeros(s, np.int64), np.zeros(s, np.int64)
        """The first window that was not learned yet, and the first one that may be of a new level."""
        self.limits = {rule: np.array([getattr(own, rule) for own in limits]) for rule in ("jump", "run", "cusum", "k")}
        self.sides = np.array([series.up, series.down])
        self.sum, self.beyond = np.zeros((2, s)), np.zeros((2, 2, s), np.bool_)
        self.since, self.open, self.side = np.zeros(s, np.int64), np.zeros(s, np.bool_), np.zeros(s)
        self.size, self.n_size, self.back, self.calm = np.zeros(s), np.ones(s), np.zeros(s), np.zeros(s, np.int64)
        self.offset, self.n_offset, self.before = np.zeros(s), np.full(s, np.inf), np.zeros(s)
        self.raised = list[Raised]()

    def block(self, rows: slice) -> None:
        """Chart some windows by what is usual before them, then learn from those that are beyond doubt."""
        series = self.series
        self.base[rows], self.unknown[rows] = self.usual.expect(series.rhythm.effects[rows])
        self._prepare()
        for window in range(rows.start, rows.stop):
            if series.restarts[window].any():
                self._restart(window)
            self.settled[window] = self.n_offset >= _SETTLED
            self._window(window, self.base[window], self.unknown[window])
        self._learn(rows.stop)

    def _learn(self, stop: int) -> None:
        """Learn from windows up to the last one at which the sum was 0: those after it may be of a new level.

        None waits for longer than _WAITING windows, nor than an eighth of those that were learned: a level that was
        learned wrongly from few would never be put right.
        """
        waiting = np.minimum(_WAITING, self.usual.n_effective / _PATIENCE).astype(np.int64)
        self.clear = np.maximum(self.clear, stop - waiting)
        start = int(self.taught.min())
        places = np.arange(start, stop)[:, None]
        used = self.learned[start:stop] & self.settled[start:stop] & (places >= self.taught) & (places < self.clear)
        self.taught = np.maximum(self.taught, self.clear)
        past = slice(start, stop + LAGS)
        windows = Learned(used, self.unknown[start:stop], self.z[start:stop], self.scaled[past], self.weights[past])
        off = np.nan_to_num(self.series.values[start:stop] - self.expected[start:stop])
        self.usual.learn(
            self.series.rhythm.effects[start:stop], off, windows, expected=self.base[start:stop],
            errors=self.series.errors[start:stop],
        )  # fmt: skip

    def _prepare(self) -> None:
        """Spread and its certainty, for the windows until the next block."""
        series, spread, ready = self.series, self.usual.spread(), self.usual.is_ready
        self.ready = ready | series.standard
        # Tests against one reference err alike: their sum needs a level that was learned.
        self.summed = ready | ~series.standard
        own = np.where(ready, spread.own, 0.0)
        self.spread = replace(
            spread,
            alike=np.where(ready, spread.alike, 0.0),
            own=np.where(series.standard, np.maximum(own, 1.0), own),
            of_errors=np.where(ready, spread.of_errors, 1.0),
        )
        self.df = np.where(ready, 1 / (1 / spread.df + 1 / spread.tails), _MANY)
        self.doubt = 1 + np.where(ready, self.limits["k"] * self.limits["cusum"] / spread.df, 0.0)
        self.doubt_of_runs = 1 + np.where(ready, self.limits["run"] ** 2 / spread.df / 4, 0.0)
        tails = np.where(ready, spread.tails, np.inf)
        self.widened = np.sqrt(1 / (1 - 2 / tails))
        self.jump_t = student_scores(self.limits["jump"], self.df)
        self.level = self.usual.levels
        self.known = series.rhythm.n_lasting / np.maximum(self.usual.n_effective, 1.0)

    def _window(self, window: int, base: Floats, unknown: Floats) -> None:
        series, spread, standard = self.series, self.spread, self.series.standard
        base = base + self.offset
        base = np.where(standard, np.where(self.usual.is_ready, np.maximum(base, 0.0), 0.0), base)
        young = np.where(series.fixed, 0.0, 1 / np.maximum(self.n_offset, 1 / _FAR))
        unknown = np.where(standard & ~self.usual.is_ready, 0.0, unknown) + young
        errors = series.errors[window]
        self.neighbours.expect(spread)
        variance = self.neighbours.variance + spread.own + spread.of_errors * errors
        likely = base + self.neighbours.shared
        off = series.values[window] - likely
        sd = np.sqrt(np.maximum(variance, _TINY) * (1 + unknown))
        ready = self.ready | (series.fixed & (errors > 0))
        z = np.clip(normal_scores(np.clip(off / sd * self.widened, -_MOST_Z, _MOST_Z), self.df), -_MOST_Z, _MOST_Z)
        self.expected[window], self.reach[window] = base, np.where(ready, sd * self.jump_t / self.widened, np.nan)
        self.plain[window] = np.where(ready, off / sd, np.nan)
        self.likely[window], self.z[window] = likely, np.where(ready, z, np.nan)
        watched = np.isfinite(self.z[window]) & ~series.excluded[window]
        self._sum(window, watched, np.minimum(self.known * ~series.fixed + young, 1.0))
        self._return(window, watched)
        self.in_alarm[window] = self.open
        self.learned[window] = np.isfinite(series.values[window]) & ~series.excluded[window] & ~self.open
        # Errors of what is expected are alike in neighbours, too, unless hardly anything is known of them.
        self.neighbours.see(np.where(self.learned[window], off / (1 + unknown**2), np.nan), variance)
        self._settle(window)

    def _sum(self, window: int, watched: Bools, unknown: Floats) -> None:
        """Bring all rules up to date, and raise what they find.

        An error of the level, of variance v, multiplies false alarms of a sum by exp(2 h**2 v) on average, and one of
        the spread, of df degrees of freedom, by exp((2 k h)**2 / df): an allowance larger by h v, and scores smaller by
        the factor 1 + k h / df, undo that.  Two windows beyond a limit share an error of the spread likewise.
        """
        z = np.where(watched, self.z[window], 0.0)
        both = np.array([z, -z])
        steps = np.minimum(both, self.limits["jump"]) / self.doubt - self.limits["k"]
        steps -= self.limits["cusum"] * unknown
        self.sum = np.where(watched & self.summed, np.maximum(self.sum + steps, 0.0), self.sum) * ~self.open
        over = both > self.limits["run"] * self.doubt_of_runs
        runs = over & self.beyond.any(axis=0)
        self.clear = np.where(np.where(self.sides, self.sum, 0.0).max(axis=0) > 0, self.clear, window + 1)
        self.beyond = np.where(watched, np.array([over, self.beyond[0]]), self.beyond) & ~self.open
        self.sums[window] = np.where(watched, np.where(self.sides, self.sum, 0.0).max(axis=0), np.nan)
        rules = np.array([both > self.limits["jump"], runs, self.sum > self.limits["cusum"]])
        able = watched & self.series.able[window] & ~self.open
        hits = (rules & self.sides & able).any(axis=1)
        for series in np.flatnonzero(hits.any(axis=0)) if hits.any() else ():
            broken = (rules & self.sides)[:, :, series]
            rule = int(broken.any(axis=1).argmax())
            self._raise(window, int(series), ("jump", "run", "cusum")[rule], 1.0 if broken[rule, 0] else -1.0)

    def _raise(self, window: int, series: int, rule: str, side: float) -> None:
        first, low, high = self._change(window, series, side)
        off = self.series.values[first : window + 1, series] - self.expected[first : window + 1, series]
        n = int(np.isfinite(off).sum())
        change = float(np.nanmean(off))
        if not self.series.matters(series, float(self.expected[window, series]), change):
            return
        level = float(self.level[series] + self.offset[series])
        scatter = self._alike(n)[series] / n + self.known[series] * (not self.series.fixed[series])
        error, df = math.sqrt(self._variance(window)[series] * scatter), float(self.df[series])
        self.raised.append(Raised(series, window, rule, first, low, high, level, change, error, df))
        self.learned[max(first, int(self.taught[series])) : window, series] = False
        self.open[series], self.side[series], self.size[series], self.n_size[series] = True, side, change, n
        self.back[series], self.calm[series] = 0.0, 0

    def _change(self, window: int, series: int, side: float) -> tuple[int, int, int]:
        """The likeliest first window of a new level, and the ends of its interval."""
        start = max(int(self.since[series]), window + 1 - _LOOK_BACK)
        rows = slice(start, window + 1)
        z = np.where(self.series.excluded[rows, series], np.nan, self.z[rows, series])
        places = np.flatnonzero(np.isfinite(z))
        sums = np.cumsum(side * z[places][::-1])[::-1]
        gains = np.maximum(sums, 0.0) ** 2 / np.arange(len(places), 0, -1) / 2
        likely = places[gains >= gains.max() - _CHANGE_REACH]
        return start + int(places[gains.argmax()]), start + int(likely[0]), start + int(likely[-1])

    def _variance(self, window: int) -> Floats:
        """Of a window, all in all."""
        spread = self.spread
        variance: Floats = np.maximum(spread.alike + spread.own + spread.of_errors * self.series.errors[window], _TINY)
        return variance

    def _alike(self, n: int) -> Floats:
        """What the variance of a mean of n windows is multiplied by, as neighbours are alike."""
        spread = self.spread
        shared = spread.alike / np.maximum(spread.alike + spread.own, _TINY)
        lags = np.arange(1, n)[:, None]
        factor: Floats = 1 + 2 * shared * ((1 - lags / n) * spread.likeness**lags).sum(axis=0)
        return factor

    def _return(self, window: int, watched: Bools) -> None:
        """End alarms of series that are back, by the likelihood of both levels."""
        if not self.open.any():
            return
        off = np.where(watched, self.series.values[window] - self.expected[window], 0.0)
        moved = self.open & watched
        inflation = 1 + 2 * self.spread.likeness / (1 - self.spread.likeness) * (self.spread.alike > 0)
        evidence = self.size * (self.size / 2 - off) / self._variance(window) / inflation
        self.back = np.where(moved, np.maximum(self.back + evidence, 0.0), self.back)
        self.calm = np.where(moved, np.where(evidence > 0, self.calm + 1, 0), self.calm)
        away = moved & (self.back == 0)
        self.size = np.where(away, self.size + (off - self.size) / (self.n_size + 1), self.size)
        self.n_size = self.n_size + away
        ended = moved & (self.back > _CLEAR_RETURN) & (self.calm >= _CALM)
        self._clear(ended, window + 1)

    def _clear(self, ended: Bools, since: int) -> None:
        self.open = self.open & ~ended
        self.since = np.where(ended, since, self.since)
        self.sum, self.beyond = self.sum * ~ended, self.beyond & ~ended

    def _restart(self, window: int) -> None:
        """From here on the level is another one; where it is fixed, only sums and alarms are cleared."""
        restarted = self.series.restarts[window]
        self._clear(restarted, window)
        new = restarted & ~self.series.fixed & (self.usual.n > 0)
        self.before = np.where(new, self.offset, self.before)
        self.n_offset = np.where(new, 0.0, self.n_offset)

    def _settle(self, window: int) -> None:
        """Learn the level after a restart, and report it once it is known roughly."""
        young = np.isfinite(self.n_offset)
        if not young.any():
            return
        counted = young & self.learned[window]
        off = np.where(counted, self.series.values[window] - self.expected[window], 0.0)
        self.n_offset = self.n_offset + counted
        self.offset = self.offset + np.where(counted, off / np.maximum(self.n_offset, 1.0), 0.0)
        for series in np.flatnonzero(counted & (self.n_offset == _SETTLED) & self.usual.is_ready):
            error = math.sqrt(self._variance(window)[series] * self._alike(_SETTLED)[series] / _SETTLED)
            first, level = int(self.since[series]), float(self.level[series] + self.before[series])
            change, df = float(self.offset[series] - self.before[series]), float(self.df[series])
            self.raised.append(Raised(int(series), window, "restart", first, first, first, level, change, error, df))

    def chart(self) -> Chart:
        ready = self.usual.is_ready | self.series.standard | np.isfinite(self.z[-1:]).any(axis=0)
        return Chart(
            expected=self.expected, likely=self.likely, reach=self.reach, z=self.z, sums=self.sums,
            plain=self.plain, learned=self.learned, in_alarm=self.in_alarm, raised=self.raised, ready=ready,
            n=self.usual.n, spread=self.usual.spread(), levels=self.usual.levels, least=self.series.rhythm.least,
        )  # fmt: skip
