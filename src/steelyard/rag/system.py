"""What a run asks of a system, be it one of our pipelines or the user's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

from steelyard.base.errors import InputError, StageError
from steelyard.base.notes import Note
from steelyard.base.progress import Progress, no_progress
from steelyard.base.settings import Origin, SettingError, check_settings
from steelyard.data.corpus import Chunks, Document
from steelyard.data.responses import Response
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import corpus_digest, digest, own_source
from steelyard.rag.preparing import searched_documents
from steelyard.rag.targets import Target, callable_target, function_target, http_target, import_target
from steelyard.rag.turns import n_at_once
from steelyard.services.client import Patience

_WITHOUT_RESULT = {"documents", "concurrency", *(field.name for field in fields(Patience))}
"""Keys of a target that change no result; documents count by what they hold."""


class Ask(Protocol):
    """Asks a system one question; several threads may, as many as its `concurrency`."""

    def __call__(self, query: str, earlier: Response | None = None, /) -> Response:
        """What the system gives, or failed to.

        earlier   what it gave at an earlier start, where only the answer failed: nothing is retrieved anew, if the
                  system can do so
        """
        ...


class System(Protocol):
    """What can be run over questions."""

    name: str

    @property
    def concurrency(self) -> int:
        """Questions under way at once."""
        ...

    @property
    def notes(self) -> Sequence[Note]:
        """What the user should know: documents without text, fewer chunks than k."""
        ...

    @property
    def corpus(self) -> Chunks | None:
        """The chunks that are searched, where there are any."""
        ...

    @property
    def documents(self) -> Sequence[Document] | None:
        """What is searched, where it is known."""
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

    def session(self, queries: Sequence[str]) -> AbstractContextManager[Ask]:
        """A function that asks, these questions among others, while the session is open.

        Where a question failed, and others may not, the response says why.
        """
        ...


class TargetSystem:
    """A system of the user's own: a callable or an address.

    Its fingerprint is made of its name, its options, the source of the module of a callable, and the documents that it
    searches, where they are named; what else may have changed in it cannot be known here.

    target        what is asked for k results;   concurrency   questions under way at once
    """

    corpus: Chunks | None = None

    def __init__(
        self, target: Target, *, k: int, name: str, described: Mapping[str, Any], source: str = "",
        documents: Path | None = None, concurrency: int = 1,
    ) -> None:  # fmt: skip
        self.name, self.concurrency = name, concurrency
        self.target, self.k, self._described = target, k, described
        self._source, self._path = source, documents
        self._loaded: tuple[Sequence[Document], Sequence[Note]] | None = None

    @classmethod
    def read(cls, config: Config) -> TargetSystem:
        """The target that a configuration names.

        Raises   InputError where it has none, or the target does not take its options.
        """
        settings = config.target
        if settings is None:
            raise InputError(f"{config.line() or 'the configuration: '}has no [target]")
        maker: Callable[..., Target] = callable_target if settings.callable is not None else http_target
        kind, value = ("callable", settings.callable) if settings.callable is not None else ("url", settings.url)
        address = {"target" if kind == "callable" else "url": value}
        with Origin(config.where, config.text).locating("target"):
            # Imported first of all, so that a module beside the configuration is the one.
            function = None if settings.callable is None else import_target(settings.callable, config.base)
            try:
                check_settings(maker, {**address, **settings.options})
                target: Target = (
                    http_target(str(value), **settings.options)
                    if settings.callable is None
                    else function_target(function, settings.callable, **settings.options)
                )
            except SettingError as error:
                raise error.inside(owner=f"target {kind}") from error
        source = "" if settings.callable is None else own_source(settings.callable, function)
        # A function is asked by several threads only where somebody says that it can be.
        wished = config.concurrency or settings.concurrency or (1 if settings.url is None else None)
        return cls(
            target, k=config.k, name=config.name, described=config.resolved(), source=source,
            documents=settings.documents, concurrency=n_at_once([settings.concurrency], wished),
        )  # fmt: skip

    @property
    def documents(self) -> Sequence[Document] | None:
        """What it searches, where the configuration names it."""
        self.prepare()
        return None if self._loaded is None else self._loaded[0]

    @property
    def notes(self) -> Sequence[Note]:
        """Files of the documents that were skipped, and documents that are empty."""
        self.prepare()
        return () if self._loaded is None else self._loaded[1]

    @cached_property
    def fingerprint(self) -> Mapping[str, str]:
        """Digests of the target and, where they are named, of its documents; "all" is the one of both, with k."""
        target = self._described.get("target", {})
        named = {key: value for key, value in target.items() if key not in _WITHOUT_RESULT}
        identity = digest(named, self._source)
        if self.documents is None:
            return {"target": identity, "all": digest(identity, self.k)}
        searched = corpus_digest(self.documents)
        return {"target": identity, "documents": searched, "all": digest(identity, searched, self.k)}

    def resolved(self) -> Mapping[str, Any]:
        """The configuration, without secrets."""
        return self._described

    def prepare(self, progress: Progress | None = None) -> None:
        """Load the documents that it searches, where the configuration names them.

        Raises   InputError for documents that cannot be read.
        """
        if self._path is not None and self._loaded is None:
            self._loaded = searched_documents(self._path, progress or no_progress)

    def session(self, queries: Sequence[str]) -> AbstractContextManager[Ask]:
        """What asks one question; nothing is open."""
        return nullcontext(self._ask)

    def ask(self, query: str) -> Response:
        """Ask one question.

        Raises   StageError where the target fails.
        """
        start = perf_counter()
        response = self.target(query, self.k)
        return replace(response, latency_ms={"total": (perf_counter() - start) * 1000})

    def _ask(self, query: str, earlier: Response | None = None, /) -> Response:
        try:
            return self.ask(query)
        except StageError as error:
            return Response(query, error=str(error), failed="target")
