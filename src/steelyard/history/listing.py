"""What a store holds: its entries, newest first, and one of them with all that is known of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.base.limits import at_least
from steelyard.base.nearest import nearest
from steelyard.base.result import Result, Shown
from steelyard.base.settings import validate
from steelyard.history.wear import Wear, wear
from steelyard.measures.spec import measure_or_column
from steelyard.store.entries import Entry
from steelyard.store.kinds import KINDS
from steelyard.store.store import ENTRY_COLUMNS, Store

SHOWN = 20
"""Entries that a list has by default."""


@dataclass(frozen=True, eq=False, repr=False)
class History(Result):
    """Entries of a store, newest first.

    store     the file, or the address without its password
    entries   those that are listed, with the columns of `Store.entries`; of a measure that is asked for, its best mean
    n         how many there are that fit what is asked for
    total     how many there are at all
    worn      how worn the questions of the newest entry are; None where only one configuration was tried on them
    """

    VIEW = "views.history"

    store: str
    entries: pl.DataFrame
    n: int
    total: int
    worn: Wear | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """One row an entry that is listed."""
        return self.entries


@dataclass(frozen=True, eq=False, repr=False)
class StoredEntry(Result):
    """An entry with its means and what it holds.

    store    the file, or the address without its password
    means    one row a system and measure: system, measure, mean, low, high, n
    result   what was added, as far as that can be shown: scores, a gate, a report
    """

    VIEW = "views.history"

    store: str
    entry: Entry
    means: pl.DataFrame
    result: Shown | None

    @property
    def frame(self) -> pl.DataFrame:
        """The means."""
        return self.means


def list_entries(
    store: Store, *, kind: str | None = None, tag: str | None = None, since: datetime | str | None = None,
    measure: str | None = None, n: int = SHOWN,
) -> History:  # fmt: skip
    """The newest entries of a store; none where there is no store yet.

    kind      scores, run, sweep, bench, verdicts, comparison, diagnosis, gate, report or review
    tag       that they have;   since   a date or a time, of the local zone where it names none
    measure   that they have a mean of: the best one is shown
    n         how many at most
    Raises    InputError for a kind that there is none of, and a time that is none.
    """
    validate(Annotated[int, at_least(1)], n, "n")
    if kind is not None and kind not in KINDS:
        raise InputError(f"no entry is of kind {quoted(kind)}; {nearest(kind, KINDS)}")
    if not store.exists:
        return History(store.name, pl.DataFrame(schema=dict(ENTRY_COLUMNS)), 0, 0)
    entries = store.entries()
    total = len(entries)
    if measure is not None:
        entries = _with_best(entries, store, measure)
    for condition in _conditions(kind, tag, moment(since)):
        entries = entries.filter(condition)
    return History(store.name, entries.head(n), len(entries), total, worn=_worn(store, entries))


def _worn(store: Store, entries: pl.DataFrame) -> Wear | None:
    """How worn the questions of the newest of some entries are, by its measure."""
    scored = entries.filter(pl.col("truth").is_not_null() & pl.col("measure").is_not_null()).head(1)
    if scored.is_empty() or not measure_or_column(scored["measure"][0]).aggregation.arithmetic:
        return None
    return wear(store, scored["measure"][0], truth=scored["truth"][0])


def _conditions(kind: str | None, tag: str | None, since: datetime | None) -> Iterator[pl.Expr]:
    if kind is not None:
        yield pl.col("kind") == kind
    if tag is not None:
        yield pl.col("tags").list.contains(pl.lit(tag, pl.String))
    if since is not None:
        yield pl.col("time") >= since


def _with_best(entries: pl.DataFrame, store: Store, measure: str) -> pl.DataFrame:
    """Entries that have a mean of a measure, with the best one and whose it is."""
    spec = measure_or_column(measure)
    means = store.means(str(spec)).filter(pl.col("mean").is_not_null())
    best = means.sort("mean", descending=spec.definition.higher_is_better, maintain_order=True).unique(
        "entry", keep="first", maintain_order=True
    )
    own = best.select(id="entry", measure="measure", mean="mean", best="system")
    return entries.drop("measure", "mean", "best").join(own, on="id", maintain_order="left").select(entries.columns)


def moment(since: datetime | str | None, name: str = "since") -> datetime | None:
    """A moment, of the local zone where it names none; `name` is what it is called in the error.

    Raises   InputError for a text that is no date or time.
    """
    if isinstance(since, str):
        try:
            since = datetime.fromisoformat(since)
        except ValueError:
            raise InputError(f"{name} {quoted(since)}: expected a date or time, such as 2026-05-01") from None
    return since.astimezone() if since is not None else None


def show_entry(store: Store, ref: str) -> StoredEntry:
    """An entry with all that is known of it.

    ref      as of `Store.entry`
    Raises   InputError for an entry that is not there.
    """
    entry = store.entry(ref)
    means = store.means(entry=entry.id).select("system", "measure", "mean", "low", "high", "n")
    main = entry.kind if entry.kind in entry.parts else next(iter(entry.parts), None)
    result: Any = None if main is None else store.result(entry.id, main)
    return StoredEntry(store.name, entry, means, result if isinstance(result, Shown) else None)


def remove(store: Store, refs: Sequence[str], *, force: bool = False) -> list[str]:
    """Remove entries, all of them or none, and return their ids.

    force    also those that were accepted as a baseline
    Raises   InputError for an entry that is not there, and without force for one that was accepted.
    """
    entries = [store.entry(ref) for ref in refs]
    if not force and (accepted := next((entry for entry in entries if entry.accepted), None)):
        raise InputError(
            f"entry {accepted.id}: was accepted as a baseline; remove it with --force, if no later gate needs it"
        )
    return store.remove([entry.id for entry in entries])
