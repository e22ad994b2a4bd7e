"""Items of other libraries: dumps as recorded, objects of LangChain, and stand-ins with the attributes of others."""

import json
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.load import dumpd

import steelyard as sy
from steelyard.io.json_files import retrieved_items
from steelyard.io.retrieved_items import RESULT_KEYS, content_id, plain_items
from steelyard.rag.own.targets import callable_target
from tests.hypothesis_profiles import examples

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "cases" / "retrieved_items.jsonl").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("case", CASES, ids=[case["label"] for case in CASES])
def test_dumps(case: dict[str, Any]) -> None:
    before = json.dumps(case["input"])
    assert plain_items([case["input"]]) == [case["want"]]
    assert json.dumps(case["input"]) == before


def llama_index_node(**more: Any) -> SimpleNamespace:
    """The attributes of a TextNode and those of NodeWithScore around it."""
    fields = {"node_id": "n1", "text": "bees dance", "metadata": {"file_path": "/data/bees.md"}, "ref_doc_id": "doc1"}
    return SimpleNamespace(**fields, start_char_idx=3, end_char_idx=13, **more)


LANGCHAIN = Document("bees dance", id="c1", metadata={"source": "bees.md", "start_index": 7})
HAYSTACK = SimpleNamespace(id="33", content="bees dance", meta={"file_path": Path("bees.md")}, score=0.5)
OBJECTS = [
    ("LangChain", LANGCHAIN, {"id": "c1", "text": "bees dance", "doc": "bees.md", "start": 7, "end": 17}),
    ("LangChain, dumpd", dumpd(LANGCHAIN), {"id": "c1", "text": "bees dance", "doc": "bees.md", "start": 7, "end": 17}),
    ("LangChain, with a score", (LANGCHAIN, 0.5),
     {"id": "c1", "text": "bees dance", "doc": "bees.md", "start": 7, "end": 17, "score": 0.5}),
    ("LlamaIndex", SimpleNamespace(node=llama_index_node(), score=0.5),
     {"id": "n1", "text": "bees dance", "doc": "/data/bees.md", "start": 3, "end": 13, "score": 0.5}),
    ("LlamaIndex, a node", llama_index_node(),
     {"id": "n1", "text": "bees dance", "doc": "/data/bees.md", "start": 3, "end": 13}),
    ("LlamaIndex, a node without text", SimpleNamespace(node_id="n1", metadata={}, get_content=lambda: "bees"),
     {"id": "n1", "text": "bees"}),
    ("Haystack", HAYSTACK, {"id": "33", "score": 0.5, "text": "bees dance", "doc": "bees.md"}),
    ("dspy", SimpleNamespace(long_text="bees", pid=3), {"id": 3, "text": "bees"}),
    ("something else", SimpleNamespace(title="bees"), None),
]  # fmt: skip


@pytest.mark.parametrize(("item", "want"), [row[1:] for row in OBJECTS], ids=[row[0] for row in OBJECTS])
def test_objects(item: Any, want: Any) -> None:
    assert plain_items([item]) == [want]


def test_strings_are_texts_under_the_keys_of_texts_alone() -> None:
    for key in ("contexts", "retrieved_contexts", "retrieval_context"):
        assert retrieved_items({key: ["bees"]}, "line 1") == [("text:23da0d3b0b5aa5ee", None, {"text": "bees"})]
    for key in ("retrieved", "results", "documents"):
        assert retrieved_items({key: ["bees"]}, "line 1") == [("bees", None, {"id": "bees"})]


KEYS = ["id", "doc_id", "score", "text", "doc", "start", "page_content", "metadata", "kwargs", "node", "id_", "content",
        "meta", "long_text", "page", "page_label", "source", "file_path", "relationships", "1", "node_id"]  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.sampled_from(["", "d1", "bees", "7", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@examples(300)
@given(items=st.lists(JSON, max_size=3), key=st.sampled_from(RESULT_KEYS))
def test_whatever_is_retrieved_is_read_or_refused(items: list[Any], key: str) -> None:
    """In a function's results and in a line of outputs alike."""
    line = {"query_id": "q", key: items}
    with suppress(sy.InputError):
        sy.Outputs([line])
    with suppress(sy.StageError):
        callable_target(lambda query: line)("?", 5)


def scores(items: list[Any]) -> list[Any]:
    return [item and item["score"] for item in plain_items(items)]


def test_distances_of_documents_are_turned_around() -> None:
    others = [Document(text, id=text) for text in ("a", "b", "c")]
    assert scores(list(zip(others, (0.1, 0.3, 0.3), strict=True))) == [-0.1, -0.3, -0.3]
    assert scores([(dumpd(others[0]), 1), (dumpd(others[1]), 2)]) == [-1, -2]
    # Best first already, all alike, in no order, one alone, and what is no library's: as they are.
    assert scores(list(zip(others, (0.9, 0.5, 0.1), strict=True))) == [0.9, 0.5, 0.1]
    assert scores(list(zip(others, (0.5, 0.5, 0.5), strict=True))) == [0.5, 0.5, 0.5]
    assert scores(list(zip(others, (0.1, 0.5, 0.2), strict=True))) == [0.1, 0.5, 0.2]
    assert scores([(others[0], 0.1)]) == [0.1]
    assert scores([("d1", 0.1), ("d2", 0.5)]) == [0.1, 0.5]
    assert scores([({"id": "d1"}, 0.1), ({"id": "d2"}, 0.5)]) == [0.1, 0.5]


def test_outputs_of_objects() -> None:
    llama_index = SimpleNamespace(source_nodes=[SimpleNamespace(node=llama_index_node(), score=0.5)], response="Bees.")
    chain = {"input": "who?", "context": [LANGCHAIN], "answer": "Bees do."}
    outputs = sy.Outputs({"q1": [LANGCHAIN], "q2": llama_index, "q3": chain, 4: {"contexts": ["bees"]}, "q5": []})
    rows = outputs.run.frame.select("query_id", "doc_id").rows()
    assert rows == [("q1", "c1"), ("q2", "n1"), ("q3", "c1"), ("4", "text:23da0d3b0b5aa5ee"), ("q5", None)]
    assert outputs.answers == {"q2": "Bees.", "q3": "Bees do."}
    assert outputs.table.docs[outputs.table.row_of["n1"]] == "/data/bees.md"


def test_lines_of_dumps_are_weighed(tmp_path: Path) -> None:
    lines = [{"qid": "q1", "retrieved": [dumpd(LANGCHAIN)]}, {"qid": "q2", "contexts": ["whales swim", "bees dance."]}]
    path = tmp_path / "chain.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    questions = [{"qid": id, "query": "who?", "evidence": [{"text": "bees dance"}]} for id in ("q1", "q2")]
    assert sy.evaluate(questions, path, ["mrr", "evidence_recall@1"]).means.tolist() == [[0.75, 0.5]]
    assert sy.evaluate({"q1": {"c1": 1}}, path, "mrr").means.tolist() == [[1.0]]


def test_what_is_wrong_names_the_key() -> None:
    with pytest.raises(sy.InputError, match=r"^line 3: `contexts` must be a list of ids"):
        retrieved_items({"contexts": "bees"}, "line 3")
    with pytest.raises(sy.InputError, match=r"^line 3: item 2 of `documents` has no score, but others have"):
        retrieved_items({"documents": [(LANGCHAIN, 0.5), "d2"]}, "line 3")
    with pytest.raises(sy.InputError, match=r"^line 3: the id of item 1 of `retrieved` is namespace"):
        retrieved_items({"retrieved": [SimpleNamespace(title="bees")]}, "line 3")


def test_one_text_in_several_places_is_several_items() -> None:
    places = [{"source": "a.pdf", "page": 0}, {"source": "b.pdf", "page": 0}, {"source": "b.pdf", "page": 1}, {}]
    blank = [Document("This page is blank.", metadata=place) for place in places]
    outputs = sy.Outputs({"q1": blank, "q2": blank[1:]})
    assert len(outputs.table) == 4
    gold = [{"qid": "q2", "query": "?", "evidence": [{"doc": "b.pdf", "page": 2}]}]
    assert sy.evaluate(gold, outputs, "mrr").means.tolist() == [[0.5]]


def test_lists_of_documents_are_a_run() -> None:
    questions = [{"qid": id, "query": "who?", "evidence": [{"text": "bees dance"}]} for id in ("q1", "q2")]
    run = {"q1": [Document("whales swim", id="c9"), LANGCHAIN], "q2": [(LANGCHAIN, 0.5)]}
    assert sy.evaluate(questions, run, "mrr").means.tolist() == [[0.75]]
    assert sy.evaluate({"q1": ["c1"], "q2": ["c1"]}, {"a": run, "b": {"q1": []}}, "mrr").means.tolist() == [
        [0.75],
        [0.0],
    ]


def test_a_text_without_an_id_that_comes_again_is_another_item() -> None:
    ids = [item["id"] for item in plain_items(["bees", "ants", "bees", "bees"], texts=True) if item and "id" in item]
    assert ids == [f"{content_id('bees')}~2", f"{content_id('bees')}~3"]
    document = {"page_content": "bees", "metadata": {"source": "b.md"}}
    first, second = plain_items([document, document])
    assert first is not None
    assert second == first | {"id": f"{first['id']}~2"}
    assert plain_items(["d1", "d1"]) == [{"id": "d1"}, {"id": "d1"}]


def test_a_context_twice_is_weighed_as_two_results() -> None:
    row = {
        "user_input": "Why?",
        "retrieved_contexts": ["Bees dance.", "Ants.", "Bees dance."],
        "reference_contexts": ["Bees dance."],
    }
    scores = sy.evaluate([row], [row], ["precision@3", "evidence_recall@3"])
    assert scores.means.tolist() == [[2 / 3, 1.0]]
