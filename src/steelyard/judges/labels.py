"""What people decided about items, one after another, and what that comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from steelyard.judges.verdict import Label

Choice = Literal["supported", "contradicted", "not_found", "cannot_say"]
"""What a person can decide about an item."""
ADJUDICATION = "adjudication"
"""The rater whose decisions settle conflicts."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What one person decided about one item.

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
        """Who decided, without adjudication, by name."""
        return sorted({decision.rater for decision in self.decisions} - {ADJUDICATION})

    @cached_property
    def consensus(self) -> Mapping[str, Label]:
        """Item -> what people decided: the adjudication, else what more raters said than anything else.

        Items that nobody can say, or that raters are at odds about, have none.
        """
        labels = {item_id: _consensus(decisions) for item_id, decisions in self.by_item.items()}
        return {item_id: label for item_id, label in labels.items() if label not in (None, "cannot_say")}  # type: ignore[misc]

    @cached_property
    def conflicts(self) -> Sequence[str]:
        """Items that raters are at odds about, so that no label is ahead, and that nobody adjudicated."""
        return tuple(item_id for item_id, decisions in self.by_item.items() if _consensus(decisions) is None)

    def __len__(self) -> int:
        return len(self.decisions)


def _consensus(decisions: Sequence[Decision]) -> Choice | None:
    settled = [decision.label for decision in decisions if decision.rater == ADJUDICATION]
    if settled:
        return settled[-1]
    counts = Counter(decision.label for decision in decisions).most_common(2)
    return counts[0][0] if len(counts) == 1 or counts[0][1] > counts[1][1] else None
