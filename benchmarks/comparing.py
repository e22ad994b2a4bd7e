"""How long it takes to tell 37 real systems apart: randomised Tukey, and sign flips of all 666 pairs.

    python benchmarks/comparing.py FOLDER [--rounds N] [--markdown FILE]

FOLDER holds a truth (qrels*) and a folder of runs of it in TREC's format, such as TREC 2019 Deep Learning's passage
task.  p-values are first held against plain loops over other draws: they must agree within the chance of the draws.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np

from steelyard import compare, evaluate
from steelyard.stats.tests.pairs import all_pairs, sign_flip_pairs, tukey

N_SHUFFLES, N_FLIPS = 10_000, 100_000
ALLOWED = 4.5  # standard errors between two estimates of one p


def slow_sign_flip(d: np.ndarray, rng: np.random.Generator, n: int) -> float:
    """Share of sign patterns whose mean lies as far from 0 as the one found."""
    reached = sum(abs((d * rng.choice((-1, 1), len(d))).mean()) >= abs(d.mean()) - 1e-12 for _ in range(n))
    return (1 + reached) / (1 + n)


def slow_tukey(values: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    """Shares of shuffles in which the largest difference of two means reaches that of each pair."""
    means, pairs = values.mean(axis=1), all_pairs(len(values))
    ranges = [np.ptp(rng.permuted(values, axis=0).mean(axis=1)) for _ in range(n)]
    found = np.abs(means[pairs[:, 0]] - means[pairs[:, 1]])
    return np.array([(1 + np.sum(np.array(ranges) >= each - 1e-12)) / (1 + n) for each in found])


def check(name: str, ours: np.ndarray, slow: np.ndarray, n: int) -> None:
    """Stop where two estimates of the same p differ by more than their draws explain."""
    error = np.sqrt(np.maximum(slow * (1 - slow), 1 / n) / n) + 1 / n
    worst = float((np.abs(ours - slow) / error).max())
    if worst > ALLOWED:
        raise SystemExit(f"{name}: p differ by {worst:.1f} standard errors; nothing is timed")


def main() -> None:
    """Check, time, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    truth = next(options.folder.glob("qrels*"))
    folders = [sorted(map(str, folder.iterdir())) for folder in options.folder.glob("runs*") if folder.is_dir()]
    runs = max(folders, key=len)
    scores = evaluate(str(truth), runs, "ndcg@10", missing="skip")
    values = scores.values[:, 0][:, ~np.isnan(scores.values[:, 0]).any(axis=0)]
    rng = np.random.default_rng(1)
    check("tukey", tukey(values, seed=0).p, slow_tukey(values, rng, 2_000), 2_000)
    found, some = sign_flip_pairs(values, seed=0, n_resamples=N_FLIPS), all_pairs(len(values))[::40]
    slow = np.array([slow_sign_flip(values[b] - values[a], rng, 2_000) for a, b in some])
    check("sign flips", found.p[::40], slow, 2_000)
    works = {
        f"randomised Tukey, {N_SHUFFLES:,} shuffles": lambda: tukey(values, seed=0, n_resamples=N_SHUFFLES),
        f"sign flips of all {len(found.p)} pairs, {N_FLIPS:,} each": lambda: sign_flip_pairs(
            values, seed=0, n_resamples=N_FLIPS
        ),
        "compare(): Tukey, intervals, groups": lambda: compare(scores, test="tukey"),
        "compare(): t tests with Holm, intervals, groups": lambda: compare(scores),
    }
    print(f"{len(values)} systems, {values.shape[1]} questions, ndcg@10; p agree with plain loops\n")
    lines = ["| work | seconds (median) | spread |", "|---|---:|---:|"]
    for name, work in works.items():
        times = []
        for _ in range(options.rounds):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
        lines.append(f"| {name} | {statistics.median(times):.2f} | {min(times):.2f}–{max(times):.2f} |")
    print("\n".join(lines))
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
