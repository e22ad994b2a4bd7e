"""What the script of the page reads: single questions as compact columns, ids once, numbers packed."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import astuple, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints
from steelyard.diagnosis.funnel import STAGES
from steelyard.diagnosis.outcomes import OUTCOMES
from steelyard.reports.contents import Contents
from steelyard.reports.details.answers import AnswerDetails, GoldUnitDetails, UnitDetails
from steelyard.reports.details.details import Details, SystemDetails
from steelyard.reports.details.gold import GoldPiece
from steelyard.reports.details.lists import ListDetails
from steelyard.reports.views.judging import reason_text
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

NOTHING = 65_535
"""Marks a value that is not there, among packed ones."""

_MOST_DECIMALS = 4


def payload(contents: Contents, words: Words) -> dict[str, Any]:
    """Everything that the page's script shows of single questions; nothing is escaped here.

    words   in whose language the lexical judge gives its reasons
    """
    scores, diagnosis, details = contents.scores, contents.diagnosis, contents.details
    places, ids = details.places, scores.query_ids
    stages = [_of_all(ids, own.query_ids, own.stage, len(STAGES)) for own in diagnosis.funnels]
    answers = {
        scores.systems.index(own.system): _of_all(ids, own.query_ids, own.outcome, len(OUTCOMES))
        for own in diagnosis.outcomes
    }
    return {
        "systems": [single_line(name) for name in scores.systems],
        "measures": [str(measure) for measure in scores.measures],
        "values": [packed_values(scores.values[:, j, places].ravel()) for j in range(len(scores.measures))],
        "status": packed(scores.statuses()[:, 0, places].ravel()),
        "stage": packed(np.array([codes[places] for codes in stages]).ravel()),
        "k": diagnosis.k,
        "n_questions": details.n_questions,
        "answer": {system: packed(codes[places]) for system, codes in answers.items()},
        **_questions(details),
        **_lists(details.lists),
        "of": [
            _system(system, _reasons(contents, name, words))
            for name, system in zip(scores.systems, details.systems, strict=True)
        ],
    }


def _of_all(all_ids: Sequence[str], query_ids: Sequence[str], codes: Ints, left_out: int) -> Ints:
    """Codes of some questions at the places of all; those that a diagnosis leaves out have a code without a name."""
    if len(query_ids) == len(all_ids):
        return codes
    of = dict(zip(query_ids, codes.tolist(), strict=True))
    return np.array([of.get(query_id, left_out) for query_id in all_ids])


def _questions(details: Details) -> dict[str, Any]:
    has_answers = any(answer is not None for answer in details.answers)
    return {
        "ids": details.query_ids,
        "queries": details.queries,
        "tag_names": details.tag_names,
        "tags": details.tags,
        "expected": details.answers if has_answers else None,
        "gold": [[_piece(piece) for piece in pieces] for pieces in details.gold],
        "gold_more": details.more,
        "gold_left_out": details.left_out,
    }


def _piece(piece: GoldPiece) -> list[Any]:
    return [piece.kind, piece.gain, piece.group, piece.name, piece.where, piece.text]


def _lists(lists: ListDetails) -> dict[str, Any]:
    return {
        "depth": lists.depth,
        "list_n": packed(lists.n),
        "list_entry": packed(lists.chunk),
        "list_gain": packed(lists.gain),
        "gains": lists.gains,
        "chunk_ids": lists.ids,
        "chunk_texts": lists.texts if lists.has_texts else None,
        "chunk_docs": lists.doc if lists.docs else None,
        "doc_names": lists.docs,
        "chunk_texts_left_out": lists.left_out,
        "marks": lists.marks,
    }


def _reasons(contents: Contents, system: str, words: Words) -> Callable[[str], str]:
    """A writer of the reasons of the judge of a system's answers."""
    judging = contents.judging.get(system)
    judge = "" if judging is None else str(judging.recipe["judge"]["name"])
    return lambda reason: reason_text(reason, judge, words)


def _system(system: SystemDetails, reasons: Callable[[str], str]) -> dict[str, Any]:
    return {
        "evidence": system.has_evidence,
        "answers": system.answers,
        "answers_left_out": system.left_out,
        "failures": system.failures,
        "lost": system.lost,
        "judged": {question: _judged(answer, reasons) for question, answer in system.judged.items()},
        "judged_left_out": system.judged_left_out,
    }


def _judged(answer: AnswerDetails, reasons: Callable[[str], str]) -> dict[str, Any]:
    """A judged answer; what is not there is left out."""
    fields = {
        "parts": answer.parts,
        "sentences": [[_unit(unit, reasons) for unit in units] for units in answer.sentences],
        "labels": answer.labels,
        "cites": [list(astuple(citation)) for citation in answer.citations],
        "gold": [_unit(unit, reasons) for unit in answer.gold],
        "explanation": answer.explanation,
    }
    return {name: value for name, value in fields.items() if value}


def _unit(unit: UnitDetails | GoldUnitDetails, reasons: Callable[[str], str]) -> list[Any]:
    return list(astuple(replace(unit, reason=reasons(unit.reason))))


def packed(numbers: npt.NDArray[np.integer[Any]]) -> dict[str, Any]:
    """Whole numbers from 0 as base64 of the smallest type that holds them: bits 8, 16 or 32, little endian."""
    most = int(numbers.max(initial=0))
    bits = 8 if most < 1 << 8 else 16 if most < 1 << 16 else 32
    raw = numbers.astype(f"<u{bits // 8}").tobytes()
    return {"bits": bits, "data": base64.b64encode(raw).decode()}


def packed_values(values: Floats) -> dict[str, Any]:
    """Values as whole numbers of steps above `low`, NOTHING where there is none.

    decimals   of the step, 10 ** -decimals: 4, or as many as two bytes have room for
    """
    there = ~np.isnan(values)
    low, high = (float(values[there].min()), float(values[there].max())) if there.any() else (0.0, 0.0)
    low = min(0.0, math.floor(low))
    fits = (d for d in range(_MOST_DECIMALS, -300, -1) if (high - low) * 10.0**d < NOTHING - 1)
    decimals = next(fits)
    steps = np.full(values.shape, NOTHING)
    steps[there] = np.rint((values[there] - low) * 10.0**decimals).astype(np.int64)
    raw = steps.astype("<u2").tobytes()
    return {"low": low, "decimals": decimals, "data": base64.b64encode(raw).decode()}
