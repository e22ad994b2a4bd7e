"""Criteria that a model judges whole answers by: all of one answer in one call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from steelyard.judges.criteria import Criterion, ScaleName, scale_named
from steelyard.judges.llm.asking import LEFT_OUT, ModelRequest
from steelyard.judges.llm.inquiries import Asked, Inquiry
from steelyard.judges.llm.replies import IDS, ReplyEntries, entries_in, has_id, read_entries, read_text
from steelyard.judges.llm.tasks import GRADES, Task
from steelyard.judges.verdict import Case, Label, Verdict
from steelyard.services.models.chat import object_schema

CRITERIA = "criteria"
"""Name of the prompt."""
_KEY, _ENTRY = "grades", "grade"
_TEXT = {"type": "string"}
_ENTRIES = object_schema({"id": _TEXT, "reason": _TEXT, _ENTRY: {"type": ["number", "string"]}})
_YES = frozenset("yes y true 是 是的 有 对 符合 满足 fulfilled met oui ja sí sim".split())
_NO = frozenset("no n false 否 不 不是 没有 不对 不符合 不满足 not_fulfilled unmet non nein não".split())
_NUMBER = re.compile(r"\D*?(-?\d+(?:\.\d+)?)(?:\s*(?:/|out of)\s*(\d+(?:\.\d+)?))?\D*")
_LONGEST = 60


def grade_on(scale: ScaleName, value: Any) -> float | None:
    """The grade that a reply means on a scale; None for anything else, and off the scale.

    >>> grade_on("yes/no", "Yes."), grade_on("1-5", "4/5"), grade_on("0-10", 7.5), grade_on("1-5", 9)
    (1.0, 4.0, 7.5, None)
    """
    own = scale_named(scale)
    if scale == "yes/no":
        word = str(value).strip().strip(".。!！\"'“”").lower() if isinstance(value, str | bool) else ""
        if word in _YES or word in _NO:
            return float(word in _YES)
    elif isinstance(value, bool):
        return None
    number = _number(value, own.high)
    allowed = number is not None and own.low <= number <= own.high and (scale != "yes/no" or number in (0.0, 1.0))
    return number if allowed else None


def _number(value: Any, highest: float) -> float | None:
    """A number, or the only one of a short text; a fraction counts where it is one of the highest grade."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= highest else None
    match = _NUMBER.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= _LONGEST else None
    if match is None or (match[2] is not None and float(match[2]) != highest):
        return None
    return float(match[1])


@cache
def _task(criteria: tuple[Criterion, ...]) -> Task[Verdict]:
    """What is asked of a model by some criteria, whose ids are their numbers from 1."""
    by_id = {str(n): own for n, own in enumerate(criteria, 1)}

    def convert(entry: Mapping[str, Any]) -> Verdict | None:
        own = by_id.get(next((str(entry[name]).strip(" []().#") for name in IDS if name in entry), ""))
        key = next((name for name in (_ENTRY, *GRADES, "verdict", "answer") if name in entry), None)
        value = None if own is None or key is None else grade_on(own.scale, entry[key])
        if own is None or value is None:
            return None
        share = scale_named(own.scale).share(value)
        # Grades are no votes: the mean of several samples counts.
        label: Label = "not_found" if own.scale == "yes/no" and not share else "supported"
        return Verdict(label, share, read_text(entry.get("reason")))

    def read(reply: Mapping[str, Any], ids: Sequence[str]) -> ReplyEntries[Verdict]:
        entries = entries_in(reply[_KEY], _ENTRY, ids)
        named = [
            {"id": place, **entry} if isinstance(entry, Mapping) and place and not has_id(entry) else entry
            for place, entry in zip(ids if len(entries) == len(ids) else [""] * len(entries), entries, strict=True)
        ]
        return read_entries(named, ids, convert, lambda verdict: verdict.score, _ENTRY)

    return Task(CRITERIA, _KEY, {_KEY: {"type": "array", "items": _ENTRIES}}, read, (10, 50), entry=_ENTRY)


class Criteria(Inquiry):
    """Criteria of one answer that are judged from the same texts."""

    def requests(self) -> list[ModelRequest[Any]]:
        """One request."""
        (case,) = self.cases
        texts = {"question": case.query, "source": case.premise, "answer": case.answer}
        language = self.asked.language(case.query, case.answer)
        items = tuple(
            (str(n), f"{own.words(language)} ({scale_named(own.scale).words(language)})")
            for n, own in enumerate(case.criteria, 1)
        )
        named = {name: text for name, text in texts.items() if text}
        return [ModelRequest(_task(case.criteria), language, named, "criteria", items, self.epoch)]

    def take(self, request: ModelRequest[Any], result: ReplyEntries[Any]) -> None:
        """Take in the grades."""
        self._result = result

    def rows(self) -> list[list[Verdict]]:
        """The grades of the answer, as shares of their scales."""
        values, causes = self._result.values, self._result.causes
        ids = [str(n) for n, _ in enumerate(self.cases[0].criteria, 1)]
        return [[values.get(i) or Verdict("not_judged", None, causes.get(i, LEFT_OUT)) for i in ids]]


def criteria_inquiries(cases: Sequence[Case], asked: Asked, epoch: int) -> list[Criteria]:
    """Inquiries about the cases that are about criteria, one each."""
    own = [(place, case) for place, case in enumerate(cases) if case.table == "criteria" and case.criteria]
    return [Criteria([place], [case], epoch, asked) for place, case in own]
