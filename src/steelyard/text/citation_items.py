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
    |来源|文档|文献|资料|引用|参考|片段|段落|上下文|脚注)\s*(?:[:.\#№_-]\s*)?(?=[^\W_])""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = r"(?:0|[1-9]\d{0,8})"
_DASH = r"\s*(?:[-‐‑‒–—−~∼⁓～]|\.\.|\bto\b|至|到)\s*"
_SEPARATOR = r"\s*(?:[,;、&]|\band\b|和|及|与)\s*"
_ITEM = rf"{_NUMBER}(?:{_DASH}{_NUMBER})?"
_LIST = re.compile(rf"{_ITEM}(?:{_SEPARATOR}{_ITEM})*\s*[,;]?", re.IGNORECASE)
_ITEMS = re.compile(rf"({_NUMBER})(?:{_DASH}({_NUMBER}))?", re.IGNORECASE)
_BLANKS = " \t\u3000^"
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
    if stripped in names.place or (inside.startswith("^") and stripped in names.labels):
        return (Target(stripped),)
    folded = unicodedata.normalize("NFKC", stripped)
    plain, dagger, _ = folded.partition("†")
    plain = _LABEL.sub("", plain).strip()
    if _LIST.fullmatch(plain):
        return _numbers(plain, names)
    if targets := _ids(stripped, names):
        return targets
    if plain != folded and (targets := _ids(_LABEL.sub("", stripped, count=1).strip(), names)):
        return targets
    place = names.of_document.get(stripped, -1)
    if place != -1:
        return (Target(stripped, malformed=place is None),)
    is_torn = (dagger and re.match(r"\d", plain)) or _TORN.fullmatch(plain) or _lacks_a_part(stripped, names)
    return (Target(stripped, malformed=True),) if is_torn else ()


def _numbers(listed: str, names: Names) -> tuple[Target, ...]:
    """The numbers and ranges of a list, unless they are years, intervals or the like."""
    items = [(match[0], int(match[1]), int(match[2] or match[1])) for match in _ITEMS.finditer(listed)]
    numbers = [number for _, *pair in items for number in pair]
    alone = len(items) == 1 and items[0][1] == items[0][2]
    largest = max(LARGEST_ALONE if alone else LARGEST_LISTED, len(names.ids))
    are_ids = all(str(number) in names.place for number in numbers)
    if not are_ids and (max(numbers) > largest or (0 in numbers and not alone)):
        return ()
    return tuple(
        Target(text, malformed=True) if last < first else Target(text, first, last) for text, first, last in items
    )


def _ids(inside: str, names: Names) -> tuple[Target, ...]:
    """The ids between two brackets.  A comma may belong to a document's name, a semicolon may not."""
    targets: list[Target] = []
    for part in re.split("[;；]", inside):
        held = ""
        for piece in re.split("([,，、])", part):
            held += piece
            id = held.strip(" \t\u3000,，、")
            last = id.rpartition(" ")[2]
            if id in names.place or not (last in names.place or names.resembles(last)):
                last = id
            if id and (last in names.place or names.resembles(last) or _has_both_parts(piece)):
                targets.append(Target(last))
                held = ""
        rest = held.strip(" \t\u3000,，、")
        if targets and re.fullmatch(r"#?\d+|#", rest):
            targets.append(Target(rest, malformed=True))
    return tuple(targets)


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
