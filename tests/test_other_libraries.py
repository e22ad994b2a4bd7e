"""Objects and values of other libraries, as these give them: `make test-libraries` installs what few have.

Elsewhere recorded dumps and stand-ins hold their place: tests/cases/retrieved_items.jsonl, tests/cases/evaluation_rows,
tests/io and tests/rag/test_own_runs.py.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.history.mlflow import tracking_folder
from steelyard.io.retrieved_items import plain_items
from tests.history.test_mlflow import MEANS, entry_of

pytestmark = pytest.mark.filterwarnings("ignore")
QUESTIONS = [
    {"qid": "q1", "query": "Do bees dance?", "evidence": [{"doc": "bees", "quote": "Bees dance"}]},
    {"qid": "q2", "query": "Do whales swim?", "evidence": [{"doc": "sea", "quote": "Whales swim"}]},
]
TRUTH = {"q1": {"d1": 2, "d7": 1}, "q2": {"d3": 1}, "q3": {"d4": 1}}
RUN = {"q1": {"d1": 0.9, "d2": 0.4, "d7": 0.3}, "q2": {"d5": 0.8, "d3": 0.7}}
SEA, HIVE = "Whales swim in the sea.", "Bees dance in the hive."
ROWS: list[dict[str, Any]] = [
    {"query": "Who dances?", "retrieved": [SEA, HIVE], "gold": [HIVE], "response": "Bees.", "reference": "Bees do."},
    {"query": "Who swims?", "retrieved": [SEA], "gold": [SEA], "response": "Fish.", "reference": "Whales."},
]


def library(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed; see `make test-libraries`", exc_type=ImportError)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "bees.md").write_text(f"Of bees.\n\n{HIVE}\n")
    (folder / "sea.md").write_text(f"Of the sea.\n\n{SEA}\n")
    return folder


def weighed(system: Any, documents: Path) -> list[float]:
    outputs = sy.run(system, QUESTIONS)
    named = sy.evaluate(QUESTIONS, outputs, "evidence_recall@2", documents=documents)
    bare = sy.evaluate(QUESTIONS, outputs, "evidence_recall@2")
    return [float(named.means[0, 0]), float(bare.means[0, 0])]


def test_llama_index(documents: Path) -> None:
    core = library("llama_index.core")
    core.Settings.embed_model, core.Settings.llm = core.MockEmbedding(8), core.llms.MockLLM()
    index = core.VectorStoreIndex.from_documents(core.SimpleDirectoryReader(str(documents)).load_data())
    assert weighed(index.as_retriever(similarity_top_k=2), documents) == [1.0, 1.0]
    assert weighed(index.as_query_engine(similarity_top_k=2), documents) == [1.0, 1.0]
    (node, *_) = nodes = index.as_retriever(similarity_top_k=2).retrieve("Who?")
    assert plain_items(nodes) == plain_items([node.to_dict() for node in nodes])
    fields = {"id": node.node_id, "text": node.text, "start": 0, "end": len(node.text)}
    assert fields.items() <= plain_items([node])[0].items()  # type: ignore[union-attr]


def test_haystack(documents: Path) -> None:
    haystack = library("haystack")
    from haystack.components.converters import TextFileToDocument
    from haystack.components.preprocessors import DocumentSplitter
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    texts = TextFileToDocument(store_full_path=True).run(sources=sorted(documents.glob("*.md")))["documents"]
    chunks = DocumentSplitter(split_by="word", split_length=100).run(texts)["documents"]
    store.write_documents(chunks)
    assert weighed(InMemoryBM25Retriever(store), documents) == [1.0, 1.0]
    assert len(sy.run(InMemoryBM25Retriever(store), QUESTIONS, k=1).run.frame) == 2
    assert plain_items(chunks) == plain_items([chunk.to_dict() for chunk in chunks])
    assert plain_items(chunks) == plain_items([chunk.to_dict(flatten=False) for chunk in chunks])
    assert plain_items([haystack.Document(content="x", id="d")]) == [{"id": "d", "text": "x"}]


def test_dspy() -> None:
    dspy = library("dspy")
    outputs = sy.Outputs(
        {"q1": dspy.Prediction(passages=[SEA, HIVE], answer="Bees."), "q2": [dspy.Example(long_text=SEA)]}
    )
    gold = [question | {"evidence": [{"text": text}]} for question, text in zip(QUESTIONS, (HIVE, SEA), strict=True)]
    assert sy.evaluate(gold, outputs, "mrr").means.tolist() == [[0.75]]
    assert outputs.answers == {"q1": "Bees."}


def check_rows(data: Any) -> None:
    """The values of ROWS by hand, and the answers."""
    assert sy.evaluate(data, data, ["mrr", "evidence_recall@1"]).means.tolist() == [[0.75, 0.5]]


def test_ragas(tmp_path: Path) -> None:
    ragas = library("ragas")
    names = {"query": "user_input", "retrieved": "retrieved_contexts", "gold": "reference_contexts"}
    samples = [ragas.SingleTurnSample(**{names.get(key, key): value for key, value in row.items()}) for row in ROWS]
    dataset = ragas.EvaluationDataset(samples=samples)
    dataset.to_jsonl(tmp_path / "ragas.jsonl")
    dataset.to_csv(tmp_path / "ragas.csv")
    for data in (samples, dataset, dataset.to_pandas(), dataset.to_hf_dataset(), *tmp_path.iterdir()):
        check_rows(data)


def test_deepeval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    monkeypatch.chdir(tmp_path)
    library("deepeval")
    from deepeval.dataset import EvaluationDataset
    from deepeval.test_case import LLMTestCase

    names = {"query": "input", "retrieved": "retrieval_context", "gold": "context", "response": "actual_output",
             "reference": "expected_output"}  # fmt: skip
    cases = [LLMTestCase(**{names[key]: value for key, value in row.items()}) for row in ROWS]
    dataset = EvaluationDataset()
    for case in cases:
        dataset.add_test_case(case)
    files = [dataset.save_as(kind, "saved", "cases", include_test_cases=True) for kind in ("json", "csv", "jsonl")]
    for data in (cases, dataset, [case.model_dump(by_alias=True) for case in cases], *files):
        check_rows(data)


EXPORTED = [
    {"user_input": row["query"], "retrieved_contexts": row["retrieved"], "reference_contexts": row["gold"],
     "response": row["response"], "reference": row["reference"]}
    for row in ROWS
]  # fmt: skip


def test_ragas_reads_what_is_exported(tmp_path: Path) -> None:
    ragas = library("ragas")
    sy.export(EXPORTED, EXPORTED, "ragas", measures="faithfulness", save=tmp_path / "rows.jsonl")
    dataset = ragas.EvaluationDataset.from_jsonl(tmp_path / "rows.jsonl")
    assert [sample.retrieved_contexts for sample in dataset] == [row["retrieved"] for row in ROWS]
    assert [sample.reference_contexts for sample in dataset] == [row["gold"] for row in ROWS]
    assert [sample.response for sample in dataset] == [row["response"] for row in ROWS]
    check_rows(dataset)


def test_deepeval_reads_what_is_exported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    monkeypatch.chdir(tmp_path)
    library("deepeval")
    from deepeval.dataset import EvaluationDataset

    sy.export(EXPORTED, EXPORTED, "deepeval", measures="faithfulness", save=tmp_path / "cases.json")
    dataset = EvaluationDataset()
    dataset.add_test_cases_from_json_file(
        str(tmp_path / "cases.json"), "input", "actual_output", "expected_output", "context", "retrieval_context"
    )
    assert [case.retrieval_context for case in dataset.test_cases] == [row["retrieved"] for row in ROWS]
    check_rows(dataset)


def test_mlflow_takes_a_scorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = library("mlflow")
    from mlflow.entities import Feedback
    from mlflow.genai.scorers import scorer

    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'mlflow.db'}")
    outputs = [{"response": "At 9. It is free.", "retrieved_context": ["It opens at 9."]}, "At 9."]
    data = [
        {"inputs": {"question": "When?"}, "outputs": output, "expectations": {"expected_response": "At 9."}}
        for output in outputs
    ]
    faithfulness = scorer(sy.scorer("faithfulness", feedback=Feedback).score, name="faithfulness")
    answer_f1 = scorer(sy.scorer("answer_f1").score, name="answer_f1")
    result = mlflow.genai.evaluate(data=data, scorers=[faithfulness, answer_f1])
    assert result.metrics == {"faithfulness/mean": 0.5, "answer_f1/mean": pytest.approx((2 / 3 + 1) / 2)}
    assert "1 of 2 supported; not_found: It is free." in str(result.result_df["faithfulness/rationale"].tolist())


def test_mlflow_opens_the_tracking_folder_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mlflow = library("mlflow")
    from click.testing import CliRunner
    from mlflow.cli import cli

    root = tracking_folder(MEANS, [entry_of()], tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(None)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert mlflow.get_tracking_uri() == root.as_uri()  # What `mlflow ui` opens in this folder.
    database = f"sqlite:///{tmp_path / 'mlflow.db'}"
    migrated = CliRunner().invoke(cli, ["migrate-filestore", "--source", str(tmp_path), "--target", database])
    assert migrated.exit_code == 0, migrated.output
    for uri in (root.as_uri(), database):
        client = mlflow.MlflowClient(uri)
        (experiment,) = client.search_experiments(filter_string="name LIKE 'steelyard%'")
        runs = {run.info.run_name: run for run in client.search_runs([experiment.experiment_id])}
        assert set(runs) == {"hybrid 4f1c9a0b", "中文 4f1c9a0b"}
        hybrid = runs["hybrid 4f1c9a0b"]
        assert hybrid.data.metrics["ndcg_at_10"] == 0.7911384
        assert hybrid.data.params == {"chunk.size": "300"}
        assert hybrid.data.tags["mlflow.source.git.commit"] == "0a1b2c3d"
        assert hybrid.info.status == "FINISHED"
        assert [file.path for file in client.list_artifacts(hybrid.info.run_id)] == ["entry.json"]


def means(truth: Any, *measures: str, **options: Any) -> list[float]:
    return [float(mean) for mean in sy.evaluate(truth, RUN, measures, **options).means[0]]


def test_sentence_transformers() -> None:
    evaluation = library("sentence_transformers.evaluation")
    relevant = {query: set(labels) for query, labels in TRUTH.items()}
    ks = [1, 2, 10]
    evaluator = evaluation.InformationRetrievalEvaluator(
        dict.fromkeys(TRUTH, ""), dict.fromkeys(("d1", "d2", "d3", "d4", "d5", "d7"), ""), relevant,
        map_at_k=ks, ndcg_at_k=ks, mrr_at_k=ks, accuracy_at_k=ks, precision_recall_at_k=ks,
    )  # fmt: skip
    hits = [[{"corpus_id": doc, "score": score} for doc, score in RUN.get(query, {}).items()] for query in TRUTH]
    values = evaluator.compute_metrics(hits)
    names = {"accuracy": "hit_rate", "precision": "precision", "recall": "recall", "ndcg": "ndcg", "mrr": "mrr",
             "map": "map_cap"}  # fmt: skip
    for theirs, ours in names.items():
        want = [float(values[f"{theirs}@k"][k]) for k in ks]
        assert means(relevant, *(f"{ours}@{k}" for k in ks)) == pytest.approx(want)


def test_torchmetrics() -> None:
    torch, retrieval = library("torch"), library("torchmetrics.retrieval")
    rows = [(i, score, TRUTH[query].get(doc, 0)) for i, query in enumerate(RUN) for doc, score in RUN[query].items()]
    indexes, preds, target = (torch.tensor(column) for column in zip(*rows, strict=True))

    def value(name: str, **options: Any) -> float:
        graded = target if name == "NormalizedDCG" else target > 0
        return float(getattr(retrieval, f"Retrieval{name}")(**options)(preds, graded, indexes=indexes))

    two = {"top_k": 2}
    want = [
        value("MAP"),
        *(value(name, **two) for name in ("MRR", "Precision", "Recall", "HitRate")),
        value("RPrecision"),
        value("NormalizedDCG"),
        value("NormalizedDCG", **two),
    ]
    names = ["map", "mrr@2", "precision@2", "recall@2", "hit_rate@2", "r_precision", "ndcg", "ndcg@2"]
    assert means(TRUTH, *names, missing="skip") == pytest.approx(want)
    more = {query: labels | {"not retrieved": 1} for query, labels in TRUTH.items()}
    views = [name.replace("@", "(scope=retrieved)@") if "@" in name else f"{name}(scope=retrieved)" for name in names]
    assert means(more, *views, missing="skip") == pytest.approx(want)
    assert (value("MAP", **two), *means(TRUTH, "map@2", missing="skip")) == (0.75, 0.5)


def test_mteb() -> None:
    metrics = library("mteb._evaluators.retrieval_metrics")
    want = [
        np.mean(metrics.mrr(TRUTH, RUN, [2])["MRR@2"]),
        np.mean(metrics.recall_cap(TRUTH, RUN, [2])["R_cap_at_2"]),
        np.mean(metrics.hole(TRUTH, RUN, [2])["Hole_at_2"]),
    ]
    assert means(TRUTH, "mrr@2", "recall_cap@2", "unjudged@2", missing="skip") == pytest.approx(want)
    annotated = {"q1": {"d1": 0.9, "d3": 0.4}}
    assert metrics.hole(TRUTH, annotated, [2])["Hole_at_2"] == [0.0]
    assert sy.evaluate(TRUTH, annotated, "unjudged@2", missing="skip").means.tolist() == [[0.5]]
