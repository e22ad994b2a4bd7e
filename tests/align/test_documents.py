"""Names of documents in gold and in chunks: the same credit with a corpus and without, for every kind of gold."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align.documents import NumberedDocuments
from steelyard.align.gold import Gold
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import ChunkRow, ChunkTable
from steelyard.data.corpus import Document, DocumentNames
from steelyard.data.questions import Questions
from tests.hypothesis_profiles import examples

CASES = [
    json.loads(line) for line in Path("tests/cases/names_of_two_sides.jsonl").read_text("utf-8").split("\n") if line
]
TEXT = "Hotels up to 120 euros. 酒店不超过一百二十欧元。"
QUOTE = "up to 120 euros"
PIECES = {"document": {}, "span": {"start": 7, "end": 22}, "quote": {"quote": QUOTE}, "pages": {"page": 1}}


def numbered(gold: list[str], retrieved: list[str]) -> NumberedDocuments:
    questions = Questions([{"qid": "q", "evidence": [{"doc": doc} for doc in gold]}])
    rows = {f"c{i}": ChunkRow(doc, 0, 5) for i, doc in enumerate(retrieved)}
    return NumberedDocuments.of(None, ChunkTable.of_rows(rows, complete=False), Gold.of(list(questions)))


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_names_without_a_corpus(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(InputError) as error:
            numbered(case["gold"], case["retrieved"])
        assert case["error"] in str(error.value)
        return
    documents = numbered(case["gold"], case["retrieved"])
    assert {
        gold: sorted(doc for doc in case["retrieved"] if documents.are_one(gold, doc)) for gold in case["gold"]
    } == {gold: sorted(want) for gold, want in case["want"].items()}


@pytest.mark.parametrize("corpus", [False, True], ids=["without corpus", "with corpus"])
@pytest.mark.parametrize("kind", PIECES)
@pytest.mark.parametrize(
    ("gold", "retrieved", "fits"),
    [
        ("travel", "documents/handbook/travel.md", True),
        ("handbook/travel.md", "C:\\kb\\documents\\handbook\\travel.md", True),
        ("documents/handbook/travel.md", "travel", True),
        ("差旅", "文档/手册/差旅.md", True),
        ("fees", "documents/handbook/travel.md", False),
        ("eu/travel", "documents/handbook/travel.md", False),
    ],
)
def test_every_kind_of_gold_goes_by_the_rule(kind: str, gold: str, retrieved: str, fits: bool, corpus: bool) -> None:
    """What LangChain calls `source` is a path, and gold has the name that people know."""
    names = {"travel": "documents/handbook/travel.md", "fees": "documents/fees.md", "差旅": "文档/手册/差旅.md"}
    if gold == "eu/travel":  # With it, `travel` alone would be ambiguous.
        names["eu/travel"] = "documents/eu/travel.md"
    documents = [Document(doc_id, TEXT, (0,), source) for doc_id, source in names.items()]
    item = {"id": "c1", "doc": retrieved, "start": 0, "end": len(TEXT), "text": TEXT, "page": 1}
    scores = sy.evaluate(
        [{"qid": "q", "evidence": [{"doc": gold, **PIECES[kind]}]}],
        {"s": sy.Outputs([{"qid": "q", "retrieved": [item]}])},
        "evidence_recall",
        documents=documents if corpus else None,
    )
    assert scores.means.item() == fits


def test_an_ambiguous_name_is_an_error_that_says_what_to_write() -> None:
    twins = [Document("a/x", "one", source="docs/a/x.txt"), Document("b/x", "two", source="docs/b/x.txt")]

    def weigh(gold: str, retrieved: str) -> sy.Scores:
        item = {"id": "c", "doc": retrieved, "start": 0, "end": 3, "text": "one"}
        return sy.evaluate(
            [{"qid": "q", "evidence": [{"doc": gold, "start": 0, "end": 3}]}],
            {"s": sy.Outputs([{"qid": "q", "retrieved": [item]}])},
            ["evidence_recall", "span_precision"],
            documents=twins,
        )

    with pytest.raises(InputError) as error:
        weigh("x.txt", "a/x")
    assert str(error.value) == (
        "questions, question 1, question 'q': document 'x.txt' may be 'a/x' or 'b/x'; write one of these"
    )
    with pytest.raises(InputError, match="a retrieved chunk is of document 'x', which may be 'a/x' or 'b/x', and gold"):
        weigh("a/x", "x")
    assert weigh("b/x.txt", "docs/b/x").means.ravel().tolist() == [1, 1]


def test_an_ambiguous_chunk_harms_nothing_where_no_gold_is_in_its_documents() -> None:
    documents = [Document("a/x", "one"), Document("b/x", "two"), Document("c", "three")]
    item = {"id": "1", "doc": "x", "start": 0, "end": 3, "text": "one"}
    scores = sy.evaluate(
        [{"qid": "q", "evidence": [{"doc": "c", "quote": "three"}]}],
        {"s": sy.Outputs([{"qid": "q", "retrieved": [item, {"id": "2", "doc": "c", "start": 0, "end": 5}]}])},
        "mrr",
        documents=documents,
    )
    assert scores.means.item() == 0.5


PARTS = ["a", "b", "travel", "travel.md", "travel.pdf", "index.md", "差旅", "差旅.md", "Cafe\u0301", "Café", "a.txt.gz",
         ".env", "v1.2", "..", ".", "", " "]  # fmt: skip
names = st.tuples(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4), st.sampled_from(["/", "\\", "//"])).map(
    lambda drawn: drawn[1].join(drawn[0]) or "a"
)
lists = st.lists(names, min_size=1, max_size=6, unique=True)


@examples(200)
@given(gold=lists, retrieved=lists)
def test_no_order_decides_and_equal_names_are_one(gold: list[str], retrieved: list[str]) -> None:
    try:
        documents, reverse = numbered(gold, retrieved), numbered(gold[::-1], retrieved[::-1])
    except InputError:  # An ambiguous name.
        return
    for name in gold:
        assert documents.are_one(name, name)
        assert (name in retrieved) <= documents.holds(documents.number(name))
        for other in retrieved:
            assert documents.are_one(name, other) == reverse.are_one(name, other)
            assert (name == other) <= documents.are_one(name, other)


@examples(200)
@given(ids=lists, sources=st.lists(st.one_of(st.just(""), names), min_size=6, max_size=6), name=names)
def test_slashes_of_either_kind_mean_the_same(ids: list[str], sources: list[str], name: str) -> None:
    documents = DocumentNames.of([Document(id, "", source=source) for id, source in zip(ids, sources, strict=False)])
    assert [documents.candidates(id) for id in ids] == [[i] for i in range(len(ids))]
    other = name.replace("\\", "/")
    if not {name, other} & {*ids}:
        assert documents.candidates(name) == documents.candidates(other)
