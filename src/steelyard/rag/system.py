"""What a run asks of a system, be it one of our pipelines or the user's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol

from steelyard.base.errors import InputError
from steelyard.data.corpus import Chunks
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import digest, module_source
from steelyard.rag.registry import check_settings, import_object
from steelyard.rag.targets import Target, callable_target, http_target

Progress = Callable[[str, int, int], None]
"""progress(stage, done, total): called now and then, first with what was done before."""
quoted = json.JSONEncoder(ensure_ascii=False).encode
"""A value as JSON.  (json.dumps makes an encoder for each, which costs more than the encoding.)"""


@dataclass(frozen=True, slots=True)
class Record:
    """What a system gave for one question, ready to be written.

    retrieved   pieces of a JSON array of {id, score, text, doc, start, end}, in UTF-8
    latency_ms  of each stage, and "total"
    candidates  a JSON array of ids: what `retrieved` was taken from, in the order before any reranking; None where
                the system does not tell, or `retrieved` is all of it
    """

    retrieved: Sequence[bytes]
    answer: str | None
    latency_ms: Mapping[str, float]
    candidates: bytes | None = None


class System(Protocol):
    """What can be run over questions."""

    name: str

    @property
    def notes(self) -> Sequence[str]:
        """What the user should know: documents without text, fewer chunks than k."""
        ...

    @property
    def corpus(self) -> Chunks | None:
        """The chunks that are searched, where they are known."""
        ...

    @property
    def fingerprint(self) -> Mapping[str, str]:
        """Digests of what makes the results; "all" is the one of all."""
        ...

    def resolved(self) -> Mapping[str, Any]:
        """The configuration, without secrets."""
        ...

    def prepare(self, progress: Progress | None = None) -> None:
        """Do all that comes before the first question; a second call does nothing."""
        ...

    def session(self, queries: Sequence[str]) -> AbstractContextManager[None]:
        """What is open while these queries are asked."""
        ...

    def record(self, query: str) -> Record:
        """Ask one question.

        Raises   StageError where this question failed, and others may not.
        """
        ...


class TargetSystem:
    """A system of the user's own: a callable or an address.

    Its fingerprint is made of its name, its options, and the source of the module that a callable stands in; what
    else may have changed in it, nobody here can know.
    """

    corpus: Chunks | None = None

    def __init__(self, target: Target, *, k: int, name: str, described: Mapping[str, Any], source: str = "") -> None:
        self.name = name
        self.notes: list[str] = []
        self._target, self._k, self._described = target, k, described
        known = digest(described.get("target"), source)
        self.fingerprint: Mapping[str, str] = {"target": known, "all": digest(known, k)}

    @classmethod
    def read(cls, config: Config) -> TargetSystem:
        """The target that a configuration names.

        Raises   InputError where it has none, or the target does not take its options.
        """
        chosen = config.target
        if chosen is None:
            raise InputError(f"{config.where or 'the configuration'}: has no [target]")
        maker: Callable[..., Target] = callable_target if chosen.callable is not None else http_target
        value = chosen.callable or chosen.url or ""
        kind = "callable" if chosen.callable is not None else "url"
        try:
            check_settings("target", kind, maker, chosen.options)
            target = maker(value, **chosen.options)
        except InputError as error:
            raise InputError(f"{config.line('target')}{error}") from error
        source = module_source(import_object(chosen.callable, "target")) if chosen.callable is not None else None
        return cls(target, k=config.k, name=config.name, described=config.resolved(), source=source or "")

    def resolved(self) -> Mapping[str, Any]:
        """The configuration, without secrets."""
        return self._described

    def prepare(self, progress: Progress | None = None) -> None:
        """Nothing comes before the first question."""

    def session(self, queries: Sequence[str]) -> AbstractContextManager[None]:
        """Nothing is open."""
        return nullcontext()

    def record(self, query: str) -> Record:
        """Ask one question.

        Raises   StageError where the target fails.
        """
        start = perf_counter()
        answer = self._target(query, self._k)
        elapsed = (perf_counter() - start) * 1000
        items = [{key: value for key, value in _item(found).items() if value is not None} for found in answer.retrieved]
        return Record((quoted(items).encode(),), answer.answer, {"total": elapsed})


def _item(found: Any) -> dict[str, Any]:
    return {key: getattr(found, key) for key in ("id", "score", "text", "doc", "start", "end")}
