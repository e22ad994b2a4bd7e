"""Not worse than the margin, and equivalent within it: tests of each system, corrected over the family."""

from __future__ import annotations

import math

import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.corrections import correct
from steelyard.stats.equivalence import non_inferiority, tost

MARGIN_TESTS = ("not_worse", "equivalent")


def margin_correction(correction: str) -> str:
    """The correction of tests against the margin: that of the tests of difference, and Holm beside Tukey."""
    return "holm" if correction == "tukey" else correction


def margin_tests(
    gain: Floats, margin: float | None, *, width: float, identical: bool, clusters: Ints | None = None
) -> dict[str, float | bool | None]:
    """p and plain answer of both tests of one system, by column.

    gain               (n,) by how much the system is better
    width, identical, clusters   as of `non_inferiority`
    Returns            null where there is no margin, and where there is no test
    """
    if margin is None:
        return {}
    noninferior = non_inferiority(gain, margin=margin, width=width, identical=identical, clusters=clusters)
    equivalence = tost(gain, margin=margin, width=width, identical=identical, clusters=clusters)
    if noninferior.reason and not noninferior.not_worse:
        return {}
    return {
        "not_worse_p": noninferior.p, "not_worse": noninferior.not_worse, "equivalent_p": equivalence.p,
        "equivalent": equivalence.equivalent,
    }  # fmt: skip


def correct_margins(rows: pl.DataFrame, *, correction: str, family: str, alpha: float) -> pl.DataFrame:
    """The rows with both answers by corrected p; where a test has no p its plain answer holds."""
    method = margin_correction(correction)
    for test in MARGIN_TESTS:
        p = rows[f"{test}_p"].fill_null(math.nan).to_numpy()
        adjusted = pl.Series(correct(p, method=method, family=family).adjusted, nan_to_null=True)
        rows = rows.with_columns(pl.coalesce(pl.lit(adjusted < alpha), test).alias(test)).drop(f"{test}_p")
    return rows
