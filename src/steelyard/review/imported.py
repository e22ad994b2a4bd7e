"""What an import of people's decisions did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from steelyard.review.items_file import Kind, ListedItem


@dataclass(frozen=True)
class RaterCount:
    """What was taken in of one person.

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
    """An item that raters are at odds about;   opinions   (rater, label or grade)"""

    item: ListedItem
    opinions: Sequence[tuple[str, str]]


Places = Mapping[tuple[str, str], Path]
"""Where decisions go, by the id of a form and a name of its `files`."""


@dataclass(frozen=True, eq=False)
class ImportedLabels:
    """What an import did, and what is left to decide.

    raters     by name;   n_asked   items of the forms;   n_decided   of these, about which somebody decided
    conflicts  among the items of the forms, that nobody settled
    files      that hold the labels now;   kind   of the forms
    """

    raters: Sequence[RaterCount]
    n_asked: int
    n_decided: int
    conflicts: Sequence[Conflict]
    files: Sequence[Path]
    kind: Kind = "verdicts"
