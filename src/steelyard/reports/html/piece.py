"""A result as a piece of a page that is not ours, such as the output of a cell: its text is in the ink around it.

The style needs no knowledge of light and dark: ink is inherited, lines are grey, and marks are in colours that are
legible on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from zlib import crc32

from steelyard.reports.html.pictures import picture_html
from steelyard.reports.html.shell import HTML_LANG, escaped
from steelyard.reports.html.tables import prose, sheet_table, table_writer
from steelyard.reports.views.picture import Picture
from steelyard.reports.views.view import Block, Paragraph, Section, Sheet, Text
from steelyard.reports.words import Words

_ROWS, _MOST_ROWS = 12, 200
"""Rows of a table that is not folded, and of one that is: a notebook keeps all that its cells show."""
_TITLE = '<p class="title">'
_FAINT = '<p class="faint">'
_STYLE = """
.steelyard { max-width: 60rem; line-height: 1.5; font-variant-numeric: tabular-nums; }
.steelyard p { margin: 0.3rem 0; max-width: 46rem; }
.steelyard p.head { font-size: 1.1em; font-weight: 600; margin: 0.2rem 0 0.5rem; }
.steelyard p.title { font-weight: 600; margin-top: 0.8rem; }
.steelyard pre { margin: 0.4rem 0; padding: 0.5rem 0.7rem; overflow-x: auto; background: rgb(128 128 128 / 12%);
  color: inherit; font-size: 0.9em; }
.steelyard .scroll { overflow-x: auto; margin: 0.5rem 0; }
.steelyard .scroll::-webkit-scrollbar { height: 0.4rem; }
.steelyard .scroll::-webkit-scrollbar-thumb { background: rgb(128 128 128 / 45%); border-radius: 0.2rem; }
.steelyard table { border-collapse: collapse; margin: 0; font-size: 0.92em; width: auto; color: inherit; border: 0; }
.steelyard th, .steelyard td { padding: 0.3em 0.9em 0.3em 0; text-align: right; vertical-align: baseline;
  white-space: nowrap; border: 0; border-bottom: 1px solid rgb(128 128 128 / 30%); max-width: none; }
.steelyard th { font-weight: 500; }
.steelyard thead th { white-space: normal; vertical-align: bottom; }
.steelyard th:first-child, .steelyard td:first-child, .steelyard .text { text-align: left; }
.steelyard tbody th { white-space: pre; }
.steelyard .long, .steelyard tbody th.long { white-space: normal; min-width: 12rem; }
.steelyard .best strong { font-weight: 700; }
.steelyard ul.notes { list-style: none; margin: 0.3rem 0; padding: 0; max-width: 46rem; opacity: 0.8;
  font-size: 0.88em; }
.steelyard .faint { opacity: 0.7; }
.steelyard .notes li { margin: 0.2rem 0; }
.steelyard figure { margin: 0.6rem 0; max-width: 40rem; }
.steelyard figcaption { font-size: 0.92em; font-weight: 500; margin: 0 0 0.4rem; }
.steelyard figure > svg { display: block; width: 100%; height: auto; overflow: visible; font-family: inherit; }
.steelyard p.key { display: flex; flex-wrap: wrap; gap: 0.1rem 1rem; font-size: 0.88em; margin: 0.4rem 0 0; }
.steelyard summary { cursor: pointer; font-size: 0.92em; opacity: 0.8; margin: 0.4rem 0; }
.steelyard .alternative { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
""".replace(".steelyard", ".steelyard.steelyard")  # Twice, so that it counts more than rules of a notebook's own.


def piece_html(
    blocks: Sequence[Block], words: Words, picture: Picture | None = None, *, brief: Sequence[Block] | None = None,
    explain: bool = False,
) -> str:  # fmt: skip
    """Blocks and a picture below the first of them: what it comes to, and the first table; the rest folded.

    No text of it can act, whatever names and sentences hold.
    brief     what is not folded, where the result itself says so;   explain   whether the rest is unfolded
    """
    shown, rest = in_short(blocks, words)
    if brief is not None:
        shown, rest = [_first_rows(block, words, _ROWS) for block in brief], list(blocks)
    write = table_writer(piece=f"{crc32(repr(blocks).encode('utf-8', 'replace')):x}-")
    pieces = [list(_block(block, write)) for block in shown]
    if picture is not None and pieces:
        below = {Sheet: 0, Section: 1}.get(type(shown[0]), len(pieces[0]))
        pieces[0].insert(below, picture_html(picture))
    parts = [part for own in pieces for part in own]
    if parts and parts[0].startswith(_TITLE):
        parts[0] = parts[0].replace(_TITLE, '<p class="head">', 1)
    if rest:
        folded = "\n".join(part for block in rest for part in _block(_first_rows(block, words, _MOST_ROWS), write))
        summary = f"<summary>{escaped(words('notebook.more'))}</summary>"
        parts.append(f"<details{' open' * explain}>{summary}\n{folded}\n</details>")
    body = "\n".join(parts)
    return f'<div class="steelyard" lang="{HTML_LANG[words.code]}">\n<style>{_STYLE}</style>\n{body}\n</div>'


def in_short(blocks: Iterable[Block], words: Words) -> tuple[list[Block], list[Block]]:
    """What is shown of some blocks, up to the first table, its first rows and its first note; and the rest."""
    shown, rest = list[Block](), list[Block]()
    for block in blocks:
        if rest or any(_sheets(own) for own in shown):
            rest.append(block)
        elif isinstance(block, Section) and block.sheets:
            first, *others = block.sheets
            top, below = _cut(first, words)
            shown.append(replace(block, sheets=[top]))
            if below or others:
                rest.append(replace(block, paragraphs=[], sheets=[*below, *others]))
        elif isinstance(block, Sheet):
            top, below = _cut(block, words)
            shown.append(top)
            rest += below
        else:
            shown.append(block)
    return shown, rest


def _sheets(block: Block) -> bool:
    return isinstance(block, Sheet) or (isinstance(block, Section) and bool(block.sheets))


def _cut(sheet: Sheet, words: Words) -> tuple[Sheet, list[Sheet]]:
    """The first rows and the first note of a sheet; and what is left of it, all of it where rows are cut."""
    if len(sheet.rows) > _ROWS:
        return _top(sheet, words, _ROWS), [sheet]
    below = [replace(sheet, rows=[], notes=sheet.notes[1:])] if sheet.notes[1:] else []
    return replace(sheet, notes=sheet.notes[:1]), below


def _top(sheet: Sheet, words: Words, most: int) -> Sheet:
    """So many rows of a sheet, with a note where there are more."""
    if len(sheet.rows) <= most:
        return sheet
    return replace(
        sheet, rows=sheet.rows[:most], notes=[words("notebook.rows", shown=most, n=len(sheet.rows)), *sheet.notes]
    )


def _first_rows(block: Block, words: Words, most: int) -> Block:
    """A block with so many rows of its tables."""
    if isinstance(block, Section):
        return replace(block, sheets=[_top(sheet, words, most) for sheet in block.sheets])
    return _top(block, words, most) if isinstance(block, Sheet) else block


def _block(block: Block, write: Callable[..., str]) -> Iterator[str]:
    if isinstance(block, Sheet):
        yield write(sheet_table(block, ""))
    elif isinstance(block, Text) and block.style == "laid out":
        yield f'<pre tabindex="0">{escaped(block.text)}</pre>'
    elif isinstance(block, Text):
        first, *lines = block.text.split("\n")
        yield f"{'<p>' if block.style == 'plain' else _TITLE}{escaped(first)}</p>"
        yield from (f"{_FAINT if n in block.faint else '<p>'}{prose(line)}</p>" for n, line in enumerate(lines, 1))
    else:
        yield f"{_TITLE}{escaped(block.title)}</p>"
        yield from map(_paragraph, block.paragraphs)
        for sheet in block.sheets:
            yield write(sheet_table(sheet, block.title))


def _paragraph(paragraph: Paragraph) -> str:
    title = f"<p><strong>{escaped(paragraph.title)}</strong></p>\n" if paragraph.title else ""
    if paragraph.is_command:
        return f'{title}<pre tabindex="0">{escaped(paragraph.text)}</pre>'
    opening = _FAINT if paragraph.is_faint else "<p>"
    return f"{title}{opening}{prose(paragraph.text)}</p>"
