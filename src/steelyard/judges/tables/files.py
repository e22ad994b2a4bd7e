"""Files of verdicts: Parquet, one row a question, in its metadata what they depend on."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import polars as pl
import polars.selectors as cs

from steelyard.base.errors import InputError
from steelyard.base.shapes import Each, Object, check_shape
from steelyard.io.json_files import parse_json
from steelyard.io.native import native_reader
from steelyard.io.own_json import check_version
from steelyard.judges.tables.columns import SCHEMA, VerdictColumns

_KEY, _VERSION, _EARLIER = "steelyard_verdicts", 3, 2
_SHAPE = Object(
    {"recipe": Object({"judge": Object({"name": str})}), "errors": Each(dict, int), "questions": int, "digest": str}
)
_AGAIN = "judge again (`steelyard judge`)"
_SINCE_3 = {
    "unit_alternative": pl.lit(0, pl.Int64).repeat_by(pl.col("unit_text").list.len()),
    "unit_lead": pl.lit("").repeat_by(pl.col("unit_text").list.len()),
    **{f"criterion_{name}": pl.lit("").repeat_by(0) for name in ("name", "text", "scale", "reason")},
    **{f"context_relevance_{name}": pl.lit("").repeat_by(0) for name in ("verdict", "reason")},
    **{name: pl.lit(0.0).repeat_by(0) for name in ("criterion_value", "context_relevance_score")},
    "gold_unit_lead": pl.lit("").repeat_by(pl.col("gold_unit_text").list.len()),
}
"""Columns that files of version 2 lack, and what they hold of such a file."""


def encode_verdicts(columns: VerdictColumns, recipe: Mapping[str, Any], errors: Mapping[str, int]) -> bytes:
    """The bytes of the file."""
    head = {"version": _VERSION, "recipe": dict(recipe), "errors": dict(errors), "questions": len(columns.own)}
    head["digest"] = _digest(columns, head)
    buffer = io.BytesIO()
    columns.lists().write_parquet(
        buffer, compression_level=1, statistics=False, metadata={_KEY: json.dumps(head, ensure_ascii=False)}
    )
    return buffer.getvalue()


def decode_verdicts(path: str | Path) -> tuple[VerdictColumns, Mapping[str, Any], Mapping[str, int]]:
    """Columns, recipe and errors of the judge that a file holds; tables are held against units.

    Raises   InputError naming the file.
    """
    try:
        with native_reader(str(path)):
            data = Path(path).read_bytes()
            metadata = pl.read_parquet_metadata(io.BytesIO(data))
    except InputError as error:
        raise InputError(f"{error}; expected the file of verdicts that `steelyard judge` writes") from None
    head = _head(metadata.get(_KEY), path)
    with native_reader(str(path)):
        lists = pl.read_parquet(io.BytesIO(data))
    if len(lists) != head["questions"]:
        raise InputError(f"{path}: has verdicts on {len(lists)} questions, of {head['questions']}; {_AGAIN}")
    earlier = head["version"] == _EARLIER
    try:
        columns = VerdictColumns.of_lists(_completed(lists) if earlier else lists)
    except ValueError as error:
        raise InputError(f"{path}: {error}; {_AGAIN}") from None
    if (_digest_of_lists(lists, head) if earlier else _digest(columns, head)) != head["digest"]:
        raise InputError(f"{path}: is damaged, or was edited; {_AGAIN}")
    return columns, head["recipe"], head["errors"]


def _completed(lists: pl.DataFrame) -> pl.DataFrame:
    """The lists of a file of version 2 with the columns that came later."""
    own = {name: dtype for name, dtype in SCHEMA.items() if name not in _SINCE_3}
    if dict(lists.schema) != own:
        raise ValueError("holds other columns than verdicts have")
    return lists.with_columns(**_SINCE_3).select(SCHEMA.names())


def _digest(columns: VerdictColumns, head: Mapping[str, Any]) -> str:
    """A fingerprint of all that a file holds: Parquet has none, and a flipped bit may be another verdict."""
    sha = _facts_hash(head)
    sha.update(columns.has_context.tobytes())
    for part in _bytes(columns.own):
        sha.update(part)
    for kind, items in columns.items.items():
        sha.update(kind.encode() + items.n.astype("<i8").tobytes())
        for part in _bytes(items.frame):
            sha.update(part)
    return f"sha256:{sha.hexdigest()}"


def _bytes(frame: pl.DataFrame) -> Iterator[bytes]:
    """All values of a frame as bytes: whether each is null, lengths of texts, and values."""
    texts = frame.select(cs.string().fill_null("").str.join("").cast(pl.Binary))
    for column in frame.with_columns(cs.string().str.len_bytes(), cs.boolean().cast(pl.Int64)):
        dtype = "<f8" if column.dtype == pl.Float64 else "<i8"
        yield column.name.encode() + column.is_null().to_numpy().tobytes()
        yield column.fill_null(0).to_numpy().astype(dtype).tobytes()
        if column.name in texts.columns:
            yield texts[column.name].item()


def _digest_of_lists(lists: pl.DataFrame, head: Mapping[str, Any]) -> str:
    """The fingerprint that files of version 2 have."""
    sha = _facts_hash(head)
    for column in lists:
        sha.update(f"{column.name} {column.to_list()!r}".encode("utf-8", "surrogatepass"))
    return f"sha256:{sha.hexdigest()}"


def _facts_hash(head: Mapping[str, Any]) -> hashlib._Hash:
    facts = json.dumps([head["recipe"], head["errors"]], sort_keys=True)
    return hashlib.sha256(facts.encode())


def _head(text: str | None, path: str | Path) -> Mapping[str, Any]:
    if text is None:
        raise InputError(f"{path}: holds no verdicts; expected the Parquet that `steelyard judge` writes")
    head = parse_json(text.encode(), str(path))
    version = head.get("version") if isinstance(head, dict) else None
    if version != _EARLIER:
        check_version(version, _VERSION, str(path), _AGAIN)
    try:
        check_shape(head, _SHAPE)
    except ValueError as error:
        raise InputError(f"{path}: {error}; {_AGAIN}") from None
    return cast("Mapping[str, Any]", head)
