"""What else changed, by the fingerprints of configuration and documents that impressions have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from steelyard.monitoring.alerts import Change
from steelyard.traffic.logs import Logs
from steelyard.traffic.windows import Windows, time_of

KINDS = ("config", "corpus")
"""Columns of impressions that are fingerprints, and kinds of changes."""
_ENTERS, _FEWEST = 0.05, 5
"""Share of a window, and requests in it, from which a fingerprint is in use; of few requests, more than half."""
_WHOLE = 0.95
"""Share of a window from which a fingerprint is that of all requests."""
_GONE = 1_000
"""Requests without a fingerprint after which it is not in use any more, so that a rare one does not come and go."""
_PAIR = re.compile(r"\s*([\w.-]+)\s*[=:]\s*([^;,&|]*?)\s*")
_LONGEST = 60
_MOST_PARTS = 5


@dataclass
class _Rollout:
    """A fingerprint that came into use: when, from which one, and its largest share so far."""

    time: str
    text: str
    share: float = 0.0
    until: str | None = None

    def change(self, kind: str) -> Change:
        until = None if self.until is None else datetime.fromisoformat(self.until)
        return Change(kind, datetime.fromisoformat(self.time), self.text, until)


@dataclass
class _InUse:
    """Fingerprints of one kind that are in use.

    main       the last one that all requests had, "" before any
    unseen     fingerprint in use -> requests since it was seen
    rollouts   those that came into use, and are not gone by now
    """

    main: str = ""
    unseen: dict[str, int] = field(default_factory=dict)
    rollouts: dict[str, _Rollout] = field(default_factory=dict)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> _InUse:
        rollouts = {name: _Rollout(**values) for name, values in state.get("rollouts", {}).items()}
        return cls(state.get("main", ""), dict(state.get("unseen", {})), rollouts)

    def advance(self, counts: Mapping[str, int], start: datetime, end: datetime) -> Iterator[_Rollout]:
        """Take in the requests of a window by fingerprint; gives what came into use in it, or spread in it."""
        total, main = sum(counts.values()), self.main
        self.unseen = {name: 0 if name in counts else n + total for name, n in self.unseen.items()}
        for name, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            share = n / total
            enters = name not in self.unseen and ((share >= _ENTERS and n >= _FEWEST) or (share > 0.5 and n > 1))
            is_back = name in self.unseen and share >= _WHOLE and name not in {self.main, *self.rollouts}
            if enters:
                self.unseen[name] = 0
            if main and (enters or is_back):
                self.rollouts[name] = _Rollout(start.isoformat(), difference(main, name))
            rollout = self.rollouts.get(name)
            if rollout is not None and share >= rollout.share + _ENTERS:
                rollout.until = end.isoformat() if rollout.share else None
                rollout.share = share
                yield rollout
            if name in self.unseen and name != self.main and (share >= _WHOLE or not self.main):
                self.rollouts.pop(self.main, None)  # It may come back, as a change of its own.
                self.main = name
        self.unseen = {name: n for name, n in self.unseen.items() if n < _GONE or name == self.main}
        self.rollouts = {name: rollout for name, rollout in self.rollouts.items() if name in self.unseen}


def changes_in(
    logs: Logs, windows: Windows, *, state: Mapping[str, Any] | None = None
) -> tuple[list[Change], dict[str, Any]]:
    """Fingerprints that came into use in logs, oldest first; and a state, from which the next look goes on.

    A change begins with the window in which the new fingerprint has a twentieth of the requests.  Where it spread over
    several windows, `until` is the end of the last one in which its share grew by a twentieth; a look that sees it
    spread further gives the change again, with the same time and text and a later end.  The text names the parts that
    differ, where fingerprints are JSON objects or like "reranker=v2; prompt=7".  What the first window has is no
    change.

    state   what an earlier look returned, plain data that JSON holds; None for the first one
    """
    changes, after = dict[tuple[str, datetime, str], Change](), dict[str, Any]()
    for kind in KINDS:
        in_use = _InUse.of((state or {}).get(kind, {}))
        for start, end, counts in _counts(logs, windows, kind):
            for rollout in in_use.advance(counts, start, end):
                change = rollout.change(kind)
                changes[change.kind, change.time, change.text] = change
        after[kind] = asdict(in_use)
    return sorted(changes.values(), key=lambda change: (change.time, change.kind)), after


def _counts(logs: Logs, windows: Windows, kind: str) -> Iterator[tuple[datetime, datetime, dict[str, int]]]:
    """Windows with some fingerprint: start, end, and the requests of each one."""
    rows = logs.impressions.filter(pl.col(kind).is_not_null()).select(pl.col("time").to_physical(), kind)
    times = rows.select("time").collect()["time"].sort()
    starts, ends = windows.bounds(times.to_numpy())
    if not len(starts):
        return
    place = pl.lit(pl.Series(starts)).search_sorted(pl.col("time"), side="right").cast(pl.Int64) - 1
    counts = rows.group_by(place.alias("place"), kind).len().sort("place", kind).collect()
    for number, own in groupby(counts.iter_rows(), key=itemgetter(0)):
        yield time_of(int(starts[number])), time_of(int(ends[number])), {name: n for _, name, n in own}


def difference(before: str, after: str) -> str:
    """The parts in which two fingerprints differ, or both.

    >>> difference("reranker=v1; prompt=7", "reranker=v2; prompt=7"), difference("c0ffee", "decade")
    ('reranker: v1 -> v2', 'c0ffee -> decade')
    >>> difference('{"chunker": {"size": 512}}', '{"chunker": {"size": 256}}')
    'chunker.size: 512 -> 256'
    """
    first, second = _parts(before), _parts(after)
    names = [name for name in {**first, **second} if first.get(name) != second.get(name)]
    if not (first and second and names):
        return f"{_short(before)} -> {_short(after)}"
    listed = [f"{name}: {_short(first.get(name, '–'))} -> {_short(second.get(name, '–'))}" for name in names]
    return ", ".join([*listed[:_MOST_PARTS], *(["…"] if len(listed) > _MOST_PARTS else [])])


def _parts(fingerprint: str) -> dict[str, str]:
    """Names and values of a fingerprint that is made of them; empty for any other text."""
    try:
        return dict(_flat(json.loads(fingerprint), "")) if fingerprint.startswith("{") else _pairs(fingerprint)
    except (ValueError, RecursionError):
        return {}


def _pairs(fingerprint: str) -> dict[str, str]:
    matches = [_PAIR.fullmatch(piece) for piece in re.split("[;,&|]", fingerprint) if piece.strip()]
    return {match[1]: match[2] for match in matches if match} if all(matches) else {}


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}" if name else key)
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
