"""Is the difference real: systems compared with a baseline, query by query, on the questions that all of them have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from steelyard.base.arrays import Bools, Floats
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.experiment import defaults
from steelyard.experiment.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.agreement import kendall_tau, rank_biased_overlap, tau_ap
from steelyard.stats.corrections import CORRECTIONS, correct
from steelyard.stats.effects import RelativeChange, WinTieLoss, relative_change, standardised, win_tie_loss
from steelyard.stats.equivalence import Equivalence, NonInferiority, non_inferiority, tost
from steelyard.stats.grouping import indistinguishable
from steelyard.stats.guarded import MANY_QUERIES, guarded_tukey
from steelyard.stats.intervals import mean_intervals
from steelyard.stats.paired import PairedTest, paired_t, sign_flip, sign_test, wilcoxon
from steelyard.stats.pairs import Pairs, placed
from steelyard.stats.power import min_detectable_difference, questions_needed
from steelyard.stats.samples import differences, mean_error, t_quantile

Verdict = Literal["baseline", "better", "worse", "not worse", "no difference shown", "no test"]
Reason = Literal["few questions", "no spread"]
TESTS: dict[str, Callable[[Floats, int], PairedTest]] = {
    "t": lambda d, seed: paired_t(d),
    "randomization": lambda d, seed: sign_flip(d, seed=seed),
    "wilcoxon": lambda d, seed: wilcoxon(d),
    "sign": lambda d, seed: sign_test(d),
}
"""Tests of one pair; "tukey" tests all pairs at once."""

_DEEP = 0.9


_POWER, _MOST_QUESTIONS = 0.8, 10**9


@dataclass(frozen=True)
class Compared:
    """One system beside the baseline, by one measure; the baseline beside itself has neither p nor verdict.

    mean, difference   of the system, and less the baseline's
    low, high          ends of the interval of the difference
    relative           the difference as a share of the baseline's mean, with its interval; None for the baseline
    p, adjusted        before and after the correction; NaN where there is no test, and reason says why: "few questions"
                       (fewer than two), or "no spread" (all differences are equal, which a t test cannot judge)
    effect             standardised difference (d_z with Hedges' correction)
    counts             questions won, tied and lost
    detectable         smallest difference that these questions would show in 80 of 100 cases, alpha shared among all
                       comparisons of the family; infinite where values of the measure cannot differ by so much;
                       NaN for tests of ranks and signs, which are not about means
    needed             where no difference is shown: how many questions would show the effect that was found in 80 of
                       100 cases, were it the true one; None elsewhere, and where there is none or it is beyond measure
    verdict            as a code;   not_worse   than the margin, and equivalent within it, where one is given
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
    reason: Reason | None = None
    equivalent: bool | None = None
    relative: RelativeChange | None = None
    needed: int | None = None


@dataclass(frozen=True)
class Agreement:
    """How far the leaderboard by another measure agrees with that by the first one.

    kendall   tau-b;   tau_ap   the same with the weight at the top
    rbo       rank-biased overlap;   rbo_p   its p, so that one looks half of the way down s systems on average, and ten
              places at most: min(0.9, 1 - 2 / s)
    """

    first: str
    other: str
    kendall: float
    tau_ap: float
    rbo: float
    rbo_p: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    rows          by measure, then one of each system, best mean first
    groups        by measure: sets of systems that the test cannot tell apart, best first; none where systems were only
                  compared with the baseline
    n             by measure: questions that all systems have;   left_out   those of the others
    lacking       by measure: system -> questions without a value of it, of the systems that have any such
    missing       system -> questions that are absent from its run and count 0, of the systems that have any such
    family        which comparisons the correction covers;   n_comparisons   how many alpha is shared among
    agreement     of each further measure with the first one, where there are three systems or more
    segments      by name: the same comparison among the questions of one segment; one correction covers all segments,
                  and touches nothing else
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
    n_comparisons: int = 1
    agreement: Sequence[Agreement] = ()
    segments: Mapping[str, Comparison] = field(default_factory=dict)
    lacking: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)


def compare(
    scores: Scores,
    *,
    baseline: str | None = None,
    test: str | None = None,
    correction: str | None = None,
    margin: float | None = None,
    alpha: float = defaults.ALPHA,
    strict: bool = False,
    seed: int = defaults.SEED,
    segments: Mapping[str, Bools] | None = None,
    segment_correction: str = "bh",
) -> Comparison:
    """Compare systems with a baseline, or all of them with one another.

    scores       of `evaluate`, two systems at least; a question that is missing from a run counts 0, or is left out
                 for all systems where it was skipped (missing="skip")
    baseline     a system's name; the first one by default
    test         "t", "randomization", "wilcoxon", "sign" with the baseline; "tukey" of all pairs.  t by default, tukey
                 from four systems on where no baseline is named
    correction   "holm" (default), "bonferroni", "bh" or "none", over all comparisons of all measures; Tukey's p are
                 family-wise for each measure by themselves, and never below the pair's own sign-flip p
    margin       largest difference that does not matter, in the measure's unit: "not worse" and "equivalent" are then
                 tested, with the correction that the tests of difference have (Holm beside Tukey)
    alpha        of tests; intervals of differences cover 1 - alpha
    strict       refuse systems that lack questions
    segments     name -> (q,) which questions belong to it, as `segments` makes them: each is compared by itself, with
                 the baseline and by the same test (t where that is Tukey)
    segment_correction  over all comparisons of all segments; as correction, "bh" by default, as one looks at segments
                 to explore
    Raises       InputError.

    >>> from steelyard import evaluate
    >>> truth = {f"q{i}": {"d": 1} for i in range(6)}
    >>> a, b = {q: ["x", "y", "d"] for q in truth}, {q: ["d"] if q != "q5" else ["x", "d"] for q in truth}
    >>> found = compare(evaluate(truth, {"a": a, "b": b}, "mrr"))
    >>> [(row.system, row.verdict) for row in found.rows["mrr"]]
    [('b', 'better'), ('a', 'baseline')]
    """
    names = list(scores.systems)
    chosen = test or ("tukey" if baseline is None and len(names) > 3 else "t")
    _check_options(scores, baseline, chosen, correction, segment_correction, margin, alpha)
    reference = names.index(names[0] if baseline is None else baseline)
    common: list[Bools] = [np.asarray(~np.isnan(scores.values[:, j]).any(axis=0)) for j in range(len(scores.measures))]
    _check_common(scores, common, strict=strict)
    method = "tukey" if chosen == "tukey" else correction or "holm"
    plan = _Plan(names, scores.measures, reference, chosen, method, alpha, margin, seed)
    values = [scores.values[:, j][:, kept] for j, kept in enumerate(common)]
    pairs = [_all_pairs(each, plan) if chosen == "tukey" else None for each in values]
    family, n_comparisons = _family(plan)
    (rows,) = _rows(plan, [values], pairs, n_comparisons)
    left_out = [len(scores.query_ids) - int(kept.sum()) for kept in common]
    made = _comparison(plan, rows, values, left_out, family, n_comparisons)
    return replace(
        made, groups=_groups(plan, values, pairs), recipe=dict(scores.recipe), agreement=_agreement(plan, values),
        segments=_segments(plan, scores, common, segments or {}, segment_correction),
        lacking={str(measure): _counts(names, np.isnan(scores.values[:, j]))
                 for j, measure in enumerate(scores.measures)},
        missing=_counts(names, scores.missing & ~np.isnan(scores.values).all(axis=1)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Plan:
    """What holds for every comparison of one call."""

    names: list[str]
    measures: Sequence[Measure]
    reference: int
    test: str
    method: str
    alpha: float
    margin: float | None
    seed: int


def _all_pairs(values: Floats, plan: _Plan) -> Pairs:
    """Tukey's p of all pairs; shuffled by name, so that the order in which systems are listed moves no p."""
    by_name = sorted(range(len(plan.names)), key=lambda i: plan.names[i])
    return placed(guarded_tukey(values[by_name], seed=plan.seed, alpha=plan.alpha), by_name)


def _check_options(
    scores: Scores, baseline: str | None, test: str, correction: str | None, segment_correction: str,
    margin: float | None, alpha: float,
) -> None:  # fmt: skip
    names = scores.systems
    if len(names) < 2:
        raise InputError(
            f"a comparison needs two systems at least, and {', '.join(names)} is the only one; name another"
        )
    if baseline is not None and baseline not in names:
        raise InputError(f"no system is called {baseline!r}; {nearest(baseline, names)}")
    if not 0 < alpha < 1:
        raise InputError(f"alpha lies between 0 and 1, not {alpha!r}")
    if margin is not None and not (np.isfinite(margin) and margin > 0):
        raise InputError(f"a margin is a number above 0, not {margin!r}")
    if test != "tukey" and test not in TESTS:
        raise InputError(f"no test is called {test!r}; there are {', '.join(TESTS)} and tukey")
    if correction is not None and (correction not in CORRECTIONS or test == "tukey"):
        told = "Tukey's p are family-wise already" if test == "tukey" else f"there are {', '.join(CORRECTIONS)}"
        raise InputError(f"correction {correction!r}: {told}")
    if segment_correction not in CORRECTIONS:
        raise InputError(f"correction {segment_correction!r} of segments: there are {', '.join(CORRECTIONS)}")
    for measure in scores.measures:
        if measure.definition.aggregate == "geometric":
            raise InputError(f"{measure} is a geometric mean, and the tests are of arithmetic ones; compare by another")


def _check_common(scores: Scores, common: Sequence[Bools], *, strict: bool) -> None:
    for measure, kept in zip(scores.measures, common, strict=True):
        if not kept.any():
            raise InputError(f"{measure}: no question has a value for every system; are these systems of one truth?")
        lacks = scores.missing | np.isnan(scores.values[:, list(scores.measures).index(measure)])
        if strict and lacks.any():
            listed = ", ".join(f"{name}: {n}" for name, n in _counts(scores.systems, lacks).items())
            raise InputError(
                f"{measure}: {int(lacks.any(axis=0).sum())} of {len(kept)} questions lack a value ({listed}), first "
                f"{scores.query_ids[int(np.flatnonzero(lacks.any(axis=0))[0])]!r}; without --strict they count 0, or "
                "are left out (--missing skip)"
            )


def _counts(systems: Sequence[str], lacks: Bools) -> dict[str, int]:
    """Questions of each system that (s, q) `lacks` marks, of the systems that have any."""
    return {system: int(n) for system, n in zip(systems, lacks.sum(axis=1), strict=True) if n}


def _family(plan: _Plan, n_segments: int | None = None) -> tuple[str, int]:
    """What the correction covers, in words; among how many comparisons alpha is shared."""
    m, s = len(plan.measures), len(plan.names) - 1
    if plan.test == "tukey":
        n_pairs = s * (s + 1) // 2
        covered = f"all {n_pairs} pairs of {s + 1} systems" if s > 1 else "the one pair"
        return covered + (", for each measure by itself" if m > 1 else ""), n_pairs
    n = m * s * (n_segments or 1)
    of_each = f"{s} with the baseline" + (f" by each of {m} measures" if m > 1 else "")
    if n_segments is not None:
        words = f"{n} comparison{'s' * (n > 1)}: {of_each} in each of {n_segments} segment{'s' * (n_segments > 1)}"
    else:
        words = f"{n} comparisons: {of_each}" if m > 1 else f"{s} comparison{'s' * (s > 1)} with the baseline"
    return words, 1 if plan.method == "none" else n


def _rows(
    plan: _Plan, parts: Sequence[Sequence[Floats]], pairs: Sequence[Pairs | None], n_comparisons: int
) -> list[list[list[Compared]]]:
    """The rows of every part and measure, systems in the order given; one correction covers all of them.

    parts   of the questions, each with (s, n) values for every measure;   pairs   for every measure, of Tukey
    """
    tests = [[_tests(values, plan, pairs[j]) for j, values in enumerate(part)] for part in parts]
    margins = [
        [[_against_margin(values, i, plan) for i in range(len(plan.names))] for values in part] for part in parts
    ]
    p = np.array([[[test.p if test else np.nan for test in row] for row in part] for part in tests], dtype=float)
    adjusted = p if plan.method == "tukey" else _corrected(p, plan.method)
    worse, other = (
        _corrected(
            np.array([[[each[which].p if each else np.nan for each in row] for row in part] for part in margins]),
            margin_correction(plan.method),
        )
        for which in (0, 1)
    )
    return [
        [
            [
                _compared(
                    plan, j, values, i, tests[g][j][i], float(adjusted[g, j, i]),
                    _held(margins[g][j][i], float(worse[g, j, i]), float(other[g, j, i]), plan.alpha), n_comparisons,
                    None if (tested := pairs[j]) is None else tested.critical,
                )
                for i in range(len(plan.names))
            ]
            for j, values in enumerate(part)
        ]
        for g, part in enumerate(parts)
    ]  # fmt: skip


def margin_correction(correction: str) -> str:
    """The correction of tests against the margin: that of the tests of difference, and Holm beside Tukey."""
    return "holm" if correction == "tukey" else correction


def _corrected(p: Floats, method: str) -> Floats:
    """(parts, measures, systems) p after the correction."""
    return correct(p.ravel(), method=method, family="").adjusted.reshape(p.shape)


def _tests(values: Floats, plan: _Plan, pairs: Pairs | None) -> list[PairedTest | None]:
    """The test of each system against the baseline; None for the baseline itself."""
    made: list[PairedTest | None] = []
    for i in range(len(values)):
        if i == plan.reference:
            made.append(None)
        elif pairs is None:
            made.append(TESTS[plan.test](differences(values[plan.reference], values[i]), plan.seed))
        else:
            low, high = min(i, plan.reference), max(i, plan.reference)
            at = int(np.flatnonzero((pairs.first == low) & (pairs.second == high))[0])
            found = float(pairs.difference[at]), float(pairs.p[at])
            made.append(PairedTest("tukey", *found, pairs.n, reason=pairs.reason))
    return made


def _against_margin(values: Floats, i: int, plan: _Plan) -> tuple[NonInferiority, Equivalence] | None:
    """Tests of one system against the margin; None for the baseline itself, and without a margin."""
    if plan.margin is None or i == plan.reference:
        return None
    d = differences(values[plan.reference], values[i])
    if not len(d) or np.ptp(d) == 0:
        return None  # No spread: nothing tells how far another sample of questions could lie.
    return non_inferiority(d, margin=plan.margin), tost(d, margin=plan.margin)


def _held(
    tests: tuple[NonInferiority, Equivalence] | None, worse: float, other: float, alpha: float
) -> tuple[bool | None, bool | None]:
    """Whether a system is not worse than the margin, and equivalent within it, by the corrected p of the two tests."""
    if tests is None:
        return None, None
    # Where there is no p, the test has said what it can: differences that are all equal, or too few questions.
    return (
        tests[0].not_worse if np.isnan(worse) else worse < alpha,
        tests[1].equivalent if np.isnan(other) else other < alpha,
    )


def _compared(
    plan: _Plan, j: int, of_all: Floats, i: int, test: PairedTest | None, adjusted: float,
    held: tuple[bool | None, bool | None], n_comparisons: int, critical: float | None,
) -> Compared:  # fmt: skip
    """One row; the baseline's where there is no test."""
    name, values, reference, alpha = plan.names[i], of_all[i], of_all[plan.reference], plan.alpha
    nothing = float("nan")
    d = differences(reference, values)
    mean, difference = (float(each.mean()) if len(d) else nothing for each in (values, d))
    counts = win_tie_loss(d)
    if test is None:
        return Compared(name, mean, 0.0, nothing, nothing, nothing, nothing, 0.0, counts, nothing, "baseline")
    low = high = nothing
    if len(d):
        method = "t" if test.test == "t" else "bca" if len(d) < MANY_QUERIES else "normal"
        interval = mean_intervals(d[:, None], seed=plan.seed, level=1 - alpha, method=method)
        low, high = float(interval.low[0]), float(interval.high[0])
    effect = standardised(d).hedges_g
    # How far apart means must be says nothing of tests of ranks and signs.
    of_means = plan.test not in ("wilcoxon", "sign")
    detectable = _detectable(d, plan.measures[j], alpha, n_comparisons, critical) if of_means else nothing
    if np.isnan(adjusted):
        verdict: Verdict = "no test"
    elif adjusted <= alpha:
        verdict = "better" if _direction(test.test, d, counts) > 0 else "worse"
    else:
        verdict = "not worse" if held[0] else "no difference shown"
    needed = None
    if of_means and verdict == "no difference shown":
        needed = _needed(d, effect, alpha, n_comparisons, critical, detectable)
    return Compared(
        name, mean, difference, low, high, test.p, adjusted, effect, counts,
        detectable, verdict, held[0],
        _reason(test, len(d)), held[1], relative_change(reference, values, level=1 - alpha),
        needed,
    )  # fmt: skip


def _reason(test: PairedTest, n: int) -> Reason | None:
    if test.reason is None:
        return None
    return "few questions" if n < 2 else "no spread"


def _detectable(d: Floats, measure: Measure, alpha: float, n_comparisons: int, critical: float | None) -> float:
    """What these questions would show in 80 of 100 cases; with Tukey, what then lies beyond the critical difference."""
    if critical is None:
        found = min_detectable_difference(d, alpha=alpha, n_comparisons=n_comparisons)
    else:
        # Chance lifts or lowers a difference by its standard error; and no pair is surer than by its own test.
        error = mean_error(d).error
        found = max(critical + t_quantile(_POWER, len(d) - 1) * error, min_detectable_difference(d, alpha=alpha))
    low, high = measure.definition.range
    return np.inf if found > high - low else found


def _needed(
    d: Floats, effect: float, alpha: float, n_comparisons: int, critical: float | None, detectable: float
) -> int | None:  # fmt: skip
    """How many questions would show the effect found, were it the true one; None where nobody could ask so many."""
    if not (np.isfinite(effect) and effect):
        return None
    if critical is not None:
        # Critical difference and standard error both shrink with the root of the number of questions.
        times = (detectable / abs(float(d.mean()))) ** 2 if np.isfinite(detectable) else np.inf
        return math.ceil(len(d) * times) if len(d) * times <= _MOST_QUESTIONS else None
    try:
        return questions_needed(effect, alpha=alpha, n_comparisons=n_comparisons)
    except InputError:  # more than anybody could ask
        return None


def _direction(test: str, d: Floats, counts: WinTieLoss) -> float:
    """Above 0 where the test found in the system's favour: tests of ranks and of signs may contradict the mean."""
    if test == "sign":
        return counts.n_wins - counts.n_losses
    return wilcoxon(d).statistic - wilcoxon(-d).statistic if test == "wilcoxon" else float(d.mean())


def _comparison(
    plan: _Plan, rows: Sequence[list[Compared]], values: Sequence[Floats], left_out: Sequence[int], family: str,
    n_comparisons: int,
) -> Comparison:  # fmt: skip
    """What one part of the questions has shown."""
    measures = [str(measure) for measure in plan.measures]
    return Comparison(
        baseline=plan.names[plan.reference], measures=plan.measures, test=plan.test, correction=plan.method,
        family=family, alpha=plan.alpha, margin=plan.margin, seed=plan.seed,
        rows={name: _ordered(each) for name, each in zip(measures, rows, strict=True)}, groups={},
        n={name: each.shape[1] for name, each in zip(measures, values, strict=True)},
        left_out=dict(zip(measures, left_out, strict=True)), n_comparisons=n_comparisons,
    )  # fmt: skip


def _ordered(rows: list[Compared]) -> list[Compared]:
    """Best mean first; of equal means the system that was given first."""
    return sorted(rows, key=lambda row: -np.nan_to_num(row.mean, nan=-np.inf))


def _groups(plan: _Plan, values: Sequence[Floats], pairs: Sequence[Pairs | None]) -> dict[str, list[list[str]]]:
    return {
        str(measure): [
            [plan.names[i] for i in group] for group in indistinguishable(each.mean(axis=1), found, alpha=plan.alpha)
        ]
        for measure, each, found in zip(plan.measures, values, pairs, strict=True)
        if found is not None and found.reason is None
    }


def _agreement(plan: _Plan, values: Sequence[Floats]) -> list[Agreement]:
    """Of each further measure's leaderboard with the first one's; none for two systems, which can only swap."""
    if len(plan.names) < 3:
        return []
    means = [each.mean(axis=1) for each in values]
    boards = [[plan.names[i] for i in np.argsort(-each, kind="stable").tolist()] for each in means]
    p = min(_DEEP, 1 - 2 / len(plan.names))
    return [
        Agreement(
            str(plan.measures[0]), str(plan.measures[j]), kendall_tau(means[0], means[j]), tau_ap(means[0], means[j]),
            rank_biased_overlap(boards[0], boards[j], p=p).extrapolated, p,
        )
        for j in range(1, len(means))
    ]  # fmt: skip


def _segments(
    plan: _Plan, scores: Scores, common: Sequence[Bools], segments: Mapping[str, Bools], method: str
) -> dict[str, Comparison]:
    """The comparison of each segment, with one correction over all of them."""
    if not segments:
        return {}
    members = {name: np.asarray(each, dtype=bool) for name, each in segments.items()}
    for name, each in members.items():
        if each.shape != (len(scores.query_ids),):
            raise InputError(
                f"segment {name!r} has shape {each.shape}, expected ({len(scores.query_ids)},): one truth value for "
                "each question of the scores"
            )
    plan = replace(plan, test="t" if plan.test == "tukey" else plan.test, method=method)
    family, n_comparisons = _family(plan, len(members))
    parts = [[scores.values[:, j][:, kept & each] for j, kept in enumerate(common)] for each in members.values()]
    found = _rows(plan, parts, [None] * len(common), n_comparisons)
    return {
        name: _comparison(
            plan, rows, part, [int((each & ~kept).sum()) for kept in common], family, n_comparisons
        )
        for (name, each), part, rows in zip(members.items(), parts, found, strict=True)
    }  # fmt: skip
