"""Scripts as ranges of characters, the language of a text, and words that say nothing about its matter."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from importlib.resources import files

from steelyard.base.choices import Language

IDEOGRAPHS = "\u3005\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Chinese characters."""
KANA = "\u3041-\u3096\u3099-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"
"""Japanese syllables."""
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7a3\ud7b0-\ud7fb"
"""Korean syllables and letters."""
MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u096f\u0971-\u09f1"
    "\u09f4-\u09f9\u09fc\u09fe-\u0a75\u0a77-\u0aef\u0af2-\u0b6f\u0b71-\u0bf2\u0bfb-\u0c76\u0c78-\u0c7e\u0c80-\u0c83"
    "\u0c85-\u0d4e\u0d50-\u0d78\u0d7a-\u0df3\u0e31-\u0e3a\u0e40-\u0e4e"
)
"""Vowel signs and accents that NFKC leaves apart from their letter, and that \\w does not match; letters and digits of
the same blocks are in, their punctuation and signs of currencies are not."""
UNSPACED = (
    "\u2e80-\u2fff\u3001-\u3098\u309b-\u312f\u31a0-\u31ff\u3220-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\ufe10-\ufe1f\ufe30-\ufe4f\uff01-\uff9d\uffe0-\uffe6\U0001b000-\U0001b16f\U00020000-\U0003ffff"
)
"""Chinese and Japanese, punctuation included, which are written without blanks; Korean has blanks.  The voiced marks of
kana are left out, as they combine with the character before them."""
WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\U00020000-\U0003ffff"
)
"""What takes two columns of a terminal."""


ACCENTS = "\u0300-\u036f"
"""Accents that follow their letter."""
LATIN_AND_GREEK = "A-Za-z\u00aa\u00ba\u00c0-\u02af\u0370-\u03ff\u1e00-\u1fff\u2c60-\u2c7f\ua722-\ua7ff"
"""Letters of which an accent makes no other one, as far as searching goes; й is no и, and か no が."""

_RANGES = ((0xC0, 0x250), (0x370, 0x400), (0x1E00, 0x2000))
_STROKES = str.maketrans("ĐđĦħıŁłØøŦŧ", "DdHhiLlOoTt")
"""Letters with a stroke, which Unicode does not take apart; a dotless i, as its dot is an accent."""
_ACCENTED = re.compile(r"[\u00c0-\u024f\u0370-\u03ff\u1e00-\u1fff]")
_ANY_ACCENT = re.compile(f"[{ACCENTS}]")
_COMBINING = re.compile(f"(?<=[{LATIN_AND_GREEK}])[{ACCENTS}]+")


def without_accents(text: str) -> str:
    """Latin and Greek letters without their accents and strokes; of all other scripts nothing is changed.

    >>> without_accents("Pávlovna, Łódź, Ελλάδα, Чайковский, ひらがな")
    'Pavlovna, Lodz, Ελλαδα, Чайковский, ひらがな'
    """
    if text.isascii():
        return text
    # Twice as fast as str.translate, as long as fewer than one letter in six has an accent.
    plain = _ACCENTED.sub(lambda letter: _unaccented().get(letter[0], letter[0]), text)
    return _COMBINING.sub("", plain) if _ANY_ACCENT.search(plain) else plain


def combining_accents(text: str) -> list[tuple[int, int]]:
    """Places where a text has accents behind the Latin or Greek letter that they belong to."""
    return [match.span() for match in _COMBINING.finditer(text)] if _ANY_ACCENT.search(text) else []


def simplified(text: str) -> str:
    """Traditional Chinese characters in their simplified form, each by itself; what is simplified already stays.

    The table has the 2,400 commonest (simplified.tsv).  Each character becomes one, whatever is beside it, so a text
    has the same form in and out of its context; a few forms become one that simplified texts tell apart (著 and 着),
    which is no loss where both sides are folded.

    >>> simplified("電池後面的髮夾")
    '电池后面的发夹'
    """
    if text.isascii() or not _traditional().search(text):
        return text
    return text.translate(_simplified())


@cache
def _unaccented() -> dict[str, str]:
    table = dict[str, str]()
    for code in (c for first, end in _RANGES for c in range(first, end)):
        parts = unicodedata.normalize("NFD", chr(code))
        base, marks = parts[0], parts[1:]
        if marks and all("\u0300" <= mark <= "\u036f" for mark in marks) and base.isalpha():
            table[chr(code)] = base.translate(_STROKES)
    return table | {chr(old): chr(new) for old, new in _STROKES.items()}


@cache
def _simplified() -> dict[int, str]:
    lines = files("steelyard.text").joinpath("simplified.tsv").read_text(encoding="utf-8").split("\n")
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return {ord(old): new for new, several in pairs for old in several}


def traditional_of(character: str) -> str:
    """The traditional characters that a simplified one stands for, or itself where it stands for none.

    >>> traditional_of("发"), traditional_of("的")
    ('發髮', '的')
    """
    return "".join(chr(old) for old, new in _simplified().items() if new == character) or character


@cache
def _traditional() -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(chr, _simplified()))}]")


ZH_SHARE = 0.3
"""Least share of Chinese characters among the letters of a Chinese text."""
_IDEOGRAPH = re.compile(f"[{IDEOGRAPHS}]")


def language_of(text: str) -> Language:
    """Language of a text, Chinese or English: "zh" where at least 0.3 of its letters are Chinese characters, else "en".

    >>> language_of("请问 iPhone 怎么充电？"), language_of("Who was 李白?"), language_of("42")
    ('zh', 'en', 'en')
    """
    n_letters = sum(map(str.isalpha, text))
    return "zh" if n_letters and len(_IDEOGRAPH.findall(text)) / n_letters >= ZH_SHARE else "en"


ENGLISH_STOPWORDS = frozenset(
    """a about after again all also am an and any are as at be because been before being both but by can could did do
    does for from had has have he her here hers him his how i if in into is it its just me more most my no nor not of
    on or our ours out over own she should so some such than that the their theirs them then there these they this
    those through to too under until up us very was we were what when where which while who whom whose why will with
    would you your yours""".split()
)
"""What an index may leave out of an English text."""

CHINESE_STOPWORDS = frozenset(
    """的 了 和 与 及 或 而 且 但 在 是 有 也 都 就 还 又 很 更 最 不 被 把 将 对 从 到 向 于 以 为 由 给 让
    跟 同 之 其 此 该 这 那 哪 谁 么 吗 呢 吧 啊 呀 着 过 地 得 个 们 我 你 您 他 她 它 我们 你们 他们 她们
    它们 自己 这个 那个 这些 那些 这里 那里 这样 那样 什么 怎么 怎样 如何 为什么 哪个 哪些 哪里 因为 所以 如果
    但是 而且 或者 以及 并且 可以 没有 不是 就是 还是 只是 已经 一个 一些 关于 对于 由于""".split()
)
"""What an index may leave out of a Chinese text."""

CONTRACTED = frozenset("""ain aren couldn didn doesn don hadn hasn haven isn shouldn wasn weren won wouldn""".split())
"""English verbs as they are left when the apostrophe of don't ends the word."""

QUESTION_WORDS = frozenset("为何 是否 有没 请问".split())
"""Chinese words by which a question asks, and pairs of characters that these have in common with no other word."""
