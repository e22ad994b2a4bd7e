"""Retrievers of other libraries as targets: real ones of LangChain, and stand-ins with the methods of others."""

import re
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

import steelyard as sy
from steelyard.rag.config import Config
from steelyard.rag.own.targets import callable_target
from steelyard.rag.weighed_run import run_and_weigh

BEES = Document("bees dance", id="c1", metadata={"source": "bees.md", "start_index": 0})
SEA = Document("whales swim", id="c2", metadata={"source": "sea.md", "start_index": 0})
QUESTIONS = [
    {"qid": "q1", "query": "bees?", "evidence": [{"doc": "bees.md", "quote": "dance"}]},
    {"qid": "q2", "query": "whales?", "evidence": [{"text": "whales swim"}]},
]


class Retriever(BaseRetriever):
    """As users of LangChain write one."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [BEES, SEA]


def llama_index_nodes() -> list[Any]:
    def node(document: Document, score: float) -> Any:
        fields = {"node_id": document.id, "text": document.page_content, "metadata": document.metadata}
        return SimpleNamespace(node=SimpleNamespace(**fields), score=score)

    return [node(BEES, 0.9), node(SEA, 0.5)]


class LlamaIndexRetriever:
    def retrieve(self, str_or_query_bundle: Any) -> list[Any]:
        return llama_index_nodes()


class LlamaIndexQueryEngine(LlamaIndexRetriever):
    def retrieve(self, query_bundle: Any) -> list[Any]:
        raise NotImplementedError  # As its base class does.

    def query(self, str_or_query_bundle: Any) -> Any:
        return SimpleNamespace(response="Bees do.", source_nodes=llama_index_nodes(), metadata={})


class AsyncRetriever:
    async def aretrieve(self, query: str) -> list[Any]:
        return llama_index_nodes()


class HaystackRetriever:
    def run(self, query: str, filters: Any = None, top_k: int | None = None) -> dict[str, list[Any]]:
        found = [SimpleNamespace(id=d.id, content=d.page_content, meta=d.metadata, score=0.5) for d in (BEES, SEA)]
        return {"documents": found[:top_k]}


class DspyModule:
    def __call__(self, question: str) -> Any:
        return SimpleNamespace(passages=["bees dance", "whales swim"], toDict=dict)


def vector_store() -> Any:
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_documents([BEES, SEA])
    return store


RETRIEVERS = {
    "LangChain": Retriever(),
    "LangChain, a store": vector_store().as_retriever(),
    "LangChain, a chain": RunnableLambda(lambda query: {"context": [BEES, SEA], "answer": "Bees do."}),
    "LangChain, pairs": vector_store().similarity_search_with_score,
    "LlamaIndex": LlamaIndexRetriever(),
    "LlamaIndex, a query engine": LlamaIndexQueryEngine(),
    "async": AsyncRetriever(),
    "Haystack": HaystackRetriever(),
    "dspy": DspyModule(),
}


@pytest.mark.parametrize("retriever", RETRIEVERS.values(), ids=RETRIEVERS)
def test_a_retriever_is_a_target(retriever: Any) -> None:
    response = callable_target(retriever)("who?", 10)
    assert {passage.text for passage in response.passages} == {"bees dance", "whales swim"}
    outputs = sy.run(retriever, QUESTIONS)
    assert sy.evaluate(QUESTIONS[1:], outputs, "recall@2").means.tolist() == [[1.0]]


def test_answers_of_a_chain_and_of_a_query_engine() -> None:
    for name in ("LangChain, a chain", "LlamaIndex, a query engine"):
        assert sy.run(RETRIEVERS[name], QUESTIONS).answers == {"q1": "Bees do.", "q2": "Bees do."}


def test_k_goes_where_it_is_taken() -> None:
    assert len(callable_target(HaystackRetriever())("who?", 1).passages) == 1
    assert len(callable_target(LlamaIndexRetriever())("who?", 1).passages) == 2
    outputs = sy.run(HaystackRetriever(), QUESTIONS, k=1)
    assert outputs.run.frame.height == 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (Retriever, "is a class; name a function or an object of it"),
        (
            SimpleNamespace(run=lambda data: {}),
            "not a function; expected query -> results, or an object with a method inv",
        ),
        (SimpleNamespace(retrieve=lambda: []), "takes (); expected a query"),
        ("os:system", "is of Python's standard library"),
        (3, "is int, not a function"),
    ],
)
def test_what_cannot_be_asked(target: Any, message: str) -> None:
    with pytest.raises(sy.InputError, match=re.escape(message)):
        sy.run(target, QUESTIONS)


def test_several_questions_at_once() -> None:
    both = threading.Barrier(2, timeout=10)

    def search(query: str) -> list[str]:
        both.wait()  # Until the other question is asked too.
        return [query]

    assert sy.run(search, QUESTIONS, concurrency=2).run.frame["doc_id"].to_list() == ["bees?", "whales?"]


@pytest.mark.parametrize("counts", [{"k": 0}, {"concurrency": 0}, {"k": 1.5}])
def test_counts_that_are_none(counts: dict[str, Any]) -> None:
    with pytest.raises(sy.InputError, match=f"{next(iter(counts))} must be a whole number from 1"):
        sy.run(lambda query: ["c1"], QUESTIONS, **counts)


def test_pages_and_documents_reach_the_outputs() -> None:
    page = Document("bees dance", id="c1", metadata={"source": "bees.pdf", "page": 2, "page_label": "iii"})
    outputs = sy.run(lambda query: [page], QUESTIONS)
    assert (outputs.table.docs[0], outputs.table.pages[0]) == ("bees.pdf", (3,))
    gold = [{"qid": "q1", "query": "?", "evidence": [{"doc": "bees.pdf", "page": 3}]}]
    assert sy.evaluate(gold, outputs, "mrr").means.tolist() == [[1.0]]


def test_nothing_is_kept_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    outputs = sy.run(lambda query: ["c1"], QUESTIONS, name="mine")
    assert (outputs.name, list(tmp_path.iterdir())) == ("mine", [])


def test_another_object_takes_over_nothing(tmp_path: Path) -> None:
    first = sy.run(lambda query: ["c1"], QUESTIONS, tmp_path / "run")
    assert first.run.frame["doc_id"].to_list() == ["c1", "c1"]
    with pytest.raises(sy.InputError, match="holds the finished run"):
        sy.run(lambda query: ["c2"], QUESTIONS, tmp_path / "run")
    second = sy.run(lambda query: ["c2"], QUESTIONS, tmp_path / "run", overwrite=True)
    assert second.run.frame["doc_id"].to_list() == ["c2", "c2"]


class Named:
    """A system that says what it is."""

    def __init__(self, version: str) -> None:
        self.version, self.n_asked = version, 0

    def identity(self) -> str:
        return self.version

    def __call__(self, query: str) -> list[str]:
        self.n_asked += 1
        return ["c1"]


def test_an_object_with_an_identity_goes_on(tmp_path: Path) -> None:
    systems = [Named("1"), Named("1"), Named("2")]
    for system in systems[:2]:
        sy.run(system, QUESTIONS, tmp_path / "run")
    assert [system.n_asked for system in systems] == [2, 0, 0]
    with pytest.raises(sy.InputError, match="holds the finished run"):
        sy.run(systems[2], QUESTIONS, tmp_path / "run")


OWN_MODULE = """
from langchain_core.retrievers import BaseRetriever
from langchain_core.documents import Document
class Retriever(BaseRetriever):
    text: str
    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(self.text, id="c1")]
retriever = Retriever(text={text!r})
"""


def test_a_retriever_of_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "own_retriever_1.py").write_text(OWN_MODULE.format(text="bees dance"))
    gold = [{"qid": "q1", "query": "?", "evidence": [{"text": "bees dance"}]}]
    (tmp_path / "q.jsonl").write_text('{"qid": "q1", "query": "who?", "evidence": [{"text": "bees dance"}]}\n')
    values = {"questions": "q.jsonl", "target": {"callable": "own_retriever_1:retriever"}}
    weighed = run_and_weigh(Config.of(values, base=tmp_path), measures=["mrr"])
    assert weighed.scores.means.tolist() == [[1.0]]
    assert sy.evaluate(gold, weighed.folder.path, "mrr").means.tolist() == [[1.0]]


def test_the_fingerprint_has_the_module_that_makes_the_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its class may be of a library, so that the module that sets it up is what changes."""
    from steelyard.rag.own.system import TargetSystem

    monkeypatch.syspath_prepend(tmp_path)
    prints = []
    for n, words in enumerate(("bees", "whales"), 1):
        (tmp_path / f"own_setup_{n}.py").write_text(
            f"from langchain_core.runnables import RunnableLambda\nchain = RunnableLambda(lambda query: [{words!r}])\n"
        )
        system = TargetSystem.read(Config.of({"target": {"callable": f"own_setup_{n}:chain"}}, base=tmp_path))
        prints.append(system._source)
    assert prints[0] != prints[1]


def test_questions_of_every_kind() -> None:
    rows = [{"user_input": question["query"], "reference_contexts": ["bees dance"]} for question in QUESTIONS]
    samples = [SimpleNamespace(**row, response=None) for row in rows]
    texts = [question["query"] for question in QUESTIONS]
    for questions in (rows, samples, SimpleNamespace(samples=samples), sy.Questions(rows), iter(QUESTIONS), texts):
        assert sy.run(Retriever(), questions).run.frame.height == 4
    assert sy.evaluate(rows, sy.run(Retriever(), samples), "mrr").means.tolist() == [[1.0]]
    for nothing in (3, None, [3], [" "]):
        with pytest.raises(sy.InputError, match=r"questions(, question 1)?: .*`qid` and `query`"):
            sy.run(Retriever(), nothing)  # type: ignore[arg-type]
