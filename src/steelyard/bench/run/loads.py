"""Levels of load as they are put on systems, what is shown meanwhile, and what is noted and judged of them."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.json_text import plain
from steelyard.base.notes import Note
from steelyard.base.percentiles import percentile_share
from steelyard.base.progress import Progress, usual_progress
from steelyard.bench.blocks import read_requests, write_block
from steelyard.bench.candidates import Candidates, open_candidates
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.bench.frames import DISPATCH_MS, REQUESTS, system_label
from steelyard.bench.load.levels import (
    LEAST_GROWTH,
    Level,
    is_too_slow,
    likely_rate,
    more_users,
    plan_levels,
    plan_probe,
    search_seconds,
    sustained_rate,
    swept_rates,
)
from steelyard.bench.load.served import Request, load_name
from steelyard.bench.load.systems import LoadedSystem, bundled_questions, loaded_reranker, whole_system
from steelyard.bench.load.throughput import Objective, sustained, throughput
from steelyard.bench.run.writing import BenchWriter
from steelyard.data.questions import Questions
from steelyard.services.announcements import LIVE, Announcements, LiveRequests

_EVERY_S = 0.25
_LAST = 1_000
"""Requests that the percentile is of: those before are of another moment, and sorting takes time from what is timed."""


@contextmanager
def watching(label: str, ended: Sequence[Request], show: Callable[[float], object]) -> Iterator[None]:
    """Announce how requests do while load is put on a system, by a thread of its own.

    ended   grows as requests end;   show   is called with the seconds since this began, as often
    """
    live, is_over, began = LiveBlock(label), threading.Event(), time.perf_counter()

    def watch() -> None:
        n = 0
        while not is_over.wait(_EVERY_S):
            for request in ended[n:]:
                live.add(request.end - request.intended, is_answered=request.outcome == "ok")
                n += 1
            show(time.perf_counter() - began)

    watcher = threading.Thread(target=watch, name="steelyard-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


class LiveBlock:
    """Announces how the requests of a block do, as they end; called by one thread at a time.

    label   of what is asked;   clock   seconds
    """

    def __init__(self, label: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self._label, self._clock, self._began = label, clock, clock()
        self._n = self._n_failed = 0
        self._last_ms, self._announced = deque[float](maxlen=_LAST), -math.inf

    def add(self, latency_s: float, *, is_answered: bool) -> None:
        """Count a request that has ended.

        latency_s   from its intended start
        """
        self._n += 1
        self._n_failed += not is_answered
        self._last_ms.append(1000 * latency_s if is_answered else math.inf)
        now = self._clock()
        if now - self._announced < _EVERY_S:
            return
        self._announced = now
        p95_ms = sorted(self._last_ms)[math.ceil(0.95 * len(self._last_ms)) - 1]
        elapsed_s = max(now - self._began, 1e-9)
        LIVE.announce(
            LiveRequests(self._label, self._n, self._n_failed, (self._n - self._n_failed) / elapsed_s, p95_ms)
        )


class BenchInterrupted(KeyboardInterrupt):
    """Ctrl-C while a bench was measured.

    n_done, n   blocks that are on disk, and all of them
    """

    def __init__(self, n_done: int, n: int) -> None:
        super().__init__(n_done, n)
        self.n_done, self.n = n_done, n


NOTICES = Announcements[Note]()
"""What a reader should know before load is put on a system."""
_JUDGED = ("n", "reason", "percentile", "limit_ms", "latency_ms", "latency_ms_low", "latency_ms_high")
_RATES = ("rate", "failing_rate", "reason")
_NAMED = 3


def open_systems(config: BenchConfig, stack: ExitStack, candidates: Candidates | None = None) -> list[LoadedSystem]:
    """Every system of a configuration that load can be put on, until the stack is left.

    candidates   of its rerankers; None to open them
    Raises   InputError where there is none, where nothing says what is to be asked, and for what cannot be made.
    """
    systems, depth = list[LoadedSystem](), config.load_depth
    if config.rerankers:
        candidates = candidates or open_candidates(config)
        systems += [
            stack.enter_context(loaded_reranker(system, config, candidates, depth)) for system in config.rerankers
        ]
    if config.whole_systems:
        queries = _queries(config)
        systems += [stack.enter_context(whole_system(system, config, queries)) for system in config.whole_systems]
    if not systems:
        place = config.origin.place("systems")
        raise InputError(f"{place}names no system that load can be put on; name a target or a rerank")
    return systems


def _queries(config: BenchConfig) -> dict[str, str]:
    """The questions to whole systems: those that are named, else those of a log of arrivals, else bundled ones."""
    file, log = config.questions or config.truth, config.arrival_log
    if config.questions is None and log is not None and (logged := log.questions()) is not None:
        return logged
    if file is None:
        return bundled_questions()
    if file is config.questions or file.is_dir() or file.suffix in (".jsonl", ".json"):
        questions = Questions.read(file)
    else:
        raise InputError(
            f"{config.origin.place()}names nothing to ask; name questions in JSONL, JSON, or one a line of text: "
            "--questions FILE, questions="
        )
    return {question.query_id: question.query for question in questions if question.query and question.query.strip()}


def load_digests(config: BenchConfig, systems: Sequence[LoadedSystem]) -> dict[str, str]:
    """A digest of what each configured level of load measures, by its name."""
    by_label = {(system.name, system.depth): system for system in systems}
    levels = plan_levels(config, systems)
    return {level.name: level.digest(by_label[level.system, level.depth], config) for level in levels}


def unmeasured(writer: BenchWriter, config: BenchConfig, systems: Sequence[LoadedSystem]) -> list[LoadedSystem]:
    """Systems with levels of load that are not on disk."""
    digests = load_digests(config, systems)
    due = {level.system for level in plan_levels(config, systems) if not writer.has(level.name, digests[level.name])}
    return [system for system in systems if system.name in due]


def measure_load(
    writer: BenchWriter, config: BenchConfig, systems: Sequence[LoadedSystem], progress: Progress = usual_progress, *,
    before: pl.DataFrame | None = None,
) -> list[str]:  # fmt: skip
    """Measure the levels of load that are not on disk, then search for the sustained rate of each system.

    before    requests that were measured before, one after the other; they spare systems that are too slow alone
    Returns   the names of all of its blocks
    Raises    BenchInterrupted on Ctrl-C.
    """
    loads = _Loads(writer, config, progress)
    levels = plan_levels(config, systems)
    for note in short_notes(levels, loads.load):
        NOTICES.announce(note)
    loads.n = len(levels)
    loads.expect(sum(level.duration_s + loads.load.warm_up for level in levels))
    if loads.load.searches and not loads.load.sweep:  # After a sweep it is known how long requests take.
        loads.expect(search_seconds(loads.load) * len({(level.system, level.depth) for level in levels}))
    try:
        for system in systems:
            mine = [level for level in levels if (level.system, level.depth) == (system.name, system.depth)]
            requests = pl.concat([REQUESTS.to_frame(), *(loads.requests(system, level) for level in mine)])
            if loads.load.sweep:
                requests = loads.sweep(system, requests)
            if loads.load.searches and mine:
                alone = REQUESTS.to_frame() if before is None else before.filter(system.option.rows)
                loads.search(system, pl.concat([alone, requests]))
    except KeyboardInterrupt as error:
        raise BenchInterrupted(len(loads.names), loads.n) from error
    return loads.names


class _Loads:
    """Levels of load as they are measured, or read where they were measured before.

    names   of the blocks by now;   n   how many there will be, as far as it is known
    """

    def __init__(self, writer: BenchWriter, config: BenchConfig, progress: Progress) -> None:
        self._writer, self._config, self._progress = writer, config, progress
        self.load = config.load or LoadTable()
        self.names, self.n = list[str](), 0
        self._seconds, self._most_seconds, self._search_s = 0.0, 0.0, search_seconds(self.load)

    def expect(self, seconds: float) -> None:
        """Count on so many seconds more of load at most, or on fewer where they are below 0."""
        self._most_seconds += seconds

    def _show(self, since_s: float = 0.0) -> None:
        """Report how far it is;   since_s   seconds of the level that is measured"""
        self._progress("levels", len(self.names), self.n)
        self._progress("seconds", round(self._seconds + since_s), round(self._most_seconds))

    def requests(self, system: LoadedSystem, level: Level) -> pl.DataFrame:
        """The requests of a level."""
        self._show()
        if not self._writer.add(level.name, level.digest(system, self._config)):
            ended, whole_s = list[Request](), level.duration_s + self.load.warm_up
            label = f"{system_label(level.system, level.depth)} {level.load}"
            with watching(label, ended, lambda since_s: self._show(min(since_s, whole_s))):
                requests = level.measure(system, self._config, ended)
            write_block(self._writer.path, level.name, requests)
        self.names.append(level.name)
        self._seconds += level.duration_s + self.load.warm_up
        self._show()
        return read_requests(self._writer.path, [level.name])

    def sweep(self, system: LoadedSystem, requests: pl.DataFrame) -> pl.DataFrame:
        """More and more users, until hardly more is answered; then rates below what was answered at most.

        requests   that it was sent by now, those of one user among them
        Returns    these and all that it was sent since
        """
        load, objective = self.load, Objective.of(self.load)
        ceiling = throughput(requests.filter(users=1), objective)["achieved"].item()
        crowds = more_users(system) if ceiling else []
        rates = swept_rates(ceiling, load.duration)
        self._expect_levels(len(crowds) + len(rates))
        if load.searches:
            self._search_s = search_seconds(load, ceiling / 2 or None)
            self.expect(self._search_s)
        for n, users in enumerate(crowds, 1):
            level = Level(system.name, system.depth, "closed", users, load.duration)
            requests = pl.concat([requests, self.requests(system, level)])
            answered = throughput(requests.filter(users=users), objective)["achieved"].item()
            has_grown = answered >= LEAST_GROWTH * ceiling
            ceiling = max(ceiling, answered)
            if not has_grown:
                self._expect_levels(n - len(crowds))
                break
        for rate in swept_rates(ceiling, load.duration):
            level = Level(system.name, system.depth, "open", rate, load.duration)
            requests = pl.concat([requests, self.requests(system, level)])
        return requests

    def _expect_levels(self, n: int) -> None:
        self.n += n
        self.expect(n * (self.load.duration + self.load.warm_up))

    def search(self, system: LoadedSystem, requests: pl.DataFrame) -> None:
        """Offer rates until the highest that the system sustains is known; each is a block.

        requests   that it was sent by now, at least one level of load; none is offered to one that is too slow alone
        """
        ends_s = self._seconds + self._search_s
        self._search(system, requests, Objective.of(self.load))
        self.expect(self._seconds - ends_s)
        self._show()

    def _search(self, system: LoadedSystem, requests: pl.DataFrame, objective: Objective) -> None:
        if is_too_slow(requests, objective):
            return
        levels = throughput(requests, objective)
        if self.load.sweep:  # Its levels are too short to rule a rate out: a stall of this machine would.
            levels = levels.filter(pl.col("holds") | pl.col("loop").eq("closed"))

        def offer(rate: float, part: int) -> pl.DataFrame:
            self.n += 1
            return self.requests(system, plan_probe(system, rate, self.load, part))

        guess = likely_rate(levels, objective)
        first = guess or max(self.load.rates, default=sum(self.load.ramp) / 2 if self.load.ramp else None)
        if first is None:
            return  # One user was answered nothing.
        sustained_rate(offer, objective, first=first, is_guess=guess is not None, levels=levels)


def judged_levels(requests: pl.DataFrame, load: LoadTable) -> dict[str, list[dict[str, Any]]]:
    """The levels that a gate judges: rates that were offered, and of each system the one that is sustained.

    Rates are asked for where they are named, or come by a log, and none is searched; else one that holds is.
    """
    rows = throughput(requests, Objective.of(load))
    configured = requests.filter(pl.col("repetition") == 1, loop="open").select("system", "depth", "rate").unique()
    are_asked = not load.searches and not load.sweep
    levels = [
        {
            "system": system_label(row["system"], row["depth"]),
            "load": load_name(row["rate"], None),
            "is_asked": are_asked and (row["system"], row["depth"], row["rate"]) in configured.rows(),
            **{name: plain(row[name]) for name in _JUDGED},
        }
        for row in rows.filter(loop="open").to_dicts()
    ]
    rates = [
        {"system": system_label(row["system"], row["depth"]), **{name: row[name] for name in _RATES}}
        for row in sustained(rows).to_dicts()
    ]
    return {"levels": levels, "sustained": rates}


def load_notes(config: BenchConfig) -> list[Note]:
    """Notes on whether requests came as a log has them, and whether bundled questions were asked."""
    bundled = config.whole_systems and _queries(config) == bundled_questions()
    asked = [Note("load_bundled", {"n": len(bundled_questions())})] if bundled else []
    log, load = config.arrival_log, config.load
    if log is None or load is None:
        return asked
    speeds = " ".join(f"{speed:g}" for speed in sorted(set(load.speeds or [1.0])))
    replayed = Note("load_replayed", {"name": Path(log.name).name, "speeds": speeds})
    return [*asked, replayed, *([Note("load_whole_seconds", {"name": Path(log.name).name})] if log.is_whole else [])]


def short_notes(levels: Sequence[Level], load: LoadTable) -> list[Note]:
    """Which rates send too few requests to show that a percentile is within its limit, and how long it would take."""
    strictest = max(load.slo, key=percentile_share)
    least = Objective.of(load).least_requests
    short = [level for level in levels if level.loop == "open" and level.amount * level.duration_s < least]
    if not short or load.searches:  # A search offers a rate for as long as it takes.
        return []
    names = list(dict.fromkeys(level.load for level in short))
    lowest = min(level.amount for level in short)
    most = round(max(level.amount * level.duration_s for level in short))
    return [Note("load_short", {
        "n": len(names), "names": names, "most": most, "percentile": strictest.upper(), "least": least,
        "seconds": math.ceil(least / lowest),
    })]  # fmt: skip


def late_notes(requests: pl.DataFrame, load: LoadTable) -> list[Note]:
    """Which rates this machine could not offer: where one in a hundred requests was sent late by more than a tenth of
    the smallest limit of the objective, percentiles are of this machine as much as of the system."""
    limit_ms = 100 * min(load.slo.values())
    scheduled = requests.filter(pl.col("loop").is_in(["open", "ramp"]))
    delays = scheduled.group_by("system", "depth", "rate", maintain_order=True).agg(
        ms=DISPATCH_MS.quantile(0.99, "higher")
    )
    late = delays.filter(pl.col("ms") > limit_ms).sort("ms", descending=True, maintain_order=True)
    if late.is_empty():
        return []
    rates: dict[str, list[str]] = {}
    for system, depth, rate, _ in late.iter_rows():
        rates.setdefault(system_label(system, depth), []).append(load_name(rate, None))
    systems = [f"{system} {' '.join(levels)}" for system, levels in rates.items()]
    return [Note("load_late", {"n": late.height, "names": systems[:_NAMED], "ms": round(late["ms"][0], 1)})]
