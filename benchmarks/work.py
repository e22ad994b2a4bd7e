"""One piece of work of the speed benchmark, to be run in a process of its own: python benchmarks/work.py NAME SHAPE.

Prints a line of JSON: the means, as each tool computes them, the seconds of the part that a row times from inside, and
the peak memory.  With --dump FILE it also writes the values of every query.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

MEASURES = ["map", "ndcg@10", "mrr", "recall@100", "precision@10"]
PYTREC = {
    "map": "map",
    "ndcg_cut_10": "ndcg@10",
    "recip_rank": "mrr",
    "recall_100": "recall@100",
    "P_10": "precision@10",
}

Values = dict[str, dict[str, float]]


@dataclass
class Done:
    """What a piece of work found: means now, values of every query on request."""

    means: dict[str, float]
    values: Callable[[], Values]
    seconds: float = 0.0


def files(name: str) -> tuple[Path, Path, Path]:
    data = Path(__file__).parent / "data"
    return data / f"{name}.qrels", data / f"{name}.run", data / f"{name}.run.parquet"


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def steelyard(scores: Any, seconds: float = 0.0) -> Done:
    def values() -> Values:
        rows = enumerate(scores.measures)
        return {str(m): dict(zip(scores.query_ids, scores.values[0, j].tolist(), strict=True)) for j, m in rows}

    means = dict(zip(map(str, scores.measures), scores.means[0].tolist(), strict=True))
    return Done(means, values, seconds)


def steelyard_text(shape: str) -> Done:
    import steelyard as sy

    qrels, run, _ = files(shape)
    return steelyard(sy.evaluate(qrels, run, MEASURES))


def steelyard_parquet(shape: str) -> Done:
    import steelyard as sy

    qrels, _, parquet = files(shape)
    return steelyard(sy.evaluate(qrels, parquet, MEASURES))


def steelyard_dicts(shape: str) -> Done:
    import steelyard as sy

    truth, run = pytrec_parse(shape)
    sy.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, MEASURES)  # imports are not the question here
    return steelyard(*timed(lambda: sy.evaluate(truth, run, MEASURES)))


def steelyard_prepared(shape: str, *, again: bool = True) -> Done:
    import steelyard as sy

    qrels, path, _ = files(shape)
    truth, run = sy.Truth.read(qrels), sy.Run.read(path)
    if again:
        sy.evaluate(truth, run, MEASURES)
    return steelyard(*timed(lambda: sy.evaluate(truth, run, MEASURES)))


def steelyard_prepared_first(shape: str) -> Done:
    return steelyard_prepared(shape, again=False)


def polars_stream(shape: str) -> Done:
    import polars as pl

    columns = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
    schema = dict.fromkeys(columns, pl.String) | {"score": pl.Float64}
    lazy = pl.scan_csv(files(shape)[1], separator=" ", has_header=False, quote_char=None, schema=schema)
    rows = sum(b.height for b in lazy.select("query_id", "doc_id", "score").collect_batches(maintain_order=True))
    return Done({"rows": rows}, dict)


def pytrec_parse(shape: str) -> tuple[Any, Any]:
    import pytrec_eval

    qrels, run, _ = files(shape)
    with qrels.open() as q, run.open() as r:
        return pytrec_eval.parse_qrel(q), pytrec_eval.parse_run(r)


def pytrec(truth: Any, run: Any) -> Done:
    import pytrec_eval

    evaluator = pytrec_eval.RelevanceEvaluator(truth, {"map", "ndcg_cut.10", "recip_rank", "recall.100", "P.10"})
    found, seconds = timed(lambda: evaluator.evaluate(run))
    means = {ours: fmean([values[theirs] for values in found.values()]) for theirs, ours in PYTREC.items()}
    return Done(means, lambda: {o: {q: v[t] for q, v in found.items()} for t, o in PYTREC.items()}, seconds)


def pytrec_text(shape: str) -> Done:
    return pytrec(*pytrec_parse(shape))


def ranx_text(shape: str) -> Done:
    from ranx import Qrels, Run, evaluate

    qrels, path, _ = files(shape)
    run = Run.from_file(str(path), kind="trec")
    means = evaluate(Qrels.from_file(str(qrels), kind="trec"), run, MEASURES, make_comparable=True)
    return Done({name: float(mean) for name, mean in means.items()}, lambda: {m: dict(run.scores[m]) for m in MEASURES})


WORK = {
    work.__name__: work
    for work in (
        steelyard_text, steelyard_parquet, steelyard_dicts, steelyard_prepared, steelyard_prepared_first, polars_stream,
        pytrec_text, ranx_text,
    )
}  # fmt: skip


def main() -> None:
    name, shape, *rest = sys.argv[1:]
    done = WORK[name](shape)
    if rest[:1] == ["--dump"]:
        Path(rest[1]).write_text(json.dumps(done.values()))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"means": done.means, "seconds": done.seconds, "peak_kib": peak}))


if __name__ == "__main__":
    main()
