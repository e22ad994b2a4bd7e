"""Advice from patterns in the numbers: a registry of rules, each a small function, and what they yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from steelyard.base.registry import Registry
from steelyard.diagnosis.facts import Facts, SystemFacts
from steelyard.diagnosis.thresholds import MIN_EXPLAINED


@dataclass(frozen=True)
class Advice:
    """One pattern in the numbers, and what could be gained.

    code        of the pattern: its words are in the catalogues
    systems     which it is about: one system, or two; all where no question has gold
    measure     the measure of the gain
    gain        how much the measure could rise at best; advice comes in this order.  NaN where nothing was measured
    numbers     the evidence for the pattern, which fills the texts
    query_ids   the questions that show it
    """

    code: str
    systems: tuple[str, ...]
    measure: str
    gain: float
    numbers: Mapping[str, object] = field(hash=False)
    query_ids: tuple[str, ...]

    @property
    def explains(self) -> bool:
        """True if it is a group of questions whose failing explains much of what the system loses."""
        return self.code in EXPLAINING and float(str(self.numbers["explained"])) >= MIN_EXPLAINED


MISTAKES = frozenset((
    "no_gold", "reversed_order", "shifted", "swapped", "nothing_matches", "tied", "empty_lists", "short_lists",
    "doubled",
))  # fmt: skip
"""Patterns that say that something around the search engine is wrong."""

_OF_LISTS = frozenset(("no_gold", "reversed_order", "shifted", "nothing_matches", "tied"))
"""Mistakes by which the lists of a system mean nothing, so that other patterns of it follow from them."""

EXPLAINING = ("cluster_language", "cluster_tag", "cluster_document", "cluster_long")
"""Groups of questions that may explain the loss, the broadest first."""

_STAGES = frozenset(("not_ranked", "reranker_headroom", "not_retrieved", "shallow", "order_only", "hybrid"))
"""Patterns that say at which stage questions are lost, and not which questions."""

_APART_FROM_LISTS = frozenset(("failed", "missing", "not_in_corpus", "cut", "reranker_harms", "dangling"))
"""Patterns that do not follow from such lists, or show where they come from."""

Rule = Callable[[Facts], Iterator[Advice]]
RULES = Registry[Rule](
    "rule of advice",
    modules=[f"steelyard.diagnosis.rules.{name}" for name in ("mistakes", "losses", "ranking", "answers")],
)
"""Every pattern that advice is drawn from, by name."""


def rule(function: Rule) -> Rule:
    """Register a rule under its own name.

    Raises   InputError where another rule has the name.
    """
    RULES.add(function.__name__, function)
    return function


def advise(facts: Facts) -> list[Advice]:
    """The advice of all rules: mistakes first, then the largest possible gain, then by code and system.

    What follows from a mistake of a system is left out: a reranker over lists whose scores are reversed, for example.
    A group of questions that explains the loss comes before the stages that they are lost at, languages before tags.
    """
    advice = list(chain.from_iterable(rule(facts) for rule in RULES))
    spoilt = {system for item in advice if item.code in _OF_LISTS for system in item.systems}
    apart = MISTAKES | _APART_FROM_LISTS
    advice = [item for item in advice if item.code in apart or spoilt.isdisjoint(item.systems)]
    stages = [item for item in advice if item.code in _STAGES]

    def place(item: Advice) -> tuple[object, ...]:
        gain, kind = np.nan_to_num(item.gain), len(EXPLAINING)
        first = [gain]
        if item.explains:
            kind = EXPLAINING.index(item.code)
            first += [stage.gain for stage in stages if not {*item.systems}.isdisjoint(stage.systems)]
        return item.code not in MISTAKES, -max(first), kind, -gain, item.code, item.systems

    return sorted(advice, key=place)


def advice_on(
    code: str,
    system: SystemFacts,
    *,
    gain: float,
    query_ids: tuple[str, ...],
    measure: str | None = None,
    systems: tuple[str, ...] | None = None,
    **numbers: object,
) -> Advice:
    """Advice on a system; by default in the measure of the facts, and then no more than its questions can give.

    Texts may use k, total, n and system as well.
    """
    if measure is None:
        gain = min(gain, system.room(query_ids))
    common = {"k": system.k, "total": int(system.winnable.sum()), "n": len(query_ids), "system": system.name}
    return Advice(code, systems or (system.name,), measure or system.measure, float(gain), common | numbers, query_ids)
