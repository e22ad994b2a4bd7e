"""All that a bench of rerankers needs, opened and checked before the first request."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.base.choices import Prefer
from steelyard.base.errors import InputError
from steelyard.bench.blocks import Block, plan_blocks
from steelyard.bench.candidates import Candidates, open_candidates
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import RANKINGS, REQUESTS
from steelyard.bench.money.pricing import system_prices
from steelyard.bench.run.weighing import weigh
from steelyard.bench.run.writing import BenchWriter, refuse_other_folder
from steelyard.data.folders.run_lock import Holder
from steelyard.experiment.table.scores import Scores
from steelyard.rag.fingerprint import describe, digest
from steelyard.rag.protocols import Reranker
from steelyard.rag.registry import make_stage
from steelyard.services.cache import text_key


@dataclass(frozen=True, eq=False)
class BenchWork:
    """What a bench is to measure: all that was opened and checked before the first request.

    rerankers   by system;   blocks   in the order in which they are run
    base        scores of the candidates as they are
    """

    config: BenchConfig
    candidates: Candidates
    rerankers: Mapping[str, Reranker]
    blocks: Sequence[Block]
    base: Scores

    @property
    def path(self) -> Path:
        """The folder that it is written into."""
        return self.config.folder

    @cached_property
    def digests(self) -> Mapping[str, str]:
        """Name of each block -> what it measures."""
        return block_digests(self.config, self.rerankers, self.candidates, self.blocks)

    def writer(self, *, overwrite: bool = False, taken_over: Holder | None = None) -> BenchWriter:
        """The writer of its folder; see `BenchWriter`."""
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
    config = config if folder is None else config.model_copy(update={"folder": Path(folder)})
    refuse_other_folder(config.folder)
    rerankers = make_rerankers(config)
    with config.origin.locating():
        system_prices(config)
    if search is not None:
        search(config)
    candidates = open_candidates(config)
    base, _ = weigh(config, candidates, RANKINGS.to_frame(), REQUESTS.to_frame())  # Refuses what does not fit.
    return BenchWork(config, candidates, rerankers, plan_blocks(config), base)


def make_rerankers(config: BenchConfig) -> dict[str, Reranker]:
    """The rerankers of a configuration, by system.

    Raises   InputError with the file and line of one that cannot be made, and where there is none.
    """
    rerankers = dict[str, Reranker]()
    for system in config.rerankers:
        with config.origin.locating("systems", system.name, "rerank"):
            rerankers[system.name] = make_stage("rerank", system.rerank, config.base)
    if not rerankers:
        raise InputError(
            f'{config.origin.place("systems")}no system has a reranker; name one: [systems.words] rerank = "lexical"'
        )
    return rerankers


def block_digests(
    config: BenchConfig, rerankers: Mapping[str, Reranker], candidates: Candidates, blocks: Sequence[Block]
) -> dict[str, str]:
    """A digest of each block: reranker, questions, candidates and their texts; where it differs, it is another."""
    systems = {name: describe(reranker).digest for name, reranker in rerankers.items()}
    texts = {doc_id: text_key(text).hex() for doc_id, text in candidates.texts.items()}
    asked: dict[int | None, str] = {
        depth: digest([
            (query_id, candidates.queries[query_id], [(doc, texts[doc]) for doc in candidates.first(query_id, depth)])
            for query_id in candidates.searched
        ])
        for depth in config.depths
    }  # fmt: skip
    return {
        block.name: digest(systems[block.option.system], asked[block.option.depth], config.timeout) for block in blocks
    }
