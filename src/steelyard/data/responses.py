"""What a system gave for one question, and its line in a file of outputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from json.encoder import encode_basestring as _quoted

from steelyard.base.errors import exception_line
from steelyard.data.corpus import Passage

_REMEMBERED = 200_000


@dataclass(frozen=True, slots=True)
class Response:
    """What a system gave for one question, be it a pipeline, a target of the user's own, or a line on disk.

    query       what was asked
    passages    results, best first; those of a pipeline are in canonical order
    answer      None where the system generates none
    latency_ms  milliseconds of each stage that there is, such as embed, search, rerank, generate; and total
    candidates  ids that `passages` was taken from, in the order before any reranking; None where the system does not
                report them, or `passages` is all of it
    error       why the system failed on this question; it then has no passages
    """

    query: str
    passages: tuple[Passage, ...] = ()
    answer: str | None = None
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    candidates: tuple[str, ...] | None = None
    error: str | None = None


class ResponseEncoder:
    """Writes responses as lines of JSON, the way `steelyard run` keeps them.

    The same chunks come back for question after question, and quoting their texts anew costs more than searching
    them; so an encoder remembers the JSON of the chunks that it has written.  One encoder serves one thread.
    """

    def __init__(self) -> None:
        self._names = _Quoted()
        self._chunks: dict[str, tuple[_Place, bytes, bytes]] = {}

    def line(self, query_id: str, response: Response) -> bytes:
        r"""One line in UTF-8, its end included; what is None is left out, and milliseconds have four decimals.

        >>> ResponseEncoder().line("q1", Response("why?", (Passage("d#2", score=0.5),), latency_ms={"total": 1.25}))
        b'{"qid": "q1", "query": "why?", "retrieved": [{"id": "d#2", "score": 0.5}], "latency_ms": {"total": 1.2500}}\n'
        """
        names = self._names
        head = f'{{"qid": {_quoted(query_id)}, "query": {_quoted(response.query)}, "retrieved": ['
        rest = ["]"]
        if response.candidates is not None:
            rest.append(f', "candidates": [{", ".join(map(names.__getitem__, response.candidates))}]')
        if response.answer is not None:
            rest.append(f', "answer": {_quoted(response.answer)}')
        if response.error is not None:
            rest.append(f', "error": {_quoted(response.error)}')
        else:
            times = ", ".join([f"{names[stage]}: {ms:.4f}" for stage, ms in response.latency_ms.items()])
            rest.append(f', "latency_ms": {{{times}}}')
        rest.append("}\n")
        return b"".join([head.encode(), *self._passages(response.passages), "".join(rest).encode()])

    def _passages(self, passages: Iterable[Passage]) -> Iterator[bytes]:
        """Pieces of passages in JSON, with commas between; what surrounds a passage's score is remembered."""
        between = b""
        for passage in passages:
            place, score = passage[1:5], passage[5]
            before, head, tail = self._chunks.get(passage[0], _NOTHING)
            if before != place:
                head, tail = f'{{"id": {_quoted(passage[0])}'.encode(), _tail(place)
                if len(self._chunks) < _REMEMBERED:
                    self._chunks[passage[0]] = place, head, tail
            yield between
            yield head
            if score is not None:
                yield f', "score": {score!r}'.encode()
            yield tail
            between = b", "


class _Quoted(dict[str, str]):
    """Names of chunks and stages in JSON, each quoted when it is first met."""

    def __missing__(self, name: str) -> str:
        quoted = _quoted(name)
        if len(self) < _REMEMBERED:
            self[name] = quoted
        return quoted


_Place = tuple[str | None, int | None, int | None, str | None]
_NOTHING: tuple[_Place | None, bytes, bytes] = (None, b"", b"")


def _tail(place: _Place) -> bytes:
    doc, start, end, text = place
    parts = [
        *([] if text is None else [f', "text": {_quoted(text)}']),
        *([] if doc is None else [f', "doc": {_quoted(doc)}']),
        *([] if start is None else [f', "start": {start}']),
        *([] if end is None else [f', "end": {end}']),
        "}",
    ]
    return "".join(parts).encode()


def decode_response(line: bytes | str) -> tuple[str, Response]:
    """The question's id and the response of a line that `ResponseEncoder` wrote.

    Raises   ValueError for a line that is damaged or is none of ours.
    """
    try:
        values = json.loads(line)
        passages = tuple(
            Passage(
                item["id"], item.get("doc"), item.get("start"), item.get("end"), item.get("text"), item.get("score")
            )
            for item in values["retrieved"]
        )
        candidates = values.get("candidates")
        return values["qid"], Response(
            values["query"],
            passages,
            answer=values.get("answer"),
            latency_ms=values.get("latency_ms") or {},
            candidates=None if candidates is None else tuple(candidates),
            error=values.get("error"),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"is no line of a run ({exception_line(error)})") from error
