"""A judge for the time that it is needed: by its calibration, with its files, and closed afterwards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.base.own_code import own_code
from steelyard.base.own_paths import own_file
from steelyard.base.progress import Progress
from steelyard.judges.people.calibration import Calibration
from steelyard.judges.people.labels import IN_TWO
from steelyard.judges.registry import judge_class, last_name, make_judge
from steelyard.judges.verdict import Judge
from steelyard.services.cache import CACHE_NAME


class _Named(Protocol):
    name: str


T = TypeVar("T", bound=_Named)


def model_files(file: Path) -> Mapping[str, Path]:
    """Files of a model's answers and of the log of its calls, by setting: beside a file that is written."""
    return {"cache": own_file(file.parent, CACHE_NAME), "log": own_file(file.parent, f"{file.stem}.calls.jsonl")}


def kept(files: Mapping[str, Path]) -> Mapping[str, Path]:
    """Files that are there, for a look alone: a cache that is opened is made where it is absent."""
    return {name: file for name, file in files.items() if file.exists()}


def lent(
    judge: object, settings: Mapping[str, Any], files: Mapping[str, Path], progress: Progress
) -> AbstractContextManager[Judge]:
    """The judge of a name, or of the user's own, as `lent_by` gives it."""
    return lent_by(judge_class, make_judge, judge, settings, files=files, progress=progress)


@contextmanager
def lent_by(
    class_of: Callable[[str], Callable[..., Any]],
    make: Callable[[object, Mapping[str, Any]], T],
    judge: object,
    settings: Mapping[str, Any],
    *,
    files: Mapping[str, Path],
    progress: Progress,
) -> Iterator[T]:
    """A judge, closed afterwards where it was made here.

    class_of   the class of a name;   make   makes the judge of a name, or of the user's own, with settings
    files      of a judge that asks a model, by setting, unless the settings name others
    """
    values = dict(settings)
    if isinstance(judge, str) and ":" not in judge:
        parameters = inspect.signature(class_of(judge)).parameters
        if "progress" in parameters:
            values.setdefault("progress", progress)
        for name, file in files.items():
            if name in parameters:
                values.setdefault(name, str(file))
    own_judge = make(judge, values)
    try:
        yield own_judge
    finally:
        close = getattr(own_judge, "close", None)
        if own_judge is not judge and callable(close):
            with own_code(f"judge {own_judge.name}, closed"):
                close()


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
    """Notes on the calibration of the judge of some verdicts, and on self-tests that it failed.

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
