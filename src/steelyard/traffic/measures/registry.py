"""Which measures of logs there are, what each is computed from, and how one is asked for by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.base.percentiles import percentile_share
from steelyard.base.registry import Registry
from steelyard.traffic.logs import Logs
from steelyard.traffic.schema import SCORE
from steelyard.traffic.series import Better, Scale, Series, Stream

MILLIONTH = 2.0**-20
"""Values are rounded to it, so that sums of any order are the same."""


@dataclass(frozen=True, eq=False)
class Ratio:
    """Sum of a column of requests over the sum of another; null counts as 0.

    resolution   to which values are rounded before they are added
    """

    numerator: pl.Expr
    denominator: pl.Expr
    resolution: float = MILLIONTH


@dataclass(frozen=True, eq=False)
class Values:
    """A column of requests, of which the mean or a percentile may be asked; nulls are left out."""

    values: pl.Expr
    resolution: float = MILLIONTH


@dataclass(frozen=True, eq=False)
class Percentile:
    """A percentile of a column of requests; nulls are left out.

    share   of the values below it, in (0, 1)
    """

    values: pl.Expr
    share: float


@dataclass(frozen=True)
class Total:
    """A number per window.

    of   "requests", or "users", which are sessions or requests where users are unknown
    """

    of: str


Quantity = Ratio | Percentile | Total


@dataclass(frozen=True, eq=False)
class TrafficMeasure:
    """A measure of logs as it is computed: its quantity, and the series that it makes."""

    series: Series
    quantity: Quantity


@dataclass(frozen=True, eq=False)
class TrafficDefinition:
    """Declaration of a measure of logs.

    make     gives the quantity; takes k where the measure needs a cut-off
    needs    what of the logs: "impression:latency_ms", "event:click", "answer:citations"; of several with "|" between
             any is enough
    usual    endings of the name that are watched unless others are asked for: "", "@5", ":p95"
    """

    name: str
    make: Callable[..., Ratio | Values | Total]
    stream: Stream
    better: Better
    scale: Scale
    floor: float
    needs: tuple[str, ...]
    usual: tuple[str, ...]

    @property
    def summary(self) -> str:
        """What it is, in a sentence."""
        return inspect.cleandoc(self.make.__doc__ or "")

    @property
    def takes_k(self) -> bool:
        """Whether the name goes on with a cut-off, such as @5."""
        return bool(inspect.signature(self.make).parameters)

    @property
    def usage(self) -> str:
        """How it is asked for."""
        ending = "[:p95]" if not self.takes_k and isinstance(self.make(), Values) else ""
        return self.name + ("@k" if self.takes_k else ending)


_MEASURES: Registry[TrafficDefinition] = Registry(
    "measure of logs",
    modules=[f"steelyard.traffic.measures.{family}" for family in ("feedback", "label_free", "operations")],
    origin=lambda definition: (definition.make.__module__, definition.make.__qualname__),
    hint=" (columns are measures too: dwell_s, dwell_s:p95, click.n, language=zh)",
)
_SPEC = re.compile(r"([^\s@:=]+)(?:@([1-9]\d{0,3}))?(?::(p\d{1,2}(?:\.\d+)?))?")
_SHARE = re.compile(r"([^\s@:=]+)=(.*)", re.DOTALL)


def traffic_measure(
    *, stream: Stream, better: Better = "higher", scale: Scale = "share", floor: float = 0.0, needs: Sequence[str] = (),
    usual: Sequence[str] = ("",), name: str | None = None,
) -> Callable[[Callable[..., Ratio | Values | Total]], Callable[..., Ratio | Values | Total]]:  # fmt: skip
    """A decorator that registers a measure of logs under the name of its function; fields as of TrafficDefinition."""

    def decorate(make: Callable[..., Ratio | Values | Total]) -> Callable[..., Ratio | Values | Total]:
        own = name or make.__name__
        _MEASURES.add(
            own, TrafficDefinition(own, make, stream, better, scale, floor, needs=tuple(needs), usual=tuple(usual))
        )
        return make

    return decorate


def traffic_definitions() -> list[TrafficDefinition]:
    """All measures of logs, stream by stream."""
    return list(_MEASURES)


def traffic_measures(
    specs: Iterable[str], type_of: Callable[[str], pl.DataType | None] = lambda name: None
) -> list[TrafficMeasure]:
    """Measures by their names: "ctr", "clicks@5", "latency_ms:p95", a column, "COLUMN=VALUE", a share of requests, or
    "score:NAME", the mean of what an evaluator of the service gave.

    type_of   type of a column of requests, which may be measured beside those that are registered; None for none
    Raises    InputError for other names, a cut-off that is missing or is one too many, a percentile of a ratio, and a
              column without numbers
    """
    return [_measure(spec, type_of) for spec in specs]


def measured_columns(specs: Iterable[str]) -> list[str]:
    """Columns that measures name which are not registered: "basket", "basket:p95", "browser=chrome"."""
    matches = [_SHARE.fullmatch(spec) or _SPEC.fullmatch(spec) for spec in specs if not spec.startswith(SCORE)]
    names = dict.fromkeys(match[1] for match in matches if match)
    return [name for name in names if _MEASURES.find(name) is None]


def _measure(spec: str, type_of: Callable[[str], pl.DataType | None]) -> TrafficMeasure:
    if (match := _SHARE.fullmatch(spec)) and type_of(match[1]) == pl.String:
        value = pl.col(match[1])
        series = Series(spec, "label_free", "either", "share", 0.01)
        return TrafficMeasure(series, Ratio(value == match[2], value.is_not_null()))
    if spec.startswith(SCORE) and len(spec) > len(SCORE):
        scores = Ratio(pl.col(f"{spec}.value"), pl.col(f"{spec}.n"))
        return TrafficMeasure(Series(spec, "label_free", "either", "real"), scores)
    match = _SPEC.fullmatch(spec)
    if match is None:
        raise InputError(f"measure {quoted(spec)} is none; expected a name such as ctr, clicks@5 or latency_ms:p95")
    name, k, percentile = match.groups()
    definition = _MEASURES.find(name)
    if definition is None and k is None and (type_ := type_of(name)) is not None:
        if not type_.is_numeric() and type_ != pl.Boolean:
            raise InputError(f"measure {quoted(spec)} is of a column without numbers; expected one of numbers")
        definition = TrafficDefinition(
            name, lambda: Values(pl.col(name).cast(pl.Float64)), "operations", "either", "real", 0.0, needs=(), usual=()
        )
    definition = definition or _MEASURES.get(name)
    if definition.takes_k != (k is not None):
        raise InputError(f"measure {quoted(spec)} has a wrong form; expected {definition.usage}")
    quantity = _quantity(definition.make(*([] if k is None else [int(k)])), percentile, spec, definition)
    series = Series(spec, definition.stream, definition.better, definition.scale, definition.floor)
    return TrafficMeasure(series, quantity)


def _quantity(
    quantity: Ratio | Values | Total, percentile: str | None, spec: str, definition: TrafficDefinition
) -> Quantity:
    if isinstance(quantity, Values):
        if percentile is not None:
            return Percentile(quantity.values, percentile_share(percentile))
        is_there = quantity.values.is_finite()
        return Ratio(pl.when(is_there).then(quantity.values), is_there, quantity.resolution)
    if percentile is not None:
        raise InputError(f"measure {quoted(spec)} is no percentile; {definition.name} is one number of a window")
    return quantity


def measurable(logs: Logs) -> list[str]:
    """Names of the measures that are watched unless others are asked for, as far as these logs have what they need."""
    impressions = logs.impressions.select(pl.all().is_not_null().any()).collect().row(0, named=True)
    answers = logs.answers.select(pl.all().is_not_null().any()).collect().row(0, named=True)
    kinds = logs.events.select(pl.col("kind").unique()).collect()["kind"]
    has = {
        *(f"impression:{name}" for name, is_there in impressions.items() if is_there),
        *(f"answer:{name}" for name, is_there in answers.items() if is_there),
        *(f"event:{kind}" for kind in kinds),
    }
    scores = sorted(kind for kind in kinds if kind.startswith(SCORE))
    usual = [
        definition.name + ending
        for definition in traffic_definitions()
        for ending in definition.usual
        if all(has & set(need.split("|")) for need in definition.needs)
    ]
    return [*usual, *scores]
