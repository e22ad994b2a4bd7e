"""How fast the lexical judge is: verdicts a second on one core, and 10,000 questions × 10 chunks from end to end,
with the file of its verdicts.

    python -m benchmarks.answers_speed [--questions 10000] [--json FILE]

Questions, chunks of some 450 characters and answers of five sentences are made from 20,000 words (seeded); no chunk
comes twice.  Before any clock is looked at, verdicts of the judge are compared with those of one that has seen nothing
else, its shares with a loop, and the file with what was written.  Verdicts a second, and seconds of the file, are
processor time; that of the file is the least of five.  Verdicts are written as the judge made them, record by record.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.judged.lexical import CHECKS

import steelyard as sy
from steelyard.judges.lexical import LexicalJudge
from steelyard.judges.lexical.words import forms
from steelyard.judges.verdict import Case
from steelyard.text.sentences import sentence_spans

N_CHUNKS = 10
FILE_SECONDS = 1.0
"""Of processor time, at most, for the verdicts on 10,000 questions, to write and to read; 4.7 and 4.2 as lists."""
VERDICTS_PER_SECOND = 15_000
SECONDS = 120.0


def make(n_questions: int, seed: int = 1) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Questions with gold answers, and outputs with chunks and answers."""
    rng = random.Random(seed)
    letters = "etaoinshrdlucmfwyp"
    words = ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(20_000)]
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))

    def sentence(n_words: int) -> str:
        body = rng.choices(words, cum_weights=weights, k=n_words)
        body[rng.randrange(n_words)] = str(rng.randint(2, 3000))
        return " ".join(body).capitalize() + "."

    questions, outputs = [], []
    for number in range(n_questions):
        chunks = [" ".join(sentence(13) for _ in range(5)) for _ in range(N_CHUNKS)]
        said = rng.choice(chunks)
        own = [said[start:end] for start, end in sentence_spans(said)[:2]]
        answer = " ".join([*own, sentence(12), sentence(12), sentence(12)])
        retrieved = [{"id": f"d{number}#{i}", "text": chunk} for i, chunk in enumerate(chunks)]
        questions.append({"qid": f"q{number:06}", "query": sentence(8), "answer": f"{own[0]} {sentence(12)}"})
        outputs.append({"qid": f"q{number:06}", "retrieved": retrieved, "answer": answer})
    return questions, outputs


def cases(outputs: list[dict[str, Any]]) -> list[Case]:
    """Every sentence of each answer by each chunk."""
    asked = []
    for output in outputs:
        answer = output["answer"]
        hypotheses = tuple(answer[start:end] for start, end in sentence_spans(answer))
        asked += [Case(chunk["text"], hypotheses) for chunk in output["retrieved"]]
    return asked


def check(asked: list[Case]) -> None:
    """Verdicts do not depend on what was judged before, and the bare share is that of a loop."""
    bare = LexicalJudge(**dict.fromkeys(CHECKS, False))
    together = list(LexicalJudge().judge(asked))
    for case, verdicts in zip(asked, together, strict=True):
        assert next(LexicalJudge().judge([case])) == verdicts
        for hypothesis, verdict in zip(case.hypotheses, next(bare.judge([case])), strict=True):
            own, other = dict.fromkeys(forms(hypothesis)), forms(case.premise)
            assert abs((verdict.score or 0) - sum(form in other for form in own) / len(own)) < 1e-12


def file_seconds(verdicts: sy.Verdicts) -> tuple[float, float]:
    """Seconds of a processor that verdicts are written in, and read in with the arrays of measures."""
    records, written, read = list(verdicts.records.values()), [], []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "verdicts.parquet"
        for _ in range(5):
            as_made = sy.Verdicts(records, verdicts.recipe, errors=verdicts.errors)
            start = time.process_time()
            as_made.write(path)
            written.append(time.process_time() - start)
            start = time.process_time()
            again = sy.Verdicts.read(path)
            again.arrays()
            read.append(time.process_time() - start)
        assert list(again.records.values()) == records
    return min(written), min(read)


def row(what: str, value: float, met: bool | None) -> dict[str, Any]:
    return {"what": what, "value": round(value, 2), "met": met}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    questions, outputs = make(options.questions)
    check(cases(outputs[:20]))
    asked = cases(outputs[:1000])
    start = time.process_time()
    n_verdicts = sum(map(len, LexicalJudge().judge(asked)))
    rate = n_verdicts / (time.process_time() - start)
    start = time.perf_counter()
    verdicts = sy.judge(questions, outputs, judge="lexical")
    judged = time.perf_counter() - start
    scores = sy.evaluate(questions, outputs, ["faithfulness", "answer_f1", "context_recall"], verdicts=verdicts)
    whole = time.perf_counter() - start
    written, read = file_seconds(verdicts)
    rows = [
        row("verdicts a second on one core", rate, rate >= VERDICTS_PER_SECOND),
        row(f"seconds for {options.questions} questions, judged", judged, None),
        row(f"seconds for {options.questions} questions, judged and weighed", whole, whole < SECONDS),
        row("seconds to write the file of verdicts", written, written < FILE_SECONDS),
        row("seconds to read it, with arrays", read, read < FILE_SECONDS),
    ]
    for line in rows:
        sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.write(f"{scores}\n")
    if options.json:
        options.json.write_text("".join(json.dumps(line) + "\n" for line in rows), encoding="utf-8")
    return int(any(line["met"] is False for line in rows))


if __name__ == "__main__":
    sys.exit(main())
