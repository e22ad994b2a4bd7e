"""What the command line takes, and that to ask for it costs nothing."""

import inspect
import os
import re
import subprocess
import sys
from argparse import SUPPRESS
from importlib import import_module
from operator import attrgetter

import pytest

from steelyard.base.errors import InputError
from steelyard.cli.commands import COMMANDS, GROUPS, SECTIONS
from steelyard.cli.options import OUTPUT
from steelyard.cli.parser import Command, argument, flag, repeated
from tests.cli.command import complaint, printed, steelyard

HEAVY = ("numpy", "polars", "pydantic", "rich", "scipy")


@pytest.mark.parametrize(
    "words",
    [
        "--help",
        "--version",
        "evaluate --help",
        "report -h",
        "trec-eval -h",
        "nonsense",
        "evaluate --nonsense",
        "review --help",
        "review import -h",
        "review nonsense",
    ],
)
@pytest.mark.parametrize("language", ["", "zh_CN.UTF-8"])
def test_help_and_mistakes_wait_for_nothing(words: str, language: str) -> None:
    code = f"try: main()\nexcept SystemExit: print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; from steelyard.cli import main\n{code}", *words.split()],
        capture_output=True,
        check=True,
        env=os.environ | {"LC_ALL": language},
    )
    # The widths of Chinese characters are those that rich knows; a help without any line to wrap does without them.
    waits = ("['rich']", "[]") if language and "用法" in done.stdout.decode() else ("[]",)
    assert done.stdout.decode().splitlines()[-1] in waits


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_takes_what_is_declared(name: str) -> None:
    required = [item.names[0] for item in COMMANDS[name].arguments if item.usage.startswith(item.names[0].upper())]
    words = ["file"] * len(required)
    for item in COMMANDS[name].arguments:
        words += [item.names[0], next(iter(item.settings.get("choices", "1")))] * bool(item.settings.get("required"))
    values = COMMANDS[name].parse(name, words).keys()
    values |= {item.settings["dest"] for item in COMMANDS[name].arguments if item.settings.get("default") is SUPPRESS}
    values -= {"lang", "format", "safe_csv", "explain"}  # These say how the result is written.
    values -= {"output"} if OUTPUT in COMMANDS[name].arguments else set()
    taken = list(inspect.signature(COMMANDS[name].run).parameters.values())
    taken = taken if COMMANDS[name].raw else taken[1:]
    named = {parameter.name for parameter in taken if parameter.kind is not parameter.VAR_KEYWORD}
    # What a command hands on as settings need not be named.
    assert named <= values
    assert named == values or len(named) < len(taken)


@pytest.mark.parametrize("command", [command for command in COMMANDS.values() if command.calls])
def test_a_command_names_what_it_stands_for(command: Command) -> None:
    for name in filter(None, (command.calls, command.makes)):
        module, own = name.split(":")
        assert callable(attrgetter(own)(import_module(module)))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_explains_every_argument(name: str) -> None:
    text = printed(*name.split(), "--help-all", columns=300)
    assert text.startswith(f"usage: steelyard {name} [OPTIONS]")
    assert COMMANDS[name].help in text
    for item in COMMANDS[name].arguments:
        assert item.help in text
        assert item.usage in text


SAMPLE = Command(
    "A sample.",
    [
        argument("first", help="One."),
        argument("rest", nargs="+", help="More."),
        repeated("--many", "-m", dest="many", help="100% of them.", type=int),
        argument("--number", type=float, default=2.5, help="A number."),
        argument("--count", type=int, default=0, help="A count."),
        flag("--yes", "-y", help="Whether."),
    ],
    print,
)


@pytest.mark.parametrize(
    ("words", "want"),
    [
        ("a b", {}),
        ("a -m 1 b -m 2 c", {"rest": ["b", "c"], "many": [1, 2]}),
        ("-ym3 a b", {"yes": True, "many": [3]}),
        ("a - --number -1", {"rest": ["-"], "number": -1.0}),
        ("--number=1e-3 -- a b", {"number": 0.001}),
    ],
)
def test_words_become_values(words: str, want: dict) -> None:
    plain = {"first": "a", "rest": ["b"], "many": [], "number": 2.5, "count": 0, "yes": False}
    assert SAMPLE.parse("steelyard sample", words.split()) == plain | want


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("a", "the following arguments are required: REST; try `steelyard sample --help`"),
        ("a b --num 3", "unrecognized arguments: --num"),
        ("a b --nubmer=3", "unrecognized arguments: --nubmer=3; did you mean --number?"),
        ("a b --colour 3", "unrecognized arguments: --colour 3; try `steelyard sample --help`"),
        ("a b --number x", "argument --number: invalid float value: 'x'"),
        ("a b --number", "argument --number: expected one argument"),
    ],
)
def test_what_is_wrong_is_named(words: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        SAMPLE.parse("steelyard sample", words.split())
    assert message in str(caught.value)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_word_that_is_declared(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        COMMANDS[name].parse(f"steelyard {name}", ["--help-all"])
    text = "".join(capsys.readouterr().out.split())
    declared = [COMMANDS[name].help, *(item.help for item in COMMANDS[name].arguments)]
    assert [words for words in declared if "".join(words.split()) not in text] == []


def test_defaults_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        SAMPLE.parse("steelyard sample", ["--help"])
    text = capsys.readouterr().out
    assert "usage: steelyard sample [OPTIONS] FIRST REST...\n" in text
    assert all(words in text for words in ("100% of them.\n", "A number. [2.5]\n", "A count. [0]\n", "Whether.\n"))


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(group: str) -> None:
    text = printed(group, "--help", columns=300)
    assert text.startswith(f"usage: steelyard {group} [OPTIONS] COMMAND")
    assert GROUPS[group] in text
    assert GROUPS[group] in printed("--help", columns=300)
    own = {name: command for name, command in COMMANDS.items() if name.startswith(f"{group} ")}
    assert own
    for name, command in own.items():
        assert re.search(rf"^  {name.split()[1]} +{re.escape(command.help)}$", text, re.MULTILINE)
        assert command.help not in printed("--help", columns=300)


def test_a_group_without_a_command_shows_its_help() -> None:
    assert steelyard("review").returncode == 2
    assert steelyard("review").stdout == steelyard("review", "--help").stdout
    assert complaint("review", "importt") == (
        "steelyard: no command is called 'review importt'; did you mean review import?\n"
    )
    assert complaint("review", "x") == "steelyard: no command is called 'review x'; try `steelyard review --help`\n"
    assert complaint("reviw") == "steelyard: no command is called 'reviw'; did you mean review?\n"


def test_an_unknown_command_is_answered_with_the_nearest() -> None:
    assert complaint("evalute") == "steelyard: no command is called 'evalute'; did you mean evaluate?\n"
    assert complaint("x") == "steelyard: no command is called 'x'; try `steelyard --help`\n"
    assert "unrecognized arguments: --xyz; try `steelyard compare --help`" in complaint("compare", "a", "b", "--xyz")


@pytest.mark.parametrize("words", [("--alpha", "x" * 500), ("--lang", "x y" * 200), (f"--{'x' * 500}",)])
def test_long_values_are_cut(words: tuple[str, ...]) -> None:
    message = complaint("compare", "a", "b", *words)
    assert len(message) < 250
    assert "…" in message
    assert message.endswith("\n")


def test_a_name_of_two_lines_is_said_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(words: list[str]) -> None:
        raise OSError(5, "Input/output error", "a\nb")

    monkeypatch.setattr("steelyard.cli.app.command_of", fails)
    assert complaint("compare", environment={"STEELYARD_TRACEBACK": ""}).startswith(
        "steelyard: a\\nb: Input/output error"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_what_is_used_most_and_says_where_the_rest_is(name: str) -> None:
    text, whole = (printed(*name.split(), flag, columns=80) for flag in ("--help", "--help-all"))
    shown = COMMANDS[name].most_used
    hidden = [item for item in COMMANDS[name].arguments if not item.usage and item not in shown]
    assert not hidden or len(shown) == 5
    assert len(re.findall("^  -", text, re.M)) == len(shown) + 1
    assert all(item.names[0] in whole for item in hidden)
    assert (f"{len(hidden)} more options: steelyard {name} --help-all" in text) == bool(hidden)
    assert len(text.splitlines()) <= 45


def test_every_command_is_in_one_section_of_the_help() -> None:
    listed = [name for names in SECTIONS.values() for name in names]
    assert sorted(listed) == sorted({name.split()[0] for name in COMMANDS})
    assert set(GROUPS) < set(listed)
    text = printed("--help", columns=80)
    assert [line[:-1] for line in text.splitlines() if line[:1].isalpha() and line.endswith(":")][1:] == list(SECTIONS)
