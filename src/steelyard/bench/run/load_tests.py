"""Load tests: levels of load on whole systems and rerankers, one after the other, into the folder of a bench."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, get_args
from urllib.parse import urlsplit

from steelyard.base.choices import Arrivals
from steelyard.base.errors import InputError
from steelyard.base.limits import at_least
from steelyard.base.progress import Progress, usual_progress
from steelyard.base.settings import check_arguments
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import read_requests
from steelyard.bench.candidates import search_candidates
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.bench.load.loops import MOST_UNDER_WAY, allow_open_files
from steelyard.bench.load.served import request_scores
from steelyard.bench.load.systems import first_answers
from steelyard.bench.run.loads import (
    judged_levels,
    late_notes,
    load_digests,
    load_notes,
    measure_load,
    open_systems,
    unmeasured,
)
from steelyard.bench.run.writing import BenchWriter, refuse_other_folder
from steelyard.data.folders.run_lock import run_lock
from steelyard.io.json_files import parse_json
from steelyard.services.addresses import host_of

_OTHER_FILES = 500
"""That a system may have open itself."""
_DEPTH = 20
"""Documents of a request, where nothing else is said."""


def load_test(
    system: str | Path | Mapping[str, Any] | BenchConfig,
    *,
    questions: str | Path | None = None,
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
    questions  what is asked, in any form that `Questions.read` takes; of a configuration its own, and without
               any those of the bundled example
    rate       requests a second, in an open loop: they are sent at times laid down before, whatever the answers take;
               "1..50" is a rate that rises evenly over the duration
    users      at once, in a closed loop: each waits for the answer.  Its percentiles are not those of an open loop
    duration   of each level, seconds or a text such as "60s", after `warm_up` of the same load, which does not count
    slo        the objective: "p95=500ms", several with commas, or {"p95": 0.5} in seconds
    arrivals   "poisson" or "constant"; or a log whose requests are sent as they came, in JSONL, CSV or Parquet with a
               column of times (seconds or ISO 8601): as many, with their bursts, and asking what it says where
               `questions` names nothing;   speed   at so many times its speed, one or several
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
        "duration": duration,
        "slo": slo,
        "warm_up": warm_up,
        "think_time": think_time,
        "arrivals": str(Path(arrivals).absolute()) if arrivals is not None and is_log else arrivals,
    }
    if is_log or any(amounts is not None for amounts in (rate, users, speed)):
        # What is named here is all the load there is.
        ramp = _ramp(rate) if isinstance(rate, str) else None
        load |= {
            "rates": [] if ramp else _several(rate),
            "ramp": ramp,
            "concurrency": _several(users),
            "speeds": _several(speed),
            "sustained": bool(sustained),
        }
    elif sustained is not None:
        load["sustained"] = sustained
    depths = None if depth is None and body is None else [depth or _DEPTH]
    paths = {"questions": questions, "documents": documents, "folder": folder}
    changes = {
        "load": _named(load), "timeout": timeout, "seed": seed, "name": name, "depths": depths,
        **{key: None if path is None else str(Path(path).absolute()) for key, path in paths.items()},
    }  # fmt: skip
    options = _named({"concurrency": concurrency, "body": _body(body), "headers_env": headers_env})
    return _run(_config(system, options).with_values(_named(changes)), overwrite, progress or usual_progress)


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
    """The body that is sent, as a table.

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
        writer = BenchWriter("load", config, digests, taken_over=earlier, overwrite=overwrite)
        if not writer.is_finished:
            first_answers(unmeasured(writer, config, systems), config.timeout)
            writer.begin()
            names = measure_load(writer, config, systems, progress)
            requests = read_requests(config.folder, names)
            notes = [*load_notes(config), *late_notes(requests, load)]
            writer.finish(request_scores(requests), notes=notes, levels=judged_levels(requests, load))
    return Bench.read(config.folder)
