import csv
import dataclasses
import io
import json
import re
from collections.abc import Mapping

import numpy as np
import pytest

import steelyard as sy
from steelyard.comparison.sensitivity import Sensitivity
from steelyard.data.segments import UNTAGGED
from steelyard.reports.formats.blocks import sheet_latex, sheet_markdown, sheet_terminal
from steelyard.reports.views.comparison import comparison_sheets
from steelyard.reports.views.verdicts import group_letters, verdict_text
from steelyard.reports.views.view import Sheet
from steelyard.reports.words import read_words
from tests.comparison.test_comparison import VERDICTS, beside_first, drawn, scores_of

pytest.importorskip("scipy", reason="the tests of differences need the extra stats")

Lengths = Mapping[str, Mapping[str, tuple[int, int]]]

EN, ZH = read_words("en"), read_words("zh")


def only(comparison: sy.Comparison, **options) -> Sheet:
    (made,) = comparison_sheets(comparison, EN, **options)
    return made


def said(sheet: Sheet) -> list[str]:
    """The notes but for that on how many questions would be needed."""
    return [note for note in sheet.notes if not note.startswith("Questions that would")]


def test_a_sheet_a_measure_and_what_holds_for_all_once() -> None:
    first, second = comparison_sheets(beside_first(scores_of(drawn(3, m=2))), EN)
    assert [first.header[0], second.header[0]] == ["map", "mrr"]
    assert first.header[1:] == [
        "mean", "difference", "95% interval", "p", "effect", "won/tied/lost", "group", "verdict"
    ]  # fmt: skip
    assert [row[0] for row in first.rows] == ["c", "b", "a"]
    assert first.best == {(0, 1)}
    shared = "c shares a letter with a all the same: letters are corrected over 3 pairs, verdicts over 2 comparisons."
    assert said(first)[:3] == [
        shared,
        "Baseline: a. Paired t tests, two-sided, level 0.05; correction: Holm, over 2 comparisons with the baseline; "
        "seed 0.",
        "map is the primary measure and is tested alone. mrr is secondary, and corrected by itself, over 2 comparisons "
        "with the baseline.",
    ]
    assert said(second) == []


def test_baseline_has_dashes_and_others_have_signs() -> None:
    rows = {row[0]: row for row in only(sy.compare(scores_of(drawn(2)))).rows}
    assert rows["a"][2:] == ["–"] * 5 + ["baseline"]
    assert re.fullmatch(r"[+-]\d\.\d{4}", rows["b"][2])
    assert re.fullmatch(r"[+−]\d\.\d{3} to [+−]\d\.\d{3}", rows["b"][3])
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
    (0.05, "not worse"): "equivalent within the margin of 0.05",
}


@pytest.mark.parametrize(("d", "margin", "verdict", "not_worse"), VERDICTS)
def test_verdicts_in_words(d: list[float], margin: float | None, verdict: str, not_worse: bool | None) -> None:
    base = np.full(len(d), 0.5)
    found = beside_first(scores_of([base, base + d]), margin=margin)
    row = next(row for row in found.rows["map"] if row.system == "b")
    text = verdict_text(row, found, EN)
    if not any(d):
        assert text == f"equal on all {len(d)} questions"
    elif verdict == "no difference shown":
        assert text == f"not told apart: {len(d)} questions can show ≥ {row.detectable:.3f}"
        assert row.detectable > 0.001
    elif verdict == "no test":
        few = "a test needs two questions at least"
        flat = "all differences are equal: there is no spread to test against"
        assert text == f"no test: {few if len(d) == 1 else flat}"
    elif verdict == "worse":
        assert text == ("worse, by less than the margin of 0.05" if not_worse else "worse")
    else:
        assert text == WORDS[margin, verdict]


@pytest.mark.parametrize("test", ["randomization", "wilcoxon", "sign", "tukey"])
def test_tests_by_signs_cannot_show_anything_with_five_questions(test: str) -> None:
    values = np.stack([np.linspace(0.1, 0.3, 6), np.linspace(0.5, 0.9, 6)])
    five, six = (beside_first(scores_of(values[:, :n]), test=test) for n in (5, 6))
    assert verdict_text(five.rows["map"][0], five, EN) == (
        "not told apart: this test cannot show anything with fewer than 6 questions"
    )
    assert not np.isfinite(five.rows["map"][0].detectable)
    assert six.rows["map"][0].verdict == "better"


def test_equal_systems_show_no_number() -> None:
    values = np.concatenate([drawn(1), drawn(1)])
    assert only(beside_first(scores_of(values))).rows[1][-1] == "equal on all 30 questions"


def test_group_letters() -> None:
    rng = np.random.default_rng(0)
    values = rng.random((4, 40)) * 0.1 + np.array([[0.9], [0.5], [0.5], [0.1]])
    made = only(beside_first(scores_of(values)))
    assert made.header[-2] == "group"
    assert {row[0]: row[-2] for row in made.rows} == {"a": "a", "b": "b", "c": "b", "d": "c"}
    of_all = "Systems that share a letter are not told apart; correction: Holm, over all 6 pairs of 4 systems."
    assert of_all in made.notes
    two, _ = comparison_sheets(beside_first(scores_of(drawn(3, m=2))), EN)
    assert any("over all 3 pairs of 3 systems." in note for note in two.notes)
    by_tukey = only(beside_first(scores_of(values), test="tukey"))
    assert "Systems that share a letter are not told apart." in by_tukey.notes
    alone = only(beside_first(scores_of(values[:2])))
    assert "group" not in alone.header
    assert not any("letter" in note for note in alone.notes)


def test_a_difference_beside_a_shared_letter_is_explained() -> None:
    rng = np.random.default_rng(3)
    values = rng.random((4, 40)) * 0.4 + np.array([[0.1], [0.17], [0.15], [0.14]])
    sheet = only(beside_first(scores_of(values)))
    assert {row[0]: (row[-2], row[-1]) for row in sheet.rows if "better" in row} == {
        "b": ("a", "better"),
        "c": ("ab", "better"),
    }
    note = "c shares a letter with a all the same: letters are corrected over 6 pairs, verdicts over 3 comparisons."
    assert note in sheet.notes


def test_of_one_question_nothing_is_said_of_tests_and_no_equal_value_is_best() -> None:
    sheet = only(beside_first(scores_of(np.zeros((3, 1)))))
    assert sheet.best == set()
    assert sheet.notes[0] == "Baseline: a. Nothing is tested."
    assert not re.search("t test|Student|can show|letter|Effect", " ".join(sheet.notes))


def test_very_many_systems_have_no_letters_and_few_questions_are_warned_of() -> None:
    of_many = scores_of(drawn(101, 5), systems=[f"s{i}" for i in range(101)])
    notes = only(sy.compare(of_many)).notes
    assert "No groups: 101 systems are more than 100." in notes
    assert any(note.startswith("101 systems on 5 questions: for so many systems") for note in notes)
    assert not any("no correction holds" in note for note in only(sy.compare(scores_of(drawn(10)))).notes)


def test_more_groups_than_letters() -> None:
    letters = list(group_letters([[f"s{i}"] for i in range(28)]).values())
    assert len(set(letters)) == len(letters)
    assert [letters[0], letters[25], letters[26], letters[27]] == ["a", "z", "aa", "ab"]


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
    note = said(only(beside_first(scores_of(drawn(3)), test=test, seed=7, alpha=0.01)))[0]
    assert note.startswith(f"Baseline: a. {words}, two-sided, level 0.01; ")
    family = "p are family-wise, over all 3 pairs of 3 systems" if test == "tukey" else "correction: Holm, over 2 "
    assert family in note
    assert note.endswith("seed 7.")


def test_margin_is_explained_where_there_is_one() -> None:
    with_margin = only(sy.compare(scores_of(drawn(2)), margin=0.02)).notes
    assert with_margin[-2] == (
        'Margin 0.02: "not worse" rules out a loss of that size, "equivalent" a gain of that size too. One-sided '
        "tests, by t and with a loss not seen yet, level 0.05; correction: Holm, over 1 comparison with the baseline. "
        "Where no difference is shown, the interval is their one-sided limit (≥ or ≤); of equivalent systems both."
    )
    assert not any("Margin" in note for note in only(sy.compare(scores_of(drawn(2)))).notes)


@pytest.mark.parametrize(
    ("holes", "note"),
    [
        ([3], "1 question is left out (b lacks 1); means are over the other 29."),
        ([3, 4], "2 questions are left out (b lacks 2); means are over the other 28."),
    ],
)
def test_what_is_left_out_is_counted(holes: list[int], note: str) -> None:
    values = drawn(2, m=2)
    values[1, 1, holes] = np.nan
    first, second = comparison_sheets(sy.compare(scores_of(values)), EN)
    assert note in second.notes
    assert not any("left out" in said for said in first.notes)


def test_json_has_full_precision_and_nulls() -> None:
    found = beside_first(scores_of(drawn(3, m=2)), margin=0.01)
    made = found.data()
    assert {key: made[key] for key in ("baseline", "test", "correction", "alpha", "margin", "seed")} == {
        "baseline": "a", "test": "t", "correction": "holm", "alpha": 0.05, "margin": 0.01, "seed": 0
    }  # fmt: skip
    assert made["recipe"]["steelyard"] == "x"
    assert list(made["measures"]) == ["map", "mrr"]
    one = made["measures"]["map"]
    assert (one["questions"], one["left_out"], one["groups"]) == (30, 0, found.groups["map"])
    for row, written in zip(found.rows["map"], one["systems"], strict=True):
        assert (written["system"], written["verdict"]) == (row.system, row.verdict)
        assert written["in_words"] == verdict_text(row, found, EN)
        assert (written["n_wins"], written["n_ties"], written["n_losses"]) == (row.n_wins, row.n_ties, row.n_losses)
        for name in ("mean", "difference", "low", "high", "p", "adjusted", "effect", "detectable"):
            value = getattr(row, name)
            assert written[name] == (None if np.isnan(value) else value)
    baseline = next(row for row in one["systems"] if row["verdict"] == "baseline")
    assert (baseline["p"], baseline["low"], baseline["not_worse"]) == (None, None, None)


def test_json_of_one_question_and_of_equal_differences_is_valid() -> None:
    for values in ([[0.5], [0.75]], [[0.25] * 5, [0.5] * 5]):
        made = json.loads(sy.compare(scores_of(values)).text("json"), parse_constant=pytest.fail)
        row = made["measures"]["map"]["systems"][0]
        assert (row["verdict"], row["p"], row["effect"]) == ("no test", None, None)


def test_json_lists_groups() -> None:
    found = sy.compare(scores_of(drawn(4)))
    assert found.data()["measures"]["map"]["groups"] == found.groups["map"]


def test_csv_is_one_table_in_full_precision() -> None:
    found = beside_first(scores_of(drawn(4, m=2)))
    rows = list(csv.DictReader(io.StringIO(found.text("csv"))))
    assert [row["measure"] for row in rows] == ["map"] * 4 + ["mrr"] * 4
    by_name = {row.system: row for row in found.rows["mrr"]}
    for row in rows[4:]:
        assert float(row["mean"]) == by_name[row["system"]].mean
        assert row["group"]
    assert {row["p"] for row in rows if row["verdict"] == "baseline"} == {""}


def test_csv_without_groups_has_the_same_columns() -> None:
    heads = [sy.compare(scores_of(drawn(s))).text("csv").splitlines()[0] for s in (2, 4)]
    assert heads[0] == heads[1]


def test_markdown_and_latex() -> None:
    made = only(sy.compare(scores_of(drawn(2, 20), systems=["a|b", "c_d & <e>"])))
    markdown, latex = sheet_markdown(made), sheet_latex(made)
    assert markdown.splitlines()[1] == "| --- |" + " ---: |" * 6 + " --- |"
    assert "| c_d & &lt;e> | **" in markdown
    assert r"| a\|b | " in markdown
    assert r"c\_d \& $<$e$>$ & \textbf{" in latex
    assert "≥" not in latex
    assert r"95\% interval" in latex
    assert r"\caption{Questions that would show" in latex
    assert "Baseline: a|b. Paired t tests" in latex


@pytest.mark.parametrize("width", [60, 80, 200])
def test_terminal_table_fits(width: int) -> None:
    text = sheet_terminal(only(beside_first(scores_of(drawn(4)))), width=width)
    assert max(map(len, text.splitlines())) <= width
    assert text.count("baseline") == 2  # its row, and the note on it


def test_relative_change_where_there_is_room() -> None:
    found = sy.compare(scores_of([[0.4, 0.5, 0.4], [0.5, 0.5, 0.6]]))
    made = only(found, relative=True)
    assert made.header[3] == "change"
    assert [row[3] for row in made.rows] == ["+23.1%", "–"]
    row = found.data()["measures"]["map"]["systems"][0]
    assert row["relative"] == pytest.approx(0.3 / 1.3)
    assert row["relative_low"] < row["relative"] < row["relative_high"]


def test_better_by_less_than_the_margin() -> None:
    base = np.full(240, 0.5)
    found = sy.compare(scores_of([base, base + np.tile([0.02, 0.03, 0.01, 0.021, 0.025, 0.018], 40)]), margin=0.05)
    assert verdict_text(found.rows["map"][0], found, EN) == "better, by less than the margin of 0.05"


def test_more_than_a_measure_can_differ_is_not_shown_as_a_number() -> None:
    found = beside_first(scores_of([[0.0, 0.5], [1.0, 0.0]]))
    assert only(found).rows[0][-1] == "not told apart: 2 questions are too few to show any difference"
    assert found.data()["measures"]["map"]["systems"][0]["detectable"] is None


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("test", ["t", "randomization", "wilcoxon", "sign", "tukey"])
@pytest.mark.parametrize("other", [[0.25, 0.25, 0.25], [0.125, 0.125, 0.125], [1.0, 0.0, 0.5]])
def test_few_questions_have_words_and_no_number_beyond_the_measure(n: int, test: str, other: list[float]) -> None:
    found = sy.compare(scores_of([[0.125] * n, other[:n]]), test=test, margin=0.1)
    for words in (EN, ZH):
        cells = "\n".join(cell for row in next(iter(comparison_sheets(found, words))).rows for cell in row)
        assert not re.search(r"\b(inf|nan)\b|([+−]\d\.\d+) (to|至) \2|≥ 0\.000", cells, re.IGNORECASE)
    rows = found.data()["measures"]["map"]["systems"]
    assert all(abs(row["low"]) <= 1 and abs(row["high"]) <= 1 for row in rows if row.get("low") is not None)


@pytest.mark.parametrize(
    ("test", "code", "verdict"),
    [
        ("t", "en", "not told apart: 5 questions are too few to say what they could show"),
        ("t", "zh", "尚无法区分：5 个问题太少，无法说明能检出多大的差值"),
        ("randomization", "en", "not told apart: this test cannot show anything with fewer than 6 questions"),
    ],
)
def test_five_questions_have_no_number(test: str, code: str, verdict: str) -> None:
    found = beside_first(scores_of([[0.5] * 5, [0.5, 0.51, 0.5, 0.49, 0.52]]), test=test)
    assert next(iter(comparison_sheets(found, read_words(code)))).rows[0][-1] == verdict
    assert found.data()["measures"]["map"]["systems"][0]["detectable"] is None


def test_the_level_of_what_can_be_shown_is_named() -> None:
    def notes(**options: str) -> str:
        return "\n".join(only(beside_first(scores_of(drawn(4)), **options)).notes)

    assert "in 80 of 100 cases at level 0.017 (0.05 shared among 3 comparisons)." in notes()
    assert "in 80 of 100 cases." in notes(test="tukey")
    assert "can show" not in notes(test="sign")


def test_questions_needed_stand_beside_what_is_not_shown() -> None:
    found = sy.compare(scores_of(drawn(3)))
    needed = [f"{row.system} {row.needed:,}" for row in found.rows["map"] if row.verdict == "no difference shown"]
    assert needed
    note = f"Questions that would show the effect found here, were it the true one: {', '.join(needed)}."
    assert only(found).notes[0] == note


def test_marks_for_a_paper_are_explained() -> None:
    base = drawn(1)[0, 0]
    wide = 0.01 * drawn(1, seed=2)[0, 0]
    made = only(beside_first(scores_of([base, base + 0.2 + wide, base - 0.2 - wide])), marks=True)
    assert [row[1][-1] for row in made.rows] == ["†", made.rows[1][1][-1], "‡"]
    assert made.rows[1][1][-1].isdigit()
    assert "† better, ‡ worse than a." in made.notes
    assert "†" not in str(only(beside_first(scores_of(drawn(2)))))


def test_agreement_of_leaderboards() -> None:
    values = np.array([[[0.1, 0.2], [0.3, 0.1]], [[0.2, 0.4], [0.4, 0.2]], [[0.9, 0.5], [0.1, 0.1]]])
    first, _ = comparison_sheets(sy.compare(scores_of(values)), EN)
    (note,) = [note for note in first.notes if note.startswith("Leaderboards")]
    # map: c b a;  mrr: b a c
    assert note.startswith("Leaderboards by map and mrr: Kendall tau −0.33, tau_AP ")
    assert note.endswith("(persistence 0.33).")


def with_sensitivity(*, low, high, tie_low, tie_high, measure: str = "ndcg@10") -> Sensitivity:
    n = len(low)
    columns = {
        name: np.array(values, float)[:, None]
        for name, values in (("low", low), ("high", high), ("tie_low", tie_low), ("tie_high", tie_high))
    }
    judged, mass = np.linspace(0.83, 0.91, n)[:, None], np.full((n, 1), 0.25)
    return Sensitivity(
        list("abc"[:n]), [sy.parse(measure)], mean=columns["low"], judged=judged, tie_mass=mass, **columns
    )


def test_unjudged_documents_and_ties_are_warned_of() -> None:
    found = sy.compare(scores_of(drawn(2), measures="ndcg@10"))
    bounds = with_sensitivity(low=[0.61, 0.65], high=[0.72, 0.8], tie_low=[0.61, 0.65], tie_high=[0.633, 0.65])
    notes = only(dataclasses.replace(found, sensitivity=bounds)).notes
    assert (
        "judged@10 is 83% to 91%; the bounds of b (0.650–0.800) and a (0.610–0.720) overlap: unjudged documents "
        "could change their order."
    ) in notes
    assert (
        "Ties could move ndcg@10 of a by 0.023 (0.610–0.633): 25% of the places looked at are tied; give "
        "ties=average, as in ndcg(ties=average)@10."
    ) in notes
    evidence = dataclasses.replace(found, sensitivity=dataclasses.replace(bounds, labelled=False))
    assert not any("judged" in note for note in only(evidence).notes)
    assert list(evidence.data()["sensitivity"]["ndcg@10"]["a"]) == ["tie_mass", "tie_low", "tie_high"]
    made = json.loads(dataclasses.replace(found, sensitivity=bounds).text("json"))["sensitivity"]["ndcg@10"]["a"]
    assert (made["low"], made["high"], made["tie_high"]) == (0.61, 0.72, 0.633)


def test_several_pairs_and_systems_are_counted() -> None:
    found = sy.compare(scores_of(drawn(3), measures="recall(min_gain=2)@10"))
    bounds = with_sensitivity(
        low=[0.61, 0.65, 0.6],
        high=[0.72, 0.8, 0.7],
        tie_low=[0.6, 0.6, 0.6],
        tie_high=[0.62, 0.64, 0.6],
        measure="recall(min_gain=2)@10",
    )
    notes = only(dataclasses.replace(found, sensitivity=bounds)).notes
    assert any(
        "the bounds of 3 of 3 pairs of systems overlap, such as b (0.650–0.800) and a (" in note for note in notes
    )
    assert any("of b by 0.040" in note and note.endswith("So they could for 1 more system.") for note in notes)
    assert any("as in recall(min_gain=2,ties=average)@10." in note for note in notes)


def test_averaged_ties_are_not_warned_of() -> None:
    measure = "ndcg(ties=average)@10"
    bounds = with_sensitivity(low=[0.6, 0.8], high=[0.6, 0.8], tie_low=[0.5, 0.7], tie_high=[0.7, 0.9], measure=measure)
    notes = only(dataclasses.replace(sy.compare(scores_of(drawn(2), measures=measure)), sensitivity=bounds)).notes
    assert not any("Ties" in note for note in notes)


def test_nothing_is_said_where_nothing_could_move() -> None:
    bounds = with_sensitivity(low=[0.6, 0.8], high=[0.7, 0.9], tie_low=[0.6, 0.8], tie_high=[0.6, 0.805])
    found = sy.compare(scores_of(drawn(2), measures="ndcg@10"))
    notes = only(dataclasses.replace(found, sensitivity=bounds)).notes
    assert not any("judged" in note or "Ties" in note for note in notes)


def segmented(*, by: str | None, m: int = 1, s: int = 2, lengths: Lengths | None = None) -> sy.Comparison:
    parts = {"en": np.arange(30) < 20, UNTAGGED: np.arange(30) >= 29}
    return parted_by(beside_first(scores_of(drawn(s, m=m)), test="t", segments=parts), by, lengths)


def parted_by(comparison: sy.Comparison, by: str | None, lengths: Lengths | None = None) -> sy.Comparison:
    assert comparison.segmentation is not None
    return dataclasses.replace(
        comparison, segmentation=dataclasses.replace(comparison.segmentation, by=by, lengths=lengths)
    )


def test_segments_have_sheets_of_their_own() -> None:
    made = list(comparison_sheets(segmented(by="tag", m=2), EN))
    assert [sheet.header[0] for sheet in made] == ["map", "mrr", "map by tag", "mrr by tag"]
    assert [row[:2] for row in made[2].rows] == [["en", "20"], ["(untagged)", "1"]]
    assert made[2].rows[1][2:] == [*made[2].rows[1][2:3], "–", "–", made[2].rows[1][5], "–", "no test"]
    assert made[2].notes == [
        "Segments: Paired t tests, two-sided, level 0.05; correction of their own: Benjamini–Hochberg, over 2 "
        "comparisons: 1 with the baseline in each of 2 segments. An effect in one segment is a question for the next "
        "experiment.",
        "map is the primary measure and is tested alone. mrr is secondary, and corrected by itself, over 2 "
        "comparisons: 1 with the baseline in each of 2 segments.",
        "A question may have several tags.",
        "No test: a single question, or differences that are all equal.",
    ]
    several = list(comparison_sheets(segmented(by="language", s=3), EN))[1]
    assert {row[0] for row in several.rows} >= {"English · b", "English · c"}


def test_segments_in_json_and_csv() -> None:
    found = segmented(by="tag")
    made = found.data()["segments"]
    assert (made["by"], made["test"], made["correction"]) == ("tag", "t", "bh")
    assert made["family"] == "2 comparisons: 1 with the baseline in each of 2 segments"
    (of_en,) = [row for row in made["parts"]["en"]["measures"]["map"]["systems"] if row["system"] == "b"]
    (row,) = [row for row in found.segments["en"].rows["map"] if row.system == "b"]
    assert (of_en["p"], of_en["adjusted"]) == (row.p, row.adjusted)
    lines = list(csv.DictReader(io.StringIO(found.text("csv"))))
    assert [line["segment"] for line in lines] == ["", "", "en", "en", UNTAGGED, UNTAGGED]


def test_lengths_are_told() -> None:
    bounds = {"en": {"short": (1, 4), "long": (7, 9)}, "zh": {"medium": (5, 5)}}
    made = list(comparison_sheets(segmented(by="length", lengths=bounds), EN))[1]
    assert made.notes[1] == (
        "Length in tokens (of Chinese, pairs of adjoining characters), by thirds of the questions of each language: "
        "English short 1 to 4, long 7 to 9; Chinese medium 5 to 5."
    )


def test_nothing_from_outside_reaches_the_terminal_as_a_command() -> None:
    found = sy.compare(scores_of(drawn(2), systems=["\x1b[31ma\x07", "b\nc\x9b2J"]))
    for written in (sheet_terminal, sheet_markdown, sheet_latex):
        text = written(only(found))
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
    assert "␛[31ma␇" in sheet_terminal(only(found))


# What stands in a Chinese report as it is: names of systems, measures and methods, and numbers.
AS_IT_IS = re.compile(
    r"\b(?:a|b|c|d|en|map|mrr|ndcg@10|judged@10|ties=average|ndcg\(ties=average\)@10|p|t|Holm|Bonferroni|Benjamini|"
    r"Hochberg|Tukey|HSD|Wilcoxon|Hedges|g|Kendall|tau|tau_AP|RBO|family-wise)\b"
)


@pytest.mark.parametrize("test", ["t", "randomization", "wilcoxon", "sign", "tukey"])
def test_no_english_in_chinese(test: str) -> None:
    values = drawn(4, m=2)
    values[1, 1, 3] = np.nan
    values[2] = values[0]
    parts = {"en": np.arange(30) < 20, "zh": np.arange(30) >= 29}
    scores = dataclasses.replace(scores_of(values), measures=[sy.parse("ndcg@10"), sy.parse("mrr")])
    found = beside_first(scores, test=test, margin=0.02, segments=parts)
    found = parted_by(found, "language", {"en": {"short": (1, 2)}, "zh": {"long": (3, 4)}})
    (of_ndcg, *_), segments = list(comparison_sheets(found, ZH, marks=True)), list(comparison_sheets(found, ZH))[2:]
    pair = beside_first(scores_of(drawn(2), measures="ndcg@10"))
    bounds = with_sensitivity(low=[0.61, 0.65], high=[0.72, 0.8], tie_low=[0.6, 0.6], tie_high=[0.62, 0.64])
    (warned,) = comparison_sheets(dataclasses.replace(pair, sensitivity=bounds), ZH)
    for sheet in (of_ndcg, warned, *segments):
        texts = [*sheet.header, *(cell for row in sheet.rows for cell in row), *sheet.notes]
        texts = [text for text in texts if not text.startswith("签名：")]
        left = [text for text in texts if re.search("[A-Za-z]", AS_IT_IS.sub("", text))]
        assert left == []


@pytest.mark.parametrize(("d", "margin", "verdict", "not_worse"), VERDICTS)
def test_verdicts_in_chinese(d: list[float], margin: float | None, verdict: str, not_worse: bool | None) -> None:
    base = np.full(len(d), 0.5)
    found = sy.compare(scores_of([base, base + d]), margin=margin)
    for row in found.rows["map"]:
        assert not re.search("[A-Za-z]", verdict_text(row, found, ZH))


@pytest.mark.parametrize("width", [60, 80])
def test_chinese_table_fits(width: int) -> None:
    from rich.cells import cell_len

    for sheet in comparison_sheets(segmented(by="tag", m=2), ZH):
        assert max(map(cell_len, sheet_terminal(sheet, width=width).splitlines())) <= width


def test_leaderboards_of_equal_systems_are_not_compared() -> None:
    values = np.array([[[0.1, 0.2], [0.3, 0.1]], [[0.2, 0.4], [0.3, 0.1]], [[0.9, 0.5], [0.3, 0.1]]])
    first, _ = comparison_sheets(sy.compare(scores_of(values)), EN)
    assert "Leaderboards by map and mrr cannot be compared: by one of them all systems are equal." in first.notes
    assert "nan" not in " ".join(first.notes)
