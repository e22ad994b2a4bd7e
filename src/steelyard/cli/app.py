"""Which command the words behind `steelyard` ask for, and how it is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from steelyard.base.errors import InputError, quoted
from steelyard.base.nearest import nearest
from steelyard.cli.commands import ALONE, COMMANDS, GROUPS, SECTIONS
from steelyard.cli.parser import overview
from steelyard.cli.translation import LANGUAGE_OPTION, asked_languages, language_of, without_language
from steelyard.reports.words import check_language

_HELP = ("--help", "-h")


def app(words: list[str]) -> int | None:
    """Run the command that the words behind `steelyard` ask for, and return the exit status.

    Raises   SteelyardError, and SystemExit where a command leaves with a status of its own.
    """
    return command_of(words)()


def command_of(words: list[str]) -> Callable[[], int | None]:
    """The command that the words behind `steelyard` ask for, ready to run: arguments are read, modules are imported.

    Raises   InputError for words that no command takes; SystemExit after help.
    """
    if words[:1] == ["--version"]:
        from steelyard._version import __version__

        return partial(_printed, f"steelyard {__version__}\n")
    language, others = without_language(words)
    lang = language_of(words)
    name, rest = _split(others)
    if name not in COMMANDS or COMMANDS[name].raw:
        for code in asked_languages(language):
            check_language(code)
    if name not in COMMANDS and (not rest or rest[0] in _HELP):
        return partial(_printed, _overview(name, lang), 0 if rest else 2)
    if name not in COMMANDS:
        wrong = f"{name} {rest[0]}".strip()
        names = [own for own in [*COMMANDS, *GROUPS] if own.startswith(f"{name} " if name else "")]
        advice = nearest(
            wrong, names, near=0.8 if name else 0.5, otherwise=f"try `{f'steelyard {name}'.strip()} --help`"
        )
        raise InputError(f"no command is called {quoted(wrong)}; {advice}")
    takes_language = any(LANGUAGE_OPTION in item.names for item in COMMANDS[name].arguments)
    values = COMMANDS[name].parse(f"steelyard {name}", [*language * takes_language, *rest], lang)
    if COMMANDS[name].raw:
        return partial(COMMANDS[name].run, **values)
    if "truth" in values and values.get("runs") and values.get("format") not in ("csv", "trec"):
        # The result will bear a signature, with digests; imports alone leave a core enough time to take them.
        from steelyard.io.named import run_paths
        from steelyard.io.source import hash_ahead

        hash_ahead([values["truth"], *run_paths(values["runs"])])
    from steelyard.cli.calls import prepare  # Help and mistyped words load nothing that reads or writes.

    return prepare(COMMANDS[name], values, words)


def _split(words: list[str]) -> tuple[str, list[str]]:
    """The name of the command, or of a group whose command is not named, and the words behind it."""
    if words and words[0] in ALONE and (len(words) == 1 or (words[1].startswith("-") and words[1] not in _HELP)):
        return ALONE[words[0]], words[1:]
    if words and words[0] in GROUPS:
        command = " ".join(words[:2])
        return (command, words[2:]) if command in COMMANDS else (words[0], words[1:])
    return (words[0], words[1:]) if words and words[0] in COMMANDS else ("", words)


def _overview(group: str, lang: str) -> str:
    """The `--help` of all commands, or of a group."""
    if group:
        commands = {
            name.removeprefix(f"{group} "): own for name, own in COMMANDS.items() if name.startswith(f"{group} ")
        }
        listed = {name: own.help for name, own in commands.items()}
        return overview(f"steelyard {group}", GROUPS[group], {"commands": listed}, lang=lang)
    sections = {
        title: {name: GROUPS[name] if name in GROUPS else COMMANDS[name].help for name in names}
        for title, names in SECTIONS.items()
    }
    return overview("steelyard", "Steelyard (秤) weighs retrieval and RAG systems.", sections, lang=lang, version=True)


def _printed(text: str, status: int = 0) -> int:
    print(text, end="")
    return status
