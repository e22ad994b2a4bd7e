"""How systems are compared: options, checked once, and which comparisons share alpha."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from steelyard.base.arrays import Floats, Ints
from steelyard.base.errors import InputError
from steelyard.base.nearest import nearest
from steelyard.experiment.scores import Scores
from steelyard.measures import Measure
from steelyard.stats.corrections import CORRECTIONS
from steelyard.stats.paired import PairedTest, paired_t, sign_flip, sign_test, wilcoxon
from steelyard.stats.samples import checked_seed

TESTS: dict[str, Callable[[Floats, int, Ints | None], PairedTest]] = {
    "t": lambda d, seed, clusters: paired_t(d, clusters=clusters),
    "randomization": lambda d, seed, clusters: sign_flip(d, seed=seed, clusters=clusters),
    "wilcoxon": lambda d, seed, clusters: wilcoxon(d),
    "sign": lambda d, seed, clusters: sign_test(d),
}
"""Tests of one pair, from differences, seed and clusters; "tukey" tests all pairs at once."""

_OF_MEANS = ("t", "randomization", "tukey")


@dataclass(frozen=True)
class Plan:
    """Options of one family of comparisons.

    reference    place of the baseline among the systems
    n_segments   of the questions; None where all questions are compared together
    identical    systems that gave the same results as the baseline, lists and all
    """

    systems: Sequence[str]
    measures: Sequence[Measure]
    reference: int
    test: str
    correction: str
    alpha: float
    margin: float | None
    seed: int
    n_segments: int | None = None
    identical: frozenset[str] = frozenset()

    @property
    def baseline(self) -> str:
        """Name of the baseline."""
        return self.systems[self.reference]

    @property
    def is_of_means(self) -> bool:
        """Whether the test is about means rather than ranks and signs."""
        return self.test in _OF_MEANS

    @property
    def shown_test(self) -> str:
        """What the test is called: "ranks" where all measures are percentiles."""
        return "ranks" if all(measure.share is not None for measure in self.measures) else self.test

    @property
    def n_comparisons(self) -> int:
        """Among how many comparisons alpha is shared; 1 where nothing is corrected."""
        s = len(self.systems) - 1
        if self.test == "tukey":
            return s * (s + 1) // 2
        return 1 if self.correction == "none" else self._n_tests

    @property
    def family(self) -> str:
        """Which comparisons the correction covers, in words."""
        m, s, segments = len(self.measures), len(self.systems) - 1, self.n_segments
        if self.test == "tukey":
            pairs = f"all {self.n_comparisons} pairs of {s + 1} systems" if s > 1 else "the one pair"
            return pairs + (", for each measure by itself" if m > 1 else "")
        with_baseline = f"{s} with the baseline" + (f" by each of {m} measures" if m > 1 else "")
        if segments is not None:
            return f"{_plural(self._n_tests, 'comparison')}: {with_baseline} in each of {_plural(segments, 'segment')}"
        if m > 1:
            return f"{self._n_tests} comparisons: {with_baseline}"
        return f"{_plural(s, 'comparison')} with the baseline"

    @property
    def _n_tests(self) -> int:
        return len(self.measures) * (len(self.systems) - 1) * (self.n_segments or 1)


def plan(
    scores: Scores, *, baseline: str | None, test: str | None, correction: str | None, margin: float | None,
    alpha: float, seed: int,
) -> Plan:  # fmt: skip
    """Check the options of `compare`, and fill in what was left open.

    Raises   InputError
    """
    systems = list(scores.systems)
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
    test = test or "t"
    _check_test(test, correction)
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
        seed=checked_seed(seed),
        identical=_identical(scores, systems[reference]) if margin is not None else frozenset(),
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
