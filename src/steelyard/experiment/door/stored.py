"""Scores at a path: a JSON of scores, or those of a bench, are read; a run folder is weighed by its configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from steelyard.base import defaults
from steelyard.base.choices import Unit
from steelyard.base.errors import InputError
from steelyard.base.shapes import Each, Table, check_shape
from steelyard.data.folders.manifests import CONFIG, find_bench_folder
from steelyard.data.folders.run_folder import RunFolder, find_run_folder
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.verdict_choice import VerdictChoice
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
    truth: str | Path | None = None,
    cluster: str | None = None,
    unit: Unit | None = None,
    verdicts: object = None,
    judge: str | None = None,
    labels: object = None,
) -> StoredScores:
    """The Scores of a JSON file or of the folder of a bench, or those of a run folder, which is weighed now.

    measures   of a run folder; by default those that its configuration names, else those of `evaluate`
    cluster    of a run folder, as of `evaluate`; by default that of its configuration
    unit       of a run folder, as of `evaluate`; by default that of its configuration
    truth      of a run folder; needed unless its questions are in the folder itself
    verdicts, judge, labels   of a run folder, as of `evaluate`
    Raises     InputError where a run folder's questions are not named, and as `read_scores` and `evaluate` do
    """
    folder = find_run_folder(path)
    if folder is not None:
        return _weighed(folder, measures, truth, cluster, unit, VerdictChoice(verdicts, judge), labels)
    bench = find_bench_folder(path)
    if bench is None and os.path.isdir(path):
        raise InputError(
            f"{path}: is a folder but neither of a run nor of a bench; give the JSON of scores, or such a folder"
        )
    if verdicts is not None or judge is not None:
        raise InputError(f"{path}: holds scores already, and verdicts are for a run folder; leave them out")
    if labels is not None:
        raise InputError(
            f"{path}: holds scores already, and labels are for a run folder; weigh with them (steelyard evaluate "
            "--labels)"
        )
    if bench is None:
        return StoredScores(read_scores(path))
    return StoredScores(
        read_scores(bench.scores), base=bench.manifest.get("base"), recommended=bench.manifest.get("recommended"),
        origin="bench" if bench.kind == "rerank" else "load",
    )  # fmt: skip


_WEIGH = Table(
    optional={
        "rule": str,
        "fold": Each(list, str),
        "cluster": str,
        "measures": Each(list, str),
        "min_gain": (int, float),
    }
)
"""What `weigh` of config.json may hold, which others may have edited."""


def _weighed(
    folder: RunFolder, measures: Sequence[str | Measure], truth: str | Path | None, cluster: str | None,
    unit: Unit | None, choice: VerdictChoice, labels: object,
) -> StoredScores:  # fmt: skip
    settings = folder.config.get("weigh") or {}
    try:
        check_shape(
            {k: v for k, v in settings.items() if v is not None} if isinstance(settings, dict) else settings, _WEIGH
        )
    except ValueError as error:
        raise InputError(f"{folder.path / CONFIG}: in `weigh`, {error}") from None
    questions = truth or folder.questions
    weighing = weigh(
        questions, [folder.path], rule=settings.get("rule") or defaults.RULE, steps=settings.get("fold"),
        unit=unit or folder.config.get("unit"), cluster=cluster or settings.get("cluster"),
        verdicts=choice.verdicts, judge=choice.judge, labels=labels,
    )  # fmt: skip
    specs = weighing.measures_or(measures or settings.get("measures") or (), defaults.MEASURES)
    scores = weighing.scores(specs, min_gain=settings.get("min_gain"))
    return StoredScores(scores, weighing.latency_ms, origin="run")
