"""The commands of A/B tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steelyard.reports.visible import single_line

if TYPE_CHECKING:
    from steelyard.cli.calls import Call


def assign(call: Call, salt: str, units: list[str], *, split: str) -> None:
    """Print units with their arms, one a line with a tab between."""
    from steelyard.abtests.assigning import parse_split

    for unit, arm in zip(units, call.function(salt, units, parse_split(split)), strict=True):
        print(f"{single_line(unit)}\t{single_line(arm)}")
