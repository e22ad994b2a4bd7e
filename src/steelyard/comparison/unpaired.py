"""Scores of different questions side by side: what a comparison without pairs is of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.base import defaults
from steelyard.base.errors import InputError
from steelyard.data.folders.manifests import find_bench_folder
from steelyard.data.folders.run_folder import find_run_folder
from steelyard.experiment.door.evaluation import open_scores, weighed_or_scores
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.scores import Scores
from steelyard.io.named import named_paths
from steelyard.io.source import Source
from steelyard.measures import Measure
from steelyard.measures.spec import measure_or_column
from steelyard.store.opening import is_reference, scores_at

_SCORES = re.compile(rb'\s*\{\s*"format"\s*:\s*\d+\s*,\s*"signature"')
"""The beginning of a file of scores."""


def refuse_scores(truth: object) -> None:
    """Raise   InputError for scores in the place of a truth, of which only a comparison without pairs makes sense."""
    if isinstance(truth, str | Path) and _holds_scores(truth):
        raise InputError(
            f"{truth}: holds scores, and pairs are of a truth and runs; scores of different questions are compared "
            "without pairs (--unpaired, unpaired=True)"
        )


def unpaired_scores(
    first: object, others: object, measures: Iterable[str | Measure] | str | Measure, options: Mapping[str, Any],
    *, mixed_judges: bool = False,
) -> Scores:  # fmt: skip
    """The scores of systems over questions of their own, as one.

    first      Scores, or a path of such (JSON, a run folder, a bench), an entry of a store (store:tag=may), or {name:
               such}: of the first period.  Else a truth, of which each run has some of the questions
    others     of the other periods likewise, one or several; the runs of a truth
    measures   all that the scores have by default
    options    of evaluating that are given; questions that a run of a truth lacks are then left out by default
    Raises     InputError for scores without a common measure, of different policies or judges, and as `evaluate` does
    """
    named = _named([first, *_listed(others)])
    specs = [measures] if isinstance(measures, str | Measure) else [*measures]
    if others is None and isinstance(first, Scores):
        return first.filter(measures=specs) if specs else first
    if not all(_holds_scores(value) for _, value in named):
        return _of_truth(first, others, specs, options)
    parts = _distinct([(name, _scores(value, specs, options)) for name, value in named])
    common = [str(measure) for measure in parts[0].measures if all(measure in part.measures for part in parts)]
    wanted = [str(measure_or_column(measure)) for measure in specs] or common
    if not wanted:
        raise InputError(
            f"no measure is in all of these scores; the first have {', '.join(map(str, parts[0].measures))}, others "
            f"{', '.join(map(str, parts[1].measures))}"
        )
    return Scores.concat([part.filter(measures=wanted) for part in parts], mixed_judges=mixed_judges)


def common_questions(scores: Scores, reference: str) -> dict[str, int]:
    """System -> questions that both it and the reference have a value of the first measure for; without that itself."""
    there = ~np.isnan(scores.values[:, 0])
    place = scores.systems.index(reference)
    shared = (there & there[place]).sum(axis=1).tolist()
    return {system: n for system, n in zip(scores.systems, shared, strict=True) if system != reference}


def _of_truth(truth: object, runs: object, measures: Sequence[str | Measure], options: Mapping[str, Any]) -> Scores:
    evaluated = weighed_or_scores("compare", truth, runs, {"missing": "skip", **options})
    assert isinstance(evaluated, Weighing)
    return evaluated.scores(evaluated.measures_or(measures, defaults.COMPARED_MEASURES)).of_weighing(evaluated)


def _listed(others: object) -> Sequence[object]:
    if others is None:
        return []
    return list(others) if isinstance(others, list | tuple) else [others]


def _named(values: Sequence[object]) -> list[tuple[str | None, object]]:
    """Each with its name, where it has one: {name: scores} or NAME=FILE."""
    named = list[tuple[str | None, object]]()
    for value in values:
        if isinstance(value, Mapping) and value and all(map(_holds_scores, value.values())):
            named += [(str(name), of) for name, of in value.items()]
        elif isinstance(value, str) and not os.path.exists(value):
            name, paths = named_paths(value)
            named.append((name, paths[0] if len(paths) == 1 else value))
        else:
            named.append((None, value))
    return named


def _holds_scores(value: object) -> bool:
    """True for scores, and for the path of some or of what they are made of without another file."""
    if isinstance(value, Scores) or is_reference(value):
        return True
    if not isinstance(value, str | Path):
        return False
    if os.path.isdir(value):
        return find_run_folder(value) is not None or find_bench_folder(value) is not None
    return os.path.isfile(value) and _SCORES.match(Source(value).head) is not None


def _scores(value: object, measures: Sequence[str | Measure], options: Mapping[str, Any]) -> Scores:
    if isinstance(value, Scores):
        return value
    if is_reference(value):
        return scores_at(str(value))
    assert isinstance(value, str | Path)
    is_folder = find_run_folder(value) is not None
    return open_scores(value, measures=measures, options=options if is_folder else {}).scores


def _distinct(named: Sequence[tuple[str | None, Scores]]) -> list[Scores]:
    """The scores with systems of names of their own: those of a period that is named are called after it.

    Raises   InputError for two of one name
    """
    parts, owners = list[Scores](), dict[str, int]()
    for number, (name, scores) in enumerate(named, 1):
        alone = name is not None and len(scores.systems) == 1
        names = {own: own if name is None else name if alone else f"{name}/{own}" for own in scores.systems}
        for own in names.values():
            if own in owners:
                raise InputError(
                    f"scores {owners[own]} and {number} both have a system called {own!r}; name the periods: MAY=FILE "
                    "JUNE=FILE ({'may': scores, 'june': scores})"
                )
            owners[own] = number
        parts.append(scores.renamed(names))
    return parts
