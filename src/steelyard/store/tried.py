"""How many configurations were evaluated on the questions that choose among them."""

from __future__ import annotations

from pathlib import Path

from steelyard.experiment.table.scores import Scores
from steelyard.store.provenance import origins_of
from steelyard.store.store import Store


def n_tried(store: Store | str | Path, *scores: Scores) -> int:
    """Number of configurations that were evaluated on the truth of some scores: those of a store, and these.

    Configurations that are not known are told apart by their results.
    store    a Store, or the file or address of one, which need not be there
    Raises   InputError for a store that cannot be read
    """
    own = {origin.config for part in scores for origin in origins_of(None, part).values()} - {""}
    opened = store if isinstance(store, Store) else Store(store)
    truth = scores[0].signature.truth
    if truth is not None and opened.exists:
        own |= set(opened.configs(truth)["config"])
    return len(own)
