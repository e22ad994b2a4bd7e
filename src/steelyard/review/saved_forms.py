"""Files that people saved from a form, each held against what the form asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.base.shapes import Each, Table, check_shape
from steelyard.judges.labels import ADJUDICATION
from steelyard.judges.review_files import check_format
from steelyard.review.items_file import ItemsFile

FORMAT, VERSION = "steelyard-review", 1
_DECISION = Table({"item_id": str}, {"note": str, "date": str})
_SHAPE = Table({"review_id": str, "rater": str, "kind": str, "decisions": Each(list, _DECISION)})
_VALUE = {"verdicts": "label", "grades": "grade", "quotes": "quotes"}
_LONGEST_NAME = 100


@dataclass(frozen=True)
class SavedForm:
    """What one person decided in a form.

    decisions   of this person, as the file has them, in its order; of each item one
    """

    path: Path
    review_id: str
    rater: str
    decisions: list[dict[str, Any]]


def saved_form(content: Any, path: Path, forms: Mapping[str, ItemsFile]) -> SavedForm:
    """What a file holds, if it answers one of the forms.

    forms    by review id
    Raises   InputError naming the file: for another format or version, the answers to another form, an item that was
             not asked, one that is decided twice, and one without a decision.
    """
    check_format(content, FORMAT, VERSION, str(path), "what people saved from a form")
    try:
        check_shape(content, _SHAPE)
    except ValueError as error:
        raise InputError(f"{path}: {error}; save it from the form again") from None
    form = _form_of(content, path, forms)
    own = SavedForm(path, content["review_id"], content["rater"].strip(), content["decisions"])
    if not own.rater:
        raise InputError(f"{path}: says not who decided; write a name, or a pseudonym, behind `rater`")
    if len(own.rater) > _LONGEST_NAME:
        raise InputError(
            f"{path}: its rater has a name of {len(own.rater):,} characters; write one of at most {_LONGEST_NAME}"
        )
    if (own.rater == ADJUDICATION) != form.adjudicating:
        raise InputError(
            f"{path}: its rater is {quoted(own.rater)}, and the form "
            + ("settles conflicts" if form.adjudicating else "does not settle conflicts; take another name")
        )
    _check_items(own, form)
    return own


def _form_of(content: Mapping[str, Any], path: Path, forms: Mapping[str, ItemsFile]) -> ItemsFile:
    form = forms.get(content["review_id"])
    if form is None:
        raise InputError(
            f"{path}: answers another form (review {quoted(content['review_id'])}) than those whose items.json is here "
            f"({', '.join(forms) or 'none'}); name the items.json beside its form too"
        )
    if content["kind"] != form.kind:
        raise InputError(f"{path}: is of kind {quoted(content['kind'])}, and its form asked for {form.kind}")
    return form


def _check_items(own: SavedForm, form: ItemsFile) -> None:
    asked, met, value = {item.item_id for item in form.items}, set[str](), _VALUE[form.kind]
    for number, decision in enumerate(own.decisions, 1):
        item_id = decision["item_id"]
        if item_id not in asked:
            raise InputError(
                f"{own.path}: decision {number} is about item {quoted(item_id)}, which the form did not ask; was the "
                "file edited by hand?"
            )
        if item_id in met:
            raise InputError(f"{own.path}: item {quoted(item_id)} is decided twice; keep one decision")
        if value not in decision and decision.get("label") != "cannot_say":
            raise InputError(f"{own.path}: decision {number}, about {quoted(item_id)}, has no `{value}`")
        met.add(item_id)
