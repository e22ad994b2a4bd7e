"""Which encoding bytes are in, where they are not UTF-8: the one in which alone they read as some language.

Every encoding that the bytes allow is tried, and what comes out is held against the languages that are written in it:
how many of its characters beyond ASCII are among the commonest of the language, in words of one script and of sensible
case.  An encoding is taken only where it explains nearly all, and far more than any other that gives another text;
otherwise nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from steelyard.text.scripts import HANGUL, IDEOGRAPHS, KANA, traditional_of

_LEAST = 0.8
_MARGIN = 0.25
_STRICT = 4
"""How much a character weighs that the whole alphabet of a language lacks, beside one that is only uncommon."""
_EVIDENCE = 3
"""Characters by which the best explanation must be ahead, where a text is too short for shares."""
_READ = 200_000
"""Bytes that are looked at; a longer text is decoded as a whole afterwards."""

_NEUTRAL = re.compile("[\u00a0“”„‘’‚«»‹›–—…•·§°©®™€£¿¡\u3000-\u3003\u3005-\u3020\uff01-\uff0f\uff1a-\uff20～％＋－×]+")
_BETWEEN_LETTERS = re.compile("[^\\W\\d_][“„‚«»‹›•§°©®™€£¿¡]+[^\\W\\d_]")
_WORD = re.compile(r"[^\W\d_]*[^\W\d_\x00-\x7f][^\W\d_]*")
_LONE = re.compile(
    f"(?<![^\\x00-\\x7f])[{IDEOGRAPHS}{HANGUL}](?=[A-Za-z])|(?<=[A-Za-z])[{IDEOGRAPHS}{HANGUL}](?![^\\x00-\\x7f])"
)
_CONTROL = re.compile("[\x80-\x9f\ufffd\ue000-\uf8ff]")

_KOREAN = (
    "이다의는에을를가은고한하기로지사도시자어리나서인대수정그일스것아들과해전있부제보장라으원주상성구만거동비오소게조공여니문유경적관국러진면무세생모안방물우위화신계말연치업용내바체최명"
    "음날선등데분드식발현단통와행회저산개양실트강간합월영당학터할없며운출후입못약남천려야습까처표집호민초평히르교타감미님살된되던든될했였았었겠요십않때또더두른불람마목번달중속외직질종청"
    "품확크프패파키류설읽쓸함임버형변열느냐너네노녹능김증금준돌립점언락심돈반복추밀많좋같즉각군권급년작토판포규례환답송료건책"
)
"""Common syllables; all that EUC-KR has would do for most Chinese."""


@dataclass(frozen=True)
class Language:
    """Language, and the characters by which it is recognised.

    letters   beyond ASCII: all of them, or the commonest
    usual     which share of its characters beyond ASCII they are, in ordinary texts
    dense     the least share of all letters that its characters beyond ASCII are; sparse   the greatest one
    script    "latin" has ASCII letters in its words, "alphabet" has none, "ideographs" has no words
    """

    letters: frozenset[str]
    usual: float = 1.0
    dense: float = 0.0
    sparse: float = 1.0
    script: str = "latin"

    def may_have(self, n: int, n_letters: int) -> bool:
        """True if so many characters beyond ASCII among all letters are neither too few nor too many."""
        expected = self.dense * n_letters
        too_few = expected >= _EVIDENCE and n < expected
        return not too_few and (self.sparse == 1 or n <= max(1, self.sparse * n_letters))


def detect(data: bytes) -> str | None:
    """The encoding of bytes that are not UTF-8; None where they are too few, or read as several languages.

    >>> detect("押金在三个工作日内退还，逾期不还的物品按原价赔偿。".encode("gb18030"))
    'gb18030'
    >>> detect("Größe".encode("latin-1")), detect("押金".encode("gb18030"))
    ('cp1252', None)
    """
    readings = [(encoding, text, *_explained(text, _languages()[encoding])) for encoding, text in _readings(data)]
    if not readings:
        return None
    encoding, text, share, n = max(readings, key=lambda reading: reading[2])
    rival = max((other[2] for other in readings if other[1] != text), default=0.0)
    if n <= _EVIDENCE and _languages()[encoding][0].script != "latin":
        return None
    margin = min(1.0, max(_MARGIN, _EVIDENCE / max(n, 1)))
    return encoding if share >= _LEAST and share - rival >= margin else None


def _readings(data: bytes) -> Iterable[tuple[str, str]]:
    """The encodings that allow the bytes, each with its text."""
    head = data[:_READ] if len(data) <= _READ else data[: data.rfind(b"\n", 0, _READ) + 1] or data
    for encoding in _languages():
        try:
            text = head.decode(encoding)
            data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not _CONTROL.search(text):
            yield encoding, text


def _explained(text: str, languages: Iterable[Language]) -> tuple[float, int]:
    """Share of the characters beyond ASCII that the best of the languages explains, and how many these are."""
    odd = len(_BETWEEN_LETTERS.findall(text))
    plain = _NEUTRAL.sub(" ", text)
    words = _WORD.findall(_LONE.sub(" ", plain))
    n_letters = sum(c.isalpha() for c in plain)
    n = sum(not c.isascii() for c in plain) + odd
    if n == 0:
        return 1.0, 0
    shares = [0.0]
    for language in languages:
        if not language.may_have(n, n_letters):
            continue
        fitting = (word for word in words if _fits(word, language))
        explained = sum(c in language.letters for word in fitting for c in word if not c.isascii())
        lacking = max(0.0, 1 - explained / (language.usual * n))
        shares.append(1 - lacking * (_STRICT if language.script == "latin" else 1))
    return max(shares), n


def _fits(word: str, language: Language) -> bool:
    """True if the letters of a word belong together: one script, and capitals where capitals can be."""
    if language.script == "ideographs":
        return True
    if language.script == "alphabet":
        return not any(c.isascii() for c in word) and word[1:] == word[1:].lower()
    return word[1:] == word[1:].lower() or word == word.upper()


@cache
def _languages() -> dict[str, tuple[Language, ...]]:
    """Encodings in the order in which they are taken where several give one text, with their languages."""
    western = (
        Language(_cased("éèêëàâäçïîôöüñáíó"), sparse=0.02),
        _latin("àâæçéèêëîïôœùûüÿ", 0.024), _latin("äöüß", 0.008), _latin("áéíóúüñºª", 0.01),
        _latin("áâãàçéêíóôõúüºª", 0.02), _latin("àèéìíîòóùúº"), _latin("áéëïíóöüèê"), _latin("åäöéàü", 0.024),
        _latin("æøåéèêóòâôö", 0.009), _latin("åäöšž", 0.024), _latin("áðéíóúýþæö", 0.06), _latin("àçèéíïòóúü", 0.015),
    )  # fmt: skip
    central = (
        _latin("ąćęłńóśźż", 0.045), _latin("áčďéěíňóřšťúůýž", 0.075), _latin("áäčďéíĺľňóôŕšťúýž", 0.065),
        _latin("áéíóöőúüű", 0.065), _latin("ăâîşţ", 0.03), _latin("čćđšž", 0.018),
    )  # fmt: skip
    cyrillic = Language(_cased("оеаинтсрвлкі"), usual=0.66, script="alphabet")
    common = _common()
    traditional = frozenset("".join(traditional_of(c) for c in common))
    kana = frozenset(re.findall(f"[{KANA}ー]", "".join(map(chr, range(0x3041, 0x3100)))))
    chinese, korean, japanese = (
        Language(letters, usual=usual, script="ideographs")
        for letters, usual in ((traditional, 0.55), (frozenset(_KOREAN), 0.7), (kana, 0.4))
    )
    return {
        "gb18030": (Language(frozenset(common), usual=0.55, script="ideographs"), chinese),
        "cp950": (chinese,), "cp932": (japanese,), "euc_jp": (japanese,), "cp949": (korean,),
        "cp1252": western, "cp1250": central, "cp1251": (cyrillic,), "koi8_r": (cyrillic,),
        "cp1253": (Language(_cased("αοιετσςνηρπκυ"), usual=0.72, script="alphabet"),),
        "cp1254": (_latin("çğıöşüâîİ", 0.063),),
        "cp1255": (Language(frozenset("יוהלאמרשתב"), usual=0.66, script="alphabet"),),
        "cp1256": (Language(frozenset("اليـنمرتوبةدس"), usual=0.68, script="alphabet"),),
        "cp1257": (_latin("ąčęėįšųūž", 0.036), _latin("āčēģīķļņšūž", 0.05), _latin("õäöüšž", 0.03)),
    }  # fmt: skip


def _latin(letters: str, dense: float = 0.0) -> Language:
    return Language(_cased(letters), dense=dense)


def _cased(letters: str) -> frozenset[str]:
    return frozenset(letters) | frozenset(c for c in letters.upper() if not c.isascii())


def _common() -> str:
    lines = files("steelyard.data.loading").joinpath("common_chinese.txt").read_text(encoding="utf-8").split("\n")
    return "".join(line for line in lines if not line.startswith("#"))
