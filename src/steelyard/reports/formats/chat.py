"""What `steelyard chat` shows of a question: passages with rank and similarity, the answer, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from steelyard.data.question import Question
from steelyard.data.responses import Response
from steelyard.rag.chatting import Assistant
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.reports.views.notes import note_text
from steelyard.reports.words import Words


def greeting_text(pipeline: Pipeline, words: Words) -> str:
    """Notes of the pipeline, which one is asked, what it has, and how to leave."""
    chunks, documents = (
        words("count.chunks", n=len(pipeline.chunks)),
        words("count.documents", n=len(pipeline.documents)),
    )
    notes = [words("runs.note", note=note_text(note, words)) for note in pipeline.notes]
    return "\n".join([*notes, words("chat.greeting", name=pipeline.name, chunks=chunks, documents=documents)])


def assistant_text(assistant: Assistant, query: str, words: Words, *, width: int) -> str:
    """Ask an assistant, and what it answers, for a terminal of so many columns.

    Raises   InputError for an empty question; StageError.
    """
    response = assistant.ask(query)
    return response_text(
        response, assistant.cosines(response), words, k=assistant.pipeline.k, width=width,
        question=assistant.question(query), scores=assistant.scores(response),
    )  # fmt: skip


def response_text(
    response: Response, cosines: Sequence[float], words: Words, *, k: int, width: int, question: Question | None = None,
    scores: Mapping[str, float] | None = None,
) -> str:  # fmt: skip
    """A response for a terminal of so many columns.

    cosines            similarity of each passage to the question
    question, scores   the question of the dataset that this is, and its measures at k
    """
    lines = []
    for rank, (passage, cosine) in enumerate(zip(response.passages, cosines, strict=True), 1):
        lines.append(f"{rank:>3}  {words('chat.cosine')} {cosine:6.3f}  [{passage.chunk_id}]")
        lines.append(_cut(f"     {' '.join((passage.text or '').split())}", width))
    if not response.passages:
        lines.append(words("chat.nothing"))
    key, text = ("failed", response.error) if response.error else ("answer", response.answer)
    lines.append("\n" + words(f"chat.{key}", answer=text or ""))
    if question is not None:
        values = [f"{name}@{k} {value:.2f}" for name, value in (scores or {}).items()]
        lines.append("\n" + words("chat.scores", query_id=question.query_id, scores=words("list.comma").join(values)))
        if question.answer:
            lines.append(words("chat.expected", answer=question.answer))
    return "\n".join(lines)


def _cut(text: str, width: int) -> str:
    """A text in one line of the terminal."""
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= width else f"{set_cell_size(text, width - 1).rstrip()}…"
