"""Objects in memory: dicts, frames of three libraries, and ranx's Qrels and Run."""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, SupportsIndex, TypeGuard

import numpy as np
import polars as pl

from steelyard.base.errors import DuplicateError, InputError, quoted
from steelyard.base.schema import COLUMN_NAMES, RUN, TRUTH
from steelyard.io.native import EXACT, ROUNDED, is_rounded
from steelyard.io.tables import Table, checked, in_memory

ByQuery = Mapping[Any, Any]


def is_frame(data: object) -> bool:
    """True if this is a Polars, pandas or PyArrow table."""
    return isinstance(data, pl.DataFrame | pl.LazyFrame) or hasattr(data, "__arrow_c_stream__") or _is_pandas(data)


def _is_pandas(data: object) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "columns")


def to_polars(data: object, also: Collection[str] = ()) -> pl.DataFrame:
    """A frame of another library as ours.

    also   columns of text to keep, besides those of runs and truths
    """
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if isinstance(data, pl.DataFrame):
        return data
    return _from_pandas(data, also) if _is_pandas(data) else pl.DataFrame(data)  # type: ignore[arg-type]


def _from_pandas(data: Any, also: Collection[str]) -> pl.DataFrame:
    """The columns that have a meaning here, and all numbers, so that an odd name for a score is noticed."""
    names = [str(name) for name in data.columns]
    if len(set(names)) < len(names):
        raise InputError(f"the frame has two columns of one name (columns: {', '.join(names)}); rename one")
    meaningful = {name for spellings in COLUMN_NAMES.values() for name in spellings} | {"rank", *also}
    columns = [c for c in data.columns if str(c).lower() in meaningful or data[c].dtype.kind in "fiu"]
    return pl.DataFrame({str(c): _pandas_values(data[c]) for c in columns or data.columns}, strict=False)


def _pandas_values(column: Any) -> list[Any]:
    """The values of a pandas column, with None for all that pandas takes for missing."""
    if column.dtype.kind in "fiu":
        return list(column.tolist())
    return [None if absent else value for value, absent in zip(column.tolist(), column.isna().tolist(), strict=True)]


def in_hand(data: object) -> object:
    """Items of an iterator as a list, and named tuples, one a document, as a frame; anything else as it is.

    Such tuples are Qrel and ScoredDoc of ir_measures, and what ir_datasets yields; their fields are the columns.
    Raises   InputError where the values of a field are of several kinds.

    >>> from typing import NamedTuple
    >>> ScoredDoc = NamedTuple("ScoredDoc", [("query_id", str), ("doc_id", str), ("score", float)])
    >>> in_hand(ScoredDoc("q1", f"d{i}", i / 2) for i in range(3)).columns
    ['query_id', 'doc_id', 'score']
    """
    if isinstance(data, Iterator):
        data = list(data)
    if not isinstance(data, list | tuple) or not data:
        return data
    fields = getattr(data[0], "_fields", ())
    if not {"query_id", "doc_id"} <= set(fields):
        return data
    other = next((row for row in data if getattr(row, "_fields", ()) != fields), None)
    if other is not None:
        raise InputError(f"{quoted(other)} is among rows of {', '.join(fields)}; expected rows of one kind")
    try:
        return pl.DataFrame(
            [_column(name, values) for name, values in zip(fields, zip(*data, strict=True), strict=True)]
        )
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise InputError(f"the rows of {', '.join(fields)} have values of several kinds: {error}") from None


def _column(name: str, values: tuple[Any, ...]) -> pl.Series:
    ids = name in ("query_id", "doc_id") and not are_texts(values)
    return pl.Series(name, [text_id(id, "the rows", f"a {name}") for id in values] if ids else values)


def ranx_dict(data: object) -> ByQuery | None:
    """The dict behind a ranx Qrels or Run, or None."""
    if type(data).__module__.partition(".")[0] == "ranx" and hasattr(data, "to_dict"):
        return data.to_dict()  # type: ignore[no-any-return]
    return None


def frame_digest(frame: pl.DataFrame) -> str:
    """A fingerprint of the rows of a frame, whatever their order."""
    import hashlib

    ordered = frame.sort(frame.columns[:2])
    return "sha256:" + hashlib.sha256(ordered.write_csv(include_header=False).encode()).hexdigest()


def truth_frame(data: object, name: str) -> pl.DataFrame:
    """Labels of any accepted kind as a frame of schema TRUTH; a query without labels has one row without doc_id."""
    data = ranx_dict(data) or in_hand(data)
    if is_frame(data):
        return pl.concat(in_memory(to_polars(data), name, "truth").batches())
    if not isinstance(data, Mapping):
        raise InputError(
            f"{name}: cannot be read from {type(data).__name__}; "
            "pass a path, a dict {query_id: {doc_id: gain}} or a frame with query_id, doc_id and gain"
        )
    return truth_from_dict(data, name)


def truth_from_dict(data: ByQuery, name: str) -> pl.DataFrame:
    """{query_id: {doc_id: gain}} or {query_id: [relevant doc_ids]}."""
    if (frame := _plain_truth(data)) is not None:
        return frame
    queries: list[str] = []
    docs: list[str | None] = []
    gains: list[float | None] = []
    for query, labels in data.items():
        query_id = text_id(query, name, "a question id")
        if isinstance(labels, str) or not isinstance(labels, Mapping | Iterable):
            raise InputError(
                f"{name}, question {query_id!r}: {quoted(labels)} is neither {{doc_id: gain}} nor a list of ids"
            )
        pairs = labels.items() if isinstance(labels, Mapping) else ((doc, 1.0) for doc in labels)
        before = len(docs)
        for doc, gain in pairs:
            docs.append(text_id(doc, name, f"a document id of question {query_id!r}"))
            gains.append(finite(gain, f"{name}, question {query_id!r}, document {doc!r}: gain"))
        if len(docs) == before:
            docs.append(None)
            gains.append(None)
        queries += [query_id] * (len(docs) - len(queries))
    return pl.DataFrame({"query_id": queries, "doc_id": docs, "gain": gains}, schema=TRUTH)


def _plain_truth(data: ByQuery) -> pl.DataFrame | None:
    """The frame of dicts of dicts with text ids; None of others, which are read label by label."""
    if any(type(labels) is not dict or not labels for labels in data.values()):
        return None
    docs: list[str] = []
    gains: list[float] = []
    for labels in data.values():
        docs += labels
        gains += labels.values()
    return plain_frame(list(data), list(map(len, data.values())), docs, gains, TRUTH)


def plain_frame(
    queries: list[str], counts: list[int], docs: list[str], numbers: list[float], schema: pl.Schema
) -> pl.DataFrame | None:
    """Columns of texts and finite numbers as a frame; None where any value is something else.

    queries, counts   (q,) ids and how many documents each has;   docs, numbers   (n,) of all documents
    """
    try:
        number = np.array(numbers)
        query_id, doc_id = pl.Series(queries, dtype=pl.String), pl.Series(docs, dtype=pl.String)
    except (TypeError, ValueError):
        return None
    plain = number.ndim == 1 and number.dtype.kind in "fi"
    # What is not finite is refused, and whole numbers that floats cannot hold, label by label.
    if not plain or query_id.null_count() or doc_id.null_count() or not (np.abs(number) < EXACT).all():
        return None
    query_id = query_id[np.repeat(np.arange(len(counts)), counts)]
    return pl.DataFrame([query_id, doc_id, pl.Series(number.astype(float))], schema=schema)


def text_id(value: object, name: str, what: str) -> str:
    """An id as text; whole numbers are converted."""
    if isinstance(value, str):
        if not value.isascii():
            _refuse_half_characters(value, f"{name}: {what}")
        return value
    if is_whole_number(value):
        return str(value.__index__())
    raise InputError(f"{name}: {what} is {quoted(value)} ({type(value).__name__}); ids are text or whole numbers")


def is_whole_number(value: object) -> TypeGuard[SupportsIndex]:
    """True if a value is a whole number of any library; a truth value is none."""
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool)


def _refuse_half_characters(text: str, where: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{where} is {quoted(text)}, which holds half a character (a lone surrogate); repair it"
        ) from None


def finite(value: object, where: str) -> float:
    """A finite float, from any number but not from text.

    Raises   InputError for others, and for a whole number that would be rounded: it could tie with its neighbours.
    """
    number = finite_or_none(value)
    if number is None:
        raise InputError(f"{where} {quoted(value)} is not a finite number")
    if is_rounded(value, number):
        raise InputError(f"{where} {quoted(value)} {ROUNDED}")
    return number


def finite_or_none(value: object) -> float | None:
    """A finite float, from any number but not from text; None of anything else."""
    try:
        number = math.nan if isinstance(value, str) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def are_texts(values: Iterable[Any]) -> bool:
    """True if all are texts without half characters; to join them is the quickest way to see it."""
    try:
        text = "".join(values)
        return text.isascii() or bool(text.encode())
    except (TypeError, UnicodeEncodeError):
        return False


def _are_whole_texts(values: list[Any]) -> bool:
    """True if all are texts without half characters."""
    try:
        "".join(values).encode()
    except (TypeError, UnicodeEncodeError):
        return False
    return True


@dataclass
class RunDict:
    """A run held as {query_id: {doc_id: score}} with text ids, or {query_id: [doc_ids]} in order."""

    name: str
    rankings: Mapping[str, Mapping[str, float] | list[str]]

    @classmethod
    def checked(cls, data: ByQuery, name: str) -> RunDict:
        """Check the outline and convert ids that are whole numbers; scores are looked at when they are needed.

        Raises   InputError naming the query.
        """
        rankings: dict[str, Mapping[str, float] | list[str]] = {}
        for query, ranking in data.items():
            query_id = text_id(query, name, "a question id")
            if query_id in rankings:
                raise DuplicateError(f"{name}: question {query_id!r} is there twice, as text and as a number")
            if isinstance(ranking, Mapping):
                if not are_texts(ranking):
                    named = {text_id(d, name, f"a document id of question {query_id!r}"): s for d, s in ranking.items()}
                    if len(named) < len(ranking):
                        raise DuplicateError(f"{name}, question {query_id!r}: an id is there as text and as a number")
                    ranking = named
                rankings[query_id] = ranking
            elif isinstance(ranking, Iterable) and not isinstance(ranking, str | Set):
                docs = list(ranking)
                what = f"a document id of question {query_id!r}"
                rankings[query_id] = docs if _are_whole_texts(docs) else [text_id(d, name, what) for d in docs]
            else:
                raise InputError(
                    f"{name}, question {query_id!r}: {quoted(ranking)} is neither {{doc_id: score}} nor a list in order"
                )
        if not rankings:
            raise InputError(f"{name}: holds no question; expected {{query_id: {{doc_id: score}}}}")
        return cls(name, rankings)

    def table(self) -> Table:
        """The same run as a table."""
        queries: list[str] = []
        docs: list[str] = []
        scores: list[float] = []
        empty = [query for query, ranking in self.rankings.items() if not ranking]
        for query, ranking in self.rankings.items():
            docs += ranking
            queries += [query] * len(ranking)
            if isinstance(ranking, Mapping):
                scores += [
                    finite(s, f"{self.name}, question {query!r}, document {d!r}: score") for d, s in ranking.items()
                ]
            else:
                scores += range(0, -len(ranking), -1)
        frame = pl.DataFrame({"query_id": queries, "doc_id": docs, "score": map(float, scores)}, schema=RUN)
        nothing = pl.DataFrame(
            {"query_id": empty, "doc_id": [None] * len(empty), "score": [None] * len(empty)}, schema=RUN
        )
        return checked(pl.concat([frame, nothing]), self.name, "run")
