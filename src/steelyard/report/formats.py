"""Scores as text: terminal table, Markdown, LaTeX, CSV, JSON and trec_eval's lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np

from steelyard.experiment.scores import Scores
from steelyard.experiment.scores_json import as_json
from steelyard.io.source import strip_compression
from steelyard.report.sheet import Sheet, number, per_query_sheet, sheet
from steelyard.report.visible import on_one_line, visible
from steelyard.report.words import Words, read_words
from steelyard.report.wrapping import wrapped

_LATEX = {"\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
          "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "<": "$<$", ">": "$>$",
          "≥": r"$\geq$", "≤": r"$\leq$", "†": r"$^{\dagger}$", "‡": r"$^{\ddagger}$", "−": "$-$",
          "…": r"\dots{}"}  # fmt: skip


def table(
    scores: Scores, *, per_query: bool, lang: Words | None = None, width: int | None = None, colour: bool = False
) -> str:  # fmt: skip
    """Aligned columns for a terminal.

    lang    the locale's by default
    width   columns of the terminal, None for as many as it takes: a wide table is then cut into several
    """
    sheets = _sheets(scores, lang or read_words(), per_query=per_query)
    return "\n".join(terminal(each, width=width, colour=colour) for each in sheets)


def _sheets(scores: Scores, lang: Words, *, per_query: bool) -> list[Sheet]:
    return [*([per_query_sheet(scores, lang)] if per_query else []), sheet(scores, lang)]


def terminal(sheet: Sheet, *, width: int | None = None, colour: bool = False) -> str:
    """One sheet for a terminal; see `table`.  Nothing in it can act on the terminal, whatever names hold."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sheet, out = _shown(sheet), StringIO()
    console = Console(file=out, width=width or 10_000, force_terminal=colour, no_color=not colour, highlight=False)
    for columns in _fitting(sheet, width):
        drawn = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for c in columns:
            drawn.add_column(
                Text(sheet.header[c]), justify="left" if c == 0 else "right", no_wrap=c > 0, overflow="fold"
            )
        for r, row in enumerate(sheet.rows):
            drawn.add_row(*(Text(row[c], style="bold" if (r, c) in sheet.best else "") for c in columns))
        console.print(drawn)
    for note in sheet.notes:
        for line in (row for part in note.split("\n") for row in wrapped(part, width)):
            console.print(Text(line, style="dim"))
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n"))


def _shown(sheet: Sheet) -> Sheet:
    """The same sheet, each cell on one line, and control characters visible everywhere."""
    rows = [list(map(on_one_line, row)) for row in sheet.rows]
    return replace(sheet, header=list(map(on_one_line, sheet.header)), rows=rows, notes=list(map(visible, sheet.notes)))


_GAP = 3
"""Blanks between columns."""


def _fitting(sheet: Sheet, width: int | None) -> Iterator[list[int]]:
    """Columns in groups that fit the width, each beginning with the first column."""
    from rich.cells import cell_len

    widths = [max(map(cell_len, [head, *(row[c] for row in sheet.rows)])) + _GAP for c, head in enumerate(sheet.header)]
    group, used = [0], widths[0]
    for c in range(1, len(widths)):
        if width and used + widths[c] > width and len(group) > 1:
            yield group
            group, used = [0], widths[0]
        group.append(c)
        used += widths[c]
    yield group


def markdown(scores: Scores, *, per_query: bool, lang: Words | None = None) -> str:
    """Tables for a README or an issue; the best value of each column is bold.

    lang   the locale's by default
    """
    return "\n".join(_markdown(each) for each in _sheets(scores, lang or read_words(), per_query=per_query))


def _markdown(sheet: Sheet) -> str:
    def cell(text: str) -> str:
        return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")

    sheet = _shown(sheet)
    lines = [list(map(cell, sheet.header)), ["---", *["---:"] * (len(sheet.header) - 1)]]
    for r, row in enumerate(sheet.rows):
        lines.append([f"**{cell(t)}**" if (r, c) in sheet.best else cell(t) for c, t in enumerate(row)])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return text + "".join(f"\n{cell(note)}\n" for note in sheet.notes)


def latex(scores: Scores, *, per_query: bool, lang: Words | None = None) -> str:
    """A booktabs table; the best value of each column is bold, the notes are the caption.

    lang   the locale's by default
    """
    lang = lang or read_words()
    return "\n".join(_latex(each, lang=lang) for each in _sheets(scores, lang, per_query=per_query))


def _latex(sheet: Sheet, *, lang: Words | None = None) -> str:
    def cell(text: str) -> str:
        return "".join(_LATEX.get(character, character) for character in text)

    sheet = _shown(sheet)
    rows = [
        " & ".join(rf"\textbf{{{cell(t)}}}" if (r, c) in sheet.best else cell(t) for c, t in enumerate(row))
        for r, row in enumerate(sheet.rows)
    ]
    lang = lang or read_words()
    notes = lang("scores.between").join([*sheet.notes, *([lang("scores.best")] if sheet.best else [])])
    caption = [rf"\caption{{{cell(notes)}}}"] if notes else []
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            *caption,
            rf"\begin{{tabular}}{{l{'r' * (len(sheet.header) - 1)}}}",
            r"\toprule",
            " & ".join(map(cell, sheet.header)) + r" \\",
            r"\midrule",
            *(row + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def csv(scores: Scores, *, per_query: bool) -> str:
    """One row a value: of every query when asked, of every mean otherwise."""
    return (scores.per_query if per_query else scores.mean()).write_csv()


def trec(scores: Scores, *, per_query: bool) -> str:
    """Lines of `measure query value` as trec_eval prints them, system after system."""
    lines = []
    for i, system in enumerate(scores.systems):
        labels = [str(measure) for measure in scores.measures]
        if per_query:
            lines += [
                f"{label:<22}\t{query}\t{number(scores.values[i, j, q])}"
                for q, query in enumerate(scores.query_ids)
                for j, label in enumerate(labels)
                if not np.isnan(scores.values[i, j, q])
            ]
        lines.append(f"{'runid':<22}\tall\t{system}")
        lines += [f"{label:<22}\tall\t{number(scores.means[i, j])}" for j, label in enumerate(labels)]
    return "\n".join(lines) + "\n"


def _sheet_csv(sheet: Sheet) -> str:
    import csv

    out = StringIO()
    csv.writer(out, lineterminator="\n").writerows([sheet.header, *sheet.rows])
    return out.getvalue()


def _sheet_json(sheet: Sheet) -> str:
    rows = [dict(zip(sheet.header, row, strict=True)) for row in sheet.rows]
    return json.dumps({"rows": rows, "notes": sheet.notes}, ensure_ascii=False, indent=2) + "\n"


SHEET_FORMATS: dict[str, Callable[..., str]] = {
    "table": terminal, "markdown": _markdown, "latex": _latex, "csv": _sheet_csv, "json": _sheet_json,
}  # fmt: skip
"""Every way to write one sheet; latex takes `lang`, the language of the words that it adds to the caption."""

_BY_SUFFIX = {".html": "html", ".htm": "html", ".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}


def format_of(output: str | Path | None, format: str | None) -> str:
    """The format that is named, else the one that the output's suffix tells, else a table."""
    return format or _BY_SUFFIX.get(Path(strip_compression(str(output or ""))[0]).suffix, "table")


FORMATS: dict[str, Callable[..., str]] = {
    "table": table,
    "json": as_json,
    "csv": csv,
    "markdown": markdown,
    "latex": latex,
    "trec": trec,
}
"""Every way to write Scores; all take `per_query`, and those IN_WORDS `lang`."""

IN_WORDS = ("table", "markdown", "latex")
"""Formats for people; the others have English keys and full precision."""
