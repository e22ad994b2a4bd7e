"""Measures of answers beside those of rankings: values, statuses, causes and bounds, in frames and files."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.base import defaults
from steelyard.data.folders.run_folder import write_run_folder
from steelyard.data.responses import Response
from steelyard.experiment.door.choices import named_verdicts
from steelyard.experiment.judging import judge_run
from steelyard.experiment.table.frame import STATUSES
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.experiment.table.recipes import reads_verdicts
from steelyard.judges import judging
from steelyard.judges.tables.verdicts import FOLDER
from steelyard.measures import parse
from tests.experiment.judged import FOUR, PEOPLE, outputs, questions, record, verdicts

MEASURES = ["faithfulness", "ndcg@5", "answer_recall"]
BOTH = questions(gold_evidence=["c"])


def weighed(*records: Any, truth: object = None, **options: Any) -> sy.Scores:
    return sy.evaluate(
        truth or BOTH,
        outputs(),
        MEASURES,
        verdicts=verdicts(*(records or FOUR), **options.pop("recipe", {})),
        **options,
    )


def test_answers_and_rankings_are_one_table() -> None:
    scores = weighed()
    values = np.array([[2 / 3, np.nan, np.nan, np.nan], [1, 1, 1, 1], [1, 1, 0, 0]])
    assert scores.values[0] == pytest.approx(values, nan_ok=True)
    table = scores.mean()
    assert table["n"].to_list() == [1, 4, 4]
    assert table["not_judged"].to_list() == [1, 0, 0]
    assert table["judged"].to_list() == [None, 1.0, None]


def test_rankings_are_the_same_beside_answers() -> None:
    alone = sy.evaluate(BOTH, outputs(), ["ndcg@5", "mrr"])
    beside = sy.evaluate(BOTH, outputs(), ["ndcg@5", "faithfulness", "mrr"], verdicts=verdicts(*FOUR))
    assert beside.values[:, [0, 2]].tobytes() == alone.values.tobytes()
    assert beside.judged[:, [0, 2]].tobytes() == alone.judged.tobytes()
    assert alone.causes is None


def test_each_value_has_its_status() -> None:
    frame = weighed().frame
    of = {name: frame.filter(measure=name)["status"].to_list() for name in MEASURES}
    assert of["faithfulness"] == ["ok", "not_judged", "abstained", "no_answer"]
    assert of["ndcg@5"] == ["ok"] * 4
    assert of["answer_recall"] == ["ok", "ok", "ok", "no_answer"]
    assert frame.filter(measure="faithfulness")["reason"].to_list() == [None, "not_judged", "abstained", "no_answer"]


def test_a_question_that_is_missing_or_failed_is_so_for_answers_too() -> None:
    lines = [*outputs()[:2], {"qid": "3", "error": "timeout", "retrieved": []}]
    judged = verdicts(*FOUR[:2], record("3", state="failed", gold="N"), FOUR[3])
    scores = sy.evaluate(BOTH, lines, MEASURES, verdicts=judged)
    table = scores.frame.filter(measure="answer_recall")
    assert table["status"].to_list() == ["ok", "ok", "failed", "missing"]
    assert table["reason"].to_list() == [None, None, "failed, no_answer", "missing, no_answer"]
    assert table["value"].to_list() == [1, 1, 0, 0]
    skipped = sy.evaluate(BOTH, lines, MEASURES, verdicts=judged, missing="skip")
    assert skipped.frame.filter(measure="answer_recall")["value"].to_list() == [1, 1, 0, None]


def test_gold_that_no_chunk_holds_is_no_matter_for_answers() -> None:
    scores = weighed()
    lost = dataclasses.replace(scores, unwinnable=np.ones_like(scores.unwinnable))
    assert lost.mean()["unwinnable"].to_list() == [0, 4, 0]
    for name in ("faithfulness", "answer_recall"):
        assert lost.frame.filter(measure=name).equals(scores.frame.filter(measure=name))
    assert set(lost.frame.filter(measure="ndcg@5")["status"]) == {"unwinnable"}


def test_bounds_say_how_far_a_mean_could_move() -> None:
    notes = weighed().notes["run"]
    bounds = [note.values for note in notes if note.code == "answers_not_judged"]
    # One of two units, and of the other one of two is not judged: (2/3 + 1/2) / 2 to (2/3 + 1) / 2.
    assert bounds == [{"measure": "faithfulness", "n": 1, "total": 2, "low": 0.5833, "high": 0.8333}]
    assert [note.code for note in notes].count("judged_by_handed_in") == 1
    assert not [n for n in weighed(*(record(q, "Y", gold="Y") for q in "1234")).notes["run"] if "not_judged" in n.code]


def test_a_part_of_the_scores_has_what_is_to_be_said_of_it() -> None:
    scores = weighed()
    assert [note.code for note in scores.filter(measures="answer_recall").notes["run"]] == ["judged_by_handed_in"]
    rankings = scores.filter(measures="ndcg@5")
    assert "run" not in rankings.notes
    assert "verdicts" not in rankings.recipe
    assert "judge:" not in str(rankings.signature)
    assert as_json(scores.filter(measures=MEASURES)) == as_json(scores)


def test_files_and_frames_bring_all_of_it_back(tmp_path: Path) -> None:
    scores = weighed()
    (path := tmp_path / "scores.json").write_text(as_json(scores), encoding="utf-8")
    again = read_scores(path)
    assert as_json(again) == as_json(scores)
    assert again.frame.equals(scores.frame)
    assert sy.Scores.of(scores.frame).frame.equals(scores.frame)
    parts = [scores.filter(measures=name) for name in MEASURES]
    assert sy.Scores.concat(parts).frame.equals(scores.frame)
    parts = [scores.filter(query_ids=["1", "2"]), scores.filter(query_ids=["3", "4"])]
    assert sy.Scores.concat(parts).frame.equals(scores.frame)
    content = json.loads(as_json(scores))["systems"]["run"]
    assert content["queries"]["causes"]["faithfulness"] == {"no_answer": ["4"], "abstained": ["3"], "not_judged": ["2"]}
    assert content["counts"]["not_judged"] == {"faithfulness": 1, "ndcg@5": 0, "answer_recall": 0}


def test_a_file_with_a_cause_that_there_is_none_of_is_refused(tmp_path: Path) -> None:
    (path := tmp_path / "scores.json").write_text(as_json(weighed()).replace('"abstained"', '"slept"'))
    with pytest.raises(sy.InputError, match=r"scores\.json: holds no scores"):
        read_scores(path)


def test_the_recipe_and_the_signature_name_the_judge() -> None:
    scores = weighed(recipe={"date": "2026-11-22"})
    assert scores.recipe["verdicts"] == {"run": [{**PEOPLE, "date": "2026-11-22"}]}
    assert "; judge:people/" in str(scores.signature)
    assert str(scores.signature) == str(weighed(recipe={"date": "2027-01-01"}).signature)
    other = weighed(recipe={"judge": {"name": "people", "threshold": 0.6}})
    assert scores.signature.judges != other.signature.judges
    assert "judge:" not in str(scores.filter(measures="ndcg@5", systems=[]).signature)


def test_runs_of_one_system_are_judged_each() -> None:
    first, second = (verdicts(record("1", "Y", gold="Y"), record("2", marks, gold="Y")) for marks in ("YN", "N?"))
    scores = sy.evaluate(
        questions(2),
        {"a": sy.Repeats([outputs(2), outputs(2)])},
        ["faithfulness", "answer_recall"],
        verdicts={"a": [first, second]},
    )
    assert scores.values[0] == pytest.approx(np.array([[1, np.nan], [1, 1]]), nan_ok=True)
    assert scores.frame["status"].to_list() == ["ok", "ok", "not_judged", "ok"]
    bounds = next(note.values for note in scores.notes["a"] if note.code == "answers_not_judged")
    assert (bounds["low"], bounds["high"]) == ((1 + 0.25) / 2, (1 + 0.5) / 2)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"b": verdicts(*FOUR)}, "verdicts: no system is called 'b'"),
        ([verdicts(*FOUR)] * 2, "verdicts: run has 1 runs, and there are verdicts of 2"),
        (3, "verdicts: those of run cannot be read from int"),
        (verdicts(*FOUR[:2]), "verdicts by .*: have no question '3' .2 of 4 are not there"),
        (verdicts(*FOUR, outputs="sha256:other"), "verdicts by people are of another run than run"),
        ("no/such.parquet", "no/such.parquet"),
    ],
)
def test_verdicts_that_are_none_of_the_run_are_refused(given: object, complaint: str) -> None:
    with pytest.raises(sy.InputError, match=complaint):
        sy.evaluate(BOTH, outputs(), "faithfulness", verdicts=given)


def test_verdicts_by_another_judge_than_the_one_asked_for_are_refused() -> None:
    assert sy.evaluate(BOTH, outputs(), "faithfulness", verdicts=verdicts(*FOUR), judge="people").means.size == 1
    with pytest.raises(sy.InputError, match="run: its verdicts are by 'people', not 'llm'; leave out --judge"):
        sy.evaluate(BOTH, outputs(), "faithfulness", verdicts=verdicts(*FOUR), judge="llm")


def test_of_several_systems_verdicts_bear_names() -> None:
    runs = {"a": outputs(), "b": outputs(answer="Ten.")}
    with pytest.raises(sy.InputError, match="there are 2 systems; name the one that they are of"):
        sy.evaluate(BOTH, runs, "faithfulness", verdicts=verdicts(*FOUR))
    worse = verdicts(record("1", "NNN", gold="N"), *FOUR[1:])
    scores = sy.evaluate(BOTH, runs, "faithfulness", verdicts={"b": worse, "a": verdicts(*FOUR)})
    assert scores.means[:, 0].tolist() == pytest.approx([2 / 3, 0])


def test_a_run_without_answers_is_refused() -> None:
    with pytest.raises(sy.MeasureError, match="run: faithfulness is of answers, and the run has none; give outputs"):
        sy.evaluate({"1": {"c": 1}}, {"1": ["c"]}, "faithfulness", verdicts=verdicts(FOUR[0]))


def test_gold_by_id_and_questions_apart_are_enough(tmp_path: Path) -> None:
    (path := tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in outputs()))
    truth = {str(q): {"c": 1} for q in range(1, 5)}
    for run in (path, outputs(), {"system": outputs()}):
        judged = verdicts(*FOUR)
        scores = sy.evaluate(truth, run, ["mrr", "answer_recall"], verdicts=judged, questions=questions())
        assert scores.means.tolist() == [[1, 0.5]]


def test_answers_are_weighed_where_nothing_is_gold_for_what_is_retrieved(tmp_path: Path) -> None:
    (path := tmp_path / "asked.jsonl").write_text("".join(json.dumps(line) + "\n" for line in questions()))
    for truth in (path, questions(), questions(evidence=[])):
        scores = sy.evaluate(truth, outputs(), "answer_recall", verdicts=verdicts(*FOUR))
        assert scores.means.tolist() == [[0.5]]
    scores = sy.evaluate(path, outputs(), ["answer_recall", "mrr"], verdicts=verdicts(*FOUR))
    assert (scores.means[0, 0], [str(measure) for measure in scores.without_gold]) == (0.5, ["mrr"])
    assert scores.notes["run"][0].code == "no_gold_answers_alone"
    (path := tmp_path / "lines.jsonl").write_text("".join(json.dumps(line) + "\n" for line in outputs()))
    with pytest.raises(sy.InputError, match="is this a file of results"):
        sy.evaluate(path, outputs(), "mrr")


def test_a_measure_needs_a_judge_where_verdicts_could_change_it() -> None:
    of_texts = {
        "exact_match", "token_f1", "content_f1", "contains", "citation_coverage", "citation_validity",
        "abstention_precision", "abstention_recall", "abstention_f1",
    }  # fmt: skip
    names = {definition.name for definition in sy.definitions() if definition.of_answers}
    assert {name for name in names if not reads_verdicts(parse(name))} == of_texts
    assert reads_verdicts(parse("abstention_recall(answerable=context)"))
    assert len(set(STATUSES)) == len(STATUSES)


def run_folder(path: Path, answer: str = "Nine.") -> Path:
    """A finished run whose system gives one answer to four questions."""
    passages = (sy.Passage("c", text="There are nine."),)
    responses = [(str(q), Response("How many?", passages, answer)) for q in range(1, 5)]
    manifest = {"name": path.name, "finished": "2026-11-22T00:00:00Z", "counts": {"questions": 4, "failed": 0}}
    write_run_folder(path, config={}, manifest=manifest, responses=responses)
    return path


def test_a_run_folder_has_verdicts_of_its_own(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "hybrid")
    (folder / FOLDER).mkdir()
    for number, (name, marks) in enumerate((("llm", "N"), ("people", "Y"))):
        judged = verdicts(*(record(str(q), marks, gold="Y") for q in range(1, 5)), judge={"name": name})
        judged.write(file := folder / FOLDER / f"{name}.parquet")
        os.utime(file, (number, number))
    newest = sy.evaluate(questions(), folder, "faithfulness")
    assert newest.means.tolist() == [[1]]
    assert newest.notes["hybrid"][-1].values["file"] == "people.parquet"
    assert sy.evaluate(questions(), folder, "faithfulness", judge="llm").means.tolist() == [[0]]
    assert sy.evaluate(questions(), folder, "faithfulness", judge="mine.judges:llm").means.tolist() == [[0]]
    with pytest.raises(sy.InputError, match=r"hybrid: has verdicts by llm, people, and none by 'lm'"):
        sy.evaluate(questions(), folder, "faithfulness", judge="lm")
    with pytest.raises(sy.InputError, match="scores already"):
        sy.gate(str(scores_file(tmp_path, newest)), max_failed=0.0, judge="llm")


def scores_file(folder: Path, scores: sy.Scores) -> Path:
    (path := folder / "scores.json").write_text(as_json(scores), encoding="utf-8")
    return path


def test_verdicts_of_another_run_in_the_folder_are_refused(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "hybrid")
    other = sy.Outputs.read(run_folder(tmp_path / "other", answer="Ten.")).digest()
    (folder / FOLDER).mkdir()
    for digest in (other, sy.Outputs.read(folder).digest()):
        judged = verdicts(*(record(str(q), "Y", gold="Y") for q in range(1, 5)), outputs=digest)
        judged.write(folder / FOLDER / "people.parquet")
        if digest == other:
            with pytest.raises(sy.InputError, match="verdicts by people are of another run than hybrid"):
                sy.evaluate(questions(), folder, "faithfulness")
        else:
            assert sy.evaluate(questions(), folder, "faithfulness").means.tolist() == [[1]]


def test_verdicts_by_other_gold_answers_are_refused() -> None:
    changed = [*questions()[:3], {**questions()[3], "answer": "Ten."}]
    with pytest.raises(sy.InputError, match="verdicts by people are by another gold answer to '4' than the questions"):
        sy.evaluate(changed, outputs(), "answer_recall", verdicts=verdicts(*FOUR))
    without = [{"qid": q["qid"], "query": q["query"]} for q in questions()]
    assert sy.evaluate(without, outputs(), "answer_recall", verdicts=verdicts(*FOUR)).means.tolist() == [[0.5]]


@pytest.mark.parametrize(
    ("texts", "parsed"),
    [
        ([], None),
        (["a.parquet"], "a.parquet"),
        (["x=a.parquet", "y=b.parquet,c.parquet"], {"x": ["a.parquet"], "y": ["b.parquet", "c.parquet"]}),
    ],
)
def test_verdicts_are_named_on_the_command_line(texts: list[str], parsed: object) -> None:
    assert named_verdicts(texts) == parsed


@pytest.mark.parametrize("texts", [["a.parquet", "b.parquet"], ["x=a.parquet", "x=b.parquet"]])
def test_names_of_verdicts_come_once_each(texts: list[str]) -> None:
    with pytest.raises(sy.InputError, match="name the system that they are of, each once: NAME=FILE"):
        named_verdicts(texts)


@pytest.fixture
def judges_asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Judges that were asked, each time."""
    asked: list[object] = []
    plain = judging.judge_answers

    def listening(questions: Any, outputs: Any, judge: Any, *options: Any, **more: Any) -> Any:
        asked.extend([] if judge is None else [judge])
        return plain(questions, outputs, judge, *options, **more)

    monkeypatch.setattr(judging, "judge_answers", listening)
    return asked


def test_the_lexical_judge_judges_where_there_are_no_verdicts(judges_asked: list[object]) -> None:
    answer = "There are nine [c]. Whales sing in Spanish."
    scores = sy.evaluate(BOTH, outputs(answer=answer), ["ndcg@5", "faithfulness", "citation_validity"])
    assert scores.means.tolist() == [[1, 0.5, 1]]
    assert [judge.name for judge in judges_asked] == ["lexical"]  # type: ignore[attr-defined]
    assert [note.code for note in scores.notes["run"]] == ["judged_by_default", "judge_uncalibrated"]
    (recipe,) = scores.recipe["verdicts"]["run"]
    assert recipe["judge"]["name"] == "lexical"
    assert {"version", "threshold"} <= recipe["judge"].keys()
    assert recipe["calibration"] is None
    assert sy.evaluate(BOTH, outputs(answer=answer), "faithfulness", judge="lexical").means.tolist() == [[0.5]]
    with pytest.raises(sy.InputError, match=r"run: has no verdicts by 'llm'; judge it first \(steelyard judge"):
        sy.evaluate(BOTH, outputs(), "faithfulness", judge="llm")


def test_no_judge_is_asked_where_none_is_needed(judges_asked: list[object]) -> None:
    names = ["exact_match", "token_f1", "contains", "citation_coverage", "citation_validity", "abstention_recall"]
    scores = sy.evaluate(BOTH, outputs(answer="Nine [c]."), [*names, "ndcg@5"])
    assert scores.values[0, :5].tolist() == [[1, 1, 1, 0]] * 3 + [pytest.approx([1, 1, 1, np.nan], nan_ok=True)] * 2
    assert "verdicts" not in scores.recipe
    assert "run" not in scores.notes
    sy.evaluate(BOTH, outputs(), ["ndcg@5", "mrr"])
    assert judges_asked == []


def test_answers_are_the_default_where_nothing_else_can_be_weighed() -> None:
    lines = outputs(answer="There are nine [c].")
    assert [str(m) for m in sy.evaluate(questions(), lines).measures] == list(defaults.MEASURES.of_answers)
    uncited = sy.evaluate(questions(), outputs(answer="There are nine."))
    assert [str(m) for m in uncited.measures] == list(defaults.MEASURES.of_answers[:-1])
    bare = [{"qid": q["qid"], "query": q["query"]} for q in questions()]
    assert [str(m) for m in sy.evaluate(bare, lines).measures] == ["faithfulness", "citation_validity"]
    both = [*defaults.MEASURES.by_evidence[:3], *defaults.MEASURES.beside]
    assert [str(m) for m in sy.evaluate(BOTH, lines).measures] == both
    silent = [{name: value for name, value in line.items() if name != "answer"} for line in lines]
    assert [str(m) for m in sy.evaluate(bare, silent).measures] == list(defaults.MEASURES.by_evidence)


ALONE = [{"qid": str(q), "answer": "Nine."} for q in range(1, 5)]
ROWS = [{"user_input": f"How many {what}?", "response": "Nine.", "reference": "Nine."} for what in ("cats", "dogs")]


@pytest.mark.parametrize(("truth", "run"), [(questions(), ALONE), (ROWS, ROWS)])
def test_answers_without_what_was_retrieved_have_an_unknown_context(truth: Any, run: Any, tmp_path: Path) -> None:
    (path := tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in run))
    for outputs_ in (run, path):
        scores = sy.evaluate(truth, outputs_, ["faithfulness", "exact_match", "answer_recall"])
        assert scores.means[0, 1:].tolist() == [1, 1]
        assert set(scores.frame.filter(measure="faithfulness")["status"]) == {"no_context"}
    assert [str(m) for m in sy.evaluate(truth, run).measures] == ["answer_f1", "answer_precision", "answer_recall"]


@pytest.mark.parametrize("of_rows", [True, False])
def test_one_answer_without_what_was_retrieved_has_an_unknown_context(of_rows: bool, tmp_path: Path) -> None:
    lists = [["There are nine cats."], [], None]
    if of_rows:
        row = {"response": "There are nine cats."}
        data = [row | {"query_id": str(n), "user_input": "?", "retrieved_contexts": t} for n, t in enumerate(lists)]
        truth: Any = data
    else:
        data = [
            {"qid": str(n), "retrieved": texts and [{"id": "c", "text": texts[0]}], "answer": "There are nine cats."}
            for n, texts in enumerate(lists)
        ]
        truth = [{"qid": str(n), "query": "?"} for n in range(3)]
    (path := tmp_path / "run.json").write_text(json.dumps(data))
    (lines := tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in data))
    for outputs_ in (data, lines, *([path] if of_rows else [])):
        scores = sy.evaluate(truth, outputs_, "faithfulness").frame
        assert scores.select("value", "status").rows() == [(1, "ok"), (0, "ok"), (None, "no_context")]


@pytest.mark.parametrize("list_first", [True, False])
def test_what_a_system_gave_may_stand_under_the_questions(list_first: bool) -> None:
    gold = [{"qid": "q1", "query": "How many?", "answer": "Nine cats."}]
    given = {"contexts": ["There are nine cats."], "answer": "There are nine cats [1]."}
    responses = {"q1": given if list_first else dict(reversed(given.items()))}
    for runs in (responses, {"a": sy.Outputs(responses)}):
        assert sy.evaluate(gold, runs, ["faithfulness", "citation_support"]).means.tolist() == [[1, 1]]
    assert sy.judge(gold, responses).counts["supported"] == 1
    assert sy.evaluate(gold, {"q1": {"answer": "Nine cats."}}, "exact_match").means.tolist() == [[1]]
    assert sy.evaluate({"q1": {"answer": 1}}, {"q1": {"answer": 0.5, "context": 0.4}}, "mrr").means.tolist() == [[1]]


def test_gold_answers_are_those_of_the_queries_or_of_the_gold() -> None:
    tags = [{"qid": q["qid"], "query": q["query"], "tags": ["x"]} for q in questions()]
    other = [{**q, "answer": "Ten."} for q in questions()]
    for queries, value in ((None, 1), (tags, 1), (other, 0)):
        scores = sy.evaluate(BOTH, outputs(answered=4), "exact_match", questions=queries)
        assert scores.means.tolist() == [[value]]


def test_documents_are_weighed_beside_answers_that_rest_on_chunks() -> None:
    chunks = [{"id": f"d#{n}", "doc": "d", "text": text} for n, text in enumerate(("Two.", "Nine."))]
    lines = [{"qid": "1", "retrieved": chunks, "answer": "There are nine [d#1]."}]
    gold = [{"qid": "1", "query": "How many?", "evidence": [{"doc": "d"}], "answer": "Nine."}]
    scores = sy.evaluate(gold, lines, ["recall@1", "citation_validity", "context_precision"])
    assert scores.recipe["unit"] == "document"
    assert scores.means.tolist() == [[1, 1, 0.5]]


def test_a_comparison_without_gold_is_by_what_is_defined() -> None:
    pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")
    for truth, runs, measure in (
        (questions(), {"a": outputs(), "b": outputs()}, "faithfulness"),
        (questions(), {"a": ALONE, "b": ALONE}, "answer_f1"),
    ):
        assert [str(m) for m in sy.compare(sy.weigh(truth, runs)).measures] == [measure]


def test_rankings_of_answers_alone_are_refused() -> None:
    with pytest.raises(sy.MeasureError, match="run: mrr is of what was retrieved, and the run has answers alone"):
        sy.evaluate(BOTH, ALONE, "mrr")
    with pytest.raises(sy.InputError, match="run, result 1: `retrieved` must be a list"):
        sy.evaluate(BOTH, [ALONE[0], *outputs()[1:]], "exact_match")


def test_verdicts_of_the_default_judge_on_an_earlier_run_are_given_again(tmp_path: Path) -> None:
    (asked := tmp_path / "q.jsonl").write_text("".join(json.dumps(question) + "\n" for question in questions()))
    folder = run_folder(tmp_path / "hybrid")
    judge_run(str(asked), str(folder), "lexical")
    path = folder / "outputs.jsonl"
    path.write_text(path.read_text().replace("Nine.", "Nobody knows."))
    scores = sy.evaluate(asked, folder, "faithfulness")
    assert next(note.code for note in scores.notes["hybrid"]) == "judged_by_default"
