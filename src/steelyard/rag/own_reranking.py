"""A reranker that is a function of the user's own: question and texts in, scores out."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from steelyard.base.settings import SettingError, check_settings
from steelyard.rag.fingerprint import digest, module_source
from steelyard.rag.stages import Reranker

_TAKEN = ("query", "texts")


@dataclass(frozen=True)
class FunctionReranker:
    """Scores by a function.

    path       of the function, as module:object
    settings   that it takes by name, beside the question and the texts
    """

    path: str
    function: Callable[..., Sequence[float]] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: Callable[..., Any], settings: Mapping[str, Any]) -> FunctionReranker:
        """A function with its settings.

        Raises   SettingError for a setting that it does not take, lacks, or that does not fit its annotation.
        """
        path = f"{function.__module__}:{function.__qualname__}"
        try:
            if taken := [name for name in _TAKEN if name in settings]:
                raise SettingError(f"{taken[0]} is what it is asked, and no setting; leave it out", taken[0])
            check_settings(function, {"query": "", "texts": [], **settings})
        except SettingError as error:
            raise error.inside(owner=f"rerank {path}") from None
        return cls(path, function, dict(settings))

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """What the function gives; raises what it raises."""
        return self.function(query, texts, **self.settings)

    def identity(self) -> str:
        """The digest of its code, and of the source around it where there is one."""
        code = getattr(self.function, "__code__", None)
        constants = None if code is None else (code.co_code.hex(), repr([c for c in code.co_consts if _is_plain(c)]))
        return digest(self.path, constants, module_source(self.function))


def as_reranker(stage: Any) -> Any:
    """A function of question and texts as a reranker; anything else as it is.

    >>> as_reranker(lambda query, texts: [len(text) for text in texts]).scores("", ["a", "bee"])
    [1, 3]
    """
    is_function = takes_texts(stage) and not isinstance(stage, type | Reranker)
    return FunctionReranker.of(stage, {}) if is_function else stage


def takes_texts(function: Any) -> bool:
    """Whether this is a function whose first parameters are `query` and `texts`."""
    if not inspect.isroutine(function):
        return False
    try:
        return tuple(inspect.signature(function).parameters)[:2] == _TAKEN
    except (TypeError, ValueError):  # Some functions written in C have no signature.
        return False


def _is_plain(constant: object) -> bool:
    """Not code, whose text has an address in it."""
    return not inspect.iscode(constant)
