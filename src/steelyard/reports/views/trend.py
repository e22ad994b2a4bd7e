"""A trend on a terminal and in files: a sparkline, a row for each level, and what to be careful with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.history.trend import Level, Stretch, Trend, TrendLine
from steelyard.reports.views.cautions import careful
from steelyard.reports.views.numbers import count, number, percent, signed
from steelyard.reports.views.view import USUAL_WIDTH, Block, Column, Look, Paragraph, Section, Sheet, Text, sheet_of
from steelyard.reports.words import Words

BLOCKS = "▁▂▃▄▅▆▇█"
BREAK, RISE, FALL = "│", "▲", "▼"
_DECIMALS, _SHORT, _CELL = 3, 7, 24
_LEAST_PART = 4
"""Columns of a sparkline for each stretch, at least: older stretches than have room are left out."""
_MOST_LISTED = 8
"""Lines of which a terminal shows a sparkline each."""


def sparkline(line: TrendLine, width: int = USUAL_WIDTH) -> tuple[str, str]:
    """The means of a line as blocks, oldest first, and below them marks where the level rose or fell.

    Where there are more entries than columns, a block is the mean of several; a bar is between stretches.
    """
    shown = line.stretches[-max(width // _LEAST_PART, 1) :]
    sizes = _columns([stretch.n for stretch in shown], width - len(shown) + 1)
    means = line.frame["mean"].to_numpy()
    parts = [
        np.split(means[stretch.place : stretch.place + stretch.n], _edges(stretch.n, size)[1:-1])
        for stretch, size in zip(shown, sizes, strict=True)
    ]
    values = [np.array([part.mean() for part in own]) for own in parts]
    low, high = min(own.min() for own in values), max(own.max() for own in values)
    blocks = BREAK.join(_blocks(own, low, high) for own in values)
    marks = (" ".join(_marks(*pair) for pair in zip(shown, sizes, strict=True))).rstrip()
    return blocks, marks


def _columns(sizes: list[int], room: int) -> list[int]:
    """Columns of stretches with so many entries: as many as these where there is room, else in proportion."""
    share = min(1.0, room / sum(sizes))
    return [min(size, max(1, math.floor(size * share))) for size in sizes]


def _edges(n: int, size: int) -> Ints:
    """Where each of so many columns begins among n entries, and n."""
    return np.rint(np.linspace(0, n, size + 1)).astype(np.int64)


def _blocks(values: Floats, low: float, high: float) -> str:
    if not high > low:
        return BLOCKS[len(BLOCKS) // 2 - 1] * len(values)
    places = np.rint((values - low) / (high - low) * (len(BLOCKS) - 1)).astype(int)
    return "".join(BLOCKS[place] for place in places)


def _marks(stretch: Stretch, size: int) -> str:
    """A mark in the column in which each change is."""
    edges, marks = _edges(stretch.n, size), [" "] * size
    for level in stretch.levels[1:]:
        column = int(np.searchsorted(edges[1:], level.place - stretch.place, side="right"))
        marks[column] = RISE if level.difference > 0 else FALL
    return "".join(marks)


def place_text(line: TrendLine, place: int, words: Words) -> str:
    """When an entry was added, and its commit, or its id where it has none."""
    row = line.frame.row(place, named=True)
    date = _date(line, place)
    if row["commit"] is None:
        return words("trend.at_entry", date=date, entry=row["entry"])
    return words("trend.at_commit", date=date, commit=_commit(row))


def _date(line: TrendLine, place: int) -> str:
    """The day of an entry in the local zone, as lists of entries have it."""
    return f"{line.frame['time'][place].astimezone():%Y-%m-%d}"


def _commit(row: dict[str, Any]) -> str:
    """The beginning of a commit, with a star where files differed from it."""
    return "–" if row["commit"] is None else row["commit"][:_SHORT] + "*" * bool(row["dirty"])


def verdict_text(line: TrendLine, words: Words) -> str:
    """The last change of a line, or that there is none in the newest gold."""
    values: dict[str, object] = {"measure": line.measure, "system": line.system}
    values["level"] = number(line.now.mean, _DECIMALS)
    if math.isnan(line.now.difference):
        return words("trend.unchanged", n=line.now.n, **values)
    values |= {"by": number(abs(line.now.difference), _DECIMALS), "place": place_text(line, line.now.place, words)}
    return words("trend.rose" if line.now.difference > 0 else "trend.fell", **values)


def levels_sheet(line: TrendLine, words: Words) -> Sheet:
    """A row a level: since when, at which entry and commit, its mean, the change, and what gates said."""
    levels = [(stretch, level) for stretch in line.stretches for level in stretch.levels]
    rows = {level.place: line.frame.row(level.place, named=True) for _, level in levels}
    columns: list[Column[tuple[Stretch, Level]]] = [
        Column(words("trend.head.since"), lambda own: _date(line, own[1].place)),
        Column(words("trend.head.entry"), lambda own: str(rows[own[1].place]["entry"])),
        Column(words("trend.head.commit"), lambda own: _commit(rows[own[1].place]), optional=True),
        Column(words("trend.head.entries"), lambda own: count(own[1].n)),
        Column(words("trend.head.level"), lambda own: number(own[1].mean, _DECIMALS)),
        Column(words("trend.head.change"), lambda own: _change_text(line, *own, words), optional=True),
        Column(words("trend.head.interval"), lambda own: _interval_text(own[1], words), optional=True),
        Column(words("trend.head.gates"), lambda own: _gates_text(line, own[1], words), optional=True),
    ]
    sheet = sheet_of(levels, columns)
    spare = [words(f"trend.head.{name}") for name in ("interval", "entry", "entries")]
    return replace(sheet, spare=[sheet.header.index(head) for head in spare if head in sheet.header])


def _change_text(line: TrendLine, stretch: Stretch, level: Level, words: Words) -> str:
    if level.place == stretch.place:
        return words("trend.new_gold") if level.place else "–"
    return signed(level.difference, _DECIMALS)


def _interval_text(level: Level, words: Words) -> str:
    if math.isnan(level.low):
        return "–"
    low, high = (signed(end, _DECIMALS) for end in (level.low, level.high))
    return words("trend.interval", low=low, high=high)


def _gates_text(line: TrendLine, level: Level, words: Words) -> str:
    """How many entries of a level passed a gate, failed it, or lacked data."""
    outcomes = Counter(line.frame["outcome"].slice(level.place, level.n).drop_nulls())
    texts = [
        words(f"trend.gates.{name}", n=outcomes[name]) for name in ("fail", "insufficient", "pass") if outcomes[name]
    ]
    return words.listed(texts) if texts else "–"


def _events(line: TrendLine, words: Words) -> Iterator[str]:
    """What changed besides the level: the gold, and the documents."""
    for stretch in line.stretches[1:]:
        yield words("trend.event.gold", place=place_text(line, stretch.place, words))
    for row in line.new_corpora:
        yield words("trend.event.corpus", place=place_text(line, row, words))


def _cautions(trend: Trend, line: TrendLine, words: Words) -> Iterator[str]:
    """Cautions about the changes of a line, the gravest first."""
    if any(stretch.is_drifting for stretch in line.stretches):
        yield words("trend.note.drifting", rate=percent(trend.false_alarms))
    if any(stretch.basis == "none" and stretch.n > 1 for stretch in line.stretches):
        yield words("trend.note.none")
    if line.is_interleaved:
        yield words("trend.note.interleaved")
    if line.n_undefined:
        yield words("trend.note.undefined", n=line.n_undefined)


def line_notes(trend: Trend, line: TrendLine, words: Words) -> Iterator[str]:
    """What changed besides, what to be careful with, and how changes of the level were located."""
    yield from _events(line, words)
    yield from _cautions(trend, line, words)
    rate = percent(trend.false_alarms)
    for stretch in line.stretches:
        if stretch.basis == "noise":
            values = {"n": stretch.n, "noise": number(stretch.noise, 4), "rate": rate}
            yield words("trend.note.noise", place=place_text(line, stretch.place, words), **values)
        elif stretch.basis == "questions" and stretch.n > 1:
            yield words("trend.note.questions", n=stretch.n, place=place_text(line, stretch.place, words), rate=rate)


def trend_sections(trend: Trend, look: Look) -> list[Section]:
    """A section a line, with its sparkline where there is no chart."""
    sections = []
    for n, line in enumerate(trend.lines, 1):
        sheet = replace(levels_sheet(line, look.words), notes=list(line_notes(trend, line, look.words)), spare=())
        paragraphs = [Paragraph(verdict_text(line, look.words))]
        if look.format != "html":
            paragraphs.append(Paragraph(sparkline(line, look.width or USUAL_WIDTH)[0]))
        title = look.words("trend.title", measure=line.measure, system=line.system)
        sections.append(Section(f"trend-{n}", title, paragraphs, [sheet]))
    return sections


def brief_trend(trend: Trend, look: Look) -> Iterator[Block]:
    """Of one line the last change, a sparkline and a row a level; of several how many changed, and a row each."""
    words = look.words
    if len(trend.lines) > 1:
        n_changed = sum(not math.isnan(line.now.difference) for line in trend.lines)
        last = "" if trend.changed_last is None else verdict_text(trend.changed_last, words)
        yield Text(words("trend.changed_lines", n=n_changed, total=len(trend.lines), last=last).strip(), "bold")
        yield _lines_sheet(trend, look)
        return
    [line] = trend.lines
    yield Text(verdict_text(line, words), "bold")
    yield Text("\n".join(filter(None, sparkline(line, look.width or USUAL_WIDTH))), "laid out")
    notes = [*_events(line, words), *careful(_cautions(trend, line, words), look)]
    yield replace(levels_sheet(line, words), notes=notes)


def _lines_sheet(trend: Trend, look: Look) -> Sheet:
    """A row a line: where it is now, how it came there, and its last change."""
    words, shown = look.words, trend.lines[:_MOST_LISTED]
    columns: list[Column[TrendLine]] = [
        Column(words("trend.head.measure"), lambda line: line.measure),
        Column(words("trend.head.system"), lambda line: line.system),
        Column(words("trend.head.trend"), lambda line: sparkline(line, _CELL)[0]),
        Column(words("trend.head.entries"), lambda line: count(len(line.frame))),
        Column(words("trend.head.now"), lambda line: number(line.frame["mean"][-1], _DECIMALS)),
        Column(words("trend.head.last"), lambda line: signed(line.now.difference, _DECIMALS), optional=True),
        Column(words("trend.head.since"), lambda line: _date(line, line.now.place)),
    ]
    cautions = [text for line in shown for text in _cautions(trend, line, words)]
    more = len(trend.lines) - len(shown)
    notes = [*([words("trend.more", n=more)] if more else []), *careful(cautions, look)]
    return replace(sheet_of(shown, columns, notes, n_labels=2), spare=[3])


def trend_data(trend: Trend) -> dict[str, Any]:
    """Every line with its stretches, their levels, and all entries."""
    return {
        "store": trend.store,
        "false_alarms": trend.false_alarms,
        "since": trend.since,
        "lines": [
            {
                "measure": line.measure, "system": line.system, "n_undefined": line.n_undefined,
                "stretches": [_stretch_data(line, stretch) for stretch in line.stretches],
                "new_corpora": [line.frame["entry"][row] for row in line.new_corpora],
                "settings": line.settings, "entries": line.frame.to_dicts(),
            }
            for line in trend.lines
        ],
    }  # fmt: skip


def _stretch_data(line: TrendLine, stretch: Stretch) -> dict[str, Any]:
    entries = line.frame["entry"]
    levels = [{"entry": entries[level.place], **asdict(level)} for level in stretch.levels]
    for level in levels:
        level.pop("place")
    return {
        "truth": stretch.truth, "entry": entries[stretch.place], "n": stretch.n, "n_questions": stretch.n_questions,
        "basis": stretch.basis, "noise": stretch.noise, "is_drifting": stretch.is_drifting, "levels": levels,
    }  # fmt: skip
