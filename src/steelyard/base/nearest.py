"""Which names a misspelt one may have meant, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable

_LISTED = 10


def nearest(
    name: str, names: Iterable[str], *, n: int = 1, near: float = 0.5, otherwise: str | None = None,
    of: Callable[[str], str] = str,
) -> str:  # fmt: skip
    """A question with the nearest names, or a list of all of them where none is near.

    n           most names in the question
    near        how alike names are at least, from 0 to 1 (difflib's ratio)
    otherwise   the words in place of the list, for instance where to look names up
    of          the name to show for a spelling

    >>> nearest("fack", ["faq", "enterprise"]), nearest("x", ["faq", "enterprise"])
    ('did you mean faq?', 'there are faq, enterprise')
    >>> nearest("P", ["p", "r"], of={"p": "precision"}.__getitem__), nearest("x", [], otherwise="see the list")
    ('did you mean precision?', 'see the list')
    """
    listed = list(names)
    spellings = {spelling.lower(): spelling for spelling in listed}
    matches = difflib.get_close_matches(name.lower(), spellings, n=n, cutoff=near)
    if matches:
        return f"did you mean {' or '.join(dict.fromkeys(of(spellings[match]) for match in matches))}?"
    if otherwise is not None:
        return otherwise
    more = f", ... ({len(listed)} in all)" if len(listed) > _LISTED else ""
    return f"there are {', '.join(map(of, listed[:_LISTED])) or 'none'}{more}"
