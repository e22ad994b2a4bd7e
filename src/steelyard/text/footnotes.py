"""The sources that an answer lists at its end, and the footnotes that it defines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.text.citing import Mark
from steelyard.text.code_spans import fenced_blocks

SOURCES = r"""(?:sources?|references?|citations?|footnotes?|bibliography|works\ cited|cited\ (?:sources|documents)
    |(?:参考|引用|资料|信息|数据)?(?:来源|出处)|参考(?:文献|资料|文档)?|引用(?:文献|资料|文档)?|注释|脚注)"""
"""Words above, or before, a list of sources, as the inside of a verbose regular expression."""

_HEADING = re.compile(rf"[\s\#*_>-]*{SOURCES}\s*[:：]?[\s*_]*[:：]?\s*", re.VERBOSE | re.IGNORECASE)
_DEFINITION = re.compile(r"\s*\[(?P<label>\^?[^\[\]\s]{1,40})\]:\s*(?P<text>.*)")
_LABELLED = re.compile(
    r"""\s*(?:[-*•]\s+)?(?:[\[【［〔]\^?(?P<label>\d{1,3})[\]】］〕]|(?P<raised>[⁰¹²³⁴-⁹]{1,3}))
    \s*[:：.–—-]?\s*(?P<text>.*)""",
    re.VERBOSE,
)
_LISTED = re.compile(r"\s*(?:[-*•]|(?P<label>\d{1,3})[.)、．])\s*(?P<text>.*)")
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
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

    Lines that begin as [^1]: or [1]: are footnotes wherever they are.  Lines at the end that begin with a number in
    brackets, as [1] hours.pdf, are so where that number is cited above them; under a heading such as "Sources:" all
    lines of a list are.

    >>> [(note.label, note.text) for note in footnotes("At nine [1].\\n\\nSources:\\n[1] hours.pdf")]
    [('', ''), ('1', 'hours.pdf')]
    """
    lines = _lines(answer)
    defined = [note for line in lines if (note := _note(_DEFINITION, answer, *line)) is not None]
    closing = _closing_list(answer, lines, marks)
    starts = {note.start for note in closing}
    return sorted([*closing, *(note for note in defined if note.start not in starts)], key=lambda note: note.start)


def _lines(answer: str) -> list[tuple[int, int]]:
    """The lines with a text, fenced blocks left out."""
    fenced, lines, next_block = fenced_blocks(answer), [], 0
    for match in re.finditer(r"[^\n]+", answer):
        while next_block < len(fenced) and fenced[next_block][1] <= match.start():
            next_block += 1
        inside = next_block < len(fenced) and fenced[next_block][0] <= match.start()
        if match[0].strip() and not inside:
            lines.append(match.span())
    return lines


def _note(pattern: re.Pattern[str], answer: str, start: int, end: int) -> Footnote | None:
    match = pattern.fullmatch(answer, start, end)
    if match is None:
        return None
    groups = match.groupdict()
    label = groups.get("label") or (groups.get("raised") or "").translate(_RAISED)
    return Footnote(start, end, label.strip("^"), match["text"].strip())


def _closing_list(answer: str, lines: Sequence[tuple[int, int]], marks: Sequence[Mark]) -> list[Footnote]:
    """The list of sources at the end, its heading first."""
    notes: list[Footnote] = []
    unlabelled = list[Footnote]()
    for start, end in reversed(lines):
        if _HEADING.fullmatch(answer, start, end):
            return [Footnote(start, end, "", ""), *reversed(notes), *unlabelled] if notes else []
        note = _note(_LABELLED, answer, start, end) or _note(_DEFINITION, answer, start, end)
        note = note or _note(_LISTED, answer, start, end)
        if note is None and not _RULE.fullmatch(answer, start, end):
            break
        notes.append(note or Footnote(start, end, "", ""))
    # Without a heading: lines from the end whose numbers are cited above the first of them.
    listed = []
    for note in notes:
        if not (note.text and _LABELLED.fullmatch(answer, note.start, note.end)):
            break
        listed.append(note)
    while listed and not _is_cited(listed, marks):
        listed.pop()
    return listed[::-1]


def _is_cited(listed: Sequence[Footnote], marks: Sequence[Mark]) -> bool:
    """Whether each of these footnotes, last one first, is cited above all of them."""
    above = [target for mark in marks if mark.end <= listed[-1].start for target in mark.targets]
    numbers = {n for t in above if t.first is not None and t.last is not None for n in range(t.first, t.last + 1)}
    return all(int(note.label) in numbers for note in listed)
