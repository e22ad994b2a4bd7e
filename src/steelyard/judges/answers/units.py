"""The units of an answer: its sentences, each with the chunks that it cites."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace

from steelyard.judges.answers.assertions import no_claim
from steelyard.judges.answers.cited_chunks import cited_chunks, marks_outside
from steelyard.judges.answers.clauses import clause_spans
from steelyard.judges.answers.leads import with_leads
from steelyard.judges.answers.plain import TAG, bare, without_sign, without_tags
from steelyard.judges.verdict import CitedChunk, Unit
from steelyard.text.cited import Names
from steelyard.text.citing import Mark, citation_marks, fenced_blocks, inline_code
from steelyard.text.footnotes import Footnote, footnotes
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

_WORD_JOINER = "\u2060"  # in place of a mark that opens a line: neither white space nor a word
_BREAKING_TAG = re.compile(r"</?(?:p|div|li|ul|ol|br|h[1-6]|table|thead|tbody|tr|blockquote|hr)\b[^<>\n]{0,200}>", re.I)
_HEADING_TAG = re.compile(r"<(?:h[1-6]|th)\b[^<>\n]{0,200}>\s*\Z", re.I)
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?\s*")
_ROW = re.compile(r"^[^\S\n]*\|[^\n]*\|[^\S\n]*$", re.MULTILINE)
_QUOTED = re.compile(r"“[^”\n]{1,300}”|「[^」\n]{1,300}」|『[^』\n]{1,300}』|（[^）\n]{1,300}）|\"[^\"\n]{1,300}\"")
_STOPS, _CLOSERS, _BEFORE_SENTENCE = ".。！!？?；;…", '”」』）"', "\n.。！!？?；;…”」』）"
_ENDS, _NO_END = re.compile(f"[{_STOPS}]"), "·"
_LONG_LINE = 60  # columns, an ideograph two of them: of a line that may have been wrapped
_SMALL = re.compile(r"[^\S\n]*[a-z]")
_FENCED_WHOLE = re.compile(
    r"(?P<opening>\s*```[^\S\n]*(?:markdown|md)[^\S\n]*\n)(?P<inside>(?:(?!```)[\s\S])*)\n[^\S\n]*```\s*", re.IGNORECASE
)
_REST_OF_LINE = re.compile(r"[^\S\n]*(?:\n|\Z)")


def answer_units(answer: str, context: Sequence[str] | Names = ()) -> list[Unit]:
    """The sentences of an answer, in order.

    context   ids of the chunks that the generator saw, or these with their documents, by which marks are known that are
              ids without a "#" or names of documents

    Beside what ends a sentence in any text, a line break does, unless the text is wrapped there, and in a long sentence
    a comma between clauses; a quotation within a sentence ends none.  A fenced block is one unit, and so is a row of a
    table.  Marks behind a full stop are part of the sentence before, marks that open a line of the one behind them.
    Footnotes and the list of sources are no units.  `text` has no marks, no tags or signs of HTML and Markdown, no
    number or sign of an item, and not what a sentence says of its source.  Time is linear in the length of the answer.

    >>> answer = "Hello!\\n1. It opens at 9. [1]\\n\\nSources:\\n[1] a.pdf"
    >>> [(unit.text, unit.no_claim) for unit in answer_units(answer)]
    [('Hello!', 'greeting'), ('It opens at 9.', '')]
    """
    answer = _unfenced(answer)
    marks = citation_marks(answer, context)
    return _layout(answer, marks, footnotes(answer, marks)).units


def gold_units(answer: str, alternative: int = 0) -> list[Unit]:
    """The units of a gold answer.

    alternative  which of several gold answers it is, from 0
    """
    return [replace(unit, alternative=alternative) for unit in answer_units(answer)]


def units_with_citations(answer: str, context: Sequence[str] | Names) -> tuple[list[Unit], list[CitedChunk]]:
    """The sentences of an answer, as `answer_units` gives them, and its citations, in the order of the answer.

    context   ids of the chunks that the generator saw, in order, or these with their documents and pages

    A citation is of one chunk, each once within its unit.  A range, or a page, is a citation of each of its chunks, and
    what is beyond the context is one that is out of range.  A clause without citations has those of its sentence.  A
    mark outside of all units, such as one within a footnote, is no citation.

    >>> units, citations = units_with_citations("It opens at 9 [2-4].", ["a#1", "a#2", "a#3"])
    >>> [(cited.chunk, cited.problem) for cited in citations]
    [(1, None), (2, None), (None, 'out_of_range')]
    """
    answer = _unfenced(answer)
    marks = citation_marks(answer, context)
    notes = footnotes(answer, marks)
    layout = _layout(answer, marks, notes)
    cited = cited_chunks(layout.units, marks, notes, Names.of(context)) if marks else []
    return layout.units, _shared(cited, layout)


def _unfenced(answer: str) -> str:
    """The answer with blanks in place of a fence around all of it that says that it is Markdown."""
    match = _FENCED_WHOLE.fullmatch(answer)
    return answer if match is None else f"{' ' * match.end('opening')}{match['inside']}".ljust(len(answer))


@dataclass(frozen=True)
class _Layout:
    """The units of an answer;   continued   the places of those that go on with the sentence of the one before"""

    units: list[Unit]
    continued: Set[int]


def _layout(answer: str, marks: Sequence[Mark], notes: Sequence[Footnote]) -> _Layout:
    marks = list(marks_outside(marks, notes))
    fenced = fenced_blocks(answer)  # No footnote is in one.
    masked = _masked(answer, marks)
    apart = sorted([*((note.start, note.end) for note in notes), *fenced])
    pieces, starts, start = list[Span](fenced), set[int](), 0
    for left, right in [*apart, (len(answer), len(answer))]:
        for sentence in _sentences(masked, start, left):
            clauses = list(clause_spans(masked, *sentence))
            starts.update(clause for clause, _ in clauses[1:])
            pieces += clauses
        start = max(start, right)
    pieces.sort()
    units = _labelled(answer, masked, _with_marks(masked, pieces, marks), marks, set(fenced))
    continued = {n for n, unit in enumerate(units) if unit.start in starts}
    return _Layout(with_leads(answer, units, continued), continued)


def _shared(cited: Sequence[CitedChunk], layout: _Layout) -> list[CitedChunk]:
    """The citations, those of a clause also of the clauses of its sentence that have none."""
    own: dict[int, list[CitedChunk]] = {}
    for citation in cited:
        own.setdefault(citation.unit, []).append(citation)
    n_units = len(layout.units)
    for unit, nearest in [
        *((n, n + 1) for n in reversed(range(n_units - 1)) if n + 1 in layout.continued),
        *((n, n - 1) for n in range(n_units) if n in layout.continued),
    ]:
        if unit not in own and nearest in own:
            own[unit] = [replace(citation, unit=unit) for citation in own[nearest]]
    return [citation for unit in sorted(own) for citation in own[unit]]


def _masked(answer: str, marks: Sequence[Mark]) -> str:
    """The answer with nothing in marks, tags and code that would end a sentence; every character keeps its place."""
    masked = list(answer)

    def fill(start: int, end: int, filling: str) -> None:
        masked[start:end] = filling * (end - start)

    for match in TAG.finditer(answer):
        fill(match.start(), match.end(), "\n" if _BREAKING_TAG.fullmatch(match[0]) else " ")
    for start, end in inline_code(answer):
        fill(start, end, "x")
    for start, end in _unending(answer):
        masked[start:end] = _ENDS.sub(_NO_END, "".join(masked[start:end]))
    for mark in marks:
        fill(mark.start, mark.end, " ")
    line_start = searched = 0
    by_line: dict[int, list[Mark]] = {}
    for mark in marks:
        line_start = max(line_start, answer.rfind("\n", searched, mark.start) + 1)
        searched = mark.start
        by_line.setdefault(line_start, []).append(mark)
    for start, in_line in by_line.items():
        if not answer[start : in_line[0].start].strip():
            end = answer.find("\n", in_line[-1].end)
            rest = answer[in_line[-1].end : len(answer) if end < 0 else end]
            # Where a mark opens the line and none closes it, marks stand before what they are for.
            for mark in in_line if rest.strip(" \t.。,，;；") else in_line[:1]:
                fill(mark.start, mark.end, _WORD_JOINER)
    return "".join(masked)


def _unending(answer: str) -> Iterator[Span]:
    """Stretches in which no sentence ends: rows of tables, and quotations within a sentence but for their last mark."""
    yield from (match.span() for match in _ROW.finditer(answer))
    for match in _QUOTED.finditer(answer):
        before = answer[max(0, match.start() - 3) : match.start()].rstrip(" \t*_")
        if before and before[-1] not in _BEFORE_SENTENCE:
            yield match.start() + 1, match.start() + len(match[0].rstrip(_CLOSERS).rstrip(_STOPS))


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


def _labelled(answer: str, masked: str, pieces: Sequence[Span], marks: Sequence[Mark], fenced: set[Span]) -> list[Unit]:
    units, next_mark = list[Unit](), 0
    for i, (start, end) in enumerate(pieces):
        inside = []
        while next_mark < len(marks) and marks[next_mark].start < end:
            inside.append((marks[next_mark].start, marks[next_mark].end))
            next_mark += 1
        if (start, end) in fenced:
            units.append(Unit(start, end, answer[start:end], "code"))
            continue
        text = without_tags(answer, start, end, inside)
        ends_line = _REST_OF_LINE.match(masked, end) is not None
        below = pieces[i + 1] if i + 1 < len(pieces) else None
        reason = no_claim(text, stands_above=ends_line and below is not None, leads_list=_is_item(answer, end, below))
        if not reason and _is_html_heading(answer, pieces[i - 1][1] if i else 0, start, end):
            reason = "heading"
        if not reason and i + 1 < len(pieces) and _DELIMITER_ROW.fullmatch(answer, *pieces[i + 1]):
            reason = "heading" if "|" in text or "|" in answer[slice(*pieces[i + 1])] else reason
        text = without_sign(text)
        units.append(Unit(start, end, text if reason else bare(text), reason))
    return units


def _is_item(answer: str, before: int, piece: Span | None) -> bool:
    """True for an item of a list, in Markdown or HTML, that begins a line."""
    if piece is None or not re.search(r"\n|<li\b", answer[before : piece[0]], re.IGNORECASE):
        return False
    text = answer[slice(*piece)]
    return without_sign(text) != text or answer[before : piece[0]].rstrip().lower().endswith("<li>")


def _is_html_heading(answer: str, before: int, start: int, end: int) -> bool:
    """True for a heading, and for a row of a table that has only heads of columns."""
    return _HEADING_TAG.search(answer, before, start) is not None and "<td" not in answer[start:end].lower()
