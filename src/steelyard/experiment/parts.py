"""Results as plain data that JSON holds, part by part, and back.

A dataclass becomes an object that names its class under "$", an array its bytes, so that every number comes back to the
last bit.  Only the classes that a kind of result is made of, as the types of its fields say, are read.  A store keeps
large arrays, frames and lists of ids apart, by what they hold.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar, cast, get_args, get_type_hints

import numpy as np
import polars as pl

from steelyard.align.resolver import GoldMapping
from steelyard.base.errors import InputError, SteelyardError, exception_line, quoted
from steelyard.experiment.fitting import fits
from steelyard.experiment.table.arrays import ScoreArrays, check_shapes, refuse_impossible

FORMAT = 5
"""Format number of the parts; a later one is refused."""

_T = TypeVar("_T")
_KIND = "$"
_LARGE = 4096
"""Bytes of an array, and ids of a list times eight, from which a store keeps it apart."""
_LARGE_ROW = 16_384
"""Bytes of a system's values from which they are kept by themselves; of smaller ones each would be mostly headers."""
_NUMBERS = re.compile(r"[<|][biuf][1248]")
"""Types of arrays: true and false, and numbers as this kind of machine has them."""

_RECIPE: Mapping[str, Any] = {
    "steelyard": str, "verdicts": dict[str, list[Any]], **dict.fromkeys(("truth", "corpus", "runs"), dict[str, str]),
}  # fmt: skip
"""Types of parts of a recipe of which others are put together."""

Keep = Callable[[pl.DataFrame], str]
"""Keeps a frame, and returns the key by which `Fetch` gives it back."""
Fetch = Callable[[str], pl.DataFrame]


def parts_of(result: Any, keep: Keep | None = None) -> dict[str, Any]:
    """Every field of a result under its name, and the number of the format; all of it fit for `json.dumps`.

    keep   what is large is kept by it, and named by its key
    """
    plain = _Plain(_classes(type(result)), keep)
    return {"format": FORMAT, **{part.name: plain(getattr(result, part.name)) for part in fields(result) if part.init}}


def from_parts(cls: type[_T], parts: Mapping[str, Any], fetch: Fetch | None = None) -> _T:
    """The result that `parts_of` took apart.

    fetch    gives back what was kept apart
    Raises   InputError for another format, a part that is missing, or what no result is made of.
    """
    if parts.get("format") != FORMAT:
        raise InputError(f"parts of a report have format {FORMAT}, not {parts.get('format')!r}; make the report again")
    what = cls.__name__.lower()
    names = [part.name for part in fields(cls) if part.init]  # type: ignore[arg-type]
    if missing := [name for name in names if name not in parts]:
        raise InputError(f"a {what} lacks its parts {', '.join(missing)}; it has {', '.join(names)}")
    restored = _Restored(_classes(cls), fetch)
    try:
        return checked(cls(**{name: restored(parts[name]) for name in names}))
    except SteelyardError:
        raise
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError) as error:
        raise InputError(f"parts of a {what} are damaged ({exception_line(error)}); make it again") from error


@dataclass(frozen=True)
class _Plain:
    """Plain values of parts: JSON's own as they are; anything else as an object that names its kind."""

    classes: Mapping[str, type]
    keep: Keep | None = None

    def __call__(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            return value
        for type_, plain in _PLAIN:
            if isinstance(value, type_):
                return plain(value, self)
        if is_dataclass(value) and self.classes.get(type(value).__name__) is type(value):
            return {_KIND: type(value).__name__} | {
                part.name: self(getattr(value, part.name)) for part in fields(value) if part.init
            }
        raise TypeError(f"no part of a report is a {type(value).__name__}")


def _plain_map(value: Mapping[Any, Any], plain: _Plain) -> dict[str, Any]:
    # What is computed when it is asked for, such as the digests of a recipe, is asked for now.
    items = {key: item() if callable(item) else item for key, item in value.items()}
    return {_KIND: "map", "items": [[plain(key), plain(item)] for key, item in items.items()]}


def _plain_array(value: np.ndarray[Any, Any], plain: _Plain) -> dict[str, Any]:
    own = {_KIND: "array", "type": value.dtype.str, "shape": list(value.shape)}
    if plain.keep is None or value.nbytes < _LARGE:
        return own | {"data": _base64(value.tobytes())}
    # A system's values are kept by themselves: entries often have most systems in common.
    rows = value if value.ndim > 2 and value[0].nbytes >= _LARGE_ROW else value[None]
    return own | {"kept": [plain.keep(pl.DataFrame({"": np.ascontiguousarray(row).ravel()})) for row in rows]}


def _plain_frame(value: pl.DataFrame, plain: _Plain) -> dict[str, Any]:
    if plain.keep is not None:
        return {_KIND: "frame", "kept": plain.keep(value)}
    buffer = BytesIO()
    value.write_ipc(buffer)
    return {_KIND: "frame", "data": _base64(buffer.getvalue())}


def _plain_list(value: list[Any], plain: _Plain) -> Any:
    if plain.keep is not None and 8 * len(value) >= _LARGE and all(type(item) is str for item in value):
        return {_KIND: "list", "kept": plain.keep(pl.DataFrame({"": value}, schema={"": pl.String}))}
    return [plain(item) for item in value]


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_PLAIN: tuple[tuple[type, Callable[[Any, _Plain], Any]], ...] = (
    (float, lambda value, plain: {_KIND: "float", "value": str(value)}),
    (Path, lambda value, plain: {_KIND: "path", "value": str(value)}),
    (np.generic, lambda value, plain: plain(value.item())),
    (list, _plain_list),
    (tuple, lambda value, plain: {_KIND: "tuple", "items": [plain(item) for item in value]}),
    (Mapping, _plain_map),
    (np.ndarray, _plain_array),
    (pl.DataFrame, _plain_frame),
)


@dataclass(frozen=True)
class _Restored:
    """Values of parts from the plain ones."""

    classes: Mapping[str, type]
    fetch: Fetch | None = None

    def __call__(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self(item) for item in value]
        if not isinstance(value, Mapping):
            return value
        kind = str(value.get(_KIND))
        if kind in _KINDS:
            return _KINDS[kind](value, self)
        if kind not in self.classes:
            raise InputError(f"no part of a report is a {kind!r}; was it written by a later Steelyard?")
        made = {name: self(item) for name, item in value.items() if name != _KIND}
        try:
            result = self.classes[kind](**made)
        except TypeError as error:
            raise InputError(f"parts of a report: a {kind} was written by another Steelyard ({error})") from None
        return checked(result)

    def kept(self, key: str) -> pl.DataFrame:
        """What was kept apart.

        Raises   InputError where this is a file, which keeps nothing apart.
        """
        if self.fetch is None:
            raise InputError("parts of a report: a part is kept in a store; read it from there")
        return self.fetch(key)


def _array(value: Mapping[str, Any], restored: _Restored) -> np.ndarray[Any, Any]:
    if not _NUMBERS.fullmatch(str(value["type"])):
        raise InputError(f"no part of a report is an array of {quoted(value['type'])}")
    dtype = np.dtype(value["type"])
    if "kept" not in value:
        return np.frombuffer(base64.b64decode(value["data"]), dtype).reshape(value["shape"])
    rows = [restored.kept(key).to_series().to_numpy() for key in value["kept"]]
    if other := [row.dtype for row in rows if row.dtype != dtype]:
        raise InputError(f"parts of a report: an array of {dtype} is kept as {other[0]}")
    return np.concatenate(rows).reshape(value["shape"])


def _frame(value: Mapping[str, Any], restored: _Restored) -> pl.DataFrame:
    return restored.kept(value["kept"]) if "kept" in value else pl.read_ipc(base64.b64decode(value["data"]))


_KINDS: dict[str, Callable[[Mapping[str, Any], _Restored], Any]] = {
    "float": lambda value, restored: float(value["value"]),
    "path": lambda value, restored: Path(value["value"]),
    "tuple": lambda value, restored: tuple(restored(item) for item in value["items"]),
    "list": lambda value, restored: restored.kept(value["kept"]).to_series().to_list(),
    "map": lambda value, restored: {restored(key): restored(item) for key, item in value["items"]},
    "array": _array,
    "frame": _frame,
}


def checked(result: _T) -> _T:
    """A result, or another dataclass, if it is what its class says.

    Raises   InputError for a part that is of another type than its class says, and for scores whose arrays do not fit
             together, or that their measure cannot have.
    """
    kind = type(result)
    values = [(name, getattr(result, name), hint) for name, hint in _hints(kind).items()]
    if isinstance(result, ScoreArrays) and isinstance(result.recipe_parts, Mapping):
        values += [(name, value, _RECIPE[name]) for name, value in result.recipe_parts.items() if name in _RECIPE]
    for name, value, hint in values:
        if not fits(value, hint):
            raise InputError(f"parts of a report: `{name}` of a {kind.__name__} is of another type; make it again")
    for part in fields(result):  # type: ignore[arg-type]
        columns, frame = part.metadata.get("columns"), getattr(result, part.name)
        if columns is not None and dict(frame.schema) | dict(pl.Schema(columns)) != dict(frame.schema):
            raise InputError(f"parts of a report: `{part.name}` of a {kind.__name__} has other columns; make it again")
    if isinstance(result, ScoreArrays):
        check_shapes(result)
        refuse_impossible(result)
        _ = getattr(result, "recipe", None)  # Whose parts are of any type.
    return result


def _hints_of(kind: type) -> dict[str, Any]:
    """Field of a dataclass -> its type."""
    # Named where corrections are, and imported there for the checker of types alone.
    from steelyard.judges.people.review import Drawn
    from steelyard.stats.labels.prediction_powered import CorrectedMean

    named = {"pl": pl, "GoldMapping": GoldMapping, "CorrectedMean": CorrectedMean, "Drawn": Drawn}
    hints = get_type_hints(kind, localns=named)
    return {part.name: hints[part.name] for part in fields(kind)}


_hints = cast("Callable[[type], dict[str, Any]]", cache(_hints_of))


def _classes_of(kind: type) -> dict[str, type]:
    """The dataclasses that a kind of result is made of, by name: those that types of its fields mention, and so on."""
    classes: dict[str, type] = {}
    types: list[Any] = [kind]
    while types:
        mentioned = types.pop()
        types += get_args(mentioned)
        if isinstance(mentioned, type) and is_dataclass(mentioned) and mentioned.__name__ not in classes:
            classes[mentioned.__name__] = mentioned
            types += _hints(mentioned).values()
    return classes


_classes = cast("Callable[[type], dict[str, type]]", cache(_classes_of))
