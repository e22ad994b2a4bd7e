"""Options as a command was given them, as the keywords that Python takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from steelyard.base.errors import InputError
from steelyard.experiment.door.choices import named_labels, named_verdicts
from steelyard.io.named import run_paths


def keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command that are given, by the names and with the values of Python.

    Raises   InputError for verdicts, labels and numbers that are not named as they must be.
    """
    given = {name: value for name, value in options.items() if name != "no_labels"}
    if "verdicts" in given:
        given["verdicts"] = named_verdicts(given["verdicts"])
    if "labels" in given or "no_labels" in options:
        given["labels"] = named_labels(given.get("labels", ()), without="no_labels" in options)
    if "anchors" in given:
        given["anchors"] = tuple(given["anchors"])
    if "numbers" in given:
        given["numbers"] = parse_numbers(given["numbers"])
    return given


def inputs_of(truth: str | None, runs: Iterable[str], options: Mapping[str, Any]) -> list[str]:
    """The files that a command reads, over which it must not write."""
    named = [options[name] for name in ("queries", "baseline", "truth", "calibration") if name in options]
    return [*([] if truth is None else [truth]), *run_paths(list(runs)), *named, *options.get("anchors", ())]


def parse_numbers(values: Iterable[str]) -> dict[str, float]:
    """NAME=NUMBER by name.

    >>> parse_numbers(["cost_usd_per_million_tokens=0.04"])
    {'cost_usd_per_million_tokens': 0.04}
    """
    numbers: dict[str, float] = {}
    for value in values:
        name, _, number = value.partition("=")
        try:
            numeric = float(number)
        except ValueError:
            raise InputError(f"--number {value}: expected NAME=NUMBER, such as latency_ms:p95=320") from None
        if name in numbers:
            raise InputError(f"--number {value}: {name} has a value already")
        numbers[name] = numeric
    return numbers
