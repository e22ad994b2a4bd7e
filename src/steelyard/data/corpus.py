"""Documents, and the chunks that a chunker made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Ints
from steelyard.text.spans import Span


@dataclass(frozen=True, slots=True)
class Document:
    """A text with a name.

    doc_id   unique within its corpus
    text     what offsets count in, character by character (Unicode code points)
    pages    offset at which each page begins, the first one 0; None where the source has no pages
    source   the file it came from, for messages
    """

    doc_id: str
    text: str
    pages: tuple[int, ...] | None = None
    source: str = ""


class Passage(NamedTuple):
    """One retrieved chunk.

    Passages of a pipeline have everything, and text == document.text[start:end]; a system of the user's own may know
    no more than an id.

    chunk_id    unique among the results of a question
    doc_id      the document that it is from
    start, end  offsets there, in characters; both or neither
    text        of the chunk
    score       higher is better; None where the system gives an order alone
    pages       that the chunk is on, from 1; None where the system does not say
    """

    chunk_id: str
    doc_id: str | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None
    score: float | None = None
    pages: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False)
class Chunks:
    """All chunks of a corpus, as columns in the order of documents and positions.

    documents   d of them
    owner       (n,) the document that owns each chunk
    start, end  (n,) offsets into its text
    """

    documents: Sequence[Document]
    owner: Ints
    start: Ints
    end: Ints

    @classmethod
    def of(cls, documents: Sequence[Document], spans: Callable[[str], Iterable[Span]]) -> Chunks:
        """Chunks of every document, by a function from text to spans."""
        spans_of = [list(spans(document.text)) for document in documents]
        flat = np.array(list(chain.from_iterable(spans_of)), np.int64).reshape(-1, 2)
        owner = np.repeat(np.arange(len(documents)), list(map(len, spans_of)))
        return cls(documents, owner, flat[:, 0], flat[:, 1])

    def __len__(self) -> int:
        return len(self.owner)

    @cached_property
    def ids(self) -> list[str]:
        """n ids: the document's, #, and the chunk's number in it, from 1."""
        firsts = np.searchsorted(self.owner, np.arange(len(self.documents)))
        numbers = np.arange(len(self)) - firsts[self.owner] + 1
        names = [document.doc_id for document in self.documents]
        return [f"{names[o]}#{i}" for o, i in zip(self.owner.tolist(), numbers.tolist(), strict=True)]

    @cached_property
    def texts(self) -> list[str]:
        """n texts."""
        whole = [document.text for document in self.documents]
        spans = zip(self.owner.tolist(), self.start.tolist(), self.end.tolist(), strict=True)
        return [whole[o][a:b] for o, a, b in spans]

    def passage(self, i: int, score: float) -> Passage:
        """Chunk i as it is retrieved."""
        return Passage(*self._rows[i], score)

    def passages(self, positions: Iterable[int], scores: Iterable[float]) -> tuple[Passage, ...]:
        """Chunks as they are retrieved, one score each."""
        # As `Passage(*row, score)`, without a call of Python for each.
        rows, new = self._rows, tuple.__new__
        return tuple([new(Passage, (*rows[i], score, None)) for i, score in zip(positions, scores, strict=True)])

    def ids_at(self, positions: Ints) -> tuple[str, ...]:
        """Ids of some chunks: long lists of candidates are looked up for every question."""
        return tuple(self._id_array[positions].tolist())

    @cached_property
    def _id_array(self) -> npt.NDArray[np.object_]:
        array = np.empty(len(self), object)
        array[:] = self.ids
        return array

    @cached_property
    def _rows(self) -> list[tuple[str, str, int, int, str]]:
        """Id, document, start, end and text of each chunk: one look-up a passage, as every question needs some."""
        names = [document.doc_id for document in self.documents]
        docs = [names[owner] for owner in self.owner.tolist()]
        return list(zip(self.ids, docs, self.start.tolist(), self.end.tolist(), self.texts, strict=True))
