"""Stages made from what a user names them by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.settings import Origin
from steelyard.base.toml_lines import Key
from steelyard.rag.config import Config
from steelyard.rag.config_values import Stage
from steelyard.rag.registry import Role, make, settings_of
from steelyard.rag.stages import Embedder, Fuser, Generator, Index, Reranker

_PROTOCOLS: Mapping[Role, type] = {
    "embed": Embedder, "index": Index, "fuse": Fuser, "rerank": Reranker, "generate": Generator,
}  # fmt: skip
"""What a stage must be; a chunker may also be of another library."""


def without(stage: Any, key: str, default: int) -> tuple[Any, int]:
    """A stage without the setting that is the pipeline's, and that setting."""
    if isinstance(stage, Mapping) and key in stage:
        return {name: value for name, value in stage.items() if name != key}, stage[key]
    return stage, default


def made_stage(role: Role, given: Any) -> Any:
    """A stage, however it is given."""
    if given is None or (isinstance(given, str) and given == "none"):
        return None
    if isinstance(given, str):
        return make(role, given, {})
    if isinstance(given, Stage):
        return make(role, given.kind, given.settings)
    if isinstance(given, Mapping):
        kind = given.get("kind")
        if not isinstance(kind, str) or not kind:
            raise InputError(f"{role} is a dict without `kind`, the name of the stage: {dict(given)}")
        return None if kind == "none" else make(role, kind, {k: v for k, v in given.items() if k != "kind"})
    return given


def told_stage(config: Config, role: Role, stage: Stage | None) -> Any:
    """A stage of a configuration.

    Raises   InputError with the file and line of what is wrong with it.
    """
    with Origin(config.where, config.text).locating(*_keys(config, role, stage)):
        ready = made_stage(role, stage)
        if ready is not None and role in _PROTOCOLS and not isinstance(ready, _PROTOCOLS[role]):
            raise InputError(f"{role}: {name_of(stage)} gives {type(ready).__name__}, which {_lacks(ready, role)}")
        return ready


def _keys(config: Config, role: Role, stage: Stage | None) -> tuple[Key, ...]:
    """Where a stage is in the configuration: an index may be one of a list."""
    if role != "index" or not isinstance(config.values.get(role), list):
        return (role,)
    return (role, next(i for i, index in enumerate(config.index) if index is stage))


def _lacks(made: object, role: Role) -> str:
    wanted = [name for name in dir(_PROTOCOLS[role]) if not name.startswith("_")]
    wanted += [name for name in getattr(_PROTOCOLS[role], "__annotations__", ()) if name not in wanted]
    absent = [name for name in wanted if not hasattr(made, name)]
    return f"has no {' and no '.join(absent)}; see steelyard.rag.stages for what one must have"


def name_of(given: Any) -> str:
    """What a stage is called, however it is given."""
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping):
        return str(given.get("kind"))
    return given.kind if isinstance(given, Stage) else type(given).__name__.lower()


def table_of(stage: object) -> dict[str, Any]:
    """A stage as a table of a configuration."""
    return {"kind": f"{type(stage).__module__}:{type(stage).__qualname__}", **settings_of(stage)}


def search_names(kinds: Sequence[str]) -> list[str]:
    """What the times of the indexes are called: search for one, search.NAME for several, with a number if repeated."""
    if len(kinds) == 1:
        return ["search"]
    return [
        f"search.{kind}" + (f".{kinds[: i + 1].count(kind)}" if kinds[:i].count(kind) else "")
        for i, kind in enumerate(kinds)
    ]
