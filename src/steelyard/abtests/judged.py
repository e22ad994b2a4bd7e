"""Judged answers as metrics of an experiment: drawn from every arm, judged, and corrected by labels of people."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from steelyard.abtests.config import JUDGED, ExperimentConfig
from steelyard.abtests.experiment import Check
from steelyard.abtests.exposing import ON
from steelyard.abtests.exposures import Exposures, JudgedAnswers
from steelyard.monitoring.streams.desk import Desk
from steelyard.monitoring.streams.drawing import Answer, answered, drawn, read_labels
from steelyard.rag.config import existing_path
from steelyard.stats.arms.judged import LEAST_LABELS
from steelyard.traffic.logs import Logs
from steelyard.traffic.series import Series


def judged_metrics(logs: Logs, config: ExperimentConfig, exposures: Exposures) -> Iterator[tuple[str, JudgedAnswers]]:
    """Name and table of each metric that begins with "judged:".

    From every arm as many answers are drawn, by a hash of their requests, of its units since the exposure; those of
    all arms are judged in one go, so that arms are judged alike.

    Raises   InputError for settings of the judge and labels that do not fit; StageError where the judge fails
    """
    table = config.judged
    if table is None:
        return
    desk, answers = Desk.of(table, config.base), list(_answers(logs, config, exposures))
    place = {name: row for row, name in enumerate(exposures.units["unit"].to_list())}
    unit = np.array([place[answer.user] for answer in answers], np.int64)
    values = desk.values(answers)
    labels = (
        {} if table.labels is None else read_labels(existing_path("labels", table.labels, config.base), table.names)
    )
    for spec, own in zip(table.specs, values, strict=True):
        people = [labels.get(str(spec), {}).get(answer.request, np.nan) for answer in answers]
        series = Series(f"{JUDGED}{spec}", "sample", better=spec.definition.direction)
        yield series.name, JudgedAnswers(series, unit, own, np.array(people, np.float64), spec.definition.range)


def _answers(logs: Logs, config: ExperimentConfig, exposures: Exposures) -> Iterator[Answer]:
    """Answers that were drawn, arm by arm and in turn, so that a budget that ends early leaves the arms alike."""
    assert config.judged is not None
    time = pl.col("time")
    trigger = [] if config.trigger is None else [config.trigger]
    rows = answered(logs, ["time", config.unit, *trigger]).filter(
        time >= exposures.start, time < exposures.end, pl.col("answer").is_not_null(), pl.col("query").is_not_null(),
        *(pl.col(name).cast(pl.String).str.to_lowercase().is_in(ON) for name in trigger),
    )  # fmt: skip
    units = exposures.units.lazy().select("unit", exposed="time", place="arm")
    frame = (
        rows.with_columns(unit=pl.col(config.unit).cast(pl.String))
        .join(units, on="unit")
        .filter(time >= pl.col("exposed"))
        .collect()
    )
    samples = [
        drawn(frame.filter(place=place), exposures.start, exposures.end, n=config.judged.n, monitor=config.name).answers
        for place in range(len(exposures.arms))
    ]
    for turn in range(max(map(len, samples), default=0)):
        yield from (sample[turn] for sample in samples if turn < len(sample))


def judge_checks(exposures: Exposures) -> list[Check]:
    """Whether the judge is checked by people: a check for the metric with the fewest labels; none without a judge."""
    tables = [own for own in exposures.metrics.values() if isinstance(own, JudgedAnswers)]
    if not tables:
        return []
    table = min(tables, key=lambda own: int((~np.isnan(own.people)).sum()))
    is_labelled = ~np.isnan(table.people) & ~np.isnan(table.judged)
    of_arms = np.bincount(exposures.arm[table.unit[is_labelled]], minlength=len(exposures.arms))
    values = {
        "n": int((~np.isnan(table.judged)).sum()), "n_drawn": len(table.judged), "n_labels": int(of_arms.sum()),
        "least": LEAST_LABELS,
    }  # fmt: skip
    return [Check("judge", "well" if of_arms.min() >= LEAST_LABELS else "careful", values=values)]
