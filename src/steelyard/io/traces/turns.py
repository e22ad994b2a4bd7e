"""Turns of traces, a question with what a system gave for it, as lines of outputs; and notes on what they lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.base.notes import Note
from steelyard.io.retrieved_items import content_id

_NAMED = 3
"""Questions that a note names."""


@dataclass(frozen=True)
class Turn:
    """What a system did with one question.

    question      None where the trace does not say
    items         what was retrieved, best first; None where nobody knows
    answer        None where there is none
    trace_id      by which the tool that wrote it finds it again
    query_id      id of the question, where the trace names one
    conversation  id of the conversation or session
    history       what was said before, as {role, content}; turns of one conversation get that of those before
    candidates    items before reranking; None where there was none
    start         seconds since 1970, by which the turns of a conversation are ordered; None where it is not known
    latency_ms    milliseconds of retrieve, rerank, generate and in total, as far as they are known
    tokens        input and output tokens, as far as they are known
    user, version, cost_usd   who asked, the version of the service, and what it cost, where the trace says so
    error         why the system failed
    gaps          further gaps that a reader has seen, such as "orphans"
    """

    question: str | None
    items: Sequence[Mapping[str, Any]] | None
    answer: str | None
    trace_id: str = ""
    query_id: str | None = None
    conversation: str | None = None
    history: Sequence[Mapping[str, str]] = ()
    candidates: Sequence[Mapping[str, Any]] | None = None
    start: float | None = None
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    user: str | None = None
    version: str | None = None
    cost_usd: float | None = None
    error: str | None = None
    gaps: frozenset[str] = frozenset()

    @property
    def messages(self) -> list[dict[str, str]]:
        """The question and the answer as messages, as far as they are there."""
        said = (("user", self.question), ("assistant", self.answer))
        return [{"role": role, "content": content} for role, content in said if content]

    @property
    def is_empty(self) -> bool:
        """True where nothing was retrieved, answered or reported: no question went through this trace."""
        return self.items is None and self.answer is None and self.error is None


def turn_lines(turns: Iterable[Turn]) -> tuple[list[dict[str, Any]], list[Note]]:
    """Lines of outputs of turns, in their order, and notes on what they lack.

    A question is called as its trace calls it; else a turn of a conversation `conversation#2`, and any other one after
    its text, as everywhere, with a number where the text comes again.
    """
    turns = list(turns)
    chunks = _Chunks.of(turns)
    lines: list[dict[str, Any]] = []
    gaps: dict[str, list[str]] = {}
    n_empty = 0
    names: dict[str, int] = {}
    for turn in _placed_in_conversations(turns):
        if turn.is_empty:
            n_empty += 1
            continue
        name = turn.query_id or (content_id(turn.question) if turn.question else turn.trace_id) or "trace"
        line, lacks = _line(turn, _unused(name, names), chunks)
        lines.append(line)
        for gap in lacks:
            gaps.setdefault(gap, []).append(_shown(turn, line["qid"]))
    notes = [
        Note(f"trace_{gap}", {"n": len(own), "total": len(lines), "names": own[:_NAMED]})
        for gap in GAPS
        if (own := gaps.get(gap))
    ]
    notes += [Note("trace_empty", {"n": n_empty})] if n_empty else []
    return lines, notes


def _unused(name: str, names: dict[str, int]) -> str:
    """The name, with a number where it is used already.

    names   how often each was wanted by now
    """
    names[name] = n = names.get(name, 0) + 1
    return name if n == 1 else _unused(f"{name}~{n}", names)


GAPS = (
    "no_texts", "truncated", "no_retrieval", "no_answer", "no_question", "nameless", "dropped", "orphans", "several",
    "other_order", "shared_ids", "no_ids", "no_scores",
)  # fmt: skip
"""What a trace may lack, the gravest first."""


def _shown(turn: Turn, query_id: str) -> str:
    """What a note calls a question: its id, or the trace where the id is made from its text."""
    return turn.trace_id if query_id.startswith("text:") and turn.trace_id else query_id


def _placed_in_conversations(turns: Sequence[Turn]) -> Iterator[Turn]:
    """The turns, those of a conversation with their names in it and what was said before."""
    by_conversation: dict[str, list[int]] = {}
    for place, turn in enumerate(turns):
        if turn.conversation is not None and not turn.is_empty:
            by_conversation.setdefault(turn.conversation, []).append(place)
    placed = list(turns)
    for conversation, places in by_conversation.items():
        order = sorted(places, key=lambda place: (turns[place].start or 0.0, place))
        said: list[dict[str, str]] = []
        for n, place in enumerate(order, 1):
            turn = turns[place]
            placed[place] = replace(
                turn, query_id=turn.query_id or f"{conversation}#{n}", history=tuple(said) or turn.history
            )
            said += turn.messages
    return iter(placed)


@dataclass(frozen=True, eq=False)
class _Chunks:
    """What the items of a file say of their chunks together, as an id names one chunk.

    by_id    id -> its text, document and place, the first that are known
    shared   ids that name several texts, as ids of documents and numbers within a list do
    """

    by_id: dict[str, dict[str, Any]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, turns: Iterable[Turn]) -> _Chunks:
        chunks = cls()
        for item in (item for turn in turns for item in (*(turn.items or ()), *(turn.candidates or ()))):
            if "id" in item:
                held = chunks.by_id.setdefault(item["id"], {})
                if "text" in item and held.get("text", item["text"]) != item["text"]:
                    chunks.shared.add(item["id"])
                chunks.by_id[item["id"]] = {**_without_score(item), **held}
        return chunks

    def item(self, item: Mapping[str, Any], gaps: set[str]) -> dict[str, Any]:
        """An item with an id of its own, and all that is known of it."""
        own = dict(item)
        if own.get("id") in self.shared:
            if "text" in own:
                gaps |= {"shared_ids"}
                own.setdefault("doc", own["id"])
                del own["id"]
            else:
                return {key: own[key] for key in ("id", "score") if key in own}
        if "id" not in own:
            own["id"] = content_id(own["text"], *(str(own[key]) for key in ("doc", "page", "start") if key in own))
        return own | self.by_id.setdefault(own["id"], _without_score(own))


def _without_score(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key != "score"}


def _line(turn: Turn, query_id: str, chunks: _Chunks) -> tuple[dict[str, Any], set[str]]:
    """A line of outputs, and what it lacks."""
    gaps = set(turn.gaps)
    items = None if turn.items is None else _items(turn.items, chunks, gaps)
    candidates = None if turn.candidates is None else _items(turn.candidates, chunks, set())
    gaps |= {"no_question"} if turn.question is None else set()
    gaps |= {"no_answer"} if turn.answer is None else set()
    gaps |= {"no_retrieval"} if items is None else set()
    failed = {"failed": "generate"} if items is not None and turn.answer is None else {}
    line: dict[str, Any] = {
        "qid": query_id,
        "query": turn.question,
        "history": list(turn.history) or None,
        "conversation": turn.conversation,
        "trace_id": turn.trace_id or None,
        **({} if items is None and turn.answer is None else {"retrieved": items}),
        "candidates": candidates,
        "answer": turn.answer,
        "latency_ms": {stage: round(ms, 2) for stage, ms in turn.latency_ms.items()} or None,
        "tokens": dict(turn.tokens) or None,
        **({} if turn.error is None else {"error": turn.error, **failed}),
    }
    return {key: value for key, value in line.items() if value is not None or key == "retrieved"}, gaps


def _items(items: Sequence[Mapping[str, Any]], chunks: _Chunks, gaps: set[str]) -> list[dict[str, Any]]:
    """Items with ids, each once, and with scores where all have some that fall; what is not so goes into the gaps."""
    named = [item for item in items if "id" in item or "text" in item]
    gaps |= {"nameless"} if len(named) < len(items) else set()
    once: dict[str, dict[str, Any]] = {}
    for item in named:
        own = chunks.item(item, gaps)
        gaps |= {"no_ids"} if own["id"].startswith("text:") else set()
        gaps |= {"no_texts"} if "text" not in own else set()
        once.setdefault(own["id"], own)
    unique = list(once.values())
    scores = [item.get("score") for item in unique]
    if None in scores:
        gaps |= {"no_scores"}
    elif scores != sorted(scores, reverse=True):  # type: ignore[type-var]
        gaps |= {"other_order"}
    else:
        return unique
    return [_without_score(item) for item in unique]
