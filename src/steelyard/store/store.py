"""A store: entries over time, each with everything that a result held."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.experiment.table.scores import Scores
from steelyard.store.adding import checked_tag, gravest, insert_entry, plain_text, rows_of
from steelyard.store.blobs import Shelf
from steelyard.store.database import Database
from steelyard.store.entries import Entry, entry_of, microseconds, number_of
from steelyard.store.kinds import HELD_OUT, KINDS, SCORES, restore
from steelyard.store.provenance import account_name, git_state

VARIABLE = "STEELYARD_STORE"
"""Variable of the environment that names the store where nothing else does."""

_TIME = pl.Datetime("us", "UTC")
ENTRY_COLUMNS: Mapping[str, Any] = {
    "id": pl.String, "time": _TIME, "kind": pl.String, "command": pl.String, "commit": pl.String, "dirty": pl.Boolean,
    "tags": pl.List(pl.String), "note": pl.String, "systems": pl.Int64, "measure": pl.String, "mean": pl.Float64,
    "best": pl.String, "truth": pl.String, "n_questions": pl.Int64, "outcome": pl.String, "accepted": pl.Boolean,
}  # fmt: skip
_MEANS: Mapping[str, Any] = {
    "entry": pl.String, "time": _TIME, "kind": pl.String, "commit": pl.String, "dirty": pl.Boolean, "truth": pl.String,
    "config": pl.String, "corpus": pl.String, "system": pl.String, "measure": pl.String, "mean": pl.Float64,
    "low": pl.Float64, "high": pl.Float64, "n": pl.Int64,
}  # fmt: skip
_WORDS = {"kind": pl.Enum(KINDS), "outcome": pl.Enum(["pass", "fail", "insufficient"])}
"""Columns that hold some words alone: views have a text for each."""
_NUMBER: dict[str, Any] = {"number": pl.Int64}
_MEAN = _NUMBER | {name: _MEANS[name] for name in ("system", "measure", "mean", "low", "high", "n")}
_SYSTEM = _NUMBER | {name: _MEANS[name] for name in ("system", "config", "corpus")}
_ENTRY = _NUMBER | {name: _MEANS[name] for name in ("time", "entry", "kind", "commit", "dirty", "truth")}
_OUTCOMES: Mapping[str, Any] = {
    "entry": pl.String, "time": _TIME, "system": pl.String, "outcome": pl.String, "baseline": pl.String,
}  # fmt: skip
_ACCEPTANCES: Mapping[str, Any] = {
    "entry": pl.String, "time": _TIME, "truth": pl.String, "who": pl.String, "why": pl.String,
}  # fmt: skip
_CONFIGS: Mapping[str, Any] = {"config": pl.String, "time": _TIME}
_LATEST_MEANS: Mapping[str, Any] = {
    **_CONFIGS, "entry": pl.String, "system": pl.String, "mean": pl.Float64, "n": pl.Int64,
}  # fmt: skip
_CONFIRMATIONS: Mapping[str, Any] = {
    "time": _TIME, "truth": pl.String, "entry": pl.String, "system": pl.String, "against": pl.String,
    "measure": pl.String, "mean": pl.Float64, "agrees": pl.Boolean, "charged": pl.Boolean,
}  # fmt: skip


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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._database.address,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is open between calls."""

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

        result         Scores, WeighedRun, Swept, Bench, JudgedRun, Verdicts, Preferences, Comparison, Diagnosis, Gate,
                       Report or ReviewReport
        tags           by which the entry is named later, such as v1.2
        commit, dirty  of the code that was measured; by default those of the repository in the current folder
        time           when it was measured; now by default
        Raises         InputError for what is no such result, and a tag with white space; OutputError
        """
        if commit is None:
            commit, own_dirty = git_state()
            dirty = own_dirty if dirty is None else dirty
        rows = rows_of(
            result, tags=tags, command=command, note=note, commit=commit, dirty=dirty, time=time or datetime.now(UTC)
        )  # fmt: skip
        with self._database.writing() as connection:
            return entry_of(connection, insert_entry(connection, rows))

    def entries(self) -> pl.DataFrame:
        """One row an entry, newest first: id, time, kind, command, commit, dirty, tags, note, systems (how many),
        measure, mean and best (the best mean of the primary measure, and whose it is), truth, n_questions, outcome (of
        gates, the gravest), accepted.
        """
        from sqlalchemy import func, select

        from steelyard.store.schema import ACCEPTANCES, ENTRIES, OUTCOMES, TAGS

        c = ENTRIES.c
        own = select(c.id, c.time, c.kind, c.command, c.git_commit, c.dirty, c.note, c.n_systems, c.measure, c.mean,
                     c.best, c.truth, c.n_questions, c.number).order_by(c.time.desc(), c.number.desc())  # fmt: skip
        with self._database.reading() as connection:
            rows = connection.execute(own).all()
            tags = _grouped(connection.execute(select(TAGS.c.entry, TAGS.c.tag)))
            outcomes = _grouped(connection.execute(select(OUTCOMES.c.entry, OUTCOMES.c.outcome)))
            accepted = {row[0] for row in connection.execute(select(func.distinct(ACCEPTANCES.c.entry)))}
            columns = list(zip(*rows, strict=True)) or [()] * 14
            number = columns.pop()
            names = ("id", "time", "kind", "command", "commit", "dirty", "note", "systems", "measure", "mean", "best",
                     "truth", "n_questions")  # fmt: skip
            data = dict(zip(names, map(list, columns), strict=True))
            data |= {
                "tags": [tags.get(n, []) for n in number],
                "outcome": [gravest(outcomes.get(n, ())) for n in number],
                "accepted": [n in accepted for n in number],
            }
            return _frame(data, ENTRY_COLUMNS)

    def entry(self, ref: str, *, truth: str | None = None) -> Entry:
        """The entry of a reference: an id or a beginning of one, latest, accepted, or tag=NAME (the newest with it).

        ref      with or without "store:" before it
        truth    digest of the gold that latest and accepted are to be of, where there are entries of several
        Raises   InputError for an entry that is not there, and a beginning that several have.
        """
        with self._database.reading() as connection:
            return entry_of(connection, number_of(connection, ref, store=self.name, truth=truth))

    def result(self, ref: str, name: str | None = None) -> Any:
        """What was added, as it was: the same to the last bit.

        Of results that refer to a folder, what they are made of: scores of a run or bench, verdicts of answers.
        name     of another part of the entry, as `Entry.parts` has them
        Raises   InputError for an entry or part that is not there, and for one that is damaged.
        """
        from steelyard.store.schema import PARTS

        with self._database.reading() as connection:
            number = number_of(connection, ref, store=self.name)
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
        scores: Scores = self.result(entry.id, _part_of_scores(entry))
        return scores

    def means(self, measure: str | None = None, system: str | None = None, *, entry: str | None = None) -> pl.DataFrame:
        """One row for each entry, system and measure, oldest first.

        Columns: entry, time, kind, commit, dirty, truth, config and corpus (digests of the system's configuration and
        of its documents, where they are known), system, measure, mean, low, high (its 95% interval), n.
        measure, system, entry   only these
        """
        from sqlalchemy import select

        from steelyard.store.schema import ENTRIES, MEANS, SYSTEMS

        c, m, own = ENTRIES.c, MEANS.c, SYSTEMS.c
        wanted = [column == value for column, value in ((m.measure, measure), (m.system, system)) if value is not None]

        def of_entry(number: Any) -> list[Any]:
            return [] if entry is None else [number.in_(select(c.number).where(c.id == entry))]

        # Put together here: of 100,000 rows, the database would take three times as long.
        values = select(m.entry, m.system, m.measure, m.mean, m.low, m.high, m.n).where(*wanted, *of_entry(m.entry))
        configs = select(own.entry, own.system, own.config, own.corpus).where(*of_entry(own.entry))
        about = select(c.number, c.time, c.id, c.kind, c.git_commit, c.dirty, c.truth).where(*of_entry(c.number))
        with self._database.reading() as connection:
            means = _fetched(connection, values, _MEAN)
            systems, entries = _fetched(connection, configs, _SYSTEM), _fetched(connection, about, _ENTRY)
        means = means.join(systems, on=["number", "system"], how="left", maintain_order="left")
        rows = means.join(entries, on="number", maintain_order="left")
        return rows.sort("time", "number", maintain_order=True).select(*_MEANS)

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

    def latest_means(self, truth: str, measure: str) -> pl.DataFrame:
        """One row for each configuration that has a mean of a measure on a truth, the newest one, oldest first: config,
        time, entry, system, mean, n.
        """
        from steelyard.store.looks import latest_means_of

        return self._table(latest_means_of(truth, measure), _LATEST_MEANS)

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
            return answered(connection, question, answer, time=microseconds(datetime.now(UTC)))

    def _table(self, query: Any, schema: Mapping[str, Any]) -> pl.DataFrame:
        with self._database.reading() as connection:
            return _fetched(connection, query, schema)

    def accept(self, ref: str, *, who: str = "", why: str = "", time: datetime | None = None) -> Entry:
        """Accept an entry as the baseline of later gates; the one that was accepted last counts.

        who   by default the name that git has, or that of the account
        Raises   InputError for an entry without scores, which no gate can compare with
        """
        from steelyard.store.schema import ACCEPTANCES

        _part_of_scores(self.entry(ref))
        row = {"time": microseconds(time or datetime.now(UTC)), "who": plain_text(who or account_name()),
               "why": plain_text(why)}  # fmt: skip
        return self._extended(ref, ACCEPTANCES, [row])

    def tag(self, ref: str, *tags: str) -> Entry:
        """Give an entry more tags."""
        from steelyard.store.schema import TAGS

        entry = self.entry(ref)
        more = [{"tag": tag} for tag in dict.fromkeys(map(checked_tag, tags)) if tag not in entry.tags]
        return self._extended(entry.id, TAGS, more) if more else entry

    def _extended(self, ref: str, table: Any, rows: Sequence[Mapping[str, Any]]) -> Entry:
        entry = self.entry(ref)  # Names a store that is not there, which writing would create.
        with self._database.writing() as connection:
            number = number_of(connection, entry.id, store=self.name)
            connection.execute(table.insert(), [{"entry": number, **row} for row in rows])
            return entry_of(connection, number)

    def remove(self, refs: Collection[str]) -> list[str]:
        """Remove entries, and what no other entry uses; all of them or none.  Returns their ids."""
        from sqlalchemy import select

        from steelyard.store.schema import BLOBS, ENTRIES, USES

        ids = [self.entry(ref).id for ref in refs]
        with self._database.writing() as connection:
            numbers = [number_of(connection, own, store=self.name) for own in ids]
            connection.execute(ENTRIES.delete().where(ENTRIES.c.number.in_(numbers)))
            used = select(USES.c.entry).where(USES.c.blob == BLOBS.c.digest)
            connection.execute(BLOBS.delete().where(~used.exists()))
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


def _part_of_scores(entry: Entry) -> str:
    """Name of the part of an entry that are its scores.

    Raises   InputError for an entry that has none.
    """
    names = [name for name, kind in entry.parts.items() if kind == SCORES and name != HELD_OUT]
    if not names:
        raise InputError(f"entry {entry.id}: holds no scores, but {', '.join(entry.parts)}")
    return names[0]


def _grouped(rows: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    groups: dict[int, list[str]] = {}
    for number, value in rows:
        groups.setdefault(number, []).append(value)
    return groups


def _fetched(connection: Any, query: Any, schema: Mapping[str, Any]) -> pl.DataFrame:
    """The rows of a query; its columns are in the order of the schema."""
    rows = connection.execute(query).all()
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return _frame(dict(zip(schema, map(list, columns), strict=True)), schema)


def _frame(data: Mapping[str, list[Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    own = {name: pl.Int64 if dtype == _TIME else dtype for name, dtype in schema.items()}
    frame = pl.DataFrame({name: data[name] for name in own}, schema=own).cast(pl.Schema(schema))
    return frame.with_columns(pl.col(name).cast(_WORDS[name]).cast(pl.String) for name in own if name in _WORDS)
