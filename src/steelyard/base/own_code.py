"""Code that people name as `module:object`: of a folder of their own, or of an installed package."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from steelyard.base.errors import InputError, SteelyardError, describe_exception
from steelyard.base.nearest import nearest

_INSTALLED = {"site-packages", "dist-packages"}
_STANDARD = sys.stdlib_module_names | {"builtins"}


def import_object(path: str, what: str, folder: Path | None = None) -> Any:
    """The object behind `module:object`, which is imported but not called.

    what      it is to be, for messages
    folder    of the configuration, whose modules come first; None is the working folder
    Raises    InputError saying which half is wrong, and for what is of Python's standard library: a configuration has
              no business there, and `os:system` would run whatever it says.
    """
    module_name, _, attribute = path.partition(":")
    named = f"{what} {path!r}"
    _refuse_standard(module_name, named)
    value: Any = _import_module(module_name, named, (folder or Path()).resolve())
    for part in attribute.split("."):
        if part.startswith("__") or not hasattr(value, part):
            hint = nearest(
                part, [name for name in dir(value) if not name.startswith("__")], otherwise="check its spelling"
            )
            raise InputError(f"{named}: {module_name} has no {part!r}; {hint}")
        value = getattr(value, part)
    if isinstance(value, ModuleType):
        raise InputError(f"{named}: is a module; expected module:object")
    if isinstance(value, type) or inspect.isroutine(value):
        # A module passes on what it imports: numpy:os.system is of the standard library all the same.
        _refuse_standard(value.__module__ or "", named)
    return value


def check_own(path: str, value: Any, what: str, group: str, folder: Path | None = None) -> None:
    """Refuse a function or an object that `module:object` names, unless it is meant for what it will be called for.

    What is called with a question must be written for that: `joblib:load` would unpickle a file of that name.  It is,
    where its module is the user's own: in the folder of the configuration, the working folder, or a folder of
    PYTHONPATH into which no packages are installed; and where its package declares it by an entry point of a group.

    path, value   what `import_object` was given, and gave;   group   such as "steelyard.targets"
    Raises        InputError with what to do instead.
    """
    roots = [own.resolve() for own in (folder or Path(), Path())]
    searched = [place for name in sys.path if name and not _has_packages(place := Path(os.path.realpath(name)))]
    is_own = all(_lies_in(module, [*roots, *searched]) for module in _modules(path, value))
    if is_own or _is_declared(path, group, roots):
        return
    name = path.partition(":")[0]
    raise InputError(
        f"{what} {path!r}: is neither of a module of your own, in {roots[0]}, nor declared by its package; write a "
        f"function of your own that calls it, or have {name.partition('.')[0]} declare it (entry point of the group "
        f"{group})"
    )


def _modules(path: str, value: Any) -> Iterator[ModuleType | None]:
    """The modules on the way of `module:object` to a value, and that which defines a function or a class."""
    name, _, attributes = path.partition(":")
    step: Any = sys.modules[name]
    for attribute in attributes.split("."):
        if isinstance(step, ModuleType):
            yield step
        step = getattr(step, attribute)
    of_instance = inspect.ismethod(value) and not isinstance(value.__self__, type)
    if isinstance(value, type) or (inspect.isroutine(value) and not of_instance):
        yield sys.modules.get(value.__module__ or "")


def _has_packages(folder: Path) -> bool:
    """True if packages are installed into a folder of Python's path."""
    return not _INSTALLED.isdisjoint(folder.parts) or any(folder.glob("*.dist-info"))


def _lies_in(module: ModuleType | None, roots: Sequence[Path]) -> bool:
    """True if a module is the user's own: in one of these folders, and not of a package that is installed there."""
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    file = next((Path(os.path.realpath(place)) for place in places if place), None)
    if file is None or str(getattr(module, "__name__", "")).partition(".")[0] == "steelyard":
        return False
    return any(root in file.parents and _INSTALLED.isdisjoint(file.relative_to(root).parts) for root in roots)


def _is_declared(path: str, group: str, roots: Sequence[Path]) -> bool:
    """True if an installed package declares it; what lies in the user's folders is not installed, whatever it says."""
    from importlib.metadata import entry_points  # costs a fifth of our start-up

    dists = [own.dist for own in entry_points(group=group) if f"{own.module}:{own.attr}" == path]
    return any(dist and Path(os.path.realpath(str(dist.locate_file("")))) not in roots for dist in dists)


@contextmanager
def own_code(whose: str) -> Iterator[None]:
    """While code of a user's own runs: what it raises becomes one line that says whose it is.

    Raises   InputError for whatever it raises, an exit or a panic of native code among it; Ctrl-C and errors of ours
             stay what they are.

    >>> with own_code("judge mine"):
    ...     raise ValueError("no model")
    Traceback (most recent call last):
    steelyard.base.errors.InputError: judge mine: raised ValueError: no model (...); mend it
    """
    try:
        yield
    except (SteelyardError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raised = describe_exception(error, outside=__file__)
        raise InputError(f"{whose}: raised {raised}; mend it") from error


def source_text(module_name: str) -> str | None:
    """The source of a module that is imported; None where there is none, as in a notebook."""
    try:
        return inspect.getsource(sys.modules[module_name])
    except (OSError, TypeError, KeyError):
        return None


def _refuse_standard(module_name: str, named: str) -> None:
    if module_name.partition(".")[0] in _STANDARD:
        raise InputError(
            f"{named}: {module_name} is of Python's standard library; name a module of your own, beside the "
            "configuration, or one of an installed package"
        )


def _import_module(name: str, named: str, folder: Path) -> ModuleType:
    if name.endswith(".py") or not all(part.isidentifier() for part in name.split(".")):
        raise InputError(
            f"{named}: {name!r} is no name of a module; expected module:object, such as mysearch:search for "
            f"mysearch.py in {folder}"
        )
    _refuse_namesake(name.partition(".")[0], named, folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise InputError(f"{named}: {name} cannot be imported: {error}") from error
        raise InputError(
            f"{named}: there is no module {name!r} in {folder} or installed; expected module:object"
        ) from None
    except (Exception, SystemExit) as error:
        raise InputError(f"{named}: importing {name} raised {describe_exception(error)}; mend it") from error


def _refuse_namesake(name: str, named: str, folder: Path) -> None:
    """Refuse a module beside the configuration if this process has imported another one of its name."""
    file = getattr(sys.modules.get(name), "__file__", None)
    places = [place for place in (folder / f"{name}.py", folder / name / "__init__.py") if place.is_file()]
    if file is not None and places and Path(file).resolve() not in places:
        raise InputError(
            f"{named}: {places[0]} cannot be imported beside {file}, which has its name; rename one of them"
        )
