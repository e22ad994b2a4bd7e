"""One piece of work of the speed benchmark, to be run in a process of its own: python benchmarks/work.py NAME SHAPE.

Prints a line of JSON: the means (so that work is not thrown away, and can be checked), the seconds of the part that a
row times from inside, and the peak memory.  With --dump FILE it also writes the values of every query.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).parent))

MEASURES = ["map", "ndcg@10", "mrr", "recall@100", "precision@10"]
PYTREC = {
    "map": "map",
    "ndcg_cut_10": "ndcg@10",
    "recip_rank": "mrr",
    "recall_100": "recall@100",
    "P_10": "precision@10",
}
RANX = ["map", "ndcg@10", "mrr", "recall@100", "precision@10"]

Values = dict[str, dict[str, float]]


def shape_of(name: str):
    data = Path(__file__).parent / "data"
    return data / f"{name}.qrels", data / f"{name}.run", data / f"{name}.parquet"


def steelyard_values(scores) -> Values:
    values = scores.values[0]
    return {str(m): dict(zip(scores.query_ids, values[j].tolist(), strict=True)) for j, m in enumerate(scores.measures)}


def steelyard_text(shape: str) -> tuple[Values, float]:
    import steelyard as sy

    qrels, run, _ = shape_of(shape)
    return steelyard_values(sy.evaluate(qrels, run, MEASURES)), 0.0


def steelyard_parquet(shape: str) -> tuple[Values, float]:
    import steelyard as sy

    qrels, _, parquet = shape_of(shape)
    return steelyard_values(sy.evaluate(qrels, parquet, MEASURES)), 0.0


def polars_stream(shape: str) -> tuple[Values, float]:
    import polars as pl

    schema = {
        "query_id": pl.String,
        "Q0": pl.String,
        "doc_id": pl.String,
        "rank": pl.String,
        "score": pl.Float64,
        "tag": pl.String,
    }
    lazy = pl.scan_csv(shape_of(shape)[1], separator=" ", has_header=False, quote_char=None, schema=schema)
    rows = sum(b.height for b in lazy.select("query_id", "doc_id", "score").collect_batches(maintain_order=True))
    return {"rows": {"all": rows}}, 0.0


def pytrec_parse(shape: str):
    import pytrec_eval

    qrels, run, _ = shape_of(shape)
    with qrels.open() as q, run.open() as r:
        return pytrec_eval.parse_qrel(q), pytrec_eval.parse_run(r)


def pytrec_evaluate(truth, run) -> Values:
    import pytrec_eval

    found = pytrec_eval.RelevanceEvaluator(truth, {"map", "ndcg_cut.10", "recip_rank", "recall.100", "P.10"}).evaluate(
        run
    )
    return {ours: {query: values[theirs] for query, values in found.items()} for theirs, ours in PYTREC.items()}


def pytrec_text(shape: str) -> tuple[Values, float]:
    return pytrec_evaluate(*pytrec_parse(shape)), 0.0


def ranx_text(shape: str) -> tuple[Values, float]:
    from ranx import Qrels, Run, evaluate

    qrels_path, run_path, _ = shape_of(shape)
    qrels = Qrels.from_file(str(qrels_path), kind="trec")
    run = Run.from_file(str(run_path), kind="trec")
    evaluate(qrels, run, RANX, make_comparable=True)
    return {measure: dict(run.scores[measure]) for measure in RANX}, 0.0


def timed(work: Callable[[], object]) -> tuple[object, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def pytrec_dicts(shape: str) -> tuple[Values, float]:
    truth, run = pytrec_parse(shape)
    values, seconds = timed(lambda: pytrec_evaluate(truth, run))
    return values, seconds  # type: ignore[return-value]


def steelyard_dicts(shape: str) -> tuple[Values, float]:
    import steelyard as sy

    truth, run = pytrec_parse(shape)
    sy.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, MEASURES)  # imports are not the question here
    scores, seconds = timed(lambda: sy.evaluate(truth, run, MEASURES))
    return steelyard_values(scores), seconds


def steelyard_prepared(shape: str) -> tuple[Values, float]:
    import steelyard as sy

    qrels, path, _ = shape_of(shape)
    truth, run = sy.Truth.read(qrels), sy.Run.read(path)
    sy.evaluate(truth, run, MEASURES)
    scores, seconds = timed(lambda: sy.evaluate(truth, run, MEASURES))
    return steelyard_values(scores), seconds


def steelyard_prepared_first(shape: str) -> tuple[Values, float]:
    import steelyard as sy

    qrels, path, _ = shape_of(shape)
    truth, run = sy.Truth.read(qrels), sy.Run.read(path)
    scores, seconds = timed(lambda: sy.evaluate(truth, run, MEASURES))
    return steelyard_values(scores), seconds


WORK: dict[str, Callable[[str], tuple[Values, float]]] = {
    work.__name__: work
    for work in (
        steelyard_text, steelyard_parquet, steelyard_dicts, steelyard_prepared, steelyard_prepared_first, polars_stream,
        pytrec_text, pytrec_dicts, ranx_text,
    )
}  # fmt: skip


def main() -> None:
    name, shape, *rest = sys.argv[1:]
    values, seconds = WORK[name](shape)
    if rest[:1] == ["--dump"]:
        Path(rest[1]).write_text(json.dumps(values))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps({"means": {k: fmean(v.values()) for k, v in values.items()}, "seconds": seconds, "peak_kib": peak})
    )


if __name__ == "__main__":
    main()
