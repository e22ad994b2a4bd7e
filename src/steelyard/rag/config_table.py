"""The keys of a configuration with their types, and the rules between them; `Pipeline(...)` obeys the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from steelyard.base.choices import Unit
from steelyard.base.errors import MeasureError
from steelyard.base.limits import Limits, Words, at_least
from steelyard.base.nearest import nearest
from steelyard.base.settings import SettingError, validate
from steelyard.data.loading.decoding import DETECT, Encodings
from steelyard.measures import parse
from steelyard.rag.config_values import Stage
from steelyard.text.folding import in_order
from steelyard.text.spans import SpanRule

STAGES = ("chunk", "embed", "index", "fuse", "rerank", "generate")
PIPELINE_ONLY = ("documents", "encoding", "depth", *STAGES)
VARYING = ("k", "depth", *STAGES)
"""What a sweep can vary."""
COUNTS = {"rerank": "top_n", "generate": "passages"}
"""Settings in the table of a stage that are the pipeline's own."""

Count = Annotated[int, at_least(1)]
Text = Annotated[str, Field(min_length=1), Words("a text that is not empty")]
PathText = Annotated[Text | Path, Words("a path")]


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
            settings[count] = _pipelines_own(role, count, settings[count])
        return None if kind == "none" else Stage(kind, settings)
    if isinstance(value, str | bytes | int | float | list | tuple):
        raise ValueError
    return value


def _pipelines_own(role: str, count: str, value: Any) -> int:
    try:
        return int(validate(Count, value, role, count))
    except SettingError as error:
        raise SettingError(str(error), count) from None


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


def _stage(role: str) -> Any:
    return Annotated[Any, BeforeValidator(partial(parse_stage, role)), Words("a name or a table with `kind`")]


Indexes = Annotated[
    list[Any], BeforeValidator(_parse_indexes), Words("a name or a table with `kind`, or a list of several of them")
]


def _check_encoding(encoding: str | dict[str, str]) -> str | dict[str, str]:
    Encodings.of(encoding)
    return encoding


class PipelineTable(BaseModel):
    """What a configuration file and the arguments of `Pipeline` have in common."""

    model_config = ConfigDict(extra="forbid", validate_default=True)
    k: Count = 10
    depth: Count = 100
    unit: Annotated[Unit, Words('"chunk" or "document"')] | None = None
    concurrency: Count | None = None
    encoding: Annotated[
        Text | Annotated[dict[str, Text], Field(min_length=1)],
        AfterValidator(_check_encoding),
        Words("the name of an encoding, or a table of names by pattern"),
    ] = DETECT
    chunk: _stage("chunk") = "recursive"  # type: ignore[valid-type]
    embed: _stage("embed") = "lsa"  # type: ignore[valid-type]
    index: Indexes = "bm25"  # type: ignore[assignment]
    fuse: _stage("fuse") = None  # type: ignore[valid-type]
    rerank: _stage("rerank") = None  # type: ignore[valid-type]
    generate: _stage("generate") = None  # type: ignore[valid-type]

    @model_validator(mode="after")
    def _stages_fit(self) -> Self:
        if self.k > self.depth:
            raise SettingError(f"k is {self.k}, but each index gives depth = {self.depth} candidates; raise depth", "k")
        if self.chunk is None:
            self.chunk = Stage("whole")
        if self.embed is None:
            raise SettingError("embed cannot be none; leave embed out for the default", "embed")
        if self.fuse is None and len(self.index) > 1:
            if "fuse" in self.model_fields_set:
                raise SettingError(f"{len(self.index)} indexes need a fuse stage; leave fuse out for rrf", "fuse")
            self.fuse = Stage("rrf")
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


class TargetTable(BaseModel):
    """A system of the user's own, and the documents that it searches; every other key is an option of its kind."""

    model_config = ConfigDict(extra="allow")
    callable: Text | None = None
    url: Text | None = None
    documents: PathText | None = None
    concurrency: Count | None = None

    @model_validator(mode="after")
    def _callable_or_url(self) -> Self:
        if (self.callable is None) == (self.url is None):
            raise SettingError(f"target must be {_TARGET}")
        return self


_TARGET = 'a table with either callable = "module:object" or url = "..."'


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


def _check_steps(steps: list[str]) -> list[str]:
    in_order(steps)
    return steps


class WeighTable(BaseModel):
    """How the run is weighed."""

    model_config = ConfigDict(extra="forbid")
    measures: (
        Annotated[
            Annotated[list[str], Field(min_length=1)] | Text, AfterValidator(parse_measures), Words("a list of names")
        ]
        | None
    ) = None
    rule: Annotated[str, AfterValidator(lambda rule: str(SpanRule.parse(rule)))] | None = None
    min_gain: Annotated[float, Limits()] | None = None
    fold: Annotated[list[str], AfterValidator(_check_steps)] | None = None
    cluster: Text | None = None

    @property
    def steps(self) -> tuple[str, ...] | None:
        """The steps of folding in their order."""
        return None if self.fold is None else in_order(self.fold)


def _parse_sweep(table: Mapping[str, Any]) -> dict[str, Any]:
    """What varies, by dotted key, be it written `"chunk.size" = [...]` or `chunk.size = [...]`."""
    flat: dict[str, Any] = {}
    for key, values in table.items():
        head = key.partition(".")[0]
        if head not in VARYING:
            what = f"{head!r} cannot vary" if head in ConfigTable.model_fields else f"there is no setting {head!r}"
            raise SettingError(f"sweep: {what}; {nearest(head, VARYING)}", key)
        inner = values if isinstance(values, Mapping) else {}
        flat |= {f"{key}.{name}": choices for name, choices in inner.items()} if inner else {key: values}
    return flat


def _folder_name(name: str) -> str:
    if "/" in name or "\\" in name or name in (".", ".."):
        raise ValueError
    return name


class ConfigTable(PipelineTable):
    """All of a configuration file."""

    name: Annotated[Text, AfterValidator(_folder_name), Words("a name that a folder can have")] | None = None
    documents: PathText | None = None
    questions: PathText | None = None
    target: Annotated[TargetTable, Words(_TARGET)] | None = None
    weigh: WeighTable = WeighTable()
    sweep: Annotated[dict[str, Any], AfterValidator(_parse_sweep), Words("a table of lists")] = {}
    folder: PathText | None = None
    cache: Annotated[bool | PathText, Words("a path, true or false")] = True

    @model_validator(mode="after")
    def _target_or_documents(self) -> Self:
        if self.target is None and self.documents is None:
            raise SettingError(
                "has no `documents`, the folder or file to search; or name a system of your own in a table [target]"
            )
        for key in PIPELINE_ONLY:
            if self.target is not None and key in self.model_fields_set:
                where = "; documents that it searches are named in [target] (--corpus)" if key == "documents" else ""
                raise SettingError(f"{key} belongs to a pipeline, but a [target] does it all: remove one{where}", key)
        return self
