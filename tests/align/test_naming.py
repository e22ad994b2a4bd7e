"""What is said of names that gold and outputs do not share, and where nothing is."""

from typing import Any

import pytest

import steelyard as sy
from steelyard.base.notes import Note
from steelyard.data.corpus import Document
from steelyard.experiment.table.json import as_json, read_scores

QUOTE = "up to 120 euros"


def notes(evidence: list[Any], *items: dict[str, Any], documents: Any = None, n: int = 1) -> list[Note]:
    scores = sy.evaluate(
        [{"qid": f"q{i}", "evidence": evidence} for i in range(n)],
        {"s": sy.Outputs([{"qid": f"q{i}", "retrieved": list(items)} for i in range(n)])},
        "evidence_recall",
        documents=documents,
    )
    return list(scores.notes.get("s", ()))


def chunk(doc: str | None, text: str = f"Hotels {QUOTE}.", id: str = "c1") -> dict[str, Any]:
    return {"id": id, "text": text} | ({} if doc is None else {"doc": doc})


def test_a_quote_in_another_document_is_said_where_its_own_was_never_retrieved() -> None:
    assert notes([{"doc": "travel", "quote": "Up to\n120 EUROS"}], chunk("x", "Nothing.", "c0"), chunk("export-7")) == [
        Note("quote_elsewhere", {"n": 1, "query_id": "q0", "name": "travel", "retrieved": "export-7"})
    ]


@pytest.mark.parametrize(
    ("evidence", "items"),
    [
        pytest.param([{"doc": "travel", "quote": QUOTE}], [chunk("kb/travel.md")], id="the rule knows the name"),
        pytest.param([{"doc": "travel", "quote": QUOTE}], [chunk(None)], id="a chunk without a name may be any"),
        pytest.param([{"text": QUOTE}], [chunk("x")], id="a text without a document is anywhere"),
        pytest.param([{"doc": "travel", "quote": QUOTE}], [chunk("x", "hotels")], id="the words are not there"),
        pytest.param([{"doc": "travel", "quote": QUOTE}], [chunk("x", "euros")], id="a part of them is not enough"),
        pytest.param([{"doc": "travel", "quote": QUOTE, "gain": 0}], [chunk("x")], id="it is judged not to be gold"),
        pytest.param(
            [{"doc": "travel", "quote": QUOTE}],
            [chunk("x"), chunk("travel", "Trains.", "c2")],
            id="the document is known by its name, and the words are in another one as well",
        ),
        pytest.param(
            [{"doc": "travel", "quote": QUOTE, "group": "a"}, {"doc": "fees", "quote": "hotels", "group": "a"}],
            [chunk("fees")],
            id="an alternative is credited",
        ),
    ],
)
def test_nothing_is_said_where_names_are_not_to_blame(evidence: list[Any], items: list[dict[str, Any]]) -> None:
    assert [note for note in notes(evidence, *items) if not note.code.startswith("no_gold")] == []


def test_with_a_corpus_the_name_of_the_chunk_is_to_blame() -> None:
    corpus = [Document("travel", f"Hotels {QUOTE}."), Document("fees", f"Also {QUOTE}.")]
    gold = [{"doc": "travel", "quote": QUOTE}]
    placed = {"start": 0, "end": 23}
    want = Note("quote_elsewhere_in_corpus", {"n": 1, "query_id": "q0", "name": "travel", "retrieved": "export-7"})
    assert notes(gold, chunk("export-7"), documents=corpus) == [want]
    assert notes(gold, chunk("export-7") | placed, documents=corpus) == [want]
    assert notes(gold, chunk("fees") | placed, documents=corpus) == []
    assert notes(gold, chunk("export-7"), chunk("travel", id="c2"), documents=corpus) == []


@pytest.mark.parametrize("piece", [{}, {"start": 0, "end": 9}, {"page": 2}])
def test_that_no_name_is_shared_is_said_from_three_questions_on(piece: dict[str, Any]) -> None:
    gold, items = [{"doc": "travel", **piece}], [chunk("b") | {"start": 0, "end": 23, "page": 2}, chunk("a", id="c2")]
    want = [Note("no_name_in_common", {"name": "travel", "retrieved": "a"})]
    assert [notes(gold, *items, n=n) for n in (2, 3)] == [[], want]
    assert notes(gold, *items, chunk("kb/travel", id="c3"), n=3) == []


def test_notes_stay_with_scores() -> None:
    gold = [{"qid": "q", "evidence": [{"doc": "travel", "quote": QUOTE}]}]
    lists = {"a": "export-7", "b": "travel"}
    outputs = {name: sy.Outputs([{"qid": "q", "retrieved": [chunk(doc)]}]) for name, doc in lists.items()}
    scores = sy.evaluate(gold, outputs, ["evidence_recall", "mrr"])
    assert list(scores.notes) == ["a"]
    assert scores.filter(systems="b").notes == {}
    parts = [scores.filter(measures=measure) for measure in ("evidence_recall", "mrr")]
    assert sy.Scores.concat(parts).notes == scores.notes


def test_notes_are_read_back(tmp_path: Any) -> None:
    gold = [{"qid": "q", "evidence": [{"doc": "travel", "quote": QUOTE}]}]
    scores = sy.evaluate(gold, {"a": sy.Outputs([{"qid": "q", "retrieved": [chunk("x")]}])}, "mrr")
    (path := tmp_path / "scores.json").write_text(as_json(scores), encoding="utf-8")
    assert read_scores(path).notes == scores.notes != {}
