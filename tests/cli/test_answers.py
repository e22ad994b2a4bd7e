"""Measures of answers on the command line: as in Python, by verdicts in files, in run folders, or judged now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.experiment.table.json import as_json
from steelyard.judges.tables.verdicts import Verdicts
from tests.cli.command import steelyard
from tests.experiment import judged, labelled
from tests.experiment.test_answers import run_folder

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")

N = 20


def lines(path: Path, items: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Questions, two systems, and verdicts on each by another judge."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "questions.jsonl", judged.questions(N, gold_evidence=["c"]))
    lines(tmp_path / "a.jsonl", judged.outputs(N, answered=N))
    lines(tmp_path / "b.jsonl", judged.outputs(N, answered=N, answer="Ten."))
    for name, marks, recipe in (("a", "YY", {}), ("b", "Y?", {"judge": {"name": "llm", "model": "m"}})):
        records = (judged.record(str(q), marks if q % 3 == 0 else "YN", gold="Y") for q in range(1, N + 1))
        judged.verdicts(*records, **recipe).write(tmp_path / f"{name}.parquet")
    return tmp_path


BOTH = ("--verdicts", "a=a.parquet", "--verdicts", "b=b.parquet")


def test_labels_correct_means_unless_they_shall_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = Verdicts(labelled.answers(60), judged.PEOPLE)
    lines(tmp_path / "questions.jsonl", labelled.questions(60))
    lines(tmp_path / "run.jsonl", labelled.outputs(60))
    own.write("verdicts.parquet")
    labelled.review(own, ["grounded"], 40, labelled.stricter).write("labels.json")
    weigh = ("evaluate", "questions.jsonl", "run.jsonl", "-m", "faithfulness", "--verdicts", "verdicts.parquet")
    labels = ("--labels", "labels.json")
    measures, options = ["faithfulness"], {"verdicts": "verdicts.parquet", "labels": "labels.json"}
    assert said(*weigh, *labels, "-f", "json") == as_json(
        sy.evaluate("questions.jsonl", "run.jsonl", measures, **options)  # type: ignore[arg-type]
    )
    assert "people alone" in said(*weigh, *labels, "-v")
    assert said(*weigh, "--no-labels") == said(*weigh)
    assert "--no-labels" in said(*weigh, *labels, "--no-labels", status=2)


def said(*words: object, status: int = 0) -> str:
    done = steelyard(*words, "--lang", "en", columns=4000)
    assert done.returncode == status, done.stderr.decode()
    return (done.stdout if status in (0, 1, 3) and not done.stderr else done.stderr).decode()


def test_evaluate_says_what_python_says(files: Path) -> None:
    text = said(
        "evaluate", "questions.jsonl", "a.jsonl", "b.jsonl", "-m", "faithfulness", "-m", "mrr", "-f", "json", *BOTH
    )
    scores = sy.evaluate(
        "questions.jsonl",
        ["a.jsonl", "b.jsonl"],
        ["faithfulness", "mrr"],
        verdicts={"a": "a.parquet", "b": "b.parquet"},
    )
    assert text == as_json(scores)
    one = said("evaluate", "questions.jsonl", "a.jsonl", "-m", "faithfulness", "--verdicts", "a.parquet", "-v")
    assert "Verdicts on the answers: by people." in one
    default = said("evaluate", "questions.jsonl", "a.jsonl", "-m", "faithfulness")
    assert "There were no verdicts on the answers, so the lexical judge gave some" in default


def test_compare_takes_off_what_anchors_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verdicts on other runs, which nobody else shares a sentence with, and the same answers by both judges."""
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "questions.jsonl", labelled.questions(60))
    records = labelled.answers(60)
    other = {"judge": {"name": "llm", "model": "m"}}
    lenient = [labelled.record(str(q), [0.9, 0.9], answer="B.", context_digests=(f"b{q}",)) for q in range(60)]
    for name, own, recipe in (("a", records, judged.PEOPLE), ("b", lenient, other), ("old", records, judged.PEOPLE),
                              ("new", labelled.answers(60), other)):  # fmt: skip
        Verdicts(own, recipe).write(f"{name}.parquet")
        lines(tmp_path / f"{name}.jsonl", labelled.outputs(60))
    words = ("compare", "questions.jsonl", "a.jsonl", "b.jsonl", "-m", "faithfulness", *BOTH)
    assert "30 at least say how far their judges are apart" in said(*words, status=2)
    taken = said(*words, "--anchors", "old.parquet", "new.parquet", "-v")
    assert "verdicts of both judges on answers that were kept for it" in taken
    assert "none of them is by the judge of b" in said(*words, "--anchors", "old.parquet", "old.parquet", status=2)
    assert "no such file" in said(*words, "--anchors", "old.parquet", "gone.parquet", status=2).lower()


def test_compare_corrects_by_labels_unless_they_shall_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines(tmp_path / "questions.jsonl", labelled.questions(60))
    labels: list[str] = []
    for seed, name in enumerate("ab"):
        own = Verdicts(labelled.answers(60, seed), judged.PEOPLE)
        own.write(f"{name}.parquet")
        lines(tmp_path / f"{name}.jsonl", labelled.outputs(60))
        labelled.review(own, ["grounded"], 40, labelled.stricter, system=name).write(f"{name}.json")
        labels += ["--labels", f"{name}={name}.json"]
    words = ("compare", "questions.jsonl", "a.jsonl", "b.jsonl", "-m", "faithfulness", *BOTH)
    assert "corrected by labels of people (a: 40 labels, b: 40 labels)" in said(*words, *labels)
    assert said(*words, "--no-labels") == said(*words)
    report = ("report", *words[1:], *labels)
    assert "labels of people that correct means" in said(*report, "-v")


def test_compare_and_report_refuse_two_judges_unless_told(files: Path) -> None:
    for command in ("compare", "report"):
        words = (command, "questions.jsonl", "a.jsonl", "b.jsonl", "-m", "faithfulness", *BOTH)
        refusal = said(*words, status=2)
        assert "a and b were judged differently: judge.name is 'people' and 'llm'" in refusal
        assert "Traceback" not in refusal
        assert "Caution: a and b were judged differently" in said(*words, "--mixed-judges")


def test_a_gate_holds_what_is_not_judged_to_its_bound(files: Path) -> None:
    said("evaluate", "questions.jsonl", "a.jsonl", "b.jsonl", "-m", "faithfulness", "-o", "s.json", *BOTH)
    n = N // 3
    for bound, status in ((n / N, 0), (n / N - 0.01, 1)):
        text = said("gate", "s.json", "--system", "b", "--max-not-judged", bound, status=status)
        assert "answers not judged" in text
        assert f"faithfulness: {n} of {N} answers are not judged in full" in text
    refusal = said("gate", "s.json", "--system", "b", "--baseline", "a", "--margin", 0.5, status=2)
    assert "b and a were judged differently" in refusal
    said("gate", "s.json", "--system", "b", "--baseline", "a", "--margin", 0.5, "--mixed-judges", status=0)


def test_verdicts_of_a_run_folder_are_those_that_judge_keeps(files: Path) -> None:
    lines(files / "four.jsonl", judged.questions())
    folder = run_folder(files / "hybrid")
    before = said("evaluate", "four.jsonl", folder, "-m", "faithfulness", "-m", "answer_f1", "-v")
    said("judge", "four.jsonl", folder)
    after = said("evaluate", "four.jsonl", folder, "-m", "faithfulness", "-m", "answer_f1", "-v")
    assert "Verdicts on the answers: by lexical, from lexical.parquet." in after
    assert before.splitlines()[:4] == after.splitlines()[:4]
    assert before.splitlines()[-2] == after.splitlines()[-2]  # The signature.
    assert "from lexical.parquet" in said(
        "evaluate", "four.jsonl", folder, "-m", "faithfulness", "--judge", "lexical", "-v"
    )
    refusal = said("evaluate", "four.jsonl", folder, "-m", "faithfulness", "--judge", "llm", status=2)
    assert refusal == (
        "steelyard: hybrid: has verdicts by lexical, and none by 'llm'; name one that is there, or judge it "
        "(steelyard judge QUESTIONS RUN --judge llm --model gpt-4.1-mini)\n"
    )


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("evaluate", "questions.jsonl", "a.jsonl", "b.jsonl", "--verdicts", "a.parquet"), "there are 2 systems; name"),
        (("evaluate", "questions.jsonl", "a.jsonl", "--verdicts", "c=a.parquet"), "no system is called 'c'"),
        (("evaluate", "questions.jsonl", "a.jsonl", "--verdicts", "none.parquet"), "none.parquet"),
        (("evaluate", "questions.jsonl", "a.jsonl", "--verdicts", "a.jsonl"), "a.jsonl"),
        (
            ("evaluate", "questions.jsonl", "a.jsonl", "--judge", "people"),
            "has no verdicts by 'people'; judge it first",
        ),
    ],
)
def test_mistakes_are_explained(files: Path, words: tuple[str, ...], complaint: str) -> None:
    text = said(*words, "-m", "faithfulness", status=2)
    assert complaint in text
    assert text.count("\n") == 1
