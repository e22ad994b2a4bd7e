"""Code in Markdown: fenced blocks, and spans between backticks."""

from __future__ import annotations

import re

from steelyard.text.spans import Span

FENCED = r"""(?P<lead>^|\n)[^\S\n]*(?P<fence>`{3,}|~{3,})[^\n`]*
    (?:\n[^\S\n]*(?P=fence)[^\S\n]*(?=\n|\Z) | \n(?s:.*?)(?:\n[^\S\n]*(?P=fence)[^\S\n]*(?=\n|\Z)|\Z) | \Z)"""
"""A fenced block, as the inside of a verbose regular expression; one that is not closed goes on to the end.  The line
break before it is `lead`."""

INLINE = r"(?<!`)(?P<ticks>`{1,3})(?!`)[^\n]{1,300}?(?<!`)(?P=ticks)(?!`)"
"""Code between backticks, within a line."""

_FENCED = re.compile(FENCED, re.VERBOSE)
_INLINE = re.compile(INLINE)


def fenced_blocks(text: str) -> list[Span]:
    """Where the fenced blocks are, fences included, and no line break before or behind.

    >>> fenced_blocks("So:\\n```py\\nx[0]\\n```\\nDone.")
    [(4, 18)]
    """
    if "```" not in text and "~~~" not in text:
        return []
    return [(match.end("lead"), match.end()) for match in _FENCED.finditer(text)]


def inline_code(text: str) -> list[Span]:
    """Where the code between backticks is, within a line.

    >>> inline_code("Take `x[0]`.")
    [(5, 11)]
    """
    return [match.span() for match in _INLINE.finditer(text)] if "`" in text else []
