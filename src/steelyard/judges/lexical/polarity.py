"""What a text affirms and denies: negation, modality and opposites in one form, from the words of polarity.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, NamedTuple

from steelyard.judges.lexical.words import STEPS, forms
from steelyard.text.folding import fold, fold_with_offsets
from steelyard.text.scripts import IDEOGRAPHS

_MODALITY: Mapping[str, str] = {"forbidden": "may-", "free": "need-", "required": "need+", "allowed": "may+"}
"""Of each list of the file the side of an axis that its words are on."""
_AXES = ("may", "need")
_OPPOSITE = {"+": "-", "-": "+"}
_CHINESE = re.compile(f"[{IDEOGRAPHS}]")
_CLAUSE_END = re.compile(r"[.;:!?,，。；：！？\n]")
_BEHIND = re.compile(rf"(?:[^\w.;!?，。；：！？\n]+[\w'-]+){{1,5}}|[{IDEOGRAPHS}]{{1,4}}")
_BEFORE = re.compile(rf"(?:[\w'-]+[^\w.;!?，。；：！？\n]+){{1,5}}$|[{IDEOGRAPHS}]{{1,4}}$")
_PASSIVE = re.compile(r"(?:(?<!\w)(?:is|are|was|were|be|been|being)(?: \w+)?|[被是])\s*$")


class Mark(NamedTuple):
    """A word that affirms or denies, and its place in the text.

    claim   the side of an axis that it is on, such as "may-" or "axis3+"; empty for a negation
    """

    claim: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Polarity:
    """What a text affirms and denies.

    claims   sides of axes that it is on: "may-" where it forbids, "need+" where it demands
    denied   forms of the words that it negates, each the first behind a negating word
    bound    forms of the words that are forbidden, or need not be
    marks    the words that say so, in order, apart
    """

    claims: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    marks: tuple[Mark, ...] = ()

    @property
    def is_plain(self) -> bool:
        """True where nothing is negated, and nothing forbidden, demanded or left open."""
        return not self.denied and self.claims.isdisjoint(_MODALITY.values())

    def denied_beside(self, other: Polarity) -> frozenset[str]:
        """The words that it negates and the other does not; none where the other forbids."""
        return frozenset() if "may-" in other.claims else self.denied - other.denied - other.bound

    def sides(self, other: Polarity, words: frozenset[str]) -> Mapping[str, str]:
        """The side of each axis that the text is on; an axis of which it is on both is left out.

        words   forms of all words of the text; where it has those that the other forbids, and is plain, it affirms them
        """
        claims = set(self.claims)
        if self.is_plain and other.bound and other.bound <= words:
            claims.update(f"{axis}+" for axis in _AXES)
        if "need+" in claims and "may-" not in claims:
            claims.add("may+")
        return {claim[:-1]: claim[-1] for claim in claims if claim[:-1] + _OPPOSITE[claim[-1]] not in claims}


NEUTRAL = Polarity()


def contradicts(one: Polarity, words: frozenset[str], other: Polarity, others: frozenset[str]) -> bool:
    """True where one text affirms what the other denies.

    words, others   forms of all words of the texts, which affirm those that they do not deny

    >>> smoking = frozenset(["smok"])
    >>> contradicts(polarity("No smoking."), smoking, polarity("Smoking is allowed."), smoking)
    True
    >>> contradicts(polarity("No smoking."), smoking, polarity("Smoking is prohibited."), smoking)
    False
    """
    if one.denied_beside(other) & others or other.denied_beside(one) & words:
        return True
    sides, opposite = one.sides(other, words), other.sides(one, others)
    return any(axis in opposite and opposite[axis] != side for axis, side in sides.items())


def has_marks(text: str) -> bool:
    """True for a text in which a word affirms or denies something."""
    folded = text.lower() if text.isascii() else fold(text, STEPS)
    if "n't" in folded or _english_words().search(folded):
        return True
    return not text.isascii() and _patterns()[1].search(folded) is not None


def polarity(text: str) -> Polarity:
    """What a text affirms and denies.

    - A negation turns the word of an axis right behind it to the other side, as "not prohibited" is "allowed"; else it
      denies the first content word behind it.
    - What is forbidden turns a word of an axis too: "must not exceed" is "at most".

    >>> sorted(polarity("The hall has no garden.").denied), sorted(polarity("馆内并未禁止拍照。").claims)
    (['garden'], ['may+'])
    """
    folded = text.lower() if text.isascii() else fold(text, STEPS)
    matches = _matches(folded)
    if not matches:
        return NEUTRAL
    scan = _Scan(folded)
    for match in matches:
        scan.take(match)
    scan.settle()
    if folded != text.lower() or len(folded) != len(text):
        source = fold_with_offsets(text, STEPS).source
        scan.marks = [(claim, *source(start, end)) for claim, start, end in scan.marks]
    marks = tuple(Mark(*mark) for mark in scan.marks)
    return Polarity(frozenset(scan.claims), frozenset(scan.denied), frozenset(scan.bound), marks)


@dataclass
class _Scan:
    """A pass over the marks of a folded text.

    open   the claim ("" of a negation), start and end of a denial that may turn the next mark
    """

    text: str
    marks: list[tuple[str, int, int]] = field(default_factory=list)
    claims: set[str] = field(default_factory=set)
    denied: set[str] = field(default_factory=set)
    bound: set[str] = field(default_factory=set)
    open: tuple[str, int, int] | None = None

    def take(self, match: re.Match[str]) -> None:
        """Read the next mark."""
        name, (start, end) = str(match.lastgroup), match.span()
        if name in ("apart", "negation"):
            self.settle()
            if name == "negation":
                self.marks.append(("", start, end))
                self.open = ("", start, end)
            return
        claim = _MODALITY.get(name) or name[:-1] + {"p": "+", "n": "-"}[name[-1]]
        if self.open is not None and self._turns(claim, start):
            claim = claim[:-1] + _OPPOSITE[claim[-1]]
            start_of_denial = self.open[1]
            self.open = None
        else:
            self.settle()
            start_of_denial = start
        self.marks.append((claim, start, end))
        if claim in ("may-", "need-"):
            self.open = (claim, start_of_denial, end)
        else:
            self.claims.add(claim)

    def settle(self) -> None:
        """Let an open denial count for what is behind it, or for what is before it in the passive."""
        if self.open is None:
            return
        claim, start, end = self.open
        self.open = None
        behind = _BEHIND.match(self.text, end)
        first = forms(behind[0])[:1] if behind else []
        if not claim:
            self.denied.update(first)
            return
        self.claims.add(claim)
        before = _BEFORE.search(self.text, max(0, start - 60), start)
        passive = _PASSIVE.search(self.text, max(0, start - 20), start)
        self.bound.update((forms(before[0])[-1:] if before and (passive or not first) else []) or first)

    def _turns(self, claim: str, start: int) -> bool:
        assert self.open is not None
        denial, _, end = self.open
        gap = self.text[end:start]
        if denial == "need-" or (denial and claim[:-1] in _AXES) or _CLAUSE_END.search(gap):
            return False
        return not forms(gap)


def _groups(*, is_chinese: bool) -> dict[str, list[str]]:
    """Words of the file by list, or by axis and side ("axis3p", "axis3n")."""
    data: Mapping[str, Any] = tomllib.loads((files("steelyard.judges.lexical") / "polarity.toml").read_text("utf-8"))
    groups: dict[str, list[str]] = {"apart": data["negation"]["apart"]}
    groups |= {name: data["modality"][name] for name in _MODALITY}
    for number, axis in enumerate(data["opposites"], start=1):
        groups |= {f"axis{number}p": axis["one"], f"axis{number}n": axis["other"]}
    groups["negation"] = data["negation"]["words"]
    own = {
        name: [word for word in words if (_CHINESE.search(word) is not None) is is_chinese]
        for name, words in groups.items()
    }
    return {name: words for name, words in own.items() if words}


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """English and Chinese words of the file, in groups that are named as in `_groups`."""
    english, chinese = (
        "|".join(f"(?P<{name}>{'|'.join(words)})" for name, words in _groups(is_chinese=is_chinese).items())
        for is_chinese in (False, True)
    )
    return re.compile(rf"(?<![\w'])(?:{english})(?!\w)"), re.compile(chinese)


@cache
def _english_words() -> re.Pattern[str]:
    """English words of the file by their first letter: a tenth of the time where a text has none."""
    by_letter: dict[str, list[str]] = {}
    others = []
    for word in chain(*_groups(is_chinese=False).values()):
        if word[0].isalpha() and word[1:2] not in "?*+{":
            by_letter.setdefault(word[0], []).append(word[1:])
        elif not word.endswith("n't"):
            others.append(word)
    groups = [f"{letter}(?:{'|'.join(rests)})" for letter, rests in by_letter.items()]
    return re.compile(rf"(?<![\w'])(?:{'|'.join(groups + others)})(?!\w)")


def _matches(folded: str) -> list[re.Match[str]]:
    english, chinese = _patterns()
    matches = list(english.finditer(folded))
    if folded.isascii() or not _CHINESE.search(folded):
        return matches
    return sorted([*matches, *chinese.finditer(folded)], key=lambda match: match.start())
