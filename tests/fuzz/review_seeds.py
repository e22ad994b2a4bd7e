"""Files of raters, reviews and calibrations, and the commands that read them."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile
from typing import Any

import polars as pl

from steelyard.cli.app import app
from tests.fuzz.target import Target

PAIRS = [("q1", "a"), ("q1", "b"), ("q2", "文"), ("q2", "c"), ("q3", "a"), ("q3", "d")]
WIDE = {
    "question": [question for question, _ in PAIRS],
    "item": [f"{question}-{doc}" for question, doc in PAIRS],
    "ann": [0, 1, 2, 2, 0, 1],
    "鲍勃": [0, 2, 2, None, 0, 1],
    "judge": [0.1, 0.8, 0.7, 0.9, 0.2, 0.4],
}
WORDS = {
    "item": [item for item in WIDE["item"] for _ in range(2)],
    "rater": ["ann", "鲍勃"] * 6,
    "label": ["poor", "poor", "好", "好", "fair", "好", "poor", "fair", "好", "好", "fair", "fair"],
}


def rater_targets(folder: Path) -> list[Target]:
    """Tables of raters in every shape."""
    wide, words = pl.DataFrame(WIDE), pl.DataFrame(WORDS)
    wide.write_csv(folder / "wide.csv")
    wide.write_csv(folder / "wide.tsv", separator="\t")
    wide.write_parquet(folder / "wide.parquet")
    words.write_csv(folder / "words.csv")
    words.write_ndjson(folder / "words.jsonl")
    (folder / "words.json").write_text(json.dumps(words.to_dicts(), ensure_ascii=False, indent=1))
    for rater in ("ann", "bob"):
        lines = [f"{question} 0 {doc} {n % 3}\n" for n, (question, doc) in enumerate(PAIRS)]
        (folder / f"{rater}.qrels").write_text("".join(lines))
    named = ("--categories", "poor,fair,好")
    return [
        *[Target("wide.csv", (
            ("agreement", "wide.csv"), ("agreement", "wide.csv", "--reference", "ann", "--min-gain", "1", "-f", "json"),
            ("agreement", "wide.csv", "--raters", "ann,鲍勃", "--categories", "0-2", "--lang", "zh"),
        ))] * 3,
        Target("wide.tsv", (("agreement", "wide.tsv", "--measurement-level", "interval", "-f", "markdown"),)),
        Target("wide.parquet", (("agreement", "wide.parquet", "-f", "csv"),)),
        *[Target("words.csv", (("agreement", "words.csv"), ("agreement", "words.csv", *named)))] * 2,
        Target("words.jsonl", (("agreement", "words.jsonl"), ("agreement", "words.jsonl", *named, "-f", "latex"))),
        Target("words.json", (("agreement", "words.json", *named, "--min-gain", "fair"),)),
        Target("ann.qrels", (
            ("agreement", "ann.qrels", "bob.qrels"), ("agreement", "me=ann.qrels", "bob.qrels", "--reference", "me"),
        )),
    ]  # fmt: skip


def review_targets(folder: Path) -> list[Target]:
    """What people were asked, what they saved, what is kept of it, and a calibration that comes of it."""
    asked = [str(folder / name) for name in ("questions.jsonl", "outputs.jsonl")]
    labels, form = folder / "labels.json", folder / "form"
    app(["review", "sample", *asked, "-o", str(form), "--labels", str(labels), "-n", "5", "--format", "json"])
    _saved(form, "ann", "verdicts", ["supported", "not_found"])
    _saved(form, "bob", "verdicts", ["supported", "cannot_say"])
    app(["review", "import", str(form / "ann.json"), "--into", str(labels)])
    named = ["--labels", str(labels), "-o", str(folder / "lexical.json"), "--format", "json"]
    app(["review", "calibrate", *asked, *named])
    calibrated = ["--calibration", str(folder / "lexical.json"), "--format", "json"]
    app(["judge", *asked, "--into", str(folder / "calibrated.parquet"), *calibrated])
    copyfile(folder / "calibrated.parquet", folder / "again.parquet")
    own = ("questions.jsonl", "outputs.jsonl", "--labels", "labels.json")
    report, calibrate = ("review", "report", *own), ("review", "calibrate", *own, "-o", "out/calibration.json")
    take = ("review", "import", "form/items.json", "form/ann.json", "--into", "labels.json")
    faithfulness = ("-m", "faithfulness")
    judge = ("judge", "questions.jsonl", "outputs.jsonl", "--into")
    weights = ("--calibration", "lexical.json", "--calibration", "lexical.json")
    panel = ("--panel", "verdicts.parquet,calibrated.parquet")
    return [
        *[Target("labels.json", (
            report, take, (*report, "-f", "json"), calibrate, ("evaluate", *own, *faithfulness),
            ("evaluate", *own, *faithfulness, "-f", "json", "--lang", "zh"),
            ("compare", "questions.jsonl", "outputs.jsonl", "b=outputs.jsonl", "--labels", "labels.json",
             *faithfulness),
        ))] * 3,
        *[Target("form/items.json", (take,))] * 2,
        *[Target("form/ann.json", (take, (*take[:-2], "form/bob.json", *take[-2:])))] * 3,
        *_grade_targets(folder),
        *[Target("lexical.json", (
            ("gate", "--calibration", "lexical.json"), ("gate", "--calibration", "lexical.json", "--lang", "zh"),
            (*judge, "out/calibrated.parquet", "--calibration", "lexical.json"),
            (*judge, "out/panel.parquet", "--panel", "calibrated.parquet,again.parquet", *weights),
        ))] * 3,
        Target("verdicts.parquet", (
            (*judge, "out/panel.parquet", *panel), (*report, "--verdicts", "verdicts.parquet")
        )),
    ]  # fmt: skip


def _grade_targets(folder: Path) -> list[Target]:
    """What people graded, and the truth that it goes into."""
    form = folder / "pooled"
    pool = ["review", "pool", str(folder / "questions.jsonl"), str(folder / "outputs.jsonl"), "-o", str(form)]
    app([*pool, "--into", str(folder / "people.jsonl"), "--scale", "0-3", "--format", "json"])
    _saved(form, "ann", "grades", [0, 1, 3])
    app(["review", "import", str(form / "ann.json"), "--into", str(folder / "people.jsonl"), "--format", "json"])
    take = ("review", "import", "pooled/items.json", "pooled/ann.json", "--into", "people.jsonl")
    label = ("label", "questions.jsonl", "outputs.jsonl", "-o", "out/people.jsonl", "--scale", "0-3")
    return [
        *[Target("pooled/ann.json", (take,))] * 2,
        Target("pooled/items.json", (take,)),
        *[Target("people.jsonl", (take, (*label, "--keep", "people.jsonl")))] * 2,
    ]


def _saved(form: Path, rater: str, kind: str, values: list[Any]) -> None:
    """What a rater saved from a form: the values in turn."""
    items = json.loads((form / "items.json").read_text(encoding="utf-8"))
    key = {"verdicts": "label", "grades": "grade"}[kind]
    decisions = [
        {"item_id": item["item_id"], key: values[n % len(values)], "note": "记", "date": "2026-11-22"}
        for n, item in enumerate(items["items"])
    ]
    head = {"format": "steelyard-review", "version": 1, "review_id": items["review_id"], "kind": kind, "rater": rater}
    (form / f"{rater}.json").write_text(json.dumps({**head, "decisions": decisions}, ensure_ascii=False))
