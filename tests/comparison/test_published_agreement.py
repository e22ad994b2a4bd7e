"""Agreement of published labels of people and judges, beside what others computed from them."""

import math

import pytest
from benchmarks.judged.rater_figures import Figure, all_figures
from benchmarks.judged.rater_sets import mtrag
from benchmarks.simulated.agreement import HALF, MIDDLING, Design, coverage

import steelyard as sy
from steelyard.reports.views.agreement import advice
from steelyard.reports.words import read_words
from tests.shared_data import shared


@pytest.fixture(scope="module")
def figures() -> list[Figure]:
    return list(all_figures(shared("answers"), n_resamples=50))


def test_every_published_figure_to_its_last_digit(figures: list[Figure]) -> None:
    assert len(figures) == 223
    assert [figure for figure in figures if not figure.met] == []


def test_each_has_an_interval_around_it_but_counts(figures: list[Figure]) -> None:
    bare = [figure for figure in figures if math.isnan(figure.low) and "same label" not in figure.what]
    assert bare == []
    assert all(figure.low <= figure.ours <= figure.high for figure in figures if not math.isnan(figure.low))


def test_appropriateness_cannot_calibrate_a_judge() -> None:
    agreement = sy.agreement(mtrag(shared("answers"), "appropriateness"), n_resamples=50)
    said = " ".join(advice(agreement, read_words("en")))
    assert "α is 0.064, and below 0.667 labels support no conclusion" in said
    assert "They cannot calibrate a judge" in said
    assert "of all labels are 4: there is little to agree about beyond chance" in said


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_claim() -> None:
    _, held, n_without = coverage(Design(25, 20, HALF, MIDDLING), n_draws=800)
    assert ((held > 0.93) & (held < 0.975)).all()
    assert n_without == 0
