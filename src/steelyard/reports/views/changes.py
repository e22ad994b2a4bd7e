"""What changed between systems, for a reader: rankings side by side, and settings that differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from steelyard.comparison.changes import Changes, Listed, Mover, SettingsDiff
from steelyard.reports.views.numbers import number, signed
from steelyard.reports.views.view import Sheet
from steelyard.reports.visible import single_line, wrapped
from steelyard.reports.words import Words

_TOP, _ROWS = 10, 20
"""Ranks that are always shown; rows that are shown where labelled documents are further down."""

_WIDTH, _NARROWEST = 100, 40
_LONGEST = 40
_ANSWER = 1000
"""Columns of an answer that are shown at most."""
_ELLIPSIS = "…"


def settings_sheet(differences: SettingsDiff, words: Words) -> Sheet | None:
    """A row a setting or version that differs, a column a system."""
    rows = [[name, *map(_setting, values)] for name, values in differences.settings.items()]
    rows += [
        [words("compare.settings.version", name=name), *map(_setting, values)]
        for name, values in differences.versions.items()
    ]
    if not rows:
        return None
    return Sheet([words("compare.head.setting"), *differences.systems], rows)


def settings_notes(differences: SettingsDiff, words: Words) -> Iterator[str]:
    """Inputs that differ, or that nothing does."""
    yield from (words(f"compare.settings.{name}") for name in differences.inputs)
    if differences.same:
        yield words("compare.settings.none", listed=words.listed(list(differences.systems)))


def _setting(value: str | None) -> str:
    return "–" if value is None else middle_cut(value.replace("\n", " "), _LONGEST)


def settings_json(differences: SettingsDiff) -> dict[str, Any]:
    """All that differs, by system."""

    def by_system(table: dict[str, tuple[str | None, ...]]) -> dict[str, Any]:
        return {name: dict(zip(differences.systems, values, strict=True)) for name, values in table.items()}

    return {
        "systems": list(differences.systems),
        "settings": by_system(dict(differences.settings)),
        "versions": by_system(dict(differences.versions)),
        "inputs": list(differences.inputs),
    }


def changes_json(changes: Changes) -> dict[str, Any]:
    """All of it; lists with their gains, null where a document has no label."""
    content = asdict(changes)
    return content if changes.n else content | {"overlap": None, "rbo": None}


def changes_text(changes: Changes, words: Words, *, width: int | None = None) -> str:
    """For a terminal: how far lists agree, then each question that moved with both rankings side by side."""
    width = max(_NARROWEST, min(width or _WIDTH, _WIDTH))
    lines = wrapped(_agreement(changes, words), width)
    if changes.same_chunks is False:
        lines += wrapped(words("compare.changes.chunks"), width)
    for key, mover in _movers(changes):
        below = _side_by_side if mover.answers is None else _answers
        lines += ["", *_head(key, mover, changes, words, width), *below(mover, changes, words, width)]
    if any(mover.answers is None for _, mover in _movers(changes)):
        lines += ["", *wrapped(words("compare.changes.legend"), width)]
    if not changes.gained and not changes.lost:
        lines += wrapped(words("compare.changes.nothing", measure=changes.measure), width)
    return "\n".join(lines) + "\n"


def changes_sheets(changes: Changes, words: Words) -> Iterator[Sheet]:
    """The same as sheets, one a question, for Markdown."""
    for position, (key, mover) in enumerate(_movers(changes)):
        asked = [] if mover.query is None else [single_line(mover.query)]
        notes = [f"{_heading(key, mover, changes, words)}", *asked]
        if mover.answers is None:
            rows = [
                [rank, first.strip(), second.strip(), changed]
                for rank, first, second, changed in _rows(mover, changes, words)
            ]
            header = [words("compare.head.rank"), changes.baseline, changes.system, words("compare.changes.was")]
            notes.append(words("compare.changes.legend"))
        else:
            rows = [[single_line(answer or "–") for answer in mover.answers]]
            header = [changes.baseline, changes.system]
        more = [_agreement(changes, words)] if position == 0 else []
        more += [words("compare.changes.chunks")] if position == 0 and changes.same_chunks is False else []
        yield Sheet(
            [single_line(text) for text in header], rows, set(), [single_line(note) for note in [*notes, *more]]
        )


def _agreement(changes: Changes, words: Words) -> str:
    shares = {
        name: number(value if changes.n else None, 2)
        for name, value in (("overlap", changes.overlap), ("rbo", changes.rbo))
    }
    return single_line(
        words("compare.changes.lists", baseline=changes.baseline, system=changes.system, k=changes.k, n=changes.n,
             same=changes.n_same, **shares)
    )  # fmt: skip


def _movers(changes: Changes) -> Iterator[tuple[str, Mover]]:
    yield from (("gained", mover) for mover in changes.gained)
    yield from (("lost", mover) for mover in changes.lost)


def _heading(key: str, mover: Mover, changes: Changes, words: Words) -> str:
    values = words(
        "compare.changes.values",
        measure=changes.measure,
        before=number(mover.before),
        after=number(mover.after),
        difference=signed(mover.difference, 4),
    )
    return single_line(f"{words(f'compare.changes.{key}', query_id=mover.query_id)}  {values}")


def _head(key: str, mover: Mover, changes: Changes, words: Words, width: int) -> Iterator[str]:
    yield end_cut(_heading(key, mover, changes, words), width)
    if mover.query is not None:
        yield end_cut(single_line(mover.query), width)


def _answers(mover: Mover, changes: Changes, words: Words, width: int) -> Iterator[str]:
    """Both answers, one below the other."""
    for system, answer in zip((changes.baseline, changes.system), mover.answers or (), strict=True):
        text = words("compare.changes.answer", system=system, answer=end_cut(single_line(answer or "–"), _ANSWER))
        yield from wrapped(single_line(text), width)


def _side_by_side(mover: Mover, changes: Changes, words: Words, width: int) -> Iterator[str]:
    header = [words("compare.head.rank"), changes.baseline, changes.system, words("compare.changes.was")]
    rows = [[single_line(cell) for cell in header], *_rows(mover, changes, words)]
    rank, changed = (max(_cells(row[c]) for row in rows) for c in (0, 3))
    room = (width - rank - changed - 6) // 2
    for r, row in enumerate(rows):
        ids = [middle_cut(cell, room) for cell in ((f"  {row[1]}", f"  {row[2]}") if r == 0 else row[1:3])]
        ids = [cell + " " * (room - _cells(cell)) for cell in ids]
        yield f"{' ' * (rank - _cells(row[0]))}{row[0]}  {ids[0]}  {ids[1]}  {row[3]}".rstrip()


def _rows(mover: Mover, changes: Changes, words: Words) -> Iterator[list[str]]:
    """rank, entry of the baseline, entry of the system, what changed; the first ranks and labelled ones below."""
    gone, new = set(mover.change.left), set(mover.change.entered)
    moved = {move.doc_id: move.before for move in mover.change.moved}
    shown = 0
    for rank in _ranks(mover):
        if rank > shown + 1:
            yield [_ELLIPSIS, "", "", ""]
        shown = rank
        old, entry = (_at(listed, rank) for listed in (mover.first, mover.second))
        changed = ""
        if entry is not None and entry.doc_id in new:
            changed = words("compare.changes.entered")
        elif entry is not None and entry.doc_id in moved:
            changed = words("compare.changes.moved", rank=moved[entry.doc_id])
        yield [str(rank), _entry(old, gone, "-"), _entry(entry, new, "+"), changed]


def _ranks(mover: Mover) -> list[int]:
    """The first ranks, then those further down where either list has something relevant."""
    deepest = max(len(mover.first), len(mover.second))
    entries = {rank: (_at(mover.first, rank), _at(mover.second, rank)) for rank in range(_TOP + 1, deepest + 1)}
    below = [rank for rank, both in entries.items() if any(entry and (entry.gain or 0) > 0 for entry in both)]
    return [*range(1, min(_TOP, deepest) + 1), *below][:_ROWS]


def _at(listed: Sequence[Listed], rank: int) -> Listed | None:
    return listed[rank - 1] if rank <= len(listed) else None


def _entry(entry: Listed | None, marked: set[str], mark: str) -> str:
    if entry is None:
        return "  –"
    gain = "" if entry.gain is None else f" ({entry.gain:g})"
    return f"{mark if entry.doc_id in marked else ' '} {single_line(entry.doc_id)}{gain}"


def _cells(text: str) -> int:
    from rich.cells import cell_len

    return cell_len(text)


def end_cut(text: str, width: int) -> str:
    """The text in this many columns of a terminal at most, cut at its end."""
    return text if _cells(text) <= width else _first(text, width - 1) + _ELLIPSIS


def middle_cut(text: str, width: int) -> str:
    """The text in this many columns of a terminal at most, cut in its middle: ids differ most at their ends.

    >>> middle_cut("documents/en-tents-and-camping.md#12", 20)
    'documents/…ing.md#12'
    """
    if _cells(text) <= width:
        return text
    head = _first(text, width // 2)
    tail = _first(text[::-1], width - 1 - _cells(head))[::-1]
    return head + _ELLIPSIS + tail


def _first(text: str, width: int) -> str:
    """As many characters as fit."""
    used = 0
    for place, character in enumerate(text):
        used += _cells(character)
        if used > width:
            return text[:place]
    return text
