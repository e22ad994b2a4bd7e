"""What a table says below itself."""

import steelyard as sy


def test_a_run_without_any_label_is_suspicious() -> None:
    truth = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    chunks, documents = {"q1": ["d1#1"], "q2": ["d2#1", "d2#2"]}, {"q1": ["d1"], "q2": ["d9"]}
    scores = sy.evaluate(truth, {"chunks": chunks, "documents": documents}, "mrr")
    notes = [line for line in scores.text(explain=True).splitlines() if "has a label" in line]
    assert len(notes) == 1
    assert notes[0].startswith("chunks: no document")
