"""Configuration of a run: a TOML file, or a dict of the same shape; `Pipeline(...)` obeys the same rules.

    name = "hybrid"                      the file's stem by default
    documents = "documents"              folder or file; relative paths count from the configuration's folder
    questions = "questions.jsonl"
    k = 10                               chunks, or documents, that a question gets at last
    depth = 100                          candidates that each index gives
    unit = "document"                    what lists hold and what is weighed: documents, each at its best chunk, or
                                         "chunk"; by default documents where the gold names whole ones
    concurrency = 16                     questions under way at once; 8 by default where a stage calls out, else 1
    encoding = "detect"                  of the documents; also a table, {"legacy/**" = "gbk", "*" = "utf-8"}
    chunk = "recursive"                  each stage: a name, module:object, or a table with `kind` and its settings;
                                         a chunk stage "none" leaves documents whole
    index = ["bm25", "dense"]            one or several
    embed = "lsa"                        made only where an index needs vectors
    fuse = "rrf"                         "none" for one index, "rrf" for several
    rerank = {kind = "lexical", top_n = 50}   a file that its table names beside this one is taken from there
    generate = {kind = "extractive", passages = 5}
    folder = "runs/hybrid"               where the run goes
    cache = "runs/.steelyard-cache.sqlite"   or false
    [weigh]
    measures = ["recall@10"]
    rule = "share>=0.5"
    min_gain = 1.0
    steps = ["lower", "white_space"]     how texts are folded before they are compared
    [store]                              where commands record results, as --store
    url = "history.db"
    tags = ["nightly"]
    [sweep]                              for `steelyard sweep`: what varies, each a list of values
    chunk.size = [300, 1000]
    index = ["bm25", "dense", ["bm25", "dense"]]

A system of the user's own has a table `[target]` with `callable = "module:object"` or `url = "..."`, in place of the
documents and the stages; its `documents` are those that it searches, by which gold is placed.
"""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator
from pydantic_core import to_jsonable_python

from steelyard.align.document_lists import DocumentResolver
from steelyard.align.resolver import Resolver
from steelyard.base import defaults
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError, MeasureError, quoted
from steelyard.base.limits import Limits, Words, at_least
from steelyard.base.nearest import nearest
from steelyard.base.options import WeighOptions
from steelyard.base.own_paths import own_file
from steelyard.base.settings import Origin, SettingError, read_toml, validate
from steelyard.base.toml_lines import Key
from steelyard.data.loading.decoding import DETECT, Encodings
from steelyard.data.questions import Questions
from steelyard.experiment.door.gold import resolver_of, unit_of
from steelyard.measures import parse
from steelyard.rag.protocols import Stage
from steelyard.services.addresses import without_secrets
from steelyard.services.cache import CACHE_NAME
from steelyard.store.settings import StoreTable
from steelyard.text.folding import DEFAULT_STEPS, in_order
from steelyard.text.spans import SpanRule

STAGES = ("chunk", "embed", "index", "fuse", "rerank", "generate")
PIPELINE_ONLY = ("documents", "encoding", "depth", *STAGES)
VARYING = ("k", "depth", *STAGES)
"""What a sweep can vary."""
COUNTS = {"rerank": "top_n", "generate": "passages"}
"""Settings in the table of a stage that are the pipeline's own."""
_TABLES = (*STAGES, "target", "weigh")
_FILE_SETTINGS = ("model", "prompt", "truth", "documents", "queries")
_TARGET = 'a table with either callable = "module:object" or url = "..."'

# Types of settings ---------------------------------------------------------------------------------------------------


def parse_path(value: object) -> Path:
    """A path as it is written; raises ValueError for anything else."""
    if not isinstance(value, str | Path) or not str(value):
        raise ValueError
    return Path(value)


def parse_stage(role: str, value: Any) -> Any:
    """A stage as it is written (name, or table with `kind`), as a Stage; None for "none"; an object as it is.

    Raises   ValueError for what cannot be a stage; SettingError for a table without `kind`.
    """
    if value is None or value == "none":
        return None
    if isinstance(value, str) and value:
        return Stage(value)
    if isinstance(value, Mapping):
        kind = value.get("kind")
        if not (isinstance(kind, str) and kind):
            keys = ", ".join(map(str, value)) or "no key"
            raise SettingError(f"{role} is a table without `kind`, the name of the stage; it has {keys}")
        settings = {str(key): setting for key, setting in value.items() if key != "kind"}
        if (count := COUNTS.get(role)) in settings:
            try:
                settings[count] = validate(Count, settings[count], role, count)
            except SettingError as error:
                raise SettingError(str(error), count) from None
        return None if kind == "none" else Stage(kind, settings)
    if isinstance(value, str | bytes | int | float | list | tuple):
        raise ValueError
    return value


def _parse_indexes(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        stages = [parse_stage("index", value)]
    else:
        stages = []
        for i, item in enumerate(value):
            try:
                stages.append(parse_stage("index", item))
            except SettingError as error:
                raise error.inside(i) from None
    if not stages or None in stages:
        raise ValueError
    return stages


def parse_measures(names: list[str] | str) -> list[str]:
    """Names of measures, as a list.

    Raises   SettingError for one that no measure has.
    """
    listed = [names] if isinstance(names, str) else names
    for i, name in enumerate(listed):
        try:
            parse(name)
        except MeasureError as error:
            raise SettingError(str(error), *([] if isinstance(names, str) else [i])) from None
    return listed


def _check_encoding(encoding: str | dict[str, str]) -> str | dict[str, str]:
    Encodings.of(encoding)
    return encoding


def _check_folder_name(name: str) -> str:
    if "/" in name or "\\" in name or name in (".", ".."):
        raise ValueError
    return name


def _parse_sweep(table: Mapping[str, Any]) -> dict[str, Any]:
    """The values of what varies, by dotted key, be it written `"chunk.size" = [...]` or `chunk.size = [...]`."""
    flat: dict[str, Any] = {}
    for key, values in table.items():
        head = key.partition(".")[0]
        if head not in VARYING:
            what = f"{head!r} cannot vary" if head in Config.model_fields else f"there is no setting {head!r}"
            raise SettingError(f"sweep: {what}; {nearest(head, VARYING)}", key)
        inner = values if isinstance(values, Mapping) else {}
        flat |= {f"{key}.{name}": choices for name, choices in inner.items()} if inner else {key: values}
    return flat


Count = Annotated[int, at_least(1)]
Text = Annotated[str, Field(min_length=1), Words("a text that is not empty")]
File = Annotated[Path, BeforeValidator(parse_path), Words("a path")]
_STAGE = Words("a name or a table with `kind`")
Indexes = Annotated[
    list[Any], BeforeValidator(_parse_indexes), Words("a name or a table with `kind`, or a list of several of them")
]
Encoding = Annotated[
    Text | Annotated[dict[str, Text], Field(min_length=1)],
    AfterValidator(_check_encoding),
    Words("the name of an encoding, or a table of names by pattern"),
]
Measures = Annotated[
    Annotated[list[str], Field(min_length=1)] | Text, AfterValidator(parse_measures), Words("a list of names")
]

# Tables --------------------------------------------------------------------------------------------------------------


class TargetSettings(BaseModel):
    """A system of the user's own, and the documents that it searches; every other key is an option of its kind.

    concurrency   questions that it takes at once
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    callable: Text | None = None
    url: Text | None = None
    concurrency: Count | None = None
    documents: File | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options of its kind."""
        return self.model_extra or {}

    @model_validator(mode="after")
    def _callable_or_url(self) -> Self:
        if (self.callable is None) == (self.url is None):
            raise SettingError(f"target must be {_TARGET}")
        return self


class Weigh(BaseModel):
    """How the run is weighed; None leaves it to the weighing.

    steps     of folding, by which texts are compared;   cluster   which questions count as one
    hold_out  the share of the questions that is held out
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    measures: Measures | None = None
    rule: Annotated[str, AfterValidator(lambda rule: str(SpanRule.parse(rule)))] | None = None
    min_gain: Annotated[float, Limits()] | None = None
    steps: Annotated[list[str], AfterValidator(lambda steps: list(in_order(steps)))] | None = None
    cluster: Text | None = None
    hold_out: Annotated[float, Limits(above=0, below=1)] | None = None

    def options(self, cluster: str | None = None, hold_out: float | None = None) -> WeighOptions:
        """Its options of `evaluate`;   cluster, hold_out   in place of its own"""
        return WeighOptions(
            rule=self.rule or defaults.RULE,
            steps=None if self.steps is None else tuple(self.steps),
            min_gain=self.min_gain,
            cluster=cluster or self.cluster,
            hold_out=hold_out or self.hold_out,
        )

    def resolver(self, questions: Questions, unit: Unit | None) -> Resolver | DocumentResolver:
        """Resolves the gold of questions by this rule and these steps, once for each corpus.

        Raises   InputError for a rule that does not exist, and for gold that does not fit the unit.
        """
        options = self.options()
        steps = DEFAULT_STEPS if options.steps is None else tuple(options.steps)
        return resolver_of(questions, rule=options.rule, steps=steps, unit=unit)


class PipelineSettings(BaseModel):
    """What a configuration file and the arguments of `Pipeline` have in common; a stage is a Stage, or an object."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    k: Count = 10
    depth: Count = 100
    unit: Annotated[Unit, Words('"chunk" or "document"')] | None = None
    concurrency: Count | None = None
    encoding: Encoding = DETECT
    chunk: Annotated[Any, BeforeValidator(partial(parse_stage, "chunk")), _STAGE] = Stage("recursive")
    embed: Annotated[Any, BeforeValidator(partial(parse_stage, "embed")), _STAGE] = Stage("lsa")
    index: Indexes = [Stage("bm25")]
    fuse: Annotated[Any, BeforeValidator(partial(parse_stage, "fuse")), _STAGE] = None
    rerank: Annotated[Any, BeforeValidator(partial(parse_stage, "rerank")), _STAGE] = None
    generate: Annotated[Any, BeforeValidator(partial(parse_stage, "generate")), _STAGE] = None

    @model_validator(mode="after")
    def _stages_fit(self) -> Self:
        if self.k > self.depth:
            raise SettingError(f"k is {self.k}, but each index gives depth = {self.depth} candidates; raise depth", "k")
        if self.embed is None:
            raise SettingError("embed cannot be none; leave embed out for the default", "embed")
        stages = vars(self)  # Not yet frozen.
        stages["chunk"] = self.chunk or Stage("whole")
        if self.fuse is None and len(self.index) > 1:
            if "fuse" in self.model_fields_set:
                raise SettingError(f"{len(self.index)} indexes need a fuse stage; leave fuse out for rrf", "fuse")
            stages["fuse"] = Stage("rrf")
        return self

    def count(self, role: str, default: int) -> int:
        """The pipeline's own setting in the table of a stage, such as top_n of rerank."""
        stage = getattr(self, role)
        return int(stage.settings.get(COUNTS[role], default)) if isinstance(stage, Stage) else default

    def stage(self, role: str) -> Any:
        """A stage without the setting that is the pipeline's."""
        stage = getattr(self, role)
        if not isinstance(stage, Stage):
            return stage
        return Stage(stage.kind, {key: value for key, value in stage.settings.items() if key != COUNTS.get(role)})


class Written(BaseModel):
    """A configuration that knows how it was written: its values, the folder that paths count from, and its file."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    _values: Mapping[str, Any] = PrivateAttr({})
    _base: Path = PrivateAttr(Path())
    _origin: Origin = PrivateAttr(Origin())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a TOML file.

        Raises   InputError with file, line and the nearest names.
        """
        values, origin = read_toml(path)
        with origin.locating():
            return cls._of(values, base=Path(path).resolve().parent, stem=Path(path).stem, origin=origin)

    @classmethod
    def of(cls, values: Mapping[str, Any], *, base: str | Path = ".") -> Self:
        """Take a dict of the same shape; relative paths count from `base`."""
        return cls._of(values, base=Path(base).resolve())

    @classmethod
    def _of(
        cls, values: Mapping[str, Any], *, base: Path, stem: str | None = None, origin: Origin | None = None
    ) -> Self:
        """Check values and resolve their paths;   stem   the name where the values have none

        Raises   SettingError.
        """
        raise NotImplementedError

    def _written(self, values: Mapping[str, Any], base: Path, origin: Origin | None) -> Self:
        self._values, self._base, self._origin = values, base, origin or Origin()
        return self

    @property
    def values(self) -> Mapping[str, Any]:
        """The values that were written."""
        return self._values

    @property
    def base(self) -> Path:
        """The folder that its paths count from."""
        return self._base

    @property
    def origin(self) -> Origin:
        """The file, for messages; without a name where there is none."""
        return self._origin


class Config(Written, PipelineSettings):
    """A run: read it with `Config.read(path)` or `Config.of(mapping)`.  Its paths are absolute.

    concurrency   questions under way at once, None for what the stages say
    folder    where the run goes;   cache   file, or False
    store     where commands record results
    sweep     dotted key -> values, for `with_changes`

    >>> Config.of({"documents": "docs", "index": ["bm25", "dense"]}).fuse
    Stage(kind='rrf', settings={})
    """

    name: Annotated[Text, AfterValidator(_check_folder_name), Words("a name that a folder can have")] = "run"
    documents: File | None = None
    questions: File | None = None
    target: Annotated[TargetSettings, Words(_TARGET)] | None = None
    weigh: Weigh = Weigh()
    store: StoreTable | None = None
    sweep: Annotated[dict[str, Any], AfterValidator(_parse_sweep), Words("a table of lists")] = {}
    folder: File = Path("runs")
    cache: Annotated[bool | File, Words("a path, true or false")] = True

    @model_validator(mode="after")
    def _target_or_documents(self) -> Self:
        if self.target is None and self.documents is None:
            raise SettingError(
                "has no `documents`, the folder or file to search; or name a system of your own in a table [target]"
            )
        for key in PIPELINE_ONLY:
            if self.target is not None and key in self.model_fields_set:
                where = "; documents that it searches are named in [target]" if key == "documents" else ""
                raise SettingError(f"{key} belongs to a pipeline, but a [target] does it all: remove one{where}", key)
        return self

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Read a TOML file, which lies in a folder; as `Written.read`."""
        if str(path) == "-" or not (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)):
            raise InputError(
                f"{path}: is no file; a configuration has a folder, from which its paths count: save it there"
            )
        return super().read(path)

    @classmethod
    def _of(
        cls, values: Mapping[str, Any], *, base: Path, stem: str | None = None, origin: Origin | None = None
    ) -> Self:
        config: Self = validate(cls, values)
        is_named, target, cache = config.model_fields_set.__contains__, config.target, config.cache
        name = config.name if is_named("name") else stem or config._default_name()
        stages = {role: stage_beside(getattr(config, role), base, role) for role in STAGES if role != "index"}
        if target is not None:
            documents = existing_path("documents", target.documents, base, "target")
            target = target.model_copy(update={"documents": documents})
        if cache:
            cache = own_file(base / "runs", CACHE_NAME) if cache is True else path_in(base, cache)
        paths = {key: existing_path(key, getattr(config, key), base) for key in ("documents", "questions")}
        config = config.model_copy(update=stages | paths | {
            "name": name, "target": target, "cache": cache,
            "index": [stage_beside(stage, base, "index") for stage in config.index],
            "folder": path_in(base, config.folder if is_named("folder") else f"runs/{name}"),
        })  # fmt: skip
        return config._written(values, base, origin)

    def _default_name(self) -> str:
        """The name of a configuration that has none: of its target's function or address, or of its stages."""
        if self.target is None:
            return default_name([stage.kind for stage in self.index], self.rerank.kind if self.rerank else None)
        address = (self.target.callable or self.target.url or "").rstrip("/")
        return re.sub(r"[^\w.-]+", "-", re.split(r"[:/]", address)[-1]) or "target"

    @classmethod
    def of_options(
        cls, path: str | Path | None = None, *, documents: str | Path | None = None,
        questions: str | Path | None = None, target: str | None = None, k: int | None = None,
        unit: Unit | None = None, concurrency: int | None = None, folder: str | Path | None = None,
        cache: bool = True,
    ) -> Config:  # fmt: skip
        """A file with some values replaced, or these alone; their paths count from the working directory.

        documents   what is searched, by a target too;   target   module:object, or a URL
        Raises      InputError where neither a file, documents nor a target are named.
        """
        paths = {"questions": questions, "folder": folder}
        changes: dict[str, Any] = {key: str(Path(path).absolute()) for key, path in paths.items() if path is not None}
        values = {"k": k, "unit": unit, "concurrency": concurrency}
        changes |= {key: value for key, value in values.items() if value is not None}
        if not cache:
            changes["cache"] = False
        config = None if path is None else cls.read(path)
        searched = {} if documents is None else {"documents": str(Path(documents).absolute())}
        if target is not None:
            changes["target"] = {"url" if "://" in target else "callable": target} | searched
        elif config is not None and config.target is not None:
            changes |= {f"target.{key}": value for key, value in searched.items()}
        else:
            changes |= searched
        if config is not None:
            return config.with_changes(changes)
        if documents is None and target is None:
            raise InputError(
                "what is to be run? Give a CONFIG.toml, or --documents FOLDER, or --target module:object or a URL"
            )
        return cls.of(changes)

    def with_unit_of(self, questions: Questions) -> Config:
        """The same with the unit that it names, else that of the gold of these questions."""
        config = self.model_copy(update={"unit": unit_of(questions, self.unit)})
        config._values = {**self._values, "unit": config.unit}
        return config

    def with_k(self, k: int) -> Config:
        """The same with k chunks for a question, and with as many candidates as these need."""
        return self.with_changes({"k": k, "depth": max(self.depth, k)})

    def with_changes(self, changes: Mapping[str, Any], *, origin: Origin | None = None) -> Config:
        """The same with some keys changed, for a grid; a dot leads into a table.

        origin   where the changes are from, for messages; by default where the configuration is
        Where a whole stage is replaced, its old settings go with it.  A name and a folder that have no key follow.
        Raises   InputError for a dotted key that names no single table.

        >>> before = Config.of({"documents": "docs"})
        >>> before.with_changes({"chunk.size": 500, "index": "dense", "k": 5}).chunk
        Stage(kind='recursive', settings={'size': 500})
        """
        origin = self._origin if origin is None else origin
        with Origin(origin.name).locating():
            values = copy.deepcopy(dict(self._values))
            for key, value in changes.items():
                head, _, setting = key.partition(".")
                if "." in setting:
                    raise SettingError(f"{key}: leads too deep; expected stage.setting, e.g. chunk.size")
                values[head] = {**self._table(values.get(head), head, key), setting: value} if setting else value
            return self._of(values, base=self._base, stem=self.name if origin.name else None, origin=origin)

    def _table(self, table: Any, head: str, key: str) -> Mapping[str, Any]:
        """The content so far of a table that is changed; that of a stage has at least its kind."""
        if head == "index" and isinstance(table, Sequence) and not isinstance(table, str):
            if len(table) != 1:
                raise SettingError(f"{key}: there are {len(table)} indexes; change `index` as a whole")
            table = table[0]
        if isinstance(table, Mapping):
            return table
        if head not in _TABLES:
            raise SettingError(f"{key}: {head!r} is no table; {nearest(head, _TABLES)}")
        if head not in STAGES:
            return {}
        stage = self.index[0] if head == "index" else getattr(self, head)
        if stage is None:
            raise SettingError(f"{key}: there is no {head} stage to set it in; set {head!r} to a table with `kind`")
        return {"kind": stage.kind}

    @property
    def top_n(self) -> int:
        """Candidates that are reranked."""
        return self.count("rerank", 50)

    @property
    def passages(self) -> int:
        """Passages that the generator sees."""
        return self.count("generate", 5)

    def resolved(self) -> dict[str, Any]:
        """The content of config.json: every value, paths absolute, secrets blotted out."""
        settings: dict[str, Any] = {"name": self.name, "questions": self.questions, "k": self.k, "unit": self.unit}
        if self.target is not None:
            options = self.target.options
            settings["target"] = {key: value for key, value in self.target if value is not None or key in options}
        else:
            settings |= {"documents": self.documents, "encoding": self.encoding, "depth": self.depth}
            settings |= {"chunk": self.chunk.table(), "embed": self.embed.table()}
            settings["index"] = [stage.table() for stage in self.index]
            settings["fuse"] = None if self.fuse is None else self.fuse.table()
            settings["rerank"] = None if self.rerank is None else self.rerank.table(top_n=self.top_n)
            settings["generate"] = None if self.generate is None else self.generate.table(passages=self.passages)
        if self.concurrency is not None:
            settings["concurrency"] = self.concurrency
        settings["weigh"] = {key: value for key, value in self.weigh if value is not None}
        settings |= {"folder": self.folder, "cache": self.cache}
        blotted: dict[str, Any] = without_secrets(to_jsonable_python(settings, fallback=str))
        return blotted


# Paths and stages beside a configuration -----------------------------------------------------------------------------


def stage_beside(stage: Any, base: Path, role: str) -> Any:
    """A stage whose files are those beside the configuration, where they are there."""
    stage = as_stage(stage, role)
    if stage is None:
        return None
    files = {key: stage.settings.get(key) for key in _FILE_SETTINGS}
    beside = {key: str(base / file) for key, file in files.items() if isinstance(file, str) and file}
    return Stage(stage.kind, {**stage.settings, **{k: path for k, path in beside.items() if os.path.exists(path)}})


def as_stage(stage: Any, role: str) -> Stage | None:
    """A stage as it was written, or None.

    Raises   SettingError for something else.
    """
    if stage is None or isinstance(stage, Stage):
        return stage
    raise SettingError(f"{role} must be a name or a table with `kind`, not {type(stage).__name__}", role)


def path_in(base: Path, value: str | Path) -> Path:
    """A path that counts from a folder.

    Raises   SettingError for one that no file can have.
    """
    if "\0" in str(value):
        raise SettingError(f"{quoted(str(value))} holds the character NUL, which no path can")
    return base / os.path.expanduser(value)


def existing_path(key: str, value: str | Path | None, base: Path, *tables: Key) -> Path | None:
    """The path of a setting, which counts from a folder; None stays None.

    tables   that the key lies in
    Raises   SettingError where nothing is there.
    """
    path = None if value is None else path_in(base, value)
    if path is not None and not os.path.exists(path):
        if path.name == "-":
            fact = "standard input (-) cannot be read a second time to evaluate the run; save it in a file"
            raise SettingError(f"{key}: {fact}", *tables, key)
        raise SettingError(f"{key}: there is no {path}; relative paths count from {base}", *tables, key)
    return path


def default_name(indexes: Sequence[str], rerank: str | None) -> str:
    """The name of a pipeline that has none of its own.

    >>> default_name(["bm25", "dense"], "lexical")
    'bm25-dense-lexical'
    """
    kinds = [*indexes, *([rerank] if rerank else [])]
    return "-".join(re.sub(r"[^\w.-]+", "-", kind.rpartition(":")[2]) for kind in kinds)
