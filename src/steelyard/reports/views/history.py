"""Entries of a store: a line each, newest first; and one of them with what it holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from steelyard.history.listing import History, StoredEntry
from steelyard.reports.views.numbers import ends, number
from steelyard.reports.views.view import Block, Column, Look, Paragraph, Section, Sheet, Text, View, sheet_of, view_of
from steelyard.reports.views.wear import wear_line
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

_ID, _COMMIT = 6, 6
"""Characters of an id and of a commit in a list: enough to name them by."""
Row = Mapping[str, Any]


def _title(history: History, words: Words) -> str:
    """How many entries there are, or that there are none."""
    if not history.n:
        key = "stored.none_fits" if history.total else "stored.empty"
        return words(key, store=history.store, total=history.total)
    date = f"{history.entries['time'][0].astimezone():%Y-%m-%d}"
    key = "stored.count" if history.n == history.total else "stored.count_of"
    return words(key, n=history.n, total=history.total, store=history.store, date=date)


def _brief(history: History, look: Look) -> Iterator[Block]:
    """How many entries there are, and a line for each that is listed."""
    yield Text(_title(history, look.words), "bold")
    if history.n:
        yield entries_sheet(history, look.words)
    elif not history.total:
        yield Text(_beginning(history), "laid out")


def _beginning(history: History) -> str:
    return f"steelyard evaluate TRUTH RUN --store {history.store}"


def entries_sheet(history: History, words: Words) -> Sheet:
    """A row an entry in as few columns as it takes to recognise it; a terminal that is narrow leaves some out."""
    rows = history.entries.to_dicts()
    newest, measures = rows[0]["time"].astimezone(), {row["measure"] for row in rows} - {None}
    [measure] = measures if len(measures) == 1 else [None]
    columns = [
        Column[Row](words("stored.head.id"), lambda row: row["id"][:_ID]),
        Column[Row](words("stored.head.time"), lambda row: _short_time(row["time"], newest)),
        Column[Row](words("stored.head.kind"), lambda row: words(f"stored.kind.{row['kind']}")),
        Column[Row](words("stored.head.best"), lambda row: _system(row, words)),
        Column[Row](measure or words("stored.head.mean"), lambda row: _mean(row, measure)),
        Column[Row](words("stored.head.commit"), _commit, optional=True),
        Column[Row](words("stored.head.tags"), lambda row: single_line(" ".join(row["tags"])) or "–", optional=True),
        Column[Row](words("stored.head.state"), lambda row: _state(row, words), optional=True),
    ]
    sheet = sheet_of(rows, columns)
    spare = {words("stored.head.best"), words("stored.head.commit")}
    sheet.spare = [place for place, head in enumerate(sheet.header) if head in spare][::-1]
    if more := history.n - len(rows):
        sheet.notes.append(words("stored.more", n=more, all=history.n))
    sheet.notes += [] if history.worn is None else wear_line(history.worn, words)
    return sheet


def _short_time(time: datetime, newest: datetime) -> str:
    """A moment in the local zone: day and time of the year of the newest entry, of another year the date."""
    local = time.astimezone()
    return f"{local:%m-%d %H:%M}" if local.year == newest.year else f"{local:%Y-%m-%d}"


def _whole_time(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M:%S %z}"


def _system(row: Row, words: Words) -> str:
    best = None if row["best"] is None else single_line(row["best"])
    if best is None:
        return "–" if not row["systems"] else words("count.systems", n=row["systems"])
    others = row["systems"] - 1
    if others < 1:
        return best
    return f"{best} +{others}"


def _mean(row: Row, measure: str | None) -> str:
    text = number(row["mean"])
    return text if measure is not None or row["mean"] is None else f"{text} {row['measure']}"


def _commit(row: Row) -> str:
    return "–" if row["commit"] is None else row["commit"][:_COMMIT] + "*" * bool(row["dirty"])


def _state(row: Row, words: Words) -> str:
    states = [row["outcome"], "accepted" if row["accepted"] else None]
    return words("list.comma").join(words(f"stored.state.{state}") for state in states if state) or "–"


def _history_sections(history: History, look: Look) -> Iterator[Block]:
    words = look.words
    sheets = [_whole_sheet(history, words)] if history.n else []
    paragraphs = [Paragraph(_title(history, words))]
    if not history.total:
        paragraphs.append(Paragraph(_beginning(history), is_command=True))
    yield Section("entries", words("stored.list"), paragraphs, sheets)


def _whole_sheet(history: History, words: Words) -> Sheet:
    columns = [
        Column[Row](words("stored.head.id"), lambda row: str(row["id"])),
        Column[Row](words("stored.head.time"), lambda row: _whole_time(row["time"])),
        Column[Row](words("stored.head.kind"), lambda row: words(f"stored.kind.{row['kind']}")),
        Column[Row](words("stored.head.best"), lambda row: _system(row, words)),
        Column[Row](words("stored.head.mean"), lambda row: _mean(row, None)),
        Column[Row](words("stored.head.commit"), _commit),
        Column[Row](words("stored.head.tags"), lambda row: single_line(" ".join(row["tags"])) or "–"),
        Column[Row](words("stored.head.state"), lambda row: _state(row, words)),
        Column[Row](words("stored.head.command"), lambda row: _command(row["command"], words)),
        Column[Row](words("stored.head.note"), lambda row: single_line(row["note"]) or "–"),
    ]
    more = history.n - len(history.entries)
    notes = [words("stored.more", n=more, all=history.n)] if more else []
    notes += [] if history.worn is None else wear_line(history.worn, words)
    return sheet_of(history.entries.to_dicts(), columns, notes)


def _command(command: str, words: Words) -> str:
    return f"steelyard {single_line(command)}" if command else words("stored.of_python")


def _entry_lines(stored: StoredEntry, words: Words) -> Iterator[str]:
    """What is known of an entry besides its result."""
    entry = stored.entry
    yield _command(entry.command, words)
    if entry.commit is None:
        yield words("stored.no_commit")
    else:
        yield words("stored.commit_dirty" if entry.dirty else "stored.commit", commit=entry.commit[:12])
    if entry.truth is not None:
        questions = words("count.questions", n=entry.n_questions or 0)
        yield words("stored.truth", truth=entry.truth.removeprefix("sha256:")[:12], questions=questions)
    if entry.tags:
        yield words("stored.tags", listed=words.listed([single_line(tag) for tag in entry.tags], 10))
    if entry.note:
        yield words("stored.note", note=single_line(entry.note))
    for time, who, why in entry.accepted:
        key = "stored.accepted_why" if why else "stored.accepted_by"
        yield words(key, who=single_line(who), why=single_line(why), time=f"{time.astimezone():%Y-%m-%d %H:%M}")


def _entry_title(stored: StoredEntry, words: Words) -> str:
    entry = stored.entry
    kind, time = words(f"stored.kind.{entry.kind}"), f"{entry.time.astimezone():%Y-%m-%d %H:%M}"
    return words("stored.title", id=entry.id, kind=kind, time=time)


def _brief_entry(stored: StoredEntry, look: Look) -> Iterator[Block]:
    """What is known of an entry, and what its result shows."""
    yield Text(_entry_title(stored, look.words), "bold")
    yield Text("\n".join(_entry_lines(stored, look.words)))
    yield from _result_blocks(stored, look)


def _result_blocks(stored: StoredEntry, look: Look) -> Iterator[Block]:
    if stored.result is not None:
        yield from view_of(type(stored.result)).blocks_for(stored.result, look)
    elif len(stored.means):
        yield _means_sheet(stored, look.words)


def _entry_blocks(stored: StoredEntry, look: Look) -> Iterator[Block]:
    words, entry = look.words, stored.entry
    paragraphs = [Paragraph(line) for line in _entry_lines(stored, words)]
    yield Section("entry", _entry_title(stored, words), paragraphs)
    if len(stored.means):
        yield Section("means", words("stored.means"), sheets=[_means_sheet(stored, words)])
    tables = {"settings": (entry.settings, "setting", []),
              "fingerprints": (entry.fingerprints, "part", [words("stored.fingerprints_note")])}  # fmt: skip
    for name, (of_systems, head, notes) in tables.items():
        if any(of_systems.values()):
            sheet = _by_system(of_systems, words(f"stored.head.{head}"), notes)
            yield Section(name, words(f"stored.{name}"), sheets=[sheet])
    header = [words("stored.head.library"), words("stored.head.version")]
    rows = [[single_line(name), single_line(own)] for name, own in entry.versions.items()]
    yield Section("versions", words("stored.versions"), sheets=[Sheet(header, rows)])
    if stored.result is not None:
        blocks = list(view_of(type(stored.result)).blocks(stored.result, look))
        yield from blocks if look.format == "table" else _as_sections(blocks, words)


def _as_sections(blocks: Sequence[Block], words: Words) -> Iterator[Section]:
    """Blocks of a result for a page, which is made of sections: the others are one."""
    texts = [Paragraph(own.text) for own in blocks if isinstance(own, Text)]
    sheets = [own for own in blocks if isinstance(own, Sheet)]
    if texts or sheets:
        yield Section("result", words("stored.result"), texts, sheets)
    yield from (own for own in blocks if isinstance(own, Section))


def _by_system(of_systems: Mapping[str, Mapping[str, str]], head: str, notes: Sequence[str]) -> Sheet:
    """A row a setting, a column a system."""
    keys = dict.fromkeys(key for own in of_systems.values() for key in own)
    rows = [[single_line(key), *(single_line(own.get(key, "–")) for own in of_systems.values())] for key in keys]
    return Sheet([head, *map(single_line, of_systems)], rows, notes=list(notes))


def _means_sheet(stored: StoredEntry, words: Words) -> Sheet:
    columns = [
        Column[Row](words("stored.head.system"), lambda row: single_line(row["system"])),
        Column[Row](words("stored.head.measure"), lambda row: str(row["measure"])),
        Column[Row](words("stored.head.mean"), lambda row: number(row["mean"])),
        Column[Row](words("stored.head.interval"), lambda row: ends(row["low"], row["high"])),
        Column[Row](words("stored.head.n"), lambda row: f"{row['n']:,}"),
    ]
    return replace(sheet_of(stored.means.to_dicts(), columns), n_labels=2)


def _history_data(history: History) -> dict[str, Any]:
    entries = [{**row, "time": row["time"].isoformat()} for row in history.entries.to_dicts()]
    return {"store": history.store, "n": history.n, "total": history.total, "entries": entries}


def _entry_data(stored: StoredEntry) -> dict[str, Any]:
    entry = {key: value for key, value in asdict(stored.entry).items() if key != "number"}
    entry["time"] = stored.entry.time.isoformat()
    entry["accepted"] = [{"time": time.isoformat(), "who": who, "why": why} for time, who, why in stored.entry.accepted]
    result = None if stored.result is None else stored.result.data()
    return {"store": stored.store, "entry": entry, "means": stored.means.to_dicts(), "result": result}


VIEWS = {
    History: View[History](
        "a history",
        blocks=_history_sections,
        brief=_brief,
        data=lambda history, words: _history_data(history),
        rows=lambda history: history.entries.with_columns(history.entries["tags"].list.join(" ")),
        papers=lambda history, words: [entries_sheet(history, words)] if history.n else [],
        has_page=True,
    ),
    StoredEntry: View[StoredEntry](
        "an entry",
        blocks=_entry_blocks,
        brief=_brief_entry,
        data=lambda stored, words: _entry_data(stored),
        rows=lambda stored: stored.means,
        papers=lambda stored, words: [_means_sheet(stored, words)],
        has_page=True,
    ),
}
