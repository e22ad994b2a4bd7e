"""Entries of a store: what each says of itself, and how one is named."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.experiment.parts import checked
from steelyard.store.kinds import KINDS

PREFIX = "store:"
"""How a reference to an entry begins where a path may be meant, such as store:accepted."""

_ID = re.compile(r"[0-9a-f]+")
_PLAIN = re.compile(r"[a-z0-9_]+")
"""Ids, and names of parts: files and folders are called by them."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Entry:
    """One entry of a store, without its values.

    id            ten hexadecimal digits;   time   when it was added, in UTC
    kind          scores, run, sweep, bench, verdicts, comparison, gate, report or review
    command       the words behind `steelyard`, "" for a call of Python
    commit        that was checked out, None outside of a repository;   dirty   whether files differed from it
    truth         digest of the gold, None without one;   n_questions   of the scores
    settings      system -> dotted setting -> text;   fingerprints   system -> part -> digest, where known: corpus,
                  chunker, embedder, index, fusion, reranker, prompt, judge, run, and config, of all settings together
    versions      library -> version
    accepted      acceptances, oldest first: when, by whom and why
    parts         name -> kind of what the entry holds
    """

    id: str
    time: datetime
    kind: str
    command: str = ""
    commit: str | None = None
    dirty: bool | None = None
    tags: Sequence[str] = ()
    note: str = ""
    truth: str | None = None
    n_questions: int | None = None
    settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    fingerprints: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    versions: Mapping[str, str] = field(default_factory=dict, repr=False)
    accepted: Sequence[tuple[datetime, str, str]] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    number: int = field(default=0, repr=False)


def number_of(connection: Any, ref: str, *, store: str, truth: str | None = None) -> int:
    """The number of the entry of a reference, such as store:accepted.

    store    its name, for the message
    truth    digest of the gold that latest and accepted are to be of
    Raises   InputError for an entry that is not there, and a beginning that several have.
    """
    from sqlalchemy import select

    from steelyard.store.schema import ACCEPTANCES, ENTRIES, TAGS

    ref = ref.removeprefix(PREFIX)
    c, of_truth = ENTRIES.c, ([] if truth is None else [ENTRIES.c.truth == truth])
    numbers, newest = select(c.number), (c.time.desc(), c.number.desc())
    if ref == "latest":
        query = numbers.where(*of_truth).order_by(*newest).limit(1)
        problem = "no entry" if truth is None else "no entry of the same gold"
    elif ref == "accepted":
        query = numbers.join(ACCEPTANCES).where(*of_truth).order_by(ACCEPTANCES.c.time.desc(), *newest).limit(1)
        problem = "no accepted entry" if truth is None else "no accepted entry of the same gold"
        problem += "; accept one with `steelyard history accept ID`"
    elif ref.startswith("tag="):
        query = numbers.join(TAGS).where(TAGS.c.tag == ref[4:]).order_by(*newest).limit(1)
        problem = f"no entry with the tag {quoted(ref[4:])}"
    else:
        query = numbers.where(c.id.startswith(ref if _ID.fullmatch(ref) else "-")).limit(2)
        problem = f"no entry {quoted(ref)}; name an id of `steelyard history`, latest, accepted or tag=NAME"
    rows = connection.execute(query).scalars().all()
    if not rows:
        raise InputError(f"{store}: has {problem}")
    if len(rows) > 1:
        raise InputError(f"{store}: several entries begin with {quoted(ref)}; write more of its id")
    return int(rows[0])


def entry_of(connection: Any, number: int) -> Entry:
    """The entry of a number.

    Raises   ValueError for what no Steelyard wrote, such as a part that is called ../x.
    """
    from steelyard.store.schema import ACCEPTANCES, ENTRIES, PARTS, SYSTEMS, TAGS

    [own] = connection.execute(ENTRIES.select().where(ENTRIES.c.number == number)).mappings()

    def rows(table: Any, *order: Any) -> list[Any]:
        listed = table.select().where(table.c.entry == number).order_by(*order)
        return list(connection.execute(listed).mappings())

    systems, parts = rows(SYSTEMS), {row["name"]: row["kind"] for row in rows(PARTS)}
    if odd := [name for name in (own["id"], *parts) if not _PLAIN.fullmatch(name)]:
        raise ValueError(f"an entry or a part of one is called {quoted(odd[0])}")
    entry = Entry(
        own["id"], moment(own["time"]), own["kind"], own["command"], own["git_commit"], own["dirty"],
        tags=tuple(row["tag"] for row in rows(TAGS)), note=own["note"], truth=own["truth"],
        n_questions=own["n_questions"],
        settings={row["system"]: json.loads(row["settings"]) for row in systems},
        fingerprints={row["system"]: json.loads(row["fingerprints"]) for row in systems},
        versions=json.loads(own["versions"]),
        accepted=tuple((moment(row["time"]), row["who"], row["why"]) for row in rows(ACCEPTANCES, "time")),
        parts=parts, number=number,
    )  # fmt: skip
    if entry.kind not in KINDS:
        raise ValueError(f"{quoted(entry.kind)} is no kind of an entry")
    return checked(entry)


def microseconds(time: datetime) -> int:
    """Microseconds since 1970 in UTC; a time without a zone is local."""
    return (time.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


def moment(microseconds: int) -> datetime:
    """The time of microseconds since 1970, in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)
