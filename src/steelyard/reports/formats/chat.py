"""What `steelyard chat` shows of a question: passages with rank and similarity, the answer, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from steelyard.data.question import Question
from steelyard.data.responses import Response
from steelyard.rag.chatting import Assistant
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.reports.views.notes import note_text
from steelyard.reports.visible import cut_to, wrapped
from steelyard.reports.words import Words


def greeting_text(pipeline: Pipeline, words: Words) -> str:
    """Notes of the pipeline, which one is asked, what it has, and how to leave."""
    chunks, documents = (
        words("count.chunks", n=len(pipeline.chunks)),
        words("count.documents", n=len(pipeline.documents)),
    )
    notes = [words("runs.note", note=note_text(note, words)) for note in pipeline.notes]
    return "\n".join([*notes, words("chat.greeting", name=pipeline.name, chunks=chunks, documents=documents)])


def asked(assistant: Assistant, query: str, words: Words) -> Callable[..., str]:
    """Ask an assistant.

    Returns  its response as a text: a function of the width of the terminal, and of whether all of it is wanted
    Raises   InputError for an empty question; StageError.
    """
    response = assistant.ask(query)
    return partial(
        response_text, response, assistant.cosines(response), words, k=assistant.pipeline.k,
        question=assistant.question(query), scores=assistant.scores(response),
    )  # fmt: skip


def response_text(
    response: Response, cosines: Sequence[float], words: Words, *, k: int, width: int, question: Question | None = None,
    scores: Mapping[str, float] | None = None, whole: bool = False,
) -> str:  # fmt: skip
    """A response for a terminal of so many columns: the answer, and the chunks that it is from, a line each.

    cosines            similarity of each passage to the question
    question, scores   the question of the dataset that this is, and its measures at k
    whole              with all passages and the whole text of each
    """
    key, text = ("failed", response.error) if response.error else ("answer", response.answer)
    lines = [words(f"chat.{key}", answer=text or ""), ""]
    passages = list(zip(response.passages, cosines, strict=True))
    for rank, (passage, cosine) in enumerate(passages if whole else passages[:_SHOWN], 1):
        own = " ".join((passage.text or "").split())
        line = f"{rank:>3}  {words('chat.cosine')} {cosine:6.3f}  [{passage.chunk_id}]"
        lines += (
            [line, *(f"     {piece}" for piece in wrapped(own, width - 5))]
            if whole
            else [cut_to(f"{line}  {own}", width)]
        )
    if not passages:
        lines.append(words("chat.nothing"))
    elif not whole:
        lines.append(words("chat.more", n=len(passages)))
    if question is not None:
        values = [f"{name}@{k} {value:.2f}" for name, value in (scores or {}).items()]
        lines.append("\n" + words("chat.scores", query_id=question.query_id, scores=words("list.comma").join(values)))
        if question.answer:
            lines.append(words("chat.expected", answer=question.answer))
    return "\n".join(lines)


_SHOWN = 5
"""Passages that are shown before all are asked for."""
