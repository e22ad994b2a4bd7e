"""Which results an entry holds, by kind, and how each is kept and put together again."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from steelyard.base.errors import InputError
from steelyard.experiment.table.scores import Scores

if TYPE_CHECKING:
    from steelyard.judges.tables.verdicts import Verdicts
    from steelyard.store.blobs import Bundle, Shelf

SCORES, VERDICTS, FRAME = "Scores", "Verdicts", "frame"
HELD_OUT = "held_out"
"""Name of the scores of questions that were held out: `history confirm` alone reads them."""
_HOMES = {
    "Scores": "experiment.table.scores",
    "Comparison": "comparison.result",
    "Diagnosis": "diagnosis.diagnosing",
    "Gate": "gates.gating",
    "Preferences": "experiment.preferences",
    "Report": "reports.report",
    "ReviewReport": "reviewing.reporting",
    "Swept": "rag.sweeping",
}
"""Kinds of results of which all parts are kept: the only classes that are made of what a store holds."""

_WITHIN = {
    "WeighedRun": ("scores",),
    "Bench": ("scores", "ceilings", "requests", "rankings"),
    "JudgedRun": ("verdicts",),
}
"""Results that refer to a folder: what of them is kept."""

_ENTRY_KINDS = {
    "Scores": "scores", "WeighedRun": "run", "Swept": "sweep", "Bench": "bench", "JudgedRun": "verdicts",
    "Verdicts": "verdicts", "ReviewReport": "review",
}  # fmt: skip

KINDS = tuple(dict.fromkeys(_ENTRY_KINDS.get(name, name.lower()) for name in [*_HOMES, *_WITHIN, VERDICTS]))
"""Kinds of entries."""


def is_held(result: object) -> bool:
    """True if a store holds such a result."""
    name = type(result).__name__
    return type(result).__module__.startswith("steelyard.") and name in {*_HOMES, *_WITHIN, VERDICTS}


def kind_of(result: object) -> str:
    """The kind of an entry, such as scores, run, sweep, bench, verdicts, comparison, gate.

    Raises   InputError for what is no result that a store holds.
    """
    name = type(result).__name__
    if not is_held(result):
        listed = ", ".join([*_HOMES, *_WITHIN, VERDICTS])
        raise InputError(f"a store holds no {name}; expected one of {listed}")
    return _ENTRY_KINDS.get(name, name.lower())


def results_of(result: Any) -> dict[str, Any]:
    """What of a result is kept, by name: the result itself or what it is made of, and the scores that are in it."""
    name, kind = type(result).__name__, kind_of(result)
    scores = result if name == SCORES else getattr(result, "scores", None)
    held_out = {HELD_OUT: scores.held_out} if isinstance(scores, Scores) and scores.held_out is not None else {}
    if name in _WITHIN:
        parts = {part: getattr(result, part) for part in _WITHIN[name]}
        return {part: value for part, value in parts.items() if value is not None} | held_out
    return {kind: result} | ({"scores": scores} if isinstance(scores, Scores) else {}) | held_out


def keep(result: Any, bundle: Bundle) -> tuple[str, str]:
    """Keep a result, and return its kind and the digest of its blob."""
    if isinstance(result, pl.DataFrame):
        return FRAME, bundle.keep(result)
    kind = type(result).__name__
    if kind == VERDICTS:
        return kind, _keep_verdicts(result, bundle)
    return kind, bundle.keep_result(result)


def restore(kind: str, digest: str, shelf: Shelf) -> Any:
    """The result that was kept.

    Raises   InputError for a kind that this Steelyard does not know.
    """
    if kind == FRAME:
        return shelf.fetch(digest)
    if kind == VERDICTS:
        return _restored_verdicts(digest, shelf)
    if kind not in _HOMES:
        raise InputError(f"the entry holds a {kind!r}, which this Steelyard does not know; update it")
    return shelf.fetch_result(getattr(import_module(f"steelyard.{_HOMES[kind]}"), kind), digest)


def _keep_verdicts(verdicts: Verdicts, bundle: Bundle) -> str:
    import json

    head: Mapping[str, Any] = {"recipe": dict(verdicts.recipe), "errors": dict(verdicts.errors)}
    return bundle.keep_text(json.dumps({**head, "kept": bundle.keep(verdicts.columns.lists())}, ensure_ascii=False))


def _restored_verdicts(digest: str, shelf: Shelf) -> Verdicts:
    import json

    from steelyard.judges.tables.columns import VerdictColumns
    from steelyard.judges.tables.verdicts import Verdicts

    head = json.loads(shelf.fetch_text(digest))
    return Verdicts.of_columns(VerdictColumns.of_lists(shelf.fetch(head["kept"])), head["recipe"], head["errors"])
