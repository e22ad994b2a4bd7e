"""Documents, the names by which gold may call them, and the chunks that a chunker made of them."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
import numpy.typing as npt

from steelyard.base.arrays import Ints
from steelyard.base.short_repr import plural, short_repr
from steelyard.io.source import strip_compression
from steelyard.text.spans import Span


@dataclass(frozen=True, slots=True, repr=False)
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

    def __repr__(self) -> str:
        return short_repr(self)


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

    def __repr__(self) -> str:
        return short_repr(self)


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        return f"Chunks({plural(len(self), 'chunk')} of {plural(len(self.documents), 'document')})"

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


_EXTENSION = re.compile(r"(?<=[^/])\.[A-Za-z][A-Za-z0-9]{0,9}\Z")
_FILE_EXTENSION = re.compile(r"\.\w+")

_Rows = dict[str, list[int]]


class DocumentNames:
    """Documents by all the names that they may go by.

    A name means a document by its id; else by its path; else as the end of id or path, in whole parts, down to the
    name of the file; else where id or path is the end of the name and no other document ends so.  Each of these holds
    with or without extension, unless both sides have one.  The first level at which a name fits anything decides.

    >>> names = DocumentNames.of([Document("hr/travel", "…", source="docs/hr/travel.md"), Document("fees", "…")])
    >>> [names.candidates(name) for name in ("travel", "travel.md", r"C:\\kb\\docs\\hr\\travel.md", "fees.pdf", "hr")]
    [[0], [0], [0], [1], []]
    """

    def __init__(self, ids: Sequence[str], sources: Sequence[str]) -> None:
        self.ids, self._sources = ids, sources
        self._number = {id: i for i, id in enumerate(ids)}
        self._made: dict[str, _Tables] = {}

    @classmethod
    def of(cls, documents: Sequence[Document]) -> DocumentNames:
        """Names of documents, which have an id, and a path where they are files."""
        return cls([document.doc_id for document in documents], [document.source for document in documents])

    @classmethod
    def of_ids(cls, ids: Sequence[str]) -> DocumentNames:
        """Names of documents that are known by one name each."""
        return cls(ids, [""] * len(ids))

    def candidates(self, name: str) -> list[int]:
        """The documents that a name fits equally well, by number: one of them if it is a name, several if ambiguous."""
        if name in self._number:
            return [self._number[name]]
        path = normal_name(name)
        tables = self._tables(path.rpartition("/")[2])
        for table in (tables.ids, tables.paths, tables.ends):
            if numbers := self._fitting(path, table):
                return numbers
        for end in _proper_ends(path):
            if numbers := self._fitting(end, tables.ends):
                whole = {*self._fitting(end, tables.ids), *self._fitting(end, tables.paths)}
                return numbers if whole == set(numbers) else []
        return []

    def _fitting(self, path: str, table: _Rows) -> list[int]:
        """The documents with this path, or without an extension where that is all that the path has more."""
        if path in table:
            return table[path]
        stems = [number for stem in _stems(path) for number in table.get(stem, ())]
        return [number for number in dict.fromkeys(stems) if self._is_without_extension(number)]

    def _is_without_extension(self, number: int) -> bool:
        return not _file_extension(self._sources[number]) and not _stems(normal_name(self.ids[number]))

    def _tables(self, file: str) -> _Tables:
        """The documents that a name may mean that ends in this."""
        if file not in self._made:
            stems = (file, *_stems(file))
            numbers = sorted({number for stem in stems for number in self._by_stem.get(stem, ())})
            self._made[file] = _Tables.of([(i, self.ids[i], self._sources[i]) for i in numbers])
        return self._made[file]

    @cached_property
    def _by_stem(self) -> _Rows:
        """Documents by the stems of their files: made for the first name that is no id; as a rule all are."""
        by_stem: _Rows = {}
        for number, (id, source) in enumerate(zip(self.ids, self._sources, strict=True)):
            paths = (id, source) if source and _file_extension(source) else (id,)
            _enter(by_stem, number, ([file, *_stems(file)][-1] for file in map(_file, paths)))
        return by_stem


def texts_of(documents: Sequence[Document], names: Iterable[str]) -> dict[str, str]:
    """Texts of documents by some names; those that mean none, or may mean several, are left out."""
    by_name, texts = DocumentNames.of(documents), dict[str, str]()
    for name in names:
        numbers = by_name.candidates(name)
        if len(numbers) == 1:
            texts[name] = documents[numbers[0]].text
    return texts


class _Tables(NamedTuple):
    """Documents by their ids, by the paths of their files, and by the ends of both; each with and without extension."""

    ids: _Rows
    paths: _Rows
    ends: _Rows

    @classmethod
    def of(cls, documents: Iterable[tuple[int, str, str]]) -> _Tables:
        """Names of some documents: number, id and source of each."""
        tables = cls({}, {}, {})
        for number, id, source in documents:
            extension = _file_extension(source)
            ids = [normal_name(id)]
            if extension and not id.endswith(extension):
                ids.append(ids[0] + extension)
            paths = [normal_name(source)] if extension else []
            forms = [[form for name in names for form in (name, *_stems(name))] for names in (ids, paths)]
            _enter(tables.ids, number, forms[0])
            _enter(tables.paths, number, forms[1])
            _enter(tables.ends, number, (end for form in (*forms[0], *forms[1]) for end in (form, *_proper_ends(form))))
        return tables


def normal_name(name: str) -> str:
    r"""A name as names are compared: in Unicode NFC, its parts divided by single slashes.

    >>> normal_name("docs\\.\\Cafe\u0301.md"), normal_name("/srv//docs/a.md")
    ('docs/Café.md', 'srv/docs/a.md')
    """
    if name.isascii() and "/" not in name and "\\" not in name:
        return name
    return posixpath.normpath(normalize("NFC", name).replace("\\", "/")).lstrip("/")


def _file(path: str) -> str:
    return normal_name(path).rpartition("/")[2]


def _enter(table: _Rows, number: int, names: Iterable[str]) -> None:
    for name in dict.fromkeys(names):
        table.setdefault(name, []).append(number)


def _proper_ends(path: str) -> Iterator[str]:
    """Parts of a name that follow each slash, the longest first."""
    at = path.find("/")
    while at >= 0:
        yield path[at + 1 :]
        at = path.find("/", at + 1)


def _stems(path: str) -> list[str]:
    """The path without the suffix of a compression, and without extension; nothing where it has neither.

    >>> _stems("a/b.txt.gz"), _stems("v1.5"), _stems("a.b/c")
    (['a/b.txt', 'a/b'], [], [])
    """
    if "." not in path:
        return []
    bare, _ = strip_compression(path)
    return [stem for stem in dict.fromkeys((bare, _EXTENSION.sub("", bare))) if stem != path]


def _file_extension(source: str) -> str:
    """The extension of a file's name, with that of its compression; empty where a document is no file of its own."""
    if "." not in source:
        return ""
    bare, _ = strip_compression(source)
    extension = PurePosixPath(bare).suffix
    return extension + source[len(bare) :] if _FILE_EXTENSION.fullmatch(extension) else ""
