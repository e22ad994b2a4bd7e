"""How much of the right answer the extractive generator quotes, in how many words.

    python benchmarks/quoting.py [FOLDER] [--words 60 120 200] [--markdown FILE]

The bundled example is asked as its `hybrid-rerank.toml` says, and judged by words.  Beside it are an answer that quotes
the gold evidence in its chunks and nothing else, which no choice of sentences can better but by chance, and one that
quotes all of its chunks.  FOLDER is the shared data beside the repository: of ClapNQ's passages the share of the
sentences that people selected, of CMRC 2018's contexts how often a reference answer is quoted, out of the gold context
and out of the first five; these are skipped without it.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import steelyard as sy
from simulated.tables import Table
from steelyard.data.corpus import Passage
from steelyard.demo import DATA
from steelyard.rag.protocols import Generator
from steelyard.rag.stages.generation import Extractive
from steelyard.text.citing import citations

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
MEASURES = ("answer_recall", "answer_f1", "faithfulness")
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+")


class Quoting:
    """A generator that quotes sentences which are known beforehand, by question, of those in its passages."""

    def __init__(self, sentences: Mapping[str, Sequence[str]] | None = None) -> None:
        self._sentences = sentences

    def answer(self, query: str, passages: Sequence[Passage]) -> str:
        """Of each passage what it holds of the sentences, or all of it where none are known."""
        quotes = [
            (folded(sentence), passage.chunk_id)
            for passage in passages
            for sentence in ([passage.text] if self._sentences is None else self._sentences[query])
            if folded(sentence) in folded(passage.text)
        ]
        return "\n".join(f"{quote} [{chunk_id}]" for quote, chunk_id in dict(quotes).items()) or "I don't know."


def folded(text: str | None) -> str:
    return " ".join((text or "").split())


def spoken(answer: str) -> str:
    """An answer without its citations."""
    for chunk_id in citations(answer):
        answer = answer.replace(f" [{chunk_id}]", "")
    return answer


def n_words(answer: str) -> int:
    return len(_WORD.findall(spoken(answer)))


def bundled(generators: Mapping[str, Generator]) -> Table:
    """Means of the measures on the bundled questions, of either half of them, and of the length."""
    questions, rows = sy.Questions.read(DATA / "questions.jsonl"), []
    settings: dict[str, Any] = {
        "chunk": {"kind": "recursive", "size": 300, "overlap": 50}, "index": ["bm25", "dense"],
        "rerank": {"kind": "lexical", "top_n": 30},
    }  # fmt: skip
    for name, generator in generators.items():
        with tempfile.TemporaryDirectory() as folder:
            pipeline = sy.Pipeline(DATA / "documents", generate=generator, name="quotes", **settings)
            run = pipeline.run(questions, Path(folder) / "run").path
            scores = sy.evaluate(questions, run, MEASURES, verdicts=sy.judge(questions, run, save=False))
            answers = sy.Outputs.read(run).answers.values()
        recalls = scores.values[0, 0]
        halves = [recalls[half::2] for half in (0, 1)]
        languages = [recalls[[query_id[:2] == code for query_id in scores.query_ids]] for code in ("en", "zh")]
        means = [recalls, *halves, *languages, *scores.values[0, 1:]]
        length = np.mean([n_words(answer) for answer in answers])
        rows.append([name, *(f"{np.nanmean(values):.3f}" for values in means), f"{length:.0f}"])
    columns = ("bundled example", "answer_recall", "odd", "even", "en", "zh", "answer_f1", "faithfulness", "words")
    return Table("120 questions, five chunks each", columns, rows)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().split("\n") if line)


def clapnq(folder: Path, generator: Generator) -> tuple[float, float]:
    """Share of the sentences that people selected which are quoted, and words, on average."""
    shares, lengths = [], []
    for row in lines(folder / "answers" / "clapnq" / "clapnq_dev_answerable.jsonl.gz"):
        text, selected = row["passages"][0]["text"], row["output"][0]["selected_sentences"]
        answer = generator.answer(row["input"], [Passage("d#1", "d", 0, len(text), text)])
        said = folded(spoken(answer))
        shares += [np.mean([folded(sentence) in said for sentence in selected])] if selected else []
        lengths.append(n_words(answer))
    return float(np.mean(shares)), float(np.mean(lengths))


def cmrc(folder: Path, generator: Generator, *, searched: bool) -> tuple[float, float]:
    """Share of the answers that hold a reference answer, and words on average.

    searched   whether passages are the first five contexts, instead of the gold one
    """
    pipeline = sy.Pipeline(folder / "zh_cmrc2018" / "beir", chunk="none", index="bm25", k=5)
    texts = dict(zip(pipeline.chunks.ids, pipeline.chunks.texts, strict=True))
    held, lengths = [], []
    for question in sy.Questions.read(folder / "zh_cmrc2018" / "beir"):
        gold = f"{question.evidence[0].doc}#1"
        passages = pipeline.search(question.query) if searched else [Passage(gold, text=texts[gold])]
        answer = generator.answer(question.query, passages)
        said = re.sub(r"\s", "", spoken(answer))
        held.append(any(re.sub(r"\s", "", gold) in said for gold in question.answers))
        lengths.append(n_words(answer))
    return float(np.mean(held)), float(np.mean(lengths))


def others(folder: Path, sizes: Sequence[int]) -> Table:
    """ClapNQ and CMRC 2018, each as a share and a number of words."""
    rows = []
    for size in sizes:
        generator = Extractive(words=size)
        pairs = [clapnq(folder, generator), *(cmrc(folder, generator, searched=searched) for searched in (False, True))]
        rows.append([f"words = {size}", *(f"{share:.3f} ({length:.0f} words)" for share, length in pairs)])
    columns = ("", "ClapNQ", "CMRC 2018, gold context", "CMRC 2018, five contexts")
    return Table("Sentences that people selected, reference answers", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED)
    parser.add_argument("--words", nargs="+", type=int, default=[60, 120, 200])
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    evidence = {
        question.query or "": [piece.text for piece in question.evidence]
        for question in sy.Questions.read(DATA / "questions.jsonl")
    }
    generators: dict[str, Generator] = {f"words = {size}": Extractive(words=size) for size in options.words}
    tables = [bundled({**generators, "the gold evidence alone": Quoting(evidence), "all five chunks": Quoting()})]
    if options.folder.is_dir():
        tables.append(others(options.folder, options.words))
    text = "\n\n".join("\n".join(table.lines()) for table in tables) + "\n"
    print(text)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
