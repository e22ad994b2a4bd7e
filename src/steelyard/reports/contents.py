"""What a report contains, before it is put into words; and as plain data that JSON holds, part by part, and back.

A dataclass becomes an object that names its class under "$", an array its bytes, so that every number comes back to the
last bit.  Only the classes that a kind of result is made of, as the types of its fields say, are read.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

import numpy as np
import polars as pl

from steelyard.align.resolver import GoldMapping
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.comparison.result import Comparison
from steelyard.comparison.sensitivity import Sensitivity
from steelyard.diagnosis.diagnosing import Diagnosis
from steelyard.experiment.table.scores import Scores
from steelyard.gates.gating import Gate
from steelyard.gates.profiles import Profile
from steelyard.gates.ratings import Rating
from steelyard.reports.details.details import Details, Judging


@dataclass(frozen=True, eq=False, repr=False)
class Contents:
    """Scores of one or several systems, and what follows from them.

    Every part is plain data, so that a report can be made of parts that were stored, without weighing again.

    scores       by the measures that were asked for, the first the primary one
    comparison   with the baseline, or of all pairs without one; None for one system, and where no question has gold for
                 the primary measure
    sensitivity  what unjudged documents and ties could change
    ratings      against the profile;   diagnosis   where the gold was lost, ceilings, advice
    details      single questions, as a page shows them
    notes        system -> what its run folder remarks, such as empty documents; systems without remarks are left out
    gate         by the profile that was named, and against the baseline where there is a margin; None where none was
                 named, or where it judges none of the measures
    judging      system -> who judged its answers, and what came of it; of systems that have verdicts
    title        of one's own, "" for the one in the language of the report
    date         when the report was made, as 2026-11-22
    latency_ms   system -> P50 and P95 of the milliseconds of its questions, of systems whose outputs report them; a
                 question that failed counts as slower than any limit
    """

    scores: Scores
    comparison: Comparison | None
    sensitivity: Sensitivity
    profile: Profile
    ratings: Sequence[Rating]
    diagnosis: Diagnosis
    details: Details = field(repr=False)
    notes: Mapping[str, Sequence[Note]]
    latency_ms: Mapping[str, tuple[float, float]]
    gate: Gate | None
    judging: Mapping[str, Judging]
    title: str
    date: str

    def by_mean(self, measure: int = 0) -> list[int]:
        """Places of the systems, best mean first; of equal ones the one that was named first."""
        return self.scores.by_mean(measure)


FORMAT = 5
"""Format number of the parts; a later one is refused."""

_T = TypeVar("_T")
_KIND = "$"


def parts_of(result: Any) -> dict[str, Any]:
    """Every field of a result under its name, and the number of the format; all of it fit for `json.dumps`."""
    plain = _Plain(_classes(type(result)))
    return {"format": FORMAT, **{part.name: plain(getattr(result, part.name)) for part in fields(result)}}


def from_parts(cls: type[_T], parts: Mapping[str, Any]) -> _T:
    """The result that `parts_of` took apart.

    Raises   InputError for another format, a part that is missing, or what no result is made of.
    """
    if parts.get("format") != FORMAT:
        raise InputError(f"parts of a report have format {FORMAT}, not {parts.get('format')!r}; make the report again")
    what = cls.__name__.lower()
    names = [part.name for part in fields(cls)]  # type: ignore[arg-type]
    if missing := [name for name in names if name not in parts]:
        raise InputError(f"a {what} lacks its parts {', '.join(missing)}; it has {', '.join(names)}")
    restored = _Restored(_classes(cls))
    return cls(**{name: restored(parts[name]) for name in names})


@dataclass(frozen=True)
class _Plain:
    """Plain values of parts: JSON's own as they are; anything else as an object that names its kind."""

    classes: Mapping[str, type]

    def __call__(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
            return value
        for type_, plain in _PLAIN:
            if isinstance(value, type_):
                return plain(value, self)
        if is_dataclass(value) and self.classes.get(type(value).__name__) is type(value):
            return {_KIND: type(value).__name__} | {f.name: self(getattr(value, f.name)) for f in fields(value)}
        raise TypeError(f"no part of a report is a {type(value).__name__}")


def _plain_map(value: Mapping[Any, Any], plain: _Plain) -> dict[str, Any]:
    # What is computed when it is asked for, such as the digests of a recipe, is asked for now.
    items = {key: item() if callable(item) else item for key, item in value.items()}
    return {_KIND: "map", "items": [[plain(key), plain(item)] for key, item in items.items()]}


def _plain_array(value: np.ndarray[Any, Any], plain: _Plain) -> dict[str, Any]:
    return {_KIND: "array", "type": value.dtype.str, "shape": list(value.shape), "data": _base64(value.tobytes())}


def _plain_frame(value: pl.DataFrame, plain: _Plain) -> dict[str, Any]:
    buffer = BytesIO()
    value.write_ipc(buffer)
    return {_KIND: "frame", "data": _base64(buffer.getvalue())}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


_PLAIN: tuple[tuple[type, Callable[[Any, _Plain], Any]], ...] = (
    (float, lambda value, plain: {_KIND: "float", "value": str(value)}),
    (Path, lambda value, plain: {_KIND: "path", "value": str(value)}),
    (np.generic, lambda value, plain: plain(value.item())),
    (list, lambda value, plain: [plain(item) for item in value]),
    (tuple, lambda value, plain: {_KIND: "tuple", "items": [plain(item) for item in value]}),
    (Mapping, _plain_map),
    (np.ndarray, _plain_array),
    (pl.DataFrame, _plain_frame),
)


@dataclass(frozen=True)
class _Restored:
    """Values of parts from the plain ones."""

    classes: Mapping[str, type]

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
            return self.classes[kind](**made)
        except TypeError as error:
            raise InputError(f"parts of a report: a {kind} was written by another Steelyard ({error})") from None


def _array(value: Mapping[str, Any], restored: _Restored) -> np.ndarray[Any, Any]:
    return np.frombuffer(base64.b64decode(value["data"]), value["type"]).reshape(value["shape"])


_KINDS: dict[str, Callable[[Mapping[str, Any], _Restored], Any]] = {
    "float": lambda value, restored: float(value["value"]),
    "path": lambda value, restored: Path(value["value"]),
    "tuple": lambda value, restored: tuple(restored(item) for item in value["items"]),
    "map": lambda value, restored: {restored(key): restored(item) for key, item in value["items"]},
    "array": _array,
    "frame": lambda value, restored: pl.read_ipc(base64.b64decode(value["data"])),
}


def _classes(kind: type) -> dict[str, type]:
    """The dataclasses that a kind of result is made of, by name: those that types of its fields mention, and so on."""
    # Named where corrections are, and imported there for the checker of types alone.
    from steelyard.judges.people.review import Drawn
    from steelyard.stats.labels.prediction_powered import CorrectedMean

    named = {"pl": pl, "GoldMapping": GoldMapping, "CorrectedMean": CorrectedMean, "Drawn": Drawn}
    classes: dict[str, type] = {}
    types: list[Any] = [kind]
    while types:
        mentioned = types.pop()
        types += get_args(mentioned)
        if isinstance(mentioned, type) and is_dataclass(mentioned) and mentioned.__name__ not in classes:
            classes[mentioned.__name__] = mentioned
            types += get_type_hints(mentioned, localns=named).values()
    return classes
