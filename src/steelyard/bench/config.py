"""The configuration of a bench: what is weighed, against which truth, over which candidates, under which load."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from steelyard.base import defaults, percentiles
from steelyard.base.choices import Arrivals, Prefer
from steelyard.base.errors import quoted
from steelyard.base.limits import Limits, Words, above, at_least, between
from steelyard.base.settings import Origin, SettingError, read_text, read_toml, validate
from steelyard.base.toml_lines import Key
from steelyard.bench.arrivals import MOST_REQUESTS, ArrivalLog
from steelyard.io.json_files import parse_json
from steelyard.measures import parse
from steelyard.rag.config import as_stage, existing_path, path_in, stage_beside
from steelyard.rag.config_table import Count, PathText, Text, parse_measures, parse_stage
from steelyard.rag.config_values import Stage
from steelyard.services.prices import currency_code
from steelyard.services.secrecy import without_secrets

MOST_USERS = 2_000
"""At once, each of whom is a thread."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+) ?(ms|s|m|min)?")
_UNIT_S = {None: 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0}


def seconds(value: object) -> float:
    """Seconds of a number, which are seconds, or of a text such as "500ms", "30s" or "2m".

    Raises   ValueError for anything else, and for what is not above 0.

    >>> seconds(0.5), seconds("500ms"), seconds("2m")
    (0.5, 0.5, 120.0)
    """
    if isinstance(value, str) and (match := _DURATION.fullmatch(value.strip())) is not None:
        value = float(match[1]) * _UNIT_S[match[2]]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ValueError
    return float(value)


Seconds = Annotated[float, BeforeValidator(seconds), Words('seconds above 0, or a text such as "500ms" or "30s"')]


_NUMBER = re.compile(r"\d*\.?\d+")


def seconds_from_0(value: object) -> float:
    """As `seconds`, and 0."""
    try:
        return seconds(value)
    except ValueError:
        if str(value).strip() in ("0", "0.0", "0s"):
            return 0.0
        raise


def percentile_share(name: str) -> float:
    """The share that the name of a percentile stands for.

    Raises   SettingError for a name of another kind.
    """
    try:
        return percentiles.percentile_share(name)
    except ValueError as error:
        raise SettingError(str(error)) from None


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
            limit_seconds(limit)
        except ValueError:
            unit = f"; did you mean {name}={limit}ms or {name}={limit}s?" if _NUMBER.fullmatch(limit) else ""
            raise SettingError(
                f"{name}={limit} is no objective; expected a time above 0 with its unit, such as {name}=500ms{unit}"
            ) from None
    return limits


def limit_seconds(value: object) -> float:
    """As `seconds`, of a limit of an objective: a text has a unit, since 500 may be meant as milliseconds.

    Raises   ValueError.
    """
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        raise ValueError
    return seconds(value)


def _slo(table: Mapping[str, float]) -> Mapping[str, float]:
    if not table:
        raise SettingError("an objective has no limit; expected a table such as { p95 = 0.5 }")
    ordered = sorted(table, key=percentile_share)
    for lower, higher in pairwise(ordered):
        if table[lower] > table[higher]:
            raise SettingError(
                f"{lower} may take {table[lower]:g} s, and {higher} {table[higher]:g} s, but a {lower.upper()} is "
                f"never above a {higher.upper()}; exchange the two, or name {higher} alone"
            )
    return table


Limit = Annotated[
    float, BeforeValidator(limit_seconds), Words('seconds above 0, or a text with a unit such as "500ms"')
]
Rate = Annotated[float, above(0)]


class LoadTable(BaseModel):
    """How load is put on systems."""

    model_config = ConfigDict(extra="forbid")
    arrivals: Annotated[Arrivals | PathText, Words('"poisson", "constant" or a log of times of arrival')] = "poisson"
    speeds: Annotated[list[Annotated[float, above(0)]], Words("a list of speeds of the log, such as [1, 2]")] = []
    rates: Annotated[list[Annotated[float, above(0)]], Words("a list of requests a second, such as [1, 2, 4, 8]")] = []
    ramp: Annotated[list[Rate], Field(min_length=2, max_length=2), Words("two rates, such as [1, 50]")] | None = None
    concurrency: Annotated[list[Count], Words("a list of users at once, such as [1, 2, 4, 8]")] = []
    instances: Count = 1
    think_time: Annotated[float, at_least(0)] = 0.0
    duration: Seconds = 10.0
    warm_up: Annotated[float, BeforeValidator(seconds_from_0), Words("seconds from 0")] = 2.0
    slo: Annotated[
        dict[str, Limit], BeforeValidator(parse_slo), AfterValidator(_slo), Words("a table such as { p95 = 0.5 }")
    ] = {"p95": 0.5}
    max_error: Annotated[float, between(0, 1)] = 0.01
    depth: Count | None = None
    sustained: bool = True
    sweep: bool = False

    @property
    def has_log(self) -> bool:
        """Whether requests come as a log has them."""
        return self.arrivals not in get_args(Arrivals)

    @property
    def is_load(self) -> bool:
        """Whether it names any load."""
        return bool(self.rates or self.concurrency or self.has_log or self.sweep or self.ramp)

    @property
    def searches(self) -> bool:
        """Whether the sustained rate is searched; a log has the rate that it has."""
        return self.sustained and self.is_load and not self.has_log

    @property
    def highest_rate(self) -> float | None:
        """The highest rate of those that are offered, or the middle of a ramp; None without any."""
        return max(self.rates, default=sum(self.ramp) / 2 if self.ramp else None)

    @property
    def log_s(self) -> float | None:
        """How much of a log is sent, in seconds; None for all of it."""
        return self.duration if "duration" in self.model_fields_set else None

    @model_validator(mode="after")
    def _of_log(self) -> Self:
        """Refuse speeds without a log, and with one what has a rate of its own."""
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
        return self

    @model_validator(mode="after")
    def _possible(self) -> Self:
        """Refuse load that no machine can put on, before anything is measured."""
        seconds = self.warm_up + self.duration
        for rate in [*self.rates, *([sum(self.ramp) / 2] if self.ramp else [])]:
            if rate * self.duration < 1:
                raise SettingError(
                    f"{rate:g} requests a second for {self.duration:g} s are less than one; raise rate or duration",
                    "rates",
                )
            if rate * seconds > MOST_REQUESTS:
                raise SettingError(
                    f"{rate:g} requests a second for {seconds:g} s are {rate * seconds:,.0f}, more than "
                    f"{MOST_REQUESTS:,}; lower rate or duration", "rates",
                )  # fmt: skip
        if (users := max(self.concurrency, default=0)) > MOST_USERS:
            raise SettingError(
                f"{users:,} users are more than {MOST_USERS:,} on one machine; name fewer", "concurrency"
            )
        return self


class PromptTable(BaseModel):
    """The prompt that shorter lists save tokens of."""

    model_config = ConfigDict(extra="forbid")
    chunks_before: Count
    chunks_after: Count
    tokens_per_chunk: Annotated[float, above(0)]
    price_per_1m_tokens: Annotated[float, at_least(0)]


class ValueTable(BaseModel):
    """What success is worth."""

    model_config = ConfigDict(extra="forbid")
    value_per_success: Annotated[float, above(0)] | None = None
    value_per_query: Annotated[float, above(0)] | None = None
    queries_per_day: Annotated[float, above(0)]
    success: Annotated[Text, AfterValidator(lambda name: parse_measures(name)[0])] | None = None
    prompt: PromptTable | None = None
    currency: Annotated[Text, AfterValidator(currency_code)] = "USD"

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        if (self.value_per_success is None) == (self.value_per_query is None):
            raise SettingError(
                "expected either value_per_success (of each question more that succeeds) or value_per_query (of each "
                "question today, in proportion to quality)"
            )
        return self


def check_prefer(prefer: Prefer, value: ValueTable | None) -> None:
    """Raise   SettingError for a net benefit without a value."""
    if prefer == "net" and value is None:
        raise SettingError(
            "the net benefit needs to know what success is worth: add [value] with value_per_success and "
            'queries_per_day, or prefer "auto", "cheap" or "quality"', "prefer",
        )  # fmt: skip


class SelfHostTable(BaseModel):
    """A machine of one's own."""

    model_config = ConfigDict(extra="forbid")
    per_hour: Annotated[float, above(0)]
    utilisation: Annotated[float, Limits(above=0, most=1)] = 1.0


class BenchSystemTable(BaseModel):
    """One system: a reranker over the candidates, or a whole system of one's own, for a load test."""

    model_config = ConfigDict(extra="forbid")
    rerank: Annotated[
        Any, BeforeValidator(lambda value: parse_stage("rerank", value)), Words("a name or a table with `kind`")
    ] = None
    pipeline: PathText | None = None
    target: Annotated[dict[str, Any], Words('a table with callable = "module:object" or url = "..."')] | None = None
    price: Annotated[Text | dict[str, Any], Words('"self-host", the name of a price, or a table of one')] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        named = [key for key in ("rerank", "pipeline", "target") if getattr(self, key) is not None]
        if len(named) > 1:
            raise SettingError(f"names {' and '.join(named)}; a system is one of them", named[1])
        return self


def _with_a_mean(names: list[str]) -> list[str]:
    """Raise   SettingError for percentiles alone: the choice and the return go by a mean."""
    if not any(parse(name).aggregation.arithmetic for name in names):
        mean = names[0].partition(":")[0]
        raise SettingError(f"has percentiles alone, and choice and return go by a mean; name one too, such as {mean}")
    return names


def _depths(depths: list[int]) -> list[int]:
    return sorted(set(depths))


class BenchTable(BaseModel):
    """All of a bench configuration."""

    model_config = ConfigDict(extra="forbid")
    name: Text | None = None
    truth: PathText | None = None
    candidates: PathText | None = None
    documents: PathText | None = None
    queries: PathText | None = None
    exclude: PathText | None = None
    depths: Annotated[
        list[Count], Field(min_length=1), AfterValidator(_depths), Words("a list of whole numbers from 1")
    ] = [10, 20, 50, 100]
    measures: (
        Annotated[list[Text], Field(min_length=1), AfterValidator(parse_measures), AfterValidator(_with_a_mean)] | None
    ) = None
    min_gain: Annotated[float, Limits()] | None = None
    cluster: Text | None = None
    margin: Annotated[float, above(0)] = 0.01
    prefer: Prefer = "auto"
    repetitions: Annotated[int, between(1, 1000)] = 3
    warm_up: Annotated[int, at_least(0), Words("a number of requests from 0")] = 10
    timeout: Seconds = 60.0
    seed: int = defaults.SEED
    systems: Annotated[dict[Text, BenchSystemTable], Field(min_length=1)]
    prices: Annotated[dict[Text, dict[str, Any]], Words("a table of prices by name")] | PathText = {}
    self_host: SelfHostTable | None = None
    load: LoadTable | None = None
    value: ValueTable | None = None
    folder: PathText | None = None

    @model_validator(mode="after")
    def _value_of_net(self) -> Self:
        check_prefer(self.prefer, self.value)
        return self

    @model_validator(mode="after")
    def _limits_within_timeout(self) -> Self:
        """Refuse a limit that no answer exceeds, as requests are given up before; 500 was meant as milliseconds."""
        if self.load is not None and "slo" in self.load.model_fields_set:
            for name, limit in self.load.slo.items():
                if limit >= self.timeout:
                    raise SettingError(
                        f"{name} may take {limit:g} s, but requests are given up after {self.timeout:g} s; name "
                        f"milliseconds as text ({name} = \"{limit:g}ms\"), or raise timeout", "load", "slo",
                    )  # fmt: skip
        return self

    @model_validator(mode="after")
    def _depth_of_load(self) -> Self:
        depth = None if self.load is None else self.load.depth
        if depth is not None and depth not in self.depths:
            raise SettingError(f"load.depth is {depth}; expected one of depths: {', '.join(map(str, self.depths))}",
                               "load", "depth")  # fmt: skip
        return self


BASE = "base"
"""What the candidates as they are are called, where no system of the configuration is without a reranker."""


@dataclass(frozen=True)
class BenchSystem:
    """One system of a bench.

    rerank     a reranker that is to be made, or None: the candidates as they are, or a whole system
    pipeline   the configuration of a whole system, or None
    target     a whole system of the user's own, as the table [target] of a run has it, or None
    price      "self-host", the name of a price, a table of one, or None
    """

    name: str
    rerank: Stage | None = None
    pipeline: Path | None = None
    target: Mapping[str, Any] | None = None
    price: str | Mapping[str, Any] | None = None

    @property
    def is_base(self) -> bool:
        """Whether this is the candidates as they are."""
        return self.rerank is None and not self.is_whole

    @property
    def is_whole(self) -> bool:
        """Whether it takes a question alone, and no candidates."""
        return self.pipeline is not None or self.target is not None


@dataclass(frozen=True)
class BenchConfig:
    """A bench: read it with `BenchConfig.read(path)` or `BenchConfig.of(mapping)`.  Paths are absolute.

    truth, candidates, documents, queries   as `evaluate` takes truth, run, corpus and queries; None where not named
    exclude    query_id -> documents that are left out of its lists, in JSONL or TREC's qrels form; or None
    depths     candidates that are reranked, ascending
    measures   None for those of `steelyard.bench.quality.gains.MEASURES`
    margin     the loss of the first measure that is small enough not to matter
    prefer     which of the rerankers that are good enough is recommended
    warm_up    requests of each system before the clock counts;   timeout   seconds that a request may take
    systems    in the order of the configuration, at most one of them the candidates as they are
    prices     tables by name, beside those that are shipped; or the TOML that holds them
    folder     where the bench goes
    values     what was written;   base   the folder that its paths count from;   where, text   of the file
    """

    name: str
    truth: Path | None
    candidates: Path | None
    documents: Path | None
    queries: Path | None
    exclude: Path | None
    depths: tuple[int, ...]
    measures: tuple[str, ...] | None
    min_gain: float | None
    cluster: str | None
    margin: float
    prefer: Prefer
    repetitions: int
    warm_up: int
    timeout: float
    seed: int
    systems: tuple[BenchSystem, ...]
    prices: Mapping[str, Mapping[str, Any]] | Path
    self_host: SelfHostTable | None
    load: LoadTable | None
    value: ValueTable | None
    folder: Path
    values: Mapping[str, Any] = field(repr=False)
    base: Path = field(repr=False)
    where: str = field(default="", repr=False)
    text: str = field(default="", repr=False)

    @classmethod
    def read(cls, path: str | Path) -> BenchConfig:
        """Read a TOML file.

        Raises   InputError with file, line and the nearest names.
        """
        values, origin = read_toml(path)
        with origin.locating():
            return _config(values, base=Path(path).resolve().parent, stem=Path(path).stem, origin=origin)

    @classmethod
    def of(cls, values: Mapping[str, Any], *, base: str | Path = ".") -> BenchConfig:
        """Take a dict of the same shape; relative paths count from `base`.

        >>> config = BenchConfig.of({"systems": {"none": {}, "words": {"rerank": "lexical"}}, "depths": [50, 10]})
        >>> config.depths, config.base_name, [system.name for system in config.rerankers]
        ((10, 50), 'none', ['words'])
        """
        return _config(values, base=Path(base).resolve())

    def with_values(self, changes: Mapping[str, Any]) -> BenchConfig:
        """The same with other values of some keys; those of a table replace the table's, key by key.

        Raises   InputError as `read` does.

        >>> config = BenchConfig.of({"systems": {"none": {}}, "load": {"rates": [1], "duration": 5}})
        >>> load = config.with_values({"load": {"rates": [20]}}).load
        >>> load.rates, load.duration
        ([20.0], 5.0)
        """
        values = dict(self.values)
        for key, value in changes.items():
            tables = isinstance(value, Mapping) and isinstance(values.get(key), Mapping)
            values[key] = {**values[key], **value} if tables else value
        with self.origin().locating():
            return _config(values, base=self.base, stem=self.name, origin=self.origin())

    @classmethod
    def stored(cls, path: str | Path) -> BenchConfig:
        """Read config.json of a bench, as `resolved` wrote it; files that it names are shown, and never opened.

        Raises   InputError where it cannot be read.
        """
        path = Path(path)
        origin = Origin(str(path))
        values = parse_json(read_text(path), str(path))
        with origin.locating():
            return _config(values, base=path.parent, origin=origin, stored=True)

    @property
    def base_name(self) -> str:
        """What the candidates as they are are called."""
        return next((system.name for system in self.systems if system.is_base), BASE)

    @property
    def rerankers(self) -> tuple[BenchSystem, ...]:
        """The systems that rerank candidates."""
        return tuple(system for system in self.systems if system.rerank is not None)

    @property
    def whole_systems(self) -> tuple[BenchSystem, ...]:
        """The systems that take a question alone."""
        return tuple(system for system in self.systems if system.is_whole)

    @cached_property
    def arrival_log(self) -> ArrivalLog | None:
        """The log that requests under load come by; None where a rate is offered.

        Raises   InputError for one that cannot be read.
        """
        return ArrivalLog.read(self.load.arrivals) if self.load is not None and self.load.has_log else None

    def resolved(self) -> dict[str, Any]:
        """What config.json holds: what was written, paths absolute, secrets blotted out."""
        paths = {key: getattr(self, key) for key in _PATHS}
        shown = {key: str(path) for key, path in paths.items() if path is not None}
        values = {**self.values, "name": self.name, **shown, "folder": str(self.folder)}
        if isinstance(self.prices, Path):
            values["prices"] = str(self.prices)
        if self.load is not None and self.load.has_log:
            values["load"] = {**values["load"], "arrivals": str(self.load.arrivals)}
        blotted: dict[str, Any] = without_secrets(_as_json(values))
        return blotted

    def origin(self) -> Origin:
        """Where it comes from, for messages."""
        return Origin(self.where, self.text)

    def line(self, *keys: Key) -> str:
        """ "FILE, line N: " of a key, "FILE: " where no line can be found, "" without a file."""
        return self.origin().place(*keys)


_PATHS = ("truth", "candidates", "documents", "queries", "exclude")


def _as_json(value: Any) -> Any:
    """What TOML or Python holds as JSON does: days, times and paths are texts."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(inner) for inner in value]
    if isinstance(value, Path):
        return str(value)
    return value.isoformat() if isinstance(value, date | time) else value


def system_label(system: str, depth: int | None) -> str:
    """What scores call a system over so many candidates.

    >>> system_label("minilm", 50), system_label("mine", None)
    ('minilm@50', 'mine')
    """
    return system if depth is None else f"{system}@{depth}"


def _config(
    values: Mapping[str, Any],
    *,
    base: Path,
    stem: str | None = None,
    origin: Origin | None = None,
    stored: bool = False,
) -> BenchConfig:
    """The configuration that values are;   stored   whether they are of a finished bench: what they name stays shut"""
    table: BenchTable = validate(BenchTable, values)
    located = _unopened if stored else existing_path
    systems = tuple(_system(name, system, base, stored=stored) for name, system in table.systems.items())
    _check_names(systems)
    name, origin = table.name or stem or "bench", origin or Origin()
    return BenchConfig(
        name=name, **{key: located(key, getattr(table, key), base) for key in _PATHS}, depths=tuple(table.depths),
        min_gain=table.min_gain, cluster=table.cluster,
        measures=None if table.measures is None else tuple(table.measures), margin=table.margin,
        prefer=table.prefer, repetitions=table.repetitions, warm_up=table.warm_up, timeout=table.timeout,
        seed=table.seed, systems=systems,
        prices=table.prices if isinstance(table.prices, Mapping) else located("prices", table.prices, base) or {},
        self_host=table.self_host, load=table.load if stored else _with_log(table.load, base), value=table.value,
        folder=path_in(base, table.folder or f"benches/{name}"),
        values=values, base=base, where=origin.name, text=origin.text,
    )  # fmt: skip


def _unopened(key: str, value: str | Path | None, base: Path) -> None:
    """No path, whatever a setting says."""


def _with_log(load: LoadTable | None, base: Path) -> LoadTable | None:
    """What puts load on systems, with the absolute path of its log of arrivals."""
    if load is None or not load.has_log:
        return load
    try:
        return load.model_copy(update={"arrivals": existing_path("arrivals", load.arrivals, base)})
    except SettingError as error:
        raise SettingError(
            f"{error}; arrivals are poisson, constant, or a log of requests", "load", "arrivals"
        ) from None


def _system(name: str, table: BenchSystemTable, base: Path, *, stored: bool) -> BenchSystem:
    if stored:
        pipeline = None if table.pipeline is None else Path(table.pipeline)
        return BenchSystem(name, as_stage(table.rerank, "rerank"), pipeline, table.target, table.price)
    try:
        pipeline = existing_path("pipeline", table.pipeline, base)
    except SettingError as error:
        raise error.inside("systems", name) from None
    return BenchSystem(name, stage_beside(table.rerank, base, "rerank"), pipeline, table.target, table.price)


def _check_names(systems: tuple[BenchSystem, ...]) -> None:
    for system in systems:
        if "@" in system.name:
            raise SettingError(f"{system.name!r}: @ is put before the number of candidates; choose another name",
                               "systems", system.name)  # fmt: skip
    bases = [system.name for system in systems if system.is_base]
    if len(bases) > 1:
        raise SettingError(
            f"{bases[0]} and {bases[1]} both rerank nothing; keep one of them, or name a `rerank`", "systems", bases[1]
        )
