"""Tables of a store, and the numbered migrations that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
)

METADATA = MetaData()
_NUMBER = BigInteger().with_variant(Integer, "sqlite")


def _entry() -> Column[int]:
    return Column("entry", _NUMBER, ForeignKey("entries.number", ondelete="CASCADE"), nullable=False, index=True)


STORE = Table("steelyard_store", METADATA, Column("version", Integer, nullable=False))
"""One row: the version of the tables."""

ENTRIES = Table(
    "entries", METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", String, nullable=False, unique=True),
    Column("time", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("command", String, nullable=False),
    Column("git_commit", String),
    Column("dirty", Boolean),
    Column("note", String, nullable=False),
    Column("truth", String),
    Column("n_questions", Integer),
    Column("measure", String),
    Column("mean", Float),
    Column("best", String),
    Column("n_systems", Integer, nullable=False),
    Column("versions", String, nullable=False),
    Index("entries_by_time", "time"),
)  # fmt: skip
"""One row an entry: microseconds since 1970 in UTC, what was done, and the best mean of the primary measure."""

TAGS = Table("tags", METADATA, _entry(), Column("tag", String, nullable=False), Index("tags_by_name", "tag"))

SYSTEMS = Table(
    "systems", METADATA, _entry(),
    Column("system", String, nullable=False),
    Column("config", String, nullable=False),
    Column("corpus", String),
    Column("settings", String, nullable=False),
    Column("fingerprints", String, nullable=False),
)  # fmt: skip
"""One row a system of an entry: digests of its configuration and corpus, and settings and fingerprints in JSON."""

MEANS = Table(
    "means", METADATA, _entry(),
    Column("system", String, nullable=False),
    Column("measure", String, nullable=False),
    Column("mean", Float),
    Column("low", Float),
    Column("high", Float),
    Column("n", Integer, nullable=False),
    Index("means_by_measure", "measure"),
)  # fmt: skip
"""One row a system and measure of an entry: the mean of its scores, and its 95% interval."""

OUTCOMES = Table(
    "outcomes", METADATA, _entry(),
    Column("system", String, nullable=False),
    Column("outcome", String, nullable=False),
    Column("baseline", String),
)  # fmt: skip
"""One row a system of a gate: pass, fail or insufficient, and the entry that it was compared with, if any."""

PARTS = Table(
    "parts", METADATA, _entry(),
    Column("name", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("blob", String, nullable=False),
)  # fmt: skip
"""One row a result of an entry, such as scores, verdicts, a gate: the kind of result, and the blob that holds it."""

BLOBS = Table(
    "blobs", METADATA,
    Column("digest", String, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)  # fmt: skip
"""Compressed Arrow by the SHA-256 of its bytes: what is equal is there once."""

USES = Table(
    "uses", METADATA, _entry(), Column("blob", String, nullable=False), Index("uses_by_blob", "blob"),
)  # fmt: skip
"""Which blobs an entry is made of; a blob that no entry uses is removed."""

ACCEPTANCES = Table(
    "acceptances", METADATA, _entry(),
    Column("time", BigInteger, nullable=False),
    Column("who", String, nullable=False),
    Column("why", String, nullable=False),
)  # fmt: skip
"""One row an acceptance of an entry as the baseline of later gates."""

CONFIRMATIONS = Table(
    "confirmations", METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("time", BigInteger, nullable=False),
    Column("truth", String, nullable=False),
    Column("entry", String, nullable=False),
    Column("system", String, nullable=False),
    Column("against", String, nullable=False),
    Column("measure", String, nullable=False),
    Column("mean", Float),
    Column("agrees", Boolean),
    Column("charged", Boolean, nullable=False),
    Index("confirmations_by_truth", "truth"),
)  # fmt: skip
"""One row a question to a held-out part, and its answer; it stays when its entry is removed, as it was seen."""

POINTS = Table(
    "monitor_points", METADATA,
    Column("monitor", String, primary_key=True),
    Column("series", String, primary_key=True),
    Column("segment", String, primary_key=True),
    Column("start", BigInteger, primary_key=True),
    Column("end", BigInteger, nullable=False),
    Column("value", Float),
    Column("error", Float),
    Column("p", Float),
    Column("n", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip
"""One row a window of a series of a monitor, in microseconds since 1970 in UTC; `traffic/series.py` explains them."""

STATES = Table(
    "monitor_states", METADATA,
    Column("monitor", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("value", String, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip
"""What a monitor remembers from look to look, in JSON by name; the number of its looks among it."""

ALERTS = Table(
    "monitor_alerts", METADATA,
    Column("monitor", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("time", BigInteger, nullable=False),
    Column("value", String, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip
"""One row an alert, in JSON."""

DELIVERIES = Table(
    "monitor_deliveries", METADATA,
    Column("monitor", String, primary_key=True),
    Column("key", String, primary_key=True),
    Column("sink", String, primary_key=True),
    Column("created", BigInteger, nullable=False),
    Column("message", String, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_time", BigInteger, nullable=False),
    Column("claimed_until", BigInteger),
    Column("claimed_by", String),
    Column("sent", BigInteger),
    Column("error", String, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip
"""One row a message to a sink: its idempotency key, when it is tried next, who is sending it, and when it was sent."""

_FIRST = (STORE, ENTRIES, TAGS, SYSTEMS, MEANS, OUTCOMES, PARTS, BLOBS, USES, ACCEPTANCES)


def _create_first(connection: Connection) -> None:
    METADATA.create_all(connection, tables=_FIRST)


def _create_confirmations(connection: Connection) -> None:
    METADATA.create_all(connection, tables=[CONFIRMATIONS])


def _create_monitors(connection: Connection) -> None:
    METADATA.create_all(connection, tables=[POINTS, STATES, ALERTS, DELIVERIES])


MIGRATIONS: Sequence[Callable[[Connection], None]] = (_create_first, _create_confirmations, _create_monitors)
"""From version n to n + 1, in order; the first one is from nothing.  What is there is never changed, only added to."""

VERSION = len(MIGRATIONS)
