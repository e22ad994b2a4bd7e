"""Segments: questions that belong together, by tag, language or length, so that each kind can be weighed by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from steelyard.base.arrays import Bools, Ints
from steelyard.base.errors import InputError
from steelyard.text.scripts import language_of
from steelyard.text.tokens import Tokenizer

if TYPE_CHECKING:
    from steelyard.data.question import Question

By = Literal["tag", "language", "length"]
SEGMENTATIONS: tuple[str, ...] = get_args(By)
"""What questions can be parted by."""

UNTAGGED, UNKNOWN = "(untagged)", "(unknown)"
"""Segments of the questions without a tag, and of those without a text."""

LENGTHS = ("short", "medium", "long")
_LANGUAGES = ("en", "zh")
_THIRD = 1 / 3
_GIVE = "give questions with {}, or a file of them with --questions FILE (questions=...)"


def segments(questions: Mapping[str, Question], query_ids: Sequence[str], by: str) -> dict[str, Bools]:
    """Which questions belong to each segment.

    questions   query_id -> Question, as a Weighing has them; ids without an entry have neither text nor tags
    query_ids   (q,) the questions to part
    by          "tag": a question belongs to the segment of each of its tags; "language": en or zh, see `language_of`;
                "length": short, medium or long, as thirds of the questions of the same language: by the number of
                tokens (words of English, pairs of adjoining characters of Chinese), questions of one length together
    Returns     name -> (q,) whether the question is in it, empty segments left out: tags ascending, the others in the
                order above, and last the questions without a tag (UNTAGGED) or a text (UNKNOWN).  A tag of that very
                name keeps it, and the segment takes one more pair of brackets
    Raises      InputError for another `by`, and where no question has a tag, or a text

    >>> from steelyard.data.questions import Questions
    >>> asked = Questions([{"qid": "a", "query": "who?", "tags": ["x"]}, {"qid": "b", "query": "谁？"}])
    >>> named = {question.query_id: question for question in asked}
    >>> {name: members.tolist() for name, members in segments(named, ["a", "b"], "tag").items()}
    {'x': [True, False], '(untagged)': [False, True]}
    """
    if by not in SEGMENTATIONS:
        raise InputError(f"no segments are called {by!r}; there are {', '.join(SEGMENTATIONS)}")
    n = len(query_ids)
    if by == "tag":
        parts = tag_segments(questions, query_ids)
        if not parts:
            raise InputError(f"segments by tag: none of {n} questions has a tag; {_GIVE.format('`tags`')}")
        rest = UNTAGGED
        while rest in parts:
            rest = f"({rest})"
    else:
        parts = language_segments(questions, query_ids)
        if not parts:
            raise InputError(f"segments by {by}: no text is known of any of {n} questions; {_GIVE.format('texts')}")
        if by == "length":
            parts = _all_languages(questions, query_ids)
        rest = UNKNOWN
    outside = ~np.any(list(parts.values()), axis=0)
    return {**parts, rest: outside} if outside.any() else parts


def tag_segments(questions: Mapping[str, Question], query_ids: Sequence[str]) -> dict[str, Bools]:
    """(q,) the questions that have each tag, tags ascending; nothing where none has one."""
    rows: dict[str, list[int]] = {}
    for q, query_id in enumerate(query_ids):
        for tag in questions[query_id].tags if query_id in questions else ():
            rows.setdefault(tag, []).append(q)
    return {tag: _mask(rows[tag], len(query_ids)) for tag in sorted(rows)}


def language_segments(questions: Mapping[str, Question], query_ids: Sequence[str]) -> dict[str, Bools]:
    """(q,) the questions in each language, en before zh, empty ones left out; nothing where no text is known."""
    languages = np.array([language_of(text) if text is not None else "" for text in _texts(questions, query_ids)])
    return {code: languages == code for code in _LANGUAGES if (languages == code).any()}


@dataclass(frozen=True, eq=False)
class LengthSegment:
    """Short, medium or long questions of one language: (q,) which, and the fewest and most tokens that they have."""

    members: Bools
    fewest: int
    most: int


def length_segments(questions: Mapping[str, Question], query_ids: Sequence[str]) -> dict[str, dict[str, LengthSegment]]:
    """Language -> length -> its questions, empty ones left out.

    A question's middle rank among those of its language says in which third it is, so that questions of one length stay
    together.
    """
    counts, parts = _n_tokens(_texts(questions, query_ids)), dict[str, dict[str, LengthSegment]]()
    for language, spoken in language_segments(questions, query_ids).items():
        ordered = np.sort(counts[spoken])
        below, upto = (np.searchsorted(ordered, counts, side=side) for side in ("left", "right"))
        place = (below + upto) / 2 / len(ordered)
        third = np.where(place < _THIRD, 0, np.where(place > 1 - _THIRD, 2, 1))
        inside = {length: spoken & (third == i) for i, length in enumerate(LENGTHS)}
        parts[language] = {
            length: LengthSegment(members, int(counts[members].min()), int(counts[members].max()))
            for length, members in inside.items()
            if members.any()
        }
    return parts


def length_bounds(questions: Mapping[str, Question], query_ids: Sequence[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """Bounds of "short", "medium" and "long": language -> length -> fewest and most tokens."""
    return {
        language: {length: (segment.fewest, segment.most) for length, segment in lengths.items()}
        for language, lengths in length_segments(questions, query_ids).items()
    }


def _all_languages(questions: Mapping[str, Question], query_ids: Sequence[str]) -> dict[str, Bools]:
    """The short, medium and long questions of all languages together."""
    parts = length_segments(questions, query_ids).values()
    members = {length: [part[length].members for part in parts if length in part] for length in LENGTHS}
    return {length: np.any(masks, axis=0) for length, masks in members.items() if masks}


def _mask(rows: Sequence[int], n: int) -> Bools:
    mask = np.zeros(n, bool)
    mask[rows] = True
    return mask


def _texts(questions: Mapping[str, Question], query_ids: Sequence[str]) -> list[str | None]:
    return [questions[query_id].query if query_id in questions else None for query_id in query_ids]


def _n_tokens(texts: Sequence[str | None]) -> Ints:
    # The built-in tokenizer, so that what is installed moves no question.
    tokenizer = Tokenizer(chinese="bigrams", stem="none")
    return np.array([len(tokens) for tokens in tokenizer.many(text or "" for text in texts)], np.int64)
