"""Items that other libraries retrieve, as items of ours: LangChain, LlamaIndex, Haystack, dspy, and plain Python.

None of these libraries is imported.  An object is recognised by its attributes, and a dump of it, in JSON say, by its
keys; both end in one mapping with our keys: id, score, text, doc, start, end, page.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence, Set
from numbers import Integral, Real
from operator import index
from pathlib import PurePath
from typing import Any, cast

from steelyard.io.objects import is_whole_number

TEXT_KEYS = ("contexts", "retrieved_contexts", "retrieval_context", "retrieved_context", "passages", "context")
"""Keys under which a bare string is a text; it is an id under all others."""
RESULT_KEYS = ("retrieved", "results", "documents", *TEXT_KEYS, "source_documents", "source_nodes")
"""Keys that hold what was retrieved, first choice first."""
ANSWER_KEYS = ("answer", "response", "result", "actual_output")
"""Keys that hold an answer, first choice first."""

ID_KEYS = ("id", "chunk_id", "doc_id")
"""Keys that hold the id of an item of ours, first choice first."""

_DOC_NAMES = ("file_path", "source", "file_name", "filename", "doc_id", "document_id", "url")
_ID_NAMES = ("id", "chunk_id", "_id")
_OURS = (*ID_KEYS, "score", "doc", "start", "end", "page", "pages")
_FOREIGN = frozenset({"page_content", "kwargs", "node", "id_", "content", "long_text"})
_ATTRIBUTES = {
    "page_content": ("id", "page_content", "metadata"),
    "node": ("node", "score"),
    "node_id": ("node_id", "text", "metadata", "ref_doc_id", "start_char_idx", "end_char_idx"),
    "content": ("id", "content", "meta", "score"),
    "long_text": ("pid", "long_text", "score"),
}
"""The attribute by which an object of a library is recognised -> those that matter: LangChain, LlamaIndex (two kinds),
Haystack, dspy."""


_CONTENT_ID = re.compile("text:[0-9a-f]{16}")


def content_id(text: str, *place: object) -> str:
    """Id of an item without one: after its text, even where that has half a character (a lone surrogate).

    place   where the text is, such as document and page: one text in two documents is two items

    >>> content_id("bees")
    'text:23da0d3b0b5aa5ee'
    """
    whole = "\0".join((text, *map(str, place)))
    return f"text:{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


def result_key(results: Mapping[Any, Any]) -> str | None:
    """The key under which a mapping has what was retrieved; None where it has none.

    >>> result_key({"context": ["gold"], "contexts": ["bees dance"]})
    'contexts'
    """
    return next((key for key in RESULT_KEYS if key in results), None)


def result_fields(results: Any) -> Mapping[Any, Any] | None:
    """A mapping, or what an object has under `RESULT_KEYS` and `ANSWER_KEYS`, such as a response of LlamaIndex.

    Returns   None where there are no results.

    >>> from types import SimpleNamespace
    >>> result_fields(SimpleNamespace(source_nodes=["n1"], response="Bees do.", metadata={}))
    {'source_nodes': ['n1'], 'response': 'Bees do.'}
    """
    if isinstance(results, Mapping):
        return results
    if results is None or isinstance(results, str | bytes | Real | Sequence | Set):
        return None
    fields = {name: getattr(results, name, None) for name in (*RESULT_KEYS, *ANSWER_KEYS)}
    fields = {name: value for name, value in fields.items() if isinstance(value, list | tuple | str)}
    return fields if result_key(fields) is not None else None


def answer_of(results: Mapping[Any, Any]) -> Any:
    """The answer under the first of its usual keys; None where there is none."""
    return next((results[key] for key in ANSWER_KEYS if results.get(key) is not None), None)


def plain_items(items: Sequence[Any], *, texts: bool = False) -> list[dict[str, Any] | None]:
    """Items of any form with our keys, in the same order; None for what is none of the forms.

    texts   whether bare strings are texts rather than ids

    Values are as they were, for the caller to check.  Pairs of a library's document and a number that rises from first
    to last are documents and their distances, as some vector stores give them: these are turned around, since such a
    list has the best first.  A text without an id that comes again, as overlapping retrievers give it, is another item.

    >>> plain_items(["d1", ("d2", 0.5), {"page_content": "bees", "metadata": {"source": "b.md", "page": 2}}])
    [{'id': 'd1'}, {'id': 'd2', 'score': 0.5}, {'text': 'bees', 'page': 3, 'doc': 'b.md', 'id': 'text:...'}]
    """
    # Most items are dicts of ours.
    plain = _number_repeats(
        [item if type(item) is dict and _FOREIGN.isdisjoint(item) else _plain(item, texts) for item in items]
    )
    if len(plain) > 1 and all(map(_is_scored_document, items)):
        scores = [item[1] for item in items]
        if scores == sorted(scores) and scores[0] < scores[-1]:
            return [None if item is None else item | {"score": -item["score"]} for item in plain]
    return plain


def _number_repeats(items: list[dict[str, Any] | None]) -> list[dict[str, Any] | None]:
    """The same items; one called after a text that was there before gets a number: "text:23da0d3b0b5aa5ee~2"."""
    n_alike: dict[str, int] = {}
    for place, item in enumerate(items):
        if item is None or (id := _content_id_of(item)) is None:
            continue
        n_alike[id] = n = n_alike.get(id, 0) + 1
        if n > 1:
            items[place] = item | {"id": f"{id}~{n}"}
    return items


def _content_id_of(item: dict[str, Any]) -> str | None:
    """Id of an item after its text; None of one with an id, or a place in a document, or without text."""
    id = next((item[key] for key in ID_KEYS if item.get(key) is not None), None)
    if id is not None:
        return id if isinstance(id, str) and id.startswith("text:") and _CONTENT_ID.fullmatch(id) else None
    text = item.get("text")
    is_placed = item.get("doc") is not None and "start" in item and "end" in item
    return content_id(text) if isinstance(text, str) and not is_placed else None


def _plain(item: Any, texts: bool) -> dict[str, Any] | None:
    if isinstance(item, str):
        return {"text": item} if texts else {"id": item}
    if isinstance(item, Mapping):
        return cast("dict[str, Any]", item) if _FOREIGN.isdisjoint(item) else _from_dump(item)
    if is_whole_number(item):
        return {"id": item}
    if _is_pair(item):
        document = None if _is_pair(item[0]) else _plain(item[0], texts)
        return None if document is None else document | {"score": item[1]}
    mark = next((mark for mark in _ATTRIBUTES if hasattr(item, mark)), None)
    if mark is None:
        return None
    fields = {name: getattr(item, name, None) for name in _ATTRIBUTES[mark]}
    if fields.get("text", "") is None and callable(content := getattr(item, "get_content", None)):
        fields["text"] = content()  # Nodes of LlamaIndex that hold more than a text.
    return _from_dump(fields)


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple | list) and len(item) == 2


def _is_scored_document(item: Any) -> bool:
    """True if this is a pair of a library's document, or of its dump, and a number."""
    if not _is_pair(item) or not isinstance(item[1], Real) or isinstance(item[0], str | Integral):
        return False
    return not isinstance(item[0], Mapping) or not _FOREIGN.isdisjoint(item[0])


def _from_dump(item: Mapping[Any, Any]) -> dict[str, Any] | None:
    """An item of another library from its dump, or from its attributes under the same names."""
    if isinstance(item.get("kwargs"), Mapping):  # LangChain's dumpd: {"lc": 1, "id": ["langchain", ...], "kwargs": ...}
        return _plain(item["kwargs"], texts=False)
    if "page_content" in item:
        return _named(_langchain(item))
    if "node" in item and not isinstance(item["node"], str | Integral):
        node = _plain(item["node"], texts=False)
        return None if node is None else node | _known(score=item.get("score"))
    if "id_" in item or "node_id" in item:
        return _named(_llama_index(item))
    if "long_text" in item:
        pid = item.get("pid", item.get("id"))
        return _named(_known(id=pid, text=item["long_text"], score=item.get("score")))
    return _named(_haystack(item)) if "content" in item and "text" not in item else cast("dict[str, Any]", item)


def _named(item: dict[str, Any]) -> dict[str, Any]:
    """An item with an id of its own, or else one by its text and where that is."""
    if not isinstance(item.get("text"), str) or not item.keys().isdisjoint(ID_KEYS):
        return item
    place = [item.get(key) for key in ("doc", "page", "start")]
    return item | {"id": content_id(item["text"], *(place if place != [None] * 3 else ()))}


def _langchain(item: Mapping[Any, Any]) -> dict[str, Any]:
    fields, id = _mapping(item.get("metadata")), item.get("id")
    # Its loaders count `page` from 0, all but those that call it `page_number`.
    page = index(fields["page"]) + 1 if is_whole_number(fields.get("page")) else _page(fields)
    return _known(
        id=_first(fields, _ID_NAMES) if id is None else id,
        text=item["page_content"],
        page=page,
        doc=_doc(fields),
        **_span(fields.get("start_index"), None, item["page_content"], paged=page is not None),
    )


def _llama_index(item: Mapping[Any, Any]) -> dict[str, Any]:
    fields, text = _mapping(item.get("metadata")), item.get("text", _mapping(item.get("text_resource")).get("text"))
    # Relationship "1" is the document that a node was cut from.
    source = _mapping(_mapping(item.get("relationships")).get("1")).get("node_id")
    page = _page(fields, "page")
    return _known(
        id=item.get("id_", item.get("node_id")),
        text=text,
        page=page,
        doc=_doc(fields, otherwise=item.get("ref_doc_id", source)),
        **_span(item.get("start_char_idx"), item.get("end_char_idx"), text, paged=page is not None),
    )


def _haystack(item: Mapping[Any, Any]) -> dict[str, Any]:
    # A dump has the metadata beside the other keys, unless it is asked not to flatten them.
    fields, text = item["meta"] if isinstance(item.get("meta"), Mapping) else item, item["content"]
    page = _page(fields)
    # Its splitter has page 1 in all of a file without pages.
    return {key: item[key] for key in _OURS if item.get(key) is not None} | _known(
        text=text,
        page=page,
        doc=item.get("doc", _doc(fields, otherwise=fields.get("source_id"))),
        **_span(fields.get("split_idx_start"), None, text, paged=page not in (None, 1)),
    )


def _doc(fields: Mapping[Any, Any], otherwise: Any = None) -> Any:
    """The document by the first of its usual names in metadata that holds a path, an address or an id."""
    name = _first(fields, _DOC_NAMES)
    name = otherwise if name is None else name
    return str(name) if isinstance(name, PurePath) else name


def _first(fields: Mapping[Any, Any], names: Sequence[str]) -> Any:
    values = (fields.get(name) for name in names)
    return next((v for v in values if is_whole_number(v) or (isinstance(v, str | PurePath) and str(v))), None)


def _page(fields: Mapping[Any, Any], *names: str) -> int | None:
    """The page from 1, where metadata have it as a number, or as a label that is one."""
    for name in (*names, "page_number", "page_label"):
        value = fields.get(name)
        number = index(value) if is_whole_number(value) else _decimal(value)
        if number >= 1:
            return number
    return None


def _decimal(value: Any) -> int:
    """The number that a text is; 0 where it is none, or longer than any number of pages."""
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 10 else 0


def _span(start: Any, end: Any, text: Any, *, paged: bool) -> dict[str, Any]:
    """Offsets where they count in the text of a whole document; with pages, these libraries count in that of a page."""
    if start is None or paged or not isinstance(text, str):
        return {}
    return {"start": start, "end": index(start) + len(text) if end is None and is_whole_number(start) else end}


def _mapping(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _known(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
