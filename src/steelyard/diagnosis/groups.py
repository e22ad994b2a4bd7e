"""Questions that have something in common, on which failures may cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from steelyard.base.arrays import Bools
from steelyard.data.questions import Questions
from steelyard.data.segments import language_segments, length_segments
from steelyard.experiment.weighing import Weighing


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
