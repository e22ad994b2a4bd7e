"""Help, errors and notices of commands in the reader's language: English is written in code, and is the key.

A catalogue is a folder of texts in which English is followed by its translation, line by line.  `{1}`, `{2}` are places
of values; these are translated too, as messages are made of others.  What no catalogue has stays English.  Catalogues
are read where something is to be said in another language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, partial, reduce
from typing import Literal, NamedTuple

from steelyard.reports.words import LANGUAGES, language_of_locale

LANGUAGE_OPTION = "--lang"
PLACE = re.compile(r"\{(\d+)\}")
_VALUE = re.compile(r"[^A-Za-z]*|\S*|'[^']*'|\"[^\"]*\"|`[^`]*`|[\w@.=-]+(?:, [\w@.=-]+)+")
"""What is no message: no word, a single one, something in quotes, or a list of names."""
_WORD = re.compile("[A-Za-z]{2,}")
_WITHIN_WORD = re.compile(r"[A-Za-z][\w-]")
_SENTENCE = re.compile(r"(?<![\w'\"`/.-])[a-z]{2,} [a-z]{2,}(?![\w'\"`/=-])")
_WIDE_MARKS = tuple("，。；：！？（）…")
_WORD_START, _WORD_END = re.compile(r"[A-Za-z0-9'\"`{\[-]"), re.compile(r"[A-Za-z0-9'\"`}\]%]")
_FEW = 2
"""A template of so few words matches sentences that others made."""
_BRACKETS = re.compile(r"\([^()]*\)")
_SAID = re.compile(
    "(?:is|are|has|have|holds|needs|as|takes|gave|did|answered|asks|must|cannot|begins|ended|streamed|refused) "
)
_NUMBERED = re.compile(r"\b(?:lines?|rows?|item|result|byte) \Z")
"""What is followed by a number."""


def language_of(words: Sequence[str]) -> str:
    """The language that the words of a command ask for, even if it takes none of them; else that of the locale.

    >>> language_of(["--lang", "zh", "--help"]), language_of(["evaluate", "--lang=en"])
    ('zh', 'en')
    """
    codes = [code for code in asked_languages(without_language(words)[0]) if code in LANGUAGES]
    return codes[-1] if codes else language_of_locale()


def asked_languages(options: Sequence[str]) -> list[str]:
    """The values of language options, as `without_language` gives them.

    >>> asked_languages(["--lang", "zh", "--lang=en"])
    ['zh', 'en']
    """
    return [word.rpartition("=")[2] for word in options if word != LANGUAGE_OPTION]


def without_language(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The language option among words, with its value, and the other words.

    >>> without_language(["review", "--lang", "zh", "--help"])
    (['--lang', 'zh'], ['review', '--help'])
    """
    options, others = list[str](), list[str]()
    left = list(words)
    while left and left[0] != "--":
        word = left.pop(0)
        if word == LANGUAGE_OPTION and left:
            options += [word, left.pop(0)]
        else:
            (options if word.startswith(f"{LANGUAGE_OPTION}=") else others).append(word)
    return options, others + left


def translator(code: str, catalogue: Literal["help", "messages"] = "messages") -> Callable[[str], str]:
    """What translates texts into a language; English stays as it is.

    >>> say = translator("zh")
    >>> say("run.toml, line 3: k must be a whole number from 1, not 'x'")
    "run.toml，第 3 行：k 必须是从 1 起的整数，而不是 'x'"
    >>> say("no profile is called 'fack', and there is no such file; did you mean faq?")
    "没有名为 'fack' 的评级标准，也没有这个文件；是否指 faq？"
    """
    return str if code == "en" else partial(_translated, folder=f"{code}/{catalogue}")


@cache
def _translated(text: str, folder: str) -> str:
    catalogue = read_catalogue(folder)
    if text in catalogue or _VALUE.fullmatch(text):
        return catalogue.get(text, text)
    guesses, rests = [text], list[str]()
    for template in [template for longest, template in _templates(folder) if longest in text]:
        for values in template.values(text):
            words = [_translated(value, folder) for value in values]
            is_whole = not template.leaves_sentence(values, words, catalogue)
            if is_whole and template.is_sure:
                return template.filled(words)
            if is_whole or template.is_sure:
                (guesses if is_whole else rests).append(template.filled(words))
    return min([*guesses, *rests], key=lambda guess: len(_WORD.findall(guess)))


class _Template(NamedTuple):
    """An English text with places, and its translation.

    english      its texts between the places; places that follow each other are one
    translation  texts at even, and numbers of places at odd positions
    """

    english: tuple[str, ...]
    translation: tuple[str, ...]

    @classmethod
    def of(cls, english: str, translation: str) -> _Template:
        """The template of an entry."""
        return cls(tuple(PLACE.split(_places_joined(english))[::2]), tuple(PLACE.split(_places_joined(translation))))

    @property
    def length(self) -> int:
        """The number of characters outside of places."""
        return sum(map(len, self.english))

    @property
    def is_sure(self) -> bool:
        """True if it has more than a word or two."""
        return sum(len(_WORD.findall(piece)) for piece in self.english) > _FEW

    def values(self, text: str) -> Iterator[Sequence[str]]:
        """The values in a text that the template may have made: the first ones as short as they can be, or as long."""
        if all(piece in text for piece in self.english):
            matches = [pattern.fullmatch(text) for pattern in _patterns(self.english)]
            yield from dict.fromkeys(
                match.groups() for match in matches if match is not None and self._may_be(*match.groups())
            )

    def _may_be(self, *values: str) -> bool:
        """True if no value goes beyond a colon behind a place, or beyond its bracket, or begins within a word."""
        if any(_WITHIN_WORD.search(piece[-1:] + value[:1]) for piece, value in zip(self.english, values, strict=False)):
            return False
        first = f"{_BRACKETS.sub('', values[0])} "
        is_whole = (
            self.english[0] or self.english[1].startswith((":", ";", ",", " (")) or not (": " in first or "; " in first)
        )
        before = zip(self.english, values, strict=False)
        return bool(is_whole) and all(
            _is_closed(value) for piece, value in before if not self.is_sure or piece.endswith("(")
        )

    def leaves_sentence(self, values: Sequence[str], words: Sequence[str], catalogue: Container[str]) -> bool:
        """True if anything in the text is still to be translated; a place before a colon need not be."""
        has_words = _WORD.search("".join(self.english))
        unchanged = [value if value == word else "" for value, word in zip(values, words, strict=True)]
        if not has_words and unchanged == list(values):
            return True
        has_advice = self.english[-1] == "" and "; " in values[-1] and values[-1] not in catalogue
        is_after_place = not self.english[0] and self.english[-2].endswith(": ")
        if has_words and has_advice and not is_after_place:
            return True
        n_places = int(not self.english[0] and self.english[1][:1] == ":")
        sentences = [value for piece, value in zip(self.english, unchanged, strict=False) if not piece.endswith("`")]
        return any(map(_SENTENCE.search, sentences[n_places:]))

    def filled(self, words: Sequence[str]) -> str:
        """The translation with values."""
        parts = [words[self._place(part)] if i % 2 else part for i, part in enumerate(self.translation)]
        return reduce(_joined, parts)

    def _place(self, number: str) -> int:
        return sorted({*self.translation[1::2]}, key=int).index(number)


def _places_joined(text: str) -> str:
    """Places that follow each other as one, as nothing tells where the first one ends."""
    return re.sub(r"(\{\d+\})(?:\{\d+\})+", r"\1", text)


@cache
def _is_closed(text: str) -> bool:
    """True if each bracket and quote that is opened in a text is closed behind, and no other is."""
    if "(" not in text and ")" not in text and "'" not in text:
        return True
    depth = 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if depth < 0:
            return False
    return depth == 0 and len(re.findall(r"(?<!\w)'(?=\S)", text)) <= len(re.findall(r"(?<=\S)'(?!\w)", text))


def _joined(text: str, other: str) -> str:
    """Two texts as one: a blank is between a Chinese character and a word or what is in quotes, and no other is."""
    before, behind = text.rstrip(" ")[-1:], other.lstrip(" ")[:1]
    if (_is_chinese(before) or before in _WIDE_MARKS) and (_is_chinese(behind) or behind in _WIDE_MARKS):
        return text.rstrip(" ") + other.lstrip(" ")
    end, start = text[-1:], other[:1]
    meets = (_is_chinese(end) and _WORD_START.match(start)) or (_WORD_END.match(end) and _is_chinese(start))
    return f"{text} {other}" if meets else text + other


def _is_chinese(character: str) -> bool:
    return "一" <= character <= "鿿"


@cache
def _patterns(pieces: Sequence[str]) -> Sequence[re.Pattern[str]]:
    # Punctuation may be in a value, too; what is said in words is said once.
    return [_pattern(pieces, most) for most in ("?" if _WORD.search("".join(pieces)) else ("?", ""))]


def _pattern(pieces: Sequence[str], most: str) -> re.Pattern[str]:
    groups = [f"({'[^ ]' if _NUMBERED.search(piece) else '.'}*{most})" for piece in pieces[:-1]]
    return re.compile("".join(map("".join, zip(map(re.escape, pieces), [*groups, ""], strict=True))), re.DOTALL)


@cache
def _templates(folder: str) -> Sequence[tuple[str, _Template]]:
    """Templates with places, those of most text first, behind the longest of their texts."""
    entries = {key: text for key, text in read_catalogue(folder).items() if PLACE.search(key)}
    ends = {f"{{0}}{end}": f"{{0}}{text}" for end, text in _ends(read_catalogue(folder))}
    templates = [_Template.of(english, text) for english, text in (entries | ends).items()]
    templates.sort(key=lambda template: -template.length)
    return [(max(template.english, key=len), template) for template in templates]


def _ends(catalogue: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What may follow a value: what begins with a comma or a blank, and what is said of something."""
    for english, text in catalogue.items():
        if english[0] in " ,;":
            yield english, text
        elif _SAID.match(english):
            yield f" {english}", f" {text}"


@cache
def read_catalogue(folder: str) -> Mapping[str, str]:
    """English -> its translation, of all files in a folder such as zh/messages."""
    return {english: text for file in texts_of(folder).values() for english, text in file}


def texts_of(folder: str) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Name of each file of a catalogue -> English and its translation, in their order."""
    from importlib.resources import files  # English help does without.

    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in (files("steelyard.cli") / "translations" / folder).iterdir()
    }
    return {name: list(_pairs(texts[name])) for name in sorted(texts)}


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line and not line.startswith("# ")]
    yield from zip(lines[::2], lines[1::2], strict=True)
