"""Weigh systems: a truth, runs and measures in, Scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from steelyard._version import __version__
from steelyard.arrays import Bools
from steelyard.errors import InputError
from steelyard.io.objects import is_frame, ranx_dict
from steelyard.measures import Measure, make, parse_all
from steelyard.measures.graded import gains_of
from steelyard.run import Run, StreamedRun, is_path
from steelyard.scores import Scores
from steelyard.truth import OnDuplicate, Truth

DEFAULT_MEASURES = ("ndcg@10", "map", "mrr@10", "recall@100", "precision@10")
Policy = Literal["zero", "skip"]


def evaluate(
    truth: object,
    runs: object,
    measures: Iterable[str | Measure] | str | Measure = DEFAULT_MEASURES,
    *,
    min_gain: float | None = None,
    missing: Policy = "zero",
    no_relevant: Policy = "zero",
    on_duplicate: OnDuplicate = "error",
    seed: int = 0,
) -> Scores:
    """Weigh one or several runs against a truth.

    truth         a Truth, a path, a dict {query_id: {doc_id: gain}}, a frame, or ranx Qrels
    runs          a Run, a path, a dict {query_id: {doc_id: score}}, a frame or a ranx Run; a list of Runs and paths, or
                  a dict {name: any of these}
    measures      specs such as "ndcg@10", in our spelling or that of trec_eval, ir_measures or ranx
    min_gain      smallest gain that counts as relevant, for measures that do not say it themselves; 1 by default
    missing       a query of the truth that is absent from a run: "zero" or "skip"
    no_relevant   a query without relevant documents: "zero" or "skip"
    on_duplicate  a document twice in one query: "error", or keep the "first" or the one with "max" score or gain
    seed          of the bootstrap behind the intervals
    Raises        InputError and its children, MeasureError: with the place, what was expected and what to try.

    >>> scores = evaluate({"q": {"a": 1, "c": 2}}, {"q": {"a": 0.9, "b": 0.5, "c": 0.1}}, ["mrr", "recall@2"])
    >>> scores.mean()["mean"].to_list()
    [1.0, 0.5]
    """
    _check_choice("missing", missing, ("zero", "skip"))
    _check_choice("no_relevant", no_relevant, ("zero", "skip"))
    _check_choice("on_duplicate", on_duplicate, ("error", "first", "max"))
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed must be a whole number from 0, not {seed!r}")
    specs = parse_all(measures, **({} if min_gain is None else {"min_gain": min_gain}))
    known_truth = _truth(truth, on_duplicate)
    systems = _systems(runs)
    aligned = [run.align(known_truth, on_duplicate=on_duplicate) for run in systems.values()]
    values = np.array([[spec(a.alignment) for spec in specs] for a in aligned], dtype=float)
    absent = np.array([a.alignment.missing for a in aligned])
    irrelevant = np.array([_no_relevant(spec, known_truth) for spec in specs])
    if missing == "skip":
        values[np.broadcast_to(absent[:, None], values.shape)] = np.nan
    if no_relevant == "skip":
        values[:, irrelevant] = np.nan
    judged = {k: [make("judged", k)(a.alignment) for a in aligned] for k in {_depth(spec) for spec in specs}}
    return Scores(
        systems=list(systems),
        query_ids=known_truth.query_ids,
        measures=specs,
        values=values,
        missing=absent,
        no_relevant=irrelevant,
        judged=np.array([[judged[_depth(spec)][i] for spec in specs] for i in range(len(aligned))]),
        unjudged_queries=np.array([a.n_unjudged_queries for a in aligned]),
        seed=seed,
        recipe_parts={
            "steelyard": __version__,
            "truth": lambda: {"name": known_truth.name, "digest": known_truth.digest()},
            "runs": lambda: {name: run.digest() for name, run in systems.items()},
            "missing": missing,
            "no_relevant": no_relevant,
            "on_duplicate": on_duplicate,
            "seed": seed,
        },
    )


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")


def _depth(spec: Measure) -> float | None:
    return spec.k if spec.definition.cutoff == "k" else None


def _no_relevant(spec: Measure, truth: Truth) -> Bools:
    """(q,) queries for which the measure is undefined."""
    if not spec.definition.relevant:
        return np.zeros(len(truth), bool)
    least = spec.param("min_gain") if "min_gain" in spec.definition.parameters else None
    if isinstance(least, float):
        good = truth.gain >= least
    else:
        gain = spec.param("gain") if "gain" in spec.definition.parameters else "linear"
        good = gains_of(truth.gain, gain) > 0
    found = np.concatenate(([0], np.cumsum(good)))
    return np.asarray(found[truth.starts[1:]] == found[truth.starts[:-1]])


def _truth(data: object, on_duplicate: OnDuplicate) -> Truth:
    if isinstance(data, Truth):
        return data
    return Truth.read(data, on_duplicate=on_duplicate) if is_path(data) else Truth(data, on_duplicate=on_duplicate)


def _systems(data: object) -> dict[str, Run | StreamedRun]:
    """Runs by name; names that files share are told apart by their folders."""
    if isinstance(data, Mapping) and not _is_one_run(data):
        named = {str(name): _system(run, str(name)) for name, run in data.items()}
    elif isinstance(data, list | tuple):
        each = [_system(run, None) for run in data]
        names = _distinct([run.name for run in each], data)
        named = dict(zip(names, each, strict=True))
    else:
        run = _system(data, None)
        named = {run.name: run}
    if not named:
        raise InputError("no run is given; pass one or several")
    return named


def _is_one_run(data: Mapping[Any, Any]) -> bool:
    """Whether a dict is {query_id: ranking} rather than {name: run}: its values hold ids or numbers, not runs."""
    first = next((value for value in data.values() if not isinstance(value, Mapping) or value), None)
    if isinstance(first, list | tuple):
        return True
    if isinstance(first, Run | StreamedRun) or is_path(first) or is_frame(first) or ranx_dict(first) is not None:
        return False
    if isinstance(first, Mapping):
        return not isinstance(next(iter(first.values()), None), Mapping | list)
    return True


def _system(data: object, name: str | None) -> Run | StreamedRun:
    if isinstance(data, Run | StreamedRun):
        return data
    if is_path(data):
        return StreamedRun(data, name=name)
    return Run(data, name=name or "run")


def _distinct(names: list[str], runs: list[Any] | tuple[Any, ...]) -> list[str]:
    if len(set(names)) == len(names):
        return names
    longer = [
        f"{Path(run).resolve().parent.name}/{name}" if is_path(run) and names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
    if len(set(longer)) == len(longer):
        return longer
    twice = next(name for name in longer if longer.count(name) > 1)
    raise InputError(f"two runs are called {twice!r}; name each file once, or rename one (in Python: {{name: run}})")
