"""A retrieval pipeline: load, chunk, embed, index, fuse, rerank, generate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints, Vectors
from steelyard.base.errors import InputError, StageError
from steelyard.data.corpus import Chunks, Document, Passage
from steelyard.data.run_folder import RunFolder
from steelyard.rag.clock import Clock
from steelyard.rag.config import Config, default_name
from steelyard.rag.fingerprint import Description, chunks_digest, corpus_digest, describe, digest
from steelyard.rag.making import made_stage, name_of, search_names, table_of, told_stage, without
from steelyard.rag.preparing import BATCH, Given, checked_query, chunked, embedded, loaded, telling
from steelyard.rag.registry import Role
from steelyard.rag.reranking import checked_scores
from steelyard.rag.running import run
from steelyard.rag.stage_cache import StageCache
from steelyard.rag.stages import (
    Embedder,
    Fuser,
    Generator,
    Index,
    Ranking,
    Reranker,
)
from steelyard.rag.system import Progress, Record, quoted
from steelyard.services.cache import Cache, NoCache, Store, text_key
from steelyard.services.secrecy import without_secrets


@dataclass(frozen=True, slots=True)
class Reply:
    """What a pipeline gave for one question.

    passages    at most k, in canonical order: score descending, then chunk_id descending by bytes
    answer      None without a generator
    latency_ms  embed, search (search.NAME for each of several indexes), fuse, rerank, generate: those that there are;
                total is the whole time from question to reply.  The time of a vector that came from the cache is the
                time that it took when it was computed.
    """

    passages: tuple[Passage, ...]
    answer: str | None
    latency_ms: Mapping[str, float]


class Pipeline:
    """Documents, and the stages that find passages in them and answer from those.

    documents   a folder or file; or Documents; or a dict {doc_id: text}
    chunk, embed, index, fuse, rerank, generate
                each a registered name, "module:object", a dict with `kind` and its settings, or an object that does
                what `steelyard.rag.stages` says (chunk: also one with `split_text`); index may be a list of these.
                embed is only made where an index needs vectors.  fuse is "rrf" where there are several indexes
    k           passages that a question gets;   depth   candidates that each index gives
    top_n       candidates that are reranked.  Those of one score keep the order they had, each a hair's breadth below
                the one before; the rest stays below in its order, with the lowest reranked score less 1, less 2, ...
    passages    how many of them the generator sees
    encoding    of the documents' files
    cache       an SQLite file in which chunks and vectors are kept by content, a Cache, or None
    name        what the system is called; made of the stages' names by default
    Raises      InputError for a stage or setting that does not exist; MissingExtraError

    >>> p = Pipeline({"scales": "A steelyard weighs with one weight.", "sea": "A whale swims."}, k=1)
    >>> p.search("What weighs?")[0].chunk_id
    'scales#1'
    """

    def __init__(
        self,
        documents: Given,
        *,
        chunk: Any = "recursive",
        embed: Any = "lsa",
        index: Any = "bm25",
        fuse: Any = None,
        rerank: Any = None,
        generate: Any = None,
        k: int = 10,
        depth: int = 100,
        top_n: int = 50,
        passages: int = 5,
        encoding: str = "utf-8",
        cache: str | Path | Store | None = None,
        name: str | None = None,
    ) -> None:
        rerank, top_n = without(rerank, "top_n", top_n)
        generate, passages = without(generate, "passages", passages)
        for what, count in (("k", k), ("depth", depth), ("top_n", top_n), ("passages", passages)):
            if not isinstance(count, int) or count < 1:
                raise InputError(f"{what} must be a whole number from 1, not {count!r}")
        if k > depth:
            raise InputError(f"k is {k}, but each index gives depth = {depth} candidates; raise depth")
        indexes = list(index) if isinstance(index, list | tuple) else [index]
        if not indexes or any(one is None or one == "none" for one in indexes):
            raise InputError('index must name one or several, e.g. "bm25" or ["bm25", "dense"]')
        if fuse is None and len(indexes) > 1:
            fuse = "rrf"
        self.k, self.depth, self.top_n, self.n_passages, self.encoding = k, depth, top_n, passages, encoding
        self.name = name or default_name([name_of(one) for one in indexes], name_of(rerank) if rerank else None)
        self.notes: list[str] = []
        self._given = documents
        self._cache = cache
        self._where: Config | None = None
        self._indexes: list[Index] = [made_stage("index", one) for one in indexes]
        self._search_names = search_names([name_of(one) for one in indexes])
        needs_vectors = any(one.needs_vectors for one in self._indexes)
        self._chunker = made_stage("chunk", chunk)
        self._embedder: Embedder | None = made_stage("embed", embed) if needs_vectors else None
        self._fuser: Fuser | None = made_stage("fuse", fuse)
        self._reranker: Reranker | None = made_stage("rerank", rerank)
        self._generator: Generator | None = made_stage("generate", generate)
        if self._chunker is None or (needs_vectors and self._embedder is None):
            missing = "chunk" if self._chunker is None else "embed"
            raise InputError(f"{missing} cannot be none; leave it away for the default")
        if self._fuser is None and len(indexes) > 1:
            raise InputError(f"{len(indexes)} indexes need a fuse stage; leave fuse out for rrf")
        self._prepared = False
        self._embedder_key = ""
        self._width = 0
        self._open: StageCache | None = None
        self._query_vectors: dict[str, tuple[Vectors, float]] = {}
        self._new_queries: dict[bytes, tuple[Vectors, float]] = {}
        self._json: dict[int, tuple[bytes, bytes]] = {}

    @classmethod
    def read(cls, config: str | Path | Config) -> Self:
        """The pipeline of a configuration file, or of a Config.

        Raises   InputError with the file and line of what is wrong.
        """
        config = config if isinstance(config, Config) else Config.read(config)
        if config.documents is None:
            raise InputError(f"{config.where or 'the configuration'}: is of a [target], not of a pipeline")
        single: tuple[Role, ...] = ("chunk", "fuse", "rerank", "generate")
        made = {role: told_stage(config, role, getattr(config, role)) for role in single}
        indexes = [told_stage(config, "index", one) for one in config.index]
        needs_vectors = any(one.needs_vectors for one in indexes)
        pipeline = cls(
            config.documents, **made, index=indexes,
            embed=told_stage(config, "embed", config.embed) if needs_vectors else None,
            k=config.k, depth=config.depth, top_n=config.top_n, passages=config.passages, encoding=config.encoding,
            cache=config.cache, name=config.name,
        )  # fmt: skip
        pipeline._where = config
        pipeline._search_names = search_names([one.kind for one in config.index])
        return pipeline

    @property
    def documents(self) -> Sequence[Document]:
        """What was loaded."""
        self.prepare()
        return self._chunks.documents

    @property
    def chunks(self) -> Chunks:
        """All chunks."""
        self.prepare()
        return self._chunks

    @property
    def embedder(self) -> Embedder | None:
        """What embeds chunks and questions, ready for use; None where no index needs vectors."""
        self.prepare()
        return self._embedder

    @property
    def corpus(self) -> Chunks:
        """All chunks, for a run."""
        return self.chunks

    @cached_property
    def fingerprint(self) -> Mapping[str, str]:
        """Short digests of the corpus and of each stage; "all" is the one of all of them, with k and depth.

        A chunker is told by its settings and by the chunks that it made, an embedder that learns from the corpus by
        its settings and by the chunks' texts.
        """
        self.prepare()
        known = {role: described.digest for role, described in self._described.items()}
        absent = digest(None)
        parts = {
            "corpus": corpus_digest(self._chunks.documents),
            "chunk": digest(known["chunk"], chunks_digest(self._chunks)),
            "embed": self._embedder_key or absent,
            "index": digest([known[name] for name in self._search_names]),
            "fuse": known.get("fuse", absent),
            "rerank": digest(known["rerank"], self.top_n) if "rerank" in known else absent,
            "generate": digest(known["generate"], self.n_passages) if "generate" in known else absent,
        }
        return parts | {"all": digest(parts, self.k, self.depth)}

    @cached_property
    def _described(self) -> dict[str, Description]:
        """Each stage by its role, an index by the name of its times; as they are before they are used."""
        stages: dict[str, object] = {
            "chunk": self._chunker, "embed": self._embedder, "fuse": self._fuser, "rerank": self._reranker,
            "generate": self._generator, **dict(zip(self._search_names, self._indexes, strict=True)),
        }  # fmt: skip
        return {role: describe(stage) for role, stage in stages.items() if stage is not None}

    def resolved(self) -> Mapping[str, Any]:
        """The configuration, without secrets."""
        if self._where is not None:
            return self._where.resolved()
        roles = {
            "chunk": self._chunker, "embed": self._embedder, "fuse": self._fuser, "rerank": self._reranker,
            "generate": self._generator,
        }  # fmt: skip
        made: dict[str, Any] = {"name": self.name, "k": self.k, "depth": self.depth, "encoding": self.encoding}
        if isinstance(self._given, str | Path):
            made["documents"] = str(self._given)
        made["index"] = [table_of(index) for index in self._indexes]
        made |= {role: None if stage is None else table_of(stage) for role, stage in roles.items()}
        blotted: dict[str, Any] = without_secrets(made | {"top_n": self.top_n, "passages": self.n_passages})
        return blotted

    def prepare(self, progress: Progress | None = None) -> None:
        """Load, chunk, embed and build the indexes; a second call does nothing.

        Raises   InputError for documents that cannot be read or give no chunk; StageError where embedding fails; what
                 was computed by then is in the cache.
        """
        if self._prepared:
            return
        tell = progress or (lambda stage, done, total: None)
        described = self._described
        documents = loaded(self._given, self.encoding, self._note, tell)
        with self._open_cache() as cache:
            with telling("chunk"):
                self._chunks = chunked(documents, self._chunker, described["chunk"], cache, self._note, tell)
            vectors = None
            if self._embedder is not None:
                with telling("embed"):
                    vectors, self._embedder_key = embedded(
                        self._chunks.texts, self._embedder, described["embed"], cache, tell
                    )  # fmt: skip
                self._width = vectors.shape[1]
        for i, index in enumerate(self._indexes):
            tell("index", i, len(self._indexes))
            with telling("index"):
                index.build(self._chunks.texts, vectors if index.needs_vectors else None)
        tell("index", len(self._indexes), len(self._indexes))
        # Ranks of ids in descending order of bytes: what settles equal scores.
        ids = [id.encode("utf-8", "surrogatepass") for id in self._chunks.ids]
        self._tie_rank = np.empty(len(ids), np.int64)
        self._tie_rank[sorted(range(len(ids)), key=ids.__getitem__, reverse=True)] = np.arange(len(ids))
        if self.k > len(self._chunks):
            n = len(self._chunks)
            there = "is only 1 chunk" if n == 1 else f"are only {n} chunks"
            self._note(f"k is {self.k}, but there {there}: questions get fewer results")
        self._prepared = True

    def search(self, query: str) -> list[Passage]:
        """At most k passages for a question; nothing is generated.

        Raises   InputError for an empty question; StageError.
        """
        positions, scores, _ = self._found(query, Clock())
        return self._passages(positions, scores, len(positions))

    def ask(self, query: str) -> Reply:
        """Passages and answer for a question.

        Raises   InputError for an empty question; StageError.
        """
        positions, scores, _, answer, latency_ms = self._asked(query)
        return Reply(tuple(self._passages(positions, scores, len(positions))), answer, latency_ms)

    def run(
        self,
        questions: str | Path | Iterable[Any],
        folder: str | Path,
        *,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> RunFolder:
        """Ask all questions and write a run folder; see `steelyard.rag.running.run`."""
        return run(self, questions, folder, overwrite=overwrite, progress=progress)

    @contextmanager
    def session(self, queries: Sequence[str]) -> Iterator[None]:
        """While it is open, the questions' vectors come from the cache and go there."""
        self.prepare()
        if self._embedder is None or not self._described["embed"].complete:
            yield
            return
        with self._open_cache() as cache:
            by_key = {text_key(query): query for query in queries}
            known = cache.vectors(self._embedder_key, "query", list(by_key))
            self._query_vectors = {by_key[text]: kept for text, kept in known.items() if len(kept[0]) == self._width}
            self._open = cache
            try:
                yield
            finally:
                self._open = None
                self._query_vectors = {}
                self._keep_queries(cache)

    def record(self, query: str) -> Record:
        """Ask a question, for a run."""
        with telling("a stage"):
            positions, scores, candidates, answer, latency_ms = self._asked(query)
            if answer is not None and not isinstance(answer, str):
                raise StageError(f"generate: gave {type(answer).__name__}, not a text")
            pieces, between = [], b""
            numbers = repr(scores.tolist())[1:-1].encode().split(b", ")
            for position, number in zip(positions.tolist(), numbers, strict=False):
                before, behind = self._json.get(position) or self._encoded(position)
                pieces += [between, before, number, behind]
                between = b", "
            ids = None if candidates is None else self._listed(candidates)
        return Record((b"[", *pieces, b"]"), answer, latency_ms, ids)

    def _listed(self, positions: Ints) -> bytes:
        """The ids of chunks as a JSON array."""
        return b"[" + b", ".join(self._encoded_ids[positions].tolist()) + b"]"

    @cached_property
    def _encoded_ids(self) -> npt.NDArray[np.object_]:
        """The id of every chunk in JSON, encoded once: lists of candidates are long."""
        encoded = np.empty(len(self._chunks), object)
        encoded[:] = [quoted(id).encode() for id in self._chunks.ids]
        return encoded

    def _encoded(self, position: int) -> tuple[bytes, bytes]:
        """What stands around the score of a chunk; kept, as encoding texts anew costs more than searching them."""
        passage = self._chunks.passage(position, 0.0)
        head = f'{{"id": {quoted(passage.chunk_id)}, "score": '
        tail = f', "text": {quoted(passage.text)}, "doc": {quoted(passage.doc_id)}, '
        tail += f'"start": {passage.start}, "end": {passage.end}}}'
        self._json[position] = head.encode(), tail.encode()
        return self._json[position]

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)

    @contextmanager
    def _open_cache(self) -> Iterator[StageCache]:
        if self._cache is None or isinstance(self._cache, Cache | NoCache):
            yield StageCache(self._cache)
            return
        store = Cache(self._cache)
        try:
            yield StageCache(store)
        finally:
            store.close()

    def _asked(self, query: str) -> tuple[Ints, Floats, Ints | None, str | None, Mapping[str, float]]:
        clock = Clock()
        positions, scores, candidates = self._found(query, clock)
        answer = None
        if self._generator is not None:
            passages = self._passages(positions, scores, self.n_passages)
            clock.lap()
            answer = self._generator.answer(query, passages)
            clock.lap("generate")
        return positions, scores, candidates, answer, clock.latency_ms()

    def _found(self, query: str, clock: Clock) -> tuple[Ints, Floats, Ints | None]:
        """Positions and scores of at most k chunks, in canonical order; and the candidates that they were taken from.

        Candidates are in the order before reranking, as deep as the indexes gave them; None where the result is them.
        """
        if not query.strip():
            raise InputError("the question is empty; ask something")
        if not self._prepared:
            self.prepare()
            clock.restart()
        vector = None
        if self._embedder is not None:
            known = self._query_vectors.get(query)
            if known is None:
                vector = checked_query(self._embedder.query(query), self._width)
                self._remember(query, vector, clock.lap("embed"))
            else:
                vector = known[0]
                clock.lap("embed", known[1])
        rankings = []
        for index, name in zip(self._indexes, self._search_names, strict=True):
            rankings.append(index.search(query, vector if index.needs_vectors else None, self.depth))
            clock.lap(name)
        if self._fuser is not None:
            positions, scores = self._fuser.fuse(rankings, self.depth)
            clock.lap("fuse")
        else:
            positions, scores = rankings[0]
        falls = len(scores) and (scores[1:] < scores[:-1]).all()
        if not falls:
            # Not best first, or two alike: else they are in order already.
            positions, scores = self._ordered(positions, scores)
        candidates = positions if self._reranker is not None or len(positions) > self.k else None
        if self._reranker is not None and len(positions):
            positions, scores = self._reranked(query, positions, scores, clock)
        if not np.isfinite(scores).all():
            raise StageError("a chunk's score is not a finite number; check the index and fuse stages")
        return positions[: self.k], scores[: self.k], candidates

    def _remember(self, query: str, vector: Vectors, ms: float) -> None:
        """Keep the vector of a question, some at a time, while a session is open."""
        if self._open is None:
            return
        self._query_vectors[query] = self._new_queries[text_key(query)] = vector, ms
        if len(self._new_queries) >= BATCH:
            self._keep_queries(self._open)

    def _keep_queries(self, cache: StageCache) -> None:
        cache.put_vectors(self._embedder_key, "query", self._new_queries)
        self._new_queries = {}

    def _ordered(self, positions: Ints, scores: Floats) -> Ranking:
        order = np.lexsort((self._tie_rank[positions], -scores))
        return positions[order], scores[order]

    def _reranked(self, query: str, positions: Ints, scores: Floats, clock: Clock) -> Ranking:
        assert self._reranker is not None
        head, tail = positions[: self.top_n], positions[self.top_n :]
        known = self._chunks.texts
        texts = [known[position] for position in head.tolist()]
        clock.lap()
        given = checked_scores(self._reranker, query, texts)
        clock.lap("rerank")
        order = np.argsort(-given, kind="stable")
        head, given = head[order], given[order]
        # What the reranker holds equal keeps the order that it had: ids would settle it otherwise, which is chance.
        falling = given.tolist()
        for i in range(1, len(falling)):
            if falling[i] >= falling[i - 1]:
                falling[i] = math.nextafter(falling[i - 1], -math.inf)
        given, lowest = np.array(falling), falling[-1]
        # A step of 1 would be lost on a score beyond 2 ** 53.
        step = max(1.0, 2 * float(np.spacing(abs(lowest))))
        below = lowest - step * np.arange(1, len(tail) + 1)
        return np.concatenate([head, tail]), np.concatenate([given, below])

    def _passages(self, positions: Ints, scores: Floats, n: int) -> list[Passage]:
        pairs = zip(positions[:n].tolist(), scores[:n].tolist(), strict=True)
        return [self._chunks.passage(position, score) for position, score in pairs]
