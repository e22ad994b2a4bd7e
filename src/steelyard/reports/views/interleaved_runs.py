"""Pages of interleaved runs: how often their systems differ, and whose places they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from steelyard.abtests.interleaving.runs import InterleavedRuns
from steelyard.reports.views.numbers import count, part_of
from steelyard.reports.views.view import Block, Column, Look, Text, View, sheet_of
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words


def _verdict(pages: InterleavedRuns, words: Words) -> str:
    n = len(pages.pages)
    return words("interleaving.pages.verdict", number=count(n), n=n, alike=part_of(pages.n_alike, n))


def _blocks(pages: InterleavedRuns, look: Look) -> Iterator[Block]:
    words = look.words
    yield Text(_verdict(pages, words), "bold")
    columns = [
        Column[str](words("interleaving.pages.system"), single_line),
        Column[str](
            words("interleaving.pages.credited"), lambda system: part_of(pages.credited[system], pages.n_places)
        ),
        Column[str](words("interleaving.pages.lacking"), lambda system: count(pages.lacking[system])),
    ]
    notes = [words("interleaving.pages.each_request")]
    if pages.written:
        notes.insert(0, words("interleaving.pages.written", place=single_line(pages.written)))
    yield sheet_of(pages.systems, columns, notes)


def _data(pages: InterleavedRuns, words: Words) -> dict[str, Any]:
    names = ("systems", "k", "method", "n_alike", "n_places", "credited", "lacking", "written")
    return {**{name: getattr(pages, name) for name in names}, "pages": pages.frame.to_dicts()}


def _rows(pages: InterleavedRuns) -> list[dict[str, Any]]:
    """A place a row."""
    return [
        {"query_id": question, "position": place, "doc_id": doc_id, "team": team, "seed": page.seed}
        for question, page in pages.pages.items()
        for place, (doc_id, team) in enumerate(zip(page.doc_ids, page.teams, strict=True), 1)
    ]


VIEWS = {InterleavedRuns: View[InterleavedRuns]("interleaved runs", blocks=_blocks, data=_data, rows=_rows)}
