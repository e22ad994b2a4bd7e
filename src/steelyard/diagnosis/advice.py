"""What to try, from patterns in the numbers: a registry of rules, each a small function, and what they yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain

from steelyard.base.registry import Registry
from steelyard.diagnosis.facts import Facts, SystemFacts


@dataclass(frozen=True)
class Advice:
    """One pattern in the numbers, and what could be gained.

    code        of the pattern: its words are in the catalogues
    systems     which it is about: one system, or two
    measure     the measure of the gain
    gain        how much the measure could rise at best; advice comes in this order
    numbers     the evidence for the pattern, which fills the texts
    query_ids   the questions that show it
    """

    code: str
    systems: tuple[str, ...]
    measure: str
    gain: float
    numbers: Mapping[str, object] = field(hash=False)
    query_ids: tuple[str, ...]


MISTAKES = frozenset(
    ("reversed_order", "shifted", "swapped", "nothing_matches", "tied", "empty_lists", "short_lists", "doubled")
)
"""Patterns that say that something around the search engine is wrong."""

_OF_LISTS = frozenset(("reversed_order", "shifted", "nothing_matches", "tied"))
"""Mistakes by which the lists of a system mean nothing, so that other patterns of it follow from them."""

_APART_FROM_LISTS = frozenset(("failed", "missing", "not_in_corpus", "cut", "reranker_harms", "dangling"))
"""Patterns that do not follow from such lists, or show where they come from."""

Rule = Callable[[Facts], Iterator[Advice]]
RULES = Registry[Rule](
    "rule of advice",
    modules=[
        f"steelyard.diagnosis.rules.{name}"
        for name in ("mistakes", "losses", "ranking", "systems", "groups", "answers")
    ],
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
    """
    advice = list(chain.from_iterable(rule(facts) for rule in RULES))
    spoilt = {system for item in advice if item.code in _OF_LISTS for system in item.systems}
    apart = MISTAKES | _APART_FROM_LISTS
    advice = [item for item in advice if item.code in apart or spoilt.isdisjoint(item.systems)]
    return sorted(advice, key=lambda item: (item.code not in MISTAKES, -item.gain, item.code, item.systems))


def advice_on(
    facts: Facts,
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
    common = {"k": facts.k, "total": int(system.winnable.sum()), "n": len(query_ids), "system": system.name}
    return Advice(code, systems or (system.name,), measure or facts.measure, float(gain), common | numbers, query_ids)
