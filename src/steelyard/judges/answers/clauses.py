"""Clauses of long sentences: where an answer goes on from comma to comma, in Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from steelyard.judges.answers.assertions import clause_pattern
from steelyard.text.spans import Span

LONG = 240
"""Columns, an ideograph two of them, of which a sentence may have so many: 99 of 100 sentences of answers do not have
more (8,000 of the sets in benchmarks/ANSWERS.md, whose longest hundredth begins at 235 to 325)."""
LONG_UNENDED = 100
"""Columns of one that ends without a mark, about those of a usual sentence: without full stops, commas end them."""
_LEAST = 30  # columns of a clause that is a unit; shorter ones stay with the clause before
_STOP = re.compile(r"[.。！!？?…｡．][\W_]*\Z")
_ENCLOSED_OR_COMMA = re.compile(
    r"""“[^”]{0,300}” | 「[^」]{0,300}」 | 『[^』]{0,300}』 | 《[^》]{0,100}》 | （[^）]{0,300}） | \([^)]{0,300}\)
    | "[^"]{0,300}" | (?P<comma>[，；;]|,(?=\s))\s*""",
    re.VERBOSE,
)


def clause_spans(text: str, start: int, end: int) -> Iterator[Span]:
    """The clauses of a sentence that is long, or the whole of it.

    start, end   of the sentence in the text, in which marks are blank

    A clause ends with a comma or semicolon outside of quotations and brackets.  One that depends on its neighbour stays
    with it: behind "if" or 如果, before "which" or 则, and in English where one side has no verb.

    >>> text = "The hall opens at nine on weekdays, the café is closed, and a card for visitors costs ten euros a year"
    >>> [text[start:end] for start, end in clause_spans(text, 0, len(text))]
    ['The hall opens at nine on weekdays,', 'the café is closed, and a card for visitors costs ten euros a year']
    """
    sentence = text[start:end]
    columns = [0, *accumulate(1 if character.isascii() else 2 for character in sentence)]
    first = 0
    if columns[-1] > (LONG if _STOP.search(sentence) else LONG_UNENDED):
        for place, following in _ends(sentence):
            if min(columns[place] - columns[first], columns[-1] - columns[place]) >= _LEAST:
                yield start + first, start + place
                first = following
    yield start + first, end


def _ends(sentence: str) -> Iterator[Span]:
    """Where a clause that can be by itself ends, and where the next one begins."""
    commas = [match for match in _ENCLOSED_OR_COMMA.finditer(sentence) if match["comma"]]
    bounds = [0, *(match.end() for match in commas), len(sentence)]
    for n, match in enumerate(commas):
        left, right = sentence[bounds[n] : match.end()].lower(), sentence[match.end() : bounds[n + 2]].lower()
        if match["comma"] in ";；" or _are_apart(left, right, is_english=match["comma"] == ","):
            yield match.start() + 1, match.end()


def _are_apart(left: str, right: str, *, is_english: bool) -> bool:
    if clause_pattern("subordinate").match(left) or clause_pattern("dependent").match(right):
        return False
    finite = clause_pattern("finite")
    return not is_english or (finite.search(left) is not None and finite.search(right) is not None)
