"""Which tokens suit Chinese: words, bigrams or both, with traditional characters made simplified or not.

    python benchmarks/chinese.py FILE... [--opencc CONFIG] [--stage bm25 lsa] [--markdown FILE]

FILE is of the form of SQuAD, plain or .gz: CMRC 2018 (simplified), DRCD (traditional), or your own.  Every distinct
context is a document, and that of a question its gold.  --opencc s2twp (extra `opencc`) asks each file twice more:
wholly in OpenCC's conversion, and with the questions as they are and the documents converted.  Printed are nDCG@10 with
its 95% interval, and the difference to words that stay as they are, with its interval (paired t, Holm's correction over
the rows of one text); questions on one context count as one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import steelyard as sy
from steelyard.rag.stages.embedding import LSA
from steelyard.rag.stages.searching import BM25, Dense

MEASURE = "ndcg@10"
TOKENS = tuple(product(("words", "bigrams", "both"), ("none", "characters")))
BASELINE = "words, none"


@dataclass(frozen=True)
class Collection:
    """Documents and questions, and the document that answers each question."""

    name: str
    texts: dict[str, str]
    questions: dict[str, str]
    gold: dict[str, dict[str, int]]

    def converted(self, convert: Callable[[str], str], *, questions: bool) -> Collection:
        """The same in another script, wholly or in its documents only."""
        texts = {doc_id: convert(text) for doc_id, text in self.texts.items()}
        asked = {query_id: convert(text) for query_id, text in self.questions.items()} if questions else self.questions
        name = f"{self.name}, {'all' if questions else 'documents'} converted"
        return Collection(name, texts, asked, self.gold)


def read(path: Path) -> Collection:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    numbers: dict[str, str] = {}
    questions, gold = {}, {}
    for paragraph in (paragraph for article in json.loads(raw)["data"] for paragraph in article["paragraphs"]):
        doc_id = numbers.setdefault(paragraph["context"], f"d{len(numbers)}")
        for asked in paragraph["qas"]:
            questions[str(asked["id"])] = asked["question"]
            gold[str(asked["id"])] = {doc_id: 1}
    texts = {doc_id: text for text, doc_id in numbers.items()}
    return Collection(path.name.partition(".")[0], texts, questions, gold)


def search(stage: str, collection: Collection, **tokens: str) -> dict[str, dict[str, float]]:
    """The ten best documents of every question."""
    ids, texts = list(collection.texts), list(collection.texts.values())
    vectors = dict.fromkeys(collection.questions)
    index: BM25 | Dense
    if stage == "bm25":
        index = BM25(**tokens)  # type: ignore[arg-type]
        index.build(texts, None)
    else:
        embedder, index = LSA(**tokens), Dense(backend="numpy")  # type: ignore[arg-type]
        embedder.fit(texts)
        index.build(texts, embedder.documents(texts))
        asked = embedder.documents(list(collection.questions.values()))
        vectors = dict(zip(collection.questions, asked, strict=True))
    run = {}
    for query_id, text in collection.questions.items():
        positions, scores = index.search(text, vectors[query_id], 10)
        run[query_id] = {ids[i]: float(score) for i, score in zip(positions, scores, strict=True)}
    return run


def rows(stage: str, collection: Collection) -> Iterator[str]:
    systems = {
        f"{chinese}, {simplify}": search(stage, collection, chinese=chinese, simplify=simplify)
        for chinese, simplify in TOKENS
    }
    scores = sy.evaluate(collection.gold, systems, MEASURE, cluster="doc")
    low, high = scores.intervals.low[:, 0], scores.intervals.high[:, 0]
    for row in sy.compare(scores, baseline=BASELINE).frame.iter_rows(named=True):
        name = row["system"]
        at = scores.systems.index(name)
        cells = [stage, collection.name, *name.split(", "), f"{row['mean']:.4f}"]
        cells.append(f"{low[at]:.3f}–{high[at]:.3f}")
        if name != BASELINE:
            cells.append(f"{row['difference']:+.4f} ({row['low']:+.4f} to {row['high']:+.4f})")
        yield f"| {' | '.join(cells + ['–'] * (7 - len(cells)))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--opencc")
    parser.add_argument("--stage", nargs="*", choices=("bm25", "lsa"), default=["bm25", "lsa"])
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    collections = [read(path) for path in options.files]
    if options.opencc:
        from opencc import OpenCC

        convert = OpenCC(options.opencc).convert
        collections = [
            same
            for one in collections
            for same in (one, one.converted(convert, questions=True), one.converted(convert, questions=False))
        ]
    lines = ["| stage | text | chinese | simplify | nDCG@10 | 95% interval | difference |", "|" + "---|" * 7]
    print("\n".join(lines))
    for stage, collection in product(options.stage, collections):
        for line in rows(stage, collection):
            print(line, flush=True)
            lines.append(line)
    if options.markdown:
        options.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
