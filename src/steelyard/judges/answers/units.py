"""The units of an answer: its sentences, each with the chunks that it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from steelyard.judges.answers.assertions import no_claim
from steelyard.judges.answers.leads import with_leads
from steelyard.judges.verdict import CitedChunk, Problem, Unit
from steelyard.text.citing import CitedTarget, Mark, Names, citation_marks, fenced_blocks, inline_code
from steelyard.text.footnotes import Footnote, footnotes
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

_WORD_JOINER = "\u2060"  # in place of a mark that opens a line: neither white space nor a word
_BREAKING_TAG = re.compile(r"</?(?:p|div|li|ul|ol|br|h[1-6]|table|thead|tbody|tr|blockquote|hr)\b[^<>\n]{0,200}>", re.I)
_TAG = re.compile(
    r"</?(?:p|div|li|ul|ol|br|h[1-6]|table|thead|tbody|tr|td|th|blockquote|hr|span|b|i|em|strong|u|a|mark|small|font|code)"
    r"\b[^<>\n]{0,200}>",
    re.IGNORECASE,
)
_CELL = re.compile(r"<t[dh]\b", re.I)
_ITEM = re.compile(
    r"""(?:\s*(?:[-*+•>]\s+|\d{1,3}[.)]\s+|\d{1,3}[、．]|[一二三四五六七八九十]{1,3}、|[（(][一二三四五六七八九十\d]{1,3}[）)]|[①-⑳]\s*))+""",
    re.VERBOSE,
)
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_LONG_LINE = 60  # columns, an ideograph two of them: of a line that may have been wrapped
_SMALL = re.compile(r"[^\S\n]*[a-z]")


def answer_units(answer: str, context_ids: Sequence[str] = ()) -> list[Unit]:
    """The sentences of an answer, in order.

    context_ids  of the chunks that the generator saw, by which marks are known that are ids without a "#"

    Beside what ends a sentence in any text, a line break does, unless the text is wrapped there.  A fenced block is one
    unit.  Marks behind a full stop are part of the sentence before, marks that open a line of the one behind them.
    Footnotes and the list of sources are no units.  `text` has no marks, no tags of HTML, and no number or sign of an
    item.  Time is linear in the length of the answer.

    >>> answer = "Hello!\\n1. It opens at 9. [1]\\n\\nSources:\\n[1] a.pdf"
    >>> [(unit.text, unit.no_claim) for unit in answer_units(answer)]
    [('Hello!', 'greeting'), ('It opens at 9.', '')]
    """
    marks = citation_marks(answer, context_ids)
    return with_leads(answer, _units(answer, marks, footnotes(answer, marks)))


def gold_units(answer: str, alternative: int = 0) -> list[Unit]:
    """The units of a gold answer.

    alternative  which of several gold answers it is, from 0
    """
    return [replace(unit, alternative=alternative) for unit in answer_units(answer)]


def units_with_citations(answer: str, context_ids: Sequence[str]) -> tuple[list[Unit], list[CitedChunk]]:
    """The sentences of an answer, as `answer_units` gives them, and its citations, in the order of the answer.

    context_ids  of the chunks that the generator saw, in order

    A citation is of one chunk, each once within its unit.  A range is a citation of each of its chunks, and what is
    beyond the context is one that is out of range.  A mark outside of all units, such as one within a footnote, is no
    citation.

    >>> units, citations = units_with_citations("It opens at 9 [2-4].", ["a#1", "a#2", "a#3"])
    >>> [(cited.chunk, cited.problem) for cited in citations]
    [(1, None), (2, None), (None, 'out_of_range')]
    """
    marks = citation_marks(answer, context_ids)
    notes = footnotes(answer, marks)
    units = _units(answer, marks, notes)
    return with_leads(answer, units), _cited_chunks(units, marks, notes, Names(context_ids)) if marks else []


def _cited_chunks(
    units: Sequence[Unit], marks: Sequence[Mark], notes: Sequence[Footnote], names: Names
) -> list[CitedChunk]:
    place_of = _Places(names, marks, notes)
    cited: list[CitedChunk] = []
    unit, seen = 0, set[tuple[int, int | str]]()
    for mark in _outside(marks, notes):
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
        numbers = [t for mark in _outside(marks, notes) for t in mark.targets if t.first is not None]
        self._by_id = bool(numbers) and all(str(t.first) in names.place and str(t.last) in names.place for t in numbers)

    def target(self, target: CitedTarget) -> Iterator[tuple[int | None, Problem | None]]:
        """The place of each chunk that a target names, and what is wrong where there is none."""
        if target.malformed:
            yield None, "malformed"
        elif target.first is None or target.last is None:
            place = self._id_place(target.text)
            yield place, None if place is not None else "dangling"
        else:
            yield from self._numbers(target.first, target.last)

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
        return self._names.of_document.get(id) if place is None else place

    def _note_place(self, note: Footnote) -> int | None:
        """The chunk that a footnote names: with its whole text, or as a mark in it."""
        text = note.text.strip(" \t`*_.。<>()[]【】")
        place = self._id_place_of_names(text)
        if place is not None or not note.label:
            return place
        targets = [target for mark in citation_marks(note.text, self._names.ids) for target in mark.targets]
        return next((p for t in targets if t.is_id and (p := self._id_place_of_names(t.text)) is not None), None)

    def _id_place_of_names(self, id: str) -> int | None:
        place = self._names.place.get(id)
        return self._names.of_document.get(id) if place is None else place


def _outside(marks: Sequence[Mark], notes: Sequence[Footnote]) -> Iterator[Mark]:
    """The marks that are in no footnote."""
    next_note = 0
    for mark in marks:
        while next_note < len(notes) and notes[next_note].end <= mark.start:
            next_note += 1
        if next_note == len(notes) or mark.start < notes[next_note].start:
            yield mark


def _units(answer: str, marks: Sequence[Mark], notes: Sequence[Footnote]) -> list[Unit]:
    marks = list(_outside(marks, notes))
    fenced = [span for span in fenced_blocks(answer) if not any(n.start < span[1] and span[0] < n.end for n in notes)]
    masked = _masked(answer, marks)
    apart = sorted([*((note.start, note.end) for note in notes), *fenced])
    pieces: list[Span] = list(fenced)
    start = 0
    for left, right in [*apart, (len(answer), len(answer))]:
        pieces += _sentences(masked, start, left)
        start = max(start, right)
    pieces.sort()
    return _labelled(answer, _with_marks(masked, pieces, marks), marks, set(fenced))


def _masked(answer: str, marks: Sequence[Mark]) -> str:
    """The answer with nothing in marks, tags and code that would end a sentence; every character keeps its place."""
    masked = list(answer)

    def fill(start: int, end: int, filling: str) -> None:
        masked[start:end] = filling * (end - start)

    for match in _TAG.finditer(answer):
        fill(match.start(), match.end(), "\n" if _BREAKING_TAG.fullmatch(match[0]) else " ")
    for start, end in inline_code(answer):
        fill(start, end, "x")
    for mark in marks:
        fill(mark.start, mark.end, " ")
    line_start = 0
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        line_start = max(line_start, answer.rfind("\n", line_start, mark.start) + 1)
        by_line.setdefault(line_start, []).append(mark)
    for start, in_line in by_line.items():
        if not answer[start : in_line[0].start].strip():
            end = answer.find("\n", in_line[-1].end)
            rest = answer[in_line[-1].end : len(answer) if end < 0 else end]
            # Where a mark opens the line and none closes it, marks stand before what they are for.
            for mark in in_line if rest.strip(" \t.。,，;；") else in_line[:1]:
                fill(mark.start, mark.end, _WORD_JOINER)
    return "".join(masked)


def _sentences(masked: str, start: int, end: int) -> Iterator[Span]:
    """Sentences of a stretch of the masked answer; lines are apart where the text is not wrapped."""
    for first, last in _unwrapped(masked, start, end):
        for left, right in sentence_spans(masked[first:last]):
            yield first + left, first + right


def _unwrapped(masked: str, start: int, end: int) -> Iterator[Span]:
    """Stretches between line breaks that are no mere wrapping.

    A break is wrapping where the next line begins with a small letter, unless the line before ends with a colon, where
    that line ends with a comma, or where it is long and ends without a mark.
    """
    first = line = start
    place = masked.find("\n", start, end)
    while place >= 0:
        before = masked[line:place].rstrip()
        if not before or before[-1] in ":：" or not (_SMALL.match(masked, place + 1, end) or _is_open(before)):
            yield first, place
            first = place + 1
        line = place + 1
        place = masked.find("\n", line, end)
    yield first, end


def _is_open(line: str) -> bool:
    """True for a line that goes on in the next one."""
    if line.endswith((",", "，", "、")):
        return True
    width = sum(1 if character.isascii() else 2 for character in line[:_LONG_LINE])
    return width >= _LONG_LINE and line[-1].isalnum()


def _with_marks(masked: str, pieces: Sequence[Span], marks: Sequence[Mark]) -> list[Span]:
    """The pieces, those of marks alone joined to the one before, and each drawn out over the marks behind it."""
    joined: list[Span] = []
    for start, end in pieces:
        if joined and not masked[start:end].strip(f"{_WORD_JOINER} \n.。,，;；"):
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
    next_mark = 0
    for i, (start, end) in enumerate(joined):
        following = joined[i + 1][0] if i + 1 < len(joined) else len(masked)
        while next_mark < len(marks) and marks[next_mark].start < following:
            end = max(end, marks[next_mark].end)
            start = min(start, marks[next_mark].start) if i == 0 else start
            next_mark += 1
        joined[i] = (start, end)
    if not joined and marks:
        joined = [(marks[0].start, marks[-1].end)]
    return joined


def _labelled(answer: str, pieces: Sequence[Span], marks: Sequence[Mark], fenced: set[Span]) -> list[Unit]:
    units, next_mark = list[Unit](), 0
    for i, (start, end) in enumerate(pieces):
        inside = []
        while next_mark < len(marks) and marks[next_mark].start < end:
            inside.append((marks[next_mark].start, marks[next_mark].end))
            next_mark += 1
        if (start, end) in fenced:
            units.append(Unit(start, end, answer[start:end], "code"))
            continue
        text = _plain(answer, start, end, inside)
        line_end = answer.find("\n", end)
        ends_line = not answer[end : len(answer) if line_end < 0 else line_end].strip()
        reason = no_claim(text, stands_above=ends_line and i + 1 < len(pieces))
        if not reason and i + 1 < len(pieces) and _DELIMITER_ROW.fullmatch(answer, *pieces[i + 1]):
            reason = "heading" if "|" in text or "|" in answer[slice(*pieces[i + 1])] else reason
        units.append(Unit(start, end, _ITEM.sub("", text, count=1) if _ITEM.match(text) else text, reason))
    return units


def _plain(answer: str, start: int, end: int, marks: Sequence[Span]) -> str:
    """The text of a unit without marks and tags, and without the blanks before them."""
    text, last = "", start
    cuts = sorted([*marks, *(match.span() for match in _TAG.finditer(answer, start, end))])
    for left, right in cuts:
        if left < last:
            continue
        text += answer[last:left] + (" | " if _CELL.match(answer, left, right) else "")
        following = answer[right : right + 1] if right < end else ""
        if text[-1:].isspace() and not following.isalnum():
            text = text.rstrip(" \t")
        last = right
    return (text + answer[last:end]).strip()
