"""Charts: valid specs whose rows are the numbers of the report, in both languages, and files of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.experiment.door.evaluation import weigh
from steelyard.measures import parse
from steelyard.reports.charts.drawing import curve_measures, draw_charts, scatter_pair
from steelyard.reports.charts.plot import theme
from steelyard.reports.charts.shares import value_classes
from steelyard.reports.details.limits import widest_questions
from steelyard.reports.report import Report
from steelyard.reports.words import read_words
from tests.reports.reports import ids_report, texts_report

pytest.importorskip("altair", reason="charts need the extra report")
NAMES = ["leaderboard", "differences", "curves", "distribution", "scatter", "funnel", "ceilings", "heatmap", "outcomes"]


@pytest.fixture(scope="module")
def report() -> Report:
    return texts_report(baseline="first")


@pytest.fixture(scope="module")
def specs(report: Report) -> dict[str, dict[str, Any]]:
    return {name: chart.to_dict() for name, chart in draw_charts(report, words=read_words("en")).items()}


def rows(spec: dict[str, Any], layer: int | None = None) -> list[dict[str, Any]]:
    """The data of a chart, or of one of its layers."""
    data = (spec if layer is None else spec["layer"][layer]).get("data") or spec["data"]
    if "values" in data:
        return list(data["values"])
    return list(spec["datasets"][data["name"]])


def test_every_chart_is_there_and_valid(specs: dict[str, dict[str, Any]]) -> None:
    """`to_dict` holds a chart against the schema of Vega-Lite."""
    assert sorted(specs) == sorted(NAMES)
    assert all(spec["description"] and spec["title"] for spec in specs.values())


def test_charts_speak_chinese(report: Report) -> None:
    english = {name: chart.to_dict() for name, chart in draw_charts(report, words=read_words("en")).items()}
    for name, chart in draw_charts(report, words=read_words("zh")).items():
        spec = chart.to_dict()
        assert any("\u4e00" <= c <= "\u9fff" for c in spec["title"]), name
        assert spec["description"] != english[name]["description"]


def test_the_leaderboard_has_means_and_intervals_best_first(report: Report, specs: dict[str, Any]) -> None:
    found, scores = rows(specs["leaderboard"], 1), report.scores
    assert [row["mean"] for row in found] == sorted((row["mean"] for row in found), reverse=True)
    for row in found:
        i = list(scores.systems).index(row["system"])
        assert (row["mean"], row["low"]) == (scores.means[i, 0], scores.intervals.low[i, 0])


def test_differences_are_those_of_the_comparison_around_zero(report: Report, specs: dict[str, Any]) -> None:
    assert report.comparison is not None
    compared = [row for row in report.comparison.rows["ndcg@3"] if row.verdict != "baseline"]
    drawn = rows(specs["differences"], 2)
    assert [(row["system"], row["difference"], row["low"], row["high"]) for row in drawn] == [
        (row.system, row.difference, row.low, row.high) for row in compared
    ]
    assert rows(specs["differences"], 0) == [{"zero": 0}]
    assert "second" in specs["differences"]["description"]
    with_margin = draw_charts(texts_report(baseline="first", margin=0.05), words=read_words("en"))[
        "differences"
    ].to_dict()
    assert rows(with_margin, 0) == [{"from": -0.05, "to": 0.05}]


def test_better_and_worse_differ_in_colour_and_shape() -> None:
    truth = {f"q{i}": {"a": 1} for i in range(30)}
    runs = {
        name: dict.fromkeys(truth, order)
        for name, order in (("middle", ["x", "a"]), ("good", ["a", "x"]), ("bad", ["x", "y", "a"]))
    }
    for i, q in enumerate(truth):
        runs["good"][q] = ["a", "x"] if i % 5 else ["x", "a"]
        runs["bad"][q] = ["x", "y", "a"] if i % 5 else ["x", "a"]
    spec = draw_charts(sy.report(weigh(truth, runs), measures="mrr", baseline="middle"), words=read_words("en"))[
        "differences"
    ].to_dict()
    assert {row["system"]: row["kind"] for row in rows(spec, 2)} == {"good": "better", "bad": "worse"}
    for channel in ("color", "shape"):
        scale = spec["layer"][2]["encoding"][channel]["scale"]
        assert scale["domain"] == ["better", "worse"]
        assert len(set(scale["range"])) == 2


def test_shares_of_a_bar_are_counts_of_questions(report: Report, specs: dict[str, Any]) -> None:
    for name, one in (("distribution", None), ("funnel", report.diagnosis.funnels)):
        found = rows(specs[name], 0)
        for i, system in enumerate(report.scores.systems):
            own = [row for row in found if row["system"] == system]
            assert sum(row["n"] for row in own) == len(report.scores.query_ids)
            assert (own[0]["from"], own[-1]["to"]) == (0, 1)
            if one is not None:
                assert sorted(row["n"] for row in own) == sorted(n for n in one[i].counts().values() if n)


def test_points_are_questions(report: Report, specs: dict[str, Any]) -> None:
    pair = scatter_pair(report)
    assert pair is not None
    x, y = (report.scores.values[i, 0] for i in pair)
    wanted: dict[tuple[float, float], int] = {}
    for point in zip(np.round(x, 3).tolist(), np.round(y, 3).tolist(), strict=True):
        wanted[point] = wanted.get(point, 0) + 1
    assert {(row["x"], row["y"]): row["n"] for row in rows(specs["scatter"], 1)} == wanted
    assert report.comparison is not None
    assert report.scores.systems[pair[0]] == report.comparison.baseline


def test_the_heat_map_has_the_questions_with_the_largest_spread() -> None:
    report = ids_report(3)
    values = report.scores.values[:, 0]
    chosen, spread = widest_questions(report.scores.values[:, 0]), np.ptp(values, axis=0)
    assert sorted(spread[chosen].tolist()) == sorted(spread.tolist())[-len(chosen) :]
    assert (np.diff(values[:, chosen].mean(axis=0)) <= 1e-12).all()
    cells = rows(draw_charts(report, words=read_words("en"))["heatmap"].to_dict())
    assert {(row["system"], row["q"]): row["value"] for row in cells} == {
        (system, q): values[i, q] for i, system in enumerate(report.scores.systems) for q in chosen.tolist()
    }


@given(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]) | st.just(np.nan)))
def test_a_share_stands_in_the_class_that_names_it(values: list[float]) -> None:
    names, of = value_classes(np.array(values), parse("recall@5"))
    for value, place in zip(values, of.tolist(), strict=True):
        if np.isnan(value):
            assert place == -1
        elif value in (0.0, 1.0):
            assert names[place] == f"{value:g}"
        else:
            low, high = map(float, names[place].split("–"))
            assert low <= value < high


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_other_measures_have_six_classes(values: list[float]) -> None:
    names, of = value_classes(np.array(values), parse("dcg"))
    assert len(names) == 6
    assert of.min() >= 0
    assert of.max() <= 5
    assert of[int(np.argmin(values))] <= of[int(np.argmax(values))]


def test_one_system_has_nothing_to_be_held_against() -> None:
    made = draw_charts(ids_report(1), words=read_words("en"))
    assert not {"scatter", "heatmap"} & made.keys()
    assert {"leaderboard", "distribution", "funnel"} <= made.keys()


def test_of_many_systems_the_best_have_colours() -> None:
    spec = draw_charts(ids_report(8), words=read_words("en"))["curves"].to_dict()
    domain = spec["layer"][-1]["encoding"]["color"]["scale"]["domain"]
    assert len(domain) == 7
    assert domain[-1] == "others"
    assert "system-0" in domain
    for dark in (False, True):
        colours = theme(dark=dark)["range"]["category"]
        assert len(set(colours)) == len(domain)


def test_curves_begin_with_recall() -> None:
    """By any other measure more results may look worse, which is not what is asked."""
    assert curve_measures(ids_report(2))[:2] == ["recall", "ndcg"]


def test_light_and_dark_differ_in_nothing_but_colours() -> None:
    light, dark = theme(dark=False), theme(dark=True)
    assert light != dark
    assert [part.keys() if isinstance(part, dict) else part for part in light.values()] == [
        part.keys() if isinstance(part, dict) else part for part in dark.values()
    ]


def test_charts_are_saved(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="saving charts needs the extra report")
    svg = report.save_charts(tmp_path / "new" / "charts", lang="zh", formats=("svg",))
    assert sorted(path.stem for path in svg) == sorted(NAMES)
    assert all(path.read_text("utf-8").startswith("<svg") for path in svg)
    png = ids_report(1).save_charts(tmp_path, lang="en", formats=("png",))
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in png)


def test_charts_that_cannot_be_saved(report: Report, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="saving charts needs the extra report")
    with pytest.raises(InputError, match=r"not written as gif; there are svg and png"):
        report.save_charts(tmp_path, lang="en", formats=("gif",))
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match=r"cannot be written .*; name another folder"):
        report.save_charts(tmp_path / "file", lang="en", formats=("svg",))
