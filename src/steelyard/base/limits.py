"""Limits of a setting, declared beside its field (`k1: Annotated[float, at_least(0)]`), and types in words."""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin


@dataclass(frozen=True, slots=True)
class Limits:
    """An interval of finite numbers; closed at `least` and `most`, open at `above` and `below`."""

    __is_annotated_types_grouped_metadata__: ClassVar[Literal[True]] = True

    least: float = -math.inf
    most: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def __iter__(self) -> Iterator[object]:
        """The same limits as pydantic reads them."""
        from annotated_types import Ge, Gt, Le, Lt, Predicate

        yield Predicate(_is_finite)
        bounds = ((Ge, self.least), (Le, self.most), (Gt, self.above), (Lt, self.below))
        yield from (kind(bound) for kind, bound in bounds if math.isfinite(bound))

    def hold(self, number: float) -> bool:
        """True if a number is within them."""
        return _is_finite(number) and self.least <= number <= self.most and self.above < number < self.below

    def __str__(self) -> str:
        """The words behind "a number": "from 0", "above 0 and below 1"."""
        lower = f"from {self.least:g}" if math.isfinite(self.least) else f"above {self.above:g}"
        upper = f"to {self.most:g}" if math.isfinite(self.most) else f"below {self.below:g}"
        parts = [
            lower * (math.isfinite(self.least) or math.isfinite(self.above)),
            upper * (math.isfinite(self.most) or math.isfinite(self.below)),
        ]
        words = [part for part in parts if part]
        return (" " if math.isfinite(self.least) and math.isfinite(self.most) else " and ").join(words)


def _is_finite(number: float) -> bool:
    """True if a number is one that a float can be; a whole number may be too large."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


@dataclass(frozen=True, slots=True)
class NotEmpty:
    """At least one character, or one item."""

    __is_annotated_types_grouped_metadata__: ClassVar[Literal[True]] = True

    def __iter__(self) -> Iterator[object]:
        """The same as pydantic reads it."""
        from annotated_types import MinLen

        yield MinLen(1)


@dataclass(frozen=True, slots=True)
class Words:
    """What messages say of a type, where its own words are too general: `Annotated[str, Words("a folder's name")]`.

    example   a value that may be given, which a message on a missing one shows
    """

    text: str = ""
    example: str = ""


def at_least(least: float) -> Limits:
    """From this number on."""
    return Limits(least=least)


def above(number: float) -> Limits:
    """Greater than this number."""
    return Limits(above=number)


def between(least: float, most: float) -> Limits:
    """From one number to another, both included."""
    return Limits(least=least, most=most)


_NOUNS: Mapping[object, tuple[str, str]] = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("a text", "texts"),
    bool: ("true or false", "true or false"),
    Path: ("a path", "paths"),
    type(None): ("none", "none"),
}


def describe(hint: Any) -> str:
    """A type in words.

    >>> describe(Annotated[int, at_least(1)] | None), describe(Literal["a", "b"]), describe(list[str])
    ('a whole number from 1', "'a' or 'b'", 'a list of texts')
    >>> describe(Annotated[float, between(0, 1)]), describe(Annotated[float, Limits(above=0, below=1)])
    ('a number from 0 to 1', 'a number above 0 and below 1')
    """
    if get_origin(hint) is Annotated:
        base, *metadata = get_args(hint)
        words = next((item.text for item in reversed(metadata) if isinstance(item, Words) and item.text), "")
        limits = [str(item) for item in metadata if isinstance(item, Limits)]
        return words or " ".join([describe(base), *filter(None, limits)])
    if is_union(hint):
        return " or ".join(describe(member) for member in get_args(hint) if member is not type(None))
    if get_origin(hint) is Literal:
        *others, last = map(repr, get_args(hint))
        return f"{', '.join(others)} or {last}" if others else last
    return _NOUNS[hint][0] if hint in _NOUNS else _describe_class(get_origin(hint) or hint, get_args(hint))


def example_of(hint: Any) -> str:
    """A value that the words on a type give as an example; "" without one.

    >>> example_of(Annotated[str, Words("a model", "gpt-4.1-mini")]), example_of(str)
    ('gpt-4.1-mini', '')
    """
    return next((item.example for item in get_args(hint) if isinstance(item, Words) and item.example), "")


def _describe_class(kind: Any, arguments: tuple[Any, ...]) -> str:
    if isinstance(kind, type) and issubclass(kind, Sequence | set | frozenset):
        return f"a list of {_describe_items(next(iter(arguments), Any))}"
    if (isinstance(kind, type) and issubclass(kind, Mapping)) or hasattr(kind, "model_fields"):
        return "a table"
    return f"of type {getattr(kind, '__name__', kind)}"


def _describe_items(hint: Any) -> str:
    if get_origin(hint) is Annotated:
        base, *metadata = get_args(hint)
        return " ".join([_describe_items(base), *(str(item) for item in metadata if isinstance(item, Limits))])
    return _NOUNS.get(hint, ("", "values"))[1]


def is_union(hint: Any) -> bool:
    """True if this is `A | B`, however it is written."""
    return get_origin(hint) in (Union, types.UnionType)
