"""Segments: questions that belong together, by tag, language or length, so that each kind can be weighed by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from steelyard.base.arrays import Bools
from steelyard.base.errors import InputError
from steelyard.text.languages import language_of
from steelyard.text.tokens import Tokenizer

if TYPE_CHECKING:
    from steelyard.data.questions import Question

By = Literal["tag", "language", "length"]
SEGMENTATIONS: tuple[str, ...] = get_args(By)
"""What questions can be parted by."""

UNTAGGED, UNKNOWN = "(untagged)", "(unknown)"
"""Segments of the questions without a tag, and of those without a text."""

LENGTHS = ("short", "medium", "long")
_LANGUAGES = ("en", "zh")
_THIRD = 1 / 3
_GIVE = "give questions with {}, or a file of them with --queries FILE (queries=...)"


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
    known = [questions.get(query_id) for query_id in query_ids]
    if by == "tag":
        return _by_tag([question.tags if question else () for question in known])
    texts = _texts(known, by)
    names = _languages(texts) if by == "language" else _lengths(texts)
    order = (*(_LANGUAGES if by == "language" else LENGTHS), UNKNOWN)
    found = {name: np.array([each == name for each in names], bool) for name in order}
    return {name: members for name, members in found.items() if members.any()}


def length_bounds(questions: Mapping[str, Question], query_ids: Sequence[str]) -> dict[str, dict[str, tuple[int, int]]]:
    """What "short", "medium" and "long" mean here: language -> segment -> fewest and most tokens.

    Options and errors as of `segments`.
    """
    texts = _texts([questions.get(query_id) for query_id in query_ids], "length")
    names, spoken, counts = _lengths(texts), _languages(texts), _n_tokens(texts)
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for language in _LANGUAGES:
        for length in LENGTHS:
            of = [n for n, name, each in zip(counts, names, spoken, strict=True) if (name, each) == (length, language)]
            if of:
                found.setdefault(language, {})[length] = (min(of), max(of))
    return found


def _texts(known: Sequence[Question | None], by: str) -> list[str | None]:
    texts = [question.query if question else None for question in known]
    if all(text is None for text in texts):
        raise InputError(
            f"segments by {by}: no text is known of any of {len(texts)} questions; {_GIVE.format('texts')}"
        )
    return texts


def _by_tag(tags: Sequence[tuple[str, ...]]) -> dict[str, Bools]:
    names = sorted({tag for of_one in tags for tag in of_one})
    if not names:
        raise InputError(f"segments by tag: none of {len(tags)} questions has a tag; {_GIVE.format('`tags`')}")
    found = {name: np.array([name in of_one for of_one in tags], bool) for name in names}
    if not all(tags):
        rest = UNTAGGED
        while rest in found:
            rest = f"({rest})"
        found[rest] = np.array([not of_one for of_one in tags], bool)
    return found


def _languages(texts: Sequence[str | None]) -> list[str]:
    return [UNKNOWN if text is None else language_of(text) for text in texts]


def _n_tokens(texts: Sequence[str | None]) -> list[int]:
    # The built-in tokenizer, so that what is installed moves no question.
    return [len(tokens) for tokens in Tokenizer(chinese="bigrams", stem="none").many(text or "" for text in texts)]


def _lengths(texts: Sequence[str | None]) -> list[str]:
    """The third that each question's middle rank among those of its language lies in."""
    spoken, counts = _languages(texts), np.array(_n_tokens(texts))
    names = [UNKNOWN] * len(texts)
    for language in _LANGUAGES:
        rows = np.flatnonzero([each == language for each in spoken])
        of = np.sort(counts[rows])
        for row in rows.tolist():
            below, upto = (int(np.searchsorted(of, counts[row], side=side)) for side in ("left", "right"))
            place = (below + upto) / 2 / len(rows)
            names[row] = LENGTHS[0] if place < _THIRD else LENGTHS[2] if place > 1 - _THIRD else LENGTHS[1]
    return names
