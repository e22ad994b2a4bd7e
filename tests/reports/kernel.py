"""A kernel of a notebook as results see one: IPython's display, and what it was asked to show."""

import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


@dataclass
class Kernel:
    """shown: for each display, all that it has shown in turn, the newest last."""

    shown: list[list[dict[str, str]]] = field(default_factory=list)

    def display(self, content: dict[str, str], *, raw: bool, display_id: bool = False) -> Any:
        assert raw
        contents = [content]
        self.shown.append(contents)
        return SimpleNamespace(update=lambda content, **raw: contents.append(content)) if display_id else None


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    of = Kernel()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    vars(ipython)["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    vars(display)["display"] = of.display
    for module in (ipython, display, ModuleType("ipykernel")):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    return of
