"""What a system of the user's own gave for a question, as a Response: results of every form that is understood."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from steelyard.data.corpus import Passage
from steelyard.data.responses import Response
from steelyard.io.retrieved_items import (
    ID_KEYS,
    RESULT_KEYS,
    TEXT_KEYS,
    answer_of,
    content_id,
    plain_items,
    result_fields,
    result_key,
)


@dataclass(frozen=True, slots=True)
class Fields:
    """Where an item has what: paths with dots."""

    id: str = "id"
    text: str = "text"
    score: str = "score"
    doc: str = "doc"
    start: str = "start"
    end: str = "end"


class Odd(Exception):
    """A short fact about results that cannot be understood; who raised it is added once, outside."""


def parse_results(query: str, results: Any, *, texts: bool) -> Response:
    """The results of a function of the user's: a list, or a mapping or an object that has one under a usual name.

    texts    whether bare strings are texts rather than ids; they are under `contexts` and the like
    Raises   Odd.
    """
    fields = result_fields(results)
    if fields is None:
        return parse_items(query, results, None, texts=texts)
    name = result_key(fields)
    if name is None:
        raise Odd(f"gave a mapping with {_keys(fields)}; expected its results under one of {', '.join(RESULT_KEYS)}")
    return parse_items(query, listed(fields[name]), answer_of(fields), texts=texts or name in TEXT_KEYS)


def parse_items(query: str, items: Any, answer: Any, fields: Fields | None = None, *, texts: bool) -> Response:
    """A list of items, best first, and an answer.

    fields   where items have what, if elsewhere than usual
    Raises   Odd.
    """
    if not isinstance(items, list):
        raise Odd(f"gave {kind_of(items)} as results; expected a list")
    if answer is not None and not isinstance(answer, str):
        raise Odd(f"gave {kind_of(answer)} as its answer; expected a text")
    passages = []
    for rank, (item, plain) in enumerate(zip(items, plain_items(items, texts=texts), strict=True), 1):
        try:
            passages.append(_passage(item, plain, fields or Fields()))
        except Odd as odd:
            raise Odd(f"result {rank} {odd}") from None
    _check_together(passages)
    return Response(query, tuple(passages), answer)


def listed(results: Any) -> Any:
    """A value that has an order, as a list; all else as it is: a set has none, and a frame would give its columns."""
    ordered = isinstance(results, Sequence | Iterator | np.ndarray) and not isinstance(results, str | bytes)
    return list(results) if ordered else results


def _check_together(passages: Sequence[Passage]) -> None:
    ranks: dict[str, int] = {}
    for rank, passage in enumerate(passages, 1):
        if passage.chunk_id in ranks:
            first = ranks[passage.chunk_id]
            raise Odd(f"gave {passage.chunk_id!r} twice, as result {first} and {rank}; expected each once")
        ranks[passage.chunk_id] = rank
    n_scored = sum(passage.score is not None for passage in passages)
    if 0 < n_scored < len(passages):
        raise Odd(f"gave a score to {n_scored} of {len(passages)} results; expected all or none")


def _passage(item: Any, plain: Mapping[str, Any] | None, fields: Fields) -> Passage:
    """One result.

    item     as it came, where fields are looked up that have an unusual name;   plain   the same with our keys
    """
    if plain is None:
        raise Odd(f"is {kind_of(item)}; expected an id, a mapping with id or text, or a pair (id, score)")

    def value(name: str) -> Any:
        path = getattr(fields, name)
        return plain.get(name) if path == name else value_at(item, path)

    ids = [value("id"), *(plain.get(key) for key in ID_KEYS[1:])]
    id, text = next((id for id in ids if id is not None), None), _text(value("text"), fields.text)
    if id is None and text is None:
        raise Odd(f"has neither {fields.id!r} nor {fields.text!r}; it has {_keys(plain)}")
    doc = value("doc") if value("doc") is not None or id == plain.get("doc_id") else plain.get("doc_id")
    start, end = _offset(value("start"), fields.start), _offset(value("end"), fields.end)
    if (start is None) != (end is None) or (start is not None and end is not None and start > end):
        raise Odd(f"has {fields.start!r} {start} and {fields.end!r} {end}; expected start <= end, or neither")
    score = value("score")
    return Passage(
        content_id(text or "") if id is None else _id(id), None if doc is None else _id(doc), start, end,
        text=text, score=None if score is None else _score(score), pages=_pages(plain),
    )  # fmt: skip


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | Integral) or str(value) == "":
        raise Odd(f"has {kind_of(value)} as an id; expected a text or a whole number")
    return str(value)


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise Odd(f"has {kind_of(value)} as its score; expected a finite number")
    return float(value)


def _text(value: Any, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise Odd(f"has {kind_of(value)} under {name!r}; expected a text")
    return value


def _offset(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise Odd(f"has {kind_of(value)} under {name!r}; expected a whole number from 0")
    return int(value)


def _pages(plain: Mapping[str, Any]) -> tuple[int, ...] | None:
    value = plain.get("pages", plain.get("page"))
    pages = value if isinstance(value, list | tuple) else [value]
    if value is not None and not all(
        isinstance(page, int) and not isinstance(page, bool) and page > 0 for page in pages
    ):
        raise Odd(f"has {kind_of(value)} as its page; expected a whole number from 1, or a list of them")
    return None if value is None else tuple(pages)


def value_at(value: Any, path: str, *, required: bool = False) -> Any:
    """The value that a path with dots leads to; None where it leads nowhere.  "" is the whole.

    Raises   Odd where it is required.
    """
    for depth, part in enumerate(path.split(".") if path else ()):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif required:
            where = f" under {'.'.join(path.split('.')[:depth])!r}" if depth else ""
            there = _keys(value) if isinstance(value, Mapping) else kind_of(value)
            raise Odd(f"answered no {path!r}: it has {there}{where}")
        else:
            return None
    return value


def _keys(mapping: Mapping[Any, Any]) -> str:
    names = [str(key) for key in mapping]
    return (", ".join(names[:12]) + (", …" if len(names) > 12 else "")) or "no keys"


def kind_of(value: Any) -> str:
    """A value as messages name it."""
    if value is None:
        return "nothing"
    if isinstance(value, Real | str) and len(str(value)) <= 40:
        return f"{type(value).__name__} {value!r}"
    return f"{type(value).__name__}"
