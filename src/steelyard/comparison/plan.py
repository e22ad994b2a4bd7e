"""Plans of comparisons: options, checked once, and which comparisons share alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.base.options import TestOptions
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.samples import checked_seed
from steelyard.stats.tests.corrections import CORRECTIONS
from steelyard.stats.tests.paired import PairedTest, paired_t, sign_flip, sign_test, wilcoxon

TESTS: dict[str, Callable[[Floats, int, Ints | None], PairedTest]] = {
    "t": lambda d, seed, clusters: paired_t(d, clusters=clusters),
    "randomization": lambda d, seed, clusters: sign_flip(d, seed=seed, clusters=clusters),
    "wilcoxon": lambda d, seed, clusters: wilcoxon(d),
    "sign": lambda d, seed, clusters: sign_test(d),
}
"""Tests of one pair, from differences, seed and clusters; "tukey" tests all pairs at once."""

_OF_MEANS = ("t", "randomization", "tukey")
WELCH = "welch"
"""Name of the test of means of different questions."""


@dataclass(frozen=True)
class Family:
    """Comparisons that one correction covers: those by the primary measure, or those by all others.

    covers          the comparisons in words;   n_comparisons   how many alpha is shared among
    """

    measures: Sequence[str]
    covers: str
    n_comparisons: int


@dataclass(frozen=True)
class Plan:
    """Options of one family of comparisons.

    reference    place of the system that others are compared with: the baseline, or without one the leader
    all_pairs    whether there is no baseline, so that the family holds all pairs of systems
    n_segments   of the questions; None where all questions are compared together
    identical    systems that gave the same results as the baseline, lists and all
    paired       whether systems are compared question by question; else each has questions of its own
    """

    systems: Sequence[str]
    measures: Sequence[Measure]
    reference: int
    test: str
    correction: str
    alpha: float
    margin: float | None
    seed: int
    all_pairs: bool = False
    n_segments: int | None = None
    identical: frozenset[str] = frozenset()
    paired: bool = True

    @property
    def baseline(self) -> str | None:
        """Name of the baseline; None without one."""
        return None if self.all_pairs else self.reference_name

    @property
    def reference_name(self) -> str:
        """Name of the baseline, or of the leader."""
        return self.systems[self.reference]

    @property
    def is_of_means(self) -> bool:
        """True if the test is about means rather than ranks and signs."""
        return self.test in _OF_MEANS

    @property
    def shown_test(self) -> str:
        """Name of the test: "ranks" where all measures are percentiles, "welch" of means without pairs."""
        if all(measure.share is not None for measure in self.measures):
            return "ranks"
        return self.test if self.paired else WELCH

    @property
    def families(self) -> list[Plan]:
        """The plan of the primary measure, and that of all others, if any: each is corrected by itself."""
        parts = (self.measures[:1], self.measures[1:])
        return [replace(self, measures=measures) for measures in parts if measures]

    @property
    def family(self) -> Family:
        """The comparisons of the plan, which must be of one family."""
        return Family([str(measure) for measure in self.measures], self._covers, self.n_comparisons)

    @property
    def n_comparisons(self) -> int:
        """Among how many comparisons alpha is shared; 1 where nothing is corrected."""
        if self.test == "tukey":
            return self._n_pairs
        return 1 if self.correction == "none" else self._n_tests

    @property
    def _covers(self) -> str:
        m, s, segments = len(self.measures), len(self.systems), self.n_segments
        if self.test == "tukey" or self.all_pairs:
            pairs = f"all {self._n_pairs} pairs of {s} systems" if s > 2 else "the one pair"
            each = ", for each measure by itself" if self.test == "tukey" else f" by each of {m} measures"
            pairs += each if m > 1 else ""
            return pairs if segments is None else f"{pairs} in each of {_plural(segments, 'segment')}"
        with_baseline = f"{s - 1} with the baseline" + (f" by each of {m} measures" if m > 1 else "")
        if segments is not None:
            return f"{_plural(self._n_tests, 'comparison')}: {with_baseline} in each of {_plural(segments, 'segment')}"
        if m > 1:
            return f"{self._n_tests} comparisons: {with_baseline}"
        return f"{_plural(s - 1, 'comparison')} with the baseline"

    @property
    def _n_pairs(self) -> int:
        return len(self.systems) * (len(self.systems) - 1) // 2

    @property
    def _n_tests(self) -> int:
        n_each = self._n_pairs if self.all_pairs else len(self.systems) - 1
        return len(self.measures) * n_each * (self.n_segments or 1)


def plan(scores: Scores, options: TestOptions, *, paired: bool = True) -> Plan:
    """Check the options of `compare`, and fill in what was left open.

    The first of two systems is the baseline of the other; of three and more, none is that was not named, but without
    pairs the first.

    Raises   InputError
    """
    systems, baseline, margin, alpha = list(scores.systems), options.baseline, options.margin, options.alpha
    if len(systems) < 2:
        raise InputError(
            f"a comparison needs two systems at least, and {', '.join(systems)} is the only one; name another"
        )
    if baseline is not None and baseline not in systems:
        raise InputError(f"no system is called {baseline!r}; {nearest(baseline, systems)}")
    if not 0 < alpha < 1:
        raise InputError(f"alpha lies between 0 and 1, not {alpha!r}")
    if margin is not None and not (np.isfinite(margin) and margin > 0):
        raise InputError(f"a margin is a number above 0, not {margin!r}")
    all_pairs = baseline is None and len(systems) > 2 and paired
    if margin is not None and all_pairs:
        raise InputError(
            f"a margin is what may be lost against a baseline, and of {len(systems)} systems none is named as such; "
            f"name it (baseline={systems[0]!r}, --baseline {systems[0]})"
        )
    test, correction = options.test or "t", options.correction
    _check_test(test, correction)
    if not paired and test != "t":
        raise InputError(f"test {test!r} is of pairs; without pairs there is Welch's t alone: leave out --test")
    if scores.clustering is not None and test not in _OF_MEANS:
        raise InputError(f"test {test!r} takes each question by itself; by cluster there are {', '.join(_OF_MEANS)}")
    for measure in scores.measures:
        if not (aggregation := measure.aggregation).arithmetic and not (measure.share is not None and test == "t"):
            of = "the tests are" if measure.share is None else f"the test {test!r} is"
            raise InputError(f"{measure} is {aggregation.noun}, and {of} of arithmetic means; compare by another")
    reference = 0 if baseline is None else systems.index(baseline)
    return Plan(
        systems, scores.measures, reference, test=test,
        correction="tukey" if test == "tukey" else correction or "holm", alpha=alpha, margin=margin,
        seed=checked_seed(options.seed), all_pairs=all_pairs,
        identical=_identical(scores, systems[reference]) if margin is not None and paired else frozenset(),
        paired=paired,
    )  # fmt: skip


def _identical(scores: Scores, baseline: str) -> frozenset[str]:
    """The systems whose results have the same fingerprint as the baseline's."""
    digest = scores.run_digest(baseline)
    return frozenset(name for name in scores.systems if digest is not None and scores.run_digest(name) == digest)


def segment_plan(whole: Plan, correction: str, n_segments: int) -> Plan:
    """The plan of segments: the same tests with a correction of their own; t where the test is Tukey's.

    Raises   InputError for an unknown correction
    """
    if correction not in CORRECTIONS:
        raise InputError(f"correction {correction!r} of segments: there are {', '.join(CORRECTIONS)}")
    test = "t" if whole.test == "tukey" else whole.test
    return replace(whole, test=test, correction=correction, n_segments=n_segments)


def _check_test(test: str, correction: str | None) -> None:
    if test != "tukey" and test not in TESTS:
        raise InputError(f"no test is called {test!r}; there are {', '.join(TESTS)} and tukey")
    if correction is not None and test == "tukey":
        raise InputError(f"correction {correction!r}: Tukey's p are family-wise already")
    if correction is not None and correction not in CORRECTIONS:
        raise InputError(f"correction {correction!r}: there are {', '.join(CORRECTIONS)}")


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n > 1)}"
