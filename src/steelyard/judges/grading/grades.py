"""Grades of relevance: their scale, the pairs that have one, by whom, and how far people and a judge agree."""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from steelyard.base.choices import Language
from steelyard.base.errors import DuplicateError, InputError, OutputError, quoted
from steelyard.base.result import Result
from steelyard.base.schema import TRUTH
from steelyard.base.settings import Origin, SettingError, make_with, parse_toml, read_toml
from steelyard.data.truth import Truth
from steelyard.io.json_files import graded_row, is_graded_row, json_lines
from steelyard.io.native import EXACT
from steelyard.io.source import Source, strip_compression
from steelyard.io.write import write_text, write_truth
from steelyard.stats.labels.raters import cohen_kappa, krippendorff_alpha

NAMES = ("0-10", "0-3")
"""Names of the scales that come with Steelyard."""
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
        number = _number_in(value, self.gains[-1])
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


def _number_in(value: Any, highest: float) -> float | None:
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


FEW = 10
"""Pairs below which agreement says nothing."""


@dataclass(frozen=True, slots=True)
class GradeAgreement:
    """Agreement of a judge with people.

    n           pairs that both graded;   n_equal   of these, with the same grade
    kappa       Cohen's, weights by the square of the steps between;   alpha   Krippendorff's, ordinal; None where
                undefined: both gave one and the same grade to all, or no pair has both
    grades      that both tell apart
    n_off       pairs that people graded off the scale; they are kept in the truth, and left out of these
    """

    n: int
    n_equal: int
    kappa: float | None
    alpha: float | None
    n_off: int = 0
    grades: tuple[float, ...] = ()


def agreement(people: Sequence[float], judge: Sequence[float], scale: Scale) -> GradeAgreement:
    """The agreement of grades by people and by a judge, pair by pair."""
    both = [pair for pair in zip(people, judge, strict=True) if pair[0] in scale.gains]
    n_off, grades = len(people) - len(both), tuple(scale.gains)
    if not both:
        return GradeAgreement(0, 0, None, None, n_off, grades)
    first, second = map(list, zip(*both, strict=True))
    kappa = cohen_kappa(first, second, "quadratic", categories=scale.gains)
    alpha = krippendorff_alpha([first, second], "ordinal", categories=scale.gains)
    n_equal = sum(by_person == by_judge for by_person, by_judge in both)
    return GradeAgreement(len(both), n_equal, _defined(kappa), _defined(alpha), n_off, grades)


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value


PEOPLE, JUDGE = "people", "judge"
"""Who graded a pair."""
_LINES = (".jsonl", ".ndjson")
Key = tuple[str, str]
"""A question and a document."""


@dataclass(frozen=True, slots=True)
class GradedPair:
    """A document's relevance to a question.

    gain      None where it was not judged, for the reason
    by        "people" or "judge"
    judge     its name, model and version of prompt (a digest), as far as there are any;   scale   that it graded on
    date      the day
    others    further columns of a file that was read, such as who of several people it was
    """

    query_id: str
    doc_id: str
    gain: float | None
    reason: str = ""
    by: str = PEOPLE
    judge: str = ""
    model: str = ""
    prompt: str = ""
    scale: str = ""
    date: str = ""
    others: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> Key:
        """Question and document."""
        return self.query_id, self.doc_id

    def line(self) -> dict[str, Any]:
        """The columns that say something."""
        columns = {name: getattr(self, name) for name in _COLUMNS}
        columns["gain"] = int(self.gain) if self.gain is not None and self.gain.is_integer() else self.gain
        return {name: value for name, value in columns.items() if value != ""} | dict(self.others)


_COLUMNS = tuple(column.name for column in fields(GradedPair) if column.name != "others")


class Grades(Result):
    """A truth of graded pairs, by people and by a judge.

    pairs       by question and document
    recipe      the judge, the scale, the pool, versions and counts; empty for a file that was read
    agreement   of the judge with people, on the pairs of this pool that both graded; None for a file that was read
    """

    VIEW = "views.labelling"

    def __init__(
        self,
        pairs: Iterable[GradedPair],
        recipe: Mapping[str, Any] | None = None,
        agreement: GradeAgreement | None = None,
    ) -> None:
        self.pairs: Sequence[GradedPair] = tuple(sorted(pairs, key=lambda pair: pair.key))
        self.recipe, self.agreement = dict(recipe or {}), agreement

    @classmethod
    def read(cls, path: str | Path) -> Grades:
        """Graded pairs of a JSONL file that `write` wrote, or the labels of any other truth, as people's.

        Raises   InputError, DuplicateError naming file and line.
        """
        source = Source(path) if not os.path.isdir(path) else None
        has_rows = (
            source is not None and holds_rows(source.name) and is_graded_row(next(json_lines(source), (0, {}))[1])
        )
        if source is None or not has_rows:
            return cls(graded_of(Truth.read(path if source is None else source)))
        pairs: dict[Key, GradedPair] = {}
        for number, line in json_lines(source):
            where = f"{source.name}, line {number}"
            query_id, doc_id, gain = graded_row(line, where)
            texts = {name: str(line[name]) for name in _COLUMNS[3:] if line.get(name) is not None}
            others = {name: value for name, value in line.items() if name not in (*_COLUMNS, "qid")}
            pair = GradedPair(query_id, doc_id, gain, **texts, others=others)
            if pairs.setdefault(pair.key, pair) is not pair:
                raise DuplicateError(
                    f"{where}: document {doc_id!r} is judged twice for question {query_id!r}; remove one"
                )
        return cls(pairs.values())

    def write(self, path: str | Path, *, format: str | None = None, lang: str | None = None, **options: Any) -> None:
        """Write the pairs: JSONL with all that is known of each, or the labels alone as TREC qrels, CSV, Parquet, ...

        format   of what was graded, in words or numbers, in place of the pairs: "table", "markdown" or "json"
        Raises   OutputError where nothing can be written there.
        """
        if format is not None:
            super().write(path, format=format, lang=lang, **options)
        elif holds_rows(path):
            lines = (json.dumps(pair.line(), ensure_ascii=False) + "\n" for pair in self.pairs)
            write_text(path, "".join(lines))
        elif self._labels.is_empty():
            raise OutputError(f"{path}: no pair was graded, so there is nothing to write; JSONL says why of each")
        else:
            write_truth(self._labels, path)

    @cached_property
    def truth(self) -> Truth:
        """The labels, for whatever takes a truth.

        Raises   InputError where no pair was graded.
        """
        return Truth(self._labels, name="grades")

    @cached_property
    def frame(self) -> pl.DataFrame:
        """A row a pair: query_id, doc_id, gain, reason, by, judge, model, prompt, scale, date."""
        rows = [[getattr(pair, name) for name in _COLUMNS] for pair in self.pairs]
        schema = {name: pl.Float64 if name == "gain" else pl.String for name in _COLUMNS}
        return pl.DataFrame(rows, schema, orient="row")

    @property
    def not_judged(self) -> Mapping[str, int]:
        """Causes of pairs without a grade, with their numbers; the most frequent cause first."""
        return dict(Counter(pair.reason for pair in self.pairs if pair.gain is None).most_common())

    @property
    def _labels(self) -> pl.DataFrame:
        return self.frame.select(TRUTH.names()).drop_nulls()

    def by(self, who: str) -> Sequence[GradedPair]:
        """The pairs with a grade by "people" or "judge"."""
        return [pair for pair in self.pairs if pair.by == who and pair.gain is not None]

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        n_not = sum(self.not_judged.values())
        parts = [f"{len(self.by(PEOPLE))} by people", f"{len(self.by(JUDGE))} by a judge"]
        return f"Grades({len(self)} pairs: {', '.join(parts)}{f', {n_not} not judged' if n_not else ''})"


def holds_rows(path: str | Path) -> bool:
    """True for the name of a file that holds all that is known of each pair."""
    return Path(strip_compression(Path(path).name)[0]).suffix.lower() in _LINES


def graded_of(truth: Truth) -> list[GradedPair]:
    """The labels of a truth, as people's."""
    return [GradedPair(*row) for row in truth.frame.drop_nulls().iter_rows()]


def checked_on(scale: str, pairs: Iterable[GradedPair], name: str) -> None:
    """Raise   InputError where a judge graded some of the pairs on another scale."""
    for pair in pairs:
        if pair.by == JUDGE and pair.scale not in ("", scale):
            raise InputError(
                f"{name}: holds grades on the scale {pair.scale}, which do not mix with {scale}; choose another file"
            )
