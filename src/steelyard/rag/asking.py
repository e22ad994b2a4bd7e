"""The way of one question through the stages of a pipeline: embed, search, fuse, rerank, generate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Floats, Ints, Vectors
from steelyard.base.errors import InputError, StageError
from steelyard.base.notes import Note
from steelyard.data.corpus import Chunks, Passage
from steelyard.data.responses import Response
from steelyard.rag.clock import Clock
from steelyard.rag.preparing import check_query_vector
from steelyard.rag.query_vectors import QueryVector, QueryVectors
from steelyard.rag.reranking import checked_scores
from steelyard.rag.stages import Embedder, Fuser, Generator, Index, Ranking, Reranker


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


def answer(stages: Stages, prepared: Prepared, query: str, vectors: QueryVectors | None = None) -> Response:
    """Passages, answer and times of a question.

    vectors   where vectors of questions come from and go to; None embeds anew
    Raises    InputError for an empty question; StageError.
    """
    clock = Clock()
    ranked = rank(stages, prepared, query, clock, vectors)
    text = None
    if stages.generator is not None:
        passages = ranked.passages(prepared.chunks, stages.n_passages)
        clock.lap()
        text = stages.generator.answer(query, passages)
        clock.lap("generate")
    latency_ms = clock.latency_ms()
    candidates = None if ranked.candidates is None else prepared.chunks.ids_at(ranked.candidates)
    return Response(query, ranked.passages(prepared.chunks), text, latency_ms, candidates)


def rank(
    stages: Stages, prepared: Prepared, query: str, clock: Clock, vectors: QueryVectors | None = None
) -> Ranked:  # fmt: skip
    """At most k chunks for a question; nothing is generated.

    Raises   InputError for an empty question; StageError.
    """
    if not query.strip():
        raise InputError("the question is empty; ask something")
    vector = _embed(stages.embedder, prepared, query, clock, vectors)
    rankings = []
    for index, name in zip(stages.indexes, stages.search_names, strict=True):
        rankings.append(index.search(query, vector if index.needs_vectors else None, stages.depth))
        clock.lap(name)
    if stages.fuser is not None:
        positions, scores = stages.fuser.fuse(rankings, stages.depth)
        clock.lap("fuse")
    else:
        positions, scores = rankings[0]
    if not (len(scores) and (scores[1:] < scores[:-1]).all()):
        # Not best first, or two alike: else they are in order already.
        order = np.lexsort((prepared.tie_rank[positions], -scores))
        positions, scores = positions[order], scores[order]
    candidates = positions
    if stages.reranker is not None and len(positions):
        positions, scores = _rerank(stages.reranker, stages.top_n, prepared.chunks, query, positions, clock)
    # Best first: what is in between is finite where both ends are.
    if len(scores) and not (math.isfinite(scores[0]) and math.isfinite(scores[-1])):
        raise StageError("a chunk's score is not a finite number; check the index and fuse stages")
    best = _best_of_documents(prepared.chunks.owner[positions]) if stages.of_documents else slice(None)
    positions, scores = positions[best][: stages.k], scores[best][: stages.k]
    are_result = stages.reranker is None and len(candidates) == len(positions)
    return Ranked(positions, scores, None if are_result else candidates)


def _best_of_documents(owner: Ints) -> Ints:
    """Places of the first chunk of each document, in order."""
    return np.sort(np.unique(owner, return_index=True)[1])


def _embed(
    embedder: Embedder | None, prepared: Prepared, query: str, clock: Clock, vectors: QueryVectors | None
) -> Vectors | None:  # fmt: skip
    """The vector of a question; one that was computed before counts the time that it took then."""
    if embedder is None:
        return None
    stored = None if vectors is None else vectors.get(query)
    if stored is not None:
        clock.lap("embed", stored.ms)
        return stored.vector
    vector = check_query_vector(embedder.query(query), prepared.width)
    ms = clock.lap("embed")
    if vectors is not None:
        vectors.add(query, QueryVector(vector, ms))
    return vector


def _rerank(
    reranker: Reranker, top_n: int, chunks: Chunks, query: str, positions: Ints, clock: Clock
) -> Ranking:  # fmt: skip
    """The first top_n by the reranker's scores; the rest below them in its order."""
    head, tail = positions[:top_n], positions[top_n:]
    texts = [chunks.texts[position] for position in head.tolist()]
    clock.lap()
    scores = checked_scores(reranker, query, texts)
    clock.lap("rerank")
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
