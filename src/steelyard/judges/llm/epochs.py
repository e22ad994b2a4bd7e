"""Several samples of one verdict: what most of them say, and how far they differ."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from steelyard.judges.verdict import Verdict

TIE = "the samples tie"


def not_judged(cause: str) -> Verdict:
    """The verdict of what was not judged."""
    return Verdict("not_judged", None, cause)


def merge_samples(samples: Sequence[Verdict]) -> Verdict:
    """One verdict of several samples.

    The label is what more samples say than any other, of those that were judged; where two share the first place,
    it is not judged.  The score is the mean of all samples that have one, and the reason that of the first sample with
    the label.  Of nothing but failures, the first one's cause stays.

    >>> merge_samples([Verdict("supported", 1.0, "named"), Verdict("not_found", 0.5), Verdict("supported", 0.75)])
    Verdict(label='supported', score=0.75, reason='named')
    >>> merge_samples([Verdict("supported"), Verdict("not_found")]).reason
    'the samples tie'
    """
    judged = [sample for sample in samples if sample.label != "not_judged"]
    if not judged or len(samples) == 1:
        return samples[0]
    (label, votes), *others = Counter(sample.label for sample in judged).most_common(2)
    if others and others[0][1] == votes:
        return not_judged(TIE)
    scores = [sample.score for sample in judged if sample.score is not None]
    first = next(sample for sample in judged if sample.label == label)
    return Verdict(label, statistics.fmean(scores) if scores else None, first.reason)


@dataclass(frozen=True)
class Spread:
    """How far samples of the same differ.

    n              what was judged several times
    n_differing    of it, where not all samples have one label
    score_sd       mean standard deviation of the scores, where there are several
    """

    n: int
    n_differing: int
    score_sd: float | None


def spread_of(groups: Sequence[Sequence[Verdict]]) -> Spread:
    """The spread over many verdicts, each with its samples."""
    judged = [[sample for sample in group if sample.label != "not_judged"] for group in groups]
    several = [group for group in judged if len(group) > 1]
    scores = [[sample.score for sample in group if sample.score is not None] for group in several]
    deviations = [statistics.stdev(values) for values in scores if len(values) > 1]
    n_differing = sum(len({sample.label for sample in group}) > 1 for group in several)
    return Spread(len(several), n_differing, statistics.fmean(deviations) if deviations else None)
