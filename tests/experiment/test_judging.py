"""Answers judged from paths and objects, and where their verdicts are kept."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from steelyard.base.errors import InputError, OutputError
from steelyard.data.folders.run_folder import RunFolder
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.experiment.judging import judge, judge_run, plan_judging
from steelyard.judges.judging import JudgeOptions
from steelyard.judges.tables.verdicts import FOLDER, Verdicts
from steelyard.judges.verdict import VerdictTable
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.rag.stages.generation import Extractive
from tests.judges.fakes import Within
from tests.judges.own_judges import within
from tests.rag.small import QUESTIONS, TEXTS, Common, Stops

SUPPORT: list[VerdictTable] = ["support"]
ASKED = [{"qid": "q1", "query": "When?", "answer": "At 9."}, {"qid": "q2", "query": "Where?"}]
CHUNKS = [{"id": "h#1", "text": "It opens at 9."}]
LINES: list[dict[str, Any]] = [
    {"qid": "q1", "retrieved": CHUNKS, "answer": "It opens at 9 [h#1]. It has a café."},
    {"qid": "q2", "retrieved": CHUNKS, "answer": "In town."},
]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run whose pipeline answers."""
    pipeline = Pipeline(TEXTS, chunk=Stops(), index=Common(), generate=Extractive(), k=2, name="mine")
    return pipeline.run(QUESTIONS, tmp_path / "runs" / "mine")


def _files(tmp_path: Path) -> tuple[Path, Path]:
    questions, outputs = tmp_path / "questions.jsonl", tmp_path / "mine.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in ASKED), encoding="utf-8")
    outputs.write_text("".join(json.dumps(line) + "\n" for line in LINES), encoding="utf-8")
    return questions, outputs


def test_paths_and_objects_give_the_same_verdicts(tmp_path: Path) -> None:
    questions, outputs = _files(tmp_path)
    forms: list[tuple[Any, Any]] = [
        (ASKED, LINES), (questions, outputs), (str(questions), str(outputs)), (Questions(ASKED), Outputs(LINES)),
        (iter(ASKED), iter(LINES)), (ASKED, {"mine": LINES}), (questions, f"mine={outputs}"),
    ]  # fmt: skip
    verdicts = [judge(*form, judge=within) for form in forms]
    assert all(other.records == verdicts[0].records for other in verdicts)
    assert verdicts[0].units["verdict"].to_list() == ["supported", "not_found", "not_found"]
    assert {other.recipe["system"] for other in verdicts} == {"run", "mine"}


def test_rows_of_other_tools_are_questions_and_outputs_in_one() -> None:
    rows = [{"user_input": "When?", "response": "It opens at 9.", "retrieved_contexts": ["It opens at 9. Closed on 1."],
             "reference": "It opens at 9."}]  # fmt: skip
    record = next(iter(judge(rows, rows, judge=within).records.values()))
    assert [[verdict.label for verdict in row] for row in record.support] == [["supported"]]
    assert [verdict and verdict.label for verdict in record.said] == ["supported"]


def test_verdicts_on_a_run_are_kept_in_its_folder(folder: RunFolder) -> None:
    run = judge_run(QUESTIONS, folder.path, within, JudgeOptions(tables=SUPPORT))
    assert run.file == folder.path / FOLDER / "within.parquet"
    assert Verdicts.read(run.file) == run.verdicts
    run.verdicts.check_outputs(Outputs.read(folder.path).digest(), "mine")
    assert os.listdir(folder.path / FOLDER) == ["within.parquet"]
    again = judge(QUESTIONS, folder.path, within, save=False, tables=SUPPORT)
    assert again.records == run.verdicts.records


def test_nothing_is_kept_of_what_is_no_run_or_is_not_to_be_saved(folder: RunFolder, tmp_path: Path) -> None:
    judge(QUESTIONS, folder.path, within, save=False)
    judge(ASKED, LINES, within)
    assert not (folder.path / FOLDER).exists()
    file = tmp_path / "v.parquet"
    verdicts = judge(ASKED, LINES, within, save=file)
    assert Verdicts.read(file) == verdicts


def test_a_judge_that_fails_leaves_the_verdicts_that_are_there(folder: RunFolder) -> None:
    judge(QUESTIONS, folder.path, within)
    file = folder.path / FOLDER / "within.parquet"
    before = file.read_bytes()

    def fail(pairs: object) -> list[bool]:
        raise RuntimeError("no")

    fail.__qualname__ = "within"
    with pytest.raises(InputError, match="judge within: raised RuntimeError: no"):
        judge(QUESTIONS, folder.path, fail)
    assert file.read_bytes() == before
    assert os.listdir(folder.path / FOLDER) == ["within.parquet"]


def test_another_process_that_judges_into_the_folder_is_named(folder: RunFolder) -> None:
    program = f"""
import sys, time
from pathlib import Path
from steelyard.data.folders.run_lock import run_lock
with run_lock(Path({str(folder.path / FOLDER)!r})):
    print("held", flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(OutputError, match=f"is being written by process {other.pid} .* wait until it has ended"):
            judge(QUESTIONS, folder.path, within)
        other.communicate()
    judge(QUESTIONS, folder.path, within)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_judged(folder: RunFolder) -> None:
    asked = Within()
    folder.path.chmod(0o500)
    try:
        with pytest.raises(OutputError, match="cannot be"):
            judge(QUESTIONS, folder.path, asked)
    finally:
        folder.path.chmod(0o700)
    assert asked.cases == []


_REFUSED: list[tuple[Any, Any, Any, dict[str, Any], str]] = [
    (
        ASKED,
        [{"qid": "q1", "retrieved": CHUNKS}],
        within,
        {},
        "run: has no answers to judge; give outputs with `answer`",
    ),
    (ASKED, {"q1": {"h#1": 1.0}}, within, {}, "run: has no answers to judge"),
    (
        ASKED,
        {"a": LINES, "b": LINES},
        within,
        {},
        "outputs: there are 2 runs; judge the answers of one system at a time",
    ),
    (7, LINES, within, {}, "questions: cannot be read from int"),
    ("absent.jsonl", LINES, within, {}, "absent.jsonl"),
    (ASKED, "absent.jsonl", within, {}, "absent.jsonl"),
    (ASKED, LINES, "lexicle", {}, "no judge is called 'lexicle'"),
    (ASKED, LINES, within, {"threshold": 7}, "judge within: threshold must be a number from 0 to 1, not 7"),
    (ASKED, LINES, within, {"save": "/dev/null/v.parquet"}, "/dev/null: is no folder; keep"),
    (ASKED, LINES, within, {"tables": "support"}, r"tables are 'support'; give a list of names, such as \['support'\]"),
    (ASKED, LINES, within, {"tables": None}, "tables are None; give a list of names"),
    (ASKED, LINES, within, {"save": None}, "save is None; give True, False, or the path of a file"),
    (ASKED, LINES, within, {"tables": ["suport"]}, "no table is called 'suport'; did you mean support"),
    (ASKED, LINES, within, {"tables": []}, "no table is to be judged"),
]


@pytest.mark.parametrize(("questions", "outputs", "judged_by", "options", "message"), _REFUSED)
def test_what_cannot_be_judged_says_why(
    questions: Any, outputs: Any, judged_by: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((InputError, OutputError), match=message):
        judge(questions, outputs, judged_by, **options)


def test_a_plan_asks_nobody_and_counts_what_judging_asks(folder: RunFolder) -> None:
    asked = Within()
    plan = plan_judging(ASKED, LINES, asked)
    assert asked.cases == []
    judge(ASKED, LINES, asked)
    assert (plan.judge, plan.n_answers, plan.n_cases) == ("within", 2, len(asked.cases))
    assert plan.n_verdicts == sum(len(case.hypotheses) for case in asked.cases)
    assert plan.n_calls is None
    plan_judging(QUESTIONS, folder.path, asked)
    assert not (folder.path / FOLDER).exists()


def test_the_lock_is_given_back(folder: RunFolder) -> None:
    judge(QUESTIONS, folder.path, within)
    with run_lock(folder.path / FOLDER):
        pass
