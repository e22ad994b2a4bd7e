"""The citations in an answer."""

from __future__ import annotations

import re

_BRACKETS = re.compile(r"[\[【［]((?:[^\[\]【】［］\n]|\[[^\[\]\n]*\])*)[\]】］]")


def citations(answer: str) -> list[str]:
    """Ids of the chunks that an answer cites as [doc#chunk], in order, each once.

    Full-width brackets count too, and one pair may hold several ids, parted by a semicolon or comma.
    >>> citations("It opens at 9 [hours#2; fees#1]. 周一休息【hours#2】。 See [1].")
    ['hours#2', 'fees#1']
    """
    ids: dict[str, None] = {}
    for match in _BRACKETS.finditer(answer):
        ids |= dict.fromkeys(_cited(match[1]) or citations(match[1]))
    return list(ids)


def _cited(bracket: str) -> list[str]:
    """The ids between two brackets.  A comma may belong to a document's name, a semicolon may not."""
    ids = []
    for part in re.split("[;；]", bracket):
        held = ""
        for piece in re.split("([,，、])", part):
            held += piece
            doc, _, chunk = piece.strip().rpartition("#")
            if chunk and doc and not doc[-1].isspace() and not re.search(r"[\s\[\]]", chunk):
                ids.append(held.strip(" \t\u3000,，、"))
                held = ""
    return ids
