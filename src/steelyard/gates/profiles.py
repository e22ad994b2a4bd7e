"""Profiles: which measures a scenario looks at, and from where on a value is called what; TOML files a user can copy.

    name = "production"
    title = { en = "RAG in production", zh = "…" }     # or one text for both
    note = { en = "where the levels come from", zh = "…" }
    below = "below_minimum"                            # what lies under the first level
    levels = ["minimum", "good", "excellent"]          # from the easiest to the hardest
    recommend = ["recall@5", "mrr"]                    # what `evaluate --profile` weighs

    [measures."recall@5"]                              # "recall@k" stands for recall at any k, or at none
    better = "higher"
    levels = { minimum = 0.70, good = 0.80 }           # a measure may leave levels out
    advice = { en = "what to try below the top", zh = "…" }

    [measures.latency_ms_p95]
    given = true                                       # no measure of ours: a number that is handed in
    better = "lower"
    levels = { minimum = 500 }

    [relative]                                         # so much better than the baseline, as a share of it
    measure = "ndcg@10"
    least = 0.15

The shipped profiles lie beside this module, in standards/.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from steelyard.base.errors import InputError, MeasureError
from steelyard.base.nearest import nearest
from steelyard.measures import Measure, make, parse

Better = Literal["higher", "lower"]

_KEYS = ("name", "title", "note", "below", "levels", "recommend", "measures", "relative")
_MEASURE_KEYS = ("better", "levels", "advice", "given")
_RELATIVE_KEYS = ("measure", "least")
_ANY_K = "@k"
_LANGUAGES = ("en", "zh")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_PERCENTILE = re.compile(r"latency_ms_p([1-9]\d?)")
_POSITION = re.compile(r" *\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True)
class Standard:
    """What one measure is held against.

    measure   a measure, `NAME@k` for one at any k or none, or the name of a number that is handed in
    better    which way is good
    levels    level -> number, from the easiest to the hardest; they rise, or fall where lower is better
    advice    language -> what to try below the top; may be empty
    given     whether the number is handed in rather than measured
    """

    measure: str
    better: Better
    levels: Mapping[str, float]
    advice: Mapping[str, str] = field(default_factory=dict)
    given: bool = False

    @property
    def percentile(self) -> float | None:
        """The share that `latency_ms_pNN` names, 0.95 for p95; None for anything else."""
        found = _PERCENTILE.fullmatch(self.measure) if self.given else None
        return int(found[1]) / 100 if found else None


@dataclass(frozen=True)
class Relative:
    """How much better than the baseline: least is a share of the baseline's mean, 0.15 for 15 %."""

    measure: Measure
    least: float


@dataclass(frozen=True)
class Profile:
    """A scenario: measures, levels, and what to say of them.

    title, note   language -> text; may be empty
    below         what a value under the first level is called
    levels        names, from the easiest to the hardest; empty where the profile only recommends
    recommend     measures that suit the scenario
    standards     key -> Standard, as the file has them
    relative      what is asked against a baseline, or None
    """

    name: str
    title: Mapping[str, str]
    note: Mapping[str, str]
    below: str
    levels: tuple[str, ...]
    recommend: tuple[Measure, ...]
    standards: Mapping[str, Standard]
    relative: Relative | None = None

    @classmethod
    def read(cls, source: str | Path) -> Profile:
        """A shipped profile by its name, or a TOML file.

        Raises   InputError for a name that there is none of, with the nearest; for a file that is no profile, with the
                 line: not TOML, unknown keys, wrong types, levels out of order, unknown measures.

        >>> Profile.read("production").standards["recall@5"].levels["good"]
        0.8
        """
        if isinstance(source, str) and source in profiles():
            text = _shipped()[source].read_text(encoding="utf-8")
            return _Reader(f"{source}.toml", text).profile(source)
        path = Path(source)
        if not path.exists() and path.suffix != ".toml" and len(path.parts) == 1:
            raise InputError(
                f"no profile is called {str(source)!r}, and there is no such file; {nearest(str(source), profiles())}"
            )
        try:
            return _Reader(str(source), path.read_bytes().decode("utf-8-sig")).profile(path.stem)
        except OSError as error:
            raise InputError(f"{source}: cannot be read ({error.strerror or error}); check the path") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{source}: is not UTF-8 (byte {error.start}); save it as UTF-8") from None

    @property
    def measures(self) -> list[str]:
        """What to weigh: the recommended measures, else those that have levels at a k of their own.

        >>> Profile.read("faq").measures
        ['mrr', 'hit_rate@3', 'precision@3']
        """
        own = [key for key, standard in self.standards.items() if not standard.given and not key.endswith(_ANY_K)]
        return [str(measure) for measure in self.recommend] or own

    def standard_of(self, measure: Measure) -> Standard | None:
        """What a measure is held against, or None.

        Its own key counts before `NAME@k`.  A key speaks of its measure at whatever gain counts as relevant, so
        recall(min_gain=2)@5 is held against recall@5; any other parameter changes the measure, and needs a key that
        has it, such as "ndcg(gain=exp)@10".
        """
        plain = _without_min_gain(measure)
        for spec in dict.fromkeys([measure, plain]):
            for key in (str(spec), _any_k(spec)):
                if (standard := self.standards.get(key)) is not None and not standard.given:
                    return standard
        return None

    def is_given(self, key: str) -> bool:
        """Whether a key names a number that is handed in."""
        return key in self.standards and self.standards[key].given

    def covers(self, measure: Measure) -> bool:
        """Whether the profile has levels for a measure, or recommends it (at whatever gain counts as relevant)."""
        return self.standard_of(measure) is not None or _without_min_gain(measure) in self.recommend

    def unmeasured(self, measures: Collection[Measure]) -> dict[str, Standard]:
        """What the profile asks for by name, and none of these measures answers, with what it is held against.

        That is every measure with a k of its own, and of the keys `NAME@k` those that the profile recommends; numbers
        that are handed in are not among them.
        """
        answered = {standard.measure for measure in measures if (standard := self.standard_of(measure)) is not None}
        asked = {standard.measure: str(measure) for measure in self.recommend
                 if (standard := self.standard_of(measure)) is not None}  # fmt: skip
        wanted = [key for key, standard in self.standards.items() if not standard.given and key not in answered]
        return {asked.get(key, key): self.standards[key] for key in wanted if key in asked or not key.endswith(_ANY_K)}


def profiles() -> list[str]:
    """The names of the shipped profiles, in alphabetical order."""
    return sorted(_shipped())


@cache
def _shipped() -> dict[str, Traversable]:
    folder = files("steelyard.gates") / "standards"
    return {file.name.removesuffix(".toml"): file for file in folder.iterdir() if file.name.endswith(".toml")}


def _without_min_gain(measure: Measure) -> Measure:
    return make(measure.name, measure.k, {key: value for key, value in measure.params if key != "min_gain"})


def _any_k(measure: Measure) -> str:
    return str(Measure(measure.name, None, measure.params)) + _ANY_K


class _Reader:
    """One file on its way to a Profile; knows where each key stands."""

    def __init__(self, where: str, text: str) -> None:
        self.where, self.text = where, text

    def profile(self, default_name: str) -> Profile:
        try:
            table = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            found = _POSITION.search(str(error))
            line = f", line {found[1]}" if found else ""
            raise InputError(f"{self.where}{line}: is not TOML ({_POSITION.sub('', str(error))})") from None
        self.known(table, _KEYS)
        levels = self.names(table, "levels")
        standards = {standard.measure: standard for standard in self.standards(table, levels)}
        recommend = [self.measure(name, "recommend") for name in self.names(table, "recommend")]
        if not standards and not recommend:
            raise InputError(f'{self.where}: names no measure; expected `recommend` or tables such as [measures."mrr"]')
        below = table.get("below", "below")
        if not (isinstance(below, str) and below):
            raise self.error(f"below must be a name, not {below!r}", "below")
        if below in levels:
            raise self.error(f"below is called {below!r}, as one of the levels; choose another name", "below")
        name = table.get("name", default_name)
        if not (isinstance(name, str) and name):
            raise self.error(f"name must be a text, not {name!r}", "name")
        return Profile(
            name=name, title=self.texts(table, "title"), note=self.texts(table, "note"), below=below,
            levels=tuple(levels), recommend=tuple(dict.fromkeys(recommend)), standards=standards,
            relative=self.relative(table),
        )  # fmt: skip

    def standards(self, table: Mapping[str, Any], names: Sequence[str]) -> Iterator[Standard]:
        measures, seen = table.get("measures", {}), set[str]()
        if not isinstance(measures, dict):
            raise self.error("measures must be a table", "measures")
        for key, own in measures.items():
            path = ("measures", key)
            if not isinstance(own, dict):
                raise self.error(f"{key} must be a table", *path)
            self.known(own, _MEASURE_KEYS, *path)
            given = own.get("given", False)
            if not isinstance(given, bool):
                raise self.error(f"given must be true or false, not {given!r}", *path, "given")
            better = own.get("better", "higher")
            if better not in ("higher", "lower"):
                raise self.error(f"better must be 'higher' or 'lower', not {better!r}", *path, "better")
            spec = self.given_name(key, *path) if given else self.key(key, *path)
            if spec in seen:
                raise self.error(f"{key} is {spec}, which stands there already; keep one of them", *path)
            seen.add(spec)
            levels = self.levels(own, names, better, *path)
            yield Standard(spec, better, levels, self.texts(own, "advice", *path), given)

    def levels(self, own: Mapping[str, Any], names: Sequence[str], better: str, *path: str) -> dict[str, float]:
        found = own.get("levels")
        path = (*path, "levels")
        if not isinstance(found, dict) or not found:
            raise self.error("levels must be a table such as { good = 0.7 }", *path)
        if not names:
            raise self.error('there are no names of levels; expected levels = ["fair", "good"] at the top', *path)
        for name, number in found.items():
            if name not in names:
                raise self.error(f"there is no level {name!r}; {nearest(name, names)}", *path, name)
            if isinstance(number, bool) or not isinstance(number, int | float) or not math.isfinite(number):
                raise self.error(f"level {name} must be a number, not {number!r}", *path, name)
        ordered = {name: float(found[name]) for name in names if name in found}
        sign = 1 if better == "higher" else -1
        for (easier, one), (harder, two) in zip(list(ordered.items())[:-1], list(ordered.items())[1:], strict=True):
            if sign * two <= sign * one:
                way = "above" if better == "higher" else "below"
                raise self.error(
                    f"levels are out of order: {harder} is {two:g}, expected {way} {easier}, which is {one:g}",
                    *path,
                    harder,
                )
        return ordered

    def relative(self, table: Mapping[str, Any]) -> Relative | None:
        if (found := table.get("relative")) is None:
            return None
        if not isinstance(found, dict):
            raise self.error("relative must be a table", "relative")
        self.known(found, _RELATIVE_KEYS, "relative")
        least, name = found.get("least"), found.get("measure")
        if isinstance(least, bool) or not isinstance(least, int | float) or not (least > 0 and math.isfinite(least)):
            raise self.error(f"least must be a share above 0, such as 0.15, not {least!r}", "relative", "least")
        if not isinstance(name, str):
            raise self.error(f"measure must be a name, not {name!r}", "relative", "measure")
        return Relative(self.measure(name, "relative", "measure"), float(least))

    def key(self, key: str, *path: str) -> str:
        """A measure, or one at any k, as specs are printed."""
        if not key.endswith(_ANY_K):
            return str(self.measure(key, *path))
        name = key.removesuffix(_ANY_K)
        try:
            spec = parse(name)
        except MeasureError as error:
            # A measure that must have a k is known all the same.
            try:
                spec = parse(f"{name}@1")
            except MeasureError:
                raise self.error(f"{error} (the key is {key!r})", *path) from None
        return _any_k(spec)

    def measure(self, name: str, *path: str) -> Measure:
        try:
            return parse(name)
        except MeasureError as error:
            raise self.error(f"{error}; a number that is handed in has `given = true`", *path) from None

    def given_name(self, key: str, *path: str) -> str:
        if not _NAME.fullmatch(key):
            raise self.error(f"{key!r} cannot be handed in as NAME=NUMBER; use letters, digits and _", *path)
        return key

    def names(self, table: Mapping[str, Any], key: str) -> list[str]:
        found = table.get(key, [])
        if not isinstance(found, list) or not all(isinstance(name, str) and name for name in found):
            raise self.error(f'{key} must be a list of names such as ["a", "b"], not {found!r}', key)
        if len(set(found)) < len(found):
            raise self.error(f"{key} holds a name twice", key)
        return found

    def texts(self, table: Mapping[str, Any], key: str, *path: str) -> dict[str, str]:
        """language -> text; one text stands for all languages."""
        found = table.get(key, {})
        if isinstance(found, str):
            return dict.fromkeys(_LANGUAGES, found)
        if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
            raise self.error(f'{key} must be a text, or {{ en = "…", zh = "…" }}', *path, key)
        self.known(found, _LANGUAGES, *path, key)
        return found

    def known(self, table: Mapping[str, Any], keys: Sequence[str], *path: str) -> None:
        for key in table:
            if key not in keys:
                place = f" in {'.'.join(path)}" if path else ""
                raise self.error(f"there is no key {key!r}{place}; {nearest(key, keys)}", *path, key)

    def error(self, fact: str, *path: str) -> InputError:
        line = line_of(self.text, path)
        return InputError(f"{self.where}, line {line}: {fact}" if line else f"{self.where}: {fact}")


_HEADER = re.compile(r"\s*\[+(.*?)\]+\s*(?:#.*)?$")


def line_of(text: str, path: Sequence[str]) -> int | None:
    """The line, from 1, where a key of a TOML file stands, or the nearest table around it; None where neither is found.

    >>> line_of('[a]\\nx = 1\\n[b]\\nx = { y = 2 }', ("b", "x", "y"))
    4
    """
    best: int | None = None
    depth, table = 0, tuple[str, ...]()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _header_path(header[1])
            found = len(table) if table and table == tuple(path[: len(table)]) else 0
        elif table == tuple(path[: len(table)]):
            found = len(table) + _found_keys(line, path[len(table) :])
            found = found if found > len(table) else 0
        else:
            continue
        if found > depth:
            best, depth = number, found
    return best


def _header_path(inside: str) -> tuple[str, ...]:
    """The keys of a table's header."""
    try:
        found: Any = tomllib.loads(f"[{inside}]\n")
    except tomllib.TOMLDecodeError:
        return ()
    path = []
    while isinstance(found, dict) and found:
        key, found = next(iter(found.items()))
        path.append(key)
    return tuple(path)


def _found_keys(line: str, keys: Sequence[str]) -> int:
    """How many of the keys stand in a line one after the other, beginning with the first."""
    count, position = 0, 0
    for key in keys:
        pattern = re.compile(rf"(?<![\w-])[\"']?{re.escape(key)}[\"']?\s*[=.]")
        found = pattern.match(line.lstrip()) if count == 0 else pattern.search(line, position)
        if found is None:
            break
        position = found.end() if count else len(line) - len(line.lstrip()) + found.end()
        count += 1
    return count
