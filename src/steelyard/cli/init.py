"""`steelyard init`: the files that a first evaluation needs, to be filled in."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from steelyard._version import __version__
from steelyard.base.errors import InputError, OutputError

if TYPE_CHECKING:
    from steelyard.cli.calls import Call
    from steelyard.reports.words import Words


_TOLERATED = {"margin": "0.02", "options": "--alarms '1 in 200'"}
"""Loss since the baseline, and false alarms among gates, that a gate in CI tolerates."""


class Start(NamedTuple):
    """The first steps of a user.

    config, questions   whether there is a configuration, and questions, to write
    run, gate           commands that measure and judge
    runs                what is gated in CI where no configuration is run
    """

    config: bool
    questions: bool
    run: str
    gate: str
    runs: str = ""

    @property
    def settings(self) -> dict[str, str]:
        """Settings of the gate in CI, by the names of the inputs of action.yml."""
        system = {"config": "mine.toml"} if self.config else {"runs": self.runs}
        by = {"profile": "gate.toml"} if self.questions else {"measures": "ndcg@10"}
        return {"truth": "questions.jsonl" if self.questions else "qrels.txt", **system, **by, **_TOLERATED}


STARTS = {
    "documents": Start(
        True, True, "steelyard run mine.toml -o runs/mine",
        "steelyard gate questions.jsonl runs/mine --profile gate.toml",
    ),
    "application": Start(
        True, True, "steelyard run mine.toml -o runs/mine",
        "steelyard gate questions.jsonl runs/mine --profile gate.toml",
    ),
    "outputs": Start(
        False, True, "steelyard evaluate questions.jsonl outputs.jsonl",
        "steelyard gate questions.jsonl outputs.jsonl --profile gate.toml", "outputs.jsonl",
    ),
    "runs": Start(
        False, False, "steelyard compare qrels.txt baseline.run candidate.run -m ndcg@10",
        "steelyard gate qrels.txt baseline.run candidate.run -m ndcg@10 --margin 0.02", "candidate.run",
    ),
}  # fmt: skip
"""Data or system that a user has -> the first steps with it."""

WORKFLOWS = {"github": Path(".github", "workflows", "steelyard.yml"), "gitlab": Path(".gitlab-ci.yml"), "none": None}
"""Service that runs tests -> its file; None for none."""


def init(call: Call, folder: Path, *, have: str | None, language: str | None, ci: str | None, yes: bool) -> None:
    """Write the files, and say what to do next."""
    from steelyard.io.write import write_text

    words = call.words
    if not yes and None in (have, language, ci) and not sys.stdin.isatty():
        raise InputError(
            "init asks what you have, in which language, and which CI; without a terminal name --have, --language and "
            "--ci, or take the defaults with --yes"
        )
    have = have or _answer("have", list(STARTS), words, yes=yes)
    language = language or _answer("language", _first(words.code, ["en", "zh"]), words, yes=yes)
    ci = ci or _answer("ci", list(WORKFLOWS), words, yes=yes)
    contents = {folder / name: text for name, text in call.function(have, language, ci).items()}
    if existing := [str(path) for path in contents if path.exists()]:
        raise OutputError(
            f"{', '.join(existing)}: exists already; name another folder (steelyard init FOLDER), or remove it first"
        )
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
        print(path)
    print("\n" * bool(contents) + words(f"init.next.{have}"))
    steps = [f"cd {folder}"] if folder != Path() else []
    for command in [*steps, STARTS[have].run, STARTS[have].gate]:
        print(f"  {command}")


def starter_files(have: str, language: str, ci: str) -> dict[str, str]:
    """The files of a start, by their names."""
    start, workflow = STARTS[have], WORKFLOWS[ci]
    named = {"mine.toml": f"{have}.{language}.toml"} if start.config else {}
    if start.questions:
        named |= {"questions.jsonl": f"questions.{language}.jsonl", "gate.toml": f"gate.{language}.toml"}
    texts = {name: _starter(starter) for name, starter in named.items()}
    if workflow is not None:
        line = {"github": "          {name}: {value}", "gitlab": "    STEELYARD_{NAME}: {value}"}[ci]
        settings = [
            line.format(name=name, NAME=name.upper(), value=json.dumps(value)) for name, value in start.settings.items()
        ]
        text = _starter(f"{ci}.yml").replace("{settings}", "\n".join(settings))
        texts[str(workflow)] = text.replace("{version}", __version__)
    return texts


def _starter(name: str) -> str:
    from importlib.resources import files

    return (files("steelyard.cli") / "starters" / name).read_text(encoding="utf-8")


def _first(choice: str, choices: Sequence[str]) -> list[str]:
    """The choices, with one of them first."""
    return sorted(choices, key=lambda other: other != choice)


def _answer(question: str, choices: Sequence[str], words: Words, *, yes: bool) -> str:
    """The choice of the user, by its number or name; the first where nothing is typed, and with yes."""
    if yes:
        return choices[0]
    print(words(f"init.ask.{question}"))
    for number, choice in enumerate(choices, 1):
        print(f"  {number}  {words(f'init.{question}.{choice}')}")
    while True:
        try:
            typed = input(words("init.choose", default=1)).strip().lower()
        except EOFError:
            raise InputError("init: nothing was chosen, and nothing is written") from None
        if not typed:
            return choices[0]
        if typed in choices:
            return typed
        if typed.isdecimal() and 1 <= int(typed) <= len(choices):
            return choices[int(typed) - 1]
        print(words("init.again", n=len(choices)))
