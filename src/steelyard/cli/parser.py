"""How a command reads its arguments: they are declared as data, and argparse reads and explains them.

Help and mistakes wait for this, so nothing that takes time is imported here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NoReturn, get_args, get_origin

from steelyard.base.errors import InputError, without_long_values
from steelyard.base.limits import is_union
from steelyard.base.nearest import nearest
from steelyard.base.options import (
    CompareOptions,
    Options,
    ReportOptions,
    TestOptions,
    WeighOptions,
    hints_of,
    options_of,
    shown_default,
)
from steelyard.cli.translation import translator
from steelyard.reports.visible import wrapped
from steelyard.text.scripts import WIDE

_HELP_COLUMN = 30
_HEADING_COLON = re.compile(rf"(?<=[{WIDE}]):$", re.MULTILINE)


@dataclass(frozen=True)
class Argument:
    """An argument, or an option where its names begin with dashes.

    settings   what argparse's `add_argument` takes
    shown      a default that a reader sees, and that is not among the values where the option is not given
    reads      it names files that the command reads;   writes   it names files that the command writes
    section    the title below which `--help-all` shows it; "options" by default
    """

    names: tuple[str, ...]
    help: str
    settings: dict[str, Any]
    shown: object = None
    reads: bool = False
    writes: bool = False
    section: str = ""

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

    def add_to(self, parser: argparse._ActionsContainer, say: Callable[[str], str], *, shown: bool = True) -> None:
        """Let a parser take it, or a group of one; its default is shown behind its help.

        say   translates the help
        """
        default = self.settings.get("default")
        value = shown_default(self.shown if default is argparse.SUPPRESS else default)
        text = f"{say(self.help)}{value}".replace("%", "%%") if shown else argparse.SUPPRESS
        parser.add_argument(*self.names, help=text, **self.settings)


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
    names = {name: kind for kind in reversed(kinds) for name, *_ in options_of(kind)}
    arguments = [argument for kind in kinds for argument in _declared(kind, [n for n in names if names[n] is kind])]
    return [argument for argument in arguments if not only or argument.dest in only]


def _declared(kind: type[Options], names: Sequence[str]) -> Iterator[Argument]:
    for name, default, words in (own for own in options_of(kind) if own[0] in names):
        flags = words["flags"] or [f"--{name.replace('_', '-')}"]
        settings = {"dest": name, "default": argparse.SUPPRESS, **_read_as(hints_of(kind)[name]), **words["spelling"]}
        without = settings.pop("without", None)
        if settings.pop("many", False):
            settings["action"] = "append"
        if settings.get("action") == "store_true" or settings.get("nargs"):
            settings.pop("type", None)
        section = _SECTIONS.get(kind, "")
        yield Argument(tuple(flags), words["help"], settings, default, reads=words["reads"], section=section)
        if without:
            dest = without.removeprefix("--").replace("-", "_")
            text = f"Ignore {name}, although there are some."
            yield replace(flag(without, dest=dest, default=argparse.SUPPRESS, help=text), section=section)


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

    def parse(self, prog: str, words: list[str], lang: str = "en") -> dict[str, Any]:
        """The values of all arguments by name.

        lang     the language of help
        Raises   InputError for words that it does not take; SystemExit after help.
        """
        say = translator(lang, "help")
        parser = _Parser(prog, usage=[word.usage for word in self.arguments], description=self.help, lang=lang)
        if self.raw and words not in (["--help"], ["--help-all"]):
            return {self.arguments[0].names[0]: words}
        shown = self.most_used
        n_hidden = sum(not item.usage and item not in shown for item in self.arguments)
        whole = "--help-all" in words
        parser.add_argument("--help-all", action="help", help=argparse.SUPPRESS)
        parser.epilog = say(f"{n_hidden} more options: {prog} --help-all") if n_hidden and not whole else None
        groups: dict[str, argparse._ActionsContainer] = {"": parser}
        for item in self.arguments:
            section = item.section if whole else ""
            if section not in groups:
                groups[section] = parser.add_argument_group(say(section))
            item.add_to(groups[section], say, shown=whole or bool(item.usage) or item in shown)
        # Options may lie between arguments.
        return vars(parser.parse_intermixed_args(words))

    @property
    def most_used(self) -> list[Argument]:
        """The options that `--help` shows: all of a few, else the five that are used most, in their order."""
        options = [item for item in self.arguments if not item.usage]
        if len(options) <= _FEW:
            return options
        rank = {name: place for place, name in enumerate(_MOST_USED)}
        required = [item for item in options if item.settings.get("required")]
        first = sorted(options, key=lambda item: (item not in required, rank.get(item.dest, len(rank))))[:_SHOWN]
        return [item for item in options if item in first]


def overview(
    prog: str, description: str, sections: Mapping[str, Mapping[str, str]], *, lang: str, version: bool = False
) -> str:
    """The `--help` without a command: the name and help of each, by section.

    version   whether there is `--version` too
    """
    say = translator(lang, "help")
    parser = _Parser(prog, usage=["COMMAND", "[ARGUMENTS]..."], description=description, lang=lang)
    if version:
        parser.add_argument("--version", action="store_true", help=say("Show the version and exit."))
    for section, commands in sections.items():
        group = parser.add_argument_group(say(section))
        for name, help in commands.items():
            group.add_argument(name, help=say(help).replace("%", "%%"))
    return parser.format_help()


_FEW, _SHOWN = 8, 5
"""A command of so many options shows them all; one of more, so many."""

_MOST_USED = tuple(
    "measures profile baseline margin config questions junit output format k judge_model model rate slo verdicts n "
    "difference into target judge cluster min_gain lang".split()
)
"""Names of options, those that are used most first."""

_SECTIONS: dict[type[Options], str] = {
    WeighOptions: "how runs are evaluated",
    TestOptions: "how systems are compared",
    CompareOptions: "how systems are compared",
    ReportOptions: "how systems are compared",
}
"""Declared options -> the section of `--help-all` that shows them."""


class _WideFormatter(argparse.HelpFormatter):
    """Help in Chinese, whose characters take two columns, and whose lines end between any of them."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(text, width)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in wrapped(text, width - len(indent)))

    def format_help(self) -> str:
        """The help, with the colons of its headings as wide as their characters."""
        return _HEADING_COLON.sub("：", super().format_help())

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        """Take the line of usage."""
        super().add_usage(usage, actions, groups, "用法：" if prefix is None else prefix)


class _Parser(argparse.ArgumentParser):
    """argparse with our own words for mistakes, and help in a language."""

    def __init__(self, prog: str, *, usage: Sequence[str], description: str, lang: str) -> None:
        say = translator(lang, "help")
        formatter = argparse.HelpFormatter if lang == "en" else _WideFormatter
        super().__init__(
            prog,
            usage=" ".join(filter(None, [prog, "[OPTIONS]", *usage])),
            description=say(description).replace("%", "%%"),
            formatter_class=lambda prog: formatter(prog, max_help_position=_HELP_COLUMN),
            add_help=False,
            allow_abbrev=False,
        )
        for group in (self._positionals, self._optionals):
            group.title = say(str(group.title))
        self.add_argument("--help", "-h", action="help", help=say("Show this message and exit."))

    def _print_message(self, message: str, file: Any = None) -> None:
        """Print help; argparse says nothing where that fails."""
        print(message, end="", file=file or sys.stdout)

    def error(self, message: str) -> NoReturn:
        """Raise   InputError, with the place where all options are explained."""
        _, unknown, words = message.partition("unrecognized arguments: ")
        advice = f"try `{self.prog} --help`"
        if unknown and words.startswith("--"):
            there = [name for name in self._option_string_actions if name.startswith("--")]
            advice = nearest(words.split()[0].partition("=")[0], there, near=0.7, otherwise=advice)
        raise InputError(f"{without_long_values(message)}; {advice}")
