"""The citations in an answer: marks that name chunks by their ids, or by their places in the context."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

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


LARGEST_ALONE, LARGEST_LISTED = 999, 99
"""The largest number beyond the context that is still a citation: in a mark of one number, and in any other."""

_LABEL = re.compile(
    r"""(?:documents?|docs?|sources?|passages?|contexts?|chunks?|references?|refs?|citations?|cites?|footnotes?|results?
    |来源|文档|文献|资料|引用|参考|片段|段落|上下文|脚注)(?:\s*[:：.№_-]\s*|\s+\#\s*|\s*)(?=[^\W_])""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = r"(?:0|[1-9]\d{0,8})"
_DASH = r"\s*(?:[-‐‑‒–—−~∼⁓～]|\.\.|\bto\b|至|到)\s*"
_SEPARATOR = r"\s*(?:[,;、&]|\band\b|和|及|与)\s*"
_ITEM = rf"{_NUMBER}(?:{_DASH}{_NUMBER})?"
_LIST = re.compile(rf"{_ITEM}(?:{_SEPARATOR}{_ITEM})*\s*[,;]?", re.IGNORECASE)
_ITEMS = re.compile(rf"({_NUMBER})(?:{_DASH}({_NUMBER}))?", re.IGNORECASE)
_BLANKS = " \t\u3000"
_AROUND = " \t\u3000,，、"
_TORN = re.compile(rf"{_NUMBER}(?:{_DASH}|\s*[,;]\s*[,;].*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CitedTarget:
    """An item of a mark: the id `text`; or the numbers from `first` to `last`; or what cannot be read."""

    text: str
    first: int | None = None
    last: int | None = None
    malformed: bool = False

    @property
    def is_id(self) -> bool:
        """True if it is an id, of the context or of another."""
        return self.first is None and not self.malformed


@dataclass(frozen=True)
class Names:
    """Names that marks may hold.

    ids     of the chunks of the context, as the generator saw them
    labels  of footnotes that the answer defines as [^label]:
    """

    ids: Sequence[str]
    labels: Collection[str] = ()

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The place of each id, from 0; the first of those that are alike."""
        return {id: place for place, id in reversed(list(enumerate(self.ids)))}

    @cached_property
    def of_document(self) -> Mapping[str, int | None]:
        """The only chunk of each document whose chunks have ids as doc#chunk; None where there are several."""
        places: dict[str, int | None] = {}
        for id, place in self.place.items():
            if doc := id.rpartition("#")[0]:
                places[doc] = None if doc in places else place
        return places

    @cached_property
    def _shapes(self) -> frozenset[str]:
        return frozenset(_shape(id) for id in self.ids if re.search(r"\d", id) and not id.isdecimal())

    def resembles(self, text: str) -> bool:
        """True if a text is like an id of the context but for its numbers: c99 is like c7."""
        return _shape(text) in self._shapes

    def begins(self, text: str) -> bool:
        """True if some id begins with a text."""
        return any(id.startswith(text) for id in self.ids)


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def read_items(inside: str, names: Names) -> tuple[CitedTarget, ...]:
    """Items named between the brackets of a mark; nothing where it is no mark but text.

    >>> [item.text for item in read_items("1, 3-5", Names(()))], read_items("sic", Names(()))
    (['1', '3-5'], ())
    """
    stripped = inside.strip(_BLANKS)
    if re.fullmatch(r"\[[^\[\]]*\]", stripped):
        stripped = stripped[1:-1].strip(_BLANKS)
    bare = stripped.strip("^")
    if stripped in names.place:
        return (CitedTarget(stripped),)
    if bare in names.place or (stripped != bare and bare in names.labels):
        return (CitedTarget(bare),)
    return _ids(stripped, names) or _numbers(bare, names) or _unclear(stripped, names)


def _ids(inside: str, names: Names) -> tuple[CitedTarget, ...]:
    """The ids between two brackets.  A comma may belong to a document's name, a semicolon may not."""
    targets: list[CitedTarget] = []
    for part in re.split("[;；]", inside):
        held = ""
        for piece in re.split("([,，、])", part):
            held += piece
            id = _id(held.strip(_AROUND), names) or (held.strip(_AROUND) if _has_both_parts(piece) else "")
            if id:
                targets.append(CitedTarget(id))
                held = ""
        rest = held.strip(_AROUND)
        if targets and re.fullmatch(r"#?\d+|#", rest):
            targets.append(CitedTarget(rest, malformed=True))
    return tuple(targets)


def _id(text: str, names: Names) -> str:
    """An id of the context, or one that resembles those: the text, its last word, or what is behind a label."""
    forms = (text, text.rpartition(" ")[2], _LABEL.sub("", text, count=1))
    return next((form for form in forms if not form.isdecimal() and (form in names.place or names.resembles(form))), "")


def _numbers(listed: str, names: Names) -> tuple[CitedTarget, ...]:
    """The numbers and ranges of a list, unless they are years, intervals or the like."""
    plain = _LABEL.sub("", unicodedata.normalize("NFKC", listed).partition("†")[0]).strip()
    if not _LIST.fullmatch(plain):
        return ()
    items = [(match[0], int(match[1]), int(match[2] or match[1])) for match in _ITEMS.finditer(plain)]
    numbers = [number for _, *pair in items for number in pair]
    alone = len(items) == 1 and items[0][1] == items[0][2]
    largest = max(LARGEST_ALONE if alone else LARGEST_LISTED, len(names.ids))
    are_ids = all(str(number) in names.place for number in numbers)
    if not are_ids and (max(numbers) > largest or (0 in numbers and not alone)):
        return ()
    return tuple(
        CitedTarget(text, malformed=True) if last < first else CitedTarget(text, first, last)
        for text, first, last in items
    )


def _unclear(text: str, names: Names) -> tuple[CitedTarget, ...]:
    """Items that name a document, or a part of a mark; nothing where it is text."""
    place = names.of_document.get(text, -1)
    if place != -1:
        return (CitedTarget(text, malformed=place is None),)
    plain = unicodedata.normalize("NFKC", text)
    is_torn = re.match(r"\d[^†]*†", plain) or _TORN.fullmatch(plain) or _lacks_a_part(text, names)
    return (CitedTarget(text, malformed=True),) if is_torn else ()


def _has_both_parts(piece: str) -> bool:
    """True if a text is doc#chunk."""
    doc, _, chunk = piece.strip().rpartition("#")
    return bool(chunk and doc and not doc[-1].isspace() and not re.search(r"[\s\[\]]", chunk))


def _lacks_a_part(text: str, names: Names) -> bool:
    """True if it is doc# or #3, where the ids of the context are doc#chunk."""
    doc, hash, chunk = text.rpartition("#")
    return (
        bool(hash)
        and bool(names.of_document)
        and ((not chunk and doc in names.of_document) or (not doc and chunk.isdecimal()))
    )


def is_beginning(rest: str, names: Names) -> bool:
    """True if what follows an opening bracket that is never closed is the beginning of a mark."""
    text = rest.strip(" \t\u3000^")
    doc, hash, _ = text.rpartition("#")
    return bool(re.fullmatch(r"\d{1,3}(?:\s*[,，-]\s*\d{0,3})*", text)) or (
        bool(text) and (names.begins(text) or (bool(hash) and bool(doc) and not re.search(r"\s", text)))
    )


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
    targets: tuple[CitedTarget, ...]


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
            yield _mark(match, (CitedTarget(match["torn"], malformed=True),))


def _mark(match: re.Match[str], targets: tuple[CitedTarget, ...]) -> Mark:
    return Mark(match.start(), match.end(), match[0], targets)


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
    if inside[:1] not in "[【［〔" and _POWER.search(before):
        return ()
    if inside.isdecimal() and names.ids and int(inside) > len(names.ids) and "0" not in inside:
        # ¹² of five chunks: two citations without a blank.
        return tuple(CitedTarget(digit, int(digit), int(digit)) for digit in inside)
    return read_items(inside.strip("[]【】［］〔〕"), names)


def _cite_marks(match: re.Match[str], names: Names) -> Iterator[Mark]:
    """The marks of a <cite>: as a whole where its text, or nothing, names chunks; else its two tags by an attribute."""
    inside = (match["cited"] or "").strip()
    attribute = _ATTRIBUTE.search(match["attributes"])
    if attribute is None:
        targets = read_items(inside.strip("[]【】［］〔〕"), names) if inside else (CitedTarget("", malformed=True),)
        if targets:
            yield _mark(match, targets)
        return
    value = next(group for group in attribute.groups() if group is not None)
    targets = read_items(value, names) or (CitedTarget(value),)
    if match["cited"] is None or not inside:
        yield _mark(match, targets)
        return
    opening = match.start("cited")
    yield Mark(match.start(), opening, match[0][: opening - match.start()], targets)
    yield Mark(match.end("cited"), match.end(), match[0][match.end("cited") - match.start() :], targets)
