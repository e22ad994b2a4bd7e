"""A whole system of the user's own as what is weighed: a Python callable, or an HTTP endpoint that answers JSON."""

from __future__ import annotations

import copy
import hashlib
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np

from steelyard.base.errors import InputError, StageError, describe_exception
from steelyard.data.corpus import Passage
from steelyard.data.responses import Response
from steelyard.rag.own_code import import_object
from steelyard.services.addresses import checked_url
from steelyard.services.client import Patience, Service
from steelyard.services.loops import BackgroundLoop
from steelyard.services.secrecy import secret_from

_RESULT_NAMES = ("retrieved", "results", "documents", "contexts")


class Target(Protocol):
    """A whole system that is weighed."""

    def __call__(self, query: str, k: int) -> Response:
        """Ask it for k results; it may give more, and weighing looks at the first k.

        Passages come in the order of the system, as many as it gave.  One that the system does not name is called
        "text:" and 16 digits of its text's SHA-256.

        Raises   StageError where it fails or gives what cannot be understood.
        """
        ...


@dataclass(frozen=True, slots=True)
class _Names:
    """Where an item has what: paths with dots."""

    id: str = "id"
    text: str = "text"
    score: str = "score"
    doc: str = "doc"
    start: str = "start"
    end: str = "end"


class _Odd(Exception):
    """A short fact about results that cannot be understood; who raised it is added once, outside."""


def callable_target(target: str | Callable[..., Any], *, texts: bool = False) -> Target:
    """A Python function from a question to results.

    It is called with the question, and with `k=` where it has a parameter of that name; an async one is run.  It gives
    a list, best first, or a mapping with that list under "retrieved", "results", "documents" or "contexts" (the first
    of them that is there) and maybe an "answer".  An item is an id, a mapping with id, score, text, doc, start, end (of
    which id or text must be there), an object with `page_content` and `metadata` as LangChain has it (id, source,
    start_index), or a pair of one of these and a score, of which the higher is better: turn distances around.

    target   the function, or "module:function"
    texts    whether bare strings are texts rather than ids
    Raises   InputError where there is no such function; the target raises StageError for an exception of the function,
             naming its type, message and innermost line, and for results that cannot be understood.

    >>> target = callable_target(lambda query: {"results": [("d1#2", 0.9), "d7#1"][:1], "answer": query.upper()})
    >>> response = target("why", 5)
    >>> response.passages[0].chunk_id, response.passages[0].score, response.answer
    ('d1#2', 0.9, 'WHY')
    """
    if isinstance(target, str) and ":" not in target:
        raise InputError(f"target {target!r} names no function; expected module:function")
    function = import_object(target, "target") if isinstance(target, str) else target
    name = target if isinstance(target, str) else getattr(target, "__qualname__", type(target).__name__)
    if not callable(function):
        raise InputError(f"target {name!r} is {type(function).__name__}, not a function; expected query -> results")
    _check_takes_query(function, str(name))
    takes_k = _takes_k(function)
    loop = BackgroundLoop("steelyard-target")  # Its own, so that clients of the function's own are kept.

    def ask(query: str, k: int) -> Response:
        try:
            results = function(query, k=k) if takes_k else function(query)
            if inspect.isawaitable(results):
                results = loop.run(_awaited(results))
            results = _listed(results)  # A generator of the user's may fail here.
        except StageError:
            raise
        except (Exception, SystemExit) as error:  # A function that exits would end the run as if all were done.
            raised = describe_exception(error, outside=__file__)
            raise StageError(f"target {name}: raised {raised}; mend it, then run again") from error
        try:
            return _parse_results(query, results, texts=texts)
        except _Odd as odd:
            raise StageError(f"target {name}: {odd}") from None

    return ask


def http_target(
    url: str,
    *,
    method: str = "POST",
    query_field: str = "query",
    k_field: str | None = None,
    body: Mapping[str, Any] | None = None,
    headers_env: Mapping[str, str] | None = None,
    results_field: str = "results",
    answer_field: str = "answer",
    id_field: str = "id",
    text_field: str = "text",
    score_field: str = "score",
    doc_field: str = "doc",
    start_field: str = "start",
    end_field: str = "end",
    texts: bool = False,
    timeout_s: float = 60.0,
    attempts: int = 4,
    wait_initial_s: float = 0.5,
    wait_max_s: float = 60.0,
) -> Target:
    """An HTTP endpoint that answers JSON.  Fields are paths with dots: "data.hits", "_source.text", "choices.0.text".

    url             the address; the question is added to its query where method is GET
    method          "POST" sends a JSON object, "GET" query parameters
    query_field     where the question goes;   k_field   where k goes; None sends none
    body            what else is sent, the same each time; no keys, as it is shown in results
    headers_env     header to the environment variable that holds its whole value: {"Authorization": "MY_SEARCH_AUTH"}
    results_field   the list of results, best first; "" where the answer itself is that list
    answer_field    the generated answer, which may be missing
    id_field, ...   within a result, which may also be a bare id; an id or a text must be there
    texts           whether bare strings are texts rather than ids
    timeout_s, ...  see `steelyard.services.client.Patience`
    Raises          InputError for options out of range or a variable that is not set; the target raises StageError
                    where the endpoint fails, the list of results is missing (naming the keys that are there), or a
                    result cannot be understood.
    """
    checked_url(url, "url", query=True)
    if method not in {"POST", "GET"}:
        raise InputError(f"method must be POST or GET, not {method!r}")
    patience = Patience(timeout_s=timeout_s, attempts=attempts, wait_initial_s=wait_initial_s, wait_max_s=wait_max_s)
    service = _service(url, headers_env or {}, patience)
    names = _Names(id_field, text_field, score_field, doc_field, start_field, end_field)

    def sent(query: str, k: int) -> dict[str, Any]:
        if method == "POST":
            return {"body": _placed(_placed(body or {}, query_field, query), k_field, k)}
        return {"query": {**(body or {}), query_field: query, **({} if k_field is None else {k_field: k})}}

    sent("", 1)  # Paths that cross the body raise before anything is asked.

    def ask(query: str, k: int) -> Response:
        body = service.request(method, **sent(query, k))
        try:
            items = _at(body, results_field, required=True)
            answer = _at(body, answer_field) if isinstance(body, Mapping) else None
            return _response(query, items, answer, names, texts=texts)
        except _Odd as odd:
            raise service.error(str(odd), "name its fields: results_field, id_field, text_field, ...") from None

    return ask


def _service(url: str, headers_env: Mapping[str, str], patience: Patience) -> Service:
    headers = {name: secret_from(variable, "headers_env") for name, variable in headers_env.items()}
    # A header may hold more than the key, as in "Bearer ..."; a server may repeat the key alone.
    secrets = tuple(part for value in headers.values() for part in (value, value.split()[-1]))
    variables = ", ".join(headers_env.values())
    hint = f"check the key in {variables}" if variables else "name the environment variable of the key: headers_env"
    return Service("target", url, patience, headers=headers, secrets=secrets, key_hint=hint)


def _check_takes_query(function: Callable[..., Any], name: str) -> None:
    """Refuse what cannot be asked a question, before it is called."""
    if isinstance(function, type):
        raise InputError(f"target {name!r} is a class; name a function or an object of it: query -> results")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # Some functions written in C have no signature.
        return
    try:
        signature.bind("", **({"k": 1} if "k" in signature.parameters else {}))
    except TypeError:
        raise InputError(
            f"target {name!r} takes {signature}; expected a query, and k= where it likes to know it"
        ) from None


def _takes_k(function: Callable[..., Any]) -> bool:
    try:
        return "k" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # Some functions written in C have no signature.
        return False


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def _parse_results(query: str, results: Any, *, texts: bool) -> Response:
    """What a user's function gave."""
    if not isinstance(results, Mapping):
        return _response(query, results, None, _Names(), texts=texts)
    name = next((name for name in _RESULT_NAMES if name in results), None)
    if name is None:
        raise _Odd(
            f"gave a mapping with {_keys(results)}; expected its results under one of {', '.join(_RESULT_NAMES)}"
        )
    return _response(query, _listed(results[name]), results.get("answer"), _Names(), texts=texts)


def _listed(results: Any) -> Any:
    """What has an order, as a list; all else as it is: a set has none, and a frame would give its columns."""
    ordered = isinstance(results, Sequence | Iterator | np.ndarray) and not isinstance(results, str | bytes)
    return list(results) if ordered else results


def _response(query: str, items: Any, answer: Any, names: _Names, *, texts: bool) -> Response:
    if not isinstance(items, list):
        raise _Odd(f"gave {_kind(items)} as results; expected a list")
    if answer is not None and not isinstance(answer, str):
        raise _Odd(f"gave {_kind(answer)} as its answer; expected a text")
    passages = []
    for rank, item in enumerate(items, 1):
        try:
            passages.append(_passage(item, names, texts=texts))
        except _Odd as odd:
            raise _Odd(f"result {rank} {odd}") from None
    _check_together(passages)
    return Response(query, tuple(passages), answer)


def _check_together(passages: Sequence[Passage]) -> None:
    ranks: dict[str, int] = {}
    for rank, passage in enumerate(passages, 1):
        if passage.chunk_id in ranks:
            first = ranks[passage.chunk_id]
            raise _Odd(f"gave {passage.chunk_id!r} twice, as result {first} and {rank}; expected each once")
        ranks[passage.chunk_id] = rank
    n_scored = sum(passage.score is not None for passage in passages)
    if 0 < n_scored < len(passages):
        raise _Odd(f"gave a score to {n_scored} of {len(passages)} results; expected all or none")


def _passage(item: Any, names: _Names, *, texts: bool) -> Passage:
    """One result, in whichever form it came."""
    if isinstance(item, str):
        return _named(None, item) if texts else Passage(_id(item))
    if not isinstance(item, bool) and isinstance(item, Integral):
        return Passage(_id(item))
    if isinstance(item, Mapping):
        return _from_mapping(item, names)
    if isinstance(item, tuple | list) and len(item) == 2 and not isinstance(item[0], tuple | list):
        return _passage(item[0], names, texts=texts)._replace(score=_score(item[1]))
    if isinstance(getattr(item, "page_content", None), str):
        return _from_document(item)
    raise _Odd(f"is {_kind(item)}; expected an id, a mapping with id or text, or a pair (id, score)")


def _from_mapping(item: Mapping[Any, Any], names: _Names) -> Passage:
    id_, text = _at(item, names.id), _text(_at(item, names.text), names.text)
    if id_ is None and text is None:
        raise _Odd(f"has neither {names.id!r} nor {names.text!r}; it has {_keys(item)}")
    doc = _at(item, names.doc)
    start, end = _offset(_at(item, names.start), names.start), _offset(_at(item, names.end), names.end)
    if (start is None) != (end is None) or (start is not None and end is not None and start > end):
        raise _Odd(f"has {names.start!r} {start} and {names.end!r} {end}; expected start <= end, or neither")
    score = _at(item, names.score)
    place = {"doc_id": None if doc is None else _id(doc), "start": start, "end": end}
    return _named(id_, text, score=None if score is None else _score(score), **place)


def _from_document(item: Any) -> Passage:
    """A LangChain document, recognised by its attributes."""
    metadata = getattr(item, "metadata", None)
    fields: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    text: str = item.page_content
    id_ = getattr(item, "id", None)
    start, source = _offset(fields.get("start_index"), "start_index"), fields.get("source")
    return _named(
        fields.get("id") if id_ is None else id_,
        text,
        doc_id=None if source is None else str(source),
        start=start,
        end=None if start is None else start + len(text),
    )


def _named(id_: Any, text: str | None, **more: Any) -> Passage:
    if id_ is None:
        # Half a character (a lone surrogate) still makes an id.
        whole = hashlib.sha256((text or "").encode("utf-8", "surrogatepass")).hexdigest()
        return Passage(f"text:{whole[:16]}", text=text, **more)
    return Passage(_id(id_), text=text, **more)


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | Integral) or str(value) == "":
        raise _Odd(f"has {_kind(value)} as an id; expected a text or a whole number")
    return str(value)


def _score(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise _Odd(f"has {_kind(value)} as its score; expected a finite number")
    return float(value)


def _text(value: Any, name: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _Odd(f"has {_kind(value)} under {name!r}; expected a text")
    return value


def _offset(value: Any, name: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        raise _Odd(f"has {_kind(value)} under {name!r}; expected a whole number from 0")
    return int(value)


def _at(value: Any, path: str, *, required: bool = False) -> Any:
    """What lies at a path with dots; None where it is not there.  "" is the whole."""
    for depth, part in enumerate(path.split(".") if path else ()):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        elif required:
            where = f" under {'.'.join(path.split('.')[:depth])!r}" if depth else ""
            there = _keys(value) if isinstance(value, Mapping) else _kind(value)
            raise _Odd(f"answered no {path!r}: it has {there}{where}")
        else:
            return None
    return value


def _placed(body: Mapping[str, Any], path: str | None, value: Any) -> dict[str, Any]:
    """A body with a value at a path with dots, as a new one."""
    whole = copy.deepcopy(dict(body))
    if path is None:
        return whole
    inner = whole
    *outer, last = path.split(".")
    for part in outer:
        inner = inner.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InputError(f"body has {_kind(inner)} at {part!r} of {path!r}; expected a table there")
    inner[last] = value
    return whole


def _keys(mapping: Mapping[Any, Any]) -> str:
    names = [str(key) for key in mapping]
    return (", ".join(names[:12]) + (", …" if len(names) > 12 else "")) or "no keys"


def _kind(value: Any) -> str:
    """A value as messages name it."""
    if value is None:
        return "nothing"
    if isinstance(value, Real | str) and len(str(value)) <= 40:
        return f"{type(value).__name__} {value!r}"
    return f"{type(value).__name__}"
