"""A truth drawn up by a judge: what is pooled, what is kept, how far the judge agrees with people, what is written."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from steelyard.base.errors import InputError, OutputError
from steelyard.judges.grading.grades import GradedPair
from steelyard.rag.labelling import LabelOptions

QUESTIONS = [{"qid": "q1", "query": "red apple"}, {"qid": "q2", "query": "蓝色的梨"}]
TEXTS = {"a": "A red apple.", "b": "A red car.", "c": "Nothing here.", "d": "蓝色的梨很甜。", "e": "绿色的瓜"}
GOLD = {"a": 3.0, "b": 2.0, "c": 0.0, "d": 3.0, "e": 0.0}


def outputs(**lists: str) -> list[dict[str, Any]]:
    """Lists of documents by question, such as q1="ab"."""
    return [{"qid": id, "retrieved": [{"id": doc, "text": TEXTS[doc]} for doc in docs]} for id, docs in lists.items()]


def by_gold(pairs: list[tuple[str, str]]) -> list[float]:
    ids = {text: id for id, text in TEXTS.items()}
    return [GOLD[ids[text]] for _, text in pairs]


def gains(grades: sy.Grades) -> dict[tuple[str, str], float | None]:
    return {pair.key: pair.gain for pair in grades.pairs}


def write(file: Path, *rows: dict[str, Any]) -> Path:
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return file


def test_runs_are_pooled_to_a_depth() -> None:
    runs = [outputs(q1="abc", q2="d"), outputs(q1="cb", q2="e", q3="a")]
    grades = sy.label(QUESTIONS, {"one": runs[0], "two": runs[1]}, by_gold, scale="0-3", depth=1)
    assert gains(grades) == {("q1", "a"): 3, ("q1", "c"): 0, ("q2", "d"): 3, ("q2", "e"): 0}
    assert grades.recipe["pool"] == {"runs": ["one", "two"], "documents": []}
    whole = sy.label(QUESTIONS, {"one": runs[0], "two": runs[1]}, by_gold, scale="0-3")
    assert len(whole) == 5


def test_documents_are_searched_by_words_or_taken_whole() -> None:
    documents = [sy.Document(f"doc-{id}", text) for id, text in TEXTS.items()]
    grades = sy.label(QUESTIONS, documents, scale="0-3", depth=2)
    assert gains(grades) == {("q1", "doc-a#1"): 3, ("q1", "doc-b#1"): 2, ("q2", "doc-d#1"): 3, ("q2", "doc-e#1"): 0}
    assert len(sy.label(QUESTIONS, documents, scale="0-3", depth=5)) == 10
    whole = sy.label(QUESTIONS, documents, scale="0-3", depth=1, unit="document")
    assert gains(whole) == {("q1", "doc-a"): 3, ("q2", "doc-d"): 3}


def test_a_run_of_ids_gets_its_texts_from_the_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("A red apple.")
    run = {"q1": ["a", "b"], "q2": ["a"]}
    grades = sy.label(QUESTIONS, sy.Run(run), scale="0-3", documents=tmp_path)
    assert gains(grades) == {("q1", "a"): 3, ("q1", "b"): None, ("q2", "a"): 0}
    assert dict(grades.not_judged) == {"no text": 1}
    with pytest.raises(
        InputError, match=r"none of 3 pooled documents has a text, the first of them 'a'; .*--documents"
    ):
        sy.label(QUESTIONS, sy.Run(run))


@pytest.mark.parametrize("place", [{"doc": "kb"}, {"doc_id": "kb"}, {}, {"doc": "kb", "start": 0, "end": 9}])
@pytest.mark.parametrize("own_texts", [True, False])
def test_what_a_file_and_a_run_share_is_graded_once(tmp_path: Path, place: dict[str, Any], own_texts: bool) -> None:
    """A chunk was graded and paid as `a` of the run and as `a#1` of the file, and recall was halved."""
    file = write(tmp_path / "chunks.jsonl", *({"id": id, "text": text, **place} for id, text in TEXTS.items()))
    run = outputs(q1="ab", q2="d") if own_texts else sy.Run({"q1": ["a", "b"], "q2": ["d"]})
    grades = sy.label(QUESTIONS, [run, file], by_gold, scale="0-3")
    assert gains(grades) == {(question["qid"], id): GOLD[id] for question in QUESTIONS for id in TEXTS}
    assert dict(grades.not_judged) == {}


def test_a_title_before_the_text_makes_no_second_document(tmp_path: Path) -> None:
    file = write(tmp_path / "corpus.jsonl", *({"_id": id, "title": "T", "text": text} for id, text in TEXTS.items()))
    seen: list[str] = []
    grades = sy.label(QUESTIONS, [outputs(q1="ab"), file], lambda pairs: [len(seen.append(t) or t) for _, t in pairs])  # type: ignore[func-returns-value]
    assert {doc_id for _, doc_id in gains(grades)} == set(TEXTS)
    assert (seen[0], seen[2]) == ("A red apple.", "T\n\nNothing here.")


def test_one_id_of_two_texts_is_refused() -> None:
    other = [{"qid": "q1", "retrieved": [{"id": "a", "text": "Another."}]}]
    with pytest.raises(InputError, match="document 'a' has two texts in the pool"):
        sy.label(QUESTIONS, {"one": outputs(q1="a"), "two": other})


def test_a_truth_is_written_that_evaluate_reads(tmp_path: Path) -> None:
    runs = outputs(q1="cab", q2="ed")
    file = tmp_path / "grades.jsonl"
    grades = sy.label(QUESTIONS, runs, by_gold, scale="0-3", save=file)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {
        "query_id": "q1", "doc_id": "a", "gain": 3, "by": "judge", "judge": "by_gold", "scale": "0-3",
        "date": grades.recipe["date"][:10],
    }  # fmt: skip
    of_file = sy.evaluate(file, {"run": runs}, ["ndcg@10", "mrr(min_gain=2)"])
    assert (
        of_file.means.tolist()
        == sy.evaluate(grades.truth, {"run": runs}, ["ndcg@10", "mrr(min_gain=2)"]).means.tolist()
    )
    assert of_file.mean().filter(pl.col("measure").str.contains("mrr"))["mean"].to_list() == [0.5]
    assert sy.Grades.read(file).pairs == grades.pairs


def test_results_say_that_a_judge_gave_the_labels(tmp_path: Path) -> None:
    runs, file = outputs(q1="ab", q2="d"), tmp_path / "g.jsonl"
    sy.label(QUESTIONS, runs, by_gold, scale="0-3", keep={"q1": {"a": 3}}, save=file)
    scores = sy.evaluate(file, {"one": runs, "two": runs}, "ndcg@5")
    [note] = [note for note in scores.notes["one"] if note.code == "gold_judged_by"]
    assert note.values == {"n": 2, "total": 3, "judge": "by_gold"}
    text = scores.text(lang="en")
    assert text.count("2 of 3 labels of the truth are a judge's, not people's: by_gold.") == 1
    assert "by_gold" not in sy.evaluate({"q1": {"a": 3}}, {"one": runs}).text(lang="en")


@pytest.mark.parametrize("name", ["g.qrels", "g.txt.gz", "g.csv", "g.tsv", "g.parquet", "g.arrow", "g.json"])
def test_labels_alone_in_other_formats(tmp_path: Path, name: str) -> None:
    grades = sy.label(QUESTIONS, outputs(q1="ab", q2="d"), by_gold, scale="0-3", save=tmp_path / name)
    assert sy.Truth.read(tmp_path / name).frame.equals(grades.truth.frame)
    with pytest.raises(OutputError, match="is a folder; name a file in it"):
        sy.label(QUESTIONS, outputs(q1="ab", q2="d"), by_gold, scale="0-3", save=tmp_path)
    with pytest.raises(OutputError, match="is there already, and does not say who graded"):
        sy.label(QUESTIONS, outputs(q1="ab", q2="d"), by_gold, scale="0-3", save=tmp_path / name)


def test_what_people_graded_is_kept_and_agreement_is_measured(tmp_path: Path) -> None:
    people = write(
        tmp_path / "people.jsonl",
        {"query_id": "q1", "doc_id": "a", "gain": 2, "by": "people", "rater": "ann", "reason": "ripe"},
        {"query_id": "q2", "doc_id": "d", "gain": 3},
        {"query_id": "q2", "doc_id": "e", "gain": 5},
        {"query_id": "q9", "doc_id": "a", "gain": 1},
        {"query_id": "q1", "doc_id": "b", "gain": 0, "by": "judge", "judge": "old", "scale": "0-3"},
    )
    file = tmp_path / "grades.jsonl"
    grades = sy.label(QUESTIONS, outputs(q1="abc", q2="de"), by_gold, scale="0-3", keep=people, save=file)
    assert gains(grades) == {
        ("q1", "a"): 2, ("q1", "b"): 2, ("q1", "c"): 0, ("q2", "d"): 3, ("q2", "e"): 5, ("q9", "a"): 1,
    }  # fmt: skip
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0]) == {
        "query_id": "q1", "doc_id": "a", "gain": 2, "reason": "ripe", "by": "people", "rater": "ann",
    }  # fmt: skip
    agreement = grades.agreement
    assert agreement is not None
    assert (agreement.n, agreement.n_equal, agreement.n_off) == (2, 1, 1)
    # The truth that was written is enough to keep them: nothing people graded is lost, whatever another judge says.
    again = sy.label(QUESTIONS, outputs(q1="abc", q2="de"), lambda pairs: [1] * len(pairs), scale="0-3", save=file)
    assert {pair.key: pair.gain for pair in again.by("people")} == {
        ("q1", "a"): 2,
        ("q2", "d"): 3,
        ("q2", "e"): 5,
        ("q9", "a"): 1,
    }
    assert {pair.gain for pair in again.by("judge")} == {1}


def test_people_who_differ_are_not_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "grades.jsonl"
    sy.label(QUESTIONS, outputs(q1="ab"), by_gold, scale="0-3", keep={"q1": {"a": 1}}, save=file)
    before = file.read_bytes()
    with pytest.raises(InputError, match=r"graded document 'a' for question 'q1' 1 in .*, and 2 in what is to"):
        sy.label(QUESTIONS, outputs(q1="ab"), by_gold, scale="0-3", keep={"q1": {"a": 2}}, save=file)
    assert file.read_bytes() == before


def test_agreement_is_that_of_the_statistics(tmp_path: Path) -> None:
    truth = {"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"d": 3, "e": 1}}
    grades = sy.label(QUESTIONS, outputs(q1="abc", q2="de"), by_gold, scale="0-3", keep=truth)
    agreement = grades.agreement
    assert agreement is not None
    # People 3 1 0 3 1, the judge 3 2 0 3 0: observed disagreement 2 of 5, expected by chance from all 25 pairings.
    people, judge = [3, 1, 0, 3, 1], [3, 2, 0, 3, 0]
    expected = sum((a - b) ** 2 for a in people for b in judge) / 25
    assert agreement.kappa == pytest.approx(1 - (2 / 5) / expected)
    assert agreement.n == 5
    assert agreement.grades == (0, 1, 2, 3)
    for lang, said in (("en", "over the grades 0, 1, 2, 3"), ("zh", "等级为 0、1、2、3")):
        assert said in grades.text(lang=lang, width=200)
    equal = sy.label(QUESTIONS, outputs(q1="c"), by_gold, scale="0-3", keep={"q1": {"c": 0}}).agreement
    assert equal is not None
    assert (equal.n, equal.n_equal, equal.kappa, equal.alpha) == (1, 1, None, None)


def test_a_file_is_extended_and_never_loses_a_grade(tmp_path: Path) -> None:
    file = tmp_path / "grades.jsonl"
    first = sy.label(QUESTIONS, outputs(q1="ab"), by_gold, scale="0-3", save=file)
    sy.label(QUESTIONS, outputs(q1="bc", q2="d"), lambda pairs: [None, *by_gold(pairs)[1:]], scale="0-3", save=file)
    pairs = {pair.key: pair for pair in sy.Grades.read(file).pairs}
    assert {key: pair.gain for key, pair in pairs.items()} == {
        ("q1", "a"): 3,
        ("q1", "b"): 2,
        ("q1", "c"): 0,
        ("q2", "d"): 3,
    }
    assert pairs["q1", "b"] == first.pairs[1]
    with pytest.raises(InputError, match="holds grades on the scale 0-3, which do not mix with 0-10"):
        sy.label(QUESTIONS, outputs(q1="ab"), save=file)


def test_the_same_again_writes_the_same_bytes(tmp_path: Path) -> None:
    file = tmp_path / "grades.jsonl"
    write(file, {"query_id": "q1", "doc_id": "a", "gain": 10, "by": "judge", "judge": "lexical", "scale": "0-10",
                 "date": "2020-02-02"})  # fmt: skip
    sy.label(QUESTIONS, outputs(q1="ab", q2="d"), save=file)
    before = file.read_bytes()
    assert b"2020-02-02" in before
    sy.label(QUESTIONS, outputs(q1="ab", q2="d"), save=file)
    assert file.read_bytes() == before


def test_a_pair_without_a_grade_is_no_label(tmp_path: Path) -> None:
    file = tmp_path / "grades.jsonl"
    grades = sy.label(QUESTIONS, outputs(q1="ab", q2="d"), lambda pairs: [3, 7, None], scale="0-3", save=file)
    assert dict(grades.not_judged) == {"off the scale: 7": 1, "gave None": 1}
    truth = sy.Truth.read(file)
    assert (truth.query_ids, truth.labels) == (["q1", "q2"], [{"a": 3.0}, {}])


def test_a_plan_asks_nobody(tmp_path: Path) -> None:
    def never(pairs: list[Any]) -> list[Any]:
        raise AssertionError

    plan = LabelOptions(keep={"q1": {"a": 1}}, save=tmp_path / "g.jsonl").plan(
        QUESTIONS, outputs(q1="ab", q2="d"), never
    )
    assert (plan.n_questions, plan.n_pairs, plan.n_people, plan.n_calls) == (2, 3, 1, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"depth": 0}, "depth must be"),
        ({"unit": "page"}, "unit must be"),
        ({"scale": "1-5"}, "no scale is called '1-5'"),
        ({"judge": "nli"}, "no judge of relevance is called 'nli'"),
        ({"threshold": 1}, "no setting 'threshold'"),
        ({"questions": [{"qid": "q1", "query": " "}]}, "question 'q1' has no text"),
        ({"questions": [{"qid": "q7", "query": "x"}]}, "nothing is retrieved for any of its questions"),
        ({"keep": [GradedPair("q1", "a", 1.0)]}, "cannot be read"),
        ({"sources": []}, "nothing is retrieved|there is no run"),
    ],
)
def test_mistakes(arguments: dict[str, Any], problem: str) -> None:
    values = {"questions": QUESTIONS, "sources": outputs(q1="ab"), **arguments}
    with pytest.raises(InputError, match=problem):
        sy.label(values.pop("questions"), values.pop("sources"), **values)


def test_where_nothing_can_be_written_nobody_is_asked(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="is no folder"):
        sy.label(QUESTIONS, outputs(q1="ab"), lambda pairs: 1 / 0, save=tmp_path / "none" / "g.jsonl")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"query_id": "q1", "doc_id": "a", "gain": "high"}, "line 2, document 'a': gain"),
        ({"query_id": "q1", "doc_id": "b"}, "line 2: has not all of `query_id`, `doc_id` and `gain`"),
        ({"query_id": "q1", "doc_id": "z", "gain": 2}, "line 2: document 'z' is judged twice"),
    ],
)
def test_a_file_that_was_edited_by_hand(tmp_path: Path, line: dict[str, Any], problem: str) -> None:
    file = write(tmp_path / "g.jsonl", {"query_id": "q1", "doc_id": "z", "gain": 1}, line)
    with pytest.raises(InputError, match=problem):
        sy.label(QUESTIONS, outputs(q1="ab"), save=file)
