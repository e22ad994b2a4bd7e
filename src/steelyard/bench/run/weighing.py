"""Rerankers on the scale: the lists that they make, weighed as any run is, and what came with each request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.options import WeighOptions
from steelyard.base.schema import RUN
from steelyard.bench.candidates import Candidates, open_bench_inputs
from steelyard.bench.choice.returns import success_of
from steelyard.bench.config import BenchConfig
from steelyard.bench.load.throughput import Objective, sustained, throughput
from steelyard.bench.money.costs import request_costs, with_costs
from steelyard.bench.quality.ceilings import ceilings, ceilings_of_rerankers
from steelyard.bench.quality.gains import MEASURES
from steelyard.bench.quality.lists import Reranking, reranked_list, rerankings_of, with_columns
from steelyard.data.outputs import Outputs
from steelyard.data.run import Run
from steelyard.experiment.door.gold import label_gains
from steelyard.experiment.door.opening import System
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure, parse_all


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
    quality = weighing.scores(specs, min_gain=config.min_gain)
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
            "rerankers are weighed; add `evidence`, or name judged documents"
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
    return Weighing.of(replace(inputs, systems=systems), WeighOptions(cluster=config.cluster))


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
