"""Trees of spans as turns: the question, what the last retrieval before the answer gave, the answer, times, tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from steelyard.io.traces import values
from steelyard.io.traces.items import items_in
from steelyard.io.traces.turns import Turn

Role = Literal["retrieve", "rerank", "generate", "tool", "other"]

ROLES: Mapping[str, Role] = {
    "retriever": "retrieve", "retrieval": "retrieve", "retrieve": "retrieve",
    "reranker": "rerank", "reranking": "rerank", "rerank": "rerank",
    "llm": "generate", "generation": "generate", "chat": "generate", "text_completion": "generate",
    "generate_content": "generate", "completion": "generate",
    "tool": "tool", "execute_tool": "tool",
}  # fmt: skip
"""The word that a format has for the kind of a span, in small letters -> what it does."""


_MOST_ANCESTORS = 64
"""Spans above a span that are looked at."""


def role_named(kind: Any) -> Role:
    """What a span does, by the word that its format has for its kind.

    >>> role_named("RETRIEVER"), role_named("invoke_agent"), role_named(None)
    ('retrieve', 'other', 'other')
    """
    return ROLES.get(kind.lower(), "other") if isinstance(kind, str) else "other"


@dataclass(frozen=True, eq=False)
class Span:
    """One step of a trace.

    trace_id, span_id, parent_id   texts; parent_id None of a root
    role        what it does
    input, output   as the format has them: texts, objects, messages
    documents   items that it gave, best first; None where it says nothing of documents
    before      items that a reranker was given
    start, end  seconds since 1970
    tokens      of the input and of the output
    error       why it failed
    query_id, conversation, user, version   where it names them; version is that of the service
    cost_usd    of the call
    gaps        what its reader has seen to be lacking
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    role: Role
    input: Any = None
    output: Any = None
    documents: Sequence[Mapping[str, Any]] | None = None
    before: Sequence[Mapping[str, Any]] | None = None
    start: float | None = None
    end: float | None = None
    tokens: tuple[int | None, int | None] = (None, None)
    error: str | None = None
    query_id: str | None = None
    conversation: str | None = None
    user: str | None = None
    version: str | None = None
    cost_usd: float | None = None
    gaps: frozenset[str] = frozenset()

    @cached_property
    def items(self) -> Sequence[Mapping[str, Any]] | None:
        """Items that it gave: a retriever's, a reranker's, or those in the result of a tool."""
        if self.documents is not None or self.role not in ("retrieve", "rerank", "tool"):
            return self.documents
        own = values.plain(self.output)
        return None if self.role == "tool" and isinstance(own, str) else items_in(own)

    @property
    def milliseconds(self) -> float | None:
        """How long it took; None where that is not known."""
        known = self.start is not None and self.end is not None and self.end >= self.start
        return (self.end - self.start) * 1000 if known else None  # type: ignore[operator]


def span_turns(spans: Iterable[Span]) -> Iterator[Turn]:
    """A turn for each trace, in the order of their first spans."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace_id, []).append(span)
    return (_Tree(own).turn() for own in traces.values())


class _Tree:
    """The spans of one trace."""

    def __init__(self, spans: Sequence[Span]) -> None:
        self.spans = sorted(spans, key=lambda span: _or_zero(span.start))
        self.by_id = {span.span_id: span for span in self.spans}
        self.roots = [span for span in self.spans if span.parent_id is None]
        self.orphans = [span for span in self.spans if span.parent_id is not None and span.parent_id not in self.by_id]

    def turn(self) -> Turn:
        """The turn of the trace."""
        root = self._root()
        generation = self._generation()
        retrieval = self._retrieval(generation)
        question, answer = self._question(root, generation), self._answer(root, generation)
        return Turn(
            question,
            None if retrieval is None else retrieval.items,
            answer,
            root.trace_id,
            query_id=next((span.query_id for span in self.spans if span.query_id), None),
            conversation=next((span.conversation for span in self.spans if span.conversation), None),
            history=values.history(root.input),
            candidates=self._candidates(retrieval),
            start=root.start,
            latency_ms=self._latency(root, retrieval, generation),
            tokens=self._tokens(),
            user=next((span.user for span in self.spans if span.user), None),
            version=next((span.version for span in self.spans if span.version), None),
            cost_usd=self._cost(),
            error=root.error or next((span.error for span in self.spans if span.error and answer is None), None),
            gaps=self._gaps(retrieval, question, answer),
        )

    def _root(self) -> Span:
        """The first root; of a trace without one, the first orphan, or else the first span."""
        return next(iter(self.roots or self.orphans or self.spans))

    def _ancestors(self, span: Span) -> Iterator[Span]:
        for _ in range(_MOST_ANCESTORS):  # Damaged traces have circles, and hostile ones endless chains.
            parent = self.by_id.get(span.parent_id or "")
            if parent is None:
                return
            yield parent
            span = parent

    def _generation(self) -> Span | None:
        """The last answer of a model that is no part of a search."""
        models = [span for span in self.spans if span.role == "generate" and not self._searches(span)]
        spoke = [span for span in models if values.answer(span.output)]
        return next(reversed(spoke or models), None)

    def _searches(self, span: Span) -> bool:
        return any(ancestor.role in ("retrieve", "rerank") for ancestor in self._ancestors(span))

    def _retrieved(self, before: Span | None) -> list[Span]:
        """Spans that gave documents, those that ended last behind the others; none that began after the answer."""
        until = None if before is None else before.start
        spans = [span for span in self.spans if span.items is not None and span is not before]
        known = [span for span in spans if until is None or span.start is None or span.start <= until]
        return sorted(known, key=lambda span: (_or_zero(span.end, span.start), -sum(1 for _ in self._ancestors(span))))

    def _retrieval(self, generation: Span | None) -> Span | None:
        spans = self._retrieved(generation) or self._retrieved(None)
        return next((span for span in reversed(spans) if span.items), spans[-1] if spans else None)

    def _candidates(self, retrieval: Span | None) -> Sequence[Mapping[str, Any]] | None:
        """What a reranker was given, by itself or by the retrieval before it."""
        if retrieval is None or retrieval.role != "rerank":
            return None
        if retrieval.before is not None:
            return retrieval.before
        earlier = [span for span in self._retrieved(retrieval) if span.role == "retrieve" and span.items]
        return earlier[-1].items if earlier else None

    def _question(self, root: Span, generation: Span | None) -> str | None:
        """The input of the root, else of the first search, else the last message of the user to the model."""
        spans = [root] if root.role in ("other", "generate") else []
        spans += [span for span in self.spans if span.role in ("retrieve", "rerank")]
        spans += [generation] if generation is not None else []
        return next(filter(None, (values.question(span.input) for span in spans)), None)

    def _answer(self, root: Span, generation: Span | None) -> str | None:
        spans = [root] if root.role in ("other", "generate") else []
        spans += [generation] if generation is not None else []
        return next(filter(None, (values.answer(span.output) for span in spans)), None)

    def _latency(self, root: Span, retrieval: Span | None, generation: Span | None) -> dict[str, float]:
        stages = {"retrieve": None, "rerank": None, "generate": generation}
        if retrieval is not None and retrieval.role in ("retrieve", "rerank"):
            stages[retrieval.role] = retrieval
        if retrieval is not None and retrieval.role == "rerank":
            searches = [span for span in self._retrieved(retrieval) if span.role == "retrieve"]
            stages["retrieve"] = searches[-1] if searches else None
        latency = {name: span.milliseconds for name, span in stages.items() if span is not None}
        latency["total"] = root.milliseconds
        return {name: ms for name, ms in latency.items() if ms is not None}

    def _tokens(self) -> dict[str, int]:
        """Tokens of all models in sum, but for those that other models called; else those of the trace as a whole."""
        counted = [span for span in self._models() if span.tokens != (None, None)] or self.spans[:1]
        sums = {
            name: [own for span in counted if (own := span.tokens[place]) is not None]
            for place, name in enumerate(("input", "output"))
        }
        return {name: sum(own) for name, own in sums.items() if own}

    def _cost(self) -> float | None:
        """Cost of the same models in sum, else that of the trace as a whole."""
        costs = [span.cost_usd for span in self._models() if span.cost_usd is not None]
        return sum(costs) if costs else self.spans[0].cost_usd

    def _models(self) -> list[Span]:
        """Calls of models, but for those within other calls."""
        models = [span for span in self.spans if span.role == "generate"]
        return [span for span in models if not any(above.role == "generate" for above in self._ancestors(span))]

    def _gaps(self, retrieval: Span | None, question: str | None, answer: str | None) -> frozenset[str]:
        gaps = {gap for span in self.spans for gap in span.gaps}
        gaps |= {"orphans"} if self.orphans else set()
        texts = [question, answer, *(item.get("text") for item in (retrieval.items if retrieval else None) or ())]
        gaps |= {"truncated"} if any(map(values.is_cut, texts)) else set()
        if retrieval is not None and retrieval.role != "rerank":
            others = [span for span in self._retrieved(None) if span is not retrieval and span.items]
            nested = {id(s) for s in self._ancestors(retrieval)}
            alone = [s for s in others if id(s) not in nested and retrieval not in self._ancestors(s)]
            gaps |= {"several"} if alone else set()
        return frozenset(gaps)


def _or_zero(*moments: float | None) -> float:
    return next((moment for moment in moments if moment is not None), 0.0)
