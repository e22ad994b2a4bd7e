"""`steelyard agreement`: its words in both languages, files, charts, and one line for each mistake."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import complaint, printed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Grades 0–3 of a person and two judges, of which one says 7 once, on 60 items of 12 questions; runs."""
    folder = tmp_path_factory.mktemp("raters")
    rng = random.Random(3)
    for name, noise in (("ann", 0.0), ("near", 0.15), ("far", 0.9)):
        grades = {(q, d): (q * d) % 4 for q in range(12) for d in range(5)}
        said = {pair: rng.randrange(4) if rng.random() < noise else grade for pair, grade in grades.items()}
        if name == "far":
            said[0, 0] = 7
        (folder / f"{name}.qrels").write_text("".join(f"q{q} 0 d{d} {grade}\n" for (q, d), grade in said.items()))
    for name in "xyz":
        lines = [f"q{q} Q0 d{d} 1 {rng.random():.3f} {name}\n" for q in range(12) for d in range(5)]
        (folder / f"{name}.run").write_text("".join(lines))
    items = "".join(f"{n},{'no' if n % 7 == 0 else 'yes'},{'no' if n % 9 == 0 else 'yes'}\n" for n in range(30))
    (folder / "words.csv").write_text(f"item,ann,bob\n{items}")
    return folder


AGAINST = ("agreement", "ann.qrels", "near.qrels", "far.qrels", "--reference", "ann", "--min-gain", 2)


def test_a_judge_near_a_person_and_one_far_off(folder: Path) -> None:
    brief = printed(*AGAINST, cwd=folder, columns=200)
    assert "Near ann, with an α of 0.667 or more: near, of 2 in all." in brief
    assert "Careful: Beyond what the others say: far 7 (once). Off the scale?" in brief
    assert all(head in brief for head in ("κ ≥ 2", "bal. acc. ≥ 2", "AUC ≥ 2"))
    text = printed(*AGAINST, "-v", cwd=folder, columns=200)
    assert text.index("near      ") < text.index("far       ")
    assert "3 raters, 60 items of 12 questions, 180 labels: 0, 1, 2, 3, 7." in text
    assert "Intervals: 95%, BCa, 10,000 resamples of questions, seed 0." in text
    assert "Beyond what the others say: far 7 (once). Off the scale?" in text
    assert "An α of 0.667 with ann or more: near, of 2 in all." in text
    named = printed(*AGAINST, "-v", "--categories", "0-3", cwd=folder, columns=200)
    assert "Off the scale and left out: far 7 (once)." in named
    assert "Gaps: far 1 of 60 items." in named


def test_people_who_do_not_agree_cannot_calibrate_a_judge(folder: Path) -> None:
    brief = printed("agreement", "words.csv", cwd=folder, columns=200)
    assert "below 0.667: these labels support no conclusion, and cannot calibrate a judge." in brief
    assert "Intervals take items as independent" in brief
    text = printed("agreement", "words.csv", "-v", cwd=folder, columns=200)
    assert "They cannot calibrate a judge" in text
    assert "of all labels are yes: there is little to agree about beyond chance" in text
    assert "不能用来校准裁判" in printed("agreement", "words.csv", "-v", "--lang", "zh", cwd=folder, columns=200)


def test_it_is_written_in_every_format(folder: Path, tmp_path: Path) -> None:
    assert printed(*AGAINST, "-o", tmp_path / "a.json", cwd=folder) == ""
    content: dict[str, Any] = json.loads((tmp_path / "a.json").read_text("utf-8"))
    assert [pair["rater"] for pair in content["pairs"]] == ["near", "far"]
    assert content["pairs"][0]["estimates"]["kappa_quadratic"]["low"] is not None
    rows = list(csv.DictReader(printed(*AGAINST, "-f", "csv", cwd=folder).splitlines()))
    kappa = next(row for row in rows if row["rater"] == "near" and row["statistic"] == "kappa")
    assert float(kappa["value"]) == content["pairs"][0]["estimates"]["kappa"]["value"]
    assert "## Each rater against ann" in printed(*AGAINST, "-f", "markdown", cwd=folder)
    assert r"\begin{tabular}" in printed(*AGAINST, "-f", "latex", cwd=folder)


def test_the_order_of_systems(folder: Path) -> None:
    runs = [word for name in "xyz" for word in ("--runs", f"{name}.run")]
    brief = printed(*AGAINST, *runs, "-m", "ndcg@3", cwd=folder, columns=120)
    text = printed(*AGAINST, *runs, "-m", "ndcg@3", "-v", cwd=folder, columns=120)
    assert "The order of 3 systems by ndcg@3" in text
    assert "The order of 3 systems by ndcg@3" in brief
    assert "neither has an interval." in brief
    assert "τ: Kendall's tau-b of the means of systems by a rater's grades and by those of ann" in text


def test_charts_are_written(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="charts need the extra report")
    printed(*AGAINST, "--charts", tmp_path / "charts", cwd=folder)
    names = {path.name for path in (tmp_path / "charts").iterdir()}
    assert names == {"confusion.svg", "confusion.png", "reliability.svg", "reliability.png"}


def test_scores_of_two_raters_have_no_alpha(tmp_path: Path) -> None:
    rows = "".join(f"{n},{n / 64},{n * 7 % 64 // 32}\n" for n in range(64))
    (tmp_path / "scores.csv").write_text(f"item,a,b\n{rows}")
    text = printed("agreement", "scores.csv", cwd=tmp_path, columns=120)
    assert "a – b: more than 50 different values are scores and no labels" in text
    assert "α" not in text.replace("no α is computed", "").replace("Ranked", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ann.qrels"], "one rater alone (ann)"),
        (["ann.qrels", "near.qrels", "--reference", "anna"], "no rater is called 'anna'; did you mean ann?"),
        (
            ["ann.qrels", "near.qrels", "-f", "trec"],
            "invalid choice: 'trec' (choose from 'table', 'json', 'csv', 'markdown', 'latex')",
        ),
        (["words.csv", "--measurement-level", "ordinal"], "name all of them in order: categories, --categories"),
        (["words.csv", "--raters", "ann,bo"], "has no column 'bo'; did you mean bob?"),
        (["ann.qrels", "near.qrels", "--runs", "x.run"], "name it: --reference"),
        (["none.csv"], "none.csv: there is no such file"),
        (["ann.qrels", "near.qrels", "-o", "ann.qrels"], "is an input of this command"),
    ],
)
def test_mistakes(words: list[str], message: str, folder: Path) -> None:
    assert message in complaint("agreement", *words, cwd=folder)
