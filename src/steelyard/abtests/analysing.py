"""The analysis of an A/B test: its declaration, its data and their checks, effects, and the decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from steelyard.abtests.checks import check_data
from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.decision import decisions
from steelyard.abtests.effects import measured
from steelyard.abtests.experiment import Check, CheckState, Effect, Experiment
from steelyard.abtests.exposing import experiment_columns, exposures, logged
from steelyard.abtests.judged import judge_checks, judged_metrics
from steelyard.abtests.novelty import novelty_checks
from steelyard.abtests.registration import Registration, registration, settings_text
from steelyard.traffic.logs import Logs
from steelyard.traffic.reading import read_logs
from steelyard.traffic.schema import IMPRESSIONS

_DECISIVE = ("analysis", "alpha")
"""Settings that may not be changed once data were seen: no level holds after that."""
_SKEWED = 0.15
"""Skewness of a difference from which on a test says 1.5 times as often on one side what is not so."""
_ORDER = {"blocks": 0, "careful": 1, "few": 2, "well": 3}


def analyse_experiment(
    experiment: ExperimentConfig | str | Path, logs: Logs | str | Path | Sequence[str | Path], *,
    now: datetime | None = None,
) -> Experiment:  # fmt: skip
    """Analyse an A/B test by its declaration: checks of the data first, then effects, then what to do.

    experiment   its declaration, or the path of experiment.toml
    logs         of the service, or files and folders as of `read_logs`, with the columns that the declaration names
    now          as of `read_logs`
    Raises       InputError for a declaration or logs that cannot be read, metrics and columns that there are not
    """
    config = experiment if isinstance(experiment, ExperimentConfig) else ExperimentConfig.read(experiment)
    if not isinstance(logs, Logs):
        further = further_columns(config)
        logs = read_logs(logs, segments=further, measures=logged(config), timezone=config.timezone, now=now)
    exposed = exposures(logs, config)
    exposed = replace(exposed, metrics={**exposed.metrics, **dict(judged_metrics(logs, config, exposed))})
    results = measured(exposed, config)
    registered = registration(config)
    checks = [declaration_check(registered, config), *check_data(logs, config, exposed), *judge_checks(exposed),
              *novelty_checks(exposed, config), *skewness_checks(results.effects)]  # fmt: skip
    # A declaration that was changed comes first; that one was not registered, behind what is wrong with the data.
    checks.sort(key=lambda check: (_ORDER[check.state], check.code == "declaration" and not check.rows))
    arm = exposed.arm
    return Experiment(
        name=config.name, analysis=config.analysis, alpha=config.alpha, power=config.power, start=exposed.start,
        end=exposed.end, n_days=exposed.n_days, horizon=config.days, arms=dict(config.arms),
        units=[int((arm == place).sum()) for place in range(len(config.arms))],
        decisions=decisions(exposed, config, checks, results.effects, results.running), effects=results.effects,
        checks=checks, fingerprint=registered.fingerprint, segments=results.segments, daily=results.daily,
        running=results.running, changed=registered.changed, registered=registered.registered,
        excluded=exposed.excluded, troubles=logs.troubles, timezone=config.timezone, n_requests=exposed.n_requests,
        unit=config.unit, declaration=settings_text(config),
    )  # fmt: skip


def further_columns(config: ExperimentConfig) -> list[str]:
    """Columns of impressions beyond the schema that a declaration names, to be read from files."""
    return [name for name in experiment_columns(config) if name not in IMPRESSIONS]


def declaration_check(registered: Registration, config: ExperimentConfig) -> Check:
    """Whether the declaration is the one that was registered before the start."""
    values = {
        "fingerprint": registered.fingerprint[:12], "registered": registered.registered,
        "is_late": registered.is_late, "changed": sorted(registered.changed), "start": config.begins,
    }  # fmt: skip
    rows = [{"setting": name, "then": then, "now": now} for name, (then, now) in registered.changed.items()]
    is_other_test = any(name in _DECISIVE for name in registered.changed)
    is_well = registered.registered is not None and not registered.is_late and not rows
    state: CheckState = "blocks" if is_other_test else "well" if is_well else "careful"
    return Check("declaration", state, values=values, rows=rows)


def skewness_checks(effects: Sequence[Effect]) -> list[Check]:
    """Whether few units with large values decide on a metric, for which Student's t is not made; none without any.

    Source   the second term of the expansion of a studentised mean, Hall, The Bootstrap and Edgeworth Expansion, 1992:
             a tail of 2.5% is off by 8.5% times the skewness, which is 0 for arms of the same size
    """
    own = [effect for effect in effects if effect.role != "secondary" and "skewness" in effect.details]
    if not own:
        return []
    skewed = dict.fromkeys(effect.metric for effect in own if abs(effect.details["skewness"]) > _SKEWED)
    return [Check("skewness", "careful" if skewed else "well", values={"metrics": list(skewed)})]
