"""Check logs: what they hold, what they lack, and what is wrong with them; and convert them to the one schema."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import polars as pl

from steelyard.base.errors import InputError, OutputError, reason_of
from steelyard.base.result import Result
from steelyard.traffic.logs import Logs, Trouble
from steelyard.traffic.measures import measurable, traffic_definitions
from steelyard.traffic.pseudonyms import pseudonym_key
from steelyard.traffic.pseudonyms import pseudonymise as pseudonymised
from steelyard.traffic.reading import read_logs
from steelyard.traffic.schema import TABLES

_MOST_VALUES = 20
_NAMES = {"impression": "impressions", "event": "events", "answer": "answers"}


@dataclass(frozen=True, eq=False, repr=False)
class LogCheck(Result):
    """What logs hold.

    sources      files;   n   records of each kind: impression, event, answer
    first, last  earliest and latest time of an impression; None without any
    users, sessions   how many; 0 where the logs do not say
    bots         impressions of bots
    arms, languages, kinds   impressions of each arm and language, events of each kind: the most frequent 20
    filled       by kind of record, the share of records that have each column
    unmeasured   measures that the logs cannot give, with what they need, such as "event:click" or
                 "impression:latency_ms"; "|" is between what would do by itself
    troubles     what is wrong, gravest first: what was left out before what was repaired or is only said
    written      where they were written to; empty for nowhere
    """

    VIEW: ClassVar[str] = "views.logs"

    sources: Sequence[str]
    n: Mapping[str, int]
    first: datetime | None
    last: datetime | None
    users: int
    sessions: int
    bots: int
    arms: Mapping[str, int]
    languages: Mapping[str, int]
    kinds: Mapping[str, int]
    filled: Mapping[str, Mapping[str, float]]
    unmeasured: Mapping[str, Sequence[str]]
    troubles: Sequence[Trouble]
    written: str = ""

    @property
    def frame(self) -> pl.DataFrame:
        """A kind of trouble a row: kind, n, is_fatal (whether records were left out), and where the first one is."""
        schema = {"kind": pl.String, "n": pl.Int64, "is_fatal": pl.Boolean, "example": pl.String}
        rows = [(own.kind, own.n, own.is_fatal, own.example) for own in self.troubles]
        return pl.DataFrame(rows, schema=schema, orient="row")


def check_logs(logs: Logs | str | Path | Sequence[str | Path], *, timezone: str = "UTC") -> LogCheck:
    """What logs hold, what they lack, and what is wrong with them.

    logs       Logs, or files and folders as `read_logs` takes them
    timezone   IANA name: of times without an offset
    Raises     as `read_logs`.
    """
    return _checked(logs if isinstance(logs, Logs) else read_logs(logs, timezone=timezone))


def _checked(logs: Logs, written: str = "") -> LogCheck:
    count = pl.col("user").n_unique() - (pl.col("user").null_count() > 0)
    facts = logs.impressions.select(
        count.alias("users"), pl.col("session").drop_nulls().n_unique().alias("sessions"), pl.col("is_bot").sum()
    ).collect()
    users, sessions, bots = (int(value) for value in facts.row(0))
    tables = {"impression": logs.impressions, "event": logs.events, "answer": logs.answers}
    n = {kind: int(frame.select(pl.len()).collect().item()) for kind, frame in tables.items()}
    has = {spec.partition("@")[0].partition(":")[0] for spec in measurable(logs)}
    return LogCheck(
        logs.sources, n, logs.first, logs.last, users, sessions, bots,
        _counts(logs.impressions, "arm"), _counts(logs.impressions, "language"), _counts(logs.events, "kind"),
        {kind: _filled(frame, kind) for kind, frame in tables.items()},
        {own.name: own.needs for own in traffic_definitions() if own.usual and own.name not in has},
        sorted(logs.troubles, key=lambda trouble: (not trouble.is_fatal, -trouble.n, trouble.kind)), written,
    )  # fmt: skip


def _counts(frame: pl.LazyFrame, column: str) -> dict[str, int]:
    counts = (
        frame.select(pl.col(column).drop_nulls()).group_by(column).len().sort("len", column, descending=[True, False])
    )
    return dict(counts.head(_MOST_VALUES).collect().rows())


def _filled(frame: pl.LazyFrame, kind: str) -> dict[str, float]:
    shares = frame.select(pl.col(column).is_not_null().mean() for column in TABLES[kind]).collect().row(0, named=True)
    return {column: share or 0.0 for column, share in shares.items()}


def convert_logs(
    logs: Logs | str | Path | Sequence[str | Path], output: str | Path, *, timezone: str = "UTC",
    pseudonymise: bool = False,
) -> LogCheck:  # fmt: skip
    """Write logs in the one schema: clean, in the order of time, each record once; whole or not at all.

    logs, timezone   as of `check_logs`
    output           FILE.parquet, with the kind of each record in its column `type`; or a folder, new or empty, for
                     impressions.parquet, events.parquet and answers.parquet
    pseudonymise     users and sessions as keyed hashes, and personal data in texts masked; the key is that of the
                     environment variable STEELYARD_PSEUDONYM_KEY
    Returns          what was read, as `check_logs` says it
    Raises           as `read_logs`; OutputError.
    """
    target = Path(output)
    if target.suffix not in ("", ".parquet"):
        raise InputError(f"{target}: logs are written as FILE.parquet, or as a folder; expected a name of either")
    key = pseudonym_key() if pseudonymise else b""
    whole = logs if isinstance(logs, Logs) else read_logs(logs, timezone=timezone)
    hidden = pseudonymised(whole, key) if pseudonymise else whole
    frames = {"impression": hidden.impressions, "event": hidden.events, "answer": hidden.answers}
    _write({kind: frame.drop("row", strict=False) for kind, frame in frames.items()}, target)
    return _checked(whole, str(target))


def _write(frames: Mapping[str, pl.LazyFrame], target: Path) -> None:
    """Write tables beside the target, and move them there once they are whole."""
    try:
        temporary = Path(tempfile.mkdtemp(dir=target.absolute().parent, prefix=f".{target.name}."))
    except OSError as error:
        raise _refused(target, error) from error
    try:
        if target.suffix:
            typed = [frame.with_columns(pl.lit(kind).alias("type")) for kind, frame in frames.items()]
            pl.concat(typed, how="diagonal").sink_parquet(temporary / "all")
            os.replace(temporary / "all", target)
            return
        for kind, frame in frames.items():
            frame.sink_parquet(temporary / f"{_NAMES[kind]}.parquet")
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o777 & ~umask)
        os.replace(temporary, target)
    except OSError as error:
        raise _refused(target, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _refused(target: Path, error: OSError) -> OutputError:
    advice = "name a folder that is new or empty" if target.is_dir() else "choose another place"
    return OutputError(f"{target}: cannot be written ({reason_of(error, target.absolute().parent)}); {advice}")
