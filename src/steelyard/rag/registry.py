"""Which stages there are: names to makers, `module:object` and functions for stages of the user's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_type_hints

from steelyard.base.errors import InputError
from steelyard.base.own_code import check_own, import_object
from steelyard.base.registry import Registry
from steelyard.base.settings import SettingError, check_settings, make_with
from steelyard.base.toml_lines import Key
from steelyard.rag.fingerprint import digest, module_source, settings_of
from steelyard.rag.protocols import Chunker, Embedder, Fuser, Generator, Index, Reranker, Stage

if TYPE_CHECKING:
    from steelyard.rag.config import Config  # Imports pydantic, which what only looks stages up does without.

_TAKEN = ("query", "texts")


@dataclass(frozen=True)
class FunctionReranker:
    """Scores by a function.

    path       of the function, as module:object
    settings   that it takes by name, beside the question and the texts
    """

    path: str
    function: Callable[..., Sequence[float]] = field(repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, function: Callable[..., Any], settings: Mapping[str, Any]) -> FunctionReranker:
        """A function with its settings.

        Raises   SettingError for a setting that it does not take, lacks, or that does not fit its annotation.
        """
        path = f"{function.__module__}:{function.__qualname__}"
        try:
            if taken := [name for name in _TAKEN if name in settings]:
                raise SettingError(f"{taken[0]} is what it is asked, and no setting; leave it out", taken[0])
            check_settings(function, {"query": "", "texts": [], **settings})
        except SettingError as error:
            raise error.inside(owner=f"rerank {path}") from None
        return cls(path, function, dict(settings))

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The scores that the function gives; raises what it raises."""
        return self.function(query, texts, **self.settings)

    def identity(self) -> str:
        """The digest of its code, and of the source around it where there is one."""
        code = getattr(self.function, "__code__", None)
        constants = None if code is None else (code.co_code.hex(), repr([c for c in code.co_consts if _is_plain(c)]))
        return digest(self.path, constants, module_source(self.function))


def as_reranker(stage: Any) -> Any:
    """A function of question and texts as a reranker; anything else as it is.

    >>> as_reranker(lambda query, texts: [len(text) for text in texts]).scores("", ["a", "bee"])
    [1, 3]
    """
    is_function = takes_texts(stage) and not isinstance(stage, type | Reranker)
    return FunctionReranker.of(stage, {}) if is_function else stage


def takes_texts(function: Any) -> bool:
    """True if this is a function whose first parameters are `query` and `texts`."""
    if not inspect.isroutine(function):
        return False
    try:
        return tuple(inspect.signature(function).parameters)[:2] == _TAKEN
    except (TypeError, ValueError):  # Some functions written in C have no signature.
        return False


def _is_plain(constant: object) -> bool:
    """Not code, whose text has an address in it."""
    return not inspect.iscode(constant)


T = TypeVar("T", bound=Callable[..., Any])
Role = Literal["chunk", "embed", "index", "fuse", "rerank", "generate"]
ROLES: tuple[Role, ...] = ("chunk", "embed", "index", "fuse", "rerank", "generate")
PROTOCOLS: Mapping[Role, type] = {
    "chunk": Chunker, "embed": Embedder, "index": Index, "fuse": Fuser, "rerank": Reranker, "generate": Generator,
}  # fmt: skip
"""What a stage must be."""
_MODULES = ("chunking", "embedding", "generation", "llm_reranking", "reranking", "searching")
_stages: dict[Role, Registry[Callable[..., Any]]] = {
    role: Registry(
        f"{role} stage",
        group="steelyard.stages",
        modules=[f"steelyard.rag.stages.{name}" for name in _MODULES],
        hint=" (your own: module:object)",
    )
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
            check_own(kind, maker, f"{role} stage", "steelyard.stages", folder=folder)
            return FunctionReranker.of(maker, settings)
        _check_fit(role, kind, maker)
    else:
        maker = _stages[role].get(kind)
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
            f"{role} {kind}: {name} is no {role} stage, it has {lacks}; see steelyard.rag.protocols for what one must "
            "have"
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
    with config.origin.locating(*_keys(config, role, stage)):
        return make_stage(role, stage, config.base)


def _keys(config: Config, role: Role, stage: Stage | None) -> tuple[Key, ...]:
    """The keys of a stage in the configuration: an index may be one of a list."""
    if role != "index" or not isinstance(config.values.get(role), list):
        return (role,)
    return (role, next(i for i, index in enumerate(config.index) if index is stage))


def _lacks(stage: object, role: Role) -> str:
    wanted = [name for name in dir(PROTOCOLS[role]) if not name.startswith("_")]
    wanted += [name for name in getattr(PROTOCOLS[role], "__annotations__", ()) if name not in wanted]
    absent = [name for name in wanted if not hasattr(stage, name)]
    return f"has no {' and no '.join(absent)}; see steelyard.rag.protocols for what one must have"


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
