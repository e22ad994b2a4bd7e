"""Retrieval and answer read together: what became of each question, as one of a few outcomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import polars as pl

from steelyard.base.arrays import Bools, Floats, Ints
from steelyard.base.errors import InputError
from steelyard.data.truth import Truth
from steelyard.diagnosis.lists import count_gold
from steelyard.experiment.door.weighed import Weighed
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import JudgedAnswer
from steelyard.measures.answers import answer_recall, context_recall, faithfulness
from steelyard.measures.judged_answers import ABSTAINED, ANSWERED, SUPPORTED, Codes, JudgedAnswers
from steelyard.stats.intervals.means import GroupDifference, Intervals, group_difference, mean_intervals
from steelyard.stats.samples import ROUNDING

OUTCOMES = (
    "works", "beyond_context", "context_unused", "wrong_chunk", "over_cautious",
    "other_support", "self_knowledge", "noise_followed", "hallucination", "rightly_abstained",
    "unanswerable_abstained", "unanswerable_answered", "no_answer", "not_judged", "unknown",
)  # fmt: skip
"""What a question may come to; each is exactly one.

With gold in the context:
works           the answer is correct and faithful
beyond_context  it is correct, and says more than the context supports
context_unused  it is wrong and unfaithful: the context was not used
wrong_chunk     it is wrong and faithful: it followed a chunk that is beside the point
over_cautious   the system abstained

Without gold in the context:
other_support      correct and faithful: other chunks say it too, which the labels do not name
self_knowledge     correct and unfaithful: from the model's own memory
noise_followed     wrong and faithful: it followed what was retrieved, and should have abstained
hallucination      wrong and unfaithful: it should have abstained
rightly_abstained  the system abstained; the loss is retrieval's

Whatever was in the context:
unanswerable_abstained, unanswerable_answered  the question has no answer, as its gold says
no_answer    the system failed, gave an empty answer, or has none for this question
not_judged   a verdict is lacking that the outcome depends on
unknown      the context or the gold answer is unknown, or nothing in the answer can be checked
"""
AT = {name: place for place, name in enumerate(OUTCOMES)}

YES, NO, OPEN, UNDEFINED = 1, 0, -1, -2
"""True if something holds of a question; OPEN: verdicts are lacking; UNDEFINED: no verdict could say."""

_ANSWERED = {
    # gold in the context, correct, faithful
    (YES, YES, YES): "works", (YES, YES, NO): "beyond_context",
    (YES, NO, NO): "context_unused", (YES, NO, YES): "wrong_chunk",
    (NO, YES, YES): "other_support", (NO, YES, NO): "self_knowledge",
    (NO, NO, YES): "noise_followed", (NO, NO, NO): "hallucination",
}  # fmt: skip


@dataclass(frozen=True)
class Criteria:
    """From which value on something is said to hold of a question.

    correct     answer_recall: so much of a gold answer is said
    faithful    faithfulness: so many of the answer's units are supported by the context; by default all
    in_context  context_recall: so much of a gold answer is in the context; used where labels of chunks do not say
                whether there is gold among them
    Raises      InputError for values that are not above 0 and at most 1.
    """

    correct: float = 0.5
    faithful: float = 1.0
    in_context: float = 0.5

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 < value <= 1:
                raise InputError(f"{name} is {value!r}, expected a share above 0 and up to 1, such as 0.5")


@dataclass(frozen=True)
class Abstention:
    """Answered and abstained against what has an answer and what has none.

    by                 "gold": as the gold says;  "context": whether gold was in the context
    answered_rightly   answerable, answered;      abstained_wrongly   answerable, abstained
    answered_wrongly   not answerable, answered;  abstained_rightly   not answerable, abstained
    n_unknown          answered or abstained, and not known whether answerable
    """

    by: Literal["gold", "context"]
    answered_rightly: int
    abstained_wrongly: int
    answered_wrongly: int
    abstained_rightly: int
    n_unknown: int

    @property
    def precision(self) -> float:
        """Share of the questions that it abstained on that have no answer; NaN where it abstained on none."""
        return _ratio(self.abstained_rightly, self.abstained_rightly + self.abstained_wrongly)

    @property
    def recall(self) -> float:
        """Share of the questions without an answer that it abstained on; NaN where all have one."""
        return _ratio(self.abstained_rightly, self.abstained_rightly + self.answered_wrongly)

    @property
    def f1(self) -> float:
        """Harmonic mean of both; NaN where it never abstained and all questions have an answer."""
        wrong = self.abstained_wrongly + self.answered_wrongly
        return _ratio(2 * self.abstained_rightly, 2 * self.abstained_rightly + wrong)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


@dataclass(frozen=True, eq=False)
class AnswerOutcomes:
    """Outcomes of the questions of one system; q questions.

    outcome         (q,) places in OUTCOMES
    gold_in_context, answerable   (q,) YES, NO, OPEN or UNDEFINED
    faithfulness    (q,) NaN where undefined or not judged
    state           (q,) codes of states, as of JudgedAnswers
    criteria        by which answers are correct and faithful
    clusters        (q,) of questions that count as one, or None
    """

    system: str
    query_ids: Sequence[str]
    outcome: Ints
    gold_in_context: Codes
    answerable: Codes
    faithfulness: Floats
    state: Codes
    criteria: Criteria
    clusters: Ints | None = None

    def counts(self) -> dict[str, int]:
        """Number of questions of each outcome, in the order of OUTCOMES."""
        return dict(zip(OUTCOMES, np.bincount(self.outcome, minlength=len(OUTCOMES)).tolist(), strict=True))

    def at(self, outcome: str) -> list[str]:
        """Ids of the questions of an outcome, in their order."""
        return [self.query_ids[q] for q in np.flatnonzero(self.outcome == AT[outcome]).tolist()]

    def share_intervals(self) -> Intervals:
        """(len(OUTCOMES),) 95 % intervals of the shares; NaN for fewer than two questions or clusters."""
        rows = (self.outcome[:, None] == np.arange(len(OUTCOMES))).astype(float)
        return mean_intervals(rows, bounds=(0, 1), clusters=self.clusters)

    @property
    def n_queries(self) -> int:
        """Questions."""
        return len(self.query_ids)

    @property
    def is_read(self) -> bool:
        """True if the outcome of any question is more than that it has no answer, or cannot be read."""
        return bool((self.outcome < AT["no_answer"]).any())

    @property
    def faithfulness_by_gold(self) -> GroupDifference:
        """Mean faithfulness of questions with gold in the context less that of those without, with an interval."""
        masks = [(self.gold_in_context == code) & ~np.isnan(self.faithfulness) for code in (YES, NO)]
        with_gold, without = (None if self.clusters is None else self.clusters[mask] for mask in masks)
        first, second = (self.faithfulness[mask] for mask in masks)
        return group_difference(first, second, bounds=(0, 1), clusters=(with_gold, without))

    @property
    def abstention(self) -> tuple[Abstention, Abstention]:
        """By what the gold says, and by what was in the context, where a question without an answer has none."""
        in_context = np.where(self.answerable == NO, NO, self.gold_in_context)
        return self._abstention("gold", self.answerable), self._abstention("context", in_context)

    def _abstention(self, by: Literal["gold", "context"], answerable: Codes) -> Abstention:
        def count(state: int, *codes: int) -> int:
            return int(((self.state == state) & np.isin(answerable, codes)).sum())

        return Abstention(
            by,
            answered_rightly=count(ANSWERED, YES),
            abstained_wrongly=count(ABSTAINED, YES),
            answered_wrongly=count(ANSWERED, NO),
            abstained_rightly=count(ABSTAINED, NO),
            n_unknown=count(ANSWERED, OPEN, UNDEFINED) + count(ABSTAINED, OPEN, UNDEFINED),
        )

    @property
    def frame(self) -> pl.DataFrame:
        """One row a question: system, query_id, outcome, gold_in_context (null where unknown), faithfulness."""
        gold = [{YES: True, NO: False}.get(code) for code in self.gold_in_context.tolist()]
        return pl.DataFrame(
            {
                "system": pl.repeat(self.system, self.n_queries, dtype=pl.String, eager=True),
                "query_id": pl.Series(self.query_ids, dtype=pl.String),
                "outcome": pl.Series([OUTCOMES[place] for place in self.outcome.tolist()], dtype=pl.String),
                "gold_in_context": pl.Series(gold, dtype=pl.Boolean),
                "faithfulness": pl.Series(self.faithfulness).fill_nan(None),
            }
        )

    def by(self, mask: Bools) -> AnswerOutcomes:
        """The same of some questions: (q,) a mask."""
        rows = np.flatnonzero(mask)
        return replace(
            self, query_ids=[self.query_ids[q] for q in rows.tolist()], outcome=self.outcome[rows],
            gold_in_context=self.gold_in_context[rows], answerable=self.answerable[rows],
            faithfulness=self.faithfulness[rows], state=self.state[rows],
            clusters=None if self.clusters is None else self.clusters[rows],
        )  # fmt: skip


def answer_outcomes(
    judged: JudgedAnswers,
    labelled: Codes,
    *,
    system: str = "",
    criteria: Criteria | None = None,
    clusters: Ints | None = None,
) -> AnswerOutcomes:
    """Outcome of each question.

    labelled  (q,) whether a chunk of the context holds gold, as labels or aligned evidence have it: YES, NO, or
              UNDEFINED where they do not say; then the verdicts on gold units and chunks decide
    """
    criteria = criteria or Criteria()
    n_units = np.bincount(judged.unit_query, minlength=judged.n_queries)
    has_gold = np.bincount(judged.gold_query, minlength=judged.n_queries) > 0
    sees_context = judged.n_chunks >= 0
    reached = _reaching(context_recall, judged, criteria.in_context, has_gold & sees_context)
    gold_in_context = np.where(labelled == UNDEFINED, reached, labelled)
    answerable = np.where(np.isnan(judged.answerable), UNDEFINED, np.nan_to_num(judged.answerable)).astype(np.int8)
    return AnswerOutcomes(
        system=system,
        query_ids=list(judged.query_id),
        outcome=place_outcomes(
            judged.state,
            answerable,
            gold_in_context,
            correct=_reaching(answer_recall, judged, criteria.correct, has_gold),
            faithful=_reaching(faithfulness, judged, criteria.faithful, sees_context & (n_units > 0)),
        ),
        gold_in_context=gold_in_context,
        answerable=answerable,
        faithfulness=np.where((judged.state == ANSWERED) & sees_context, faithfulness(judged), np.nan),
        state=judged.state,
        criteria=criteria,
        clusters=clusters,
    )


def _reaching(measure: Callable[[JudgedAnswers], Floats], judged: JudgedAnswers, least: float, defined: Bools) -> Codes:
    """(q,) whether a measure reaches a value: OPEN where verdicts are lacking that could decide it."""
    lowest, highest = (measure(judged.assuming(unknown)) for unknown in (0.0, 1.0))
    # A share such as 3 × 1 / 3 is not short of 1 by a rounding.
    holds, fails = lowest >= least - ROUNDING, highest < least - ROUNDING
    return np.select([~defined, holds, fails], [UNDEFINED, YES, NO], OPEN).astype(np.int8)


def place_outcomes(state: Codes, answerable: Codes, gold_in_context: Codes, *, correct: Codes, faithful: Codes) -> Ints:
    """(q,) places in OUTCOMES, from (q,) codes of states, and of what holds: YES, NO, OPEN or UNDEFINED."""
    answered, abstained = state == ANSWERED, state == ABSTAINED
    conditions = {
        "no_answer": ~answered & ~abstained,
        "unanswerable_abstained": abstained & (answerable == NO),
        "unanswerable_answered": answerable == NO,
        "over_cautious": abstained & (gold_in_context == YES),
        "rightly_abstained": abstained & (gold_in_context == NO),
        **{
            name: answered & (gold_in_context == gold) & (correct == right) & (faithful == supported)
            for (gold, right, supported), name in _ANSWERED.items()
        },
        "unknown": (gold_in_context == UNDEFINED) | (answered & ((correct == UNDEFINED) | (faithful == UNDEFINED))),
    }
    places = np.select(list(conditions.values()), [AT[name] for name in conditions], AT["not_judged"])
    return places.astype(np.int64)


@dataclass(frozen=True, eq=False)
class JudgedSystem:
    """The verdicts on the answers of a system, and what they come to; q questions.

    judged      the verdicts as arrays;   records   the same, question by question
    outcomes    what became of each question
    rests       (q,) by verdicts on units and chunks, whether the answer rests on chunks that hold gold: YES, NO where
                it rests on others alone or is an abstention, or UNDEFINED where no chunk supports it, it was not judged
                so, or the context is unknown or holds no gold
    """

    judged: JudgedAnswers = field(repr=False)
    records: Sequence[JudgedAnswer] = field(repr=False)
    outcomes: AnswerOutcomes
    rests: Codes

    @classmethod
    def of(
        cls, verdicts: Verdicts, weighed: Weighed, labels: Truth, *, min_gain: float,
        criteria: Criteria | None = None, clusters: Ints | None = None,
    ) -> JudgedSystem:  # fmt: skip
        """A system's verdicts on the questions of its alignment.

        labels    the gain of every gold document, or of every chunk that holds gold
        min_gain  smallest gain that counts as relevant
        Raises    InputError where questions have no verdicts.
        """
        query_ids = weighed.alignment.query_id
        judged, records = verdicts.arrays(query_ids), [verdicts.records[query_id] for query_id in query_ids]
        gold_chunks = _gold_chunks(weighed, labels, records, min_gain)
        n_gold = count_gold(weighed.alignment.pieces, min_gain)
        labelled = [
            UNDEFINED if is_gold is None or not n else YES if is_gold.any() else NO
            for is_gold, n in zip(gold_chunks, n_gold.tolist(), strict=True)
        ]
        outcomes = answer_outcomes(
            judged, np.array(labelled, np.int8), system=weighed.name, criteria=criteria, clusters=clusters
        )
        return cls(judged, records, outcomes, _rests_on_gold(judged, gold_chunks))


def _gold_chunks(
    weighed: Weighed, labels: Truth, records: Sequence[JudgedAnswer], min_gain: float
) -> list[Bools | None]:
    """Which chunks of the context of each question hold gold; None where the context is unknown.

    Where documents are weighed, a chunk of a gold document does.
    """
    document_of: Mapping[str, str] = {} if weighed.documents is None else weighed.documents.document_of
    return [
        None
        if record.context is None
        else np.array([gains.get(document_of.get(id, id), -np.inf) >= min_gain for id in record.context], bool)
        for record, gains in zip(records, labels.labels, strict=True)
    ]


def _rests_on_gold(judged: JudgedAnswers, gold_chunks: Sequence[Bools | None]) -> Codes:
    """See `JudgedSystem.rests`."""
    query = judged.unit_query[judged.support_unit]
    starts = np.cumsum([0, *(0 if is_gold is None else len(is_gold) for is_gold in gold_chunks)])
    is_gold = np.concatenate([np.zeros(0, bool), *(mask for mask in gold_chunks if mask is not None)])
    beside_gold = is_gold[starts[query] + judged.support_chunk]
    by_gold, by_others, is_open = (
        np.bincount(query[mask], minlength=judged.n_queries) > 0
        for mask in (
            beside_gold & (judged.support == SUPPORTED),
            ~beside_gold & (judged.support == SUPPORTED),
            beside_gold & (judged.support < 0),
        )
    )
    has_gold = np.array([mask is not None and bool(mask.any()) for mask in gold_chunks], bool)
    elsewhere = (judged.state == ANSWERED) & by_others & ~is_open
    rules = [has_gold & by_gold, has_gold & (elsewhere | (judged.state == ABSTAINED))]
    return np.select(rules, [YES, NO], UNDEFINED).astype(np.int8)
