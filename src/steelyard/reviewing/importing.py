"""Decisions that people saved from forms, imported beside the verdicts, into a truth or into questions."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median_low
from typing import Any, cast

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError, quoted
from steelyard.base.own_paths import own_file
from steelyard.data.question_files import read_lines
from steelyard.experiment.door.choices import check_labels, review_file
from steelyard.io.json_files import parse_json, query_id_of
from steelyard.io.source import Source, source_of
from steelyard.io.write import write_text
from steelyard.judges.grading.grades import PEOPLE, GradedPair, Grades, Key
from steelyard.judges.people.review import ADJUDICATION, FILE, Decision, Labels, Review, decision_of, locked
from steelyard.reviewing.forms import (
    INTO,
    ITEMS,
    NAME,
    Conflict,
    DecisionFiles,
    ImportedLabels,
    ItemsFile,
    ListedItem,
    RaterCount,
    SavedForm,
    into_options,
    saved_form,
)
from steelyard.reviewing.pools import RATERS, raters_of


def import_review(paths: object, *, into: object = None) -> ImportedLabels:
    """Take in what people saved from forms of `sy.review.sample`, all of it or nothing.

    paths    the files that they saved; the items.json of each form is found beside them, or is named too
    into     where decisions go: the run folder, or the file of labels, that the form was made for, or system -> one of
             these; of grades and quotes, from forms of `sy.review.pool`, the truth or the questions.  None is enough
             where that is a file in the folder of the form
    Raises   InputError for a file that answers no such form, was edited so that it does not, or decides an item twice,
             and where decisions would go outside the form's folder without `into`: a form may come from somebody else,
             and never chooses that; OutputError where another process writes there

    Of one person about one item the later decision counts, by its date, also over several files.
    """
    forms, saved = read_forms(paths)
    kinds = sorted({forms[own.review_id].kind for own in saved})
    if len(kinds) > 1:
        raise InputError(f"these files answer forms for {' and '.join(kinds)}; take in each kind by itself")
    answered = {own.review_id: forms[own.review_id] for own in saved}
    places = _places(answered, into, [own.path for own in saved])
    importer = import_labels if kinds == ["verdicts"] else import_pool
    return importer(answered, saved, places)


def _places(forms: Mapping[str, ItemsFile], into: object, paths: Sequence[Path]) -> DecisionFiles:
    """Files that decisions go into: those that the caller names, else those in the folders of the forms.

    paths    that were imported, for messages
    Raises   InputError where a form names other files, and for a system that there is not.
    """
    names = {id: list(form.files) if form.kind == "verdicts" else [INTO] for id, form in forms.items()}
    check_labels(into, [name for listed in names.values() for name in listed])
    places = dict[tuple[str, str], Path]()
    for review_id, form in forms.items():
        for name in names[review_id]:
            place = review_file(into, name, None) or form.obeyed.get(name)
            if place is None:
                raise InputError(_refusal(form, name, paths))
            places[review_id, name] = place
    return places


def _refusal(form: ItemsFile, name: str, paths: Sequence[Path]) -> str:
    named = {key: Path(os.path.normpath(path)) for key, path in form.files.items()}
    advice = "say where: --into PLACE"
    if name in named and all(f"{key}{path}".isprintable() for key, path in named.items()):
        options = into_options(named, form.path.parent)
        advice = f"if that is right: steelyard review import {shlex.join(map(str, paths))} {options}"
    return (
        f"{form.path}: names {quoted(str(named.get(name, '')))} for decisions, which is outside of its folder, and a "
        f"form does not choose that; {advice}"
    )


def read_forms(paths: object) -> tuple[dict[str, ItemsFile], list[SavedForm]]:
    """The forms of some files by review id, and what people saved from them.

    paths    of items.json files and of saved files, in any order; an items.json beside a saved file need not be named
    Raises   InputError where a file is neither, or does not hold together.
    """
    listed = [paths] if isinstance(paths, str | os.PathLike) else paths
    if not isinstance(listed, Iterable):
        raise InputError(f"files to import: {quoted(paths)} is no path and no list of paths")
    files = list(dict.fromkeys(Path(path) for path in listed))
    beside = [own_file(path.parent, NAME) for path in files]
    files += [path for path in dict.fromkeys(beside) if path not in files and path.exists()]
    contents = {path: parse_json(source_of(path).read(), str(path)) for path in files}
    forms = {
        form.review_id: form
        for path, content in contents.items()
        if ITEMS.holds(content)
        for form in [ItemsFile.of_json(content, path)]
    }
    saved = [saved_form(content, path, forms) for path, content in contents.items() if not ITEMS.holds(content)]
    if not saved:
        raise InputError(
            "there is no file of decisions among these; open form.html, decide, save to a file, and name that too"
        )
    return forms, saved


def import_labels(forms: Mapping[str, ItemsFile], saved: Sequence[SavedForm], places: DecisionFiles) -> ImportedLabels:
    """Take decisions about verdicts in, all or none.

    places   (review id, system) -> the file of its review
    Raises   InputError for a label off the scale, and where the sample of an item is no more; OutputError.

    Of one person about one item the later decision counts, by its date.
    """
    decisions = sorted(
        ((own, decision) for own in saved for decision in _decisions(own)), key=lambda pair: pair[1].date
    )
    files = list(dict.fromkeys(places.values()))
    with ExitStack() as stack:
        for folder in dict.fromkeys(_folder(file) for file in files):
            stack.enter_context(locked(folder / FILE))
        before = {file: _review(file) for file in files}
        for form in forms.values():
            _check_drawn(form, {system: before[places[form.review_id, system]] for system in form.files})
        after = {
            file: review.with_decisions(_later(review.labels, _belonging(file, decisions, forms, places)))
            for file, review in before.items()
        }
        for file, review in after.items():
            if review != before[file]:
                review.keep(file)
    return _imported(forms.values(), decisions, before.values(), after)


def _folder(file: Path) -> Path:
    """The folder of a file, one path for each folder."""
    return file.resolve().parent


def _review(file: Path) -> Review:
    if not file.exists():
        raise InputError(
            f"{file}: is not there any more, so that it is not known how the items were drawn; name the file of the "
            "review (--into FILE), or sample again"
        )
    return Review.read(file)


def _decisions(own: SavedForm) -> list[Decision]:
    """The decisions of a saved form.

    Raises   InputError for a label that there is not.
    """
    decisions = []
    for values in own.decisions:
        if not isinstance(values["label"], str):
            raise InputError(
                f"{own.path}: item {quoted(values['item_id'])}: the label {quoted(values['label'])} is no text"
            )
        try:
            decisions.append(decision_of({**values, "rater": own.rater}))
        except ValueError as error:
            raise InputError(f"{own.path}: {error}") from None
    return decisions


def _check_drawn(form: ItemsFile, reviews: Mapping[str, Review]) -> None:
    """Raise   InputError where a form asks about an item that no sample drew.

    reviews   of each system of the form
    """
    drawn = set[tuple[str, str]]()
    by_answer = set[str]()
    for system, review in reviews.items():
        sample = review.sample(cast("ItemTable", form.table), system)
        drawn |= {(system, member) for member in (() if sample is None else sample.drawn)}
        by_answer |= {system} if sample is not None and sample.unit == "answer" else set()
    for item in form.items:
        if not any((own, item.query_id if own in by_answer else item.item_id) in drawn for own in item.systems):
            raise InputError(
                f"the sample of {form.table} of {' and '.join(item.systems)} that is kept did not draw item "
                f"{quoted(item.item_id)}, about which the form asks: these are labels of other verdicts; name the "
                "review that the form was made with (--into FILE), or sample again"
            )


def _belonging(
    file: Path, decisions: Sequence[tuple[SavedForm, Decision]], forms: Mapping[str, ItemsFile], places: DecisionFiles
) -> list[Decision]:
    """The decisions about items of systems whose review is kept in a file."""
    ids = {
        (form.review_id, item.item_id)
        for form in forms.values()
        for item in form.items
        if any(places.get((form.review_id, system)) == file for system in item.systems)
    }
    return [decision for own, decision in decisions if (own.review_id, decision.item_id) in ids]


def _later(labels: Labels, decisions: Iterable[Decision]) -> list[Decision]:
    """Decisions without those that the same person has decided later."""
    dates = {(own.item_id, own.rater): own.date for own in labels.decisions}
    return [own for own in decisions if own.date >= dates.get((own.item_id, own.rater), "")]


def _imported(
    forms: Iterable[ItemsFile],
    decisions: Sequence[tuple[SavedForm, Decision]],
    before: Iterable[Review],
    after: Mapping[Path, Review],
) -> ImportedLabels:
    earlier = {(own.item_id, own.rater): own for review in before for own in review.labels.decisions}
    labels = Labels(own for review in after.values() for own in review.labels.decisions)
    asked = {item.item_id: item for form in forms for item in form.items}
    conflicts = [
        Conflict(asked[id], [(own.rater, own.label) for own in labels.by_item[id]])
        for id in labels.conflicts
        if id in asked
    ]
    raters = sorted({own.rater for _, own in decisions})
    counts = [_rater_count(rater, [own for _, own in decisions if own.rater == rater], earlier) for rater in raters]
    n_decided = sum(item_id in labels.by_item for item_id in asked)
    return ImportedLabels(counts, len(asked), n_decided, conflicts, list(after))


def _rater_count(rater: str, own: Sequence[Decision], earlier: Mapping[tuple[str, str], Decision]) -> RaterCount:
    before = [earlier.get((decision.item_id, rater)) for decision in own]
    pairs = [(then, now) for then, now in zip(before, own, strict=True) if then is not None]
    return RaterCount(
        rater,
        len(own),
        n_new=len({now.item_id for then, now in zip(before, own, strict=True) if then is None}),
        n_changed=sum(now.date >= then.date and now.label != then.label for then, now in pairs),
        n_older=sum(now.date < then.date for then, now in pairs),
        n_cannot_say=sum(decision.label == "cannot_say" for decision in own),
    )


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
