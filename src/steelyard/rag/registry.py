"""Which stages there are: names to makers, and `module:object` for a stage of the user's own."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from steelyard.base.errors import InputError, describe_exception
from steelyard.base.nearest import nearest
from steelyard.base.registry import Registry
from steelyard.base.settings import SettingError, check_settings

T = TypeVar("T", bound=Callable[..., Any])
Role = Literal["chunk", "embed", "index", "fuse", "rerank", "generate"]
ROLES: tuple[Role, ...] = ("chunk", "embed", "index", "fuse", "rerank", "generate")
_MODULES = ("chunking", "embedding", "endpoints", "fusion", "generation", "models", "reranking", "searching")
_stages: dict[Role, Registry[Callable[..., Any]]] = {
    role: Registry(f"{role} stage", group="steelyard.stages", modules=[f"steelyard.rag.{name}" for name in _MODULES])
    for role in ROLES
}


def stage(role: Role, name: str) -> Callable[[T], T]:
    """Register a class (or function) that makes a stage; its parameters are the settings of the configuration file.

    Raises   InputError when the name is taken by another maker.
    """

    def decorate(maker: T) -> T:
        _stages[role].add(name, maker)
        return maker

    return decorate


def names(role: Role) -> list[str]:
    """All registered stages of a role."""
    return _stages[role].names()


def make(role: Role, kind: str, settings: Mapping[str, Any]) -> Any:
    """A stage by registered name or as `module:object`, with its settings.

    An object that is not callable is taken as it is and accepts no settings.
    Raises   InputError for an unknown name or setting, with the nearest ones.
    """
    maker = _imported(role, kind) if ":" in kind else _stages[role].get(kind, hint=" (your own: module:object)")
    if not callable(maker):
        if settings:
            raise InputError(f"{role} {kind}: is an object, not a class; it takes no settings ({', '.join(settings)})")
        return maker
    try:
        check_settings(maker, settings)
        return maker(**settings)
    except SettingError as error:
        raise error.inside(owner=f"{role} {kind}") from error
    except TypeError as error:
        raise InputError(f"{role} {kind}: {error}; check its settings") from error


def _imported(role: Role, kind: str) -> Any:
    return import_object(kind, f"{role} stage")


def import_object(path: str, what: str) -> Any:
    """The object behind `module:object`; modules of the working folder are found too.

    Raises   InputError saying which half is wrong.
    """
    module_name, _, attribute = path.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        value = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise InputError(f"{what} {path!r}: {module_name} cannot be imported: {error}") from error
        raise InputError(
            f"{what} {path!r}: there is no module {module_name!r} in the working folder or installed; "
            "expected module:object"
        ) from None
    except Exception as error:
        raise InputError(
            f"{what} {path!r}: importing {module_name} raised {describe_exception(error)}; mend it"
        ) from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            hint = nearest(part, dir(value), otherwise="check its spelling")
            raise InputError(f"{what} {path!r}: {module_name} has no {part!r}; {hint}")
        value = getattr(value, part)
    return value
