"""Self-tests of a judge: it is asked on bundled texts or on the user's own, and what it says is counted."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from steelyard._version import __version__
from steelyard.base import defaults
from steelyard.base.errors import InputError
from steelyard.base.machine import timestamp
from steelyard.base.progress import Progress, no_progress, usual_progress
from steelyard.experiment.door.opening import open_answers
from steelyard.experiment.judging import JudgingPlan, calibrated_settings, kept, lent, model_files
from steelyard.judges.answers.cases import drafts
from steelyard.judges.asking import Asking
from steelyard.judges.judging import calls_of, judge_recipe
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.registry import JUDGES, make_judge
from steelyard.judges.self_tests import SelfTest, SelfTests
from steelyard.judges.trials.trials import MAKERS, Trial, failure, materials, trials
from steelyard.judges.verdict import Case, Judge, Verdict
from steelyard.stats.labels.raters import wilson_interval

LIMITS: Mapping[str, float] = {**dict.fromkeys(MAKERS, 0.1), "injection": 0.05}
"""Test -> the largest share of failures.  A tenth of wrong verdicts can move a mean by .1; and an
instruction in a document is worded so that it works."""

ROW = {
    "test": pl.String, "query_id": pl.String, "premise": pl.String, "sentence": pl.String, "verdict": pl.String,
    "second_premise": pl.String, "second_sentence": pl.String, "second_verdict": pl.String, "result": pl.String,
}  # fmt: skip


class _Anew:
    """A judge that is asked again what it said before."""

    def __init__(self, judge: Judge) -> None:
        self.name, self.recipe = judge.name, judge.recipe
        self.judge = getattr(judge, "judge_again", judge.judge)


def _row(
    trial: Trial, verdicts: Mapping[Case, Sequence[Verdict]], verdicts_again: Mapping[Case, Sequence[Verdict]]
) -> dict[str, Any]:
    second = trial.first if trial.is_repeated else trial.second
    verdict = verdicts[trial.first][0]
    other = None if second is None else (verdicts_again if trial.is_repeated else verdicts)[second][0]
    labels = [verdict.label, *([] if other is None else [other.label])]
    failed = (
        None if "not_judged" in labels else failure(trial.test, verdict.label, None if other is None else other.label)
    )
    result = "not_judged" if "not_judged" in labels else {None: "no_basis", True: "failed", False: "passed"}[failed]
    return {
        "test": trial.test, "query_id": trial.query_id, "premise": trial.first.premise,
        "sentence": trial.first.hypotheses[0], "verdict": verdict.label,
        "second_premise": None if second is None else second.premise,
        "second_sentence": None if second is None else second.hypotheses[0],
        "second_verdict": None if other is None else other.label, "result": result,
    }  # fmt: skip


def _counted(name: str, rows: Collection[Mapping[str, Any]]) -> SelfTest:
    counts = Counter(row["result"] for row in rows if row["test"] == name)
    n = counts["passed"] + counts["failed"]
    low, high = wilson_interval(counts["failed"], n) if n else (0.0, 1.0)
    return SelfTest(name, n, counts["failed"], low, high, LIMITS[name], counts["not_judged"])


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
    progress: Progress = usual_progress,
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
    options = SelfTestOptions(n=n, seed=seed, calibration=calibration, keep=keep, settings=settings)
    return options.run(judge, questions, outputs, progress)


@dataclass(frozen=True, kw_only=True)
class SelfTestOptions:
    """Options of `self_test`, under the names that they have there."""

    n: int = defaults.TRIALS
    seed: int = defaults.SEED
    calibration: Calibration | str | Path | None = None
    keep: str | Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def run(
        self, judge: object, questions: object = None, outputs: object = None, progress: Progress = usual_progress
    ) -> SelfTests:
        """Try a judge as `self_test` does."""
        opened, settings = calibrated_settings(judge, self.settings, self.calibration)
        listed, facts = self._trials(questions, outputs)
        with lent(judge, settings, self._files(), progress, make_judge, JUDGES) as own_judge:
            tests = _tests(own_judge, listed, opened, facts, progress)
        if opened is not None and isinstance(self.calibration, str | os.PathLike):
            opened.with_self_tests(tuple(tests.tests)).write(self.calibration)
        return tests

    def plan(self, judge: object, questions: object = None, outputs: object = None) -> JudgingPlan:
        """Estimate what `run` would take; no judge is asked, and nothing is written."""
        opened, settings = calibrated_settings(judge, self.settings, self.calibration)
        listed, facts = self._trials(questions, outputs)
        cases, again = _cases(listed)
        with lent(judge, settings, kept(self._files()), no_progress, make_judge, JUDGES) as own_judge:
            judge_recipe(own_judge, opened)
            plan = getattr(own_judge, "plan", None)
            calls = asdict(plan(cases, again=again)) if callable(plan) else {}
        n_asked = len(cases) + len(again)
        return JudgingPlan(own_judge.name, facts["n_questions"], n_asked, n_asked, **calls)

    def _files(self) -> Mapping[str, Path]:
        """Files of a model's answers and of the log of its calls."""
        return {} if self.keep is None else model_files(Path(self.keep) / "selftest")

    def _trials(self, questions: object, outputs: object) -> tuple[list[Trial], dict[str, Any]]:
        """The trials, and what the result says of where they are from."""
        if self.n < 1:
            raise InputError(f"n is {self.n}; give at least one trial of each test")
        if (questions is None) != (outputs is None):
            raise InputError("self-tests need questions and outputs, or neither, for the bundled texts")
        is_bundled = questions is None
        asked, system = open_answers(*(_bundled() if is_bundled else (questions, outputs)))
        answered = system.answered()
        own = {"data": system.name, "outputs": answered.digest(), "questions": asked.digest()}
        listed = trials(materials(drafts(asked, answered)), n=self.n, seed=self.seed)
        n_questions = len({trial.query_id for trial in listed})
        return listed, {**({"data": BUNDLED} if is_bundled else own), "seed": self.seed, "n_questions": n_questions}


def _cases(listed: Sequence[Trial]) -> tuple[list[Case], list[Case]]:
    """Cases of these trials, and those that are asked a second time; each once."""
    once = [case for trial in listed for case in (trial.first, trial.second) if case is not None]
    return list(dict.fromkeys(once)), list(dict.fromkeys(trial.first for trial in listed if trial.is_repeated))


def _tests(
    judge: Judge, listed: Sequence[Trial], calibration: Calibration | None, facts: Mapping[str, Any], progress: Progress
) -> SelfTests:
    """Ask a judge, and count what went wrong.

    facts   what the result says of where the trials are from
    """
    if not listed:
        raise InputError("there is nothing to test a judge on; give questions with gold answers, or outputs with texts")
    recipe = judge_recipe(judge, calibration)
    cases, again = _cases(listed)
    asking, asking_again = Asking(judge), Asking(_Anew(judge))
    verdicts = asking.verdicts(cases, lambda n: progress("cases", n, len(cases) + len(again)))
    asking.refuse_failure()
    verdicts_again = asking_again.verdicts(again, lambda n: progress("cases", len(cases) + n, len(cases) + len(again)))
    rows = [_row(trial, verdicts, verdicts_again) for trial in listed]
    return SelfTests(
        tests=tuple(_counted(name, rows) for name in MAKERS),
        trials=pl.DataFrame(rows, schema=ROW),
        recipe={**recipe, **facts, "steelyard": __version__, "date": timestamp(), **calls_of(judge)},
        errors=dict(Counter(asking.errors) + Counter(asking_again.errors)),
    )


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
