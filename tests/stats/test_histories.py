"""Gates over a hundred commits: what docs/howto/gates-on-every-commit.md promises."""

import math

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated.histories import (
    ACCEPTED,
    ALARMS,
    ALPHA,
    HISTORIES,
    MARGIN,
    POLICIES,
    History,
    Replay,
    State,
    alarm_gate,
    commits_to_find,
    fails,
    limits,
    lucky_gates,
    replay,
    ruled_out,
)

from steelyard.experiment.table.scores import Scores
from steelyard.gates.gating import gate
from steelyard.gates.past import BaselineEntry, Past
from steelyard.stats.tests.alarms import highest_gain
from steelyard.stats.tests.equivalence import non_inferiority

pytest.importorskip("scipy.stats", reason="gates against a baseline need the extra stats")


def rows(n: int) -> np.ndarray:  # type: ignore[type-arg]
    rng = np.random.default_rng(4)
    gains = rng.normal(-0.01, 0.05, (n, 60)) * (rng.random((n, 60)) < rng.uniform(0.2, 1, (n, 1)))
    gains[0] = 0
    return gains


def test_the_simulation_decides_as_the_tests_do() -> None:
    gains = rows(30)
    high = [highest_gain(d, level=ALARMS) for d in gains]
    np.testing.assert_allclose(limits(gains, ALARMS)[2], high, atol=1e-12)
    tests = [non_inferiority(d, margin=MARGIN, width=math.inf, alpha=ALPHA) for d in gains[1:]]
    assert ruled_out(gains[1:], MARGIN).tolist() == [test.not_worse for test in tests]
    assert fails(gains, margin=MARGIN, alarm=ALARMS).tolist() == [end < 0 for end in high]


def clicks(gains: np.ndarray) -> Scores:  # type: ignore[type-arg]
    ids = [f"q{i}" for i in range(len(gains))]
    return Scores.of(pl.DataFrame({"query_id": ids, "measure": "clicks", "value": 1 + gains}), system="rag")


def test_the_simulation_decides_as_a_gate_does() -> None:
    """Of a measure without a range, with one entry that was accepted before the baseline."""
    gains = rows(12)
    older, accepted = gains[::-1] + 0.01, 0.3 * gains[::-1]
    passed, failed = alarm_gate(gains, State([older, accepted]))
    for run, first, last, wanted in zip(gains, older, accepted, zip(passed, failed, strict=True), strict=True):
        earlier, baseline, new = map(clicks, (first, last, run))
        past = Past(BaselineEntry("0", "v1", is_accepted=True), baseline, earlier=[earlier])
        verdict = gate(new, baseline=past, margin=MARGIN, alarms=ALARMS)
        assert (verdict.outcome == "pass", verdict.outcome == "fail") == wanted


def promised(name: str, *, seed: int = 2) -> Replay:
    return replay(HISTORIES[name], POLICIES[ACCEPTED], n_histories=100, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", HISTORIES)
def test_alarms_are_rare_and_losses_do_not_creep(name: str) -> None:
    """At most one false alarm in 200 gates (of 10,000: 50 and 3 errors, more as those of a history are alike)."""
    own = promised(name)
    assert own.alarms <= 0.8
    assert own.below <= 0.05 + 2.5 * math.sqrt(0.05 * 0.95 / 100)


@pytest.mark.slow
def test_a_loss_is_found_soon() -> None:
    first = commits_to_find(History(), lambda d: fails(d, margin=MARGIN, alarm=ALARMS), 0.02, n=100, seed=2)
    assert (first == 1).mean() >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("remedy", ["regression", "again"])
def test_an_unchanged_system_whose_runs_differ_fails_no_more_than_alarms_allow(remedy: str) -> None:
    _, failed = lucky_gates(remedy, every=1, n=100, seed=2)
    assert failed[:-1].mean() <= 0.0075
    assert lucky_gates("none", every=1, n=100, seed=2)[1][:-1].mean() > 0.03
