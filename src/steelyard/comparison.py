"""Is the difference real: systems compared with a baseline, query by query, on the questions that all of them have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from steelyard.arrays import Bools, Floats
from steelyard.errors import InputError
from steelyard.measures import Measure
from steelyard.scores import Scores
from steelyard.stats.effects import WinTieLoss, standardised, win_tie_loss
from steelyard.stats.equivalence import non_inferiority
from steelyard.stats.intervals import mean_intervals
from steelyard.stats.paired import Outcome, paired_t, sign_flip, sign_test, wilcoxon
from steelyard.stats.power import min_detectable_difference
from steelyard.stats.samples import differences
from steelyard.stats.several import CORRECTIONS, Pairs, correct, groups, sign_flip_pairs, tukey

Verdict = Literal["baseline", "better", "worse", "not worse", "no difference shown", "no test"]
TESTS: dict[str, Callable[[Floats, int], Outcome]] = {
    "t": lambda d, seed: paired_t(d),
    "randomization": lambda d, seed: sign_flip(d, seed=seed),
    "wilcoxon": lambda d, seed: wilcoxon(d),
    "sign": lambda d, seed: sign_test(d),
}
"""Tests of one pair; "tukey" tests all pairs at once."""


@dataclass(frozen=True)
class Compared:
    """One system beside the baseline, by one measure; the baseline beside itself has neither p nor verdict.

    mean, difference   of the system, and less the baseline's
    low, high          ends of the interval of the difference
    p, adjusted        before and after the correction; NaN where there is no test, and reason says why
    effect             standardised difference (d_z with Hedges' correction)
    counts             questions won, tied and lost
    detectable         smallest difference that these questions would show in 80 of 100 cases, alpha shared among all
                       comparisons of the family
    verdict            in words;   not_worse   than the margin, where one is given
    """

    system: str
    mean: float
    difference: float
    low: float
    high: float
    p: float
    adjusted: float
    effect: float
    counts: WinTieLoss
    detectable: float
    verdict: Verdict
    not_worse: bool | None = None
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    rows         by measure, then one of each system, best mean first
    groups       by measure: sets of systems that the test cannot tell apart, best first; none where systems were only
                 compared with the baseline
    n            by measure: questions that all systems have;   left_out   those of the others
    family       which comparisons the correction covers
    """

    baseline: str
    measures: Sequence[Measure]
    test: str
    correction: str
    family: str
    alpha: float
    margin: float | None
    seed: int
    rows: dict[str, list[Compared]]
    groups: dict[str, list[list[str]]]
    n: dict[str, int]
    left_out: dict[str, int]
    recipe: dict[str, object] = field(repr=False, default_factory=dict)


def compare(
    scores: Scores,
    *,
    baseline: str | None = None,
    test: str | None = None,
    correction: str | None = None,
    margin: float | None = None,
    alpha: float = 0.05,
    strict: bool = False,
    seed: int = 0,
) -> Comparison:
    """Compare systems with a baseline, or all of them with one another.

    scores       of `evaluate`, two systems at least; a question that a system lacks is left out for all of them where
                 it was skipped (missing="skip")
    baseline     a system's name; the first one by default
    test         "t", "randomization", "wilcoxon", "sign" with the baseline; "tukey" of all pairs.  t by default, tukey
                 from four systems on where no baseline is named
    correction   "holm" (default), "bonferroni", "bh" or "none", over all comparisons of all measures; Tukey's p are
                 family-wise for each measure by themselves, and never below the pair's own sign-flip p
    margin       largest loss that does not matter, in the measure's unit: "not worse" is then tested
    alpha        of tests; intervals of differences cover 1 - alpha
    strict       refuse systems that were scored on different questions
    Raises       InputError.

    >>> from steelyard import evaluate
    >>> truth = {f"q{i}": {"d": 1} for i in range(6)}
    >>> a, b = {q: ["x", "y", "d"] for q in truth}, {q: ["d"] if q != "q5" else ["x", "d"] for q in truth}
    >>> found = compare(evaluate(truth, {"a": a, "b": b}, "mrr"))
    >>> [(row.system, row.verdict) for row in found.rows["mrr"]]
    [('b', 'better'), ('a', 'baseline')]
    """
    names = list(scores.systems)
    if len(names) < 2:
        raise InputError(
            f"a comparison needs two systems at least, and {', '.join(names)} is the only one; name another"
        )
    if baseline is not None and baseline not in names:
        raise InputError(f"no system is called {baseline!r}; there are {', '.join(names)}")
    if not 0 < alpha < 1:
        raise InputError(f"alpha lies between 0 and 1, not {alpha!r}")
    if margin is not None and not (np.isfinite(margin) and margin > 0):
        raise InputError(f"a margin is a number above 0, not {margin!r}")
    chosen = test or ("tukey" if baseline is None and len(names) > 3 else "t")
    if chosen != "tukey" and chosen not in TESTS:
        raise InputError(f"no test is called {chosen!r}; there are {', '.join(TESTS)} and tukey")
    if correction is not None and (correction not in CORRECTIONS or chosen == "tukey"):
        told = "Tukey's p are family-wise already" if chosen == "tukey" else f"there are {', '.join(CORRECTIONS)}"
        raise InputError(f"correction {correction!r}: {told}")
    for measure in scores.measures:
        if measure.definition.aggregate == "geometric":
            raise InputError(f"{measure} is a geometric mean, and the tests are of arithmetic ones; compare by another")
    reference = names.index(names[0] if baseline is None else baseline)
    common: list[Bools] = [np.asarray(~np.isnan(scores.values[:, j]).any(axis=0)) for j in range(len(scores.measures))]
    _check_common(scores, common, strict=strict)
    method = "tukey" if chosen == "tukey" else correction or "holm"
    pairs = [_all_pairs(scores.values[:, j][:, kept], seed) if chosen == "tukey" and kept.sum() else None
             for j, kept in enumerate(common)]  # fmt: skip
    tests = [_tests(scores.values[:, j][:, kept], reference, chosen, pairs[j], seed) for j, kept in enumerate(common)]
    adjusted, family, n_comparisons = _adjusted(tests, pairs, names, method)
    rows: dict[str, list[Compared]] = {}
    together: dict[str, list[list[str]]] = {}
    for j, measure in enumerate(scores.measures):
        values = scores.values[:, j][:, common[j]]
        made = [
            _compared(
                name, values[i], values[reference], tests[j][i], adjusted[j][i], margin, alpha, n_comparisons, seed
            )
            for i, name in enumerate(names)
        ]
        rows[str(measure)] = sorted(
            made, key=lambda row: (-np.nan_to_num(row.mean, nan=-np.inf), names.index(row.system))
        )
        found = pairs[j]
        if found is not None and found.reason is None:
            together[str(measure)] = [
                [names[i] for i in group] for group in groups(values.mean(axis=1), found, alpha=alpha)
            ]
    measures = [str(measure) for measure in scores.measures]
    n = [int(kept.sum()) for kept in common]
    return Comparison(
        baseline=names[reference], measures=scores.measures, test=chosen, correction=method, family=family, alpha=alpha,
        margin=margin, seed=seed, rows=rows, groups=together, n=dict(zip(measures, n, strict=True)),
        left_out={name: len(scores.query_ids) - kept for name, kept in zip(measures, n, strict=True)},
        recipe=dict(scores.recipe),
    )  # fmt: skip


def _all_pairs(values: Floats, seed: int) -> Pairs:
    """Randomised Tukey, with no pair surer than by a sign-flip test of its own.

    Tukey's shuffles hold its errors where all systems are alike; among near copies of one system they make too little
    of the spread of a pair that differs from them.
    """
    found = tukey(values, seed=seed)
    own = sign_flip_pairs(values, seed=seed, correction="none").p
    p = np.maximum(found.p, own)
    return replace(found, p=p, adjusted=p)


def _check_common(scores: Scores, common: Sequence[Bools], *, strict: bool) -> None:
    for measure, kept in zip(scores.measures, common, strict=True):
        if not kept.any():
            raise InputError(f"{measure}: no question has a value for every system; are these systems of one truth?")
        if strict and not kept.all():
            raise InputError(
                f"{measure}: {int((~kept).sum())} of {len(kept)} questions lack a value for some system, first "
                f"{scores.query_ids[int(np.flatnonzero(~kept)[0])]!r}; without --strict the common ones are compared"
            )


def _tests(values: Floats, reference: int, test: str, pairs: Pairs | None, seed: int) -> list[Outcome | None]:
    """The test of each system against the baseline; None for the baseline itself."""
    made: list[Outcome | None] = []
    for i in range(len(values)):
        if i == reference:
            made.append(None)
        elif pairs is None:
            made.append(TESTS[test](differences(values[reference], values[i]), seed))
        else:
            at = int(np.flatnonzero((pairs.first == min(i, reference)) & (pairs.second == max(i, reference)))[0])
            made.append(
                Outcome("tukey", float(pairs.difference[at]), float(pairs.p[at]), pairs.n, reason=pairs.reason)
            )  # fmt: skip
    return made


def _adjusted(
    tests: Sequence[Sequence[Outcome | None]], pairs: Sequence[Pairs | None], names: Sequence[str], method: str
) -> tuple[list[list[float]], str, int]:
    """The corrected p of every test, by measure and system; what the correction covers, in words and number."""
    plain = np.array([np.nan if test is None else test.p for of_one in tests for test in of_one])
    if method == "tukey":
        s = len(names)
        covered = f"all {s * (s - 1) // 2} pairs of {s} systems" if s > 2 else "the one pair"
        family = covered + (", for each measure by itself" if len(tests) > 1 else "")
        return plain.reshape(len(tests), -1).tolist(), family, s * (s - 1) // 2
    m, s = len(tests), len(names) - 1
    family = f"{s} comparison{'s' * (s > 1)} with the baseline"
    if m > 1:
        family = f"{m * s} comparisons: {s} with the baseline by each of {m} measures"
    found = correct(plain, method=method, family=family)
    return found.adjusted.reshape(m, -1).tolist(), family, 1 if method == "none" else m * s


def _compared(
    name: str, values: Floats, reference: Floats, test: Outcome | None, adjusted: float, margin: float | None,
    alpha: float, n_comparisons: int, seed: int,
) -> Compared:  # fmt: skip
    """One row; the baseline's where there is no test."""
    mean, d = float(values.mean()), differences(reference, values)
    counts = win_tie_loss(d)
    if test is None:
        nothing = float("nan")
        return Compared(name, mean, 0.0, nothing, nothing, nothing, nothing, 0.0, counts, nothing, "baseline")
    interval = mean_intervals(d[:, None], seed=seed, level=1 - alpha, method="t" if test.test == "t" else "bca")
    held = None if margin is None else non_inferiority(d, margin=margin, alpha=alpha).not_worse
    detectable = min_detectable_difference(d, alpha=alpha, n_comparisons=n_comparisons)
    if np.isnan(adjusted):
        verdict: Verdict = "no test"
    elif adjusted <= alpha:
        verdict = "better" if _direction(test.test, d, counts) > 0 else "worse"
    else:
        verdict = "not worse" if held else "no difference shown"
    return Compared(
        name, mean, float(d.mean()), float(interval.low[0]), float(interval.high[0]), test.p, adjusted,
        standardised(d).hedges_g, counts, detectable, verdict, held, test.reason,
    )  # fmt: skip


def _direction(test: str, d: Floats, counts: WinTieLoss) -> float:
    """Above 0 where the test found in the system's favour: tests of ranks and of signs may contradict the mean."""
    if test == "sign":
        return counts.n_wins - counts.n_losses
    return wilcoxon(d).statistic - wilcoxon(-d).statistic if test == "wilcoxon" else float(d.mean())
