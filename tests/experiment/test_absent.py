"""A truth by ids beside a corpus: texts are shown, and what the corpus lacks is said."""

import json
from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.base.notes import Note
from steelyard.data.chunk_table import ChunkRow, ChunkTable, Corpus
from steelyard.data.corpus import Document
from steelyard.diagnosis.diagnosing import diagnose
from tests.cli.command import steelyard

GAINS: dict[str, dict[str, float]] = {
    "q1": {"d1": 1, "gone1": 1},
    "q2": {"gone2": 2, "gone3": 0},
    "q3": {"d3": 1},
    "q4": {"d4": 1},
}
RUN = {"q1": ["d3", "d1"], "q2": ["d1"], "q3": ["d1", "d2"], "q4": ["d4", "d1"]}
DOCUMENTS = [Document(f"d{i}", f"Text of {i}.") for i in range(1, 5)]
QUESTIONS = [{"qid": q, "query": f"{q}?", "rel_map": gains} for q, gains in GAINS.items()]
ABSENT = Note("gold_ids_absent", {"n": 2, "total": 5, "query_id": "q1", "name": "gone1"})


def stages(truth: Any, **options: Any) -> dict[str, str]:
    """The stage of each question at k = 2."""
    frame = diagnose(sy.weigh(truth, {"s": RUN}, **options), k=2).funnels[0].frame
    return dict(zip(frame["query_id"], frame["stage"], strict=True))


@pytest.mark.parametrize("truth", [GAINS, QUESTIONS], ids=["qrels", "questions with ids"])
def test_ids_that_the_corpus_lacks_are_said_and_are_a_stage_of_their_own(truth: Any) -> None:
    scores = sy.evaluate(truth, {"s": RUN}, "mrr", documents=DOCUMENTS)
    assert scores.notes == {"s": [ABSENT]}
    assert scores.values.tolist() == sy.evaluate(truth, {"s": RUN}, "mrr").values.tolist()
    assert sy.evaluate(truth, {"s": RUN}, "mrr").notes == {}
    found = {"q1": "found", "q4": "found"}
    assert stages(truth) == {**found, "q2": "not_retrieved", "q3": "not_retrieved"}
    assert stages(truth, documents=DOCUMENTS) == {**found, "q2": "not_in_corpus", "q3": "not_retrieved"}


def test_pieces_are_counted_at_their_stages() -> None:
    funnel = diagnose(sy.weigh(GAINS, {"s": RUN}, documents=DOCUMENTS), k=2).funnels[0]
    assert {name: n for name, n in funnel.n_at_stage.items() if n} == {
        "not_in_corpus": 2,
        "not_retrieved": 1,
        "found": 2,
    }
    assert funnel.corpus_known
    assert "cut" not in funnel.stages


def test_what_was_retrieved_all_the_same_is_not_lost() -> None:
    """The run is of another corpus than the one that is named."""
    run = RUN | {"q2": ["gone2"]}
    funnel = diagnose(sy.weigh(GAINS, {"s": run}, documents=DOCUMENTS), k=2).funnels[0]
    assert funnel.n_at_stage["not_in_corpus"] == 1
    assert funnel.n_at_stage["found"] == 3


def test_chunks_without_texts_are_there() -> None:
    table = ChunkTable.of_rows({f"d{i}": ChunkRow(text=None) for i in range(1, 5)}, complete=True)
    assert sy.evaluate(GAINS, {"s": RUN}, "mrr", documents=Corpus(table)).notes == {"s": [ABSENT]}


def test_documents_are_known_by_the_names_of_their_files() -> None:
    files = [Document(f"kb/{d.doc_id}", d.text, source=f"docs/kb/{d.doc_id}.md") for d in DOCUMENTS]
    assert sy.evaluate(GAINS, {"s": RUN}, "mrr", documents=files).notes == {"s": [ABSENT]}


def test_a_corpus_of_other_names_is_another_note_and_no_stage() -> None:
    corpus = [Document(f"x{i}", "Text.") for i in range(9)]
    scores = sy.evaluate(GAINS, {"s": RUN}, "mrr", documents=corpus)
    assert scores.notes == {"s": [Note("gold_ids_foreign", {"n": 5, "total": 5, "query_id": "q1", "name": "d1"})]}
    assert stages(GAINS, documents=corpus) == stages(GAINS)


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    rows = "".join(f"{q}\t{d}\t{gain:g}\n" for q, gains in GAINS.items() for d, gain in gains.items())
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + rows)
    for name, lines in (
        ("corpus", [{"_id": d.doc_id, "text": d.text} for d in DOCUMENTS]),
        ("queries", [{"_id": q, "text": f"{q}?"} for q in GAINS]),
    ):
        (tmp_path / "beir" / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    lines = [{"qid": q, "retrieved": [{"id": id} for id in ids]} for q, ids in RUN.items()]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


@pytest.mark.parametrize(
    ("lang", "note", "of_documents", "stage", "in_report"),
    [
        ("en", "2 of 5 relevant documents are not in the corpus: gone1 of q1, ...",
         "2 of 5 gold pieces are in no chunk",
         "not in the corpus", "2 gold documents are not in the corpus: gone1, gone2"),
        pytest.param("zh", "5 篇相关文档中有 2 篇不在语料库中，例如问题 q1 的 gone1。",
         "5 条标准证据中有 2 条不在任何文本块中", "不在语料库中",
         "2 篇标准文档不在语料库中：gone1、gone2", marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_commands_say_it(beir: Path, lang: str, note: str, of_documents: str, stage: str, in_report: str) -> None:
    def text(command: str, truth: str, *options: str) -> str:
        explain = ["-v"] if command == "evaluate" else []
        done = steelyard(command, truth, "run.jsonl", *options, *explain, "--lang", lang, columns=999, cwd=beir)
        assert not done.stderr
        return done.stdout.decode()

    (beir / "truth.qrels").write_text(
        "".join(f"{q} 0 {d} {gain:g}\n" for q, of in GAINS.items() for d, gain in of.items())
    )
    for command in ("evaluate", "report"):
        assert note in text(command, "truth.qrels", "--documents", "beir")
    assert of_documents in text("evaluate", "beir", "--documents", "beir")
    for truth in ("beir", "truth.qrels"):
        assert stage in text("diagnose", truth, "--documents", "beir")
        text("report", truth, "--documents", "beir", "-o", f"{truth}.html")
        assert "Text of 3." in (beir / f"{truth}.html").read_text("utf-8")
    assert in_report in text("report", "beir", "-v")
