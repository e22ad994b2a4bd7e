"""The TOML of a profile: its keys and types, and the rules that hold between them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from steelyard.base.errors import InputError, MeasureError
from steelyard.base.limits import Limits, Words, above, between
from steelyard.base.nearest import nearest
from steelyard.base.settings import SettingError, parse_toml, validate
from steelyard.base.toml_lines import Key
from steelyard.gates.standard import ANY_K, Relative, Standard, at_any_k, number_name
from steelyard.measures import Measure, parse
from steelyard.measures.registry import Direction
from steelyard.measures.spec import measure_or_column, needs_cutoff
from steelyard.store.settings import StoreTable

_NUMBER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?::p\d{1,2}(?:\.\d+)?)?")

Name = Annotated[str, Field(min_length=1), Words("a name")]
Names = Annotated[list[Annotated[str, Field(min_length=1)]], Words('a list of names such as ["a", "b"]')]


class Texts(BaseModel):
    """A text in each language."""

    model_config = ConfigDict(extra="forbid")
    en: str | None = None
    zh: str | None = None


Text = Annotated[str | Texts, Words('a text, or { en = "…", zh = "…" }')]


class MeasureTable(BaseModel):
    """The table of one measure, or of a number that is handed in."""

    model_config = ConfigDict(extra="forbid")
    better: Direction = "higher"
    levels: Annotated[dict[str, Annotated[float, Limits()]], Words("a table such as { good = 0.7 }")]
    advice: Text = Texts()
    given: bool = False


class RelativeTable(BaseModel):
    """The gain over a baseline."""

    model_config = ConfigDict(extra="forbid")
    measure: Name
    least: Annotated[float, above(0), Words("a share above 0, such as 0.15")]


class JudgeTable(BaseModel):
    """Levels that a judge must reach: `JudgeLevels`."""

    model_config = ConfigDict(extra="forbid")
    kappa: Annotated[float, between(-1, 1)] | None = None
    sensitivity: Annotated[float, between(0, 1)] | None = None
    specificity: Annotated[float, between(0, 1)] | None = None
    below_people: Annotated[float, above(0)] | None = None


class ProfileTable(BaseModel):
    """All of the file."""

    model_config = ConfigDict(extra="forbid")
    name: Annotated[str, Field(min_length=1)] | None = None
    title: Text = Texts()
    note: Text = Texts()
    below: Name = "below"
    levels: Names = []
    recommend: Names = []
    measures: dict[str, MeasureTable] = {}
    relative: RelativeTable | None = None
    judge: JudgeTable | None = None
    store: StoreTable | None = None


def parse_profile(text: str, *, file: str, name: str) -> dict[str, Any]:
    """The fields of a `Profile` from its TOML.

    file   for messages;   name   what the profile is called where it has no name of its own
    Raises   InputError with file and line.
    """
    values, origin = parse_toml(text, file)
    with origin.locating():
        table: ProfileTable = validate(ProfileTable, values)
        for key in ("levels", "recommend"):
            if len(set(getattr(table, key))) < len(getattr(table, key)):
                raise SettingError(f"{key} holds a name twice", key)
        if table.below in table.levels:
            raise SettingError(f"below is called {table.below!r}, as one of the levels; choose another name", "below")
        standards = {standard.measure: standard for standard in _standards(table)}
        recommend = [_measure(spec, "recommend", i) for i, spec in enumerate(table.recommend)]
        judge = {} if table.judge is None else table.judge.model_dump(exclude_none=True)
        if not standards and not recommend and not judge:
            raise InputError('names no measure; expected `recommend` or tables such as [measures."mrr"]')
        return {
            "name": table.name or name, "title": _by_language(table.title), "note": _by_language(table.note),
            "below": table.below, "levels": tuple(table.levels), "recommend": tuple(dict.fromkeys(recommend)),
            "standards": standards, "relative": _relative(table.relative), "judge": judge,
        }  # fmt: skip


def _standards(table: ProfileTable) -> Iterator[Standard]:
    specs = set[str]()
    for key, own in table.measures.items():
        path = ("measures", key)
        spec = _number_name(key, *path) if own.given else _spec(key, *path)
        if spec in specs:
            raise SettingError(f"{key} is {spec}, which has a table already; keep one of them", *path)
        specs.add(spec)
        levels = _levels(own, table.levels, *path, "levels")
        yield Standard(spec, own.better, levels, _by_language(own.advice), own.given)


def _levels(own: MeasureTable, names: Sequence[str], *path: Key) -> dict[str, float]:
    """The levels of a measure from the easiest to the hardest."""
    if not own.levels:
        raise SettingError("levels is empty; expected a table such as { good = 0.7 }", *path)
    if not names:
        raise SettingError('there are no names of levels; expected levels = ["fair", "good"] at the top', *path)
    for name in own.levels:
        if name not in names:
            raise SettingError(f"there is no level {name!r}; {nearest(name, names)}", *path, name)
    ordered = {name: own.levels[name] for name in names if name in own.levels}
    way, sign = ("above", 1) if own.better == "higher" else ("below", -1)
    for (easier, low), (harder, high) in zip(list(ordered.items())[:-1], list(ordered.items())[1:], strict=True):
        if sign * high <= sign * low:
            raise SettingError(
                f"levels are out of order: {harder} is {high:g}, expected {way} {easier}, which is {low:g}",
                *path,
                harder,
            )
    return ordered


def _relative(table: RelativeTable | None) -> Relative | None:
    if table is None:
        return None
    measure = _measure(table.measure, "relative", "measure")
    if not (aggregation := measure.aggregation).arithmetic:
        raise SettingError(
            f"{measure} is {aggregation.noun}, and relative changes are of arithmetic means; name a measure of these",
            "relative",
            "measure",
        )
    return Relative(measure, table.least)


def _spec(key: str, *path: Key) -> str:
    """A measure, or one at any k, as specs are printed."""
    if not key.endswith(ANY_K):
        return str(_measure(key, *path))
    name = key.removesuffix(ANY_K)
    try:
        return at_any_k(parse(f"{name}@1" if needs_cutoff(name) else name))
    except MeasureError as error:
        raise SettingError(f"{error} (the key is {key!r})", *path) from None


def _measure(spec: str, *path: Key) -> Measure:
    try:
        return parse(spec)
    except MeasureError as error:
        raise SettingError(f"{error}; a number that is handed in has `given = true`", *path) from None


def _number_name(key: str, *path: Key) -> str:
    if not _NUMBER_NAME.fullmatch(key):
        raise SettingError(f"{key!r} names no number; use letters, digits and _, with :p95 for a percentile", *path)
    return str(measure_or_column(number_name(key)))


def _by_language(text: str | Texts) -> dict[str, str]:
    """language -> text; one text serves all languages."""
    if isinstance(text, str):
        return {"en": text, "zh": text}
    return {language: own for language, own in (("en", text.en), ("zh", text.zh)) if own is not None}
