"""Cautions of a comparison: labels that are missing, and the order of tied documents, could move the means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from steelyard.comparison.sensitivity import Sensitivity, count_overlapping, highest_overlapping, moved_by_ties
from steelyard.measures import Measure, make
from steelyard.report.sheets.sheet import ends, number, percent
from steelyard.report.words import Words


def label_notes(bounds: Sensitivity, j: int, words: Words) -> list[str]:
    """Warnings where a system has no labelled document, and where labels could change the order of systems."""
    if not bounds.labelled:
        return []
    shares = zip(bounds.systems, bounds.judged[:, j].tolist(), strict=True)
    notes = [words("scores.nothing.judged", system=system) for system, share in shares if share == 0]
    return notes + _order_notes(bounds, j, words)


def _order_notes(bounds: Sensitivity, j: int, words: Words) -> list[str]:
    highest = highest_overlapping(bounds, j)
    if highest is None:
        return []
    better, worse = highest
    n_pairs = count_overlapping(bounds, j)
    place = {system: i for i, system in enumerate(bounds.systems)}
    low, high = (column[:, j].tolist() for column in (bounds.low, bounds.high))
    named = {"one": better, "one_bounds": ends(low[place[better]], high[place[better]]),
             "other": worse, "other_bounds": ends(low[place[worse]], high[place[worse]])}  # fmt: skip
    judged = _judged(bounds, j, words)
    if n_pairs == 1:
        return [words("compare.bounds.one_pair", judged=judged, **named)]
    s = len(bounds.systems)
    return [words("compare.bounds.pairs", judged=judged, pairs=n_pairs, all=s * (s - 1) // 2, **named)]


def _judged(bounds: Sensitivity, j: int, words: Words) -> str:
    spec, shares = bounds.measures[j], bounds.judged[:, j]
    name = str(make("judged", spec.depth))
    low, high = percent(float(np.nanmin(shares))), percent(float(np.nanmax(shares)))
    if low == high:
        return words("compare.bounds.judged", name=name, share=low)
    return words("compare.bounds.judged_range", name=name, low=low, high=high)


def tie_notes(bounds: Sensitivity, j: int, words: Words) -> list[str]:
    """A warning where the order of tied documents moves a mean: the system that it moves most, and how many more."""
    spec, moved = bounds.measures[j], moved_by_ties(bounds, j)
    takes_ties = "ties" in spec.definition.parameters
    if not moved or (takes_ties and spec.param("ties") == "average"):
        return []
    place = {system: i for i, system in enumerate(bounds.systems)}
    rows = [place[system] for system in moved]
    i = max(rows, key=lambda row: float(bounds.tie_high[row, j] - bounds.tie_low[row, j]))
    low, high = float(bounds.tie_low[i, j]), float(bounds.tie_high[i, j])
    note = words(
        f"compare.bounds.{'ties_average' if takes_ties else 'ties'}", measure=spec, system=bounds.systems[i],
        moved=number(high - low, 3), ends=ends(low, high), mass=percent(float(bounds.tie_mass[i, j])),
        **({"spec": _averaged(spec)} if takes_ties else {}),
    )  # fmt: skip
    if len(moved) == 1:
        return [note]
    return [note + (" " if words.code == "en" else "") + words("compare.bounds.ties_more", n=len(moved) - 1)]


def _averaged(spec: Measure) -> Measure:
    """The measure with the expected value under ties: ndcg@10 is ndcg(ties=average)@10."""
    averaged = make(spec.name, spec.k, {**dict(spec.params), "ties": "average"})
    return replace(averaged, share=spec.share)
