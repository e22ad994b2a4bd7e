"""Pictures of a bench: valid specs that show what its frames hold, as files and inside the page, in both languages."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from steelyard.bench.bench import Bench
from steelyard.reports.benching import BenchReport
from steelyard.reports.words import read_words
from tests.bench.benches import CONFIG, axes, load_bench, rerank_bench
from tests.reports.pages import check_nothing_acts

for _module in ("altair", "vl_convert"):
    pytest.importorskip(_module, reason="charts need the extra report")
from steelyard.reports.charts.bench import BENCH_CHARTS, draw_bench  # noqa: E402
from steelyard.reports.charts.bench_front import _Frame, _meet  # noqa: E402
from steelyard.reports.charts.plot import log_axis  # noqa: E402

EN = read_words("en")
HOSTILE = '<script>alert("1")</script> & "é"'


def drawn(bench: Bench, lang: str = "en") -> dict[str, dict[str, Any]]:
    """Specs that are held against the schema of Vega-Lite."""
    return {name: chart.to_dict() for name, chart in draw_bench(bench, words=read_words(lang)).items()}


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """All charts of a bench in English."""
    return drawn(rerank_bench(tmp_path_factory.mktemp("bench")))


def rows(spec: dict[str, Any], *fields: str) -> list[dict[str, Any]]:
    """The first data of a chart that have these fields."""
    for data in spec["datasets"].values():
        if data and set(fields) <= set(data[0]):
            return list(data)
    raise LookupError(f"no data with {fields}")


def hostile_bench(folder: Path) -> Bench:
    """A bench whose reranker has a name that would be code."""
    config = CONFIG | {"systems": {"bm25": {}, "words": {"rerank": "lexical"}, HOSTILE: {"rerank": "lexical"}}}
    named = {
        name: axis.with_columns(pl.col("system").replace("api", HOSTILE))
        for name, axis in axes().items()
        if "system" in axis.columns
    }
    bench = rerank_bench(folder, config=config, **named)
    bench.__dict__["requests"] = bench.requests.with_columns(pl.col("system").replace("api", HOSTILE))
    return bench


def test_every_chart_is_drawn_in_both_languages(specs: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    chinese = drawn(rerank_bench(tmp_path), "zh")
    assert list(specs) == list(chinese) == list(BENCH_CHARTS)
    for name, spec in chinese.items():
        assert spec["title"] != specs[name]["title"]
        assert spec["description"] != specs[name]["description"]


def test_quality_lies_between_base_and_ceiling(specs: dict[str, dict[str, Any]]) -> None:
    spec = specs["quality"]
    points = {(row["system"], row["depth"]): row for row in rows(spec, "system", "depth", "low")}
    assert points["api", 50]["value"] == 0.42
    assert (points["api", 50]["low"], points["api", 50]["high"]) == pytest.approx((0.395, 0.445))
    assert "api over 50: 0.420 of 0.620" in spec["description"]
    texts = [layer["mark"].get("text") for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    assert texts == ["base", "ceiling"]


def test_shares_leave_room_for_requests_without_an_answer(tmp_path: Path) -> None:
    bench = rerank_bench(tmp_path)
    points = [row for row in rows(drawn(bench)["shares"], "ms", "share", "system") if row["system"] == "api@50"]
    assert [row["share"] for row in points] == sorted(row["share"] for row in points)
    assert points[-1]["share"] == pytest.approx(117 / 120)
    times = bench.requests.filter(pl.col("system") == "api", pl.col("depth") == 50, pl.col("outcome") == "ok")
    longest = times.select((pl.col("end_s") - pl.col("intended_s")).max()).item()
    assert points[-1]["ms"] == pytest.approx(1000 * longest)


@pytest.mark.parametrize(("chart", "place"), [("quality", "depth"), ("load", "rate")])
def test_bars_of_systems_are_beside_each_other(specs: dict[str, dict[str, Any]], chart: str, place: str) -> None:
    points = rows(specs[chart], place, "at", "low")
    assert len({row["at"] for row in points}) == len({(row["system"], row[place]) for row in points})
    assert all(abs(math.log(row["at"] / row[place])) < 0.05 for row in points)


def test_load_shows_the_knee_and_the_objective(specs: dict[str, dict[str, Any]]) -> None:
    spec = specs["load"]
    knees = [data for data in spec["datasets"].values() if data and set(data[0]) == {"system", "rate", "at"}]
    assert [(knee["system"], knee["rate"], knee["at"]) for knee in knees[0]] == [
        ("words@50", 96.0, 96.0),
        ("api@50", 11.5, 11.5),
    ]
    points = [row for row in rows(spec, "rate", "ms", "low") if row["system"] == "api@50"]
    assert [row["rate"] for row in points] == [4.0, 8.0, 16.0, 32.0]
    assert "api@50 holds 11.5 a second" in spec["description"]


@pytest.mark.parametrize("values", [[2.0], [2.000001, 1.99999], [46, 71], [96, 104]])
def test_an_axis_has_two_ticks_at_least_in_places_of_their_own(values: list[float]) -> None:
    axis = log_axis(values)
    low, high = axis["scale"].domain
    ticks = [tick for tick in axis["axis"]["values"] if low <= tick <= high]
    assert len(ticks) >= 2
    assert low < min(values)
    assert high > max(values)


def test_levels_at_which_most_requests_fail_are_no_point(tmp_path: Path) -> None:
    latency = axes()["latency"].with_columns(p95=pl.when(pl.col("rate") == 32).then(math.inf).otherwise(pl.col("p95")))
    points = rows(drawn(rerank_bench(tmp_path, latency=latency))["load"], "rate", "ms", "low")
    assert {row["rate"] for row in points} == {4.0, 8.0, 16.0}


def test_the_front_has_error_bars_and_says_what_is_recommended(specs: dict[str, dict[str, Any]]) -> None:
    points = {row["label"]: row for row in rows(specs["front_latency"], "label", "kind")}
    assert {label: row["kind"] for label, row in points.items()} == {
        "words@10": "on the front",
        "words@50": "on the front",
        "api@10": "on the front",
        "api@50": "recommended",
    }
    of_costs = {row["label"]: row["kind"] for row in rows(specs["front_cost"], "label", "kind")}
    assert of_costs == {
        "words@10": "behind others",
        "words@50": "on the front",
        "api@10": "behind others",
        "api@50": "recommended",
    }
    best = points["api@50"]
    assert [best[end] for end in ("left", "x", "right")] == pytest.approx([279.0, 310.0, 341.0])
    assert [best[end] for end in ("low", "y", "high")] == pytest.approx([0.395, 0.42, 0.445])
    costs = {row["label"]: row["x"] for row in rows(specs["front_cost"], "label", "kind")}
    assert costs["api@50"] == pytest.approx(2.0)


def test_the_front_is_a_line_over_what_nothing_is_better_than_that_costs_no_more(specs: dict[str, Any]) -> None:
    (layer,) = [layer for layer in specs["front_cost"]["layer"] if layer["mark"]["type"] == "line"]
    steps = (
        specs["front_cost"]["datasets"][layer["data"]["name"]] if "name" in layer["data"] else layer["data"]["values"]
    )
    assert [step["label"] for step in steps] == ["words@50", "api@50", "api@50"]
    assert layer["mark"]["interpolate"] == "step-after"


def test_what_is_recommended_alone_has_a_ring_and_a_bold_label(specs: dict[str, dict[str, Any]]) -> None:
    for name in ("front_latency", "front_cost"):
        layers = [layer["mark"] for layer in specs[name]["layer"]]
        assert [mark["type"] for mark in layers if mark.get("size") == 520] == ["point"]
        assert [mark["fontWeight"] for mark in layers if "fontWeight" in mark] == ["normal", "bold"]


def test_no_label_lies_on_another_one_or_on_a_mark() -> None:
    """Of forty marks in a cloud; those for which there is no room have none, but the recommended one always has."""
    rng = np.random.default_rng(4)
    cloud = zip(np.exp(rng.normal(3, 1, 40)).tolist(), rng.normal(0.5, 0.1, 40).tolist(), strict=True)
    points = [
        {"label": f"reranker-{n}@{10 * n}", "x": x, "left": x, "right": x, "y": y, "low": y, "high": y,
         "recommended": n == 20}
        for n, (x, y) in enumerate(cloud)
    ]  # fmt: skip
    frame = _Frame.around(points, 0.4)
    placed = frame.labelled(points)
    assert 10 <= len(placed) < 40
    assert placed[0]["recommended"]
    boxes = [(p["at_x"], p["at_x"] + 7.6 * len(p["label"]), p["at_y"] - 7.5, p["at_y"] + 7.5) for p in placed]
    marks = [(x - 7, x + 7, y - 7, y + 7) for x, y in map(frame.at, points)]
    for n, box in enumerate(boxes):
        assert not any(_meet(box, other) for other in [*boxes[n + 1 :], *marks])


def test_a_system_has_one_colour_on_all_charts(tmp_path: Path) -> None:
    """Its place among the colours is that of the configuration, even where another system is not drawn."""
    costs = axes()["costs"].filter(system="api")
    charts = drawn(rerank_bench(tmp_path, costs=costs))
    places = {}
    for name, spec in charts.items():
        scales = [layer["encoding"]["color"] for layer in spec["layer"] if "color" in layer["encoding"]]
        for system in ("words", "api"):
            domains = [enumerate(scale["scale"]["domain"]) for scale in scales]
            places[name, system] = {place for domain in domains for place, of in domain if of.split("@")[0] == system}
    assert {name for name, _ in places} == {"quality", "shares", "load", "costs", "front_latency", "front_cost"}
    assert all(place == {1} for (_, system), place in places.items() if system == "api")
    assert places["costs", "words"] == set()


def test_costs_of_a_day_rise_by_use_and_by_machines(specs: dict[str, dict[str, Any]]) -> None:
    lines = rows(specs["costs"], "queries", "per_day")
    by_use = {round(row["queries"]): row["per_day"] for row in lines if row["system"] == "api@50"}
    assert by_use[100_000] == pytest.approx(200.0)
    machines = [row["per_day"] for row in lines if row["system"] == "words@50"]
    assert sorted(set(machines)) == pytest.approx([331.776, 663.552])


def test_what_is_not_there_is_not_drawn(tmp_path: Path) -> None:
    assert list(drawn(load_bench(tmp_path))) == ["shares", "load"]
    priceless = rerank_bench(tmp_path, costs=axes()["costs"].clear(), choice=axes()["choice"].clear())
    assert list(drawn(priceless)) == ["quality", "shares", "load"]


def test_requests_that_all_fail_are_no_curve(tmp_path: Path) -> None:
    failed = rerank_bench(tmp_path).requests.with_columns(outcome=pl.lit("error"))
    assert "shares" not in drawn(rerank_bench(tmp_path, requests=failed))


def test_charts_are_saved_as_files(tmp_path: Path) -> None:
    paths = BenchReport(load_bench(tmp_path)).save_charts(tmp_path / "charts", lang="zh", formats=["png"])
    assert [path.name for path in paths] == ["shares.png", "load.png"]
    assert all(path.stat().st_size > 5_000 for path in paths)


# The page ----------------------------------------------------------------------------------------------------------


def test_ids_of_drawings_are_their_own_and_names_are_text(tmp_path: Path) -> None:
    page = BenchReport(hostile_bench(tmp_path)).text("html", lang="en")
    check_nothing_acts(page)
    assert page.count("&lt;script&gt;alert(") > 10
    for shown in re.split("</?template", page)[:2]:
        ids = re.findall(r'\bid="([^"]+)"', shown)
        assert len(ids) == len(set(ids)) > 20
        assert set(re.findall(r"url\(#([^)]+)\)", shown)) <= set(ids)
        for svg in re.findall(r"<svg.*?</svg>", shown, flags=re.S):
            ElementTree.fromstring(svg)


def test_names_are_text_in_the_page_of_a_load_test(tmp_path: Path) -> None:
    page = BenchReport(load_bench(tmp_path, system=HOSTILE)).text("html", lang="zh")
    check_nothing_acts(page)
    assert page.count("&lt;script&gt;alert(") > 3
