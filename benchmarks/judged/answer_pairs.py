"""Sentences of answers about course, product and policy texts, as the lexical judge and as people take them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from benchmarks.judged.polarity import label_of, read_cases
from benchmarks.judged.values import Value

import steelyard as sy

COURSE = Path(__file__).resolve().parents[2] / "examples" / "zh_course"
_TRUE, _FALSE = 26 / 32, 13 / 16
"""Shares of true sentences that must be supported, and of false ones that must not be."""
_BEFORE = {
    ("en", "a", True): 12 / 25, ("en", "b", True): 16 / 25, ("zh", "a", True): 6 / 25, ("zh", "b", True): 6 / 25,
    ("en", "a", False): 9 / 25, ("en", "b", False): 9 / 25, ("zh", "a", False): 15 / 25, ("zh", "b", False): 7 / 25,
}  # fmt: skip
_COURSE, _COURSE_BEFORE = 25 / 28, 14 / 28
HALVES = {"a": "looked at while tuning", "b": "not looked at"}


def pair_values() -> Iterator[Value]:
    """Of each language and half: true sentences that are supported, and false ones that are not."""
    rows = [row | {"hypothesis": row["sentence"]} for row in read_cases("answer_pairs.jsonl")]
    supported = [label_of(row) == "supported" for row in rows]
    for key, before in _BEFORE.items():
        language, half, truth = key
        own = [s for row, s in zip(rows, supported, strict=True)
               if (row["language"], row["half"], row["supported"]) == key]  # fmt: skip
        share = sum(s == truth for s in own) / len(own)
        what = "true sentences supported" if truth else "false sentences not supported"
        on = f"{len(own)} ({language}, {HALVES[half]})"
        yield Value(what, on, share, _TRUE if truth else _FALSE, earlier=before)


def course_values() -> Iterator[Value]:
    """Sentences of the example of a course on which the judge says what people say."""
    outputs = COURSE / "outputs.jsonl"
    units = list(sy.judge(outputs, outputs, judge="lexical", save=False).units.iter_rows(named=True))
    labels = [json.loads(line) for line in (COURSE / "labels.jsonl").read_text("utf-8").splitlines()]
    right = 0
    for label in labels:
        of_question = (u for u in units if u["query_id"] == label["query_id"] and not u["no_claim"])
        unit = next(u for u in of_question if label["sentence"] in u["text"])
        right += (unit["verdict"] == "supported") == label["supported"]
    on = f"{len(labels)} sentences of examples/zh_course"
    yield Value("as people say", on, right / len(labels), _COURSE, earlier=_COURSE_BEFORE)
