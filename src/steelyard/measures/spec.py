"""Measures as values: text to spec and back, in our spelling and in those of other tools."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.errors import MeasureError
from steelyard.measures import registry
from steelyard.measures.alignment import Alignment
from steelyard.measures.registry import Definition, ParameterValue

_CANONICAL = re.compile(r"([A-Za-z0-9_]+)\s*(?:\((.*)\))?\s*(?:@\s*([0-9.eE+-]+))?")
_TREC_EVAL = re.compile(r"([A-Za-z][A-Za-z0-9_]*?)[._](\d*\.?\d+)")
_RANX_LEVEL = re.compile(r"(.+)-l(\d+)")
_RANX_PERSISTENCE = re.compile(r"rbp\.(\d+)")

# What other tools call our parameters, and what they call our values.
_PARAMETER_NAMES = {"rel": "min_gain", "dcg": "gain", "gains": "gain", "judged_only": "pool", "cutoff": "k"}
_PARAMETER_VALUES = {"log2": "linear", "exp-log2": "exp", "true": "judged", "false": "all"}
_CHOICES = {
    "gain": ("linear", "exp"),
    "ideal": ("judged", "retrieved"),
    "pool": ("all", "judged"),
    "scope": ("truth", "retrieved"),
    "ties": ("canonical", "average"),
}
_LARGEST_K = 10**15
_LIMITS: dict[str, tuple[Callable[[float], bool], str]] = {
    "min_gain": (lambda value: value >= 0, "a number of at least 0"),
    "beta": (lambda value: 0 < value <= 1e6, "a number above 0, at most a million"),
    "p": (lambda value: 0 < value < 1, "a number between 0 and 1, both excluded"),
    "max_gain": (lambda value: 0 < value <= 1000, "a number above 0, at most 1000"),
    "multiple": (lambda value: value > 0, "a number above 0"),
}


@dataclass(frozen=True)
class Measure:
    """A measure with its parameters; prints as `name(parameter=value)@k` and parses back to itself.

    name     a registered name
    k        the cut-off behind the @: a rank, a recall level for iprec, None for the whole list
    params   (name, value) of every parameter that differs from its default, in the registry's order
    """

    name: str
    k: float | None = None
    params: tuple[tuple[str, ParameterValue], ...] = ()

    def __str__(self) -> str:
        params = ",".join(f"{key}={_show(value)}" for key, value in self.params)
        return self.name + (f"({params})" if params else "") + (f"@{_show(self.k)}" if self.k is not None else "")

    @property
    def definition(self) -> Definition:
        """What the registry knows of this measure."""
        return registry.definition(self.name)

    @property
    def depth(self) -> int | None:
        """How deep in the list the measure looks: k where its cut-off is a rank, else None."""
        return int(self.k) if self.k is not None and self.definition.cutoff == "k" else None

    def with_depth(self, k: int) -> Measure:
        """The same measure at k, where it takes a rank as its cut-off and has none."""
        return replace(self, k=k) if self.k is None and self.definition.cutoff == "k" else self

    def param(self, key: str) -> ParameterValue:
        """The value of a parameter, given or default."""
        return dict(self.params).get(key, self.definition.parameters[key])

    def with_default(self, **defaults: ParameterValue) -> Measure:
        """The same measure with other defaults for the parameters it takes and does not name itself."""
        taken = {key: value for key, value in defaults.items() if key in self.definition.parameters}
        return make(self.name, self.k, {**taken, **dict(self.params)})

    def __call__(self, alignment: Alignment) -> Floats:
        """(q,) value of each query of the alignment."""
        options: dict[str, ParameterValue | None] = {**self.definition.parameters, **dict(self.params)}
        if options.pop("pool") == "judged":
            alignment = alignment.condensed()
        if options.pop("scope") == "retrieved":
            alignment = alignment.retrieved_only()
        if self.definition.cutoff:
            options[self.definition.cutoff] = self.k
        values = self.definition.kernel(alignment, **options)
        if np.shape(values) != (alignment.n_queries,):
            raise MeasureError(f"{self}: gave an array of shape {np.shape(values)}, expected ({alignment.n_queries},)")
        return values


def make(
    name: str, k: float | None = None, params: Mapping[str, ParameterValue | Mapping[float, float]] | None = None
) -> Measure:
    """A checked spec from its parts; a gain map may be a dict.

    Raises   MeasureError for a parameter the measure does not take, a value it cannot have, or an impossible cut-off.
    """
    definition = registry.definition(name)
    given = {key: _as_pairs(value) for key, value in (params or {}).items()}
    for key in given:
        if key not in definition.parameters:
            raise MeasureError(
                f"{name} takes no parameter {key!r}; it takes {', '.join(definition.parameters) or 'none'}"
            )
    checked = {key: _check(name, key, value) for key, value in given.items()}
    ordered = tuple((key, checked[key]) for key, default in definition.parameters.items()
                    if key in checked and checked[key] != default)  # fmt: skip
    return Measure(name, _check_cutoff(definition, k), ordered)


def parse(text: str | Measure, **defaults: ParameterValue) -> Measure:
    """Read a measure in our spelling or in that of trec_eval, ir_measures or ranx.

    defaults   values of parameters that the text does not name, for measures that take them
    Raises     UnknownMeasureError with the nearest names; MeasureError for an impossible parameter.

    >>> str(parse("P_5")), str(parse("nDCG(dcg='exp-log2')@10")), str(parse("recall@10-l2"))
    ('precision@5', 'ndcg(gain=exp)@10', 'recall(min_gain=2)@10')
    """
    if isinstance(text, Measure):
        return text.with_default(**defaults) if defaults else text
    name, k, params = _parts(text.strip())
    taken = {key: value for key, value in defaults.items() if key in registry.definition(name).parameters}
    return make(name, k, {**taken, **params})


def _parts(text: str) -> tuple[str, float | None, dict[str, ParameterValue]]:
    """Name, cut-off and parameters, as they are written."""
    if level := _RANX_LEVEL.fullmatch(text):
        name, k, params = _parts(level[1])
        return name, k, {**params, "min_gain": float(level[2])}
    if persistence := _RANX_PERSISTENCE.fullmatch(text):
        return "rbp", None, {"p": float(f"0.{persistence[1]}")}
    if (found := _CANONICAL.fullmatch(text)) and (known := registry.resolve(found[1])):
        name, implied = known
        params = {**implied, **_arguments(found[2] or "", text)}
        inner = params.pop("k", None)
        if inner is not None and (found[3] is not None or not isinstance(inner, float)):
            raise MeasureError(f"{text!r}: write the cut-off once, as a number behind the @")
        return name, inner if isinstance(inner, float) else _cutoff(found[3], text), params
    if (found := _TREC_EVAL.fullmatch(text)) and (known := registry.resolve(found[1])):
        name, implied = known
        number = _number(found[2], text)
        if found[1].lower() == "set_f":
            # trec_eval's coefficient is the square of van Rijsbergen's beta.
            return name, None, {**implied, "beta": math.sqrt(number)}
        if "multiple" in registry.definition(name).parameters:
            return name, None, {**implied, "multiple": number}
        return name, number, dict(implied)
    raise registry.unknown(found[1] if (found := _CANONICAL.fullmatch(text)) else text)


def _cutoff(digits: str | None, whole: str) -> float | None:
    return None if digits is None else _number(digits, whole)


def parse_all(texts: Iterable[str | Measure] | str | Measure, **defaults: ParameterValue) -> list[Measure]:
    """Read several measures, each once, in the order given; commas between measures are understood."""
    if isinstance(texts, str | Measure):
        texts = [texts]
    pieces = [piece for text in texts for piece in ([text] if isinstance(text, Measure) else split(text))]
    parsed = list(dict.fromkeys(parse(piece, **defaults) for piece in pieces))
    if not parsed:
        raise MeasureError("no measure is given; try ndcg@10 or `steelyard measures`")
    return parsed


def split(text: str) -> list[str]:
    """Split at the commas that stand outside of brackets."""
    pieces, depth, start = [], 0, 0
    for i, char in enumerate(text):
        depth += (char in "({") - (char in ")}")
        if char == "," and depth == 0:
            pieces.append(text[start:i])
            start = i + 1
    return [piece.strip() for piece in [*pieces, text[start:]] if piece.strip()]


def _arguments(text: str, whole: str) -> dict[str, ParameterValue]:
    found: dict[str, ParameterValue] = {}
    for piece in split(text):
        key, equals, value = (part.strip() for part in piece.partition("="))
        if not equals or not value:
            raise MeasureError(f"{whole!r}: {piece!r} is not parameter=value")
        key = _PARAMETER_NAMES.get(key, key)
        if key in found:
            raise MeasureError(f"{whole!r}: {key} is given twice")
        found[key] = _gain_map(value, whole) if value.startswith("{") else _scalar(key, value)
    return found


def _scalar(key: str, text: str) -> ParameterValue:
    bare = text.strip("'\"")
    try:
        return float(bare)
    except ValueError:
        folded = bare.lower()
        return _PARAMETER_VALUES.get(folded, folded) if key in ("gain", "pool", "ties") else bare


def _gain_map(text: str, whole: str) -> tuple[tuple[float, float], ...]:
    pairs = [piece.partition(":") for piece in split(text.strip("{}"))]
    return tuple(sorted((_number(level, whole), _number(gain, whole)) for level, _, gain in pairs))


def _number(text: str, whole: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise MeasureError(f"{whole!r}: {text.strip()!r} is not a number")
    return value


def _as_pairs(value: ParameterValue | Mapping[float, float]) -> ParameterValue:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


def _check(name: str, key: str, value: ParameterValue) -> ParameterValue:
    if isinstance(value, tuple) and key == "gain":
        return _check_map(name, value)
    if key in _CHOICES:
        if value not in _CHOICES[key]:
            more = " or a map such as {1:1,2:3}" if key == "gain" else ""
            raise MeasureError(f"{name}: {key} must be {' or '.join(_CHOICES[key])}{more}, not {_show(value)}")
        return value
    if isinstance(registry.definition(name).parameters[key], str):
        return value
    holds, wanted = _LIMITS.get(key, (lambda _: True, "a number"))
    if isinstance(value, str | tuple) or not math.isfinite(value) or not holds(value):
        raise MeasureError(f"{name}: {key} must be {wanted}, not {_show(value)}")
    return float(value)


def _check_map(name: str, pairs: tuple[tuple[float, float], ...]) -> ParameterValue:
    levels = [level for level, _ in pairs]
    if not pairs or len(set(levels)) < len(levels) or not all(math.isfinite(n) for pair in pairs for n in pair):
        raise MeasureError(f"{name}: a gain map needs finite numbers, each label once, not {_show(pairs)}")
    return tuple(sorted((float(level), float(gain)) for level, gain in pairs))


def _check_cutoff(definition: Definition, k: float | None) -> float | None:
    if k is None:
        if definition.cutoff_required:
            raise MeasureError(f"{definition.name} needs a level behind the @, e.g. {definition.name}@0.1")
        return None
    if definition.cutoff is None:
        raise MeasureError(f"{definition.name} takes no cut-off (got @{_show(k)})")
    if definition.cutoff == "recall":
        if not 0 <= k <= 1:
            raise MeasureError(f"{definition.name}: a recall level lies between 0 and 1, not {_show(k)}")
        return float(k)
    if not math.isfinite(k) or not 1 <= k <= _LARGEST_K or k != int(k):
        raise MeasureError(f"{definition.name}: k must be a whole number from 1, not {_show(k)}")
    return int(k)


def _show(value: ParameterValue | None) -> str:
    if isinstance(value, tuple):
        return "{" + ",".join(f"{_show(level)}:{_show(gain)}" for level, gain in value) + "}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
