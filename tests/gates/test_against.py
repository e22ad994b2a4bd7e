"""What a profile asks of a system beside its baseline."""

from pathlib import Path

import numpy as np
import pytest

from steelyard.gates.gating import gate
from steelyard.reports.views.gate import gate_sheets, wanted_text
from steelyard.reports.words import read_words
from steelyard.stats.tests.effects import relative_change
from tests.gates.stated import scores_of

RNG = np.random.default_rng(3)
BASE, AWAY = RNG.uniform(0.3, 0.7, 40), RNG.normal(0, 0.02, 40)


@pytest.mark.parametrize(("factor", "reason"), [(0.6, "reached"), (0.85, "spans"), (0.99, "missed"), (1.4, "missed")])
def test_a_measure_better_low_is_asked_to_fall(factor: float, reason: str, tmp_path: Path) -> None:
    (path := tmp_path / "less.toml").write_text(
        'recommend = ["rbp_residual"]\n[relative]\nmeasure = "rbp_residual"\nleast = 0.15\n'
    )
    new = factor * BASE + AWAY - AWAY.mean()
    verdict = gate(scores_of([BASE, new], ["rbp_residual"], systems=["old", "new"]), profile=str(path), baseline="old")
    (check,) = verdict.checks
    want = relative_change(BASE, new)
    assert (check.kind, check.reason, check.better) == ("relative", reason, "lower")
    assert (check.value, check.low, check.high, check.limit) == (want.change, want.low, want.high, 0.15)
    assert wanted_text(check, read_words("en")) == "≤ −15%"
    assert gate_sheets(verdict, read_words("zh"))[0].rows[0][-1] == "≤ −15%"


def test_the_profile_says_which_way_is_good(tmp_path: Path) -> None:
    (path := tmp_path / "odd.toml").write_text(
        'levels = ["ok"]\n[measures."precision@5"]\nbetter = "lower"\nlevels = { ok = 0.9 }\n'
        '[relative]\nmeasure = "precision@5"\nleast = 0.15\n'
    )
    scores = scores_of([BASE, 0.6 * BASE + 1e-3 * AWAY], ["precision@5"], systems=["old", "new"])
    verdict = gate(scores, profile=str(path), baseline="old")
    assert [check.outcome for check in verdict.checks if check.kind == "relative"] == ["pass"]
