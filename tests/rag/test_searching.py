"""Searching by words and by vectors: what is found, in which order, with whichever library."""

import io
import math
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.arrays import Vectors
from steelyard.base.errors import InputError, StageError
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.protocols import Index, Ranking
from steelyard.rag.registry import make
from steelyard.rag.stages.searching import BM25, Dense, best
from steelyard.text.tokens import Tokenizer
from tests.hypothesis_profiles import examples

quick = examples(60)
BACKENDS = [
    pytest.param("numpy"),
    pytest.param(
        "faiss", marks=pytest.mark.skipif(not __import__("importlib").util.find_spec("faiss"), reason="faiss")
    ),
]

BOTH_LANGUAGES = [
    "A steelyard weighs an unknown load against one known weight.",
    "The white whale swims far from the ship.",
    "秤是用来称重量的工具。",
    "Python 是一种编程语言，鲸鱼不是。",
    "",
    "。，!?",
]


def bm25(texts: list[str], **options: object) -> BM25:
    index = BM25(**options)  # type: ignore[arg-type]
    index.build(texts, None)
    return index


def positions(ranking: Ranking) -> list[int]:
    return ranking[0].tolist()


class TestBest:
    def test_orders_by_score_then_position(self) -> None:
        found, scores = best(np.array([9, 4, 2, 7]), np.array([1.0, 3.0, 1.0, 1.0]), 3)
        assert found.tolist() == [4, 2, 7]
        assert scores.tolist() == [3.0, 1.0, 1.0]

    def test_of_nothing(self) -> None:
        assert positions(best(np.empty(0, np.int64), np.empty(0), 5)) == []


class TestBM25:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("bm25s", reason="BM25 is bm25s")

    @pytest.mark.parametrize(
        ("query", "want"),
        [
            ("What does a steelyard weigh?", [0]),
            ("WHALES", [1]),
            ("鲸鱼", [3]),
            ("称重量的工具", [2]),
            ("python", [3]),
            ("Python 和 whale", [3, 1]),
            ("unheard", []),
            ("未闻", []),
            ("", []),
            ("?!。", []),
        ],
    )
    @pytest.mark.parametrize("chinese", ["words", "bigrams"])
    def test_finds_in_both_languages(self, query: str, want: list[int], chinese: str) -> None:
        assert set(want) == set(positions(bm25(BOTH_LANGUAGES, chinese=chinese, stopwords=True).search(query, None, 5)))

    def test_a_chinese_sentence_is_not_one_token(self) -> None:
        assert positions(bm25(["鲸鱼在海里游泳", "秤"]).search("海里有鲸鱼吗", None, 2)) == [0]

    def test_uncut_chinese_is_lost_where_it_has_no_spaces(self) -> None:
        index = bm25(["鲸鱼在海里游泳", "一头 鲸鱼"], chinese="none")
        assert positions(index.search("鲸鱼", None, 2)) == [1]
        assert positions(index.search("海里有鲸鱼吗", None, 2)) == []

    @pytest.mark.parametrize("texts", [[], [""], ["", "。", " \n"]])
    def test_a_corpus_without_words(self, texts: list[str]) -> None:
        found, scores = bm25(texts).search("whale 鲸鱼", None, 3)
        assert (found.dtype, scores.dtype, len(found), len(scores)) == (np.int64, np.float64, 0, 0)

    def test_building_anew_forgets(self) -> None:
        index = bm25(["whale"])
        index.build([""], None)
        assert positions(index.search("whale", None, 3)) == []

    @pytest.mark.parametrize("k", [0, 1, 2, 3, 99])
    def test_k_of_any_size_cuts_ties_by_position(self, k: int) -> None:
        index = bm25(["a whale", "nothing", "a whale", "whale a"])
        assert positions(index.search("whale", None, k)) == [0, 2, 3][:k]

    def test_says_nothing(self) -> None:
        with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
            bm25(["whale", "steelyard"]).search("whale", None, 5)
        assert out.getvalue() + err.getvalue() == ""

    @quick
    @given(
        st.lists(
            st.lists(st.sampled_from(["whale", "ship", "sea", "鲸鱼", "秤", "load"]), max_size=6),
            min_size=1,
            max_size=12,
        ),
        st.lists(st.sampled_from(["whale", "ship", "sea", "鲸鱼", "秤", "unheard"]), max_size=4),
        st.integers(1, 15),
    )
    def test_equals_the_formula(self, corpus: list[list[str]], query: list[str], k: int) -> None:
        texts = [" ".join(words) for words in corpus]
        found, scores = bm25(texts).search(" ".join(query), None, k)
        want = naive_bm25(texts, " ".join(query))
        assert scores == pytest.approx(sorted((s for s in want if s > 0), reverse=True)[:k], rel=1e-5)
        assert [want[i] for i in found] == pytest.approx(list(scores), rel=1e-5)
        pairs = list(zip(-scores, found, strict=True))
        assert pairs == sorted(pairs)

    def test_scores_are_those_of_bm25s(self) -> None:
        bm25s = pytest.importorskip("bm25s")
        rng = np.random.default_rng(0)
        texts = [" ".join(f"w{i}" for i in rng.zipf(1.5, 20) % 200) for _ in range(300)]
        bare = bm25s.BM25()
        bare.index(Tokenizer(stem="english").many(texts), show_progress=False)
        index = bm25(texts)
        for i in range(20):
            query = f"w{i} w{3 * i} w{i}"
            found, scores = index.search(query, None, 300)
            whole = bare.get_scores(Tokenizer(stem="english").tokens(query)).astype(np.float64)
            assert scores.tolist() == whole[found].tolist()
            assert len(found) == (whole > 0).sum()

    @pytest.mark.parametrize("method", ["robertson", "atire"])
    def test_a_word_of_every_chunk_weighs_nothing_in_other_variants(self, method: str) -> None:
        texts = ["whale ship", "whale sea", "whale load"]
        assert positions(bm25(texts, method=method).search("whale", None, 3)) == []
        assert positions(bm25(texts, method="lucene").search("whale", None, 3)) == [0, 1, 2]
        assert positions(bm25(texts, method=method).search("sea", None, 3)) == [1]

    def test_stop_words_on_request(self) -> None:
        texts = ["who is he", "the whale"]
        assert positions(bm25(texts).search("who is he", None, 2)) == [0]
        assert positions(bm25(texts, stopwords=True).search("who is he", None, 2)) == []

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"method": "bm25+"}, "method must be 'lucene', 'robertson' or 'atire', not 'bm25+'"),
            ({"k1": -1.0}, "k1 must be a number from 0, not -1.0"),
            ({"k1": math.nan}, "k1 must be a number from 0, not nan"),
            ({"b": 1.5}, "b must be a number from 0 to 1, not 1.5"),
        ],
    )
    def test_refuses(self, options: dict[str, object], message: str) -> None:
        with pytest.raises(InputError, match=message.replace("+", r"\+")):
            make("index", "bm25", options)

    def test_is_an_index_whose_settings_are_its_fields(self) -> None:
        index = make("index", "bm25", {"k1": 0.9, "chinese": "bigrams"})
        assert isinstance(index, Index)
        assert not index.needs_vectors
        assert settings_of(index) == {
            "k1": 0.9, "b": 0.75, "method": "lucene", "chinese": "bigrams", "simplify": "characters",
            "accents": "folded", "stem": "english", "stopwords": False,
        }  # fmt: skip


def naive_bm25(texts: list[str], query: str) -> list[float]:
    """Lucene's BM25, word by word."""
    told = [Counter(tokens) for tokens in Tokenizer(stem="english").many(texts)]
    mean = sum(sum(one.values()) for one in told) / len(told)
    scores = [0.0] * len(texts)
    for token in Tokenizer(stem="english").tokens(query):
        df = sum(token in one for one in told)
        for i, one in enumerate(told):
            if one[token]:
                idf = math.log(1 + (len(told) - df + 0.5) / (df + 0.5))
                scores[i] += idf * one[token] / (one[token] + 1.5 * (0.25 + 0.75 * sum(one.values()) / mean))
    return scores


def dense(vectors: Vectors, backend: str = "numpy", **options: object) -> Dense:
    index = Dense(backend=backend, **options)  # type: ignore[arg-type]
    index.build([""] * len(vectors), vectors)
    return index


@pytest.mark.parametrize("backend", BACKENDS)
class TestDense:
    def test_hand_worked(self, backend: str) -> None:
        vectors = np.array([[0, 1], [0.6, 0.8], [1, 0], [-1, 0]], np.float32)
        found, scores = dense(vectors, backend).search("", np.array([1, 0], np.float32), 3)
        assert found.tolist() == [2, 1, 0]
        assert scores.tolist() == [1.0, float(np.float32(0.6)), 0.0]
        assert (found.dtype, scores.dtype) == (np.int64, np.float64)

    @pytest.mark.parametrize("k", [0, 1, 3, 20, 39, 40, 41, 500])
    def test_a_crowd_of_equals_by_position(self, backend: str, k: int) -> None:
        vectors = np.tile(np.array([[0.6, 0.8], [0.8, 0.6]], np.float32), (20, 1))
        index = dense(vectors, backend)
        want = [*range(1, 40, 2), *range(0, 40, 2)][:k]
        assert positions(index.search("", np.array([1, 0], np.float32), k)) == want

    def test_a_question_without_direction_finds_nothing(self, backend: str) -> None:
        assert positions(dense(np.eye(3, dtype=np.float32), backend).search("", np.zeros(3, np.float32), 2)) == []

    def test_an_empty_corpus(self, backend: str) -> None:
        for width in (0, 3):
            index = dense(np.empty((0, width), np.float32), backend)
            assert positions(index.search("", np.ones(3, np.float32), 2)) == []

    def test_zero_vectors_score_zero(self, backend: str) -> None:
        vectors = np.array([[0, 0], [-1, 0], [1, 0]], np.float32)
        found, scores = dense(vectors, backend).search("", np.array([1, 0], np.float32), 3)
        assert (found.tolist(), scores.tolist()) == ([2, 0, 1], [1.0, 0.0, -1.0])

    @quick
    @given(st.data())
    def test_equals_sorting_everything(self, backend: str, data: st.DataObject) -> None:
        vectors, query = data.draw(crowded())
        k = data.draw(st.integers(1, len(vectors) + 3))
        found, scores = dense(vectors, backend).search("", query, k)
        exact = [math.fsum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for row in vectors]
        assert scores == pytest.approx([exact[i] for i in found], rel=1e-12, abs=1e-15)
        assert len(found) == (min(k, len(vectors)) if query.any() else 0)
        assert len(set(found)) == len(found)
        if len(found):
            rest = np.delete(exact, found)
            assert (rest <= scores[-1] + 1e-15).all()
        pairs = list(zip(-scores, found, strict=True))
        assert pairs == sorted(pairs)

    def test_differences_that_float32_cannot_see_are_ordered(self, backend: str) -> None:
        rng = np.random.default_rng(5)
        base = rng.normal(size=384)
        near = (base + rng.normal(size=(400, 384)) * 1e-6).astype(np.float32)
        query = (base / np.linalg.norm(base)).astype(np.float32)
        found, scores = dense(near, backend).search("", query, 10)
        exact = near.astype(np.float64) @ query.astype(np.float64)
        assert found.tolist() == np.argsort(-exact, kind="stable")[:10].tolist()
        assert (np.diff(scores) < 0).all()

    @pytest.mark.parametrize(
        ("vectors", "message"),
        [
            (None, "the chunks have no vectors; set an embed stage"),
            (np.ones((2, 3), np.float32), r"got vectors of shape \(2, 3\) for 3 chunks"),
            (np.ones(3, np.float32), r"shape \(3,\) for 3 chunks"),
            (
                np.array([[1, 0], [np.nan, 0], [np.inf, 1]], np.float32),
                "2 of 3 chunks are not finite, first of chunk 2",
            ),
        ],
    )
    def test_refuses_what_is_not_one_vector_a_chunk(self, backend: str, vectors: Vectors, message: str) -> None:
        with pytest.raises(StageError, match=message):
            Dense(backend=backend).build(["a", "b", "c"], vectors)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("vector", "message"),
        [
            (None, "the question has no vector"),
            (np.ones(2, np.float32), r"has shape \(2,\), the chunks' have \(3,\)"),
            (np.array([1, np.nan, 0], np.float32), "NaN"),
        ],
    )
    def test_refuses_an_odd_question(self, backend: str, vector: Vectors, message: str) -> None:
        with pytest.raises(StageError, match=message):
            dense(np.eye(3, dtype=np.float32), backend).search("", vector, 1)

    def test_leaves_its_input_alone(self, backend: str) -> None:
        vectors, query = np.eye(3, dtype=np.float32), np.ones(3, np.float32)
        dense(vectors, backend).search("", query, 2)
        assert (vectors == np.eye(3)).all()
        assert (query == 1).all()


@st.composite
def crowded(draw: st.DrawFn) -> tuple[Vectors, Vectors]:
    """Few distinct vectors, many times over, some of them zero, some a bit apart; and a question."""
    width = draw(st.integers(1, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    distinct = rng.normal(size=(draw(st.integers(1, 5)), width))
    vectors = distinct[rng.integers(0, len(distinct), draw(st.integers(1, 80)))]
    vectors = (
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * rng.choice([0, 1, 1, 1 + 1e-7], (len(vectors), 1))
    )
    query = draw(st.sampled_from([vectors[0], rng.normal(size=width), np.zeros(width)]))
    return vectors.astype(np.float32), query.astype(np.float32)


@examples(150)
@given(crowded(), st.integers(1, 100))
def test_faiss_and_numpy_agree_to_the_bit(case: tuple[Vectors, Vectors], k: int) -> None:
    pytest.importorskip("faiss", reason="one of the two")
    vectors, query = case
    one, other = (dense(vectors, backend).search("", query, k) for backend in ("faiss", "numpy"))
    assert one[0].tobytes() == other[0].tobytes()
    assert one[1].tobytes() == other[1].tobytes()


def test_faiss_and_numpy_agree_on_long_vectors() -> None:
    pytest.importorskip("faiss", reason="one of the two")
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(3000, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[1000:2000] = vectors[:1000]
    one, other = dense(vectors, "faiss", threads=1), dense(vectors, "numpy")
    for i in range(30):
        query = vectors[i] if i % 2 else rng.normal(size=384).astype(np.float32)
        for k in (1, 2, 10, 1500):
            a, b = one.search("", query, k), other.search("", query, k)
            assert a[0].tobytes() == b[0].tobytes()
            assert a[1].tobytes() == b[1].tobytes()


def test_auto_takes_faiss_where_it_is_and_numpy_where_not(monkeypatch: pytest.MonkeyPatch) -> None:
    import steelyard.rag.stages.searching as module

    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert dense(np.eye(2, dtype=np.float32), "auto")._flat is None
    pytest.importorskip("faiss", reason="the other half")
    monkeypatch.setattr(module, "find_spec", lambda name: object())
    assert dense(np.eye(2, dtype=np.float32), "auto")._flat is not None


def test_threads_are_pinned_and_put_back() -> None:
    faiss = pytest.importorskip("faiss", reason="whose threads they are")
    before = faiss.omp_get_max_threads()
    seen = []
    index = dense(np.eye(2, dtype=np.float32), "faiss", threads=before + 1)
    flat = index._flat
    index._flat = type(
        "Flat", (), {"search": lambda _, *a: (seen.append(faiss.omp_get_max_threads()), flat.search(*a))[1]}
    )()
    assert positions(index.search("", np.array([0, 1], np.float32), 1)) == [1]
    assert (seen, faiss.omp_get_max_threads()) == ([before + 1], before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "annoy"}, "backend must be 'auto', 'faiss' or 'numpy', not 'annoy'"),
        ({"threads": 0}, "threads must be a whole number from 1, not 0"),
        ({"threads": "two"}, "threads must be a whole number from 1, not 'two'"),
    ],
)
def test_dense_refuses(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make("index", "dense", options)


def test_dense_is_an_index_that_needs_vectors() -> None:
    index = make("index", "dense", {})
    assert isinstance(index, Index)
    assert index.needs_vectors
