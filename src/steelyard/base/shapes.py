"""The shape of what JSON files of our own hold, which others may have edited: types, key by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from steelyard.base.errors import quoted


@dataclass(frozen=True)
class Each:
    """A list, or an object with any keys, whose values are all of one shape."""

    container: type
    shape: Shape


@dataclass(frozen=True)
class Object:
    """An object that has some keys, may have others, and may have more that nobody asks for."""

    needed: Mapping[str, Shape] = field(default_factory=dict)
    optional: Mapping[str, Shape] = field(default_factory=dict)


Shape = type | tuple[type, ...] | Each | Object

_WORDS: Mapping[type, str] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false", list: "a list", dict: "an object",
    type(None): "null",
}  # fmt: skip


def check_shape(value: object, shape: Shape, path: str = "") -> None:
    """Hold a value of JSON against its shape; a truth value is no number.

    path     where it is, for the message
    Raises   ValueError with the first place that does not fit.

    >>> check_shape({"runs": {"a": 3}}, Object({"runs": Each(dict, str)}))
    Traceback (most recent call last):
    ValueError: `runs.a` is 3, expected a text
    """
    if isinstance(shape, Object):
        _check_type(value, (dict,), path)
        assert isinstance(value, dict)
        for key in shape.needed.keys() - value.keys():
            raise ValueError(f"`{_inner(path, key)}` is missing")
        for key, part in value.items():
            if (inner := shape.needed.get(key, shape.optional.get(key))) is not None:
                check_shape(part, inner, _inner(path, key))
    elif isinstance(shape, Each):
        _check_type(value, (shape.container,), path)
        assert isinstance(value, dict | list)
        parts: Iterable[tuple[object, object]] = value.items() if isinstance(value, dict) else enumerate(value)
        for place, part in parts:
            check_shape(part, shape.shape, _inner(path, place))
    else:
        _check_type(value, shape if isinstance(shape, tuple) else (shape,), path)


def _check_type(value: object, types: tuple[type, ...], path: str) -> None:
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        names = " or ".join(_WORDS[kind] for kind in types if kind is not int or float not in types)
        raise ValueError(f"{f'`{path}`' if path else 'it'} is {quoted(value)}, expected {names}")


def _inner(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
