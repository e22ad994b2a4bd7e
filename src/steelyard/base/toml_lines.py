"""Lines of the keys of a TOML text, which tomllib leaves out of what it gives."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import lru_cache

Key = str | int
"""A key of a table, or a position in an array."""

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY = re.compile(r"""\s*([A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')\s*""")
_STRING = re.compile(
    r'''"""(?:[^\\]|\\.)*?""""{0,2} | \'\'\'.*?\'\'\'\'{0,2} | "(?:[^"\\]|\\.)*" | '[^']*\'''', re.DOTALL | re.VERBOSE
)
_NUMBER_OR_DATE = re.compile(r"[^,\]}#\n]+")


def line_of(text: str, path: Sequence[Key]) -> int | None:
    """The line, from 1, of a key of a valid TOML text, or of the nearest key around it; None where neither is there.

    >>> text = '[a]\\nx = 1\\n[b]\\nx = { y = 2 }\\n[[c]]\\n[[c]]\\nz = 3'
    >>> line_of(text, ("b", "x", "y")), line_of(text, ("c", 1, "z")), line_of(text, ("a", "y")), line_of(text, ("d",))
    (4, 7, 1, None)
    """
    lines = key_lines(text)
    places = (lines.get(tuple(path[:depth])) for depth in range(len(path), 0, -1))
    return next((line for line in places if line is not None), None)


@lru_cache(maxsize=8)
def key_lines(text: str) -> dict[tuple[Key, ...], int]:
    """Path of keys -> line, of every key, table and item of a valid TOML text.

    >>> key_lines("a.b = [1,\\n2]")
    {('a',): 1, ('a', 'b'): 1, ('a', 'b', 0): 1, ('a', 'b', 1): 2}
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    """Walks through a text that tomllib accepts."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[tuple[Key, ...], int] = {}
        self._line, self._counted = 1, 0
        self._last: dict[tuple[Key, ...], int] = {}

    def document(self) -> None:
        table: tuple[Key, ...] = ()
        while self._next():
            if self._next() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _next(self) -> str:
        """The next character that is neither white space nor in a comment; empty at the end."""
        self._skip(_BLANK)
        return self.text[self.at : self.at + 1]

    def _skip(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        assert match is not None, f"not TOML at {self.at}"
        self.at = match.end()
        return match

    def _mark(self, path: tuple[Key, ...]) -> None:
        """Note the line of a path, and of what is around it where that has none yet."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        for depth in range(1, len(path) + 1):
            self.lines.setdefault(path[:depth], self._line)

    def _keys(self) -> list[str]:
        names = []
        while True:
            word = self._skip(_KEY)[1]
            names.append(next(iter(tomllib.loads(f"{word} = 0"))))
            if self.text[self.at] != ".":
                return names
            self.at += 1

    def _header(self) -> tuple[Key, ...]:
        """The path of `[table]` or `[[array]]`; what is below an array belongs to its last item."""
        is_array = self.text.startswith("[[", self.at)
        start = self.at
        self.at += 1 + is_array
        names, path = self._keys(), tuple[Key, ...]()
        for depth, name in enumerate(names, 1):
            path += (name,)
            if is_array and depth == len(names):
                self._last[path] = self._last.get(path, -1) + 1
            if path in self._last:
                path += (self._last[path],)
        end, self.at = self.at + 1 + is_array, start
        self._mark(path)
        self.at = end
        return path

    def _pair(self, table: tuple[Key, ...]) -> None:
        start = self.at
        names = self._keys()
        end, self.at = self.at + 1, start
        path = (*table, *names)
        self._mark(path)
        self.at = end
        self._value(path)

    def _value(self, path: tuple[Key, ...]) -> None:
        first = self._next()
        if first == "[":
            self.at += 1
            position = 0
            while self._next() != "]":
                self._mark((*path, position))
                self._value((*path, position))
                position += 1
                self._comma()
            self.at += 1
        elif first == "{":
            self.at += 1
            while self._next() != "}":
                self._pair(path)
                self._comma()
            self.at += 1
        else:
            self._skip(_STRING if first in "\"'" else _NUMBER_OR_DATE)

    def _comma(self) -> None:
        if self._next() == ",":
            self.at += 1
