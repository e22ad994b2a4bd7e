"""Sample ratio: whether the arms have the units that their shares promise, and where one comes from that does not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.experiment import Check, CheckState
from steelyard.stats.counts import ENOUGH_EXPECTED, goodness_of_fit, independence

MISMATCH_P = 0.001
"""Below which p the units of the arms are not what their shares promise, and nothing is concluded."""
_MOST_VALUES = 50
_MOST_ROWS = 20


def sample_ratio(units: pl.DataFrame, config: ExperimentConfig, code: str = "sample_ratio") -> Check:
    """Compare units of the arms with the declared shares by Pearson's chi-square, and look for the reason by segment.

    A mismatch blocks.  It comes from a value of a segment, or from a day of exposure, that differs from the others in
    its shares, where the others agree with what is declared.  A value whose own units do not agree, beside others that
    make up for it, is a caution.

    units    columns arm (place among the arms), day (of exposure), and the segments
    Returns  values: counts and expected (by arm), segment (such as "browser=firefox" or "day=3", from 0; empty where it
             comes from no single one); rows, those farthest away first: segment, units of each arm by its name, p of
             its own, rest (p without it), apart (p of both having the same shares)
    """
    counts = _counts(units["arm"], len(config.arms))
    shares = list(config.arms.values())
    p = goodness_of_fit(counts, shares)
    rows = [row for name in ("day", *config.segments) for row in _by_value(units, name, counts, config)]
    level = MISMATCH_P / max(len(rows), 1)
    own = [row for row in rows if row["p"] < level]
    is_off = p < MISMATCH_P
    reasons = [row for row in own if row["rest"] >= MISMATCH_P and row["apart"] < level] if is_off else own
    origin = min(reasons, key=lambda row: row["apart"], default=None)
    few = math.isnan(p) or sum(counts) * min(shares) < ENOUGH_EXPECTED
    values = {
        "counts": dict(zip(config.arms, counts, strict=True)),
        "expected": {arm: share * sum(counts) for arm, share in config.arms.items()},
        "segment": origin["segment"] if origin else "",
    }
    state: CheckState = "blocks" if is_off else "few" if few else "careful" if own else "well"
    rows = sorted(rows, key=lambda row: row["p"])[:_MOST_ROWS] if is_off or own else []
    return Check(code, state, p, values, rows)


def _by_value(
    units: pl.DataFrame, name: str, counts: Sequence[int], config: ExperimentConfig
) -> Iterator[dict[str, Any]]:
    """Rows of the most frequent values of a segment, if there are several."""
    values = units.group_by(pl.col(name).cast(pl.String).fill_null("").alias("value")).agg("arm", n=pl.len())
    if len(values) < 2:
        return
    shares = list(config.arms.values())
    for value, arms in values.sort("n", "value", descending=[True, False])["value", "arm"].head(_MOST_VALUES).rows():
        own = _counts(pl.Series(arms), len(shares))
        rest = [n - m for n, m in zip(counts, own, strict=True)]
        tests = {
            "p": goodness_of_fit(own, shares),
            "rest": goodness_of_fit(rest, shares),
            "apart": independence([own, rest]),
        }
        yield {"segment": f"{name}={value}", **dict(zip(config.arms, own, strict=True)), **tests}


def _counts(arm: pl.Series, n_arms: int) -> list[int]:
    return [int((arm == place).sum()) for place in range(n_arms)]
