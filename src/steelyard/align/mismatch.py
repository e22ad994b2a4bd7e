"""Why no query of a run is in the truth: ids of both, and what would make them agree."""

from __future__ import annotations

from collections.abc import Callable

from steelyard.base.errors import NoCommonQueryError
from steelyard.data.truth import Truth

_SHOWN = 3


def no_common_query(truth: Truth, run_name: str, run_ids: list[str]) -> NoCommonQueryError:
    """The error for a run none of whose queries is in the truth, with ids of both."""
    ours, theirs = truth.query_ids[:_SHOWN], run_ids[:_SHOWN]
    shown = f"the truth has {', '.join(map(repr, ours))}; the run has {', '.join(map(repr, theirs)) or 'none'}"
    return NoCommonQueryError(f"{run_name}: no question of the run is in the truth: {shown}" + _slip(truth, run_ids))


def _slip(truth: Truth, run_ids: list[str]) -> str:
    """Why ids that should be equal are not, where one simple change would make them so."""
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


def _as_number(text: str) -> str:
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


def _without_prefix(text: str) -> str:
    return text.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-:# ").lstrip("0") or text
