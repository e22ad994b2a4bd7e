"""Why no query or document of a run is in the truth: ids of both, and what would make them agree."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable

from steelyard.base.errors import InputError, NoCommonQueryError
from steelyard.data.truth import Truth

_SHOWN = 3


def no_common_query(truth: Truth, run_name: str, run_ids: list[str]) -> NoCommonQueryError:
    """The error for a run none of whose queries is in the truth, with ids of both."""
    ours, theirs = truth.query_ids[:_SHOWN], run_ids[:_SHOWN]
    shown = f"the truth has {', '.join(map(repr, ours))}; the run has {', '.join(map(repr, theirs)) or 'none'}"
    return NoCommonQueryError(f"{run_name}: no question of the run is in the truth: {shown}" + _slip(truth, run_ids))


def _slip(truth: Truth, run_ids: list[str]) -> str:
    """Why ids that should be equal are not, where one simple change would make them so."""
    if look_alike := _look_alike(truth.query_ids, run_ids):
        return f"; {look_alike}"
    slips: dict[str, Callable[[str], str]] = {
        "upper and lower case differ": str.casefold,
        "white space around the ids differs": str.strip,
        "leading zeros or a decimal point differ; ids are text": _as_number,
        "one side has a prefix that the other lacks": _without_prefix,
    }
    for reason, fold in slips.items():
        ours = {fold(id) for id in truth.query_ids}
        if any(fold(id) in ours for id in run_ids):
            return f"; {reason}"
    return "; are these files of the same collection, and is the truth the first one?"


def refuse_look_alikes(truth: Truth, run_name: str, doc_ids: Iterable[str]) -> None:
    """Raise   InputError where documents of a run, none of which is judged, are those of the truth but for characters
    that cannot be seen; two Unicode forms of one text may be two documents.
    """
    judged = truth.doc_ids.to_list()
    forms = {unicodedata.normalize("NFC", id) for id in judged if not id.isascii()}
    others = (id for id in doc_ids if id.isascii() or unicodedata.normalize("NFC", id) not in forms)
    if look_alike := _look_alike(judged, others):
        raise InputError(f"{run_name}: no document of the run is in the truth: {look_alike}")


def _look_alike(ours: Iterable[str], theirs: Iterable[str]) -> str:
    """How two ids differ that nobody can tell apart by sight; nothing where there are no such two."""
    by_sight = {_seen(id): id for id in ours}
    for their in theirs:
        our = by_sight.get(_seen(their), their)
        if our != their and not (our + their).isascii():
            advice = "remove white space and characters that cannot be seen"
            if _same_form(our, their):
                advice = "bring the ids of both into one Unicode form, such as NFC"
            points = [("truth", _only_in(our, their)), ("run", _only_in(their, our))]
            differences = " and ".join(f"{codes} is in that of the {side} alone" for side, codes in points if codes)
            return f"{our!r} of the truth and {their!r} of the run look alike, but {differences}; {advice}"
    return ""


def _same_form(our: str, their: str) -> bool:
    return unicodedata.normalize("NFC", our) == unicodedata.normalize("NFC", their)


def _seen(id: str) -> str:
    """An id as it looks: in one Unicode form, any blank as a blank, and without characters that have no width."""
    if id.isascii():
        return id.strip()
    letters = (" " if c.isspace() else c for c in unicodedata.normalize("NFC", id) if unicodedata.category(c) != "Cf")
    return "".join(letters).strip()


def _only_in(text: str, other: str) -> str:
    """Code points that the other text has not."""
    return " ".join(f"U+{ord(c):04X}" for c in dict.fromkeys(text) if c not in other)


def _as_number(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _without_prefix(text: str) -> str:
    return text.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-:# ").lstrip("0") or text
