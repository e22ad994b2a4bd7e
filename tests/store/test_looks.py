"""What a store counts of looks at its questions: configurations, and questions to a held-out part."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.store.store import Store

TRUTH = {f"q{i}": {f"d{i}": 1.0} for i in range(12)}
QUESTION = {"truth": "t", "entry": "e", "system": "s", "against": "", "measure": "mrr"}


def run(shift: int) -> dict[str, list[str]]:
    return {q: ["y", f"d{i}"] if (i + shift) % 4 else [f"d{i}"] for i, q in enumerate(TRUTH)}


def test_configurations_are_counted_once(tmp_path: Path) -> None:
    with Store(tmp_path / "h.db") as store:
        first = store.add(sy.evaluate(TRUTH, {"a": run(0), "b": run(1)}, "mrr"))
        store.add(sy.evaluate(TRUTH, {"again": run(0)}, "mrr"))
        store.add(sy.evaluate(TRUTH, {"c": run(2)}, "mrr"))
        store.add(sy.evaluate({**TRUTH, "q99": {"d": 1}}, {"d": run(3)}, "mrr"))
        configs = store.configs(str(first.truth))
        assert len(configs) == 3
        assert configs["time"].to_list()[0] == first.time
        assert store.configs("another").is_empty()


def test_a_question_is_answered_once_and_every_one_is_counted(tmp_path: Path) -> None:
    spent = []

    def answer(n_spent: int) -> Mapping[str, Any]:
        spent.append(n_spent)
        return {"mean": 0.5 + n_spent, "agrees": False, "charged": True}

    with Store(tmp_path / "h.db") as store:
        assert store.ask_held_out(QUESTION, answer) == ({"mean": 0.5, "agrees": False, "charged": True}, 1)
        assert store.ask_held_out(QUESTION, answer) == ({"mean": 0.5, "agrees": False, "charged": False}, 1)
        assert store.ask_held_out({**QUESTION, "entry": "f"}, answer)[1] == 2
        assert store.ask_held_out({**QUESTION, "truth": "u"}, answer)[1] == 1
        assert spent == [0, 1, 0]
        kept = store.confirmations()
        assert kept.select("truth", "entry", "mean", "charged").rows() == [
            ("t", "e", 0.5, True), ("t", "e", 0.5, False), ("t", "f", 1.5, True), ("u", "e", 0.5, True),
        ]  # fmt: skip


def test_nothing_is_kept_of_a_question_that_fails(tmp_path: Path) -> None:
    def answer(n_spent: int) -> Mapping[str, Any]:
        raise RuntimeError

    with Store(tmp_path / "h.db") as store:
        with pytest.raises(RuntimeError):
            store.ask_held_out(QUESTION, answer)
        assert store.confirmations().is_empty()


def test_held_out_questions_are_kept_apart(tmp_path: Path) -> None:
    scores = sy.evaluate(TRUTH, {"a": run(0)}, "mrr", hold_out=0.4)
    with Store(tmp_path / "h.db") as store:
        entry = store.add(scores)
        assert entry.parts == {"scores": "Scores", "held_out": "Scores"}
        assert list(store.scores(entry.id).query_ids) == list(scores.query_ids)
        assert list(store.result(entry.id).query_ids) == list(scores.query_ids)
        assert scores.held_out is not None
        assert store.result(entry.id, "held_out").values.tolist() == scores.held_out.values.tolist()
        assert store.means()["n"].to_list() == [len(scores.query_ids)]
