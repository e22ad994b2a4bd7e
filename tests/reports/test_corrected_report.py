"""Reports of systems whose means labels of people correct: leaderboard, comparison, judge card, table for a paper."""

from __future__ import annotations

from functools import cache

import pytest

import steelyard as sy
from steelyard.reports.page.leaderboard import leaderboard_table
from steelyard.reports.views.report import judge_card, report_sections, verdict
from steelyard.reports.words import read_words
from tests.comparison.test_labels import labels_of, lenient, strict, weighing

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")


@cache
def report(labelled: bool = True) -> sy.Report:
    return sy.report(weighing(labels_of() if labelled else {}), measures=["faithfulness"])


def test_the_leaderboard_shows_judge_people_and_both() -> None:
    sections = {section.name: section for section in report_sections(report(), read_words("en"))}
    _, corrected = sections["leaderboard"].sheets
    assert corrected.header[:4] == ["system", "measure", "judge", "people alone"]
    assert [row[0] for row in corrected.rows] == ["a", "b"]
    plain = {section.name: section for section in report_sections(report(labelled=False), read_words("en"))}
    assert len(plain["leaderboard"].sheets) == 1


@pytest.mark.parametrize(
    ("lang", "title", "fact"),
    [
        ("en", "corrected by people", "labels of people that correct means"),
        ("zh", "校正的均值", "用于校正均值的人工标注"),
    ],
)
def test_page_and_markdown_hold_it_in_both_languages(lang: str, title: str, fact: str) -> None:
    page, text = (report().text(name, lang=lang) for name in ("html", "markdown"))
    assert title in page
    assert fact in page
    assert fact in text
    assert fact not in report(labelled=False).text("html", lang=lang)


@pytest.mark.parametrize(
    ("lang", "texts"),
    [
        (
            "en",
            [
                "By faithfulness (judge alone): b beats a.",
                "a reaches faithfulness 0.5473 on 120 questions, corrected by 80 labels of people (95% interval 0.4089 "
                "to 0.6845); the judge alone says 0.5733.",
                "b has no labels of people, so the judge alone compares the systems.",
                "faithfulness (judge alone): b 0.8960, a (baseline) 0.5733, difference +0.3226 (95% interval +0.255 to "
                "+0.391; paired t test, p < 0.001).",
            ],
        ),
        (
            "zh",
            [
                "按 faithfulness（仅裁判）：b 优于 a。",
                "a 在 120 个问题上的 faithfulness 为 0.5473，已用 80 条人工标注校正"
                "（95% 置信区间 0.4089 至 0.6845）；仅按裁判为 0.5733。",
                "b 没有人工标注，因此各系统仅按裁判比较。",
                "faithfulness（仅裁判）：b 0.8960，a（基线）0.5733，相差 +0.3226"
                "（95% 置信区间 +0.255 至 +0.391；配对 t 检验，p < 0.001）。",
            ],
        ),
    ],
)
def test_where_people_decided_about_one_system_alone_both_means_are_named(lang: str, texts: list[str]) -> None:
    one_sided = sy.report(weighing(labels_of(names="a")), measures=["faithfulness"])
    assert verdict(one_sided, read_words(lang)) == texts
    rows = leaderboard_table(one_sided, read_words("en")).rows
    assert [(row[0].text, row[2].text, row[2].small) for row in rows] == [
        ("b", "0.8960", "0.852–0.935"),
        ("a", "0.5473", "0.409–0.685, judge 0.5733"),
    ]
    assert [row[2].style for row in rows] == ["best", ""]


@pytest.mark.parametrize(
    ("lang", "numbers", "judge"),
    [
        ("en", "faithfulness, corrected by people: b 0.5045, a (baseline) 0.5473, difference −0.0428 (",
         "By the judge alone: b 0.8960, a 0.5733, difference +0.3226."),
        ("zh", "faithfulness（已用人工标注校正）：b 0.5045，a（基线）0.5473，相差 −0.0428（",
         "仅按裁判：b 0.8960，a 0.5733，相差 +0.3226。"),
    ],
)  # fmt: skip
def test_where_people_decided_about_both_theirs_come_first(lang: str, numbers: str, judge: str) -> None:
    _, first, second = verdict(report(), read_words(lang))
    assert first.startswith(numbers)
    assert second == judge
    rows = leaderboard_table(report(), read_words("en")).rows
    assert [(row[0].text, row[2].text, row[2].style) for row in rows] == [("a", "0.5473", "best"), ("b", "0.5045", "")]


def test_of_one_system_the_corrected_mean_is_the_headline() -> None:
    alone = sy.report(weighing(labels_of(names="a"), {"a": strict()}), measures=["faithfulness", "answer_f1"])
    for lang, text in (("en", "; the judge alone says 0.5733."), ("zh", "；仅按裁判为 0.5733。")):
        [said] = verdict(alone, read_words(lang))
        assert "0.5473" in said
        assert said.endswith(text)
        assert said in alone.text("markdown", lang=lang)
        assert said in alone.text("html", lang=lang)


def test_of_three_systems_the_one_with_labels_keeps_its_place_by_the_judge() -> None:
    verdicts = {"a": strict(), "b": lenient(), "c": lenient(3)}
    three = sy.report(weighing(labels_of(names="b"), verdicts), measures=["faithfulness"])
    judged = sy.report(weighing({}, verdicts), measures=["faithfulness"])
    assert three.by_mean() == judged.by_mean()
    texts = verdict(three, read_words("en"))
    assert "a and c have no labels of people, so the judge alone compares the systems." in texts
    assert verdict(judged, read_words("en"))[0] == texts[0].removeprefix("By faithfulness (judge alone): ")


def test_commands_in_notes_are_set_as_code() -> None:
    page = sy.report(weighing(labels_of()), measures=["faithfulness", "answer_recall"]).text("html", lang="en")
    assert "<code>steelyard review sample --table said</code>" in page
    assert "`" not in page.split("<script")[0]


def test_the_judge_card_counts_labels() -> None:
    sheet = judge_card(report().judging, read_words("en"), report().scores.corrections)
    assert sheet.rows[-1] == ["labels of people that correct means", "faithfulness 80", "faithfulness 80"]


def test_a_table_for_a_paper_has_corrected_means() -> None:
    latex = report().text("latex", lang="en")
    for system in "ab":
        mean = report().scores.corrections[system]["faithfulness"].mean.corrected.mean
        assert f"{mean:.4f}" in latex
    assert "corrected by labels of people where there are some: faithfulness" in latex
    for lang, note in (
        ("en", "By the judge alone, although labels of people correct means of some systems: faithfulness."),
        ("zh", "有些系统的均值可用人工标注校正，但这里仅按裁判：faithfulness。"),
    ):
        one_sided = sy.report(weighing(labels_of(names="a")), measures=["faithfulness"])
        assert note in one_sided.text("latex", lang=lang)
        assert note not in report().text("latex", lang=lang)
    assert "corrected" not in report(labelled=False).text("latex", lang="en")
