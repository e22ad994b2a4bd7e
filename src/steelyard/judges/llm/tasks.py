"""What a model is asked to do: prompt, form of the reply, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from steelyard.judges.llm.replies import Reading, last_object, read_entries, read_label, read_score, read_text
from steelyard.judges.verdict import Label, Verdict
from steelyard.models.chat import object_schema, response_format

T = TypeVar("T")
_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_CREDITS: Mapping[str, tuple[Label, float]] = {
    "support": ("supported", 1.0), "partial_support": ("supported", 0.5), "not_support": ("not_found", 0.0),
}  # fmt: skip
ONLY = "1"
"""The id of what is asked for as a whole."""


@dataclass(frozen=True)
class Task(Generic[T]):
    """Something that is asked of a model.

    name      of the prompt
    key       of the reply's JSON object, by which it is recognised
    form      the properties of that object, as JSON schema
    read      its values by id
    n_tokens  of the reply, as an estimate: for itself, and for each id
    find      the object in a reply, by its key; None where there is none
    """

    name: str
    key: str
    form: Mapping[str, Any]
    read: Callable[[Mapping[str, Any], Sequence[str]], Reading[T]]
    n_tokens: tuple[int, int]
    find: Callable[[str, str], Mapping[str, Any] | None] = last_object

    @cached_property
    def response_format(self) -> dict[str, Any]:
        """What servers that can see to the form of a reply are told."""
        return response_format(self.name, self.form)


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": object_schema(properties)}


def _entries(reply: Mapping[str, Any], key: str) -> Sequence[Any]:
    entries = reply.get(key)
    return entries if isinstance(entries, list) else []


def _verdict(entry: Mapping[str, Any]) -> Verdict | None:
    label = read_label(entry.get("verdict"))
    return None if label is None else Verdict(label, read_score(entry.get("score")), read_text(entry.get("reason")))


def _read_verdicts(reply: Mapping[str, Any], ids: Sequence[str]) -> Reading[Verdict]:
    return read_entries(_entries(reply, "verdicts"), ids, _verdict, lambda verdict: verdict.label)


def _read_whole(reply: Mapping[str, Any], ids: Sequence[str]) -> Reading[Verdict]:
    """All ids have a verdict, by whether they are listed; without a list of them none has."""
    entries = reply.get("unsupported")
    if not isinstance(entries, list):
        return Reading()
    listed = [{"id": entry} if isinstance(entry, int | str) else entry for entry in entries]
    unsupported = read_entries(listed, ids, lambda _: True, lambda _: True)
    explanation, grade = read_text(reply.get("explanation")), read_score(reply.get("grade"))
    reason = explanation if grade is None else f"{explanation} (grade {grade:g})".strip()
    values = {
        unit: Verdict("not_found", 0.0, reason) if unit in unsupported.values else Verdict("supported", 1.0, reason)
        for unit in ids
    }
    return Reading(values, n_unknown=unsupported.n_unknown)


def _claims(entry: Mapping[str, Any]) -> tuple[str, ...] | None:
    claims = entry.get("claims")
    if not isinstance(claims, list):
        return None
    return tuple(text for claim in claims if (text := read_text(claim)))


def _read_claims(reply: Mapping[str, Any], ids: Sequence[str]) -> Reading[tuple[str, ...]]:
    return read_entries(_entries(reply, "sentences"), ids, _claims, lambda claims: claims)


def _assignment(entry: Mapping[str, Any]) -> Verdict | None:
    word = "_".join(read_text(entry.get("assignment")).lower().replace("-", " ").replace("_", " ").split())
    label, credit = _CREDITS.get(word, (None, 0.0))
    return None if label is None else Verdict(label, credit, read_text(entry.get("reason")))


def _read_nuggets(reply: Mapping[str, Any], ids: Sequence[str]) -> Reading[Verdict]:
    return read_entries(_entries(reply, "facts"), ids, _assignment, lambda verdict: verdict.score)


def _read_new_nuggets(reply: Mapping[str, Any], ids: Sequence[str]) -> Reading[tuple[tuple[str, bool], ...]]:
    entries = [entry for entry in _entries(reply, "nuggets") if isinstance(entry, Mapping)]
    texts = {read_text(entry.get("text")): entry.get("vital") is True for entry in entries}
    nuggets = tuple((text, vital) for text, vital in texts.items() if text)
    return Reading({ONLY: nuggets} if nuggets else {})


def _read_grade(reply: Mapping[str, Any], ids: Sequence[str]) -> Reading[Verdict]:
    grade = read_score(reply.get("grade"))
    label: Label = "supported" if grade else "not_found"
    return Reading({} if grade is None else {ONLY: Verdict(label, grade, read_text(reply.get("reason")))})


_WORDS = {"type": "string", "enum": ["supported", "contradicted", "not_found"]}
VERDICTS = Task(
    "verdicts", "verdicts",
    {"verdicts": _list(id=_TEXT, reason=_TEXT, verdict=_WORDS, score=_NUMBER)}, _read_verdicts, (10, 50),
)  # fmt: skip
WHOLE = Task(
    "whole", "unsupported",
    {"explanation": _TEXT, "unsupported": {"type": "array", "items": _TEXT}, "grade": _NUMBER}, _read_whole, (80, 5),
)  # fmt: skip
CLAIMS = Task(
    "claims", "sentences",
    {"sentences": _list(id=_TEXT, claims={"type": "array", "items": _TEXT})}, _read_claims, (10, 80),
)  # fmt: skip
NUGGETS = Task(
    "nuggets", "facts",
    {"facts": _list(id=_TEXT, reason=_TEXT, assignment={"type": "string", "enum": list(_CREDITS)})}, _read_nuggets,
    (10, 40),
)  # fmt: skip
NEW_NUGGETS = Task(
    "new_nuggets", "nuggets", {"nuggets": _list(text=_TEXT, vital={"type": "boolean"})}, _read_new_nuggets, (300, 0)
)
RELEVANCE = Task("relevance", "grade", {"reason": _TEXT, "grade": _NUMBER}, _read_grade, (40, 0))
TASKS: tuple[Task[Any], ...] = (VERDICTS, WHOLE, CLAIMS, NUGGETS, NEW_NUGGETS, RELEVANCE)
