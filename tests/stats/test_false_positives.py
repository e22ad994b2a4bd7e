"""How often the tests cry wolf: simulated collections in which nothing is the matter."""

from collections.abc import Callable

import numpy as np
import pytest
from benchmarks.simulated import repeats
from benchmarks.simulated.clusters import SIZES, clustered_differences, clustered_losses
from benchmarks.simulated.families import METHODS, N_TOPICS, any_shown, third_runs
from benchmarks.simulated.intervals import misses
from benchmarks.simulated.power import normal, real
from benchmarks.simulated.samples import alike, near_copies

from steelyard.base.arrays import Floats
from steelyard.stats.tests.equivalence import non_inferiority, tost
from steelyard.stats.tests.paired import paired_t, sign_flip, wilcoxon
from steelyard.stats.tests.pairs import sign_flip_pairs, t_pairs, tukey
from tests.shared_data import shared

pytestmark = pytest.mark.slow

N_TRIALS = 4000
"""Each with a seed of its own: under the same few signs, all trials would share their error."""


@pytest.mark.parametrize(
    ("name", "p_of"),
    [
        ("t", lambda d, _: paired_t(d).p),
        ("randomization", lambda d, trial: sign_flip(d, seed=trial, n_resamples=999).p),
        ("wilcoxon", lambda d, _: wilcoxon(d).p),
    ],
)
@pytest.mark.parametrize("n", [11, 40])
def test_two_systems(name: str, p_of: Callable[[Floats, int], float], n: int) -> None:
    rng = np.random.default_rng(n)
    rejected = []
    for trial in range(N_TRIALS):
        a, b = alike(rng, 2, n)
        rejected.append(p_of(b - a, trial) <= 0.05)
    assert 0.04 <= np.mean(rejected) <= 0.06, name


@pytest.mark.parametrize(("name", "n_trials"), [("tukey", 2000), ("flips", 1000), ("t", 1000)])
def test_any_of_six_pairs(name: str, n_trials: int) -> None:
    """Four systems alike: a family-wise test finds any difference in 5% of collections; without, in 20%."""
    rng = np.random.default_rng(7)
    any_found, any_alone = [], []
    for trial in range(n_trials):
        scores = alike(rng, 4, 25)
        found = {
            "tukey": lambda x, k: tukey(x, seed=k, n_resamples=499),
            "flips": lambda x, k: sign_flip_pairs(x, seed=k, n_resamples=1999),
            "t": lambda x, k: t_pairs(x),
        }[name](scores, trial)
        any_found.append((found.adjusted <= 0.05).any())
        any_alone.append((found.p <= 0.05).any())
    # Holm over pairs that share systems stays below its promise; Tukey keeps to it.
    least = 0.04 if name == "tukey" else 0.02
    assert least <= np.mean(any_found) <= 0.06
    assert name == "tukey" or np.mean(any_alone) > 0.15


@pytest.mark.parametrize(("n_copies", "n_others"), [(3, 2), (10, 3), (30, 7)])
def test_near_copies_beside_others(n_copies: int, n_others: int) -> None:
    """Where Tukey's shuffles take the small spread among copies for that of all, Holm keeps to its promise."""
    rng = np.random.default_rng(n_copies)
    collections = [near_copies(rng, n_copies, n_others, N_TOPICS) for _ in range(200)]
    shown = {name: any_shown(collections, method, 0) for name, method in METHODS.items()}
    assert shown["Holm, baseline"] <= 0.08
    assert shown["Holm, all pairs"] <= 0.08
    assert n_copies < 30 or shown["Tukey"] > 0.2


def test_a_broken_third_run_hides_nothing() -> None:
    shared("trec_topic_scores")
    for n_sound in (1, 10):
        rates = third_runs(150, 1, n_sound)
        for name in ("Holm, baseline", "Holm, all pairs"):
            assert rates[name][1] >= rates[name][0] - 0.02
        assert rates["Tukey"][1] < rates["Tukey"][0] - 0.1


def test_a_loss_of_just_the_margin() -> None:
    """At the edge of the margin, "not worse" is said in 5% of collections; "equivalent" no more often."""
    rng = np.random.default_rng(3)
    worse, equal = [], []
    for _ in range(N_TRIALS):
        d = rng.normal(-0.02, 0.05, 40)
        worse.append(non_inferiority(d, margin=0.02).not_worse)
        equal.append(tost(d, margin=0.02).equivalent)
    assert 0.04 <= np.mean(worse) <= 0.06
    assert np.mean(equal) <= np.mean(worse)


@pytest.mark.parametrize("correlation", [0.1, 0.2, 0.3])
@pytest.mark.parametrize(("n_clusters", "largest"), list(SIZES.values()))
def test_questions_that_move_together(n_clusters: int, largest: int, correlation: float) -> None:
    """Differences alike within documents of unequal size: taken for independent they cry wolf, by cluster not."""
    rng = np.random.default_rng(n_clusters)
    rejected: dict[str, list[bool]] = {"t": [], "flips": [], "independent": []}
    for trial in range(N_TRIALS):
        d, clusters = clustered_differences(rng, n_clusters, largest, correlation)
        rejected["t"].append(paired_t(d, clusters=clusters).p <= 0.05)
        if trial % 4 == 0:
            rejected["flips"].append(sign_flip(d, seed=trial, n_resamples=499, clusters=clusters).p <= 0.05)
        rejected["independent"].append(paired_t(d).p <= 0.05)
    assert (0.03 if n_clusters == 5 else 0.04) <= np.mean(rejected["t"]) <= 0.06
    # Of five signs no pattern is rare enough.
    assert np.mean(rejected["flips"]) == 0 if n_clusters == 5 else 0.035 <= np.mean(rejected["flips"]) <= 0.065
    assert np.mean(rejected["independent"]) > 0.06


@pytest.mark.parametrize(("n_runs", "sd_runs"), [(3, 0.05), (3, 0.3), (10, 0.15)])
def test_several_runs_of_a_system(n_runs: int, sd_runs: float) -> None:
    """Averaged within the question they show what is there; taken for further questions they cry wolf."""
    averaged, pooled = repeats.false_positives(N_TRIALS, 3, n_runs, sd_runs)
    assert 0.04 <= averaged <= 0.06
    assert pooled > 0.1


@pytest.mark.parametrize("correlation", [0.1, 0.3])
@pytest.mark.parametrize(("n_clusters", "largest"), [(10, 8), (20, 8)])
def test_a_loss_of_just_the_margin_in_clusters(n_clusters: int, largest: int, correlation: float) -> None:
    """Hits lost together: by cluster a loss of the margin does not pass, question by question it may."""
    rng = np.random.default_rng(n_clusters)
    passed, independent = [], []
    for _ in range(400):
        d, clusters = clustered_losses(rng, n_clusters, largest, 0.1, correlation)
        passed.append(non_inferiority(d, margin=0.1, width=1, clusters=clusters).not_worse)
        independent.append(non_inferiority(d, margin=0.1, width=1).not_worse)
    assert np.mean(passed) <= 0.06
    assert np.mean(passed) <= np.mean(independent)


@pytest.mark.parametrize("n_others", [1, 3])
@pytest.mark.parametrize(("test", "n"), [("t", 10), ("t", 20), ("t", 50), ("randomization", 10)])
def test_intervals_that_leave_out_a_true_0(test: str, n: int, n_others: int) -> None:
    shared("trec_topic_scores")
    assert misses(test, normal(1 + n_others), n, n_others=n_others, draws=500, seed=1) <= 0.07
    # Of real differences there are some that no ten questions bear out.
    assert misses(test, real(1 + n_others), n, n_others=n_others, draws=500, seed=1) <= 0.12
