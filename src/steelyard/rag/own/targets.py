"""What a system of the user's own is asked by: a function, or the method of a retriever of another library."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from steelyard.base.errors import InputError, StageError, describe_exception, quoted
from steelyard.base.own_code import check_own, import_object
from steelyard.data.responses import Response
from steelyard.io.retrieved_items import TEXT_KEYS
from steelyard.rag.own.results import Fields, Odd, kind_of, listed, parse_items, parse_results, value_at
from steelyard.services.addresses import checked_url, secret_from
from steelyard.services.http.client import Patience, Service
from steelyard.services.loops import BackgroundLoop

_FIRST = ("invoke", "query", "retrieve")
"""Methods of LangChain, and of query engines and retrievers of LlamaIndex; they come before a call of the object."""
_THEN = ("ainvoke", "aquery", "aretrieve", "run", "run_async")
"""Their async ones, and those of a component of Haystack, which has a parameter `query`."""
_K_NAMES = ("k", "top_k")


@dataclass(frozen=True)
class Search:
    """A function of a question, and maybe of k.

    query_name   by which the question is given; None for the first parameter
    k_name       by which k is given; None where it does not take it
    """

    function: Callable[..., Any]
    query_name: str | None
    k_name: str | None

    def arguments(self, query: str, k: int) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Arguments of a call: positional ones, and named ones."""
        named: dict[str, Any] = {} if self.k_name is None else {self.k_name: k}
        return ((query,), named) if self.query_name is None else ((), {self.query_name: query, **named})


def search_of(target: Any, name: str) -> Search:
    """The call that asks a function or an object.

    target   a function; or an object with one of the methods of retrievers, or that can be called
    name     for messages
    Raises   InputError for what cannot be asked a question.
    """
    if isinstance(target, type):
        raise InputError(f"target {name!r} is a class; name a function or an object of it: query -> results")
    function = target if inspect.isroutine(target) else _method(target)
    if function is None:
        raise InputError(
            f"target {name!r} is {type(target).__name__}, not a function; expected query -> results, or an object with "
            f"a method {', '.join((*_FIRST, *_THEN))}"
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # Some functions written in C have no signature.
        return Search(function, None, None)
    k_name = next((name for name in _K_NAMES if name in signature.parameters), None)
    query_name = "query" if function is not target and "query" in signature.parameters else None
    try:
        search = Search(function, query_name, k_name)
        positional, named = search.arguments("", 1)
        signature.bind(*positional, **named)
    except TypeError:
        raise InputError(
            f"target {name!r} takes {signature}; expected a query, and k= where it likes to know it"
        ) from None
    return search


def _method(target: Any) -> Callable[..., Any] | None:
    """The bound method of an object that is asked, the object itself where it can be called; None without any."""
    methods = {name: getattr(target, name, None) for name in (*_FIRST, *_THEN)}
    first = next((methods[name] for name in _FIRST if callable(methods[name])), None)
    if first is not None or callable(target):
        return first or target  # type: ignore[no-any-return]
    others = ((name, method) for name in _THEN if callable(method := methods[name]))
    # `run` is the name of much else than a method of retrievers.
    return next(
        (own for name, own in others if name[:3] != "run" or "query" in inspect.signature(own).parameters), None
    )


class Target(Protocol):
    """A whole system that is weighed."""

    def __call__(self, query: str, k: int) -> Response:
        """Ask it for k results; it may give more, and weighing looks at the first k.

        Passages come in the order of the system, as many as it gave.  One that the system does not name is called
        "text:" and 16 digits of its text's SHA-256.

        Raises   StageError where it fails or gives what cannot be understood.
        """
        ...


class FunctionTarget(Target, Protocol):
    """A function that is weighed."""

    def __call__(self, query: str, k: int, *, heard: list[float] | None = None) -> Response:
        """As that of a Target.

        heard   gets the time of each piece, by `time.perf_counter`, of a generator that yields an answer as pieces of
                text; the response then has that answer, and no passages
        """
        ...


def callable_target(target: str | Callable[..., Any], *, texts: bool = False) -> FunctionTarget:
    """A Python function from a question to results, or a retriever of LangChain, LlamaIndex or Haystack.

    It is called with the question, and with `k=` or `top_k=` where it has such a parameter; an async one is run.  An
    object is asked by its method `invoke`, `query` or `retrieve`, by a call, by `ainvoke`, `aquery` or `aretrieve`, or
    by `run` or `run_async` with a parameter `query`: the first of them that it has.

    It gives a list, best first, or a mapping or object with that list under one of `RESULT_KEYS` (the first that is
    there) and maybe an answer under one of `ANSWER_KEYS`.  An item is an id, a mapping with id, score, text, doc,
    start, end (of which id or text must be there), a document of LangChain, LlamaIndex, Haystack or dspy, or a pair of
    one of these and a score, of which the higher is better: turn distances around.

    target   the function or the object, or "module:object"
    texts    whether bare strings are texts rather than ids; under a key such as `contexts` they are
    Raises   InputError where there is no such function; the target raises StageError for an exception of the function,
             naming its type, message and innermost line, and for results that cannot be understood.

    >>> target = callable_target(lambda query: {"results": [("d1#2", 0.9), "d7#1"][:1], "answer": query.upper()})
    >>> response = target("why", 5)
    >>> response.passages[0].chunk_id, response.passages[0].score, response.answer
    ('d1#2', 0.9, 'WHY')
    """
    if isinstance(target, str):
        return function_target(import_target(target), target, texts=texts)
    return function_target(target, str(getattr(target, "__qualname__", type(target).__name__)), texts=texts)


def import_target(path: str, folder: Path | None = None) -> Any:
    """The function or object behind "module:object", which is one of the user's own, or declared to be a target.

    folder   of the configuration; None is the working folder
    Raises   InputError.
    """
    if ":" not in path:
        raise InputError(f"target {path!r} names no object; expected module:object")
    function = import_object(path, "target", folder)
    check_own(path, function, "target", "steelyard.targets", folder=folder)
    return function


def function_target(function: Any, name: str, *, texts: bool = False) -> FunctionTarget:
    """The same as `callable_target` of what is imported;   name   for messages"""
    search = search_of(function, name)
    loop = BackgroundLoop("steelyard-target")  # Its own, so that clients of the function's own are kept.

    def ask(query: str, k: int, *, heard: list[float] | None = None) -> Response:
        try:
            positional, named = search.arguments(query, k)
            results = search.function(*positional, **named)
            if inspect.isawaitable(results):
                results = loop.run(_awaited(results))
            if heard is not None and inspect.isgenerator(results):
                results = [_noted(piece, heard) for piece in results]
            elif heard is not None and inspect.isasyncgen(results):
                results = loop.run(_collected(results, heard))
            if heard and all(isinstance(piece, str) for piece in results):
                return Response(query, (), "".join(results))
            # A generator of the user's may fail here, and so may the attributes of an object.
            return parse_results(query, listed(results), texts=texts)
        except StageError:
            raise
        except Odd as odd:
            raise StageError(f"target {name}: {odd}") from None
        except (Exception, SystemExit) as error:  # A function that exits would end the run as if all were done.
            raised = describe_exception(error, outside=__file__)
            raise StageError(f"target {name}: raised {raised}; mend it, then run again") from error

    return ask


@dataclass(frozen=True, eq=False)
class HTTPTarget(Patience):
    """An HTTP endpoint that answers JSON.  Fields are paths with dots: "data.hits", "_source.text", "choices.0.text".

    url             the address; the question is added to its query where method is GET
    method          "POST" sends a JSON object, "GET" query parameters
    query_field     where the question goes;   k_field   where k goes; None sends none
    body            what else is sent, the same each time; no keys, as it is shown in results.  Where it has the value
                    "{query}", the question goes there, and query_field is not looked at; "{k}" is k; "{documents}" are
                    texts of a load test (see `steelyard.load_test`)
    headers_env     header to the environment variable that holds its whole value: {"Authorization": "MY_SEARCH_AUTH"}
    results_field   the list of results, best first; "" where the answer itself is that list
    answer_field    the generated answer, which may be missing
    id_field, ...   within a result, which may also be a bare id; an id or a text must be there
    texts           whether bare strings are texts rather than ids; where results_field ends in a key such as
                    `contexts`, they are
    timeout_s, ...  see `steelyard.services.http.client.Patience`
    Raises          InputError for options out of range or a variable that is not set; a call raises StageError where
                    the endpoint fails, the list of results is missing (naming the keys that are there), or a result
                    cannot be understood.
    """

    url: str
    _: KW_ONLY
    method: str = "POST"
    query_field: str = "query"
    k_field: str | None = None
    body: Mapping[str, Any] = field(default_factory=dict)
    headers_env: Mapping[str, str] = field(default_factory=dict)
    results_field: str = "results"
    answer_field: str = "answer"
    id_field: str = "id"
    text_field: str = "text"
    score_field: str = "score"
    doc_field: str = "doc"
    start_field: str = "start"
    end_field: str = "end"
    texts: bool = False

    def __post_init__(self) -> None:
        checked_url(self.url, "url", query=True)
        if self.method not in {"POST", "GET"}:
            raise InputError(f"method must be POST or GET, not {self.method!r}")
        super().__post_init__()
        self.service  # noqa: B018  A variable that is not set, and
        self.sent("", 1, documents=())  # paths that cross the body, raise before anything is asked.

    @cached_property
    def service(self) -> Service:
        """The client that asks."""
        headers = {name: secret_from(variable, "headers_env") for name, variable in self.headers_env.items()}
        variables = ", ".join(self.headers_env.values())
        hint = f"check the key in {variables}" if variables else "name the environment variable of the key: headers_env"
        return Service("target", self.url, self, headers=headers, key_hint=hint)

    def asked_by(self, service: Service) -> HTTPTarget:
        """The same, asked by another client."""
        target = copy.copy(self)
        vars(target)["service"] = service
        return target

    @cached_property
    def places(self) -> Collection[str]:
        """The PLACES that the body has.

        Raises   InputError for one within a longer text.
        """
        return _places(self.body)

    def sent(self, query: str, k: int, *, documents: Sequence[str] | None = None) -> dict[str, Any]:
        """The request for a question, as arguments of `Service.request`.

        documents   for their place in the body
        Raises      InputError where the body has that place, and there are none.
        """
        if documents is None and "documents" in self.places:
            raise InputError('body has "{documents}", which only a load test fills: steelyard bench load')
        body = _filled(self.body, {"query": query, "k": k, "documents": list(documents or ())})
        query_field = None if "query" in self.places else self.query_field
        if self.method == "POST":
            return {"body": _placed(_placed(body, query_field, query), self.k_field, k)}
        fields = {query_field: query, self.k_field: k}
        return {"query": body | {name: value for name, value in fields.items() if name is not None}}

    def __call__(self, query: str, k: int) -> Response:
        """Ask it; raises StageError as the class says."""
        body = self.service.request(self.method, **self.sent(query, k))
        try:
            items = value_at(body, self.results_field, required=True)
            answer = value_at(body, self.answer_field) if isinstance(body, Mapping) else None
            names = {field.name: getattr(self, f"{field.name}_field") for field in fields(Fields)}
            texts = self.texts or self.results_field.rpartition(".")[2] in TEXT_KEYS
            return parse_items(query, items, answer, Fields(**names), texts=texts)
        except Odd as odd:
            hint = "name its fields: results_field, id_field, text_field, ..."
            raise self.service.error(str(odd), hint) from None


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


PLACES = ("query", "k", "documents")
"""What a body can have a place for: a value that is the name in braces, and nothing else."""


def _places(template: Any) -> set[str]:
    inner = template.values() if isinstance(template, Mapping) else template if isinstance(template, list) else ()
    places = {name for value in inner for name in _places(value)}
    for name in PLACES:
        place = f"{{{name}}}"
        if template == place:
            return {name}
        if isinstance(template, str) and place in template:
            raise InputError(
                f"body has {quoted(template)}: a place takes a whole value, so that no question can break the JSON; "
                f'write "{place}" alone'
            )
    return places


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """A body with values at its places, as a new one."""
    if isinstance(template, Mapping):
        return {key: _filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [_filled(value, values) for value in template]
    is_place = isinstance(template, str) and template[:1] == "{" and template[1:-1] in values and template[-1:] == "}"
    return values[template[1:-1]] if is_place else template


def _noted(piece: Any, heard: list[float]) -> Any:
    """A piece of an answer, whose time is noted where it holds anything."""
    if piece:
        heard.append(perf_counter())
    return piece


async def _collected(pieces: AsyncIterator[Any], heard: list[float]) -> list[Any]:
    return [_noted(piece, heard) async for piece in pieces]


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
            raise InputError(f"body has {kind_of(inner)} at {part!r} of {path!r}; expected a table there")
    inner[last] = value
    return whole
