"""One piece of work of the speed benchmark, to be run in a process of its own: python benchmarks/work.py NAME FILE...

NAME is one of the functions below, FILE the name of a file under benchmarks/data: truth and run, or what is to be read.
Prints a line of JSON: the means, as each tool computes them, and the seconds of the part that a row times from inside.
With --dump FILE it also writes the values of every query.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import IO, Any

DATA = Path(__file__).parent / "data"
MEASURES = ["map", "ndcg@10", "mrr", "recall@100", "precision@10"]
PYTREC = {
    "map": "map",
    "ndcg_cut_10": "ndcg@10",
    "recip_rank": "mrr",
    "recall_100": "recall@100",
    "P_10": "precision@10",
}
_PIECE = 1 << 23

Values = dict[str, dict[str, float]]


@dataclass
class Outcome:
    """Means, values of every query on request, and the seconds of what counts."""

    means: dict[str, float]
    values: Callable[[], Values] = dict
    seconds: float = 0.0


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def outcome_of(scores: Any, seconds: float = 0.0) -> Outcome:
    def values() -> Values:
        rows = enumerate(scores.measures)
        return {str(m): dict(zip(scores.query_ids, scores.values[0, j].tolist(), strict=True)) for j, m in rows}

    means = dict(zip(map(str, scores.measures), scores.means[0].tolist(), strict=True))
    return Outcome(means, values, seconds)


def steelyard(truth: Path, run: Path) -> Outcome:
    import steelyard as sy

    return outcome_of(sy.evaluate(truth, run, MEASURES))


def steelyard_dicts(truth: Path, run: Path) -> Outcome:
    import steelyard as sy

    labels, rankings = pytrec_parse(truth, run)
    sy.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, MEASURES)  # imports are not the question here
    return outcome_of(*timed(lambda: sy.evaluate(labels, rankings, MEASURES)))


def steelyard_prepared(truth: Path, run: Path, *, again: bool = True) -> Outcome:
    import steelyard as sy

    prepared = sy.Truth.read(truth), sy.Run.read(run)
    if again:
        sy.evaluate(*prepared, MEASURES)
    return outcome_of(*timed(lambda: sy.evaluate(*prepared, MEASURES)))


def steelyard_prepared_first(truth: Path, run: Path) -> Outcome:
    return steelyard_prepared(truth, run, again=False)


def polars_stream(run: Path) -> Outcome:
    import polars as pl

    columns = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
    schema = dict.fromkeys(columns, pl.String) | {"score": pl.Float64}
    lazy = pl.scan_csv(run, separator=" ", has_header=False, quote_char=None, schema=schema)
    rows = sum(b.height for b in lazy.select("query_id", "doc_id", "score").collect_batches(maintain_order=True))
    return Outcome({"rows": rows})


def gunzip(run: Path) -> Outcome:
    import gzip

    with gzip.open(run) as stream:
        return _read_through(stream)


def unzstd(run: Path) -> Outcome:
    from backports import zstd

    with zstd.open(run) as stream:
        return _read_through(stream)


def _read_through(stream: IO[bytes]) -> Outcome:
    return Outcome({"bytes": sum(len(piece) for piece in iter(lambda: stream.read(_PIECE), b""))})


def orjson_file(run: Path) -> Outcome:
    import orjson

    return Outcome({"queries": len(orjson.loads(run.read_bytes()))})


def orjson_lines(run: Path) -> Outcome:
    import orjson

    with run.open("rb") as lines:
        return Outcome({"rows": sum(len(orjson.loads(line)["retrieved"]) for line in lines)})


def pytrec_parse(truth: Path, run: Path) -> tuple[Any, Any]:
    import pytrec_eval

    with truth.open() as q, run.open() as r:
        return pytrec_eval.parse_qrel(q), pytrec_eval.parse_run(r)


def pytrec_text(truth: Path, run: Path) -> Outcome:
    import pytrec_eval

    labels, rankings = pytrec_parse(truth, run)
    evaluator = pytrec_eval.RelevanceEvaluator(labels, {"map", "ndcg_cut.10", "recip_rank", "recall.100", "P.10"})
    results, seconds = timed(lambda: evaluator.evaluate(rankings))
    means = {ours: fmean([values[theirs] for values in results.values()]) for theirs, ours in PYTREC.items()}
    return Outcome(means, lambda: {o: {q: v[t] for q, v in results.items()} for t, o in PYTREC.items()}, seconds)


def ranx_text(truth: Path, run: Path) -> Outcome:
    from ranx import Qrels, Run, evaluate

    rankings = Run.from_file(str(run), kind="trec")
    means = evaluate(Qrels.from_file(str(truth), kind="trec"), rankings, MEASURES, make_comparable=True)
    values = {m: dict(rankings.scores[m]) for m in MEASURES}
    return Outcome({name: float(mean) for name, mean in means.items()}, lambda: values)


WORK: dict[str, Callable[..., Outcome]] = {
    work.__name__: work
    for work in (
        steelyard, steelyard_dicts, steelyard_prepared, steelyard_prepared_first, polars_stream, gunzip, unzstd,
        orjson_file, orjson_lines, pytrec_text, ranx_text,
    )
}  # fmt: skip


def main() -> None:
    words = sys.argv[1:]
    dump = Path(words.pop()) if "--dump" in words else None
    name, *files = (word for word in words if word != "--dump")
    outcome = WORK[name](*(DATA / file for file in files))
    if dump:
        dump.write_text(json.dumps(outcome.values()))
    print(json.dumps({"means": outcome.means, "seconds": outcome.seconds}))


if __name__ == "__main__":
    main()
