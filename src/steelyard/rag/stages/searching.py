"""The chunks nearest to a question: by words (BM25), by vectors (exact inner product), or by several rankings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Floats, Ints, Vectors
from steelyard.base.errors import InputError, StageError
from steelyard.base.extras import require
from steelyard.base.limits import at_least, between
from steelyard.base.settings import SettingError, check_fields
from steelyard.rag.protocols import Ranking
from steelyard.rag.registry import stage
from steelyard.text.tokens import Accents, Chinese, Simplify, Stem, Tokenizer, tokenizer_of

_SPARE = 16
"""How many hits more than k are asked of faiss, so that a close cut rarely needs a second look."""


def best(positions: Ints, scores: npt.NDArray[np.floating[Any]], k: int) -> Ranking:
    """The k best of some hits, best first, equal scores by position.

    positions, scores   (m,) each, in any order
    >>> best(np.array([7, 3, 5]), np.array([1.0, 1.0, 2.0]), 2)
    (array([5, 3]), array([2., 1.]))
    """
    order = np.lexsort((positions, -scores))[: max(k, 0)]
    return positions[order].astype(np.int64), scores[order].astype(np.float64)


def at_least_the_kth(scores: npt.NDArray[np.float32], k: int, *, slack: float = 0.0) -> Ints:
    """Positions of all scores that reach the kth best one less `slack`; at least k of n, more where they tie."""
    if k >= len(scores):
        return np.arange(len(scores))
    kth = np.partition(scores, len(scores) - k)[len(scores) - k]
    return np.flatnonzero(scores >= _below(kth, slack))


def _below(score: np.float32, slack: float) -> np.float32:
    """A float32 that is not above score - slack."""
    return np.nextafter(np.float32(float(score) - slack), np.float32(-np.inf)) if slack else score


@stage("index", "bm25")
@dataclass(eq=False)
class BM25:
    """Words in common, weighted by how rare they are: bm25s on our own tokens.

    k1, b      saturation of repeated words (usual are 0.9 to 2), and how much long chunks are discounted (0.4 to 0.75)
    method     "lucene" (all weights positive), "robertson" or "atire" (a word of most or all chunks weighs nothing)
    chinese, simplify, accents, stem, stopwords   see `Tokenizer`; stop words stay by default, as BM25 gives
               common words little weight already, and a question made of nothing else ("who is he") would find nothing

    Only chunks with a score above 0 are found: none for a question without a word of the corpus.  Scores are sums of
    float32, as bm25s makes them.

    Source   Robertson & Zaragoza 2009; the variants as Kamphuis et al. 2020 name them.
    """

    k1: Annotated[float, at_least(0)] = 1.5
    b: Annotated[float, between(0, 1)] = 0.75
    method: Literal["lucene", "robertson", "atire"] = "lucene"
    chinese: Chinese = "both"
    simplify: Simplify = "characters"
    accents: Accents = "folded"
    stem: Stem = "english"
    stopwords: bool = False
    needs_vectors: bool = field(default=False, init=False)
    _tokenizer: Tokenizer = field(init=False, repr=False)
    _ids: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _weights: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._tokenizer = tokenizer_of(self)

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> None:
        """Take all chunks; chunks without a word, and a corpus of nothing else, are never found.

        Raises   MissingExtraError where bm25s is not installed.
        """
        bm25s = require("bm25s", extra="rag", what="BM25")
        # Numbered by first occurrence: bm25s alone would number them in the order of a set, another one each time.
        ids: dict[str, int] = {}
        corpus = [[ids.setdefault(token, len(ids)) for token in tokens] for tokens in self._tokenizer.many(texts)]
        self._ids, self._weights = ids, None
        if ids:
            self._weights = bm25s.BM25(k1=self.k1, b=self.b, method=self.method, backend="numpy")
            self._weights.index((corpus, ids), create_empty_token=False, show_progress=False)

    def search(self, query: str, vector: Vectors | None, k: int) -> Ranking:
        """At most k chunks that share a word with the question, best first, equal scores by position."""
        token_ids = [self._ids[token] for token in self._tokenizer.tokens(query) if token in self._ids]
        if not token_ids or k < 1:
            return _nothing()
        scores = self._weights.get_scores_from_ids(token_ids)
        near = at_least_the_kth(scores, k)
        hits = near[scores[near] > 0]
        return best(hits, scores[hits], k)


@stage("index", "dense")
@dataclass(eq=False)
class Dense:
    """Exact inner product with every chunk's vector; the cosine, where vectors have length 1.

    backend   "auto" takes faiss where it is installed, else NumPy; "faiss" or "numpy" insists
    threads   how many faiss may use; None leaves its own setting.  NumPy takes what OMP_NUM_THREADS says

    Both backends give the same chunks, the same order and the same scores, bit by bit: what they compute in float32
    only chooses candidates, by a bound on the rounding error of any order of summation, and the candidates' scores
    are then summed again in float64, in one order.  A question whose vector is zero finds nothing; a chunk whose
    vector is zero has the score 0.
    """

    backend: Literal["auto", "faiss", "numpy"] = "auto"
    threads: Annotated[int, at_least(1)] | None = None
    needs_vectors: bool = field(default=True, init=False)
    _vectors: Vectors = field(init=False, repr=False)
    _longest: float = field(default=0.0, init=False, repr=False)
    _flat: Any = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)
        self._vectors = np.empty((0, 1), np.float32)

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> None:
        """Take the vectors of all chunks.

        vectors   (n, d) float32, finite; kept, not copied
        Raises    StageError where they are not one finite vector a chunk; MissingExtraError where faiss is asked for
                  and not installed.
        """
        self._vectors = _checked(vectors, len(texts))
        self._longest = float(_lengths(self._vectors).max(initial=0.0))
        self._index()

    def _index(self) -> None:
        if self.backend == "faiss" or (self.backend == "auto" and find_spec("faiss") is not None):
            self._flat = _faiss().IndexFlatIP(self._vectors.shape[1])
            self._flat.add(self._vectors)
        else:
            self._flat = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_flat": None}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._index()

    def search(self, query: str, vector: Vectors | None, k: int) -> Ranking:
        """At most k chunks, best first, equal scores by position.

        vector   (d,) of the question
        Raises   StageError where it is missing, of another length than the chunks', or not finite.
        """
        q = self._checked_query(vector)
        k = min(k, len(self._vectors))
        if k < 1 or not q.any():
            return _nothing()
        slack = self._slack(q)
        near = (
            self._near_by_faiss(q, k, slack)
            if self._flat is not None
            else at_least_the_kth(self._vectors @ q, k, slack=slack)
        )
        # Products of float32 are exact in float64; a sum along one row does not depend on the other rows.
        scores = (self._vectors[near].astype(np.float64) * q.astype(np.float64)).sum(axis=1)
        return best(near, scores, k)

    def _checked_query(self, vector: Vectors | None) -> Vectors:
        width = self._vectors.shape[1]
        if vector is None:
            raise StageError("index dense: the question has no vector; set an embed stage")
        q = np.ascontiguousarray(vector, np.float32)
        if q.shape != (width,) and len(self._vectors):
            raise StageError(f"index dense: the question's vector has shape {q.shape}, the chunks' have ({width},)")
        if not np.isfinite(q).all():
            raise StageError("index dense: the question's vector has NaN or infinite numbers; check the embed stage")
        return q

    def _slack(self, q: Vectors) -> float:
        """Twice the most by which a float32 inner product may err, whatever the order of its sum (Higham 2002, 3.1).

        The true kth best is no lower than the computed kth best less one bound, and no true hit is computed lower
        than another bound below that.
        """
        width = len(q)
        relative = (width + 2) * 2.0**-24 * 1.01
        underflow = width * float(np.finfo(np.float32).tiny)
        return 2 * (relative * self._longest * float(_lengths(q[None])[0]) + underflow)

    def _near_by_faiss(self, q: Vectors, k: int, slack: float) -> Ints:
        wanted = min(k + _SPARE, len(self._vectors))
        with _threads(_faiss(), self.threads):
            scores, near = self._flat.search(q[None], wanted)
            lowest = _below(scores[0, k - 1], slack)
            if wanted < len(self._vectors) and scores[0, -1] >= lowest:
                # The cut goes through a crowd of ties: take all of it.  A radius is what scores must exceed.
                _, _, crowd = self._flat.range_search(q[None], float(np.nextafter(lowest, np.float32(-np.inf))))
                return np.sort(crowd)
        return np.asarray(near[0][scores[0] >= lowest], np.int64)


def _checked(vectors: Vectors | None, n: int) -> Vectors:
    if vectors is None:
        raise StageError("index dense: the chunks have no vectors; set an embed stage")
    if vectors.ndim != 2 or len(vectors) != n or (n and vectors.shape[1] < 1):
        raise StageError(f"index dense: got vectors of shape {vectors.shape} for {n} chunks; expected ({n}, d)")
    whole = np.ascontiguousarray(vectors, np.float32)
    odd = np.flatnonzero(~np.isfinite(_lengths(whole)))
    if len(odd):
        raise StageError(
            f"index dense: the vectors of {len(odd)} of {n} chunks are not finite, first of chunk {odd[0] + 1}; "
            "check the embed stage"
        )
    return whole if n else np.empty((0, max(whole.shape[1], 1)), np.float32)


def _lengths(vectors: Vectors) -> npt.NDArray[np.float32]:
    """(n,) Euclidean lengths; infinite where float32 cannot hold the square."""
    with np.errstate(all="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), np.float32)


def _faiss() -> Any:
    return require("faiss", extra="faiss", what="the faiss backend of dense search")


@contextmanager
def _threads(faiss: Any, threads: int | None) -> Iterator[None]:
    """Pin faiss's threads for a while: its setting is one for the whole process, so it is put back."""
    before = faiss.omp_get_max_threads()
    if threads is None or threads == before:
        yield
        return
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _nothing() -> Ranking:
    return np.empty(0, np.int64), np.empty(0, np.float64)


@stage("fuse", "rrf")
@dataclass(frozen=True)
class RRF:
    """Reciprocal rank fusion: a chunk's score is the sum of 1 / (constant + its rank) over the rankings that found it.

    constant   0 or more; the greater, the less the first ranks count more than the rest

    Source   Cormack, Clarke & Büttcher 2009, who take 60.

    >>> positions, scores = RRF().fuse([(np.array([4, 2]), np.array([9.0, 8.0])), (np.array([2]), np.array([0.3]))], 10)
    >>> positions, scores.round(5)
    (array([2, 4]), array([0.03252, 0.01639]))
    """

    constant: Annotated[float, at_least(0)] = 60

    def __post_init__(self) -> None:
        check_fields(self)

    def fuse(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """At most k chunks that some ranking found, best first, equal scores by position.

        Scores are in [0, n of rankings / (constant + 1)] and do not depend on the order of the rankings.
        Raises   StageError where a ranking has a chunk twice.
        """
        shares = [1.0 / (self.constant + np.arange(1.0, len(positions) + 1)) for positions, _ in rankings]
        return _summed(rankings, shares, [0.0] * len(rankings), k)


@stage("fuse", "weighted")
@dataclass(frozen=True)
class Weighted:
    """Weighted sum of the rankings' scores, each brought to one scale first.

    weights     one a ranking, 0 or more and not all 0, taken as they are; None weighs all equally, 1 / n each
    normalise   "minmax" (score - least) / (greatest - least), so that the last of each ranking gets 0, as do chunks
                that it did not find; where all scores are equal, all get 1
                "zscore" (score - mean) / standard deviation; where all are equal, all get 0.  Chunks that a ranking
                did not find get the least that it gave, since 0 would be its mean
                "none" scores as they are, 0 for chunks that a ranking did not find

    Source   Fox & Shaw 1994 (CombSUM), Lee 1997 (min-max), Montague & Aslam 2001 (zero mean, unit variance).

    >>> bm25, cosine = (np.array([4, 2, 7]), np.array([9.0, 8.0, 5.0])), (np.array([2, 7]), np.array([0.5, 0.1]))
    >>> Weighted([0.5, 0.5]).fuse([bm25, cosine], 2)
    (array([2, 4]), array([0.875, 0.5  ]))
    """

    weights: list[Annotated[float, at_least(0)]] | None = None
    normalise: Literal["minmax", "zscore", "none"] = "minmax"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.weights is not None and not any(self.weights):
            raise SettingError(f"weights must be numbers from 0, one of them above 0, not {self.weights!r}", "weights")

    def fuse(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """At most k chunks that some ranking found, best first, equal scores by position.

        Raises   InputError where there are more or fewer weights than rankings; StageError where a ranking has a
                 chunk twice, or a score that is not finite.
        """
        weights = [1 / len(rankings)] * len(rankings) if self.weights is None and rankings else (self.weights or [])
        if len(weights) != len(rankings):
            raise InputError(
                f"fuse weighted: has {len(weights)} weights for {len(rankings)} rankings; give one for each index"
            )
        scaled = [self._scaled(scores, i) for i, (_, scores) in enumerate(rankings)]
        shares = [weight * scores for weight, scores in zip(weights, scaled, strict=True)]
        absent = [float(share.min(initial=0.0)) if self.normalise == "zscore" else 0.0 for share in shares]
        return _summed(rankings, shares, absent, k)

    def _scaled(self, scores: Floats, ranking: int) -> Floats:
        if not np.isfinite(scores).all():
            raise StageError(f"fuse weighted: ranking {ranking + 1} has a score that is not finite; check its index")
        if self.normalise == "none" or not len(scores):
            return scores
        least, greatest = scores.min(), scores.max()
        if least == greatest:
            return np.full(len(scores), 1.0 if self.normalise == "minmax" else 0.0)
        # Brought to [0, 1] first, a spread that float64 can barely resolve does not vanish in the deviation.
        unit = (scores - least) / (greatest - least)
        return np.asarray(unit if self.normalise == "minmax" else (unit - unit.mean()) / unit.std(), np.float64)


def _summed(rankings: Sequence[Ranking], shares: Sequence[Floats], absent: Sequence[float], k: int) -> Ranking:
    """Sum of each chunk's shares; a chunk that a ranking does not have gets that ranking's `absent`."""
    if not rankings:
        return np.empty(0, np.int64), np.empty(0, np.float64)
    pool = np.unique(np.concatenate([positions for positions, _ in rankings]))
    table = np.tile(np.asarray(absent, np.float64), (len(pool), 1))
    for i, ((positions, _), share) in enumerate(zip(rankings, shares, strict=True)):
        _check_distinct(positions, i)
        table[np.searchsorted(pool, positions), i] = share
    # Sorted before they are summed: the same shares in another order of rankings give the same bits.
    return best(pool, np.sort(table, axis=1).sum(axis=1), k)


def _check_distinct(positions: Ints, ranking: int) -> None:
    distinct, counts = np.unique(positions, return_counts=True)
    if len(distinct) < len(positions):
        twice = int(distinct[counts > 1][0])
        raise StageError(f"fuse: ranking {ranking + 1} has the chunk at position {twice} twice; check its index")
