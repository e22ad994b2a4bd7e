"""Which words of a text are negated."""

from __future__ import annotations

import re

from steelyard.judges.lexical.words import STEPS, forms
from steelyard.text.folding import fold
from steelyard.text.scripts import IDEOGRAPHS

_ENGLISH = re.compile(
    r"(?<!\w)(?<!\bor )(?:not|no(?!,)|never|without|neither|nor|cannot|[a-z]+n't)(?!\w)"
    r"(?=(?P<rest>(?:[^\w.;!?]+[\w'-]+){1,5}))"
)
"""A negating word, and the few behind it, of which the first content word is negated; "No," answers, and "or not" is
about nothing."""
_NOT_ONLY = re.compile(r"[^\w]*(?:only|just|merely|least|yet|longer than)\b")
_CHINESE = re.compile(
    rf"(?<![区分特性级类个告差])(?:没有|并非|并不|从不|从未|绝不|不是|不会|不能|不可以|不得(?!不)|不|没|未|无)"
    rf"(?<!不得不)(?=[{IDEOGRAPHS}]{{2}})(?P<rest>[{IDEOGRAPHS}]{{2}})"
)
_CHINESE_FIXED = re.compile(
    r"不(?:仅|但|过|断|少|久|同|管|只|论|妨|禁|料|愧|止|单|如|及|足|等|锈|由|少于|低于|超过)|无(?:论|线|疑|数|偿|人机|限|锡|形|非)|未(?:来|必|免)|没(?:收|落|错)|差不多"
)
_MARKS = re.compile(r"(?<!\w)(?<!\bor )(?:not|no(?!,)|never|without|neither|nor|cannot|[a-z]+n't)(?!\w)|[不没未无非]")


def has_negation(text: str) -> bool:
    """Whether a text may negate something, at a glance."""
    return _MARKS.search(text.lower().replace("’", "'")) is not None


def negated(text: str) -> frozenset[str]:
    """The forms of the words that a text negates, each the first behind a negating word.

    >>> sorted(negated("The hall does not open on Sundays, and never floods."))
    ['flood', 'open']
    >>> sorted(negated("博物馆周一不开放，不仅如此。"))
    ['开放']
    """
    folded = fold(text, STEPS)
    words = {
        content[0]
        for match in _ENGLISH.finditer(folded)
        if not _NOT_ONLY.match(match["rest"]) and (content := forms(match["rest"]))
    }
    fixed = _CHINESE_FIXED.sub(lambda match: "，" * len(match[0]), folded)
    return frozenset(words | {form for match in _CHINESE.finditer(fixed) for form in forms(match["rest"])[:1]})
