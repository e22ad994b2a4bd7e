"""Self-tests of a judge: on bundled texts in both languages, or on questions and outputs of the user's own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from steelyard.base import defaults
from steelyard.base.errors import InputError
from steelyard.base.progress import Progress, no_progress
from steelyard.experiment.door.opening import open_answers
from steelyard.experiment.judging import JudgingPlan
from steelyard.experiment.lending import calibrated_settings, kept, lent, model_files
from steelyard.judges.answers.drafting import drafts
from steelyard.judges.judging import judge_recipe
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.self_tests import SelfTests
from steelyard.judges.trials.running import cases_to_ask, run_trials
from steelyard.judges.trials.trials import Trial, materials, trials

BUNDLED = "bundled"
_N_OTHERS = 2
"""Sections of other documents in the context of a bundled question."""


def self_test(
    judge: object = defaults.JUDGE,
    questions: object = None,
    outputs: object = None,
    *,
    n: int = defaults.TRIALS,
    seed: int = defaults.SEED,
    calibration: Calibration | str | Path | None = None,
    keep: str | Path | None = None,
    progress: Progress = no_progress,
    **settings: Any,
) -> SelfTests:
    """Try a judge where the right verdict is known without people.

    judge       as of `sy.judge`
    questions, outputs   what the trials are made of, as of `sy.judge`: gold answers, contexts and answers, as far as
                they are there; both None for bundled texts in English and Chinese
    n           trials of each test, at most; each is of another question
    seed        of the draw of questions
    calibration   of the judge: its threshold counts; where it is a file, the results are kept in it
    keep        a folder in which a model's answers are kept, and its calls logged; None keeps nothing
    progress    called as progress("cases", done, total), or with the calls of a judge that asks a model
    settings    of the judge, such as threshold, model, base_url, concurrency, budget
    Raises      InputError and its children, also for a calibration of another judge; StageError where a model cannot
                be asked; OutputError where the calibration cannot be written

    >>> tests = self_test("lexical")
    >>> tests.frame.filter(name="gold").select("n", "n_failed", "result").row(0)
    (100, 0, 'passed')
    """
    opened, settings_of_it = calibrated_settings(judge, settings, calibration)
    listed, facts = _trials(questions, outputs, n, seed)
    with lent(judge, settings_of_it, _model_files(keep), progress) as own_judge:
        tests = run_trials(own_judge, listed, calibration=opened, facts=facts, progress=progress)
    if opened is not None and isinstance(calibration, str | os.PathLike):
        opened.with_self_tests(tuple(tests.tests)).write(calibration)
    return tests


def plan_self_test(
    judge: object = defaults.JUDGE,
    questions: object = None,
    outputs: object = None,
    *,
    n: int = defaults.TRIALS,
    seed: int = defaults.SEED,
    calibration: Calibration | str | Path | None = None,
    keep: str | Path | None = None,
    **settings: Any,
) -> JudgingPlan:
    """Estimate what `self_test` would take with these arguments; no judge is asked, and nothing is written."""
    opened, settings_of_it = calibrated_settings(judge, settings, calibration)
    listed, facts = _trials(questions, outputs, n, seed)
    cases, again = cases_to_ask(listed)
    with lent(judge, settings_of_it, kept(_model_files(keep)), no_progress) as own_judge:
        judge_recipe(own_judge, opened)
        plan = getattr(own_judge, "plan", None)
        calls = asdict(plan(cases, again=again)) if callable(plan) else {}
    n_asked = len(cases) + len(again)
    return JudgingPlan(own_judge.name, facts["n_questions"], n_asked, n_asked, **calls)


def _trials(questions: object, outputs: object, n: int, seed: int) -> tuple[list[Trial], dict[str, Any]]:
    """The trials, and what the result says of where they are from."""
    if n < 1:
        raise InputError(f"n is {n}; give at least one trial of each test")
    if (questions is None) != (outputs is None):
        raise InputError("self-tests need questions and outputs, or neither, for the bundled texts")
    if questions is None:
        questions, outputs = _bundled()
        data: dict[str, Any] = {"data": BUNDLED}
    else:
        data = {}
    asked, system = open_answers(questions, outputs)
    answered = system.answered()
    data = data or {"data": system.name, "outputs": answered.digest(), "questions": asked.digest()}
    listed = trials(materials(drafts(asked, answered)), n=n, seed=seed)
    n_questions = len({trial.query_id for trial in listed})
    return listed, {**data, "seed": seed, "n_questions": n_questions}


def _model_files(keep: str | Path | None) -> Mapping[str, Path]:
    """Files of a model's answers and of the log of its calls."""
    return {} if keep is None else model_files(Path(keep) / "selftest")


def _bundled() -> tuple[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]]:
    """Bundled questions, and outputs that answer them by their gold answer, from sections of the documents."""
    folder = files("steelyard") / "demo_data"
    lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [question for line in lines if (question := json.loads(line))["evidence"]]
    sections = dict(_sections(folder / "documents"))
    return questions, [_output(question, place, sections) for place, question in enumerate(questions)]


def _sections(folder: Any) -> Iterator[tuple[str, str]]:
    """Sections of the bundled documents by id, such as "en-membership#2"."""
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        for place, text in enumerate(file.read_text("utf-8").split("\n## ")):
            yield f"{file.name.removesuffix('.md')}#{place}", text.strip()


def _output(question: Mapping[str, Any], place: int, sections: Mapping[str, str]) -> dict[str, Any]:
    """The sections that hold the evidence, then some of other documents in the language of the question."""
    evidence = question["evidence"]
    gold = {
        id: text
        for piece in evidence
        for id, text in sections.items()
        if id.startswith(f"{piece['doc']}#") and piece["quote"] in text
    }
    documents = {piece["doc"] for piece in evidence}
    language = question["qid"][:2]
    others = [id for id in sections if id.startswith(language) and id.partition("#")[0] not in documents]
    places = [(place * _N_OTHERS + n) % len(others) for n in range(_N_OTHERS)]
    retrieved = gold | {others[n]: sections[others[n]] for n in places}
    return {
        "qid": question["qid"],
        "answer": question["gold_answer"],
        "retrieved": [{"id": id, "text": text} for id, text in retrieved.items()],
    }
