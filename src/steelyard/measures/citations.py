"""Measures of the citations in answers.

In ALCE's program a citation that is out of range leaves its whole sentence unsupported, and its citations out of
precision; of more than three citations the first three count.  Here a sentence is judged by all that it cites of the
context; what names no chunk of it stands in the denominator of `citation_precision`, and `citation_validity` counts it.
"""

from __future__ import annotations

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.measures.judged_answers import JudgedAnswers
from steelyard.measures.registry import measure
from steelyard.measures.truths import both, is_needed, is_supported_by_cited, is_supported_by_uncited, negated

_ALCE = "Gao et al., ALCE, EMNLP 2023"


def is_cited(a: JudgedAnswers) -> Bools:
    """(u,) whether each unit cites anything, be it in the context or not."""
    by_units = a.citation_unit[a.citation_unit >= 0]
    return np.asarray(np.bincount(by_units, minlength=len(a.unit_query)) > 0)


@measure(inputs=("answers",), needs=("units",), source="Steelyard")
def citation_coverage(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that have a citation, valid or not."""
    return a.share(is_cited(a).astype(float), a.unit_query)


@measure(inputs=("answers",), needs=("context", "citations"), source="Steelyard")
def citation_validity(a: JudgedAnswers) -> Floats:
    """Share of the answer's citations that name a chunk of the context.

    Others are dangling (no such id), out of range (no such number or page), malformed, or name a page where no chunk of
    the context has one.
    """
    return a.share((a.citation_chunk >= 0).astype(float), a.citation_query)


@measure(inputs=("answers",), needs=("context", "units", "chunk_verdicts"), items="joint", source=_ALCE)
def citation_support(a: JudgedAnswers) -> Floats:
    """Share of the answer's units that the chunks which they cite support together; a unit that cites none counts 0.

    ALCE calls it citation recall.
    """
    return a.share(is_supported_by_cited(a), a.unit_query)


@measure(inputs=("answers",), needs=("context", "units", "cited_units", "chunk_verdicts"), source=_ALCE)
def citation_precision(a: JudgedAnswers) -> Floats:
    """Share of the citations that are needed: all of a unit support it, and this one does alone, or not without it.

    All citations of units that assert something are in the denominator, those that name no chunk of the context too.
    """
    counted = a.citation_unit >= 0
    return a.share(is_needed(a)[counted], a.citation_query[counted])


@measure(
    inputs=("answers",),
    needs=("context", "units", "cited_units", "chunk_verdicts"),
    direction="lower",
    source="Steelyard",
)
def misattribution(a: JudgedAnswers) -> Floats:
    """Share of the units with citations that what they cite does not support, and another chunk of the context does."""
    cited = is_cited(a)
    truth = both(is_supported_by_uncited(a), negated(is_supported_by_cited(a)))
    return a.share(truth[cited], a.unit_query[cited])
