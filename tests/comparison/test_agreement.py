"""Agreement of raters: pairs by the plain functions, intervals, undefined values, the order of systems."""

import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.stats.labels.raters import auc, balanced_accuracy, cohen_kappa, krippendorff_alpha, spearman
from steelyard.stats.rankings import kendall_tau, tau_ap

RNG = np.random.default_rng(11)
TRUTH = RNG.integers(0, 4, 120)
NOISY = np.clip(TRUTH + RNG.integers(-1, 2, 120), 0, 3)
LOOSE = np.where(RNG.random(120) < 0.5, TRUTH, RNG.integers(0, 4, 120))
COLUMNS: dict[str, Any] = {
    "item": [f"i{n:03}" for n in range(120)],
    "question": [f"q{n // 6}" for n in range(120)],
    "human": TRUTH.tolist(),
    "noisy": NOISY.tolist(),
    "loose": [None if n % 10 == 0 else value for n, value in enumerate(LOOSE.tolist())],
}
TABLE = pl.DataFrame(COLUMNS)


@pytest.fixture(scope="module")
def against() -> sy.Agreement:
    return sy.agreement(TABLE, reference="human", min_gain=2, n_resamples=500)


def test_statistics_are_those_of_the_plain_functions(against: sy.Agreement) -> None:
    loose = next(pair for pair in against.pairs if pair.rater == "loose")
    both = [n for n in range(120) if n % 10]
    truth, judged = TRUTH[both], LOOSE[both]
    want = {
        "exact": np.mean(truth == judged),
        "kappa": cohen_kappa(truth, judged),
        "kappa_linear": cohen_kappa(truth, judged, "linear"),
        "kappa_quadratic": cohen_kappa(truth, judged, "quadratic"),
        "alpha_nominal": krippendorff_alpha([truth, judged]),
        "alpha_ordinal": krippendorff_alpha([truth, judged], "ordinal"),
        "alpha_interval": krippendorff_alpha([truth, judged], "interval"),
        "mean_difference": judged.mean() - truth.mean(),
        "spearman": spearman(truth, judged),
        "kendall": kendall_tau(truth, judged),
        "balanced_accuracy": balanced_accuracy(truth, judged),
        "binary_kappa": cohen_kappa(truth >= 2, judged >= 2),
        "binary_balanced_accuracy": balanced_accuracy(truth >= 2, judged >= 2),
        "auc": auc(judged, truth >= 2),
    }
    assert {name: estimate.value for name, estimate in loose.estimates.items()} == pytest.approx(want, abs=1e-12)
    assert (loose.n, loose.n_questions, int(loose.confusion.sum())) == (108, 20, 108)
    assert loose.confusion[2, 1] == np.sum((truth == 2) & (judged == 1))
    assert all(estimate.low < estimate.value < estimate.high for estimate in loose.estimates.values())


def test_all_raters_together_and_best_first(against: sy.Agreement) -> None:
    rows = [COLUMNS[name] for name in ("human", "noisy", "loose")]
    for scale, estimate in against.together.items():
        assert estimate.value == pytest.approx(krippendorff_alpha(rows, scale), abs=1e-12)
        assert estimate.low < estimate.value < estimate.high
    ranked = [pair.estimates["alpha_ordinal"].value for pair in against.pairs]
    assert ranked == sorted(ranked, reverse=True)
    assert [pair.rater for pair in against.pairs] == ["noisy", "loose"]
    assert (against.scale, against.headline) == ("ordinal", "alpha_ordinal")


def test_every_pair_without_a_reference() -> None:
    agreement = sy.agreement(TABLE, n_resamples=50)
    assert {(pair.rater, pair.against) for pair in agreement.pairs} == {
        ("human", "noisy"),
        ("human", "loose"),
        ("noisy", "loose"),
    }
    assert "balanced_accuracy" not in agreement.pairs[0].estimates
    frame = agreement.frame
    assert frame.filter(pl.col("rater") == "")["statistic"].to_list() == [
        "alpha_nominal",
        "alpha_ordinal",
        "alpha_interval",
    ]
    assert len(frame) == 3 + sum(len(pair.estimates) for pair in agreement.pairs)


def test_questions_are_resampled_and_not_items() -> None:
    """Copies of each item are no further evidence: with their question named, they leave the interval as it is."""
    copies = pl.concat([TABLE.with_columns(pl.col("item") + f"-{copy}", question="item") for copy in range(5)])
    wide, narrow, single = (
        sy.agreement(table, reference="human", question=question, n_resamples=4_000).pairs[0].estimates["kappa"]
        for table, question in ((copies, "question"), (copies.drop("question"), None), (TABLE.drop("question"), None))
    )
    assert wide.value == pytest.approx(single.value)
    assert wide.high - wide.low == pytest.approx(single.high - single.low, rel=0.05)
    assert narrow.high - narrow.low == pytest.approx((single.high - single.low) / math.sqrt(5), rel=0.1)


def test_words_have_no_order_until_it_is_named() -> None:
    words = {name: {str(n): "abc"[n * k % 3] for n in range(30)} for name, k in (("ann", 1), ("bob", 2))}
    plain = sy.agreement(words)
    assert plain.scale == "nominal"
    assert list(plain.pairs[0].estimates) == ["exact", "kappa", "alpha_nominal"]
    named = sy.agreement(words, categories="c,a,b", min_gain="a")
    assert named.scale == "ordinal"
    assert {"kappa_quadratic", "alpha_interval", "binary_kappa"} <= set(named.pairs[0].estimates)
    with pytest.raises(InputError, match="name all of them in order"):
        sy.agreement(words, measurement_level="interval")


def test_labels_of_others_lie_not_between_those_of_a_pair() -> None:
    """A third rater's 1 is no category of two who never say 1; where categories are named, it is one of theirs."""
    labels = {"a": [0, 2, 3, 3], "b": [0, 3, 3, 2], "c": [1, 1, 1, 1]}
    ratings = {rater: dict(enumerate(row)) for rater, row in labels.items()}
    for categories, want in ((None, None), ([0, 1, 2, 3], [0, 1, 2, 3])):
        pair = next(p for p in sy.agreement(ratings, categories=categories).pairs if {p.rater, p.against} == {"a", "b"})
        kappa = cohen_kappa(labels["a"], labels["b"], "quadratic", categories=want)
        assert pair.estimates["kappa_quadratic"].value == pytest.approx(kappa)


def test_what_is_undefined_is_nan_with_a_reason() -> None:
    equal = sy.agreement({"ann": dict.fromkeys("abcdefghijkl", 1), "bob": dict.fromkeys("abcdefghijkl", 1)})
    pair = equal.pairs[0]
    assert (pair.undefined, pair.estimates["exact"].value) == ("one_label", 1)
    assert math.isnan(pair.estimates["kappa"].value)
    assert math.isnan(equal.together["ordinal"].value)
    apart = sy.agreement({"ann": {"a": 1}, "bob": {"b": 1}}).pairs[0]
    assert (apart.n, apart.undefined) == (0, "no_items")
    tied = sy.agreement({"ann": {"a": 1, "b": 1}, "bob": {"a": 1, "b": 0}}).pairs[0]
    assert (tied.undefined, tied.estimates["kappa"].value) == ("one_rater_ties", 0)
    assert math.isnan(tied.estimates["spearman"].value)
    assert tied.no_interval == "few"


def test_scores_are_no_labels() -> None:
    """More than 50 values: no kappa, yet AUC and correlations, with intervals."""
    scores = RNG.random(120)
    data = {"human": dict(enumerate((TRUTH > 1).astype(int).tolist())), "score": dict(enumerate(scores.tolist()))}
    pair = sy.agreement(data, reference="human", min_gain=1, n_resamples=200).pairs[0]
    assert set(pair.estimates) == {"mean_difference", "spearman", "kendall", "auc"}
    estimate = pair.estimates["auc"]
    assert estimate.value == pytest.approx(auc(scores, TRUTH > 1))
    assert estimate.low < estimate.value < estimate.high


@pytest.fixture(scope="module")
def retrieval() -> tuple[dict[str, Any], dict[str, Any]]:
    """Grades of a truth, of a judge with noise and of one that grades at random; six runs of rising skill."""
    rng = np.random.default_rng(7)
    grades = {f"q{q}": {f"d{d}": int(rng.integers(0, 4)) for d in range(20)} for q in range(30)}

    def judged(noise: float) -> dict[str, dict[str, int]]:
        return {
            q: {d: int(rng.integers(0, 4)) if rng.random() < noise else gain for d, gain in row.items()}
            for q, row in grades.items()
        }

    runs = {
        f"s{s}": {q: {d: gain * s / 5 + rng.normal(0, 1.5) for d, gain in row.items()} for q, row in grades.items()}
        for s in range(6)
    }
    return {"truth": grades, "near": judged(0.2), "random": judged(1.0)}, runs


def test_order_of_systems_by_each_raters_grades(retrieval: tuple[dict[str, Any], dict[str, Any]]) -> None:
    labels, runs = retrieval
    systems = sy.agreement(labels, reference="truth", runs=runs, measure="ndcg@5", n_resamples=500).systems
    assert [row.rater for row in systems] == ["near", "random"]
    near, random = systems
    means = {name: sy.evaluate(labels[name], runs, "ndcg@5").means[:, 0] for name in labels}
    assert near.kendall == pytest.approx(kendall_tau(means["truth"], means["near"]))
    assert near.tau_ap == pytest.approx(tau_ap(means["truth"], means["near"]))
    assert near.means["s3"] == pytest.approx((means["near"][3], means["truth"][3]))
    assert near.kendall > random.kendall
    assert near.n_questions == 30


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reference": "humans"}, "no rater is called 'humans'; did you mean human?"),
        ({"measurement_level": "ratio"}, "no scale is called 'ratio'"),
        ({"measure": "map"}, "a measure (map) without runs"),
        ({"runs": {"s": {"q": ["d"]}}}, "name it: --reference"),
        (
            {"runs": {"s": {"q": ["d"]}}, "reference": "human"},
            "labels have to be numbers, on items that are a query_id",
        ),
        ({"min_gain": "good"}, "min_gain 'good' is no label; they are 0, 1, 2, 3"),
        ({"min_gain": 4}, "min_gain is 4, and labels go from 0 to 3; choose one above the lowest"),
        ({"min_gain": 0}, "min_gain is 0"),
        ({"categories": [7, 8]}, "labels: no label is one of the categories 7, 8; the first is"),
        ({"raters": "human"}, "one rater alone (human)"),
        ({"n_resamples": 0}, "n_resamples is 0, expected at least 1"),
        ({"level": 95}, "level is 95"),
        ({"seed": -1}, "seed must be a whole number"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refusal:
        sy.agreement(TABLE, **options)
    assert message in str(refusal.value)


def test_two_runs_have_no_order_to_speak_of(retrieval: tuple[dict[str, Any], dict[str, Any]]) -> None:
    labels, runs = retrieval
    with pytest.raises(InputError, match="2 runs; the order of systems takes 3 or more"):
        sy.agreement(labels, reference="truth", runs={name: runs[name] for name in ("s0", "s1")})
