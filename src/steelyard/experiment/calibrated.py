"""A judge by its calibration: the threshold that labels gave it, and what is said of it beside its verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.judges.calibration import Calibration
from steelyard.judges.labels import IN_TWO
from steelyard.judges.own import last_name


def open_calibration(calibration: Calibration | str | Path) -> Calibration:
    """A calibration, or that in a file.

    Raises   InputError for a file that holds none.
    """
    return calibration if isinstance(calibration, Calibration) else Calibration.read(calibration)


def calibrated_settings(
    judge: object, settings: Mapping[str, Any], calibration: Calibration | str | Path | None
) -> tuple[Calibration | None, Mapping[str, Any]]:
    """The calibration, and the settings of the judge with its threshold.

    Raises   InputError for the calibration of a judge of another name, and for another threshold among the settings.
    """
    if calibration is None:
        return None, settings
    opened = open_calibration(calibration)
    if isinstance(judge, str) and last_name(judge) != opened.name:
        raise InputError(
            f"the calibration is of the judge {opened.name}, and {judge} is to judge; name --judge {opened.name} with "
            "its model, or a calibration of the other"
        )
    if opened.threshold is None:
        return opened, settings
    own, wanted = settings.get("threshold"), opened.threshold.value
    if own is not None and own != wanted:
        raise InputError(
            f"the threshold {own:g} contradicts the calibration, whose threshold is {wanted:g}; leave out one of them"
        )
    return opened, {**settings, "threshold": wanted}


def calibration_notes(recipe: Mapping[str, Any]) -> Iterator[Note]:
    """By what the judge of some verdicts was calibrated, and which self-tests it failed; or that it was not.

    recipe   of the verdicts
    """
    threshold, calibration = recipe["judge"].get("threshold"), recipe.get("calibration")
    if calibration is None:
        if threshold is not None:
            yield Note("judge_uncalibrated", {"threshold": threshold})
        return
    if not isinstance(calibration, Mapping) or "n" not in calibration:
        return  # Of a judge of the user's own, in its own words.
    values = {"n": calibration["n"], "date": str(calibration["date"])[:10]}
    interval = calibration["threshold"]
    if interval is not None:
        values |= {"threshold": round(interval["value"], 3)}
    if interval is not None and interval["low"] is not None:
        yield Note("judge_calibrated", values | {key: round(interval[key], 3) for key in ("low", "high")})
    elif interval is not None:
        yield Note("judge_calibrated_without_interval", values)
    else:
        yield Note("judge_checked", values)
    rates = {key: calibration[key] for key in ("kappa", "sensitivity", "specificity")}
    if None not in rates.values():
        shown = {key: round(value, 3) for key, value in rates.items()}
        yield Note("judge_agreement", {**shown, "labels": list(IN_TWO)})
    if failed := calibration["failed_self_tests"]:
        yield Note("judge_fails_self_tests", {"n": len(failed), "names": list(failed)})
