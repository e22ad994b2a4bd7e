"""Small reports for the tests of pages and charts."""

from __future__ import annotations

from typing import Any

from steelyard.experiment.evaluation import weigh
from steelyard.experiment.weighing import Weighing
from steelyard.report.report import Report

MEASURES = ("ndcg@3", "recall@3", "mrr@3", "evidence_recall@3")
QUESTIONS: list[dict[str, Any]] = [
    {"qid": "q1", "query": "When may late fees be waived?", "gold_answer": "After a hospital stay.", "tags": ["fees"],
     "evidence": [{"text": "waived after a hospital stay"}]},
    {"qid": "q2", "query": "仓库几点关门？", "gold_answer": "晚上八点。", "tags": ["hours", "中文"],
     "evidence": [{"text": "仓库晚上八点关门", "gain": 2}]},
    {"qid": "q3", "query": "Who repairs bicycles?", "tags": ["repair"],
     "evidence": [{"text": "The repair café"}, {"text": "on Saturdays"}]},
    {"qid": "q4", "query": "Is there a piano?", "tags": ["fees"], "evidence": []},
]  # fmt: skip
TEXTS = {
    "c1": "Late fees are WAIVED after a\nhospital stay.",
    "c2": "注意：仓库晚上八点关门，周日休息。",
    "c3": "The repair café mends bicycles 𠀀 on Saturdays.",
    "c4": "Nothing of interest.",
}
RANKED = {
    "first": {"q1": ["c1", "c4"], "q2": ["c4", "c2"], "q3": ["c3", "c1"], "q4": ["c4"]},
    "second": {"q1": ["c4", "c2"], "q2": ["c2", "c1"], "q3": ["c4", "c3"], "q4": ["c1"]},
    "third": {"q1": ["c4"], "q2": ["c1"], "q4": ["c4"]},
}


def outputs(
    ranked: dict[str, list[str]], texts: dict[str, str] = TEXTS, **more: dict[str, Any]
) -> list[dict[str, Any]]:
    """Lines of one system; `more` has further keys of lines, by question."""
    return [
        {"qid": qid, "retrieved": [{"id": id, "text": texts[id]} for id in ids], **more.get(qid, {})}
        for qid, ids in ranked.items()
    ]


def texts_weighing(**options: Any) -> Weighing:
    """Three systems with texts, one of which answers, failed and lacks a question."""
    runs = {name: outputs(ranked) for name, ranked in RANKED.items()}
    runs["first"][0]["answer"] = "After a hospital stay [c1]."
    runs["third"].append({"qid": "q3", "error": "timeout after 30 s", "retrieved": []})
    runs["second"] = [line for line in runs["second"] if line["qid"] != "q4"]
    return weigh(QUESTIONS, runs, **options)


def texts_report(**options: Any) -> Report:
    """The report of `texts_weighing`."""
    return Report.of(texts_weighing(), MEASURES, **options)


def ids_weighing(n_systems: int = 2) -> Weighing:
    """Systems with ids alone."""
    truth = {f"q{i}": {f"d{i}": 1 + i % 2, "d0": 1} for i in range(1, 9)}
    runs = {
        f"system-{s}": {
            q: list(dict.fromkeys([f"d{(i * (s + 2)) % 9}", f"d{i}", "x", "d0"])) for i, q in enumerate(truth, 1)
        }
        for s in range(n_systems)
    }
    return weigh(truth, runs)


def ids_report(n_systems: int = 2, **options: Any) -> Report:
    """The report of `ids_weighing`."""
    return Report.of(ids_weighing(n_systems), ("ndcg@3", "dcg@3", "recall@3"), **options)


EVIL = "\n</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`{{7*7}}&amp;\u2028\u202e\x00\x1b[31m"


def evil(name: str) -> str:
    """Text that tries to break out, told apart by a name."""
    return f"{name}{EVIL}"


def hostile_report() -> Report:
    """Every text that comes from outside tries to become code."""
    texts = {evil(f"chunk{i}"): evil(f"text of {i}") + f" gold of question {i}" for i in range(3)}
    questions = [
        {"qid": evil(f"q{i}"), "query": evil(f"query {i}"), "gold_answer": evil(f"expected {i}"),
         "tags": [evil("tag")], "evidence": [{"text": evil(f"text of {i}"), "group": evil("group")},
                                             {"doc": evil("document"), "pages": [3]}]}
        for i in range(3)
    ]  # fmt: skip
    runs = {}
    for name in ("a", "b"):
        lines = []
        for i, question in enumerate(questions):
            ids = list(texts) if name == "a" else list(texts)[::-1]
            items = [
                {"id": id, "text": texts[id], "doc": evil("document"), "pages": [i]} for i, id in enumerate(ids, 1)
            ]
            lines.append({"qid": question["qid"], "retrieved": items, "answer": evil(f"answer {i}")})
        lines[2] = {"qid": questions[2]["qid"], "error": evil("why"), "retrieved": []}
        runs[evil(name)] = lines
    return Report.of(weigh(questions, runs), ("ndcg@2", "recall@2"))


def long_report() -> Report:
    """Names, ids, tags and texts without a place to break."""
    name = "text-embedding-3-large_chunk512_overlap64_rerank-bge-v2-m3_top50_" * 2
    questions = [
        {"qid": f"{name}{i}", "query": f"https://example.org/{'path/' * 30}{i}", "tags": [f"{name}{i % 2}"],
         "evidence": [{"doc": f"{name}{i}", "text": f"gold {i}"}]}
        for i in range(6)
    ]  # fmt: skip
    items = [{"id": f"{name}c{i}", "doc": f"{name}{i}", "text": f"gold {i} {'x' * 120}"} for i in range(6)]
    runs = {
        f"{name}{s}": [
            {"qid": question["qid"], "retrieved": items[i * s : i * s + 3], "answer": "y" * 200}
            for i, question in enumerate(questions)
        ]
        for s in range(2)
    }
    return Report.of(weigh(questions, runs), ("ndcg@3", "evidence_recall(min_gain=2)@3"))
