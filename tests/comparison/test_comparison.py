import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import steelyard as sy
from steelyard.comparison.plan import TESTS
from steelyard.comparison.result import COLUMNS, ComparisonRow
from steelyard.data.segments import segments
from steelyard.experiment.table.scores import Scores
from steelyard.reports.views.verdicts import headline_numbers
from steelyard.reports.words import read_words
from steelyard.stats.power.detectable import min_detectable_difference
from steelyard.stats.power.power import questions_needed
from steelyard.stats.rankings import rank_biased_overlap, tau_ap
from steelyard.stats.samples import differences
from steelyard.stats.tests.corrections import CORRECTIONS, correct
from steelyard.stats.tests.effects import relative_change, standardised
from steelyard.stats.tests.equivalence import non_inferiority, tost
from steelyard.stats.tests.groups import indistinguishable
from steelyard.stats.tests.paired import sign_flip, sign_flip_interval, sign_test, wilcoxon
from steelyard.stats.tests.pairs import sign_flip_pairs, t_pairs, tukey
from tests.hypothesis_profiles import examples
from tests.measures.registered import forget_afterwards

scipy_stats = pytest.importorskip("scipy.stats", reason="the tests of differences need the extra stats")

NO_NUMBER = ("low", "high", "p", "adjusted", "detectable")


def scores_of(values: npt.ArrayLike, *, systems: Sequence[str] | None = None, measures: str = "map mrr p@1") -> Scores:
    """Scores with these values, (s, q) of one measure or (s, m, q) of several; NaN where a question is left out."""
    array = np.asarray(values, dtype=float)
    array = array[:, None] if array.ndim == 2 else array
    s, m, q = array.shape
    no = np.zeros((s, q), dtype=bool)
    return Scores(
        systems=systems or list("abcdefghij"[:s]), query_ids=[f"q{i}" for i in range(q)],
        measures=[sy.parse(name) for name in measures.split()[:m]], values=array, missing=no,
        no_relevant=np.zeros(array.shape, dtype=bool), failed=no, unwinnable=no, judged=np.ones(array.shape),
        unjudged_queries=np.zeros(s, dtype=np.int64), gold=[None] * s, recipe_parts={"steelyard": "x"},
    )  # fmt: skip


def drawn(s: int, q: int = 30, *, m: int = 1, seed: int = 1) -> npt.NDArray[np.float64]:
    """Values of systems that are each a little better than the one before."""
    rng = np.random.default_rng(seed)
    return rng.random((1, m, q)) * 0.6 + rng.random((s, m, q)) * 0.3 + np.arange(s)[:, None, None] * 0.03


def beside_first(scores: Scores, *measures: str, **options) -> sy.Comparison:
    """Compared with the first system as the baseline."""
    return sy.compare(scores, *measures, **{"baseline": scores.systems[0], **options})


def by_name(found: sy.Comparison, measure: str = "map") -> dict[str, ComparisonRow]:
    return {row.system: row for row in found.rows[measure]}


def test_paired_t_is_scipys() -> None:
    values = drawn(2)[:, 0]
    row = by_name(sy.compare(scores_of(values)))["b"]
    want = scipy_stats.ttest_rel(values[1], values[0])
    interval = want.confidence_interval(0.95)
    assert row.p == row.adjusted == pytest.approx(want.pvalue, rel=1e-9)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert row.mean == pytest.approx(values[1].mean())
    assert row.difference == pytest.approx(values[1].mean() - values[0].mean())


@pytest.mark.parametrize(
    ("test", "p"), [("randomization", lambda d: sign_flip(d, seed=5).p), ("wilcoxon", lambda d: wilcoxon(d).p),
                    ("sign", lambda d: sign_test(d).p)]
)  # fmt: skip
def test_each_test_is_the_one_of_its_name(test: str, p) -> None:
    values = drawn(2, 20)[:, 0]
    d = values[1] - values[0]
    row = by_name(sy.compare(scores_of(values), test=test, seed=5))["b"]
    assert row.p == pytest.approx(p(d), rel=1e-12)
    # Tests of ranks and signs are not about means.
    ends = sign_flip_interval(d, seed=5) if test == "randomization" else (math.nan, math.nan)
    assert (row.low, row.high) == pytest.approx(ends, rel=1e-12, nan_ok=True)


@example(seed=126, test="t", correction="holm", n=2, s=2, m=1)
@examples(200)
@given(
    st.integers(0, 10**6), st.sampled_from(["t", "randomization", "tukey"]), st.sampled_from(list(CORRECTIONS)),
    st.integers(2, 14), st.integers(2, 5), st.integers(1, 2),
)  # fmt: skip
def test_an_interval_leaves_out_0_exactly_where_p_is_small(
    seed: int, test: str, correction: str, n: int, s: int, m: int
) -> None:
    rng = np.random.default_rng(seed)
    values = np.round(rng.random((s, m, n)) + rng.choice([0, 0.3, 0.6], (s, m, 1)), rng.integers(1, 5))
    options = {} if test == "tukey" else {"correction": correction}
    comparison = sy.compare(scores_of(values), test=test, **options)
    for row in (row for rows in comparison.rows.values() for row in rows if not math.isnan(row.low)):
        assert row.low <= row.difference <= row.high
        assert row.low < row.high
        assert (row.low > 0 or row.high < 0) == (row.adjusted <= 0.05)
        if not math.isnan(row.relative_low) and row.mean - row.difference > 0:
            assert (row.relative_low > 0 or row.relative_high < 0) == (row.adjusted <= 0.05)


def test_corrected_intervals_hold_together() -> None:
    values = drawn(4, 40)[:, 0]
    values[3] += 1
    rows = by_name(beside_first(scores_of(values)))
    want = scipy_stats.ttest_rel(values[3], values[0]).confidence_interval(1 - 0.05 / 3)
    assert (rows["d"].low, rows["d"].high) == pytest.approx((want.low, want.high), rel=1e-9)
    plain = by_name(beside_first(scores_of(values), correction="none"))
    assert all(rows[name].low < plain[name].low < plain[name].high < rows[name].high for name in "bd")


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0])
def test_all_corrected_intervals_cover_together(shift: float) -> None:
    rng, covered = np.random.default_rng(8), []
    truth = np.linspace(0, shift, 5)
    for _ in range(400):
        values = rng.normal(0, 0.2, 25) + truth[:, None] + rng.normal(0, 0.1, (5, 25))
        rows = by_name(beside_first(scores_of(values)))
        covered.append(all(rows["abcde"[i]].low <= truth[i] <= rows["abcde"[i]].high for i in range(1, 5)))
    assert np.mean(covered) >= 0.92


def test_effect_counts_and_detectable_are_of_the_differences() -> None:
    values = drawn(3)[:, 0]
    values[2, :4] = values[0, :4]
    d = values[2] - values[0]
    row = by_name(beside_first(scores_of(values)))["c"]
    assert row.effect == pytest.approx(standardised(d).hedges_g)
    assert (row.n_wins, row.n_ties, row.n_losses) == ((d > 0).sum(), 4, (d < 0).sum())
    assert row.detectable == pytest.approx(min_detectable_difference(d, n_comparisons=2))
    plain = by_name(beside_first(scores_of(values), correction="none"))["c"]
    assert plain.detectable == pytest.approx(min_detectable_difference(d))
    assert plain.adjusted == plain.p == row.p < row.adjusted


@pytest.mark.parametrize("method", ["holm", "bonferroni", "bh", "none"])
def test_the_primary_measure_is_corrected_over_systems_alone_and_all_others_among_themselves(method: str) -> None:
    found = beside_first(scores_of(drawn(3, m=3)), correction=method)
    assert (found.primary, found.correction) == ("map", method)
    for measures, family in zip((["map"], ["mrr", "precision@1"]), found.families, strict=True):
        rows = [by_name(found, measure)[name] for measure in measures for name in "bc"]
        assert [row.adjusted for row in rows] == correct(
            [r.p for r in rows], method=method, family=""
        ).adjusted.tolist()
        assert (family.measures, family.n_comparisons) == (measures, 1 if method == "none" else 2 * len(measures))
    alone = beside_first(scores_of(drawn(3, m=3)[:, :1]), correction=method)
    assert repr(found.rows["map"]) == repr(alone.rows["map"])


def test_of_two_systems_the_primary_measure_is_not_corrected_whatever_else_is_asked_for() -> None:
    found = sy.compare(scores_of(drawn(2, m=3)))
    row = by_name(found)["b"]
    assert row.adjusted == row.p
    secondary = [by_name(found, measure)["b"] for measure in ("mrr", "precision@1")]
    assert max(row.adjusted / row.p for row in secondary) == pytest.approx(2)


def test_the_families_in_words() -> None:
    def covers(*args: int, baseline: str | None = "a", **options: str) -> list[str]:
        return [
            part.covers
            for part in sy.compare(scores_of(drawn(*args[:1], m=args[1])), baseline=baseline, **options).families
        ]

    assert covers(2, 1) == ["1 comparison with the baseline"]
    assert covers(3, 1) == ["2 comparisons with the baseline"]
    assert covers(3, 3) == [
        "2 comparisons with the baseline",
        "4 comparisons: 2 with the baseline by each of 2 measures",
    ]
    pairs = "all 3 pairs of 3 systems"
    assert covers(3, 3, baseline=None) == [pairs, f"{pairs} by each of 2 measures"]
    assert covers(3, 3, test="tukey") == [pairs, f"{pairs}, for each measure by itself"]
    assert covers(2, 1, test="tukey") == ["the one pair"]


def test_any_number_of_systems_is_compared_with_the_baseline_by_t_and_holm() -> None:
    for s in (2, 3, 4, 10):
        comparison = beside_first(scores_of(drawn(s)))
        assert (comparison.test, comparison.correction, comparison.baseline) == ("t", "holm", "a")
        assert [family.n_comparisons for family in comparison.families] == [s - 1]
    assert beside_first(scores_of(drawn(4)), test="tukey").correction == "tukey"


def test_a_broken_third_system_hides_no_difference_between_two_others() -> None:
    rng = np.random.default_rng(11)
    base = rng.random(43)
    better = base + np.where(rng.random(43) < 0.7, 0.15, -0.05)
    broken = np.where(rng.random(43) < 0.1, base, 0.0)
    near = [base + rng.normal(0, 0.03, 43) for _ in range(2)]
    alone = by_name(beside_first(scores_of([base, better])))["b"]
    sound, beside = (
        beside_first(scores_of(np.array([base, better, *others]))) for others in (near, [*near[:1], broken])
    )
    assert alone.verdict == by_name(sound)["b"].verdict == by_name(beside)["b"].verdict == "better"
    assert by_name(beside)["b"].adjusted <= by_name(sound)["b"].adjusted
    assert by_name(beside)["d"].verdict == "worse"
    # What the default was before: the spread of the broken system is taken for that of all.
    hidden = by_name(beside_first(scores_of(np.array([base, better, near[0], broken])), test="tukey"))["b"]
    assert hidden.p > 10 * alone.p


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "none"])
def test_groups_of_t_tests_are_of_all_pairs_by_all_measures_of_a_family(correction: str) -> None:
    values = drawn(5, 40, m=2)
    comparison = beside_first(scores_of(values), correction=correction)
    plain = [t_pairs(values[:, j], correction="none") for j in range(2)]
    for j, measure in enumerate(("map", "mrr")):
        of_measure = correct(plain[j].p, method=correction, family="").adjusted.tolist()
        groups = [set(group) for group in comparison.groups[measure]]
        for first, second, p in zip(plain[j].first.tolist(), plain[j].second.tolist(), of_measure, strict=True):
            together = any({"abcde"[first], "abcde"[second]} <= group for group in groups)
            assert together == (p > 0.05)
        if correction == "holm":
            # Wider than the family of the verdicts: what letters part from the baseline, the verdict does too.
            for row in comparison.rows[measure]:
                with_baseline = any({"a", row.system} <= group for group in groups)
                assert with_baseline or row.verdict in ("better", "worse")
    assert comparison.groups["map"] != comparison.groups["mrr"]


def test_tukey_and_groups_are_those_of_the_statistics() -> None:
    values = drawn(5, 40, m=2)
    found = beside_first(scores_of(values), test="tukey", seed=3)
    for j, measure in enumerate(("map", "mrr")):
        pairs = tukey(values[:, j], seed=3)
        want = dict(zip(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True), pairs.p.tolist(), strict=True))
        rows = by_name(found, measure)
        assert [rows["bcde"[i - 1]].p for i in range(1, 5)] == [want[0, i] for i in range(1, 5)]
        assert rows["c"].adjusted == rows["c"].p
        listed = indistinguishable(values[:, j].mean(axis=1), pairs)
        assert found.groups[measure] == [["abcde"[i] for i in group] for group in listed]
        assert len(listed) > 1
    d = values[1, 1] - values[0, 1]
    beyond = scipy_stats.t.ppf(0.8, 39) * d.std(ddof=1) / np.sqrt(40)
    assert rows["b"].detectable > pairs.critical + beyond
    centred = values[:, 1] - np.eye(5)[1][:, None] * d.mean()
    widened = np.mean(
        [(centred + sign * np.eye(5)[1][:, None] * rows["b"].detectable).var(axis=0).mean() for sign in (1, -1)]
    )
    critical = pairs.critical * np.sqrt(widened / values[:, 1].var(axis=0).mean())
    assert rows["b"].detectable == pytest.approx(critical + beyond, rel=1e-5)


@examples(5)
@given(st.permutations(range(8)))
def test_the_order_of_systems_moves_no_bit_of_tukey(order: list[int]) -> None:
    values, names = drawn(8, 12)[:, 0], list("abcdefgh")
    plain = by_name(sy.compare(scores_of(values, systems=names), test="tukey", baseline="a"))
    turned = by_name(
        sy.compare(scores_of(values[order], systems=[names[i] for i in order]), test="tukey", baseline="a")
    )
    assert {name: repr(row) for name, row in turned.items()} == {name: repr(row) for name, row in plain.items()}


@pytest.mark.slow
def test_what_tukey_can_show_it_mostly_shows() -> None:
    rng, shown = np.random.default_rng(5), 0
    base = rng.normal(0.5, 0.1, (4, 40))
    detectable = by_name(beside_first(scores_of(base), test="tukey"))["b"].detectable
    for _ in range(40):
        values = rng.normal(0.5, 0.1, (4, 40))
        values[1] += detectable
        shown += by_name(beside_first(scores_of(values), test="tukey"))["b"].verdict == "better"
    assert 26 <= shown <= 38


def test_many_questions_are_tested_at_the_limit_of_tukey() -> None:
    values = np.random.default_rng(3).normal(0.5, 0.2, (4, 1500))
    values[2] += 0.02
    found, drawn_p = by_name(beside_first(scores_of(values), test="tukey")), tukey(values, seed=1).p
    assert [found[name].p for name in "bcd"] == pytest.approx(drawn_p[:3], abs=0.02)
    sparse = np.repeat(values[:1], 4, axis=0)
    sparse[2, :30] += 0.5
    few = by_name(beside_first(scores_of(sparse), test="tukey"))
    assert few["b"].p == few["d"].p == 1
    assert few["c"].verdict == "better"


def test_tukey_with_a_baseline_in_the_middle() -> None:
    values = drawn(4, 25)[:, 0]
    found = by_name(sy.compare(scores_of(values), test="tukey", baseline="c"))
    pairs = tukey(values, seed=0)
    want = {(i, j): p for i, j, p in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.p.tolist(), strict=True)}
    assert [found[name].p for name in "abd"] == [want[0, 2], want[1, 2], want[2, 3]]
    assert found["a"].difference == pytest.approx(values[0].mean() - values[2].mean())


def test_no_pair_of_near_copies_is_surer_than_by_a_test_of_its_own() -> None:
    rng = np.random.default_rng(5)
    base = rng.random(40)
    copies = [np.where(rng.random(40) < 0.05, rng.random(40), base) for _ in range(8)]
    other = base + np.where(rng.random(40) < 0.2, 0.4, 0.0)
    values = np.array([base, *copies, other])
    plain, own = tukey(values, seed=0), sign_flip_pairs(values, seed=0, correction="none")
    assert (plain.p < own.p).any()  # what the guard is for
    found = by_name(beside_first(scores_of(values), test="tukey"))
    assert found["j"].p == max(plain.p[8], own.p[8])
    assert (plain.first[8], plain.second[8]) == (0, 9)


def test_no_groups_of_two_systems_of_very_many_and_by_other_tests() -> None:
    assert beside_first(scores_of(drawn(2))).groups == {}
    for test in ("randomization", "wilcoxon", "sign"):
        assert beside_first(scores_of(drawn(5)), test=test).groups == {}
    many = beside_first(scores_of(drawn(101, 5), systems=[f"s{i}" for i in range(101)]))
    assert many.groups == {}
    assert many.families[0].n_comparisons == 100


@pytest.mark.parametrize("test", TESTS)
def test_without_a_baseline_all_pairs_are_one_family_and_rows_are_beside_the_leader(test: str) -> None:
    values = drawn(5, 25, m=2)
    comparison = sy.compare(scores_of(values), test=test)
    assert (comparison.baseline, comparison.reference) == (None, comparison.rows["map"][0].system)
    assert [family.covers for family in comparison.families] == ["all 10 pairs of 5 systems"] * 2
    leading = "abcde".index(comparison.reference)
    for j, measure in enumerate(("map", "mrr")):
        p = [[TESTS[test](differences(a, b), 0, None).p for b in values[:, j]] for a in values[:, j]]
        above = np.triu_indices(5, 1)
        adjusted = dict(
            zip(
                zip(*map(np.ndarray.tolist, above), strict=True),
                correct(np.array(p)[above], method="holm", family="").adjusted.tolist(),
                strict=True,
            )
        )
        for name, row in by_name(comparison, measure).items():
            i = "abcde".index(name)
            together = any({name, comparison.reference} <= set(group) for group in comparison.groups[measure])
            if i == leading:
                assert (row.verdict, row.difference) == ("leader", 0)
                continue
            assert row.adjusted == pytest.approx(adjusted[min(i, leading), max(i, leading)])
            assert row.difference == pytest.approx(values[i, j].mean() - values[leading, j].mean())
            assert together == (row.verdict == "no difference shown") == (row.adjusted > 0.05)


@examples(20)
@given(st.permutations(range(5)), st.sampled_from(["t", "randomization", "tukey"]))
def test_without_a_baseline_the_order_of_systems_decides_nothing(order: list[int], test: str) -> None:
    values, names = drawn(5, 12, m=2), list("abcde")
    plain = sy.compare(scores_of(values), test=test)
    turned = sy.compare(scores_of(values[order], systems=[names[i] for i in order]), test=test)
    columns = ["measure", "system", "verdict", "difference", "adjusted", "low", "high", "groups"]
    assert_frame_equal(plain.frame.select(columns), turned.frame.select(columns))
    assert plain.reference == turned.reference


def test_segments_without_a_baseline_are_beside_the_same_leader_and_cover_all_pairs() -> None:
    found = sy.compare(scores_of(drawn(3)), segments=PARTS)
    for part in found.segments.values():
        assert (part.reference, part.baseline, part.groups) == ("c", None, {})
        assert by_name(part)["c"].verdict == "leader"
    assert found.segmentation is not None
    assert found.segmentation.families[0].covers == "all 3 pairs of 3 systems in each of 3 segments"
    p = [by_name(part)[name].p for part in found.segments.values() for name in "ab"]
    raised = [by_name(part)[name].adjusted for part in found.segments.values() for name in "ab"]
    assert all(low <= high for low, high in zip(p, raised, strict=True) if not math.isnan(low))


def test_a_margin_needs_a_baseline() -> None:
    with pytest.raises(sy.InputError, match=r"of 3 systems none is named as such; name it .*--baseline a"):
        sy.compare(scores_of(drawn(3)), margin=0.02)


def test_rows_are_ordered_by_mean_and_equal_means_as_given() -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.2, 0.1, 0.3], [0.9, 0.8, 0.9], [0.3, 0.2, 0.1]])
    assert [row.system for row in sy.compare(scores_of(values), test="t").rows["map"]] == ["c", "a", "b", "d"]


def test_baseline_row() -> None:
    for name, s in ((None, 2), ("a", 3), ("b", 3)):
        found = sy.compare(scores_of(drawn(s)), baseline=name)
        baseline = by_name(found)[name or "a"]
        assert found.baseline == found.reference == baseline.system == (name or "a")
        assert baseline.verdict == "baseline"
        assert baseline.difference == 0
        assert all(math.isnan(getattr(baseline, field)) for field in NO_NUMBER)
        assert [row.verdict for row in found.rows["map"]].count("baseline") == 1


@examples(25)
@given(st.integers(0, 10**6), st.sampled_from([*TESTS, "tukey"]), st.integers(2, 25))
def test_swapping_the_baseline_turns_the_signs_alone(seed: int, test: str, q: int) -> None:
    scores = scores_of(np.random.default_rng(seed).integers(0, 5, (2, q)) / 4)
    one = by_name(sy.compare(scores, baseline="a", test=test))["b"]
    two = by_name(sy.compare(scores, baseline="b", test=test))["a"]
    assert two.p == pytest.approx(one.p, rel=1e-9, nan_ok=True)
    assert two.difference == -one.difference
    assert two.effect == pytest.approx(-one.effect, nan_ok=True)
    assert (two.n_wins, two.n_losses) == (one.n_losses, one.n_wins)
    turned = {"better": "worse", "worse": "better"}
    assert two.verdict == turned.get(one.verdict, one.verdict)


@pytest.mark.parametrize("test", [*TESTS, "tukey"])
def test_equal_systems_give_p_1(test: str) -> None:
    values = drawn(1, 12)[0]
    row = by_name(sy.compare(scores_of(np.concatenate([values, values])), test=test))["b"]
    assert (row.p, row.adjusted, row.difference) == (1, 1, 0)
    assert math.isnan(row.low)
    assert math.isnan(row.high)
    assert np.isnan(row.detectable) if test in ("sign", "wilcoxon") else row.detectable == 0
    assert row.n_ties == 12
    assert row.verdict == "no difference shown"


VERDICTS = [
    # differences of the questions, margin, verdict, not worse
    ([0.2, 0.3, 0.1, 0.2, 0.25, 0.2], None, "better", None),
    ([0.2, 0.3, 0.1, 0.2, 0.25, 0.2], 0.01, "better", False),  # six cannot rule out a rare loss
    ([0.2, 0.3, 0.1, 0.2, 0.25, 0.2] * 40, 0.01, "better", True),
    ([-0.2, -0.3, -0.1, -0.2, -0.25, -0.2], None, "worse", None),
    ([-0.2, -0.3, -0.1, -0.2, -0.25, -0.2], 0.05, "worse", False),
    ([-0.02, -0.03, -0.01, -0.021, -0.025, -0.018] * 40, 0.05, "worse", True),
    ([0.2, -0.3, 0.1, -0.2, 0.25, 0.0], None, "no difference shown", None),
    ([0.2, -0.3, 0.1, -0.2, 0.25, 0.0], 0.05, "no difference shown", False),
    ([0.01, -0.02, 0.012, -0.01, 0.008, 0.0], 0.05, "no difference shown", False),
    ([0.01, -0.02, 0.012, -0.01, 0.008, 0.0] * 40, 0.05, "not worse", True),
    ([0.0, 0.0, 0.0], 0.05, "no difference shown", False),
    ([0.25, 0.25, 0.25], None, "no test", None),
    ([0.25], None, "no test", None),
    ([0.25], 0.05, "no test", None),
]


@pytest.mark.parametrize(("d", "margin", "verdict", "not_worse"), VERDICTS)
def test_verdicts(d: list[float], margin: float | None, verdict: str, not_worse: bool | None) -> None:
    base = np.full(len(d), 0.5)
    row = by_name(sy.compare(scores_of([base, base + d]), margin=margin))["b"]
    assert (row.verdict, row.not_worse) == (verdict, not_worse)
    if margin is not None and np.ptp(d) > 0:
        assert row.not_worse == non_inferiority(base + d - base, margin=margin, width=1.0).not_worse
    assert (row.reason is None) == (verdict != "no test")


@pytest.mark.parametrize("test", [*TESTS, "tukey"])
def test_one_question_is_no_test(test: str) -> None:
    found = sy.compare(scores_of([[0.5], [0.75]]), test=test)
    row = by_name(found)["b"]
    assert row.verdict == "no test"
    assert row.reason is not None
    assert all(math.isnan(getattr(row, field)) for field in NO_NUMBER)
    assert (row.difference, found.groups) == (0.25, {})


def test_no_test_is_no_member_of_the_family() -> None:
    flat = np.stack([np.full(20, 0.25), np.full(20, 0.5), drawn(1, 20)[0, 0]])
    rows = by_name(beside_first(scores_of(flat)))
    assert rows["b"].verdict == "no test"
    assert rows["c"].adjusted == rows["c"].p


def test_ranks_and_signs_may_contradict_the_mean() -> None:
    d = np.array([0.01] * 18 + [-0.4, -0.4])
    scores = scores_of([np.full(20, 0.5), 0.5 + d])
    for test in ("sign", "wilcoxon"):
        row = by_name(sy.compare(scores, test=test))["b"]
        assert row.difference < 0
        assert row.adjusted <= 0.05
        assert row.verdict == "better"
    assert by_name(sy.compare(scores))["b"].verdict == "no difference shown"


def test_alpha_moves_verdict_interval_and_detectable() -> None:
    values = drawn(2, 12, seed=2)[:, 0]
    p = by_name(sy.compare(scores_of(values)))["b"].p
    loose, tight = (by_name(sy.compare(scores_of(values), alpha=alpha))["b"] for alpha in (p * 1.01, p * 0.99))
    assert loose.verdict != "no difference shown"
    assert tight.verdict == "no difference shown"
    assert tight.low < loose.low < loose.high < tight.high
    assert tight.detectable > loose.detectable


def test_same_seed_same_bits_and_another_seed_other_signs() -> None:
    scores = scores_of(drawn(2, 40, seed=4))
    p = [by_name(sy.compare(scores, test="randomization", seed=seed))["b"].p for seed in (1, 1, 2)]
    assert p[0] == p[1] != p[2]


def test_a_question_that_one_system_lacks_is_left_out_for_all() -> None:
    values = drawn(3, 12, m=2)
    holed = values.copy()
    holed[1, 0, 3] = holed[2, 0, 5] = holed[2, 1, 5] = np.nan
    found = sy.compare(scores_of(holed), test="t")
    assert found.n == {"map": 10, "mrr": 11}
    assert found.left_out == {"map": 2, "mrr": 1}
    kept = np.delete(values[:, 0], [3, 5], axis=1)
    want = by_name(sy.compare(scores_of(kept), correction="none"))
    got = by_name(found)
    for name in "abc":
        assert got[name].mean == pytest.approx(want[name].mean)
        assert got[name].p == pytest.approx(want[name].p, nan_ok=True)
    assert got["b"].n_wins + got["b"].n_ties + got["b"].n_losses == 10


def test_what_evaluate_skips_is_left_out_and_counted_by_system() -> None:
    truth = {f"q{i}": {"d": 1} for i in range(6)}
    full = {query: ["x", "d"] for query in truth}
    part = {query: ["d"] for query in list(truth)[:4]}
    skipped = sy.compare(sy.evaluate(truth, {"full": full, "part": part}, "mrr", missing="skip"))
    assert (skipped.n["mrr"], skipped.left_out["mrr"]) == (4, 2)
    assert (skipped.lacking, skipped.missing) == ({"mrr": {"part": 2}}, {})
    counted = sy.compare(sy.evaluate(truth, {"full": full, "part": part}, "mrr"))
    assert (counted.n["mrr"], counted.left_out["mrr"]) == (6, 0)
    assert (counted.lacking, counted.missing) == ({"mrr": {}}, {"part": 2})
    assert counted.recipe["missing"] == "zero"
    with pytest.raises(sy.InputError, match=r"mrr: 2 of 6 questions lack a value \(part: 2\), first 'q4'"):
        sy.compare(sy.evaluate(truth, {"full": full, "part": part}, "mrr"), require_all=True)


def test_strict_refuses_holes() -> None:
    holed = drawn(2, 12)[:, 0]
    holed[1, [3, 5]] = np.nan
    with pytest.raises(sy.InputError, match=r"map: 2 of 12 questions lack a value \(b: 2\), first 'q3'"):
        sy.compare(scores_of(holed), require_all=True)
    assert sy.compare(scores_of(drawn(2)), require_all=True).left_out == {"map": 0}


def test_no_common_question() -> None:
    with pytest.raises(sy.InputError, match="map: no question has a value for every system"):
        sy.compare(scores_of([[0.5, np.nan], [np.nan, 0.5]]))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"baseline": "z"}, "no system is called 'z'; there are a, b"),
        ({"baseline": ""}, "no system is called ''"),
        ({"test": "anova"}, "'anova'; there are t, randomization, wilcoxon, sign and tukey"),
        ({"correction": "tukey"}, "'tukey': there are holm, bonferroni, bh, none"),
        ({"correction": "fdr"}, "'fdr': there are holm, bonferroni, bh, none"),
        ({"test": "tukey", "correction": "holm"}, "'holm': Tukey's p are family-wise already"),
        ({"margin": 0}, "a margin is a number above 0, not 0"),
        ({"margin": -0.01}, "above 0, not -0.01"),
        ({"margin": math.nan}, "above 0, not nan"),
        ({"margin": math.inf}, "above 0, not inf"),
        ({"alpha": 0}, "alpha lies between 0 and 1, not 0"),
        ({"alpha": 1.0}, "alpha lies between 0 and 1, not 1.0"),
        ({"alpha": math.nan}, "alpha lies between 0 and 1, not nan"),
    ],
)
def test_bad_options(options: dict[str, object], complaint: str) -> None:
    with pytest.raises(sy.InputError, match=complaint):
        sy.compare(scores_of(drawn(2)), **options)


def test_one_system() -> None:
    with pytest.raises(sy.InputError, match="needs two systems at least, and a is the only one"):
        sy.compare(scores_of(drawn(1)))


def test_geometric_means_are_refused() -> None:
    with pytest.raises(sy.InputError, match="gm_map is a geometric mean"):
        sy.compare(scores_of(drawn(2), measures="gm_map"))


def test_scores_are_not_changed() -> None:
    values = drawn(4, m=2)
    scores = scores_of(values.copy())
    beside_first(scores, margin=0.01)
    assert (scores.values == values).all()


def test_the_relative_change_is_fiellers() -> None:
    values = drawn(2)[:, 0]
    row = by_name(sy.compare(scores_of(values), alpha=0.1))["b"]
    change = relative_change(values[0], values[1], level=0.9)
    assert (row.relative, row.relative_low, row.relative_high) == (change.change, change.low, change.high)
    assert math.isnan(by_name(sy.compare(scores_of(values)))["a"].relative)


def test_questions_needed_where_no_difference_is_shown() -> None:
    found = beside_first(scores_of(drawn(3)))
    for row in found.rows["map"]:
        if row.verdict == "no difference shown":
            assert row.needed == questions_needed(row.effect, n_comparisons=2)
        else:
            assert row.needed is None
    assert {row.verdict for row in found.rows["map"]} == {"baseline", "no difference shown"}
    same = drawn(1)[0]
    assert by_name(beside_first(scores_of(np.concatenate([same, same]))))["b"].needed is None


def test_more_than_a_measure_can_differ_is_not_detectable() -> None:
    row = by_name(sy.compare(scores_of([[0.0, 0.5], [1.0, 0.0]])))["b"]
    assert row.detectable == math.inf


@pytest.mark.parametrize("correction", ["holm", "bonferroni", "bh", "none", "tukey"])
def test_tests_against_the_margin_are_corrected_over_the_family(correction: str) -> None:
    values = drawn(4, 400, m=2, seed=3) * 0.2 + 0.4
    options = {"test": "tukey"} if correction == "tukey" else {"test": "t", "correction": correction}
    found = beside_first(scores_of(values), margin=0.02, **options)
    method, rows = "holm" if correction == "tukey" else correction, []
    for j, measure in enumerate(("map", "mrr")):
        d = [values[i, j] - values[0, j] for i in range(1, 4)]
        worse, other = (
            correct([test(own, margin=0.02, width=1.0).p for own in d], method=method, family="").adjusted
            for test in (non_inferiority, tost)
        )
        of_measure = [by_name(found, measure)[name] for name in "bcd"]
        assert [row.not_worse for row in of_measure] == (worse < 0.05).tolist()
        assert [row.equivalent for row in of_measure] == (other < 0.05).tolist()
        rows += of_measure
    assert [row.limit_low > -0.02 for row in rows] == [row.not_worse for row in rows]
    assert [row.limit_low > -0.02 and row.limit_high < 0.02 for row in rows] == [row.equivalent for row in rows]
    assert all(row.not_worse for row in rows if row.equivalent)
    assert any(row.equivalent for row in rows)
    assert not all(row.equivalent for row in rows)


def test_of_two_systems_the_limits_are_those_of_the_gate() -> None:
    values = drawn(2, 80, seed=5) * 0.2 + 0.4
    scores = scores_of(values, measures="map")
    row = by_name(sy.compare(scores, margin=0.04), "map")["b"]
    (check,) = sy.gate(scores.filter(systems=["b"]), baseline=scores.filter(systems=["a"]), margin=0.04).checks
    assert (row.limit_low, row.limit_high) == (check.low, check.high)
    assert row.not_worse == (check.outcome == "pass")
    assert np.isnan(by_name(sy.compare(scores), "map")["b"].limit_low)


def test_systems_that_never_differ_prove_what_their_number_does() -> None:
    for n, shown in ((298, False), (299, True)):
        same = drawn(1, n)[0]
        row = by_name(sy.compare(scores_of(np.concatenate([same, same])), margin=0.01))["b"]
        assert (row.not_worse, row.equivalent) == (shown, shown)
        assert row.verdict == ("not worse" if shown else "no difference shown")


def test_the_same_lists_are_equivalent_and_equal_values_alone_are_not() -> None:
    truth = {f"q{i}": {"d": 1} for i in range(20)}
    first, other = {q: ["x", "d"] for q in truth}, {q: ["y", "d"] for q in truth}
    for run, shown in ((dict(first), True), (other, False)):
        row = by_name(sy.compare(sy.evaluate(truth, {"a": first, "b": run}, "mrr"), margin=0.01), "mrr")["b"]
        assert (row.not_worse, row.equivalent) == (shown, shown)


def test_agreement_is_of_the_leaderboards() -> None:
    values = drawn(5, m=3)
    found = sy.compare(scores_of(values), test="t")
    means = values.mean(axis=2)
    boards = [list(np.argsort(-means[:, j], kind="stable")) for j in range(3)]
    assert [(each.first, each.other) for each in found.agreement] == [("map", "mrr"), ("map", "precision@1")]
    for j, each in enumerate(found.agreement, 1):
        assert each.kendall == pytest.approx(scipy_stats.kendalltau(means[:, 0], means[:, j]).statistic)
        assert each.tau_ap == tau_ap(means[:, 0], means[:, j])
        assert each.rbo_p == pytest.approx(0.6)
        assert each.rbo == rank_biased_overlap(boards[0], boards[j], p=0.6).extrapolated
    assert sy.compare(scores_of(drawn(2, m=3))).agreement == []
    assert sy.compare(scores_of(drawn(5))).agreement == []


PARTS = {"x": np.arange(30) < 20, "y": np.arange(30) >= 10, "alone": np.arange(30) == 3}


@pytest.mark.parametrize(
    "test", [pytest.param(test, marks=[pytest.mark.slow] * (test == "randomization")) for test in (*TESTS, "tukey")]
)
def test_a_segment_is_a_comparison_of_its_own(test: str) -> None:
    values = drawn(4, m=2)
    whole = beside_first(scores_of(values), test=test)
    found = beside_first(scores_of(values), test=test, segments=PARTS)
    for measure in ("map", "mrr"):
        assert repr(found.rows[measure]) == repr(whole.rows[measure])
    assert found.groups == whole.groups
    assert list(found.segments) == ["x", "y", "alone"]
    each = "t" if test == "tukey" else test
    for measure in ("map", "mrr"):
        rows = [row for part in found.segments.values() for row in part.rows[measure]]
        want = correct([row.p for row in rows], method="bh", family="").adjusted
        np.testing.assert_allclose([row.adjusted for row in rows], want, rtol=1e-12)
    for name, part in found.segments.items():
        own = beside_first(scores_of(values[:, :, PARTS[name]]), test=each, correction="none")
        assert (part.test, part.correction, part.groups) == (each, "bh", {})
        assert part.n == {"map": PARTS[name].sum(), "mrr": PARTS[name].sum()}
        assert [family.covers for family in part.families] == [
            "9 comparisons: 3 with the baseline in each of 3 segments"
        ] * 2
        for measure in ("map", "mrr"):
            want = by_name(own, measure)
            for system, row in by_name(part, measure).items():
                assert (row.mean, row.difference) == (want[system].mean, want[system].difference)
                assert row.p == pytest.approx(want[system].p, nan_ok=True)
    assert {row.verdict for row in found.segments["alone"].rows["map"]} == {"baseline", "no test"}
    assert {row.reason for row in found.segments["alone"].rows["map"]} == {None, "few questions"}


def test_the_correction_of_segments_can_be_chosen() -> None:
    found = sy.compare(scores_of(drawn(2)), segments=PARTS, segment_correction="holm")
    rows = [by_name(part)["b"] for part in found.segments.values()]
    np.testing.assert_allclose(
        [row.adjusted for row in rows], correct([row.p for row in rows], method="holm", family="").adjusted
    )
    assert found.segments["x"].correction == "holm"
    with pytest.raises(sy.InputError, match="'fdr' of segments: there are holm"):
        sy.compare(scores_of(drawn(2)), segments=PARTS, segment_correction="fdr")


def test_a_segment_whose_questions_some_system_lacks() -> None:
    values = drawn(2)
    values[1, 0, 3] = np.nan
    found = sy.compare(scores_of(values), segments=PARTS)
    assert (found.segments["alone"].n, found.segments["alone"].left_out) == ({"map": 0}, {"map": 1})
    row = by_name(found.segments["alone"])["b"]
    assert (row.verdict, row.reason) == ("no test", "few questions")
    assert math.isnan(row.mean)
    assert found.segments["x"].left_out == {"map": 1}


def test_a_segment_of_another_length() -> None:
    with pytest.raises(sy.InputError, match=r"segment 'x' has shape \(3,\), expected \(30,\)"):
        sy.compare(scores_of(drawn(2)), segments={"x": np.ones(3, bool)})


def test_the_nearest_name_of_an_unknown_baseline() -> None:
    systems = [f"bm25-{i:02d}" for i in range(12)]
    with pytest.raises(sy.InputError, match=r"'bm25-3'; did you mean bm25-03\?"):
        sy.compare(scores_of(drawn(12), systems=systems), baseline="bm25-3")
    with pytest.raises(sy.InputError, match=r"'x'; there are bm25-00, .*bm25-09, \.\.\. \(12 in all\)"):
        sy.compare(scores_of(drawn(12), systems=systems), baseline="x")


def test_the_frame_holds_every_row_and_nulls() -> None:
    comparison = sy.compare(scores_of(drawn(3, m=2)), segments=PARTS)
    frame = comparison.frame
    assert frame.schema == COLUMNS
    assert frame.height == (1 + len(PARTS)) * 2 * 3
    assert frame["segment"].unique(maintain_order=True).to_list() == [None, *PARTS]
    baseline = frame.filter(verdict="baseline")
    assert baseline["p"].null_count() == baseline.height
    assert not frame.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)
    for measure, rows in comparison.rows.items():
        of_all = frame.filter(pl.col("segment").is_null(), measure=measure)
        assert of_all["system"].to_list() == [row.system for row in rows]
        assert of_all["adjusted"].to_list() == [None if math.isnan(row.adjusted) else row.adjusted for row in rows]


def slower(monkeypatch: pytest.MonkeyPatch, faster: Sequence[float], slow: Sequence[float]) -> Scores:
    """Latencies of two systems, a being the faster one."""
    forget_afterwards(monkeypatch)
    sy.measure(name="latency_ms", range=(0.0, math.inf), relevant=False)(lambda alignment: np.zeros(0))
    return scores_of([faster, slow], measures="latency_ms")


FAST = np.array([90.0, 110.0, 95.0, 105.0, 100.0, 102.0])


@pytest.mark.parametrize("test", [*TESTS, "tukey"])
def test_less_latency_is_better(monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    slow = np.append(FAST, FAST + 1) + np.linspace(20, 30, 12)
    scores = slower(monkeypatch, np.append(FAST, FAST + 1), slow)
    comparison = sy.compare(scores, test=test, margin=100.0)
    assert comparison.frame["system"].to_list() == ["a", "b"]
    row = by_name(comparison, "latency_ms")["b"]
    assert (row.verdict, row.n_wins, row.n_losses) == ("worse", 0, 12)
    assert row.difference == pytest.approx(25)
    assert (row.not_worse, row.equivalent) == (True, True)
    turned = by_name(sy.compare(scores, test=test, baseline="b"), "latency_ms")["a"]
    assert (turned.verdict, turned.n_wins) == ("better", 12)
    assert turned.difference == pytest.approx(-25)


def test_a_loss_of_latency_is_held_against_the_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = slower(monkeypatch, FAST, FAST + np.array([-1.0, 1.0, 0.5, -0.5, 1.0, 0.0]))
    row = by_name(sy.compare(scores, margin=5.0), "latency_ms")["b"]
    assert (row.verdict, -5 < row.limit_low < 0 < row.limit_high < 5) == ("not worse", True)
    unsure = scores_of([FAST, FAST + np.array([-40.0, 60.0, 30.0, -10.0, 50.0, 0.0])], measures="latency_ms")
    assert by_name(sy.compare(unsure, margin=5.0), "latency_ms")["b"].verdict == "no difference shown"
    assert "one-sided: ≤ +" in next(headline_numbers(sy.compare(unsure, margin=5.0), read_words("en")))


TRUTH = {f"q{i}": {"gold": 2, "poor": 0} for i in range(6)}
LATE = {query: ["x", "y", "gold"] for query in TRUTH}
EARLY = {query: ["gold", "x"] if query != "q5" else ["x", "gold"] for query in TRUTH}


def test_a_weighing_shows_all_that_the_command_prints() -> None:
    questions = sy.Questions([{"qid": query, "query": "who?", "tags": [f"t{query > 'q2'}"]} for query in TRUTH])
    weighing = sy.weigh(TRUTH, {"late": LATE, "early": EARLY}, questions=questions)
    comparison = sy.compare(weighing, measures="mrr", segments="tag")
    assert comparison.frame.equals(
        sy.compare(weighing.scores("mrr"), segments=segments(weighing.questions, weighing.query_ids, "tag")).frame
    )
    assert comparison.segmentation is not None
    assert (comparison.segmentation.by, list(comparison.segments)) == ("tag", ["tFalse", "tTrue"])
    assert comparison.sensitivity is not None
    assert comparison.sensitivity.frame["mean"].to_list() == pytest.approx([1 / 3, 5.5 / 6])
    (change,) = comparison.changes
    assert (change.baseline, change.system, [mover.query_id for mover in change.gained]) == ("late", "early", ["q0"])
    assert comparison.settings is None
    assert sy.compare(weighing).measures == [sy.parse("ndcg@10")]
    assert sy.compare(weighing, measures="mrr", movers=0).changes == ()
    assert sy.compare(weighing, measures="mrr", segments="length").segmentation.lengths == {"en": {"medium": (1, 1)}}


def test_of_a_weighing_missing_questions_count_0_or_are_left_out() -> None:
    weighing = sy.weigh(TRUTH, {"late": LATE, "early": {query: EARLY[query] for query in list(TRUTH)[:4]}})
    assert (sy.compare(weighing).n, sy.compare(weighing).missing) == ({"ndcg@10": 6}, {"early": 2})
    assert sy.compare(weighing, missing="skip").n == {"ndcg@10": 4}
    assert sy.compare(weighing, measures="recall@1", min_gain=2).measures == [sy.parse("recall(min_gain=2)@1")]


@pytest.mark.parametrize(
    "options", [{"measures": "mrr"}, {"min_gain": 1.0}, {"missing": "skip"}, {"movers": 1}, {"segments": "tag"}]
)
def test_scores_take_no_option_of_rankings(options: dict[str, object]) -> None:
    with pytest.raises(sy.InputError, match="pass what `weigh` returns"):
        sy.compare(scores_of(drawn(2)), **options)
