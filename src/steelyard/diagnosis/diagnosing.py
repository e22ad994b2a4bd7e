"""Diagnosis: where each system loses the gold, what could be reached, and what to try, in one result."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack, cast

import numpy as np
import polars as pl

from steelyard._version import __version__
from steelyard.base import defaults
from steelyard.base.choices import Policy
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.notes import Note
from steelyard.base.options import DiagnoseKeywords, DiagnoseOptions, WeighOptions, check_names, with_options
from steelyard.base.result import Result
from steelyard.data.segments import tag_segments
from steelyard.diagnosis.advice import MISTAKES, Advice, advise
from steelyard.diagnosis.ceilings import KS, NAMES, Captured, Ceilings, Curves, captured, ceilings, curves, values
from steelyard.diagnosis.facts import Facts, Reading, question_groups, system_facts
from steelyard.diagnosis.funnel import Funnel, funnel
from steelyard.diagnosis.lists import lists_of
from steelyard.diagnosis.outcomes import AnswerOutcomes, Criteria, JudgedSystem
from steelyard.experiment.door.choices import RunVerdicts
from steelyard.experiment.door.evaluation import counting, weighed
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.recipes import Signature, signature_of
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure, parse
from steelyard.measures.perfect import OF_IDEALS

MEASURES = ("ndcg", "mrr", "recall", "hit_rate")
"""What ceilings are computed of beside the measure of gains; of evidence, recall of gold pieces too."""


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Result):
    """A diagnosis of one or several systems.

    k          results that count as found
    measure    the measure of gains: of ceilings, pairs and advice
    coverage   what more results bring: recall, of gold pieces where the gold is evidence
    funnels    one a system;   by_tag   tag -> one a system, of the questions that have the tag
    ceilings   what could be reached;   captured   what each reranker captured of its headroom; empty without rerankers
    curves     measures by depth
    outcomes   retrieval and answer read together, one a system whose answers can be read;   outcomes_by_tag   the same
               by tag;   judges   system -> notes on who judged its answers
    advice     what to try: on the best system, then on the others; of each mistakes first, then the largest gain
    recipe     k, min_gain, version, digests of truth and runs, and how the gold was looked up
    """

    VIEW = "views.diagnosis"

    k: int
    measure: str
    coverage: str
    funnels: Sequence[Funnel]
    by_tag: Mapping[str, Sequence[Funnel]]
    ceilings: Ceilings
    captured: Sequence[Captured]
    curves: Curves
    advice: Sequence[Advice]
    recipe: Mapping[str, object] = field(repr=False, default_factory=dict)
    outcomes: Sequence[AnswerOutcomes] = ()
    outcomes_by_tag: Mapping[str, Sequence[AnswerOutcomes]] = field(default_factory=dict)
    judges: Mapping[str, Sequence[Note]] = field(default_factory=dict)

    @property
    def signature(self) -> Signature:
        """One quotable line, and its data, as of Scores; its measures are those of the ceilings."""
        recipe = {**self.recipe, "measures": list(self.ceilings.measures)}
        return signature_of(recipe, self.funnels[0].n_queries)

    @property
    def is_of_answers_alone(self) -> bool:
        """True if answers were read, and no question has gold that could be retrieved or lost."""
        return bool(self.outcomes) and not self.has_gold

    @property
    def has_gold(self) -> bool:
        """True if any question has gold that could be retrieved or lost; else ceilings and curves have no numbers."""
        return any(funnel.n_gold.any() for funnel in self.funnels)

    @property
    def frame(self) -> pl.DataFrame:
        """The funnels of all systems, one row a question; columns as of `Funnel.frame`."""
        return pl.concat([funnel.frame for funnel in self.funnels])

    def __repr__(self) -> str:
        s, a = len(self.funnels), len(self.advice)
        systems = f"{s} system{'s' * (s != 1)} × {self.funnels[0].n_queries} questions"
        return f"Diagnosis({systems}, k={self.k}, {a} piece{'s' * (a != 1)} of advice)"


@with_options("diagnose")
def diagnose(truth: object, runs: object = None, **options: Unpack[DiagnoseKeywords]) -> Diagnosis:
    """Find where each system loses the gold, what could be reached, and what to try.

    truth, runs   as of `evaluate`; or a Weighing of `weigh`, or Scores of `evaluate`, without runs
    reranked    name -> whether a system has a reranker; by default what the configuration of its run folder says, or
                else whether its results are in another order than its candidates
    criteria    from which values on answers are correct and faithful, and gold is in the context; answers are judged as
                `weigh` was asked to, and by the lexical judge where there are no verdicts on them
    Raises      InputError for a k below 1, a measure that no gain can be counted in, or a baseline that is no system of
                the weighing.

    >>> diagnosis = diagnose({"q": {"a": 1}}, {"q": ["b", "a"]}, k=1)
    >>> diagnosis.funnels[0].lists()["below_k"], [advice.code for advice in diagnosis.advice]
    (['q'], [])
    """
    check_names("diagnose", options, DiagnoseOptions, WeighOptions)
    weighing = weighed("diagnose", truth, runs, WeighOptions.among(options))
    return diagnose_weighing(weighing, DiagnoseOptions.of(options), **counting(options))


def diagnose_weighing(
    weighing: Weighing, options: DiagnoseOptions, *, scores: Scores | None = None, min_gain: float | None = None,
    missing: Policy | None = None, no_relevant: Policy | None = None,
) -> Diagnosis:  # fmt: skip
    """The diagnosis of a weighing.

    scores   whose first measure gains are counted in, where none is named and a better order or more gold can raise it
             to 1, and whose k counts
    Raises   InputError, as of `diagnose`.
    """
    counting = {
        "missing": missing or weighing.options.missing,
        "no_relevant": no_relevant or weighing.options.no_relevant,
    }
    skipped = {name: policy for name, policy in counting.items() if policy == "skip"}
    min_gain = weighing.options.min_gain if min_gain is None else min_gain
    min_gain = float(defaults.MIN_GAIN if min_gain is None else min_gain)
    if skipped:
        weighing = _of_counted(weighing, skipped, min_gain)
    # Before the first runs are taken alone: verdicts may have been handed in on all.
    verdicts = weighing.answers.first_runs
    weighing = weighing.first_runs()
    measure = options.measure
    spec = None if measure is None else _checked(parse(cast("str | Measure", measure), min_gain=min_gain), weighing)
    k = _depth(options.k, spec or (scores.primary if scores is not None and len(scores.measures) else None))
    systems, has_reranker = weighing.systems, {**weighing.reranks, **(options.reranked or {})}
    baseline = options.baseline or systems[0]
    if baseline not in systems:
        raise InputError(f"no system is called {baseline!r}; {nearest(baseline, systems)}")
    lists = [lists_of(system, k=k, reranked=has_reranker.get(system.name)) for system in weighing.weighed]
    judged = _judged(weighing, verdicts, min_gain, cast("Criteria | None", options.criteria))
    funnels = [
        funnel(
            system,
            of_system,
            k=k,
            min_gain=min_gain,
            absent=weighing.absent,
            rests=None if answers is None else answers.rests,
        )
        for system, of_system, answers in zip(weighing.weighed, lists, judged, strict=True)
    ]
    outcomes = [answers.outcomes for answers in judged if answers is not None and answers.outcomes.is_read]
    tags = tag_segments(weighing.questions, weighing.query_ids)
    readings = [Reading(*of_system) for of_system in zip(lists, funnels, judged, strict=True)]
    facts = _facts(
        weighing, readings, baseline=systems.index(baseline), k=k, min_gain=min_gain,
        measure=spec or _of_gains(weighing, scores, k, min_gain),
    )  # fmt: skip
    facts = replace(facts, groups=question_groups(weighing, tags))
    return Diagnosis(
        k=k,
        measure=facts.measure,
        coverage=facts.coverage,
        funnels=funnels,
        by_tag={tag: [of_system.by(mask) for of_system in funnels] for tag, mask in tags.items()},
        ceilings=facts.ceilings,
        captured=captured(facts.ceilings, [of_system.reranked for of_system in lists]),
        curves=facts.curves,
        advice=_best_first(advise(facts), facts.ceilings, scores),
        recipe={
            "k": k,
            "min_gain": min_gain,
            "steelyard": __version__,
            **weighing.digests,
            **weighing.recipe,
            **skipped,
        },
        outcomes=outcomes,
        judges={of_system.system: list(verdicts[of_system.system].notes()) for of_system in outcomes},
        outcomes_by_tag={tag: [of_system.by(mask) for of_system in outcomes] for tag, mask in tags.items() if outcomes},
    )


def _of_counted(weighing: Weighing, skipped: Collection[str], min_gain: float) -> Weighing:
    """The same without the questions that some system lacks, or that have no gold, as far as these are left out.

    Raises   InputError where none is left.
    """
    left_out = np.zeros(len(weighing.query_ids), bool)
    for alignment in weighing.alignments:
        if "missing" in skipped:
            left_out |= alignment.missing
        if "no_relevant" in skipped:
            left_out |= alignment.per_ideal(alignment.ideal_gain >= min_gain) == 0
    if left_out.all():
        raise InputError(f"no question is left: all are left out by {' and '.join(f'{name}=skip' for name in skipped)}")
    if not left_out.any():
        return weighing
    return weighing.of_questions({id for id, out in zip(weighing.query_ids, left_out.tolist(), strict=True) if not out})


def _judged(
    weighing: Weighing, runs: Mapping[str, RunVerdicts], min_gain: float, criteria: Criteria | None
) -> list[JudgedSystem | None]:
    """The judged answers of each system; None of those without verdicts."""
    clusters = None if weighing.clustering is None else weighing.clustering.codes
    return [
        JudgedSystem.of(
            runs[system.name].verdicts, system, weighing.truth if system.labels is None else system.labels,
            min_gain=min_gain, criteria=criteria, clusters=clusters,
        )
        if system.name in runs
        else None
        for system in weighing.weighed
    ]  # fmt: skip


def _depth(k: int | None, measure: Measure | None) -> int:
    """Results that count as found: k, else that of the measure."""
    if k is None:
        return (measure.depth if measure is not None else None) or defaults.K
    return k


def _facts(
    weighing: Weighing, readings: Sequence[Reading], *, baseline: int, k: int, min_gain: float, measure: Measure
) -> Facts:
    """Facts that the advice is drawn from, with gains in a measure, but for groups of questions."""
    lists = [reading.lists for reading in readings]
    coverage = "evidence_recall" if weighing.by_evidence else "recall"
    names = dict.fromkeys([coverage, *MEASURES])
    specs = list(dict.fromkeys([measure, *(parse(f"{name}@{k}", min_gain=min_gain) for name in names)]))
    curve_names = dict.fromkeys([*NAMES, coverage, *(["span_recall"] if _are_placed(weighing) else [])])
    by_depth = curves(weighing.systems, lists, names=list(curve_names), min_gain=min_gain, ks=sorted({*KS, k}))
    per_question = values(lists, specs)
    reachable = ceilings(lists, per_question, by_depth, k=k, deeper_names=(coverage, "hit_rate"))
    if not any(reading.funnel.n_gold.any() for reading in readings):
        by_depth, reachable = by_depth.unmeasured(), reachable.unmeasured()
    return Facts(
        k=k,
        measure=str(measure),
        coverage=coverage,
        baseline=baseline,
        systems=[
            system_facts(weighing, i, reading, per_question, k=k, min_gain=min_gain)
            for i, reading in enumerate(readings)
        ],
        ceilings=reachable,
        curves=by_depth,
        values=per_question.reached,
    )


def _of_gains(weighing: Weighing, scores: Scores | None, k: int, min_gain: float) -> Measure:
    """The measure of gains: the primary one of scores where gains can be counted in it, else by the kind of gold."""
    primary = scores.primary if scores is not None and len(scores.measures) else None
    if primary is not None and not _objection(primary, weighing):
        return primary
    return parse(f"{'evidence_recall' if weighing.by_evidence else 'ndcg'}@{k}", min_gain=min_gain)


def _checked(spec: Measure, weighing: Weighing) -> Measure:
    if objection := _objection(spec, weighing):
        instead = "evidence_recall" if weighing.by_evidence else "ndcg"
        raise InputError(f"gains cannot be counted in {spec}: {objection}; name another measure, such as {instead}@5")
    return spec


def _objection(spec: Measure, weighing: Weighing) -> str:
    """Why gains cannot be counted in a measure; empty where they can."""
    definition = spec.definition
    inputs = set(definition.inputs)
    incomplete = any(s.evidence and not s.evidence.table.complete for s in weighing.weighed)
    objections = {
        "it is of answers, not of what was retrieved": definition.of_answers,
        "it is no mean of values from 0 to 1, of which higher ones are better": definition.range != (0.0, 1.0)
        or not definition.higher_is_better
        or spec.share is not None
        or definition.aggregate != "mean",
        "it is computed from numbers, not from rankings": "numbers" in inputs,
        "what is shown beside the gold is not known for another order": spec.name in ("span_precision", "span_iou"),
        "documents are named by id, without evidence": inputs & {"pieces", "characters"} and not weighing.by_evidence,
        "the place of some gold is unknown": "characters" in inputs and not _are_placed(weighing),
        "without the corpus, each ideal list holds what the system retrieved itself": spec.name in OF_IDEALS
        and incomplete,
    }
    return next((objection for objection, holds in objections.items() if holds), "")


def _are_placed(weighing: Weighing) -> bool:
    """True if it is known which characters are gold, for all questions and systems."""
    return all(a.evidence is not None and bool(a.evidence.placed.all()) for a in weighing.alignments)


def _best_first(advice: list[Advice], ceilings: Ceilings, scores: Scores | None) -> list[Advice]:
    """Advice on the best system before that on the others, as it is the one to ship; of each, mistakes first."""
    means = ceilings.reached[:, 0] if scores is None else scores.reported.ranked[:, 0]
    best = ceilings.systems[int(np.argmax(np.nan_to_num(means, nan=-np.inf)))]
    return sorted(advice, key=lambda item: (best not in item.systems, item.code not in MISTAKES))
