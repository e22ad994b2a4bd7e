"""A system of the user's own, run over questions: a function, a retriever of another library, or an address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from uuid import uuid4

from steelyard.base.errors import InputError, StageError
from steelyard.base.notes import Note
from steelyard.base.progress import Progress, usual_progress
from steelyard.base.settings import SettingError, check_settings
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.data.responses import Response
from steelyard.rag.concurrency import n_at_once
from steelyard.rag.config import Config
from steelyard.rag.fingerprint import corpus_digest, digest, own_source
from steelyard.rag.loading import searched_documents
from steelyard.rag.own.targets import HTTPTarget, Target, callable_target, function_target, import_target
from steelyard.rag.protocols import Ask
from steelyard.rag.runs.running import Asked
from steelyard.rag.runs.running import run as run_system
from steelyard.services.http.client import Patience

_WITHOUT_RESULT = {"documents", "concurrency", *(field.name for field in fields(Patience))}
"""Keys of a target that change no result; documents count by what they hold."""


class TargetSystem:
    """A system of the user's own: a callable or an address.

    Its fingerprint is made of its name, its options, the source of the module of a callable, and the documents that it
    searches, where they are named; what else may have changed in it cannot be known here.

    target        what is asked for k results;   concurrency   questions under way at once
    """

    corpus: Chunks | None = None

    def __init__(
        self, target: Target, *, described: Mapping[str, Any], source: str = "",
        documents: Path | None = None, concurrency: int = 1,
    ) -> None:  # fmt: skip
        self.name, self.k, self.concurrency = str(described["name"]), int(described["k"]), concurrency
        self.target, self._described = target, described
        self._source, self._path = source, documents
        self._loaded: tuple[Sequence[Document], Sequence[Note]] | None = None

    @classmethod
    def read(cls, config: Config) -> TargetSystem:
        """The target that a configuration names.

        Raises   InputError where it has none, or the target does not take its options.
        """
        settings = config.target
        if settings is None:
            raise InputError(f"{config.origin.place() or 'the configuration: '}has no [target]")
        maker: Callable[..., Target] = callable_target if settings.callable is not None else HTTPTarget
        kind, value = ("callable", settings.callable) if settings.callable is not None else ("url", settings.url)
        address = {"target" if kind == "callable" else "url": value}
        with config.origin.locating("target"):
            # Imported first of all, so that a module beside the configuration is the one.
            function = None if settings.callable is None else import_target(settings.callable, config.base)
            try:
                check_settings(maker, {**address, **settings.options})
                target: Target = (
                    HTTPTarget(str(value), **settings.options)
                    if settings.callable is None
                    else function_target(function, settings.callable, **settings.options)
                )
            except SettingError as error:
                raise error.inside(owner=f"target {kind}") from error
        source = "" if settings.callable is None else own_source(settings.callable, function)
        # A function is asked by several threads only where somebody says that it can be.
        wished = config.concurrency or settings.concurrency or (1 if settings.url is None else None)
        return cls(
            target, described=config.resolved(), source=source,
            documents=settings.documents, concurrency=n_at_once([settings.concurrency], wished),
        )  # fmt: skip

    @property
    def documents(self) -> Sequence[Document] | None:
        """The documents that it searches, where the configuration names them."""
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
            self._loaded = searched_documents(self._path, progress or usual_progress)

    def session(self, queries: Sequence[str]) -> AbstractContextManager[Ask]:
        """A session that asks one question; nothing is open."""
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


def run(
    target: object,
    questions: str | Path | Iterable[Asked] | Iterable[Mapping[str, Any]],
    folder: str | Path | None = None,
    *,
    k: int = 10,
    name: str | None = None,
    texts: bool = False,
    concurrency: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Outputs:
    """Ask a system of your own all questions, for `evaluate` and everything else that takes outputs.

    target      a function from a question to results, or a retriever of LangChain, LlamaIndex or Haystack; see
                `steelyard.rag.own.targets.callable_target`.  Or "module:object", or a URL
    questions   a dataset's path, `Questions`, or dicts with `qid` and `query`
    folder      a run folder to write; by default nothing is kept.  What hides behind an object cannot be known: each
                call is another system and takes over nothing that the folder holds, unless the object has a method
                `identity() -> str`, or is named as "module:object"
    k           results that each question asks for, where the target takes k; a retriever has a number of its own
    name        what the system is called; by default as its function or class
    texts       whether bare strings that it gives are texts rather than ids
    concurrency questions that it is asked at once; by default 8 of a URL, and one of all else
    overwrite   replace a finished run
    progress    called as progress(stage, done, total)
    Raises      InputError; StageError where the first questions all fail with one error; OutputError

    >>> outputs = run(lambda query: ["d3", "d1"], [{"qid": "q1", "query": "Where?"}], name="mine")
    >>> outputs.name, outputs.run.frame["doc_id"].to_list()
    ('mine', ['d3', 'd1'])
    """
    system = _system(target, k=k, name=name, texts=texts, concurrency=concurrency)
    with TemporaryDirectory(prefix="steelyard-") as nowhere:
        place = Path(nowhere) / "run" if folder is None else folder
        finished = run_system(system, questions, place, overwrite=overwrite, progress=progress)
        return Outputs.read(finished, name=name)


def _system(target: object, *, k: int, name: str | None, texts: bool, concurrency: int | None) -> TargetSystem:
    if isinstance(target, str):
        address = {"url" if "://" in target else "callable": target, **({"texts": True} if texts else {})}
        named = {key: value for key, value in (("name", name), ("concurrency", concurrency)) if value is not None}
        return TargetSystem.read(Config.of({"target": address, "k": k, **named}))
    for key, number in (("k", k), ("concurrency", 1 if concurrency is None else concurrency)):
        if not isinstance(number, int) or number < 1:
            raise InputError(f"{key} must be a whole number from 1, not {number!r}")
    shown = getattr(target, "__qualname__", type(target).__name__)
    described = {"name": name or shown, "k": k, "target": {"callable": shown, "texts": texts}}
    identity = getattr(target, "identity", None)
    source = digest(identity()) if callable(identity) else uuid4().hex
    return TargetSystem(
        callable_target(target, texts=texts),  # type: ignore[arg-type]
        described=described,
        source=source,
        concurrency=1 if concurrency is None else concurrency,
    )
