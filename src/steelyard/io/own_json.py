"""JSON files of our own that others may have edited: name, version and shape, held against each file that is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args

from steelyard.base.errors import InputError, quoted
from steelyard.base.json_text import json_text
from steelyard.base.shapes import Shape, check_shape
from steelyard.io.json_files import parse_json
from steelyard.io.source import source_of
from steelyard.io.write import write_bytes

T = TypeVar("T")


@dataclass(frozen=True)
class OwnJson:
    """A kind of JSON files of our own.

    name      that each of them says under `format`;   version   of the layout that is written and read
    shape     of what they hold
    expected  a file of this kind in words, with the command that writes it
    again     advice where one is damaged, or of an earlier version

    >>> forms = OwnJson("forms", 1, (dict,), "what `sample` writes")
    >>> forms.decoded({"format": "forms", "version": 2}, "a.json", len)
    Traceback (most recent call last):
    steelyard.base.errors.InputError: a.json: is of version 2, newer than this Steelyard; upgrade it
    """

    name: str
    version: int
    shape: Shape
    expected: str
    again: str = ""
    indent: int = 1

    def holds(self, content: object) -> bool:
        """True if a value of JSON says that it is of this kind."""
        return isinstance(content, dict) and content.get("format") == self.name

    def content(self, own: Mapping[str, Any]) -> dict[str, Any]:
        """All that a file holds: its own content under name and version."""
        return {"format": self.name, "version": self.version, **own}

    def write(self, path: str | Path, own: Mapping[str, Any]) -> None:
        """Write a file, whole or not at all.

        Raises   OutputError.
        """
        text = json_text(self.content(own), indent=self.indent)
        write_bytes(path, text.encode(errors="backslashreplace"))

    def read(self, path: str | Path, decode: Callable[[dict[str, Any]], T]) -> T:
        """The content of a file, as `decoded` gives it."""
        return self.decoded(parse_json(source_of(path).read(), str(path)), str(path), decode)

    def decoded(self, content: object, where: str, decode: Callable[[dict[str, Any]], T]) -> T:
        """The meaning of a value of JSON.

        decode   takes content of the right shape; raises ValueError or InputError for what cannot be
        Raises   InputError naming the place: for another kind, another version, another shape, and what cannot be.
        """
        if not isinstance(content, dict) or not self.holds(content):
            raise InputError(f"{where}: is no file of format {self.name!r}; expected {self.expected}")
        check_version(content.get("version"), self.version, where, self.again)
        try:
            check_shape(content, self.shape)
            return decode(content)
        except (ValueError, InputError) as error:
            raise InputError("; ".join(filter(None, [f"{where}: {error}", self.again]))) from None


def check_version(version: object, own: int, where: str, again: str = "") -> None:
    """Raise   InputError for a file of another version than the one that is read.

    again   what to do about an earlier one
    """
    if isinstance(version, bool) or version != own or not isinstance(version, int):
        newer = isinstance(version, int) and version > own
        advice = "newer than this Steelyard; upgrade it" if newer else "; ".join(filter(None, [f"not {own}", again]))
        raise InputError(f"{where}: is of version {quoted(version)}, {advice}")


def check_word(word: object, literal: Any, what: str = "") -> Any:
    """A word of a Literal.

    what     it is, for the message
    Raises   ValueError for another one, with all that there are.
    """
    if word not in get_args(literal):
        raise ValueError(f"{f'{what} ' if what else ''}{quoted(word)} is none of {', '.join(get_args(literal))}")
    return word
