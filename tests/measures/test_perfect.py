import math

import numpy as np
import pytest
from hypothesis import given

import steelyard as sy
from steelyard.measures import Measure, make, parse
from steelyard.measures.perfect import has_maximum, perfect_values
from tests.hypothesis_profiles import examples
from tests.measures.random_collections import Collection, collections, some_specs

TRUTH = {"q1": {"a": 3, "b": 1, "c": 0, "d": -1}, "q2": {"e": 2}, "q3": {"f": 0}}
DCG = 3 + 1 / math.log2(3)


@pytest.mark.parametrize(
    ("name", "want"),
    [
        ("precision@5", [0.4, 0.2, 0.0]), ("precision", [1.0, 1.0, 0.0]), ("precision(min_gain=2)@1", [1.0, 1.0, 0.0]),
        ("recall@1", [0.5, 1.0, 0.0]), ("recall", [1.0, 1.0, 0.0]), ("map@1", [0.5, 1.0, 0.0]), ("mrr", [1, 1, 0]),
        ("f1@5", [2 * 0.4 / 1.4, 2 * 0.2 / 1.2, 0.0]), ("hit_rate@1", [1, 1, 0]), ("rbp(p=0.5)", [0.75, 0.5, 0.0]),
        ("dcg", [DCG, 2.0, 0.0]), ("dcg@1", [3.0, 2.0, 0.0]), ("dcg(gain=exp)@1", [7.0, 3.0, 0.0]),
        ("ndcg@5", [1.0, 1.0, 0.0]), ("recall_cap@1", [1.0, 1.0, 0.0]), ("r_precision", [1.0, 1.0, 0.0]),
        ("rbp(p=0.5,gain=linear)", [0.5 + 0.25 / 3, 0.5, 0.0]), ("rbp(p=0.5,gain={2:4})", [0.375 + 0.0625, 0.5, 0.0]),
        ("yaap", [math.log(3), math.log(2), 0.0]), ("bpref", [1.0, 1.0, 0.0]),
        ("err(max_gain=3)@1", [7 / 8, 3 / 8, 0.0]),
    ],
)  # fmt: skip
def test_by_hand(name: str, want: list[float]) -> None:
    alignment = sy.weigh(TRUTH, {"q1": ["c", "x"], "q2": ["x"]}).alignments[0]
    assert perfect_values(parse(name), alignment).tolist() == pytest.approx(want, abs=1e-12)


def test_a_gain_map_decides_which_order_is_best() -> None:
    alignment = sy.weigh(TRUTH, {"q1": ["c"]}).alignments[0]
    swapped = make("dcg", 2, {"gain": {0: 5, 1: 9, 3: 1}})
    assert perfect_values(swapped, alignment)[0] == 9 + 5 / math.log2(3)


@pytest.mark.parametrize(
    "name", ["n_retrieved", "n_relevant", "judged@5", "unjudged@5", "rbp_residual", "span_recall@5",
             "evidence_recall@5", "recall(scope=retrieved)@5"],
)  # fmt: skip
def test_of_what_the_truth_does_not_bound_nothing_is_known(name: str) -> None:
    alignment = sy.weigh(TRUTH, {"q1": ["c"]}).alignments[0]
    assert not has_maximum(parse(name))
    assert np.isnan(perfect_values(parse(name), alignment)).all()


@examples(200)
@given(collections(), some_specs())
def test_no_ranking_has_more_than_a_perfect_one(collection: Collection, specs: list[Measure]) -> None:
    alignment = sy.weigh(collection.truth, collection.run).alignments[0]
    for spec in filter(has_maximum, specs):
        perfect = perfect_values(spec, alignment)
        try:
            values = spec(alignment)
        except sy.MeasureError:
            continue
        assert (values <= perfect + 1e-9 * np.maximum(1.0, np.abs(perfect))).all(), spec
