"""What may have been meant by a name that nothing bears, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LISTED = 10


def nearest(name: str, known: Iterable[str]) -> str:
    """The nearest of the known names, or all of them where none is near.

    >>> nearest("fack", ["faq", "enterprise"]), nearest("x", ["faq", "enterprise"])
    ('did you mean faq?', 'there are faq, enterprise')
    """
    names = list(known)
    if found := difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.5):
        return f"did you mean {found[0]}?"
    more = f", ... ({len(names)} in all)" if len(names) > _LISTED else ""
    return f"there are {', '.join(names[:_LISTED]) or 'none'}{more}"
