"""`steelyard gate`."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.cli.terminal import terminal_width
from steelyard.data.run_folder import CONFIG, is_run_folder, read_run_folder
from steelyard.experiment import defaults
from steelyard.experiment.evaluation import evaluate
from steelyard.experiment.scores import Scores
from steelyard.experiment.scores_json import read_scores
from steelyard.gates.gating import gate
from steelyard.gates.profiles import Profile
from steelyard.io.json_files import json_lines
from steelyard.io.source import Source
from steelyard.io.write import refuse_overwriting, write_text
from steelyard.measures import Measure
from steelyard.report.formats.gating import gate_markdown, gate_text
from steelyard.report.formats.junit import junit as as_junit
from steelyard.report.words import read_words


def run(
    scores: str, *, profile: str | None, level: str | None, baseline: str | None, margin: float | None,
    system: str | None, min_questions: int, max_failed: float | None, max_unjudged: float | None,
    max_missing: float | None, max_unmapped: float | None, values: list[str], junit: Path | None,
    summary: Path | None, truth: str | None, lang: str | None, alpha: float,
) -> None:  # fmt: skip
    """Judge scores, write the result, and exit with 0 (pass), 1 (fail) or 3 (too few data)."""
    words = read_words(lang)
    inputs = [path for path in (scores, baseline, truth) if path is not None]
    for output in (junit, summary):
        if output is not None:
            refuse_overwriting(output, inputs)
    chosen = None if profile is None else Profile.read(profile)
    weighed = scores_at(scores, measures=chosen.measures if chosen else (), truth=truth)
    found = gate(
        weighed, chosen, level=level, baseline=baseline_of(baseline, weighed, truth=truth), margin=margin,
        system=system, min_questions=min_questions, max_failed=max_failed, max_missing=max_missing,
        max_unjudged=max_unjudged, max_unmapped=max_unmapped, known=numbers(values), latency_ms=latencies_at(scores),
        alpha=alpha,
    )  # fmt: skip
    if junit is not None:
        write_text(junit, as_junit(found, words))
    if summary is not None:
        write_text(summary, gate_markdown(found, words))
    write_text("-", gate_text(found, words, width=terminal_width(), colour=sys.stdout.isatty()))
    sys.exit(found.exit_code)


def scores_at(
    path: str | Path, *, measures: Sequence[str | Measure] = (), truth: str | None = None
) -> Scores:  # fmt: skip
    """The Scores of a JSON file, or those of a run folder, which is weighed now.

    measures   of a run folder; by default those that its configuration names, else those of `evaluate`
    truth      of a run folder; by default the questions that its configuration names
    Raises     InputError where a run folder's questions are gone, and as `read_scores` and `evaluate` do
    """
    if not is_run_folder(path):
        if os.path.isdir(path):
            raise InputError(f"{path}: is a folder but not of a run; give the JSON of scores, or a run folder")
        return read_scores(path)
    folder = read_run_folder(path)
    config = _config(folder.path)
    weigh = config.get("weigh") or {}
    asked = truth or config.get("questions")
    if not isinstance(asked, str):
        raise InputError(f"{path}: does not tell its questions; name them with --truth FILE (truth=...)")
    if truth is None and not os.path.exists(asked):
        raise InputError(f"{path}: its questions, {asked}, are gone; name them with --truth FILE (truth=...)")
    return evaluate(
        asked, [folder.path], measures or weigh.get("measures") or defaults.MEASURES, rule=weigh.get("rule") or "any",
        min_gain=weigh.get("min_gain"), steps=weigh.get("fold"),
    )  # fmt: skip


def _config(folder: Path) -> dict[str, Any]:
    """What config.json holds; nothing where there is none."""
    try:
        found = json.loads((folder / CONFIG).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{folder / CONFIG}: cannot be read ({error}); run it again with --overwrite") from None
    return found if isinstance(found, dict) else {}


def baseline_of(named: str | None, scores: Scores, *, truth: str | None = None) -> Scores | str | None:
    """What a baseline's name stands for: a system of the scores, else a JSON of scores or a run folder.

    A path that is called as a system is: write it as ./NAME.
    """
    if named is None or named in scores.systems:
        return named
    if not os.path.exists(named):
        raise InputError(f"{named}: is neither a system of the scores ({nearest(named, scores.systems)}) nor a file")
    return scores_at(named, measures=scores.measures, truth=truth)


def latencies_at(path: str | Path) -> dict[str, list[float]]:
    """system -> milliseconds of each question that a run folder tells of; nothing for a JSON of scores."""
    if not is_run_folder(path):
        return {}
    folder = read_run_folder(path)
    told = (line.get("latency_ms") for _, line in json_lines(Source(folder.outputs)))
    totals = (one.get("total") for one in told if isinstance(one, dict))
    return {folder.name: [float(total) for total in totals if isinstance(total, int | float) and math.isfinite(total)]}


def numbers(values: Iterable[str]) -> dict[str, float]:
    """NAME=NUMBER by name.

    >>> numbers(["cost_usd_per_million_tokens=0.04"])
    {'cost_usd_per_million_tokens': 0.04}
    """
    made: dict[str, float] = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            found = float(number)
        except ValueError:
            raise InputError(f"--value {value}: expected NAME=NUMBER, such as latency_ms_p95=320") from None
        if name in made:
            raise InputError(f"--value {value}: {name} is given twice")
        made[name] = found
    return made
