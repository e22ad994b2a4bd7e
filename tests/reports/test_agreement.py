"""Pictures of agreement: valid specs, whose rows are counted from the labels."""

from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.reports.charts.agreement import draw_agreement
from steelyard.reports.words import read_words
from steelyard.stats.labels.raters import wilson_interval

pytest.importorskip("altair", reason="charts need the extra report")

RNG = np.random.default_rng(2)
TRUTH = RNG.integers(0, 3, 90)
JUDGED = np.where(RNG.random(90) < 0.6, TRUTH, RNG.integers(0, 3, 90))
SCORES = TRUTH / 3 + RNG.random(90) / 2


def labels(**raters: Any) -> dict[str, dict[str, Any]]:
    return {name: {f"i{n}": value for n, value in enumerate(row.tolist())} for name, row in raters.items()}


def drawn(*, lang: str = "en", **options: Any) -> dict[str, dict[str, Any]]:
    agreement = sy.agreement(options.pop("data", labels(human=TRUTH, judge=JUDGED)), **options)
    return {name: chart.to_dict() for name, chart in draw_agreement(agreement, words=read_words(lang)).items()}


def rows(spec: dict[str, Any], layer: int) -> list[dict[str, Any]]:
    data = spec["layer"][layer].get("data") or spec["data"]
    return list(data["values"] if "values" in data else spec["datasets"][data["name"]])


def test_confusion_counts_labels() -> None:
    spec = drawn(reference="human")["confusion"]
    counts = {(row["true"], row["said"]): row["items"] for row in rows(spec, 0)}
    assert counts["2", "1"] == np.sum((TRUTH == 2) & (JUDGED == 1))
    assert sum(counts.values()) == 90
    assert f"the same for {np.sum(TRUTH == JUDGED)} of 90 items" in spec["description"]


def test_reliability_is_what_the_reference_says_of_a_label() -> None:
    share = {row["label"]: row for row in rows(drawn(reference="human", min_gain=1)["reliability"], 0)}
    positive = TRUTH[JUDGED == 2] >= 1
    assert share[2]["value"] == pytest.approx(positive.mean())
    assert (share[2]["low"], share[2]["high"]) == pytest.approx(wilson_interval(int(positive.sum()), len(positive)))
    mean = {row["label"]: row for row in rows(drawn(reference="human")["reliability"], 0)}
    assert mean[2]["value"] == pytest.approx(TRUTH[JUDGED == 2].mean())


def test_scores_are_drawn_by_tenths() -> None:
    points = rows(drawn(data=labels(human=TRUTH, judge=SCORES), reference="human", min_gain=1)["reliability"], 0)
    assert len(points) == 10
    assert sum(row["items"] for row in points) == 90
    assert points[0]["label"] == pytest.approx(np.sort(SCORES)[:9].mean())
    assert points[-1]["value"] > points[0]["value"]


def test_nothing_is_drawn_of_what_is_not_there() -> None:
    assert set(drawn(data=labels(a=TRUTH, b=JUDGED, c=JUDGED))) == {"confusion"}
    words = {
        name: {item: "xyz"[label] for item, label in row.items()} for name, row in labels(a=TRUTH, b=JUDGED).items()
    }
    assert set(drawn(data=words)) == {"confusion"}
    assert set(drawn(data=words, categories="x,y,z", min_gain="y")) == {"confusion", "reliability"}
    assert drawn(data={"a": {"i": 1}, "b": {"j": 1}}) == {}


def test_pictures_speak_chinese() -> None:
    for spec in drawn(reference="human", min_gain=1, lang="zh").values():
        assert any("\u4e00" <= character <= "\u9fff" for character in spec["title"])
