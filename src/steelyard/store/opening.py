"""Which store is meant, and the scores that references to its entries name."""

from __future__ import annotations

import os
from collections.abc import Sequence
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


def scores_at(refs: str | Sequence[str], url: str | Path | Store | None = None) -> Scores:
    """The scores of one entry or several, as one: store:ID, store:latest, store:accepted, store:tag=NAME.

    url      the store, or where it is, as of `open_store`
    Systems of the same name in several entries are told apart by the ids of these: hybrid (3f9a2c).
    Raises   InputError for entries that are not there or have no scores, and for scores that do not fit together.
    """
    named = [refs] if isinstance(refs, str) else list(refs)
    for ref in named:
        if not is_reference(ref):
            raise InputError(f"{quoted(ref)} is no entry of a store; name entries alone, such as store:latest")
    with url if isinstance(url, Store) else open_store(url) as store:
        ids = list(dict.fromkeys(store.entry(ref).id for ref in named))
        parts = {id: store.scores(id) for id in ids}
    names = [system for part in parts.values() for system in part.systems]
    shared = {name for name in names if names.count(name) > 1}
    renamed = [
        part.renamed({name: f"{name} ({id[:_DIGITS]})" for name in shared & {*part.systems}})
        for id, part in parts.items()
    ]
    return renamed[0] if len(renamed) == 1 else Scores.concat(renamed)
