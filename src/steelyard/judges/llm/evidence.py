"""What a model says numbered texts hold for a statement, and the verdict by any of these texts that follows from it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from steelyard.judges.llm.replies import id_text, read_label, read_score, read_text
from steelyard.judges.verdict import Label, Verdict

Ids = frozenset[str]
_BLANKS = re.compile(r"\s+")
_COMMA = re.compile("[,，、;；]")
_OMISSION = re.compile(r"\.{3,}|…+|\[…\]")
_QUOTATION_MARKS = "\"'“”‘’「」『』《》"
_PART_WORDS = ("part", "部分")


@dataclass(frozen=True, slots=True)
class Evidence:
    """One statement as a model judged it by several texts.

    label, score, reason   of the statement by all of them
    alone         texts each of which supports the whole statement
    together      sets of texts that support it only together
    part          texts that say a part of it
    against       texts that contradict it
    quote         words of one of these texts;   is_misquoted   whether none of those that are named holds them
    is_partial    whether the model's word says that a part of the statement is there
    shown         all texts that the model was shown
    """

    label: Label
    score: float | None = None
    reason: str = ""
    alone: Ids = frozenset()
    together: tuple[Ids, ...] = ()
    part: Ids = frozenset()
    against: Ids = frozenset()
    quote: str = ""
    is_misquoted: bool = False
    is_partial: bool = False
    shown: Ids = frozenset()

    @property
    def named(self) -> Ids:
        """Texts that say something of the statement, for it."""
        return self.alone.union(self.part, *self.together)

    def supports(self, texts: Ids) -> bool:
        """True where these texts support the statement."""
        return bool(self.alone & texts) or any(own <= texts for own in self.together)

    def verdict(self, label: Label) -> Verdict:
        """The verdict by some of the texts; the score is that of the statement, where it has this label."""
        score = self.score if label == self.label else 0.0 if label == "contradicted" else None
        return Verdict(label, score, self.reason)


def read_evidence(entry: Mapping[str, Any]) -> Evidence | None:
    """The entry of a reply about one statement; None where its verdict cannot be read.

    >>> read_evidence({"id": "1", "verdict": "supported", "alone": ["c1"], "together": [["c2", "c3"]]}).alone
    frozenset({'c1'})
    """
    own = [entry["verdict"]] if "verdict" in entry else [word for key, word in entry.items() if key not in _FIELDS]
    words = {label: str(word) for word in own if (label := read_label(word)) is not None}
    if len(words) != 1:
        return None
    [(label, word)] = words.items()
    together = _sets(entry.get("together"))
    if not entry.keys() & {"alone", "together", "part", "against"}:
        entry = {**entry, **_cited(label, next((entry[key] for key in _CITED if key in entry), None))}
        together = _sets(entry.get("together"))
    return Evidence(
        label, read_score(entry.get("score")), read_text(entry.get("reason")),
        alone=_ids(entry.get("alone")).union(*(own for own in together if len(own) == 1)),
        together=tuple(own for own in together if len(own) > 1), part=_ids(entry.get("part")),
        against=_ids(entry.get("against")), quote=read_text(entry.get("quote")).strip(_QUOTATION_MARKS),
        is_partial=label == "not_found" and any(part in word.lower() for part in _PART_WORDS),
    )  # fmt: skip


def _cited(label: Label, value: Any) -> dict[str, Any]:
    """Fields of an entry that only names texts: several that support a statement may do so only together."""
    ids = sorted(_ids(value))
    if label == "supported":
        return {"together": [ids]} if ids else {}
    return {"against" if label == "contradicted" else "part": ids}


_CITED = ("chunks", "chunk_ids", "sources", "ids", "片段", "依据")
"""Keys under which models name texts that were asked for by the role that they have."""
_FIELDS = ("reason", "quote", "alone", "together", "part", "against")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _sets(value: Any) -> list[Ids]:
    """Sets of ids, of a list of lists; a list of ids alone is one set."""
    listed = _list(value)
    return [_ids(own) for own in listed if isinstance(own, list)] or [_ids(listed)]


def _ids(value: Any) -> Ids:
    """The ids of a list, or of a text; each may have behind it what its line in the prompt has, as "c1 3fa9" has."""
    listed = [value] if isinstance(value, int | str) else _list(value)
    words = [part.split() for item in listed for part in _COMMA.split(id_text(item))]
    return frozenset(id_text(own[0]).lower() for own in words if own)


def checked(evidence: Evidence, texts: Mapping[str, str]) -> tuple[Evidence | None, str, int]:
    """Evidence held against the texts that a model was shown: what counts, or why not, and how many ids it made up.

    The verdict decides: of a statement that is not found, what would support it says a part of it, and nothing is
    against it; a text named on both sides is on that of the verdict.  Where there is one text, no other can be meant.
    A supported statement that no text supports, and a contradicted one that none contradicts, count as unread.

    >>> checked(Evidence("supported"), {"c1": "It is red.", "c2": "It is big."})
    (None, 'supported, and by no text that it names', 0)
    """
    shown = frozenset(texts)
    names = {name[1:]: name for name in texts} | {name: name for name in texts}  # Some models leave out the letter.
    together = tuple(frozenset(map(names.__getitem__, own)) for own in evidence.together if own <= names.keys())
    alone, part, against = (
        frozenset(names[name] for name in own if name in names)
        for own in (evidence.alone, evidence.part, evidence.against)
    )
    unknown = evidence.named.union(evidence.against) - names.keys()
    if evidence.label == "not_found":
        alone, together, part, against = frozenset(), (), part.union(alone, *together), frozenset()
    elif evidence.label == "supported":
        alone = shown if len(shown) == 1 else alone
        against -= alone
    else:
        against = shown if len(shown) == 1 else against
        alone, together = alone - against, tuple(own for own in together if not own & against)
    if evidence.label == "supported" and shown and not (alone or together):
        return None, "supported, and by no text that it names", len(unknown)
    if evidence.label == "contradicted" and shown and not against:
        return None, "contradicted, and by no text that it names", len(unknown)
    own = replace(evidence, alone=alone, together=together, part=part, against=against, shown=shown)
    return _with_quote(own, texts), "", len(unknown)


def _with_quote(evidence: Evidence, texts: Mapping[str, str]) -> Evidence:
    """Evidence with its quotation in the reason, and a note there where none of the texts that it names holds it."""
    if not evidence.quote or not texts:
        return evidence
    named = sorted((evidence.named | evidence.against) or evidence.shown, key=list(texts).index)
    source = next((name for name in named if is_quoted(evidence.quote, texts[name])), None)
    where = f"{source}: “{evidence.quote}”" if source else f"not in {', '.join(named)}: “{evidence.quote}”"
    reason = f"{evidence.reason} ({where})".strip()
    return replace(evidence, reason=reason, is_misquoted=source is None)


def is_quoted(quote: str, text: str) -> bool:
    """True where a text holds a quotation, whatever the blanks, width and case; parts around "…" in their order.

    >>> is_quoted("opens … nine", "The hall OPENS at\u3000nine."), is_quoted("opens at ten", "It opens at 9.")
    (True, False)
    """
    folded, start = _folded(text), 0
    for part in map(_folded, _OMISSION.split(quote)):
        place = folded.find(part, start)
        if place < 0:
            return False
        start = place + len(part)
    return True


def _folded(text: str) -> str:
    return _BLANKS.sub("", unicodedata.normalize("NFKC", text).casefold())


@dataclass
class Statement:
    """All that was said of one statement.

    read     evidence, of one call each
    failed   texts that a call was about which said nothing of it, and why
    """

    read: list[Evidence] = field(default_factory=list)
    failed: list[tuple[Ids, str]] = field(default_factory=list)

    def verdict(self, texts: Ids) -> Verdict:
        """The verdict by these texts together; not judged where they were not all read, or not read together."""
        if supporting := next((own for own in self.read if own.supports(texts)), None):
            return supporting.verdict("supported")
        if opposing := next((own for own in self.read if own.against & texts), None):
            return opposing.verdict("contradicted")
        unread = texts.difference(*(own.shown for own in self.read)) or self.apart(texts)
        if unread:
            causes = [cause for shown, cause in reversed(self.failed) if shown & unread]
            return Verdict("not_judged", None, causes[0] if causes else "not read together")
        near = [own for own in self.read if own.named & texts or own.shown <= texts]
        return near[-1].verdict("not_found") if near else Verdict("not_found", 0.0)

    def verdict_by_all(self) -> Verdict:
        """The verdict by all that one call was about."""
        if not self.read:
            return Verdict("not_judged", None, self.failed[-1][1])
        return Verdict(self.read[-1].label, self.read[-1].score, self.read[-1].reason)

    def apart(self, texts: Ids) -> Ids:
        """Texts that each say something for the statement, of these, where no call was about all of them."""
        if any(own.supports(texts) for own in self.read):
            return frozenset()
        named = texts.intersection(frozenset[str]().union(*(own.named for own in self.read)))
        return frozenset() if any(named <= own.shown for own in self.read) else named
