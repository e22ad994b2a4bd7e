"""Scores at a path: a JSON of scores, or those of a bench, are read; a run folder is weighed by its configuration."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from steelyard.base import defaults
from steelyard.base.errors import InputError
from steelyard.base.shapes import Each, Table, check_shape
from steelyard.data.folders.manifests import CONFIG, find_bench_folder
from steelyard.data.folders.run_folder import RunFolder, find_run_folder
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.table.json import read_scores
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure

Origin = Literal["scores", "run", "bench", "load"]
"""What scores were read from: their own file, a run folder that is weighed now, a bench of rerankers, a load test."""


@dataclass(frozen=True, eq=False)
class StoredScores:
    """Scores at a path.

    latency_ms   system -> run -> milliseconds of each question, of a run folder; scores have a column, if at all
    base         of a bench, the system that all others are held against: the candidates as they are; else None
    recommended  of a bench, the system that is to be taken, by its choice; else None
    origin       what the path is of
    """

    scores: Scores
    latency_ms: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    base: str | None = None
    recommended: str | None = None
    origin: Origin = "scores"


def open_scores(
    path: str | Path,
    *,
    measures: Sequence[str | Measure] = (),
    truth: object = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> StoredScores:
    """The Scores of a JSON file or of the folder of a bench, or those of a run folder, which is weighed now.

    measures   of a run folder; by default those that its configuration names, else those of `evaluate`
    truth      of a run folder; needed unless its questions are in the folder itself
    options    of weighing that are given; by default, of a run folder those of its configuration count
    Raises     InputError where a run folder's questions are not named, and as `read_scores` and `evaluate` do
    """
    folder = find_run_folder(path)
    if folder is not None:
        return _weighed(folder, measures, truth, options)
    bench = find_bench_folder(path)
    if bench is None and os.path.isdir(path):
        raise InputError(
            f"{path}: is a folder but neither of a run nor of a bench; give the JSON of scores, or such a folder"
        )
    refuse_options(f"{path}: holds scores already", options)
    if bench is None:
        return StoredScores(read_scores(path))
    return StoredScores(
        read_scores(bench.scores),
        base=bench.manifest.get("base"),
        recommended=bench.manifest.get("recommended"),
        origin="bench" if bench.kind == "rerank" else "load",
    )


_WEIGH = Table(
    optional={
        "rule": str,
        "steps": Each(list, str),
        "cluster": str,
        "measures": Each(list, str),
        "min_gain": (int, float),
    }
)
"""What `weigh` of config.json may hold, which others may have edited."""


def refuse_options(what: str, options: Iterable[str]) -> None:
    """Raise   InputError for options of weighing where there are scores; clusters and units of these are checked."""
    for name in options:
        if name not in ("cluster", "unit", "progress"):
            raise InputError(
                f"{what}, and {name} is an option of weighing; weigh with it (steelyard evaluate "
                f"--{name.replace('_', '-')}, sy.evaluate), or leave it out"
            )


def _weighed(
    folder: RunFolder, measures: Sequence[str | Measure], truth: object, options: Mapping[str, Any]
) -> StoredScores:
    settings = folder.config.get("weigh") or {}
    try:
        check_shape(
            {k: v for k, v in settings.items() if v is not None} if isinstance(settings, dict) else settings, _WEIGH
        )
    except ValueError as error:
        raise InputError(f"{folder.path / CONFIG}: in `weigh`, {error}") from None
    named = {name: settings.get(name) for name in ("rule", "steps", "cluster", "min_gain")}
    named |= {"unit": folder.config.get("unit")}
    configured = {name: value for name, value in named.items() if value}
    weighing = weigh(folder.questions if truth is None else truth, [folder.path], **{**configured, **options})
    specs = weighing.measures_or(measures or settings.get("measures") or (), defaults.MEASURES)
    return StoredScores(weighing.scores(specs), weighing.latency_ms, origin="run")
