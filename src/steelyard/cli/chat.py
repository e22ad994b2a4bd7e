"""`steelyard chat`."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.base.errors import InputError, StageError
from steelyard.cli.progress import printed_waits, progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.rag.chatting import Assistant
from steelyard.rag.config import Config
from steelyard.reports.formats.chat import assistant_text, greeting_text
from steelyard.reports.words import Words, read_words

_LEAVE = {"exit", "quit", "退出"}
_PREVIEW = 100


def run(config: Path, *, k: int | None, lang: str | None = None) -> None:
    """Answer questions until the user leaves."""
    words, settings = read_words(lang), Config.read(config)
    if k is not None:
        settings = settings.with_k(k)
    with progress_bars(words) as bars:
        assistant = Assistant(settings, progress=bars)
    print(greeting_text(assistant.pipeline, words))
    with printed_waits(words):
        _talk(assistant, words)


def _talk(assistant: Assistant, words: Words) -> None:
    while (query := _typed(words("chat.you"))) is not None:
        if not query:
            continue
        try:
            print(assistant_text(assistant, query, words, width=terminal_width() or _PREVIEW))
        except (InputError, StageError) as error:
            print(f"steelyard: {error}")


def _typed(prompt: str) -> str | None:
    """What the user types; None where they leave."""
    try:
        query = input(f"\n{prompt}").strip()
    except (EOFError, KeyboardInterrupt):
        print()
        return None
    if not sys.stdin.isatty():
        print(query)
    return None if query.lower() in _LEAVE else query
