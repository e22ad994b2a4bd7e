"""The configuration of a bench: what is weighed, against which truth, over which candidates, under which load.

One model is the configuration, of a TOML file, a dict, the arguments of `load_test` and the config.json of a bench.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import to_jsonable_python

from steelyard.base import defaults, percentiles
from steelyard.base.choices import Arrivals, Prefer
from steelyard.base.errors import quoted
from steelyard.base.limits import Limits, Words, above, at_least, between
from steelyard.base.settings import Origin, SettingError, read_text, validate
from steelyard.bench.arrivals import MOST_REQUESTS, ArrivalLog
from steelyard.bench.frames import Option
from steelyard.io.json_files import parse_json
from steelyard.measures import parse
from steelyard.rag.config import (
    Count,
    File,
    Text,
    Written,
    as_stage,
    existing_path,
    parse_measures,
    parse_path,
    parse_stage,
    path_in,
    stage_beside,
)
from steelyard.services.addresses import without_secrets
from steelyard.services.prices import currency_code
from steelyard.store.settings import StoreTable

BASE = "base"
"""Name of the candidates as they are, where no system of the configuration is without a reranker."""
MOST_USERS = 2_000
"""At once, each of whom is a thread."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+) ?(ms|s|m|min)?")
_NUMBER = re.compile(r"\d*\.?\d+")
_UNIT_S = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0}
_PATHS = ("truth", "candidates", "documents", "questions", "exclude")

# Types of settings ---------------------------------------------------------------------------------------------------


def seconds(value: object, *, from_0: bool = False) -> float:
    """Seconds of a number, which are seconds, or of a text such as "500ms", "30s" or "2m".

    Raises   ValueError for anything else, and for what is not above 0, or is below it.

    >>> seconds(0.5), seconds("500ms"), seconds("2m")
    (0.5, 0.5, 120.0)
    """
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())) is not None:
        value = float(match[1]) * _UNIT_S[match[2]]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, int | float) or not is_number or not (0 < value < float("inf") or (from_0 and value == 0)):
        raise ValueError
    return float(value)


def _limit_seconds(value: object) -> float:
    """As `seconds`, of a limit of an objective: a text has a unit, since 500 may be meant as milliseconds."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        raise ValueError
    return seconds(value)


def parse_slo(value: object) -> object:
    """An objective that is written as a text, as a table; anything else as it is.

    >>> parse_slo("p95=500ms, p99=1s")
    {'p95': '500ms', 'p99': '1s'}
    """
    if not isinstance(value, str):
        return value
    parts = [part.partition("=") for part in value.split(",")]
    if not all(name.strip() and limit.strip() for name, _, limit in parts):
        raise SettingError(f"{value!r} is no objective; expected one such as p95=500ms, or several with commas")
    limits = {name.strip(): limit.strip() for name, _, limit in parts}
    for name, limit in limits.items():
        try:
            _limit_seconds(limit)
        except ValueError:
            unit = f"; did you mean {name}={limit}ms or {name}={limit}s?" if _NUMBER.fullmatch(limit) else ""
            raise SettingError(
                f"{name}={limit} is no objective; expected a time above 0 with its unit, such as {name}=500ms{unit}"
            ) from None
    return limits


def _check_slo(table: dict[str, float]) -> dict[str, float]:
    if not table:
        raise SettingError("an objective has no limit; expected a table such as { p95 = 0.5 }")
    ordered = sorted(table, key=percentiles.percentile_share)
    for lower, higher in pairwise(ordered):
        if table[lower] > table[higher]:
            raise SettingError(
                f"{lower} may take {table[lower]:g} s, and {higher} {table[higher]:g} s, but a {lower.upper()} is "
                f"never above a {higher.upper()}; exchange the two, or name {higher} alone"
            )
    return table


def _check_mean(names: list[str]) -> list[str]:
    """Raise   SettingError for percentiles alone: the choice and the return go by a mean."""
    if not any(parse(name).aggregation.arithmetic for name in names):
        mean = names[0].partition(":")[0]
        raise SettingError(f"has percentiles alone, and choice and return go by a mean; name one too, such as {mean}")
    return names


Positive = Annotated[float, above(0)]
NotNegative = Annotated[float, at_least(0)]
Seconds = Annotated[float, BeforeValidator(seconds), Words('seconds above 0, or a text such as "500ms" or "30s"')]
Limit = Annotated[
    float, BeforeValidator(_limit_seconds), Words('seconds above 0, or a text with a unit such as "500ms"')
]
Slo = Annotated[
    dict[str, Limit], BeforeValidator(parse_slo), AfterValidator(_check_slo), Words("a table such as { p95 = 0.5 }")
]
Measures = Annotated[list[Text], Field(min_length=1), AfterValidator(parse_measures), AfterValidator(_check_mean)]
Depths = Annotated[
    list[Count],
    Field(min_length=1),
    AfterValidator(lambda depths: sorted(set(depths))),
    Words("a list of whole numbers from 1"),
]
ArrivalsOrLog = Annotated[
    Arrivals | Path,
    BeforeValidator(lambda value: value if value in get_args(Arrivals) else parse_path(value)),
    Words('"poisson", "constant" or a log of times of arrival'),
]

# Tables --------------------------------------------------------------------------------------------------------------


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LoadTable(_Table):
    """How load is put on systems."""

    arrivals: ArrivalsOrLog = "poisson"
    speeds: Annotated[list[Positive], Words("a list of speeds of the log, such as [1, 2]")] = []
    rates: Annotated[list[Positive], Words("a list of requests a second, such as [1, 2, 4, 8]")] = []
    ramp: Annotated[list[Positive], Field(min_length=2, max_length=2), Words("two rates, such as [1, 50]")] | None = (
        None
    )
    concurrency: Annotated[list[Count], Words("a list of users at once, such as [1, 2, 4, 8]")] = []
    instances: Count = 1
    think_time: NotNegative = 0.0
    duration: Seconds = 10.0
    warm_up: Annotated[float, BeforeValidator(partial(seconds, from_0=True)), Words("seconds from 0")] = 2.0
    slo: Slo = {"p95": 0.5}
    max_error: Annotated[float, between(0, 1)] = 0.01
    depth: Count | None = None
    sustained: bool = True
    sweep: bool = False

    @property
    def has_log(self) -> bool:
        """True if requests come as a log has them."""
        return self.arrivals not in get_args(Arrivals)

    @property
    def is_load(self) -> bool:
        """True if it names any load."""
        return bool(self.rates or self.concurrency or self.has_log or self.sweep or self.ramp)

    @property
    def searches(self) -> bool:
        """True if the sustained rate is searched; a log has the rate that it has."""
        return self.sustained and self.is_load and not self.has_log

    @property
    def log_s(self) -> float | None:
        """Seconds of a log that are sent; None for all of it."""
        return self.duration if "duration" in self.model_fields_set else None

    @model_validator(mode="after")
    def _check_rates(self) -> Self:
        """Refuse what contradicts itself, and load that no machine can put on, before anything is measured."""
        if self.speeds and not self.has_log:
            raise SettingError("speeds are those of a log; name it: arrivals, --arrivals FILE", "speeds")
        if self.ramp is not None and not self.ramp[0] < self.ramp[1]:
            raise SettingError(
                f"a ramp from {self.ramp[0]:g} to {self.ramp[1]:g} does not rise; expected such as 1..50", "ramp"
            )
        if (self.rates or self.ramp) and self.has_log:
            raise SettingError(
                f"arrivals = {quoted(str(self.arrivals))} is neither poisson nor constant, and a log has a rate of its "
                "own: send it faster or slower with speeds (--speed 2), or remove rates",
                "arrivals",
            )
        whole_s = self.warm_up + self.duration
        for rate in [*self.rates, *([sum(self.ramp) / 2] if self.ramp else [])]:
            if rate * self.duration < 1:
                raise SettingError(
                    f"{rate:g} requests a second for {self.duration:g} s are less than one; raise rate or duration",
                    "rates",
                )
            if rate * whole_s > MOST_REQUESTS:
                raise SettingError(
                    f"{rate:g} requests a second for {whole_s:g} s are {rate * whole_s:,.0f}, more than "
                    f"{MOST_REQUESTS:,}; lower rate or duration",
                    "rates",
                )
        if (users := max(self.concurrency, default=0)) > MOST_USERS:
            raise SettingError(
                f"{users:,} users are more than {MOST_USERS:,} on one machine; name fewer", "concurrency"
            )
        return self


class PromptTable(_Table):
    """The prompt that shorter lists save tokens of."""

    chunks_before: Count
    chunks_after: Count
    tokens_per_chunk: Positive
    price_per_1m_tokens: NotNegative


class ValueTable(_Table):
    """What success is worth."""

    value_per_success: Positive | None = None
    value_per_query: Positive | None = None
    queries_per_day: Positive
    success: Annotated[Text, AfterValidator(lambda name: parse_measures(name)[0])] | None = None
    prompt: PromptTable | None = None
    currency: Annotated[Text, AfterValidator(currency_code)] = "USD"

    @model_validator(mode="after")
    def _check_one_value(self) -> Self:
        if (self.value_per_success is None) == (self.value_per_query is None):
            raise SettingError(
                "expected either value_per_success (of each question more that succeeds) or value_per_query (of each "
                "question today, in proportion to quality)"
            )
        return self


class SelfHostTable(_Table):
    """A machine of your own."""

    per_hour: Positive
    utilisation: Annotated[float, Limits(above=0, most=1)] = 1.0


class BenchSystem(_Table):
    """One system: a reranker over the candidates, the candidates as they are, or a whole system for a load test.

    rerank     a `Stage` that is to be made, or None
    pipeline   the configuration of a whole system, or None
    target     a whole system of the user's own, as the table [target] of a run has it, or None
    price      "self-host", the name of a price, a table of one, or None
    """

    rerank: Annotated[Any, BeforeValidator(partial(parse_stage, "rerank")), Words("a name or a table with `kind`")] = (
        None
    )
    pipeline: File | None = None
    target: Annotated[dict[str, Any], Words('a table with callable = "module:object" or url = "..."')] | None = None
    price: Annotated[Text | dict[str, Any], Words('"self-host", the name of a price, or a table of one')] | None = None
    _name: str = PrivateAttr("")

    @property
    def name(self) -> str:
        """Its key among the systems of the configuration."""
        return self._name

    @property
    def is_base(self) -> bool:
        """True if this is the candidates as they are."""
        return self.rerank is None and not self.is_whole

    @property
    def is_whole(self) -> bool:
        """True if it takes a question alone, and no candidates."""
        return self.pipeline is not None or self.target is not None

    @model_validator(mode="after")
    def _check_one_kind(self) -> Self:
        named = [key for key in ("rerank", "pipeline", "target") if getattr(self, key) is not None]
        if len(named) > 1:
            raise SettingError(f"names {' and '.join(named)}; a system is one of them", named[1])
        return self


class BenchConfig(Written, _Table):
    """A bench: read it with `BenchConfig.read(path)` or `BenchConfig.of(mapping)`.  Paths are absolute.

    truth, candidates, documents, questions   as `evaluate` takes truth, run and the options of these names; or None
    exclude    query_id -> documents that are left out of its lists, in JSONL or TREC's qrels form; or None
    depths     candidates that are reranked, ascending
    measures   None for those of `steelyard.bench.quality.gains.MEASURES`
    margin     the loss of the first measure that is small enough not to matter
    prefer     which of the rerankers that are good enough is recommended
    warm_up    requests of each system before the clock counts;   timeout   seconds that a request may take
    systems    by name, in the order of the configuration, at most one of them the candidates as they are
    prices     tables by name, beside those that are shipped; or the TOML that holds them
    store      where commands record results
    folder     where the bench goes

    >>> config = BenchConfig.of({"systems": {"none": {}, "words": {"rerank": "lexical"}}, "depths": [50, 10]})
    >>> config.depths, config.base_name, [system.name for system in config.rerankers]
    ([10, 50], 'none', ['words'])
    """

    name: Text = "bench"
    truth: File | None = None
    candidates: File | None = None
    documents: File | None = None
    questions: File | None = None
    exclude: File | None = None
    depths: Depths = [10, 20, 50, 100]
    measures: Measures | None = None
    min_gain: Annotated[float, Limits()] | None = None
    cluster: Text | None = None
    margin: Positive = 0.01
    prefer: Prefer = "auto"
    repetitions: Annotated[int, between(1, 1000)] = 3
    warm_up: Annotated[int, at_least(0), Words("a number of requests from 0")] = 10
    timeout: Seconds = 60.0
    seed: int = defaults.SEED
    systems: Annotated[dict[Text, BenchSystem], Field(min_length=1)]
    prices: Annotated[dict[Text, dict[str, Any]], Words("a table of prices by name")] | File = {}
    self_host: SelfHostTable | None = None
    load: LoadTable | None = None
    value: ValueTable | None = None
    store: StoreTable | None = None
    folder: File = Path("benches")

    @classmethod
    def stored(cls, path: str | Path) -> Self:
        """Read config.json of a bench, as `resolved` wrote it; files that it names are shown, and never opened.

        Raises   InputError where it cannot be read.
        """
        path = Path(path)
        origin = Origin(str(path))
        values = parse_json(read_text(path), str(path))
        with origin.locating():
            return cls._of(values, base=path.parent, origin=origin, is_stored=True)

    @classmethod
    def _of(
        cls, values: Mapping[str, Any], *, base: Path, stem: str | None = None, origin: Origin | None = None,
        is_stored: bool = False,
    ) -> Self:  # fmt: skip
        """The configuration that values are;   is_stored   whether of a finished bench: what they name stays shut"""
        config: Self = validate(cls, values)
        name = config.name if stem is None or "name" in config.model_fields_set else stem
        folder = config.folder if "folder" in config.model_fields_set else f"benches/{name}"
        files: dict[str, Any] = {key: getattr(config, key) for key in _PATHS}
        if isinstance(config.prices, Path):
            files["prices"] = config.prices
        files = {key: None if is_stored else existing_path(key, path, base) for key, path in files.items()}
        if "prices" in files:
            files["prices"] = files["prices"] or {}
        changes = {"name": name, "folder": path_in(base, folder), **files, "systems": config._systems(base, is_stored)}
        if config.load is not None and config.load.has_log and not is_stored:
            changes["load"] = _with_log(config.load, base)
        return config.model_copy(update=changes)._written(values, base, origin)

    def _systems(self, base: Path, is_stored: bool) -> dict[str, BenchSystem]:
        systems = dict[str, BenchSystem]()
        for name, system in self.systems.items():
            stage = as_stage(system.rerank, "rerank") if is_stored else stage_beside(system.rerank, base, "rerank")
            pipeline = system.pipeline
            if not is_stored:
                pipeline = existing_path("pipeline", pipeline, base, "systems", name)
            systems[name] = system.model_copy(update={"rerank": stage, "pipeline": pipeline})
            systems[name]._name = name
        return systems

    def with_values(self, changes: Mapping[str, Any]) -> Self:
        """The same with other values of some keys; those of a table replace the table's, key by key.

        Raises   InputError as `read` does.

        >>> config = BenchConfig.of({"systems": {"none": {}}, "load": {"rates": [1], "duration": 5}})
        >>> load = config.with_values({"load": {"rates": [20]}}).load
        >>> load.rates, load.duration
        ([20.0], 5.0)
        """
        values = dict(self._values)
        for key, value in changes.items():
            tables = isinstance(value, Mapping) and isinstance(values.get(key), Mapping)
            values[key] = {**values[key], **value} if tables else value
        with self._origin.locating():
            return self._of(values, base=self._base, stem=self.name, origin=self._origin)

    @property
    def base_name(self) -> str:
        """Name of the candidates as they are."""
        return next((system.name for system in self.systems.values() if system.is_base), BASE)

    @property
    def rerankers(self) -> tuple[BenchSystem, ...]:
        """The systems that rerank candidates."""
        return tuple(system for system in self.systems.values() if system.rerank is not None)

    @property
    def options(self) -> list[Option]:
        """All rerankers over all depths."""
        return [Option(system.name, depth) for system in self.rerankers for depth in self.depths]

    @property
    def whole_systems(self) -> tuple[BenchSystem, ...]:
        """The systems that take a question alone."""
        return tuple(system for system in self.systems.values() if system.is_whole)

    @property
    def load_depth(self) -> int:
        """Candidates that rerankers get under load."""
        return (self.load and self.load.depth) or self.depths[-1]

    @cached_property
    def arrival_log(self) -> ArrivalLog | None:
        """The log that requests under load come by; None where a rate is offered.

        Raises   InputError for one that cannot be read.
        """
        return ArrivalLog.read(self.load.arrivals) if self.load is not None and self.load.has_log else None

    def resolved(self) -> dict[str, Any]:
        """The content of config.json: all that was written, paths absolute, secrets blotted out."""
        paths = {key: path for key in _PATHS if (path := getattr(self, key)) is not None}
        values = {**self.values, "name": self.name, **paths, "folder": self.folder}
        values.pop("store", None)
        if isinstance(self.prices, Path):
            values["prices"] = self.prices
        if self.load is not None and self.load.has_log:
            values["load"] = {**values["load"], "arrivals": self.load.arrivals}
        blotted: dict[str, Any] = without_secrets(to_jsonable_python(values))
        return blotted

    def check_prefer(self, prefer: Prefer) -> None:
        """Raise   SettingError for a net benefit without a value."""
        if prefer == "net" and self.value is None:
            raise SettingError(
                "the net benefit needs to know what success is worth: add [value] with value_per_success and "
                'queries_per_day, or prefer "auto", "cheap" or "quality"',
                "prefer",
            )

    @model_validator(mode="after")
    def _check_fit(self) -> Self:
        """Refuse tables that do not fit each other, and a limit that no answer exceeds, as requests end before."""
        self.check_prefer(self.prefer)
        load = self.load
        for name, limit in load.slo.items() if load is not None and "slo" in load.model_fields_set else ():
            if limit >= self.timeout:
                raise SettingError(
                    f"{name} may take {limit:g} s, but requests are given up after {self.timeout:g} s; name "
                    f'milliseconds as text ({name} = "{limit:g}ms"), or raise timeout',
                    "load",
                    "slo",
                )
        if load is not None and load.depth is not None and load.depth not in self.depths:
            raise SettingError(
                f"load.depth is {load.depth}; expected one of depths: {', '.join(map(str, self.depths))}",
                "load",
                "depth",
            )
        for name in self.systems:
            if "@" in name:
                raise SettingError(
                    f"{name!r}: @ is put before the number of candidates; choose another name", "systems", name
                )
        bases = [name for name, system in self.systems.items() if system.is_base]
        if len(bases) > 1:
            raise SettingError(
                f"{bases[0]} and {bases[1]} both rerank nothing; keep one of them, or name a `rerank`",
                "systems",
                bases[1],
            )
        return self


def _with_log(load: LoadTable, base: Path) -> LoadTable:
    try:
        return load.model_copy(update={"arrivals": existing_path("arrivals", load.arrivals, base)})
    except SettingError as error:
        raise SettingError(
            f"{error}; arrivals are poisson, constant, or a log of requests", "load", "arrivals"
        ) from None
