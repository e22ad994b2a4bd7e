"""How often a monitor alarms where nothing changes, and how soon it finds what does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.monitoring.budget import Budget, windows_per_month
from steelyard.monitoring.detection import even_shares, memory_of
from steelyard.stats.charts import Limits, limits, run_length_of_cusum, run_length_of_jumps, run_length_of_runs
from steelyard.stats.control import Chart, Charted, chart
from steelyard.stats.drift import FLOORS, chi_square, psi
from steelyard.stats.seasons import Rhythm
from steelyard.traffic.windows import Windows

N_SERIES, PER_MONTH, YEARS = 40, 1.0, 5
_DRAWS = 400
"""At which the quiet years are five; fewer draws simulate fewer."""
_CORRELATION = 0.5
HOURS, DAYS = Windows.parse("1h"), Windows.parse("1d")


def charted(
    values: Floats, rhythm: Rhythm, *, errors: Floats | None = None, fixed: bool = False, down: Bools | None = None
) -> Charted:
    """(t, s) values as they are charted: a fall alarms, of every second series a rise does."""
    t, s = values.shape
    none, every = np.zeros((t, s), np.bool_), np.ones(s, np.bool_)
    falls = np.arange(s) % 2 == 0 if down is None else down
    return Charted(
        values=values, errors=np.zeros((t, s)) if errors is None else errors, rhythm=rhythm, excluded=none,
        restarts=none, fixed=every & fixed, standard=~every, up=~falls, down=falls, able=~none,
        matters=lambda series, expected, change: True,
    )  # fmt: skip


def share_of(windows: Windows) -> Limits:
    """Limits of one of 40 series, which share one false alarm a month."""
    assert not isinstance(windows.every, int)
    return limits(Budget.shared(PER_MONTH, N_SERIES, windows_per_month(windows.every)).per_window)


def watch(series: Charted, windows: Windows) -> Chart:
    """Charts with the limits of one of 40 series."""
    assert not isinstance(windows.every, int)
    return chart(series, [share_of(windows)] * series.values.shape[1], memory=memory_of(windows))


def alike(rng: np.random.Generator, t: int, s: int, correlation: float = _CORRELATION, df: float = np.inf) -> Floats:
    """(t, s) values of variance 1 whose neighbours are correlated; with df, innovations of Student's t."""
    noise = rng.normal(size=(t, s)) if np.isinf(df) else rng.standard_t(df, size=(t, s)) * np.sqrt((df - 2) / df)
    noise[1:] *= np.sqrt(1 - correlation**2)
    for place in range(1, t):
        noise[place] += correlation * noise[place - 1]
    return noise


def calendar(t: int, windows: Windows) -> tuple[Rhythm, Ints, Ints]:
    """Effects of so many windows from a Monday on, with their weekdays and hours."""
    place = np.arange(t)
    hours, weekdays = place % 24, (place // 24 if windows is HOURS else place) % 7
    return Rhythm.of(weekdays, hours if windows is HOURS else None), weekdays, hours


def season(rng: np.random.Generator, t: int, s: int, windows: Windows) -> Floats:
    """(t, s) a rhythm of the day, flatter at weekends, and of the week, in standard deviations of the noise."""
    _, weekdays, hours = calendar(t, windows)
    weekend = (weekdays >= 5)[:, None]
    daily = 3 * np.sin(2 * np.pi * hours[:, None] / 24 + rng.uniform(0, 6, s)) * (1 - 0.4 * weekend)
    return 2 * weekend * rng.uniform(0, 1, s) + (daily if windows is HOURS else 0.0)


def _normal(rng: np.random.Generator, t: int, s: int, windows: Windows) -> tuple[Floats, Floats]:
    return alike(rng, t, s) + season(rng, t, s, windows), np.zeros((t, s))


def _independent(rng: np.random.Generator, t: int, s: int, windows: Windows) -> tuple[Floats, Floats]:
    return rng.normal(size=(t, s)) + season(rng, t, s, windows), np.zeros((t, s))


def _strongly_alike(rng: np.random.Generator, t: int, s: int, windows: Windows) -> tuple[Floats, Floats]:
    return alike(rng, t, s, 0.9) + season(rng, t, s, windows), np.zeros((t, s))


def _heavy(rng: np.random.Generator, t: int, s: int, windows: Windows) -> tuple[Floats, Floats]:
    return alike(rng, t, s, df=4.0) + season(rng, t, s, windows), np.zeros((t, s))


def _skewed(rng: np.random.Generator, t: int, s: int, windows: Windows) -> tuple[Floats, Floats]:
    return rng.gamma(4.0, 0.5, size=(t, s)) + season(rng, t, s, windows), np.zeros((t, s))


def _growing(rng: np.random.Generator, t: int, s: int, windows: Windows) -> tuple[Floats, Floats]:
    """Shares of sessions, which become ten times as many, and at night are few."""
    hours = calendar(t, windows)[2][:, None]
    night = 1 + 0.9 * np.sin(2 * np.pi * hours / 24) if windows is HOURS else 1.0
    n = np.maximum(rng.poisson(100 * night * 10 ** (np.arange(t)[:, None] / t), (t, s)), 5).astype(np.float64)
    values = rng.binomial(n.astype(np.int64), 0.3) / n
    even = [even_shares(values[:, i], np.sqrt(values[:, i] * (1 - values[:, i]) / n[:, i]), n[:, i]) for i in range(s)]
    return np.stack([own[1] for own in even], axis=1), np.stack([own[2] for own in even], axis=1)


def _drifting(rng: np.random.Generator, t: int, s: int, windows: Windows) -> tuple[Floats, Floats]:
    """The level goes up and down by a standard deviation in a year."""
    year = 365.0 * (24 if windows is HOURS else 1)
    values, errors = _normal(rng, t, s, windows)
    return values + np.sin(2 * np.pi * np.arange(t)[:, None] / year + rng.uniform(0, 6, s)), errors


Noise = Callable[[np.random.Generator, int, int, Windows], tuple[Floats, Floats]]
NOISE: Mapping[str, Noise] = {
    "rhythm of days and weeks, AR(.5)": _normal,
    "the same, independent": _independent,
    "the same, AR(.9)": _strongly_alike,
    "shares of users who become ten times as many, few at night": _growing,
    "heavy tails (t, 4 df), AR(.5)": _heavy,
    "skewed (gamma, shape 4)": _skewed,
    "AR(.5), and a level that swings by a standard deviation a year": _drifting,
}


def quiet_rate(draws: int, seed: int, kind: str, windows: Windows) -> float:
    """Alarms a month of 40 series in which nothing changes, of which one is allowed."""
    assert not isinstance(windows.every, int)
    per_month = windows_per_month(windows.every)
    t = round(12 * YEARS * draws / _DRAWS * per_month)
    rng = np.random.default_rng([seed, [*NOISE].index(kind), windows is HOURS])
    values, errors = NOISE[kind](rng, t, N_SERIES, windows)
    return len(watch(charted(values, calendar(t, windows)[0], errors=errors), windows).raised) / (t / per_month)


def quiet_table(draws: int, seed: int) -> Table:
    """False alarms by what quiet traffic is like."""
    rows = [[kind, *(f"{quiet_rate(draws, seed, kind, windows):.2f}" for windows in (DAYS, HOURS))] for kind in NOISE]
    years = YEARS * draws / _DRAWS
    title = (
        f"Alarms a month in {years:g} years of {N_SERIES} series in which nothing changes, for a budget of one a month"
    )
    return Table(title, ["traffic", "windows of a day", "of an hour"], rows)


_BEFORE, _AFTER = 90, 60
"""Windows before a change, and after it."""


def _clicks(rng: np.random.Generator, s: int) -> Charted:
    """CTR at 2,000 sessions a day, .3 of them with a click and fewer at weekends; it falls by a fifth."""
    rhythm, weekdays, _ = calendar(_BEFORE + _AFTER, DAYS)
    chance = 0.3 - 0.03 * (weekdays >= 5) + rng.normal(0, 0.005, (s, _BEFORE + _AFTER))
    chance[:, _BEFORE:] *= 0.8
    return _of_shares(rng, chance.T, 2000, rhythm)


def _language(rng: np.random.Generator, s: int) -> Charted:
    """CTR of a language with 150 sessions a day, whose results are wrong from a day on: .3 becomes .05."""
    rhythm, _, _ = calendar(_BEFORE + _AFTER, DAYS)
    chance = np.where(np.arange(_BEFORE + _AFTER) < _BEFORE, 0.3, 0.05)[:, None] + np.zeros(s)
    return _of_shares(rng, chance, 150, rhythm)


def _of_shares(rng: np.random.Generator, chance: Floats, n: int, rhythm: Rhythm) -> Charted:
    values = rng.binomial(n, chance) / n
    even = [even_shares(own, np.sqrt(own * (1 - own) / n), np.full(len(own), float(n))) for own in values.T]
    falls = np.ones(values.shape[1], np.bool_)
    return charted(
        np.stack([own[1] for own in even], axis=1),
        rhythm,
        errors=np.stack([own[2] for own in even], axis=1),
        down=falls,
    )


def _replay(rng: np.random.Generator, s: int) -> Charted:
    """Recall of 120 questions against the baseline, of which a tenth move by .25 from run to run; .05 is lost."""
    t = _BEFORE + _AFTER
    moved = rng.normal(0, 0.25, (t, s, 120)) * (rng.random((t, s, 120)) < 0.1)
    values = moved.mean(axis=2) - 0.05 * (np.arange(t) >= _BEFORE)[:, None]
    error = 0.25**2 * 0.1 / 120
    falls = np.ones(s, np.bool_)
    return charted(values, Rhythm.level(t), errors=np.full((t, s), error), fixed=True, down=falls)


def _one_sd(rng: np.random.Generator, s: int) -> Charted:
    """A loss of one standard deviation between windows that are independent."""
    t = _BEFORE + _AFTER
    values = rng.normal(size=(t, s)) - (np.arange(t) >= _BEFORE)[:, None]
    return charted(values, calendar(t, DAYS)[0], down=np.ones(s, np.bool_))


LOSSES: Mapping[str, Callable[[np.random.Generator, int], Charted]] = {
    "CTR falls by a fifth, at 2,000 sessions a day": _clicks,
    "recall loses .05, replayed over 120 questions": _replay,
    "a language fails: CTR of 150 sessions a day from .3 to .05": _language,
    "a loss of one standard deviation between windows": _one_sd,
}


def delays(draws: int, seed: int, kind: str) -> Floats:
    """(d,) windows until a loss is alarmed, 1 for the first one; infinite where it is not in 60."""
    series = LOSSES[kind](np.random.default_rng([seed, [*LOSSES].index(kind)]), draws)
    result, found = watch(series, DAYS), np.full(draws, np.inf)
    for alarm in result.raised:
        if alarm.window >= _BEFORE:
            found[alarm.series] = min(found[alarm.series], alarm.window - _BEFORE + 1)
    return found


def delay_table(draws: int, seed: int) -> Table:
    """How soon losses are found, with the limits of one of 40 daily series."""
    found = {kind: delays(draws, seed, kind) for kind in LOSSES}
    rows = [[kind, *(f"{np.quantile(own, q, method='higher'):g}" for q in (0.5, 0.9))] for kind, own in found.items()]
    return Table(
        "Windows until a loss is found, for a budget of one false alarm a month over 40 series of days",
        ["loss", "median", "nine of ten"],
        rows,
    )


def run_length_table(draws: int, seed: int) -> Table:
    """Windows until an alarm, as computed and as simulated, of standard normal values."""
    rng, rows = np.random.default_rng(seed), []
    computed: Mapping[str, Callable[[float], float]] = {
        "CUSUM, k = .5, h = 5": lambda shift: run_length_of_cusum(5.0, shift=shift),
        "two of three beyond 2": lambda shift: run_length_of_runs(2.0, shift=shift),
        "one beyond 3": lambda shift: run_length_of_jumps(3.0, shift=shift),
    }
    for name, length in computed.items():
        cells = [
            f"{length(shift):.1f} ({simulated_run_length(rng, draws, name, shift):.1f})" for shift in (0.0, 1.0, 2.0)
        ]
        rows.append([name, *cells])
    title = "Windows until an alarm on one side, as computed and, in brackets, as simulated"
    return Table(title, ["rule", "nothing changes", "a shift of 1 sd", "of 2 sd"], rows)


def simulated_run_length(rng: np.random.Generator, draws: int, rule: str, shift: float) -> float:
    """Mean windows until a rule alarms, of so many series; each is run until it does."""
    total, n_open = 0, draws
    last, one_ago, two_ago = np.zeros(draws), np.zeros(draws, np.bool_), np.zeros(draws, np.bool_)
    while n_open:
        z = rng.normal(shift, 1.0, n_open)
        total += n_open
        last = np.maximum(last + z - 0.5, 0.0)
        over = z > 2.0
        alarms = {"CUSUM": last > 5.0, "two": over & (one_ago | two_ago), "one": z > 3.0}[
            rule.split(maxsplit=1)[0].strip(",")
        ]
        last, two_ago, one_ago = last[~alarms], one_ago[~alarms], over[~alarms]
        n_open = len(last)
    return total / draws


PSI_N = (100, 300, 1000, 5000)
_MIXES: Mapping[str, Floats] = {
    "tenths": np.full(10, 0.1),
    "languages, some rare": np.array([0.6, 0.25, 0.08, 0.04, 0.02, 0.005, 0.003, 0.002]),
}


def psi_rates(draws: int, seed: int, mix: str, n: int) -> tuple[float, float, float]:
    """How often PSI and chi-square are beyond their 5% limits where nothing changed, and PSI above .1."""
    rng = np.random.default_rng([seed, [*_MIXES].index(mix), n])
    samples = [(rng.multinomial(n, _MIXES[mix]), rng.multinomial(n, _MIXES[mix])) for _ in range(draws)]
    of_psi, of_chi = (np.array([test(*pair) for pair in samples]) for test in (psi, chi_square))
    return tuple(float(np.mean(x)) for x in (of_psi[:, 1] < 0.05, of_chi[:, 1] < 0.05, of_psi[:, 0] > FLOORS["psi"]))


def psi_table(draws: int, seed: int) -> Table:
    """False alarms of tests of distributions; a draw counts ten times, as each is quick."""
    rows = [[f"{mix}, n = {n:,}", *map(percent, psi_rates(10 * draws, seed, mix, n))] for mix in _MIXES for n in PSI_N]
    title = "How often a window is alarmed whose distribution is that of a reference of as many values"
    return Table(title, ["values", "PSI at its 5% limit", "chi-square at 5%", "PSI above a fixed .1"], rows)


SHIFTS = (1.0, 1.5, 2.0, 3.0, 5.0)


def since_coverage(draws: int, seed: int, shift: float, correlation: float) -> tuple[float, float, float]:
    """How often the interval of the first window holds it, its median length, and how often the estimate is right."""
    t, at = 160, 120
    rng = np.random.default_rng([seed, round(10 * shift), round(10 * correlation)])
    values = alike(rng, t, draws, correlation) - shift * (np.arange(t) >= at)[:, None]
    result = watch(charted(values, calendar(t, DAYS)[0], down=np.ones(draws, np.bool_)), DAYS)
    first = {alarm.series: alarm for alarm in reversed(result.raised) if alarm.window >= at}
    held = [alarm.first_low <= at <= alarm.first_high for alarm in first.values()]
    lengths = [alarm.first_high - alarm.first_low + 1 for alarm in first.values()]
    near = [abs(alarm.first - at) <= 1 for alarm in first.values()]
    return float(np.mean(held)), float(np.median(lengths)), float(np.mean(near))


def since_table(draws: int, seed: int) -> Table:
    """Intervals of the first window of a new level."""
    rows = []
    for correlation in (0.0, _CORRELATION):
        for shift in SHIFTS:
            held, length, near = since_coverage(draws, seed, shift, correlation)
            name = f"{shift:g} sd" + (f", AR({correlation:g})" if correlation else "")
            rows.append([name, percent(held), f"{length:g}", percent(near)])
    title = "How often the 95% interval of the first window of a new level holds it, when it is alarmed"
    return Table(title, ["shift", "held", "median windows in it", "estimate right or a window beside"], rows)
