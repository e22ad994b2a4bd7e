"""A store: entries over time, each with everything that a result held."""

from __future__ import annotations

import json
import math
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.experiment.table.scores import Scores
from steelyard.store.blobs import Bundle, Shelf
from steelyard.store.database import Database
from steelyard.store.kinds import HELD_OUT, SCORES, keep, kind_of, restore, results_of
from steelyard.store.provenance import Origin, git_state, origins_of, versions_of

VARIABLE = "STEELYARD_STORE"
"""Variable of the environment that names the store where nothing else does."""
PREFIX = "store:"
"""How a reference to an entry begins where a path may be meant, such as store:accepted."""

_ID = re.compile(r"[0-9a-f]+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = pl.Datetime("us", "UTC")
_ENTRIES: Mapping[str, Any] = {
    "id": pl.String, "time": _TIME, "kind": pl.String, "command": pl.String, "commit": pl.String, "dirty": pl.Boolean,
    "tags": pl.List(pl.String), "note": pl.String, "systems": pl.Int64, "measure": pl.String, "mean": pl.Float64,
    "truth": pl.String, "n_questions": pl.Int64, "outcome": pl.String, "accepted": pl.Boolean,
}  # fmt: skip
_MEANS: Mapping[str, Any] = {
    "entry": pl.String, "time": _TIME, "kind": pl.String, "commit": pl.String, "dirty": pl.Boolean, "truth": pl.String,
    "config": pl.String, "corpus": pl.String, "system": pl.String, "measure": pl.String, "mean": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
}  # fmt: skip
_OUTCOMES: Mapping[str, Any] = {
    "entry": pl.String, "time": _TIME, "system": pl.String, "outcome": pl.String, "baseline": pl.String,
}  # fmt: skip
_ACCEPTANCES: Mapping[str, Any] = {
    "entry": pl.String, "time": _TIME, "truth": pl.String, "who": pl.String, "why": pl.String,
}  # fmt: skip
_CONFIGS: Mapping[str, Any] = {"config": pl.String, "time": _TIME}
_CONFIRMATIONS: Mapping[str, Any] = {
    "time": _TIME, "truth": pl.String, "entry": pl.String, "system": pl.String, "against": pl.String,
    "measure": pl.String, "mean": pl.Float64, "agrees": pl.Boolean, "charged": pl.Boolean,
}  # fmt: skip


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


class Store:
    """Entries over time in a SQLite file, or in PostgreSQL.

    url   a file, such as history.db, or postgresql://USER@HOST/NAME; it is created when something is added
    An entry is a result as it was: scores, a run, a sweep, a bench, verdicts, a comparison, a gate or a report.
    Raises   MissingExtraError without SQLAlchemy; InputError, OutputError for a store that cannot be read or written.

    >>> from tempfile import mkdtemp
    >>> store = Store(Path(mkdtemp()) / "history.db")
    >>> scores = Scores.of(pl.DataFrame({"query_id": ["q1", "q2"], "measure": "clicks", "value": [3, 1]}))
    >>> entry = store.add(scores, tags=["v1.0"])
    >>> store.scores("tag=v1.0").means.tolist(), store.entries()["kind"].to_list()
    ([[2.0]], ['scores'])
    """

    def __init__(self, url: str | Path) -> None:
        self._database = Database(url)

    @classmethod
    def of_environment(cls, url: str | Path | None = None) -> Store | None:
        """The store that is named, else that of the variable STEELYARD_STORE; None where neither is."""
        named = url or os.environ.get(VARIABLE)
        return cls(named) if named else None

    @property
    def name(self) -> str:
        """The file, or the address without its password."""
        return self._database.name

    @property
    def exists(self) -> bool:
        """True if there may be something to read."""
        return self._database.exists

    def __repr__(self) -> str:
        return f"Store({self.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the next call opens one again."""
        self._database.close()

    def add(
        self,
        result: Any,
        *,
        tags: Iterable[str] = (),
        command: str = "",
        note: str = "",
        commit: str | None = None,
        dirty: bool | None = None,
        time: datetime | None = None,
    ) -> Entry:
        """Add a result as an entry, whole or not at all.

        result         Scores, WeighedRun, Swept, Bench, JudgedRun, Verdicts, Comparison, Gate, Report or ReviewReport
        tags           by which the entry is named later, such as v1.2
        commit, dirty  of the code that was measured; by default those of the repository in the current folder
        time           when it was measured; now by default
        Raises         InputError for what is no such result, and a tag with white space; OutputError
        """
        kind, parts = kind_of(result), results_of(result)
        scores = next((part for part in parts.values() if isinstance(part, Scores)), None)
        names = [checked_tag(tag) for tag in tags]
        if commit is None:
            commit, own_dirty = git_state()
            dirty = own_dirty if dirty is None else dirty
        bundle = Bundle()
        held = {name: keep(part, bundle) for name, part in parts.items()}
        origins, row = origins_of(result, scores), _headline(scores)
        row |= {
            "id": secrets.token_hex(5), "time": _microseconds(time or datetime.now(UTC)), "kind": kind,
            "command": command, "git_commit": commit, "dirty": dirty, "note": note, "n_systems": len(origins),
            "versions": json.dumps(versions_of(result, scores)),
        }  # fmt: skip
        rows = {
            "tags": [{"tag": name} for name in dict.fromkeys(names)],
            "systems": [_system_row(system, origin) for system, origin in origins.items()],
            "means": [] if scores is None else _mean_rows(scores),
            "outcomes": _outcome_rows(result) if kind == "gate" else [],
            "parts": [{"name": name, "kind": own, "blob": blob} for name, (own, blob) in held.items()],
            "uses": [{"blob": digest} for digest in bundle.blobs],
        }
        with self._database.writing() as connection:
            number = self._insert(connection, row, rows, bundle)
            return self._entry_of(connection, number)

    def _insert(self, connection: Any, row: Mapping[str, Any], rows: Mapping[str, Any], bundle: Bundle) -> int:
        from sqlalchemy.dialects import postgresql, sqlite

        from steelyard.store.schema import BLOBS, ENTRIES, METADATA

        insert = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert
        number: int = connection.execute(ENTRIES.insert().values(**row)).inserted_primary_key[0]
        if bundle.blobs:
            blobs = [{"digest": digest, "data": data} for digest, data in bundle.blobs.items()]
            connection.execute(insert(BLOBS).on_conflict_do_nothing(), blobs)
        for table, of_table in rows.items():
            if of_table:
                connection.execute(METADATA.tables[table].insert(), [{"entry": number, **own} for own in of_table])
        return number

    def entries(self) -> pl.DataFrame:
        """One row an entry, newest first: id, time, kind, command, commit, dirty, tags, note, systems (how many),
        measure and mean (the best mean of the primary measure), truth, n_questions, outcome (of gates, the gravest),
        accepted.
        """
        from sqlalchemy import func, select

        from steelyard.store.schema import ACCEPTANCES, ENTRIES, OUTCOMES, TAGS

        c = ENTRIES.c
        own = select(c.id, c.time, c.kind, c.command, c.git_commit, c.dirty, c.note, c.n_systems, c.measure, c.mean,
                     c.truth, c.n_questions, c.number).order_by(c.time.desc(), c.number.desc())  # fmt: skip
        with self._database.reading() as connection:
            rows = connection.execute(own).all()
            tags = _grouped(connection.execute(select(TAGS.c.entry, TAGS.c.tag)))
            outcomes = _grouped(connection.execute(select(OUTCOMES.c.entry, OUTCOMES.c.outcome)))
            accepted = {row[0] for row in connection.execute(select(func.distinct(ACCEPTANCES.c.entry)))}
        columns = list(zip(*rows, strict=True)) or [()] * 13
        number = columns.pop()
        names = ("id", "time", "kind", "command", "commit", "dirty", "note", "systems", "measure", "mean", "truth",
                 "n_questions")  # fmt: skip
        data = dict(zip(names, map(list, columns), strict=True))
        data |= {
            "tags": [tags.get(n, []) for n in number],
            "outcome": [_gravest(outcomes.get(n, ())) for n in number],
            "accepted": [n in accepted for n in number],
        }
        return _frame(data, _ENTRIES)

    def entry(self, ref: str, *, truth: str | None = None) -> Entry:
        """The entry of a reference: an id or a beginning of one, latest, accepted, or tag=NAME (the newest with it).

        ref      with or without "store:" before it
        truth    digest of the gold that latest and accepted are to be of, where there are entries of several
        Raises   InputError for an entry that is not there, and a beginning that several have.
        """
        with self._database.reading() as connection:
            return self._entry_of(connection, self._number(connection, ref.removeprefix(PREFIX), truth))

    def _number(self, connection: Any, ref: str, truth: str | None = None) -> int:
        from sqlalchemy import select

        from steelyard.store.schema import ACCEPTANCES, ENTRIES, TAGS

        c, of_truth = ENTRIES.c, ([] if truth is None else [ENTRIES.c.truth == truth])
        numbers, newest = select(c.number), (c.time.desc(), c.number.desc())
        if ref == "latest":
            found = numbers.where(*of_truth).order_by(*newest).limit(1)
            problem = "no entry" if truth is None else "no entry of the same gold"
        elif ref == "accepted":
            found = numbers.join(ACCEPTANCES).where(*of_truth).order_by(ACCEPTANCES.c.time.desc(), *newest).limit(1)
            problem = "no accepted entry" if truth is None else "no accepted entry of the same gold"
            problem += "; accept one with `steelyard history accept ID`"
        elif ref.startswith("tag="):
            found = numbers.join(TAGS).where(TAGS.c.tag == ref[4:]).order_by(*newest).limit(1)
            problem = f"no entry with the tag {quoted(ref[4:])}"
        else:
            found = numbers.where(c.id.startswith(ref if _ID.fullmatch(ref) else "-")).limit(2)
            problem = f"no entry {quoted(ref)}; name an id of `steelyard history`, latest, accepted or tag=NAME"
        rows = connection.execute(found).scalars().all()
        if not rows:
            raise InputError(f"{self.name}: has {problem}")
        if len(rows) > 1:
            raise InputError(f"{self.name}: several entries begin with {quoted(ref)}; write more of its id")
        return int(rows[0])

    def _entry_of(self, connection: Any, number: int) -> Entry:
        from steelyard.store.schema import ACCEPTANCES, ENTRIES, PARTS, SYSTEMS, TAGS

        [own] = connection.execute(ENTRIES.select().where(ENTRIES.c.number == number)).mappings()

        def rows(table: Any, *order: Any) -> list[Any]:
            listed = table.select().where(table.c.entry == number).order_by(*order)
            return list(connection.execute(listed).mappings())

        systems = rows(SYSTEMS)
        return Entry(
            own["id"], _moment(own["time"]), own["kind"], own["command"], own["git_commit"], own["dirty"],
            tags=tuple(row["tag"] for row in rows(TAGS)), note=own["note"], truth=own["truth"],
            n_questions=own["n_questions"],
            settings={row["system"]: json.loads(row["settings"]) for row in systems},
            fingerprints={row["system"]: json.loads(row["fingerprints"]) for row in systems},
            versions=json.loads(own["versions"]),
            accepted=tuple((_moment(row["time"]), row["who"], row["why"]) for row in rows(ACCEPTANCES, "time")),
            parts={row["name"]: row["kind"] for row in rows(PARTS)}, number=number,
        )  # fmt: skip

    def result(self, ref: str, name: str | None = None) -> Any:
        """What was added, as it was: the same to the last bit.

        Of results that refer to a folder, what they are made of: scores of a run or bench, verdicts of answers.
        name     of another part of the entry, as `Entry.parts` has them
        Raises   InputError for an entry or part that is not there, and for one that is damaged.
        """
        from steelyard.store.schema import PARTS

        with self._database.reading() as connection:
            number = self._number(connection, ref.removeprefix(PREFIX))
            rows = connection.execute(
                PARTS.select().where(PARTS.c.entry == number)
            ).mappings().all()  # fmt: skip
            parts = {row["name"]: row for row in rows}
            if name is not None and name not in parts:
                raise InputError(f"entry {ref}: has no part {quoted(name)}; it has {', '.join(parts)}")
            if not parts:
                raise InputError(f"entry {ref}: holds no result")
            row = parts[name or next(part for part in parts if part != HELD_OUT)]
            return restore(row["kind"], row["blob"], Shelf(connection, self.name))

    def scores(self, ref: str) -> Scores:
        """The scores of an entry.

        Raises   InputError for an entry that has none, such as verdicts.
        """
        entry = self.entry(ref)
        names = [name for name, kind in entry.parts.items() if kind == SCORES and name != HELD_OUT]
        if not names:
            raise InputError(f"entry {entry.id}: holds no scores, but {', '.join(entry.parts)}")
        scores: Scores = self.result(entry.id, names[0])
        return scores

    def means(self, measure: str | None = None, system: str | None = None) -> pl.DataFrame:
        """One row for each entry, system and measure, oldest first.

        Columns: entry, time, kind, commit, dirty, truth, config and corpus (digests of the system's configuration and
        of its documents, where they are known), system, measure, mean, low, high (its 95% interval), n.
        measure, system   only these
        """
        from sqlalchemy import and_, select

        from steelyard.store.schema import ENTRIES, MEANS, SYSTEMS

        c, m = ENTRIES.c, MEANS.c
        same = and_(SYSTEMS.c.entry == m.entry, SYSTEMS.c.system == m.system)
        wanted = [column == value for column, value in ((m.measure, measure), (m.system, system)) if value is not None]
        query = (
            select(c.id, c.time, c.kind, c.git_commit, c.dirty, c.truth, SYSTEMS.c.config, SYSTEMS.c.corpus, m.system,
                   m.measure, m.mean, m.low, m.high, m.n)
            .select_from(MEANS.join(ENTRIES).outerjoin(SYSTEMS, same)).where(*wanted).order_by(c.time, c.number)
        )  # fmt: skip
        return self._table(query, _MEANS)

    def outcomes(self) -> pl.DataFrame:
        """One row a system of a gate, oldest first: entry, time, system, outcome, baseline (an entry, or null)."""
        from sqlalchemy import select

        from steelyard.store.schema import ENTRIES, OUTCOMES

        c, o = ENTRIES.c, OUTCOMES.c
        query = select(c.id, c.time, o.system, o.outcome, o.baseline).select_from(OUTCOMES.join(ENTRIES))
        return self._table(query.order_by(c.time, c.number), _OUTCOMES)

    def acceptances(self) -> pl.DataFrame:
        """One row an acceptance, oldest first: entry, time, truth, who, why."""
        from sqlalchemy import select

        from steelyard.store.schema import ACCEPTANCES, ENTRIES

        a = ACCEPTANCES.c
        query = select(ENTRIES.c.id, a.time, ENTRIES.c.truth, a.who, a.why).select_from(ACCEPTANCES.join(ENTRIES))
        return self._table(query.order_by(a.time), _ACCEPTANCES)

    def configs(self, truth: str) -> pl.DataFrame:
        """One row for each configuration that was evaluated on a truth, first ones first: config, time (of its first
        entry).

        config   a digest of its settings, or of its results where they are not known
        """
        from steelyard.store.looks import configs_of

        return self._table(configs_of(truth), _CONFIGS)

    def confirmations(self) -> pl.DataFrame:
        """One row a question to a held-out part, oldest first: time, truth (its digest), entry, system, against (an
        entry, or ""), measure, mean (null where it was refused), agrees, charged.
        """
        from steelyard.store.looks import all_confirmations

        return self._table(all_confirmations(), _CONFIRMATIONS)

    def ask_held_out(
        self, question: Mapping[str, str], answer: Callable[[int], Mapping[str, Any]]
    ) -> tuple[Mapping[str, Any], int]:
        """Ask a held-out part, and keep what it answers; nobody else asks meanwhile.

        question   truth, entry, system, against and measure: one that was answered before has the same answer
        answer     mean, agrees and charged, from the number of answers that were charged before
        Returns    the answer, and how many were charged with it
        """
        from steelyard.store.looks import answered

        with self._database.writing() as connection:
            return answered(connection, question, answer, time=_microseconds(datetime.now(UTC)))

    def _table(self, query: Any, schema: Mapping[str, Any]) -> pl.DataFrame:
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        columns = zip(*rows, strict=True) if rows else [()] * len(schema)
        return _frame(dict(zip(schema, map(list, columns), strict=True)), schema)

    def accept(self, ref: str, *, who: str = "", why: str = "", time: datetime | None = None) -> Entry:
        """Accept an entry as the baseline of later gates; the one that was accepted last counts.

        who   by default the name that git has, or that of the account
        """
        from steelyard.store.schema import ACCEPTANCES

        row = {"time": _microseconds(time or datetime.now(UTC)), "who": who or _account(), "why": why}
        return self._extended(ref, ACCEPTANCES, [row])

    def tag(self, ref: str, *tags: str) -> Entry:
        """Give an entry more tags."""
        from steelyard.store.schema import TAGS

        return self._extended(ref, TAGS, [{"tag": checked_tag(tag)} for tag in tags])

    def _extended(self, ref: str, table: Any, rows: Sequence[Mapping[str, Any]]) -> Entry:
        entry = self.entry(ref)  # Names a store that is not there, which writing would create.
        with self._database.writing() as connection:
            number = self._number(connection, entry.id)
            connection.execute(table.insert(), [{"entry": number, **row} for row in rows])
            return self._entry_of(connection, number)

    def remove(self, refs: Collection[str]) -> list[str]:
        """Remove entries, and what no other entry uses; all of them or none.  Returns their ids."""
        from sqlalchemy import select

        from steelyard.store.schema import BLOBS, ENTRIES, USES

        ids = [self.entry(ref).id for ref in refs]
        with self._database.writing() as connection:
            numbers = [self._number(connection, own) for own in ids]
            connection.execute(ENTRIES.delete().where(ENTRIES.c.number.in_(numbers)))
            connection.execute(BLOBS.delete().where(BLOBS.c.digest.not_in(select(USES.c.blob))))
        return ids

    def trend(self, measure: str | None = None, **options: Any) -> Any:
        """How a measure went over time: a line for each system, with the points where its level changed.

        See `steelyard.history.trend.trend` for the options.
        """
        return import_module("steelyard.history.trend").trend(self, measure, **options)

    def confirm(self, ref: str = "latest", **options: Any) -> Any:
        """Ask the held-out questions of an entry whether they agree with the open ones; see
        `steelyard.history.confirm.confirm`.
        """
        return import_module("steelyard.history.confirm").confirm(self, ref, **options)

    def wear(self, measure: str | None = None, **options: Any) -> Any:
        """How worn the questions are, after so many configurations; see `steelyard.history.wear.wear`."""
        return import_module("steelyard.history.wear").wear(self, measure, **options)


def checked_tag(tag: str) -> str:
    """The tag.

    Raises   InputError for one that is empty, or that a shell would take for several words.
    """
    if not tag or not tag.isprintable() or any(c.isspace() for c in tag):
        raise InputError(f"tag {quoted(tag)}: expected a name without white space, such as v1.2")
    return tag


def _account() -> str:
    from getpass import getuser

    from steelyard.store.provenance import _git

    try:
        return _git(None, "config", "user.name") or getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def _headline(scores: Scores | None) -> dict[str, Any]:
    """Truth, questions and the best mean of the primary measure."""
    if scores is None or not scores.systems:
        return {"truth": None, "n_questions": None, "measure": None, "mean": None}
    best = scores.by_mean()[0]
    return {
        "truth": scores.signature.truth, "n_questions": len(scores.query_ids), "measure": str(scores.primary),
        "mean": _finite(float(scores.reported.mean[best, 0])),
    }  # fmt: skip


def _mean_rows(scores: Scores) -> list[dict[str, Any]]:
    """Means as reports show them first: corrected by labels of people where there are some."""
    means, names = scores.reported, [str(measure) for measure in scores.measures]
    return [
        {
            "system": system, "measure": name, "mean": _finite(float(means.mean[i, j])),
            "low": _finite(float(means.low[i, j])), "high": _finite(float(means.high[i, j])),
            "n": int(scores.n_counted[i, j]),
        }
        for i, system in enumerate(scores.systems)
        for j, name in enumerate(names)
    ]  # fmt: skip


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _system_row(system: str, origin: Origin) -> dict[str, str | None]:
    dump = partial(json.dumps, ensure_ascii=False, sort_keys=True)
    return {
        "system": system, "config": origin.config, "corpus": origin.fingerprints.get("corpus"),
        "settings": dump(dict(origin.settings)), "fingerprints": dump(dict(origin.fingerprints)),
    }  # fmt: skip


def _outcome_rows(gate: Any) -> list[dict[str, Any]]:
    """Outcome of each system of a gate: the gravest of its checks."""
    outcomes = {
        system: _gravest([check.outcome for check in gate.checks if check.system == system]) for system in gate.systems
    }
    return [
        {"system": system, "outcome": outcome, "baseline": None if gate.entry is None else gate.entry.id}
        for system, outcome in outcomes.items()
    ]


def _gravest(outcomes: Collection[str]) -> str | None:
    return next((own for own in ("fail", "insufficient", "pass") if own in outcomes), None)


def _grouped(rows: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for number, value in rows:
        groups.setdefault(number, []).append(value)
    return groups


def _frame(data: Mapping[str, list[Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    own = {name: pl.Int64 if dtype == _TIME else dtype for name, dtype in schema.items()}
    return pl.DataFrame({name: data[name] for name in own}, schema=own).cast({"time": _TIME})


def _microseconds(time: datetime) -> int:
    return (time.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
