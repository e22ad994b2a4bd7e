"""Folding: two texts that differ only in what a reader would not notice become the same text.

A step is named and can be switched on or off.  Steps are applied in one fixed order, whatever the order in which they
are named: line wraps are undone first, while case and line breaks are still there; then quotes, NFKC, lower case,
accents, simplified characters, dashes and, last, white space.  Every step is a list of small replacements, so a folded
range leads back to the exact characters of the source.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import numpy as np

from steelyard.base.arrays import Ints
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.text.scripts import UNSPACED, combining_accents, simplified, without_accents
from steelyard.text.spans import Span

STEPS = MappingProxyType(
    {
        "lower": "letters become lower case; the Greek final sigma becomes the ordinary one",
        "white_space": "every run of white space becomes one blank; at the margins, and beside Chinese, it is dropped",
        "nfkc": "Unicode NFKC: full-width letters, ligatures, composed and decomposed accents become one form",
        "quotes": "curly quotes, corner brackets and guillemets become ' and \"",
        "dashes": "hyphens, dashes, minus signs and horizontal bars become -",
        "accents": "Latin and Greek letters lose accents and strokes",
        "simplified": "traditional Chinese characters become simplified ones, by a table of the commonest",
        "line_wraps": "words hyphenated at a line end are joined, and Chinese lines; other wraps become blanks",
    }
)
"""Every step and its meaning, in the canonical order."""

DEFAULT_STEPS = ("lower", "white_space")
"""The classic tutorial rule; Chinese and Japanese are written without blanks, so none beside them is read."""

_BLOCK = 1 << 12
"""Characters whose white space is folded at once; a whole novel would not stay in the cache."""
_SPACES = [c for c in map(chr, range(0x3001)) if c.isspace() and c != " "]
_ASCII_SPACES = [c for c in _SPACES if c.isascii()]
_NO_BLANK = f"(?![０-９Ａ-Ｚａ-ｚ])[{UNSPACED}]"  # beside these a blank, or the end of a line, separates nothing
_RUN_OF_SPACE = re.compile(r"\s\s+")
_RUN_OR_IDLE_SPACE = re.compile(rf"\s\s+|\s(?={_NO_BLANK})|(?<={_NO_BLANK})\s")
_IDLE_BLANK = re.compile(f" (?:(?={_NO_BLANK})|(?<={_NO_BLANK} ))")
_FIRST_UNSPACED = ord(UNSPACED[0])
_STARTS_IDLE = re.compile(_NO_BLANK)

_SINGLE_QUOTES = "‘’‚‛‹›ʼ′`´＇『』﹃﹄"
_DOUBLE_QUOTES = "“”„‟«»⹂″〝〞〟＂「」｢｣﹁﹂"
_HYPHENS = "-\u2010\u2011\ufe63\uff0d"
_DASHES = _HYPHENS[1:] + (
    "\u058a\u05be\u1400\u1806\u2012\u2013\u2014\u2015\u2043\u207b\u208b\u2212\u2500"
    "\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u30a0\ufe31\ufe32\ufe58\U00010ead"
)
_DASH_LIKE = frozenset(_HYPHENS + _DASHES)

_SOFT_HYPHEN = "\u00ad"
_LINE_ENDS = "\n\r\x0b\x0c\x85\u2028"
_WRAP = re.compile(rf"[{_LINE_ENDS}{_SOFT_HYPHEN}]\s*")
_ONE_BREAK = re.compile(rf"{_SOFT_HYPHEN}?[^\S{_LINE_ENDS}]*(?:\r\n|[{_LINE_ENDS}])[^\S{_LINE_ENDS}]*")
_BARE_ENDS = frozenset(("\n", "\r\n"))
_CJK = re.compile(f"[{UNSPACED}]")
_CJK_TOO = frozenset("“”‘’…—·")  # punctuation that Chinese shares with other scripts


def in_order(steps: Iterable[str]) -> tuple[str, ...]:
    """Steps in the canonical order, each once.

    Raises   InputError for a step that does not exist, with the nearest names.

    >>> in_order(["white_space", "lower", "lower"])
    ('lower', 'white_space')
    """
    if isinstance(steps, str):
        raise InputError(f"steps must be names in a list or tuple, not the text {steps!r}; write [{steps!r}]")
    asked = list(steps)
    for step in asked:
        if step not in STEPS:
            raise InputError(f"no folding step is called {step!r}; {nearest(str(step), STEPS.keys())}")
    return tuple(step for step in STEPS if step in asked)


def fold(text: str, steps: Iterable[str] = DEFAULT_STEPS) -> str:
    """The text after the steps; folding it again with the same steps changes nothing.

    White space is what str.isspace says; zero-width characters are not white space.
    Raises   InputError for a step that does not exist.

    >>> fold(" Anna\\r\\n  Pávlovna ")
    'anna pávlovna'
    >>> fold("“Ｈｅｌｌｏ” — an exam-\\nple", STEPS)
    '"hello" - an example'
    """
    for operation in _operations(steps if isinstance(steps, tuple) else in_order(steps)):
        text = operation.apply(text)
    return text


def fold_with_offsets(text: str, steps: Iterable[str] = DEFAULT_STEPS) -> Folded:
    """The same text as fold gives, with the way back to the source.

    Raises   InputError for a step that does not exist.

    >>> folded = fold_with_offsets("Anna\\r\\n  Pávlovna")
    >>> folded.text, folded.source(5, 8)
    ('anna pávlovna', (8, 11))
    """
    stages = []
    for operation in _operations(in_order(steps)):
        if operation.edits is not None:
            spans, sizes = operation.edits(text)
            if spans:
                stages.append(_stage(spans, sizes))
        text = operation.apply(text)
    return Folded(text, tuple(stages))


@dataclass(frozen=True, eq=False)
class Folded:
    """A folded text that knows which characters of the source made it.

    A unit is a smallest piece that a step replaces as a whole: a run of white space, "İ" (two characters when lower),
    a letter with its accents where NFKC changes it, a wrapped line end; or several of them, where a later step joins
    what an earlier one made.
    """

    text: str
    _stages: tuple[_Stage, ...] = field(repr=False)

    def source(self, start: int, end: int) -> Span:
        """The smallest source range that made text[start:end].

        A range that begins or ends inside a unit gets the whole unit.  What was dropped at either side is left out,
        what was dropped inside is included.  The source range folds to text[start:end] exactly where the range cuts
        no unit, has no white space at its margins, and, with line_wraps, does not begin or end within two characters of
        a line break (what happens to a break depends on its neighbours).
        Raises   InputError where the range is empty or not within the folded text.
        """
        if not 0 <= start < end <= len(self.text):
            raise InputError(
                f"the range {start}:{end} is empty or outside a folded text of {len(self.text)} characters"
            )
        first, last = start, end - 1
        for stage in reversed(self._stages):
            first, last = stage.before(first)[0], stage.before(last)[1] - 1
        return first, last + 1


@dataclass(frozen=True, eq=False, slots=True)
class _Stage:
    """The edits of one step, in order: before[start:end] is after[new_start:new_end] behind it; the rest only moved."""

    start: Ints
    end: Ints
    new_start: Ints
    new_end: Ints

    def before(self, i: int) -> Span:
        """The piece before the step that is character i behind it."""
        edit = int(np.searchsorted(self.new_start, i, side="right")) - 1
        if edit < 0:
            return i, i + 1
        if i < self.new_end[edit]:
            return int(self.start[edit]), int(self.end[edit])
        moved = i - int(self.new_end[edit]) + int(self.end[edit])
        return moved, moved + 1


def _stage(spans: list[Span], sizes: list[int]) -> _Stage:
    start, end = np.array(spans, np.int64).T
    size = np.array(sizes, np.int64)
    grown = np.cumsum(size - (end - start))
    return _Stage(start, end, end + grown - size, end + grown)


Edits = tuple[list[Span], list[int]]
"""Ranges that a step replaces, and the size of what replaces them."""


@dataclass(frozen=True, slots=True)
class _Operation:
    """A function on text, and the edits it makes; None where every character stays in its place."""

    apply: Callable[[str], str]
    edits: Callable[[str], Edits] | None = None


@cache
def _operations(steps: tuple[str, ...]) -> tuple[_Operation, ...]:
    """The operations in the order of application.

    NFKC may bring forth quotes (ŉ) and capitals (℡), and lower-casing may bring forth what NFKC composes (H̱): hence the
    repetitions, without which folding twice would change more than folding once.
    """
    steps = in_order(steps)
    nfkc = "nfkc" in steps
    wanted = (
        ("line_wraps" in steps, _LINE_WRAPS),
        ("quotes" in steps, _QUOTES),
        (nfkc, _NFKC),
        ("lower" in steps, _LOWER),
        (nfkc and "lower" in steps, _NFKC),
        (nfkc and "quotes" in steps, _QUOTES),
        ("accents" in steps, _ACCENTS),
        ("simplified" in steps, _SIMPLIFIED),
        ("dashes" in steps, _DASHES_TO_HYPHEN),
        ("white_space" in steps, _WHITE_SPACE),
    )
    return tuple(operation for is_wanted, operation in wanted if is_wanted)


def _lower(text: str) -> str:
    # str.lower looks at the neighbours of a capital sigma only; one sigma for all keeps folding free of context.
    return text.lower().replace("ς", "σ")


def _lower_edits(text: str) -> Edits:
    spans = [match.span() for match in re.finditer("İ", text)]
    return spans, [len("İ".lower())] * len(spans)


def _blanks_that_separate(text: str) -> str:
    folded = _single_blanks(text)
    return _IDLE_BLANK.sub("", folded) if _may_have_unspaced(folded) else folded


def _may_have_unspaced(text: str) -> bool:
    # Twenty times as fast as a search for any of UNSPACED, in a novel with curly quotes.
    return not text.isascii() and bool(
        np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16).max() >= _FIRST_UNSPACED
    )


def _single_blanks(text: str) -> str:
    if len(text) <= _BLOCK:
        return _single_blanks_in_block(text)
    pieces: list[str] = []
    is_open = False
    for start in range(0, len(text), _BLOCK):
        block = text[start : start + _BLOCK]
        if folded := _single_blanks_in_block(block):
            if pieces and (is_open or block[0].isspace()):
                pieces.append(" ")
            pieces.append(folded)
        is_open = block[-1].isspace()
    return "".join(pieces)


def _single_blanks_in_block(text: str) -> str:
    # Up to five times as fast as split and join: replacing a character that is absent costs next to nothing.
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    for space in _ASCII_SPACES if text.isascii() else _SPACES:
        text = text.replace(space, " ")
    while "  " in text:
        text = text.replace("  ", " ")
    return text.strip(" ")


def _blanks_edits(text: str) -> Edits:
    runs = _RUN_OR_IDLE_SPACE if _may_have_unspaced(text) else _RUN_OF_SPACE
    spans = [match.span() for match in runs.finditer(text)]
    if text[:1].isspace() and (not spans or spans[0][0] > 0):
        spans.insert(0, (0, 1))
    if text[-1:].isspace() and (not spans or spans[-1][1] < len(text)):
        spans.append((len(text) - 1, len(text)))
    return spans, [int(_separates(text, start, end)) for start, end in spans]


def _separates(text: str, start: int, end: int) -> bool:
    """True if white space is between two characters of which both are written with blanks."""
    if start == 0 or end == len(text):
        return False
    return not (_STARTS_IDLE.match(text, start - 1) or _STARTS_IDLE.match(text, end))


def _plain_quotes(text: str) -> str:
    return _replace_all(_replace_all(text, _SINGLE_QUOTES, "'"), _DOUBLE_QUOTES, '"')


def _plain_dashes(text: str) -> str:
    return _replace_all(text, _DASHES, "-")


def _replace_all(text: str, characters: str, new: str) -> str:
    for old in characters:  # str.replace costs next to nothing where the character is absent
        text = text.replace(old, new)
    return text


def _nfkc(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _nfkc_edits(text: str) -> Edits:
    """Pieces that NFKC changes, each from one boundary of normalisation (Unicode Standard Annex 15) to the next."""
    if unicodedata.is_normalized("NFKC", text):
        return [], []
    distinct = sorted(set(text))
    joining = "".join(re.escape(c) for c in distinct if _joins_backward(c))
    growing = "".join(re.escape(c) for c in distinct if len(_nfkc(c)) != 1)
    patterns = ([rf"[\s\S][{joining}]+"] if joining else []) + ([f"[{growing}]"] if growing else [])
    spans, sizes = [], []
    for match in re.finditer("|".join(patterns), text) if patterns else ():
        new = _nfkc(match[0])
        if new != match[0]:
            spans.append(match.span())
            sizes.append(len(new))
    return spans, sizes


def _joins_backward(character: str) -> bool:
    """True if normalisation may reorder the character with, or compose it onto, the characters before it."""
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.combining(first) != 0 or first in _second_halves()


@cache
def _second_halves() -> frozenset[str]:
    """Starters that a canonical composition can take as its second half (conjoining jamo, some vowel signs)."""
    jamo = [chr(c) for c in (*range(0x1161, 0x1176), *range(0x11A8, 0x11C3))]
    halves = (unicodedata.decomposition(chr(c)).split() for c in range(sys.maxunicode + 1))
    seconds = [chr(int(pair[1], 16)) for pair in halves if len(pair) == 2 and pair[0][0] != "<"]
    return frozenset([*jamo, *seconds])


def _accents_edits(text: str) -> Edits:
    spans = [(start - 1, end) for start, end in combining_accents(text)]
    return spans, [1] * len(spans)


def _without_wraps(text: str) -> str:
    pieces: list[str] = []
    at = 0
    for (start, end), new in _wraps(text):
        pieces += text[at:start], new
        at = end
    return "".join([*pieces, text[at:]])


def _wrap_edits(text: str) -> Edits:
    resized = [(span, len(new)) for span, new in _wraps(text)]
    return [span for span, _ in resized], [size for _, size in resized]


def _wraps(text: str) -> list[tuple[Span, str]]:
    """Line ends and soft hyphens, with what takes their place.

    A break is one line end with the blanks around it; two line ends or more end a paragraph and stay as they are.
    """
    wraps = []
    for match in _WRAP.finditer(text):
        start, end = match.span()
        soft = text[start] == _SOFT_HYPHEN
        if match[0] not in _BARE_ENDS and _ONE_BREAK.fullmatch(match[0]) is None:
            if soft:
                wraps.append(((start, start + 1), ""))
            continue
        while not soft and start and text[start - 1].isspace():
            start -= 1
        before, after = text[max(start - 2, 0) : start], text[end : end + 1]
        if soft:
            wraps.append(((start, end), "" if after.isalnum() else " "))
        elif before.isascii() and after.isascii() and before[-1:] != "-":
            wraps.append(((start, end), " "))  # the ordinary case, decided early for speed
        elif _is_hyphenated(before, after):
            wraps.append(((start - 1, end), ""))
        else:
            wraps.append(((start, end), "" if _is_unspaced(before, after) else " "))
    return wraps


def _is_hyphenated(before: str, after: str) -> bool:
    """True if the hyphen is there for the line end's sake: a letter, a hyphen, and a letter that is not a capital."""
    if len(before) < 2 or before[1] not in _HYPHENS or not after.isalpha() or after.isupper():
        return False
    is_letter = before[0].isalpha() or unicodedata.combining(before[0]) != 0
    return is_letter and _CJK.match(before) is None and _CJK.match(after) is None


def _is_unspaced(before: str, after: str) -> bool:
    """True if a break is where the text would have no blank: behind a word's dash, or between CJK characters."""
    if before[-1:] in _DASH_LIKE and not before[:-1].isspace() and after.isalnum():
        return True
    sides = [bool(c) and _CJK.match(c) is not None for c in (before[-1:], after)]
    return all(sides) or (sides[0] and after in _CJK_TOO) or (sides[1] and before[-1:] in _CJK_TOO)


_LINE_WRAPS = _Operation(_without_wraps, _wrap_edits)
_QUOTES = _Operation(_plain_quotes)
_NFKC = _Operation(_nfkc, _nfkc_edits)
_LOWER = _Operation(_lower, _lower_edits)
_ACCENTS = _Operation(without_accents, _accents_edits)
_SIMPLIFIED = _Operation(simplified)
_DASHES_TO_HYPHEN = _Operation(_plain_dashes)
_WHITE_SPACE = _Operation(_blanks_that_separate, _blanks_edits)
