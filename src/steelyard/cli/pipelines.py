"""The commands that run pipelines: over questions, over a grid of settings, in a chat, and over the bundled example."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.base.errors import InputError, StageError

if TYPE_CHECKING:
    from steelyard.cli.calls import Call
    from steelyard.rag.chatting import Assistant
    from steelyard.reports.words import Words

QUESTIONS_FAILED = 1
"""Exit status of `--strict` where any question failed."""
_GOES_ON = "The same command goes on from there"
_LEAVE = {"exit", "quit", "退出"}
_MORE = {"more", "更多"}
_PREVIEW = 100


def run(
    call: Call, config: Path | None, *, measures: list[str], overwrite: bool, strict: bool, cluster: str | None = None,
    hold_out: float | None = None, **options: Any,
) -> int:  # fmt: skip
    """Run a pipeline or a target over questions, and weigh what it found."""
    from steelyard.cli.runs import held_out
    from steelyard.rag.config import Config
    from steelyard.rag.runs.writer import RunInterrupted
    from steelyard.reports.visible import short_path

    def kept(interruption: KeyboardInterrupt) -> str:
        if not isinstance(interruption, RunInterrupted):
            return f"what was answered is kept. {_GOES_ON}"
        n = interruption.n_answered
        return f"{n} question{'s are' if n != 1 else ' is'} done and kept. {_GOES_ON}"

    settings = Config.of_options(config, **options)
    with call.progress(kept, after=0) as bars:
        weighed = call.function(
            settings, measures=measures, cluster=cluster, hold_out=hold_out, overwrite=overwrite, progress=bars
        )
    primary, paths = weighed.scores.primary, [settings.questions, weighed.folder.path]
    verb = ["judge"] if primary.definition.of_answers else ["diagnose", *held_out(weighed.scores)]
    has_gold = primary not in weighed.scores.without_gold
    call.write(weighed, following=[*verb, *(short_path(path) for path in paths if path)] if has_gold else [])
    return QUESTIONS_FAILED if strict and weighed.folder.n_failed else 0


def sweep(
    call: Call, config: Path, *, measures: list[str], seed: int, strict: bool, concurrency: int | None, **options: Any
) -> int:
    """Run a grid of pipelines and print one table."""
    from steelyard.rag.config import Config
    from steelyard.reports.visible import short_path

    with call.progress(lambda _: f"what was run is kept. {_GOES_ON}", after=0) as bars:
        settings = Config.of_options(config, unit=options.pop("unit", None), concurrency=concurrency)
        if call.recording is not None:
            options.setdefault("store", call.recording.store)
        swept = call.function(settings, measures=measures or None, seed=seed, progress=bars, **options)
    following = [*call.typed, "--holdout"]
    if options["holdout"] or len(swept.settings) == 1:
        paths = (settings.questions, swept.folders[swept.best])
        share = [] if options.get("hold_out") is None else ["--hold-out", str(options["hold_out"])]
        following = ["diagnose", *share, *(short_path(path) for path in paths if path)]
    call.write(swept, following=following, seed=seed)
    return QUESTIONS_FAILED if strict and swept.n_failed else 0


def chat(call: Call, config: Path, *, k: int | None) -> None:
    """Answer questions until the user leaves."""
    from steelyard.cli.progress import printed_waits
    from steelyard.rag.config import Config
    from steelyard.reports.formats.chat import greeting_text

    settings = Config.read(config)
    if k is not None:
        settings = settings.with_k(k)
    with call.progress(after=0) as bars:
        assistant = call.function(settings, progress=bars)
    print(greeting_text(assistant.pipeline, call.words))
    with printed_waits(call.words):
        _talk(assistant, call.words)


def _talk(assistant: Assistant, words: Words) -> None:
    from steelyard.cli.terminal import terminal_width
    from steelyard.cli.translation import translator
    from steelyard.reports.formats.chat import asked

    response = None
    while (query := _typed(words("chat.you"))) is not None:
        width, whole = terminal_width() or _PREVIEW, response is not None and query.lower() in _MORE
        if not query:
            continue
        try:
            response = response if whole and response is not None else asked(assistant, query, words)
            print(response(width=width, whole=whole))
        except (InputError, StageError) as error:
            print(f"steelyard: {translator(words.code)(str(error))}")


def _typed(prompt: str) -> str | None:
    """The text that the user types; None where they leave."""
    try:
        query = input(f"\n{prompt}").strip()
    except (EOFError, KeyboardInterrupt):
        print()
        return None
    if not sys.stdin.isatty():
        print(query)
    return None if query.lower() in _LEAVE else query


def demo(call: Call, folder: Path) -> None:
    """Run the bundled example, and show what to try next."""
    from steelyard.cli.terminal import screen_view, show
    from steelyard.demo import copy_data, demo_text, next_commands, write_pages
    from steelyard.reports.formats.blocks import blocks_terminal
    from steelyard.reports.views.view import Text, cell_size

    view, words = screen_view(), call.words

    def say(text: str) -> None:
        show(blocks_terminal([Text(text)], **view) + "\n")

    copy_data(folder)
    say(words("demo.intro" if call.explain else "demo.brief"))
    with call.progress(after=0) as bars:
        example = call.function(folder, progress=bars)
    show(demo_text(example, words, **view, explain=call.explain) + "\n")
    say(write_pages(example, words))
    print(words("demo.next_commands"))
    print(f"  cd {shlex.quote(str(folder))}")
    if not shutil.which("steelyard"):
        print(f'  export PATH="{Path(sys.executable).parent}:$PATH"')
    commands = next_commands(folder, words)
    width = max(map(cell_size, commands)) + 1
    for purpose, command in commands.items():
        print(f"  {purpose}{' ' * (width - cell_size(purpose))}{shlex.join(command)}")
