"""Measures against gold answers, beside what people say: RAGChecker's pairs of answers, and answers to NQ questions."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from benchmarks.judged import published
from benchmarks.judged.sets import read_lines, read_text, unmarked
from benchmarks.judged.values import Value

import steelyard as sy

WITHIN = 0.01
"""How far content F1 of ours may be from the published correlations."""
ASPECTS = ("correctness", "completeness", "overall")

Scores = Sequence[float]


@dataclass(frozen=True)
class Preferences:
    """Answers to compare, as (answer, gold answer), and what people prefer.

    labels   of each aspect the preference of each of 560 labels, -2 to 2; positive: the second is better
    first, second   (560,) rows of the two answers
    """

    answers: Sequence[tuple[str, str]]
    first: Sequence[int]
    second: Sequence[int]
    labels: Mapping[str, Sequence[int]]

    def correlation(self, scores: Scores, aspect: str, statistic: Callable[[Scores, Scores], float]) -> float:
        """Of the difference in score with the preference."""
        differences = [scores[b] - scores[a] for a, b in zip(self.first, self.second, strict=True)]
        return statistic(differences, self.labels[aspect])


@dataclass(frozen=True)
class Accepted:
    """Answers to NQ questions, their gold answers, and whether people accept them."""

    answers: Sequence[str]
    golds: Sequence[Sequence[str]]
    is_accepted: Sequence[bool]


@cache
def preferences(folder: Path) -> Preferences:
    rows = json.loads(read_text(folder / "ragchecker_meta/human_labeled_data.json.gz"))
    answers = [(row[model]["response"], row["gt_answer"]) for row in rows for model in ("model1", "model2")]
    labels = {aspect: [row[f"{aspect}_label"] for row in rows] for aspect in ASPECTS}
    return Preferences(answers, range(0, len(answers), 2), range(1, len(answers), 2), labels)


@cache
def accepted(folder: Path) -> Accepted:
    text = read_text(folder / "openqa_nq301/NQ301_human.tsv.gz")
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))
    gold = {
        row["question"]: row["answer"]
        for row in read_lines(folder / "openqa_nq301/gold_answers_NQ301_text-davinci-003_zeroshot.jsonl.gz")
    }
    verdicts = [(row, (row["Acceptable?"] or "").strip().lower()) for row in rows if row["Question"] in gold]
    judged = [(row, verdict) for row, verdict in verdicts if verdict.startswith(("yes", "no"))]
    return Accepted(
        [row["Model answer"] for row, _ in judged],
        [gold[row["Question"]] for row, _ in judged],
        [verdict.startswith("yes") for _, verdict in judged],
    )


def measured(answers: Sequence[str], golds: Sequence[Sequence[str]], *measures: str) -> list[list[float]]:
    """Measures of ours, each with one value an answer, by the lexical judge where it needs one; undefined is 0."""
    ids = [f"{number:06}" for number in range(len(answers))]
    questions = [{"qid": i, "query": "?", "gold_answers": list(gold)} for i, gold in zip(ids, golds, strict=True)]
    outputs = [{"qid": i, "answer": answer, "retrieved": []} for i, answer in zip(ids, answers, strict=True)]
    arrays = sy.judge(questions, outputs, judge="lexical").arrays(ids)
    return [np.nan_to_num(sy.parse(name)(arrays)).tolist() for name in measures]


def preference_values(folder: Path) -> Iterator[Value]:
    """How well each measure's difference between two answers agrees with what people prefer."""
    pairs = preferences(folder)
    names = ("content_f1", "token_f1", "answer_f1", "answer_precision", "answer_recall")
    ours = measured(
        [unmarked(answer) for answer, _ in pairs.answers], [[unmarked(gold)] for _, gold in pairs.answers], *names
    )
    published_f1 = published_content_f1(pairs)
    for aspect in ASPECTS:
        target = pairs.correlation(published_f1, aspect, published.pearson)
        for name, scores in zip(names, ours, strict=True):
            correlation = pairs.correlation(scores, aspect, published.pearson)
            reference = target if name == "content_f1" else None
            yield Value(f"{name}, Pearson", aspect, correlation, reference=reference, within=WITHIN)


def published_content_f1(pairs: Preferences) -> list[float]:
    return [
        published.token_f1(unmarked(answer), unmarked(gold), stopwords=published.STOPWORDS)
        for answer, gold in pairs.answers
    ]


def published_token_f1(pairs: Preferences) -> list[float]:
    return [published.token_f1(unmarked(answer), unmarked(gold)) for answer, gold in pairs.answers]
