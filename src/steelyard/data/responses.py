"""What a system gave for one question, and its line in a file of outputs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from json.encoder import encode_basestring as _quoted

from steelyard.base.errors import exception_line
from steelyard.data.corpus import Passage

_REMEMBERED = 200_000
_Chunk = tuple[str, str | None, int | None, int | None, str | None]


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
        self._chunks: dict[_Chunk, tuple[bytes, bytes]] = {}

    def line(self, query_id: str, response: Response) -> bytes:
        r"""One line in UTF-8, its end included; what is None is left out, and milliseconds have four decimals.

        >>> ResponseEncoder().line("q1", Response("why?", (Passage("d#2", score=0.5),), latency_ms={"total": 1.25}))
        b'{"qid": "q1", "query": "why?", "retrieved": [{"id": "d#2", "score": 0.5}], "latency_ms": {"total": 1.2500}}\n'
        """
        pieces = [f'{{"qid": {_quoted(query_id)}, "query": {_quoted(response.query)}, "retrieved": ['.encode()]
        between = b""
        for passage in response.passages:
            before, after = self._chunks.get(passage[:5]) or self._remember(passage[:5])
            score = passage[5]
            pieces += (between, before, b"" if score is None else b', "score": %r' % score, after)
            between = b", "
        rest = "]"
        if response.candidates is not None:
            rest += f', "candidates": {_quoted_list(response.candidates)}'
        if response.answer is not None:
            rest += f', "answer": {_quoted(response.answer)}'
        if response.error is not None:
            rest += f', "error": {_quoted(response.error)}'
        else:
            times = ", ".join([f"{_quoted(stage)}: {ms:.4f}" for stage, ms in response.latency_ms.items()])
            rest += f', "latency_ms": {{{times}}}'
        pieces.append(f"{rest}}}\n".encode())
        return b"".join(pieces)

    def _remember(self, chunk: _Chunk) -> tuple[bytes, bytes]:
        around = _around_score(chunk)
        if len(self._chunks) < _REMEMBERED:
            self._chunks[chunk] = around
        return around


def _quoted_list(names: Sequence[str]) -> str:
    """A list of names in JSON; lists of candidates are long, and hardly a name needs an escape."""
    joined = '", "'.join(names)
    # Every escape makes it longer: by so much where only the quotation marks around the names were escaped.
    if len(_quoted(joined)) == len(joined) + 2 * len(names):
        return f'["{joined}"]'
    return f"[{', '.join(map(_quoted, names))}]"


def _around_score(chunk: _Chunk) -> tuple[bytes, bytes]:
    """What is before and after the score of a passage: its id; its text and where that is from."""
    chunk_id, doc, start, end, text = chunk
    parts = [
        *([] if text is None else [f', "text": {_quoted(text)}']),
        *([] if doc is None else [f', "doc": {_quoted(doc)}']),
        *([] if start is None else [f', "start": {start}']),
        *([] if end is None else [f', "end": {end}']),
        "}",
    ]
    return f'{{"id": {_quoted(chunk_id)}'.encode(), "".join(parts).encode()


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
