"""How many questions a wished difference needs, from every kind of pilot."""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.stats.power.detectable import min_detectable_difference, questions_planned
from steelyard.stats.power.power import power, questions_needed
from steelyard.stats.spread import paired_spread
from tests.gates.stated import scores_of
from tests.hypothesis_profiles import examples
from tests.shared_data import shared

scipy_stats = pytest.importorskip("scipy.stats", reason="plans need the extra stats")


def drawn(s: int, n: int = 40, *, seed: int = 1) -> npt.NDArray[np.float64]:
    """Values of systems that find the same questions hard."""
    rng = np.random.default_rng(seed)
    return rng.random(n) * 0.6 + rng.random((s, n)) * 0.3


def of(values: npt.ArrayLike, measures: Sequence[str] = ("ndcg@10",)) -> sy.Scores:
    return scores_of(values, measures)


def test_two_runs() -> None:
    values = drawn(2)
    design = sy.plan(of(values), difference=0.05)
    d = values[1] - values[0]
    assert (design.basis, design.n_systems, str(design.measure)) == ("differences", 2, "ndcg@10")
    assert design.sd == pytest.approx(d.std(ddof=1))
    assert design.frame["difference"].to_list() == [0.025, 0.0375, 0.05, 0.075, 0.1]
    df = paired_spread(values).df
    for row in design.rows:
        assert row.needed == questions_planned(row.difference / design.sd, df=df)
        assert row.needed > questions_needed(row.difference / design.sd)
        assert row.power_low == pytest.approx(power(row.difference / design.sd_high, row.needed))
        assert row.power_high == pytest.approx(power(row.difference / design.sd_low, row.needed))
    assert design.wished.difference == 0.05
    assert design.wished.needed_low is not None
    assert design.wished.needed_low == questions_needed(0.05 / design.sd_low)
    assert design.wished.needed_high == questions_needed(0.05 / design.sd_high)
    assert design.wished.needed_f is None
    assert design.pilot is not None
    assert design.pilot.n == 40
    assert design.pilot.detectable == pytest.approx(min_detectable_difference(d))
    assert str(design.signature).startswith("ndcg@10; n:40")


def test_one_run_is_an_upper_estimate() -> None:
    values = drawn(2)
    one, two = sy.plan(of(values[:1]), difference=0.05), sy.plan(of(values), difference=0.05)
    assert (one.basis, one.n_systems) == ("values", 2)
    assert one.sd == pytest.approx(math.sqrt(2) * values[0].std(ddof=1))
    assert one.wished.needed is not None
    assert two.wished.needed is not None
    assert one.wished.needed > two.wished.needed


def test_several_runs_share_alpha() -> None:
    design = sy.plan(of(drawn(4)), difference=0.05, alpha=0.06, power=0.9)
    assert (design.n_systems, design.n_comparisons) == (4, 3)
    df = paired_spread(drawn(4)).df
    assert design.wished.needed == questions_planned(0.05 / design.sd, df=df, alpha=0.06, power=0.9, n_comparisons=3)
    assert design.wished.needed_f is not None
    two = sy.plan(of(drawn(4)), difference=0.05, n_systems=2)
    assert two.wished.needed == questions_planned(0.05 / design.sd, df=df)
    assert two.sd == design.sd


def test_without_a_pilot() -> None:
    design = sy.plan(difference=0.05, sd=0.25)
    assert (design.basis, design.pilot, design.signature, design.measure) == ("sd", None, None, None)
    assert design.wished.needed == 199
    assert design.wished.needed_low is None
    assert math.isnan(design.sd_low)
    assert sy.plan(difference=0.05, sd=0.25, n_systems=3).wished.needed_f is not None


@examples(40)
@given(st.floats(0.02, 0.5), st.floats(0.05, 0.5), st.sampled_from([0.5, 0.8, 0.95]), st.integers(2, 6))
def test_the_number_has_the_power_and_one_fewer_has_not(difference: float, sd: float, wished: float, s: int) -> None:
    n = sy.plan(difference=difference, sd=sd, power=wished, n_systems=s).wished.needed
    assert n is not None
    assert power(difference / sd, n, n_comparisons=s - 1) >= wished
    assert n == 2 or power(difference / sd, n - 1, n_comparisons=s - 1) < wished


def test_differences_stay_within_the_measure() -> None:
    assert sy.plan(of(drawn(2)), difference=0.6).frame["difference"].to_list() == [0.3, 0.45, 0.6, 0.9]
    assert sy.plan(difference=6, sd=3).frame["difference"].to_list() == [3, 4.5, 6, 9, 12]
    design = sy.plan(of([[0.0, 1.0], [1.0, 0.0]]), difference=0.5)
    assert design.pilot is not None
    assert design.pilot.detectable == math.inf


def test_fewer_than_six_questions_do_not_say_what_they_can_show() -> None:
    five, six = (sy.plan(of(drawn(2, n) / 5), difference=0.01).pilot for n in (5, 6))
    assert five is not None
    assert six is not None
    assert math.isnan(five.detectable)
    assert six.detectable < 1


def test_questions_that_a_system_lacks_are_left_out() -> None:
    values = drawn(2)
    values[1, :3] = math.nan
    design = sy.plan(of(values), difference=0.05)
    assert design.pilot is not None
    assert (design.pilot.n, design.pilot.n_left_out, design.pilot.lacking) == (37, 3, {"b": 3})


def test_a_weighing_is_weighed_as_compare_does() -> None:
    truth = {f"q{i}": {"d": 1} for i in range(6)}
    a, b = {q: ["x", "y", "d"] for q in truth}, {q: ["d"] if q > "q1" else ["x", "d"] for q in truth if q != "q5"}
    weighing = sy.weigh(truth, {"a": a, "b": b})
    design = sy.plan(weighing, measures="mrr", difference=0.2)
    row = sy.compare(weighing, measures="mrr").rows["mrr"][0]
    assert design.pilot is not None
    assert (design.pilot.n, design.pilot.missing) == (6, {"b": 1})
    assert design.pilot.detectable == pytest.approx(row.detectable)
    skipped = sy.plan(weighing, measures="mrr", difference=0.2, missing="skip")
    assert skipped.pilot is not None
    assert (skipped.pilot.n, skipped.pilot.n_left_out) == (5, 1)
    assert str(sy.plan(weighing, difference=0.2).measure) == "ndcg@10"


def test_the_order_of_runs_and_questions_changes_nothing() -> None:
    values = drawn(3)
    design, turned = (sy.plan(of(v), difference=0.05) for v in (values, values[::-1, ::-1]))
    assert design.sd == pytest.approx(turned.sd, rel=1e-12)
    assert [row.needed for row in design.rows] == [row.needed for row in turned.rows]


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ([[0.1, 0.2], [0.3, 0.1]], {"difference": 0}, "difference is 0, expected a number above 0, such as 0.05"),
        ([[0.1, 0.2], [0.3, 0.1]], {"difference": math.nan}, "difference is nan, expected a number above 0"),
        ([[0.1, 0.2], [0.3, 0.1]], {"difference": 2}, "difference is 2, and values of ndcg@10 differ by 1 at most"),
        ([[0.1, 0.2], [0.3, 0.1]], {"power": 0.05}, r"power is 0.05, expected a number between alpha \(0.05\) and 1"),
        ([[0.1, 0.2], [0.3, 0.1]], {"alpha": 0}, "alpha is 0, expected a number between 0 and 1"),
        ([[0.1, 0.2], [0.3, 0.1]], {"n_systems": 1}, r"systems \(n_systems\) is 1, expected at least 2"),
        ([[0.1, 0.2], [0.3, 0.1]], {"sd": 0.2}, "either a pilot, .* or the standard deviation .*, and not both"),
        (None, {}, "either a pilot, .* or the standard deviation"),
        (None, {"sd": 0}, "sd is 0, expected a number above 0, such as 0.25"),
        (None, {"sd": 1e-9}, "difference is 0.05, more than 1000 times the standard deviation of differences"),
        (None, {"sd": 0.2, "measures": "nonsense"}, "nonsense"),
        (None, {"sd": 0.2, "measures": ["map", "mrr"]}, "a plan is for one measure, and there are map, mrr; name the"),
        ([[0.1], [0.3]], {}, "the pilot has 1 question that a, b have a value for, expected two at least"),
        ([[0.1, 0.2], [0.3, 0.4]], {}, "differences of a, b are equal on all 2 questions: nothing scatters; try a run"),
        ([[0.5, 0.5, 0.5]], {}, "the values of a are equal on all 3 questions"),
        ([[0.1, 0.2], [0.3, 0.1]], {"min_gain": 2}, "needs rankings, and these are scores"),
        ([[0.1, 0.2], [0.3, 0.1]], {"measures": "map"}, "map"),
    ],
)
def test_bad_input(values: list[list[float]] | None, options: dict, message: str) -> None:
    with pytest.raises(sy.SteelyardError, match=message) as caught:
        sy.plan(None if values is None else of(values), **({"difference": 0.05} | options))
    assert "\n" not in str(caught.value)


def test_geometric_means_and_several_measures_are_refused() -> None:
    with pytest.raises(sy.InputError, match="gm_map is a geometric mean"):
        sy.plan(of(drawn(2), ("gm_map",)), difference=0.05)
    two = of(np.stack([drawn(2), drawn(2, seed=2)], axis=1), ("map", "mrr"))
    with pytest.raises(sy.InputError, match="there are map, mrr"):
        sy.plan(two, difference=0.05)
    assert str(sy.plan(two, measures="mrr", difference=0.05).measure) == "mrr"


@pytest.mark.slow
@pytest.mark.parametrize(("difference", "n_systems"), [(0.05, 2), (0.1, 2), (0.15, 2), (0.1, 4)])
def test_the_number_that_is_printed_shows_the_difference(difference: float, n_systems: int) -> None:
    n = sy.plan(difference=difference, sd=0.25, n_systems=n_systems).wished.needed
    assert n is not None
    draws = np.random.default_rng(n).normal(difference, 0.25, (20_000, n))
    alpha = 0.05 / (n_systems - 1)
    assert 0.78 <= np.mean(scipy_stats.ttest_1samp(draws, 0, axis=1).pvalue < alpha) <= 0.82


@pytest.mark.slow
def test_it_shows_about_as_much_with_real_differences() -> None:
    """Questions drawn from the differences of TREC's systems, moved so that their mean is the one wished for."""
    rng, shown = np.random.default_rng(5), []
    for file in ("adhoc5_ap.csv", "adhoc6_p10.csv", "adhoc7_rr.csv", "adhoc6_ap.csv"):
        values = np.loadtxt(shared("trec_topic_scores", file), delimiter=",", skiprows=1).T
        for difference in [0.05] * 15 + [0.1] * 15:
            pair = values[rng.choice(len(values), 2, replace=False)]
            n, d = sy.plan(of(pair), difference=difference).wished.needed, pair[1] - pair[0]
            assert n is not None
            # The population's variance is the one that the pilot estimates, so that the allowance for its uncertainty
            # makes power larger, most where a few questions make most of the variance.
            population = difference + (d - d.mean()) * math.sqrt(len(d) / (len(d) - 1))
            p = scipy_stats.ttest_1samp(rng.choice(population, (3000, n)), 0, axis=1).pvalue
            shown.append((n, np.mean(p < 0.05)))
    assert 0.79 <= np.mean([share for _, share in shown]) <= 0.85
    of_many = [share for n, share in shown if n >= 80]
    assert min(of_many) >= 0.75
    assert np.mean(of_many) <= 0.89
