"""The configuration of a bench: what is weighed, against which truth, over which candidates, under which load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from functools import cached_property
from pathlib import Path
from typing import Any

from steelyard.base.choices import Prefer
from steelyard.base.settings import Origin, SettingError, read_text, read_toml, validate
from steelyard.base.toml_lines import Key
from steelyard.bench.config_table import BenchSystemTable, BenchTable, LoadTable, SelfHostTable, ValueTable
from steelyard.bench.load.arrival_log import ArrivalLog
from steelyard.io.json_files import parse_json
from steelyard.rag.config import as_stage, existing_path, path_in, stage_beside
from steelyard.rag.config_values import Stage
from steelyard.services.secrecy import without_secrets

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
    measures   None for those of `steelyard.bench.quality.MEASURES`
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
