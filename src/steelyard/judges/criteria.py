"""Criteria that a language model judges whole answers by, on a scale; and the grades that it gives."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

from steelyard.base.choices import Language
from steelyard.base.errors import InputError, quoted
from steelyard.base.nearest import nearest
from steelyard.base.settings import Origin, SettingError, make_with, parse_toml, read_toml

ScaleName = Literal["yes/no", "1-5", "0-10"]
"""Scales that a criterion may have."""
Sight = Literal["answer", "pair", "context"]
"""What the judge reads: the answer alone, with its question, or with the question and the context."""

_NAME = re.compile(r"\w[\w-]*")
_LONGEST_NAME = 40
_MOST = 40
"""Criteria, which all fit into one call."""


@dataclass(frozen=True, slots=True)
class AnswerScale:
    """A scale from its lowest to its highest grade.

    en, zh   how its grades are said to a model

    >>> scale_named("1-5").share(4), scale_named("0-10").at(0.5)
    (0.75, 5.0)
    """

    low: float
    high: float
    en: str
    zh: str

    def share(self, value: float) -> float:
        """A grade as its share of the scale, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def at(self, share: float) -> float:
        """The grade at a share of the scale."""
        return self.low + share * (self.high - self.low)

    def words(self, language: Language) -> str:
        """How its grades are said to a model."""
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True, slots=True)
class Criterion:
    """A sentence that an answer fulfils, or does not.

    name     of its column and its measure: letters, digits, - and _
    text     the sentence, such as "The answer names a price."
    scale    "yes/no", "1-5" or "0-10"
    of       what the judge reads: "answer" alone, "pair" of question and answer, or "context", the pair and the context
    zh       the sentence for a prompt in Chinese, where it differs
    Raises   SettingError for a name, a text, a scale or an `of` that there cannot be.

    >>> Criterion("polite", "The answer is polite.").scale
    'yes/no'
    """

    name: str
    text: str
    scale: ScaleName = "yes/no"
    of: Sight = "pair"
    zh: str = ""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SettingError(f"a criterion is called {quoted(self.name)}; use letters, digits, - and _")
        if not self.text.strip():
            raise SettingError(f"the criterion {self.name} has no text; say what an answer fulfils", "text")
        for key, words in (("scale", get_args(ScaleName)), ("of", get_args(Sight))):
            if (own := getattr(self, key)) not in words:
                raise SettingError(f"{key} of the criterion {self.name} is {quoted(own)}; {nearest(own, words)}", key)

    def words(self, language: Language) -> str:
        """The sentence, for a prompt in this language."""
        return self.zh if language == "zh" and self.zh else self.text

    @property
    def facts(self) -> dict[str, str]:
        """The criterion as recipes keep it."""
        return {key: value for key, value in asdict(self).items() if value}


@dataclass(frozen=True, slots=True)
class Grade:
    """Grade of an answer by one criterion.

    name, text, scale   of the criterion
    value    on the scale: 1 and 0 of "yes/no"; the mean of several samples may lie between grades; None where it was
             not judged
    reason   why, for people; without a value the cause

    >>> Grade("polite", "The answer is polite.", "1-5", 4.0).share
    0.75
    """

    name: str
    text: str
    scale: ScaleName
    value: float | None = None
    reason: str = ""

    @property
    def share(self) -> float | None:
        """The grade as its share of the scale, from 0 to 1; None where it was not judged."""
        return None if self.value is None else scale_named(self.scale).share(self.value)


@cache
def _declared() -> tuple[Mapping[str, AnswerScale], Mapping[str, Criterion]]:
    text = (files("steelyard.judges") / "criteria.toml").read_text(encoding="utf-8")
    values, _ = parse_toml(text, "criteria.toml")
    scales = {name: AnswerScale(**scale) for name, scale in values["scales"].items()}
    criteria = {name: Criterion(name, **own) for name, own in values["criteria"].items()}
    return MappingProxyType(scales), MappingProxyType(criteria)


def scale_named(name: ScaleName) -> AnswerScale:
    """A scale by its name."""
    return _declared()[0][name]


def criteria_of(items: Iterable[Criterion | str] = (), file: str | Path | None = None) -> tuple[Criterion, ...]:
    """Criteria as they are handed in, each name once.

    items    criteria; the name of one that comes with Steelyard ("answer_grade"); sentences, or "NAME=sentence", which
             are answered by yes or no
    file     TOML with a table [criteria.NAME] a criterion: `text`, and `scale` and `of` where they are not the usual
    Raises   InputError for a name that comes twice, more than 40 criteria, and a file that holds none, with its line.

    >>> [(own.name, own.scale) for own in criteria_of(["answer_grade", "Is it polite?", "short=It is short."])]
    [('answer_grade', '1-5'), ('is_it_polite', 'yes/no'), ('short', 'yes/no')]
    """
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InputError(f'criteria are {quoted(items)}; give a list, such as ["The answer names a price."]')
    criteria = [*(own if isinstance(own, Criterion) else _of_text(own) for own in items)]
    criteria += [] if file is None else _of_file(file)
    names = [own.name for own in criteria]
    if twice := next((name for n, name in enumerate(names) if name in names[:n]), None):
        raise InputError(f"two criteria are called {twice}; name one otherwise: --criterion NAME=SENTENCE")
    if len(criteria) > _MOST:
        raise InputError(f"there are {len(criteria)} criteria; judge by {_MOST} at most at once")
    return tuple(criteria)


def _of_text(text: object) -> Criterion:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"a criterion is {quoted(text)}; give a sentence, or a steelyard Criterion")
    if text in _declared()[1]:
        return _declared()[1][text]
    name, equals, sentence = text.partition("=")
    if equals and _NAME.fullmatch(name.strip()):
        return Criterion(name.strip(), sentence.strip())
    return Criterion(_name_of(text), text.strip())


def _name_of(text: str) -> str:
    """A name made of the words of a sentence, as many as fit."""
    name = ""
    for word in re.findall(r"\w+", text.lower()):
        longer = f"{name}_{word}".lstrip("_")
        if name and len(longer) > _LONGEST_NAME:
            break
        name = longer[:_LONGEST_NAME]
    return name


def _of_file(file: str | Path) -> list[Criterion]:
    values, origin = read_toml(file)
    with origin.locating():
        if other := next((key for key in values if key != "criteria"), None):
            raise SettingError(f"there is no setting {other!r}; criteria are tables [criteria.NAME]", other)
    tables = values.get("criteria")
    if not isinstance(tables, dict) or not tables:
        raise InputError(f'{origin.place()}holds no criteria; write tables [criteria.NAME] with text = "..."')
    return [_of_table(name, table, origin) for name, table in tables.items()]


def _of_table(name: str, table: Any, origin: Origin) -> Criterion:
    """A criterion of a table; one that comes with Steelyard keeps what the table does not say."""
    with origin.locating("criteria", name):
        if not isinstance(table, dict):
            raise SettingError(f'criteria.{name} must be a table with text = "..."')
        own = _declared()[1].get(name)
        usual = {} if own is None or "text" in table else own.facts
        criterion: Criterion = make_with(Criterion, {**usual, "name": name, **table}, f"criteria.{name}")
        return criterion


def grade_named(grades: Sequence[Grade], name: str) -> Grade | None:
    """The grade by the criterion of a name; None where it was not judged by."""
    return next((grade for grade in grades if grade.name == name), None)
