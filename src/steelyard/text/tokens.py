"""Tokens: the words of a text as an index counts them, Chinese and English alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal, get_args

from steelyard.base.errors import InputError
from steelyard.base.extras import require
from steelyard.text.scripts import (
    CHINESE_STOPWORDS,
    ENGLISH_STOPWORDS,
    HANGUL,
    IDEOGRAPHS,
    KANA,
    MARKS,
    simplified,
    without_accents,
)

_LETTER = rf"[^\W_{IDEOGRAPHS}{KANA}{HANGUL}]"
_CJK_INSIDE = IDEOGRAPHS + KANA + HANGUL
_TOKEN = re.compile(
    rf"""[{IDEOGRAPHS}{KANA}]+
    | [{HANGUL}]+
    | {_LETTER}+ (?: [.'_-] {_LETTER}+ | [{MARKS}]+ {_LETTER}* )*
      (?: (?<=[^\W\d_]) (?: \+\+(?![^\W\d{_CJK_INSIDE}]) | \#(?![^\W{_CJK_INSIDE}]) ) )?""",
    re.VERBOSE,
)
# What _TOKEN finds in ASCII text, in half the time.
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:[.'_-][a-z0-9]+)*(?:(?<=[a-z])(?:\+\+(?![a-z_])|#(?!\w)))?")
_THOUSANDS = re.compile(r"(?<![A-Za-z0-9_,.])[0-9]{1,3}(?:,[0-9]{3})+(?!,?[0-9])")
_FIRST_CJK = "\u1100"  # no character of _CJK comes before it
_CJK = re.compile(f"[{IDEOGRAPHS}{KANA}{HANGUL}]")
_HAS_KANA_OR_HANGUL = re.compile(f"[{KANA}{HANGUL}]")
_HYPHENATED_NAME = re.compile(r"[^\W\d_](?:-.*|[^-]*-.*\d.*|[^-]*\d.*)")

_STOPWORDS = ENGLISH_STOPWORDS | CHINESE_STOPWORDS

Chinese = Literal["both", "words", "bigrams", "none"]
"""How Chinese is cut into tokens."""
Simplify = Literal["characters", "opencc", "none"]
"""How traditional Chinese becomes simplified."""
Accents = Literal["folded", "kept"]
"""True if é is e."""
Stem = Literal["english", "none"]
"""True if goods is good."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Turns a text into its tokens, in their order.

    chinese     "words" (rjieba, which the extra "rag" installs), "bigrams" (built in: 知识库 is 知识, 识库), "both"
                (the words, then the bigrams of the same run), or "none" (a run between spaces and punctuation is one
                token, as for an engine that knows no Chinese)
    simplify    "characters" (電池 is 电池, by a built-in table of the commonest characters), "opencc" (OpenCC's t2s,
                which knows phrases; extra "opencc"), or "none"
    accents     "folded" (Pávlovna is pavlovna: Latin and Greek letters lose accents and strokes) or "kept"
    stem        "english" (Snowball, extra "rag": goods is good) or "none"
    stopwords   whether `ENGLISH_STOPWORDS` and `CHINESE_STOPWORDS` are left out

    Text is NFKC-normalised and lower-cased, so ＧＰＴ is gpt; then
    - a word is a run of letters and digits: Pávlovna is pavlovna;
    - Latin words inside Chinese text stay whole: 用GPT-4o部署 is 用, gpt-4o, 部署;
    - words joined by . _ or ' stay whole, without their parts beside them: 3.14, v2.0, example.com, chunk_id, don't;
    - so do ++ and # behind a letter: c++, c#, with a version or Chinese text behind them too;
    - words joined by - stay whole where they look like a name, that is begin with a letter and have a digit, or begin
      with a single letter: gpt-4o, covid-19, e-mail; all others are parted: well-known, 24-hour, 1805-1812;
    - commas between thousands are dropped: 2,000 is 2000;
    - a possessive 's is dropped, with a straight or curly apostrophe, and so are soft hyphens;
    - Chinese is cut into words in their plain reading, each once: compounds do not give their parts as well;
    - a run that has Japanese kana is cut into bigrams by "words" and "both" too, and so is Korean; a run of one
      character is a token;
    - punctuation, symbols and emoji are dropped.

    Raises   InputError for a setting that does not exist; on use MissingExtraError with the line that installs what is
             missing.  No other scheme is ever taken instead, as that would change numbers.

    >>> Tokenizer(chinese="bigrams", stem="none").tokens("用GPT-4o部署知识库: 2,000 well-known names.")
    ['用', 'gpt-4o', '部署', '署知', '知识', '识库', '2000', 'well', 'known', 'names']
    """

    chinese: Chinese = "both"
    simplify: Simplify = "characters"
    accents: Accents = "folded"
    stem: Stem = "english"
    stopwords: bool = False

    def __post_init__(self) -> None:
        for name, words in (("chinese", Chinese), ("simplify", Simplify), ("accents", Accents), ("stem", Stem)):
            choices = get_args(words)
            value = getattr(self, name)
            if value not in choices:
                raise InputError(f"tokenizer: {name} must be {' or '.join(map(repr, choices))}, not {value!r}")

    def _folds(self) -> list[Callable[[str], str]]:
        """Folds that make variants of a character one; nothing of it changes ASCII."""
        folds: list[Callable[[str], str]] = [without_accents] if self.accents == "folded" else []
        if self.simplify == "characters":
            folds.append(simplified)
        elif self.simplify == "opencc":
            folds.append(_opencc().convert)
        return folds

    def tokens(self, text: str) -> list[str]:
        """The tokens of one text; none for a text without letter, digit or ideograph."""
        return self.many([text])[0]

    def many(self, texts: Iterable[str]) -> list[list[str]]:
        """The tokens of each text."""
        cut, folds = _CUTS[self.chinese], self._folds()
        stemmed: Callable[[list[str]], list[str]] | None = None
        if self.stem == "english":
            # One stemmer a call: it must not be shared by threads.
            stemmed = require("Stemmer", extra="rag", what='stem="english"').Stemmer("english").stemWords
        result = []
        for text in texts:
            tokens = _raw_tokens(text, folds, cut)
            if self.stopwords:
                tokens = [token for token in tokens if token not in _STOPWORDS]
            result.append(tokens if stemmed is None else stemmed(tokens))
        return result


def tokenizer_of(stage: object) -> Tokenizer:
    """The tokenizer of a stage, which has the settings of one among its own."""
    return Tokenizer(**{setting.name: getattr(stage, setting.name) for setting in fields(Tokenizer)})


def _raw_tokens(text: str, folds: Iterable[Callable[[str], str]], cut: Callable[[str], list[str]]) -> list[str]:
    if "," in text:
        text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).lower()
    if not folded.isascii():
        # NFKC makes the hyphen that forbids a line break, as in GPT‑4, a typographic one; soft hyphens are not read.
        folded = folded.replace("’", "'").replace("\u2010", "-").replace("\u00ad", "")
        for mark in "“”‘—–":  # so that English with curly quotes and dashes is ASCII too
            folded = folded.replace(mark, " ")
        for fold in folds:
            folded = fold(folded)
    matches = (_ASCII_TOKEN if folded.isascii() else _TOKEN).findall(folded)
    tokens: list[str] = []
    for match in matches:
        if match >= _FIRST_CJK and _CJK.match(match):
            tokens += cut(match)
        elif match.isalnum():
            tokens.append(match)
        else:
            tokens += _parts(match)
    return tokens


def _parts(word: str) -> list[str]:
    joined = "-" not in word or _HYPHENATED_NAME.fullmatch(word)
    return [part.removesuffix("'s") for part in ([word] if joined else word.split("-"))]


@cache
def _opencc() -> Any:
    return require("opencc", extra="opencc", what='simplify="opencc"').OpenCC("t2s")


def _bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def _words(run: str) -> list[str]:
    if _HAS_KANA_OR_HANGUL.search(run):
        return _bigrams(run)
    return _cut(run)


def _both(run: str) -> list[str]:
    if len(run) == 1 or _HAS_KANA_OR_HANGUL.search(run):
        return _bigrams(run)
    return _cut(run) + _bigrams(run)


def _cut(run: str) -> list[str]:
    words: list[str] = require("rjieba", extra="rag", what="cutting Chinese into words").cut(run)
    return words


def _whole(run: str) -> list[str]:
    return [run]


_CUTS: dict[Chinese, Callable[[str], list[str]]] = {"both": _both, "words": _words, "bigrams": _bigrams, "none": _whole}
