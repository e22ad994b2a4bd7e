"""Which names a misspelt one may have meant, for error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

_LISTED = 10
_CUTOFF = 0.5


def nearest(name: str, names: Iterable[str] | Mapping[str, str], *, n: int = 1, otherwise: str | None = None) -> str:
    """A question with the nearest names, or a list of all of them where none is near.

    names       what exists; a mapping from spellings to names compares the spellings and shows the names
    n           most names in the question
    otherwise   the words in place of the list, for instance where to look names up

    >>> nearest("fack", ["faq", "enterprise"]), nearest("x", ["faq", "enterprise"])
    ('did you mean faq?', 'there are faq, enterprise')
    >>> nearest("P", {"p": "precision", "r": "recall"}), nearest("x", [], otherwise="see the list")
    ('did you mean precision?', 'see the list')
    """
    shown = dict(names) if isinstance(names, Mapping) else {spelling: spelling for spelling in names}
    spellings = {spelling.lower(): target for spelling, target in shown.items()}
    matches = difflib.get_close_matches(name.lower(), spellings, n=n, cutoff=_CUTOFF)
    if matches:
        return f"did you mean {' or '.join(dict.fromkeys(spellings[match] for match in matches))}?"
    if otherwise is not None:
        return otherwise
    listed = list(dict.fromkeys(shown.values()))
    more = f", ... ({len(listed)} in all)" if len(listed) > _LISTED else ""
    return f"there are {', '.join(listed[:_LISTED]) or 'none'}{more}"
