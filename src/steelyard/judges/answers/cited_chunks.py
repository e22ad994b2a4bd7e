"""The chunks of the context that an answer cites, and what is wrong with marks that name none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from steelyard.judges.verdict import CitedChunk, Problem, Unit
from steelyard.text.cited import CitedTarget, Names, is_file_name, read_items
from steelyard.text.citing import Mark, citation_marks
from steelyard.text.footnotes import Footnote


def cited_chunks(
    units: Sequence[Unit], marks: Sequence[Mark], notes: Sequence[Footnote], names: Names
) -> list[CitedChunk]:
    """The citations of units, in the order of the answer.

    marks   of the answer;   notes   its footnotes, in which a mark is no citation
    """
    place_of = _Places(names, marks, notes)
    cited: list[CitedChunk] = []
    unit, seen = 0, set[tuple[int, int | str]]()
    for mark in marks_outside(marks, notes):
        while unit < len(units) and units[unit].end <= mark.start:
            unit += 1
        if unit == len(units) or units[unit].start > mark.start:
            continue
        for target in mark.targets:
            for chunk, problem in place_of.target(target):
                key = (unit, target.text if chunk is None else chunk)
                if key not in seen:
                    seen.add(key)
                    cited.append(CitedChunk(unit, mark.start, mark.end, mark.text, chunk, problem))
    return cited


class _Places:
    """Places in the context of the targets of an answer's marks."""

    def __init__(self, names: Names, marks: Sequence[Mark], notes: Sequence[Footnote]) -> None:
        self._names = names
        self._n = len(names.ids)
        self._notes = {note.label: place for note in notes if (place := self._note_place(note)) is not None}
        targets = [target for mark in marks_outside(marks, notes) for target in mark.targets]
        numbers = [target for target in targets if target.first is not None and target.counts == "places"]
        self._by_id = bool(numbers) and all(str(t.first) in names.place and str(t.last) in names.place for t in numbers)
        from_zero = [n for t in targets if t.counts == "places_from_0" for n in (t.first, t.last)]
        # Some versions of RAGFlow count from 1 in their prompt: then no number is 0, and the last chunk's is its count.
        self._first = 1 if self._n in from_zero and 0 not in from_zero else 0

    def target(self, target: CitedTarget) -> Iterator[tuple[int | None, Problem | None]]:
        """The place of each chunk that a target names, and what is wrong where there is none."""
        if target.malformed:
            yield None, "malformed"
        elif target.counts == "pages" or target.document:
            yield from self._source(target)
        elif target.first is None or target.last is None:
            place = self._id_place(target.text)
            yield place, None if place is not None else "dangling"
        elif target.counts == "places_from_0":
            numbers = range(target.first - self._first, min(target.last - self._first, self._n) + 1)
            yield from ((n, None) if 0 <= n < self._n else (None, "out_of_range") for n in numbers or (self._n,))
        else:
            yield from self._numbers(target.first, target.last)

    def _source(self, target: CitedTarget) -> Iterator[tuple[int | None, Problem | None]]:
        """The chunks of the pages of a target, or the only chunk of its document."""
        chunks = self._chunks_of(target.document)
        pages = {chunk: self._names.pages[chunk] for chunk in chunks} if self._names.pages else {}
        if not chunks:
            yield None, "dangling"
        elif len(chunks) == 1 and target.document and (target.first is None or pages.get(chunks[0]) is None):
            yield chunks[0], None
        elif target.first is None or target.last is None:
            yield None, "malformed"
        elif all(numbers is None for numbers in pages.values()):
            yield None, "no_pages"
        else:
            cited = [n for n in chunks if any(target.first <= page <= target.last for page in pages.get(n) or ())]
            yield from ((chunk, None) for chunk in cited)
            if not cited:
                yield None, "out_of_range"

    def _chunks_of(self, document: str) -> Sequence[int]:
        """The chunks of a document, all of them where none is named; a title is that of the only document there is."""
        names = self._names
        own = names.chunks_of(document)
        n_documents = len(set(names.of_document.values()))
        is_title = document and not is_file_name(document) and n_documents <= 1
        return range(self._n) if not document or is_title else own

    def _numbers(self, first: int, last: int) -> Iterator[tuple[int | None, Problem | None]]:
        beyond = False
        largest = max(self._n, max((int(label) for label in self._notes if label.isdecimal()), default=0))
        numbers = range(first, last + 1) if self._by_id else range(first, min(last, largest) + 1)
        for number in numbers:
            place = self._number_place(number)
            if place is None:
                beyond = True
            else:
                yield place, None
        if beyond or (last > largest and not self._by_id):
            yield None, "out_of_range"

    def _number_place(self, number: int) -> int | None:
        if self._by_id:
            return self._names.place.get(str(number))
        if (place := self._notes.get(str(number))) is not None:
            return place
        return number - 1 if 1 <= number <= self._n else None

    def _id_place(self, id: str) -> int | None:
        place = self._names.place.get(id)
        place = self._notes.get(id) if place is None else place
        return self._only_chunk(id) if place is None else place

    def _note_place(self, note: Footnote) -> int | None:
        """The chunk that a footnote names: with its whole text, or as a mark in it."""
        text = note.text.strip(" \t`*_.。<>()[]【】")
        place = self._names.place.get(text, self._only_chunk(text))
        if place is not None or not note.label:
            return place
        marks = citation_marks(note.text, self._names)
        for target in [*read_items(text, self._names), *(target for mark in marks for target in mark.targets)]:
            if target.is_id or target.document:
                places = [self._names.place.get(target.text)] if target.is_id else [p for p, _ in self._source(target)]
                if len(places) == 1 and places[0] is not None:
                    return places[0]
        return None

    def _only_chunk(self, document: str) -> int | None:
        chunks = self._names.chunks_of(document)
        return chunks[0] if len(chunks) == 1 else None


def marks_outside(marks: Sequence[Mark], notes: Sequence[Footnote]) -> Iterator[Mark]:
    """The marks that are in no footnote."""
    next_note = 0
    for mark in marks:
        while next_note < len(notes) and notes[next_note].end <= mark.start:
            next_note += 1
        if next_note == len(notes) or mark.start < notes[next_note].start:
            yield mark
