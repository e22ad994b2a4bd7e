"""Which store is meant, and the scores that references to its entries name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from steelyard.base.errors import InputError, quoted
from steelyard.experiment.table.scores import Scores
from steelyard.store.entries import PREFIX
from steelyard.store.store import VARIABLE, Store

USUAL = "history.db"
"""The file of a store in the working folder, which is read where nothing else is named."""
_DIGITS = 6
"""Of an id, behind the name of a system that several entries have."""


def open_store(url: str | Path | None = None) -> Store:
    """The store that is named, else that of STEELYARD_STORE, else history.db in the working folder.

    The last one may not be there: `Store.exists` says whether it is.
    """
    return Store(url or os.environ.get(VARIABLE) or USUAL)


def is_reference(value: object) -> bool:
    """True for a text such as store:accepted, which names an entry."""
    return isinstance(value, str) and value.startswith(PREFIX)


def scores_at(ref: str, url: str | Path | Store | None = None) -> Scores:
    """The scores of an entry: store:ID, store:latest, store:accepted, store:tag=NAME.

    url      the store, or where it is, as of `open_store`
    Raises   InputError for an entry that is not there or has no scores.
    """
    return next(iter(scores_by_id([ref], url).values()))


def scores_by_id(refs: Sequence[str], url: str | Path | Store | None = None) -> dict[str, Scores]:
    """Id of an entry -> its scores, of those that are named, each once.

    Raises   InputError, also for what is no reference.
    """
    for ref in refs:
        if not is_reference(ref):
            raise InputError(f"{quoted(ref)} is no entry of a store; name entries alone, such as store:latest")
    with url if isinstance(url, Store) else open_store(url) as store:
        ids = dict.fromkeys(store.entry(ref).id for ref in refs)
        return {id: store.scores(id) for id in ids}


def together(parts: Mapping[str, Scores]) -> Scores:
    """The scores of several entries as one; systems that several have are called after these, too: hybrid (3f9a2c).

    Raises   InputError for scores that do not fit together.
    """
    names = [system for part in parts.values() for system in part.systems]
    shared = {name for name in names if names.count(name) > 1}
    renamed = [
        part.renamed({name: f"{name} ({id[:_DIGITS]})" for name in shared & {*part.systems}})
        for id, part in parts.items()
    ]
    return renamed[0] if len(renamed) == 1 else Scores.concat(renamed)
