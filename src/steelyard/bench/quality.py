"""What rerankers make of quality: each beside the candidates as they are, and beside what their order could reach."""

from __future__ import annotations

from steelyard.experiment.defaults import DefaultMeasures
from steelyard.measures import Measure

MEASURES = DefaultMeasures(
    by_id=("ndcg@10", "mrr@10", "precision@5"), by_evidence=("evidence_recall@5", "ndcg@10", "mrr@10"), of_answers=()
)
"""Where a configuration names none; the first one decides.  Few, as each more costs the others certainty."""

OVERLAP_K = 10
"""Results whose overlap is shown, where the first measure has no cut-off."""


def ceiling_label(depth: int) -> str:
    """What ceilings call the best order of so many candidates.

    >>> ceiling_label(50)
    'ceiling@50'
    """
    return f"ceiling@{depth}"


def overlap_k(primary: Measure) -> int:
    """How many first results are held against those before: as many as the first measure looks at."""
    return primary.depth or OVERLAP_K
