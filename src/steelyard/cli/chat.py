"""`steelyard chat`."""

from __future__ import annotations

import sys
from pathlib import Path

from steelyard.base.errors import InputError, StageError
from steelyard.cli.run import progress_bars
from steelyard.cli.terminal import terminal_width
from steelyard.rag.chatting import Assistant, Turn
from steelyard.rag.config import Config
from steelyard.report.words import read_words

_LEAVE = {"exit", "quit", "退出"}
_PREVIEW = 100


def run(config: Path, *, k: int | None) -> None:
    """Answer questions until the user leaves."""
    chosen = Config.read(config)
    if k is not None:
        chosen = chosen.with_changes({"k": k, "depth": max(chosen.depth, k)})
    with progress_bars() as bars:
        assistant = Assistant(chosen, progress=bars)
    pipeline = assistant.pipeline
    for note in pipeline.notes:
        print(f"Note: {note}")
    words = read_words("en")
    chunks, documents = (
        words("count.chunks", n=len(pipeline.chunks)),
        words("count.documents", n=len(pipeline.documents)),
    )
    print(f"{pipeline.name}: {chunks} of {documents}. `exit` leaves.")
    while (query := _asked()) is not None:
        if not query:
            continue
        try:
            print(shown(assistant.ask(query), pipeline.k, width=terminal_width() or _PREVIEW))
        except (InputError, StageError) as error:
            print(f"steelyard: {error}")


def _asked() -> str | None:
    """What the user types; None where they leave."""
    try:
        query = input("\nYou: ").strip()
    except (EOFError, KeyboardInterrupt):
        print()
        return None
    if not sys.stdin.isatty():
        print(query)
    return None if query.lower() in _LEAVE else query


def shown(turn: Turn, k: int, *, width: int) -> str:
    """Passages with rank and similarity, the answer, and the scores of a question that is known."""
    lines = []
    for rank, (passage, cosine) in enumerate(zip(turn.passages, turn.cosines, strict=True), 1):
        lines.append(f"{rank:>3}  cosine {cosine:6.3f}  [{passage.chunk_id}]")
        lines.append(_cut(f"     {' '.join(passage.text.split())}", width))
    if not turn.passages:
        lines.append("Nothing was found.")
    lines.append(f"\nAnswer: {turn.answer}")
    if turn.known:
        scores = ", ".join(f"{name}@{k} {value:.2f}" for name, value in turn.scores.items())
        lines.append(f"\n{turn.known.query_id} of the dataset: {scores}")
        if turn.known.answer:
            lines.append(f"Expected: {turn.known.answer}")
    return "\n".join(lines)


def _cut(text: str, width: int) -> str:
    """A text in one line of the terminal."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
