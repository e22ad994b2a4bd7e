"""The sources that an answer lists at its end, and the footnotes that it defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import dropwhile, takewhile

from steelyard.text.citing import Mark, fenced_blocks
from steelyard.text.spans import Span

SOURCES = r"""(?:sources?|references?|citations?|footnotes?|bibliography|works\ cited|cited\ (?:sources|documents)
    |(?:参考|引用|资料|信息|数据)?(?:来源|出处)|参考(?:文献|资料|文档)?|引用(?:文献|资料|文档)?|注释|脚注)"""
"""Words above, or before, a list of sources, as the inside of a verbose regular expression."""

_HEADING = re.compile(rf"[\s\#*_>-]*{SOURCES}[\s*_]*(?:[:：][\s*_]*){{0,2}}", re.VERBOSE | re.IGNORECASE)
_DEFINITION = re.compile(r"\s*\[(?P<label>\^?[^\[\]\s]{1,40})\]:\s*(?P<text>.*)")
_LABELLED = re.compile(
    r"""\s*(?:[-*•]\s+)?(?:[\[【［〔]\^?(?P<label>\d{1,3})[\]】］〕]|(?P<raised>[⁰¹²³⁴-⁹]{1,3}))
    \s*[:：.–—-]?\s*(?P<text>.*)""",
    re.VERBOSE,
)
_LISTED = re.compile(r"\s*(?:[-*•]|(?P<label>\d{1,3})[.)、．])\s*(?P<text>.*)")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
_SENTENCE = re.compile(r"[.。!！?？][\s”\"'’)）]*\Z")
_BLANKS = 200  # white space looked at before a line
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


@dataclass(frozen=True, slots=True)
class Footnote:
    """A line of an answer that says what a mark means, or names a source.

    start, end   its place in the answer
    label        the number or name that marks have; empty where it has none
    text         what it says
    """

    start: int
    end: int
    label: str
    text: str


def footnotes(answer: str, marks: Sequence[Mark] = ()) -> list[Footnote]:
    """The lines of an answer that are footnotes or its list of sources, a heading above these and a rule among them.

    marks   of the answer

    Lines that begin as [^1]: or [1]: are footnotes wherever they are.  Lines at the end are so that are a list below a
    heading such as "Sources:"; and lines that begin with a number in brackets, as [1] hours.pdf, below a blank line,
    where numbers of them are cited above, and the others are no sentences.

    >>> [(note.label, note.text) for note in footnotes("At nine [1].\\n\\nSources:\\n[1] hours.pdf")]
    [('', ''), ('1', 'hours.pdf')]
    """
    lines = _lines(answer)
    defined = [note for line in lines if (note := _note(answer, *line, _DEFINITION)) is not None]
    closing = _closing_list(answer, lines, marks)
    starts = {note.start for note in closing}
    return sorted([*closing, *(note for note in defined if note.start not in starts)], key=lambda note: note.start)


def _lines(answer: str) -> list[Span]:
    """The lines with a text, fenced blocks left out."""
    fenced, lines, next_block = fenced_blocks(answer), [], 0
    for match in re.finditer(r"[^\n]+", answer):
        while next_block < len(fenced) and fenced[next_block][1] <= match.start():
            next_block += 1
        inside = next_block < len(fenced) and fenced[next_block][0] <= match.start()
        if match[0].strip() and not inside:
            lines.append(match.span())
    return lines


def _note(answer: str, start: int, end: int, *forms: re.Pattern[str]) -> Footnote | None:
    """A line as a footnote of the first of these forms that it has; None where it has none."""
    for form in forms:
        if (match := form.fullmatch(answer, start, end)) is not None:
            groups = match.groupdict("")
            label = groups.get("label") or groups.get("raised", "").translate(_RAISED)
            return Footnote(start, end, label.strip("^"), groups.get("text", "").strip())
    return None


def _closing_list(answer: str, lines: Sequence[Span], marks: Sequence[Mark]) -> list[Footnote]:
    """The list of sources at the end, its heading first; something is above it."""
    notes: list[Footnote] = []
    for start, end in reversed(lines[1:]):
        if _HEADING.fullmatch(answer, start, end):
            return [Footnote(start, end, "", ""), *reversed(notes)] if notes else []
        note = _note(answer, start, end, _LABELLED, _DEFINITION, _LISTED, _RULE)
        if note is None:
            break
        notes.append(note)
    return _cited_block(answer, notes, marks)


def _cited_block(answer: str, notes: Iterable[Footnote], marks: Sequence[Mark]) -> list[Footnote]:
    """Footnotes without a heading, of the notes from the last one up: below a blank line, with numbers in brackets.

    Some of them are cited above, and those that are not are no sentences.
    """
    block = list(takewhile(lambda note: note.text and _LABELLED.fullmatch(answer, note.start, note.end), notes))[::-1]
    block = list(dropwhile(lambda note: not _is_below_blank_line(answer, note.start), block))
    above = takewhile(lambda mark: mark.end <= block[0].start, marks) if block else ()
    numbers = {number for mark in above for target in mark.targets for number in target.places}
    are_cited = [int(note.label) in numbers for note in block]
    are_notes = [is_cited or not _SENTENCE.search(note.text) for is_cited, note in zip(are_cited, block, strict=True)]
    return block if any(are_cited) and all(are_notes) else []


def _is_below_blank_line(answer: str, start: int) -> bool:
    before = answer[max(0, start - _BLANKS) : start]
    text = before.rstrip()
    return text.endswith(("---", "***", "___")) or before[len(text) :].count("\n") > 1
