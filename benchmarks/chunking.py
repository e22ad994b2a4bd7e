"""How chunk size and overlap move measures of chunks, and measures of the evidence, on real gold spans.

    python benchmarks/chunking.py FOLDER [--markdown FILE]

FOLDER holds the data of Chroma's chunking evaluation (Smith & Troynikov 2024): questions_df.csv with 472 questions and
790 gold spans, and the five corpora.  Each question is asked of its own corpus, as its authors do: BM25, top 5, on
windows of words.  Printed are span recall, and chunk recall under three rules, over the questions some of whose gold is
in one chunk.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard import Document, Outputs, Pipeline, Questions
from steelyard import weigh as weigh_runs

RULES = ("any", "share>=0.5", "contains")
SETTINGS = ((150, 0), (150, 75), (300, 150))
# Found once with another BM25: span recall, chunk recall by rule, questions of which no chunk alone holds gold.
EXPECTED = {
    (150, 0): (0.848, (0.825, 0.854, 0.867), (0, 0, 54)),
    (150, 75): (0.869, (0.688, 0.736, 0.769), (0, 0, 2)),
    (300, 150): (0.926, (0.802, 0.830, 0.848), (0, 0, 0)),
}


@dataclass(frozen=True)
class BlankWindows:
    """Windows of words between blanks, as the expected figures were made with."""

    size: int
    overlap: int

    def spans(self, text: str) -> list[tuple[int, int]]:
        words = [found.span() for found in re.finditer(r"\S+", text)]
        step = self.size - self.overlap
        starts = range(0, max(len(words) - self.overlap, 1), step)
        return [(words[i][0], words[min(i + self.size, len(words)) - 1][1]) for i in starts]


def read(folder: Path) -> tuple[dict[str, Document], list[dict]]:
    """Documents by name, and questions in Steelyard's form."""
    documents = {
        path.stem: Document(path.stem, path.read_bytes().decode()) for path in sorted((folder / "corpora").glob("*.md"))
    }
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        questions = [
            {
                "qid": f"q{number:03}",
                "query": row["question"],
                "evidence": [
                    {"doc": row["corpus_id"], "start": span["start_index"], "end": span["end_index"]}
                    for span in json.loads(row["references"])
                ],
                "tags": [row["corpus_id"]],
            }
            for number, row in enumerate(csv.DictReader(file), 1)
        ]
    return documents, questions


def weigh(documents: dict[str, Document], questions: list[dict], size: int, overlap: int) -> dict[str, object]:
    """Span recall@5; for each rule chunk recall@5 where one chunk holds gold, and how many questions are not so."""
    values: dict[str, list[float]] = {rule: [] for rule in RULES}
    spans: list[float] = []
    lost = dict.fromkeys(RULES, 0)
    for name, document in documents.items():
        asked = Questions([question for question in questions if question["tags"] == [name]])
        pipeline = Pipeline([document], chunk=BlankWindows(size, overlap), index={"kind": "bm25", "stem": "none"}, k=5)
        outputs = Outputs(
            [
                {
                    "qid": question.query_id,
                    "retrieved": [
                        {"id": p.chunk_id, "score": p.score, "doc": p.doc_id, "start": p.start, "end": p.end}
                        for p in pipeline.search(question.query)
                    ],
                }
                for question in asked
            ]
        )
        for rule in RULES:
            weighing = weigh_runs(asked, outputs, documents=pipeline.chunks, rule=rule)
            scores = weighing.scores(["span_recall@5", "recall@5"])
            resolution = weighing.weighed[0].evidence.resolution
            whole = set(resolution.gold.query[resolution.whole[resolution.gold.group]].tolist())
            of_whole = {resolution.gold.query_ids[q] for q in whole}
            winnable = np.array([query_id in of_whole for query_id in scores.query_ids])
            lost[rule] += int((~winnable).sum())
            values[rule] += scores.values[0, 1, winnable].tolist()
        spans += scores.values[0, 0].tolist()
    return {"spans": float(np.mean(spans)), "chunks": {r: float(np.mean(v)) for r, v in values.items()}, "lost": lost}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    documents, questions = read(options.folder)
    lines = [
        f"{len(questions)} questions, {sum(len(q['evidence']) for q in questions)} gold spans, "
        f"{len(documents)} corpora.",
        "",
        "| words / overlap | span recall@5 | expected | chunk recall@5: any | share>=0.5 | contains | expected "
        "| in no chunk alone: any | share>=0.5 | contains | expected |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    worst = 0.0
    for size, overlap in SETTINGS:
        found = weigh(documents, questions, size, overlap)
        spans, chunks, lost = EXPECTED[size, overlap]
        off = [abs(found["chunks"][rule] - recall) for rule, recall in zip(RULES, chunks, strict=True)]
        worst = max(worst, abs(found["spans"] - spans), *off)
        lines.append(
            f"| {size} / {overlap} | {found['spans']:.3f} | {spans:.3f} | "
            + " | ".join(f"{found['chunks'][rule]:.3f}" for rule in RULES)
            + f" | {' / '.join(f'{c:.3f}' for c in chunks)} | "
            + " | ".join(str(found["lost"][rule]) for rule in RULES)
            + f" | {' / '.join(map(str, lost))} |"
        )
    lines += ["", f"Largest difference to the expected recalls: {worst:.3f}."]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.markdown:
        options.markdown.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
