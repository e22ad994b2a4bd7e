"""Grades and quotes that people saved from forms, taken into a truth or into questions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.data.question_files import read_lines
from steelyard.io.json_files import query_id_of
from steelyard.io.source import Source
from steelyard.io.write import write_text
from steelyard.judges.grading.grades import PEOPLE, GradedPair, Grades, Key
from steelyard.judges.people.labels import ADJUDICATION
from steelyard.judges.people.review import locked
from steelyard.reviewing.forms import (
    INTO,
    Conflict,
    DecisionFiles,
    ImportedLabels,
    ItemsFile,
    ListedItem,
    RaterCount,
    SavedForm,
)
from steelyard.reviewing.pools import RATERS, raters_of


@dataclass(frozen=True)
class _Decided:
    """Decision of one person about one item of a pool."""

    form: ItemsFile
    item: ListedItem
    rater: str
    values: Mapping[str, Any]

    @property
    def cannot_say(self) -> bool:
        return self.values.get("label") == "cannot_say"


def import_pool(forms: Mapping[str, ItemsFile], saved: Sequence[SavedForm], places: DecisionFiles) -> ImportedLabels:
    """Take grades into the truth of their forms, or quotes into the questions.

    places   (review id, INTO) -> that file

    A pair that several people graded has their median, the lower of two, unless it was settled; the grades of all stay
    beside it.  Quotes are added to the evidence of their question.
    Raises   InputError for a grade off the scale, and for a quote that is none; OutputError.
    """
    decided = [own for form in saved for own in _decided(form, forms[form.review_id])]
    decided.sort(key=lambda own: str(own.values.get("date", "")))
    files = list(dict.fromkeys(places.values()))
    conflicts: list[Conflict] = []
    counts = _counts(decided)
    for file in files:
        own = [one for one in decided if places[one.form.review_id, INTO] == file]
        with locked(file):
            if any(one.form.kind == "grades" for one in own):
                conflicts += _import_grades(file, own)
            elif own:
                _import_quotes(file, own)
    asked = {item.item_id for form in saved for item in forms[form.review_id].items}
    n_decided = len({own.item.item_id for own in decided})
    return ImportedLabels(counts, len(asked), n_decided, conflicts, files, forms[saved[0].review_id].kind)


def _decided(saved: SavedForm, form: ItemsFile) -> list[_Decided]:
    """Raise   InputError for what the form cannot have saved."""
    items = {item.item_id: item for item in form.items}
    listed = [_Decided(form, items[values["item_id"]], saved.rater, values) for values in saved.decisions]
    for own in listed:
        where = f"{saved.path}: item {quoted(own.item.item_id)}"
        if own.cannot_say:
            continue
        if form.kind == "grades":
            grade = own.values["grade"]
            if isinstance(grade, bool) or grade not in form.scale:
                grades = ", ".join(f"{gain:g}" for gain in form.scale)
                raise InputError(f"{where}: the grade {quoted(grade)} is off the scale ({grades})")
        elif not isinstance(own.values["quotes"], list) or not all(
            _is_quote(q, own.item) for q in own.values["quotes"]
        ):
            raise InputError(f"{where}: a quote is no text of {', '.join(own.item.names)}; save it from the form again")
    return listed


def _is_quote(quote: Any, item: ListedItem) -> bool:
    return (
        isinstance(quote, dict)
        and quote.get("doc") in item.names
        and isinstance(quote.get("quote"), str)
        and bool(quote["quote"].strip())
    )


def _import_grades(file: Path, decided: Sequence[_Decided]) -> list[Conflict]:
    pairs: dict[Key, GradedPair] = {pair.key: pair for pair in Grades.read(file).pairs} if file.exists() else {}
    for own in decided:
        if own.cannot_say:
            continue
        key = (own.item.query_id, own.item.text)
        before = pairs.get(key)
        raters = ({} if before is None else raters_of(before)) | {own.rater: float(own.values["grade"])}
        gain = raters.get(ADJUDICATION, median_low(raters.values()))
        pairs[key] = GradedPair(
            *key, gain, str(own.values.get("note", "")), by=PEOPLE, scale=own.form.scale_name,
            date=str(own.values.get("date", ""))[:10], others={RATERS: raters},
        )  # fmt: skip
    Grades(pairs.values()).write(file)
    conflicts = []
    for item in {own.item.item_id: own.item for own in decided}.values():
        pair = pairs.get((item.query_id, item.text))
        raters = {} if pair is None else raters_of(pair)
        if ADJUDICATION not in raters and len(set(raters.values())) > 1:
            conflicts.append(Conflict(item, [(rater, f"{gain:g}") for rater, gain in raters.items()]))
    return conflicts


def _import_quotes(file: Path, decided: Sequence[_Decided]) -> None:
    """Write the questions with the quotes among their evidence."""
    if not file.exists():
        raise InputError(
            f"{file}: is not there; copy the questions there, or name the file that has them (--into FILE)"
        )
    pieces: dict[str, list[dict[str, str]]] = {}
    for own in decided:
        for quote in [] if own.cannot_say else own.values["quotes"]:
            by_document = {"doc": quote["doc"], "quote": quote["quote"]}
            piece = by_document if own.form.unit == "document" else {"text": quote["quote"]}
            pieces.setdefault(own.item.query_id, []).append(piece)
    lines = []
    for where, line in read_lines(Source(file)):
        query_id = query_id_of(line, where)
        evidence = list(line.get("evidence") or [])
        for piece in pieces.get(query_id, []):
            evidence += [piece] if piece not in evidence else []
        lines.append(json.dumps({**line, **({"evidence": evidence} if evidence else {})}, ensure_ascii=False) + "\n")
    write_text(file, "".join(lines))


def _counts(decided: Sequence[_Decided]) -> list[RaterCount]:
    by_rater: dict[str, list[_Decided]] = {}
    for own in decided:
        by_rater.setdefault(own.rater, []).append(own)
    return [
        RaterCount(rater, len(own), len({one.item.item_id for one in own}), 0, 0, sum(one.cannot_say for one in own))
        for rater, own in sorted(by_rater.items())
    ]
