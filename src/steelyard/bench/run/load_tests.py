"""Load tests: levels of load on whole systems and rerankers, one after the other, into the folder of a bench."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

import polars as pl

from steelyard.base.choices import Arrivals
from steelyard.base.errors import InputError
from steelyard.base.limits import at_least
from steelyard.base.notes import Note
from steelyard.base.percentiles import percentile_share
from steelyard.base.progress import Progress, no_progress
from steelyard.base.settings import check_arguments
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import read_requests, write_block
from steelyard.bench.candidates import Candidates, open_candidates, search_candidates
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.bench.frames import DISPATCH_MS, REQUESTS, system_label
from steelyard.bench.load.levels import (
    LEAST_GROWTH,
    Level,
    more_users,
    plan_levels,
    plan_probe,
    search_seconds,
    swept_rates,
)
from steelyard.bench.load.loops import MOST_UNDER_WAY, allow_open_files
from steelyard.bench.load.request_scores import load_name, request_scores
from steelyard.bench.load.served import Request
from steelyard.bench.load.sustaining import is_too_slow, likely_rate, sustained_rate
from steelyard.bench.load.systems import LoadedSystem, first_answers, loaded_reranker, whole_system
from steelyard.bench.load.templated import bundled_questions
from steelyard.bench.load.throughput import Objective, sustained, throughput
from steelyard.bench.run.live import BenchInterrupted, watching
from steelyard.bench.run.writing import BenchWriter, refuse_other_folder
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.questions import Questions
from steelyard.io.json_files import parse_json
from steelyard.services.addresses import host_of
from steelyard.services.announcements import Announcements

NOTICES = Announcements[Note]()
"""What a reader should know before load is put on a system."""
_JUDGED = ("n", "reason", "percentile", "limit_ms", "latency_ms", "latency_ms_low", "latency_ms_high")
_RATES = ("rate", "failing_rate", "reason")
_OTHER_FILES = 500
"""That a system may have open itself."""
_NAMED = 3
_DEPTH = 20
"""Documents of a request, where nothing else is said."""


def load_test(
    system: str | Path | Mapping[str, Any] | BenchConfig,
    *,
    queries: str | Path | None = None,
    rate: float | Sequence[float] | str | None = None,
    users: int | Sequence[int] | None = None,
    duration: float | str | None = None,
    slo: str | Mapping[str, float | str] | None = None,
    arrivals: Arrivals | str | Path | None = None,
    speed: float | Sequence[float] | None = None,
    warm_up: float | str | None = None,
    think_time: float | None = None,
    sustained: bool | None = None,
    timeout: float | str | None = None,
    concurrency: Annotated[int, at_least(1)] | None = None,
    seed: int | None = None,
    body: str | Mapping[str, Any] | None = None,
    headers_env: Mapping[str, str] | None = None,
    documents: str | Path | None = None,
    depth: Annotated[int, at_least(1)] | None = None,
    name: str | None = None,
    folder: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Bench:
    """Put load on systems, and measure what their users wait.

    Where no load is named, a sweep finds the rate that a system sustains: one request at a time, then more and more
    users at once, until hardly more is answered, rates below that, and the search for the highest that holds.

    system     the URL of a system, "module:object" of a function, a configuration in TOML, a dict of the same shape, or
               a BenchConfig; of a configuration, whole systems and rerankers
    queries    what is asked: questions in any form that `Questions.read` takes; of a configuration its own, and without
               any those of the bundled example
    rate       requests a second, in an open loop: they are sent at times laid down before, whatever the answers take;
               "1..50" is a rate that rises evenly over the duration
    users      at once, in a closed loop: each waits for the answer.  Its percentiles are not those of an open loop
    duration   of each level, seconds or a text such as "60s", after `warm_up` of the same load, which does not count
    slo        the objective: "p95=500ms", several with commas, or {"p95": 0.5} in seconds
    arrivals   "poisson" or "constant"; or a log whose requests are sent as they came, in JSONL, CSV or Parquet with a
               column of times (seconds or ISO 8601): as many, with their bursts, and asking what it says where
               `queries` names nothing;   speed   at so many times its speed, one or several
    think_time   of users;   timeout   of a request
    sustained  search for the highest rate that holds the objective; by default where the configuration names rates,
               and in a sweep
    concurrency  questions that a function takes at once, by default one: the others wait, and their time counts
    body       what an address is sent, as a dict or JSON: the question is the value "{query}", and "{documents}" are
               `depth` texts (20) of `documents`, a file or a folder, or bundled ones.  A chat has to answer choices, a
               rerank a list of scores, and any other service no "error"
    headers_env  header of an address to the environment variable of its value, as in {"Authorization": "MY_AUTH"}
    name, folder   of the bench;   overwrite   measure anew what the folder holds
    progress   called as progress("levels", done, total), and progress("seconds", done, total) of load, at most

    Each level is on disk, whole, as soon as it is measured, and a load test that was interrupted goes on where it was.
    Raises   InputError for a system, load or folder that do not fit; OutputError where the folder cannot be written, or
             another process writes it.
    """
    check_arguments(load_test, concurrency=concurrency, headers_env=headers_env, depth=depth)
    is_log = arrivals is not None and arrivals not in get_args(Arrivals)
    if is_log and sustained:
        raise InputError("a log has the rate that it has; leave --sustained out, or --arrivals")
    load: dict[str, Any] = {
        "duration": duration, "slo": slo, "warm_up": warm_up, "think_time": think_time,
        "arrivals": str(Path(arrivals).absolute()) if arrivals is not None and is_log else arrivals,
    }  # fmt: skip
    if is_log or any(amounts is not None for amounts in (rate, users, speed)):
        # What is named here is all the load there is.
        ramp = _ramp(rate) if isinstance(rate, str) else None
        load |= {
            "rates": [] if ramp else _several(rate), "ramp": ramp, "concurrency": _several(users),
            "speeds": _several(speed), "sustained": bool(sustained),
        }  # fmt: skip
    elif sustained is not None:
        load["sustained"] = sustained
    depths = None if depth is None and body is None else [depth or _DEPTH]
    paths = {"queries": queries, "documents": documents, "folder": folder}
    changes = {
        "load": _named(load), "timeout": timeout, "seed": seed, "name": name, "depths": depths,
        **{key: None if path is None else str(Path(path).absolute()) for key, path in paths.items()},
    }  # fmt: skip
    options = _named({"concurrency": concurrency, "body": _body(body), "headers_env": headers_env})
    return _run(_config(system, options).with_values(_named(changes)), overwrite, progress or no_progress)


def _ramp(rate: str) -> list[float]:
    """Both ends of a rate that rises.

    Raises   InputError for a text that names none.
    """
    try:
        first, last = map(float, rate.split(".."))
    except ValueError:
        raise InputError(f"rate {rate!r} is no ramp; expected two rates such as 1..50") from None
    return [first, last]


def _several(amounts: Any) -> list[Any]:
    if amounts is None:
        return []
    return list(amounts) if isinstance(amounts, Sequence) and not isinstance(amounts, str) else [amounts]


def _named(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _body(body: str | Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What is sent, as a table.

    Raises   InputError for a text that is no JSON object.
    """
    table = parse_json(body, "body", is_line=True) if isinstance(body, str) else body
    if table is not None and not isinstance(table, Mapping):
        raise InputError('body is no object of JSON; expected one such as {"query": "{query}", "top_k": 10}')
    return table


def _config(system: str | Path | Mapping[str, Any] | BenchConfig, options: Mapping[str, Any]) -> BenchConfig:
    """The configuration that is named, or the one of a single system.

    options   of its target
    Raises    InputError for options that are not of its kind.
    """
    text = str(system) if isinstance(system, str | Path) else ""
    is_url = "://" in text
    is_function = not is_url and ":" in text and not text.endswith(".toml")
    if "concurrency" in options and not is_function:
        raise InputError(
            "concurrency is what a function (module:object) takes at once; an address is sent all that comes, and a "
            "configuration names it beside its target: target = { callable = ..., concurrency = 8 }"
        )
    of_address = [name for name in ("body", "headers_env") if name in options]
    if of_address and not is_url:
        raise InputError(
            f"{of_address[0]} is of an address; a configuration names it beside its target: "
            f"target = {{ url = ..., {of_address[0]} = ... }}"
        )
    if isinstance(system, BenchConfig):
        return system
    if isinstance(system, Mapping):
        return BenchConfig.of(system)
    if not is_url and not is_function:
        return BenchConfig.read(text)
    target = {"url" if is_url else "callable": text, **options}
    last = urlsplit(text).path.strip("/").rpartition("/")[2] or host_of(text) if is_url else text.rpartition(":")[2]
    name = re.sub(r"[^\w.-]+", "-", last) or "system"
    return BenchConfig.of({"name": name, "systems": {name: {"target": target}}})


def _run(config: BenchConfig, overwrite: bool, progress: Progress) -> Bench:
    load = config.load or LoadTable()
    if not load.is_load:
        config = config.with_values({"load": {"sweep": True}})
        load = config.load or LoadTable()
    refuse_other_folder(config.folder)
    if config.rerankers:
        search_candidates(config, overwrite=overwrite, progress=progress)
    allow_open_files(MOST_UNDER_WAY + _OTHER_FILES)
    with ExitStack() as stack:
        systems = open_systems(config, stack)
        earlier = stack.enter_context(run_lock(config.folder))
        digests = load_digests(config, systems)
        writer = BenchWriter(config.folder, "load", config, digests, taken_over=earlier, overwrite=overwrite)
        if not writer.is_finished:
            first_answers(unmeasured(writer, config, systems), config.timeout)
            writer.begin()
            names = measure_load(writer, config, systems, progress)
            requests = read_requests(config.folder, names)
            notes = [*load_notes(config), *late_notes(requests, load)]
            writer.finish(request_scores(requests), notes=notes, levels=judged_levels(requests, load))
    return Bench.read(config.folder)


def open_systems(
    config: BenchConfig, stack: ExitStack, candidates: Candidates | None = None
) -> list[LoadedSystem]:  # fmt: skip
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
    """What whole systems are asked: what is named, else what a log of arrivals says, else bundled questions."""
    file, log = config.queries or config.truth, config.arrival_log
    if config.queries is None and log is not None and (logged := log.questions()) is not None:
        return logged
    if file is None:
        return bundled_questions()
    if file is config.queries or file.is_dir() or file.suffix in (".jsonl", ".json"):
        questions = Questions.read(file)
    else:
        raise InputError(
            f"{config.origin.place()}names nothing to ask; name questions in JSONL, JSON, or one a line of text: "
            "--queries FILE, queries="
        )
    return {question.query_id: question.query for question in questions if question.query and question.query.strip()}


def load_digests(config: BenchConfig, systems: Sequence[LoadedSystem]) -> dict[str, str]:
    """What each level of load that is configured measures, by its name."""
    by_label = {(system.name, system.depth): system for system in systems}
    levels = plan_levels(config, systems)
    return {level.name: level.digest(by_label[level.system, level.depth], config) for level in levels}


def unmeasured(writer: BenchWriter, config: BenchConfig, systems: Sequence[LoadedSystem]) -> list[LoadedSystem]:
    """Systems with levels of load that are not on disk."""
    digests = load_digests(config, systems)
    due = {level.system for level in plan_levels(config, systems) if not writer.has(level.name, digests[level.name])}
    return [system for system in systems if system.name in due]


def measure_load(
    writer: BenchWriter, config: BenchConfig, systems: Sequence[LoadedSystem], progress: Progress = no_progress, *,
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
    """What a gate judges: rates that were offered, and of each system the one that is sustained.

    Rates are asked for where they are named, or come by a log, and none is searched; else one that holds is.
    """
    rows = throughput(requests, Objective.of(load))
    configured = requests.filter(pl.col("repetition") == 1, loop="open").select("system", "depth", "rate").unique()
    are_asked = not load.searches and not load.sweep
    levels = [
        {
            "system": system_label(row["system"], row["depth"]), "load": load_name(row["rate"], None),
            "is_asked": are_asked and (row["system"], row["depth"], row["rate"]) in configured.rows(),
            **{name: _finite(row[name]) for name in _JUDGED},
        }
        for row in rows.filter(loop="open").to_dicts()
    ]  # fmt: skip
    rates = [
        {"system": system_label(row["system"], row["depth"]), **{name: row[name] for name in _RATES}}
        for row in sustained(rows).to_dicts()
    ]
    return {"levels": levels, "sustained": rates}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def load_notes(config: BenchConfig) -> list[Note]:
    """Whether requests came as a log has them, and whether bundled questions were asked."""
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
    )  # fmt: skip
    late = delays.filter(pl.col("ms") > limit_ms).sort("ms", descending=True, maintain_order=True)
    if late.is_empty():
        return []
    rates: dict[str, list[str]] = {}
    for system, depth, rate, _ in late.iter_rows():
        rates.setdefault(system_label(system, depth), []).append(load_name(rate, None))
    systems = [f"{system} {' '.join(levels)}" for system, levels in rates.items()]
    return [Note("load_late", {"n": late.height, "names": systems[:_NAMED], "ms": round(late["ms"][0], 1)})]
