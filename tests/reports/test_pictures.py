"""Pictures of results: the numbers that they show, where these are in the drawing, and that no name in them can act."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import steelyard as sy
from steelyard.reports.html.pictures import MOST, picture_html
from steelyard.reports.views.agreement import agreement_picture
from steelyard.reports.views.comparison import comparison_picture
from steelyard.reports.views.diagnosis import diagnosis_picture
from steelyard.reports.views.gate import gate_picture
from steelyard.reports.views.picture import Course, Intervals, Mark, Part, Picture, Shares
from steelyard.reports.views.ratings import ratings_picture
from steelyard.reports.views.scores import scores_picture
from steelyard.reports.views.view import view_of
from steelyard.reports.words import read_words
from tests.gates.stated import stated
from tests.reports.pages import check_nothing_loads
from tests.reports.reports import EVIL
from tests.test_results import MADE

EN = read_words("en")
RNG = np.random.default_rng(3)
TRUTH = {f"q{n}": {f"d{n}": 1} for n in range(40)}
RUNS = {
    name: {q: ["x"] * (RNG.random() > share) + list(gold) for q, gold in TRUTH.items()}
    for name, share in (("bm25", 0.3), ("dense", 0.5), ("hybrid", 0.9))
}


def drawn(picture: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(picture_html(picture))


def texts(figure: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in figure.iter("text")]


def scale(figure: ElementTree.Element) -> dict[str, float]:
    """What is written along the axis, and where."""
    last = max(float(text.attrib["y"]) for text in figure.iter("text"))
    return {text.text or "": float(text.attrib["x"]) for text in figure.iter("text") if text.attrib["y"] == f"{last:g}"}


def test_marks_are_where_the_axis_says() -> None:
    marks = [
        Mark(f"s{n}", value, value - 0.1, value + 0.05, f"{value:.2f}") for n, value in enumerate((0.31, 0.5, 0.87))
    ]
    figure = drawn(Intervals("t", "d", marks))
    (low, at_low), *_, (high, at_high) = scale(figure).items()
    unit = (at_high - at_low) / (float(high) - float(low))
    circles = [float(circle.attrib["cx"]) for circle in figure.iter("circle")]
    assert circles == pytest.approx([at_low + (mark.value - float(low)) * unit for mark in marks], abs=0.2)
    lines = [path.attrib["d"] for path in figure.iter("path") if path.attrib.get("stroke-width")]
    ends = [tuple(map(float, re.findall(r"[MH]([\d.]+)", line))) for line in lines]
    wanted = [at_low + (end - float(low)) * unit for mark in marks for end in (mark.low, mark.high)]
    assert [end for pair in ends for end in pair] == pytest.approx(wanted, abs=0.2)


def test_what_has_no_number_is_not_drawn_and_what_is_endless_ends_with_the_axis() -> None:
    bare, endless = Mark("bare", 0.5, math.nan, math.nan, "0.5"), Mark("endless", 0.6, 0.4, math.inf, "0.6")
    figure = drawn(Intervals("t", "d", [bare, endless, Mark("none", math.nan, math.nan, math.nan, "–")]))
    assert len(list(figure.iter("circle"))) == 2
    (line,) = [path.attrib["d"] for path in figure.iter("path") if path.attrib.get("stroke-width")]
    assert float(line.rpartition("H")[2]) > max(float(circle.attrib["cx"]) for circle in figure.iter("circle"))
    assert texts(figure)[-1] == "–"


def test_a_limit_of_a_row_is_marked_on_the_axis() -> None:
    marks = [Mark("a", 1.0, 0.5, 1.5, "1", limit=3.0), Mark("b", 2.0, math.nan, math.nan, "2")]
    figure = drawn(Intervals("t", "d", marks))
    (low, at_low), *_, (high, at_high) = scale(figure).items()
    (limit,) = [path.attrib["d"] for path in figure.iter("path") if path.attrib.get("stroke-dasharray")]
    wanted = at_low + (3.0 - float(low)) * (at_high - at_low) / (float(high) - float(low))
    assert float(re.findall(r"M([\d.]+)", limit)[0]) == pytest.approx(wanted, abs=0.2)


@pytest.mark.parametrize("joined", [True, False])
def test_values_one_after_another_are_where_the_axis_says(joined: bool) -> None:
    values = [0.5, 0.1, 0.9, math.nan, 0.3]
    points = [Mark(f"day {n}", value, value - 0.2, value + 0.1, str(value)) for n, value in enumerate(values)]
    figure = drawn(Course("t", "d", points, line=0.0, scale="differences", joined=joined))
    labels = [text for text in figure.iter("text") if text.attrib["text-anchor"] == "end"]
    ticks = {float((text.text or "").replace("−", "-")): float(text.attrib["y"]) - 4 for text in labels}
    (low, at_low), *_, (high, at_high) = ticks.items()
    circles = [(float(own.attrib["cx"]), float(own.attrib["cy"])) for own in figure.iter("circle")]
    wanted = [at_low + (value - low) * (at_high - at_low) / (high - low) for value in values if not math.isnan(value)]
    assert [y for _, y in circles] == pytest.approx(wanted, abs=0.3)
    assert [x for x, _ in circles] == sorted(x for x, _ in circles)
    bands = [path.attrib["d"] for path in figure.iter("path") if path.attrib.get("opacity") == "0.25"]
    bars = [path.attrib["d"] for path in figure.iter("path") if path.attrib.get("stroke-width") == "3"]
    assert [band.count("L") + 1 for band in bands] == ([6, 2] if joined else [])
    assert len(bars) == (0 if joined else 4)


def test_only_as_many_names_are_written_below_as_there_is_room_for() -> None:
    points = [Mark(f"2026-10-{n:02}", n, n, n, "") for n in range(90)]
    figure = drawn(Course("t", "d", points))
    x = [float(text.attrib["x"]) for text in figure.iter("text") if text.attrib["text-anchor"] == "middle"]
    assert 2 < len(x) < 12
    assert min(b - a for a, b in itertools.pairwise(x)) > 70
    assert max(x) < 640 - 35


def test_equal_values_and_no_values_have_an_axis() -> None:
    same = Intervals("t", "d", [Mark("a", 0.0, 0.0, 0.0, "0"), Mark("b", 0.0, 0.0, 0.0, "0")])
    for picture in (same, Intervals("t", "d", [Mark("a", math.nan, math.nan, math.nan, "–")])):
        assert len(scale(drawn(picture))) >= 2


def test_long_names_and_many_rows_are_cut() -> None:
    marks = [Mark(f"{'a long name ' * 9}{n}", n / 100, math.nan, math.nan, str(n)) for n in range(99)]
    figure = drawn(Intervals("t", "d", marks))
    assert len(list(figure.iter("circle"))) == MOST
    names = [text for text in texts(figure) if text.startswith("a long")]
    assert {len(name) < 40 and name.endswith("…") for name in names} == {True}
    assert marks[0].name in ElementTree.tostring(figure, encoding="unicode")


def test_bars_are_as_long_as_their_shares() -> None:
    red, blue, none = (Part(name, n, colour, "#ffffff") for name, n, colour in (("red", 1, "#a00"), ("blue", 3, "#00a"),
                                                                               ("none", 0, "#000")))  # fmt: skip
    figure = drawn(Shares("t", "d", [("a", [red, blue, none]), ("empty", [none])]))
    bars = [rect.attrib for rect in figure.iter("rect") if rect.attrib.get("x")]
    assert [bar["fill"] for bar in bars] == ["#a00", "#00a"]
    assert float(bars[1]["width"]) == pytest.approx(3 * float(bars[0]["width"]), abs=0.2)
    assert float(bars[1]["x"]) + float(bars[1]["width"]) == pytest.approx(640, abs=0.2)
    assert "25%" in texts(figure)
    assert [span.find("svg").tail.strip() for span in figure.iter("span")] == ["red", "blue"]  # type: ignore[union-attr]


def test_scores_show_the_first_measure_best_first_and_of_one_system_all_measures() -> None:
    scores = sy.evaluate(TRUTH, RUNS, ["mrr", "hit_rate@1"])
    several = scores_picture(scores, EN)
    assert several is not None
    assert [mark.name for mark in several.marks] == ["hybrid", "dense", "bm25"]
    rows = {row["system"]: row for row in scores.mean().filter(measure="mrr").to_dicts()}
    for mark in several.marks:
        row = rows[mark.name]
        assert (mark.value, mark.low, mark.high) == (row["mean"], row["low"], row["high"])
    one = scores_picture(scores.filter(systems="bm25"), EN)
    assert one is not None
    assert [mark.name for mark in one.marks] == ["mrr", "hit_rate@1"]
    assert scores_picture(scores.filter(systems="bm25", measures="mrr"), EN) is None


def test_a_comparison_shows_its_differences_verdicts_and_margin() -> None:
    comparison = sy.compare(TRUTH, RUNS, "mrr", baseline="bm25", margin=0.02)
    picture = comparison_picture(comparison, EN)
    assert picture is not None
    assert (picture.line, picture.band) == (0.0, (-0.02, 0.02))
    kinds = {mark.name: (mark.value, mark.kind) for mark in picture.marks}
    rows = {row.system: row for row in comparison.rows["mrr"] if not row.is_reference}
    assert kinds == {
        name: (row.difference, row.verdict if row.verdict in ("better", "worse") else "unclear")
        for name, row in rows.items()
    }
    assert kinds["hybrid"][1] == "better"
    assert len(list(drawn(picture).iter("rect"))) == 1
    assert "hybrid +0." in picture.description


def test_a_diagnosis_shows_the_counts_of_its_funnels() -> None:
    diagnosis = sy.diagnose(TRUTH, RUNS, k=1)
    picture = diagnosis_picture(diagnosis, EN)
    for (name, parts), funnel in zip(picture.bars, diagnosis.funnels, strict=True):
        assert name == funnel.system
        assert sum(part.n for part in parts) == funnel.n_queries
        assert {part.name: part.n for part in parts}["found"] == funnel.counts()["found"]


@pytest.mark.parametrize(("measure", "numbers"), [("recall@5", {}), ("precision@5", {})])
def test_what_passes_a_gate_is_right_of_the_line(measure: str, numbers: dict[str, float]) -> None:
    low, good = (0.1, 0.05, 0.15), (0.95, 0.9, 0.99)
    fine = {"recall@5": good, "precision@5": good, "mrr": good}
    for interval, kind in ((good, "better"), (low, "worse"), ((0.65, 0.2, 0.95), "unclear")):
        picture = gate_picture(sy.gate(stated({**fine, measure: interval}), profile="production"), EN)
        assert picture is not None
        mark = next(mark for mark in picture.marks if mark.name == measure)
        assert mark.kind == kind
        assert (mark.low >= 0, mark.high < 0) == (kind == "better", kind == "worse")


def test_limits_from_above_and_margins_pass_on_the_right_too() -> None:
    gate = sy.gate(TRUTH, RUNS, measures=["mrr"], baseline="bm25", margin=0.05, max_missing=0.1)
    picture = gate_picture(gate, EN)
    assert picture is not None
    checks = [check for check in gate.checks if math.isfinite(check.value)]
    assert {check.kind for check in checks} == {"baseline", "share"}
    for check, mark in zip(checks, picture.marks, strict=True):
        least = mark.value if math.isnan(mark.low) else mark.low
        assert (least >= 0) == (check.outcome == "pass"), check
    assert all(abs(mark.value) <= 1 for mark in picture.marks)


def test_an_agreement_shows_kappa_of_each_pair() -> None:
    labels = {
        rater: {f"i{n}": int(RNG.random() < 0.5 + place / 9) for n in range(30)} for place, rater in enumerate("abc")
    }
    agreement = sy.agreement(labels, n_resamples=50)
    picture = agreement_picture(agreement, EN)
    assert picture is not None
    assert [(mark.name, mark.value) for mark in picture.marks] == [
        (f"{pair.rater} – {pair.against}", pair.estimates["kappa"].value) for pair in agreement.pairs
    ]
    few = {rater: {"i": 1, "j": 0} for rater in "ab"}
    assert agreement_picture(sy.agreement(few, n_resamples=50), EN) is None


def test_ratings_show_the_level_of_each_value() -> None:
    ratings = sy.rate(sy.evaluate(TRUTH, RUNS, ["mrr", "ndcg@10"]), "ratings")
    picture = ratings_picture(ratings, EN)
    assert picture is not None
    for mark, rating in zip(picture.marks, ratings, strict=True):
        assert (mark.name, mark.value) == (f"{rating.system}: {rating.measure}", rating.value)
        assert mark.text.endswith(str(rating.level))


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", MADE)
def test_every_picture_is_drawn(name: str, lang: str, tmp_path: Path) -> None:
    result = MADE[name](tmp_path)
    view = view_of(type(result))
    if view.picture is None or (picture := view.picture(result, read_words(lang))) is None:
        pytest.skip("no picture helps")
    figure = drawn(picture)
    svg = figure.find("svg")
    assert svg is not None
    assert svg.attrib["role"] == "img"
    names = (
        [mark.name for mark in picture.marks] if isinstance(picture, Intervals) else [own for own, _ in picture.bars]
    )
    assert all(name in svg.attrib["aria-label"] for name in names)
    assert not {"script", "style", "image", "a"} & {element.tag for element in figure.iter()}


def test_names_cannot_act() -> None:
    runs = {f"{EVIL}{n}": run for n, run in enumerate(RUNS.values())}
    for result in (
        sy.evaluate(TRUTH, runs, ["mrr", "hit_rate@1"]), sy.compare(TRUTH, runs, "mrr"), sy.diagnose(TRUTH, runs),
        sy.gate(TRUTH, runs, measures=["mrr"], profile="ratings"), sy.report(TRUTH, runs),
    ):  # fmt: skip
        page = check_nothing_loads(result._repr_html_())
        assert not page.scripts
        assert "alert(1)" in result._repr_html_()  # As text.
