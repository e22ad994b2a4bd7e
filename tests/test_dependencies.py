"""What the source imports is what pyproject.toml declares."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKAGE_OF = {
    "Stemmer": "pystemmer",
    "backports": "backports-zstd",
    "faiss": "faiss-cpu",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    # Pydantic pins the one version of its core that it works with.
    "pydantic_core": "pydantic",
}
"""Package of a module whose names differ."""

STANDARD = {*sys.stdlib_module_names, "compression"}
"""`compression` since Python 3.14."""

HOSTS = {"pytest_plugin.py": {"pytest"}}
"""Modules that are imported by nothing but the library that they extend."""


def packages(requirements: list[str]) -> set[str]:
    names = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {re.sub(r"[._-]+", "-", name.group()).lower() for name in names if name}


CORE = packages(PROJECT["dependencies"])
EXTRAS = {
    extra: packages(names) for extra, names in PROJECT["optional-dependencies"].items() if extra not in ("dev", "docs")
}


def package(module: str) -> str:
    name = module.partition(".")[0]
    return PACKAGE_OF.get(name, name.replace("_", "-").lower())


def imported(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Modules of the import statements, wherever these are."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def required(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Module and extra of each call of `require`."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "require":
            (extra,) = (ast.literal_eval(keyword.value) for keyword in node.keywords if keyword.arg == "extra")
            yield ast.literal_eval(node.args[0]), extra


@cache
def statements() -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """File and module of each import, and module and extra of each call of `require`; of all files, each read once."""
    imports, calls = set[tuple[str, str]](), set[tuple[str, str]]()
    for path in sorted((ROOT / "src" / "steelyard").rglob("*.py")):
        # A tree is forgotten before the next one: looking for garbage among all of them takes longer than parsing.
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        imports |= {(path.name, module) for module in imported(nodes)}
        calls |= set(required(nodes))
    return imports, calls


def test_every_import_is_declared() -> None:
    declared = CORE.union(*EXTRAS.values())
    modules = {(name, module.partition(".")[0]) for name, module in statements()[0]}
    foreign = {(name, module) for name, module in modules if module not in STANDARD | {"steelyard"}}
    assert {"numpy", "polars", "rich"} <= {module for _, module in foreign}
    assert {(n, m) for n, m in foreign if package(m) not in declared and m not in HOSTS.get(n, ())} == set()


def test_every_extra_has_what_is_required_of_it() -> None:
    calls = statements()[1]
    assert {extra for _, extra in calls} == set(EXTRAS)
    assert {(module, extra) for module, extra in calls if package(module) not in EXTRAS[extra] | CORE} == set()


def test_no_package_is_declared_for_nothing() -> None:
    imports, calls = statements()
    modules = {module for _, module in imports} | {module for module, _ in calls}
    unused = CORE.union(*EXTRAS.values()) - {package(module) for module in modules}
    assert unused == {"psycopg-binary"}  # The client of PostgreSQL that psycopg imports.
