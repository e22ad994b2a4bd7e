"""The English messages of the source, read from it without running it: errors, and the parts that these are made of.

A message is a template, whose values are numbered: `f"{path}: no such file"` is "{1}: no such file".  A choice between
words within a message makes a template for each; what a function, a variable or an argument adds is a part of its own.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import TypeVar

SOURCE = Path(__file__).parents[2] / "src" / "steelyard"
_MOST = 24
"""Alternatives of one message; where there are more, its choices are parts."""

T = TypeVar("T")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Template = tuple[str | None, ...]
"""Texts, and None for a value."""


@dataclass(frozen=True)
class Scope:
    """Where an expression lies: names are looked up in the functions around it, the innermost first, then the file."""

    file: Path
    functions: tuple[Function, ...] = ()


@dataclass(frozen=True)
class Tree:
    """The source: functions and constants by name, calls by the name of what is called, and texts."""

    functions: dict[str, list[tuple[Function, Scope]]] = field(default_factory=lambda: defaultdict(list))
    constants: dict[str, list[tuple[ast.expr, Scope]]] = field(default_factory=lambda: defaultdict(list))
    calls: dict[str, list[tuple[ast.Call, Scope]]] = field(default_factory=lambda: defaultdict(list))
    texts: list[tuple[ast.expr, Scope]] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path = SOURCE) -> "Tree":
        """The source in a folder."""
        tree = cls()
        for file in sorted(folder.rglob("*.py")):
            tree._add(ast.parse(file.read_text(encoding="utf-8")), Scope(file))
        return tree

    def _add(self, node: ast.AST, scope: Scope, owner: str = "") -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, Function):
                self.functions[owner if child.name == "__init__" else child.name].append((child, scope))
                inner = Scope(scope.file, (child, *scope.functions))
            elif isinstance(child, ast.Call):
                self.calls[name_of(child.func)].append((child, scope))
            elif isinstance(child, ast.Assign | ast.AnnAssign) and not scope.functions and child.value is not None:
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    self.constants[name_of(target)].append((child.value, scope))
            if isinstance(child, ast.JoinedStr) or (isinstance(child, ast.Constant) and isinstance(child.value, str)):
                self.texts.append((child, inner))
            self._add(child, inner, child.name if isinstance(child, ast.ClassDef) else owner)


def name_of(node: ast.expr) -> str:
    """The last name of an expression such as `words.code`; empty for others."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


class Reader:
    """Reads templates out of expressions.

    parts   template of each part of a message -> files that have it
    """

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._seen = set[tuple[int, Path]]()
        self.parts: dict[str, set[Path]] = defaultdict(set)

    def templates(self, node: ast.expr, scope: Scope) -> list[str]:
        """What an expression can say as a whole."""
        return [numbered(template) for template in self._alternatives(node, scope)]

    def _alternatives(self, node: ast.expr, scope: Scope) -> list[Template]:
        """Templates of an expression; one value alone where it is no text that is written out."""
        templates: list[Template] = [(None,)]
        match node:
            case ast.Constant(value=str(text)):
                templates = [(text,)]
            case ast.JoinedStr(values=pieces):
                templates = self._joined(pieces, scope)
            case ast.FormattedValue(value=value):
                templates = self._alternatives(value, scope)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                templates = self._joined([left, right], scope)
            case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr() as text, op=ast.Mult()):
                templates = [(), *self._alternatives(text, scope)]
            case ast.IfExp(body=one, orelse=other):
                templates = [*self._alternatives(one, scope), *self._alternatives(other, scope)]
            case ast.BoolOp(values=values):
                templates = [template for value in values for template in self._alternatives(value, scope)]
            case _:
                self._read_parts(node, scope)
        return templates

    def _joined(self, pieces: Iterable[ast.expr], scope: Scope) -> list[Template]:
        choices = [self._alternatives(piece, scope) for piece in pieces]
        n = 1
        for choice in choices:
            n *= len(choice)
        if n > _MOST:
            for choice in choices:
                self._keep(choice if len(choice) > 1 else [], scope)
            choices = [choice if len(choice) == 1 else [(None,)] for choice in choices]
        return [tuple(part for template in chosen for part in template) for chosen in product(*choices)]

    def _keep(self, templates: Iterable[Template], scope: Scope) -> None:
        for template in templates:
            if is_prose(template):
                self.parts[numbered(template)].add(scope.file)

    def _read_parts(self, node: ast.expr, scope: Scope) -> None:
        """Keep what a value within a message can say in words."""
        for value, where in self._sources(node, scope):
            if (id(value), where.file) not in self._seen:
                self._seen.add((id(value), where.file))
                self._keep(self._alternatives(value, where), where)

    def _sources(self, node: ast.expr, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        """The expressions that a value may come from."""
        match node:
            case ast.Call(func=ast.Attribute(attr="join"), args=[ast.GeneratorExp(elt=item) | ast.ListComp(elt=item)]):
                yield item, scope
            case ast.Call(func=ast.Attribute(attr="join"), args=[ast.List(elts=items) | ast.Tuple(elts=items)]):
                yield from ((item, scope) for item in items)
            case ast.Call(func=called):
                yield from self._returned(name_of(called), scope)
                if name_of(called) in ("str", "quoted", "removesuffix") and node.args:
                    yield from self._sources(node.args[0], scope)
            case ast.Subscript(value=table):
                for value, where in [(table, scope), *self._sources(table, scope)]:
                    if isinstance(value, ast.Dict):
                        yield from ((item, where) for item in value.values)
            case ast.Name(id=name):
                yield from self._bound(name, scope)

    def _returned(self, name: str, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        for function, where in self._nearest(self._tree.functions[name], scope):
            inner = Scope(where.file, (function, *where.functions))
            for node in _steps(function):
                if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                    yield node.value, inner

    def _bound(self, name: str, scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        for i, function in enumerate(scope.functions):
            inner = Scope(scope.file, scope.functions[i:])
            values = list(_assigned(name, function))
            yield from ((value, inner) for value in values)
            names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
            if name in names or name in [argument.arg for argument in function.args.kwonlyargs]:
                yield from self._given(name, function, names, scope)
                return
            if values:
                return
        yield from self._nearest(self._tree.constants[name], scope)

    def _given(self, name: str, function: Function, names: list[str], scope: Scope) -> Iterator[tuple[ast.expr, Scope]]:
        """What calls of a function give as an argument, and its default."""
        bare = names[1:] if names[:1] in (["self"], ["cls"]) else names
        for call, where in self._tree.calls[function.name]:
            yield from ((keyword.value, where) for keyword in call.keywords if keyword.arg == name)
            if name in bare and bare.index(name) < len(call.args):
                yield call.args[bare.index(name)], where

    @staticmethod
    def _nearest(items: list[tuple[T, Scope]], scope: Scope) -> list[tuple[T, Scope]]:
        """Those of the same file, or all where it has none."""
        return [item for item in items if item[1].file == scope.file] or items


@cache
def _steps(function: Function) -> list[ast.AST]:
    """Where a function assigns or gives back something."""
    kinds = ast.Assign | ast.AnnAssign | ast.NamedExpr | ast.Return | ast.Yield
    return [node for node in ast.walk(function) if isinstance(node, kinds)]


def _assigned(name: str, function: Function) -> Iterator[ast.expr]:
    for node in _steps(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=own)], value=value) if own == name:
                yield value
            case ast.AnnAssign(target=ast.Name(id=own), value=ast.expr() as value) if own == name:
                yield value
            case ast.NamedExpr(target=ast.Name(id=own), value=value) if own == name:
                yield value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                yield from (value for target, value in zip(targets, values, strict=False) if name_of(target) == name)


def numbered(template: Template) -> str:
    """A template as catalogues write it.

    >>> numbered((None, ": no such file; did you mean ", None, "?"))
    '{1}: no such file; did you mean {2}?'
    """
    places = iter(range(1, len(template) + 1))
    return "".join(f"{{{next(places)}}}" if part is None else part for part in template)


def read_messages() -> tuple[dict[str, set[Path]], dict[str, set[Path]], set[str]]:
    """Templates of errors, of their parts, and of all texts in the source; the first two with the files that have them.

    Errors are what our own classes of errors, and those of Python that these report on, are given; notices and the
    words for types of settings count as such.
    """
    tree = Tree.of()
    reader, messages = Reader(tree), defaultdict[str, set[Path]](set)
    errors = [name for name in tree.calls if name.endswith("Error") and name not in _OURS_ALONE]
    for name in [*errors, *_OTHERS]:
        for call, scope in list(tree.calls[name]):
            for node in call.args[:1]:
                for template in reader.templates(node, scope):
                    messages[template].add(scope.file)
    everything = Reader(tree)
    texts = {template for node, scope in tree.texts for template in everything.templates(node, scope)}
    return messages, reader.parts, texts | set(everything.parts)


_OURS_ALONE = {"AssertionError", "AttributeError", "TypeError", "KeyError", "MeanError", "OSError", "TimeoutError"}
"""What users of commands never see, or see in other words."""
_OTHERS = ("Words", "remark")


def is_prose(template: Template) -> bool:
    """True if a template says anything in words."""
    text = " ".join(part for part in template if part)
    return re.search(r"[A-Za-z]{2,}", re.sub(r"`[^`]*`|--?[a-z-]+", "", text)) is not None
