"""ties=average: the mean over all orders of tied documents, each of which a naive loop tries out."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align.rankings import align as align_run
from steelyard.data.run import Run
from steelyard.data.truth import Truth
from steelyard.measures import Alignment, Measure, make, parse
from steelyard.measures.alignment import Evidence
from steelyard.measures.registry import definitions
from tests.hypothesis_profiles import examples
from tests.measures import naive
from tests.measures.random_collections import GAINS

AVERAGED = ("precision", "recall", "f", "f1", "hit_rate", "mrr", "map", "map_cap", "ndcg")
DOCS = ("a", "b", "c", "d", "é", "中文")
GAIN_MAPS = ("linear", "exp", ((1.0, 3.5), (2.0, 9.0)), ((-1.0, 0.5), (3.0, -1.0), (4.0, 1.0)))


def orders(scores: Mapping[str, float]) -> Iterator[list[str]]:
    """Every order in which the documents of one score may stand."""
    levels = sorted(set(scores.values()), reverse=True)
    blocks = [[doc for doc, score in scores.items() if score == level] for level in levels]
    for chosen in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [doc for block in chosen for doc in block]


def mean_over_orders(spec: Measure, scores: Mapping[str, float], gains: Mapping[str, float]) -> float:
    params = {key: dict(value) if isinstance(value, tuple) else value for key, value in spec.params if key != "ties"}
    values = [naive.evaluate(spec.name, ranked, gains, k=spec.k, **params) for ranked in orders(scores)]
    return math.fsum(values) / len(values)


def align(scores: Mapping[str, Mapping[str, float]], gains: Mapping[str, Mapping[str, float]]) -> Alignment:
    return align_run(Truth(gains), Run(scores)).alignment


@st.composite
def averaged(draw: st.DrawFn) -> Measure:
    name = draw(st.sampled_from(AVERAGED))
    choices: dict[str, st.SearchStrategy[object]] = {
        "min_gain": st.sampled_from([0.0, 0.5, 1.0, 2.0]),
        "beta": st.sampled_from([0.5, 2.0]),
        "gain": st.sampled_from(GAIN_MAPS),
        "ideal": st.sampled_from(["judged", "retrieved"]),
        "pool": st.sampled_from(["all", "judged"]),
        "scope": st.sampled_from(["truth", "retrieved"]),
    }
    known = next(d for d in definitions() if d.name == name).parameters
    params = {key: draw(values) for key, values in choices.items() if key in known and draw(st.booleans())}
    return make(name, draw(st.sampled_from([None, 1, 2, 3, 4, 5, 6, 9])), {**params, "ties": "average"})  # type: ignore[dict-item]


scored = st.dictionaries(st.sampled_from(DOCS), st.integers(0, 2).map(float), min_size=1)
labelled = st.dictionaries(st.sampled_from(DOCS), st.sampled_from(GAINS))


def test_the_parameter_belongs_to_the_measures_that_say_so() -> None:
    assert {d.name for d in definitions() if "ties" in d.parameters} == set(AVERAGED)


@examples(200)
@given(st.lists(st.tuples(scored, labelled), min_size=1, max_size=3), st.lists(averaged(), min_size=3, max_size=6))
def test_it_is_the_mean_over_all_orders(
    queries: list[tuple[dict[str, float], dict[str, float]]], specs: list[Measure]
) -> None:
    run = {f"q{i}": scores for i, (scores, _) in enumerate(queries)}
    truth = {f"q{i}": gains for i, (_, gains) in enumerate(queries)}
    a = align(run, truth)
    for spec in specs:
        want = [mean_over_orders(spec, scores, gains) for scores, gains in queries]
        assert spec(a) == pytest.approx(want, rel=1e-12, abs=1e-12), str(spec)


@pytest.mark.parametrize(
    ("measure", "want"),
    [
        # d1 stands alone; a, b, c, d tie at ranks 2 to 5; of them a and b are relevant, and so is z, never retrieved.
        ("precision(ties=average)@3", 2 * (2 / 4) / 3),
        ("recall(ties=average)@3", 2 * (2 / 4) / 3),
        ("f1(ties=average)@3", 2 * 1 / (3 + 3)),
        ("hit_rate(ties=average)@1", 0.0),
        ("hit_rate(ties=average)@3", 1 - (2 / 4) * (1 / 3)),
        ("mrr(ties=average)@3", (3 / 6) / 2 + (2 / 6) / 3),
        ("mrr(ties=average)", (3 / 6) / 2 + (2 / 6) / 3 + (1 / 6) / 4),
        ("map(ties=average)@2", (2 / 4) * (1 / 2) / 3),
        ("ndcg(ties=average)@2", (2 / 4) / math.log2(3) / (1 + 1 / math.log2(3))),
    ],
)
def test_worked_by_hand(measure: str, want: float) -> None:
    scores = {"d1": 2.0, "a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}
    assert parse(measure)(align({"q": scores}, {"q": {"a": 1, "b": 1, "c": 0, "z": 1}})).tolist() == [
        pytest.approx(want, abs=1e-15)
    ]


@examples(100)
@given(labelled, st.permutations(DOCS), averaged())
def test_without_ties_nothing_changes_by_a_bit(gains: dict[str, float], docs: list[str], spec: Measure) -> None:
    plain = make(spec.name, spec.k, {key: value for key, value in spec.params if key != "ties"})
    run = {doc: float(-i) for i, doc in enumerate(docs)}
    a = align({"p": {"x": 1.0, "y": 1.0, "a": 1.0}, "q": run}, {"p": {"y": 1.0, "a": 2.0}, "q": gains})
    assert spec(a)[1] == plain(a)[1]
    alone = align({"q": run}, {"q": gains})
    assert alone.ties is None
    assert spec(alone).tobytes() == plain(alone).tobytes()


@examples(100)
@given(scored, labelled, st.permutations(DOCS), averaged())
def test_names_of_tied_documents_do_not_matter(
    scores: dict[str, float], gains: dict[str, float], names: list[str], spec: Measure
) -> None:
    renamed = dict(zip(DOCS, names, strict=True))
    other = {renamed[doc]: score for doc, score in scores.items()}
    labels = {renamed[doc]: gain for doc, gain in gains.items()}
    value, again = spec(align({"q": scores}, {"q": gains})), spec(align({"q": other}, {"q": labels}))
    assert again == pytest.approx(value, rel=1e-12, abs=1e-12)


@examples(50)
@given(st.integers(2, 700), st.integers(1, 40), st.integers(0, 30), st.none() | st.integers(1, 800), st.data())
def test_large_blocks_equal_the_sums_over_places(
    size: int, n_relevant: int, above: int, k: int | None, data: st.DataObject
) -> None:
    """Sums over places with probabilities from binomial coefficients, for blocks that cannot be enumerated."""
    n_relevant = min(n_relevant, size)
    good_above = data.draw(st.integers(0, above))
    scores = {f"u{i:03d}": 1000.0 - i for i in range(above)} | {f"t{i:04d}": 0.0 for i in range(size)}
    relevant = [f"u{i:03d}" for i in range(good_above)] + [f"t{i:04d}" for i in range(n_relevant)]
    a = align({"q": scores}, {"q": relevant})
    last = above + size if k is None else min(k, above + size)
    inside = range(max(last - above, 0))
    ways = math.comb(size, n_relevant)
    first_at = [math.comb(size - 1 - j, n_relevant - 1) / ways for j in inside]
    mrr = 1.0 if good_above and last else sum(p / (above + 1 + j) for j, p in enumerate(first_at))
    share = (n_relevant - 1) / (size - 1)
    ap = min(good_above, last) + sum(n_relevant / size * (good_above + 1 + j * share) / (above + 1 + j) for j in inside)
    hit = 1.0 if good_above and last else sum(first_at)
    dcg = sum(1 / math.log2(i + 2) for i in range(min(good_above, last)))
    dcg += sum(n_relevant / size / math.log2(above + j + 2) for j in inside)
    best = sum(1 / math.log2(i + 2) for i in range(min(len(relevant), k or len(relevant))))
    for name, want in {"mrr": mrr, "map": ap / len(relevant), "hit_rate": hit, "ndcg": dcg / best}.items():
        assert make(name, k, {"ties": "average"})(a).item() == pytest.approx(want, rel=1e-10, abs=1e-12), name


def test_a_value_does_not_depend_on_other_queries() -> None:
    rng = np.random.default_rng(5)
    run = {
        f"q{i:02d}": {f"d{j}": float(rng.integers(0, 3)) for j in range(int(rng.integers(1, 300)))} for i in range(12)
    }
    truth = {query: {doc: float(rng.integers(-1, 4)) for doc in list(docs)[::3]} for query, docs in run.items()}
    together = align(run, truth)
    for name, k in itertools.product(AVERAGED, (None, 7, 100)):
        spec = make(name, k, {"ties": "average"})
        alone = [spec(align({query: run[query]}, {query: truth[query]})).item() for query in sorted(run)]
        assert spec(together).tolist() == alone, str(spec)


@pytest.mark.parametrize("name", AVERAGED)
def test_spelling(name: str) -> None:
    spec = parse(f"{name}(ties=average)@10")
    assert str(spec) == f"{name}(ties=average)@10"
    assert parse(str(spec)) == spec
    assert parse(f"{name}(ties=canonical)@10") == parse(f"{name}@10")
    assert parse(f"{name}(ties='Average')@10") == spec
    with pytest.raises(sy.MeasureError, match="ties must be canonical or average, not random"):
        parse(f"{name}(ties=random)@10")


def test_a_run_of_lists_has_no_ties() -> None:
    assert align({"q": ["a", "b", "c"]}, {"q": {"b": 1}}).ties is None  # type: ignore[dict-item]


@pytest.fixture
def chunks() -> Alignment:
    """Two tied chunks, of which one holds the only gold piece."""
    return align({"q": {"c1": 1.0, "c2": 1.0, "c3": 0.5}}, {"q": {"c2": 1, "c3": 1}})


def with_pieces(a: Alignment, pieces: Alignment) -> Alignment:
    pieces = replace(pieces, ties=None)
    return replace(a, evidence=Evidence(pieces, pieces, pieces, pieces, np.ones(1, bool), np.zeros(1, int)))


@pytest.mark.parametrize("name", ["recall", "f", "f1"])
def test_recall_of_pieces_is_refused(name: str, chunks: Alignment) -> None:
    a = with_pieces(chunks, align({"q": {"p1": 1.0}}, {"q": {"p1": 1}}))
    assert parse(f"{name}@1")(a).tolist() == [1.0]
    with pytest.raises(sy.MeasureError, match=r"recall counts gold pieces here.*use ties=canonical"):
        parse(f"{name}(ties=average)@1")(a)
    settled = replace(a, ties=None)
    assert parse(f"{name}(ties=average)@1")(settled).tolist() == parse(f"{name}@1")(settled).tolist()


def test_measures_of_chunks_average_with_evidence_too(chunks: Alignment) -> None:
    a = with_pieces(chunks, align({"q": {"p1": 1.0}}, {"q": {"p1": 1}}))
    assert parse("precision(ties=average)@1")(a).tolist() == [0.5]
    assert parse("mrr(ties=average)@1")(a).tolist() == [0.5]


def test_recall_of_chunks_averages_with_evidence_too(chunks: Alignment) -> None:
    assert parse("recall(ties=average)@1")(with_pieces(chunks, chunks)).tolist() == [0.25]
