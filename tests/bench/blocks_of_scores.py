"""Rankings and requests of a bench, as blocks hold them, from a function that scores the candidates of a question."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from steelyard.bench.candidates import Candidates, open_candidates
from steelyard.bench.config import BenchConfig
from steelyard.bench.frames import RANKINGS, REQUESTS
from steelyard.bench.run.preparing import weigh
from steelyard.experiment.table.scores import Scores

Score = Callable[[str, Sequence[str], int], Sequence[float] | None]
"""From question, candidates and repetition to a score each; None fails."""


def config_of(folder: Path, truth: dict, run: dict, **settings: object) -> BenchConfig:
    """A bench of one reranker, `mine`, over a truth and a run in memory; each document is its own text."""
    qrels = [f"{q} 0 {d} {gain}" for q, gains in truth.items() for d, gain in gains.items()]
    rows = [f"{q} Q0 {d} {i + 1} {-i} first" for q, listed in run.items() for i, d in enumerate(listed)]
    docs = dict.fromkeys(d for listed in run.values() for d in listed)
    (folder / "qrels.txt").write_text("\n".join(qrels) + "\n")
    (folder / "first.run").write_text("\n".join(rows) + "\n")
    (folder / "docs.jsonl").write_text("".join(f'{{"_id": "{d}", "text": "{d}"}}\n' for d in docs))
    (folder / "queries.jsonl").write_text("".join(f'{{"qid": "{q}", "query": "{q}?"}}\n' for q in truth))
    named = {"truth": "qrels.txt", "candidates": "first.run", "documents": "docs.jsonl", "questions": "queries.jsonl"}
    systems = {"none": {}, "mine": {"rerank": "lexical"}}
    return BenchConfig.of({**named, "systems": systems, **settings}, base=folder)


def blocks(
    config: BenchConfig, candidates: Candidates, score: Score, *, repetitions: int = 1, system: str = "mine"
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """All rankings and requests of a reranker: a request takes as many milliseconds as the number of the repetition."""
    asked = [
        (depth, r, n, q, candidates.first(q, depth), score(q, candidates.first(q, depth), r))
        for depth in config.depths
        for r in range(1, repetitions + 1)
        for n, q in enumerate(candidates.searched)
    ]
    rankings = [(system, depth, r, q, scores, None) for depth, r, _, q, _, scores in asked]
    requests = [
        {
            "system": system, "depth": depth, "loop": "sequential", "repetition": r, "number": n, "query_id": q,
            "intended_s": 0.0, "sent_s": 0.0, "end_s": r / 1000, "outcome": "error" if scores is None else "ok",
            "n_pairs": len(first), "tokens_in": 7 * len(first),
        }
        for depth, r, n, q, first, scores in asked
    ]  # fmt: skip
    return pl.DataFrame(rankings, schema=RANKINGS, orient="row"), pl.DataFrame(requests, schema=REQUESTS)


def weighed(config: BenchConfig, score: Score, *, repetitions: int = 1) -> tuple[Scores, Scores]:
    """The scores and the ceilings of a reranker."""
    candidates = open_candidates(config)
    return weigh(config, candidates, *blocks(config, candidates, score, repetitions=repetitions))


def value(scores: Scores, system: str, measure: str, query_id: str | None = None) -> float:
    """One value, or the mean of all questions."""
    rows = scores.filter(systems=system, measures=measure)
    return float(rows.means[0, 0] if query_id is None else rows.filter(query_ids=query_id).values[0, 0, 0])
