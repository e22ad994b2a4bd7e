"""Held-out questions: which ones, that clusters stay together, and that they enter no result."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.data.hold_out import is_held_out, parted
from steelyard.experiment.judging import judge_run
from steelyard.experiment.table.json import read_scores
from steelyard.experiment.table.scores import Scores
from steelyard.judges.judging import JudgeOptions
from tests.cli.command import steelyard
from tests.hypothesis_profiles import examples

IDS = [f"q{i}" for i in range(40)]
TRUTH = {q: {f"d{i}": 1.0} for i, q in enumerate(IDS)}
RUN = {q: ["x", f"d{i}"] if i % 3 else [f"d{i}"] for i, q in enumerate(IDS)}


@pytest.mark.parametrize(
    ("name", "below", "above"),
    [("q1", 0.8829, 0.8830), ("q2", 0.2536, 0.2537), ("问题", 0.1532, 0.1533), ("", 0.2409, 0.2410)],
)
def test_vectors(name: str, below: float, above: float) -> None:
    """The hash must never change: the questions that were held out would be seen."""
    assert not is_held_out(name, below)
    assert is_held_out(name, above)


@examples(100)
@given(st.text(), st.floats(0.01, 0.98), st.floats(0, 0.01))
def test_a_larger_share_holds_out_the_same_and_more(name: str, share: float, more: float) -> None:
    assert is_held_out(name, share + more) >= is_held_out(name, share)


def test_about_the_share_is_held_out() -> None:
    counts = [sum(is_held_out(f"{kind}{i}", 0.3) for i in range(4000)) for kind in ("q", "question-", "问")]
    assert all(abs(n - 1200) < 4 * (4000 * 0.21) ** 0.5 for n in counts)


def test_what_is_held_out_enters_no_result() -> None:
    of_all, of_open = (sy.evaluate(TRUTH, RUN, "mrr", **options) for options in ({}, {"hold_out": 0.3}))
    held = {q for q in IDS if is_held_out(q, 0.3)}
    assert set(of_open.query_ids) == set(IDS) - held
    assert of_open.held_out is not None
    assert set(of_open.held_out.query_ids) == held
    values = dict(zip(of_all.query_ids, of_all.values[0, 0].tolist(), strict=True))
    for part in (of_open, of_open.held_out):
        assert part.values[0, 0].tolist() == [values[q] for q in part.query_ids]
    assert of_open.unjudged_queries.tolist() == [0]
    assert of_all.held_out is None
    digests = {part.signature.truth for part in (of_all, of_open, of_open.held_out)}
    assert len(digests) == 3
    assert "hold_out:0.3" in str(of_open.signature)
    assert [note.values for note in of_open.notes["run"] if note.code == "questions_held_out"] == [
        {"n": len(held), "total": 40}
    ]


def test_clusters_stay_together() -> None:
    talks = {q: f"talk {i // 4}" for i, q in enumerate(IDS)}
    scores = sy.evaluate(TRUTH, RUN, "mrr", hold_out=0.5, cluster=talks)
    assert {talks[q] for q in scores.query_ids} == {talk for talk in talks.values() if not is_held_out(talk, 0.5)}
    by_question = sy.evaluate(TRUTH, RUN, "mrr", hold_out=0.5, cluster="none")
    assert set(by_question.query_ids) == {q for q in IDS if not is_held_out(q, 0.5)}


def test_turns_of_a_conversation_stay_together() -> None:
    rows = [{"qid": q, "query": "?", "conversation": f"c{i // 5}"} for i, q in enumerate(IDS)]
    questions = {row["qid"]: row["conversation"] for row in rows}
    scores = sy.evaluate(TRUTH, RUN, "mrr", hold_out=0.5, questions=rows)
    assert {questions[q] for q in scores.query_ids}.isdisjoint(
        questions[q] for q in IDS if q not in set(scores.query_ids)
    )


def test_too_few_are_refused() -> None:
    with pytest.raises(InputError, match=r"hold_out 0\.3 would hold out \d of 2 questions"):
        parted(sy.Truth({"q1": {"d": 1}, "q2": {"d": 1}}), 0.3, cluster=None, questions={})
    with pytest.raises(InputError, match="hold_out must be a share above 0 and below 1"):
        sy.evaluate(TRUTH, RUN, "mrr", hold_out=30)


def test_parts_of_scores_hold_out_the_same() -> None:
    of_open = sy.evaluate(TRUTH, {"a": RUN, "b": RUN}, ["mrr", "recall@1"], hold_out=0.3)
    part = of_open.filter(systems=["b"], measures=["recall@1"])
    assert of_open.held_out is not None
    assert part.held_out is not None
    assert (list(part.held_out.systems), part.held_out.values.shape[1]) == (["b"], 1)
    assert part.held_out.values[0, 0].tolist() == of_open.held_out.values[1, 1].tolist()
    assert of_open.filter(query_ids=list(of_open.query_ids[:5])).held_out is None
    gate = sy.gate(of_open, baseline="a", margin=0.1, measures=["mrr"])
    assert gate.scores is not None
    assert gate.scores.held_out is not None


def test_results_with_and_without_are_not_compared(tmp_path: Path) -> None:
    of_open, of_all = sy.evaluate(TRUTH, RUN, "mrr", hold_out=0.3), sy.evaluate(TRUTH, {"b": RUN}, "mrr")
    of_all.write(tmp_path / "all.json")
    with pytest.raises(InputError, match=r"hold_out is 0\.3 for the scores and None for the baseline"):
        sy.gate(of_open, baseline=tmp_path / "all.json", margin=0.1)
    with pytest.raises(InputError, match="scores of different hold_out"):
        Scores.concat([of_open, of_all])


def test_scores_that_are_read_again_say_so_and_hold_nothing_of_it(tmp_path: Path) -> None:
    of_open = sy.evaluate(TRUTH, RUN, "mrr", hold_out=0.3)
    of_open.write(tmp_path / "open.json")
    again = read_scores(tmp_path / "open.json")
    assert again.held_out is None
    assert str(again.signature) == str(of_open.signature)
    assert not any(f'"{q}"' in (tmp_path / "open.json").read_text() for q in IDS if is_held_out(q, 0.3))
    assert np.array_equal(again.values, of_open.values)


def test_judge_shows_the_open_answers_and_keeps_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chunk = {"id": "h#1", "text": "It opens at 9."}
    rows = [{"qid": q, "query": "When?", "retrieved": [chunk], "answer": "It opens at 9 [h#1]."} for q in IDS[:12]]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = "judge answers.jsonl run=answers.jsonl --into all.parquet --hold-out 40%"
    done = steelyard(*words.split(), environment={"LC_ALL": "C.UTF-8"})
    held = {q for q in IDS[:12] if is_held_out(q, 0.4)}
    printed, _, following = done.stdout.decode().partition("Next: ")
    run = judge_run("answers.jsonl", "run=answers.jsonl", options=JudgeOptions(save="all.parquet"))
    assert printed == run.without_held_out(0.4).text(lang="en", width=80)
    assert f"{12 - len(held)} answers" in printed
    assert following.rstrip().endswith("--hold-out 0.4")
    assert set(sy.Verdicts.read("all.parquet").records) == set(IDS[:12])
    again = steelyard(*following.split()[1:], environment={"LC_ALL": "C.UTF-8"})
    assert f"n={12 - len(held)}" in again.stdout.decode()
    refused = steelyard("judge", "answers.jsonl", "--pairwise", "answers.jsonl", "--judge", "llm", "--hold-out", "0.4")
    assert b"--hold-out is of one system's answers" in refused.stderr
