"""Reports over questions of which none has gold say so, and draw nothing from it."""

import json
import re

import pytest

import steelyard as sy
from steelyard.experiment.door.evaluation import weigh
from steelyard.reports.charts.drawing import draw_charts
from steelyard.reports.page.leaderboard import leaderboard_table
from steelyard.reports.page.tables import ratings_table
from steelyard.reports.report import Report
from steelyard.reports.words import read_words

IDS = [f"q{i:02}" for i in range(15)]
RUNS = {name: {q: [f"{name}{i}" for i in range(6)] for q in IDS} for name in ("one", "two")}
OF_VALUES = ("distribution", "scatter", "heatmap", "funnel", "ceilings", "curves", "differences")


def report(*measures: str, gain: int = 0, systems: int = 2) -> Report:
    runs = dict(list(RUNS.items())[:systems])
    return sy.report(weigh({q: {"one0": gain} for q in IDS}, runs), measures=measures, date="2026-11-23")


@pytest.mark.parametrize("systems", [1, 2])
@pytest.mark.parametrize(
    ("lang", "headline", "leaderboard"),
    [
        ("en", "Nothing was measured: none of the 15 questions has gold for recall@5.",
         "recall@5, mrr: not measured, as none of the 15 questions has gold for it."),
        ("zh", "未测得任何结果：15 个问题都没有 recall@5 所需的标准证据或答案。",
         "recall@5、mrr：未测得，因为 15 个问题都没有"),
    ],
)  # fmt: skip
def test_every_format_says_that_nothing_was_measured(lang: str, headline: str, leaderboard: str, systems: int) -> None:
    bare = report("recall@5", "mrr", systems=systems)
    assert bare.comparison is None
    for format in ("table", "markdown", "html"):
        text = bare.text(format, lang=lang)
        assert headline in text
        assert leaderboard in text
        visible = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert not re.search(r"\b0\.0000?\b|\bnan\b", visible)
    assert [write(bare, read_words(lang)).rows for write in (leaderboard_table, ratings_table)] == [[], []]
    assert json.loads(bare.text("json"))["scores"]["systems"]["one"]["metrics"] == {"recall@5": None, "mrr": None}
    for format in ("latex", "csv"):
        assert "nan" not in bare.text(format, lang=lang)


def test_charts_of_values_that_there_are_not_are_left_out() -> None:
    words = read_words("en")
    assert not set(OF_VALUES) & draw_charts(report("recall@5", "mrr"), words=words).keys()
    mixed = draw_charts(report("recall@5", "judged@5"), words=words).keys()
    assert set(OF_VALUES) & mixed == {"distribution"}
    assert set(OF_VALUES) <= {*draw_charts(report("recall@5", gain=1), words=words), "ceilings", "heatmap"}


def test_a_secondary_measure_without_gold_is_left_out_of_the_comparison() -> None:
    both = report("judged@5", "recall@5", "unjudged@5")
    assert both.comparison is not None
    assert [str(measure) for measure in both.comparison.measures] == ["judged@5", "unjudged@5"]
    page = both.text("html", lang="en")
    specs = set(re.findall(r'"(differences/\d)"', page))
    assert specs <= {"differences/0", "differences/1"}
    assert "Not compared by recall@5: none of the 15 questions has gold for it." in page
    assert both.text("latex", lang="en")
