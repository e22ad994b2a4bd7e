"""What is written into a store as an entry: the rows of its tables, from a result."""

from __future__ import annotations

import json
import math
import secrets
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.experiment.table.scores import Scores
from steelyard.judges.asking import whole_characters
from steelyard.services.addresses import words_without_secrets
from steelyard.store.blobs import Bundle
from steelyard.store.documents import document_frames
from steelyard.store.entries import microseconds
from steelyard.store.kinds import keep, kind_of, results_of
from steelyard.store.provenance import Origin, folders_of, origins_of, versions_of


def insert_entry(connection: Any, tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> int:
    """Insert the rows of an entry into their tables, and return its number; blobs that are there stay."""
    from sqlalchemy.dialects import postgresql, sqlite

    from steelyard.store.schema import BLOBS, ENTRIES, METADATA

    insert = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert
    [row] = tables["entries"]
    number: int = connection.execute(ENTRIES.insert().values(**row)).inserted_primary_key[0]
    for table, rows in tables.items():
        if table == BLOBS.name and rows:
            connection.execute(insert(BLOBS).on_conflict_do_nothing(), rows)
        elif table != ENTRIES.name and rows:
            connection.execute(METADATA.tables[table].insert(), [{"entry": number, **own} for own in rows])
    return number


def rows_of(
    result: Any, *, tags: Iterable[str], command: str, note: str, commit: str | None, dirty: bool | None, time: datetime
) -> dict[str, Sequence[Mapping[str, Any]]]:
    """Rows of each table of a result that is added; see `Store.add`.

    Raises   InputError for what is no result that a store holds, and a tag with white space.
    """
    kind, parts = kind_of(result), results_of(result)
    scores = next((part for part in parts.values() if isinstance(part, Scores)), None)
    parts |= document_frames((folder for _, folder in folders_of(result, scores)), scores)
    bundle, origins = Bundle(), origins_of(result, scores)
    held = {name: keep(part, bundle) for name, part in parts.items()}
    row = {
        "id": secrets.token_hex(5), "time": microseconds(time), "kind": kind, "command": _plain_command(command),
        "git_commit": commit, "dirty": dirty, "note": plain_text(note), "n_systems": len(origins),
        "versions": json.dumps(versions_of(result, scores)), **_headline(scores),
    }  # fmt: skip
    return {
        "entries": [row],
        "blobs": [{"digest": digest, "data": data} for digest, data in bundle.blobs.items()],
        "tags": [{"tag": tag} for tag in dict.fromkeys(map(checked_tag, tags))],
        "systems": [_system_row(system, origin) for system, origin in origins.items()],
        "means": [] if scores is None else _mean_rows(scores),
        "outcomes": _outcome_rows(result) if kind == "gate" else [],
        "parts": [{"name": name, "kind": own, "blob": blob} for name, (own, blob) in held.items()],
        "uses": [{"blob": digest} for digest in bundle.blobs],
    }


def checked_tag(tag: str) -> str:
    """The tag.

    Raises   InputError for one that is empty, or that a shell would take for several words.
    """
    if not tag or not tag.isprintable() or any(c.isspace() for c in tag):
        raise InputError(f"tag {quoted(tag)}: expected a name without white space, such as v1.2")
    return tag


def plain_text(text: str) -> str:
    """A text with U+FFFD for what no database holds: halves of characters, and the character NUL."""
    return whole_characters(text).replace("\0", "\ufffd")


def _plain_command(command: str) -> str:
    """The words of a command without keys and passwords; as they are where there are none."""
    words = command.split()
    with suppress(ValueError):  # A quotation that does not end.
        words = shlex.split(command)
    plain = words_without_secrets(words)
    return plain_text(command if plain == words else shlex.join(plain))


def _headline(scores: Scores | None) -> dict[str, Any]:
    """Truth, questions and the best mean of the primary measure."""
    if scores is None or not scores.systems:
        return {"truth": None, "n_questions": None, "measure": None, "mean": None, "best": None}
    best = scores.by_mean()[0]
    return {
        "truth": scores.signature.truth, "n_questions": len(scores.query_ids), "measure": str(scores.primary),
        "mean": _finite(float(scores.reported.mean[best, 0])), "best": scores.systems[best],
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
    dump = partial(json.dumps, sort_keys=True)
    return {
        "system": system, "config": origin.config, "corpus": origin.fingerprints.get("corpus"),
        "settings": dump(dict(origin.settings)), "fingerprints": dump(dict(origin.fingerprints)),
    }  # fmt: skip


def _outcome_rows(gate: Any) -> list[dict[str, Any]]:
    """Outcome of each system of a gate: the gravest of its checks."""
    outcomes = {
        system: gravest([check.outcome for check in gate.checks if check.system == system]) for system in gate.systems
    }
    return [
        {"system": system, "outcome": outcome, "baseline": None if gate.entry is None else gate.entry.id}
        for system, outcome in outcomes.items()
    ]


def gravest(outcomes: Collection[str]) -> str | None:
    """The gravest of some outcomes; None where there are none."""
    return next((own for own in ("fail", "insufficient", "pass") if own in outcomes), None)
