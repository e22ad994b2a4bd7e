"""Which columns of a file of logs are ours, by which name, and as what they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from steelyard.traffic.schema import ANSWERS, IMPRESSIONS, KINDS, TABLES

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "time": ("timestamp", "@timestamp", "ts", "datetime", "created_at", "event_time"),
    "request": ("request_id", "requestId", "impression_id", "search_id"),
    "user": ("user_id", "userId", "visitor_id", "client_id"),
    "session": ("session_id", "sessionId", "conversation_id"),
    "query": ("question", "user_query", "query_text", "search_query"),
    "arm": ("variant", "bucket", "system"),
    "language": ("lang", "locale"),
    "doc_ids": ("results", "retrieved", "documents", "ranking", "hits", "docs"),
    "latency_ms": ("duration_ms", "took_ms", "elapsed_ms"),
    "tokens_in": ("input_tokens", "prompt_tokens"),
    "tokens_out": ("output_tokens", "completion_tokens"),
    "error": ("error_type", "error_message"),
    "config": ("config_fingerprint", "config_id", "config_hash"),
    "corpus": ("corpus_fingerprint", "corpus_id", "corpus_version", "index_version"),
    "kind": ("event", "event_type", "event_name", "action"),
    "position": ("rank", "pos"),
    "doc_id": ("document_id", "docid", "chunk_id"),
    "answer": ("response", "output", "completion"),
    "citations": ("cited", "cited_ids"),
    "contexts": ("retrieved_contexts", "passages"),
    "user_agent": ("userAgent", "ua"),
}
"""Our column -> what other logs call it, where that can mean nothing else; the first that a file has is read."""
RECORD_TYPES: Mapping[str, str] = {name: kind for kind in TABLES for name in (kind, f"{kind}s")}
"""Value of the column `type` -> kind of record."""

TEXT, NUMBER, TEXTS, NUMBERS = pl.String(), pl.Float64(), pl.List(pl.String), pl.List(pl.Float64)
_ITEM_KEYS = {
    "doc_ids": ("doc_id", "id", "chunk_id", "docid", "document_id"), "scores": ("score", "similarity"),
    "propensities": ("propensity", "probability"), "teams": ("team",), "team_shares": ("team_share",),
}  # fmt: skip
"""Lists of a ranking -> what the objects that it is made of call an item of them."""


def raw_type(column: str) -> Any:
    """As what a column is read: text, number, or a list of either."""
    dtype = next((schema[column] for schema in TABLES.values() if column in schema), TEXT)
    if isinstance(dtype, pl.List):
        return dtype
    return NUMBER if dtype.is_numeric() else TEXT


@dataclass(frozen=True)
class Layout:
    """How a file holds our columns.

    kind    of all its records; None where a record says it itself, by `type` or by its columns
    names   our column -> the file's
    types   our column -> as what it is read
    """

    kind: str | None
    names: Mapping[str, str]
    types: Mapping[str, Any]
    items: Mapping[str, str] = field(default_factory=dict)
    """Keys of the objects that a ranking is made of: doc_ids, scores, ... -> key; empty for a list of ids."""

    @property
    def schema(self) -> dict[str, Any]:
        """The file's columns, as they are read."""
        return {name: self.types[column] for column, name in self.names.items()}

    def is_own(self, records: Sequence[Mapping[str, Any]]) -> bool:
        """True if records have times and requests by our names or by those of SPELLINGS."""
        return all(any(self.names[column] in record for record in records) for column in ("time", "request"))

    @classmethod
    def of(cls, records: Sequence[Mapping[str, Any]], kind: str | None, segments: Sequence[str]) -> Layout:
        """The layout of a file by its first records.

        kind       by the name of the file or folder
        segments   further columns to be read
        """
        keys = {key for record in records for key in record}
        has_types = any(str(record.get("type")).lower() in RECORD_TYPES for record in records)
        wanted = [
            *_columns(kind if not has_types else None),
            *segments,
            *(column for column in ("user_agent", "is_bot") if _spelling(column, keys)),
            *(("type",) if has_types else ()),
        ]
        if kind == "impression" and not has_types and _spelling("answer", keys):
            wanted += [column for column in ANSWERS if column not in IMPRESSIONS]
        names = {column: _spelling(column, keys) or column for column in wanted}
        if not has_types and names.get("kind") not in keys and _holds_kinds(records):
            names["kind"] = "type"
        items = _item_keys([record.get(names.get("doc_ids", "")) for record in records])
        types = {column: _type(column, [record.get(name) for record in records]) for column, name in names.items()}
        if items:
            types["doc_ids"] = pl.List(pl.Struct({key: raw_type(column).inner for column, key in items.items()}))
        return cls(None if has_types else kind, names, types, items)


def _columns(kind: str | None) -> list[str]:
    schemas = TABLES.values() if kind is None else [TABLES[kind]]
    return list(dict.fromkeys(column for schema in schemas for column in schema))


def _spelling(column: str, keys: set[str]) -> str | None:
    return next((name for name in (column, *SPELLINGS.get(column, ())) if name in keys), None)


def _holds_kinds(records: Sequence[Mapping[str, Any]]) -> bool:
    """True if the column `type` has kinds of events."""
    return any(str(record.get("type")).lower() in KINDS for record in records)


def _type(column: str, values: Sequence[Any]) -> Any:
    """As what a column of JSON is read; numbers in quotes as text, which is converted afterwards."""
    dtype = raw_type(column)
    present = [value for value in values if value is not None]
    return TEXT if dtype == NUMBER and present and all(isinstance(value, str) for value in present) else dtype


def _item_keys(rankings: Sequence[Any]) -> dict[str, str]:
    items = [item for ranking in rankings if isinstance(ranking, list) for item in ranking if isinstance(item, dict)]
    keys = {key for item in items for key in item}
    return {
        column: name
        for column, names in _ITEM_KEYS.items()
        if (name := next((key for key in names if key in keys), None))
    }
