"""Whether the diagnosis names what is wrong: faults are planted one by one into sound lists of real questions.

    python benchmarks/faults.py [BEIR_FOLDER ...] [--questions N] [--samples N] [--markdown FILE]

The lists are those of BM25 over the bundled example, and over each folder, as deep as 100.  Printed are, for each
fault, the place of the first piece of advice that names it, and what comes first; then, for each of these names, in how
many sound samples (four fifths of the questions, drawn at random) it appears although nothing was planted.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from steelyard import Outputs, Pipeline, Questions, diagnose, weigh
from steelyard.demo import DATA
from steelyard.diagnosis.advice import MISTAKES
from steelyard.diagnosis.diagnosing import Diagnosis

K, DEPTH = 5, 100
Result = dict[str, Any]
"""id, score, doc and text of one result."""


@dataclass(frozen=True)
class Collection:
    """Questions as dicts, the list of each in their order, and what its reranker was given, if there is one."""

    questions: Sequence[dict[str, Any]]
    lists: Sequence[Sequence[Result] | None]
    candidates: Sequence[Sequence[Result]] | None = None

    def take(self, rows: Sequence[int]) -> Collection:
        """Some of the questions, in their order."""
        return Collection([self.questions[q] for q in rows], [self.lists[q] for q in rows])

    def diagnosis(self) -> Diagnosis:
        """What is said of it."""
        lines = []
        for q, (question, results) in enumerate(zip(self.questions, self.lists, strict=True)):
            line = {"qid": question["qid"], "retrieved": results or []}
            if results is None:
                line["error"] = "timeout"
            if self.candidates is not None:
                line["candidates"] = self.candidates[q]
            lines.append(line)
        return diagnose(weigh(Questions(self.questions), Outputs(lines, name="bm25")), k=K)


def with_lists(collection: Collection, change: Callable[[Sequence[Result]], Sequence[Result]]) -> Collection:
    """Every list changed."""
    return replace(collection, lists=[change(results or []) for results in collection.lists])


def shift(collection: Collection, start: int) -> Collection:
    """From one line on, every question has the list of the one before it."""
    lists = list(collection.lists)
    return replace(collection, lists=[*lists[: start + 1], *lists[start:-1]])


def double(results: Sequence[Result]) -> list[Result]:
    """Every document once more, under another id, with the same text and score."""
    copies = ("", "-copy")
    return [{**r, "id": r["id"] + end, "doc": r["doc"] + end} for r in results for end in copies][:DEPTH]


def swap(collection: Collection, share: float, rng: np.random.Generator) -> Collection:
    """The gold of some questions exchanged in pairs."""
    questions = [dict(question) for question in collection.questions]
    rows = rng.permutation(len(questions))[: 2 * round(share * len(questions) / 2)].tolist()
    for a, b in zip(rows[::2], rows[1::2], strict=True):
        for key in ("evidence", "rel_map"):
            gold = [questions[q].pop(key, None) for q in (a, b)]
            for q, value in zip((b, a), gold, strict=True):
                if value is not None:
                    questions[q][key] = value
    return replace(collection, questions=questions)


def rename(results: Sequence[Result]) -> list[Result]:
    """Documents under names that another system gave them."""
    return [{**result, "id": f"export-{result['id']}", "doc": f"export-{result['doc']}"} for result in results]


def fail(collection: Collection, rows: Sequence[int]) -> Collection:
    """Questions that ended in an error."""
    return replace(collection, lists=[None if q in rows else results for q, results in enumerate(collection.lists)])


def spoil(collection: Collection, rows: Sequence[int]) -> Collection:
    """Questions whose first ten results are put behind all others."""
    lists = [_behind(results or []) if q in rows else results for q, results in enumerate(collection.lists)]
    return replace(collection, lists=lists)


def _behind(results: Sequence[Result]) -> list[Result]:
    return [{**result, "score": float(-rank)} for rank, result in enumerate([*results[10:], *results[:10]])]


def rerank_badly(collection: Collection, rng: np.random.Generator) -> Collection:
    """A reranker that puts the first twenty in any order and returns ten of them."""
    lists = []
    for results in collection.lists:
        first = [(results or [])[i] for i in rng.permutation(min(20, len(results or [])))][:10]
        lists.append([{**result, "score": float(-rank)} for rank, result in enumerate(first)])
    return replace(collection, lists=lists, candidates=[results or [] for results in collection.lists])


def faults(collection: Collection, rng: np.random.Generator) -> Iterator[tuple[str, set[str], Collection]]:
    """The fault in words, the codes that name it, and the collection with it."""
    n = len(collection.questions)
    fifth = sorted(rng.permutation(n)[: n // 5].tolist())
    yield (
        "scores reversed",
        {"reversed_order"},
        with_lists(collection, lambda results: [{**result, "score": -result["score"]} for result in results]),
    )
    yield "answers shifted by one question", {"shifted"}, shift(collection, 0)
    yield "answers shifted from the middle on", {"shifted"}, shift(collection, n // 2)
    yield "lists of three", {"short_lists"}, with_lists(collection, lambda results: results[:3])
    yield "documents doubled", {"doubled"}, with_lists(collection, double)
    yield "labels of a third swapped", {"swapped"}, swap(collection, 1 / 3, rng)
    yield "documents named differently", {"nothing_matches"}, with_lists(collection, rename)
    yield (
        "scores all equal",
        {"tied"},
        with_lists(collection, lambda results: [{**result, "score": 1.0} for result in results]),
    )
    yield "a fifth failed", {"failed"}, fail(collection, fifth)
    yield "a reranker that shuffles", {"reranker_harms"}, rerank_badly(collection, rng)
    languages = [q for q, question in enumerate(collection.questions) if any(c >= "一" for c in question["query"])]
    if 0 < len(languages) < n:
        yield "one language fails", {"cluster_language", "cluster_tag"}, spoil(collection, languages)


def bundled() -> Collection:
    """The bundled example, its chunks ranked by BM25."""
    questions = [dict(q) for q in _json_lines(DATA / "questions.jsonl")]
    return search(DATA / "documents", questions, {"kind": "recursive", "size": 300, "overlap": 50})


def beir(folder: Path, n: int) -> Collection:
    """The first n questions of a BEIR folder, its documents ranked by BM25."""
    questions = [
        {"qid": q.query_id, "query": q.query, "evidence": [{"doc": p.doc, "gain": p.gain} for p in q.evidence]}
        for q in Questions.read(folder)
    ]
    return search(folder, questions[:n], "whole")


def search(documents: Path, questions: Sequence[dict[str, Any]], chunk: object) -> Collection:
    """Lists of BM25."""
    pipeline = Pipeline(documents, chunk=chunk, index="bm25", k=DEPTH)
    lists = [
        [{"id": p.chunk_id, "score": p.score, "doc": p.doc_id, "text": p.text} for p in pipeline.search(q["query"])]
        for q in questions
    ]
    return Collection(questions, lists)


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def place_of(codes: set[str], diagnosis: Diagnosis) -> int | None:
    """The place of the first piece of advice that names a fault, from 1."""
    return next((place for place, advice in enumerate(diagnosis.advice, 1) if advice.code in codes), None)


def accusations(collection: Collection, samples: int, rng: np.random.Generator) -> Counter[str]:
    """How many sound samples each mistake is seen in."""
    n = len(collection.questions)
    seen: Counter[str] = Counter()
    for _ in range(samples):
        rows = sorted(rng.permutation(n)[: 4 * n // 5].tolist())
        seen.update({advice.code for advice in collection.take(rows).diagnosis().advice} & MISTAKES)
    return seen


def tables(name: str, collection: Collection, samples: int, seed: int) -> Iterator[str]:
    """Planted faults by advice, and false accusations, in Markdown."""
    rng = np.random.default_rng(seed)
    yield f"\n{name}: {len(collection.questions)} questions\n"
    yield "| planted | named at place | first advice |\n|---|---:|---|"
    for fault, codes, planted in faults(collection, rng):
        diagnosis = planted.diagnosis()
        place = place_of(codes, diagnosis)
        first = diagnosis.advice[0].code if diagnosis.advice else "–"
        yield f"| {fault} | {place or 'not named'} | `{first}` |"
    seen = accusations(collection, samples, rng)
    listed = ", ".join(f"`{code}` in {seen[code]}" for code in sorted(seen)) or "none"
    yield f"\nAccused falsely in {samples} sound samples: {listed}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="*")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    collections = {"bundled example": bundled()}
    for folder in options.folders:
        name = folder.parent.name if folder.name == "beir" else folder.name
        collections[name] = beir(folder, options.questions)
    lines = [
        line
        for name, collection in collections.items()
        for line in tables(name, collection, options.samples, options.seed)
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
