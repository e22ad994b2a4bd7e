"""What `steelyard chat` shows of a question: passages with rank and similarity, the answer, and how good they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from steelyard.data.corpus import Passage
from steelyard.data.question import Question
from steelyard.data.responses import Response
from steelyard.rag.chatting import Assistant
from steelyard.rag.pipeline.pipeline import Pipeline
from steelyard.reports.views.notes import note_text
from steelyard.reports.views.view import cell_size
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
    said = words(f"chat.{key}", answer=text or "")
    lines = [*(piece for line in said.split("\n") for piece in wrapped(line, width)), ""]
    passages = list(zip(response.passages, cosines, strict=True))
    lines += (_whole_lines if whole else _short_lines)(passages, words, width)
    if question is not None:
        values = [f"{name}@{k} {value:.2f}" for name, value in (scores or {}).items()]
        listed = words("list.comma").join(values)
        lines += ["", *wrapped(words("chat.scores", query_id=question.query_id, scores=listed), width)]
        if question.answer:
            lines += wrapped(words("chat.expected", answer=question.answer), width)
    return "\n".join(lines)


def _whole_lines(passages: Sequence[tuple[Passage, float]], words: Words, width: int) -> Iterator[str]:
    """Each passage with rank, cosine and id, and its whole text below."""
    for rank, (passage, cosine) in enumerate(passages, 1):
        yield f"{rank:>3}  {words('chat.cosine')} {cosine:6.3f}  [{passage.chunk_id}]"
        yield from (f"     {piece}" for piece in wrapped(_text(passage), width - 5))
    if not passages:
        yield words("chat.nothing")


def _short_lines(passages: Sequence[tuple[Passage, float]], words: Words, width: int) -> Iterator[str]:
    """The first passages in a line each, and how many there are."""
    shown = passages[:_SHOWN]
    longest = max((cell_size(passage.chunk_id) for passage, _ in shown), default=0)
    for rank, (passage, cosine) in enumerate(shown, 1):
        blanks = " " * (longest - cell_size(passage.chunk_id))
        yield cut_to(f"{rank:>3} {cosine:6.3f}  [{passage.chunk_id}]{blanks}  {_text(passage)}", width)
    yield from wrapped(words("chat.more", n=len(passages)) if passages else words("chat.nothing"), width)


def _text(passage: Passage) -> str:
    """The text of a passage on one line."""
    return " ".join((passage.text or "").split())


_SHOWN = 5
"""Passages that are shown before all are asked for."""
