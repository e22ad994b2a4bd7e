"""All numbers that advice is drawn from, computed once, and groups of questions on which failures may cluster."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.data.questions import Questions
from steelyard.data.segments import language_segments, length_segments
from steelyard.diagnosis.ceilings import NS, Ceilings, Curves, Values
from steelyard.diagnosis.funnel import AT, Funnel, n_within
from steelyard.diagnosis.lists import (
    Crossings,
    DuplicateTexts,
    Lists,
    Reordering,
    Shift,
    duplicate_texts,
    reordering_of,
)
from steelyard.diagnosis.outcomes import JudgedSystem
from steelyard.diagnosis.thresholds import MATCHING, MIN_MATCHED, MIN_QUESTIONS, MIN_SHARE
from steelyard.experiment.door.weighed import Weighed
from steelyard.experiment.door.weighing import Weighing
from steelyard.measures import make, parse


@dataclass(frozen=True, eq=False)
class QuestionGroup:
    """Questions that have something in common.

    code   tag, document (that holds their gold), language, or long (of one language)
    name   of the tag or document; en or zh
    mask   (q,) the questions;   length   fewest tokens of long ones, see `length_segments`
    """

    code: Literal["tag", "document", "language", "long"]
    name: str
    mask: Bools
    length: int = 0


def question_groups(weighing: Weighing, tags: Mapping[str, Bools]) -> list[QuestionGroup]:
    """Languages where there are several, tags, documents of the gold, and long questions."""
    languages = language_segments(weighing.questions, weighing.query_ids)
    groups = [QuestionGroup("language", code, mask) for code, mask in languages.items() if len(languages) > 1]
    groups += [QuestionGroup("tag", tag, mask) for tag, mask in tags.items()]
    groups += [QuestionGroup("document", doc, mask) for doc, mask in sorted(_documents(weighing).items())]
    lengths = length_segments(weighing.questions, weighing.query_ids)
    groups += [
        QuestionGroup("long", code, segments["long"].members, segments["long"].fewest)
        for code, segments in lengths.items()
        if "long" in segments
    ]
    return groups


def _documents(weighing: Weighing) -> dict[str, Bools]:
    """(q,) questions whose gold is in each document; none where the gold names chunks, or documents by id."""
    if not isinstance(weighing.gold, Questions):
        return {}
    place = {query_id: q for q, query_id in enumerate(weighing.query_ids)}
    masks: dict[str, Bools] = {}
    for question in weighing.gold:
        for piece in question.evidence:
            if piece.doc and piece.gain > 0:
                masks.setdefault(piece.doc, np.zeros(len(place), bool))[place[question.query_id]] = True
    return masks


@dataclass(frozen=True, eq=False)
class SystemFacts:
    """The numbers of one system; q questions.

    weighing, place, k, min_gain   what was weighed, which system of it, and what counts as found
    measure          the measure of gains
    value, base      (q,) values of the measure of gains: of what was returned, and before reranking
    perfect          {n: (q,)} the same with the first n candidates in perfect order, where the lists are that deep
    hit              (q,) whether any gold is in the first k
    span_recall      (q,) share of the gold's characters that the first k show; None where they are unknown
    precision        mean precision@k
    rule             by which a chunk holds gold evidence; empty where the gold is named by id
    reordering       None without a reranker
    """

    name: str
    weighing: Weighing = field(repr=False)
    place: int
    k: int
    min_gain: float
    measure: str
    lists: Lists
    funnel: Funnel
    value: Floats
    base: Floats
    perfect: Mapping[int, Floats]
    hit: Bools
    span_recall: Floats | None
    precision: float
    rule: str
    reordering: Reordering | None
    judged: JudgedSystem | None = None

    def at(self, *stages: str) -> Bools:
        """(q,) whether a question is at one of these stages."""
        return np.isin(self.funnel.stage, [AT[stage] for stage in stages])

    @cached_property
    def winnable(self) -> Bools:
        """(q,) questions that have gold."""
        return ~self.at("no_gold")

    @cached_property
    def answered(self) -> Bools:
        """(q,) questions that have gold and were neither failed nor missing."""
        return self.winnable & ~self.at("failed", "missing")

    @cached_property
    def matched(self) -> Bools:
        """(q,) questions with any judged document or gold piece in a list."""
        mask = np.zeros(len(self.value), bool)
        for some in (self.lists.final, self.lists.before):
            for a in (some, some.pieces):
                mask[a.hit_query] = True
        return mask

    @cached_property
    def matches_nothing(self) -> bool:
        """True if no list, or of many hardly one, holds a judged document or gold piece."""
        n, total = int((self.answered & self.matched).sum()), int(self.answered.sum())
        return not self.matched.any() or (total >= MIN_MATCHED and n <= MATCHING * total)

    @property
    def weighed(self) -> Weighed:
        """The system against the gold."""
        return self.weighing.weighed[self.place]

    @cached_property
    def crossings(self) -> Crossings | None:
        """The results against the gold of other questions; None where few questions are lost."""
        if (self.answered & ~self.hit).sum() < max(MIN_QUESTIONS, MIN_SHARE * self.answered.sum()):
            return None
        return Crossings(
            self.weighing, self.place, k=self.k, min_gain=self.min_gain, hit=self.hit, answered=self.answered
        )

    @cached_property
    def shift(self) -> Shift | None:
        """Answers out of step with the questions."""
        return None if self.crossings is None else self.crossings.shift()

    @cached_property
    def duplicates(self) -> DuplicateTexts | None:
        """Texts that are listed twice."""
        return duplicate_texts(self.weighed, self.k)

    @cached_property
    def ids_on_both_sides(self) -> tuple[str, str]:
        """Names of a document in the truth, and in the run; "–" where it names none."""
        frames = (self.weighing.labels[self.place], self.weighed.run.top(1))
        labelled, retrieved = (frame["doc_id"].drop_nulls() for frame in frames)
        return next(iter(labelled), "–"), next(iter(retrieved), "–")

    def ids(self, mask: Bools, worst_first: Floats | None = None) -> tuple[str, ...]:
        """Ids of questions: in their order, or those with the largest number of worst_first first."""
        rows = np.flatnonzero(mask)
        if worst_first is not None:
            rows = rows[np.argsort(-worst_first[rows], kind="stable")]
        return tuple(self.funnel.query_ids[q] for q in rows.tolist())

    def room(self, query_ids: Collection[str]) -> float:
        """Amount by which the mean would rise if these questions had the best value there is."""
        mask = np.isin(self.funnel.query_ids, list(query_ids))
        return float(np.where(mask, 1.0 - self.value, 0.0).mean())

    def as_others(self, mask: Bools) -> float:
        """Amount by which the mean would rise if these questions did as well as the other ones that have gold.

        As well as can be, where there are no others.
        """
        others = self.winnable & ~mask
        if not mask.any():
            return 0.0
        wished = float(self.value[others].mean()) if others.any() else 1.0
        return max(0.0, float(mask.mean()) * (wished - float(self.value[mask].mean())))


@dataclass(frozen=True, eq=False)
class Facts:
    """Facts that the rules of advice look at.

    k          results that count as found;   measure   the measure of gains
    coverage   the name of what more results bring: recall, of gold pieces where the gold is evidence
    baseline   place of the system that others are held against
    values     (s, m, q) values of `ceilings.measures`
    groups     questions that have something in common
    """

    k: int
    measure: str
    coverage: str
    baseline: int
    systems: Sequence[SystemFacts]
    ceilings: Ceilings
    curves: Curves
    values: Floats = field(repr=False)
    groups: Sequence[QuestionGroup] = ()

    def of(self, name: str) -> Floats:
        """(s, q) values of a measure at k by its plain name, such as recall."""
        specs = [parse(spec) for spec in self.ceilings.measures]
        return self.values[:, next(j for j, spec in enumerate(specs) if (spec.name, spec.k) == (name, self.k))]

    def mean(self, system: int, name: str, k: int | None = None) -> float:
        """The mean of a measure of a system at a depth (by default k); NaN where the lists are not that deep."""
        return self.curves.at(system, name, self.k if k is None else k)


@dataclass(frozen=True, eq=False)
class Reading:
    """One system as it was read: its lists, its funnel, and its judged answers, if any."""

    lists: Lists
    funnel: Funnel
    judged: JudgedSystem | None


def system_facts(
    weighing: Weighing, i: int, reading: Reading, values: Values, *, k: int, min_gain: float
) -> SystemFacts:
    """The numbers of system i; values of several measures, of which the first is that of gains."""
    weighed, lists, funnel, judged = weighing.weighed[i], reading.lists, reading.funnel, reading.judged
    return SystemFacts(
        name=weighed.name,
        weighing=weighing,
        place=i,
        k=k,
        min_gain=min_gain,
        measure=str(values.measures[0]),
        lists=lists,
        funnel=funnel,
        value=values.reached[i, 0],
        base=values.base[i, 0],
        perfect={n: values.perfect[i, 0, place] for place, n in enumerate(NS) if lists.reach(n)},
        hit=n_within(lists.final.pieces, k, min_gain) > 0,
        span_recall=None if lists.final.evidence is None else make("span_recall", k)(lists.final),
        precision=float(parse(f"precision@{k}", min_gain=min_gain)(lists.final).mean()),
        rule=weighed.mapping.rule if weighed.mapping else "",
        reordering=reordering_of(weighed) if lists.reranked else None,
        judged=judged,
    )
