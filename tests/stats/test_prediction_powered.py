"""Means corrected by labels: against the formulas of PPI++, against plain means, and what their intervals promise."""

import dataclasses
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from steelyard.stats.intervals.means import mean_intervals
from steelyard.stats.labels.prediction_powered import LEAST_OF_PART, CorrectedMean, corrected_mean, corrected_part
from steelyard.stats.labels.thresholds import choose_threshold

labels = pytest.importorskip("benchmarks.simulated.labels")

Floats = npt.NDArray[np.float64]
SURE = 0.015
"""Two standard errors of a coverage of 94% in 1,000 worlds."""
SETTINGS = [
    labels.Setting(n_questions, n_units, judge, n_labels, stratified)
    for n_questions, n_units, n_labels in ((100, 1, 50), (100, 4, 200), (2000, 1, 50), (2000, 1, 500), (2000, 4, 200))
    for judge in labels.JUDGES
    for stratified in (False, True)
]


def world(n: int, n_labels: int, seed: int = 1) -> tuple[Floats, Floats, Floats]:
    """Judged, people of all, and labels of some; one unit a question."""
    rng = np.random.default_rng(seed)
    people = (rng.random(n) < 0.7).astype(float)
    judged = np.where(rng.random(n) < 0.2, 1 - people, people)
    drawn = np.full(n, np.nan)
    units = rng.choice(n, n_labels, replace=False)
    drawn[units] = people[units]
    return judged, people, drawn


def corrected(judged: Floats, drawn: Floats, stratum: npt.NDArray[np.int64] | None = None) -> CorrectedMean:
    n = len(judged)
    return corrected_mean(np.arange(n), judged, drawn, np.zeros(n, np.int64) if stratum is None else stratum, n)


@pytest.mark.parametrize(("n", "n_labels"), [(400, 100), (2000, 200), (2000, 1000)])
def test_against_the_formulas_of_ppi(n: int, n_labels: int) -> None:
    judged, _, drawn = world(n, n_labels)
    result = corrected(judged, drawn)
    there = ~np.isnan(drawn)
    f, y, others = judged[there], drawn[there], judged[~there]
    n_others = n - n_labels
    weight = np.cov(y, f)[0, 1] / ((1 + n_labels / n_others) * f.var(ddof=1))
    mean = weight * others.mean() + (y - weight * f).mean()
    variance = weight**2 * others.var(ddof=1) / n_others + (y - weight * f).var(ddof=1) / n_labels
    assert weight == pytest.approx(result.weight * n_others / n)
    assert result.corrected.mean == pytest.approx(mean, abs=1e-12)
    assert result.corrected.error == pytest.approx(math.sqrt(variance), rel=0.03)
    assert result.worth == pytest.approx(y.var(ddof=1) / variance, rel=0.08)


def test_labels_of_everything_are_a_plain_mean() -> None:
    judged, people, _ = world(60, 10)
    result = corrected(judged, people)
    ends = mean_intervals(people[:, None], bounds=(0, 1))
    assert result.corrected.values == pytest.approx(people)
    assert (result.corrected.mean, result.corrected.df) == (pytest.approx(people.mean()), pytest.approx(59))
    assert [result.corrected.low, result.corrected.high] == pytest.approx([ends.low[0], ends.high[0]])
    assert result.worth == 60


def test_units_count_within_their_question() -> None:
    owner = np.array([0, 0, 0, 1, 2, 2])
    people = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    result = corrected_mean(owner, people, people, np.zeros(6, np.int64), 4)
    assert result.people.mean == result.corrected.mean == pytest.approx((1 / 3 + 1 + 1) / 3)
    assert np.isnan(result.corrected.values).tolist() == [False, False, False, True]


def test_the_mean_of_the_pseudo_values_is_that_of_each_stratum_by_its_share() -> None:
    judged, _, drawn = world(300, 40)
    stratum = np.repeat([0, 1, 2], [100, 150, 50])
    shares = [np.nanmean(drawn[stratum == s]) * (stratum == s).mean() for s in range(3)]
    result = corrected(judged, drawn, stratum)
    assert result.people.mean == pytest.approx(sum(shares))
    assert np.mean(result.corrected.values) == pytest.approx(result.corrected.mean)


def test_a_stratum_without_labels_goes_with_its_neighbour() -> None:
    judged, _, drawn = world(300, 60)
    two, three = np.repeat([0, 1], [100, 200]), np.repeat([0, 1, 2], [100, 150, 50])
    drawn[250:] = np.nan
    assert corrected(judged, drawn, two).corrected.mean == corrected(judged, drawn, three).corrected.mean


def in_strata_of_the_judge(seed: int, judge: str) -> CorrectedMean:
    """Labels within strata of a judge's score, more of the lowest; questions have one to seven units."""
    rng = np.random.default_rng(seed)
    owner, people, judged, score = labels.Setting(150, 4, judge, 0, True).world(rng)
    stratum = np.argsort(np.argsort(score)) * 4 // len(owner)
    drawn = np.full(len(owner), np.nan)
    for place, size in enumerate((24, 14, 8, 8)):
        units = rng.choice(np.flatnonzero(stratum == place), size, replace=False)
        drawn[units] = people[units]
    return corrected_mean(owner, judged, drawn, stratum, 150)


@pytest.mark.parametrize("judge", labels.JUDGES)
def test_people_alone_are_weighed_by_the_draw_and_not_by_the_judge(judge: str) -> None:
    """The mean by strata of the judge has another value, and a shorter interval where the judge is good."""
    means = [in_strata_of_the_judge(seed, judge) for seed in range(20)]
    assert not any(mean.people.mean == mean.corrected.mean for mean in means)
    assert all(mean.method == ("verdicts" if mean.weight else "strata") for mean in means)
    width = np.mean([[own.high - own.low for own in (mean.people, mean.corrected)] for mean in means], axis=0)
    assert width[1] < width[0] * (0.8 if judge in ("good", "perfect") else 1.03)


def test_people_alone_do_not_depend_on_what_the_judge_says() -> None:
    judged, _, drawn = world(300, 60)
    stratum = np.repeat([0, 1, 2], [100, 150, 50])
    by_judge, by_another = corrected(judged, drawn, stratum), corrected(1 - judged, drawn, stratum)
    assert by_judge.people.mean == by_another.people.mean
    assert (by_judge.people.low, by_judge.people.high) == (by_another.people.low, by_another.people.high)
    assert [mean.method for mean in (by_judge, by_another)] == ["verdicts", "strata"]
    assert corrected(1 - judged, drawn).method == "none"
    expanded = [300 / 3 / 100 / np.mean(~np.isnan(drawn[stratum == s])) for s in stratum]
    there = ~np.isnan(drawn)
    assert by_judge.people.mean == pytest.approx(np.average(drawn[there], weights=np.array(expanded)[there]))


@pytest.mark.slow
@pytest.mark.parametrize("judge", labels.JUDGES)
def test_intervals_of_people_alone_cover(judge: str) -> None:
    held = [
        mean.people.low <= 0.7 <= mean.people.high
        for mean in (in_strata_of_the_judge(seed, judge) for seed in range(600))
    ]
    assert np.mean(held) > 0.93 - SURE


def test_what_holds_without_people_is_left_as_it_is() -> None:
    judged, _, drawn = world(200, 60)
    stratum = np.repeat([0, -1], [100, 100])
    result = corrected(judged, drawn, stratum)
    assert result.corrected.values[100:] == pytest.approx(judged[100:])
    assert (result.n_labels, result.n_units) == (int((~np.isnan(drawn[:100])).sum()), 100)


def test_what_was_not_judged_is_left_to_people() -> None:
    judged, people, drawn = world(2000, 300)
    judged[:200] = np.nan
    result = corrected(judged, drawn)
    assert abs(result.corrected.mean - people.mean()) < 0.05
    assert result.judge == pytest.approx(np.nanmean(judged))
    nothing = corrected(np.full(2000, np.nan), drawn)
    assert math.isnan(nothing.judge)
    assert (nothing.weight, nothing.corrected.mean) == (0, nothing.people.mean)


@pytest.mark.parametrize("n_labels", [2, 5, 9, 20])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_equal_labels_leave_room(n_labels: int, value: float) -> None:
    drawn = np.full(300, np.nan)
    drawn[: 3 * n_labels : 3] = value
    result = corrected(np.full(300, value), drawn)
    low, high = result.corrected.low, result.corrected.high
    assert high - low > min(2.5 / n_labels, 0.99)
    assert math.isnan(result.worth)


def test_one_label_says_nothing() -> None:
    judged, _, drawn = world(100, 1)
    result = corrected(judged, drawn)
    assert math.isnan(result.corrected.mean)
    assert math.isnan(result.people.low)
    assert result.n_labels == 1
    assert result.judge == judged.mean()


@pytest.mark.parametrize("stratum", [0, -1])
@pytest.mark.parametrize("n", [0, 5])
def test_nothing_to_label_or_no_label_says_nothing(n: int, stratum: int) -> None:
    result = corrected_mean(np.arange(n), np.ones(n), np.full(n, math.nan), np.full(n, stratum), 5)
    assert np.isnan([result.corrected.mean, result.people.low, result.worth]).all()
    assert result.judge == 1 or n == 0


def test_labels_of_one_question_have_no_interval() -> None:
    people = np.array([1.0, 0.0, math.nan])
    result = corrected_mean(np.array([0, 0, 1]), np.ones(3), people, np.zeros(3, np.int64), 2)
    assert math.isnan(result.corrected.low)


def test_few_labels_are_people_alone() -> None:
    judged, _, drawn = world(100, 9)
    result = corrected(judged, drawn)
    assert result.weight == 0
    assert result.corrected.mean == result.people.mean == pytest.approx(np.nanmean(drawn))


def test_a_judge_that_contradicts_people_is_left_out() -> None:
    judged, _, drawn = world(300, 60)
    result = corrected(1 - judged, drawn)
    assert (result.weight, result.corrected.mean) == (0, result.people.mean)


@pytest.mark.slow
@pytest.mark.parametrize("judge", labels.JUDGES)
@pytest.mark.parametrize(("n_units", "n_labels"), [(1, 100), (4, 100), (1, 400)])
@pytest.mark.parametrize("stratified", [False, True])
def test_so_many_labels_alone_are_as_good(judge: str, n_units: int, n_labels: int, stratified: bool) -> None:
    setting = labels.Setting(1000, n_units, judge, n_labels, stratified)
    result = labels.coverage(setting, 200)
    alone = labels.width_of_people(dataclasses.replace(setting, n_labels=round(result.worth)), 200)
    assert alone == pytest.approx(result.width, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_intervals_cover(setting: Any) -> None:
    result = labels.coverage(setting, 1000)
    assert result.corrected > 0.93 - SURE
    assert result.corrected < 0.97 + SURE or setting.judge in ("good", "perfect")
    assert result.width < 1.05 * result.width_of_people


def test_a_part_of_all_questions_is_the_whole() -> None:
    judged, _, drawn = world(300, 60)
    whole, clusters = corrected(judged, drawn), np.arange(300)
    part = corrected_part(whole, judged, np.arange(300), clusters=clusters)
    assert part is not None
    assert (part.n_labels, part.n_units) == (60, 300)
    assert part.corrected.mean == pytest.approx(whole.corrected.mean)
    assert part.people.mean == pytest.approx(whole.people.mean)
    assert part.corrected.error == pytest.approx(whole.corrected.error, rel=0.2)
    assert corrected_part(whole, judged, np.flatnonzero(~np.isnan(drawn))[: LEAST_OF_PART - 1]) is None


@pytest.mark.slow
@pytest.mark.parametrize("setting", labels.PARTS, ids=str)
def test_intervals_of_parts_cover(setting: Any) -> None:
    result = labels.part_coverage(setting, 400)
    assert result.n_labels >= LEAST_OF_PART
    assert result.corrected >= 0.93
    assert result.judge < 0.93 or setting.inside in ("perfect", "good", "useless")


@pytest.mark.slow
@pytest.mark.parametrize("judge", ["biased", "good"])
@pytest.mark.parametrize("n_labels", [30, 50])
@pytest.mark.parametrize("stratified", [False, True])
def test_intervals_cover_where_hardly_anything_is_wrong(judge: str, n_labels: int, stratified: bool) -> None:
    result = labels.coverage(labels.Setting(200, 3, judge, n_labels, stratified, supported=0.98), 400)
    assert result.corrected > 0.93


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [30, 100])
def test_labels_that_chose_the_threshold_may_correct_the_mean(n_labels: int) -> None:
    """The judge's verdicts are then by the labels; what is fitted so is little beside what they leave unknown."""
    rng, held = np.random.default_rng(3), []
    for _ in range(400):
        owner = np.repeat(np.arange(300), 3)
        people = (rng.random(900) < rng.beta(1.6, 0.7, 300)[owner]).astype(float)
        scores = rng.normal(0.75 * (2 * people - 1), 1.0)
        own = rng.permutation(900)[:n_labels]
        chosen = choose_threshold(scores[own], people[own] > 0, n_resamples=100).value
        said = np.full(900, np.nan)
        said[own] = people[own]
        mean = corrected_mean(owner, (scores >= chosen).astype(float), said, np.zeros(900, int), 300).corrected
        held.append(mean.low <= 1.6 / 2.3 <= mean.high)
    assert np.mean(held) > 0.93 - SURE
