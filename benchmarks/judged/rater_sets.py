"""What people and judges said in sets with several raters, from the folder `answers` of the shared data, as rows.

A row is an item, the question that it belongs to, a rater and a label.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.judged import published
from benchmarks.judged.sets import read_lines, read_text

Row = dict[str, Any]
ASPECTS = ("faithfulness", "appropriateness", "completeness", "naturalness")
PREFERENCES = ("correctness", "completeness", "overall")
GRADES = ("not_supported", "partially_supported", "supported")
_SIDES = {"CHATGPT": 1, "TIE": 0, "VICUNA13B": -1}


def mtrag(folder: Path, aspect: str) -> list[Row]:
    """Grades 1 to 4 of three annotators."""
    name = "mtrag_human/reference_subset_with_human_evaluations.json.gz"
    answers = json.loads(read_text(folder / name))["evaluations"]
    return [
        _row(f"{n}", answer["task_id"], rater, float(vote["value"]))
        for n, answer in enumerate(answers)
        for rater, vote in answer["annotations"][aspect].items()
    ]


def ragchecker(folder: Path, aspect: str) -> list[Row]:
    """Preferences from -2 to 2 of two annotators, who are not named: the first and the second of each pair."""
    labels = json.loads(read_text(folder / "ragchecker_meta/human_labeled_data.json.gz"))
    first = set[str]()
    rows = []
    for label in labels:
        rater = "second" if label["instance_id"] in first else "first"
        first.add(label["instance_id"])
        rows.append(_row(label["instance_id"], None, rater, label[f"{aspect}_label"]))
    return rows


def llmjudge(folder: Path) -> list[str]:
    """The files of 33 judges, and those of the person, as they are named on the command line."""
    base = folder / "llmjudge_benchmark"
    judges = sorted((base / "scores").glob("*.gz"))
    return [f"human={base / 'llmjudge_test_qrel_idx.txt.gz'}", *map(str, judges)]


def fair_eval(folder: Path) -> list[Row]:
    """Which of two answers is better, by people and by the difference of GPT-4's scores."""
    base = folder / "gpt4_reviews_1to10"
    people = read_text(base / "review_gpt35_vicuna-13b_human.txt.gz").split()
    reviews = read_lines(base / "vicuna-13b_20230322-clean-lang/review_gpt35_vicuna-13b.jsonl.gz")
    reviews = sorted(reviews, key=lambda review: review["question_id"])
    rows = []
    for n, (said, review) in enumerate(zip(people, reviews, strict=True)):
        difference = review["score"][0] - review["score"][1]
        rows += [
            _row(f"{n}", None, "people", _SIDES[said]),
            _row(f"{n}", None, "difference", difference),
            _row(f"{n}", None, "gpt-4", int(math.copysign(1, difference)) if difference else 0),
        ]
    return rows


def wice(folder: Path) -> list[Row]:
    """What is supported, by people (0, 1 in part, 2), and what four judges say of the first hundred or all."""
    claims = read_lines(folder / "wice/test.jsonl.gz")
    rows = [_row(claim["meta"]["id"], None, "people", GRADES.index(claim["label"])) for claim in claims]
    for path in sorted((folder / "wice/judges").glob("*.gz")):
        scores = json.loads(read_text(path))
        known = {claim["meta"]["id"] for claim in claims} & scores.keys()
        is_graded = {float(scores[item]) for item in known} <= {0.0, 0.5, 1.0}
        rater = path.name.removesuffix(".json.gz")
        rows += [
            _row(item, None, rater, 2 * float(scores[item]) if is_graded else float(scores[item])) for item in known
        ]
    return rows


def open_qa(folder: Path) -> list[Row]:
    """Whether an answer is acceptable (0 or 1), by annotators, the verdict, judges, and by the words of gold answers.

    An item is a line; what judges say of a question and an answer that two lines hold counts for the first.
    """
    base = folder / "openqa_nq301"
    people = _plain_rows(base / "NQ301_human.tsv.gz")
    raters = {
        "annotator1": "annotator1",
        "annotator2": "annotator2",
        "annotator3": "annotator3",
        "Acceptable?": "verdict",
    }
    rows = [
        _row(f"{n}", answer["id"], rater, label)
        for n, answer in enumerate(people)
        for column, rater in raters.items()
        if (label := _yes(answer[column])) is not None
    ]
    lines: dict[tuple[str, str], int] = {}
    for n, answer in enumerate(people):
        lines.setdefault(_name(answer), n)
    for rater, verdicts in {
        "gpt4": _gpt4(base),
        "text-davinci-003": _davinci(base, people),
        "bem": _bem(base, people),
    }.items():
        rows += [
            _row(f"{lines[name]}", people[lines[name]]["id"], rater, label)
            for name, label in verdicts.items()
            if label is not None and name in lines
        ]
    return [*rows, *_words(base, people)]


Verdicts = dict[tuple[str, str], int | None]
"""Of a judge, by the question's id and the answer; of several the last one."""


def _gpt4(base: Path) -> Verdicts:
    return {_name(answer): _yes(answer["Acceptable?"]) for answer in _plain_rows(base / "NQ301_gpt-4.tsv.gz")}


def _davinci(base: Path, people: list[Row]) -> Verdicts:
    """Most lines lack the tab between question and answer."""
    by_text = {f"{answer['id']}\t{answer['Question']}{answer['Model answer']}": _name(answer) for answer in people}
    lines = [
        line.rstrip("\r").split("\t") for line in read_text(base / "NQ301_text-davinci-003.tsv.gz").split("\n")[1:]
    ]
    named = [(by_text.get(f"{cells[0]}\t{''.join(cells[1:-2])}"), cells) for cells in lines if len(cells) > 2]
    return {name: _yes(cells[-2]) for name, cells in named if name is not None}


def _bem(base: Path, people: list[Row]) -> Verdicts:
    """Ids are row numbers, and fields are quoted."""
    by_text = {(answer["Question"], answer["Model answer"]): _name(answer) for answer in people}
    rows = csv.DictReader(io.StringIO(read_text(base / "NQ301_BEM.tsv.gz")), delimiter="\t")
    named = [(by_text.get((row["Question"], row["Model answer"])), row["Acceptable?"]) for row in rows]
    return {name: _yes(said) for name, said in named if name is not None}


def _words(base: Path, people: list[Row]) -> Iterator[Row]:
    """Exact match, containment and F1 with the gold answers, as SQuAD has them."""
    lines = read_lines(base / "gold_answers_NQ301_text-davinci-003_zeroshot.jsonl.gz")
    gold = {line["question"]: line["answer"] for line in lines}
    statistics = {"em": published.exact_match, "contains": published.contains, "f1": published.squad_f1}
    for n, answer in enumerate(people):
        if answer["Question"] in gold:
            for rater, statistic in statistics.items():
                yield _row(
                    f"{n}", answer["id"], rater, float(statistic(answer["Model answer"], gold[answer["Question"]]))
                )


def _plain_rows(path: Path) -> list[Row]:
    return list(csv.DictReader(io.StringIO(read_text(path)), delimiter="\t", quoting=csv.QUOTE_NONE))


def _name(answer: Row) -> tuple[str, str]:
    return answer["id"], answer["Model answer"]


def _yes(text: str | None) -> int | None:
    word = (text or "").strip().lower()
    return 1 if word.startswith("yes") else 0 if word.startswith("no") else None


def _row(item: str, question: str | None, rater: str, label: float) -> Row:
    return {"item": item, "question": question, "rater": rater, "label": label}
