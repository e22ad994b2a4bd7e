"""What a citation mark names: chunks by id or by place, pages, and documents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

LARGEST_ALONE, LARGEST_LISTED = 999, 99
"""The largest number beyond the context that is still a citation: in a mark of one number, and in any other."""

_LABEL = re.compile(
    r"""(?:documents?|docs?|sources?|passages?|contexts?|chunks?|references?|refs?|citations?|cites?|footnotes?|results?
    |来源|文档|文献|资料|引用|参考|片段|段落|上下文|脚注)(?:\s*[:：.№_-]\s*|\s+\#\s*|\s*)(?=[^\W_])""",
    re.VERBOSE | re.IGNORECASE,
)
_FROM_ZERO = re.compile(r"\bids?\s*[:#]?\s*(?=\d)", re.IGNORECASE)
"""The label of RAGFlow, which counts from 0."""
_NUMBER = r"(?:0|[1-9]\d{0,8})"
_DASH = r"\s*(?:[-‐‑‒–—−~∼⁓～]|\.\.|\bto\b|至|到)\s*"
_SEPARATOR = r"\s*(?:[,;、&]|\band\b|和|及|与)\s*"
_ITEM = rf"{_NUMBER}(?:{_DASH}{_NUMBER})?"
_LIST = re.compile(rf"{_ITEM}(?:{_SEPARATOR}{_ITEM})*\s*[,;]?", re.IGNORECASE)
_ITEMS = re.compile(rf"({_NUMBER})(?:{_DASH}({_NUMBER}))?", re.IGNORECASE)
_BLANKS = " \t\u3000"
_AROUND = " \t\u3000,，、"
_TORN = re.compile(rf"{_NUMBER}(?:{_DASH}|\s*[,;]\s*[,;].*)", re.IGNORECASE)
_LED = re.compile(
    r"""\A\s*(?:(?:see(?:\s+also)?|cf\.?|refer\s+to|from|per|according\s+to)\b|请?[详参]?见|参[考阅照]|引用?自|[出摘来]自|[根依]据)
    \s*:?\s*(?=\S)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Words that lead in what is named."""
_SOURCE = re.compile(
    r"\A\s*(?:sources?|files?|(?:数据|资料|信息)?来源|出处|文件|参考|引用)\s*:\s*(?=\S)", re.IGNORECASE
)
_FILE = re.compile(
    r"""(?P<file>[^\n;<>"|*?]{1,120}?\.(?:(?P<bound>pdf|docx?|pptx?|xlsx?|epub|caj|wps)|md|txt|html?|csv))
    (?:[\s,、:\#|-]+.{1,40})?""",
    re.VERBOSE | re.IGNORECASE,
)
_IDEOGRAPHS = "一二三四五六七八九十百"
_PAGES = re.compile(
    rf"""(?P<document>.{{0,120}}?)[\s,、:\#|·/-]*(?:
      (?:(?<![a-z])(?:pages?|pgs?|pp?)(?:\s*\.\s*|\s*)|页码\s*:?\s*|page=)(?P<english>{_ITEM}(?:{_SEPARATOR}{_ITEM})*)
    | (?P<chinese>第\s*[\d{_IDEOGRAPHS}][\d{_IDEOGRAPHS}第页、,和及与至到~–—\s-]*页)
    | (?P<bare>{_ITEM}\s*页)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_LOCATED = re.compile(
    r"""(?P<place>.*?\d)(?:\s+|\s*[,、]\s*|(?=第))
    (?:第\s*\d+(?:\s*[-~至到]\s*第?\s*\d+)?\s*[页段节章条行]|(?:pp?|pages?|para(?:graph)?s?|sec(?:tion)?s?|chapters?|lines?|§)\.?\s*\d[\d.–-]*)""",
    re.VERBOSE | re.IGNORECASE,
)
"""A place of the context, and where in it something is."""
_NO_NAME = re.compile(r"(?:.*\s)?(?:on|in|at|of|from|the)|.*[的在于上中]|第.*[章节条款部]", re.IGNORECASE)
"""What is before a page and names no document, as in "see the table on page 3"."""
_LONGEST_NAME = 60

Counted = Literal["places", "places_from_0", "pages"]
"""What the numbers of a mark count."""


@dataclass(frozen=True, slots=True)
class CitedTarget:
    """An item of a mark: the id `text`; or the numbers from `first` to `last`; or a document; or what cannot be read.

    counts    what the numbers count: places in the context from 1; such places from 0; or pages
    document  that the pages are of, or that is cited as a whole; empty where none is named
    """

    text: str
    first: int | None = None
    last: int | None = None
    malformed: bool = False
    counts: Counted = "places"
    document: str = ""

    @property
    def is_id(self) -> bool:
        """True if it is an id, of the context or of another."""
        return self.first is None and not self.malformed and not self.document

    @property
    def places(self) -> range:
        """Places in the context, from 1, that it numbers; empty for any other."""
        if self.counts != "places" or self.first is None or self.last is None:
            return range(0)
        return range(self.first, self.last + 1)


@dataclass(frozen=True)
class Names:
    """Names that marks may hold.

    ids     of the chunks of the context, as the generator saw them
    labels  of footnotes that the answer defines as [^label]:
    docs    the document of each chunk; empty, or None, where it is unknown
    pages   the pages of each chunk, from 1; empty, or None, where they are unknown
    """

    ids: Sequence[str]
    labels: Collection[str] = ()
    docs: Sequence[str | None] = ()
    pages: Sequence[tuple[int, ...] | None] = ()

    @classmethod
    def of(cls, context: Sequence[str] | Names) -> Names:
        """Names of a context; of ids alone where these are all that is known."""
        return context if isinstance(context, Names) else cls(context)

    @cached_property
    def place(self) -> Mapping[str, int]:
        """The place of each id, from 0; the first of those that are alike."""
        return {id: place for place, id in reversed(list(enumerate(self.ids)))}

    @cached_property
    def of_document(self) -> Mapping[str, tuple[int, ...]]:
        """The chunks of each document, by its name, by that of its file, and by this without extension.

        The document of a chunk is that in `docs`, else what its id has before a "#".
        """
        by_document: dict[str, list[int]] = {}
        for id, place in sorted(self.place.items(), key=lambda item: item[1]):
            known = self.docs[place] if self.docs else None
            if document := known or id.rpartition("#")[0]:
                by_document.setdefault(document, []).append(place)
        by_name = dict(by_document)
        for document, places in by_document.items():
            file = re.split(r"[/\\]", document)[-1]
            for name in {file, re.sub(r"\.\w{1,5}\Z", "", file)} - by_document.keys():
                by_name[name] = [*by_name.get(name, ()), *places]
        return {name: tuple(places) for name, places in by_name.items()}

    def chunks_of(self, document: str) -> tuple[int, ...]:
        """The chunks of a document, by any of its names; with an extension that its name lacks, too."""
        own = self.of_document.get(document)
        return self.of_document.get(re.sub(r"\.\w{1,5}\Z", "", document), ()) if own is None else own

    @cached_property
    def _shapes(self) -> frozenset[str]:
        return frozenset(_shape(id) for id in self.ids if re.search(r"\d", id) and not id.isdecimal())

    def resembles(self, text: str) -> bool:
        """True if a text is like an id of the context but for its numbers: c99 is like c7."""
        return _shape(text) in self._shapes

    def begins(self, text: str) -> bool:
        """True if some id begins with a text."""
        return any(id.startswith(text) for id in self.ids)


def is_file_name(document: str) -> bool:
    """True for the name of a file by its extension.

    >>> is_file_name("员工手册.pdf"), is_file_name("员工手册")
    (True, False)
    """
    return _FILE.fullmatch(document) is not None


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def read_items(inside: str, names: Names) -> tuple[CitedTarget, ...]:
    """Items named between the square brackets of a mark; nothing where it is no mark but text.

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
    return _ids(stripped, names) or _numbers(bare, names) or _sources(stripped, names) or _unclear(stripped, names)


def read_round(inside: str, names: Names) -> tuple[CitedTarget, ...]:
    """Items named between round brackets, which hold more than citations: ids of the context, numbers with a label,
    pages, and documents of the context.

    >>> [(item.text, item.counts) for item in read_round("see Doc 2", Names(())) + read_round("第12页", Names(()))]
    [('2', 'places'), ('12', 'pages')]
    >>> read_round("12 pages", Names(()))
    ()
    """
    stripped = _LED.sub("", inside.strip(_BLANKS))
    if stripped in names.place and re.search(r"[\d#]", stripped) and not stripped.isdecimal():
        return (CitedTarget(stripped),)
    if _LABEL.search(stripped) and (targets := _numbers(stripped, names)):
        return targets
    if _FROM_ZERO.search(stripped):
        return tuple(t for t in _numbers(stripped, names) if t.last is not None and t.last <= len(names.ids))
    return _sources(inside, names, is_round=True)


def _sources(inside: str, names: Names, *, is_round: bool = False) -> tuple[CitedTarget, ...]:
    """The pages and documents named between two brackets, parted by semicolons; nothing where one part is neither."""
    targets: list[CitedTarget] = []
    for part in re.split(";", unicodedata.normalize("NFKC", inside)):
        unled = _LED.sub("", part)
        plain = _SOURCE.sub("", unled).strip()
        says_source = len(plain) < len(part.strip())
        if not (cited := _pages(plain) or _document(plain, names, says_source, is_round)):
            return ()
        targets += cited
    return tuple(targets)


def _pages(plain: str) -> tuple[CitedTarget, ...]:
    """Pages, with the document that is named before them; nothing where a text is anything else."""
    if (match := _PAGES.fullmatch(plain)) is None:
        return ()
    document = match["document"].strip(" 《》<>\"'“”‘’`*,:")
    file = _FILE.fullmatch(document)
    if match["bare"] and file is None:
        return ()
    if file is None and (len(document) > _LONGEST_NAME or re.search(r"[.。!！?？=](?:\s|\Z)", document)):
        return ()
    name = file["file"] if file else "" if _NO_NAME.fullmatch(document) else document
    listed = re.sub("[第页]", "", match["english"] or match["chinese"] or match["bare"]).strip()
    listed = re.sub(f"[{_IDEOGRAPHS}]+", lambda numeral: str(_number(numeral[0])), listed)
    if not _LIST.fullmatch(listed):
        return ()
    return tuple(
        _numbered(text, int(first), int(last or first), counts="pages", document=name)
        for text, first, last in ((item[0], item[1], item[2]) for item in _ITEMS.finditer(listed))
    )


def _number(numeral: str) -> int:
    """A number below 1000 in ideographs, as 一百二十 is 120."""
    total = digit = 0
    for value in (int(unicodedata.numeric(character)) for character in numeral):
        total, digit = (total + max(digit, 1) * value, 0) if value >= 10 else (total, value)
    return total + digit


def _numbered(text: str, first: int, last: int, *, counts: Counted, document: str = "") -> CitedTarget:
    if last < first:
        return CitedTarget(text, malformed=True)
    return CitedTarget(text, first, last, counts=counts, document=document)


def _document(plain: str, names: Names, says_source: bool, is_round: bool) -> tuple[CitedTarget, ...]:
    """A document cited as a whole: one of the context, or a file that is said to be a source."""
    name = plain.strip(" 《》<>\"'“”‘’`*,:")
    file = _FILE.fullmatch(name)
    name = file["file"] if file else name
    is_known = (says_source or file is not None) and bool(names.chunks_of(name))
    is_file = file is not None and (says_source or (bool(file["bound"]) and not is_round))
    return (CitedTarget(name, document=name),) if is_known or is_file else ()


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
    plain = _LED.sub("", unicodedata.normalize("NFKC", listed).partition("†")[0])
    plain, n_from_zero = _FROM_ZERO.subn("", _LABEL.sub("", plain))
    located = _LOCATED.fullmatch(plain.strip())
    plain = (plain if located is None else located["place"]).strip()
    if not _LIST.fullmatch(plain):
        return ()
    items = [(match[0], int(match[1]), int(match[2] or match[1])) for match in _ITEMS.finditer(plain)]
    numbers = [number for _, *pair in items for number in pair]
    alone = len(items) == 1 and items[0][1] == items[0][2]
    largest = max(LARGEST_ALONE if alone else LARGEST_LISTED, len(names.ids))
    are_ids = all(str(number) in names.place for number in numbers)
    if not are_ids and (max(numbers) > largest or (0 in numbers and not alone and not n_from_zero)):
        return ()
    counts: Counted = "places_from_0" if n_from_zero else "places"
    return tuple(_numbered(text, first, last, counts=counts) for text, first, last in items)


def _unclear(text: str, names: Names) -> tuple[CitedTarget, ...]:
    """Items that name a document, or a part of a mark; nothing where it is text."""
    if text in names.of_document:
        return (CitedTarget(text, document=text),)
    plain = unicodedata.normalize("NFKC", text)
    is_torn = re.match(r"\d[^†]*†", plain) or _TORN.fullmatch(plain) or _lacks_a_part(text, names)
    return (CitedTarget(text, malformed=True),) if is_torn else ()


def _has_both_parts(piece: str) -> bool:
    """True if a text is doc#chunk."""
    doc, _, chunk = piece.strip().rpartition("#")
    return bool(chunk and doc and not doc[-1].isspace() and not re.search(r"[\s\[\]]|\Apage=", chunk))


def _lacks_a_part(text: str, names: Names) -> bool:
    """True if it is doc# or #3, where the ids of the context are doc#chunk."""
    doc, hash, chunk = text.rpartition("#")
    return (
        bool(hash)
        and any("#" in id for id in names.ids)
        and ((not chunk and doc in names.of_document) or (not doc and chunk.isdecimal()))
    )


def is_beginning(rest: str, names: Names) -> bool:
    """True if what follows an opening bracket that is never closed is the beginning of a mark."""
    text = rest.strip(" \t\u3000^")
    doc, hash, _ = text.rpartition("#")
    return bool(re.fullmatch(r"\d{1,3}(?:\s*[,，-]\s*\d{0,3})*", text)) or (
        bool(text) and (names.begins(text) or (bool(hash) and bool(doc) and not re.search(r"\s", text)))
    )
