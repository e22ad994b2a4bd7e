"""Rerankers measured over the candidates of a first search: what `steelyard bench rerank` does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from time import perf_counter
from typing import Any

import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.errors import InputError, StageError
from steelyard.base.machine import timestamp
from steelyard.base.progress import Progress, no_progress
from steelyard.bench.bench import Bench
from steelyard.bench.blocks import Block, plan_blocks, read_rankings, read_requests, write_block
from steelyard.bench.calling import PairTokens, PatientCaller, RerankerCalls, call_in_turn
from steelyard.bench.candidates import Candidates, open_candidates
from steelyard.bench.config import BenchConfig, system_label
from steelyard.bench.config_table import LoadTable
from steelyard.bench.first_search import search_candidates
from steelyard.bench.interrupted import BenchInterrupted
from steelyard.bench.live import LiveBlock
from steelyard.bench.load.quiet import quiet_interpreter
from steelyard.bench.load.served import Request
from steelyard.bench.load_testing import late_notes, load_notes, measure_load, open_systems
from steelyard.bench.pricing import system_prices
from steelyard.bench.requests import RANKINGS, REQUESTS
from steelyard.bench.weighing import weigh
from steelyard.bench.writing import BenchWriter, refuse_other_folder
from steelyard.data.bench_folder import BenchFolder
from steelyard.data.run_lock import Holder, run_lock
from steelyard.models.endpoints import Endpoint
from steelyard.rag.fingerprint import describe, digest
from steelyard.rag.making import make_stage
from steelyard.rag.running import GIVE_UP_AFTER
from steelyard.rag.stages import Reranker
from steelyard.services.cache import text_key

WARM_UP_S = 30.0
"""Seconds that warming up a system takes at most."""


def bench_rerankers(
    config: str | Path | Mapping[str, Any] | BenchConfig,
    *,
    folder: str | Path | None = None,
    overwrite: bool = False,
    prefer: Prefer | None = None,
    progress: Progress | None = None,
) -> Bench:
    """Measure rerankers over the candidates of a first search: quality, latency, tokens and cost.

    config      a TOML file, a dict of the same shape, or a BenchConfig; see docs/rerankers.md
    folder      made where it is absent; by default the one that the configuration names
    overwrite   measure anew what the folder holds
    prefer      which of the rerankers that are good enough is recommended; by default as the configuration has it
    progress    called as progress("requests", done, total), under load progress("levels", done, total) and
                progress("seconds", done, total), which are at most as many, and as the first search does

    Where candidates are the configuration of a pipeline, it is run first, into its own run folder, unless it is there.
    Each reranker is asked all questions over each number of candidates, several times, in an order that evens out what
    changes meanwhile.  Then, where the configuration names load, each system is put under it, rerankers over one number
    of candidates, and the rate that it sustains is searched.  All of it is in blocks, each of which is on disk, whole,
    as soon as it is measured.  A bench that was interrupted goes on where it was, whatever ended it.  Another
    repetition, depth or system adds its blocks; measures, prices and values change nothing that is measured, and are
    computed anew.  A request that fails is recorded; where the first five of a system all fail with the same error,
    that is raised.

    Raises   InputError for a configuration, candidates or a folder that do not fit; StageError where a reranker fails
             from the start; OutputError where the folder cannot be written, or another process writes it.
    """
    search = partial(search_candidates, overwrite=overwrite, progress=progress)
    work = prepare_bench(config, folder, prefer=prefer, search=search)
    with run_lock(work.path) as earlier:
        writer = work.writer(overwrite=overwrite, taken_over=earlier)
        if writer.is_finished and (bench := _whole_bench(work.path)) is not None:
            return bench
        writer.begin()
        _measure(writer, work, progress or no_progress)
        _finish(writer, work, [*work.digests, *_measure_load(writer, work, progress or no_progress)])
    return Bench.read(work.path)


def _whole_bench(path: Path) -> Bench | None:
    """The bench of a folder; None where what was computed is damaged, and is to be computed anew."""
    try:
        return Bench.read(path)
    except InputError:
        return None


@dataclass(frozen=True, eq=False)
class BenchWork:
    """What a bench is to measure: all that was opened and checked before the first request.

    rerankers   by system;   blocks   in the order in which they are run
    """

    config: BenchConfig
    candidates: Candidates
    rerankers: Mapping[str, Reranker]
    blocks: Sequence[Block]

    @property
    def path(self) -> Path:
        """The folder that it is written into."""
        return self.config.folder

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Name of each block -> what it measures."""
        return block_digests(self.config, self.rerankers, self.candidates, self.blocks)

    def writer(self, *, overwrite: bool = False, taken_over: Holder | None = None) -> BenchWriter:
        """What writes it; see `BenchWriter`."""
        return BenchWriter(
            self.path, "rerank", self.config, self.digests, notes=self.candidates.notes, taken_over=taken_over,
            overwrite=overwrite,
        )  # fmt: skip


def prepare_bench(
    config: str | Path | Mapping[str, Any] | BenchConfig,
    folder: str | Path | None = None,
    *,
    prefer: Prefer | None = None,
    search: Callable[[BenchConfig], None] | None = None,
) -> BenchWork:
    """Open and check all that `bench_rerankers` needs, with its options and errors; no reranker is asked.

    search   called before candidates are opened, to get them where they are to be searched first
    """
    if not isinstance(config, BenchConfig):
        config = BenchConfig.of(config) if isinstance(config, Mapping) else BenchConfig.read(config)
    config = config if prefer is None else config.with_values({"prefer": prefer})
    config = replace(config, folder=config.folder if folder is None else Path(folder))
    refuse_other_folder(config.folder)
    rerankers = make_rerankers(config)
    with config.origin().locating():
        system_prices(config)
    if search is not None:
        search(config)
    candidates = open_candidates(config)
    weigh(config, candidates, RANKINGS.to_frame(), REQUESTS.to_frame())  # Refuses what does not fit before it is asked.
    return BenchWork(config, candidates, rerankers, plan_blocks(config))


def make_rerankers(config: BenchConfig) -> dict[str, Reranker]:
    """The rerankers of a configuration, by system.

    Raises   InputError with the file and line of one that cannot be made, and where there is none.
    """
    rerankers = dict[str, Reranker]()
    for system in config.rerankers:
        with config.origin().locating("systems", system.name, "rerank"):
            rerankers[system.name] = make_stage("rerank", system.rerank, config.base)
    if not rerankers:
        raise InputError(
            f'{config.line("systems")}no system has a reranker; name one: [systems.words] rerank = "lexical"'
        )
    return rerankers


def block_digests(
    config: BenchConfig, rerankers: Mapping[str, Reranker], candidates: Candidates, blocks: Sequence[Block]
) -> dict[str, str]:
    """What each block measures: reranker, questions, candidates and their texts; where it differs, it is another."""
    systems = {name: describe(reranker).digest for name, reranker in rerankers.items()}
    texts = {doc_id: text_key(text).hex() for doc_id, text in candidates.texts.items()}
    asked = {
        depth: digest([
            (query_id, candidates.queries[query_id], [(doc, texts[doc]) for doc in candidates.first(query_id, depth)])
            for query_id in candidates.searched
        ])
        for depth in config.depths
    }  # fmt: skip
    return {block.name: digest(systems[block.system], asked[block.depth], config.timeout) for block in blocks}


def _measure(writer: BenchWriter, work: BenchWork, progress: Progress) -> None:
    """Run the blocks that are not on disk."""
    blocks, n, done = work.blocks, len(work.candidates.searched), set(writer.done)
    n_done = n * len(done)
    progress("requests", n_done, n * len(blocks))
    systems = dict[str, _Measured]()
    try:
        with quiet_interpreter():
            for block in blocks:
                if block.name in done:
                    continue
                if block.system not in systems:
                    reranker = work.rerankers[block.system]
                    systems[block.system] = _Measured(block.system, reranker, work.candidates, work.config)

                live = LiveBlock(system_label(block.system, block.depth))

                def tick(request: Request, begun: int = n_done, live: LiveBlock = live) -> None:
                    live.add(request.end - request.intended, is_answered=request.outcome == "ok")
                    progress("requests", begun + request.number + 1, n * len(blocks))

                write_block(writer.path, block.name, *systems[block.system].run(block, tick))
                done.add(block.name)
                n_done += n
    except KeyboardInterrupt as error:
        raise BenchInterrupted(len(done), len(blocks)) from error
    finally:
        for system in systems.values():
            system.close()


def _measure_load(writer: BenchWriter, work: BenchWork, progress: Progress) -> list[str]:
    """Put the load of [load], if there is any, on all systems; returns the names of its blocks."""
    if work.config.load is None:
        return []
    before = read_requests(work.path, list(work.digests))
    with ExitStack() as stack:
        systems = open_systems(work.config, stack, work.candidates)
        return measure_load(writer, work.config, systems, progress, before=before)


def _finish(writer: BenchWriter, work: BenchWork, names: Sequence[str]) -> None:
    """Weigh what the blocks of these names hold."""
    rankings, requests = (read(work.path, names) for read in (read_rankings, read_requests))
    notes = [*load_notes(work.config), *late_notes(requests, work.config.load or LoadTable())]
    scores, ceilings = weigh(work.config, work.candidates, rankings, requests)
    folder = BenchFolder(work.path, {"kind": "rerank", "finished": timestamp()})
    bench = Bench(folder, work.config, scores, ceilings, requests=requests, rankings=rankings)
    writer.finish(scores, ceilings, notes=notes, recommended=bench.recommended)


class _Measured:
    """A reranker while it is measured: its tokens are counted when it is first needed, which loads its model too.

    An endpoint is asked by a client that repeats nothing and waits for nobody: its times are the server's.
    """

    def __init__(self, name: str, reranker: Reranker, candidates: Candidates, config: BenchConfig) -> None:
        if isinstance(reranker, Endpoint):
            reranker = reranker.directly(config.timeout)
        self._name, self._reranker, self._candidates, self._config = name, reranker, candidates, config
        self._tokens = PairTokens.of(reranker, candidates, config.depths[-1])
        self._queries = [(query_id, candidates.queries[query_id]) for query_id in candidates.searched]
        self._caller = PatientCaller(config.timeout)
        self._warm = set[int]()
        self._first: list[Request] = []

    def run(self, block: Block, tick: Callable[[Request], None]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The requests and rankings of a block.

        Raises   StageError where the first requests of the system all fail alike.
        """
        calls = RerankerCalls(self._reranker, self._candidates, block.depth)
        if block.depth not in self._warm:
            self._warm_up(calls)
            self._warm.add(block.depth)

        def watch(request: Request) -> None:
            self._watch(request)
            tick(request)

        tokens = self._tokens.first(block.depth)
        requests = tokens.fill(call_in_turn(calls, self._queries, self._caller, tick=watch))
        requests = requests.with_columns(
            system=pl.lit(block.system), depth=pl.lit(block.depth, pl.Int64),
            repetition=pl.lit(block.repetition, pl.Int64),
        )  # fmt: skip
        return requests, _rankings(requests, calls, tokens)

    def _warm_up(self, calls: RerankerCalls) -> None:
        """The first requests, which load models and fill caches, and do not count; the very first one in any case."""
        n, started = max(self._config.warm_up, 0 if self._warm else 1), perf_counter()
        for query_id, query in self._queries[:n]:
            self._watch(self._caller.send(calls, query_id, query, number=0))
            if perf_counter() - started > WARM_UP_S:
                break

    def _watch(self, request: Request) -> None:
        """Raise   StageError where this is the last of the first requests, and all failed alike."""
        if len(self._first) == GIVE_UP_AFTER:
            return
        self._first.append(request)
        errors = {request.error for request in self._first if request.outcome != "ok"}
        failed = sum(request.outcome != "ok" for request in self._first)
        if failed == GIVE_UP_AFTER and len(errors) == 1:
            raise StageError(f"{self._name}: the first {GIVE_UP_AFTER} requests all failed: {errors.pop()}")

    def close(self) -> None:
        """Let its thread end, and close its connections."""
        self._caller.close()
        if isinstance(self._reranker, Endpoint):
            self._reranker.close()


def _rankings(requests: pl.DataFrame, calls: RerankerCalls, tokens: PairTokens) -> pl.DataFrame:
    """What the reranker gave in a block; nothing for a request that failed, however late its answer came."""
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
