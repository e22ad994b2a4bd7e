"""How good the offline stages are, and what lexical reranking does to them, on collections of your own.

    python benchmarks/defaults.py BEIR_FOLDER [BEIR_FOLDER ...]

Prints ndcg@10 of BM25, LSA and their fusion, plain and with lexical reranking of the first 20 and 50; one chunk a
document, everything else as it is by default.  Needs the extra rag.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from steelyard import Pipeline, Questions, evaluate

INDEXES = {"BM25": "bm25", "LSA": "dense", "hybrid (RRF)": ["bm25", "dense"]}
RERANKERS = {
    "plain": None,
    "lexical reranking of the first 20": {"kind": "lexical", "top_n": 20},
    "lexical reranking of the first 50": {"kind": "lexical", "top_n": 50},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    options = parser.parse_args()
    for folder in options.folders:
        questions = Questions.read(folder)
        print(f"\n{folder}: {len(questions)} questions\n")
        print(f"| ndcg@10 | {' | '.join(INDEXES)} |\n|---|{'---:|' * len(INDEXES)}")
        with tempfile.TemporaryDirectory() as place:
            for name, rerank in RERANKERS.items():
                cells = []
                for column, index in INDEXES.items():
                    pipeline = Pipeline(
                        folder, chunk="whole", index=index, rerank=rerank, cache=Path(place) / "cache.sqlite"
                    )
                    made = pipeline.run(questions, Path(place) / f"{name}-{column}".replace(" ", "-"))
                    cells.append(f"{evaluate(questions, [made.path], 'ndcg@10').means[0, 0]:.3f}")
                print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
