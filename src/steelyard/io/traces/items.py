"""Documents as traces name them, as items of ours: id, score, text, doc, page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.io.retrieved_items import RESULT_KEYS, plain_items
from steelyard.io.traces.values import first, listed, mapping, number, plain, text

_IDS = ("id", "chunk_id", "segment_id", "node_id", "id_", "_id", "doc_id", "pid")
_TEXTS = ("content", "text", "page_content", "content_with_weight", "snippet", "chunk", "body", "passage")
_SCORES = ("score", "similarity", "relevance_score", "similarity_score", "rerank_score", "_score")
_DOCS = (
    "doc", "document_name", "docnm_kwd", "document_keyword", "file_path", "source", "file_name", "filename", "title",
    "document_id", "url",
)  # fmt: skip
_PAGES = ("page_number", "page_label")
_METADATA = ("metadata", "meta", "extra_info", "document_metadata")
_LISTS = (*RESULT_KEYS, "chunks", "hits", "nodes", "matches", "records", "data", "output", "content", "reference")
_FOREIGN = frozenset({"page_content", "kwargs", "node", "id_", "node_id"})
"""Keys of documents of LangChain and LlamaIndex, whose dumps are read as those of these libraries."""
_DEEPEST = 4


def items_in(value: Any, deepest: int = _DEEPEST) -> list[dict[str, Any]] | None:
    """The items of a list of documents, or of an object or a text of JSON that holds one; None where there is none."""
    own = listed(value)
    if own is not None:
        items = [item_of(document) for document in own]
        return items if all(items) or not items else [item or {} for item in items] if any(items) else None
    fields = mapping(value)
    if deepest == 0 or not fields:
        return None
    held = (items_in(fields[key], deepest - 1) for key in _LISTS if listed(fields.get(key)) or mapping(fields.get(key)))
    return next((items for items in held if items is not None), None)


def item_of(document: Any) -> dict[str, Any]:
    """An item of a document, with the keys that are known; empty where it is no document.

    >>> item_of({"document.id": 7, "document.content": "Bees.", "document.metadata": '{"source": "b.md", "page": 2}'})
    {'id': '7', 'text': 'Bees.', 'doc': 'b.md'}
    >>> item_of({"segment_id": "s1", "document_name": "手册.pdf", "score": 0.9, "content": "九点开门。"})
    {'id': 's1', 'text': '九点开门。', 'score': 0.9, 'doc': '手册.pdf'}
    """
    own = plain(document)
    if isinstance(own, str):
        return {"text": own} if own.strip() else {}
    if not isinstance(own, Mapping) or "role" in own:  # a message
        return {}
    fields = {str(key).removeprefix("document."): value for key, value in own.items()}
    if isinstance(fields.get("document"), Mapping):  # OpenInference, unflattened
        fields = {**fields["document"], **{key: value for key, value in fields.items() if key != "document"}}
    if not _FOREIGN.isdisjoint(fields):
        return _of_library(fields)
    if isinstance(fields.get("document"), str):
        fields.setdefault("text", fields["document"])
    data = {key: value for name in _METADATA for key, value in mapping(fields.get(name)).items()}
    item = {
        "id": text(first(fields, _IDS)) or text(first(data, ("chunk_id", "id", "_id"))),
        "text": _content(fields),
        "score": number(first(fields, _SCORES)),
        "doc": text(first(fields, _DOCS)) or text(first(data, ("doc", *_DOCS, "doc_id"))),
        "page": _page(fields) or _page(data),
    }
    item = {key: value for key, value in item.items() if value is not None}
    return item if "id" in item or "text" in item else {}


def _content(fields: Mapping[str, Any]) -> str | None:
    """The text of a document, also of one whose content is a list of parts."""
    content = first(fields, _TEXTS)
    parts = listed(content) if not isinstance(content, str) else None
    if parts:
        content = "\n".join(filter(None, (text(mapping(part).get("text")) for part in parts)))
    return text(content)


def _of_library(fields: Mapping[str, Any]) -> dict[str, Any]:
    """An item of a dump of LangChain or LlamaIndex; its score beside it, or in its metadata."""
    (item,) = plain_items([dict(fields)])
    if item is None:
        return {}
    data = mapping(fields.get("metadata"))
    score = number(first(item, ("score",)) if "score" in item else first({**data, **fields}, _SCORES))
    known = {key: item[key] for key in ("id", "text", "doc", "page", "start", "end") if item.get(key) is not None}
    if text(known.get("id")) is None or not (known.get("text") is None or isinstance(known["text"], str)):
        return {}
    return known | {"id": str(known["id"])} | ({} if score is None else {"score": score})


def _page(fields: Mapping[str, Any]) -> int | None:
    page = number(first(fields, _PAGES))
    return int(page) if page is not None and page >= 1 and page.is_integer() else None
