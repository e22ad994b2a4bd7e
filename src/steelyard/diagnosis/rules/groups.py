"""Groups of questions that are lost more often than the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts, SystemFacts
from steelyard.diagnosis.groups import QuestionGroup
from steelyard.diagnosis.thresholds import ALPHA, MIN_CLUSTER, MIN_GROUP, MIN_QUESTIONS
from steelyard.diagnosis.uncertainty import corrected, tails


@rule
def clusters(facts: Facts) -> Iterator[Advice]:
    """Questions of one tag, document, language, or length are lost more often than the others, beyond chance."""
    for system in facts.systems:
        if system.matches_nothing:
            continue
        # Which groups are tested must not depend on how much of them is lost, or the correction would be too small.
        tested = _different([group for group in facts.groups if _is_testable(group, system)], system.answered)
        languages = [g.mask & system.answered for g in facts.groups if g.code == "language"]
        by_language = [g for g in tested if any(_same(g.mask & system.answered, mask) for mask in languages)]
        others = [group for group in tested if group not in by_language]
        tables = [_Table.of(group, system, [system.answered]) for group in by_language]
        of_others = [_Table.of(group, system, [system.answered]) for group in others]
        blamed = list(_beyond_chance(tables, [*tables, *of_others]))
        if blamed:
            # Where a language fails as a whole, other groups are held against the questions of the same language.
            unknown = system.answered & ~np.any([np.zeros_like(system.answered), *languages], axis=0)
            of_others = [_Table.of(group, system, [*languages, unknown]) for group in others]
        for table, p in (*blamed, *_beyond_chance(of_others, [*tables, *of_others])):
            if system.as_others(table.group.mask & system.answered) >= MIN_CLUSTER:
                yield _cluster(facts, table, system, p=p, tested=len(tested))


@dataclass(frozen=True, eq=False)
class _Table:
    """The questions of a group beside others, which without a reason would be lost alike.

    beside   (q,) the others;   lost, expected   lost questions of the group, and how many chance has it lose
    tails    (x + 1,) the chance to lose at least so many
    """

    group: QuestionGroup
    beside: Bools
    lost: int
    expected: float
    tails: Floats

    @classmethod
    def of(cls, group: QuestionGroup, system: SystemFacts, strata: Sequence[Bools]) -> _Table:
        """By strata, within which questions are lost alike; those without questions of the group do not count."""
        lost, inside = system.answered & ~system.hit, group.mask & system.answered
        own = [mask for mask in strata if (mask & group.mask).any()]
        counts = [(int((mask & inside).sum()), int((mask & lost).sum()), int(mask.sum())) for mask in own]
        expected = sum(float(n_inside) * float(n_lost) / float(n_all) for n_inside, n_lost, n_all in counts)
        beside = np.any(own, axis=0) & ~group.mask
        return cls(group, beside, int((lost & inside).sum()), expected, tails(*counts))


def _beyond_chance(tables: Sequence[_Table], tested: Sequence[_Table]) -> Iterator[tuple[_Table, float]]:
    """Groups lost more often than chance has it, with p, corrected for all that are tested."""
    for table in tables:
        if table.lost >= max(MIN_QUESTIONS, table.expected):
            p = corrected(float(table.tails[table.lost]), (other.tails for other in tested))
            if p <= ALPHA:
                yield table, p


def _same(first: Bools, second: Bools) -> bool:
    return bool((first == second).all())


def _is_testable(group: QuestionGroup, system: SystemFacts) -> bool:
    inside = int((group.mask & system.answered).sum())
    return min(inside, int(system.answered.sum()) - inside) >= MIN_GROUP


def _different(groups: list[QuestionGroup], among: Bools) -> list[QuestionGroup]:
    """Groups of different questions: a tag that names the language counts once, as the language."""
    by_members = {(group.mask & among).tobytes(): group for group in reversed(groups)}
    return list(reversed(by_members.values()))


def _cluster(facts: Facts, table: _Table, system: SystemFacts, *, p: float, tested: int) -> Advice:
    group, lost = table.group, system.answered & ~system.hit
    inside, others = group.mask & system.answered, system.answered & table.beside
    share, share_others = float(lost[inside].mean()), float(lost[others].mean())
    return advice_on(
        facts, f"cluster_{group.code}", system, gain=system.as_others(inside), query_ids=system.ids(lost & inside),
        name=group.name, length=group.length, size=int(inside.sum()), others=int(others.sum()), share=share,
        share_others=share_others, p=p, tested=tested,
        explained=float(inside.sum()) * (share - share_others) / float(lost.sum()),
    )  # fmt: skip
