"""How long each stage of a question takes."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import NamedTuple, Self

import numpy as np

from steelyard.base.arrays import Floats, Ints, Vectors
from steelyard.base.errors import InputError, StageError, SteelyardError
from steelyard.base.notes import Note
from steelyard.data.corpus import Chunks, Passage
from steelyard.data.responses import GENERATE, Response
from steelyard.rag.concurrency import Turn
from steelyard.rag.pipeline.preparing import BATCH, StageCache, check_query_vector, stage_error
from steelyard.rag.protocols import Embedder, Fuser, Generator, Index, Ranking, Reranker
from steelyard.rag.stages.reranking import checked_scores
from steelyard.services.cache import text_key


class Clock:
    """Milliseconds of each stage of one question.

    earlier   those of stages that were done before, and maybe the total of these
    """

    __slots__ = ("_kept", "_last", "_shift", "_start")

    def __init__(self, earlier: Mapping[str, float] | None = None) -> None:
        self._kept = dict(earlier or {})
        self._shift = self._kept.pop("total", sum(self._kept.values()))
        self._start = self._last = perf_counter()

    def lap(self, stage: str | None = None, instead: float | None = None) -> float:
        """Time since the last lap; `instead` of it another, which then counts in the total too."""
        now = perf_counter()
        ms = elapsed = (now - self._last) * 1000
        if instead is not None:
            self._shift += instead - elapsed
            ms = instead
        if stage is not None:
            self._kept[stage] = ms
        self._last = now
        return ms

    def latency_ms(self) -> dict[str, float]:
        """Milliseconds of each stage, and the total until now."""
        self._kept["total"] = (perf_counter() - self._start) * 1000 + self._shift
        return self._kept


class QueryVector(NamedTuple):
    """The vector of a question, and the milliseconds that it took when it was computed."""

    vector: Vectors
    ms: float


class QueryVectors:
    """Vectors of some questions, those that are new written to a cache in batches; several threads may share it."""

    def __init__(self, cache: StageCache, key: str, width: int, queries: Sequence[str]) -> None:
        self._cache, self._key, self._lock = cache, key, threading.Lock()
        self._new: dict[bytes, QueryVector] = {}
        texts = {text_key(query): query for query in queries}
        self._vectors = {
            texts[text]: QueryVector(*stored)
            for text, stored in cache.vectors(key, "query", list(texts)).items()
            if len(stored[0]) == width
        }

    def get(self, query: str) -> QueryVector | None:
        """The vector of a question that was embedded before."""
        return self._vectors.get(query)

    def add(self, query: str, vector: QueryVector) -> None:
        """Keep the vector of a question."""
        with self._lock:
            self._vectors[query] = self._new[text_key(query)] = vector
            if len(self._new) >= BATCH:
                self._write()

    def flush(self) -> None:
        """Write what is not in the cache yet."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        self._cache.put_vectors(self._key, "query", self._new)
        self._new = {}


@dataclass(frozen=True, eq=False)
class Stages:
    """The stages of a pipeline and its numbers, as it was made; see `Pipeline`.

    search_names  what the times of the indexes are called;   of_documents   whether k counts documents
    """

    chunker: object
    embedder: Embedder | None
    indexes: tuple[Index, ...]
    search_names: tuple[str, ...]
    fuser: Fuser | None
    reranker: Reranker | None
    generator: Generator | None
    k: int
    depth: int
    top_n: int
    n_passages: int
    of_documents: bool = False


@dataclass(frozen=True, eq=False)
class Prepared:
    """What a pipeline has computed before the first question; none of it changes afterwards.

    tie_rank      (n,) rank of each chunk's id, or that of its document, in descending order of bytes: what settles
                  equal scores
    embedder_key  under which the cache has the vectors; "" without an embedder
    width         numbers of a vector; 0 without an embedder
    """

    chunks: Chunks
    tie_rank: Ints
    embedder_key: str
    width: int
    notes: tuple[Note, ...]


@dataclass(frozen=True, eq=False)
class Ranked:
    """At most k chunks in canonical order, and the candidates that they were taken from.

    candidates  positions in the order before reranking, as deep as the indexes gave them; None where the result is them
    """

    positions: Ints
    scores: Floats
    candidates: Ints | None

    def passages(self, chunks: Chunks, n: int | None = None) -> tuple[Passage, ...]:
        """The first n chunks, or all, as passages."""
        return chunks.passages(self.positions[:n].tolist(), self.scores[:n].tolist())


def tie_rank(ids: Sequence[str]) -> Ints:
    """(n,) rank of each id in descending order of its bytes."""
    encoded = [id.encode("utf-8", "surrogatepass") for id in ids]
    ranks = np.empty(len(ids), np.int64)
    ranks[sorted(range(len(ids)), key=encoded.__getitem__, reverse=True)] = np.arange(len(ids))
    return ranks


def document_tie_rank(chunks: Chunks) -> Ints:
    """(n,) rank of each chunk by the id of its document in descending order, then by its own: as documents rank."""
    documents = tie_rank([document.doc_id for document in chunks.documents])
    ranks = np.empty(len(chunks), np.int64)
    ranks[np.lexsort((tie_rank(chunks.ids), documents[chunks.owner]))] = np.arange(len(chunks))
    return ranks


@dataclass(frozen=True, eq=False)
class Asking:
    """What a question needs on its way; several threads may share it.

    vectors   where vectors of questions come from and go to; None embeds anew
    turns     what to hold while a question is at a stage, by the stage's name; see `steelyard.rag.concurrency`
    """

    stages: Stages
    prepared: Prepared
    vectors: QueryVectors | None = None
    turns: Mapping[str, Turn] = field(default_factory=dict)

    def retrieve(self, query: str) -> Response:
        """Passages of a question, its candidates, and the times until here.

        Raises   InputError for an empty question; StageError.
        """
        clock = Clock()
        ranked, chunks = self.rank(query, clock), self.prepared.chunks
        latency_ms = clock.latency_ms()
        candidates = None if ranked.candidates is None else chunks.ids_at(ranked.candidates)
        return Response(query, ranked.passages(chunks), latency_ms=latency_ms, candidates=candidates)

    def generate(self, retrieved: Response) -> Response:
        """The same with an answer from the first passages, where there is a generator.

        Raises   StageError.
        """
        generator = self.stages.generator
        if generator is None:
            return retrieved
        clock = Clock(retrieved.latency_ms)
        with self._at(GENERATE, clock):
            text = generator.answer(retrieved.query, retrieved.passages[: self.stages.n_passages])
            if not isinstance(text, str):
                raise StageError(f"generate: gave {type(text).__name__}, not a text")
        return replace(retrieved, answer=text, latency_ms=clock.latency_ms(), error=None, failed=None)

    def answer(self, query: str, earlier: Response | None = None, /) -> Response:
        """The results of the stages, or which of them failed, and why, with those before it.

        earlier   passages that were retrieved before, with their times; only the answer is wanted
        Raises    InputError for an empty question.
        """
        response = earlier or Response(query)
        try:
            response = earlier or self.retrieve(query)
            return self.generate(response)
        except StageError as error:
            failure = error
        except SteelyardError:
            raise
        except Exception as error:
            failure = stage_error(None, error)
        return replace(response, error=str(failure), failed=failure.stage)

    def rank(self, query: str, clock: Clock) -> Ranked:
        """At most k chunks for a question; nothing is generated.

        Raises   InputError for an empty question; StageError.
        """
        if not query.strip():
            raise InputError("the question is empty; ask something")
        stages, vector, rankings = self.stages, self._embed(query, clock), list[Ranking]()
        for index, name in zip(stages.indexes, stages.search_names, strict=True):
            with self._at(name, clock):
                rankings.append(index.search(query, vector if index.needs_vectors else None, stages.depth))
        positions, scores = rankings[0]
        if stages.fuser is not None:
            with self._at("fuse", clock):
                positions, scores = stages.fuser.fuse(rankings, stages.depth)
        if not (len(scores) and (scores[1:] < scores[:-1]).all()):
            # Not best first, or two alike: else they are in order already.
            order = np.lexsort((self.prepared.tie_rank[positions], -scores))
            positions, scores = positions[order], scores[order]
        candidates = positions
        if stages.reranker is not None and len(positions):
            head, tail = positions[: stages.top_n], positions[stages.top_n :]
            texts = [self.prepared.chunks.texts[position] for position in head.tolist()]
            with self._at("rerank", clock):
                new_scores = checked_scores(stages.reranker, query, texts)
            positions, scores = _reranked(head, tail, new_scores)
        # Best first: what is in between is finite where both ends are.
        if len(scores) and not (math.isfinite(scores[0]) and math.isfinite(scores[-1])):
            last = stages.search_names[0] if stages.fuser is None else "fuse"
            raise StageError("a chunk's score is not a finite number; check the index and fuse stages", stage=last)
        owner = self.prepared.chunks.owner[positions]
        # Of documents, places of the first chunk of each, in order.
        best = np.sort(np.unique(owner, return_index=True)[1]) if stages.of_documents else slice(None)
        positions, scores = positions[best][: stages.k], scores[best][: stages.k]
        are_result = stages.reranker is None and len(candidates) == len(positions)
        return Ranked(positions, scores, None if are_result else candidates)

    def _embed(self, query: str, clock: Clock) -> Vectors | None:
        """The vector of a question; one that was computed before counts the time that it took then."""
        embedder = self.stages.embedder
        if embedder is None:
            return None
        stored = None if self.vectors is None else self.vectors.get(query)
        if stored is not None:
            clock.lap("embed", stored.ms)
            return stored.vector
        with self._at("embed", clock) as step:
            vector = check_query_vector(embedder.query(query), self.prepared.width)
        if self.vectors is not None:
            self.vectors.add(query, QueryVector(vector, step.ms))
        return vector

    def _at(self, stage: str, clock: Clock) -> _Step:
        return _Step(stage, clock, self.turns.get(stage))


class _Step:
    """A question at one stage: it waits for its turn, its time is taken, and what is raised bears the stage's name."""

    __slots__ = ("_clock", "_stage", "_turn", "ms")

    def __init__(self, stage: str, clock: Clock, turn: Turn | None) -> None:
        self._stage, self._clock, self._turn = stage, clock, turn
        self.ms = 0.0

    def __enter__(self) -> Self:
        self._clock.lap()
        if self._turn is not None:
            self._turn.__enter__()
            self._clock.lap(instead=0.0)  # Other questions took this time, not the system for this one.
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.ms = self._clock.lap(self._stage)
        if self._turn is not None:
            self._turn.__exit__(None, None, None)
        if isinstance(error, StageError):
            error.stage = error.stage or self._stage
        elif isinstance(error, Exception) and not isinstance(error, SteelyardError):
            raise stage_error(self._stage, error) from error


def _reranked(head: Ints, tail: Ints, scores: Floats) -> Ranking:
    """Candidates by the reranker's scores of the first of them; the rest below them in its order."""
    order = np.argsort(-scores, kind="stable")
    # What the reranker holds equal keeps the order that it had: ids would settle it otherwise, which is chance.
    falling = scores[order].tolist()
    for i in range(1, len(falling)):
        if falling[i] >= falling[i - 1]:
            falling[i] = math.nextafter(falling[i - 1], -math.inf)
    lowest = falling[-1]
    # A step of 1 would be lost on a score beyond 2 ** 53.
    step = max(1.0, 2 * float(np.spacing(abs(lowest))))
    below = lowest - step * np.arange(1, len(tail) + 1)
    return np.concatenate([head[order], tail]), np.concatenate([np.array(falling), below])
