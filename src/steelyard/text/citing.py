"""The citations in an answer: marks that name chunks by ids, places in the context, pages or documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from steelyard.text.cited import CitedTarget, Names, is_beginning, read_items, read_round
from steelyard.text.closing import NUMERAL, closing_numerals, numbers_of
from steelyard.text.spans import Span

FENCED = r"""(?P<lead>^|\n)[^\S\n]*(?P<fence>`{3,}|~{3,})[^\n`]*
    (?:\n[^\S\n]*(?P=fence)[^\S\n]*(?=\n|\Z) | \n(?s:.*?)(?:\n[^\S\n]*(?P=fence)[^\S\n]*(?=\n|\Z)|\Z) | \Z)"""
"""A fenced block, as the inside of a verbose regular expression; one that is not closed goes on to the end.  The line
break before it is `lead`."""

INLINE = r"(?<!`)(?P<ticks>`{1,3})(?!`)[^\n]{1,300}?(?<!`)(?P=ticks)(?!`)"
"""Code between backticks, within a line."""

_FENCED = re.compile(FENCED, re.VERBOSE)
_INLINE = re.compile(INLINE)


def fenced_blocks(text: str) -> list[Span]:
    """Places of the fenced blocks, fences included, and no line break before or behind.

    >>> fenced_blocks("So:\\n```py\\nx[0]\\n```\\nDone.")
    [(4, 18)]
    """
    if "```" not in text and "~~~" not in text:
        return []
    return [(match.end("lead"), match.end()) for match in _FENCED.finditer(text)]


def inline_code(text: str) -> list[Span]:
    """Places of the code between backticks, within a line.

    >>> inline_code("Take `x[0]`.")
    [(5, 11)]
    """
    return [match.span() for match in _INLINE.finditer(text)] if "`" in text else []


_OPENING, _CLOSING = r"\[【［〔〖", r"\]】］〕〗"
_IN_ROUND = r"[^()（）\[\]【】［］〔〕〖〗\n]"
_TOKENS = re.compile(
    rf"""
      {FENCED} | {INLINE}
    | \#\#(?P<hashed>\d{{1,4}})\$\$
    | \$\$[^$]{{1,2000}}\$\$ | (?<![\w$\\])\$(?![\s$])[^$\n]{{1,300}}(?<![\s$\\])\$(?![\w$])
    | !\[[^\]\n]{{0,400}}\](?:\([^()\n]{{0,2000}}\))?
    | <cite\b(?P<attributes>[^<>\n]{{0,300}}?)(?: /> | >(?P<cited>[^<>\n]{{0,400}})</cite\s*> )
    | (?P<cohere><co\s*(?::[\d\s,]{{0,100}})?> | </co\s*(?::\s*(?P<counted>\d{{1,4}}(?:\s*,\s*\d{{1,4}})*)\s*)?>)
    | (?P<sup><sup>(?P<inside_sup>[^<>\n]{{0,100}})</sup>)
    | \{{\{{\s*(?P<braced>\d{{1,3}})\s*\}}\}}
    | \\?[{_OPENING}](?P<bracket>(?:[^\[\]【】［］〔〕〖〗\n]|\[[^\[\]\n]{{0,400}}\]){{0,400}}?)\\?[{_CLOSING}]
      (?P<link>\([^()\s]{{1,2000}}(?:\s+"[^"\n]{{0,200}}")?\))?
    | (?P<raised>⁻?[⁰¹²³⁴-⁹](?:[⁰¹²³⁴-⁹⁻,，\ ]{{0,40}}[⁰¹²³⁴-⁹])?)
    | (?P<numeral>{NUMERAL})
    | (?<!\\)[(（](?P<round>(?:{_IN_ROUND}|[(（]{_IN_ROUND}{{0,100}}[)）]){{1,200}})[)）]
    | [{_OPENING}](?P<torn>[^\[\]【】［］〔〕〖〗\n]{{1,200}})\Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_INDEXED = re.compile(
    r"(?:(?<![A-Za-z0-9])[a-z]|(?<![\w/.:-])[A-Za-z]\w*_\w*|\b(?:arr|array|args|argv|nums|vec|buf))\Z"
)
_ASSIGNED = re.compile(r"\s*=[^=>]|\.[a-z_]")
_MATHEMATICS = re.compile(
    r"(?:[=∈∉⊂⊆≤≥×]|\b(?:intervals?|arrays?|vectors?|tuples?|matrix|domain)(?:\s+of)?|区间|数组|列表|向量|矩阵|集合|值域|定义域)"
    r"[:：]?\s*\Z",
    re.IGNORECASE,
)
_OPENING_CHARACTER = re.compile(rf"[{_OPENING}<⁻⁰¹²³⁴-⁹(（]|\#\#\d|\{{\{{|{NUMERAL}")
_POWER = re.compile(
    r"""(?: [\d)\]}°%] | (?<![A-Za-zα-ωΑ-Ω])(?:[A-Za-zα-ωΑ-Ωµ] | [kcdmnµ]m | ft | yd | mi | in | mc | kg | sec | ms)
    | 平方 | 立方 | [米尺] )\Z""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""\b(?:id|ids|doc|source|ref|index|chunk)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>/]+))""", re.I)
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_DEFINED = re.compile(r"^[^\S\n]*\[\^([^\[\]\s]{1,40})\]:", re.MULTILINE)
_BEHIND = 80  # characters before a mark that say what it is


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation mark of an answer.

    start, end   its place in the answer, in code points
    text         what is there
    targets      what it names, in order; none of a short numeral that closes a sentence and is no place in the context
    """

    start: int
    end: int
    text: str
    targets: tuple[CitedTarget, ...]


def citations(answer: str) -> list[str]:
    """Ids of the chunks that an answer cites as [doc#chunk], in order, each once.

    Full-width brackets count too, and one pair may hold several ids, parted by a semicolon or comma.
    >>> citations("It opens at 9 [hours#2; fees#1]. 周一休息【hours#2】。 See [1].")
    ['hours#2', 'fees#1']
    """
    targets = (target for mark in citation_marks(answer) for target in mark.targets)
    return list(dict.fromkeys(target.text for target in targets if target.is_id))


def citation_marks(answer: str, context: Sequence[str] | Names = ()) -> list[Mark]:
    """The marks of an answer, in order, apart from one another; those that begin its footnotes among them.

    context   ids of the chunks that the generator saw, in order, or these with their documents: marks may name them
              whatever they look like, and their count says how large a number may be

    >>> marks = citation_marks("At nine [1, 3-5]. 周一休息【2】。 In [2019], x[0]. See (p. 12).")
    >>> [(mark.text, len(mark.targets)) for mark in marks]
    [('[1, 3-5]', 2), ('【2】', 1), ('(p. 12)', 1)]
    """
    if not _OPENING_CHARACTER.search(answer):
        return []
    labels = frozenset(match[1] for match in _DEFINED.finditer(answer))
    names = replace(Names.of(context), labels=labels)
    return list(_marks(answer, 0, len(answer), names, closing_numerals(answer)))


def _marks(answer: str, start: int, end: int, names: Names, closing: Collection[int]) -> Iterator[Mark]:
    for match in _TOKENS.finditer(answer, start, end):
        if match["attributes"] is not None:
            yield from _cite_marks(match, names)
        elif (targets := _items(answer, match, names, closing)) or _is_empty(match, closing):
            yield Mark(match.start(), match.end(), match[0], targets)
        elif match["bracket"] is not None and match["link"] is None and re.search(rf"[{_OPENING}]", match["bracket"]):
            yield from _marks(answer, *match.span("bracket"), names, closing)
        elif match["round"] is not None and re.search("[(（]", match["round"]):
            yield from _marks(answer, *match.span("round"), names, closing)


def _is_empty(match: re.Match[str], closing: Collection[int]) -> bool:
    """True for what is no text although it may name nothing: a tag of Cohere, and a numeral that closes something."""
    return match["cohere"] is not None or (match["numeral"] is not None and match.start() in closing)


def _items(answer: str, match: re.Match[str], names: Names, closing: Collection[int]) -> tuple[CitedTarget, ...]:
    """What one of the tokens names, tags with attributes aside; nothing where it is text."""
    if match["bracket"] is not None:
        return _bracket_items(answer, match, names)
    if match["round"] is not None:
        return read_round(match["round"], names)
    if match["sup"] is not None or match["raised"] is not None:
        return _raised_items(answer, match, names)
    is_torn = match["torn"] is not None and match.end() == len(answer) and is_beginning(match["torn"], names)
    return (CitedTarget(match["torn"], malformed=True),) if is_torn else _bare_numbers(match, names, closing)


def _bare_numbers(match: re.Match[str], names: Names, closing: Collection[int]) -> tuple[CitedTarget, ...]:
    """The numbers of a mark that holds nothing else: {{1}}, (1), ①, ##0$$, </co: 0>."""
    if (numeral := match["braced"] or match["numeral"]) is not None:
        is_citation = match["braced"] is not None or match.start() in closing
        numbers = [number for number in numbers_of(numeral) if match["braced"] or number <= len(names.ids)]
        return tuple(CitedTarget(str(number), number, number) for number in numbers if is_citation)
    counted = match["hashed"] or match["counted"] or ""
    numbers = [int(number) for number in re.findall(r"\d+", counted)]
    return tuple(CitedTarget(str(number), number, number, counts="places_from_0") for number in numbers)


def _bracket_items(answer: str, match: re.Match[str], names: Names) -> tuple[CitedTarget, ...]:
    inside = match["bracket"]
    targets = read_items(inside, names)
    if not targets and match["link"] == "(CITE)":  # As FastGPT cites.
        return (CitedTarget(inside.strip()),)
    is_link_of_page = match["link"] is not None and any(t.counts == "pages" and not t.document for t in targets)
    return () if is_link_of_page or _is_text(answer, match, targets) else targets


def _is_text(answer: str, match: re.Match[str], targets: Sequence[CitedTarget]) -> bool:
    """True if numbers in brackets are an index or an interval."""
    numbers = [number for target in targets if target.first is not None for number in (target.first, target.last)]
    if not numbers:
        return False
    before = answer[max(0, match.start() - _BEHIND) : match.start()]
    is_behind_name = before[-1:].isascii() and (before[-1:].isalnum() or before[-1:] in ("_", ")"))
    if is_behind_name and (0 in numbers or _INDEXED.search(before) or _ASSIGNED.match(answer, match.end())):
        return True
    return (len(set(numbers)) > 1 or before.rstrip()[-1:] == "=") and _MATHEMATICS.search(before) is not None


def _raised_items(answer: str, match: re.Match[str], names: Names) -> tuple[CitedTarget, ...]:
    """The items of a superscript; none where it is an exponent, or none of a citation."""
    raised = match["raised"]
    inside = (match["inside_sup"] if raised is None else raised.translate(_RAISED)).strip()
    before = answer[max(0, match.start() - _BEHIND) : match.start()]
    if inside[:1] not in "[【［〔〖" and _POWER.search(before):
        return ()
    if inside.isdecimal() and names.ids and int(inside) > len(names.ids) and "0" not in inside:
        # ¹² of five chunks: two citations without a blank.
        return tuple(CitedTarget(digit, int(digit), int(digit)) for digit in inside)
    return read_items(inside.strip("[]【】［］〔〕〖〗"), names)


def _cite_marks(match: re.Match[str], names: Names) -> Iterator[Mark]:
    """The marks of a <cite>: as a whole where its text, or nothing, names chunks; else its two tags by an attribute."""
    inside = (match["cited"] or "").strip()
    attribute = _ATTRIBUTE.search(match["attributes"])
    if attribute is None:
        targets = (
            read_items(inside.strip("[]【】［］〔〕〖〗"), names) if inside else (CitedTarget("", malformed=True),)
        )
        if targets:
            yield Mark(match.start(), match.end(), match[0], targets)
        return
    value = next(group for group in attribute.groups() if group is not None)
    targets = read_items(value, names) or (CitedTarget(value),)
    if match["cited"] is None or not inside:
        yield Mark(match.start(), match.end(), match[0], targets)
        return
    opening = match.start("cited")
    yield Mark(match.start(), opening, match[0][: opening - match.start()], targets)
    yield Mark(match.end("cited"), match.end(), match[0][match.end("cited") - match.start() :], targets)
