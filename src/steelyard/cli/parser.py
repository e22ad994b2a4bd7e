"""How a command reads its arguments: they are declared as data, and argparse reads and explains them.

Whoever asks for help or mistypes a word waits for this, so nothing that takes time is imported here.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from steelyard.base.errors import InputError, without_long_values

_HELP_COLUMN = 30


@dataclass(frozen=True)
class Argument:
    """An argument, or an option where its names begin with dashes.

    settings   what argparse's `add_argument` takes
    """

    names: tuple[str, ...]
    help: str
    settings: dict[str, Any]

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

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        """Let a parser take it; its default is shown behind its help."""
        default = self.settings.get("default")
        shown = "" if default is None or isinstance(default, bool | list) else f" [{default}]"
        parser.add_argument(*self.names, help=f"{self.help}{shown}".replace("%", "%%"), **self.settings)


def argument(*names: str, help: str, **settings: Any) -> Argument:
    """An argument, or an option with a value."""
    if not names[0].startswith("-"):
        settings.setdefault("metavar", names[0].upper())
    return Argument(names, help, settings)


def repeated(*names: str, help: str, dest: str, **settings: Any) -> Argument:
    """An option that may be repeated; a list of its values, empty without it."""
    return argument(*names, help=help, dest=dest, action="append", default=[], **settings)


def flag(*names: str, help: str, **settings: Any) -> Argument:
    """An option without a value."""
    return Argument(names, help, {"action": "store_true", **settings})


@dataclass(frozen=True)
class Command:
    """What `--help` shows of a command, and what its module's `run` takes by these names.

    raw   the one argument is the list of all words behind the command, which reads them itself
    """

    help: str
    arguments: Sequence[Argument]
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
    """What `--help` shows without a command: the name and help of each.

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
