"""What people tried who had never seen Steelyard: each was once a wrong number or a traceback."""

import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.measures import registry


def test_a_set_has_no_order() -> None:
    with pytest.raises(sy.InputError, match="nor a list in order"):
        sy.evaluate({"q": {"a": 1}}, {"q": {"a", "b"}}, "mrr")
    with pytest.raises(sy.InputError, match="a set was passed"):
        sy.plain.mrr({"a", "b"}, {"a"})  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", ["q1,d1,2\nq1,d9,1\n", "q1,d1,1\nq1,d9,3\nq1,d2,2\n"])
def test_ranks_that_contradict_the_order_of_rows(rows: str, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("qid,docid,rank\n" + rows)
    with pytest.raises(sy.InputError, match=r"r\.csv, line [34]: is below a row with a higher rank"):
        sy.evaluate({"q1": ["d9"]}, tmp_path / "r.csv", "mrr")


def test_ranks_that_agree_with_the_order_of_rows(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("qid,docid,rank\nq1,d1,1\nq1,d9,2\nq2,d9,1\n")
    assert sy.evaluate({"q1": ["d9"], "q2": ["d9"]}, tmp_path / "r.csv", "mrr").values.tolist() == [[[0.5, 1.0]]]


@pytest.mark.parametrize(("encoding", "hint"), [("utf-16", "is UTF-16"), ("gbk", "-f gbk")])
@pytest.mark.parametrize("name", ["a.run", "a.csv"])
def test_other_encodings(name: str, encoding: str, hint: str, tmp_path: Path) -> None:
    text = "查询 Q0 文档 1 1.5 甲\n" if name == "a.run" else "qid,docid,score\n查询,文档,1\n"
    (tmp_path / name).write_bytes(text.encode(encoding))
    with pytest.raises(sy.InputError, match=hint):
        sy.evaluate({"查询": ["文档"]}, tmp_path / name, "mrr")


ODD_FRAMES = {
    "rename it to 'score'": {"qid": ["q", "q"], "docid": ["a", "b"], "Score_bm25": [0.5, 0.75]},
    "higher rank": {"qid": ["q", "q"], "docid": ["a", "b"], "rank": [2, 1]},
}


@pytest.mark.parametrize(("reason", "columns"), ODD_FRAMES.items())
def test_frames_of_every_library_are_checked_alike(reason: str, columns: dict[str, list[object]]) -> None:
    pandas = pytest.importorskip("pandas")
    for frame in (pl.DataFrame(columns), pandas.DataFrame(columns)):
        with pytest.raises(sy.InputError, match=reason):
            sy.evaluate({"q": ["a"]}, frame, "mrr")


def test_two_columns_of_one_name() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([["q", "a", 1.0, 2.0]], columns=["qid", "docid", "score", "score"])
    with pytest.raises(sy.InputError, match="two columns of one name"):
        sy.evaluate({"q": ["a"]}, frame, "mrr")


def test_semicolons(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("qid;docid;score\nq;d;1\n")
    with pytest.raises(sy.InputError, match="separated by semicolons"):
        sy.evaluate({"q": ["d"]}, tmp_path / "a.csv", "mrr")


def test_scores_travel_between_processes() -> None:
    scores = sy.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["mrr", "ndcg@10"])
    copy = pickle.loads(pickle.dumps(scores))
    assert copy.mean().equals(scores.mean())
    assert copy.recipe == scores.recipe


def test_an_empty_run_among_others() -> None:
    scores = sy.evaluate({"q": {"a": 1}}, {"a": {"q": {}}, "b": {"q": {"a": 1.0}}}, "mrr")
    assert scores.systems == ["a", "b"]
    assert scores.values.ravel().tolist() == [0.0, 1.0]


def test_a_cell_that_runs_twice() -> None:
    def define() -> None:
        @sy.measure(aliases=("trial_alias",))
        def trial_measure(a: sy.Alignment, *, k: int | None = None) -> np.ndarray:
            """Nothing but ones."""
            return np.ones(a.n_queries)

    try:
        define()
        define()
        assert sy.plain.score("trial_alias@5", ["a"], {"a"}) == 1
    finally:
        registry._definitions.remove("trial_measure")
        for alias in ("trial_measure", "trial_alias"):
            registry._spellings.remove(alias)


def test_a_decorator_without_brackets() -> None:
    with pytest.raises(sy.MeasureError, match="with brackets"):
        sy.measure(lambda a: np.ones(a.n_queries))  # type: ignore[arg-type]


def test_a_measure_of_the_wrong_length() -> None:
    @sy.measure("trial_long")
    def trial_long(a: sy.Alignment) -> np.ndarray:
        """One value too many."""
        return np.ones(a.n_queries + 1)

    try:
        with pytest.raises(sy.MeasureError, match=r"gave an array of shape \(2,\), expected \(1,\)"):
            sy.plain.score("trial_long", ["a"], {"a"})
    finally:
        registry._definitions.remove("trial_long")
        registry._spellings.remove("trial_long")
