"""Several Scores as one: other systems, other measures or other queries beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import numpy as np

from steelyard.align.resolver import GoldMapping
from steelyard.base.arrays import Bools, Floats
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.data.clusters import OWN, Clustering, connected
from steelyard.experiment.corrections import Correction, Corrections, placed
from steelyard.experiment.table.arrays import SHARED_GOLD, ScoreArrays
from steelyard.experiment.table.recipes import check_same_judge
from steelyard.measures import Measure

T = TypeVar("T")
_MUST_AGREE = ("missing", "no_relevant", "on_duplicate", "normalise_ids", "hold_out", "unit", "rule", "steps")


def union(parts: Sequence[ScoreArrays], *, mixed_judges: bool = False) -> dict[str, Any]:
    """The fields of Scores that hold all values of some; see `Scores.concat`."""
    if not parts:
        raise InputError("there are no scores to put together; pass one or several")
    if not mixed_judges:
        check_same_judge(parts)
    systems = _distinct(name for part in parts for name in part.systems)
    measures = _distinct(measure for part in parts for measure in part.measures)
    alike = all(list(part.query_ids) == list(parts[0].query_ids) for part in parts)
    query_ids = list(parts[0].query_ids) if alike else sorted({id for part in parts for id in part.query_ids})
    shape = (s, _, q) = len(systems), len(measures), len(query_ids)
    filled, no_relevant = np.zeros(shape, bool), np.zeros(shape, bool)
    values, judged = np.full(shape, np.nan), np.full(shape, np.nan)
    marks = {name: np.zeros((s, q), bool) for name in ("missing", "failed", "unwinnable")}
    unjudged_queries, gold = np.zeros(s, np.int64), list[GoldMapping | None]([None] * s)
    causes = None if all(part.causes is None for part in parts) else np.zeros(shape, np.int8)
    for part in parts:
        rows, ids = _places(part.systems, systems), _places(part.query_ids, query_ids)
        columns = _places(part.measures, measures)
        cells = np.ix_(rows, columns, ids)
        _refuse_overlap(part, filled[cells])
        filled[cells], values[cells], judged[cells] = True, part.values, part.judged
        no_relevant[cells] = part.no_relevant
        if causes is not None and part.causes is not None:
            causes[cells] = part.causes
        for name, mark in marks.items():
            mark[np.ix_(rows, ids)] |= getattr(part, name)
        unjudged_queries[rows] = np.maximum(unjudged_queries[rows], part.unjudged_queries)
        for row, system, mapping in zip(rows, part.systems, part.gold, strict=True):
            if mapping is not None and gold[row] not in (None, mapping):
                raise InputError(f"{system}: its gold was found in two ways; put together what was evaluated at once")
            gold[row] = mapping or gold[row]
    return dict(
        systems=systems, query_ids=query_ids, measures=measures, values=values, **marks, no_relevant=no_relevant,
        judged=judged, unjudged_queries=unjudged_queries, gold=gold, causes=causes,
        recipe_parts=merged_recipe([part.recipe_parts for part in parts], alike=alike),
        clustering=_clustering(parts, query_ids), repeats=_repeats(parts, measures, query_ids),
        notes={
            system: _distinct_notes(part.notes.get(system, ()) for part in parts)
            for system in systems if any(system in part.notes for part in parts)
        },
        corrections=_corrections(parts, query_ids),
        perfect={
            str(measure): partial(_highest, "perfect", str(measure), parts, systems, query_ids) for measure in measures
        },
        ceilings={
            str(measure): _highest("ceilings", str(measure), parts, systems, query_ids)
            for measure in measures if any(str(measure) in part.ceilings for part in parts)
        },
    )  # fmt: skip


def _highest(
    field: str, measure: str, parts: Sequence[ScoreArrays], systems: Sequence[str], query_ids: Sequence[str]
) -> Floats:
    """(s, q) values of a perfect ranking, or of ceilings, by one measure, from the parts that have any."""
    together = np.full((len(systems), len(query_ids)), np.nan)
    for part in parts:
        if (highest := getattr(part, field).get(measure)) is not None:
            cells = np.ix_(_places(part.systems, systems), _places(part.query_ids, query_ids))
            together[cells] = highest() if callable(highest) else highest
    return together


def _distinct(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


def _distinct_notes(listed: Iterable[Sequence[Note]]) -> list[Note]:
    """Each note once: notes of several parts are as a rule the same."""
    notes = list[Note]()
    for note in (note for of_part in listed for note in of_part):
        if note not in notes:
            notes.append(note)
    return notes


def _places(items: Sequence[T], among: Sequence[T]) -> list[int]:
    place = {item: at for at, item in enumerate(among)}
    return [place[item] for item in items]


def _refuse_overlap(part: ScoreArrays, filled: Bools) -> None:
    if filled.any():
        i, j, k = np.argwhere(filled)[0].tolist()
        raise InputError(
            f"system {part.systems[i]!r}, question {part.query_ids[k]!r}: {part.measures[j]} is there twice; keep one "
            "of the two with filter(systems=...), filter(measures=...) or filter(query_ids=...)"
        )


def _clustering(parts: Sequence[ScoreArrays], query_ids: Sequence[str]) -> Clustering | None:
    """The clusters of all queries: those that are together in some part, be it through others, are together.

    Raises   InputError where some parts have clusters and others none, or others.
    """
    named = _distinct(None if part.clustering is None else part.clustering.by for part in parts)
    if len(named) > 1:
        raise InputError(f"scores of different clusters cannot be put together: {' and '.join(map(repr, named))}")
    links: dict[str, list[tuple[int, int]]] = {query_id: [] for query_id in query_ids}
    for number, part in enumerate(parts):
        if part.clustering is None:
            return None
        for query_id, code in zip(part.query_ids, part.clustering.codes.tolist(), strict=True):
            links[query_id].append((number, code))
    return Clustering(named[0] or OWN, connected(list(links.values())))


def _repeats(parts: Sequence[ScoreArrays], measures: Sequence[Measure], query_ids: Sequence[str]) -> dict[str, Floats]:
    """system -> (r, m, q) values of each of its runs.

    Raises   InputError where parts have other numbers of runs of a system
    """
    together = dict[str, Floats]()
    for part in parts:
        cells = np.ix_(_places(part.measures, measures), _places(part.query_ids, query_ids))
        for system, values in part.repeats.items():
            shape = (len(values), len(measures), len(query_ids))
            if together.setdefault(system, np.full(shape, np.nan)).shape != shape:
                raise InputError(f"{system}: has {len(values)} runs in one part of the scores, and others in another")
            together[system][:, cells[0], cells[1]] = values
    return together


def _corrections(parts: Sequence[ScoreArrays], query_ids: Sequence[str]) -> Corrections:
    """Corrections of all parts; none of a mean whose values are in several parts, as each corrects those of its own."""
    together = dict[str, dict[str, Correction]]()
    for number, part in enumerate(parts):
        places = _places(part.query_ids, query_ids) if part.corrections else ()
        for system, corrections in part.corrections.items():
            others = [other for place, other in enumerate(parts) if place != number and system in other.systems]
            elsewhere = {str(measure) for other in others for measure in other.measures}
            own = {
                name: placed(correction, places, len(query_ids))
                for name, correction in corrections.items()
                if name not in elsewhere
            }
            if own:
                together.setdefault(system, {}).update(own)
    return together


def merged_recipe(parts: Sequence[Mapping[str, Any]], *, alike: bool) -> dict[str, Any]:
    """One recipe of several; digests are computed when they are asked for.

    alike    whether all are of the same queries
    Raises   InputError where the values were made by different policies.
    """
    for key in _MUST_AGREE:
        # No key says that ids are as they were, and that all questions count.
        of = [part for part in parts if key in part or (key in ("normalise_ids", "hold_out") and "truth" in part)]
        values = _distinct(repr(part.get(key)) for part in of)
        if len(values) > 1:
            raise InputError(f"scores of different {key} cannot be put together: {' and '.join(values)}")
    recipe = {key: value for part in reversed(parts) for key, value in part.items()}
    order = _distinct(key for part in parts for key in part if alike or key != SHARED_GOLD)
    merged: dict[str, Callable[[list[Any]], Any]] = {
        "steelyard": _texts,
        "truth": _dicts_of_texts,
        "corpus": _dicts_of_texts,
        "runs": lambda values: {name: digest for value in values for name, digest in value.items()},
    }
    later = {key: _merged(merged[key], key, parts) if key in merged else recipe[key] for key in order}
    verdicts = [part["verdicts"] for part in parts if "verdicts" in part]
    return later | ({"verdicts": _dicts_of_lists(verdicts)} if verdicts else {})


def _merged(merge: Callable[[list[Any]], Any], key: str, parts: Sequence[Mapping[str, Any]]) -> Callable[[], Any]:
    return lambda: merge([part[key]() if callable(part[key]) else part[key] for part in parts if key in part])


def _texts(values: list[str]) -> str:
    return ", ".join(_distinct(values))


def _dicts_of_texts(values: list[dict[str, str]]) -> dict[str, str]:
    return {
        key: _texts([value[key] for value in values if key in value]) for key in _distinct(k for v in values for k in v)
    }


def _dicts_of_lists(values: list[dict[str, list[Any]]]) -> dict[str, list[Any]]:
    """The lists of each key together, each item once."""
    together = dict[str, list[Any]]()
    for key, items in (item for value in values for item in value.items()):
        listed = together.setdefault(key, [])
        listed += [item for item in items if item not in listed]
    return together
