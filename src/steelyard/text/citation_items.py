"""What stands in a citation mark: ids of chunks, numbers and ranges of numbers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

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
class Target:
    """An item of a mark: the id `text`; or the numbers from `first` to `last`; or what cannot be read."""

    text: str
    first: int | None = None
    last: int | None = None
    malformed: bool = False

    @property
    def is_id(self) -> bool:
        """Whether it is an id, of the context or not."""
        return self.first is None and not self.malformed


@dataclass(frozen=True)
class Names:
    """What marks may name.

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
        """Whether a text is like an id of the context but for its numbers: c99 is like c7."""
        return _shape(text) in self._shapes

    def begins(self, text: str) -> bool:
        """Whether some id begins with a text."""
        return any(id.startswith(text) for id in self.ids)


def _shape(text: str) -> str:
    return re.sub(r"\d+", "0", text)


def read_items(inside: str, names: Names) -> tuple[Target, ...]:
    """What is named between the brackets of a mark; nothing where it is no mark but text.

    >>> [item.text for item in read_items("1, 3-5", Names(()))], read_items("sic", Names(()))
    (['1', '3-5'], ())
    """
    stripped = inside.strip(_BLANKS)
    if re.fullmatch(r"\[[^\[\]]*\]", stripped):
        stripped = stripped[1:-1].strip(_BLANKS)
    bare = stripped.strip("^")
    if stripped in names.place:
        return (Target(stripped),)
    if bare in names.place or (stripped != bare and bare in names.labels):
        return (Target(bare),)
    return _ids(stripped, names) or _numbers(bare, names) or _unclear(stripped, names)


def _ids(inside: str, names: Names) -> tuple[Target, ...]:
    """The ids between two brackets.  A comma may belong to a document's name, a semicolon may not."""
    targets: list[Target] = []
    for part in re.split("[;；]", inside):
        held = ""
        for piece in re.split("([,，、])", part):
            held += piece
            id = _id(held.strip(_AROUND), names) or (held.strip(_AROUND) if _has_both_parts(piece) else "")
            if id:
                targets.append(Target(id))
                held = ""
        rest = held.strip(_AROUND)
        if targets and re.fullmatch(r"#?\d+|#", rest):
            targets.append(Target(rest, malformed=True))
    return tuple(targets)


def _id(text: str, names: Names) -> str:
    """An id of the context, or one that resembles those: the text, its last word, or what is behind a label."""
    forms = (text, text.rpartition(" ")[2], _LABEL.sub("", text, count=1))
    return next((form for form in forms if not form.isdecimal() and (form in names.place or names.resembles(form))), "")


def _numbers(listed: str, names: Names) -> tuple[Target, ...]:
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
        Target(text, malformed=True) if last < first else Target(text, first, last) for text, first, last in items
    )


def _unclear(text: str, names: Names) -> tuple[Target, ...]:
    """What names a document, or a part of a mark; nothing where it is text."""
    place = names.of_document.get(text, -1)
    if place != -1:
        return (Target(text, malformed=place is None),)
    plain = unicodedata.normalize("NFKC", text)
    is_torn = re.match(r"\d[^†]*†", plain) or _TORN.fullmatch(plain) or _lacks_a_part(text, names)
    return (Target(text, malformed=True),) if is_torn else ()


def _has_both_parts(piece: str) -> bool:
    """Whether a text is doc#chunk."""
    doc, _, chunk = piece.strip().rpartition("#")
    return bool(chunk and doc and not doc[-1].isspace() and not re.search(r"[\s\[\]]", chunk))


def _lacks_a_part(text: str, names: Names) -> bool:
    """Whether it is doc# or #3, where the ids of the context are doc#chunk."""
    doc, hash, chunk = text.rpartition("#")
    return (
        bool(hash)
        and bool(names.of_document)
        and ((not chunk and doc in names.of_document) or (not doc and chunk.isdecimal()))
    )


def is_beginning(rest: str, names: Names) -> bool:
    """Whether what follows an opening bracket that is never closed is the beginning of a mark."""
    text = rest.strip(" \t\u3000^")
    doc, hash, _ = text.rpartition("#")
    return bool(re.fullmatch(r"\d{1,3}(?:\s*[,，-]\s*\d{0,3})*", text)) or (
        bool(text) and (names.begins(text) or (bool(hash) and bool(doc) and not re.search(r"\s", text)))
    )
