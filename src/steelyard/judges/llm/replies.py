"""Replies of a model: the JSON in them, and its entries by the ids that were asked."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Generic, TypeVar, cast

from steelyard.base.errors import quoted
from steelyard.judges.verdict import Label

T = TypeVar("T")
_LONGEST = 200_000
_MOST_READ = 10 * _LONGEST
"""Characters of objects that turn out to be none."""
_QUICKER = 64
"""Times that lines are counted as fast as objects are read."""
_TORN = re.compile(r"[{\[]\s*[\"{\[]")
"""The beginning of JSON, not of a remark in braces."""
IDS = ("id", "statement_id", "sentence_id", "fact_id", "statement", "number", "编号", "序号")
"""Keys under which models give the id of an entry."""
_LISTED_KEYS, _KEY_LENGTH = 5, 24
_REFUSED = re.compile(
    r"""\bi(?:['’]m|\ am)\ (?:(?:very|so|really)\ )?sorry
      | \b(?:i|we)(?:['’]m|\ am|['’]re|\ are)\ (?:unable|not\ able|not\ allowed)\b
      | \b(?:i|we)\ (?:can(?:['’]t|\ ?not)|won['’]t|will\ not|must\ decline|have\ to\ decline|decline|refuse)\b
      | \b(?:against|violates?)\ (?:my|our|the)\ (?:\w+\ )?(?:guidelines|polic(?:y|ies)|rules)\b
      | 抱歉 | 对不起
      | (?:无法|不能|不便|拒绝|不可以)(?:为[你您])?(?:协助|帮助|提供|回答|处理|完成|满足|评估|评判|判断|继续|讨论)
      | 违反[^。]{0,12}(?:政策|规定|准则|规范)""",
    re.VERBOSE | re.IGNORECASE,
)
_REFUSAL_LENGTH = 600
"""Characters; a refusal is short."""
_BLANKS = re.compile(r"[\s_\-‐-―*\"'“”‘’`.。!！:：,，]+")


@dataclass(frozen=True)
class ReplyEntries(Generic[T]):
    """Entries of a reply, by id.

    values        of ids that were asked, and can be read
    conflicting   ids with several entries that disagree; they have no value
    n_unknown     entries with an id that was not asked
    causes        of ids whose entries cannot be taken, why
    """

    values: Mapping[str, T] = field(default_factory=dict)
    conflicting: frozenset[str] = frozenset()
    n_unknown: int = 0
    causes: Mapping[str, str] = field(default_factory=dict)


def last_object(text: str, key: str) -> Mapping[str, Any] | None:
    """The last JSON object of a text that has a key; None where there is none.

    The text may be nothing but it, or prose around it; of an object within another, the outer one is taken.  What would
    take too long to read, as a text of nothing but braces, has none.

    >>> last_object('Not {"a": 1} but ```{"a": {"a": 2}}```.', "a")
    {'a': {'a': 2}}
    >>> last_object('{"a": [1, 2', "a") is None
    True
    """
    objects = [value for _, value in _values(text[-_LONGEST:], "{")[0] if key in value]
    return objects[-1] if objects else None


def other_values(text: str) -> tuple[list[Any], bool]:
    """The JSON objects and lists of a text, the last of them first, and whether JSON breaks off in it.

    What follows the beginning of JSON that breaks off is a part of it, and not among the values.

    >>> other_values('Read [1]. {"1": "supported"}')
    ([{'1': 'supported'}, [1]], False)
    >>> other_values('{"verdicts": [{"id": "1"}, {"id"')
    ([], True)
    """
    text = text[-_LONGEST:]
    values, failures = _values(text, "{[")
    torn = next((start for start in failures if _TORN.match(text, start)), len(text))
    return [value for start, value in reversed(values) if start < torn], torn < len(text)


def _values(text: str, opening: str) -> tuple[list[tuple[int, Any]], list[int]]:
    """Places and values of the JSON that begins with some characters, and the places where it cannot be read."""
    decoder, start, remaining = json.JSONDecoder(), 0, _MOST_READ
    pattern, values, failures = re.compile(f"[{re.escape(opening)}]"), list[tuple[int, Any]](), list[int]()
    while match := pattern.search(text, start):
        start = match.start()
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            reached = getattr(error, "pos", len(text))
            remaining -= reached - start + reached // _QUICKER  # The error counts the lines before it.
            if remaining < 0:
                return [], [0]
            failures.append(start)
            start += 1
            continue
        values.append((start, value))
        start = end
    return values, failures


def shape_of(value: Any) -> str:
    """The form of a JSON value in a few words.

    >>> shape_of({"answer": {"a": 1}, "confidence": 2}), shape_of([1, 2]), shape_of({})
    ('keys: answer, confidence', 'a list of 2', 'an empty object')
    """
    if isinstance(value, list):
        return f"a list of {len(value)}"
    keys = [read_text(key)[:_KEY_LENGTH] for key in list(value)[:_LISTED_KEYS]]
    return f"keys: {', '.join(keys)}{', …' if len(value) > _LISTED_KEYS else ''}" if keys else "an empty object"


def is_refusal(text: str) -> bool:
    """True for a reply that declines to answer in place of JSON, in English or Chinese.

    >>> [is_refusal(text) for text in ("I can't assist with that.", "抱歉，我无法判断。", "It is supported.")]
    [True, True, False]
    """
    return len(text) <= _REFUSAL_LENGTH and _REFUSED.search(text) is not None


def entries_in(value: Any, name: str, ids: Sequence[str]) -> list[Any]:
    """The entries of a JSON value: those of a list, of a map by id, of either within an object, or the one that it is.

    name   of the field that an entry is about, which a value that is no object is taken for

    >>> entries_in({"results": {"1": "supported"}}, "verdict", ["1"])
    [{'verdict': 'supported', 'id': '1'}]
    >>> entries_in(["supported"], "verdict", ["1"]), entries_in({"id": "1", "verdict": "supported"}, "verdict", ["1"])
    ([{'verdict': 'supported'}], [{'id': '1', 'verdict': 'supported'}])
    """
    if isinstance(value, list):
        return [entry if isinstance(entry, Mapping) else {name: entry} for entry in value]
    if not isinstance(value, Mapping):
        return []
    if name in value or any(key in value for key in IDS):
        return [value]
    asked = frozenset(ids)
    if by_id := {key: entry for key, entry in value.items() if id_text(key) in asked}:
        return [{**(entry if isinstance(entry, Mapping) else {name: entry}), "id": key} for key, entry in by_id.items()]
    inner = (entries_in(entry, name, ids) for entry in value.values() if isinstance(entry, list | Mapping))
    return next(filter(None, inner), [])


def value_under(value: Any, names: Sequence[str]) -> Any:
    """The value of the first of some keys in an object, or in an object within it; None where there is none.

    >>> value_under({"result": {"score": 2}}, ["grade", "score"])
    2
    """
    if not isinstance(value, Mapping):
        return None
    inner = (found for entry in value.values() if (found := value_under(entry, names)) is not None)
    return next((value[name] for name in names if name in value), next(inner, None))


def read_entries(
    entries: Sequence[Any],
    ids: Sequence[str],
    convert: Callable[[Mapping[str, Any]], T | None],
    essence: Callable[[T], object],
    name: str = "",
) -> ReplyEntries[T]:
    """Entries by their "id", a text or a number; where none has one, and there are as many as ids, in their order.

    convert   what an entry says; None where that cannot be read
    essence   what two entries of one id must share to agree; of these, the first counts
    name      of the field that is read, for the causes
    """
    values, causes, conflicting, n_unknown, asked = dict[str, T](), dict[str, str](), set[str](), 0, frozenset(ids)
    in_order = len(entries) == len(ids) and all(isinstance(e, Mapping) and not has_id(e) for e in entries)
    for place, entry in enumerate(entries):
        # [3] and "3." mean 3.
        named = next((entry[key] for key in IDS if key in entry), None) if isinstance(entry, Mapping) else None
        entry_id = ids[place] if in_order else id_text(named)
        if entry_id not in asked:
            n_unknown += 1
            continue
        value = convert(entry)
        if value is None:
            causes[entry_id] = _unread(entry, name)
        elif essence(values.setdefault(entry_id, value)) != essence(value):
            conflicting.add(entry_id)
    agreed = {key: value for key, value in values.items() if key not in conflicting}
    return ReplyEntries(agreed, frozenset(conflicting), n_unknown, {k: v for k, v in causes.items() if k not in values})


def has_id(entry: Any) -> bool:
    """True for an entry of a reply that names its id."""
    return isinstance(entry, Mapping) and any(name in entry for name in IDS)


def id_text(value: Any) -> str:
    """The id that a value of a reply means, with no marks around it; empty for what is none.

    >>> id_text("[c3]"), id_text(3), id_text("3."), id_text(None)
    ('c3', '3', '3', '')
    """
    return "" if isinstance(value, bool) or not isinstance(value, int | str) else str(value).strip(" []().#")


def _unread(entry: Mapping[str, Any], name: str) -> str:
    """Cause for which an entry cannot be read."""
    return f"{name} {quoted(entry[name])} cannot be read" if name in entry else f"no {name} in its entry"


def read_label(value: Any) -> Label | None:
    """The verdict that a word means, in whatever case and in several languages; None for any other word.

    >>> read_label("SUPPORTED"), read_label("矛盾。"), read_label("Not-Found"), read_label("perhaps")
    ('supported', 'contradicted', 'not_found', None)
    """
    return _labels().get(_folded(value)) if isinstance(value, str) else None


def read_score(value: Any) -> float | None:
    """A score from 0 to 1, as a number or as a text of nothing else; None for anything else.

    >>> read_score(0.25), read_score("0.25"), read_score(7), read_score(True), read_score("about 0.5")
    (0.25, 0.25, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        score = float(value)
    except (ValueError, OverflowError):
        return None
    return score if math.isfinite(score) and 0 <= score <= 1 else None


def read_text(value: Any) -> str:
    """A text on one line without control characters; empty for anything else."""
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _folded(word: str) -> str:
    return _BLANKS.sub(" ", unicodedata.normalize("NFKC", word[:100]).casefold()).strip()


@cache
def _labels() -> Mapping[str, Label]:
    lines = (files("steelyard.judges.llm") / "verdict_words.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {_folded(word): cast("Label", label) for label, word in rows}
