"""Rerankers measured over the candidates of a first search: what `steelyard bench rerank` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.errors import InputError
from steelyard.base.machine import timestamp
from steelyard.base.progress import Progress, usual_progress
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import Block, read_rankings, read_requests, write_block
from steelyard.bench.candidates import Candidates, search_candidates
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.bench.frames import RANKINGS
from steelyard.bench.load.calling import PairTokens, PatientCaller, RerankerCalls, call_in_turn
from steelyard.bench.load.loops import quiet_interpreter
from steelyard.bench.load.served import Request
from steelyard.bench.load.systems import LoadedSystem, first_answers
from steelyard.bench.run.loads import (
    BenchInterrupted,
    LiveBlock,
    late_notes,
    load_notes,
    measure_load,
    open_systems,
    unmeasured,
)
from steelyard.bench.run.planning import BenchPlan, plan_work
from steelyard.bench.run.preparing import BenchWork, prepare_bench, weigh
from steelyard.bench.run.writing import BenchWriter
from steelyard.data.folders.manifests import BenchFolder
from steelyard.data.folders.run_lock import run_lock
from steelyard.rag.protocols import Reranker
from steelyard.services.models.endpoints import Endpoint
from steelyard.services.prices import Budget

WARM_UP_S = 30.0
"""Seconds that warming up a system takes at most."""


def bench_rerankers(
    config: str | Path | Mapping[str, Any] | BenchConfig,
    *,
    folder: str | Path | None = None,
    overwrite: bool = False,
    prefer: Prefer | None = None,
    budget: str | None = None,
    progress: Progress | None = None,
    announce: Callable[[BenchPlan], None] | None = None,
) -> Bench:
    """Measure rerankers over the candidates of a first search: quality, latency, tokens and cost.

    config      a TOML file, a dict of the same shape, or a BenchConfig; see docs/howto/rerankers.md
    folder      made where it is absent; by default the one that the configuration names
    overwrite   measure anew what the folder holds
    prefer      which of the rerankers that are good enough is recommended; by default as the configuration has it
    budget      "2.00usd" or "500000tokens": a bench that takes more, by the first answers of the systems, is not begun
    progress    called as progress("requests", done, total), under load progress("levels", done, total) and
                progress("seconds", done, total), which are at most as many, and as the first search does
    announce    called once with what the bench will take, before it is measured, by the first answers of the systems

    Where candidates are the configuration of a pipeline, it is run first, into its own run folder, unless it is there.
    Each reranker is asked all questions over each number of candidates, several times, in an order that evens out what
    changes meanwhile.  Then, where the configuration names load, each system is put under it, rerankers over one number
    of candidates, and the rate that it sustains is searched.  All of it is in blocks, each of which is on disk, whole,
    as soon as it is measured.  A bench that was interrupted goes on where it was, whatever ended it.  Another
    repetition, depth or system adds its blocks; measures, prices and values change nothing that is measured, and are
    computed anew.  A request that fails is recorded; but one question goes to each system before anything is measured,
    and where some of them do not answer, that is raised.

    Raises   InputError for a configuration, candidates or a folder that do not fit; StageError naming all systems that
             fail from the start; OutputError where the folder cannot be written, or another process writes it.
    """
    limit = None if budget is None else Budget.parse(budget)
    search = partial(search_candidates, overwrite=overwrite, progress=progress)
    work = prepare_bench(config, folder, prefer=prefer, search=search)
    progress = progress or usual_progress
    with run_lock(work.path) as earlier, ExitStack() as stack:
        writer = work.writer(overwrite=overwrite, taken_over=earlier)
        if writer.is_finished and (bench := _whole_bench(work.path)) is not None:
            return bench
        systems = {name: stack.enter_context(closing(system)) for name, system in _open_rerankers(writer, work)}
        loaded = [] if work.config.load is None else open_systems(work.config, stack, work.candidates)
        answers = _ask_first(writer, work, systems, loaded)
        if answers:
            plan = plan_work(work, set(writer.done), answers)
            if announce is not None:
                announce(plan)
            if limit is not None:
                plan.refuse_above(limit)
        writer.begin()
        _measure(writer, work, systems, progress)
        names = list(work.digests)
        if loaded:
            before = read_requests(work.path, names)
            names += measure_load(writer, work.config, loaded, progress, before=before)
        _finish(writer, work, names)
    return Bench.read(work.path)


def _open_rerankers(writer: BenchWriter, work: BenchWork) -> Iterator[tuple[str, _Measured]]:
    """The rerankers with blocks that are not on disk, by system."""
    due = {block.option.system for block in work.blocks if block.name not in set(writer.done)}
    for name, reranker in work.rerankers.items():
        if name in due:
            yield name, _Measured(name, reranker, work.candidates, work.config)


def _ask_first(
    writer: BenchWriter, work: BenchWork, systems: Mapping[str, _Measured], loaded: Sequence[LoadedSystem]
) -> Mapping[str, Request]:
    """The first answers of the systems that are to be measured; see `first_answers`."""
    others = [system for system in unmeasured(writer, work.config, loaded) if system.name not in systems]
    answers = first_answers([*(system.first for system in systems.values()), *others], work.config.timeout)
    here = [system.first for name, system in systems.items() if name in answers and not system.calls_out]
    return answers | first_answers(here, work.config.timeout)  # The first question may have loaded a model.


def _whole_bench(path: Path) -> Bench | None:
    """The bench of a folder; None where what was computed is damaged, and is to be computed anew."""
    try:
        return Bench.read(path)
    except InputError:
        return None


def _measure(writer: BenchWriter, work: BenchWork, systems: Mapping[str, _Measured], progress: Progress) -> None:
    """Run the blocks that are not on disk."""
    blocks, n, done = work.blocks, len(work.candidates.searched), set(writer.done)
    n_done = n * len(done)
    progress("requests", n_done, n * len(blocks))
    try:
        with quiet_interpreter():
            for block in blocks:
                if block.name in done:
                    continue
                live = LiveBlock(block.option.label)

                def tick(request: Request, begun: int = n_done, live: LiveBlock = live) -> None:
                    live.add(request.end - request.intended, is_answered=request.outcome == "ok")
                    progress("requests", begun + request.number + 1, n * len(blocks))

                write_block(writer.path, block.name, *systems[block.option.system].run(block, tick))
                done.add(block.name)
                n_done += n
    except KeyboardInterrupt as error:
        raise BenchInterrupted(len(done), len(blocks)) from error


def _finish(writer: BenchWriter, work: BenchWork, names: Sequence[str]) -> None:
    """Weigh what the blocks of these names hold."""
    rankings, requests = (read(work.path, names) for read in (read_rankings, read_requests))
    notes = [*load_notes(work.config), *late_notes(requests, work.config.load or LoadTable())]
    scores, ceilings = weigh(work.config, work.candidates, rankings, requests)
    folder = BenchFolder(work.path, {"kind": "rerank", "finished": timestamp()})
    bench = Bench(folder, work.config, scores, ceilings, requests=requests, rankings=rankings)
    writer.finish(scores, ceilings, notes=notes, recommended=bench.recommended)


class _Measured:
    """A reranker while it is measured: its tokens are counted when it is opened, which loads its model too.

    An endpoint is asked by a client that repeats nothing and waits for nobody: its times are the server's.
    """

    def __init__(self, name: str, reranker: Reranker, candidates: Candidates, config: BenchConfig) -> None:
        self.calls_out = hasattr(reranker, "concurrency")
        if isinstance(reranker, Endpoint):
            reranker = reranker.directly(config.timeout)
        self._name, self._reranker, self._candidates, self._config = name, reranker, candidates, config
        self._tokens = PairTokens.of(reranker, candidates, config.depths[-1])
        self._queries = [(query_id, candidates.queries[query_id]) for query_id in candidates.searched]
        self._caller = PatientCaller(config.timeout)
        self._warm = set[int | None]()

    @property
    def first(self) -> LoadedSystem:
        """It over as many candidates as it gets at most, to be asked a first question."""
        depth = self._config.depths[-1]
        return LoadedSystem(
            self._name, depth, RerankerCalls(self._reranker, self._candidates, depth), dict(self._queries)
        )

    def run(self, block: Block, tick: Callable[[Request], None]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The requests and rankings of a block."""
        option = block.option
        calls = RerankerCalls(self._reranker, self._candidates, option.depth)
        if option.depth not in self._warm:
            self._warm_up(calls)
            self._warm.add(option.depth)
        tokens = self._tokens.first(option.depth)
        requests = tokens.fill(call_in_turn(calls, self._queries, self._caller, tick=tick))
        requests = requests.with_columns(
            system=pl.lit(option.system),
            depth=pl.lit(option.depth, pl.Int64),
            repetition=pl.lit(block.repetition, pl.Int64),
        )
        return requests, _rankings(requests, calls, tokens)

    def _warm_up(self, calls: RerankerCalls) -> None:
        """The first requests, which fill caches, and do not count."""
        started = perf_counter()
        for query_id, query in self._queries[: self._config.warm_up]:
            self._caller.send(calls, query_id, query, number=0)
            if perf_counter() - started > WARM_UP_S:
                break

    def close(self) -> None:
        """Let its thread end, and close its connections."""
        self._caller.close()
        if isinstance(self._reranker, Endpoint):
            self._reranker.close()


def _rankings(requests: pl.DataFrame, calls: RerankerCalls, tokens: PairTokens) -> pl.DataFrame:
    """The rankings of a reranker in a block; nothing for a request that failed, however late its answer came."""
    rows = [
        {
            "query_id": query_id,
            "scores": calls.scores.get(query_id) if outcome == "ok" else None,
            "pair_tokens": list(tokens.counts[query_id]),
        }
        for query_id, outcome in requests.select("query_id", "outcome").iter_rows()
    ]
    labels = requests.select("system", "depth", "repetition")
    return labels.hstack(pl.DataFrame(rows, schema={name: RANKINGS[name] for name in rows[0]})).select(list(RANKINGS))
