"""How evidence_recall and the span measures change as chunks become smaller, at equal words shown.

    python benchmarks/chunk_sizes.py [--novel FILE] [--words 200] [--markdown FILE]

Windows of 3 to 400 words are cut from the documents of the bundled example, and BM25 retrieves as many of them as show
--words words.  The gold are the example's quotes, as texts.  With --novel (the text of a long book, plain or .gz), 100
passages of one to three sentences are drawn from it, and each is asked for by five of its words.  Chunks of a few words
are of no use to a reader, so a measure should not rise as they become smaller.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard import Document, Outputs, Pipeline, Questions, evaluate
from steelyard.demo import DATA

SIZES = (400, 200, 150, 100, 40, 20, 10, 5, 3)
RULES = ("any", "share>=0.1", "share>=0.25", "share>=0.5", "share>=0.75", "contains")
SPANS = ("span_recall", "span_precision", "span_iou")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")
_SENTENCE = re.compile(r"[A-Z“][^.!?]{20,400}[.!?]”?")


@dataclass(frozen=True)
class Windows:
    """Windows of words between blanks, and of single Chinese characters, without overlap."""

    size: int

    def spans(self, text: str) -> list[tuple[int, int]]:
        words = [found.span() for found in _WORD.finditer(text)]
        firsts = range(0, len(words), self.size)
        return [(words[i][0], words[min(i + self.size, len(words)) - 1][1]) for i in firsts]


def example() -> tuple[list[Document], Questions]:
    """Documents and questions of the bundled example, its quotes as texts."""
    documents = [Document(path.stem, path.read_text("utf-8")) for path in sorted((DATA / "documents").glob("*.md"))]
    lines = [json.loads(line) for line in (DATA / "questions.jsonl").read_bytes().splitlines()]
    return documents, Questions(
        [
            {"qid": line["qid"], "query": line["query"], "evidence": [{"text": p["quote"]} for p in line["evidence"]]}
            for line in lines
            if line.get("evidence")
        ]
    )


def novel(path: Path, n: int = 100) -> tuple[list[Document], Questions]:
    """A long text, and questions that are five words of a passage each, rare ones first."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    sentences = [found.span() for found in _SENTENCE.finditer(text) if found.start() > len(text) // 100]
    count = Counter(re.findall(r"\w+", text.lower()))
    rng, lines = random.Random(0), []
    for i in rng.sample(range(len(sentences) - 3), n):
        passage = text[sentences[i][0] : sentences[i + rng.choice([0, 0, 1, 2])][1]]
        words = sorted({word for word in re.findall(r"\w+", passage.lower()) if len(word) > 3})
        asked = sorted(words, key=lambda word: (count[word] > 400, rng.random()))[:5]
        lines.append({"qid": f"n{len(lines):03}", "query": " ".join(asked), "evidence": [{"text": passage}]})
    return [Document("novel", text)], Questions(lines)


def row(documents: list[Document], questions: Questions, size: int, words: int) -> tuple[int, list[float]]:
    """How many chunks show so many words, evidence_recall by each rule, and the span measures."""
    k = max(1, round(words / size))
    pipeline = Pipeline(documents, chunk=Windows(size), index={"kind": "bm25"}, k=k, depth=max(k, 100))
    outputs = Outputs(
        [
            {"qid": question.query_id, "retrieved": [passage.chunk_id for passage in pipeline.search(question.query)]}
            for question in questions
        ]
    )
    recalls = [
        float(evaluate(questions, outputs, "evidence_recall", documents=pipeline.chunks, rule=rule).means[0, 0])
        for rule in RULES
    ]
    spans = evaluate(questions, outputs, list(SPANS), documents=pipeline.chunks).means[0]
    return k, [*recalls, *map(float, spans)]


def table(documents: list[Document], questions: Questions, words: int) -> str:
    """A row a size."""
    head = ["words of a chunk", "k", *RULES, *SPANS]
    lines = [f"| {' | '.join(head)} |", "|---:" * len(head) + "|"]
    values = []
    for size in SIZES:
        if size <= words:
            k, row_values = row(documents, questions, size, words)
            values.append(row_values)
            lines.append(f"| {size} | {k} | " + " | ".join(f"{value:.3f}" for value in row_values) + " |")
    rises = np.diff(np.array(values), axis=0).max(axis=0)
    lines.append("| largest rise | | " + " | ".join(f"{max(value, 0):.3f}" for value in rises) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--novel", type=Path)
    parser.add_argument("--words", type=int, default=200)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    sets = [("The bundled example", example())] + ([("The novel", novel(options.novel))] if options.novel else [])
    text = ""
    for name, (documents, questions) in sets:
        text += f"{name}: {len(questions)} questions, {options.words} words shown.\n\n"
        text += table(documents, questions, options.words) + "\n\n"
        print(text[text.rindex(name) :], flush=True)
    if options.markdown:
        options.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
