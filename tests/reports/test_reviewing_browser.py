"""The whole way in a browser: what people save from a form that was sampled or pooled is what an import takes in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.judges.grading.grades import Grades
from tests.reports.browser import NO_CHROMIUM, Opened
from tests.reviewing.small import CHUNKS, QUESTIONS, outputs

pytestmark = NO_CHROMIUM
RUN = [{"qid": f"q{n}", "retrieved": chunks} for n, chunks in enumerate(CHUNKS)]


def decided(browser: Any, form: Path, rater: str, keys: list[str]) -> Path:
    """What a person saves from a form after pressing some keys, beside it; "" for the rater who settles conflicts."""
    tab = Opened(browser, form, ready="#rater" if rater else ".dock")
    if rater:
        tab.page.keyboard.type(rater)
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_selector(".dock")
    for key in keys:
        tab.page.keyboard.press(key)
    with tab.page.expect_download() as download:
        tab.page.keyboard.press("Control+s")
    file = form.parent / f"{rater or 'settled'}.json"
    download.value.save_as(file)
    tab.close()
    return file


def item_by_item(keys: str) -> list[str]:
    """Each with Enter behind it, as the judge's verdict is shown before the next item."""
    return [key for own in keys for key in (own, "Enter")]


def test_labels_come_back_from_the_form(browser: Any, tmp_path: Path) -> None:
    runs, labels = {"zebra": outputs(wrong=[3])}, tmp_path / "labels.json"
    sampled = sy.review.sample(QUESTIONS, runs, tmp_path / "review", n=4, labels=labels)
    files = [
        decided(browser, sampled.form, "ann", item_by_item("1n?1")),
        decided(browser, sampled.form, "吴", item_by_item("1111")),
    ]
    imported = sy.review.import_labels(files, into=labels)
    assert [(own.rater, own.n, own.n_cannot_say) for own in imported.raters] == [("ann", 4, 1), ("吴", 4, 0)]
    assert [len(conflict.opinions) for conflict in imported.conflicts] == [2]  # "Cannot say" is none.
    settling = sy.review.sample(QUESTIONS, runs, tmp_path / "settling", labels=labels, adjudicate=True)
    settled = decided(browser, settling.form, "", item_by_item("1"))
    assert sy.review.import_labels(settled, into=labels).conflicts == []
    assert sy.Review.read(labels).labels.raters == ["ann", "吴"]
    assert len(sy.Review.read(labels).labels.consensus) == 4


def test_grades_and_quotes_come_back_from_the_form(browser: Any, tmp_path: Path) -> None:
    graded = sy.review.pool(QUESTIONS, RUN, tmp_path / "grades", tmp_path / "qrels.jsonl", n=3, scale="0-3")
    sy.review.import_labels(decided(browser, graded.form, "ann", ["3", "0", "?"]), into=tmp_path / "qrels.jsonl")
    assert sorted(pair.gain or 0 for pair in Grades.read(tmp_path / "qrels.jsonl").pairs) == [0, 3]
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(line) + "\n" for line in QUESTIONS), encoding="utf-8")
    quoted = sy.review.pool(questions, RUN, tmp_path / "quotes", tmp_path / "gold.jsonl", task="quotes", n=2, depth=1)
    sy.review.import_labels(decided(browser, quoted.form, "ann", ["ArrowDown", "q"]), into=tmp_path / "gold.jsonl")
    gold = [question for question in sy.Questions.read(tmp_path / "gold.jsonl") if question.evidence]
    assert [question.query_id for question in gold] == [quoted.asked[0].query_id]
