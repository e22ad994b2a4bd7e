"""What a system of the user's own is asked by: a function, or the method of a retriever of another library."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from steelyard.base.errors import InputError

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
        """What to call it with: positional arguments, and named ones."""
        named: dict[str, Any] = {} if self.k_name is None else {self.k_name: k}
        return ((query,), named) if self.query_name is None else ((), {self.query_name: query, **named})


def search_of(target: Any, name: str) -> Search:
    """How a function or an object is asked.

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
    return next((method for name in _THEN if callable(method := methods[name]) and _asks(name, method)), None)


def _asks(name: str, method: Callable[..., Any]) -> bool:
    """Whether a method is that of a retriever: `run` is the name of much else."""
    return not name.startswith("run") or "query" in inspect.signature(method).parameters
