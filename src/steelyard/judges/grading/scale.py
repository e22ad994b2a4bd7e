"""Scales of relevance: the grades that there are, and what each of them means, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from steelyard.base.choices import Language
from steelyard.base.errors import InputError, quoted
from steelyard.base.settings import Origin, SettingError, make_with, parse_toml, read_toml
from steelyard.io.native import EXACT

NAMES = ("0-10", "0-3")
"""Of the scales that come with Steelyard."""
_NUMBER = re.compile(
    r"(?<![A-Za-z0-9_.,-])(-?\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*(\d+(?:\.\d+)?))?(?![A-Za-z0-9_]|[.,]\d)"
)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Grade:
    """One grade of a scale.

    en, zh   what it means, in words; of one language they do for both, and a grade between two others may have none
    """

    gain: float
    en: str = ""
    zh: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.gain):
            raise SettingError(f"gain {self.gain} is not a finite number", "gain")


@dataclass(frozen=True)
class Scale:
    """Grades of relevance, from the lowest on.

    name     "0-10", "0-3", or that of the file of one's own
    Raises   SettingError for fewer than two grades, a gain twice, or a scale without words.

    >>> scale = scale_of("0-3")
    >>> scale.gains, scale.gain_of("Grade: 2"), scale.gain_of("3/3"), scale.gain_of(5)
    ((0.0, 1.0, 2.0, 3.0), 2.0, 3.0, None)
    """

    name: str
    grades: tuple[Grade, ...]

    def __post_init__(self) -> None:
        if len(self.grades) < 2:
            raise SettingError("a scale has two grades at least; add tables [[grade]] with `gain`, `en` and `zh`")
        gains = [grade.gain for grade in self.grades]
        twice = next((gain for gain in gains if gains.count(gain) > 1), None)
        if twice is not None:
            raise SettingError(f"gain {twice:g} is listed twice; remove one")
        if not any(grade.en or grade.zh for grade in self.grades):
            raise SettingError('no grade has words; say what they mean: en = "...", zh = "..."')

    @cached_property
    def gains(self) -> tuple[float, ...]:
        """All grades as numbers, ascending."""
        return tuple(float(grade.gain) for grade in self.grades)

    def gain_of(self, value: Any) -> float | None:
        """The grade that a number says, or a text with one number; None for any other, and off the scale."""
        number = _number(value, self.gains[-1])
        return number if number in self.gains else None

    def at(self, share: float) -> float:
        """The grade at a share of the scale from 0 to 1, the upper one of two that are as near.

        >>> [scale_of("0-10").at(share) for share in (0, 0.04, 0.05, 0.5, 1)]
        [0.0, 0.0, 1.0, 5.0, 10.0]
        """
        return self.gains[math.floor(share * (len(self.gains) - 1) + 0.5)]

    def words(self, language: Language) -> list[tuple[float, str]]:
        """The grades that have words, and these, from the lowest on."""
        texts = {"en": [grade.en or grade.zh for grade in self.grades], "zh": [g.zh or g.en for g in self.grades]}
        return [(gain, text) for gain, text in zip(self.gains, texts[language], strict=True) if text]


def scale_of(name: str | Path | Scale) -> Scale:
    """A scale of ours by name, or one of the user's own from a TOML file with tables [[grade]].

    Raises   InputError for any other name, and for a file that is no scale, with the line.
    """
    if isinstance(name, Scale):
        return name
    if str(name) in NAMES:
        text = (files("steelyard.judges.grading") / "scales" / f"{name}.toml").read_text(encoding="utf-8")
        return _scale(str(name), *parse_toml(text, f"{name}.toml"))
    if Path(name).suffix != ".toml":
        names = " and ".join(NAMES)
        raise InputError(f"no scale is called {quoted(str(name))}; there are {names}, and your own: a file in TOML")
    return _scale(Path(name).stem, *read_toml(name))


def _scale(name: str, values: Mapping[str, Any], origin: Origin) -> Scale:
    with origin.locating():
        if other := next((key for key in values if key != "grade"), None):
            raise SettingError(f"there is no setting {other!r}; a scale has tables [[grade]]", other)
        tables = values.get("grade", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise SettingError("grade must be tables [[grade]]", "grade")
    grades = []
    for n, table in enumerate(tables):
        with origin.locating("grade", n):
            grades.append(make_with(Grade, table, f"grade {n + 1}"))
    with origin.locating():
        return Scale(name, tuple(sorted(grades, key=lambda grade: grade.gain)))


def _number(value: Any, highest: float) -> float | None:
    """A number, or the only one of a text; a fraction counts where it is one of the highest grade, as 7/10."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < EXACT else None
    is_short = isinstance(value, str) and len(value) <= _LONGEST
    numbers: Sequence[tuple[str, str]] = _NUMBER.findall(value) if is_short else []
    if len(numbers) != 1 or (numbers[0][1] and float(numbers[0][1]) != highest):
        return None
    return float(numbers[0][0])
