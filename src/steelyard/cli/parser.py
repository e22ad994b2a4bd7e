"""How a command reads its arguments: they are declared as data, and argparse reads and explains them.

Whoever asks for help or mistypes a word waits for this, so nothing that takes time is imported here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin

from steelyard.base.errors import InputError, without_long_values
from steelyard.base.limits import is_union
from steelyard.base.options import Options, hints_of, options_of, shown_default

_HELP_COLUMN = 30


@dataclass(frozen=True)
class Argument:
    """An argument, or an option where its names begin with dashes.

    settings   what argparse's `add_argument` takes
    shown      a default that a reader sees, and that is not among the values where the option is not given
    reads      it names files that the command reads;   writes   it names files that the command writes
    """

    names: tuple[str, ...]
    help: str
    settings: dict[str, Any]
    shown: object = None
    reads: bool = False
    writes: bool = False

    @property
    def usage(self) -> str:
        """Its place in the usage line, nothing for an option.

        >>> argument("runs", help="Rankings.", nargs="+").usage, argument("-k", help="Depth.").usage
        ('RUNS...', '')
        """
        if self.names[0].startswith("-"):
            return ""
        name, nargs = str(self.settings["metavar"]), str(self.settings.get("nargs"))
        return {"?": f"[{name}]", "*": f"[{name}]...", "+": f"{name}..."}.get(nargs, name)

    @property
    def dest(self) -> str:
        """Its name among the values."""
        return str(self.settings.get("dest") or self.names[0].lstrip("-").replace("-", "_"))

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Let a parser take it; its default is shown behind its help."""
        default = self.settings.get("default")
        shown = shown_default(self.shown if default is argparse.SUPPRESS else default)
        parser.add_argument(*self.names, help=f"{self.help}{shown}".replace("%", "%%"), **self.settings)


def argument(*names: str, help: str, reads: bool = False, writes: bool = False, **settings: Any) -> Argument:
    """An argument, or an option with a value."""
    if not names[0].startswith("-"):
        settings.setdefault("metavar", names[0].upper())
    return Argument(names, help, settings, reads=reads, writes=writes)


def repeated(*names: str, help: str, dest: str, **settings: Any) -> Argument:
    """An option that may be repeated; a list of its values, empty without it."""
    return argument(*names, help=help, dest=dest, action="append", default=[], **settings)


def flag(*names: str, help: str, **settings: Any) -> Argument:
    """An option without a value."""
    return Argument(names, help, {"action": "store_true", **settings})


def declared(*kinds: type[Options], only: Sequence[str] = ()) -> list[Argument]:
    """The options that are declared for Python, as the command line spells them: values hold those that are given.

    only   the names of some, all without any
    """
    arguments = [argument for kind in kinds for argument in _declared(kind)]
    return [argument for argument in arguments if not only or argument.dest in only]


def _declared(kind: type[Options]) -> Iterator[Argument]:
    for name, default, words in options_of(kind):
        flags = words["flags"] or [f"--{name.replace('_', '-')}"]
        settings = {"dest": name, "default": argparse.SUPPRESS, **_read_as(hints_of(kind)[name]), **words["spelling"]}
        without = settings.pop("without", None)
        if settings.pop("many", False):
            settings["action"] = "append"
        if settings.get("action") == "store_true" or settings.get("nargs"):
            settings.pop("type", None)
        yield Argument(tuple(flags), words["help"], settings, default, reads=words["reads"])
        if without:
            dest = without.removeprefix("--").replace("-", "_")
            yield flag(without, dest=dest, default=argparse.SUPPRESS, help=f"Ignore {name}, although there are some.")


def _read_as(hint: Any) -> dict[str, Any]:
    """The settings of argparse for a declared type."""
    if get_origin(hint) is Annotated:
        return _read_as(get_args(hint)[0])
    if is_union(hint):
        return _read_as(next(member for member in get_args(hint) if member is not type(None)))
    if get_origin(hint) is Literal:
        return {"choices": get_args(hint)}
    if get_origin(hint) is Sequence:
        return {"type": names}
    return {"action": "store_true"} if hint is bool else {"type": hint} if hint in (int, float) else {}


def names(text: str) -> list[str]:
    """The names that an option such as --steps lists.

    >>> names("lower,quotes")
    ['lower', 'quotes']
    """
    return text.split(",")


@dataclass(frozen=True)
class Command:
    """What `--help` shows of a command, and what runs it.

    run     takes the values of the arguments by these names, behind the call of the command
    calls   MODULE:NAME of the function of Python that the command stands for, imported before it runs
    makes   MODULE:NAME of the class of its result, where the command chooses among the formats of that
    raw     `run` takes the list of all words behind the command alone, and reads them itself
    """

    help: str
    arguments: Sequence[Argument]
    run: Callable[..., int | None]
    calls: str = ""
    makes: str = ""
    raw: bool = False

    def parse(self, prog: str, words: list[str]) -> dict[str, Any]:
        """The values of all arguments by name.

        Raises   InputError for words that it does not take; SystemExit after help.
        """
        parser = _Parser(prog, usage=[word.usage for word in self.arguments], description=self.help)
        if self.raw and words != ["--help"]:
            return {self.arguments[0].names[0]: words}
        for item in self.arguments:
            item.add_to(parser)
        # Options may lie between arguments.
        return vars(parser.parse_intermixed_args(words))


def overview(prog: str, description: str, commands: Mapping[str, str], *, version: bool = False) -> str:
    """The `--help` without a command: the name and help of each.

    version   whether there is `--version` too
    """
    parser = _Parser(prog, usage=["COMMAND", "[ARGUMENTS]..."], description=description)
    if version:
        parser.add_argument("--version", action="store_true", help="Show the version and exit.")
    group = parser.add_argument_group("commands")
    for name, help in commands.items():
        group.add_argument(name, help=help.replace("%", "%%"))
    return parser.format_help()


class _Parser(argparse.ArgumentParser):
    """argparse with our own words for mistakes."""

    def __init__(self, prog: str, *, usage: Sequence[str], description: str) -> None:
        super().__init__(
            prog,
            usage=" ".join(filter(None, [prog, "[OPTIONS]", *usage])),
            description=description.replace("%", "%%"),
            formatter_class=lambda prog: argparse.HelpFormatter(prog, max_help_position=_HELP_COLUMN),
            add_help=False,
            allow_abbrev=False,
        )
        self.add_argument("--help", "-h", action="help", help="Show this message and exit.")

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help; argparse says nothing where that fails."""
        print(message, end="", file=file or sys.stdout)

    def error(self, message: str) -> NoReturn:
        """Raise   InputError, with the place where all options are explained."""
        raise InputError(f"{without_long_values(message)}; try `{self.prog} --help`")
