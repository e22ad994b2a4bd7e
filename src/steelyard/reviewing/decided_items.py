"""Items that people and a judge decided, and labels that do not count, such as those of a prompt's examples."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from steelyard.base.choices import ItemTable
from steelyard.judges.people.review import Review
from steelyard.judges.people.samples import StratifiedSample
from steelyard.judges.registry import judge_class, judge_names
from steelyard.judges.tables.items import items, verdicts_on
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import Verdict
from steelyard.text.folding import STEPS, fold
from steelyard.text.scripts import UNSPACED

_FOLDED = tuple(step for step in STEPS if step != "line_wraps")
_KEYS = ("examples", "prompt", "prompts")
_LONG, _LONG_UNSPACED = 20, 8
"""Characters from which on a sentence within a longer text is no chance; fewer where no blanks part words."""
_HAS_UNSPACED = re.compile(f"[{UNSPACED}]").search


@dataclass(frozen=True)
class PromptExamples:
    """Texts of a prompt, folded: lines, and all of them as one.

    >>> examples = PromptExamples.of({"name": "own", "examples": [{"statement": "It opens at 9.", "verdict": "yes"}]})
    >>> examples.hold("It  opens at 9."), examples.hold("It closes at 5.")
    (True, False)
    """

    lines: frozenset[str]
    texts: Sequence[str]

    @classmethod
    def of(cls, judge: Mapping[str, Any], more: Sequence[str] = ()) -> PromptExamples:
        """Examples that `recipe["judge"]` holds under `examples` or `prompt`, however nested, and more of them."""
        texts = [*_strings([judge.get(key) for key in _KEYS]), *more]
        lines = {_fold(line) for text in texts for line in text.splitlines()}
        return cls(frozenset(lines - {""}), [_fold(text) for text in texts])

    def hold(self, text: str) -> bool:
        """True for a sentence that is a line of them, or, if long enough to be no chance, a part of one of them."""
        folded = _fold(text)
        if not folded:
            return False
        is_long = len(folded) >= (_LONG_UNSPACED if _HAS_UNSPACED(folded) else _LONG)
        return folded in self.lines or (is_long and any(folded in whole for whole in self.texts))


def _fold(text: str) -> str:
    return fold(text, _FOLDED).strip()


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _strings(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _strings(part)


_NEVER = -math.inf
"""The score of what no threshold makes supported."""


@dataclass(frozen=True)
class DecidedItem:
    """An item that people and the judge decided.

    label    of people;   is_supported   what the judge says;   score   by which a threshold would say it, or None
    weight   how many items it speaks for
    """

    item_id: str
    query_id: str
    label: str
    is_supported: bool
    score: float | None
    weight: float = 1.0


def decided_items(
    verdicts: Sequence[Verdicts], review: Review, table: ItemTable, examples: PromptExamples
) -> tuple[list[DecidedItem], dict[str, int]]:
    """Each item that people and the judge decided, once, and how many labels do not count, by cause."""
    consensus = review.labels.support
    decided: dict[str, DecidedItem] = {}
    causes: dict[str, str] = dict.fromkeys(consensus, "no_verdict")
    for by_judge in verdicts:
        may_support = _may_support(by_judge.judge)
        for record in by_judge.records.values():
            for item in items(record, table):
                if causes.get(item.item_id) != "no_verdict":
                    continue
                unit = (record.gold_units if table == "said" else record.units)[item.unit]
                label, own = verdicts_on(record, table, item.unit)
                cause = (
                    "not_judged" if label in (None, "not_judged") else "in_prompt" if examples.hold(unit.text) else ""
                )
                causes[item.item_id] = cause
                if not cause:
                    decided[item.item_id] = DecidedItem(
                        item.item_id,
                        item.query_id,
                        consensus[item.item_id],
                        label == "supported",
                        _score(own, may_support),
                    )
    systems = [str(by_judge.recipe.get("system", "")) for by_judge in verdicts]
    if samples := [sample for system in systems if (sample := review.sample(table, system)) is not None]:
        decided = _weighted(decided, samples)
        causes |= {item_id: "not_drawn" for item_id, cause in causes.items() if not cause and item_id not in decided}
    return list(decided.values()), dict(sorted(Counter(filter(None, causes.values())).items()))


def _weighted(decided: Mapping[str, DecidedItem], samples: Sequence[StratifiedSample]) -> dict[str, DecidedItem]:
    """The items that were drawn, with how many each speaks for."""
    weighted: dict[str, DecidedItem] = {}
    for sample in samples:
        members = {id: item.query_id if sample.unit == "answer" else id for id, item in decided.items()}
        weights = {
            member: len(stratum.members) / len(stratum.drawn)
            for stratum in sample.merged(set(members.values()) & set(sample.drawn))
            for member in stratum.drawn
        }
        weighted |= {
            id: replace(decided[id], weight=weights[member])
            for id, member in members.items()
            if member in weights and id not in weighted
        }
    return weighted


def _may_support(judge: str) -> Callable[[Verdict], bool]:
    """Test for verdicts of this judge that some threshold makes "supported"."""
    of_class = getattr(judge_class(judge), "may_support", None) if judge in judge_names() else None
    return of_class or (lambda verdict: verdict.label != "not_judged")


def _score(verdicts: Sequence[Verdict], may_support: Callable[[Verdict], bool]) -> float | None:
    """The score that a threshold is held against, over all premises; None where the judge gives none."""
    scores = [verdict.score for verdict in verdicts if verdict.score is not None and may_support(verdict)]
    return max(scores) if scores else None if all(verdict.score is None for verdict in verdicts) else _NEVER
