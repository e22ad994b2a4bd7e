"""Groups of questions that are lost more often than the others."""

from __future__ import annotations

from collections.abc import Iterator

from steelyard.base.arrays import Bools
from steelyard.diagnosis.advice import Advice, advice_on, rule
from steelyard.diagnosis.facts import Facts, SystemFacts
from steelyard.diagnosis.groups import QuestionGroup
from steelyard.diagnosis.thresholds import ALPHA, MIN_CLUSTER, MIN_GROUP, MIN_QUESTIONS
from steelyard.diagnosis.uncertainty import tail


@rule
def clusters(facts: Facts) -> Iterator[Advice]:
    """Questions of one tag, document, language, or length are lost more often than the others, beyond chance."""
    for system in facts.systems:
        if system.matches_nothing:
            continue
        # Which groups are tested must not depend on how much of them is lost, or the correction would be too small.
        tested = _different([group for group in facts.groups if _is_testable(group, system)], system.answered)
        for group in tested:
            p = _chance(group, system)
            inside = group.mask & system.answered
            if p is not None and p * len(tested) <= ALPHA and system.as_others(inside) >= MIN_CLUSTER:
                yield _cluster(facts, group, system, p=p * len(tested), tested=len(tested))


def _is_testable(group: QuestionGroup, system: SystemFacts) -> bool:
    inside = int((group.mask & system.answered).sum())
    return min(inside, int(system.answered.sum()) - inside) >= MIN_GROUP


def _different(groups: list[QuestionGroup], among: Bools) -> list[QuestionGroup]:
    """Groups of different questions: a tag that names the language counts once, as a tag."""
    by_members = {(group.mask & among).tobytes(): group for group in reversed(groups)}
    return list(reversed(by_members.values()))


def _chance(group: QuestionGroup, system: SystemFacts) -> float | None:
    """How likely chance alone loses so many of a group; None where it loses few, or no more than of the others."""
    lost, inside = system.answered & ~system.hit, group.mask & system.answered
    n_lost, n_inside, n_all = int(lost.sum()), int(inside.sum()), int(system.answered.sum())
    n_lost_inside = int((lost & inside).sum())
    if n_lost_inside < max(MIN_QUESTIONS, float(n_inside) * float(n_lost) / float(n_all)):
        return None
    return tail(n_lost_inside, n_inside, n_lost, n_all)


def _cluster(facts: Facts, group: QuestionGroup, system: SystemFacts, *, p: float, tested: int) -> Advice:
    lost, inside = system.answered & ~system.hit, group.mask & system.answered
    others = system.answered & ~inside
    return advice_on(
        facts, f"cluster_{group.code}", system, gain=system.as_others(inside), query_ids=system.ids(lost & inside),
        name=group.name, length=group.length, size=int(inside.sum()), others=int(others.sum()),
        share=float(lost[inside].mean()), share_others=float(lost[others].mean()), p=p, tested=tested,
    )  # fmt: skip
