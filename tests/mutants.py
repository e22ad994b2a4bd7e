"""Mutants of the code that computes: small wrong changes, each of which some test must notice.

    python -m tests.mutants --seed 1              30 mutants, run one after the other; some minutes
    python -m tests.mutants --seed 1 --only 4,17  two of them again
    python -m tests.mutants --seed 1 --near       with the tests of their own folders alone: a quick look
    python -m tests.mutants --seed 1 --list       what they change, without a test

A mutant lives in a copy of the tree. The tests are those of `make test`, the mutant's own folder first; the first that
fails kills it. One that survives needs a test, or a line in
tests/cases/equivalent_mutants.jsonl that says why no test can tell it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, chain, islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/steelyard"
SOURCES = ("measures/**/*.py", "stats/**/*.py", "align/**/*.py")
TIME_LIMIT_S = 1200
TIMEOUT, BREAKDOWN = "the time limit", "pytest itself"
LIKELIEST = ("golden", "align", "measures", "stats", "experiment", "comparison", "gates", "diagnosis")
"""Where a mutant that its own folder lets live is most likely to be killed."""

EQUIVALENT = {
    (case["file"], case["line"], case["replacement"]): case["why"]
    for case in map(json.loads, (ROOT / "tests/cases/equivalent_mutants.jsonl").read_text("utf-8").splitlines())
}
"""File, line and replacement; why the code means the same with it."""

_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all"), ("floor", "ceil"), ("zeros", "ones"),
    ("left", "right"), ("first", "last"), ("min_horizontal", "max_horizontal"),
)  # fmt: skip
_NAMES = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}


@dataclass(frozen=True)
class Mutant:
    """One change: the code between two offsets of a file, the line it begins in, and what takes its place."""

    file: str
    line: int
    start: int
    end: int
    statement: str
    code: str
    replacement: str

    def applied(self, source: bytes) -> bytes:
        """The file with the change in it."""
        return source[: self.start] + self.replacement.encode() + source[self.end :]

    @property
    def equivalent(self) -> str | None:
        """Why the code means the same with the change, or none."""
        return EQUIVALENT.get((self.file.removeprefix(f"{PACKAGE}/"), self.statement, self.replacement))

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {_one_line(self.code)}  →  {_one_line(self.replacement)}"


def _one_line(code: str) -> str:
    return " ".join(code.split())


def mutants(file: str, source: str) -> list[list[Mutant]]:
    """The mutants of a file, by the place that they change."""
    text = source.encode()
    lines = text.splitlines(keepends=True)
    begins = [0, *accumulate(map(len, lines))]
    places: dict[tuple[int, int], dict[str, Mutant]] = {}
    for node, change in chain.from_iterable(map(_changes, _mutable(ast.parse(source)))):
        start, end = begins[node.lineno - 1] + node.col_offset, begins[node.end_lineno - 1] + node.end_col_offset
        replacement = _text(change)
        statement = lines[node.lineno - 1].decode().strip()
        mutant = Mutant(file, node.lineno, start, end, statement, text[start:end].decode(), replacement)
        places.setdefault((start, end), {})[replacement] = mutant
    return [list(mutants.values()) for mutants in places.values()]


def _mutable(node: ast.AST) -> Iterator[ast.AST]:
    """Expressions and statements that compute; no types, messages or docstrings, no decorators of classes, and no
    `zip(strict=)`, by which the code checks itself."""
    yield node
    passed_over = {"annotation", "returns", "exc"} | ({"decorator_list"} if isinstance(node, ast.ClassDef) else set())
    for field, value in ast.iter_fields(node):
        if field not in passed_over:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _passed_over(child):
                    yield from _mutable(child)


def _passed_over(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg == "strict")


def _text(change: ast.AST) -> str:
    text = ast.unparse(change)
    return f"({text})" if isinstance(change, ast.expr) and not isinstance(change, ast.Slice) else text


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What may be put in the place of a node: its wrong neighbours."""
    match node:
        case ast.Compare(ops=[op]):
            yield from ((node, _with(node, ops=[other()])) for other in _COMPARISONS[type(op)])
        case ast.BinOp(op=op) if type(op) in _ARITHMETIC:
            yield node, _with(node, op=_ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op):
            yield node, _with(node, op=ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub() | ast.Not() | ast.Invert()):
            yield node, node.operand
        case ast.IfExp():
            yield node, _with(node, body=node.orelse, orelse=node.body)
        case ast.If(test=(ast.Name() | ast.Attribute() | ast.Call()) as test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.Constant(value=value):
            yield from ((node, ast.Constant(wrong)) for wrong in _wrong_values(value))
        case ast.Name(id="min" | "max" | "any" | "all", ctx=ast.Load()):
            yield node, ast.Name(_NAMES[node.id])
        case ast.Attribute(ctx=ast.Load()) if node.attr in _NAMES:
            yield node, _with(node, attr=_NAMES[node.attr])
        case ast.Slice():
            yield node, _with(node, lower=_plus_one(node.lower or ast.Constant(0)))
            yield node, _with(node, upper=_plus_one(node.upper) if node.upper else ast.Constant(-1))
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Assign(targets=[ast.Subscript()]) | ast.Raise():
            yield node, ast.Pass()


def _wrong_values(value: object) -> list[object]:
    match value:
        case bool():
            return [not value]
        case int() | float():
            return [value + 1, value - 1]
        case str() if value in _NAMES:
            return [_NAMES[value]]
    return []


def _plus_one(bound: ast.expr) -> ast.expr:
    return ast.BinOp(bound, ast.Add(), ast.Constant(1))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """A copy of the node with other fields."""
    return type(node)(**dict(ast.iter_fields(node)) | fields)


def sample(root: Path, seed: int, n: int) -> list[Mutant]:
    """One mutant each of n places of the sources in the tree at root."""
    files = sorted(file for pattern in SOURCES for file in (root / PACKAGE).glob(pattern))
    places = [place for file in files for place in mutants(str(file.relative_to(root)), file.read_text("utf-8"))]
    rng = random.Random(seed)
    return [rng.choice(place) for place in rng.sample(places, n)]


def room_of(file: str) -> str:
    """The room of a file, whose tests are in the folder of the same name.

    >>> room_of("src/steelyard/stats/power/power.py"), room_of("src/steelyard/align/gold.py")
    ('stats', 'align')
    """
    return Path(file).relative_to(PACKAGE).parts[0]


class Tree:
    """A copy of the tree, in which one mutant at a time lives and is tested."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        (folder / "shared").symlink_to(ROOT.parent / "shared")
        listing = subprocess.run(
            ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for name in filter(None, listing.stdout.split("\0")):
            if (ROOT / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.root / name)

    def killer(self, mutant: Mutant, *, near: bool = False) -> str | None:
        """The first test that fails because of the mutant, of its own folder or of all; or none."""
        file = self.root / mutant.file
        source = file.read_bytes()
        for paths in islice(self._rounds(mutant), 1 if near else None):
            file.write_bytes(mutant.applied(source))
            failure = self._failure(paths)
            file.write_bytes(source)
            if failure is not None:
                suspect = mutant.file if failure in (BREAKDOWN, TIMEOUT) else failure
                if self._failure([suspect]) is not None:
                    raise SystemExit(f"{suspect} fails without a mutant, too: mend it first")
                return failure
        return None

    def _rounds(self, mutant: Mutant) -> Iterator[list[str]]:
        """The tests of the mutant's own folder, the module's own first; then all others, the likeliest first."""
        package, module = room_of(mutant.file), Path(mutant.file).stem
        own = sorted(self._tests(package), key=lambda path: not path.endswith(f"/test_{module}.py"))
        yield [mutant.file, *own]
        folders = sorted(path.parent.name for path in self.root.glob("tests/*/__init__.py"))
        order = sorted(folders, key=lambda name: LIKELIEST.index(name) if name in LIKELIEST else len(LIKELIEST))
        others = [f"tests/{name}" for name in order if name != package]
        yield [*others, *self._tests("."), "src"]

    def _tests(self, folder: str) -> list[str]:
        """The files of tests in a folder."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.glob(f"tests/{folder}/test_*.py"))

    def _failure(self, paths: list[str]) -> str | None:
        """The first failure of these tests, or none."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "--hypothesis-seed=0", *paths]
        environment = os.environ | {"PYTHONPATH": str(self.root / "src")}
        options = {"cwd": self.root, "env": environment, "capture_output": True, "text": True, "timeout": TIME_LIMIT_S}
        try:
            run = subprocess.run(command, check=False, **options)
        except subprocess.TimeoutExpired:
            return TIMEOUT
        if run.returncode == 0:
            return None
        failures = re.findall(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", run.stdout, re.M)
        return failures[0] if failures else BREAKDOWN


def main() -> int:
    """Judge the mutants of a seed; 1 where one survives."""
    parser = argparse.ArgumentParser(description="small wrong changes, and the tests that notice them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--n", type=int, default=30, help="how many mutants (default: 30)")
    parser.add_argument("--only", help="numbers of mutants, with commas between them")
    parser.add_argument("--near", action="store_true", help="run the tests of the mutant's own folder alone")
    parser.add_argument("--list", action="store_true", help="show the mutants, and test nothing")
    options = parser.parse_args()
    numbers = [int(number) for number in options.only.split(",")] if options.only else range(1, options.n + 1)
    n_survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Tree(Path(folder))
        drawn = sample(tree.root, options.seed, options.n)
        for number in numbers:
            mutant = drawn[number - 1]
            print(f"{number:3} {mutant}", flush=True)
            if options.list:
                continue
            begin = time.monotonic()
            verdict = f"equivalent: {mutant.equivalent}" if mutant.equivalent else None
            if verdict is None:
                killer = tree.killer(mutant, near=options.near)
                n_survivors += killer is None
                verdict = "SURVIVED" if killer is None else f"killed by {killer}"
            print(f"    {verdict} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{n_survivors} survived")
    return min(n_survivors, 1)


if __name__ == "__main__":
    sys.exit(main())
