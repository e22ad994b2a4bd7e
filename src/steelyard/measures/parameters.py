"""Parameters of measures: type, range and words, declared once and read by parser, help and reference."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from steelyard.base.errors import MeasureError

GainMap: TypeAlias = tuple[tuple[float, float], ...]
ParameterValue: TypeAlias = float | str | GainMap

# Larger whole numbers cannot be parted from their neighbours once they are floats.
_LARGEST_WHOLE = 10**15


@dataclass(frozen=True, kw_only=True)
class Parameter(ABC):
    """One parameter of a measure.

    about     what it is, in a few words
    default   what holds where a spec does not name it; taken from the function's signature; None where there is none
    unless    another parameter, which takes the place of this one where it is set
    """

    about: str = ""
    default: ParameterValue | None = None
    unless: str = ""

    @property
    @abstractmethod
    def wanted(self) -> str:
        """Words for what it takes."""

    @abstractmethod
    def read(self, text: str) -> ParameterValue:
        """The value that a spec means by a text; the text itself where it can mean none."""

    @abstractmethod
    def problem(self, value: ParameterValue) -> str:
        """Problem of a value, to be read after the parameter's name; nothing where it can be taken."""

    def normal(self, value: ParameterValue) -> ParameterValue:
        """A value without a problem, in the form in which values are compared."""
        return value


@dataclass(frozen=True, kw_only=True)
class Number(Parameter):
    """A finite number in a range.

    above, below        ends that are excluded themselves
    at_least, at_most   ends that are included
    whole               whether it has no fraction

    >>> Number(above=0, below=1).wanted, Number(at_least=1, whole=True).problem(1.5)
    ('a number between 0 and 1, both excluded', 'must be a whole number from 1, not 1.5')
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    whole: bool = False

    @property
    def wanted(self) -> str:
        """As in "a number above 0, at most 1000"."""
        what = "a whole number" if self.whole else "a number"
        if self.above is not None and self.below is not None:
            return f"{what} between {self.above:g} and {self.below:g}, both excluded"
        if self.at_least is not None and self.at_most is not None:
            return f"{what} between {self.at_least:g} and {self.at_most:g}"
        low = f" above {self.above:g}" if self.above is not None else ""
        if self.at_least is not None:
            low = f" {'from' if self.whole else 'of at least'} {self.at_least:g}"
        high = f"below {self.below:g}" if self.below is not None else ""
        if self.at_most is not None:
            high = f"at most {show(float(self.at_most))}"
        return what + low + (", " if low and high else " " if high else "") + high

    def read(self, text: str) -> ParameterValue:
        """The number, or the text where it is none."""
        try:
            return float(text)
        except ValueError:
            return text

    def problem(self, value: ParameterValue) -> str:
        """Names the range."""
        holds = not isinstance(value, str | tuple) and math.isfinite(value) and self._has(float(value))
        return "" if holds else f"must be {self.wanted}, not {show(value)}"

    def _has(self, value: float) -> bool:
        return (
            (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.below is None or value < self.below)
            and (self.at_most is None or value <= self.at_most)
            and (not self.whole or (value.is_integer() and abs(value) <= _LARGEST_WHOLE))
        )

    def normal(self, value: ParameterValue) -> ParameterValue:
        """A float."""
        assert not isinstance(value, str | tuple)
        return float(value)


@dataclass(frozen=True, kw_only=True)
class Word(Parameter):
    """One of some words, or any text.

    words       those that it takes; any text where there are none
    spellings   what other tools write -> which of the words they mean
    """

    words: tuple[str, ...] = ()
    spellings: Mapping[str, str] = field(default_factory=dict)

    @property
    def wanted(self) -> str:
        """The words."""
        return " or ".join(self.words) or "text"

    def read(self, text: str) -> ParameterValue:
        """One of the words, in any case and with or without quotation marks."""
        bare = text.strip("'\"")
        folded = bare.lower()
        return self.spellings.get(folded, folded) if self.words else bare

    def problem(self, value: ParameterValue) -> str:
        """Names the words."""
        holds = isinstance(value, str) and (not self.words or value in self.words)
        return "" if holds else f"must be {self.wanted}, not {show(value)}"


@dataclass(frozen=True, kw_only=True)
class Gain(Word):
    """Gains of labels: one of some words, or a map ((label, gain), ...), written {1:1,2:3}."""

    @property
    def wanted(self) -> str:
        """The words, and a map."""
        return f"{super().wanted} or a map such as {{1:1,2:3}}"

    def read(self, text: str) -> ParameterValue:
        """A map, or one of the words.

        Raises   ValueError for a map of what is not numbers.
        """
        return gain_map(text) if text.startswith("{") else super().read(text)

    def problem(self, value: ParameterValue) -> str:
        """Problem of a map: numbers that are not finite, and labels that are there twice."""
        if not isinstance(value, tuple):
            return super().problem(value)
        labels = [label for label, _ in value]
        sound = value and len(set(labels)) == len(labels) and all(math.isfinite(n) for pair in value for n in pair)
        return "" if sound else f"as a map needs finite numbers, each label once, not {show(value)}"

    def normal(self, value: ParameterValue) -> ParameterValue:
        """A map ascends by label."""
        if not isinstance(value, tuple):
            return value
        return tuple(sorted((float(label), float(gain)) for label, gain in value))


def gain_map(text: str) -> GainMap:
    """The map that a text such as {1:1,2:3} writes.

    Raises   ValueError for what is not a number.
    """
    pairs = [pair.partition(":") for pair in text.strip("{}").split(",") if pair.strip()]
    return tuple((number(label), number(gain)) for label, _, gain in pairs)


def number(text: str) -> float:
    """A finite number.

    Raises   ValueError.
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{text.strip()!r} is not a number")
    return value


def show(value: ParameterValue | None) -> str:
    """A value as specs write it.

    >>> show(0.5), show(2.0), show(((1.0, 1.0), (2.0, 3.0)))
    ('0.5', '2', '{1:1,2:3}')
    """
    if isinstance(value, tuple):
        return "{" + ",".join(f"{show(label)}:{show(gain)}" for label, gain in value) + "}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def declared(name: str, default: ParameterValue | None, declaration: Parameter | None) -> Parameter:
    """A parameter with its default; of one without a declaration the default says whether it takes numbers or text.

    Raises   MeasureError where the default is not one of the values that the declaration admits.
    """
    if declaration is None:
        declaration = SHARED.get(name) or (Word() if isinstance(default, str) else Number())
    if default is not None and (problem := declaration.problem(default)):
        raise MeasureError(f"the default of {name} {problem}")
    return replace(declaration, default=default if default is None else declaration.normal(default))


SHARED: dict[str, Parameter] = {
    "k": Number(at_least=1, whole=True, about="how many documents from the top count"),
    "recall": Number(at_least=0, at_most=1, about="the level of recall"),
    "min_gain": Number(at_least=0, about="the smallest gain that counts as relevant"),
}
"""Parameters that have the same meaning in every measure, those of other packages included."""

VIEWS: dict[str, Parameter] = {
    "pool": Word(
        words=("all", "judged"),
        spellings={"true": "judged", "false": "all"},
        default="all",
        about="judged takes documents without a label, or with one below 0, out of the list first",
    ),
    "scope": Word(
        words=("truth", "retrieved"),
        default="truth",
        about="retrieved computes as if only the retrieved documents had been judged",
    ),
}
"""Views of the alignment that every measure takes: which documents are in the list, and which in the denominators."""

TIES: dict[str, Parameter] = {
    "ties": Word(
        words=("canonical", "average"),
        about="average is the expected value where documents of equal score are in random order; canonical is by id",
    )
}
GAIN: dict[str, Parameter] = {
    "gain": Gain(
        words=("linear", "exp"),
        spellings={"log2": "linear", "exp-log2": "exp"},
        about="linear is the label itself, exp is 2^label - 1, a map names the gain of labels",
    )
}
