"""Stages from their names and settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.settings import Origin
from steelyard.base.toml_lines import Key
from steelyard.rag.config import Config
from steelyard.rag.config_values import Stage
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.own_reranking import as_reranker
from steelyard.rag.registry import PROTOCOLS, Role, make


def make_stage(role: Role, stage: Any, folder: Path | None = None) -> Any:
    """An object from a Stage; None and an object stay as they are, but for a function that reranks.

    folder   of the configuration, for code of the user's own; None is the working folder
    Raises   InputError for a kind or a setting that there is none of, a value that does not fit, and an object that
             lacks what a stage must have.
    """
    ready = make(role, stage.kind, stage.settings, folder=folder) if isinstance(stage, Stage) else stage
    if role == "rerank":
        ready = as_reranker(ready)
    # A chunker may also be a text splitter of another library; `as_chunker` sees to it.
    if ready is not None and role != "chunk" and not isinstance(ready, PROTOCOLS[role]):
        raise InputError(f"{role}: {kind_of(stage)} gives {type(ready).__name__}, which {_lacks(ready, role)}")
    return ready


def make_located(config: Config, role: Role, stage: Stage | None) -> Any:
    """A stage of a configuration.

    Raises   InputError with the file and line of what is wrong with it.
    """
    with Origin(config.where, config.text).locating(*_keys(config, role, stage)):
        return make_stage(role, stage, config.base)


def _keys(config: Config, role: Role, stage: Stage | None) -> tuple[Key, ...]:
    """Where a stage is in the configuration: an index may be one of a list."""
    if role != "index" or not isinstance(config.values.get(role), list):
        return (role,)
    return (role, next(i for i, index in enumerate(config.index) if index is stage))


def _lacks(stage: object, role: Role) -> str:
    wanted = [name for name in dir(PROTOCOLS[role]) if not name.startswith("_")]
    wanted += [name for name in getattr(PROTOCOLS[role], "__annotations__", ()) if name not in wanted]
    absent = [name for name in wanted if not hasattr(stage, name)]
    return f"has no {' and no '.join(absent)}; see steelyard.rag.stages for what one must have"


def kind_of(stage: Any) -> str:
    """The name of a stage: its kind, or the class of an object."""
    return stage.kind if isinstance(stage, Stage) else type(stage).__name__.lower()


def table_of(stage: object) -> dict[str, Any]:
    """A stage as a table of a configuration."""
    return {"kind": f"{type(stage).__module__}:{type(stage).__qualname__}", **settings_of(stage)}


def search_names(kinds: Sequence[str]) -> list[str]:
    """Names of the times of the indexes: search for one, search.NAME for several, with a number if repeated."""
    if len(kinds) == 1:
        return ["search"]
    return [
        f"search.{kind}" + (f".{kinds[: i + 1].count(kind)}" if kinds[:i].count(kind) else "")
        for i, kind in enumerate(kinds)
    ]
