"""Answers judged: what is asked about them goes to a judge, and what it says into their tables."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, cast, get_args

from steelyard._version import __version__
from steelyard.base import defaults
from steelyard.base.choices import AnswerUnits
from steelyard.base.errors import InputError, exception_line, quoted
from steelyard.base.machine import timestamp
from steelyard.base.nearest import nearest
from steelyard.base.progress import Progress, usual_progress
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.judges.answers.cases import TABLES, Draft, asked_cases, drafts, filled
from steelyard.judges.answers.refining import Refined, ability, gold_answers_of, sentences_of, with_claims, with_nuggets
from steelyard.judges.asking import Asking, whole_characters
from steelyard.judges.criteria import Criterion, criteria_of
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Case, Judge, JudgedAnswer, VerdictTable
from steelyard.services.addresses import without_secrets

_BLOCK = 64
"""Questions whose cases are asked at once, unless a judge wants all."""


@dataclass(frozen=True, kw_only=True)
class JudgeOptions:
    """Options of `sy.judge`, under the names that they have there.

    must_keep   refuse outputs that are no run folder, where `save` names no file
    Raises      InputError for a table or units that there are not, without a table, and for no place to save
    """

    tables: Collection[VerdictTable] = TABLES
    answer_units: AnswerUnits = defaults.UNITS
    new_nuggets: bool = False
    criteria: Sequence[Criterion | str] = ()
    criteria_file: str | Path | None = None
    calibration: Calibration | str | Path | None = None
    save: bool | str | Path = True
    must_keep: bool = False
    progress: Progress = usual_progress
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables, names = self.tables, get_args(VerdictTable)
        if not isinstance(self.save, bool | str | os.PathLike):
            raise InputError(f"save is {quoted(self.save)}; give True, False, or the path of a file")
        if isinstance(tables, str) or not isinstance(tables, Collection):
            raise InputError(f"tables are {quoted(tables)}; give a list of names, such as [{names[0]!r}]")
        if self.answer_units not in get_args(AnswerUnits):
            raise InputError(f"answer_units {self.answer_units!r} are none; take {' or '.join(get_args(AnswerUnits))}")
        for table in tables:
            if table not in names:
                raise InputError(f"no table is called {table!r}; {nearest(str(table), names)}")
        if not tables:
            raise InputError(f"no table is to be judged; name some of {', '.join(names)}")
        _ = self.all_criteria

    @cached_property
    def all_criteria(self) -> tuple[Criterion, ...]:
        """Criteria that answers are judged by, those of the file among them."""
        return criteria_of(self.criteria, self.criteria_file)


DEFAULTS = JudgeOptions()


def judge_answers(
    questions: Questions, outputs: Outputs, judge: Judge | None, options: JudgeOptions = DEFAULTS, *, system: str = ""
) -> Verdicts:
    """Judge the answers of one system.

    judge      None asks nobody: units, citations and states are there, and all verdicts are not_judged
    options    of which tables, answer_units, new_nuggets and progress count, and an opened calibration: the judge has
               its threshold already, and the recipe keeps a summary of it
    system     its name; by default that of the outputs
    Raises     InputError where the judge fails on all that it is asked, and for a calibration of another judge.
    """
    calibration, progress = cast("Calibration | None", options.calibration), options.progress
    by_judge = judge_recipe(judge, calibration)
    asking = None if judge is None else Asking(judge)
    asked, errors_before, criteria = _asked_tables(judge, options.tables), _errors(judge), options.all_criteria
    _check_grades(judge, criteria)
    at_once = len(questions) if getattr(judge, "wants_all_at_once", False) else _BLOCK
    records: list[JudgedAnswer] = []
    remaining = drafts(questions, outputs)
    while block := list(islice(remaining, at_once)):
        progress("answers", len(records), len(questions))
        block = list(with_claims(block, judge)) if options.answer_units == "claims" else block
        block = list(with_nuggets(block, judge)) if options.new_nuggets else block
        records += [filled(draft, {}) for draft in block] if asking is None else _judged(block, asking, asked, criteria)
    progress("answers", len(records), len(questions))
    if asking is not None:
        asking.refuse_failure()
    recipe = {
        **by_judge,
        "units": options.answer_units,
        "tables": asked,
        **({"new_nuggets": True} if options.new_nuggets else {}),
        **({"criteria": [own.facts for own in criteria]} if criteria else {}),
        "system": whole_characters(system or outputs.name),
        "outputs": outputs.digest(),
        "questions": _digest(records, questions),
        "steelyard": __version__,
        "date": timestamp(),
        **calls_of(judge),
    }
    errors = Counter({} if asking is None else asking.errors) + (_errors(judge) - errors_before)
    return Verdicts(records, recipe, errors=errors)


def asked_of(
    questions: Questions, outputs: Outputs, judge: Judge | None, options: JudgeOptions = DEFAULTS
) -> tuple[list[Case], list[Refined], list[Refined]]:
    """Cases that `judge_answers` would ask a judge, each once, and what it would ask claims and nuggets of before.

    Raises   InputError for a judge that has no claims, or nuggets, to give.
    """
    asked, drafted = _asked_tables(judge, options.tables), list(drafts(questions, outputs))
    criteria = options.all_criteria
    _check_grades(judge, criteria)
    cases = dict.fromkeys(request.case for draft in drafted for request in asked_cases(draft, asked, criteria))
    split, golds = list[Refined](), list[Refined]()
    if options.answer_units == "claims":
        ability(judge, "split")
        split = sentences_of(drafted)
    if options.new_nuggets:
        ability(judge, "nuggets")
        golds = gold_answers_of(drafted)
    return list(cases), split, golds


def _asked_tables(judge: Judge | None, tables: Collection[VerdictTable]) -> list[VerdictTable]:
    """Tables that a judge is asked about, of some; one that reads chunks together says more without more to read."""
    named = {*tables, "grounded"} if "support" in tables and getattr(judge, "reads_chunks", False) else tables
    asked = [] if judge is None else [table for table in (*TABLES, "grounded", "context_relevance") if table in named]
    grades = getattr(judge, "grades", False)
    return [table for table in asked if grades or table not in ("relevance", "context_relevance")]


def _check_grades(judge: Judge | None, criteria: Sequence[Criterion]) -> None:
    """Raise   InputError where a judge that does not grade is to judge by criteria."""
    if criteria and judge is not None and not getattr(judge, "grades", False):
        raise InputError(
            f"judge {judge.name}: does not judge by criteria, such as {criteria[0].name}; a language model does: "
            "--judge llm --model MODEL"
        )


def _judged(
    block: Sequence[Draft], asking: Asking, tables: Collection[VerdictTable], criteria: Sequence[Criterion]
) -> Iterator[JudgedAnswer]:
    """The records of some drafts, with the verdicts on them."""
    asked = [list(asked_cases(draft, tables, criteria)) for draft in block]
    verdicts = asking.verdicts([request.case for listed in asked for request in listed])
    for draft, listed in zip(block, asked, strict=True):
        by_key = {r.key: dict(zip(r.units, verdicts[r.case], strict=True)) for r in listed}
        yield filled(draft, by_key, grades=asking.grades, criteria=criteria)


def judge_recipe(judge: Judge | None, calibration: Calibration | None = None) -> Mapping[str, Any]:
    """The judge, by what it was calibrated (None where it is not), and the libraries that its model ran on.

    Raises   InputError for a judge of the user's own whose recipe cannot be kept, and a calibration of another judge.
    """
    if judge is None:
        return {"judge": {"name": "none"}, "calibration": None}
    try:
        recipe = _kept(dict(judge.recipe()))
    except Exception as error:  # Whatever a judge of the user's own raises.
        raise InputError(f"judge {judge.name}: its recipe cannot be kept ({exception_line(error)}); mend it") from error
    stated = recipe.pop("calibration", None)
    own = None if stated == "uncalibrated" else stated
    recipe.pop("judge", None)
    occasion = {key: recipe.pop(key) for key in ("libraries",) if key in recipe}
    facts = {"name": judge.name, **recipe}
    if calibration is not None:
        calibration.check_judge(facts)
    return {"judge": facts, "calibration": own if calibration is None else calibration.summary, **occasion}


def calls_of(judge: Judge | None) -> Mapping[str, Any]:
    """Counts of the calls of a judge that asks a model, and of what went wrong.

    One that fails to say it has judged all the same.
    """
    counts = getattr(judge, "counts", None)
    with suppress(Exception):
        return {"calls": _kept(dict(counts()))} if callable(counts) else {}
    return {}


def _kept(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Facts as a file of verdicts can hold them: values of JSON, without keys and halves of characters."""
    text = json.dumps(facts, default=str, ensure_ascii=False)
    return cast("dict[str, Any]", without_secrets(json.loads(whole_characters(text))))


def _errors(judge: Judge | None) -> Counter[str]:
    """Errors of a judge that counts them, or of its model, by now."""
    errors = getattr(judge, "errors", None)
    counted = errors.items() if isinstance(errors, Mapping) else ()
    return Counter({str(kind): n for kind, n in counted if isinstance(n, int)})


def _digest(records: Sequence[JudgedAnswer], questions: Questions) -> str:
    """A fingerprint of what of the questions is judged by: their texts, gold answers and nuggets."""
    facts = [
        (question.query_id, question.query, record.gold_answers, record.answerable, [n.text for n in record.nuggets])
        + ((question.history,) if question.history else ())
        for question, record in zip(questions, records, strict=True)
    ]
    return "sha256:" + hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()
