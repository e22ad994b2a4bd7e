"""Tables of what raters said about items, read into rows: item, rater, question, document, label.

A table is long (a row a label), wide (a row an item, a column a rater), or holds the labels of one rater, who is called
what the file is: qrels, or items with a label each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.base.nearest import nearest
from steelyard.base.schema import COLUMN_NAMES
from steelyard.data.truth import Truth
from steelyard.io import formats, trec
from steelyard.io.evaluation_rows import read_rows
from steelyard.io.objects import is_frame, ranx_dict, to_polars
from steelyard.io.source import Source
from steelyard.io.tables import delimited

RATING = pl.Schema(
    {"item": pl.String, "rater": pl.String, "question": pl.String, "doc_id": pl.String, "label": pl.Float64,
     "row": pl.Int64, "origin": pl.String}
)  # fmt: skip
"""One label a row, a number or (as String) a word; doc_id where the item is a query and a document of it."""

_QUERY, _DOC = COLUMN_NAMES["query_id"], COLUMN_NAMES["doc_id"]
_ITEM = ("item", "item_id", "unit", "unit_id", "example", "example_id", "instance", "instance_id", "answer_id", "id")
_QUESTION = (*_QUERY, "question", "question_id", "query", "cluster")
_RATER = ("rater", "rater_id", "annotator", "annotator_id", "assessor", "coder", "worker", "worker_id")
_LABEL = ("label", "rating", "grade", "verdict", "decision", "gain", "relevance", "rel", "score", "value")
_BETWEEN = "\t"
"""Between the values of several columns that together name an item."""


@dataclass(frozen=True)
class RatingColumns:
    """Which columns hold what, where their names do not say so.

    item      whose values together name an item;   question   what items belong to
    raters    of a wide table, the columns that are raters; of others, the raters that count
    """

    item: Sequence[str] = ()
    question: str | None = None
    raters: Sequence[str] = ()


def read_table(source: Source, name: str, columns: RatingColumns) -> pl.DataFrame:
    """The rows of a file.

    name     of the rater, where the file holds the labels of one
    Raises   InputError naming the file, what was found and what to try.
    """
    format = formats.sniff(source)
    if format == "trec":
        first = source.head.lstrip().partition(b"\n")[0].decode(errors="replace")
        if len(first.split()) == len(trec.QRELS.names) and _is_number(first.split()[-1]):
            return _of_qrels(formats.open_truth(source, "trec").frame(), name, source.name)
        format = "tsv" if "\t" in first else "csv"
    if format == "json" and not source.head.lstrip().startswith(b"["):
        return _of_qrels(formats.open_truth(source, "json").frame(), name, source.name)
    if format in ("csv", "tsv"):
        pieces = list(delimited(source, "," if format == "csv" else "\t", "truth").pieces())
        frame = pl.concat(pieces) if pieces else pl.DataFrame()
    else:
        frame = _frame([row for _, row in read_rows(source, format)], source.name)
    if frame.is_empty():
        raise InputError(f"{source.name}: has no rows; expected one a label, or one an item")
    return table_rows(frame, name, source.name, columns)


def object_rows(data: object, name: str, columns: RatingColumns) -> pl.DataFrame:
    """The rows of a table in memory: a frame, a list of dicts; or of one rater: a Truth, {item: label}, qrels.

    Raises   InputError for anything else.
    """
    data = data.frame if isinstance(data, Truth) else ranx_dict(data) or data
    data = data.collect() if isinstance(data, pl.LazyFrame) else data
    if is_frame(data):
        frame = to_polars(data, also=_names_of(data))
    elif isinstance(data, Mapping):
        if any(isinstance(value, Mapping) for value in data.values()):
            return _of_qrels(Truth(data, name=name).frame, name, name)
        labels = [value.item() if hasattr(value, "item") else value for value in data.values()]
        frame = _frame([{"item": str(item), "label": label} for item, label in zip(data, labels, strict=True)], name)
    elif isinstance(data, list | tuple) and data and all(isinstance(row, Mapping) for row in data):
        frame = _frame(data, name)
    else:
        raise InputError(
            f"{name}: labels cannot be read from {type(data).__name__}; pass a path, a frame, a list of dicts, or "
            "{rater: {item: label}}"
        )
    return table_rows(frame, name, name, columns)


def table_rows(frame: pl.DataFrame, name: str, origin: str, columns: RatingColumns) -> pl.DataFrame:
    """The rows of a long or wide table, or of one with the labels of one rater."""
    column = partial(_column, frame, origin=origin)
    query, doc = column(_QUERY), column(_DOC)
    items = [named for item in columns.item if (named := column((), named=item))]
    if not items:
        items = [query, doc] if query and doc else [item for item in [column(_ITEM)] if item]
    question, rater = column(_QUESTION, named=columns.question), column(_RATER)
    ids = _ids(frame, items, question, doc if query else None, origin)
    labels = [label for label in frame.columns if label.lower() in _LABEL]
    if rater is not None and len(labels) == 1:
        if not items:
            listed = ", ".join(frame.columns)
            raise InputError(f"{origin}: has no column that names the item (columns: {listed}); name it: item, --item")
        return _part(ids, frame[labels[0]], frame[rater].cast(pl.String), origin)
    others = [other for other in frame.columns if other not in {*items, question, query, doc}]
    if not columns.raters and items and len(labels) == 1 and others == labels:
        return _part(ids, frame[labels[0]], pl.Series([name]), origin)
    wanted = [named for rater in columns.raters if (named := column((), named=rater))] or others
    if not wanted:
        raise InputError(
            f"{origin}: has no column of labels (columns: {', '.join(frame.columns)}); expected item, rater and label, "
            "or one column a rater"
        )
    return concatenated([_part(ids, frame[label], pl.Series([label]), origin) for label in wanted])


def _ids(frame: pl.DataFrame, items: Sequence[str], question: str | None, doc: str | None, origin: str) -> pl.DataFrame:
    """Item, question, document and number of each row; rows without a name are items by their place."""

    def text(name: str | None) -> pl.Expr:
        return pl.lit(None, pl.String) if name is None else pl.col(name).cast(pl.String)

    place = pl.int_range(1, pl.len() + 1)
    item = pl.concat_str([text(name) for name in items], separator=_BETWEEN) if items else place.cast(pl.String)
    ids = frame.select(item=item, question=text(question), doc_id=text(doc), row=place)
    if ids["item"].null_count():
        row = int(ids["item"].is_null().arg_true()[0]) + 1
        raise InputError(f"{origin}, row {row}: {' or '.join(map(quoted, items))} is empty; name the item")
    return ids


def concatenated(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Rows of several tables; labels are numbers where all of them are, else words."""
    if len({part.schema["label"] for part in parts}) > 1:
        parts = [part.with_columns(pl.col("label").map_batches(_as_words, pl.String)) for part in parts]
    return pl.concat(parts)


def _part(ids: pl.DataFrame, labels: pl.Series, raters: pl.Series, origin: str) -> pl.DataFrame:
    """Rows of some labels, without gaps: what is empty."""
    if labels.dtype.is_nested() or labels.dtype.is_temporal():
        raise InputError(f"{origin}: column {quoted(labels.name)} holds {labels.dtype}; labels are words or numbers")
    if labels.dtype.is_numeric():
        label = labels.cast(pl.Float64).fill_nan(None)
        if (infinite := label.is_infinite().fill_null(False)).any():
            row = int(infinite.arg_true()[0]) + 1
            raise InputError(f"{origin}, row {row}: the label {label[row - 1]} is not finite; leave gaps empty")
    else:
        texts = labels.cast(pl.String).str.strip_chars()
        texts = texts.replace("", None)
        numbers = texts.cast(pl.Float64, strict=False)
        are_numbers = numbers.null_count() == texts.null_count() and bool(numbers.is_finite().all())
        label = numbers if are_numbers else texts
    rows = ids.with_columns(
        rater=raters if len(raters) == len(ids) else pl.lit(raters[0], pl.String), label=label, origin=pl.lit(origin)
    ).select(RATING.names())
    rows = rows.filter(pl.col("label").is_not_null())
    nameless = rows["rater"].is_null()
    if nameless.any():
        raise InputError(f"{origin}, row {rows['row'][int(nameless.arg_true()[0])]}: a label without a rater; name one")
    return rows


def _of_qrels(frame: pl.DataFrame, name: str, origin: str) -> pl.DataFrame:
    labels = frame.drop_nulls().rename({"query_id": "question", "gain": "label"})
    return labels.with_columns(
        item=pl.concat_str(["question", "doc_id"], separator=_BETWEEN),
        rater=pl.lit(name),
        origin=pl.lit(origin),
        row=pl.int_range(1, pl.len() + 1),
    ).select(RATING.names())


def _column(frame: pl.DataFrame, names: Sequence[str], *, origin: str, named: str | None = None) -> str | None:
    """The column that is named, or the first of some that is there; None without one.

    Raises   InputError for a named one that is not there.
    """
    if named is not None:
        if named not in frame.columns:
            raise InputError(f"{origin}: has no column {quoted(named)}; {nearest(named, frame.columns)}")
        return named
    spelt = {column.lower(): column for column in reversed(frame.columns)}
    return next((spelt[name] for name in names if name in spelt), None)


def _frame(rows: Sequence[Mapping[str, Any]], origin: str) -> pl.DataFrame:
    try:
        return pl.DataFrame([dict(row) for row in rows], infer_schema_length=None, strict=False)
    except UnicodeEncodeError as error:
        half = quoted(error.object[error.start : error.end])
        raise InputError(f"{origin}: holds half a character, {half} (a lone surrogate); remove it") from None
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise InputError(f"{origin}: rows cannot be made a table ({error}); expected flat objects") from None


def _names_of(data: Any) -> list[str]:
    return [str(name).lower() for name in getattr(data, "column_names", getattr(data, "columns", ()))]


def _as_words(labels: pl.Series) -> pl.Series:
    """Labels as words; a whole number without its fraction."""
    if labels.dtype == pl.String:
        return labels
    return pl.Series([None if label is None else f"{label:g}" for label in labels], dtype=pl.String)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
