"""Configuration of a run: a TOML file, or a dict of the same shape.

    name = "hybrid"                      the file's stem by default
    documents = "documents"              folder or file; relative paths count from the configuration's folder
    questions = "questions.jsonl"
    k = 10                               chunks that a question gets at last
    depth = 100                          candidates that each index gives
    encoding = "utf-8"                   of the documents
    chunk = "recursive"                  each stage: a name, module:object, or a table with `kind` and its settings
    index = ["bm25", "dense"]            one or several
    embed = "lsa"                        made only where an index needs vectors
    fuse = "rrf"                         "none" for one index, "rrf" for several
    rerank = {kind = "lexical", top_n = 50}   a `model` or `prompt` that lies beside this file is taken from there
    generate = {kind = "extractive", passages = 5}
    folder = "runs/hybrid"               where the run goes
    cache = "runs/.steelyard-cache.sqlite"   or false
    [weigh]
    measures = ["recall@10"]
    rule = "any"
    min_gain = 1.0
    fold = ["lower", "white_space"]      how texts are folded before they are compared
    [sweep]                              for `steelyard sweep`: what varies, each a list of values
    chunk.size = [300, 1000]
    index = ["bm25", "dense", ["bm25", "dense"]]

A system of the user's own has a table `[target]` with `callable = "module:function"` or `url = "..."`, in place of the
documents and the stages.
"""

from __future__ import annotations

import copy
import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from steelyard.base.errors import InputError
from steelyard.services.secrecy import without_secrets
from steelyard.text.folding import in_order
from steelyard.text.spans import SpanRule

OneStage = Literal["chunk", "embed", "fuse", "rerank", "generate"]
_STAGES = ("chunk", "embed", "index", "fuse", "rerank", "generate")
_PIPELINE_ONLY = ("documents", "encoding", "depth", *_STAGES)
_KEYS = (
    "name",
    "documents",
    "questions",
    "k",
    "depth",
    "encoding",
    *_STAGES,
    "target",
    "weigh",
    "sweep",
    "folder",
    "cache",
)
_SWEPT = ("k", "depth", *_STAGES)
_WEIGH_KEYS = ("measures", "rule", "min_gain", "fold")
_FILE_SETTINGS = ("model", "prompt")
CACHE_NAME = ".steelyard-cache.sqlite"
T = TypeVar("T")


@dataclass(frozen=True)
class Stage:
    """A stage that is to be made: a registered name or module:object, and its settings."""

    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Target:
    """A system of the user's own: a callable, or an address, and its options."""

    callable: str | None
    url: str | None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Weigh:
    """How the run is to be weighed; None leaves it to the weighing.  fold: steps by which texts are compared."""

    measures: tuple[str, ...] | None = None
    rule: str | None = None
    min_gain: float | None = None
    fold: tuple[str, ...] | None = None

    def options(self) -> dict[str, Any]:
        """What `evaluate` is to be told, the measures left aside."""
        return {"rule": self.rule or "any", "min_gain": self.min_gain, "steps": self.fold}


@dataclass(frozen=True)
class Config:
    """A run that is to be made: read it with `Config.read(path)` or `Config.of(mapping)`.

    top_n     candidates that are reranked;   passages  how many the generator sees
    folder    where the run goes;   cache   file, or None
    sweep     dotted key -> values, for `with_changes`
    where     the configuration file, for messages; empty where there is none
    """

    name: str
    documents: Path | None
    questions: Path | None
    k: int
    depth: int
    encoding: str
    chunk: Stage
    embed: Stage
    index: tuple[Stage, ...]
    fuse: Stage | None
    rerank: Stage | None
    generate: Stage | None
    top_n: int
    passages: int
    target: Target | None
    weigh: Weigh
    sweep: Mapping[str, Any]
    folder: Path
    cache: Path | None
    given: Mapping[str, Any] = field(repr=False)
    base: Path = field(repr=False)
    where: str = field(default="", repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Read a TOML file.

        Raises   InputError with file, line and the nearest names.
        """
        path = Path(path)
        text = _read_text(path)
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            message, _, place = str(error).partition(" (at ")
            line = re.match(r"line (\d+), (column \d+)", place)
            where = f"{path}, line {line[1]}" if line else str(path)
            more = f", {line[2]}" if line else f", at {place.rstrip(')')}" if place else ""
            raise InputError(f"{where}: is not TOML ({message}{more})") from None
        return _Reader(given, path.resolve().parent, path.stem, str(path), text).config()

    @classmethod
    def of(cls, given: Mapping[str, Any], *, base: str | Path = ".") -> Config:
        """Take a dict of the same shape; relative paths count from `base`.

        >>> Config.of({"documents": "docs", "index": ["bm25", "dense"]}).fuse
        Stage(kind='rrf', settings={})
        """
        return _Reader(given, Path(base).resolve(), None, "", "").config()

    def with_changes(self, changes: Mapping[str, Any]) -> Config:
        """The same with some keys changed, for a grid; a dot leads into a stage.

        Where a whole stage is replaced, its old settings go with it.  A name and a folder that were not given follow.
        Raises   InputError for a dotted key that names no single stage.

        >>> before = Config.of({"documents": "docs"})
        >>> before.with_changes({"chunk.size": 500, "index": "dense", "k": 5}).chunk
        Stage(kind='recursive', settings={'size': 500})
        """
        given = copy.deepcopy(dict(self.given))
        for key, value in changes.items():
            head, _, rest = key.partition(".")
            if not rest:
                given[head] = value
                continue
            table = self._table(given, head, key)
            if "." in rest:
                raise InputError(f"{key}: leads too deep; expected stage.setting, e.g. chunk.size")
            given[head] = {**table, rest: value}
        return _Reader(given, self.base, self.name if self.where else None, self.where, "").config()

    def _table(self, given: Mapping[str, Any], head: str, key: str) -> Mapping[str, Any]:
        now = given.get(head)
        if head == "index" and isinstance(now, Sequence) and not isinstance(now, str):
            if len(now) != 1:
                raise InputError(f"{key}: there are {len(now)} indexes; change `index` as a whole")
            now = now[0]
        if isinstance(now, Mapping):
            return now
        if head in ("target", "weigh"):
            return {}
        if head not in _STAGES:
            raise InputError(f"{key}: {head!r} is no table; {_near(head, (*_STAGES, 'target', 'weigh'))}")
        made = self.index[0] if head == "index" else getattr(self, head)
        if made is None:
            raise InputError(f"{key}: there is no {head} stage to set it in; set {head!r} to a table with `kind`")
        return {"kind": made.kind}

    def resolved(self) -> dict[str, Any]:
        """What config.json holds: every value, paths absolute, secrets blotted out."""
        made: dict[str, Any] = {"name": self.name, "questions": _shown(self.questions), "k": self.k}
        if self.target is not None:
            chosen = {"callable": self.target.callable, "url": self.target.url}
            made["target"] = {key: value for key, value in chosen.items() if value is not None} | dict(
                self.target.options
            )
        else:
            made |= {"documents": _shown(self.documents), "encoding": self.encoding, "depth": self.depth}
            made |= {"chunk": _table_of(self.chunk), "embed": _table_of(self.embed)}
            made["index"] = [_table_of(stage) for stage in self.index]
            made["fuse"] = _table_of(self.fuse)
            made["rerank"] = _table_of(self.rerank, top_n=self.top_n)
            made["generate"] = _table_of(self.generate, passages=self.passages)
        made["weigh"] = {key: value for key, value in vars(self.weigh).items() if value is not None}
        made |= {"folder": _shown(self.folder), "cache": _shown(self.cache) or False}
        blotted: dict[str, Any] = without_secrets(made)
        return blotted

    def line(self, *keys: str) -> str:
        """ "FILE, line N: " of a key, "FILE: " where the line cannot be told, "" without a file."""
        return _place(self.where, _text_of(self.where), keys)


def _shown(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _table_of(stage: Stage | None, **more: int) -> dict[str, Any] | None:
    return None if stage is None else {"kind": stage.kind, **stage.settings, **more}


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.object[error.start]:#04x} at {error.start} is not UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); expected a TOML file") from error


def _text_of(where: str) -> str:
    try:
        return Path(where).read_text(encoding="utf-8-sig") if where else ""
    except (OSError, ValueError):
        return ""


def _place(where: str, text: str, keys: Sequence[str]) -> str:
    line = _line_of(text, keys)
    return f"{where}, line {line}: " if where and line else f"{where}: " if where else ""


def _line_of(text: str, keys: Sequence[str]) -> int | None:
    """The line of a key such as ("chunk", "size"), be it in [chunk], in `chunk = {...}` or `chunk.size = ...`."""
    if not keys:
        return None
    section, found = "", None
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line):
            section = header[1].strip("\"'")
            path = section
        elif assigned := re.match(r"\s*([\w.\"'-]+)\s*=", line):
            path = f"{section}.{assigned[1]}" if section else assigned[1]
        else:
            path = ""
        path = re.sub(r"[\"']", "", path)
        if path == ".".join(keys):
            return number
        inline = len(keys) > 1 and path == keys[0] and re.search(rf"(?<![\w-]){re.escape(keys[-1])}[\"']?\s*=", line)
        if inline or (found is None and path == keys[0] and len(keys) > 1):
            found = number
    return found


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"


@dataclass
class _Reader:
    """Checks a mapping and makes a Config of it."""

    given: Mapping[str, Any]
    base: Path
    stem: str | None
    where: str
    text: str

    def config(self) -> Config:
        self._known(self.given, _KEYS)
        target = self._target()
        if target is None and "documents" not in self.given:
            raise InputError(
                f"{self._at()}has no `documents`, the folder or file to search; "
                "or name a system of your own in a table [target]"
            )
        index = tuple(self._indexes())
        rerank, top_n = self._popped(self._stage("rerank", None), "rerank", "top_n", 50)
        generate, passages = self._popped(self._stage("generate", None), "generate", "passages", 5)
        k, depth = self._count("k", 10), self._count("depth", 100)
        if k > depth:
            raise InputError(f"{self._at('k')}k is {k}, but each index gives depth = {depth} candidates; raise depth")
        fuse = self._stage("fuse", "rrf" if len(index) > 1 else None)
        if fuse is None and len(index) > 1:
            raise InputError(f"{self._at('fuse')}{len(index)} indexes need a fuse stage; leave `fuse` out for rrf")
        name = self._name(index, rerank, target)
        return Config(
            name=name, documents=self._path("documents"), questions=self._path("questions"), k=k, depth=depth,
            encoding=self._text("encoding", "utf-8"), chunk=self._sure("chunk", "recursive"),
            embed=self._sure("embed", "lsa"), index=index, fuse=fuse, rerank=rerank, generate=generate, top_n=top_n,
            passages=passages, target=target, weigh=self._weigh(), sweep=self._sweep(),
            folder=self._path("folder") or self.base / "runs" / name, cache=self._cache(), given=self.given,
            base=self.base, where=self.where,
        )  # fmt: skip

    def _at(self, *keys: str) -> str:
        place = _place(self.where, self.text, keys) if keys else f"{self.where}: " if self.where else ""
        return place or "the configuration: "

    def _known(self, table: Mapping[str, Any], known: Sequence[str], *above: str) -> None:
        for key in table:
            if key not in known:
                inside = f"[{'.'.join(above)}] has" if above else "there is"
                raise InputError(f"{self._at(*above, str(key))}{inside} no setting {key!r}; {_near(str(key), known)}")

    def _typed(self, table: Mapping[str, Any], keys: tuple[str, ...], kind: type[T], what: str, default: T) -> T:
        value = table.get(keys[-1], default)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{self._at(*keys)}{'.'.join(keys)} must be {what}, not {value!r}")
        return value

    def _count(self, key: str, default: int) -> int:
        value = self._typed(self.given, (key,), int, "a whole number from 1", default)
        if value < 1:
            raise InputError(f"{self._at(key)}{key} must be a whole number from 1, not {value!r}")
        return value

    def _text(self, key: str, default: str) -> str:
        value = self._typed(self.given, (key,), str, "a text", default)
        if not value:
            raise InputError(f"{self._at(key)}{key} is empty; leave it out for {default!r}")
        return value

    def _path(self, key: str) -> Path | None:
        if self.given.get(key) is None:
            return None
        value = self.given[key]
        if not isinstance(value, str | Path) or not str(value):
            raise InputError(f"{self._at(key)}{key} must be a path, not {value!r}")
        path = self.base / Path(value).expanduser()
        if key in ("documents", "questions") and not path.exists():
            raise InputError(f"{self._at(key)}{key}: there is no {path}; relative paths count from {self.base}")
        return path

    def _cache(self) -> Path | None:
        value = self.given.get("cache", True)
        if value is True:
            return self.base / "runs" / CACHE_NAME
        return None if value is False else self._path("cache")

    def _stage(self, role: OneStage, default: str | None) -> Stage | None:
        return self._one_stage(role, self.given.get(role, default))

    def _one_stage(self, role: str, given: object) -> Stage | None:
        if given is None or given == "none":
            return None
        if isinstance(given, str) and given:
            return Stage(given)
        if isinstance(given, Mapping):
            settings = {str(key): self._setting(key, value) for key, value in given.items() if key != "kind"}
            kind = given.get("kind")
            if isinstance(kind, str) and kind:
                return None if kind == "none" else Stage(kind, settings)
            raise InputError(f"{self._at(role)}{role} is a table without `kind`, the name of the stage: {dict(given)}")
        raise InputError(f"{self._at(role)}{role} must be a name or a table with `kind`, not {given!r}")

    def _setting(self, key: str, value: Any) -> Any:
        """A setting; files that lie beside the configuration are meant from there, as all paths are."""
        if key in _FILE_SETTINGS and isinstance(value, str) and value and (self.base / value).exists():
            return str(self.base / value)
        return value

    def _sure(self, role: OneStage, default: str) -> Stage:
        made = self._stage(role, default)
        if made is None:
            raise InputError(f"{self._at(role)}{role} cannot be left out; leave the key away for {default!r}")
        return made

    def _indexes(self) -> Iterator[Stage]:
        given = self.given.get("index", "bm25")
        listed = list(given) if isinstance(given, list | tuple) else [given]
        for one in listed:
            made = self._one_stage("index", one)
            if made is None:
                raise InputError(f'{self._at("index")}index cannot be "none"; leave the key away for "bm25"')
            yield made
        if not listed:
            raise InputError(f'{self._at("index")}index is an empty list; name one or several, e.g. "bm25"')

    def _popped(self, stage: Stage | None, role: str, key: str, default: int) -> tuple[Stage | None, int]:
        """A stage without the setting that is the pipeline's, and that setting."""
        if stage is None:
            return None, default
        value = stage.settings.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{self._at(role, key)}{role}.{key} must be a whole number from 1, not {value!r}")
        return Stage(stage.kind, {k: v for k, v in stage.settings.items() if k != key}), value

    def _name(self, index: Sequence[Stage], rerank: Stage | None, target: Target | None) -> str:
        if target is not None:
            own = (target.callable or target.url or "").rstrip("/")
            default = re.sub(r"[^\w.-]+", "-", re.split(r"[:/]", own)[-1]) or "target"
        else:
            default = default_name([stage.kind for stage in index], rerank.kind if rerank else None)
        name = self._text("name", self.stem or default)
        if "/" in name or "\\" in name or name in (".", ".."):
            raise InputError(f"{self._at('name')}name must do as a folder's name, not {name!r}")
        return name

    def _target(self) -> Target | None:
        if "target" not in self.given:
            return None
        table = self.given["target"]
        if not isinstance(table, Mapping) or ("callable" in table) == ("url" in table):
            raise InputError(
                f'{self._at("target")}target must be a table with either callable = "module:function" or url = "..."'
            )
        for key in _PIPELINE_ONLY:
            if key in self.given:
                raise InputError(f"{self._at(key)}{key} belongs to a pipeline, but a [target] does it all: remove one")
        chosen = "callable" if "callable" in table else "url"
        value = self._typed(table, ("target", chosen), str, "a text", "")
        options = {str(key): value for key, value in table.items() if key != chosen}
        return Target(value if chosen == "callable" else None, value if chosen == "url" else None, options)

    def _weigh(self) -> Weigh:
        table = self.given.get("weigh", {})
        if not isinstance(table, Mapping):
            raise InputError(f"{self._at('weigh')}weigh must be a table, not {table!r}")
        self._known(table, _WEIGH_KEYS, "weigh")
        measures, least = table.get("measures"), table.get("min_gain")
        if isinstance(measures, str):
            measures = [measures]
        if measures is not None and not (
            isinstance(measures, list | tuple) and measures and all(isinstance(m, str) for m in measures)
        ):
            raise InputError(f"{self._at('weigh', 'measures')}weigh.measures must be a list of names, not {measures!r}")
        if least is not None and (isinstance(least, bool) or not isinstance(least, int | float)):
            raise InputError(f"{self._at('weigh', 'min_gain')}weigh.min_gain must be a number, not {least!r}")
        rule = self._typed(table, ("weigh", "rule"), str, "a text", "") or None
        fold = table.get("fold")
        try:
            rule = None if rule is None else str(SpanRule.parse(rule))
            steps = None if fold is None else in_order(fold)
        except InputError as error:
            raise InputError(f"{self._at('weigh')}{error}") from None
        return Weigh(tuple(measures) if measures else None, rule, None if least is None else float(least), steps)

    def _sweep(self) -> dict[str, Any]:
        """What varies, by dotted key, be it written `"chunk.size" = [...]` or `chunk.size = [...]`."""
        table = self.given.get("sweep", {})
        if not isinstance(table, Mapping):
            raise InputError(f"{self._at('sweep')}sweep must be a table of lists, not {table!r}")
        flat: dict[str, Any] = {}
        for key, values in table.items():
            inner = values.items() if isinstance(values, Mapping) else ()
            flat |= {f"{key}.{name}": of_name for name, of_name in inner} if inner else {str(key): values}
        for key in flat:
            head = key.partition(".")[0]
            if head not in _SWEPT:
                what = f"{head!r} cannot vary" if head in _KEYS else f"there is no setting {head!r}"
                raise InputError(f"{self._at('sweep', key)}sweep: {what}; {_near(head, _SWEPT)}")
        return flat


def default_name(indexes: Sequence[str], rerank: str | None) -> str:
    """What a pipeline is called where nobody named it.

    >>> default_name(["bm25", "dense"], "lexical")
    'bm25-dense-lexical'
    """
    kinds = [*indexes, *([rerank] if rerank else [])]
    return "-".join(re.sub(r"[^\w.-]+", "-", kind.rpartition(":")[2]) for kind in kinds)
