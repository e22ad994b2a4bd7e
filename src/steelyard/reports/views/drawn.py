"""Questions that were drawn from logs: of which strata, and what each one speaks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from steelyard.reports.views.numbers import count, percent
from steelyard.reports.views.view import Block, Column, Look, Sheet, Text, View, sheet_of
from steelyard.reports.words import Words
from steelyard.traffic.drawing import DrawnQuestions

Row = Mapping[str, Any]


def _strata_sheet(drawn: DrawnQuestions, words: Words) -> Sheet:
    """A row a stratum."""
    columns = [
        Column[Row](words("drawn.head.stratum"), lambda row: stratum_text(row["stratum"], words)),
        Column[Row](words("drawn.head.requests"), lambda row: count(row["n_requests"])),
        Column[Row](words("drawn.head.share"), lambda row: percent(row["n_requests"] / drawn.n_requests)),
        Column[Row](words("drawn.head.queries"), lambda row: count(row["n_queries"])),
        Column[Row](words("drawn.head.drawn"), lambda row: count(row["n_drawn"])),
    ]
    return sheet_of(drawn.strata.iter_rows(named=True), columns)


def _questions_sheet(drawn: DrawnQuestions, words: Words) -> Sheet:
    """A row a question."""
    columns = [
        Column[Row](words("drawn.head.question"), lambda row: row["query"]),
        Column[Row](words("drawn.head.requests"), lambda row: count(row["n_requests"])),
        Column[Row](words("drawn.head.weight"), lambda row: f"{row['weight']:,.1f}"),
        Column[Row](words("drawn.head.stratum"), lambda row: stratum_text(row["stratum"], words)),
        Column[Row](words("drawn.head.signs"), lambda row: _signs_text(row["signs"], words)),
    ]
    return sheet_of(drawn.frame.iter_rows(named=True), columns)


def _signs_text(signs: str, words: Words) -> str:
    return words.listed([words(f"drawn.sign.{sign}") for sign in signs.split(", ")]) if signs else "–"


def stratum_text(stratum: str, words: Words) -> str:
    """Name of a stratum in the reader's language."""
    band, _, suspected = stratum.partition(" ")
    name = words(f"drawn.band.{band}")
    return words("drawn.suspected", band=name) if suspected else name


def _notes(drawn: DrawnQuestions, words: Words) -> Iterator[str]:
    """What the strata are, what was left out, and how to get means over the traffic."""
    yield words("drawn.note.strata", n=drawn.head_from)
    if drawn.n_left_out:
        yield words("drawn.note.left_out", number=count(drawn.n_left_out), n=drawn.n_left_out)
    if not drawn.is_masked:
        yield words("drawn.note.personal")
    yield words("drawn.note.weights")


def _blocks(drawn: DrawnQuestions, look: Look) -> Iterator[Block]:
    yield from _brief(drawn, look)
    yield _questions_sheet(drawn, look.words)


def _brief(drawn: DrawnQuestions, look: Look) -> Iterator[Block]:
    words = look.words
    facts = {"requests": count(drawn.n_requests), "queries": count(drawn.n_queries)}
    text = words("drawn.verdict", number=count(drawn.frame.height), n=drawn.frame.height, **facts)
    yield Text(text, "bold")
    sheet = _strata_sheet(drawn, words)
    sheet.notes += _notes(drawn, words)
    yield sheet


def _data(drawn: DrawnQuestions) -> dict[str, Any]:
    names = ("n_requests", "n_left_out", "n_queries", "head_from", "seed", "is_masked", "file")
    return {
        **{name: getattr(drawn, name) for name in names},
        "strata": drawn.strata.to_dicts(),
        "questions": drawn.frame.to_dicts(),
    }


VIEWS = {
    DrawnQuestions: View[DrawnQuestions](
        "drawn questions",
        blocks=_blocks,
        brief=_brief,
        data=lambda drawn, words: _data(drawn),
        rows=lambda drawn: drawn.frame,
    )
}
