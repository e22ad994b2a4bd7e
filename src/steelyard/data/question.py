"""One question with its gold, as a line of a dataset holds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from steelyard.base.errors import InputError, quoted
from steelyard.base.short_repr import short_repr
from steelyard.data.histories import Message, parse_history
from steelyard.data.pieces import Piece, usual_piece
from steelyard.io.evaluation_rows import ROLES
from steelyard.io.json_files import (
    LABEL_KEYS,
    id_labels,
    is_graded_row,
    names_question,
    query_id_key,
    query_id_of,
    query_text_key,
)

_READ = {
    "query_id", "qid", "query", "question", "evidence", "answer", "gold_answer", "answers", "gold_answers",
    "answerable", "nuggets", "tags", "gold_evidence", "history", *LABEL_KEYS,
}  # fmt: skip
"""Keys of a line that have a meaning of their own."""

_ANSWER_KEYS = ("gold_answers", "gold_answer", "answers", "answer")
"""Keys of gold answers, one text or a list; the first that a line has."""

_RETRIEVED = ("retrieved", *ROLES["retrieved"])


@dataclass(frozen=True, slots=True)
class GoldNugget:
    """A fact that a good answer holds.

    vital   whether an answer without it is not good; else it is okay to have
    """

    text: str
    vital: bool = True


@dataclass(frozen=True, slots=True, repr=False)
class Question:
    """One question of a dataset.

    query      what is asked; None in a file of labels alone
    evidence   gold pieces that can be found in any chunking
    labels     gains of chunks that are named by id; None where the line has no such key
    answer     the answer that is expected; of several the first
    answers    all gold answers, any of which will do
    answerable whether the corpus has an answer; None where the line does not say, and has neither gold nor an answer
    nuggets    facts that a good answer holds
    where      file and line, for messages
    fields     what else the line holds that is one text or number, such as the conversation it belongs to
    history    what was said before it in its conversation
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
    answers: tuple[str, ...] = field(default=(), repr=False)
    answerable: bool | None = field(default=None, repr=False)
    nuggets: tuple[GoldNugget, ...] = field(default=(), repr=False)
    history: tuple[Message, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        return short_repr(self)

    @property
    def of_answers(self) -> tuple[object, ...]:
        """Facts of answers beyond `answer` and gold; empty where that is nothing."""
        says_more = len(self.answers) > 1 or self.nuggets or self.answerable is False
        facts = (self.query_id, self.answers, self.answerable, self.nuggets) if says_more else ()
        return (*facts, self.query_id, self.history) if self.history else facts

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
    if not names_question(line):
        raise InputError(f"{where}: has no `query`, and is no question (keys: {', '.join(line) or 'none'})")
    if is_graded_row(line):
        raise InputError(f"{where}: is a judged document (`doc_id`, `gain`), and no question")
    query_id, used = query_id_of(line, where), (query_id_key(line), query_text_key(line))
    query = None if used[1] is None else line[used[1]]
    if query is not None and not isinstance(query, str):
        raise InputError(f"{where}: `{used[1]}` must be text, not {quoted(query)}")
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
    tags, labels = line.get("tags") or [], id_labels(line, where)
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(f"{where}: `tags` must be a list of texts, not {quoted(tags)}")
    all_gains = [*(piece.gain for piece in pieces), *(labels or {}).values()]
    return Question(
        query_id, query,
        evidence=pieces, labels=labels, tags=tuple(tags), where=where, history=parse_history(line, where),
        fields={key: value for key, value in line.items()
                if key not in _READ and key not in used and isinstance(value, str | int | float)},
        **_answer_fields(line, where, has_gold=any(gain > 0 for gain in all_gains)),
    )  # fmt: skip


def _answer_fields(line: Mapping[str, Any], where: str, *, has_gold: bool) -> dict[str, Any]:
    """Facts of answers in a line, as fields of Question.

    has_gold   whether anything is relevant, so that there is an answer unless the line says otherwise
    Raises     InputError naming what of the line does not fit.
    """
    answers = _gold_answers(line, where)
    return {
        "answer": answers[0] if answers else None,
        "answers": answers,
        "answerable": _answerable(line, where, has_gold or bool(answers)),
        "nuggets": tuple(_nugget(nugget, where, i) for i, nugget in enumerate(_nugget_list(line, where), 1)),
    }


def _gold_answers(line: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """The gold answers of a line, one text or number or a list of them; none where they are empty.

    Beside what was retrieved, `answer` is what a system said.
    """
    is_given = not line.keys().isdisjoint(_RETRIEVED)
    keys = (key for key in _ANSWER_KEYS if line.get(key) is not None and not (is_given and key == "answer"))
    key = next(keys, None)
    if key is None:
        return ()
    value = line[key].get("text") if isinstance(line[key], Mapping) else line[key]  # as SQuAD has them
    listed = value if isinstance(value, list | tuple) else [value]
    for answer in listed:
        if not isinstance(answer, str | int | float):
            raise InputError(f"{where}: `{key}` must be a text, or a list of texts, not {quoted(line[key])}")
    return tuple(dict.fromkeys(str(answer) for answer in listed if str(answer)))


def _answerable(line: Mapping[str, Any], where: str, has_answer: bool) -> bool | None:
    """Answerability that a line gives of itself; else true where it has an answer or anything relevant."""
    says = line.get("answerable")
    if says is not None and not isinstance(says, bool):
        raise InputError(f"{where}: `answerable` must be true or false, not {quoted(says)}")
    return says if says is not None else True if has_answer else None


def _nugget_list(line: Mapping[str, Any], where: str) -> Iterable[object]:
    listed = line.get("nuggets") or []
    if not isinstance(listed, list | tuple):
        raise InputError(
            f"{where}: `nuggets` must be a list of texts, or of objects with `text` and `vital`, not {quoted(listed)}"
        )
    return listed


def _nugget(value: object, where: str, number: int) -> GoldNugget:
    fields = value if isinstance(value, Mapping) else {"text": value}
    text, vital = fields.get("text", fields.get("nugget")), fields.get("vital", fields.get("importance", True))
    vital = {"vital": True, "okay": False}.get(vital, vital) if isinstance(vital, str) else vital
    if not isinstance(text, str) or not text.strip() or not isinstance(vital, bool):
        raise InputError(
            f"{where}, nugget {number}: must be a text, or an object with `text` and `vital` (true or false), not "
            f"{quoted(value)}"
        )
    return GoldNugget(text, vital)


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
