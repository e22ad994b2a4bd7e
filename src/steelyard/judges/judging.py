"""Answers judged: what is asked about them goes to a judge, and what it says into their tables."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, cast

from steelyard._version import __version__
from steelyard.base.choices import AnswerUnits
from steelyard.base.errors import InputError, exception_line
from steelyard.base.machine import timestamp
from steelyard.base.progress import Progress, no_progress
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions
from steelyard.judges.answers.cases import TABLES, Draft, asked_cases, drafts, filled
from steelyard.judges.answers.refining import (
    GoldAnswer,
    Sentences,
    gold_answers_of,
    nugget_maker_of,
    sentences_of,
    splitter_of,
    with_claims,
    with_nuggets,
)
from steelyard.judges.asking import Asking, whole_characters
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Case, Judge, JudgedAnswer, VerdictTable
from steelyard.services.secrecy import without_secrets

_BLOCK = 64
"""Questions whose cases are asked at once, unless a judge wants all."""


def judge_answers(
    questions: Questions,
    outputs: Outputs,
    judge: Judge | None,
    *,
    tables: Collection[VerdictTable] = TABLES,
    units: AnswerUnits = "sentences",
    new_nuggets: bool = False,
    calibration: Calibration | None = None,
    system: str = "",
    progress: Progress = no_progress,
) -> Verdicts:
    """Judge the answers of one system.

    judge      None asks nobody: units, citations and states are there, and all verdicts are not_judged
    tables     what is asked; with `grounded`, units are also judged by the whole context at once
    units      sentences, or claims, into which a judge that can splits them
    new_nuggets   whether a judge that can draws up nuggets, from the gold answers of questions that have none
    calibration   of the judge, which has its threshold already; the recipe keeps a summary of it
    system     its name; by default that of the outputs
    progress   called as progress("answers", done, total)
    Raises     InputError where the judge fails on all that it is asked, and for a calibration of another judge.
    """
    by_judge = judge_recipe(judge, calibration)
    asking = None if judge is None else Asking(judge)
    asked, errors_before = _asked_tables(judge, tables), _errors(judge)
    at_once = len(questions) if getattr(judge, "wants_all_at_once", False) else _BLOCK
    splitter = None if units == "sentences" else splitter_of(judge)
    maker = nugget_maker_of(judge) if new_nuggets else None
    records: list[JudgedAnswer] = []
    remaining = drafts(questions, outputs)
    while block := list(islice(remaining, at_once)):
        progress("answers", len(records), len(questions))
        block = block if splitter is None else list(with_claims(block, splitter))
        block = block if maker is None else list(with_nuggets(block, maker))
        records += [filled(draft, {}) for draft in block] if asking is None else _judged(block, asking, asked)
    progress("answers", len(records), len(questions))
    if asking is not None:
        asking.refuse_failure()
    recipe = {
        **by_judge,
        "units": units,
        "tables": asked,
        **({"new_nuggets": True} if new_nuggets else {}),
        "system": whole_characters(system or outputs.name),
        "outputs": outputs.digest(),
        "questions": _digest(records, questions),
        "steelyard": __version__,
        "date": timestamp(),
        **calls_of(judge),
    }
    errors = Counter({} if asking is None else asking.errors) + (_errors(judge) - errors_before)
    return Verdicts(records, recipe, errors=errors)


def cases_of(
    questions: Questions, outputs: Outputs, judge: Judge | None, tables: Collection[VerdictTable] = TABLES
) -> list[Case]:
    """Cases that `judge_answers` would ask a judge, each once."""
    asked = _asked_tables(judge, tables)
    cases = (request.case for draft in drafts(questions, outputs) for request in asked_cases(draft, asked))
    return list(dict.fromkeys(cases))


def sentences_to_split(questions: Questions, outputs: Outputs, judge: Judge | None) -> list[Sentences]:
    """Sentences that `judge_answers` would ask a judge to split into claims.

    Raises   InputError for a judge that cannot.
    """
    splitter_of(judge)
    return sentences_of(list(drafts(questions, outputs)))


def golds_to_draw_from(questions: Questions, outputs: Outputs, judge: Judge | None) -> list[GoldAnswer]:
    """All gold answers that `judge_answers` would have a judge draw up nuggets from.

    Raises   InputError for a judge that cannot.
    """
    nugget_maker_of(judge)
    return gold_answers_of(list(drafts(questions, outputs)))


def _asked_tables(judge: Judge | None, tables: Collection[VerdictTable]) -> list[VerdictTable]:
    """Tables that a judge is asked about, of some."""
    asked = [] if judge is None else [table for table in (*TABLES, "grounded") if table in tables]
    return [table for table in asked if table != "relevance" or _grades(judge)]


def _grades(judge: Judge | None) -> bool:
    return bool(getattr(judge, "grades", False))


def _judged(block: Sequence[Draft], asking: Asking, tables: Collection[VerdictTable]) -> Iterator[JudgedAnswer]:
    """The records of some drafts, with the verdicts on them."""
    asked = [list(asked_cases(draft, tables)) for draft in block]
    verdicts = asking.verdicts([request.case for listed in asked for request in listed])
    for draft, listed in zip(block, asked, strict=True):
        by_key = {r.key: dict(zip(r.units, verdicts[r.case], strict=True)) for r in listed}
        yield filled(draft, by_key, grades=asking.grades)


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
        for question, record in zip(questions, records, strict=True)
    ]
    return "sha256:" + hashlib.sha256(repr(facts).encode("utf-8", "surrogatepass")).hexdigest()
