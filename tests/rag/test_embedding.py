"""Latent semantic analysis: what it learns, what it keeps, and the same bits again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("sklearn", reason="LSA is learnt by scikit-learn")

from steelyard.base.errors import InputError
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.protocols import Embedder, FittedEmbedder
from steelyard.rag.registry import make
from steelyard.rag.stages.embedding import LSA
from steelyard.text.tokens import Tokenizer
from tests.hypothesis_profiles import examples

WORDS = [
    "whale",
    "ship",
    "sea",
    "captain",
    "load",
    "weight",
    "balance",
    "steelyard",
    "鲸鱼",
    "大海",
    "船长",
    "秤",
    "重量",
    "砝码",
]
CORPUS = [
    "The whale swims in the sea.",
    "The captain hunts the whale from his ship at sea.",
    "A ship has a captain.",
    "A steelyard is a balance for a load.",
    "The balance tells the weight of the load.",
    "鲸鱼在大海里游泳。",
    "船长在大海上追捕鲸鱼。",
    "秤用来称重量。",
    "秤有一个砝码，砝码的重量是已知的。",
]


def fitted(texts: list[str], **options: object) -> LSA:
    lsa = LSA(**options)  # type: ignore[arg-type]
    lsa.fit(texts)
    return lsa


def random_texts(n: int, seed: int = 0, size: int = 60, words: int = 3000) -> list[str]:
    rng = np.random.default_rng(seed)
    return [" ".join(f"w{i}" for i in row) for row in rng.zipf(1.3, (n, size)) % words]


@pytest.mark.parametrize(
    ("query", "want"), [("whale", {0, 1}), ("load", {3, 4}), ("ships", {1, 2}), ("鲸鱼", {5, 6}), ("秤", {7, 8})]
)
def test_finds_in_both_languages(query: str, want: set[int]) -> None:
    lsa = fitted(CORPUS, dimensions=6)
    cosines = lsa.documents(CORPUS) @ lsa.query(query)
    assert set(np.argsort(-cosines)[:2].tolist()) == want


def test_knows_kin_that_share_no_word() -> None:
    corpus = [
        "car engine wheel",
        "automobile engine wheel",
        "car engine",
        "automobile wheel engine",
        "tea cup",
        "tea milk",
    ]
    lsa = fitted(corpus, dimensions=2)
    assert float(lsa.query("car") @ lsa.query("automobile")) > 0.9
    assert abs(float(lsa.query("car") @ lsa.query("tea"))) < 0.1


def test_unreduced_cosines_are_those_of_tf_idf() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    corpus = random_texts(40, size=15, words=60)
    lsa = fitted(corpus, dimensions=1000)
    oracle = TfidfVectorizer(analyzer=Tokenizer(stem="english").tokens, sublinear_tf=True).fit_transform(corpus)
    assert lsa.documents(corpus) @ lsa.documents(corpus).T == pytest.approx((oracle @ oracle.T).toarray(), abs=2e-5)


def test_reduced_cosines_are_those_of_scikit_learn() -> None:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import normalize

    corpus = random_texts(120, size=20, words=80)
    oracle = TfidfVectorizer(analyzer=Tokenizer(stem="english").tokens, sublinear_tf=True).fit_transform(corpus)
    reduced = normalize(TruncatedSVD(10, n_iter=5, random_state=0).fit(oracle).transform(oracle))
    vectors = fitted(corpus, dimensions=10).documents(corpus)
    assert np.abs(vectors @ vectors.T - reduced @ reduced.T).max() < 1e-3


def test_two_fits_give_the_same_bits() -> None:
    corpus = random_texts(400)
    one, other = fitted(corpus, dimensions=32), fitted(list(corpus), dimensions=32)
    assert one.state() == other.state()
    assert one.documents(corpus).tobytes() == other.documents(corpus).tobytes()


def test_a_text_has_one_vector_in_any_company() -> None:
    corpus = random_texts(50)
    lsa = fitted(corpus, dimensions=20)
    together = lsa.documents(corpus)
    for i in (0, 7, 49):
        assert lsa.query(corpus[i]).tobytes() == together[i].tobytes()
        assert lsa.documents([corpus[i]]).tobytes() == together[i].tobytes()


@examples(60)
@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), max_size=6), st.integers(1, 8))
def test_any_small_corpus_is_taken(corpus: list[str], dimensions: int) -> None:
    lsa = fitted(corpus, dimensions=dimensions)
    asked = [*corpus, "unheard 未闻", "", "whale 鲸鱼"]
    vectors = lsa.documents(asked)
    assert vectors.dtype == np.float32
    assert vectors.shape[0] == len(asked)
    assert 1 <= vectors.shape[1] <= max(1, min(dimensions, len(corpus)))
    lengths = np.linalg.norm(vectors, axis=1)
    assert ((lengths == 0) | (np.abs(lengths - 1) < 1e-6)).all()
    assert (vectors[len(corpus) : len(corpus) + 2] == 0).all()
    again = LSA(dimensions=dimensions)
    again.restore(lsa.state())
    assert again.documents(asked).tobytes() == vectors.tobytes()


@pytest.mark.parametrize(
    "corpus", [[], [""], ["?!"], ["whale"], ["whale", "whale"], ["whale", "ship sea"], ["鲸鱼", "秤", ""]]
)
def test_tiny_corpora(corpus: list[str]) -> None:
    lsa = fitted(corpus)
    vectors = lsa.documents(corpus)
    for i, text in enumerate(corpus):
        own = 1.0 if text.strip("?!") else 0.0
        assert float(vectors[i] @ lsa.query(text)) == pytest.approx(own, abs=1e-6)


def test_copies_make_no_directions_out_of_noise() -> None:
    lsa = fitted(["whale sea", "ship load"] * 20)
    assert lsa.documents(["whale"]).shape == (1, 2)


def test_no_texts_give_no_vectors() -> None:
    assert fitted(CORPUS, dimensions=4).documents([]).shape == (0, 4)


def test_rare_tokens_can_be_left_out() -> None:
    lsa = fitted(CORPUS, min_df=2)
    assert not lsa.query("steelyard").any()
    assert lsa.query("whale").any()
    assert not fitted(CORPUS, min_df=100).documents(CORPUS).any()


def test_bigrams_are_another_reading() -> None:
    assert fitted(["鲸鱼游泳", "秤"], chinese="bigrams").query("鱼游").any()
    assert not fitted(["鲸鱼游泳", "秤"], chinese="words").query("鱼游").any()


class TestState:
    def test_restores_the_same_bits(self) -> None:
        lsa = fitted(CORPUS, dimensions=5)
        state = lsa.state()
        other = LSA(dimensions=5)
        other.restore(state)
        assert other.documents(CORPUS).tobytes() == lsa.documents(CORPUS).tobytes()
        assert other.query("鲸鱼 whale").tobytes() == lsa.query("鲸鱼 whale").tobytes()
        assert other.state() == state

    def test_holds_no_pickle_and_tells_its_version(self) -> None:
        state = fitted(CORPUS).state()
        assert state.startswith(b"steelyard-lsa-1\n")

    def test_of_another_version_is_refused(self) -> None:
        state = fitted(CORPUS).state()
        with pytest.raises(ValueError, match="not a state of steelyard-lsa-1"):
            LSA().restore(state.replace(b"lsa-1", b"lsa-0", 1))

    def test_of_other_settings_is_refused(self) -> None:
        with pytest.raises(ValueError, match="learnt with"):
            LSA(dimensions=3).restore(fitted(CORPUS, dimensions=4).state())

    @pytest.mark.parametrize("keep", [16, 60, 200, -1])
    def test_cut_short_is_refused(self, keep: int) -> None:
        with pytest.raises(ValueError, match=r"."):
            LSA(dimensions=4).restore(fitted(CORPUS, dimensions=4).state()[:keep])

    def test_needs_a_fit(self) -> None:
        for call in (LSA().state, lambda: LSA().query("whale"), lambda: LSA().documents(["whale"])):
            with pytest.raises(InputError, match="call fit"):
                call()


@pytest.mark.parametrize("option", ["dimensions", "min_df"])
def test_refuses(option: str) -> None:
    with pytest.raises(InputError, match=f"{option} must be a whole number from 1, not 0"):
        make("embed", "lsa", {option: 0})


def test_is_an_embedder_whose_settings_are_its_fields() -> None:
    lsa = make("embed", "lsa", {"dimensions": 8})
    assert isinstance(lsa, Embedder)
    assert isinstance(lsa, FittedEmbedder)
    lsa.fit(CORPUS)
    assert settings_of(lsa) == {
        "dimensions": 8, "min_df": 1, "chinese": "both", "simplify": "characters", "accents": "folded",
        "stem": "english", "stopwords": False, "seed": 0,
    }  # fmt: skip
