"""How often the interval of a corrected share holds: Rogan & Gladen's, of how often a judge is right.

    python -m benchmarks.corrected_rates [--draws N] [--markdown FILE]

People label some answers, of which ten or more of either kind, among those that are judged or others; the truth is
known, since it is drawn.  Shown are, over four shares, the mean, least and greatest coverage of the 95% interval, and
how far the judged share alone is off.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from benchmarks.simulated.tables import Table, percent

from steelyard.stats.labels.rogan_gladen import corrected_rate

JUDGES = ((0.9, 0.9), (0.7, 0.7), (0.95, 0.5), (0.6, 0.8), (0.97, 0.4))
"""Sensitivity and specificity."""
SHARES = (0.2, 0.3, 0.6, 0.8)
SIZES = ((50, 300), (100, 1000), (300, 1000), (200, 400))
"""Labels, and answers that are judged."""
_LEAST = 10


def coverage(
    rng: np.random.Generator, judge: tuple[float, float], share: float, sizes: tuple[int, int], *, among: bool,
    n_draws: int,
) -> float:  # fmt: skip
    """How often the interval holds the share, where it is defined."""
    (sensitivity, specificity), (n_labels, n) = judge, sizes
    covered = []
    for _ in range(n_draws):
        positives = int(rng.binomial(n_labels, share))
        if not _LEAST <= positives <= n_labels - _LEAST:
            continue
        hits = int(rng.binomial(positives, sensitivity))
        rejections = int(rng.binomial(n_labels - positives, specificity))
        false_alarms = n_labels - positives - rejections
        others = n - n_labels * among
        other_positives = int(rng.binomial(others, share))
        called = rng.binomial(other_positives, sensitivity) + rng.binomial(others - other_positives, 1 - specificity)
        rate = corrected_rate(
            int(called) + (hits + false_alarms) * among, n, hits=hits, misses=positives - hits,
            false_alarms=false_alarms, rejections=rejections, n_shared=n_labels * among,
        )  # fmt: skip
        if rate.undefined is None:
            covered.append(rate.low <= share <= rate.high)
    return float(np.mean(covered))


def rows(n_draws: int) -> Iterator[list[str]]:
    rng = np.random.default_rng(7)
    for judge, (n_labels, n), among in product(JUDGES, SIZES, (True, False)):
        shares = [coverage(rng, judge, share, (n_labels, n), among=among, n_draws=n_draws) for share in SHARES]
        off = [abs(share * judge[0] + (1 - share) * (1 - judge[1]) - share) for share in SHARES]
        name = f"{judge[0]:g} and {judge[1]:g}, {n_labels} labels {'of' if among else 'beside'} {n} answers"
        ends = f"{percent(min(shares))} to {percent(max(shares))}"
        yield [name, percent(float(np.mean(shares))), ends, f"{np.mean(off):.3f}"]


def table(n_draws: int) -> Table:
    columns = ("sensitivity and specificity", "coverage, mean", "least to greatest", "judged share alone is off by")
    return Table("Shares corrected by how often the judge is right: 95% intervals", columns, list(rows(n_draws)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2500)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    text = "\n".join(table(options.draws).lines()) + "\n"
    sys.stdout.write(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
