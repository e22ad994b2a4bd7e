"""The context of each answer, as the generator saw it."""

from pathlib import Path

import pytest

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.judges.answers.cases import ContextChunk, ContextLimits, contexts
from steelyard.rag.runs.running import run

LINES = [
    {
        "qid": "q1",
        "retrieved": [{"id": "b", "score": 1.0, "text": "bees"}, {"id": "a", "score": 2.0, "text": "ants"}],
        "answer": "A.",
    },
    {"qid": "q2", "retrieved": [], "answer": "B."},
    {"qid": "q3", "error": "down"},
    {"qid": "q4", "retrieved": ["c"], "answer": "C."},
]


def test_all_that_was_retrieved_best_first() -> None:
    assert contexts(sy.Outputs(LINES)) == {
        "q1": (ContextChunk("a", "ants"), ContextChunk("b", "bees")),
        "q2": (),
        "q3": None,
        "q4": None,
    }


def test_the_first_chunks_and_what_fits() -> None:
    outputs = sy.Outputs(LINES)
    assert contexts(outputs, ContextLimits(n_chunks=1))["q1"] == (ContextChunk("a", "ants"),)
    assert contexts(outputs, ContextLimits(n_tokens=1))["q1"] == (ContextChunk("a", "ants"),)
    assert len(contexts(outputs, ContextLimits(n_tokens=2))["q1"] or ()) == 2


def test_a_text_that_is_not_at_hand_matters_where_it_was_seen() -> None:
    lines = [{"qid": "q", "retrieved": [{"id": "a", "score": 2.0, "text": "ants"}, {"id": "b", "score": 1.0}]}]
    assert contexts(sy.Outputs(lines))["q"] is None
    assert contexts(sy.Outputs(lines), ContextLimits(n_chunks=1))["q"] == (ContextChunk("a", "ants"),)


def test_rows_of_ragas_have_their_texts() -> None:
    row = {"user_input": "x", "response": "y", "retrieved_contexts": ["one", "two"]}
    (context,) = contexts(sy.Outputs([row])).values()
    assert [chunk.text for chunk in context or ()] == ["one", "two"]


def test_a_run_folder_says_how_many(tmp_path: Path) -> None:
    documents = {f"d{i}": f"The library opens at {i}." for i in range(6)}
    pipeline = sy.Pipeline(documents, generate="extractive", k=5, passages=2)
    run(pipeline, [{"qid": "q", "query": "When does the library open?"}], tmp_path / "run")
    outputs = sy.Outputs.read(tmp_path / "run")
    ranked = outputs.run.frame["doc_id"].to_list()
    assert len(ranked) == 5
    assert [chunk.chunk_id for chunk in contexts(outputs)["q"] or ()] == ranked[:2]


@pytest.mark.parametrize("value", [0, -1, "5", True, 2.5])
def test_a_configuration_that_cannot_be_read(value: object) -> None:
    with pytest.raises(InputError, match="`passages` must be a whole number from 1"):
        ContextLimits.of_config({"generate": {"passages": value}})


def test_limits_of_a_target() -> None:
    config = {"target": {"callable": "a:b", "passages": 3, "context_tokens": 900}}
    assert ContextLimits.of_config(config) == ContextLimits(3, 900)
