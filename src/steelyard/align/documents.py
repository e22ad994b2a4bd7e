"""Which document each name means that gold and chunks use, by number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from steelyard.align.gold import Gold, first_of
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import NOWHERE, ChunkTable
from steelyard.data.corpus import Document, DocumentNames, normal_name

_SHOWN = 4
_NAME_CORPUS = ", or name the documents (--documents)"


@dataclass(frozen=True)
class NumberedDocuments:
    """The documents by number, and the number that each name means.

    row    name -> number, of all names that chunks and gold use, and that mean a document
    n      the documents of the corpus, or those that the chunks name; higher numbers are of what gold alone names
    texts  the documents; None where only the chunks name them
    """

    row: Mapping[str, int]
    n: int
    texts: Sequence[Document] | None

    @classmethod
    def of(cls, documents: Sequence[Document] | None, table: ChunkTable, gold: Gold) -> NumberedDocuments:
        """The documents, or those that the chunks name where there are none.

        Raises   InputError for a name that may mean several documents, naming the first questions.
        """
        if documents is None:
            return cls(*_number_names(table, gold), None)
        names = DocumentNames.of(documents)
        labelled = {doc: names.candidates(doc) for doc in gold.documents}
        retrieved = {doc: names.candidates(doc) for doc in set(table.docs) if doc is not None}
        wanted = {number for numbers in labelled.values() for number in numbers}
        refusals = [_refusal(gold, doc, [names.ids[i] for i in numbers]) for doc, numbers in labelled.items()]
        # A chunk without a document harms nobody where the gold is in other ones.
        refusals += [
            _chunk_refusal(doc, [names.ids[i] for i in numbers] if wanted.intersection(numbers) else [])
            for doc, numbers in sorted(retrieved.items())
        ]
        _refuse(refusals)
        row = {doc: numbers[0] for doc, numbers in (labelled | retrieved).items() if len(numbers) == 1}
        return cls(row, len(documents), documents)

    def number(self, doc: str | None) -> int:
        """The number of a document, or NOWHERE."""
        return NOWHERE if doc is None else self.row.get(doc, NOWHERE)

    def are_one(self, doc: str, other: str) -> bool:
        """True if two names mean the same document."""
        return (number := self.number(doc)) != NOWHERE and number == self.number(other)

    def holds(self, number: int) -> bool:
        """True if this is the number of a document of the corpus, or of a chunk."""
        return 0 <= number < self.n


def _number_names(table: ChunkTable, gold: Gold) -> tuple[dict[str, int], int]:
    """Name -> number and the number of documents, where chunks and gold have names alone."""
    paths = {doc: normal_name(doc) for doc in {*table.docs} if doc is not None}
    # Sorted, so that no order of the input moves a number.
    names = DocumentNames.of_ids(sorted(set(paths.values())))
    fits = {doc: names.candidates(normal_name(doc)) for doc in gold.documents}
    _refuse([_refusal(gold, doc, [names.ids[i] for i in numbers], _NAME_CORPUS) for doc, numbers in fits.items()])
    row = {doc: names.candidates(path)[0] for doc, path in paths.items()}
    row |= {doc: numbers[0] for doc, numbers in fits.items() if numbers}
    for doc in _names_of_others(gold, names, {doc: row[doc] for doc, numbers in fits.items() if numbers}):
        del row[doc]
    others = sorted({normal_name(doc) for doc in gold.documents if doc not in row})
    number = {path: len(names.ids) + i for i, path in enumerate(others)}
    return row | {doc: number[normal_name(doc)] for doc in gold.documents if doc not in row}, len(names.ids)


def _names_of_others(gold: Gold, names: DocumentNames, labelled: Mapping[str, int]) -> Iterator[str]:
    """Names in the gold of other documents than the retrieved one that they seemed to mean.

    A chunk of `travel` is of the gold's `travel`, not of its `eu/travel`; without the former, it may be of the latter.
    Raises   InputError where it may be of several.
    """
    names_of: dict[int, list[str]] = {}
    for doc, number in labelled.items():
        names_of.setdefault(number, []).append(doc)
    refusals = list[str]()
    for number, docs in names_of.items():
        path = names.ids[number]
        if any(normal_name(doc) == path for doc in docs):
            yield from (doc for doc in docs if normal_name(doc).count("/") > path.count("/"))
        elif len(docs) > 1:
            longest = max(docs, key=lambda doc: (doc.count("/"), len(doc), doc))
            others = DocumentNames.of_ids([normal_name(longest)])
            odd = [doc for doc in docs if not others.candidates(normal_name(doc))]
            refusals.append(_chunk_refusal(path, [longest, *odd] if odd else [], _NAME_CORPUS))
    _refuse(refusals)


def _refusal(gold: Gold, doc: str, ids: Sequence[str], otherwise: str = "") -> str:
    """Why a name in the gold means no single document; nothing where it does."""
    if len(ids) < 2:
        return ""
    return f"{gold.where(gold.documents[doc])}: document {doc!r} may be {_either(ids)}; write one of these{otherwise}"


def _chunk_refusal(doc: str, ids: Sequence[str], otherwise: str = "") -> str:
    """Why the name of a retrieved chunk's document means no single one; nothing where it does."""
    if len(ids) < 2:
        return ""
    return (
        f"a retrieved chunk is of document {doc!r}, which may be {_either(ids)}, and gold is in one of them; let the "
        f"system name it so{otherwise}"
    )


def _either(ids: Sequence[str]) -> str:
    shown = " or ".join(map(repr, ids[:_SHOWN]))
    return f"{shown} (or {len(ids) - _SHOWN} more)" if len(ids) > _SHOWN else shown


def _refuse(refusals: Sequence[str]) -> None:
    if reasons := [refusal for refusal in refusals if refusal]:
        raise InputError(first_of(reasons))
