"""Many comparisons: Tukey and sign flips of all pairs, corrections, groups."""

import math
from dataclasses import replace
from itertools import permutations, product
from time import perf_counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.stats.samples import differences
from steelyard.stats.tests.corrections import CORRECTIONS, correct
from steelyard.stats.tests.groups import indistinguishable
from steelyard.stats.tests.paired import paired_t, sign_flip
from steelyard.stats.tests.pairs import Pairs, all_pairs, corrected, sign_flip_pairs, t_pairs, tukey, tukey_limit
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

scipy_stats = pytest.importorskip("scipy.stats", reason="the oracle needs the extra stats")

Floats = npt.NDArray[np.float64]

quick = examples(60)
ps = st.lists(st.floats(0, 1), min_size=1, max_size=20)


def draws(s: int, n: int, seed: int = 0) -> Floats:
    """Systems of slowly rising quality on queries of unlike difficulty."""
    rng = np.random.default_rng(seed)
    return rng.normal(0, 1, (s, n)) + rng.normal(0, 1, n) + 0.15 * np.arange(s)[:, None]


@pytest.mark.parametrize("n", [5, 16, 17, 70])
def test_a_pair_has_the_p_that_it_has_alone(n: int) -> None:
    scores = draws(6, n)
    flips, t = sign_flip_pairs(scores, seed=3, n_resamples=5000), t_pairs(scores)
    for k, (i, j) in enumerate(all_pairs(6)):
        d = differences(scores[i], scores[j])
        alone = sign_flip(d, seed=3, n_resamples=5000)
        assert (flips.p[k], flips.exact, flips.n_resamples, flips.seed) == (
            alone.p,
            alone.exact,
            alone.n_resamples,
            alone.seed,
        )
        assert t.p[k] == paired_t(d).p
        assert flips.difference[k] == t.difference[k] == d.mean()


@pytest.mark.parametrize("n", [2, 3])
def test_tukey_against_all_shuffles(n: int) -> None:
    """Three systems: 6**n ways to put the labels, all tried here and sampled there."""
    scores = draws(3, n, seed=n)
    by_query = [list(permutations(scores[:, q])) for q in range(n)]
    ranges = np.array([np.ptp(np.sum(chosen, axis=0)) for chosen in product(*by_query)])
    found = tukey(scores, seed=0, n_resamples=20_000)
    for k, (i, j) in enumerate(all_pairs(3)):
        want = np.mean(ranges >= abs(scores[i].sum() - scores[j].sum()) - 1e-9)
        assert found.p[k] == pytest.approx(want, abs=0.015)


def test_tukey_against_the_studentised_range() -> None:
    """With normal values, many queries and systems that are alike, the shuffles come to what theory says."""
    scores = draws(5, 200, seed=1) - 0.15 * np.arange(5)[:, None]
    found = tukey(scores, seed=0, n_resamples=20_000)
    away = scores - scores.mean(axis=0)
    away -= away.mean(axis=1, keepdims=True)
    error = math.sqrt((away**2).sum() / (4 * 199) / 200)
    want = scipy_stats.studentized_range.sf(np.abs(found.difference) / error, 5, 4 * 199)
    assert found.p == pytest.approx(want, abs=0.02)


@pytest.mark.parametrize("n_resamples", [40, 99, 100, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_a_difference_beyond_the_critical_one_has_p_of_alpha_or_less(n_resamples: int, alpha: float) -> None:
    scores = draws(30, 20)
    for seed in range(5):
        pairs = tukey(scores, seed=seed, n_resamples=n_resamples, alpha=alpha)
        assert (pairs.p <= alpha).tolist() == (np.abs(pairs.difference) > pairs.critical).tolist()
    limit = tukey_limit(scores, alpha=alpha)
    assert (limit.p <= alpha).tolist() == (np.abs(limit.difference) > limit.critical).tolist()


def test_certain_differences_have_no_p_below_0() -> None:
    """Where systems lie 10 standard deviations apart, what is integrated is 1, give or take rounding."""
    noise = np.random.default_rng(0).random((3, 500))
    for shift in np.linspace(0.05, 0.5, 100):
        assert (tukey_limit(noise + shift * np.array([[0.0], [0.0], [1.0]])).p >= 0).all()


def test_tukey_of_two_systems_is_the_sign_flip_test() -> None:
    scores = draws(2, 40)
    assert tukey(scores, seed=0, n_resamples=50_000).p[0] == pytest.approx(
        sign_flip_pairs(scores, seed=1).p[0], abs=0.01
    )


@pytest.mark.parametrize("seed", range(5))
def test_tukey_is_harder_to_pass_than_a_pair_alone_and_falls_with_the_difference(seed: int) -> None:
    scores = draws(6, 50, seed)
    family, alone = tukey(scores, seed=0, n_resamples=5000), sign_flip_pairs(scores, seed=0, n_resamples=5000)
    assert (family.p >= alone.p - 0.02).all()
    order = np.argsort(-np.abs(family.difference))
    assert (np.diff(family.p[order]) >= 0).all()
    assert ((family.p > 0) & (family.p <= 1)).all()


@pytest.mark.parametrize("n", [10, 40])
def test_adding_a_constant_to_a_query_changes_nothing(n: int) -> None:
    """Hard and easy queries: what all systems gain alike is no difference."""
    scores = np.round(draws(4, n), 3)
    lifted = scores + np.round(np.random.default_rng(1).normal(0, 50, n), 3)
    assert tukey(lifted, seed=0, n_resamples=999).p.tolist() == tukey(scores, seed=0, n_resamples=999).p.tolist()
    assert sign_flip_pairs(lifted, seed=0).p.tolist() == sign_flip_pairs(scores, seed=0).p.tolist()


@pytest.mark.parametrize("parts", [3, 10])
def test_rounding_makes_no_range_larger(parts: int) -> None:
    whole = np.random.default_rng(0).integers(0, parts + 1, (5, 30)).astype(float)
    assert tukey(whole / parts, seed=0).p.tolist() == tukey(whole, seed=0).p.tolist()
    assert sign_flip_pairs(whole / parts, seed=0).p.tolist() == sign_flip_pairs(whole, seed=0).p.tolist()


@quick
@given(st.integers(2, 5), st.integers(2, 9), st.integers(0, 99), st.randoms(use_true_random=False))
def test_the_order_of_systems_does_not_matter(s: int, n: int, seed: int, shuffler: object) -> None:
    scores = np.round(draws(s, n, seed), 1)
    order = list(range(s))
    shuffler.shuffle(order)  # type: ignore[attr-defined]
    plain, mixed = sign_flip_pairs(scores, seed=0), sign_flip_pairs(scores[order], seed=0)
    want = {frozenset((int(i), int(j))): p for i, j, p in zip(plain.first, plain.second, plain.p, strict=True)}
    for i, j, p in zip(mixed.first, mixed.second, mixed.p, strict=True):
        assert p == want[frozenset((order[i], order[j]))]


def test_equal_systems_are_not_told_apart() -> None:
    scores = np.tile(np.random.default_rng(0).random(30), (3, 1))
    for found in (tukey(scores, seed=0, n_resamples=99), sign_flip_pairs(scores, seed=0), t_pairs(scores)):
        assert found.p.tolist() == found.adjusted.tolist() == [1, 1, 1]
        assert found.difference.tolist() == [0, 0, 0]


def test_one_question_is_no_test() -> None:
    for found in (tukey([[0.1], [0.2]], seed=0), sign_flip_pairs([[0.1], [0.2]], seed=0), t_pairs([[0.1], [0.2]])):
        assert np.isnan(found.p).all()
        assert np.isnan(found.adjusted).all()
        assert found.reason == "1 question: a test needs at least two"
        assert found.difference.tolist() == [0.1]


def test_clusters_are_shuffled_whole() -> None:
    scores = draws(3, 12)
    clusters = np.repeat(np.arange(12), 5)
    copies = np.repeat(scores, 5, axis=1)
    for test in (tukey, sign_flip_pairs):
        assert (
            test(copies, seed=0, clusters=clusters, n_resamples=999).p.tolist()
            == test(scores, seed=0, n_resamples=999).p.tolist()
        )
    assert t_pairs(copies, clusters=clusters).p == pytest.approx(t_pairs(scores).p, rel=1e-9)


def test_one_cluster_is_no_test() -> None:
    scores, clusters = draws(3, 12), ["a"] * 12
    for comparisons in (
        tukey(scores, seed=0, clusters=clusters),
        sign_flip_pairs(scores, seed=0, clusters=clusters),
        t_pairs(scores, clusters=clusters),
    ):
        assert comparisons.reason == "all questions are in one cluster: a test needs at least two"
        assert not comparisons.exact
        assert np.isnan(comparisons.p).all()


def test_chosen_pairs_and_the_family_in_words() -> None:
    scores = draws(4, 30)
    against_baseline = [[2, 0], [2, 1], [2, 3]]
    everything, some = sign_flip_pairs(scores, seed=0), sign_flip_pairs(scores, seed=0, pairs=against_baseline)
    assert some.p.tolist() == everything.p[[1, 3, 5]].tolist()
    assert some.difference[0] == -everything.difference[1]
    assert (everything.family, some.family) == ("all 6 pairs of 4 systems", "3 pairs of 4 systems")
    assert corrected(some, "bh", family="3 pairs, ndcg@10, tag zh").family == "3 pairs, ndcg@10, tag zh"
    assert (some.correction, corrected(some, "bh").correction) == ("holm", "bh")
    assert t_pairs(scores[:2]).family == "one pair"


@quick
@given(ps, st.sampled_from(sorted(CORRECTIONS)))
def test_corrections_against_statsmodels(p: list[float], method: str) -> None:
    oracle = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is an oracle for tests only")
    own = correct(p, method=method, family="test").adjusted
    named = {"holm": "holm", "bonferroni": "bonferroni", "bh": "fdr_bh"}
    want = oracle.multipletests(p, method=named[method])[1] if method in named else p
    assert own == pytest.approx(want, rel=1e-12)


@quick
@given(ps, st.randoms(use_true_random=False))
def test_corrections_raise_and_keep_the_order(p: list[float], shuffler: object) -> None:
    made = {method: correct(p, method=method, family="test").adjusted for method in CORRECTIONS}
    plain = np.array(p)
    order = np.argsort(plain, kind="stable")
    for adjusted in made.values():
        assert ((plain <= adjusted) & (adjusted <= 1)).all()
        assert (np.diff(adjusted[order]) >= 0).all()
    assert (made["bh"] <= made["holm"]).all()
    assert (made["holm"] <= made["bonferroni"]).all()
    places = list(range(len(p)))
    shuffler.shuffle(places)  # type: ignore[attr-defined]
    for method, adjusted in made.items():
        assert correct(plain[places], method=method, family="test").adjusted.tolist() == adjusted[places].tolist()


def test_corrections_by_hand() -> None:
    p = [0.01, 0.02, 0.03, 0.5]
    assert correct(p, method="holm", family="").adjusted == pytest.approx([0.04, 0.06, 0.06, 0.5])
    assert correct(p, method="bonferroni", family="").adjusted == pytest.approx([0.04, 0.08, 0.12, 1])
    assert correct(p, method="bh", family="").adjusted == pytest.approx([0.04, 0.04, 0.04, 0.5])


def test_what_was_not_tested_does_not_count() -> None:
    found = correct([0.01, math.nan, 0.03], method="bonferroni", family="three segments, one with one query")
    assert found.adjusted == pytest.approx([0.02, math.nan, 0.06], nan_ok=True)
    assert found.n_tests == 2
    assert correct([], method="holm", family="none").adjusted.tolist() == []


def told_apart(*pairs: tuple[int, int]) -> Pairs:
    """Four systems, of which these pairs differ."""
    made = t_pairs(draws(4, 9))
    differ = [(i, j) in pairs for i, j in zip(made.first, made.second, strict=True)]
    return replace(made, adjusted=np.where(differ, 0.01, 0.9))


def test_groups_by_hand() -> None:
    assert indistinguishable([0.3, 0.5, 0.4, 0.1], told_apart()) == [[1, 2, 0, 3]]
    assert indistinguishable([0.3, 0.5, 0.4, 0.1], told_apart((1, 3))) == [[1, 2, 0], [2, 0, 3]]
    assert indistinguishable([0.1, 0.6, 0.4, 0.1], told_apart((0, 1), (0, 2), (1, 3), (2, 3))) == [[1, 2], [0, 3]]
    assert indistinguishable([4, 3, 2, 1], told_apart(*map(tuple, all_pairs(4).tolist()))) == [[0], [1], [2], [3]]
    assert indistinguishable([4, 3, 2, 1], told_apart((0, 1)), alpha=0.001) == [[0, 1, 2, 3]]


@quick
@given(st.integers(2, 9), st.integers(0, 10**6), st.floats(0, 1))
def test_two_systems_share_a_group_exactly_where_no_test_parts_them(s: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    pairs = t_pairs(rng.random((s, 4)))
    pairs = replace(pairs, adjusted=np.where(rng.random(len(pairs.p)) < share, 0.01, 0.9))
    groups = [set(group) for group in indistinguishable(rng.random(s), pairs)]
    for i, j, p in zip(pairs.first.tolist(), pairs.second.tolist(), pairs.adjusted.tolist(), strict=True):
        assert any({i, j} <= group for group in groups) == (p > 0.05)
    assert set().union(*groups) == set(range(s))
    assert not any(one < other for one in groups for other in groups)


def test_groups_need_every_pair() -> None:
    scores = draws(4, 9)
    with pytest.raises(InputError, match="need all 6 pairs; got 3"):
        indistinguishable(scores.mean(axis=1), t_pairs(scores, pairs=[[0, 1], [0, 2], [0, 3]]))


def test_bad_input() -> None:
    with pytest.raises(InputError, match="at least two"):
        tukey([[0.1, 0.2]], seed=0)
    with pytest.raises(InputError, match="not finite"):
        sign_flip_pairs([[0.1, math.nan], [0.1, 0.2]], seed=0)
    with pytest.raises(InputError, match="'holms'; expected one of holm, bonferroni, bh, none"):
        t_pairs(draws(2, 5), correction="holms")
    with pytest.raises(InputError, match="family-wise already"):
        corrected(tukey(draws(2, 5), seed=0, n_resamples=9), "holm")
    for pairs in ([[0, 0]], [[0, 1], [1, 1]], [[0, 1], [0, 2]], [[0, 1], [-1, 0]]):
        with pytest.raises(InputError, match="numbered from 0 to 1"):
            t_pairs(draws(2, 5), pairs=pairs)
    with pytest.raises(InputError, match="between 0 and 1"):
        correct([1.5], method="holm", family="")
    with pytest.raises(InputError, match="n_resamples is 0"):
        tukey(draws(2, 5), seed=0, n_resamples=0)


def test_all_666_pairs_of_37_real_systems() -> None:
    folder = shared("trec_dl2019_passage")
    runs = sorted((folder / "runs_judged43_top100").glob("*.run.gz"))
    scores = sy.evaluate(folder / "qrels.dl19-passage.txt.gz", runs, ["ndcg@10"]).values[:, 0]
    assert scores.shape == (37, 43)
    start = perf_counter()
    family, alone = tukey(scores, seed=0, n_resamples=10_000), sign_flip_pairs(scores, seed=0, n_resamples=100_000)
    assert perf_counter() - start < 10
    assert len(family.p) == len(alone.p) == 666
    # The adjusted p of sign flips cannot fall below 666 / 100001, yet it finds more: its spread is each pair's own.
    assert 150 < (family.adjusted < 0.05).sum() < (alone.adjusted < 0.05).sum() < (alone.p < 0.05).sum()
    ranked = np.argsort(-scores.mean(axis=1))
    made = indistinguishable(scores.mean(axis=1), family)
    assert made[0][0] == ranked[0]
    assert {i for group in made for i in group} == set(range(37))
    pair = 100
    i, j = family.first[pair], family.second[pair]
    want = scipy_stats.permutation_test(
        (scores[j] - scores[i],), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
    )
    assert alone.p[pair] == pytest.approx(want.pvalue, abs=0.015)
