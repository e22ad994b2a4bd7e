"""Configuration of a run: a TOML file, or a dict of the same shape.

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
    fold = ["lower", "white_space"]      how texts are folded before they are compared
    [sweep]                              for `steelyard sweep`: what varies, each a list of values
    chunk.size = [300, 1000]
    index = ["bm25", "dense", ["bm25", "dense"]]

A system of the user's own has a table `[target]` with `callable = "module:object"` or `url = "..."`, in place of the
documents and the stages; its `documents` are those that it searches, by which gold is placed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from steelyard.base.choices import Unit
from steelyard.base.errors import InputError, quoted
from steelyard.base.own_paths import own_file
from steelyard.base.settings import Origin, SettingError, read_toml, validate
from steelyard.base.toml_lines import Key
from steelyard.data.questions import Questions
from steelyard.experiment.door.units import unit_of
from steelyard.rag.config_changes import change_values
from steelyard.rag.config_table import STAGES, ConfigTable, TargetTable
from steelyard.rag.config_values import Stage, TargetSettings, Weigh
from steelyard.services.cache import CACHE_NAME
from steelyard.services.secrecy import without_secrets

_FILE_SETTINGS = ("model", "prompt", "truth", "documents", "queries")


@dataclass(frozen=True)
class Config:
    """A run: read it with `Config.read(path)` or `Config.of(mapping)`.

    concurrency   questions under way at once, None for what the stages say
    top_n     candidates that are reranked;   passages  how many the generator sees
    folder    where the run goes;   cache   file, or None
    sweep     dotted key -> values, for `with_changes`
    values    what was written, and the folder that its paths count from
    where     the configuration file, for messages, and its text; empty where there is none
    """

    name: str
    documents: Path | None
    questions: Path | None
    k: int
    depth: int
    unit: Unit | None
    concurrency: int | None
    encoding: str | Mapping[str, str]
    chunk: Stage
    embed: Stage
    index: tuple[Stage, ...]
    fuse: Stage | None
    rerank: Stage | None
    generate: Stage | None
    top_n: int
    passages: int
    target: TargetSettings | None
    weigh: Weigh
    sweep: Mapping[str, Any]
    folder: Path
    cache: Path | None
    values: Mapping[str, Any] = field(repr=False)
    base: Path = field(repr=False)
    where: str = field(default="", repr=False)
    text: str = field(default="", repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """Read a TOML file.

        Raises   InputError with file, line and the nearest names.
        """
        if str(path) == "-" or not (os.path.isfile(path) or os.path.isdir(path) or not os.path.exists(path)):
            raise InputError(
                f"{path}: is no file; a configuration has a folder, from which its paths count: save it there"
            )
        values, origin = read_toml(path)
        with origin.locating():
            return _config(values, base=Path(path).resolve().parent, stem=Path(path).stem, origin=origin)

    @classmethod
    def of(cls, values: Mapping[str, Any], *, base: str | Path = ".") -> Config:
        """Take a dict of the same shape; relative paths count from `base`.

        >>> Config.of({"documents": "docs", "index": ["bm25", "dense"]}).fuse
        Stage(kind='rrf', settings={})
        """
        return _config(values, base=Path(base).resolve(), stem=None, origin=Origin())

    @classmethod
    def of_options(
        cls, path: str | Path | None = None, *, documents: str | Path | None = None,
        questions: str | Path | None = None, target: str | None = None, corpus: str | Path | None = None,
        k: int | None = None, unit: Unit | None = None, concurrency: int | None = None,
        folder: str | Path | None = None, cache: bool = True,
    ) -> Config:  # fmt: skip
        """A file with some values replaced, or these alone; their paths count from the working directory.

        target   module:object, or a URL;   corpus   the documents that it searches
        Raises   InputError where neither a file, documents nor a target are named, and for a pipeline with a corpus.
        """
        paths = {"documents": documents, "questions": questions, "folder": folder}
        changes: dict[str, Any] = {key: str(Path(path).absolute()) for key, path in paths.items() if path is not None}
        values = {"k": k, "unit": unit, "concurrency": concurrency}
        changes |= {key: value for key, value in values.items() if value is not None}
        if not cache:
            changes["cache"] = False
        if target is not None:
            changes["target"] = {"url" if "://" in target else "callable": target}
        searched = {} if corpus is None else {"target.documents": str(Path(corpus).absolute())}
        if path is not None:
            config = cls.read(path).with_changes(changes)
            if corpus is not None and config.target is None:
                raise InputError(
                    f"--corpus (corpus=) names what a target searches, and {path} is a pipeline's, which searches its "
                    "`documents`; leave it out"
                )
            return config.with_changes(searched)
        if documents is None and target is None:
            raise InputError(
                "what is to be run? Give a CONFIG.toml, or --documents FOLDER, or --target module:object or a URL"
            )
        if corpus is not None and target is None:
            raise InputError("--corpus (corpus=) names what a target searches; a pipeline searches its --documents")
        return cls.of(changes).with_changes(searched)

    def with_unit_of(self, questions: Questions) -> Config:
        """The same with the unit that it names, else that of the gold of these questions."""
        unit = unit_of(questions, self.unit)
        return replace(self, unit=unit, values={**self.values, "unit": unit})

    def with_k(self, k: int) -> Config:
        """The same with k chunks for a question, and with as many candidates as these need."""
        return self.with_changes({"k": k, "depth": max(self.depth, k)})

    def with_changes(self, changes: Mapping[str, Any]) -> Config:
        """The same with some keys changed, for a grid; a dot leads into a stage.

        Where a whole stage is replaced, its old settings go with it.  A name and a folder that have no key follow.
        Raises   InputError for a dotted key that names no single stage.

        >>> before = Config.of({"documents": "docs"})
        >>> before.with_changes({"chunk.size": 500, "index": "dense", "k": 5}).chunk
        Stage(kind='recursive', settings={'size': 500})
        """
        stages = {role: self.index[0] if role == "index" else getattr(self, role) for role in STAGES}
        with Origin(self.where).locating():
            values, name = change_values(self.values, changes, stages=stages), self.name if self.where else None
            return _config(values, base=self.base, stem=name, origin=Origin(self.where, self.text))

    def resolved(self) -> dict[str, Any]:
        """What config.json holds: every value, paths absolute, secrets blotted out."""
        settings: dict[str, Any] = {
            "name": self.name,
            "questions": _shown(self.questions),
            "k": self.k,
            "unit": self.unit,
        }
        if self.target is not None:
            system = {key: getattr(self.target, key) for key in ("callable", "url", "concurrency")}
            system["documents"] = _shown(self.target.documents)
            named = {key: value for key, value in system.items() if value is not None}
            settings["target"] = named | dict(self.target.options)
        else:
            settings |= {"documents": _shown(self.documents), "encoding": self.encoding, "depth": self.depth}
            settings |= {"chunk": _table_of(self.chunk), "embed": _table_of(self.embed)}
            settings["index"] = [_table_of(stage) for stage in self.index]
            settings["fuse"] = _table_of(self.fuse)
            settings["rerank"] = _table_of(self.rerank, top_n=self.top_n)
            settings["generate"] = _table_of(self.generate, passages=self.passages)
        if self.concurrency is not None:
            settings["concurrency"] = self.concurrency
        settings["weigh"] = {key: value for key, value in vars(self.weigh).items() if value is not None}
        settings |= {"folder": _shown(self.folder), "cache": _shown(self.cache) or False}
        blotted: dict[str, Any] = without_secrets(settings)
        return blotted

    def line(self, *keys: Key) -> str:
        """ "FILE, line N: " of a key, "FILE: " where no line can be found, "" without a file."""
        return Origin(self.where, self.text).place(*keys)


def _shown(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _table_of(stage: Stage | None, **more: int) -> dict[str, Any] | None:
    return None if stage is None else {"kind": stage.kind, **stage.settings, **more}


def _config(values: Mapping[str, Any], *, base: Path, stem: str | None, origin: Origin) -> Config:
    """Check values and resolve their paths.

    stem     the name where the values have none;   origin   kept for later messages
    Raises   SettingError.
    """
    table: ConfigTable = validate(ConfigTable, values)
    name, target, weigh = table.name or stem or _name_of(table), table.target, table.weigh
    stages: dict[str, Any] = {role: stage_beside(table.stage(role), base, role) for role in STAGES if role != "index"}
    return Config(
        name=name, documents=existing_path("documents", table.documents, base),
        questions=existing_path("questions", table.questions, base), k=table.k, depth=table.depth, unit=table.unit,
        concurrency=table.concurrency, encoding=table.encoding,
        index=tuple(stage_beside(stage, base, "index") for stage in table.index), **stages,
        top_n=table.count("rerank", 50), passages=table.count("generate", 5),
        target=None if target is None else _target(target, base),
        weigh=Weigh(
            tuple(weigh.measures) if weigh.measures else None, weigh.rule, weigh.min_gain, weigh.steps, weigh.cluster
        ),
        sweep=table.sweep, folder=path_in(base, table.folder or f"runs/{name}"),
        cache=_cache(table.cache, base),
        values=values, base=base, where=origin.name, text=origin.text,
    )  # fmt: skip


def _target(table: TargetTable, base: Path) -> TargetSettings:
    documents = existing_path("documents", table.documents, base, "target")
    return TargetSettings(table.callable, table.url, table.model_extra or {}, documents, table.concurrency)


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


def resolve_path(value: str | Path | None, base: Path) -> Path | None:
    """A path that counts from a folder, as `path_in` has it; None stays None."""
    return None if value is None else path_in(base, value)


def path_in(base: Path, value: str | Path) -> Path:
    """A path that counts from a folder.

    Raises   SettingError for one that no file can have.
    """
    if "\0" in str(value):
        raise SettingError(f"{quoted(str(value))} holds the character NUL, which no path can")
    return base / os.path.expanduser(value)


def existing_path(key: str, value: str | Path | None, base: Path, *tables: Key) -> Path | None:
    """The path of a setting, as `resolve_path` has it.

    tables   that the key lies in
    Raises   SettingError where nothing is there.
    """
    path = resolve_path(value, base)
    if path is not None and not os.path.exists(path):
        if path.name == "-":
            fact = "standard input (-) cannot be read again by whoever weighs the run; save it in a file"
            raise SettingError(f"{key}: {fact}", *tables, key)
        raise SettingError(f"{key}: there is no {path}; relative paths count from {base}", *tables, key)
    return path


def _cache(value: bool | str | Path, base: Path) -> Path | None:
    if isinstance(value, bool):
        return own_file(base / "runs", CACHE_NAME) if value else None
    return resolve_path(value, base)


def _name_of(table: ConfigTable) -> str:
    """The name of a configuration that has none: of its target's function or address, or of its stages."""
    if table.target is None:
        return default_name([stage.kind for stage in table.index], table.rerank.kind if table.rerank else None)
    address = (table.target.callable or table.target.url or "").rstrip("/")
    return re.sub(r"[^\w.-]+", "-", re.split(r"[:/]", address)[-1]) or "target"


def default_name(indexes: Sequence[str], rerank: str | None) -> str:
    """The name of a pipeline that has none of its own.

    >>> default_name(["bm25", "dense"], "lexical")
    'bm25-dense-lexical'
    """
    kinds = [*indexes, *([rerank] if rerank else [])]
    return "-".join(re.sub(r"[^\w.-]+", "-", kind.rpartition(":")[2]) for kind in kinds)
