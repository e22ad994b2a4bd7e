"""The same data and seed give the same bits, whatever the number of threads and the size of a block."""

import os
import subprocess
import sys

import numpy as np
import pytest

from steelyard.stats.intervals.means import mean_intervals
from steelyard.stats.tests import paired
from steelyard.stats.tests.paired import sign_flip
from steelyard.stats.tests.pairs import sign_flip_pairs, tukey

ALL_BITS = """
import hashlib
import numpy as np
from steelyard.stats.intervals.means import mean_intervals
from steelyard.stats.tests.paired import paired_t, sign_flip, sign_test, wilcoxon
from steelyard.stats.power.detectable import min_detectable_difference
from steelyard.stats.tests.pairs import sign_flip_pairs, t_pairs
from steelyard.stats.tests.pairs import tukey

bits = hashlib.sha256()
for s, n in ((3, 16), (12, 43), (4, 700), (2, 5001)):
    scores = np.random.default_rng(n).random((s, n)) + 0.02 * np.arange(s)[:, None]
    d = scores[1] - scores[0]
    flips = sign_flip_pairs(scores, seed=1, n_resamples=3000)
    for found in (tukey(scores, seed=1, n_resamples=300), flips, t_pairs(scores)):
        bits.update(found.p.tobytes() + found.adjusted.tobytes())
    ps = [paired_t(d).p, sign_flip(d, seed=2, n_resamples=3000).p, wilcoxon(d).p, sign_test(d).p]
    bits.update(np.array([*ps, min_detectable_difference(d)]).tobytes())
    for bounds in ((0, 2), (-np.inf, np.inf)):
        found = mean_intervals(scores.T, bounds=bounds)
        bits.update(found.low.tobytes() + found.high.tobytes())
print(bits.hexdigest())
"""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@pytest.mark.slow
def test_threads_move_no_bit() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", ALL_BITS],
            env={**os.environ, **dict.fromkeys(THREADS, n)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for n in ("1", "3")
    }
    assert len(found) == 1


@pytest.mark.parametrize("n", [12, 43, 64, 65])
def test_the_size_of_a_block_moves_no_bit(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = np.random.default_rng(n).random((5, n))
    whole = sign_flip_pairs(scores, seed=0, n_resamples=2000).p
    monkeypatch.setattr(paired, "_NUMBERS_AT_ONCE", 700)
    assert sign_flip_pairs(scores, seed=0, n_resamples=2000).p.tobytes() == whole.tobytes()


def test_sums_are_exact_in_any_order() -> None:
    """What the promise rests on: every signed sum of steps is a whole number below 2**53, as Python counts it."""
    rng = np.random.default_rng(0)
    for n in (2, 43, 1000):
        values = rng.random((3, n)) * 10.0 ** rng.integers(-8, 8)
        grid = paired.on_grid(values)
        assert (grid.steps == np.rint(grid.steps)).all()
        assert grid.steps.sum(axis=1).max() <= 2**52
        signs = next(paired.sign_blocks(n, n_resamples=20, seed=0, width=1))
        exact = [
            [sum(int(step) * int(sign) for step, sign in zip(row, s, strict=True)) for row in grid.steps] for s in signs
        ]
        assert (signs @ grid.steps.T).astype(int).tolist() == exact


def test_signs_are_fair_and_all_patterns_come_once() -> None:
    every = np.concatenate(list(paired.sign_blocks(10, n_resamples=None, seed=0, width=10**5)))
    assert len(np.unique(every, axis=0)) == 2**10
    assert set(np.unique(every)) == {-1, 1}
    drawn = np.concatenate(list(paired.sign_blocks(70, n_resamples=20_000, seed=0, width=1)))
    assert drawn.shape == (20_000, 70)
    assert np.abs(drawn.mean(axis=0)).max() < 0.03
    assert np.abs(np.corrcoef(drawn.T) - np.eye(70)).max() < 0.04


def test_inputs_are_not_changed() -> None:
    scores = np.random.default_rng(0).random((3, 30))
    kept = scores.copy()
    tukey(scores, seed=0, n_resamples=99)
    sign_flip_pairs(scores, seed=0, n_resamples=99)
    sign_flip(scores[0], seed=0, n_resamples=99)
    mean_intervals(scores.T, bounds=(0, 1))
    assert (scores == kept).all()
