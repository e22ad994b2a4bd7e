"""The door through which every result is written: in a format, into a file, onto the screen, into a notebook."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from steelyard.base.errors import InputError
from steelyard.base.json_text import json_text, plain
from steelyard.base.result import Result, Shown
from steelyard.io.json_files import parse_json
from steelyard.io.source import Source, strip_compression
from steelyard.io.write import write_text
from steelyard.reports.formats.blocks import blocks_markdown, blocks_terminal, sheet_latex
from steelyard.reports.html.notebook import displayer
from steelyard.reports.html.piece import piece_html
from steelyard.reports.html.sections import sections_html
from steelyard.reports.views.view import Look, Section, view_of
from steelyard.reports.words import read_words


def chosen_format(kind: type[Result], output: str | Path | None, format: str | None) -> str:
    """The format that is named, else that of the suffix of the output, else a table.

    Raises   InputError for one in which results of this kind are not written.
    """
    return view_of(kind).check(format_of(output, format))


def data_of(result: Shown, options: Mapping[str, Any], *, lang: str | None) -> dict[str, Any]:
    """The data of a result for programs, with the number of its format."""
    view = view_of(type(result))
    view.check("json", options)
    data: dict[str, Any] = plain({"format": view.format, **view.data(result, read_words(lang), **options)})
    return data


def text_of(
    result: Shown, format: str, options: Mapping[str, Any], *, lang: str | None = None, width: int | None = None,
    colour: bool = False, explain: bool = False,
) -> str:  # fmt: skip
    """A result in a format.

    Raises   InputError for a format or an option that its kind does not have.
    """
    view = view_of(type(result))
    look = Look(view.check(format, options), read_words(lang), width, colour, explain)
    if format in view.texts:
        return view.texts[format](result, look, **options)
    if format in ("json", "csv", "parts"):
        return _for_programs(result, look, options)
    if format == "latex" and view.papers is not None:
        sheets = view.papers(result, look.words, **options)
        return "\n".join(sheet_latex(sheet, words=look.words, label=view.label) for sheet in sheets)
    if format == "html":
        return sections_html(
            lambda words: [
                own for own in view.blocks(result, Look(format, words), **options) if isinstance(own, Section)
            ],
            look.words,
        )
    blocks = list(view.blocks_for(result, look, **options))
    return blocks_markdown(blocks) if format == "markdown" else blocks_terminal(blocks, width=width, colour=colour)


def _for_programs(result: Shown, look: Look, options: Mapping[str, Any]) -> str:
    view = view_of(type(result))
    if look.format == "csv" and view.rows is not None:
        return _csv(view.rows(result, **options))
    if look.format == "parts":
        from steelyard.experiment.parts import parts_of  # All that a report is of: other results load none of it.

        return json.dumps(parts_of(result), ensure_ascii=False, allow_nan=False) + "\n"
    return json_text({"format": view.format, **view.data(result, look.words, **options)})


def _csv(rows: pl.DataFrame | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(rows, pl.DataFrame):
        return rows.write_csv()
    out = StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def write(
    result: Result, path: str | Path, format: str | None, options: Mapping[str, Any], *, lang: str | None
) -> None:
    """Write a result into a file, in the format that is named or that of the suffix; as text it explains everything."""
    write_text(path, text_of(result, format_of(path, format), options, lang=lang, explain=True))


def read(kind: type[Result], path: str | Path) -> Any:
    """The result of a file that holds everything.

    Raises   InputError for a kind of which no file does.
    """
    view = view_of(kind)
    if view.stored is not None:
        return view.stored(path)
    if not view.has_parts:
        raise InputError(f"{path}: a file does not hold all of {view.name}; compute it again from what it is of")
    from steelyard.experiment.parts import from_parts

    parts = parse_json(Source(path).read(), str(path))
    if not isinstance(parts, dict) or parts.get("format") == view.format:
        raise InputError(f"{path}: does not hold all of {view.name}; write it as NAME.parts.json, to read it again")
    return from_parts(kind, parts)


def show(result: Shown, options: Mapping[str, Any], *, lang: str | None, explain: bool) -> None:
    """Display a result below the cell of a notebook; elsewhere print it at the width of the terminal."""
    if (display := displayer()) is not None:
        html = html_of(result, options, lang=lang, explain=explain)
        display({"text/html": html, "text/plain": repr(result)}, raw=True)
        return
    look: dict[str, Any] = {"width": shutil.get_terminal_size().columns, "colour": sys.stdout.isatty()}
    write_text("-", text_of(result, "table", options, lang=lang, explain=explain, **look))


def html_of(
    result: Shown, options: Mapping[str, Any] = MappingProxyType({}), *, lang: str | None = None, explain: bool = False
) -> str:
    """A result as a piece of HTML for a notebook, with its picture; no text of it can act.

    explain   whether what is below the first table is unfolded
    Raises    InputError for an option that its kind does not have.
    """
    view, words = view_of(type(result)), read_words(lang)
    view.check("table", options)
    look = Look("html", words, _CELL_WIDTH)
    blocks, brief = list(view.blocks(result, look, **options)), None
    if view.brief is not None:
        brief = list(view.brief(result, look, **options))
    picture = None if view.picture is None else view.picture(result, words)
    return piece_html(blocks, words, picture, brief=brief, explain=explain)


_CELL_WIDTH = 90
"""Columns of text below the cell of a notebook, about."""

_BY_SUFFIX = {".html": "html", ".htm": "html", ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex",
              ".xml": "junit", ".toml": "toml"}  # fmt: skip


def format_of(output: str | Path | None, format: str | None) -> str:
    """The format that is named, else the one that belongs to the output's suffix, else a table."""
    name = strip_compression(str(output or ""))[0]
    return format or ("parts" if name.endswith(".parts.json") else _BY_SUFFIX.get(Path(name).suffix, "table"))
