"""Luck of the best of a comparison, where more configurations were tried on its questions than it shows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from steelyard.base.options import TestOptions
from steelyard.comparison.samples import Sample
from steelyard.experiment.table.scores import Scores
from steelyard.stats.luck import Luck, luck, scatter

if TYPE_CHECKING:
    from steelyard.store.store import Store


def tried(scores: Scores, options: TestOptions) -> int | None:
    """Configurations that were tried on the questions: as the options say, else as their store counts them."""
    if options.n_tried is not None or options.store is None:
        return options.n_tried
    from steelyard.store.tried import n_tried

    return n_tried(cast("Store | str | Path", options.store), scores)


def luck_of(sample: Sample, n_tried: int | None, *, seed: int) -> Luck | None:
    """Leads of the best system, and those that luck gives; None where no number is known, and nothing scatters."""
    if n_tried is None or sample.runs or len(sample.values) < 2 or not np.isfinite(sample.values).all():
        return None
    error = scatter(sample.values, clusters=sample.clusters)
    if error is None:
        return None
    return luck(sample.sign * sample.values.mean(axis=1), error, max(n_tried, len(sample.values)), seed=seed)
