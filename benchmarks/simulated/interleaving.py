"""Interleaving: how many requests it saves against an A/B test, and how often it prefers one of two equal systems."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.abtests.interleaving.analysing import Interleaving, analyse_interleaving, preferences
from steelyard.abtests.interleaving.credits import Credits
from steelyard.abtests.interleaving.pages import interleave
from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import ANSWERS, EVENTS, IMPRESSIONS, TIME

_K, _POOL = 10, 20
_GRADES = (0.8, 0.15, 0.05)
"""Shares of documents that are not relevant, somewhat, and highly so."""
_START = 1_790_553_600_000_000


@dataclass(frozen=True)
class Reading:
    """How users read a page from the top: a cascade.

    click   (3,) chance of a click on a document of each grade;   stop   (3,) chance to leave satisfied after it
    go_on   chance to look at the next place at all
    """

    click: tuple[float, float, float]
    stop: tuple[float, float, float]
    go_on: float = 1.0

    def clicks(self, grades: Ints, rng: np.random.Generator) -> Bools:
        """(n, k) whether each place of n pages, of documents of these grades, is clicked."""
        reads = np.ones(len(grades), bool)
        clicked = np.zeros(grades.shape, bool)
        for place, grade in enumerate(grades.T):
            clicked[:, place] = reads & (rng.random(len(grades)) < np.take(self.click, grade))
            is_done = clicked[:, place] & (rng.random(len(grades)) < np.take(self.stop, grade))
            reads &= ~is_done & (rng.random(len(grades)) < self.go_on)
        return clicked


READINGS: Mapping[str, Reading] = {
    "one answer is enough": Reading((0.05, 0.5, 0.9), (0.2, 0.5, 0.9)),
    "impatient": Reading((0.05, 0.3, 0.7), (0.2, 0.5, 0.9), 0.8),
    "several are wanted": Reading((0.4, 0.7, 0.9), (0.1, 0.3, 0.5)),
}
ALIKE = {"most alike": (0.7, 0.3), "alike": (0.5, 0.5), "less alike": (0.5, 0.7), "independent": (0.0, 1.0)}
"""How alike rankings are: noise of scores that both share, and that the baseline has besides."""


def service(reading: Reading, noise: tuple[float, float], n: int, rng: np.random.Generator) -> tuple[Logs, float]:
    """Logs of n interleaved requests and of n that each of both systems answers by itself in turn; the second value is
    the share of requests where both have the same document first.  Each user asks about three times."""
    grades = rng.choice(3, p=_GRADES, size=(2 * n, _POOL))
    shared = grades + rng.normal(0, noise[0], grades.shape)
    new = np.argsort(-shared, axis=1)[:, :_K]
    old = np.argsort(-shared - rng.normal(0, noise[1], grades.shape), axis=1)[:, :_K]
    pages = [
        interleave({"old": a, "new": b}, f"r{i}", salt=str(rng.random()))
        for i, (a, b) in enumerate(zip(old[:n].tolist(), new[:n].tolist(), strict=True))
    ]  # fmt: skip
    user = rng.integers(n // 3, size=n)
    is_new = rng.random(n // 3)[user] < 0.5
    shown = np.concatenate([np.array([page.doc_ids for page in pages]), np.where(is_new[:, None], new[n:], old[n:])])
    row, place = np.nonzero(reading.clicks(np.take_along_axis(grades, shown, axis=1), rng))
    time = pl.Series(_START + np.arange(2 * n) * 1_000_000).cast(TIME)
    impressions = pl.DataFrame(
        {
            "time": time, "request": np.arange(2 * n).astype(str),
            "user": np.concatenate([user, n + user]).astype(str),
            "arm": ["shared"] * n + np.where(is_new, "new", "old").tolist(),
            "teams": [page.teams for page in pages] + [None] * n, "seed": [page.seed for page in pages] + [None] * n,
            "doc_ids": shown.astype(str).tolist(),
        },
    )  # fmt: skip
    events = {"time": time.gather(row), "request": row.astype(str), "kind": ["click"] * len(row), "position": place + 1}
    logs = Logs(
        _filled(impressions, {**IMPRESSIONS, "is_bot": pl.Boolean}).with_columns(is_bot=False).lazy(),
        _filled(pl.DataFrame(events), EVENTS).lazy(), pl.DataFrame(schema=ANSWERS).lazy(),
    )  # fmt: skip
    return logs, float((old[:, 0] == new[:, 0]).mean())


def _filled(frame: pl.DataFrame, schema: Mapping[str, pl.DataType | type[pl.DataType]]) -> pl.DataFrame:
    more = [pl.lit(None, type_).alias(name) for name, type_ in schema.items() if name not in frame.columns]
    return frame.with_columns(more).select(pl.col(name).cast(type_) for name, type_ in schema.items())


def gains(results: list[Interleaving]) -> dict[str, float]:
    """Metric of the A/B test -> requests that it needs for each one of interleaving, by the means of z."""
    rows = [row for result in results for row in result.sensitivities]
    z = float(np.mean([row.z_interleaving for row in rows]))
    by_metric = {metric: [row for row in rows if row.metric == metric] for metric in {row.metric for row in rows}}
    return {
        metric: float((z / np.mean([row.z for row in own])) ** 2 * np.mean([row.n / row.n_interleaving for row in own]))
        for metric, own in by_metric.items()
    }


def gain_table(draws: int, seed: int) -> Table:
    """How many requests an A/B test needs for each one of interleaving: by its best click metric, and by any click."""
    rows = []
    for name, reading in READINGS.items():
        for alike, noise in ALIKE.items():
            rng = np.random.default_rng(seed)
            runs = [service(reading, noise, 10_000, rng) for _ in range(max(draws // 50, 2))]
            results = [analyse_interleaving(logs, baseline="old") for logs, _ in runs]
            times = gains(results)
            best = min(times, key=times.__getitem__)
            ab = float(np.mean([result.preferences[0].ab_ratio for result in results]))
            first = float(np.mean([share for _, share in runs]))
            rows.append(
                [f"{name}, rankings {alike}", percent(first), f"{times[best]:.1f} ({best})", f"{times['ctr']:.0f}",
                 f"{ab:.1f}"]
            )  # fmt: skip
    return Table(
        "Requests of an A/B test for each one of interleaving, to show the same better system: cascade clicks, "
        f"{max(draws // 50, 2)} logs of 10,000 requests of either kind a row.",
        ["users, and rankings", "same first", "best metric", "ctr", "of the same size"], rows,
    )  # fmt: skip


def equal_credits(n_users: int, taste: float, rng: np.random.Generator) -> tuple[Ints, Floats]:
    """(r,) user of each request in the order of time, and (r, 2) credits of two systems that are equal on average.

    Users ask four times on average, and one may prefer a system as much as another prefers the other.
    """
    n = 4 * n_users
    user = rng.integers(n_users, size=n)
    own = taste * rng.choice([-1.0, 1.0], n_users)[user]
    chance = 0.3 * np.stack([1 - own, 1 + own], axis=1)
    return user, (rng.random((n, 2)) < chance).astype(float)


def credits_until(user: Ints, credit: Floats, n: int) -> Credits:
    """Credits of the first n requests."""
    units, place = np.unique(user[:n], return_inverse=True)
    sums = np.stack([np.bincount(place, column, len(units)) for column in credit[:n].T], axis=1)
    total = int(sums.sum())
    first = np.array([n // 2, n - n // 2])
    return Credits(["old", "new"], sums, np.bincount(place), [np.zeros(0)], first, 0, total, total, n, n)


def level_table(draws: int, seed: int) -> Table:
    """How often one of two equal systems is preferred: at one look, at 20 looks, and at 20 looks always-valid."""
    rows, looks = [], np.arange(1, 21) / 20
    for n_users in (20, 100, 500):
        for taste in (0.0, 0.6):
            rng = np.random.default_rng(seed)
            wrong = np.zeros(3)
            for _ in range(draws):
                user, credit = equal_credits(n_users, taste, rng)
                counted = [credits_until(user, credit, int(len(user) * look)) for look in looks]
                once = [_is_preferred(own) for own in counted]
                wrong += once[-1], any(once), any(_is_preferred(own, n_users) for own in counted)
            name = f"{n_users} users{', who prefer either' if taste else ''}"
            rows.append([name, *map(percent, wrong / draws)])
    return Table(
        "A preference between two equal systems is found, of a level of 5%; users return four times on average.",
        ["log", "one look", "20 looks by t", "20 looks, always-valid"], rows,
    )  # fmt: skip


def _is_preferred(counted: Credits, planned_units: int | None = None) -> bool:
    return preferences(counted, planned_units=planned_units)[0].verdict in ("better", "worse")
