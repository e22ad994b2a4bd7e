"""Decisions of people about items, and the labels that follow from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from steelyard.judges.verdict import Label

Choice = Literal["supported", "contradicted", "not_found", "cannot_say"]
"""What a person can decide about an item."""
IN_TWO = ("supported", "not_supported")
"""Labels as a judge is held against people by them: "contradicted" and "not_found" are both without support."""
ADJUDICATION = "adjudication"
"""The rater whose decisions settle conflicts."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Decision of one person about one item.

    rater   a name or a pseudonym; "adjudication" settles conflicts of others
    date    when, in ISO 8601;   note   the person's own words
    """

    item_id: str
    rater: str
    label: Choice
    note: str = ""
    date: str = ""


class Labels:
    """The decisions of people; of one person about one item, the last one counts.

    >>> labels = Labels([Decision("i", "ann", "supported"), Decision("i", "bob", "not_found")])
    >>> labels.conflicts, dict(labels.consensus)
    (('i',), {})
    >>> Labels([*labels.decisions, Decision("i", "adjudication", "not_found")]).consensus["i"]
    'not_found'
    """

    def __init__(self, decisions: Iterable[Decision]) -> None:
        last = {(decision.item_id, decision.rater): decision for decision in decisions}
        self.decisions: Sequence[Decision] = tuple(last.values())

    @cached_property
    def by_item(self) -> Mapping[str, Sequence[Decision]]:
        """Item -> the decisions about it, one a rater."""
        listed: dict[str, list[Decision]] = {}
        for decision in self.decisions:
            listed.setdefault(decision.item_id, []).append(decision)
        return listed

    @property
    def raters(self) -> Sequence[str]:
        """Names of the raters, without adjudication."""
        return sorted({decision.rater for decision in self.decisions} - {ADJUDICATION})

    @cached_property
    def consensus(self) -> Mapping[str, Label]:
        """Item -> what people decided: the adjudication, else what more raters said than anything else.

        A rater who cannot say has said nothing.  Items that no rater can say, or that raters are at odds about, have no
        label.
        """
        return self._agreed(in_two=False)

    @cached_property
    def support(self) -> Mapping[str, Label]:
        """Consensus where "contradicted" and "not_found" are one label, "not_found": for what reads both alike.

        >>> labels = Labels([Decision("i", "ann", "contradicted"), Decision("i", "bob", "not_found")])
        >>> dict(labels.consensus), dict(labels.support)
        ({}, {'i': 'not_found'})
        """
        return self._agreed(in_two=True)

    def _agreed(self, *, in_two: bool) -> Mapping[str, Label]:
        labels = {item_id: _consensus(decisions, in_two=in_two) for item_id, decisions in self.by_item.items()}
        return {item_id: label for item_id, label in labels.items() if label not in (None, "cannot_say")}  # type: ignore[misc]

    @cached_property
    def conflicts(self) -> Sequence[str]:
        """Items that raters are at odds about, so that no label is ahead, and that are not adjudicated.

        First those about whether there is support, then those where the question is whether the source says otherwise.
        """
        return (*self.support_conflicts, *(i for i in self._at_odds(in_two=False) if i not in self.support_conflicts))

    @cached_property
    def support_conflicts(self) -> Sequence[str]:
        """Conflicts that have no label in `support` either."""
        return self._at_odds(in_two=True)

    def _at_odds(self, *, in_two: bool) -> Sequence[str]:
        return tuple(i for i, decisions in self.by_item.items() if _consensus(decisions, in_two=in_two) is None)

    def __len__(self) -> int:
        return len(self.decisions)


def _consensus(decisions: Sequence[Decision], *, in_two: bool) -> Choice | None:
    settled = [decision.label for decision in decisions if decision.rater == ADJUDICATION]
    labels = settled[-1:] or [decision.label for decision in decisions]
    labels = ["not_found" if in_two and label == "contradicted" else label for label in labels]
    counts = Counter(label for label in labels if label != "cannot_say").most_common(2)
    if not counts:
        return "cannot_say"
    return counts[0][0] if len(counts) == 1 or counts[0][1] > counts[1][1] else None
