"""Sentences: where they begin and end in a text, Chinese and English alike."""

from __future__ import annotations

import re
from itertools import pairwise

from steelyard.text.scripts import IDEOGRAPHS, KANA
from steelyard.text.spans import Span

NEVER_LAST = frozenset(
    """mr mrs ms messrs mme mlle dr prof st ste rev hon gen col maj capt cpt lt sgt cmdr adm gov sen rep pres supt
    mt vs cf viz eg ie e.g i.e ca approx resp esp incl excl""".split()
)
"""English abbreviations that something always follows: the full stop behind them ends no sentence."""

BEFORE_NUMBERS = frozenset("no nos nr fig figs eq eqs sec secs ch chap vol vols p pp art para ed tab ver pt op".split())
"""English abbreviations that end no sentence where a number follows: "No. 5", but "He said no."""

SOMETIMES_LAST = frozenset(
    """etc al inc ltd co corp bros jr sr ph.d m.d dept est ave blvd rd univ assn jan feb mar apr jun jul aug sep sept
    oct nov dec""".split()
)
"""English abbreviations that end a sentence only where a word of `OPENING_WORDS` follows."""

OPENING_WORDS = frozenset(
    """A After All Also An And Another As At Because Before But By Did Do Does During Each Even Every For From He Her
    Here His How However I If In Is It Its Later Let Many Meanwhile Most My Nevertheless No Nobody Not Now On Once One
    Only Or Other Our Out Perhaps She Since So Some Such That The Their Then There Therefore These They This Those
    Though Thus To Today Two Under Until Was We Were What When Where Which While Who Why With Yes Yet You
    Your""".split()
)
"""Words that open a sentence where they begin with a capital letter."""

_CJK = IDEOGRAPHS + KANA
CLOSERS = "”’」』）》】〉〕］｝〗\"')\\]}»›"
"""What may close behind the mark that ends a sentence, as the inside of a regular expression's [...]."""
# A full stop, question or exclamation mark in a run, with what closes behind it, and the blanks that follow.
_END = re.compile(rf"[.!?。！？；…｡．]+([{CLOSERS}]*)(\s*)")
_CHINESE = frozenset("。！？；｡")
_TITLE_ENDS = frozenset("》〉")
_GOES_ON = frozenset("，、：,:;.!?。！？；…｡．")
_CJK_OR_OPENER = re.compile(f"[{_CJK}“‘「『《（【〈〔]")
_CJK_OR_CLOSER = re.compile(f"[{_CJK}”’」』》）】〉〕]")
_NUMERAL = "0-9０-９〇零一二两三四五六七八九十百千"
# Lines that are sentences of their own begin with one of these; 1 is a whole line that also ends where its line ends.
_LINE = re.compile(
    rf"""\n[^\S\n]*(?:
      (?=\n|\Z)
    | ( \#{{1,6}}[^\S\n] | \| | 第[{_NUMERAL}]{{1,6}}[章节回卷篇编](?=\s|\Z) )
    | [-*+•][^\S\n]
    | (?:[0-9]{{1,3}}|[A-Za-z](?=\)))[.)][^\S\n]
    | [0-9]{{1,3}}[、．] | [一二三四五六七八九十]{{1,3}}、 | [（(][一二三四五六七八九十0-9]{{1,3}}[）)]
    | 第[{_NUMERAL}]{{1,6}}[条款]
    | [①-⑳]
    | (?P<indent>(?<=\u3000))
    )""",
    re.VERBOSE,
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_WORD = re.compile(r"[^\W\d_]+")
_OPENERS = "([{\"'“‘«–-/（「『《【"
_WORD_BREAK = re.compile(rf"[\s—…，、：{''.join(sorted(_CHINESE))}{_CJK}]")
_NUMBER = re.compile(r"[(\[]?\d")
_LONGEST_ABBREVIATION = 14  # in characters, points and opening brackets counted
_LONGEST_WORD = max(len(word) for word in NEVER_LAST | BEFORE_NUMBERS | SOMETIMES_LAST if word.isalpha())


def sentence_spans(text: str) -> list[Span]:
    """Offsets of the sentences: ascending, apart, none beginning or ending with white space, all of the text in them.

    Chinese ends are 。！？；… and runs of them; English ones are . ! ? before white space.  Further:
    - closing quotes and brackets stay with their sentence; so “你好吗？”他问。 is two;
    - a mark inside a title, as in 《怎么办？》, ends nothing; an ASCII ; never does;
    - . ! ? … ends nothing where a small letter follows: "Why?" he asked. is one sentence;
    - the points of decimals, versions, file names, e-mail addresses and URLs end nothing, nor do initials, nor
      abbreviations (`NEVER_LAST`, `BEFORE_NUMBERS`, `SOMETIMES_LAST`);
    - a blank line ends a sentence;
    - a single line break does not, in English or Chinese, as texts are wrapped; but a heading, a table row, a list item
      and a numbered line (# - 1. | 第一章 一、（一）) begins anew, and heading and row end with their line, an item too
      unless the next line is indented; a line that an ideographic space (U+3000) indents begins anew as well.

    >>> text = "Dr. Li paid 3.14 yuan. “你好吗？”他问。"
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Li paid 3.14 yuan.', '“你好吗？”', '他问。']
    """
    cuts = [0, *_line_cuts(text), *_mark_cuts(text), len(text)]
    cuts.sort()
    spans = []
    for start, end in pairwise(cuts):
        if piece := text[start:end].rstrip():
            spans.append((start + len(piece) - len(piece.lstrip()), start + len(piece)))
    return spans


def _line_cuts(text: str) -> list[int]:
    """Begins and ends of lines that are sentences of their own."""
    cuts = []
    # The first line has no break before it; it is looked at on its own.
    first = _LINE.match("\n" + text[:80])
    if first and first.end() > 1 and first["indent"] is None:
        cuts += _line_end(text, 0, first[1])
    for match in _LINE.finditer(text):
        cuts.append(match.start())
        if match["indent"] is None and not text.startswith("\n", match.end()):
            cuts += _line_end(text, match.start() + 1, match[1])
    return cuts


def _line_end(text: str, start: int, whole: str | None) -> list[int]:
    end = text.find("\n", start)
    if end < 0:
        return []
    goes_on = whole is None and text[end + 1 : end + 2] in (" ", "\t")
    return [] if goes_on else [end]


def _mark_cuts(text: str) -> list[int]:
    """Behind the marks that end a sentence."""
    cuts = []
    for match in _END.finditer(text):
        if match[2] or match.end() == len(text):
            if _ends_before_blank(text, match):
                cuts.append(match.end(1))
        elif _ends_inside_line(text, match):
            opening = _opening_quote(text, match)
            cuts.append(match.end(1) if opening is None else opening)
    return cuts


def _ends_before_blank(text: str, match: re.Match[str]) -> bool:
    closers, following = match[1], text[match.end() : match.end() + 1]
    if closers[:1] in _TITLE_ENDS:
        return False
    marks = text[match.start() : match.start(1)]
    if marks != "." and not _CHINESE.isdisjoint(marks):
        return True
    if following.islower() or following == "|":  # the next cell of a table
        return False
    return marks != "." or not following or not _abbreviates(text, match.start(), match.end())


def _ends_inside_line(text: str, match: re.Match[str]) -> bool:
    closers, following = match[1], text[match.end()]
    if closers[:1] in _TITLE_ENDS or following in _GOES_ON:
        return False
    marks = text[match.start() : match.start(1)]
    if not _CHINESE.isdisjoint(marks):
        return True
    if marks[-1] == "…":
        return not ("a" <= following <= "z")
    if not _CJK_OR_OPENER.match(following):
        return False
    return marks[-1] in "!?" or _CJK_OR_CLOSER.match(text[match.start() - 1 : match.start()]) is not None


def _opening_quote(text: str, match: re.Match[str]) -> int | None:
    """Places where a straight quote behind the mark opens the next sentence: an even number of them come before it."""
    place = text.find('"', match.start(1), match.end(1))
    if place < 0 or text.count('"', text.rfind("\n", 0, place) + 1, place) % 2:
        return None
    return place


def _abbreviates(text: str, dot: int, following: int) -> bool:
    """True if the full stop at `dot` belongs to the word before it, and what follows to the same sentence."""
    before = text[max(0, dot - _LONGEST_ABBREVIATION) : dot]
    last = before[-_LONGEST_WORD - 1 :]
    if len(last) > _LONGEST_WORD and last.isalpha() and (last.isascii() or not _WORD_BREAK.search(last)):
        return False  # too long a word; what follows is for the others
    word = _WORD_BREAK.split(before)[-1].lstrip(_OPENERS)
    abbreviation = word.lower()
    if word[-1:].isdigit():
        # The number of an item: nothing but blanks before it in its line.
        belongs = len(word) <= 3 and text[max(0, dot - len(before)) : dot].rpartition("\n")[2].strip() == word
    elif abbreviation in BEFORE_NUMBERS:
        belongs = _NUMBER.match(text, following) is not None
    elif abbreviation in SOMETIMES_LAST or _INITIALS.fullmatch(word):
        belongs = abbreviation in NEVER_LAST or _goes_on(text, following)
    else:
        belongs = abbreviation in NEVER_LAST
    return belongs


def _goes_on(text: str, following: int) -> bool:
    """True if what follows an abbreviation that may end a sentence does not open a sentence."""
    word = _WORD.match(text, following)
    if word is None:
        return not _CJK_OR_OPENER.match(text[following]) and text[following] not in "\"'"
    is_initial = len(word[0]) == 1 and text.startswith(".", word.end())
    return is_initial or not (word[0] in OPENING_WORDS or _CJK_OR_OPENER.match(word[0]))
