import csv
import dataclasses
import io
import json
import re

import numpy as np
import pytest

import steelyard as sy
from steelyard.report.comparing import as_csv, as_json, sheets, verdict_text
from steelyard.report.formats import SHEET_FORMATS
from steelyard.report.sheet import Sheet
from tests.test_comparison import VERDICTS, drawn, scores_of

pytest.importorskip("scipy", reason="the tests of differences need the extra stats")


def only(comparison: sy.Comparison) -> Sheet:
    (made,) = sheets(comparison)
    return made


def test_a_sheet_a_measure_and_what_holds_for_all_once() -> None:
    first, second = sheets(sy.compare(scores_of(drawn(3, m=2))))
    assert [first.header[0], second.header[0]] == ["map", "mrr"]
    assert first.header[1:] == ["mean", "difference", "95% interval", "p", "effect", "won/tied/lost", "verdict"]
    assert [row[0] for row in first.rows] == ["c", "b", "a"]
    assert first.best == {(0, 1)}
    assert first.notes[0] == (
        "Baseline: a. Paired t tests, two-sided, level 0.05; correction: Holm, over 4 comparisons: 2 with the baseline "
        "by each of 2 measures; seed 0."
    )
    assert second.notes == []


def test_baseline_has_dashes_and_others_have_signs() -> None:
    rows = {row[0]: row for row in only(sy.compare(scores_of(drawn(2)))).rows}
    assert rows["a"][2:] == ["–"] * 5 + ["baseline"]
    assert re.fullmatch(r"[+-]\d\.\d{4}", rows["b"][2])
    assert re.fullmatch(r"[+-]\d\.\d{3} to [+-]\d\.\d{3}", rows["b"][3])
    assert re.fullmatch(r"\d+/\d+/\d+", rows["b"][6])


def test_small_p_is_not_0() -> None:
    values = drawn(2)
    values[1] = values[0] + 0.2 + 0.01 * drawn(1)[0]
    row = only(sy.compare(scores_of(values))).rows[0]
    assert row[4] == "<0.001"


@pytest.mark.parametrize(("alpha", "head"), [(0.05, "95% interval"), (0.1, "90% interval"), (0.001, "99.9% interval")])
def test_interval_names_its_level(alpha: float, head: str) -> None:
    assert only(sy.compare(scores_of(drawn(2)), alpha=alpha)).header[3] == head


WORDS = {
    (None, "better"): "better",
    (0.01, "better"): "better",
    (None, "worse"): "worse",
    (0.05, "not worse"): "not worse than the margin of 0.05",
}


@pytest.mark.parametrize(("d", "margin", "verdict", "not_worse"), VERDICTS)
def test_verdicts_in_words(d: list[float], margin: float | None, verdict: str, not_worse: bool | None) -> None:
    base = np.full(len(d), 0.5)
    found = sy.compare(scores_of([base, base + d]), margin=margin)
    row = next(row for row in found.rows["map"] if row.system == "b")
    text = verdict_text(row, found)
    if verdict == "no difference shown":
        assert text == f"no difference shown: {len(d)} questions can show ≥ {row.detectable:.3f}"
        assert row.detectable > 0.001
    elif verdict == "no test":
        assert text == f"no test: {row.reason}"
    elif verdict == "worse":
        assert text == ("worse, by less than the margin of 0.05" if not_worse else "worse")
    else:
        assert text == WORDS[margin, verdict]


def test_equal_systems_show_no_number() -> None:
    values = np.concatenate([drawn(1), drawn(1)])
    assert only(sy.compare(scores_of(values))).rows[1][-1] == "no difference shown: equal on all 30 questions"


def test_group_letters() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((4, 40)) * 0.1 + np.array([[0.9], [0.5], [0.5], [0.1]])
    made = only(sy.compare(scores_of(values)))
    assert made.header[-2] == "group"
    assert {row[0]: row[-2] for row in made.rows} == {"a": "a", "b": "b", "c": "b", "d": "c"}
    assert "Systems that share a letter cannot be told apart." in made.notes
    alone = only(sy.compare(scores_of(values), baseline="a"))
    assert "group" not in alone.header
    assert not any("letter" in note for note in alone.notes)


def test_more_groups_than_letters() -> None:
    systems = [f"s{i}" for i in range(28)]
    found = sy.compare(scores_of(drawn(28, 3), systems=systems), baseline="s0")
    apart = dataclasses.replace(found, groups={"map": [[row.system] for row in found.rows["map"]]})
    letters = [row[-2] for row in only(apart).rows]
    assert len(set(letters)) == len(letters)
    assert [letters[0], letters[25], letters[26], letters[27]] == ["a", "z", "aa", "bb"]


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("t", "Paired t tests"),
        ("randomization", "Sign-flip randomisation tests"),
        ("wilcoxon", "Wilcoxon signed-rank tests"),
        ("sign", "Sign tests"),
        ("tukey", "Randomised Tukey HSD"),
    ],
)
def test_the_note_names_test_family_and_seed(test: str, words: str) -> None:
    note = only(sy.compare(scores_of(drawn(3)), test=test, seed=7, alpha=0.01)).notes[0]
    assert note.startswith(f"Baseline: a. {words}, two-sided, level 0.01; ")
    family = "p are family-wise, over all 3 pairs of 3 systems" if test == "tukey" else "correction: Holm, over 2 "
    assert family in note
    assert note.endswith("seed 7.")


def test_margin_is_explained_where_there_is_one() -> None:
    with_margin = only(sy.compare(scores_of(drawn(2)), margin=0.02)).notes
    assert with_margin[-1] == "Not worse: the one-sided interval of the difference lies above -0.02."
    assert not any("Not worse" in note for note in only(sy.compare(scores_of(drawn(2)))).notes)


@pytest.mark.parametrize(
    ("holes", "note"),
    [
        ([3], "1 question that some system lacks is left out; 29 are compared."),
        ([3, 4], "2 questions that some system lacks are left out; 28 are compared."),
    ],
)
def test_what_is_left_out_is_counted(holes: list[int], note: str) -> None:
    values = drawn(2, m=2)
    values[1, 1, holes] = np.nan
    first, second = sheets(sy.compare(scores_of(values)))
    assert note in second.notes
    assert not any("left out" in said for said in first.notes)


def test_json_has_full_precision_and_nulls() -> None:
    found = sy.compare(scores_of(drawn(3, m=2)), margin=0.01)
    made = json.loads(as_json(found))
    assert {key: made[key] for key in ("baseline", "test", "correction", "alpha", "margin", "seed")} == {
        "baseline": "a", "test": "t", "correction": "holm", "alpha": 0.05, "margin": 0.01, "seed": 0
    }  # fmt: skip
    assert made["recipe"]["steelyard"] == "x"
    assert list(made["measures"]) == ["map", "mrr"]
    one = made["measures"]["map"]
    assert (one["questions"], one["left_out"], one["groups"]) == (30, 0, None)
    for row, written in zip(found.rows["map"], one["systems"], strict=True):
        assert (written["system"], written["verdict"]) == (row.system, row.verdict)
        assert written["in_words"] == verdict_text(row, found)
        assert (written["won"], written["tied"], written["lost"]) == (
            row.counts.n_wins, row.counts.n_ties, row.counts.n_losses
        )  # fmt: skip
        for name in ("mean", "difference", "low", "high", "p", "adjusted", "effect", "detectable"):
            value = getattr(row, name)
            assert written[name] == (None if np.isnan(value) else value)
    baseline = next(row for row in one["systems"] if row["verdict"] == "baseline")
    assert (baseline["p"], baseline["low"], baseline["not_worse"]) == (None, None, None)


def test_json_of_one_question_and_of_equal_differences_is_valid() -> None:
    for values in ([[0.5], [0.75]], [[0.25] * 5, [0.5] * 5]):
        made = json.loads(as_json(sy.compare(scores_of(values))), parse_constant=pytest.fail)
        row = made["measures"]["map"]["systems"][0]
        assert (row["verdict"], row["p"], row["effect"]) == ("no test", None, None)


def test_json_lists_groups() -> None:
    found = sy.compare(scores_of(drawn(4)))
    assert json.loads(as_json(found))["measures"]["map"]["groups"] == found.groups["map"]


def test_csv_is_one_table_in_full_precision() -> None:
    found = sy.compare(scores_of(drawn(4, m=2)))
    rows = list(csv.DictReader(io.StringIO(as_csv(found))))
    assert [row["measure"] for row in rows] == ["map"] * 4 + ["mrr"] * 4
    by_name = {row.system: row for row in found.rows["mrr"]}
    for row in rows[4:]:
        assert float(row["mean"]) == by_name[row["system"]].mean
        assert row["group"]
    assert {row["p"] for row in rows if row["verdict"] == "baseline"} == {""}


def test_csv_without_groups_has_the_same_columns() -> None:
    heads = [as_csv(sy.compare(scores_of(drawn(s)))).splitlines()[0] for s in (2, 4)]
    assert heads[0] == heads[1]


def test_markdown_and_latex() -> None:
    made = only(sy.compare(scores_of(drawn(2, 20), systems=["a|b", "c_d & <e>"])))
    markdown, latex = SHEET_FORMATS["markdown"](made), SHEET_FORMATS["latex"](made)
    assert markdown.splitlines()[1] == "| --- |" + " ---: |" * 7
    assert "| c_d & &lt;e> | **" in markdown
    assert r"| a\|b | " in markdown
    assert r"c\_d \& <e> & \textbf{" in latex
    assert r"95\% interval" in latex
    assert r"\caption{Baseline: a|b. Paired t tests" in latex


@pytest.mark.parametrize("width", [60, 80, 200])
def test_terminal_table_fits(width: int) -> None:
    text = SHEET_FORMATS["table"](only(sy.compare(scores_of(drawn(4)))), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("baseline") == 1
