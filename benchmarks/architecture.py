"""Figures of the architecture beside their targets: python benchmarks/architecture.py [FOLDER]

FOLDER is that of the package, src/steelyard unless it is named. The column `before` holds what this script printed for
commit a4d8918, from which the targets start. Exits with 1 where a target is missed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
FIGURES = {
    "lines": (84015, 64000),
    "statements": (49263, None),
    "lines of imports": (7407, None),
    "files": (644, 430),
    "files under 40 lines": (89, None),
    "functions with more than 6 parameters": (105, 35),
    "functions used once": (1341, None),
    "fmt: skip": (958, 399),
    "rooms": (19, 24),
    "arrows between rooms": (119, 160),
    "modules in circles": (0, 0),
}
"""Figure -> before, and the target: at most so many; None where the less, the better."""


def figures(folder: Path) -> dict[str, int]:
    """All figures of the package in a folder."""
    texts = {module_name(path, folder): path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    graph = {name: set(imported(tree, trees)) - {name} for name, tree in trees.items()}
    functions = [node for tree in trees.values() for node in ast.walk(tree) if isinstance(node, Function)]
    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    arrows = {(room_of(one), room_of(other)) for one, others in graph.items() for other in others}
    return {
        "lines": sum(text.count("\n") for text in texts.values()),
        "statements": sum(isinstance(node, ast.stmt) for tree in trees.values() for node in ast.walk(tree)),
        "lines of imports": sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for tree in trees.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ),
        "files": len(texts),
        "files under 40 lines": sum(0 < text.count("\n") < 40 for text in texts.values()),
        "functions with more than 6 parameters": sum(n_parameters(function) > 6 for function in functions),
        "functions used once": used_once(functions, trees),
        "fmt: skip": sum(text.count("# fmt: skip") for text in texts.values()),
        "rooms": len(rooms),
        "arrows between rooms": sum(one != other and {one, other} <= rooms for one, other in arrows),
        "modules in circles": in_circles(graph),
    }


def module_name(path: Path, folder: Path) -> str:
    """The dotted name of a file, below the folder of the package."""
    parts = path.relative_to(folder.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """The room of a module: the second part of its name; empty for the package itself."""
    return module.split(".")[1] if "." in module else ""


def imported(tree: ast.Module, modules: Mapping[str, ast.Module]) -> Iterator[str]:
    """Modules of the package that a module imports, at its top or when a function runs."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield from (module for module in (name if name in modules else node.module,) if module in modules)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)


def n_parameters(function: Function) -> int:
    """How many values a caller can give; self and cls are none."""
    arguments = function.args
    names = [argument.arg for argument in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def used_once(functions: list[Function], trees: Mapping[str, ast.Module]) -> int:
    """Undecorated functions whose name is read at one place of the package; methods that Python calls are left out."""
    uses = Counter(
        node.id if isinstance(node, ast.Name) else node.attr
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.Attribute)
    )
    return sum(
        uses[function.name] == 1 and not function.decorator_list and not re.fullmatch("__.*__", function.name)
        for function in functions
    )


def in_circles(graph: Mapping[str, set[str]]) -> int:
    """How many modules lie on the circles of imports that are found, cutting each where it is found."""
    left, circles = {name: set(others) for name, others in graph.items()}, set[str]()
    while True:
        try:
            TopologicalSorter(left).prepare()
        except CycleError as error:
            before, after = error.args[1][:2]
            circles |= {before, after}
            left[after].discard(before)
        else:
            return len(circles)


def main(folder: str = "src/steelyard") -> int:
    """Print the table; 1 where a target is missed."""
    found, n_missed = figures(Path(folder)), 0
    print(f"{'figure':40}{'before':>9}{'now':>9}{'target':>9}")
    for name, (before, target) in FIGURES.items():
        is_missed = target is not None and found[name] > target
        n_missed += is_missed
        limit = "fewer" if target is None else f"{target:,}"
        print(f"{name:40}{before:>9,}{found[name]:>9,}{limit:>9}{'  missed' if is_missed else ''}")
    return int(n_missed > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
