"""Gates of load tests: whether rates that were offered hold the objective, and which rate is sustained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.settings import read_text
from steelyard.base.shapes import Each, Object, check_shape
from steelyard.data.folders.manifests import BenchFolder
from steelyard.gates.checks import Check, CheckReason
from steelyard.gates.standard import Standard
from steelyard.io.json_files import parse_json

SUSTAINED_RATE = "sustained_rate"
"""What a profile calls the highest rate that holds the objective, in requests a second."""
_NUMBER = (int, float, type(None))
_SHAPE = Object({
    "levels": Each(list, Object({
        "system": str, "load": str, "is_asked": bool, "n": int, "reason": (str, type(None)), "percentile": str,
        "limit_ms": _NUMBER, "latency_ms": _NUMBER, "latency_ms_low": _NUMBER, "latency_ms_high": _NUMBER,
    })),
    "sustained": Each(list, Object({
        "system": str, "rate": _NUMBER, "failing_rate": _NUMBER, "reason": (str, type(None)),
    })),
})  # fmt: skip
_REASONS: Mapping[str | None, CheckReason] = {
    None: "held", "errors": "errors", "achieved": "overloaded", "backlog": "backlog", "latency": "slow",
    "generator": "late", "open": "limit_spanned", "few": "no_upper_end",
}  # fmt: skip
_UNDECIDED = ("generator", "open", "few")


@dataclass(frozen=True)
class Loads:
    """Levels of load that a test measured.

    levels      a row for each rate that was offered to a system: is_asked, n, why it does not hold, and the percentile
                of the objective that decides, with its interval and its limit, in milliseconds
    sustained   of each system the highest rate that held, the lowest above it that did not, and why not
    """

    levels: list[Mapping[str, Any]]
    sustained: list[Mapping[str, Any]]

    @classmethod
    def read(cls, folder: BenchFolder) -> Loads:
        """Levels of the folder of a load test.

        Raises   InputError for one that an earlier version wrote, or that is damaged.
        """
        if not folder.levels.exists():
            raise InputError(
                f"{folder.path}: has no {folder.levels.name}, as an earlier version wrote it; run the same `steelyard "
                "bench load` again with --overwrite"
            )
        content = parse_json(read_text(Path(folder.levels)), str(folder.levels))
        try:
            check_shape(content, _SHAPE)
        except ValueError as fault:
            raise InputError(f"{folder.levels}: {fault}; delete it, and run the same command again") from None
        return cls(content["levels"], content["sustained"])

    def checks(
        self, system: str | None = None, standard: Standard | None = None, level: str | None = None
    ) -> list[Check]:
        """Checks of a gate: without a standard the rates that are asked for, or that some rate holds.

        system     judged alone: one that load was put on, or a level of load as scores name it ("search 20/s")
        standard   of the sustained rate, with the level of the profile
        Raises     InputError for a system that is not there.
        """
        names = list(dict.fromkeys(row["system"] for row in self.sustained))
        rows = [row for row in self.levels if system in (row["system"], _name(row))]
        if system is not None and not rows:
            raise InputError(f"no system is called {system!r}; {nearest(system, [*names, *map(_name, self.levels)])}")
        if standard is None and any(_name(row) == system for row in rows):
            return [_of_level(row) for row in rows]
        limit = 0.0 if standard is None or level is None else standard.levels[level]
        asked = [row for row in self.levels if row["is_asked"] and system in (None, row["system"])]
        if standard is None and asked:
            return [_of_level(row) for row in asked]
        return [
            _of_rate(row, limit, None if standard is None else level)
            for row in self.sustained
            if system is None or row["system"] in {own["system"] for own in rows}
        ]


def _name(row: Mapping[str, Any]) -> str:
    """Name of a level of load in scores."""
    return f"{row['system']} {row['load']}"


def _of_level(row: Mapping[str, Any]) -> Check:
    value, low, high = (row[f"latency_ms{end}"] for end in ("", "_low", "_high"))
    return Check(
        row["system"], row["load"], "load", _REASONS[row["reason"]], limit=row["limit_ms"], n=row["n"],
        value=math.inf if value is None else value, low=-math.inf if low is None else low,
        high=math.inf if high is None else high, better="lower", level=row["percentile"],
    )  # fmt: skip


def _of_rate(row: Mapping[str, Any], limit: float, level: str | None) -> Check:
    rate, failing = row["rate"], row["failing_rate"]
    fails = (
        failing is not None and row["reason"] not in _UNDECIDED and (failing <= limit or (not limit and rate is None))
    )
    reason: CheckReason = "spans"
    if rate is not None and rate >= limit:
        reason = "reached"
    elif fails:
        reason = "missed"
    return Check(
        row["system"], SUSTAINED_RATE, "sustained", reason, value=math.nan if rate is None else rate,
        low=0.0 if rate is None else rate, high=math.inf if failing is None else failing, limit=limit, n=0, level=level,
    )  # fmt: skip
