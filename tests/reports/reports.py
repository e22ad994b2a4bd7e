"""Small reports for the tests of pages and charts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import steelyard as sy
from steelyard.experiment.door.evaluation import weigh
from steelyard.experiment.door.weighing import Weighing
from steelyard.judges.tables.verdicts import Verdicts
from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Unit, Verdict
from steelyard.reports.report import Report

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
    return sy.report(texts_weighing(), measures=MEASURES, **options)


def judged_record(
    query_id: str, answer: str, context: Sequence[str], verdicts: Sequence[tuple[str, Sequence[Verdict], str]],
    *, marks: Sequence[tuple[str, int | None]] = (), gold: Sequence[tuple[str, Verdict, Sequence[Verdict]]] = (),
    **more: Any,
) -> JudgedAnswer:  # fmt: skip
    """A judged answer, whose sentences and citation marks are found in its text.

    verdicts   sentence as it stands in the answer, its verdicts by chunk, and why it asserts nothing or ""
    marks      citation mark, and the chunk that it names;   gold   gold unit, whether it is said, and by chunk
    """
    units = tuple(
        Unit(answer.index(text), answer.index(text) + len(text), _bare(text, marks), why) for text, _, why in verdicts
    )
    citations = []
    for mark, chunk in marks:
        start = answer.index(mark)
        unit = max(u for u, one in enumerate(units) if one.start <= start)
        citations.append(CitedChunk(unit, start, start + len(mark), mark, chunk, "dangling" if chunk is None else None))
    support = tuple(() if why else tuple(row) for _, row, why in verdicts)
    return JudgedAnswer(
        query_id, "answered", answer=answer, context=tuple(context), units=units, citations=tuple(citations),
        gold_answers=tuple(text for text, *_ in gold[:1]),
        gold_units=tuple(Unit(0, len(text), text) for text, *_ in gold), support=support,
        joint=(None,) * len(units), without=(None,) * len(citations),
        correctness=tuple(() if unit.no_claim or not gold else (Verdict("supported"),) for unit in units),
        said=tuple(said for _, said, _ in gold), reach=tuple(tuple(row) for *_, row in gold), **more,
    )  # fmt: skip


def _bare(text: str, marks: Sequence[tuple[str, int | None]]) -> str:
    for mark, _ in marks:
        text = text.replace(mark, "")
    return text.strip()


def judged_verdicts() -> dict[str, Verdicts]:
    """Of the first system of `texts_weighing`: an English and a Chinese answer, judged by hand."""
    yes, no = Verdict("supported", 0.95), Verdict("not_found", 0.2, "missing: Sunday, noon")
    against, unclear = Verdict("contradicted", 0.1, "8 is not 9"), Verdict("not_judged", None, "budget")
    english = judged_record(
        "q1",
        "Hello! Late fees are waived after a hospital stay [c1]. Ask on Sunday at noon [c9]. Or write to us [c4].",
        ["c1", "c4"],
        [("Hello!", (), "greeting"), ("Late fees are waived after a hospital stay [c1].", (yes, no), ""),
         ("Ask on Sunday at noon [c9].", (no, no), ""), ("Or write to us [c4].", (no, unclear), "")],
        marks=[("[c1]", 0), ("[c9]", None), ("[c4]", 1)],
        gold=[("After a hospital stay.", yes, (yes, no)), ("A letter of the doctor is needed.", no, (no, no))],
    )  # fmt: skip
    chinese = judged_record(
        "q2",
        "仓库晚上八点关门【2】。周日九点关门。",
        ["c4", "c2"],
        [("仓库晚上八点关门【2】。", (no, yes), ""), ("周日九点关门。", (no, against), "")],
        marks=[("【2】", 1)],
        gold=[("晚上八点。", yes, (no, yes))],
    )
    abstained = JudgedAnswer("q3", "abstained", answer="I do not know.", context=("c3", "c1"))
    recipe = {"judge": {"name": "lexical", "version": 1, "threshold": 0.7}, "date": "2026-11-22T12:00:00+00:00"}
    return {"first": Verdicts([english, chinese, abstained, JudgedAnswer("q4", "missing")], recipe)}


def judged_weighing() -> Weighing:
    """Three systems, and verdicts on the answers of the first one."""
    return texts_weighing(verdicts=judged_verdicts())


def judged_report(**options: Any) -> Report:
    """The report of `texts_weighing` with `judged_verdicts`."""
    return sy.report(judged_weighing(), measures=MEASURES, **options)


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
    return sy.report(ids_weighing(n_systems), measures=("ndcg@3", "dcg@3", "recall@3"), **options)


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
    verdicts = {evil("a"): Verdicts(_evil_records(), {"judge": {"name": evil("judge"), evil("key"): evil("value")}})}
    return sy.report(weigh(questions, runs, verdicts=verdicts), measures=("ndcg@2", "recall@2"))


def _evil_records() -> Iterator[JudgedAnswer]:
    """Judged answers to the questions of the hostile report, all of whose texts try to break out."""
    for i in range(3):
        answer, no = evil(f"answer {i}"), Verdict("not_found", 0.1, evil("reason"))
        yield JudgedAnswer(
            evil(f"q{i}"), "answered", answer=answer, context=(evil("chunk0"),), gold_answers=(evil(f"expected {i}"),),
            units=(Unit(0, len(answer), evil("claim")),), gold_units=(Unit(0, 4, evil("gold unit")),),
            support=((no,),), joint=(None,), correctness=((no,),), said=(no,), reach=((no,),),
            grounded=(Verdict("not_judged", None, evil("cause")),), grade=Verdict("not_found", 0.0, evil("grade")),
            citations=(CitedChunk(0, 2, 5, evil("[9]"), None, "malformed"),), without=(None,),
        )  # fmt: skip


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
    return sy.report(weigh(questions, runs), measures=("ndcg@3", "evidence_recall(min_gain=2)@3"))
