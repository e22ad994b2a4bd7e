"""What each stage of the pipeline takes and gives.

Every stage is a small object.  Its public fields are its settings: they make its fingerprint, so what changes results
must be a field, and a key or password must never be one (name the environment variable instead).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Ints, Vectors
from steelyard.base.errors import StageError
from steelyard.base.notes import Note
from steelyard.base.progress import Progress
from steelyard.data.corpus import Chunks, Document, Passage
from steelyard.data.responses import Response
from steelyard.services.announcements import Usage
from steelyard.text.spans import Span

Ranking = tuple[Ints, npt.NDArray[np.float64]]
"""Positions of chunks and their scores, best first."""


@runtime_checkable
class Chunker(Protocol):
    """Cuts a text."""

    def spans(self, text: str) -> Sequence[Span]:
        """Offsets of the chunks, ascending by start; none of them empty.  An empty text has none."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of length 1."""

    def fit(self, texts: Sequence[str]) -> None:
        """Learn from the corpus; a model that is trained already does nothing."""
        ...

    def documents(self, texts: Sequence[str]) -> Vectors:
        """(n, d) one vector a text."""
        ...

    def query(self, text: str) -> Vectors:
        """(d,) the vector of a question."""
        ...


@runtime_checkable
class FittedEmbedder(Embedder, Protocol):
    """An embedder whose `fit` learns something that is worth keeping."""

    def state(self) -> bytes:
        """The learnt state, without pickle."""
        ...

    def restore(self, state: bytes) -> None:
        """Be as if `fit` had been called; raises ValueError for a state of another version."""
        ...


@runtime_checkable
class Index(Protocol):
    """Finds chunks for a question."""

    needs_vectors: bool

    def build(self, texts: Sequence[str], vectors: Vectors | None) -> None:
        """Take all chunks: their texts, and their vectors where `needs_vectors` says so."""
        ...

    def search(self, query: str, vector: Vectors | None, k: int) -> Ranking:
        """At most k chunks, best first, equal scores by position; fewer where fewer are found."""
        ...


@runtime_checkable
class Fuser(Protocol):
    """Makes one ranking of several."""

    def fuse(self, rankings: Sequence[Ranking], k: int) -> Ranking:
        """At most k chunks, best first, equal scores by position."""
        ...


@runtime_checkable
class Reranker(Protocol):
    """Looks at question and text together."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """One finite score a text; higher is better.

        Raises   StageError where that cannot be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class Reranked:
    """The scores of some texts, and what they took as far as the server accounts for it.

    scores        (n,) one a text;   search_units   that are billed
    n_repaired    texts that a model's ranking left out, and numbers that it repeated or made up; None of other replies
    """

    scores: Sequence[float]
    usage: Usage | None = None
    search_units: float | None = None
    n_repaired: int | None = None


def raise_all(errors: Sequence[str], fact: str) -> None:
    """Raise   StageError of all errors, after a fact on them where there are several."""
    if errors:
        listed = "; ".join(f"({number}) {error}" for number, error in enumerate(errors, 1))
        raise StageError(errors[0] if len(errors) == 1 else f"{fact}: {listed}")


def total_usage(usages: Sequence[Usage | None]) -> Usage | None:
    """Tokens of all calls; None where the server does not say those of one."""
    return None if None in usages else sum(filter(None, usages), Usage())


def joined(parts: Sequence[Reranked]) -> Reranked:
    """The scores of several batches as those of one; an account that some batch lacks is None.

    >>> joined([Reranked([0.5], Usage(10), 1.0), Reranked([0.25], Usage(7))])
    Reranked(scores=[0.5, 0.25], usage=Usage(tokens_in=17, tokens_out=0), search_units=None, n_repaired=None)
    """
    units = [part.search_units for part in parts if part.search_units is not None]
    return Reranked(
        [score for part in parts for score in part.scores],
        total_usage([part.usage for part in parts]),
        sum(units) if units and len(units) == len(parts) else None,
    )


@runtime_checkable
class MeteredReranker(Reranker, Protocol):
    """A reranker that knows what it took."""

    def rerank(self, query: str, texts: Sequence[str]) -> Reranked:
        """As `scores`, with the account of the server."""
        ...


@runtime_checkable
class EstimatingReranker(Reranker, Protocol):
    """A reranker whose tokens are not those of pairs: it sends instructions with them, or texts several times."""

    def estimate(self, query: str, texts: Sequence[str]) -> Usage:
        """About the tokens that reranking would take; nobody is asked."""
        ...


@runtime_checkable
class TokenCounter(Protocol):
    """A model that can count the tokens of what it reads."""

    @property
    def max_tokens(self) -> int | None:
        """The longest pair of question and text that it reads; None where nothing is cut."""
        ...

    def pair_tokens(self, query: str, texts: Sequence[str]) -> Sequence[int]:
        """(n,) tokens of each pair of question and text, before anything is cut."""
        ...


@runtime_checkable
class Generator(Protocol):
    """Answers from passages."""

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """The answer, citing passages as [doc#chunk].

        Raises   StageError where that cannot be had.
        """
        ...


class Ask(Protocol):
    """Asks a system one question; several threads may, as many as its `concurrency`."""

    def __call__(self, query: str, earlier: Response | None = None, /) -> Response:
        """The answer of the system, or why it failed.

        earlier   what it gave at an earlier start, where only the answer failed: nothing is retrieved anew, if the
                  system can do so
        """
        ...


class RunnableSystem(Protocol):
    """What can be run over questions."""

    name: str

    @property
    def concurrency(self) -> int:
        """Questions under way at once."""
        ...

    @property
    def notes(self) -> Sequence[Note]:
        """Notes for the user: documents without text, fewer chunks than k."""
        ...

    @property
    def corpus(self) -> Chunks | None:
        """The chunks that are searched, where there are any."""
        ...

    @property
    def documents(self) -> Sequence[Document] | None:
        """The documents that are searched, where they are known."""
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


@dataclass(frozen=True)
class Stage:
    """A stage to make: a registered name or module:object, and its settings."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    def table(self, **more: int) -> dict[str, Any]:
        """The same as a table of a configuration."""
        return {"kind": self.kind, **self.settings, **more}
