"""The lexical reranker, and the check of what any reranker gives."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import InputError, StageError
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.protocols import Reranker
from steelyard.rag.registry import make
from steelyard.rag.stages.reranking import Lexical, checked_scores
from steelyard.text.tokens import Tokenizer
from tests.hypothesis_profiles import examples

pytest.importorskip("Stemmer", reason="the default stems English words")

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "lexical_reranking.jsonl")
    .read_text(encoding="utf-8")
    .splitlines()
]
sentences = st.lists(
    st.sampled_from(["whale", "ship", "sea", "the", "of", "鲸鱼", "秤", "大海", "load"]), max_size=6
).map(" ".join)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["label"])
def test_case(case: dict[str, Any]) -> None:
    given_scores = Lexical(**case.get("settings", {})).scores(case["input"]["query"], case["input"]["texts"])
    assert given_scores == pytest.approx(case["want"]), case["comment"]


@examples(150)
@given(sentences, st.lists(sentences, max_size=5), st.sampled_from([0.0, 0.3, 1.0]))
def test_equals_counting(query: str, texts: list[str], pairs: float) -> None:
    tokens = Tokenizer(chinese="bigrams", stem="english", stopwords=True).tokens
    asked = tokens(query)
    want = []
    for text in texts:
        told = tokens(text)
        words = sum(word in told for word in set(asked)) / max(len(set(asked)), 1)
        neighbours = {(asked[i], asked[i + 1]) for i in range(len(asked) - 1)}
        found = sum(any((told[j], told[j + 1]) == pair for j in range(len(told) - 1)) for pair in neighbours)
        want.append((1 - pairs) * words + pairs * found / len(neighbours) if neighbours else words)
    assert Lexical(pairs=pairs).scores(query, texts) == pytest.approx(want)


@examples(100)
@given(st.text(max_size=20), st.lists(st.text(max_size=20), max_size=4))
def test_scores_lie_between_0_and_1_in_any_company(query: str, texts: list[str]) -> None:
    scores = Lexical().scores(query, texts)
    assert all(0 <= score <= 1 for score in scores)
    assert scores == [Lexical().scores(query, [text])[0] for text in texts]


@pytest.mark.parametrize("pairs", [-0.1, 1.1, math.nan])
def test_refuses(pairs: float) -> None:
    with pytest.raises(InputError, match="pairs must be a number from 0 to 1, not"):
        make("rerank", "lexical", {"pairs": pairs})


def test_is_a_reranker_whose_settings_are_its_fields() -> None:
    lexical = make("rerank", "lexical", {})
    assert isinstance(lexical, Reranker)
    assert settings_of(lexical) == {
        "pairs": 0.5, "chinese": "bigrams", "simplify": "characters", "accents": "folded", "stem": "english",
        "stopwords": True,
    }  # fmt: skip


class Fixed:
    def __init__(self, given_scores: Any) -> None:
        self.given_scores = given_scores

    def scores(self, query: str, texts: Sequence[str]) -> Any:
        return self.given_scores


class TestCheckedScores:
    @pytest.mark.parametrize("good", [[1, 0.5], (1, 0.5), np.array([1.0, 0.5], np.float32)])
    def test_passes_numbers_on(self, good: Any) -> None:
        scores = checked_scores(Fixed(good), "whale", ["a", "b"])
        assert (scores.dtype, scores.tolist()) == (np.float64, [1.0, 0.5])

    def test_asks_nothing_for_no_text(self) -> None:
        assert checked_scores(Fixed(None), "whale", []).shape == (0,)

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            ([1.0], "reranker Fixed gave 1 scores for 2 texts; expected one a text"),
            ([1.0, 2.0, 3.0], "gave 3 scores for 2 texts"),
            ([], "gave 0 scores for 2 texts"),
            (np.ones((2, 2)), r"gave scores of shape \(2, 2\) for 2 texts"),
            (0.5, r"gave scores of shape \(\) for 2 texts"),
            ([1.0, math.nan], "gave nan for text 2 of 2; expected finite scores"),
            ([math.inf, math.nan], "gave inf for text 1 of 2, and 1 more such"),
            ([1.0, None], "gave nan for text 2 of 2|something else than numbers"),
            (["high", "low"], "gave something else than numbers"),
            ([[1.0], [1.0, 2.0]], "gave something else than numbers"),
            (None, "gave"),
        ],
    )
    def test_refuses_all_else(self, bad: Any, message: str) -> None:
        with pytest.raises(StageError, match=message):
            checked_scores(Fixed(bad), "whale", ["a", "b"])

    def test_lets_the_reranker_s_own_error_pass(self) -> None:
        class Broken:
            def scores(self, query: str, texts: Sequence[str]) -> list[float]:
                raise StageError("endpoint answered 500")

        with pytest.raises(StageError, match="answered 500"):
            checked_scores(Broken(), "whale", ["a"])
