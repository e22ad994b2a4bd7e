"""How far means move with labels and ties: properties, and lists small enough to work out."""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align.rankings import align
from steelyard.comparison.sensitivity import (
    Sensitivity,
    count_overlapping,
    highest_overlapping,
    moved_by_ties,
    overlapping,
    sensitivity,
)
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.measures import Alignment, Measure, make, parse, parse_all
from steelyard.measures.alignment import Evidence
from tests.hypothesis_profiles import examples
from tests.measures import naive
from tests.measures.random_collections import Collection, collections, without_evidence
from tests.measures.test_ties import AVERAGED, averaged
from tests.shared_data import shared

PER_VALUE = ("mean", "low", "high", "judged", "tie_mass", "tie_low", "tie_high")
TRUTH = {"q": {"a": 2.0, "b": 1.0, "c": 0.0}, "r": {"a": 1.0}}


def one(run: dict[str, dict[str, float]], measure: str) -> dict[str, float]:
    """Everything that is said of one run and one measure."""
    found = sensitivity(["s"], [align(Truth(TRUTH), Run(run)).alignment], [parse(measure)])
    return {name: float(getattr(found, name)[0, 0]) for name in PER_VALUE}


def test_labels_worked_by_hand() -> None:
    # q: x is unjudged at rank 1, a relevant at rank 2; r: nothing unjudged.
    run = {"q": {"x": 3.0, "a": 2.0, "c": 1.0, "y": 0.5}, "r": {"a": 1.0}}
    got = one(run, "precision@2")
    assert (got["mean"], got["low"], got["high"]) == (0.5, 0.5, 0.75)
    assert got["judged"] == 0.75
    assert one(run, "recall@2")["high"] == pytest.approx((2 / 3 + 1) / 2)
    assert one(run, "mrr@1")["low"] == 0.5
    assert one(run, "mrr@1")["high"] == 1.0
    plain, best = 2 / math.log2(3) / (2 + 1 / math.log2(3)), (2 + 2 / math.log2(3)) / (2 + 2 / math.log2(3))
    assert one(run, "ndcg@2")["low"] == pytest.approx((plain + 1) / 2)
    assert one(run, "ndcg@2")["high"] == pytest.approx((best + 1) / 2)


def test_a_gain_map_says_which_label_is_the_best() -> None:
    run = {"q": {"x": 3.0, "b": 2.0}, "r": {"a": 1.0}}
    got = one(run, "dcg(gain={1:5,2:1})@2")
    assert got["high"] == pytest.approx((5 + 5 / math.log2(3) + 5) / 2)


def test_ties_worked_by_hand() -> None:
    run = {"q": {"x": 3.0, "a": 1.0, "b": 1.0, "c": 1.0}, "r": {"a": 1.0, "x": 1.0}}
    got = one(run, "precision@2")
    assert got["tie_mass"] == (0.5 + 1) / 2
    assert (got["tie_low"], got["tie_high"]) == ((0 + 0.5) / 2, (0.5 + 0.5) / 2)
    whole = one(run, "map")
    assert whole["tie_mass"] == (0.75 + 1) / 2
    assert whole["tie_low"] == pytest.approx(((1 / 3 + 2 / 4) / 2 + 1 / 2) / 2)
    assert whole["tie_high"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1) / 2)


def test_no_ties_and_all_judged() -> None:
    got = one({"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 1.0}}, "ndcg@10")
    assert got == dict.fromkeys(PER_VALUE, 1.0) | {"tie_mass": 0.0}


def test_an_empty_list_has_no_ties() -> None:
    got = one({"q": {}, "r": {"x": 1.0, "y": 1.0}}, "precision@10")
    assert (got["tie_mass"], got["judged"], got["mean"]) == (0.5, 0.0, 0.0)


def test_a_whole_list_counts_down_to_rank_1000() -> None:
    run = {"q": {f"d{i:04d}": float(-max(i, 900)) for i in range(3000)}, "r": {"a": 1.0}}
    assert one(run, "map")["tie_mass"] == pytest.approx((901 / 1000 + 0) / 2)
    assert one(run, "precision@2000")["tie_mass"] == pytest.approx((901 / 1000 + 0) / 2)


@examples(40)
@given(collections(), st.sampled_from([None, 1, 3, 10]))
def test_the_plain_mean_is_one_of_the_ends(collection: Collection, k: int | None) -> None:
    specs = [make(d.name, {"k": k, "recall": 0.5, None: None}[d.cutoff]) for d in without_evidence()]
    scores = sy.evaluate(collection.truth, collection.run, specs)
    a = align(Truth(collection.truth), Run(collection.run)).alignment
    s = sensitivity(["s"], [a], specs)
    measured = ~np.isnan(scores.means)  # Without gold nothing is measured.
    assert s.mean[measured] == pytest.approx(scores.means[measured], rel=1e-14)
    known = ~np.isnan(s.low)
    assert ((s.low == s.mean) | (s.high == s.mean))[known].all()
    assert (s.low <= s.high)[known].all()
    assert (s.tie_low <= s.tie_high).all()
    there = a.n_retrieved > 0  # An absent list has nothing that could lack a label.
    judged = [[np.mean(scores.judged[0, j, there]) if there.any() else 0.0 for j in range(len(specs))]]
    assert s.judged == pytest.approx(np.array(judged))


@examples(100)
@given(collections(), st.lists(averaged(), min_size=1, max_size=5), st.sampled_from([1, 2, 5, 10]))
def test_what_lies_between_the_ends(collection: Collection, specs: list[Measure], k: int) -> None:
    a = align(Truth(collection.truth), Run(collection.run)).alignment
    s = sensitivity(["s"], [a], specs)
    assert (s.tie_low - 1e-12 <= s.mean).all()
    assert (s.mean <= s.tie_high + 1e-12).all()
    binary = [make(name, k) for name in ("precision", "recall", "hit_rate", "mrr")]
    s = sensitivity(["s"], [a], binary)
    assert s.low.tobytes() == s.mean.tobytes()


@examples(100)
@given(collections(), st.sampled_from([None, 1, 2, 3, 10]))
def test_tie_mass_of_a_naive_count(collection: Collection, k: int | None) -> None:
    a = align(Truth(collection.truth), Run(collection.run)).alignment
    shares = []
    for query in collection.truth:
        scores = collection.run.get(query, {})
        seen = naive.top(naive.canonical(scores), k)
        tied = [doc for doc in seen if list(scores.values()).count(scores[doc]) > 1]
        shares.append(len(tied) / len(seen) if seen else 0.0)
    got = sensitivity(["s"], [a], [make("precision", k)]).tie_mass.item()
    assert got == pytest.approx(sum(shares) / len(shares))


def test_queries_that_are_left_out() -> None:
    run = {"q": {"x": 3.0, "a": 2.0}}
    scores = sy.evaluate(TRUTH, run, ["precision@2", "gm_map"], missing="skip")
    a = align(Truth(TRUTH), Run(run)).alignment
    s = sensitivity(["run"], [a], scores.measures, counted=~np.isnan(scores.values))
    assert s.mean == pytest.approx(scores.means, rel=1e-14)
    assert (s.low[0, 0], s.high[0, 0], s.judged[0, 0]) == (0.5, 1.0, 0.5)
    nothing = sensitivity(["run"], [a], scores.measures, counted=np.zeros((1, 2, 2), bool))
    assert np.isnan(nothing.mean).all()
    assert np.isnan(nothing.tie_mass).all()


# Evidence ------------------------------------------------------------------------------------------------------------


def with_evidence(pieces_at: int) -> Alignment:
    a = align(Truth({"q": {"c2": 1, "c3": 1}}), Run({"q": {"c1": 1.0, "c2": 1.0, "c3": 0.5}})).alignment
    pieces = align(Truth({"q": {f"p{pieces_at}": 1}}), Run({"q": {f"p{i}": float(-i) for i in range(1, 5)}})).alignment
    return replace(a, evidence=Evidence(pieces, pieces, pieces, pieces, np.ones(1, bool), np.zeros(1, int)))


def test_evidence_has_nothing_unjudged_and_no_orders_of_pieces() -> None:
    specs = parse_all("precision@1, recall@1, mrr, bpref, span_recall, evidence_recall, precision(pool=judged)@1")
    s = sensitivity(["s"], [with_evidence(1)], specs)
    by_name = dict(zip(map(str, specs), zip(*(getattr(s, name)[0] for name in PER_VALUE), strict=True), strict=True))
    assert by_name["precision@1"] == (1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0)
    assert by_name["mrr"][5:] == (0.5, 1.0)
    for name in ("recall@1", "span_recall", "evidence_recall"):
        assert by_name[name][1] == by_name[name][2] == by_name[name][0]
        assert np.isnan(by_name[name][5:]).all(), name
    assert np.isnan(by_name["bpref"]).sum() == 5
    assert np.isnan(by_name["precision(pool=judged)@1"][:3]).all()
    settled = sensitivity(["s"], [replace(with_evidence(1), ties=None)], specs[:3])
    assert settled.tie_low.tobytes() == settled.tie_high.tobytes() == settled.mean.tobytes()


# Who is named --------------------------------------------------------------------------------------------------------


def made(mean: list[float], low: list[float], high: list[float], ties: list[tuple[float, float]]) -> Sensitivity:
    columns = [np.array(column, float)[:, None] for column in (mean, low, high)]
    ones = np.ones_like(columns[0])
    worst, best = np.array(ties, float).T[:, :, None]
    return Sensitivity([f"s{i}" for i in range(len(mean))], [parse("ndcg@10")], *columns, ones, ones, worst, best)


def test_overlapping_pairs() -> None:
    nan, still = math.nan, [(0.0, 0.0)] * 6
    s = made([0.5, 0.6, 0.6, 0.9, 0.7, nan], [0.5, 0.6, 0.6, 0.9, 0.7, nan], [0.65, 0.6, 0.8, 0.9, 0.7, nan], still)
    assert overlapping(s, 0) == [("s0", "s1"), ("s0", "s2"), ("s2", "s4")]


@given(st.lists(st.tuples(*[st.sampled_from([0.1, 0.2, 0.3, 0.5, math.nan])] * 3), max_size=12))
def test_pairs_are_counted_and_the_highest_is_named_without_a_list_of_them(rows: list[tuple[float, ...]]) -> None:
    mean, low, high = ([row[i] for row in rows] for i in range(3))
    low, high = (
        [min(a, b) for a, b in zip(mean, low, strict=True)],
        [max(a, b) for a, b in zip(mean, high, strict=True)],
    )
    s = made(mean, low, high, [(0.0, 0.0)] * len(rows)) if rows else made([math.nan], [0], [0], [(0.0, 0.0)])
    place = {system: i for i, system in enumerate(s.systems)}
    pairs = [sorted(pair, key=lambda system: -s.mean[place[system], 0]) for pair in overlapping(s, 0)]
    assert count_overlapping(s, 0) == len(pairs)
    highest = max(pairs, key=lambda pair: [s.mean[place[system], 0] for system in pair], default=None)
    assert highest_overlapping(s, 0) == (None if highest is None else tuple(highest))


def test_systems_are_measured_together_as_one_by_one() -> None:
    """Among them one whose labels a measure refuses."""
    rng = np.random.default_rng(5)
    truth = Truth({f"q{q}": {f"d{d}": float(d % 4) for d in range(0, 12, 2)} for q in range(4)})
    runs = [
        Run({f"q{q}": {f"d{d}": float(rng.integers(3)) for d in rng.permutation(14)[:9]} for q in range(4 - i % 2)})
        for i in range(9)
    ]
    alignments = [align(truth, run).alignment for run in runs]
    measures = parse_all("ndcg@10,map,gm_map,mrr(ties=average)@3,err(max_gain=1)@5,judged@5")
    together = sensitivity([str(i) for i in range(9)], alignments, measures)
    alone = [sensitivity([str(i)], [a], measures) for i, a in enumerate(alignments)]
    for name in PER_VALUE:
        each = np.concatenate([getattr(one, name) for one in alone])
        assert np.array_equal(getattr(together, name), each, equal_nan=True)


def test_moved_by_ties() -> None:
    s = made([0.5] * 4, [0.5] * 4, [0.5] * 4, [(0.5, 0.5), (0.49, 0.505), (0.5, 0.505), (math.nan, math.nan)])
    assert moved_by_ties(s, 0) == ["s1"]
    assert moved_by_ties(s, 0, least=0.001) == ["s1", "s2"]


def test_real_runs() -> None:
    """43 judged questions, 37 systems: quick, and ties=average lies between the orders."""
    folder = shared("trec_dl2019_passage")
    truth = Truth.read(folder / "qrels.dl19-passage.txt.gz")
    runs = [StreamedRun(path) for path in sorted((folder / "runs_judged43_top100").iterdir())]
    alignments = [align(truth, run).alignment for run in runs]
    names = [run.name for run in runs]
    started = time.process_time()
    s = sensitivity(names, alignments, parse_all("ndcg@10"))
    assert time.process_time() - started < 1.0
    assert len(names) == 37
    assert moved_by_ties(s, 0) == []
    assert overlapping(s, 0) == []
    assert s.judged.min() >= 0.99
    assert s.tie_mass.max() == pytest.approx(0.0721, abs=1e-4)
    for name in AVERAGED:
        spec = make(name, 10, {"ties": "average"})
        s = sensitivity(names, alignments, [spec])
        assert (s.tie_low - 1e-12 <= s.mean).all()
        assert (s.mean <= s.tie_high + 1e-12).all()
