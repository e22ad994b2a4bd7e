"""The judge by inference, with a model that a test plays; with a real one, tests/judges/test_models.py."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.base.arrays import Floats
from steelyard.base.errors import InputError, MissingExtraError, StageError
from steelyard.judges.nli import NLIJudge, nli_verdict
from steelyard.judges.registry import make_judge
from steelyard.judges.verdict import Case, Verdict
from steelyard.services.models import local

SURE, UNSURE, NEITHER, AGAINST = [0.9, 0.0, 0.1], [0.3, 0.1, 0.6], [0.0, 0.1, 0.9], [0.1, 0.8, 0.1]


class Played:
    """A model that reads characters: `answer` says its probabilities of a pair, or raises."""

    def __init__(self, answer: Callable[[str, str], Sequence[float]], room: int = 40) -> None:
        self.answer, self._room = answer, room
        self.batches = list[list[tuple[str, str]]]()

    def room(self) -> int:
        return self._room

    def n_tokens(self, texts: Sequence[str]) -> list[int]:
        return list(map(len, texts))

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        self.batches.append(list(pairs))
        assert all(len(window) + len(unit) <= self._room for window, unit in pairs)
        return np.array([self.answer(*pair) for pair in pairs], np.float64)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the library were there."""
    monkeypatch.setattr(local, "find_spec", lambda name: object())


def make(answer: Callable[[str, str], Sequence[float]], room: int = 40, **settings: Any) -> tuple[NLIJudge, Played]:
    judge, played = NLIJudge("owner/name", **settings), Played(answer, room)
    judge._network = played  # type: ignore[assignment]
    return judge, played


def says(window: str, unit: str) -> Sequence[float]:
    """Entailed where the window holds the unit, contradicted where it holds its negation."""
    return SURE if unit in window else AGAINST if f"not {unit}" in window or f"不{unit}" in window else NEITHER


@pytest.mark.parametrize(
    ("answers", "threshold", "label", "reason"),
    [
        ([SURE], 0.5, "supported", "entailment 0.90"),
        ([UNSURE], 0.5, "not_found", "entailment 0.30"),
        ([UNSURE], 0.3, "supported", "entailment 0.30"),
        ([NEITHER], 0.5, "not_found", "entailment 0.00"),
        ([AGAINST], 0.5, "contradicted", "contradiction 0.80"),
        ([AGAINST, SURE], 0.5, "supported", "entailment 0.90 in window 2 of 2: “w1”"),
        ([AGAINST, UNSURE], 0.5, "contradicted", "contradiction 0.80 in window 1 of 2: “w0”"),
        ([NEITHER, AGAINST, NEITHER], 0.5, "contradicted", "contradiction 0.80 in window 2 of 3: “w1”"),
        ([[0.3, 0.4, 0.3], [0.45, 0.05, 0.5]], 0.5, "not_found", "entailment 0.45 in window 2 of 2: “w1”"),
        ([[0.1, 0.4, 0.5]], 0.5, "not_found", "entailment 0.10"),
        ([[0.4, 0.0, 0.6]], 0.5, "not_found", "entailment 0.40"),
        ([StageError("out of memory"), SURE], 0.5, "supported", "entailment 0.90 in window 2 of 2: “w1”"),
        ([StageError("out of memory"), AGAINST], 0.5, "not_judged", "out of memory"),
        ([StageError("out of memory")], 0.0, "not_judged", "out of memory"),
    ],
)
def test_the_rule(answers: list[Any], threshold: float, label: str, reason: str) -> None:
    rows = [answer if isinstance(answer, StageError) else np.array(answer) for answer in answers]
    verdict = nli_verdict(rows, [f"w{i}" for i in range(len(rows))], threshold)
    assert (verdict.label, verdict.reason) == (label, reason)
    entailments = [answer[0] for answer in answers if not isinstance(answer, StageError)]
    assert verdict.score == (None if label == "not_judged" else max(entailments))


@pytest.mark.usefixtures("installed")
class TestJudge:
    def test_verdicts_come_in_the_order_of_cases_and_units(self) -> None:
        judge, _ = make(says)
        cases = [Case("Hall. not open.", ("open", "Hall", "bees")), Case("秤。不开门。", ("秤", "开门", "蜂"))]
        labels = [[verdict.label for verdict in verdicts] for verdicts in judge.judge(cases)]
        assert labels == [["supported", "supported", "not_found"], ["supported", "supported", "not_found"]]
        judge, _ = make(lambda window, unit: AGAINST if "not" in window or "不" in window else SURE)
        labels = [[verdict.label for verdict in verdicts] for verdicts in judge.judge(cases)]
        assert labels == [["contradicted"] * 3, ["contradicted"] * 3]

    def test_every_sentence_of_a_long_premise_is_read(self) -> None:
        judge, _ = make(says, room=30)
        sentences = [f"Sentence {i:02d}." for i in range(40)]
        units = (*sentences, "Sentence 99.")
        (verdicts,) = judge.judge([Case(" ".join(sentences), units)])
        assert [verdict.label for verdict in verdicts] == ["supported"] * 40 + ["not_found"]
        assert verdicts[7].reason.startswith("entailment 0.90 in window 8 of 40: “Sentence 07.")

    def test_pairs_are_asked_once_the_longest_first(self) -> None:
        judge, played = make(says, batch_size=2)
        case = Case("Hall.", ("a", "Hall", "bb"))
        first = list(judge.judge([case, case]))
        assert played.batches == [[("Hall.", "Hall"), ("Hall.", "bb")], [("Hall.", "a")]]
        assert first[0] == first[1]

    def test_a_unit_is_asked_behind_its_lead(self) -> None:
        judge, played = make(says)
        list(judge.judge([Case("Hall.", ("a", "b"), leads=("Not covered:", ""))]))
        assert played.batches == [[("Hall.", "Not covered: a"), ("Hall.", "b")]]

    def test_a_failing_batch_is_halved_and_only_what_fails_alone_is_not_judged(self) -> None:
        def answer(window: str, unit: str) -> Sequence[float]:
            if unit == "bad":
                raise StageError("model x failed: OutOfMemoryError: none left")
            return says(window, unit)

        judge, _ = make(answer)
        (verdicts,) = judge.judge([Case("Hall. bad", ("Hall", "bad", "bees", "a", "b"))])
        assert [verdict.label for verdict in verdicts] == [
            "supported",
            "not_judged",
            "not_found",
            "supported",
            "supported",
        ]
        assert verdicts[1] == Verdict("not_judged", None, "model x failed: OutOfMemoryError: none left")

    def test_a_model_that_never_works_is_given_up(self) -> None:
        n_calls = 0

        def fail(window: str, unit: str) -> Sequence[float]:
            nonlocal n_calls
            n_calls += 1
            raise StageError("model x failed: no kernel")

        judge, _ = make(fail, batch_size=1)
        with pytest.raises(
            InputError, match=r"^judge nli: model x failed: no kernel \(and no answer to any of 20 batches"
        ):
            list(judge.judge([Case("Hall.", tuple(f"u{i}" for i in range(100)))]))
        assert n_calls == 20

    def test_a_unit_too_long_to_be_read_is_not_judged(self) -> None:
        judge, _ = make(says, room=20)
        (verdicts,) = judge.judge([Case("Hall.", ("x" * 10, "x" * 11, "x" * 100_000))])
        assert [verdict.label for verdict in verdicts] == ["not_found", "not_judged", "not_judged"]
        assert verdicts[1].reason == "the unit has 11 tokens; the model can be asked of 10"

    @pytest.mark.parametrize(("premise", "unit"), [("", "Hall"), ("\n", "Hall"), ("Hall", ""), ("", "")])
    def test_nothing_is_found_in_nothing(self, premise: str, unit: str) -> None:
        judge, played = make(says)
        ((verdict,),) = judge.judge([Case(premise, (unit,))])
        assert (verdict.label, verdict.score, played.batches) == ("not_found", 0.0, [])
        assert verdict.reason == ("the unit is empty" if premise.strip() else "the premise is empty")

    def test_a_tokenizer_that_fails_leaves_the_block_unjudged(self, monkeypatch: pytest.MonkeyPatch) -> None:
        judge, played = make(says)

        def fail(texts: Sequence[str]) -> list[int]:
            raise StageError("tokenizer of m failed: TypeError: no text")

        monkeypatch.setattr(played, "n_tokens", fail)
        assert [[v.label for v in row] for row in judge.judge([Case("a", ("b", "c"))])] == [["not_judged"] * 2]

    def test_no_cases(self) -> None:
        judge, _ = make(says)
        assert list(judge.judge([])) == []
        assert list(judge.judge([Case("Hall", ())])) == [[]]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"model": ""}, "NLIJudge: model must be a folder or a name on the Hugging Face hub, not ''"),
            ({"threshold": -0.1}, "NLIJudge: threshold must be a number from 0 to 1, not -0.1"),
            ({"max_length": 15}, "NLIJudge: max_length must be a whole number from 16, not 15"),
            ({"model": "./none"}, "the model folder is not there"),
        ],
    )
    def test_refuses(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(InputError, match=message):
            NLIJudge(**{"model": "owner/name", **settings})

    def test_is_made_by_name(self) -> None:
        judge = make_judge("nli", {"model": "owner/name", "entailment": "LABEL_1"})
        assert isinstance(judge, NLIJudge)
        assert judge.entailment == "LABEL_1"
        with pytest.raises(InputError, match=r"judge nli: model is missing; expected a folder or a name on"):
            make_judge("nli")

    def test_the_recipe_has_what_verdicts_depend_on(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text("{}")
        recipe = NLIJudge(str(tmp_path), threshold=0.6, max_length=128, entailment="LABEL_1").recipe()
        assert recipe["model_id"] == local.identity_of(str(tmp_path)) != str(tmp_path)
        assert recipe["model"] == tmp_path.name
        assert recipe["threshold"] == 0.6
        assert recipe["max_length"] == 128
        assert recipe["entailment"] == "LABEL_1"
        assert recipe["calibration"] == "uncalibrated"


def test_a_missing_library_has_its_install_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"judge nli needs .*pip install .*\[models\]'"):
        NLIJudge(str(tmp_path))
