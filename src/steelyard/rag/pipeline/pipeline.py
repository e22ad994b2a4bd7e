"""A retrieval pipeline: load, chunk, embed, index, fuse, rerank, generate."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from steelyard.base.arrays import Vectors
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.base.progress import Progress, usual_progress
from steelyard.base.settings import validate
from steelyard.base.short_repr import one_line
from steelyard.data.corpus import Chunks, Document, Passage
from steelyard.data.folders.run_folder import RunFolder
from steelyard.data.loading.decoding import DETECT
from steelyard.data.responses import Response
from steelyard.rag.concurrency import concurrency_of, n_at_once, turns
from steelyard.rag.config import Config, Count, PipelineSettings, default_name
from steelyard.rag.fingerprint import Description, chunks_digest, corpus_digest, describe, digest
from steelyard.rag.loading import Documents, load_documents
from steelyard.rag.pipeline.asking import Asking, Prepared, QueryVectors, Stages, document_tie_rank, tie_rank
from steelyard.rag.pipeline.preparing import StageCache, cut_documents, embed_texts, stage_errors
from steelyard.rag.protocols import Ask, Embedder
from steelyard.rag.registry import Role, kind_of, make_located, make_stage, search_names, table_of
from steelyard.rag.runs.running import run
from steelyard.services.addresses import without_secrets
from steelyard.services.cache import Cache, NoCache, Store
from steelyard.services.models.endpoints import Endpoint


class Pipeline:
    """Documents, and the stages that find passages in them and answer from those.

    documents   a folder or file; or Documents; or a dict {doc_id: text}
    chunk, embed, index, fuse, rerank, generate
                each a registered name, "module:object", a dict with `kind` and its settings, or an object that does
                what `steelyard.rag.protocols` says (chunk: also one with `split_text`); index may be a list of these.
                embed is only made where an index needs vectors.  fuse is "rrf" where there are several indexes
    k           passages that a question gets;   depth   candidates that each index gives
    unit        "document": passages of k documents, each at its best chunk among the candidates; else of any
    top_n       candidates that are reranked.  Those of one score keep the order they had, each a hair's breadth below
                the one before; the rest stays below in its order, with the lowest reranked score less 1, less 2, ...
    passages    how many of them the generator sees
    encoding    of the documents' files, as `sy.load` takes it
    cache       an SQLite file in which chunks and vectors are kept by content, a Cache, or None
    concurrency questions under way at once in a run, as far as stages allow it: a stage that has `concurrency` takes so
                many (None: all), any other one.  By default what the stages say, 8 where one of them takes all
    name        what the system is called; made of the stages' names by default
    config      what `resolved()` gives, and by whose kinds the times of several indexes are named; set by `read`
    Raises      InputError for a stage or setting that does not exist; MissingExtraError

    A pipeline does not change once it is prepared, and several threads may ask it at once, as long as its stages allow
    that: all of Steelyard's do.

    >>> p = Pipeline({"scales": "A steelyard weighs with one weight.", "sea": "A whale swims."}, k=1)
    >>> p.search("What weighs?")[0].chunk_id
    'scales#1'
    """

    def __init__(
        self,
        documents: Documents,
        *,
        chunk: Any = "recursive",
        embed: Any = "lsa",
        index: Any = "bm25",
        fuse: Any = None,
        rerank: Any = None,
        generate: Any = None,
        k: int = 10,
        depth: int = 100,
        unit: Unit | None = None,
        top_n: int = 50,
        passages: int = 5,
        encoding: str | Mapping[str, str] = DETECT,
        cache: str | Path | Store | None = None,
        concurrency: int | None = None,
        name: str | None = None,
        config: Config | None = None,
    ) -> None:
        arguments = {"chunk": chunk, "embed": embed, "index": index, "rerank": rerank, "generate": generate, "k": k,
                     "depth": depth, "unit": unit, "encoding": encoding, "concurrency": concurrency}  # fmt: skip
        arguments |= {} if fuse is None else {"fuse": fuse}
        table: PipelineSettings = validate(PipelineSettings, arguments)
        self.k, self.depth, self.unit, self.encoding = table.k, table.depth, table.unit, table.encoding
        self.top_n = table.count("rerank", validate(Count, top_n, "top_n"))
        self.n_passages = table.count("generate", validate(Count, passages, "passages"))
        kinds = [kind_of(stage) for stage in table.index]
        self.name = name or default_name(kinds, None if table.rerank is None else kind_of(table.rerank))
        indexes = tuple(make_stage("index", stage) for stage in table.index)
        needs_vectors = any(stage.needs_vectors for stage in indexes)
        self._stages = Stages(
            chunker=make_stage("chunk", table.chunk),
            embedder=make_stage("embed", table.embed) if needs_vectors else None,
            indexes=indexes,
            search_names=tuple(search_names(kinds if config is None else [stage.kind for stage in config.index])),
            fuser=make_stage("fuse", table.fuse),
            reranker=make_stage("rerank", table.stage("rerank")),
            generator=make_stage("generate", table.stage("generate")),
            k=self.k,
            depth=self.depth,
            top_n=self.top_n,
            n_passages=self.n_passages,
            of_documents=self.unit == "document",
        )
        self._wished = table.concurrency
        self.concurrency = n_at_once(map(concurrency_of, self._asked().values()), self._wished)
        self._source, self._cache, self._config = documents, cache, config
        self._n_damaged = 0
        self._lock = threading.Lock()
        self._prepared: Prepared | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    @classmethod
    def read(cls, config: str | Path | Config) -> Self:
        """The pipeline of a configuration file, or of a Config.

        Raises   InputError with the file and line of what is wrong.
        """
        config = config if isinstance(config, Config) else Config.read(config)
        if config.documents is None:
            raise InputError(f"{config.origin.name or 'the configuration'}: is of a [target], not of a pipeline")
        indexes = [make_located(config, "index", stage) for stage in config.index]
        roles: tuple[Role, ...] = ("chunk", "fuse", "rerank", "generate")
        if any(stage.needs_vectors for stage in indexes):
            roles = (*roles, "embed")
        stages = {role: make_located(config, role, config.stage(role)) for role in roles}
        cache = config.cache if isinstance(config.cache, Path) else None
        with config.origin.locating():
            return cls(
                config.documents, **stages, index=indexes, k=config.k, depth=config.depth, unit=config.unit,
                top_n=config.top_n, passages=config.passages, encoding=config.encoding,
                cache=cache, concurrency=config.concurrency, name=config.name, config=config,
            )  # fmt: skip

    @property
    def documents(self) -> Sequence[Document]:
        """The documents that were loaded."""
        return self._ready().chunks.documents

    @property
    def chunks(self) -> Chunks:
        """All chunks."""
        return self._ready().chunks

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes for the user: skipped files, empty documents, fewer chunks or documents than k, a bad cache."""
        notes = self._ready().notes
        return (*notes, Note("cache_damaged", {"n": self._n_damaged})) if self._n_damaged else notes

    @property
    def embedder(self) -> Embedder | None:
        """The embedder of chunks and questions, ready for use; None where no index needs vectors."""
        self._ready()
        return self._stages.embedder

    @property
    def corpus(self) -> Chunks:
        """All chunks, for a run."""
        return self.chunks

    @cached_property
    def fingerprint(self) -> Mapping[str, str]:
        """Short digests of the corpus and of each stage; "all" is the one of all of them, with k, depth and unit.

        A chunker is identified by its settings and by the chunks that it made, an embedder that learns from the corpus
        by its settings and by the chunks' texts.
        """
        prepared, stages = self._ready(), self._stages
        digests = {role: description.digest for role, description in self._descriptions.items()}
        absent = digest(None)
        parts = {
            "corpus": corpus_digest(prepared.chunks.documents),
            "chunk": digest(digests["chunk"], chunks_digest(prepared.chunks)),
            "embed": prepared.embedder_key or absent,
            "index": digest([digests[name] for name in stages.search_names]),
            "fuse": digests.get("fuse", absent),
            "rerank": digest(digests["rerank"], self.top_n) if "rerank" in digests else absent,
            "generate": digest(digests["generate"], self.n_passages) if "generate" in digests else absent,
        }
        return parts | {"all": digest(parts, self.k, self.depth, *([self.unit] if self._stages.of_documents else []))}

    @cached_property
    def _descriptions(self) -> dict[str, Description]:
        """Each stage by its role, an index by the name of its times; `prepare` takes them before it uses a stage."""
        return {role: describe(stage) for role, stage in {"chunk": self._stages.chunker, **self._asked()}.items()}

    def _asked(self) -> dict[str, object]:
        """The stages that a question comes to, by role, indexes by the names of their times."""
        named = self._by_role() | dict(zip(self._stages.search_names, self._stages.indexes, strict=True))
        return {role: stage for role, stage in named.items() if stage is not None and role != "chunk"}

    def _by_role(self) -> dict[str, object]:
        """The stages of which there is one, by role; None where there is none."""
        stages = self._stages
        return {
            "chunk": stages.chunker,
            "embed": stages.embedder,
            "fuse": stages.fuser,
            "rerank": stages.reranker,
            "generate": stages.generator,
        }

    def resolved(self) -> Mapping[str, Any]:
        """The configuration, without secrets."""
        if self._config is not None:
            return self._config.resolved()
        settings: dict[str, Any] = {
            "name": self.name,
            "k": self.k,
            "depth": self.depth,
            "unit": self.unit,
            "encoding": self.encoding,
        }
        if isinstance(self._source, str | Path):
            settings["documents"] = str(self._source)
        settings["index"] = [table_of(index) for index in self._stages.indexes]
        settings |= {role: None if stage is None else table_of(stage) for role, stage in self._by_role().items()}
        blotted: dict[str, Any] = without_secrets(settings | {"top_n": self.top_n, "passages": self.n_passages})
        return blotted

    def prepare(self, progress: Progress | None = None) -> None:
        """Load, chunk, embed and build the indexes; a second call does nothing, and one at a time does it.

        Raises   InputError for documents that cannot be read or give no chunk; StageError where embedding fails; what
                 was computed by then is in the cache.
        """
        self._ready(progress)

    def _ready(self, progress: Progress | None = None) -> Prepared:
        """The prepared parts, which are prepared by now at the latest."""
        if self._prepared is None:
            with self._lock:
                if self._prepared is None:
                    self._prepared = self._prepare(progress or usual_progress)
        return self._prepared

    def _prepare(self, progress: Progress) -> Prepared:
        vectors: Vectors | None = None
        stages, descriptions = self._stages, self._descriptions
        documents, notes = load_documents(self._source, self.encoding, progress)
        key = ""
        with self._open_cache() as cache:
            with stage_errors("chunk"):
                chunks, more = cut_documents(
                    documents, stages.chunker, description=descriptions["chunk"], cache=cache, progress=progress
                )
            if stages.embedder is not None:
                at_once = n_at_once([concurrency_of(stages.embedder)], self._wished)
                with stage_errors("embed"):
                    vectors, key = embed_texts(
                        chunks.texts, stages.embedder, description=descriptions["embed"], cache=cache,
                        progress=progress, concurrency=at_once,
                    )  # fmt: skip
        for i, index in enumerate(stages.indexes):
            progress("index", i, len(stages.indexes))
            with stage_errors("index"):
                index.build(chunks.texts, vectors if index.needs_vectors else None)
        progress("index", len(stages.indexes), len(stages.indexes))
        more = [*more, *_few_results(self.k, chunks, of_documents=stages.of_documents)]
        width = 0 if vectors is None else vectors.shape[1]
        ranks = document_tie_rank(chunks) if stages.of_documents else tie_rank(chunks.ids)
        return Prepared(chunks, tie_rank=ranks, embedder_key=key, width=width, notes=(*notes, *more))

    def search(self, query: str) -> list[Passage]:
        """At most k passages for a question; nothing is generated.

        Raises   InputError for an empty question; StageError.
        """
        return list(Asking(self._stages, self._ready()).retrieve(query).passages)

    def ask(self, query: str) -> Response:
        """Passages and answer for a question; its latency_ms has embed, search (search.NAME for each of several
        indexes), fuse, rerank, generate: those that there are; total is the whole time from question to answer.

        Raises   InputError for an empty question; StageError.
        """
        asking = Asking(self._stages, self._ready())
        return asking.generate(asking.retrieve(query))

    def __repr__(self) -> str:
        return one_line(f"Pipeline({self.name!r}, k={self.k})")

    def run(
        self,
        questions: str | Path | Iterable[Any],
        folder: str | Path,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> RunFolder:
        """Ask all questions and write a run folder; see `steelyard.rag.runs.running.run`."""
        return run(self, questions, folder, overwrite=overwrite, progress=progress)

    @property
    def endpoints(self) -> dict[str, Endpoint]:
        """Stages that are asked at an address, by their role."""
        stages = {role: getattr(self._stages, role) for role in ("embedder", "reranker", "generator")}
        return {role: stage for role, stage in stages.items() if isinstance(stage, Endpoint)}

    @contextmanager
    def session(self, queries: Sequence[str]) -> Iterator[Ask]:
        """A function that asks; while the session is open, the questions' vectors come from the cache and go there.

        A vector from the cache counts the time that it took when it was computed.  Where a stage raises anything, the
        response says so, with the passages where only the answer failed.
        """
        prepared, turns_of = self._ready(), turns(self._asked(), self.concurrency)
        if self._stages.embedder is None or not self._descriptions["embed"].complete:
            yield Asking(self._stages, prepared, turns=turns_of).answer
            return
        with self._open_cache() as cache:
            vectors = QueryVectors(cache, prepared.embedder_key, prepared.width, queries)
            try:
                yield Asking(self._stages, prepared, vectors, turns_of).answer
            finally:
                vectors.flush()

    @contextmanager
    def under_load(self, timeout_s: float) -> Iterator[tuple[Callable[[str], Response], int | None]]:
        """A function for any number of threads, and how many questions the pipeline takes at once, None for all.

        That many are the `concurrency` that its user named, or all where a stage calls out.  An endpoint is sent
        all that comes, each request once and within the time limit; questions wait for a stage that works here, or that
        takes only so many, as they would in a service.

        Raises   InputError for documents that cannot be read or give no chunk; StageError.
        """
        prepared = self._ready()
        with ExitStack() as stack:
            direct = dict[str, Any]()
            for role, stage in self.endpoints.items():
                direct[role] = stage.directly(timeout_s)
                stack.callback(direct[role].close)
            own = {name: stage for name, stage in self._asked().items() if not isinstance(stage, Endpoint)}
            asking = Asking(replace(self._stages, **direct), prepared, turns=turns(own, math.inf))

            def ask(query: str) -> Response:
                return asking.generate(asking.retrieve(query))

            limits = [None] * bool(direct) + [concurrency_of(stage) for stage in own.values()]
            takes_all = None in limits and self._wished is None
            yield ask, None if takes_all else n_at_once(limits, self._wished)

    @contextmanager
    def _open_cache(self) -> Iterator[StageCache]:
        if self._cache is None or isinstance(self._cache, Cache | NoCache):
            store, own = self._cache or NoCache(), False
        else:
            store, own = Cache(self._cache), True
        n_damaged = store.n_damaged
        try:
            yield StageCache(store)
        finally:
            self._n_damaged += store.n_damaged - n_damaged
            if own:
                store.close()


def _few_results(k: int, chunks: Chunks, *, of_documents: bool) -> Iterator[Note]:
    """A note where the corpus has fewer results than a question is to get."""
    n = len(np.unique(chunks.owner)) if of_documents else len(chunks)
    if k > n:
        yield Note("few_documents" if of_documents else "few_chunks", {"k": k, "n": n})
