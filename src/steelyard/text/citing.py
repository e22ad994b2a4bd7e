"""The citations in an answer: marks that name chunks by their ids, or by their places in the context.

A mark is brackets, a superscript, <sup> or <cite> around a list.  Its items are parted by commas or semicolons, and are
ids of chunks, numbers or ranges of numbers, maybe behind a word such as "source".  Which numbers are citations:

- up to 999 where a mark has one number, up to 99 where it has several or a range, and as many as the context has
  chunks: [12] of ten chunks is a citation that is out of range, [2019] a year, [1, 100] an interval;
- no list with a zero in it: [0, 1] is an interval; no number with leading zeros;
- none directly behind what is indexed (array[0], x[1], my_list[2]), and no list behind a word or sign of mathematics
  (= [1, 2], interval [1, 5], 区间[1, 5]); a superscript not behind a number, a unit or a symbol (10³, km², x²);
- none in code, in formulas between dollars, or in the texts of images.

All other brackets are text: links, check boxes, [sic], dates.  Where all numbers of an answer are ids of the context,
they are read as ids, else as places from 1; [0] alone is out of range.  Where a footnote of the answer names a chunk,
its number means that chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from steelyard.text.citation_items import Names, Target, is_beginning, read_items
from steelyard.text.code_spans import FENCED, INLINE

_OPENING, _CLOSING = r"\[【［〔", r"\]】］〕"
_TOKENS = re.compile(
    rf"""
      {FENCED} | {INLINE}
    | \$\$[^$]{{1,2000}}\$\$ | (?<![\w$\\])\$(?![\s$])[^$\n]{{1,300}}(?<![\s$\\])\$(?![\w$])
    | !\[[^\]\n]{{0,400}}\](?:\([^()\n]{{0,2000}}\))?
    | <cite\b(?P<attributes>[^<>\n]{{0,300}}?)(?: /> | >(?P<cited>[^<>\n]{{0,400}})</cite\s*> )
    | (?P<sup><sup>(?P<inside_sup>[^<>\n]{{0,100}})</sup>)
    | \\?[{_OPENING}](?P<bracket>(?:[^\[\]【】［］〔〕\n]|\[[^\[\]\n]{{0,400}}\]){{0,400}}?)\\?[{_CLOSING}]
      (?P<link>\([^()\s]{{1,2000}}(?:\s+"[^"\n]{{0,200}}")?\))?
    | (?P<raised>⁻?[⁰¹²³⁴-⁹](?:[⁰¹²³⁴-⁹⁻,，\ ]{{0,40}}[⁰¹²³⁴-⁹])?)
    | [{_OPENING}](?P<torn>[^\[\]【】［］〔〕\n]{{1,200}})\Z
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
_OPENING_CHARACTER = re.compile(rf"[{_OPENING}<⁻⁰¹²³⁴-⁹]")
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
    targets      what it names, in order; one at least
    """

    start: int
    end: int
    text: str
    targets: tuple[Target, ...]


def citations(answer: str) -> list[str]:
    """Ids of the chunks that an answer cites as [doc#chunk], in order, each once.

    Full-width brackets count too, and one pair may hold several ids, parted by a semicolon or comma.
    >>> citations("It opens at 9 [hours#2; fees#1]. 周一休息【hours#2】。 See [1].")
    ['hours#2', 'fees#1']
    """
    targets = (target for mark in citation_marks(answer) for target in mark.targets)
    return list(dict.fromkeys(target.text for target in targets if target.is_id))


def citation_marks(answer: str, context_ids: Sequence[str] = ()) -> list[Mark]:
    """The marks of an answer, in order, apart from one another; those that begin its footnotes among them.

    context_ids  of the chunks that the generator saw, in order: marks may name them whatever they look like, and they
                 say how large a number may be

    >>> marks = citation_marks("At nine [1, 3-5]. 周一休息【2】。 In [2019], x[0].")
    >>> [(mark.text, len(mark.targets)) for mark in marks]
    [('[1, 3-5]', 2), ('【2】', 1)]
    """
    if not _OPENING_CHARACTER.search(answer):
        return []
    labels = frozenset(match[1] for match in _DEFINED.finditer(answer))
    return list(_marks(answer, 0, len(answer), Names(context_ids, labels)))


def _marks(answer: str, start: int, end: int, names: Names) -> Iterator[Mark]:
    for match in _TOKENS.finditer(answer, start, end):
        inside = match["bracket"]
        if inside is not None:
            targets = read_items(inside, names)
            if targets and not _is_text(answer, match, targets):
                yield _mark(match, targets)
            elif not targets and match["link"] is None and re.search(rf"[{_OPENING}]", inside):
                yield from _marks(answer, *match.span("bracket"), names)
        elif match["attributes"] is not None:
            yield from _cite_marks(match, names)
        elif match["sup"] is not None or match["raised"] is not None:
            if targets := _raised_items(answer, match, names):
                yield _mark(match, targets)
        elif match["torn"] is not None and match.end() == len(answer) and is_beginning(match["torn"], names):
            yield _mark(match, (Target(match["torn"], malformed=True),))


def _mark(match: re.Match[str], targets: tuple[Target, ...]) -> Mark:
    return Mark(match.start(), match.end(), match[0], targets)


def _is_text(answer: str, match: re.Match[str], targets: Sequence[Target]) -> bool:
    """Whether numbers in brackets are an index or an interval."""
    numbers = [number for target in targets if target.first is not None for number in (target.first, target.last)]
    if not numbers:
        return False
    before = answer[max(0, match.start() - _BEHIND) : match.start()]
    is_behind_name = before[-1:].isascii() and (before[-1:].isalnum() or before[-1:] in ("_", ")"))
    if is_behind_name and (0 in numbers or _INDEXED.search(before) or _ASSIGNED.match(answer, match.end())):
        return True
    return (len(set(numbers)) > 1 or before.rstrip()[-1:] == "=") and _MATHEMATICS.search(before) is not None


def _raised_items(answer: str, match: re.Match[str], names: Names) -> tuple[Target, ...]:
    """The items of a superscript; none where it is an exponent, or none of a citation."""
    raised = match["raised"]
    inside = (match["inside_sup"] if raised is None else raised.translate(_RAISED)).strip()
    before = answer[max(0, match.start() - _BEHIND) : match.start()]
    if inside[:1] not in "[【［〔" and _POWER.search(before):
        return ()
    if inside.isdecimal() and names.ids and int(inside) > len(names.ids) and "0" not in inside:
        # ¹² of five chunks: two citations without a blank.
        return tuple(Target(digit, int(digit), int(digit)) for digit in inside)
    return read_items(inside.strip("[]【】［］〔〕"), names)


def _cite_marks(match: re.Match[str], names: Names) -> Iterator[Mark]:
    """The marks of a <cite>: as a whole where its text, or nothing, names chunks; else its two tags by an attribute."""
    inside = (match["cited"] or "").strip()
    attribute = _ATTRIBUTE.search(match["attributes"])
    if attribute is None:
        targets = read_items(inside.strip("[]【】［］〔〕"), names) if inside else (Target("", malformed=True),)
        if targets:
            yield _mark(match, targets)
        return
    value = next(group for group in attribute.groups() if group is not None)
    targets = read_items(value, names) or (Target(value),)
    if match["cited"] is None or not inside:
        yield _mark(match, targets)
        return
    opening = match.start("cited")
    yield Mark(match.start(), opening, match[0][: opening - match.start()], targets)
    yield Mark(match.end("cited"), match.end(), match[0][match.end("cited") - match.start() :], targets)
