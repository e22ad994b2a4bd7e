"""The decision on each arm, by rules that are stated before the data are seen.

blocked        a check of the data says that nothing can be concluded
inconclusive   the horizon, or the fewest days or units, are not reached
do not ship    a primary metric is shown to be worse, or a guardrail to be worse by its margin or more
ship           a primary metric is shown to be better, and every guardrail not to be worse by its margin
inconclusive   a primary metric is better, and a guardrail could still be worse by its margin
do not ship    every primary metric is shown not to gain the difference that matters
inconclusive   else: with what could be seen by now, and the days still needed
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.experiment import Check, Decision, Effect, Outcome
from steelyard.abtests.exposures import Exposures
from steelyard.base.notes import Note

LEAST_UNITS = 10
"""Units of each arm, below which nothing is decided."""
_LONGEST = 20
"""Times the days so far, beyond which a forecast is none."""


def decisions(
    exposures: Exposures, config: ExperimentConfig, checks: Sequence[Check], effects: Sequence[Effect],
    running: Sequence[Effect],
) -> list[Decision]:  # fmt: skip
    """What to do with each arm but the baseline.

    effects, running   as of `Experiment`
    """
    return [
        _decision(
            arm, exposures, config, checks, [effect for effect in effects if effect.arm == arm],
            [effect for effect in running if effect.arm == arm],
        )
        for arm in config.treatments
    ]  # fmt: skip


def _decision(
    arm: str, exposures: Exposures, config: ExperimentConfig, checks: Sequence[Check], effects: Sequence[Effect],
    running: Sequence[Effect],
) -> Decision:  # fmt: skip
    primary = [effect for effect in effects if effect.role == "primary"]
    detectable = primary[0].detectable if primary else math.nan
    rules: list[tuple[Outcome, list[Note]]] = [
        ("blocked", _blocking(checks)),
        ("inconclusive", _early(exposures, config, primary)),
        ("do_not_ship", _harm(effects)),
        *_gain(effects, primary),
        ("do_not_ship", _futile(primary, config)),
    ]
    for outcome, reasons in rules:
        if reasons:
            days = _days_left(exposures, config) if outcome == "inconclusive" and not _gained(primary) else None
            return Decision(arm, outcome, reasons, days, detectable)
    days = days_needed(primary[0], running, config, exposures.n_days)
    unclear = [
        Note("not_shown", {"metric": effect.metric, "detectable": effect.detectable, "difference": effect.difference})
        if effect.verdict != "none"
        else Note("no_test", {"metric": effect.metric, "why": effect.details.get("reason", "")})
        for effect in primary
    ]
    return Decision(arm, "inconclusive", unclear, days, detectable)


def _blocking(checks: Sequence[Check]) -> list[Note]:
    return [Note("check_blocks", {"check": check.code}) for check in checks if check.state == "blocks"]


def _early(exposures: Exposures, config: ExperimentConfig, primary: Sequence[Effect]) -> list[Note]:
    """What is not reached yet."""
    n_days, notes = exposures.n_days, list[Note]()
    if config.analysis == "fixed" and n_days < config.days:
        notes.append(Note("horizon_not_reached", {"days": n_days, "horizon": config.days}))
    elif n_days < config.least_days:
        notes.append(Note("few_days", {"days": n_days, "least": config.least_days}))
    n = min((min(effect.n, effect.n_baseline) for effect in primary), default=0)
    if n < LEAST_UNITS:
        notes.append(Note("few_units", {"n": n, "least": LEAST_UNITS}))
    return notes


def _shift(code: str, effect: Effect) -> Note:
    names = ("metric", "difference", "low", "high", "relative", "relative_low", "relative_high", "margin")
    return Note(code, {name: getattr(effect, name) for name in names})


def _harm(effects: Sequence[Effect]) -> list[Note]:
    worse = [_shift("primary_worse", e) for e in effects if e.role == "primary" and e.verdict == "worse"]
    broken = [_shift("guardrail_broken", e) for e in effects if e.role == "guardrail" and e.verdict == "broken"]
    return [*worse, *broken]


def _gained(primary: Sequence[Effect]) -> bool:
    return any(effect.verdict == "better" for effect in primary)


def _gain(effects: Sequence[Effect], primary: Sequence[Effect]) -> list[tuple[Outcome, list[Note]]]:
    """The outcome where a primary metric is better."""
    if not _gained(primary):
        return []
    better = [_shift("primary_better", effect) for effect in primary if effect.verdict == "better"]
    guardrails = [effect for effect in effects if effect.role == "guardrail"]
    unclear = [_shift("guardrail_unclear", effect) for effect in guardrails if effect.verdict != "not_worse"]
    if unclear:
        return [("inconclusive", [*unclear, *better])]
    well = [Note("guardrail_well", {"metrics": [effect.metric for effect in guardrails]})] if guardrails else []
    return [("ship", [*better, *well])]


def _futile(primary: Sequence[Effect], config: ExperimentConfig) -> list[Note]:
    """That no primary metric can gain what matters; nothing where one still may.

    A share of the baseline is compared with the interval of the relative difference: the baseline has its own chance.
    """
    notes = list[Note]()
    for effect in primary:
        is_relative = config.difference.is_relative
        low, high = (effect.relative_low, effect.relative_high) if is_relative else (effect.low, effect.high)
        gain = high if effect.better == "higher" else -low
        if math.isnan(gain) or gain >= config.difference.value:
            return []
        matters, size = config.difference.absolute(effect.baseline), abs(effect.baseline) if is_relative else 1.0
        notes.append(Note("gain_ruled_out", {"metric": effect.metric, "high": gain * size, "difference": matters}))
    return notes


def _days_left(exposures: Exposures, config: ExperimentConfig) -> int | None:
    """Days to the horizon, or to the fewest days."""
    least = config.days if config.analysis == "fixed" else config.least_days
    return max(least - exposures.n_days, 0) or None


def days_needed(effect: Effect, running: Sequence[Effect], config: ExperimentConfig, n_days: int) -> int | None:
    """Further days after which a primary metric would show the difference that matters, with the declared power.

    What it could show fell from day to day by a power of the days, which is read from the second half of them.

    Returns   None where it does not fall, would take more than 20 times the days so far, or is a share of a baseline
              that is 0
    """
    matters = config.difference.absolute(effect.baseline)
    points = [
        (math.log(e.day + 1), math.log(e.detectable))
        for e in running
        if e.metric == effect.metric and e.day is not None and e.detectable > 0 and e.day + 1 > n_days / 2
    ]
    if len(points) < 2 or not (effect.detectable > 0 and matters > 0):
        return None
    x, y = np.array(points).T
    slope = float(np.polyfit(x, y, 1)[0])
    if effect.detectable <= matters or slope >= 0:
        return None
    growth = math.log(matters / effect.detectable) / slope
    return math.ceil(n_days * (math.exp(growth) - 1)) if growth <= math.log(_LONGEST) else None
