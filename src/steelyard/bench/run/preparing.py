"""All that a bench of rerankers needs, opened and checked before the first request, and its lists as scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.errors import InputError
from steelyard.base.options import WeighOptions
from steelyard.base.schema import RUN
from steelyard.bench.blocks import Block, plan_blocks
from steelyard.bench.candidates import Candidates, open_bench_inputs, open_candidates
from steelyard.bench.choice.returns import success_of
from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import request_costs, system_prices, with_costs
from steelyard.bench.frames import RANKINGS, REQUESTS
from steelyard.bench.load.throughput import Objective, sustained, throughput
from steelyard.bench.quality.ceilings import ceilings, ceilings_of_rerankers
from steelyard.bench.quality.gains import MEASURES
from steelyard.bench.quality.lists import Reranking, reranked_list, rerankings_of, with_columns
from steelyard.bench.run.writing import BenchWriter, refuse_other_folder
from steelyard.data.folders.run_lock import Holder
from steelyard.data.outputs import Outputs
from steelyard.data.run import Run
from steelyard.experiment.door.gold import label_gains
from steelyard.experiment.door.opening import System
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure, parse_all
from steelyard.rag.fingerprint import describe, digest
from steelyard.rag.protocols import Reranker
from steelyard.rag.registry import make_stage
from steelyard.services.cache import text_key


def weigh(
    config: BenchConfig, candidates: Candidates, rankings: pl.DataFrame, requests: pl.DataFrame
) -> tuple[Scores, Scores]:
    """The scores of a bench, and its ceilings.

    rankings, requests   of schemas RANKINGS and REQUESTS, of all blocks; only requests one after the other count, but
                         for the cost of a machine of one's own, which is by the rate that it sustains
    Returns   scores of the candidates as they are, then of each reranker over each depth (SYSTEM@DEPTH), by the
              measures of quality, by COLUMNS, and by cost where prices are known.  A value is the mean of the
              repetitions, those left out in which the question failed; latency has no mean then.  A question that
              failed in any repetition is marked as failed.
              Ceilings are of systems ceiling@DEPTH, by the measures of quality; NaN where the best order is not known
    Raises    InputError and its children, MeasureError

    Without rankings it is the candidates alone that are weighed, which tells whether all inputs fit together.
    """
    rerankings = rerankings_of(config.options, candidates, rankings, requests)
    weighing = _weighing(config, candidates, rerankings)
    specs = quality_measures(config, weighing)
    quality = weighing.scores(specs)
    of_depths = ceilings(config.depths, candidates, weighing.weighed[0], quality)
    quality = replace(quality, ceilings=ceilings_of_rerankers(config.options, quality, of_depths))
    scores = with_columns(quality, weighing, rerankings)
    rates = sustained(throughput(requests, Objective.of(config.load)))
    sequential = requests.filter(loop="sequential")
    of_requests = request_costs(config, sequential, rankings, rates)
    return with_costs(config, scores, sequential, of_requests), of_depths


def quality_measures(config: BenchConfig, weighing: Weighing) -> list[Measure]:
    """The measures of quality: those of the configuration, else MEASURES for this kind of gold; and that of success.

    Raises   InputError for gold that is of no list, and for measures that are of none.
    """
    gold = weighing.gold
    if not any(gain > 0 for gain in label_gains(gold)):
        raise InputError(
            f"{config.origin.place('truth')}{gold.name}: no question has gold for what is retrieved, by which "
            "rerankers are evaluated; add `evidence`, or name judged documents"
        )
    options = {} if config.min_gain is None else {"min_gain": config.min_gain}
    specs = parse_all(weighing.measures_or(config.measures or (), MEASURES), **options)
    if (success := success_of(config)) is not None:
        specs = list(dict.fromkeys([*specs, success]))
    for spec in specs:
        if spec.definition.of_answers:
            raise InputError(
                f"{config.origin.place('measures')}{spec} is of answers, and rerankers change lists alone; name "
                "measures of lists, such as ndcg@10"
            )
    return specs


# Lists ---------------------------------------------------------------------------------------------------------------


def _weighing(config: BenchConfig, candidates: Candidates, rerankings: Sequence[Reranking]) -> Weighing:
    """The candidates as they are and all reranked lists against the gold; options of `weigh` are the defaults."""
    inputs = candidates.inputs or open_bench_inputs(config)
    outputs = inputs.systems[0].outputs

    def system(name: str, lists: Sequence[Mapping[str, Sequence[float]]]) -> System:
        first, *others = (_system(_run(candidates, name, scores), outputs) for scores in lists)
        return replace(first, repeats=tuple(others))

    systems = [system(config.base_name, [{}]), *(system(item.label, _distinct(item.scores)) for item in rerankings)]
    return Weighing.of(replace(inputs, systems=systems), WeighOptions(cluster=config.cluster, min_gain=config.min_gain))


def _distinct(lists: Sequence[Mapping[str, Sequence[float]]]) -> Sequence[Mapping[str, Sequence[float]]]:
    """The scores of all repetitions, or of the first where all are equal, which need be weighed but once."""
    return lists[:1] if all(scores == lists[0] for scores in lists) else lists


def _system(run: Run, outputs: Outputs | None) -> System:
    """A run as a system to weigh;   outputs   that have the texts of its chunks, where gold is looked up in these"""
    if outputs is None:
        return System(run.name, run, answered=lambda: Outputs.of_run(run))
    listed = outputs.with_lists(run, None, outputs.table)
    return System(run.name, run, listed, answered=lambda: listed)


def _run(candidates: Candidates, name: str, scores: Mapping[str, Sequence[float]]) -> Run:
    """The lists of all questions; those without scores are as they were."""
    lists = {
        query_id: reranked_list(doc_ids, scores.get(query_id, ())) for query_id, doc_ids in candidates.doc_ids.items()
    }
    lengths = np.array([len(listed) for listed in lists.values()], np.int64)
    rows = pl.DataFrame(
        {
            "query_id": pl.Series(list(lists), dtype=pl.String).gather(np.repeat(np.arange(len(lists)), lengths)),
            "doc_id": pl.Series([doc_id for listed in lists.values() for doc_id in listed], dtype=pl.String),
            "score": [-float(place) for length in lengths.tolist() for place in range(length)],
        },
        schema=RUN,
    )
    return Run.of_rows(rows, name)


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
            "rerank", self.config, self.digests, notes=self.candidates.notes, taken_over=taken_over, overwrite=overwrite
        )


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
