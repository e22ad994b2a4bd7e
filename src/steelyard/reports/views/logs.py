"""What logs hold, what they lack, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from steelyard.reports.views.numbers import count, percent
from steelyard.reports.views.view import Block, Column, Look, Sheet, Text, View, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words
from steelyard.traffic.checking import LogCheck
from steelyard.traffic.logs import Trouble

_MOST_NAMED = 6


def trouble_text(trouble: Trouble, words: Words) -> str:
    """A kind of trouble in words."""
    key = f"logs.trouble.{trouble.kind}"
    return words(key) if key in words else single_line(trouble.kind)


def _verdict(check: LogCheck, words: Words) -> str:
    """Records, users and the time that they span."""
    counts = {kind: words(f"logs.n.{kind}", number=count(n), n=n) for kind, n in check.n.items()}
    if check.first is None or check.last is None:
        return words("logs.none", **counts)
    ends = {"first": f"{check.first:%Y-%m-%d %H:%M}", "last": f"{check.last:%Y-%m-%d %H:%M}"}
    users, sessions = (
        words(f"logs.n.{name}", number=count(n), n=n) if n else ""
        for name, n in (("users", check.users), ("sessions", check.sessions))
    )
    whose = words("logs.of_both", users=users, sessions=sessions) if users and sessions else users or sessions
    return words("logs.verdict" if whose else "logs.verdict_plain", whose=whose, **counts, **ends)


def troubles_sheet(troubles: Sequence[Trouble], words: Words) -> Sheet:
    """A row a kind of trouble, gravest first."""
    columns = [
        Column[Trouble](words("logs.head.trouble"), lambda own: trouble_text(own, words)),
        Column[Trouble](words("logs.head.n"), lambda own: count(own.n)),
        Column[Trouble](words("logs.head.done"), lambda own: words(f"logs.{'left_out' if own.is_fatal else 'used'}")),
        Column[Trouble](words("logs.head.first"), lambda own: single_line(own.example) or "–", optional=True),
    ]
    return sheet_of(troubles, columns)


def _values(check: LogCheck, words: Words) -> Iterator[str]:
    """Arms, languages and kinds of events, with how many records have each."""
    for name in ("arms", "languages", "kinds"):
        values: Mapping[str, int] = getattr(check, name)
        if values:
            listed = [f"{single_line(value)} {count(n)}" for value, n in values.items()]
            yield words(f"logs.values.{name}", listed=words.listed(listed, _MOST_NAMED))


def _brief(check: LogCheck, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(_verdict(check, words), "bold")
    if check.written:
        yield Text(words("logs.written", place=single_line(check.written)))
    notes = [*_values(check, words)]
    if check.unmeasured and check.n["impression"]:
        notes.append(words("logs.unmeasured", listed=words.listed(list(check.unmeasured))))
    if check.troubles:
        sheet = troubles_sheet(check.troubles, words)
        sheet.notes += notes
        yield sheet
    else:
        yield Text("\n".join([words("logs.well"), *notes]))


def _columns_sheet(check: LogCheck, words: Words) -> Sheet:
    """A row a column of the schema: the share of records that have it."""
    rows = [(kind, column, share) for kind, columns in check.filled.items() for column, share in columns.items()]
    columns = [
        Column[tuple[str, str, float]](words("logs.head.record"), lambda row: words(f"logs.record.{row[0]}")),
        Column[tuple[str, str, float]](words("logs.head.column"), lambda row: row[1]),
        Column[tuple[str, str, float]](words("logs.head.filled"), lambda row: percent(row[2])),
    ]
    return sheet_of([row for row in rows if check.n[row[0]]], columns, n_labels=2)


def _unmeasured_sheet(check: LogCheck, words: Words) -> Sheet:
    """A row a measure that the logs cannot give, and what it needs."""
    columns = [
        Column[tuple[str, Any]](words("logs.head.measure"), lambda row: row[0]),
        Column[tuple[str, Any]](
            words("logs.head.needs"), lambda row: "; ".join(need.replace("|", " / ") for need in row[1])
        ),
    ]
    return sheet_of(check.unmeasured.items(), columns)


def _blocks(check: LogCheck, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(_verdict(check, words), "bold")
    if check.written:
        yield Text(words("logs.written", place=single_line(check.written)))
    yield troubles_sheet(check.troubles, words) if check.troubles else Text(words("logs.well"))
    yield from map(Text, _values(check, words))
    if any(check.n.values()):
        yield _columns_sheet(check, words)
    if check.unmeasured and check.n["impression"]:
        yield Text(words("logs.cannot"), "heading")
        yield _unmeasured_sheet(check, words)


def _data(check: LogCheck) -> dict[str, Any]:
    names = ("n", "users", "sessions", "bots", "arms", "languages", "kinds", "filled", "written")
    return {
        **{name: getattr(check, name) for name in names},
        "sources": list(check.sources),
        "first": None if check.first is None else check.first.isoformat(),
        "last": None if check.last is None else check.last.isoformat(),
        "unmeasured": {name: list(needs) for name, needs in check.unmeasured.items()},
        "troubles": [asdict(trouble) for trouble in check.troubles],
    }


VIEWS = {
    LogCheck: View[LogCheck](
        "a check of logs",
        blocks=_blocks,
        brief=_brief,
        data=lambda check, words: _data(check),
        rows=lambda check: check.frame,
    )
}
