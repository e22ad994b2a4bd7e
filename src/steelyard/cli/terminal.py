"""The terminal that a command writes to."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO, cast

from steelyard.base.result import Result
from steelyard.io.write import without_formulas, write_text
from steelyard.reports.visible import REPLACEMENTS, visible

_STYLED = re.compile("(\x1b\\[[12]m[^\x1b\r]*\x1b\\[0m)")
"""Bold and dim as views write them: from the style to its end, and nothing between that acts on a terminal."""
_DRAWN = re.compile(r"(\x1b\[(?:\?25[hl]|\d*[A-K]|[\d;]*m)|\r)")
"""What bars of progress need: colours, and moves of the cursor."""
_OTHERS = {code: shown for code, shown in REPLACEMENTS.items() if chr(code) not in "\x1b\r"}


class Screen:
    """A terminal on which nothing acts that comes from files or servers: control characters are shown as pictures.

    stream   the terminal
    own      what passes as it is, the one group of a pattern
    """

    def __init__(self, stream: TextIO, own: re.Pattern[str] | None = None) -> None:
        self._stream, self._own = stream, own

    def __getattr__(self, name: str) -> Any:
        """Anything else of the stream."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text as it can be shown; returns how long it is."""
        parts = [text] if self._own is None else self._own.split(text)
        self._stream.write("".join(part.translate(_OTHERS) if i % 2 else visible(part) for i, part in enumerate(parts)))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write one after the other."""
        for line in lines:
            self.write(line)

    @property
    def buffer(self) -> Any:
        """The same for bytes."""
        return _Bytes(self)

    def allowing(self, own: re.Pattern[str]) -> Screen:
        """The same terminal, where our own control sequences pass."""
        return Screen(self._stream, own)


class _Bytes:
    """What takes the bytes of a file that is written to a terminal."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def write(self, data: bytes) -> int:
        """Write the text that the bytes are."""
        self._screen.write(data.decode(errors="replace"))
        return len(data)


def drawn_on(stream: TextIO) -> TextIO:
    """The screen that bars of progress are drawn on, where their moves of the cursor pass."""
    return cast("TextIO", stream.allowing(_DRAWN)) if isinstance(stream, Screen) else stream


def show(text: str) -> None:
    """Write onto the screen what a view made for it: its bold and dim are our own."""
    screen = sys.stdout
    with redirect_stdout(cast("TextIO", screen.allowing(_STYLED)) if isinstance(screen, Screen) else screen):
        write_text("-", text)


def write_result(
    result: Result, format: str, output: Path | None, *, lang: str | None = None, safe_csv: bool = False,
    explain: bool = False, **options: Any,
) -> None:  # fmt: skip
    """Write what a command computed into a file, else onto the screen; exact bytes go into files and pipes.

    safe_csv   whether no spreadsheet is to take a text of CSV for a formula
    explain    as of `Result.text`; a file holds everything in any case
    options    of the result's kind, such as per_query
    """
    view = {"lang": lang, "explain": explain or output is not None, **screen_view(output)}
    text = result.text(format, **view, **options)
    if format == "csv" and safe_csv:
        text = without_formulas(text)
    if output is None and format == "table":
        show(text)
    else:
        write_text(output or "-", text)


def screen_view(output: Path | None = None) -> dict[str, Any]:
    """Width and colour of what is written onto the screen; a file has neither."""
    if output is not None:
        return {"width": None, "colour": False}
    return {"width": terminal_width(), "colour": sys.stdout.isatty()}


def terminal_width() -> int | None:
    """Columns of the terminal, or None where the output goes into a file or a pipe and COLUMNS does not say."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return None
