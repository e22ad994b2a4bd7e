"""The judged answers of one system beside the gold among its chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from steelyard.base.arrays import Bools, Ints
from steelyard.data.truth import Truth
from steelyard.diagnosis.funnel import count_gold
from steelyard.diagnosis.outcomes import NO, UNDEFINED, YES, AnswerOutcomes, Criteria, answer_outcomes
from steelyard.experiment.weighed import Weighed
from steelyard.judges.records import JudgedAnswer
from steelyard.judges.verdicts import Verdicts
from steelyard.measures.judged_answers import ABSTAINED, ANSWERED, SUPPORTED, Codes, JudgedAnswers


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
) -> list[Bools | None]:  # fmt: skip
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
