"""Groups of questions that are lost more often than the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

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
        languages = [g.mask & system.answered for g in facts.groups if g.code == "language"]
        by_language = [g for g in tested if any(_same(g.mask & system.answered, mask) for mask in languages)]
        blamed = _beyond_chance(by_language, system, [system.answered], len(tested))
        # Where a language fails as a whole, other groups are held against the questions of the same language.
        unknown = system.answered & ~np.any([np.zeros_like(system.answered), *languages], axis=0)
        strata = [*languages, unknown] if blamed else [system.answered]
        others = [group for group in tested if group not in by_language]
        for group, p, beside in (*blamed, *_beyond_chance(others, system, strata, len(tested))):
            if system.as_others(group.mask & system.answered) >= MIN_CLUSTER:
                yield _cluster(facts, group, system, p=p, tested=len(tested), beside=beside)


def _beyond_chance(
    groups: Sequence[QuestionGroup], system: SystemFacts, strata: Sequence[Bools], tested: int
) -> list[tuple[QuestionGroup, float, Bools]]:
    """Groups lost more often than chance has it, with the corrected p, and (q,) what each was held against."""
    significant = []
    for group in groups:
        own = [mask for mask in strata if (mask & group.mask).any()]
        p = _chance(group, system, own)
        if p is not None and p * tested <= ALPHA:
            significant.append((group, p * tested, np.any(own, axis=0) & ~group.mask))
    return significant


def _same(first: Bools, second: Bools) -> bool:
    return bool((first == second).all())


def _is_testable(group: QuestionGroup, system: SystemFacts) -> bool:
    inside = int((group.mask & system.answered).sum())
    return min(inside, int(system.answered.sum()) - inside) >= MIN_GROUP


def _different(groups: list[QuestionGroup], among: Bools) -> list[QuestionGroup]:
    """Groups of different questions: a tag that names the language counts once, as the language."""
    by_members = {(group.mask & among).tobytes(): group for group in reversed(groups)}
    return list(reversed(by_members.values()))


def _chance(group: QuestionGroup, system: SystemFacts, strata: Sequence[Bools]) -> float | None:
    """How likely chance alone loses so many of a group; None where it loses few, or no more than of the others."""
    lost, inside = system.answered & ~system.hit, group.mask & system.answered
    n_lost_inside = int((lost & inside).sum())
    tables = [(int((mask & inside).sum()), int((mask & lost).sum()), int(mask.sum())) for mask in strata]
    expected = sum(float(n_inside) * float(n_lost) / float(n_all) for n_inside, n_lost, n_all in tables)
    if n_lost_inside < max(MIN_QUESTIONS, expected):
        return None
    return tail(n_lost_inside, *tables)


def _cluster(
    facts: Facts, group: QuestionGroup, system: SystemFacts, *, p: float, tested: int, beside: Bools
) -> Advice:  # fmt: skip
    lost, inside = system.answered & ~system.hit, group.mask & system.answered
    others = system.answered & beside
    return advice_on(
        facts, f"cluster_{group.code}", system, gain=system.as_others(inside), query_ids=system.ids(lost & inside),
        name=group.name, length=group.length, size=int(inside.sum()), others=int(others.sum()),
        share=float(lost[inside].mean()), share_others=float(lost[others].mean()), p=p, tested=tested,
    )  # fmt: skip
