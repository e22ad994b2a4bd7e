"""One question with its gold, as a line of a dataset holds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.data.pieces import Piece, usual_piece
from steelyard.io.json_files import LABEL_KEYS, id_labels, query_id_of

_READ = {
    "query_id", "qid", "query", "question", "evidence", "answer", "gold_answer", "tags", "gold_evidence", *LABEL_KEYS,
}  # fmt: skip
"""Keys of a line that have a meaning of their own."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a dataset.

    query      what is asked; None in a file of labels alone
    evidence   gold pieces that can be found in any chunking
    labels     gains of chunks that are named by id; None where the line has no such key
    answer     the answer that is expected
    where      file and line, for messages
    fields     what else the line holds that is one text or number, such as the conversation it belongs to
    """

    query_id: str
    query: str | None
    _: KW_ONLY
    evidence: tuple[Piece, ...] = ()
    labels: Mapping[str, float] | None = None
    answer: str | None = None
    tags: tuple[str, ...] = ()
    where: str = field(repr=False)
    fields: Mapping[str, str | float] = field(default_factory=dict, repr=False)

    @property
    def labels_by_id(self) -> Mapping[str, float]:
        """The labels by id, and the pieces of the evidence that name a chunk by its id."""
        return {p.chunk_id: p.gain for p in self.evidence if p.kind == "chunk"} | dict(self.labels or {})

    @property
    def id_pieces(self) -> tuple[Piece, ...]:
        """The labels by id, as pieces."""
        return tuple(Piece("chunk", gain, chunk_id=id) for id, gain in (self.labels or {}).items())


def parse_question(line: dict[str, Any], where: str) -> Question:
    """A question of a dataset.

    where    file and line, for messages
    Raises   InputError naming what of the line does not fit.
    """
    query_id = query_id_of(line, where)
    query = line.get("query", line.get("question"))
    if query is not None and not isinstance(query, str):
        raise InputError(f"{where}: `query` must be text, not {quoted(query)}")
    listed = line.get("evidence") or []
    if isinstance(listed, Mapping | str) or not isinstance(listed, Iterable):
        raise InputError(f"{where}: `evidence` must be a list of pieces, not {quoted(listed)}")
    pieces = tuple(parse_piece(piece, f"{where}, piece {i} of `evidence`") for i, piece in enumerate(listed, 1))
    gains: dict[str, float] = {}
    for piece in pieces:
        if piece.group is not None and gains.setdefault(piece.group, piece.gain) != piece.gain:
            raise InputError(
                f"{where}: group {piece.group!r} has pieces of gain {gains[piece.group]:g} and {piece.gain:g}; "
                "any one of a group does, so give all of them one gain"
            )
    answer, tags = line.get("gold_answer", line.get("answer")), line.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(f"{where}: `tags` must be a list of texts, not {quoted(tags)}")
    return Question(
        query_id, query,
        evidence=pieces, labels=id_labels(line, where), answer=None if answer is None else str(answer),
        tags=tuple(tags), where=where,
        fields={key: value for key, value in line.items() if key not in _READ and isinstance(value, str | int | float)},
    )  # fmt: skip


def parse_piece(value: object, where: str) -> Piece:
    """A piece as it is labelled: a text, or an object such as {doc, quote}.

    where    file, line and position, for messages
    Raises   InputError for what is none of the forms, and for values that do not fit.

    >>> parse_piece({"doc": "a", "pages": "3-5"}, "").pages
    (3, 4, 5)
    """
    piece = usual_piece({"text": value} if isinstance(value, str) else value)
    if piece is not None:
        return piece
    from steelyard.data.piece_forms import parse_form  # needs pydantic, which takes a moment to import

    try:
        return Piece(**parse_form(value))
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
