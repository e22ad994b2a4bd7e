"""Good files of every format that a command reads, and the commands that read them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from steelyard.base.schema import RUN, TRUTH
from steelyard.cli.app import app
from steelyard.io.write import write_run, write_truth
from steelyard.judges.self_tests import SelfTest
from steelyard.reviewing.calibrating import calibrate
from tests.fuzz.bench_seeds import bench_targets
from tests.fuzz.review_seeds import rater_targets, review_targets
from tests.fuzz.target import Target
from tests.judges.labelled import labelled, scored

TABLES = ("trec", "json", "jsonl", "csv", "tsv", "parquet", "arrow", "trec.gz", "csv.zst", "parquet.gz")
DOCUMENTS = {
    "scales.txt": "A steelyard weighs goods with one weight.\nThe weight slides along the beam. Goods hang.",
    "sea.md": "# The sea\n\nA whale swims in the sea. Sailors fear the whale.\n\nThe sea is deep and cold.\n",
    "tea.html": "<html><head><title>茶</title></head><body><h1>茶</h1><p>秤是工具。</p><table><tr><td>a</table>"
    "<!-- none --><ul><li>龙井茶来自杭州。</ul></body></html>",
    "more.jsonl": '{"_id": "one", "title": "One", "text": "The first."}\n{"_id": "two", "text": "Second."}\n',
}
QUESTIONS = [
    {
        "qid": "q1", "query": "What slides along the beam?", "answer": "The weight", "tags": ["scales"],
        "conversation": "c1", "evidence": [{"doc": "scales", "start": 46, "end": 79}],
    },
    {
        "qid": "q2", "query": "Who fears the whale?", "answers": ["Sailors", "The sailors fear it."],
        "gold_evidence": ["sea#1"],
        "evidence": [
            {"doc": "sea", "quote": "Sailors fear the whale", "gain": 2, "group": "g"},
            {"text": "deep and cold", "group": "g", "gain": 2},
        ],
    },
    {
        "qid": "q3", "query": "龙井茶来自哪里？", "rel_map": {"c3": 1},
        "evidence": [{"doc": "tea"}, {"doc": "manual", "pages": "1-2"}, {"id": "c3"}],
    },
]  # fmt: skip
OUTPUTS = [
    {
        "qid": "q1", "answer": "The weight", "candidates": ["c2", "c1"], "latency_ms": {"search": 1.5, "total": 2.25},
        "retrieved": [
            {"id": "c1", "score": 2.5, "text": "The weight slides.", "doc": "scales", "start": 42, "end": 60},
            {"id": "c2", "score": 1, "text": "A whale swims.", "doc": "sea", "start": 11, "end": 25},
        ],
    },
    {"qid": "q2", "answer": "Sailors fear it [1]. 鲸鱼很大【1】[c9]。",
     "retrieved": [{"chunk_id": "c4", "score": 0.5, "text": "Sailors fear it", "doc": "sea", "page": 1}]},
    {"qid": "q3", "error": "the server fell asleep"},
]  # fmt: skip
CHUNKS = [
    {"id": "c1", "doc": "scales", "start": 42, "end": 75, "text": "The weight slides along the beam."},
    {"id": "c3", "doc": "sea", "start": 11, "end": 40, "text": "A whale swims in the sea. Sai"},
]
RAGAS = [
    {"user_input": "Who fears it?", "retrieved_contexts": ["Sailors fear the whale"], "response": "Sailors",
     "reference": "Sailors", "reference_contexts": ["Sailors fear the whale"]},
]  # fmt: skip
RAGCHECKER = {
    "query_id": "0", "query": "Who fears it?", "gt_answer": "Sailors.", "response": "Sailors fear it.",
    "retrieved_context": [{"doc_id": "a", "text": "Sailors fear it."}, {"doc_id": "b", "text": "茶"}],
    "response_claims": [["Sailors", "fear", "it"]], "gt_answer_claims": ["Sailors"], "answer2response": ["Entailment"],
    "response2answer": ["Entailment"], "retrieved2response": [["Entailment", "Neutral"]],
    "retrieved2answer": [["Contradiction", "Neutral"]], "metrics": {"precision": 1.0},
}  # fmt: skip
MTRAG = {
    "models": [{"model_id": "a"}, {"model_id": "b"}], "documents": [{"document_id": "d", "text": "秤是工具。"}],
    "tasks": [{"task_id": "t<::>1", "input": [{"speaker": "user", "text": "秤是什么？"}],
               "contexts": [{"document_id": "d"}], "targets": [{"text": "工具。"}], "Answerability": ["ANSWERABLE"]}],
    "evaluations": [{"task_id": "t<::>1", "model_id": model, "model_response": "秤是工具。",
                     "annotations": {"faithfulness": {"x": {"value": "4"}}}} for model in "ab"],
}  # fmt: skip
SCALE = """\
[[grade]]
gain = 0
en = "off"
zh = "无关"

[[grade]]
gain = 2.5
en = "on"
"""
PIPELINE = """\
documents = "documents"
questions = "questions.jsonl"
name = "small"
k = 3
depth = 5
chunk = { kind = "recursive", size = 60, overlap = 10 }
index = "bm25"
cache = false
[weigh]
measures = ["evidence_recall@3", "mrr"]
rule = "any"
"""
PROFILE = """\
name = "strict"
title = { en = "Strict", zh = "严格" }
levels = ["fair", "good"]
recommend = ["mrr"]
[measures.map]
levels = { fair = 0.3, good = 0.7 }
advice = "look again"
[measures.latency]
better = "lower"
given = true
levels = { fair = 500, good = 100 }
[relative]
measure = "map"
least = 0.1
"""


ANSWERS = (
    "faithfulness",
    "answer_f1",
    "citation_support",
    "token_f1",
    "citation_validity",
    "contains",
    "abstention_f1",
)


def write_seeds(folder: Path) -> list[Target]:
    """Write all files into a folder, and name what reads each of them; commands run in that folder."""
    targets = [*_tables(folder), *_evidence(folder), *_configurations(folder), *_others(folder)]
    targets += [*_traces(folder), *_logs(folder)]
    targets += [*review_targets(folder), *rater_targets(folder), *bench_targets(folder)]
    assert all((folder / target.file).is_file() for target in targets)
    return targets


def _tables(folder: Path) -> list[Target]:
    truth = pl.DataFrame([("q1", "a", 2.0), ("q1", "b", 0.0), ("q2", "文", 1.0), ("q3", "c", 1.0)], TRUTH, orient="row")
    run = pl.DataFrame([("q1", "a", 2.5), ("q1", "x", 1e-3), ("q2", "文", -1.0), ("q2", "b", -1.0)], RUN, orient="row")
    write_truth(truth, folder / "ok.qrels")
    write_run(run, folder / "ok.trec", "ok")
    targets = []
    for format in TABLES:
        write_truth(truth, folder / f"truth.{format}")
        write_run(run, folder / f"run.{format}", "run")
        targets += [
            Target(f"truth.{format}", (
                ("evaluate", f"truth.{format}", "ok.trec", "-m", "ndcg@10", "-m", "map"),
                ("convert", f"truth.{format}", "out/t.jsonl", "--kind", "truth"),
                ("convert", f"truth.{format}", "out/t.trec"),
            )),
            Target(f"run.{format}", (
                ("evaluate", "ok.qrels", f"run.{format}", "-m", "map"), ("convert", f"run.{format}", "out/r.parquet"),
                ("compare", "ok.qrels", "ok.trec", f"run.{format}", "-m", "map"),
                ("diagnose", "ok.qrels", f"run.{format}"),
            )),
        ]  # fmt: skip
    (folder / "queries.tsv").write_text("q1\tWhat?\nq2\t哪里？\n")
    _lines(folder / "beir" / "queries.jsonl", [{"_id": "q1", "text": "What?"}, {"_id": "q2", "text": "哪里？"}])
    _lines(
        folder / "beir" / "corpus.jsonl", [{"_id": "a", "title": "A", "text": "An a."}, {"_id": "b", "text": "A b."}]
    )
    (folder / "beir" / "qrels").mkdir()
    (folder / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tb\t1\n")
    beir = (
        ("evaluate", "beir", "ok.trec"),
        ("evaluate", "beir", "outputs.jsonl"),
        ("compare", "beir", "ok.trec", "run.csv"),
    )
    trec_eval = (("trec-eval", "-q", "-m", "all_trec", "ok.qrels", "run.trec"), ("trec-eval", "truth.trec", "ok.trec"))
    return [
        *targets,
        Target("run.trec", trec_eval[:1]),
        Target("truth.trec", trec_eval[1:]),
        *(Target(f"beir/{name}", beir) for name in ("queries.jsonl", "corpus.jsonl", "qrels/test.tsv")),
        Target("queries.tsv", (("diagnose", "ok.qrels", "ok.trec", "--questions", "queries.tsv"),)),
    ]


def _evidence(folder: Path) -> list[Target]:
    for name, content in DOCUMENTS.items():
        (folder / "documents").mkdir(exist_ok=True)
        (folder / "documents" / name).write_text(content)
    (folder / "documents" / "manual.pdf").write_bytes(_pdf("Turn the key twice.", "Then wait."))
    (folder / "documents" / "old.txt.gz").write_bytes(gzip.compress(b"Old words.", mtime=0))
    for name, values in (("questions", QUESTIONS), ("outputs", OUTPUTS), ("chunks", CHUNKS), ("ragas", RAGAS)):
        _lines(folder / f"{name}.jsonl", values)
    ragas = {"question": "Who?", "answer": "Sailors", "reference_contexts": "['Sailors']", "contexts": "['Sailors']"}
    pl.DataFrame([ragas]).write_csv(folder / "ragas.csv")
    names = [str(folder / name) for name in ("questions.jsonl", "outputs.jsonl", "verdicts.parquet")]
    app(["judge", *names[:2], "--into", names[2], "--output", str(folder / "judged.txt")])
    judge = ("judge", "questions.jsonl", "outputs.jsonl", "--into", "out/judged.parquet")
    weigh = ("evaluate", "questions.jsonl", "outputs.jsonl")
    answers = (*weigh, *(word for measure in ANSWERS for word in ("-m", measure)))
    diagnosis = ("diagnose", "questions.jsonl", "outputs.jsonl")
    report = ("report", "questions.jsonl", "outputs.jsonl", "-o", "out/report.html")
    with_corpus = (*weigh, "--documents")
    documents = [f"documents/{name}" for name in (*DOCUMENTS, "manual.pdf", "old.txt.gz")]
    return [
        *[Target("verdicts.parquet", (
            (*answers, "--verdicts", "verdicts.parquet"),
            (*report, "--verdicts", "verdicts.parquet"),
        ))] * 3,
        *[Target("questions.jsonl", (
            weigh, judge, (*answers, "-q", "-f", "markdown"), (*with_corpus, "documents"),
            ("diagnose", "questions.jsonl", "outputs.jsonl", "--documents", "chunks.jsonl"),
            ("evaluate", "questions.jsonl", "done"), ("run", "small.toml", "-o", "out/run", "--overwrite"),
            ("evaluate", "ok.qrels", "ok.trec", "--questions", "questions.jsonl", "--cluster", "conversation"),
        ))] * 3,
        *[Target("outputs.jsonl", (
            weigh, judge, (*judge, "-f", "json", "--dry-run"), (*judge, "-f", "markdown", "--lang", "zh"),
            (*answers, "-q", "-f", "json"), diagnosis, report, (*with_corpus, "chunks.jsonl"),
        ))] * 3,
        Target("chunks.jsonl", ((*with_corpus, "chunks.jsonl"),)),
        Target("ragas.jsonl", (
            ("evaluate", "ragas.jsonl", "ragas.jsonl"), ("evaluate", "ragas.jsonl", "ragas.jsonl", "-m", "answer_f1"),
        )),
        Target("ragas.csv", (("evaluate", "ragas.csv", "ragas.csv"),)),
        *(Target(file, ((*with_corpus, "documents"), (*with_corpus, file))) for file in documents),
    ]  # fmt: skip


def _traces(folder: Path) -> list[Target]:
    """Traces of other tools, and conversations in rows of others."""
    cases = Path(__file__).parents[1] / "cases"
    (folder / "traces").mkdir()
    for file in (cases / "traces").iterdir():
        (folder / "traces" / file.name).write_bytes(file.read_bytes())
    (folder / "traces" / "expected.jsonl").unlink()
    talks = (cases / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    _lines(folder / "traces" / "talks.jsonl", [json.loads(line)["row"] for line in talks[3:5]])
    files = sorted(f"traces/{path.name}" for path in (folder / "traces").iterdir())
    return [
        Target(file, (
            ("convert", file, "out/outputs.jsonl"), ("judge", file, file, "--into", "out/judged.parquet"),
            ("evaluate", file, file, "-m", "faithfulness"),
        ))
        for file in files
    ]  # fmt: skip


def _logs(folder: Path) -> list[Target]:
    """Logs of services, as other tools export them."""
    rows = (Path(__file__).parents[1] / "cases" / "foreign_logs.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "logs").mkdir()
    records = dict[str, list[object]]()
    for row in map(json.loads, rows):
        records.setdefault(f"logs/{row['format']}.jsonl", []).extend(row["records"])
    for file, own in records.items():
        _lines(folder / file, own)
    command = ("questions", "from-logs", "-n", "20", "-o", "out/drawn.jsonl")
    targets = [Target(file, ((*command, file),)) for file in records]
    asked = {"time": "2026-11-01T12:00:00Z", "query": "how?", "doc_ids": ["a", "b"], "scores": [0.5, 0.25], "user": "u"}
    impressions = [{**asked, "request": f"r{i}", "latency_ms": 5 * i} for i in range(20)]
    clicks = [{"time": asked["time"], "request": f"r{i}", "kind": "click", "position": 1} for i in range(20)]
    _lines(folder / "logs" / "own.jsonl", [*impressions, *clicks])
    pl.DataFrame(impressions).write_parquet(folder / "logs" / "impressions.parquet")
    pl.DataFrame(clicks).write_csv(folder / "logs" / "events.csv")
    for name in ("own.jsonl", "impressions.parquet", "events.csv"):
        file = f"logs/{name}"
        targets.append(Target(file, (("logs", "check", file), ("logs", "convert", file, "-o", "out/logs.parquet"))))
    return targets


def _configurations(folder: Path) -> list[Target]:
    (folder / "out").mkdir()
    (folder / "small.toml").write_text(PIPELINE)
    (folder / "grid.toml").write_text(PIPELINE + '[sweep]\n"chunk.size" = [40, 60]\n')
    (folder / "profile.toml").write_text(PROFILE)
    (folder / "run.toml").write_text('levels = ["good"]\n[measures.mrr]\nlevels = { good = 0.5 }\n')
    qrels, run, scores = (str(folder / name) for name in ("ok.qrels", "ok.trec", "scores.json"))
    app(["evaluate", qrels, run, "-m", "map", "-m", "mrr", "--format", "json", "--output", scores])
    app(["run", str(folder / "small.toml"), "-o", str(folder / "done")])
    verdicts = scored([0.1, 0.4, 0.6, 0.9] * 5)
    people = labelled(verdicts, [False, True, True, True] * 5)
    calibration = calibrate(verdicts, people).with_self_tests((SelfTest("gold", 9, 1, 0.01, 0.5, 0.1),))
    calibration.write(folder / "judge.json")
    profiled = ("--profile", "profile.toml", "--number", "latency=100", "--min-questions", "2")
    gate = ("gate", "scores.json", *profiled)
    finished = (
        ("evaluate", "questions.jsonl", "done"),
        ("gate", "done", "--truth", "questions.jsonl", "--profile", "run.toml"),
        ("diagnose", "questions.jsonl", "done"),
        ("run", "small.toml", "-o", "done"),
        ("evaluate", "questions.jsonl", "outputs.jsonl", "--documents", "done"),
    )
    names = ("manifest.json", "config.json", "outputs.jsonl", "chunks.parquet", "documents.parquet")
    return [
        *[Target("small.toml", (("run", "small.toml", "-o", "out/run", "--overwrite"),))] * 3,
        Target("grid.toml", (("sweep", "grid.toml", "--overwrite"),)),
        *[Target("scores.json", (gate, (*gate, "--baseline", "scores.json")))] * 3,
        *[Target("judge.json", (("gate", "--calibration", "judge.json"),))] * 2,
        *[Target("profile.toml", (gate, ("evaluate", "ok.qrels", "ok.trec", "--profile", "profile.toml")))] * 3,
        *(Target(f"done/{name}", finished) for name in names),
    ]


def _others(folder: Path) -> list[Target]:
    """Files of other tools, and what grading reads."""
    checked = {"results": [RAGCHECKER]}
    (folder / "checked.json").write_text(json.dumps(checked, indent=1))
    (folder / "mtrag.json").write_text(json.dumps(MTRAG, ensure_ascii=False, indent=1))
    (folder / "scale.toml").write_text(SCALE)
    grade = {"query_id": "q1", "doc_id": "c1", "gain": 2, "by": "people", "reason": "说明"}
    _lines(folder / "graded.jsonl", [grade, {**grade, "doc_id": "c2", "by": "judge", "judge": "llm", "gain": None}])
    label = ("label", "questions.jsonl", "outputs.jsonl", "-o", "out/grades.jsonl", "--scale")
    return [
        Target("checked.json", (
            ("evaluate", "checked.json", "checked.json", "-m", "faithfulness", "-m", "answer_f1", "--verdicts",
             "checked.json"),
            ("export", "checked.json", "checked.json", "--to", "mtrag"),
        )),
        *[Target("mtrag.json", (
            ("evaluate", "mtrag.json", "b=mtrag.json", "-m", "faithfulness"),
            ("export", "mtrag.json", "a=mtrag.json", "--to", "deepeval", "-m", "answer_f1"),
        ))] * 2,
        *[Target("graded.jsonl", (
            ("evaluate", "graded.jsonl", "outputs.jsonl", "-m", "ndcg@5"), (*label, "0-3", "--keep", "graded.jsonl"),
        ))] * 2,
        Target("scale.toml", ((*label[:4], "out/own.jsonl", "--scale", "scale.toml"),)),
    ]  # fmt: skip


def _lines(path: Path, values: Sequence[object]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def _pdf(*pages: str) -> bytes:
    """A small PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET"
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * i} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\n"
    )
    return f"{body}{end}startxref\n{len(body)}\n%%EOF\n".encode()
