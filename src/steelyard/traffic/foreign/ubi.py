"""User Behavior Insights of OpenSearch: records of the indexes `ubi_queries` and `ubi_events`.

As documents, one a line; as hits with `_source`, as a search or a dump gives them; and as rows with dotted columns.
Source: docs.opensearch.org, "UBI index schemas"; github.com/o19s/ubi, docs/schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.io.traces import values
from steelyard.traffic.foreign.tables import Batches, Converted, Gathered, at, whole

_KIND = {
    "click": "click", "click_through": "click", "item_click": "click", "product_click": "click",
    "result_click": "click", "onclick": "click", "on_click": "click",
    "dwell": "dwell", "dwell_time": "dwell", "copy": "copy",
    "add_to_cart": "success", "purchase": "success", "conversion": "success", "checkout": "success",
    "thumbs_up": "thumb", "thumb_up": "thumb", "like": "thumb", "upvote": "thumb",
    "thumbs_down": "thumb", "thumb_down": "thumb", "dislike": "thumb", "downvote": "thumb",
    "rating": "rating", "csat": "rating", "accept": "accept", "reformulation": "reformulation",
    "citation_click": "citation_click", "survey": "survey",
}  # fmt: skip
"""Name of an action, in small letters with `_` -> kind of event.  Other actions are kinds by their own name."""
_DOWN = {"thumbs_down", "thumb_down", "dislike", "downvote"}
_QUERY_KEYS = {"user_query", "query_response_hit_ids", "query_response_object_ids", "query_response_id"}
_HITS = ("query_response_hit_ids", "query_response_object_ids", "query_response_objects_ids")
_SECONDS = ("event_attributes.dwell_seconds", "event_attributes.dwell_time", "event_attributes.duration")


def fits(records: Sequence[Any]) -> bool:
    """True if most of the records are queries or events of UBI."""
    inner = [*_documents(records)]
    n = sum(1 for fields in inner if "action_name" in fields or ("query_id" in fields and _QUERY_KEYS & fields.keys()))
    return 2 * n > len(inner)


def convert(batches: Batches) -> Iterator[Converted]:
    """Tables of batches of queries and events."""
    gathered, number = Gathered(), 0
    for batch in batches:
        for fields in _documents(batch):
            number += 1
            if "action_name" in fields:
                _event(fields, gathered, number)
            elif "query_id" in fields:
                _query(fields, gathered, number)
            else:
                gathered.miss("unknown_record", number)
        yield gathered.take()


def _documents(records: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    """The documents of records, of hits and of answers of a search; an empty one of what is none."""
    for record in records:
        fields = values.mapping(record)
        inner = at(fields, "hits.hits")
        if isinstance(inner, list):
            yield from _documents(inner)
        else:
            yield values.mapping(fields["_source"]) if "_source" in fields else fields


def _query(fields: Mapping[str, Any], gathered: Gathered, number: int) -> None:
    hits = next((fields[key] for key in _HITS if fields.get(key) is not None), None)
    listed = values.listed(hits)
    if listed is None and isinstance(hits, str):
        listed = [part.strip() for part in hits.split(",")]
    request = values.text(fields["query_id"])
    if request is None:
        gathered.miss("no_request", number)
        return
    gathered.add(
        "impression",
        time=values.seconds(fields.get("timestamp")),
        request=request,
        user=values.text(at(fields, "user_id", "client_id")),
        session=values.text(at(fields, "session_id", "query_attributes.session_id")),
        query=values.text(fields.get("user_query")),
        arm=values.text(at(fields, "query_attributes.arm", "query_attributes.variant")),
        language=values.text(at(fields, "query_attributes.language")),
        doc_ids=None if listed is None else [str(id) for id in listed if id not in (None, "")],
        latency_ms=values.number(at(fields, "query_attributes.took", "query_attributes.latency_ms")),
        config=values.text(at(fields, "query_attributes.search_config", "query_attributes.config")),
    )


def _event(fields: Mapping[str, Any], gathered: Gathered, number: int) -> None:
    """Add an event; an ordinal is a rank from 1, and one below that is none."""
    action = str(fields["action_name"] or "")
    request = values.text(fields.get("query_id"))
    if request is None or not action:
        gathered.miss("no_request" if action else "no_kind", number)
        return
    name = action.strip().lower().replace("-", "_").replace(" ", "_")
    kind = _KIND.get(name, action)
    ordinal = at(fields, "event_attributes.position.ordinal", "position.ordinal", "event_attributes.position.index")
    position = whole(ordinal)
    if ordinal is not None and (position is None or position < 1):
        position = None
        gathered.miss("no_rank", number, is_fatal=False)
    value = values.number(at(fields, *_SECONDS if kind == "dwell" else ("event_attributes.rating",)))
    if kind == "dwell" and value is None and (ms := values.number(at(fields, "event_attributes.dwell_ms"))) is not None:
        value = ms / 1000
    gathered.add(
        "event",
        time=values.seconds(fields.get("timestamp")),
        request=request,
        kind=kind,
        position=position,
        doc_id=values.text(at(fields, "event_attributes.object.object_id", "object_id", "event_attributes.object_id")),
        value=(-1.0 if name in _DOWN else 1.0) if kind == "thumb" else value,
        user=values.text(at(fields, "user_id", "client_id")),
    )
