"""Which stages there are: names to makers, and `module:object` for a stage of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

from steelyard.base.errors import InputError
from steelyard.base.own_code import check_own, import_object
from steelyard.base.registry import Registry
from steelyard.base.settings import make_with
from steelyard.rag.own_reranking import FunctionReranker, takes_texts
from steelyard.rag.stages import Chunker, Embedder, Fuser, Generator, Index, Reranker

T = TypeVar("T", bound=Callable[..., Any])
Role = Literal["chunk", "embed", "index", "fuse", "rerank", "generate"]
ROLES: tuple[Role, ...] = ("chunk", "embed", "index", "fuse", "rerank", "generate")
PROTOCOLS: Mapping[Role, type] = {
    "chunk": Chunker, "embed": Embedder, "index": Index, "fuse": Fuser, "rerank": Reranker, "generate": Generator,
}  # fmt: skip
"""What a stage must be."""
_MODULES = (
    "chunking", "embedding", "endpoints", "fusion", "generation", "llm_reranking", "models", "reranking", "searching",
)  # fmt: skip
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


def make(role: Role, kind: str, settings: Mapping[str, Any], *, folder: Path | None = None) -> Any:
    """A stage by registered name or as `module:object`, with its settings.

    folder   of the configuration, where `module` may be; None is the working folder
    An object that is not callable is taken as it is and accepts no settings.  A function of `query` and `texts` is a
    reranker itself, and its other parameters are its settings.
    Raises   InputError for an unknown name or setting, with the nearest ones, and for an object that cannot be such a
             stage, before anything of it is called.
    """
    if ":" in kind:
        maker = import_object(kind, f"{role} stage", folder)
        if role == "rerank" and takes_texts(maker):
            check_own(kind, maker, f"{role} stage", "steelyard.stages", folder)
            return FunctionReranker.of(maker, settings)
        _check_fit(role, kind, maker)
    else:
        maker = _stages[role].get(kind, hint=" (your own: module:object)")
    if not callable(maker):
        if settings:
            raise InputError(f"{role} {kind}: is an object, not a class; it takes no settings ({', '.join(settings)})")
        return maker
    return make_with(maker, settings, f"{role} {kind}")


def _check_fit(role: Role, kind: str, maker: Any) -> None:
    """Refuse what cannot give such a stage: a configuration may not call whatever Python can import."""
    stage = maker
    if inspect.isroutine(maker):
        stage = _annotated_result(maker)
        if not isinstance(stage, type):
            raise InputError(
                f"{role} {kind}: is a function that does not declare what it returns; name a class, or annotate the "
                "function with the class of the stage (-> Class)"
                + (", or name a function of (query, texts) that gives scores" if role == "rerank" else "")
            )
    ways = _methods(role)
    absent = [[name for name in names if not callable(getattr(stage, name, None))] for names in ways]
    if all(absent):
        lacks = " and ".join(f"no {name}" for names in absent for name in names)
        name = stage.__name__ if isinstance(stage, type) else type(stage).__name__
        raise InputError(
            f"{role} {kind}: {name} is no {role} stage, it has {lacks}; see steelyard.rag.stages for what one must have"
        )


def _annotated_result(function: Callable[..., Any]) -> Any:
    try:
        return get_type_hints(function).get("return")
    except Exception:  # The annotations of another's code may hold anything.
        return None


def _methods(role: Role) -> list[list[str]]:
    """The methods that a stage of a role must have; a chunker may also be a text splitter of another library."""
    names = [name for name, member in vars(PROTOCOLS[role]).items() if name[0] != "_" and callable(member)]
    return [names, ["split_text"]] if role == "chunk" else [names]
