"""Several rankings made one."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, StageError
from steelyard.rag.protocols import Fuser, Ranking
from steelyard.rag.registry import make
from steelyard.rag.stages.searching import RRF, Weighted
from tests.hypothesis_profiles import examples

quick = examples(150)


def ranking(*hits: tuple[int, float]) -> Ranking:
    return np.array([p for p, _ in hits], np.int64), np.array([s for _, s in hits], np.float64)


def pairs(fused: Ranking) -> list[tuple[int, float]]:
    return list(zip(fused[0].tolist(), fused[1].tolist(), strict=True))


def near(hits: list[tuple[int, float]]) -> list[object]:
    return [(position, pytest.approx(score, abs=1e-12)) for position, score in hits]


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    found = draw(st.lists(st.integers(0, 12), unique=True, max_size=8))
    scores = [n / 8 for n in draw(st.lists(st.integers(-80, 80), min_size=len(found), max_size=len(found)))]
    return ranking(*zip(found, sorted(scores, reverse=True), strict=True))


several = st.lists(rankings(), min_size=1, max_size=4)
fusers = st.sampled_from([RRF(), RRF(0), Weighted(), Weighted(normalise="zscore"), Weighted(normalise="none")])

BM25 = ranking((4, 9.0), (2, 8.0), (7, 5.0))
COSINE = ranking((2, 0.5), (9, 0.3), (7, 0.1))


class TestRRF:
    def test_hand_worked(self) -> None:
        assert pairs(RRF().fuse([BM25, COSINE], 10)) == near(
            [(2, 1 / 62 + 1 / 61), (7, 1 / 63 + 1 / 63), (4, 1 / 61), (9, 1 / 62)]
        )

    def test_a_small_constant_favours_the_first(self) -> None:
        assert RRF(0).fuse([BM25, COSINE], 10)[0].tolist() == [2, 4, 7, 9]

    def test_ties_go_by_position(self) -> None:
        assert RRF().fuse([ranking((5, 2.0), (3, 1.0)), ranking((3, 2.0), (5, 1.0))], 10)[0].tolist() == [3, 5]

    @quick
    @given(several, st.integers(0, 15), st.sampled_from([0, 1, 60.5]))
    def test_equals_the_definition(self, given_rankings: list[Ranking], k: int, constant: float) -> None:
        want: dict[int, float] = {}
        for found, _ in given_rankings:
            for rank, position in enumerate(found.tolist(), 1):
                want[position] = want.get(position, 0) + 1 / (constant + rank)
        fused = pairs(RRF(constant).fuse(given_rankings, k))
        assert dict(fused) == pytest.approx({p: want[p] for p, _ in fused})
        assert [s for _, s in fused] == pytest.approx(sorted(want.values(), reverse=True)[:k])

    @quick
    @given(several.flatmap(lambda given_rankings: st.tuples(st.just(given_rankings), st.permutations(given_rankings))))
    def test_the_order_of_rankings_moves_no_bit(self, case: tuple[list[Ranking], list[Ranking]]) -> None:
        one, other = (RRF().fuse(order, 20) for order in case)
        assert one[0].tobytes() == other[0].tobytes()
        assert one[1].tobytes() == other[1].tobytes()

    @pytest.mark.parametrize("constant", [-1, math.nan, math.inf])
    def test_refuses(self, constant: float) -> None:
        with pytest.raises(InputError, match=f"constant must be a number from 0, not {constant}"):
            make("fuse", "rrf", {"constant": constant})


class TestWeighted:
    def test_hand_worked_between_least_and_greatest(self) -> None:
        # BM25: 4 → 1, 2 → 0.75, 7 → 0; cosine: 2 → 1, 9 → 0.5, 7 → 0
        fused = pairs(Weighted([1.0, 2.0]).fuse([BM25, COSINE], 10))
        assert fused == near([(2, 2.75), (4, 1.0), (9, 1.0), (7, 0.0)])

    def test_hand_worked_as_they_are(self) -> None:
        fused = pairs(Weighted([1, 10], "none").fuse([BM25, COSINE], 10))
        assert fused == near([(2, 13.0), (4, 9.0), (7, 6.0), (9, 3.0)])

    def test_hand_worked_in_deviations(self) -> None:
        # 3, 2, 1 has the mean 2 and the deviation sqrt(2/3); 8 and 9 get the least where they are absent.
        z = 1 / math.sqrt(2 / 3)
        one, other = ranking((1, 3.0), (2, 2.0), (8, 1.0)), ranking((9, 3.0), (2, 2.0), (1, 1.0))
        fused = pairs(Weighted([1.0, 1.0], "zscore").fuse([one, other], 10))
        assert fused == near([(1, 0.0), (2, 0.0), (9, 0.0), (8, -2 * z)])

    def test_without_weights_all_weigh_alike(self) -> None:
        assert pairs(Weighted().fuse([BM25, COSINE], 10)) == pairs(Weighted([0.5, 0.5]).fuse([BM25, COSINE], 10))

    @pytest.mark.parametrize(("normalise", "want"), [("minmax", 1.0), ("zscore", 0.0), ("none", 3.0)])
    def test_equal_scores(self, normalise: str, want: float) -> None:
        fused = Weighted([1.0], normalise).fuse([ranking((5, 3.0), (2, 3.0))], 10)  # type: ignore[arg-type]
        assert pairs(fused) == [(2, want), (5, want)]

    def test_a_weight_of_zero_keeps_what_only_that_ranking_found(self) -> None:
        assert Weighted([1, 0]).fuse([BM25, COSINE], 10)[0].tolist() == [4, 2, 7, 9]

    @quick
    @given(several, st.sampled_from(["minmax", "zscore", "none"]), st.data())
    def test_equals_a_dictionary(self, given_rankings: list[Ranking], normalise: str, data: st.DataObject) -> None:
        n = len(given_rankings)
        weights = data.draw(st.lists(st.floats(0.1, 5), min_size=n, max_size=n))
        want = dict.fromkeys((p for found, _ in given_rankings for p in found.tolist()), 0.0)
        for (found, scores), weight in zip(given_rankings, weights, strict=True):
            scaled = naive_scaled(scores.tolist(), normalise)
            own = dict(zip(found.tolist(), scaled, strict=True))
            absent = min(scaled, default=0.0) if normalise == "zscore" else 0.0
            want = {p: score + weight * own.get(p, absent) for p, score in want.items()}
        fused = pairs(Weighted(weights, normalise).fuse(given_rankings, 20))  # type: ignore[arg-type]
        assert dict(fused) == pytest.approx(want, rel=1e-6, abs=1e-6)

    @pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0, 1.0]])
    def test_refuses_another_number_of_weights(self, weights: list[float]) -> None:
        with pytest.raises(InputError, match=f"has {len(weights)} weights for 2 rankings; give one for each index"):
            Weighted(weights).fuse([BM25, COSINE], 10)

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([], "weights must be numbers from 0, one of them above 0, not []"),
            ([0, 0.0], "weights must be numbers from 0, one of them above 0, not [0, 0.0]"),
            ([-1, 1], "weights[0] must be a number from 0, not -1"),
            ([1, math.nan], "weights[1] must be a number from 0, not nan"),
            (["1"], "weights[0] must be a number from 0, not '1'"),
            ([True], "weights[0] must be a number from 0, not True"),
            (3, "weights must be a list of numbers from 0, not 3"),
        ],
    )
    def test_refuses_odd_weights(self, weights: object, message: str) -> None:
        with pytest.raises(InputError, match=re.escape(message)):
            make("fuse", "weighted", {"weights": weights})

    def test_refuses_an_odd_scale(self) -> None:
        with pytest.raises(InputError, match="normalise must be 'minmax', 'zscore' or 'none', not 'max'"):
            make("fuse", "weighted", {"normalise": "max"})

    def test_refuses_scores_that_are_not_finite(self) -> None:
        with pytest.raises(StageError, match="ranking 2 has a score that is not finite"):
            Weighted().fuse([BM25, ranking((1, math.nan))], 10)


def naive_scaled(scores: list[float], normalise: str) -> list[float]:
    if normalise == "none" or not scores:
        return scores
    low, high = min(scores), max(scores)
    if low == high:
        return [1.0 if normalise == "minmax" else 0.0] * len(scores)
    unit = [(score - low) / (high - low) for score in scores]
    if normalise == "minmax":
        return unit
    mean = math.fsum(unit) / len(unit)
    deviation = math.sqrt(math.fsum((u - mean) ** 2 for u in unit) / len(unit))
    return [(u - mean) / deviation for u in unit]


@quick
@given(fusers, several, st.integers(0, 15))
def test_never_invents_nor_loses(fuser: Fuser, given_rankings: list[Ranking], k: int) -> None:
    found, scores = fuser.fuse(given_rankings, k)
    known = {p for positions, _ in given_rankings for p in positions.tolist()}
    assert len(found) == len(set(found.tolist())) == min(k, len(known))
    assert set(found.tolist()) <= known
    assert (found.dtype, scores.dtype) == (np.int64, np.float64)
    order = list(zip(-scores, found, strict=True))
    assert order == sorted(order)


@quick
@given(fusers, rankings())
def test_one_ranking_keeps_its_order(fuser: Fuser, only: Ranking) -> None:
    given_order = sorted(pairs(only), key=lambda hit: (-hit[1], hit[0])) if not isinstance(fuser, RRF) else pairs(only)
    assert fuser.fuse([only], 20)[0].tolist() == [p for p, _ in given_order]


@pytest.mark.parametrize("fuser", [RRF(), Weighted()])
def test_nothing_fused_is_nothing(fuser: Fuser) -> None:
    for nothing in ([], [ranking()], [ranking(), ranking()]):
        assert pairs(fuser.fuse(nothing, 5)) == []


@pytest.mark.parametrize("fuser", [RRF(), Weighted()])
def test_a_chunk_twice_is_refused(fuser: Fuser) -> None:
    with pytest.raises(StageError, match="ranking 2 has the chunk at position 3 twice"):
        fuser.fuse([BM25, ranking((3, 2.0), (3, 1.0))], 5)


@pytest.mark.parametrize("name", ["rrf", "weighted"])
def test_is_a_fuser(name: str) -> None:
    assert isinstance(make("fuse", name, {}), Fuser)
