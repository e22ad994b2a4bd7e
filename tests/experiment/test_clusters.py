"""Scores of questions that are no independent evidence."""

import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.stats.intervals.means import mean_intervals

QUESTIONS = [{"qid": f"q{i:02}", "query": "?", "talk": i // 4, "rel_map": {f"d{i // 3}": 1}} for i in range(24)]
RUNS = {
    name: {f"q{i:02}": ([f"d{i // 3}"] if (i // 4 + shift) % 3 else ["x", f"d{i // 3}"]) for i in range(24)}
    for name, shift in (("a", 0), ("b", 1))
}


def weighed(cluster: object = None) -> sy.Scores:
    return sy.evaluate(sy.Questions(QUESTIONS), RUNS, ["mrr", "gm_map"], cluster=cluster)  # type: ignore[arg-type]


def test_intervals_go_by_cluster_and_means_do_not() -> None:
    plain, by_talk = weighed(), weighed("talk")
    assert by_talk.means.tolist() == plain.means.tolist()
    assert by_talk.clustering is not None
    assert by_talk.clustering.codes.tolist() == [i // 4 for i in range(24)]
    for i in range(2):
        want = mean_intervals(plain.values[i, 0][:, None], bounds=(0, 1), clusters=[i // 4 for i in range(24)])
        assert (by_talk.intervals.low[i, 0], by_talk.intervals.high[i, 0]) == (want.low[0], want.high[0])
    assert (
        np.diff([by_talk.intervals.low, by_talk.intervals.high], axis=0)
        > 1.2 * np.diff([plain.intervals.low, plain.intervals.high], axis=0)
    ).all()


def test_the_recipe_says_by_which_clusters_or_that_gold_is_shared() -> None:
    shared = weighed().recipe["shared_gold"]
    assert {**shared, "widening": shared["widening"] > 1} == {
        "n_questions": 24,
        "n_clusters": 8,
        "n_chained": 8,
        "widening": True,
    }
    of_differences = sy.compare(weighed().filter(measures="mrr")).recipe["shared_gold"]
    assert of_differences == {**shared, "widening": of_differences["widening"]}
    assert of_differences["widening"] != shared["widening"]
    assert "cluster:" not in str(weighed().signature)
    by_doc = weighed("doc")
    assert (by_doc.recipe["cluster"], "shared_gold" in by_doc.recipe) == ("doc", True)
    assert "; cluster:doc; " in str(by_doc.signature)
    alone = sy.evaluate({"q": {"d": 1}, "r": {"e": 1}}, {"q": ["d"], "r": ["d"]}, "mrr")
    assert "shared_gold" not in alone.recipe


def test_fields_may_be_given_beside_the_truth() -> None:
    truth = {question["qid"]: question["rel_map"] for question in QUESTIONS}
    beside = sy.evaluate(truth, RUNS, "mrr", questions=QUESTIONS, cluster="talk")
    assert beside.intervals.low[:, 0].tolist() == weighed("talk").intervals.low[:, 0].tolist()
    with pytest.raises(sy.InputError, match=r"cluster 'talk': no question has such a field \(there are doc\)"):
        sy.evaluate(truth, RUNS, "mrr", cluster="talk")


def test_a_file_holds_the_clusters(tmp_path: Path) -> None:
    by_talk = weighed("talk")
    (path := tmp_path / "scores.json").write_text(as_json(by_talk), encoding="utf-8")
    for again in (read_scores(path), pickle.loads(pickle.dumps(by_talk))):
        assert again.clustering is not None
        assert (again.clustering.by, again.clustering.codes.tolist()) == ("talk", [i // 4 for i in range(24)])
        assert as_json(again) == as_json(by_talk)
    path.write_text(as_json(by_talk).replace('"of": [0, ', '"of": ['), encoding="utf-8")
    with pytest.raises(sy.InputError, match="clusters are not the numbers of 24 questions"):
        read_scores(path)


def test_parts_keep_their_clusters() -> None:
    by_talk = weighed("talk")
    few = by_talk.filter(query_ids=["q03", "q04", "q05"])
    assert few.clustering is not None
    assert few.clustering.codes.tolist() == [0, 1, 1]
    assert "shared_gold" not in weighed().filter(query_ids=["q03", "q04"]).recipe
    whole = sy.Scores.concat([by_talk.filter(systems="a"), by_talk.filter(systems="b")])
    halves = [by_talk.filter(query_ids=[f"q{i:02}" for i in rows]) for rows in (range(10), range(8, 24))]
    # Questions 8 and 9 are in both parts, so that their clusters are one.
    for union in (whole, sy.Scores.concat([halves[0].filter(measures="mrr"), halves[1].filter(measures="gm_map")])):
        assert union.clustering is not None
        assert union.clustering.codes.tolist() == [i // 4 for i in range(24)]
    with pytest.raises(sy.InputError, match="different clusters cannot be put together: 'talk' and None"):
        sy.Scores.concat([by_talk.filter(systems="a"), weighed().filter(systems="b")])


def test_a_column_of_a_frame_names_the_clusters() -> None:
    frame = pl.DataFrame({
        "query_id": ["c", "a", "b", "a"], "measure": ["clicks", "clicks", "clicks", "views"],
        "value": [1.0, 2.0, 4.0, 9.0], "session": [7, 7, None, 7],
    })  # fmt: skip
    scores = sy.Scores.of(frame, cluster="session")
    assert scores.clustering is not None
    assert (scores.clustering.by, scores.clustering.codes.tolist()) == ("session", [0, 1, 0])
    assert scores.recipe["cluster"] == "session"
    with pytest.raises(sy.InputError, match=r"cluster 'sesion': the frame has no such column; did you mean session\?"):
        sy.Scores.of(frame, cluster="sesion")
    with pytest.raises(sy.InputError, match="question 'a' is in two clusters, '7' and '8'; expected one session"):
        sy.Scores.of(frame.with_columns(session=pl.Series([7, 7, 7, 8])), cluster="session")
