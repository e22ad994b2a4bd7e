"""Other people's programs as oracles: pytrec_eval, scikit-learn, and recorded output of pytrec_eval and gdeval."""

import csv
import functools
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from tests.hypothesis_profiles import examples
from tests.measures.random_collections import DOCS, Collection, collections

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is an oracle for tests only")
sklearn_metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is an oracle for tests only")

FUZZ = Path(__file__).resolve().parents[3] / "shared" / "data" / "ir-fuzz"
needs_fuzz = pytest.mark.skipif(not FUZZ.is_dir(), reason=f"{FUZZ} is absent: it is kept beside the repository")

CUTOFFS = (1, 2, 3, 5, 10, 20)
LEVELS = tuple(i / 10 for i in range(11))
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)

# pytrec_eval's name of a family -> its names of the members; ours are what `sy.parse` makes of these.
FAMILIES = {
    name: [f"{name}_{k}" for k in CUTOFFS] for name in ("P", "recall", "relative_P", "success", "map_cut", "ndcg_cut")
}
FAMILIES |= {"Rprec_mult": [f"Rprec_mult_{multiple:.2f}" for multiple in MULTIPLES]}
ROUNDED_AS_IN_9 = {"iprec_at_recall", "11pt_avg"}
# What it says beyond measures: identifiers, a picture of the list, and how many queries there are.
NO_MEASURE = {"runid", "relstring", "num_q"}
GRADED = {"ndcg", "ndcg_cut", "ndcg_rel", "G"}
SINGLE = sorted(pytrec_eval.supported_measures - FAMILIES.keys() - ROUNDED_AS_IN_9 - NO_MEASURE)


def requests() -> set[str]:
    families = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in FAMILIES if name != "Rprec_mult"}
    return families | set(SINGLE) | {"Rprec_mult", "iprec_at_recall", "11pt_avg"}


def members() -> list[str]:
    return [*SINGLE, *(member for names in FAMILIES.values() for member in names)]


def ours(name: str, level: int = 1, **more: Any) -> sy.Measure:
    """Our measure behind a name of theirs; graded measures know no level."""
    return sy.parse(name).with_default(min_gain=float(level), **more)


def scale(name: str, value: float) -> float:
    """trec_eval keeps the logarithm of what enters a geometric mean, not below that of 0.00001."""
    return math.log(max(value, 1e-5)) if name in ("gm_map", "gm_bpref") else value


@examples(300)
@given(collections((-1.0, 0.0, 1.0, 2.0, 3.0, 4.0), min_size=1), st.sampled_from([1, 2, 3]), st.booleans())
def test_pytrec_eval(collection: Collection, level: int, judged_only: bool) -> None:
    # pytrec_eval hangs where a query has negative labels only, and divides by 0 where a list is empty.
    labels = {
        query: {doc: int(gain) for doc, gain in gains.items()} | {"label zero": 0}
        for query, gains in collection.truth.items()
    }
    run = {query: {**scores, "label zero": -9.0} for query, scores in collection.run.items()}
    oracle = pytrec_eval.RelevanceEvaluator(
        labels, requests(), relevance_level=level, judged_docs_only_flag=judged_only
    ).evaluate(run)
    specs = [ours(name, level, **({"pool": "judged"} if judged_only else {})) for name in members()]
    scores = sy.evaluate(labels, run, specs)
    for name, spec in zip(members(), specs, strict=True):
        for i, query in enumerate(scores.query_ids):
            value = scores.values[0, scores.measures.index(spec), i]
            got = scale(name, 0.0 if spec in scores.without_gold else value)  # Without gold the oracle says 0.
            want = oracle[query][name] if query in oracle else scale(name, 0.0)
            if name != "num_rel" or query in oracle:
                assert got == pytest.approx(want, rel=1e-9, abs=1e-9), f"{name} -> {spec}, query {query}"


def test_every_measure_of_pytrec_eval_is_held_against_ours() -> None:
    for name in [*members(), *(f"iprec_at_recall_{level:.2f}" for level in LEVELS), "11pt_avg"]:
        sy.parse(name)


def test_pytrec_eval_rounds_recall_levels_as_trec_eval_9_did() -> None:
    """Where it is wrong: version 10 calls 1.2 documents 1 (lround), version 9 and pytrec_eval call them 2 (+ 0.9).

    One list tells them apart: of three relevant documents only the first is retrieved, so recall stops at 1/3. Asked
    for the precision at recall 0.4, 9 says 0 (2 of 3 are not there), 10 says 1 (1 of 3 is near enough).
    """
    labels, run = {"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 1.0}}
    found = pytrec_eval.RelevanceEvaluator(labels, {"iprec_at_recall"}).evaluate(run)["q"]
    for level in LEVELS:
        theirs, own = found[f"iprec_at_recall_{level:.2f}"], sy.plain.score(f"iprec@{level}", ["a"], labels["q"])
        assert theirs == (int(level * 3 + 0.9) <= 1)
        assert own == (math.floor(level * 3 + 0.5) <= 1)


@examples(100)
@given(collections((0.0, 1.0), min_size=1))
def test_interpolated_precision_where_the_versions_agree(collection: Collection) -> None:
    """With ten relevant documents every level is a whole number of them, and no rounding is needed."""
    relevant = {f"r{i}": 1 for i in range(10)}
    labels = {query: relevant | dict.fromkeys(gains, 0) for query, gains in collection.truth.items()}
    run = {
        query: scores | {f"r{i * 2}": 0.125 * i for i in range(len(scores) // 2)}
        for query, scores in collection.run.items()
    }
    found = pytrec_eval.RelevanceEvaluator(labels, {"iprec_at_recall", "11pt_avg"}).evaluate(run)
    names = ["11pt_avg", *(f"iprec_at_recall_{level:.2f}" for level in LEVELS)]
    scores = sy.evaluate(labels, run, names)
    for i, query in enumerate(scores.query_ids):
        if query in found:
            assert scores.values[0, :, i].tolist() == pytest.approx([found[query][name] for name in names], abs=1e-9)


# scikit-learn --------------------------------------------------------------------------------------------------------


@st.composite
def complete_lists(draw: st.DrawFn) -> tuple[list[str], list[int]]:
    """Ids, best first, and the label of each: scikit-learn knows no document outside of the list."""
    docs = draw(st.permutations(DOCS))
    return list(docs), draw(st.lists(st.integers(0, 4), min_size=len(docs), max_size=len(docs)))


@examples(100)
@given(complete_lists(), st.one_of(st.none(), st.integers(1, 14)))
def test_scikit_learn_ndcg(listed: tuple[list[str], list[int]], k: int | None) -> None:
    docs, labels = listed
    falling = [list(range(len(docs), 0, -1))]
    truth, cut = dict(zip(docs, labels, strict=True)), "" if k is None else f"@{k}"
    exponential = [[2**label - 1 for label in labels]]
    for gain, y_true in (("linear", [labels]), ("exp", exponential)):
        for name, theirs in (("ndcg", sklearn_metrics.ndcg_score), ("dcg", sklearn_metrics.dcg_score)):
            want = theirs(y_true, falling, k=k, ignore_ties=True)
            assert sy.plain.score(f"{name}(gain={gain}){cut}", docs, truth) == pytest.approx(want, rel=1e-12, abs=1e-12)


@examples(100)
@given(complete_lists().filter(lambda listed: max(listed[1]) >= 2), st.sampled_from([1, 2]))
def test_scikit_learn_average_precision(listed: tuple[list[str], list[int]], min_gain: int) -> None:
    docs, labels = listed
    want = sklearn_metrics.average_precision_score(np.array(labels) >= min_gain, range(len(docs), 0, -1))
    truth = dict(zip(docs, labels, strict=True))
    assert sy.plain.score(f"map(min_gain={min_gain})", docs, truth) == pytest.approx(want, rel=1e-12)


def test_scikit_learn_averages_over_ties() -> None:
    """Where it differs by design: equal scores share their discounts; ours stand in canonical order (b before a)."""
    tied = sklearn_metrics.ndcg_score([[1, 0]], [[5.0, 5.0]])
    assert tied == pytest.approx((1 + 1 / math.log2(3)) / 2)
    value = sy.evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 5.0, "b": 5.0}}, "ndcg").values.item()
    assert value == pytest.approx(1 / math.log2(3))


# Recorded output -----------------------------------------------------------------------------------------------------


def rows(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield line.split()


@functools.cache
def fuzz() -> tuple[Mapping[str, Mapping[str, float]], Mapping[str, Mapping[str, float]]]:
    """Truth and run of the fuzz collection, read here so that the readers of src are not in the way."""
    truth: dict[str, dict[str, float]] = {}
    run: dict[str, dict[str, float]] = {}
    for query, _, doc, gain in rows(FUZZ / "fuzz.qrels"):
        truth.setdefault(query, {})[doc] = float(gain)
    for query, _, doc, _, score, _ in rows(FUZZ / "fuzz.run"):
        run.setdefault(query, {})[doc] = float(score)
    return truth, run


@needs_fuzz
@pytest.mark.parametrize(
    ("recording", "level", "pool"), [("level1", 1, "all"), ("level2", 2, "all"), ("judged_only", 1, "judged")]
)
def test_recorded_pytrec_eval(recording: str, level: int, pool: str) -> None:
    truth, run = fuzz()
    recorded = json.loads((FUZZ / f"pytrec_eval-0.5.11.{recording}.json").read_text("utf-8"))
    names = [name for name in next(iter(recorded.values())) if not name.startswith(tuple(ROUNDED_AS_IN_9))]
    specs = [ours(name, level, pool=pool) for name in names]
    scores = sy.evaluate(truth, run, specs)
    place = {query: i for i, query in enumerate(scores.query_ids)}
    assert len(recorded) > 280
    for name, spec in zip(names, specs, strict=True):
        got = scores.values[0, scores.measures.index(spec)]
        for query, values in recorded.items():
            assert scale(name, got[place[query]]) == pytest.approx(values[name], rel=1e-9, abs=1e-9), f"{name} {query}"


@needs_fuzz
@pytest.mark.parametrize(
    ("recording", "options"), [("all_trec", {}), ("l2.official", {"level": 2}), ("J.official", {"pool": "judged"})]
)
def test_recorded_trec_eval_10(recording: str, options: dict[str, Any]) -> None:
    truth, run = fuzz()
    recorded = [row for row in rows(FUZZ / f"trec_eval-v10.0.q.c.{recording}.txt") if len(row) == 3]
    # Its rbp and rbp_resid have other defaults; what it prints of them is compared elsewhere. The rest are no measures.
    measures = [row for row in recorded if row[1] != "all" and not unknown_here(row[0])]
    specs = {name: ours(name, **options) for name in {row[0] for row in measures}}
    scores = sy.evaluate(truth, run, list(specs.values()))
    place = {query: i for i, query in enumerate(scores.query_ids)}
    column = {name: scores.measures.index(spec) for name, spec in specs.items()}
    assert len(measures) > 5000
    for name, query, printed in measures:
        if printed == "-nan":  # trec_eval divides by the length of a list that -J has emptied; we say 0
            assert not any(truth[query].get(doc, -1) >= 0 for doc in run.get(query, {}))
            printed = "0.0000"
        got = scale(name, scores.values[0, column[name], place[query]])
        digits = len(printed.partition(".")[2])
        assert abs(got - float(printed)) <= 0.5 * 10**-digits + 1e-9, f"{name} {query}: {got}, not {printed}"


def unknown_here(name: str) -> bool:
    return name.startswith(("rbp", "prefs", "num_q", "runid", "relstring"))


@needs_fuzz
@pytest.mark.parametrize(("column", "measure"), [("ndcg@10", "ndcg(gain=exp)@10"), ("err@10", "err@10")])
def test_recorded_gdeval(column: str, measure: str) -> None:
    truth, run = fuzz()
    with (FUZZ / "gdeval.k10.csv").open(encoding="utf-8") as lines:
        recorded = {row["topic"]: row[column] for row in csv.DictReader(lines) if row["topic"] in truth}
    scores = sy.evaluate(truth, run, measure)
    got = dict(zip(scores.query_ids, scores.values[0, 0].tolist(), strict=True))
    assert len(recorded) > 200
    assert {query: f"{got[query]:.5f}" for query in recorded} == recorded
