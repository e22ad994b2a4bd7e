"""Whether a value is of the type that a field of a dataclass names, to the last item: for values of somebody else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import numpy as np

_WIDER: Mapping[Any, Any] = {np.int8: np.int64, np.float32: np.float64}


def fits(value: object, hint: Any) -> bool:
    """True if a value is of a type; what a type leaves open is.

    >>> fits({"a": [0.5, 1]}, Mapping[str, list[float]]), fits({"a": [0.5, "1"]}, Mapping[str, list[float]])
    (True, False)
    >>> fits(np.zeros(2), np.ndarray), fits(None, int | None), fits(True, int), fits("c", Literal["a", "b"])
    (True, True, False, False)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in _FORMS:
        return _FORMS[origin](value, inner)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(fits(own, inner[0]) and fits(value[own], inner[1]) for own in value)
    if isinstance(origin, type) and issubclass(origin, Collection):
        return isinstance(value, list | tuple) and all(fits(item, inner[0]) for item in value)
    return _is_of(value, hint)


def _is_of(value: object, kind: Any) -> bool:
    """True if a value is of a class, or of what is none, such as Any."""
    if kind in (Any, object) or isinstance(kind, TypeVar) or not isinstance(kind, type):
        return True
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    return isinstance(value, kind)


def _is_union(value: object, inner: tuple[Any, ...]) -> bool:
    return any(value is None if own is NoneType else fits(value, own) for own in inner)


def _is_tuple(value: object, inner: tuple[Any, ...]) -> bool:
    if inner[-1] is ...:
        return isinstance(value, list | tuple) and all(fits(item, inner[0]) for item in value)
    return isinstance(value, tuple) and len(value) == len(inner) and all(map(fits, value, inner))


def _is_array(value: object, inner: tuple[Any, ...]) -> bool:
    scalar = next(iter(get_args(inner[1])), None)
    if not isinstance(value, np.ndarray):
        return False
    own = value.dtype.type
    return not isinstance(scalar, type) or issubclass(own, scalar) or _WIDER.get(own) is scalar


_FORMS: Mapping[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    Annotated: lambda value, inner: fits(value, inner[0]),
    Union: _is_union,
    UnionType: _is_union,
    Literal: lambda value, inner: isinstance(value, str | int | NoneType) and value in inner,
    Callable: lambda value, inner: False,
    type: lambda value, inner: False,
    tuple: _is_tuple,
    np.ndarray: _is_array,
}
"""Form of a type -> whether a value is of it, by what is in its brackets."""
