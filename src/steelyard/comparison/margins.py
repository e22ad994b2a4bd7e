"""Not worse than the margin, and equivalent within it: tests of each system, corrected over the family."""

from __future__ import annotations

import math

import polars as pl

from steelyard.base.arrays import Floats, Ints
from steelyard.stats.corrections import correct
from steelyard.stats.equivalence import loss_p

MARGIN_TESTS = ("not_worse", "equivalent")


def margin_correction(correction: str) -> str:
    """The correction of tests against the margin: that of the tests of difference, and Holm beside Tukey."""
    return "holm" if correction == "tukey" else correction


def margin_tests(
    gain: Floats, margin: float | None, *, width: float, identical: bool, clusters: Ints | None = None
) -> dict[str, float | bool | None]:
    """p of both tests of one system, by column; and their answers where both gave the same results, and there is no p.

    gain               (n,) by how much the system is better
    width, identical, clusters   as of `non_inferiority`
    Returns            null where there is no margin, and where there is no test
    """
    if margin is None or len(gain) < 2:
        return {}
    if identical and not gain.any():
        return dict.fromkeys(MARGIN_TESTS, True)
    losses = [loss_p(sign * gain, margin=margin, width=width, clusters=clusters) for sign in (1, -1)]
    return {"not_worse_p": losses[0], "equivalent_p": max(losses)}


def correct_margins(rows: pl.DataFrame, *, correction: str, family: str, alpha: float) -> pl.DataFrame:
    """The rows with both answers by corrected p; where a test has no p the answer there is holds."""
    method = margin_correction(correction)
    for test in MARGIN_TESTS:
        p = rows[f"{test}_p"].fill_null(math.nan).to_numpy()
        adjusted = pl.Series(correct(p, method=method, family=family).adjusted, nan_to_null=True)
        rows = rows.with_columns(pl.coalesce(pl.lit(adjusted < alpha), test).alias(test)).drop(f"{test}_p")
    return rows
