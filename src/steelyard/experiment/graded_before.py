"""Grades from before a judge grades: kept where people gave them, and where the judge is not asked."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from steelyard.base.errors import InputError, OutputError
from steelyard.data.truth import Truth
from steelyard.judges.grading.grades import PEOPLE, GradedPair, Grades, Key, checked_on, graded_of, holds_rows
from steelyard.judges.grading.scale import Scale


def graded_before(keep: object, save: str | Path | None, scale: Scale) -> dict[Key, GradedPair]:
    """Pairs that are graded already: those of the file, and on top those that people graded.

    Raises   InputError for a truth to keep that people graded nothing of, or otherwise than in the file; OutputError
             where a file would be replaced that does not say who graded, or where nothing can be written.
    """
    pairs = {} if save is None else {pair.key: pair for pair in _of_file(Path(save), scale)}
    if keep is None:
        return pairs
    by_people = [pair for pair in _opened(keep).pairs if pair.by == PEOPLE]
    if not by_people:
        raise InputError(f"{keep}: people graded nothing in it (`by` is not {PEOPLE!r}), so there is nothing to keep")
    for pair in by_people:
        own = pairs.get(pair.key)
        if own is not None and own.by == PEOPLE and own.gain is not None and own.gain != pair.gain:
            raise InputError(
                f"people graded document {pair.doc_id!r} for question {pair.query_id!r} {own.gain:g} in {save}, and "
                f"{'not' if pair.gain is None else f'{pair.gain:g}'} in what is to be kept; settle it in one of them"
            )
    return pairs | {pair.key: pair for pair in by_people}


def _opened(keep: object) -> Grades:
    if isinstance(keep, Grades):
        return keep
    if isinstance(keep, str | os.PathLike):
        return Grades.read(Path(keep))
    return Grades(graded_of(keep if isinstance(keep, Truth) else Truth(keep)))


def _of_file(file: Path, scale: Scale) -> Sequence[GradedPair]:
    """The pairs that a file holds that is to be written."""
    if str(file) != "-" and not os.access(file.parent, os.W_OK):
        raise OutputError(f"{file.parent}: cannot be written, or is no folder; write the truth elsewhere (-o FILE)")
    if not file.exists():
        return ()
    if file.is_dir():
        raise OutputError(f"{file}: is a folder; name a file in it for the truth (-o FILE)")
    if not holds_rows(file):
        raise OutputError(
            f"{file}: is there already, and does not say who graded; choose another file, or one in JSONL, which is "
            "extended, and keep what people graded in this one: keep=..., --keep"
        )
    pairs = Grades.read(file).pairs
    checked_on(scale.name, pairs, str(file))
    return pairs


def with_new(before: Mapping[Key, GradedPair], judged: Iterable[GradedPair]) -> Collection[GradedPair]:
    """The pairs of a truth: what people graded, what a judge says now, and what was there besides.

    A grade that was there is not lost where the judge gives none now, and one that is the same keeps its date.
    """
    pairs = dict(before)
    for pair in judged:
        earlier = pairs.get(pair.key, pair)
        is_lost = pair.gain is None and earlier.gain is not None
        if earlier.by != PEOPLE and not is_lost and replace(pair, date=earlier.date, others=earlier.others) != earlier:
            pairs[pair.key] = pair
        else:
            pairs[pair.key] = earlier
    return pairs.values()
