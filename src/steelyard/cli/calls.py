"""The mechanism of all commands: their words become keywords of a function of Python, whose result is written."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError
from steelyard.base.progress import Progress
from steelyard.cli.options import OUTPUT
from steelyard.cli.parser import Command
from steelyard.cli.progress import SOON, progress_bars
from steelyard.cli.recording import PREFIX, Recording, recording_of
from steelyard.cli.terminal import write_result
from steelyard.cli.translation import translator
from steelyard.io.named import run_paths
from steelyard.io.source import source_of
from steelyard.io.write import refuse_overwriting
from steelyard.reports.visible import visible
from steelyard.reports.words import Words, read_words
from steelyard.reports.writing import chosen_format

if TYPE_CHECKING:
    from steelyard.experiment.table.scores import Scores

_LONGEST_COMMAND = 500
"""Characters of a command to give next; one that names dozens of runs is left out."""

INTERRUPTED = 130
"""The exit status of a command that the user interrupts."""


@dataclass(frozen=True)
class Call:
    """A command that was called: the function of Python behind it, and how its result is written.

    function   that of the declaration of the command
    output     the file of --output, where the command writes its result into one
    explain    whether a terminal shows everything
    typed      the words behind `steelyard`, as the user gave them
    lang       the language that the user asked for; None for that of the locale
    recording  where the result is recorded; None for nowhere
    """

    function: Callable[..., Any]
    words: Words
    format: str
    output: Path | None
    safe_csv: bool
    explain: bool
    typed: Sequence[str] = ()
    lang: str | None = None
    recording: Recording | None = None

    def compute(self, *data: Any, **options: Any) -> Any:
        """The result of the function for data and options of the command."""
        return self.function(*data, **keywords(options))

    def ask(self, *data: Any, **options: Any) -> Any:
        """The same under bars of progress."""
        with self.progress() as bars:
            return self.compute(*data, **options, progress=bars)

    @contextmanager
    def progress(
        self,
        kept: Callable[[KeyboardInterrupt], str] | None = None,
        *,
        after: float = SOON,
        between_calls: bool = False,
    ) -> Iterator[Progress]:
        """Bars of progress, after some seconds.

        kept     what is said behind "interrupted" where the user interrupts the command, which then ends
        Raises   SystemExit.
        """
        try:
            with progress_bars(self.words, after=after, between_calls=between_calls) as bars:
                yield bars
        except KeyboardInterrupt as interruption:
            if kept is None:
                raise
            notice = translator(self.words.code)(f"interrupted; {kept(interruption)}")
            print(f"steelyard: {notice}", file=sys.stderr)
            sys.exit(INTERRUPTED)

    def write(self, result: Any, *, following: Sequence[str] = (), **view: Any) -> None:
        """Write a result into the output, else onto the screen, with the options of its view.

        following   words behind `steelyard` of the command to give next, which a screen shows unless it is very long; a
                    str is what a shell takes, with its patterns
        """
        view |= {"lang": self.words.code, "safe_csv": self.safe_csv, "explain": self.explain}
        write_result(result, self.format, self.output, **view)
        self.record(result)
        if following and self.output is None and self.format == "table":
            line = following if isinstance(following, str) else shell_line(following)
            command = f"steelyard {line}"
            if len(command) <= _LONGEST_COMMAND:
                print(visible(self.words("brief.next", command=command)))

    def stored(self, *words: str) -> dict[str, Scores]:
        """Id -> scores of the entries that arguments name, such as store:latest; none where they name files.

        What is computed of entries alone is not recorded again.
        """
        if not any(word.startswith(PREFIX) for word in words):
            return {}
        from steelyard.store.opening import scores_by_id

        if self.recording is not None:
            self.recording.is_known = True
        return scores_by_id(words, self.recording.store if self.recording is not None else None)

    def record(self, result: Any) -> None:
        """Record a result in the store, if one is named, and say so; `write` does so by itself."""
        if self.recording is not None and (line := self.recording.add(result, self.words)):
            has_data = self.output is None and self.format != "table"
            print(line, file=sys.stderr if has_data else sys.stdout)


def shell_line(words: Sequence[str]) -> str:
    """Words as a shell takes them, in one line."""
    return " ".join(map(_shell_word, words))


def _shell_word(text: str) -> str:
    """A word as a shell takes it; names in any script need no quotes.

    >>> _shell_word("run=中文.jsonl"), _shell_word("two words.jsonl")
    ('run=中文.jsonl', "'two words.jsonl'")
    """
    return text if re.fullmatch(r"[\w@%+=:,./-]+", text) else shlex.quote(text)


def prepare(command: Command, values: dict[str, Any], typed: Sequence[str] = ()) -> Callable[[], int | None]:
    """A command with the values of its arguments, ready to run: its function is imported, its outputs are checked.

    typed    as of Call
    Raises   InputError for a language or format in which it does not write; OutputError for an output that it reads.
    """
    lang, format = values.pop("lang", None), values.pop("format", None)
    words = read_words(lang)
    inputs = [path for item in command.arguments if item.reads for path in _paths(values.get(item.dest))]
    for item in command.arguments:
        for path in _paths(values.get(item.dest)) if item.writes else ():
            refuse_overwriting(path, inputs)
    output: Path | None = values.pop("output") if OUTPUT in command.arguments else None
    shape = chosen_format(_named(command.makes), output, format) if command.makes else "table"
    flags = {name: values.pop(name, False) for name in ("safe_csv", "explain")}
    recording = recording_of(command, values, shell_line(typed))
    call = Call(_named(command.calls), words, shape, output, **flags, typed=typed, lang=lang, recording=recording)
    run = partial(command.run, call, **values)
    return run if recording is None else lambda: recording.settle(run(), words)


def _named(name: str) -> Any:
    """The object that MODULE:NAME names."""
    module, _, own = name.partition(":")
    return attrgetter(own)(import_module(module))


def _paths(value: object) -> list[str]:
    """The paths that an argument names."""
    texts = [] if value is None else [value] if isinstance(value, str | Path) else value
    return run_paths(str(text) for text in texts) if isinstance(texts, Iterable) else []


def keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command by the names and with the values of Python.

    Raises   InputError for verdicts, labels and numbers that are not named as they must be.
    """
    given = {name: value for name, value in options.items() if name != "no_labels"}
    if "verdicts" in given:
        from steelyard.experiment.door.choices import named_verdicts

        given["verdicts"] = named_verdicts(given["verdicts"])
    if isinstance(given.get("labels"), list) or "no_labels" in options:  # Of a plan, it is a width.
        from steelyard.experiment.door.choices import named_labels

        given["labels"] = named_labels(given.get("labels", ()), without="no_labels" in options)
    if "anchors" in given:
        given["anchors"] = tuple(given["anchors"])
    if "numbers" in given:
        given["numbers"] = parse_numbers(given["numbers"])
    if "instructions" in given:
        given["instructions"] = _text_of(given["instructions"])
    if "examples" in given:
        given["examples"] = [line.strip() for line in _text_of(given["examples"]).splitlines() if line.strip()]
    return given


def _text_of(file: Path | None) -> str:
    """The text of a file, empty where none is named."""
    return "" if file is None else source_of(file).read().decode(errors="replace").strip()


def parse_numbers(values: Iterable[str]) -> dict[str, float]:
    """NAME=NUMBER by name.

    >>> parse_numbers(["cost_usd_per_million_tokens=0.04"])
    {'cost_usd_per_million_tokens': 0.04}
    """
    numbers: dict[str, float] = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            numeric = float(number)
        except ValueError:
            raise InputError(f"--number {value}: expected NAME=NUMBER, such as latency_ms:p95=320") from None
        if name in numbers:
            raise InputError(f"--number {value}: {name} has a value already")
        numbers[name] = numeric
    return numbers
