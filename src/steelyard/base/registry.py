"""One registry for all that has a name: a dict that refuses duplicates, and the entry points of other packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Generic, TypeVar, cast

from steelyard.base.errors import InputError, SteelyardError
from steelyard.base.nearest import nearest

S = TypeVar("S")
T = TypeVar("T")


def qualified_name(item: object) -> object:
    """Module and name of a class or function: a cell of a notebook that runs again defines the same one anew."""
    return getattr(item, "__module__", None), getattr(item, "__qualname__", id(item))


class Registry(Generic[T]):
    """Items by name.

    what      what an item is called in messages, e.g. "chunk stage"
    group     entry points that register more, loaded on the first lookup that needs them; several registries may share
              a group
    modules   modules of ours that register items, imported at the same time
    homes     name -> the module of ours that registers it, imported when this name is looked up
    origin    what two items must share for the second to replace the first; by default module and qualified name
    error     what is raised for a name that is taken
    hint      added to the message about a name that there is not

    >>> shapes = Registry[type]("shape")
    >>> @shapes.register("round")
    ... class Round: ...
    >>> shapes.names(), shapes.get("round") is Round
    (['round'], True)
    >>> shapes.get("rond")
    Traceback (most recent call last):
    steelyard.base.errors.InputError: no shape is called 'rond'; did you mean round?
    """

    def __init__(
        self,
        what: str,
        *,
        group: str | None = None,
        modules: Sequence[str] = (),
        homes: Mapping[str, str] = MappingProxyType({}),
        origin: Callable[[T], object] = qualified_name,
        error: type[SteelyardError] = InputError,
        hint: str = "",
    ) -> None:
        self.what, self._hint, self._group = what, hint, group
        self._modules, self._homes = tuple(modules), homes
        self._origin, self._error = origin, error
        self._items: dict[str, T] = {}

    def register(self, name: str) -> Callable[[S], S]:
        """A decorator that adds what it decorates, and gives it back as it is; raises as `add` does."""

        def decorate(item: S) -> S:
            self.add(name, cast("T", item))
            return item

        return decorate

    def add(self, name: str, item: T) -> None:
        """Add an item; one of the same origin is replaced.

        Raises   the registry's error where another item has the name.
        """
        self._import_home(name)
        if name in self._items and self._origin(self._items[name]) != self._origin(item):
            raise self._error(f"a {self.what} called {name!r} exists; choose another name")
        self._items[name] = item

    def remove(self, name: str) -> None:
        """Forget an item."""
        del self._items[name]

    def __contains__(self, name: str) -> bool:
        """True if an item has this name by now; other packages are not asked."""
        return name in self._items

    def find(self, name: str) -> T | None:
        """The item of this name, or None; other packages are asked only where ours do not have it."""
        self._import_home(name)
        if name not in self._items:
            self._load()
        return self._items.get(name)

    def get(self, name: str) -> T:
        """The item of this name.

        Raises   InputError with the nearest names.
        """
        item = self.find(name)
        if item is None:
            raise InputError(f"no {self.what} is called {name!r}; {nearest(name, self.names())}{self._hint}")
        return item

    def names(self) -> list[str]:
        """All names, in alphabetical order."""
        self._load()
        return sorted({*self._items, *self._homes})

    def __iter__(self) -> Iterator[T]:
        """All items, in the order in which they were added."""
        self._load()
        for name in self._homes:
            self._import_home(name)
        return iter(list(self._items.values()))

    def _import_home(self, name: str) -> None:
        if name in self._homes and name not in self._items:
            import_module(self._homes[name])

    def _load(self) -> None:
        for module in self._modules:
            import_module(module)
        if self._group is not None:
            _load_plugins(self._group)


@cache
def _load_plugins(group: str) -> None:
    from importlib.metadata import entry_points  # costs a fifth of our start-up

    for plugin in entry_points(group=group):
        plugin.load()
