"""Files of a form: the list of what it asks, and what people saved from it, held against that list."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from steelyard.base.choices import ItemTable
from steelyard.base.errors import InputError, quoted
from steelyard.base.own_paths import inside
from steelyard.base.result import Result
from steelyard.base.shapes import Each, Object
from steelyard.io.json_files import parse_json
from steelyard.io.objects import finite
from steelyard.io.own_json import OwnJson, check_word
from steelyard.io.source import source_of
from steelyard.judges.people.review import ADJUDICATION, FILE
from steelyard.judges.tables.verdicts import FOLDER
from steelyard.judges.verdict import text_digest

NAME = "items.json"
INTO = "into"
"""Of `ItemsFile.files`, for grades and quotes."""
Kind = Literal["verdicts", "grades", "quotes"]
"""What is decided about an item: a label, a grade of relevance, or quotes of the texts."""

_ITEM = Object(
    {"item_id": str, "query_id": str, "query": str, "text": str, "systems": Each(list, str), "names": Each(list, str)}
)
_SHAPE = Object(
    {"kind": str, "table": str, "review_id": str, "adjudicating": bool, "seed": int, "files": Each(dict, str),
     "items": Each(list, _ITEM), "scale": Each(list, (int, float)), "scale_name": str, "unit": str}
)  # fmt: skip
ITEMS = OwnJson("steelyard-items", 1, _SHAPE, "the items.json that `steelyard review sample` writes")


@dataclass(frozen=True)
class ListedItem:
    """An item of a form.

    text     what is decided about: a sentence, or the id of a document
    systems  that have it;   names   of the texts that can be quoted
    """

    item_id: str
    query_id: str
    query: str
    text: str
    systems: Sequence[str] = ()
    names: Sequence[str] = ()


@dataclass(frozen=True)
class ItemsFile:
    """The list of what a form asks.

    table         of the items of verdicts; "" of others
    review_id     by which saved files name the form
    adjudicating  whether it asks for conflicts
    files         where decisions belong: system -> the file of its review; INTO -> the file that grades or quotes go
                  into
    path          that it was read from
    obeyed        of a form that was read, those of `files` that are in its folder: a form may come from somebody else,
                  so that only the command line can name others
    scale         all grades, of a form for grades, and scale_name, what it is called
    unit          what the texts are that can be quoted: chunks or documents
    """

    kind: Kind
    table: str
    review_id: str
    adjudicating: bool
    seed: int
    files: Mapping[str, Path]
    items: Sequence[ListedItem]
    scale: Sequence[float] = ()
    scale_name: str = ""
    unit: str = ""
    path: Path = Path(NAME)
    obeyed: Mapping[str, Path] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write it into the folder of the form, with paths as they are seen from there.

        Raises   OutputError.
        """
        content = {name: getattr(self, name) for name in _SHAPE.needed} | {
            "files": {name: _seen_from(folder, path) for name, path in self.files.items()},
            "items": [asdict(item) for item in self.items],
        }
        ITEMS.write(folder / NAME, content)
        return folder / NAME

    @classmethod
    def read(cls, path: str | Path) -> ItemsFile:
        """Read what `write` wrote.

        Raises   InputError.
        """
        return cls.of_json(parse_json(source_of(path).read(), str(path)), Path(path))

    @classmethod
    def of_json(cls, content: object, path: Path) -> ItemsFile:
        """Decode what the file at a path holds.

        Raises   InputError naming the path.
        """

        def decode(data: dict[str, Any]) -> ItemsFile:
            check_word(data["kind"], Kind, "its kind")
            if data["kind"] == "verdicts":
                check_word(data["table"], ItemTable, "its table")
            names = data["files"].items()
            own = {
                "files": {name: path.parent / file for name, file in names},
                "obeyed": {name: own for name, file in names if (own := inside(path.parent, file)) is not None},
                "scale": [finite(gain, "a gain of `scale`") for gain in data["scale"]],
                "items": [ListedItem(**{key: item[key] for key in _ITEM.needed}) for item in data["items"]],
            }
            return cls(**{name: data[name] for name in _SHAPE.needed} | own, path=path)

        return ITEMS.decoded(content, str(path), decode)


def review_id_of(kind: Kind, table: str, item_ids: Sequence[str], *, adjudicating: bool = False) -> str:
    """Id of a form: the same for one that asks the same."""
    return text_digest(json.dumps([kind, table, adjudicating, sorted(item_ids)]))


def into_options(files: Mapping[str, Path], folder: Path) -> str:
    """The options by which `steelyard review import` is told where decisions of a form go; "" where none is needed.

    files    as of `ItemsFile`;   folder   of the form
    >>> into_options({"a": Path("runs/a/verdicts/review.json")}, Path("form"))
    '--into runs/a'
    >>> into_options({"a": Path("runs/a/verdicts/review.json"), "b": Path("b.json")}, Path("form"))
    '--into a=runs/a --into b=b.json'
    """
    if all(inside(folder, _seen_from(folder, path)) for path in files.values()):
        return ""
    is_kept = {name: path.parts[-2:] == (FOLDER, FILE) for name, path in files.items()}
    places = {name: str(path.parent.parent if is_kept[name] else path) for name, path in files.items()}
    named = places.items() if len(set(places.values())) > 1 else [("", *set(places.values()))]
    return " ".join(f"--into {shlex.quote(f'{name}={place}' if name else place)}" for name, place in named)


def _seen_from(folder: Path, path: Path) -> str:
    """A path relative to a folder, so that both can be moved together; whole where they are on different drives."""
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:
        return str(path.resolve())


_DECISION = Object({"item_id": str}, {"note": str, "date": str})
_SAVED = OwnJson(
    "steelyard-review",
    1,
    Object({"review_id": str, "rater": str, "kind": str, "decisions": Each(list, _DECISION)}),
    "what people saved from a form",
    again="save it from the form again",
)
_VALUE = {"verdicts": "label", "grades": "grade", "quotes": "quotes"}
_LONGEST_NAME = 100


@dataclass(frozen=True)
class SavedForm:
    """Decisions of one person in a form.

    decisions   of this person, as the file has them, in its order; of each item one
    """

    path: Path
    review_id: str
    rater: str
    decisions: list[dict[str, Any]]


def saved_form(content: Any, path: Path, forms: Mapping[str, ItemsFile]) -> SavedForm:
    """Decisions in a file that answers one of the forms.

    forms    by review id
    Raises   InputError naming the file: for another format or version, the answers to another form, an item that was
             not asked, one that is decided twice, and one without a decision.
    """
    data = _SAVED.decoded(content, str(path), dict)
    form = _form_of(data, path, forms)
    own = SavedForm(path, data["review_id"], data["rater"].strip(), data["decisions"])
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


@dataclass(frozen=True)
class RaterCount:
    """Counts of imported decisions of one person.

    n          decisions in files;   n_new   about items that this person had not decided
    n_changed  that replaced one of the same person;   n_older   that did not, as that one is later
    """

    rater: str
    n: int
    n_new: int
    n_changed: int
    n_older: int
    n_cannot_say: int


@dataclass(frozen=True)
class Conflict:
    """An item that raters disagree on;   opinions   (rater, label or grade)"""

    item: ListedItem
    opinions: Sequence[tuple[str, str]]


DecisionFiles = Mapping[tuple[str, str], Path]
"""Where decisions go, by the id of a form and a name of its `files`."""


@dataclass(frozen=True, eq=False, repr=False)
class ImportedLabels(Result):
    """Counts of an import, and the conflicts that are left to decide.

    raters     by name;   n_asked   items of the forms;   n_decided   of these, about which somebody decided
    conflicts  among the items of the forms, that are not settled
    files      that hold the labels now;   kind   of the forms
    """

    VIEW = "views.review"

    raters: Sequence[RaterCount]
    n_asked: int
    n_decided: int
    conflicts: Sequence[Conflict]
    files: Sequence[Path]
    kind: Kind = "verdicts"

    @property
    def frame(self) -> pl.DataFrame:
        """One row a rater: what was imported of each."""
        return pl.DataFrame([asdict(own) for own in self.raters])
