"""Which parts of an answer its context does not support, by their words."""

from __future__ import annotations

from steelyard.judges.lexical.judge import LexicalJudge
from steelyard.judges.verdict import Case
from steelyard.text.sentences import sentence_spans
from steelyard.text.spans import Span

UNSUPPORTED = 0.45
"""Below this score a sentence counts as unsupported as a whole.

Chosen on every other question of RAGTruth QA (test), by the F1 of characters; on the questions that were left out it
gives .336, and on all .283, where unsupported content words alone give .185.
"""


def unsupported_spans(answer: str, context: str, *, judge: LexicalJudge | None = None) -> list[Span]:
    """Where the answer says what the context does not: whole sentences, and numbers in those that are supported.

    answer    any text
    context   its chunks, joined by line ends
    judge     whose score is taken; by default one with the default settings
    Returns   offsets in code points, in order, apart.

    >>> answer = "Its garden has 12 old trees. Famous paintings hang there."
    >>> [answer[start:end] for start, end in unsupported_spans(answer, "The garden with old trees is free.")]
    ['12', 'Famous paintings hang there.']
    """
    judge = judge or LexicalJudge()
    sentences = sentence_spans(answer)
    [verdicts] = judge.judge([Case(context, tuple(answer[start:end] for start, end in sentences))])
    spans: list[Span] = []
    for (start, end), verdict in zip(sentences, verdicts, strict=True):
        if verdict.reason == "no words":
            continue
        if verdict.score is not None and verdict.score < UNSUPPORTED:
            spans.append((start, end))
        else:
            missing = judge.missing_spans(answer[start:end], context, numbers_only=True)
            spans += [(start + first, start + last) for first, last in missing]
    return spans
