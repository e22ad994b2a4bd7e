"""Tasks of a language model that judges: its prompts, the form of the reply, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Generic, TypeVar

from steelyard.base.choices import Language
from steelyard.judges.llm.evidence import Evidence, checked, read_evidence
from steelyard.judges.llm.replies import (
    ReplyEntries,
    entries_in,
    has_id,
    last_object,
    other_values,
    read_entries,
    read_score,
    read_text,
    value_under,
)
from steelyard.judges.verdict import Verdict
from steelyard.services.models.chat import Items, object_schema, response_format

LANGUAGES: tuple[Language, ...] = ("en", "zh")
T = TypeVar("T")
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
GRADES = ("score", "rating", "relevance", "relevance_score", "评分", "分数", "得分", "等级", "相关性")
"""Keys under which models give a grade that was not asked for by that name."""
ONLY = "1"
"""The id of what is asked for as a whole."""
OF_ANSWER, OF_REFERENCE, FACT, RELEVANCE = "a", "r", "f", "q"
"""With what the ids of a comparison begin: statements of the answer and of references, facts; and the question's id."""


@dataclass(frozen=True)
class Task(Generic[T]):
    """Something that is asked of a model.

    name      of the prompt
    key       of the reply's JSON object, by which it is recognised
    form      the properties of that object, as JSON schema
    read      its values by id
    n_tokens  of the reply, as an estimate: for itself, and for each id
    find      the object in a reply, by its key; None where there is none
    entry     the field that is read of each entry in the list under the key; empty where there is no such list
    others    keys that are read where the reply has not the key
    prepares  whether it only draws up what is judged then
    check     holds a value against the texts that were asked about: what counts, why it does not, and how many ids the
              model made up; None where nothing is to be held
    """

    name: str
    key: str
    form: Mapping[str, Any]
    read: Callable[[Mapping[str, Any], Sequence[str]], ReplyEntries[T]]
    n_tokens: tuple[int, int]
    find: Callable[[str, str], Mapping[str, Any] | None] = last_object
    entry: str = ""
    others: tuple[str, ...] = ()
    prepares: bool = False
    check: Callable[[str, T, Mapping[str, str | Items]], tuple[T | None, str, int]] | None = None

    def reading(self, text: str, ids: Sequence[str]) -> ReplyEntries[T] | None:
        """The values of a reply by id, as it was asked for or in another form; None where it has none of them.

        Other forms are a list alone, a map by id, either under another key, and a value under one of `others`.
        """
        reply = self.find(text, self.key)
        if reply is not None:
            return self.read(reply, ids)
        for value in other_values(text)[0]:
            entries = entries_in(value, self.entry, ids) if self.entry else value_under(value, [self.key, *self.others])
            reading = ReplyEntries[T]() if entries is None else self.read({self.key: entries}, ids)
            if reading.values or (self.entry and any(map(has_id, entries))):
                return reading
        return None

    @cached_property
    def response_format(self) -> dict[str, Any]:
        """Form of the reply, for servers that can see to it."""
        return response_format(self.name, self.form)


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": object_schema(properties)}


def _listed(
    key: str, name: str, convert: Callable[[Mapping[str, Any]], T | None], essence: Callable[[T], object]
) -> Callable[[Mapping[str, Any], Sequence[str]], ReplyEntries[T]]:
    """Reads the entries of the list under a key by one field; `convert` and `essence` as of `read_entries`."""
    return lambda reply, ids: read_entries(entries_in(reply[key], name, ids), ids, convert, essence, name)


def _read_whole(reply: Mapping[str, Any], ids: Sequence[str]) -> ReplyEntries[Verdict]:
    """All ids have a verdict, by whether they are listed; without a list of them none has.

    Where something is listed that was not asked about, it may mean any id, and those that are not listed have none.
    """
    entries = reply.get("unsupported")
    if not isinstance(entries, list):
        return ReplyEntries()
    listed = [{"id": entry} if isinstance(entry, int | str) else entry for entry in entries]
    unsupported = read_entries(listed, ids, lambda _: True, lambda _: True)
    explanation, grade = read_text(reply.get("explanation")), read_score(reply.get("grade"))
    reason = explanation if grade is None else f"{explanation} (grade {grade:g})".strip()
    values = {
        unit: Verdict("not_found", 0.0, reason) if unit in unsupported.values else Verdict("supported", 1.0, reason)
        for unit in ids
        if unit in unsupported.values or not unsupported.n_unknown
    }
    return ReplyEntries(values, n_unknown=unsupported.n_unknown)


def _claims(entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    claims = entry.get("claims")
    if not isinstance(claims, list):
        return None
    return tuple(text for claim in claims if (text := read_text(claim)))


def _read_new_nuggets(reply: Mapping[str, Any], ids: Sequence[str]) -> ReplyEntries[tuple[tuple[str, bool], ...]]:
    entries = [entry for entry in entries_in(reply["nuggets"], "text", ids) if isinstance(entry, Mapping)]
    texts = {read_text(entry.get("text")): entry.get("vital") is True for entry in entries}
    nuggets = tuple((text, vital) for text, vital in texts.items() if text)
    return ReplyEntries({ONLY: nuggets} if nuggets else {})


Texts = Mapping[str, str | Items]


def _by_chunks(item_id: str, evidence: Evidence, texts: Texts) -> tuple[Evidence | None, str, int]:
    return checked(evidence, _several(texts, "chunks"))


def _by_other_side(item_id: str, evidence: Evidence, texts: Texts) -> tuple[Evidence | None, str, int]:
    """Statements of an answer are held against references; the others are about one text, and name none."""
    if item_id == RELEVANCE:
        return (None, "no score from 0 to 1", 0) if evidence.score is None else (evidence, "", 0)
    return checked(evidence, _several(texts, "references") if item_id.startswith(OF_ANSWER) else {})


def _several(texts: Texts, name: str) -> Mapping[str, str]:
    value = texts.get(name, ())
    return {} if isinstance(value, str) else dict(value)


_IDS = {"type": "array", "items": _TEXT}
_WORDS = ["supported", "contradicted", "not_found"]
_read_evidence = partial(_listed, name="verdict", convert=read_evidence, essence=lambda own: own.label)
VERDICTS = Task(
    "verdicts",
    "verdicts",
    {
        "verdicts": _list(
            id=_TEXT, reason=_TEXT, verdict={"type": "string", "enum": _WORDS}, score=_NUMBER, alone=_IDS,
            together={"type": "array", "items": _IDS}, part=_IDS, against=_IDS, quote=_TEXT,
        )
    },
    _read_evidence("verdicts"),
    (10, 70),
    entry="verdict",
    check=_by_chunks,
)  # fmt: skip
COMPARISON = Task(
    "comparison",
    "comparison",
    {
        "comparison": _list(
            id=_TEXT, reason=_TEXT, verdict={"type": "string", "enum": [*_WORDS, "partly_supported"]}, score=_NUMBER,
            alone=_IDS, against=_IDS,
        )
    },
    _read_evidence("comparison"),
    (10, 50),
    entry="verdict",
    check=_by_other_side,
)  # fmt: skip
WHOLE = Task(
    "whole",
    "unsupported",
    {"explanation": _TEXT, "unsupported": {"type": "array", "items": _TEXT}, "grade": _NUMBER},
    _read_whole,
    (80, 5),
    others=("unsupported_statements", "unsupported_ids"),
)
CLAIMS = Task(
    "claims", "sentences",
    {"sentences": _list(id=_TEXT, claims={"type": "array", "items": _TEXT})},
    _listed("sentences", "claims", _claims, lambda claims: claims), (10, 80),
    entry="claims", prepares=True,
)  # fmt: skip
NEW_NUGGETS = Task(
    "new_nuggets", "nuggets", {"nuggets": _list(text=_TEXT, vital={"type": "boolean"})}, _read_new_nuggets, (300, 0),
    entry="text", prepares=True,
)  # fmt: skip
TASKS: tuple[Task[Any], ...] = (VERDICTS, COMPARISON, WHOLE, CLAIMS, NEW_NUGGETS)
