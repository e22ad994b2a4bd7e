"""Defaults of all that weighs, compares, diagnoses, reports or gates, in Python and on the command line.

The command line reads them for its help, so nothing that takes time is imported here.
"""

from __future__ import annotations

from dataclasses import dataclass

from steelyard.base.choices import AnswerUnits, OnDuplicate, Policy


@dataclass(frozen=True)
class DefaultMeasures:
    """Measures by the kind of gold, the primary one first: documents named by id, or evidence.

    Of evidence, gold pieces come first: chunks may overlap or be cut anew, which moves measures of chunks.

    of_answers   where nothing is gold for what is retrieved, and there are answers; those that are undefined for all of
                 them, as they need a gold answer or citations, are left out
    beside       in place of the last ones of what is retrieved, where every system has answers, too; undefined ones are
                 left out
    """

    by_id: tuple[str, ...]
    by_evidence: tuple[str, ...]
    of_answers: tuple[str, ...] = (
        "faithfulness",
        "answer_f1",
        "answer_precision",
        "answer_recall",
        "citation_validity",
    )
    beside: tuple[str, ...] = ("faithfulness", "answer_f1")


MEASURES = DefaultMeasures(
    by_id=("ndcg@10", "map", "mrr@10", "recall@100", "precision@10"),
    by_evidence=("evidence_recall@5", "ndcg@10", "map", "mrr@10", "precision@10"),
)
"""Of `evaluate`, and of a run folder whose configuration names none."""

COMPARED_MEASURES = DefaultMeasures(
    by_id=("ndcg@10",), by_evidence=("evidence_recall@5",), of_answers=("faithfulness",), beside=()
)
"""Of `compare`."""

REPORT_MEASURES = DefaultMeasures(
    by_id=("ndcg@10", "mrr@10", "recall@5", "precision@5", "hit_rate@5"),
    by_evidence=("evidence_recall@5", "ndcg@10", "mrr@10", "precision@5", "hit_rate@5"),
)
"""Of a report whose profile recommends none."""

MISSING: Policy = "zero"
"""A query of the truth that is absent from a run."""

NO_RELEVANT: Policy = "zero"
"""A query without relevant documents."""

ON_DUPLICATE: OnDuplicate = "error"
"""A document twice in one query."""

K = 5
"""Results that count as found in a diagnosis, unless the first measure has a cut-off of its own."""

MIN_GAIN = 1.0
"""Smallest gain that counts as relevant."""

RULE = "share>=0.5"
"""When chunks hold a gold passage: alone or together, they have half of it."""

SEED = 0
"""Of randomisation."""

ALPHA = 0.05
"""Level of tests; intervals of differences cover the rest."""

FALSE_ALARMS = 0.05
"""Lines of a trend that show a change where there is none, at most."""

POWER = 0.8
"""Share of cases in which a plan wants a true difference shown."""

MIN_QUESTIONS = 10
"""Fewer are too few for a gate to judge by."""

PROFILE = "ratings"
"""Levels that a report rates by."""

JUDGE = "lexical"
"""Who judges answers."""

UNITS: AnswerUnits = "sentences"
"""What of them is judged."""

SCALE = "0-10"
"""On which a judge grades documents."""

POOL_DEPTH = 20
"""How many of each list it grades."""

DRAWN = 100
"""Questions that are drawn from logs."""

TRIALS = 100
"""Of each self-test of a judge; without a failure, 95% intervals of its share end at .037."""
