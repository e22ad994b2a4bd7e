"""Sample ratio mismatches: how often one is seen where there is none, and whether its reason is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from benchmarks.simulated.tables import Table, percent

from steelyard.abtests.config import ExperimentConfig
from steelyard.abtests.sample_ratio import sample_ratio
from steelyard.base.arrays import Bools, Ints

CONFIG = ExperimentConfig.of(
    {
        "start": "2026-10-05", "primary": "ctr", "difference": "5%", "arms": {"control": 0.5, "treatment": 0.5},
        "segments": ["browser", "language"],
    }
)  # fmt: skip
_BROWSERS, _DAYS = np.array(["chrome", "firefox", "safari"]), 14
Lost = Callable[[np.random.Generator, pl.DataFrame], Bools]


def _of(share: float, where: Callable[[pl.DataFrame], Bools]) -> Lost:
    """A share of the units of the treatment is lost where a condition holds."""
    return lambda rng, units: (units["arm"].to_numpy() == 1) & where(units) & (rng.random(len(units)) < share)


CASES: Mapping[str, tuple[Lost, str]] = {
    "nothing": (_of(0.0, lambda units: np.ones(len(units), np.bool_)), ""),
    "a tenth everywhere": (_of(0.1, lambda units: np.ones(len(units), np.bool_)), ""),
    "a half of firefox": (_of(0.5, lambda units: units["browser"].to_numpy() == "firefox"), "browser=firefox"),
    "half of a day": (_of(0.5, lambda units: units["day"].to_numpy() == 0), "day=0"),
}
"""What is lost of the treatment, and where that comes from."""
SIZES = (2_000, 20_000)


def outcomes(case: str, n: int, draws: int, seed: int) -> tuple[float, float, float]:
    """Shares of draws that block, that are a caution, and of those that block the ones that name the right origin."""
    lost, origin = CASES[case]
    rng, states, named = np.random.default_rng([seed, n]), list[str](), list[bool]()
    day: Ints = np.minimum(rng.exponential(3, (draws, n)), _DAYS - 1).astype(np.int64)
    for own in day:
        units = pl.DataFrame(
            {
                "arm": rng.integers(0, 2, n), "day": own, "browser": _BROWSERS[rng.choice(3, n, p=[0.6, 0.2, 0.2])],
                "language": np.array(["en", "zh"])[rng.integers(0, 2, n)],
            }
        )  # fmt: skip
        check = sample_ratio(units.filter(~lost(rng, units)), CONFIG)
        states.append(check.state)
        if check.state == "blocks":
            named.append(check.values["segment"] == origin)
    shares = [float(np.mean([state == wanted for state in states])) for wanted in ("blocks", "careful")]
    return shares[0], shares[1], float(np.mean(named)) if named else np.nan


def sample_ratio_table(draws: int, seed: int) -> Table:
    """What is blocked and named, by what is lost."""
    rows = []
    for case in CASES:
        for n in SIZES:
            blocks, careful, named = outcomes(case, n, draws, seed)
            rows.append([case, f"{n:,}", *map(percent, (blocks, careful)), "–" if np.isnan(named) else percent(named)])
    return Table(
        "How often units of the arms block an experiment (p < .001), and the right origin is named",
        ["lost of one arm", "users", "blocks", "caution", "origin is right"],
        rows,
    )
