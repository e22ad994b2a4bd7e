import gzip
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align.gold import LossCode
from steelyard.align.resolver import GoldMapping
from steelyard.base.errors import InputError
from steelyard.data.corpus import Chunks, Document
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.experiment.table.scores import Scores
from steelyard.reports.views.scores import scores_sheet
from steelyard.reports.words import read_words
from tests.hypothesis_profiles import examples

ARRAYS = ("values", "missing", "no_relevant", "failed", "unwinnable", "judged", "unjudged_queries")
SPECS = ["ndcg@10", "map", "mrr@10", "recall(min_gain=2)@5", "gm_map", "n_relevant"]
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
numbers = st.floats(1e-9, 1) | st.just(math.nan) | st.sampled_from([0.0, -0.0, 1.0, 0.1 + 0.2, 1 + 1e-15])


@st.composite
def reports(draw, query_ids: list[str]) -> GoldMapping | None:
    if draw(st.booleans()):
        return None
    lost = draw(st.lists(st.sampled_from(query_ids), unique=True))
    return GoldMapping(
        draw(st.sampled_from(["any", "share>=0.5"])), draw(st.sampled_from([(), ("lower", "nfkc")])), {"span": 3},
        draw(st.booleans()), draw(st.booleans()), tuple((query, "a piece", "why") for query in lost), tuple(lost),
        tuple(draw(st.sampled_from(get_args(LossCode))) for _ in lost),
    )  # fmt: skip


@st.composite
def all_scores(draw) -> Scores:
    systems = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    query_ids = draw(st.lists(ids, min_size=1, max_size=6, unique=True))
    measures = [sy.parse(spec) for spec in draw(st.lists(st.sampled_from(SPECS), min_size=1, max_size=4, unique=True))]
    s, m, q = len(systems), len(measures), len(query_ids)

    def array(elements: st.SearchStrategy[Any], *shape: int, dtype: Any) -> Any:
        flat = draw(st.lists(elements, min_size=math.prod(shape), max_size=math.prod(shape)))
        return np.array(flat, dtype=dtype).reshape(shape)

    return Scores(
        systems=systems, query_ids=query_ids, measures=measures, values=array(numbers, s, m, q, dtype=float),
        missing=array(st.booleans(), s, q, dtype=bool), no_relevant=array(st.booleans(), s, m, q, dtype=bool),
        failed=array(st.booleans(), s, q, dtype=bool), unwinnable=array(st.booleans(), s, q, dtype=bool),
        judged=array(st.sampled_from([0.0, 0.5, 1.0, math.nan]), s, m, q, dtype=float),
        unjudged_queries=array(st.integers(0, 9), s, dtype=np.int64),
        gold=[draw(reports(query_ids)) for _ in systems],
        recipe_parts={"steelyard": "x", "missing": "zero", "no_relevant": "zero"},
    )  # fmt: skip


def same(one: Scores, two: Scores) -> None:
    for name in ARRAYS:
        a, b = getattr(one, name), getattr(two, name)
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), name
    assert (list(one.systems), list(one.query_ids)) == (list(two.systems), list(two.query_ids))
    assert list(one.measures) == list(two.measures)
    assert list(one.gold) == list(two.gold)
    assert one.recipe == two.recipe
    assert one.mean().equals(two.mean())
    assert one.per_query.equals(two.per_query)
    assert (one.statuses() == two.statuses()).all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("json")


@examples(60)
@given(all_scores())
def test_what_is_written_is_read_back_to_the_bit(folder: Path, scores: Scores) -> None:
    path = folder / "scores.json"
    path.write_text(as_json(scores), encoding="utf-8")
    found = read_scores(path)
    same(found, scores)
    assert as_json(found) == as_json(scores)


def small() -> Scores:
    truth = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}, "q3": {"d": 0}, "问题四": {"e": 1}}
    runs = {"one": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"y": 1.0}}, "two": {"q1": {"b": 1.0}, "问题四": {"e": 1.0}}}
    return sy.evaluate(truth, runs, ["ndcg@10", "recall@5", "map"], no_relevant="skip")


def test_scores_of_evaluate_come_back_with_counts_and_digests(tmp_path: Path) -> None:
    (path := tmp_path / "scores.json.gz").write_bytes(gzip.compress(as_json(small()).encode()))
    same(read_scores(path), small())
    assert read_scores(str(path)).recipe["truth"]["digest"].startswith("sha256:")


def with_lost_gold() -> Scores:
    questions = [{"qid": "q1", "query": "?", "evidence": [{"text": "a whale"}, {"text": "a kraken"}]}]
    corpus = Chunks.of([Document("d", "a whale and a load")], lambda text: [(0, 7), (8, len(text))])
    run = sy.Outputs([{"qid": "q1", "retrieved": corpus.ids}])
    return sy.evaluate(questions, {"s": run}, ["recall@5"], documents=corpus)


def test_reasons_of_lost_gold_come_back_as_codes(tmp_path: Path) -> None:
    (path := tmp_path / "scores.json").write_text(as_json(with_lost_gold()), encoding="utf-8")
    scores = read_scores(path)
    assert scores.gold[0] is not None
    assert scores.gold[0].codes == ("not_in_corpus",)
    notes = "".join(scores_sheet(scores, read_words("zh")).notes)
    assert "2 条标准证据中有 1 条不在任何文本块中（问题 q1：语料库中没有这条证据）。" in notes


def test_a_file_from_before_codes_keeps_its_words(tmp_path: Path) -> None:
    content = json.loads(as_json(with_lost_gold()))
    del content["systems"]["s"]["gold"]["lost"][0]["code"]
    (path := tmp_path / "scores.json").write_text(json.dumps(content), encoding="utf-8")
    scores = read_scores(path)
    assert scores.gold[0] is not None
    assert scores.gold[0].codes == ()
    assert "of q1 (no document has this text)" in "".join(scores_sheet(scores, read_words("en")).notes)
    assert json.loads(as_json(scores))["systems"] == content["systems"]


def test_an_unknown_reason_of_lost_gold_is_refused(tmp_path: Path) -> None:
    content = as_json(with_lost_gold()).replace('"code": "not_in_corpus"', '"code": "eaten"')
    (path := tmp_path / "scores.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="lost pieces have the codes"):
        read_scores(path)


def test_every_query_is_written_whether_asked_for_or_not() -> None:
    assert small().text("json") == small().text("json", per_query=True)
    made = json.loads(as_json(small()))
    assert set(made["systems"]["one"]) == {
        "metrics", "intervals", "reachable", "counts", "per_query", "queries", "judged"
    }  # fmt: skip
    assert made["systems"]["one"]["per_query"]["q3"] == {"ndcg@10": None, "recall@5": None, "map": None}
    assert made["systems"]["one"]["queries"]["missing"] == ["q3", "问题四"]
    assert "问题四" in as_json(small())


def test_a_query_takes_one_line() -> None:
    lines = as_json(small()).splitlines()
    assert sum(line.strip().startswith('"问题四": {"ndcg@10"') for line in lines) == 2
    assert all(line.startswith((" ", "{", "}")) for line in lines)


def old(made: dict[str, Any]) -> None:
    for system in made["systems"].values():
        del system["per_query"], system["queries"], system["judged"]


def broken(change: Callable[[dict[str, Any]], object]) -> str:
    made = json.loads(as_json(small()))
    change(made)
    return json.dumps(made)


BAD = {
    "empty": ("", "line 1: is not JSON"),
    "torn": (as_json(small())[:900], "is not JSON"),
    "a run": ('{"q1": {"d1": 0.5}}', "expected an object with systems and recipe"),
    "a list": ("[1, 2]", "expected an object with systems and recipe"),
    "deep": ("[" * 100_000, "nested too deep"),
    "means only": (broken(old), "earlier Steelyard"),
    "no system": (broken(lambda made: made.update(systems={})), "no system"),
    "unknown measure": (broken(lambda made: made["recipe"].update(measures=["nDGC@10"])), "plug-in"),
    "no measures": (broken(lambda made: made["recipe"].pop("measures")), "`recipe.measures` is missing"),
    "recipe of text": (broken(lambda made: made.update(recipe="x")), "holds no scores"),
    "a text as value": (
        broken(lambda made: made["systems"]["one"]["per_query"]["q1"].update(map="0.5")), "expected a number or null"),
    "true as value": (
        broken(lambda made: made["systems"]["one"]["per_query"]["q1"].update(map=True)), "expected a number or null"),
    "infinite": (
        broken(lambda made: made["systems"]["one"]["per_query"]["q1"].update(map=math.inf)), "expected a number"),
    "a huge number": (
        broken(lambda made: made["systems"]["one"]["per_query"]["q1"].update(map=10**400)), "holds no scores"),
    "a missing value": (broken(lambda made: made["systems"]["one"]["per_query"]["q1"].pop("map")), "no 'map'"),
    "other queries": (broken(lambda made: made["systems"]["two"]["per_query"].pop("q1")), "the same questions"),
    "an unknown query": (broken(lambda made: made["systems"]["one"]["queries"]["failed"].append("zz")), "no 'zz'"),
    "short shares": (broken(lambda made: made["systems"]["one"]["judged"][0]["values"].pop()), "judged has other"),
}  # fmt: skip


@pytest.mark.parametrize("label", BAD)
def test_bad_files_are_told_with_what_to_run(label: str, tmp_path: Path) -> None:
    text, fact = BAD[label]
    (path := tmp_path / "scores.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=fact) as told:
        read_scores(path)
    assert str(path) in str(told.value)
    assert "steelyard evaluate" in str(told.value) or label == "unknown measure"


def test_other_encodings_and_absent_files(tmp_path: Path) -> None:
    (path := tmp_path / "scores.json").write_bytes("é".encode("latin1"))
    with pytest.raises(InputError, match="not UTF-8"):
        read_scores(path)
    with pytest.raises(InputError, match="no such file"):
        read_scores(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("spec", "value", "is_possible"),
    [("mrr", 5000.0, False), ("mrr", -0.1, False), ("mrr", 1 + 1e-12, True), ("ndcg@10", 57.3, False),
     ("dcg@10", 57.3, True), ("dcg@10", -1.0, False), ("clicks", -5000.0, True)],
)  # fmt: skip
def test_values_that_a_measure_cannot_have_are_refused(
    spec: str, value: float, is_possible: bool, tmp_path: Path
) -> None:
    values = pl.DataFrame({"query_id": ["q1", "q2"], "measure": spec, "value": [0.5, value]})
    if is_possible:
        assert Scores.of(values).values[0, 0, 1] == value
        return
    with pytest.raises(InputError, match=r"question 'q2': .* is beyond its range") as refusal:
        Scores.of(values)
    (tmp_path / "scores.json").write_text(
        as_json(Scores.of(values.with_columns(value=0.5))).replace("0.5}", f"{value}}}")
    )
    with pytest.raises(InputError, match=r"scores.json: system 'run', question 'q1'"):
        read_scores(tmp_path / "scores.json")
    assert f"{spec} is {value:g}" in str(refusal.value)
