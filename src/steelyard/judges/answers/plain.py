"""The plain text of a unit: without tags, signs of Markdown, the number of an item, and what it says of its source."""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.judges.answers.assertions import clause_pattern
from steelyard.text.spans import Span

TAG = re.compile(
    r"</?(?:p|div|li|ul|ol|br|h[1-6]|table|thead|tbody|tr|td|th|blockquote|hr|span|b|i|em|strong|u|a|mark|small|font|code)"
    r"\b[^<>\n]{0,200}>",
    re.IGNORECASE,
)
_CELL = re.compile(r"<t[dh]\b", re.I)
_ITEM = re.compile(
    r"""(?:\s*(?:[-*+•>]\s+|\d{1,3}[.)]\s+|\d{1,3}[、．]|[一二三四五六七八九十]{1,3}、|[（(][一二三四五六七八九十\d]{1,3}[）)]|[①-⑳]\s*))+""",
    re.VERBOSE,
)
_EMPHASIS = re.compile(r"\A#{1,6}\s+|\*\*|~~|`")
_ITALIC = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300})(?<=\S)\*(?![\w*])")
_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,200})\]\((?:https?:|/|#|\./)[^()\s]{0,500}\)")
_OPENING = 80  # characters that what a sentence says of its source may have
_WORD = re.compile(r"\w")


def without_tags(answer: str, start: int, end: int, marks: Sequence[Span]) -> str:
    """The text of a unit without marks and tags, and without the blanks before them; cells of HTML have a | between."""
    text, last = "", start
    cuts = sorted([*marks, *(match.span() for match in TAG.finditer(answer, start, end))])
    for left, right in cuts:
        if left < last:
            continue
        text += answer[last:left] + (" | " if _CELL.match(answer, left, right) else "")
        following = answer[right : right + 1] if right < end else ""
        if text[-1:].isspace() and not following.isalnum():
            text = text.rstrip(" \t")
        last = right
    return (text + answer[last:end]).strip()


def without_sign(text: str) -> str:
    """The text of an item without its sign or number."""
    return _ITEM.sub("", text, count=1).lstrip() if _ITEM.match(text) else text


def bare(text: str) -> str:
    """What a sentence says, without signs of Markdown and what it says of its source or of itself.

    >>> bare("**结论**：根据资料，九点开门。"), bare("According to the documents, it **opens** at nine.")
    ('九点开门。', 'it opens at nine.')
    """
    text = _LINK.sub(r"\1", _ITALIC.sub(r"\1", _EMPHASIS.sub("", text))).strip()
    aside = clause_pattern("aside")
    while match := aside.match(text[:_OPENING].lower()):
        if not _WORD.search(text, match.end()):
            break
        text = text[match.end() :]
    return text
