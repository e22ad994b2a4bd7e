"""Leads: what of an answer a unit is understood by, such as the line above a list, or the sentence that "it" needs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from steelyard.judges.answers.assertions import clause_pattern
from steelyard.judges.verdict import Unit
from steelyard.text.scripts import IDEOGRAPHS, KANA

_TAG = re.compile(r"<(?P<closing>/?)(?P<name>p|div|li|ul|ol|br|h[1-6]|tr|th|td|blockquote)\b[^<>\n]{0,200}>", re.I)
_MARKER = re.compile(
    r"""(?:>\s*)*(?P<marker> [-*+•](?=\s) | \d{1,3}[.)](?=\s) | \d{1,3}[、．] | [一二三四五六七八九十]{1,3}、
    | [（(][一二三四五六七八九十\d]{1,3}[）)] | [①-⑳] )\s*""",
    re.VERBOSE,
)
_SHAPES = (("[*+•]", "-"), (r"\d+", "0"), ("[一二三四五六七八九十]+", "一"), ("[①-⑳]", "①"))
_DEEPEST = 6  # levels of a list; deeper items are of the last one
_OPENING = 80  # characters of a sentence that a pronoun can be at the beginning of
_LONGEST = 400  # characters of a part of a lead; of a longer one both ends are in it
_WIDE = re.compile(rf"[{IDEOGRAPHS}{KANA}]")
_WIDE_END = re.compile(rf"[{IDEOGRAPHS}{KANA}，。：；！、？”’」』）】》]\Z")
_MARKUP = re.compile(r"\A[#>\s]+(?=\S)|\*\*|`|\A\|\s*|(?<!\s)\s*\|\Z")
_LEADING_ENDS = (":", "：", "?", "？")
_SENTENCE_END = re.compile(r"[.。！!？?；;…][\W_]*\Z")
_UNREAD = frozenset({"code", "no_words", "sources", "greeting", "thanks", "courtesy", "hedge", "offer"})
"""Why units assert nothing that others are not understood by."""


def with_leads(answer: str, units: Sequence[Unit], continued: Collection[int] = ()) -> list[Unit]:
    """The units of an answer, each with its lead.

    units       in order, as they are in the answer
    continued   places of those that go on with the sentence of the one before

    A lead holds, from the outermost to the innermost, what leads in a list (a line that ends with a colon, a heading, a
    question, or, for items that are no sentences, the sentence above) and the items that the unit is within; of a row
    of a table, then the heads of the columns; of a sentence that begins with a pronoun, or answers a question, the one
    before it.  What leads in ends with a colon or a question mark.  Time is linear in the length of the answer.

    >>> from steelyard.judges.answers.units import answer_units
    >>> [unit.lead for unit in answer_units("Not covered:\\n- Teeth:\\n  - crowns\\nAll else is. It is free.")]
    ['', 'Not covered:', 'Not covered: Teeth:', '', 'All else is.']
    """
    outline, led, end = _Outline(), list[Unit](), 0
    for n, unit in enumerate(units):
        place = _place(answer, end, unit, units[n + 1 : n + 2])
        led.append(replace(unit, lead=outline.lead(unit, place, goes_on=n in continued)))
        end = unit.end
    return led


@dataclass(frozen=True)
class _Place:
    """Where a unit is in the layout of its answer.

    opens    whether it opens a line
    indent   columns before it
    marker   the shape of its sign or number as an item; empty where it is none
    depth    lists of HTML that open (above 0) and close (below 0) before it
    row      "head" of a table, "cell" of one in HTML; empty elsewhere
    """

    opens: bool
    indent: int
    marker: str
    depth: int
    row: str


def _place(answer: str, end: int, unit: Unit, following: Sequence[Unit]) -> _Place:
    gap = answer[end : unit.start]
    tags = [(match["name"].lower(), bool(match["closing"])) for match in _TAG.finditer(gap)]
    opened = {name for name, closing in tags if not closing}
    marker = _MARKER.match(answer, unit.start, unit.end)
    margin = gap.rpartition("\n")[2]
    is_head = {"tr", "th"} <= opened and "<td" not in answer[unit.start : unit.end].lower()
    is_head |= any(_is_rule(row.text) and "|" in row.text + unit.text for row in following)
    return _Place(
        opens=not end or "\n" in gap or bool(tags),
        indent=0 if margin.strip() else len(margin.expandtabs(4)),
        marker="li" if "li" in opened else _shape(marker["marker"]) if marker else "",
        depth=sum(-1 if closing else 1 for name, closing in tags if name in ("ul", "ol")),
        row="head" if is_head else "cell" if "tr" in opened else "",
    )


def _is_rule(text: str) -> bool:
    """True for the line below the heads of a table."""
    return "--" in text and not text.strip("|:- \t")


def _shape(marker: str) -> str:
    """What the signs of all items of a list have in common: "0." for 3. and 12., "-" for all bullets."""
    for pattern, shape in _SHAPES:
        marker = re.sub(pattern, shape, marker)
    return marker


@dataclass
class _Outline:
    """What is open above the next unit of an answer: a list, a table, lines, and what "it" would refer to.

    opener       the last unit, behind its lead, if it leads in what is below;   by_heading   whether as a heading
    sentence     the last one outside of lists
    lines        what leads in lines that have no signs
    depth        of open lists in HTML
    heads        of the columns of the open table, behind what leads that in
    antecedent   the last sentence that begins with no pronoun, behind its lead
    last         the last sentence, where it begins with one;   asks   whether the last unit is a question
    """

    opener: str = ""
    by_heading: bool = False
    sentence: str = ""
    lines: str = ""
    list: _List | None = None
    depth: int = 0
    heads: str = ""
    antecedent: str = ""
    last: str = ""
    asks: bool = False

    def lead(self, unit: Unit, place: _Place, *, goes_on: bool) -> str:
        """The lead of the next unit, which is the last one from then on.

        goes_on   whether it goes on with the sentence of the last one
        """
        self.depth = max(self.depth + place.depth, 0)
        if unit.no_claim in _UNREAD:
            return ""
        is_heading = unit.no_claim == "heading" and place.row != "head"
        text = _shortened(_plain(unit.text))
        text = _leading(text) if is_heading else text
        needs_last = goes_on or refers(text)
        lead = outer = self._layout_lead(text, place, is_heading=is_heading, needs_last=needs_last)
        if not (lead or is_heading or place.marker) and (needs_last or self.asks):
            lead = _joined(self.antecedent, self.last)
        if needs_last and self.antecedent:
            self.last = text
        else:
            self.antecedent, self.last = self.heads or _shortened(_joined(lead, text)), ""
        self.asks = unit.no_claim == "question"
        leads_in = is_heading or text.endswith(_LEADING_ENDS)
        # What "they" in a lead-in refers to may be affirmed where the lead-in denies, and is no part of it.
        self.opener, self.by_heading = _shortened(_joined(outer, _leading(text))) if leads_in else "", is_heading
        if self.list is None:
            self.sentence = "" if leads_in or place.row else text
        return lead

    def _layout_lead(self, text: str, place: _Place, *, is_heading: bool, needs_last: bool) -> str:
        """The lead of a unit as an item, as a row of a table, or as a line below a lead-in."""
        if place.row == "head":
            self.heads = _joined(self.opener, text)
            return ""
        if place.row or (self.heads and place.opens and "|" in text):
            return self.heads
        if place.marker:
            if self.list is None:
                self.list = _List(self.opener, self.sentence)
            self.heads = self.lines = ""
            return self.list.lead(text, place.indent + 4 * self.depth, place.marker, needs_last=needs_last)
        if self.list is not None and (not place.opens or place.indent or self.depth):
            self.list.go_on(text)
        elif place.opens:
            self._close_list()
        if not place.opens:
            return ""
        self.heads = ""
        is_part = not _SENTENCE_END.search(text)
        starts = self.opener if is_part or not self.by_heading else ""
        self.lines = "" if is_heading else starts or (self.lines if is_part else "")
        return self.lines

    def _close_list(self) -> None:
        if self.list is not None:
            self.antecedent, self.last = self.list.summary(), ""
        self.list = None


@dataclass
class _Item:
    """An open item of a list: its place, and the text by which what it holds is understood."""

    indent: int
    marker: str
    text: str


@dataclass
class _List:
    """The open list.

    opener     what leads it in;   sentence   the one above, where nothing does
    open       its open items, the outermost first;   outermost   texts of all items of the first level
    """

    opener: str
    sentence: str
    open: list[_Item] = field(default_factory=list)
    outermost: list[str] = field(default_factory=list)

    def lead(self, text: str, indent: int, marker: str, *, needs_last: bool) -> str:
        """The lead of the next item, which is open from then on."""
        while self.open and self.open[-1].indent > indent + 1:
            self.open.pop()
        alike = [n for n, item in enumerate(self.open) if item.marker == marker and abs(item.indent - indent) <= 1]
        del self.open[min([*alike, _DEEPEST - 1]) :]
        needs_sentence = not self.opener and (needs_last or not _SENTENCE_END.search(text))
        lead = _joined(self.sentence if needs_sentence else self.opener, *(item.text for item in self.open))
        self.open.append(_Item(indent, marker, _leading(text)))
        if len(self.open) == 1:
            self.outermost.append(text)
        return lead

    def go_on(self, text: str) -> None:
        """Take in a further sentence of the innermost item; one with a colon leads in what that holds."""
        if text.endswith(_LEADING_ENDS):
            self.open[-1].text = _shortened(_joined(self.open[-1].text, text))

    def summary(self) -> str:
        """What "these" behind the list refers to."""
        return _joined(self.opener or self.sentence, _shortened("; ".join(self.outermost)))


def refers(text: str) -> bool:
    """True for a sentence that begins with a pronoun, or with a bare yes or no."""
    opening = text[:_OPENING].lower()
    return clause_pattern("pronoun").match(opening) is not None and clause_pattern("no_pronoun").match(opening) is None


def _plain(text: str) -> str:
    """The text without the signs of Markdown."""
    return _MARKUP.sub("", text.strip())


def _leading(text: str) -> str:
    """The text with a colon where it ends without a mark, as a heading does."""
    if not text or not (text[-1].isalnum() or text[-1] in ")）”」》"):
        return text
    return text + ("：" if _WIDE.search(text) else ":")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def _joined(*parts: str) -> str:
    """The parts with a blank between them, none behind a mark or character of Chinese."""
    joined = ""
    for part in filter(None, parts):
        joined += (" " if joined and not _WIDE_END.search(joined) else "") + part
    return joined
