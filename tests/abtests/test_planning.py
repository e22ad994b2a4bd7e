"""Plans of A/B tests: against statsmodels, against loops over the rows of a log, and against simulated tests."""

import math
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.simulated.experiment_plans import power_by_logs, power_of_plans, service_logs

import steelyard as sy
from steelyard.abtests.accrual import Accrual, Curve, read_accruals, steady
from steelyard.abtests.config import ExperimentConfig
from steelyard.base.choices import Analysis
from steelyard.base.errors import InputError
from tests.traffic.made_logs import chance_rows, logs_of

SMALL = logs_of(**chance_rows(3, n=900, n_users=40, hours=24 * 30))


def plan(**options: Any) -> sy.ExperimentPlan:
    """A share of .2 that 500 new users have every day."""
    return sy.plan_experiment(**{"metric": "ctr", "difference": "5%", "baseline": 0.2, "users_per_day": 500} | options)


@pytest.mark.parametrize(("alpha", "power", "difference"), [(0.05, 0.8, "5%"), (0.01, 0.9, 0.03)])
def test_users_as_statsmodels_has_them(alpha: float, power: float, difference: str | float) -> None:
    from statsmodels.stats.power import TTestIndPower

    own = plan(alpha=alpha, power=power, difference=difference)
    variance = 0.2 * 0.8 * (1 + (1 + own.difference / 0.2)) / 2  # that of a count grows as its mean does
    per_arm = TTestIndPower().solve_power(own.difference / math.sqrt(variance), alpha=alpha, power=power)
    assert own.users == pytest.approx(2 * per_arm, abs=3)
    assert own.days == 7 * math.ceil(own.users / 3500)


def test_power_and_unequal_arms_as_statsmodels_has_them() -> None:
    from statsmodels.stats.power import TTestIndPower

    own = plan(split="80/20", difference="10%")
    pooled = (1 / 0.8 + 1.1 / 0.2) / (1 / 0.8 + 1 / 0.2)
    for row in own.lengths:
        want = TTestIndPower().power(0.02 / 0.4 / math.sqrt(pooled), nobs1=0.8 * row.users, ratio=0.25, alpha=0.05)
        assert row.power == pytest.approx(want, abs=1e-3)
        assert row.detectable == pytest.approx(2.8016 * 0.4 * math.sqrt((1 / 0.8 + 1.1 / 0.2) / row.users), rel=1e-3)


def test_alpha_is_shared_among_treatments_beside_the_smallest() -> None:
    own = plan(split={"now": 2, "next": 1, "other": 1}, alpha=0.05)
    assert own.users == plan(split="50/25/25").users
    beside = plan(split="66.666666/33.333333", alpha=0.025).lengths[0]
    wider = math.sqrt((2 + 1.05 * 4) / (1.5 + 1.05 * 3))
    assert own.lengths[0].detectable == pytest.approx(beside.detectable * wider, rel=1e-3)


def test_daily_looks_need_more_users_and_have_the_planned_power() -> None:
    fixed, often = plan(), plan(analysis="always-valid")
    row = often.planned
    assert fixed.users is not None
    assert often.users is not None
    assert 1.5 * fixed.users < often.users == row.needed_always_valid
    assert row.detectable < row.always_valid <= often.difference
    assert row.power >= 0.8 > often.lengths[0].power
    assert often.declaration["planned_units"] == often.users
    assert "planned_units" not in fixed.declaration


def test_what_accrues_against_loops_over_the_rows() -> None:
    """Units, ratio and its variance of the latest 14 days, and the correlation with the 14 before."""
    logs, days = service_logs(np.random.default_rng(5), 29, n_people=60), 14
    [accrual] = read_accruals(logs, ["ctr"], unit="user", before=timedelta(days=14)).metrics
    clicks = set(logs.events.collect()["request"])
    sums, earlier = defaultdict(lambda: np.zeros(2)), defaultdict(lambda: np.zeros(2))
    rows = logs.impressions.select("time", "user", "request").collect().rows()
    for time, user, request in rows:
        age = (rows[-1][0] - time) / timedelta(days=1)
        if age < 28:
            (sums if age < days else earlier)[user] += [request in clicks, 1]
    totals = sum(sums.values())
    ratio = totals[0] / totals[1]
    off = {user: own[0] - ratio * own[1] for user, own in sums.items()}
    n = len(sums)
    assert accrual.units.at(days) == pytest.approx(n)
    variance = n * sum(x * x for x in off.values()) / (n - 1) / totals[1] ** 2
    assert accrual.variance.at(days) / n == pytest.approx(variance, rel=1e-5)
    before = sum(earlier[user] for user in sums)
    past = [earlier[user][0] - before[0] / before[1] * earlier[user][1] for user in sums]
    rho = np.corrcoef(list(off.values()), past)[0, 1]
    assert accrual.left_at(days) == pytest.approx(1 - rho**2, abs=1e-6)
    assert accrual.left_at(28) == accrual.left_at(days)


def test_margins_of_guardrails_are_ruled_out_one_sided() -> None:
    margin = {"ctr": 0.5, "latency_ms:p90": "400%"}
    own = sy.plan_experiment(SMALL, metric="ctr", difference="200%", guardrails=margin, before="0d")
    ctr, latency = own.guardrails
    row = own.planned
    assert (ctr.margin, latency.margin) == (0.5, pytest.approx(4 * latency.value))
    assert ctr.detectable / row.detectable == pytest.approx((1.645 + 0.8416) / (1.96 + 0.8416) / math.sqrt(2), rel=0.05)
    assert latency.days is not None
    assert own.days == max(ctr.days or 0, latency.days)


def test_longer_than_the_logs_goes_on_as_they_do() -> None:
    """A power of the days through the middle and the end."""
    curve = Curve.of({7: 70.0, 14: 100.0, 21: 120.0, 28: 140.0})
    assert curve.at(56) == pytest.approx(140 * (140 / 100))
    assert curve.at(10) == pytest.approx(70 * (10 / 7) ** (math.log(100 / 70) / math.log(2)))
    assert steady("ctr", baseline=0.2, per_day=10, sd=1).units.at(365) == pytest.approx(3650)


def test_what_is_planned_becomes_a_declaration_that_is_read(tmp_path: Path) -> None:
    own = sy.plan_experiment(
        SMALL, metric="ctr", difference="300%", guardrails={"latency_ms:p90": "900%"}, before="7d",
        split='control=1/"next"=1', name="中文 \"quoted\"", start="2026-12-07",
    )  # fmt: skip
    own.write(tmp_path / "experiment.toml")
    config = ExperimentConfig.read(tmp_path / "experiment.toml")
    assert config.name == '中文 "quoted"'
    assert (config.days, config.begins.date().isoformat()) == (own.days, "2026-12-07")
    assert dict(config.arms) == own.arms == {"control": 0.5, '"next"': 0.5}
    assert [(item.metric, str(item.margin)) for item in config.guardrail] == [("latency_ms:p90", "900%")]
    assert tomllib.loads((tmp_path / "experiment.toml").read_text("utf-8"))["before"] == "7d"


def test_the_page_has_the_curve_in_both_languages() -> None:
    pytest.importorskip("altair", reason="charts need the extra report")
    page = plan().text("html", lang="zh")
    assert "每天查看能看出" in page
    assert "daily looks show" in page
    assert page.count("<svg") >= 2


def test_a_year_that_is_not_enough_is_said() -> None:
    own = plan(difference="0.1%")
    assert (own.days, own.users) == (None, None)
    assert own.text(lang="en").startswith("A year of this traffic does not show a difference of 0.1% in ctr (now 0.2)")
    assert own.lengths[-1].days == 364


REFUSED: list[tuple[Mapping[str, Any], str]] = [
    ({"baseline": None}, "a plan is from logs"),
    ({"logs": SMALL}, "are for a plan without logs"),
    ({"baseline": 3.5}, "is no share of users"),
    ({"sd": 0}, "sd is 0, expected a number above 0"),
    ({"users_per_day": float("nan")}, "users_per_day is nan"),
    ({"guardrails": {"ctr": 0.1}}, "guardrails are planned from logs"),
    ({"split": "50"}, "arms are"),
    ({"split": "50/-50"}, "arms are"),
    ({"split": "control=x/treatment=1"}, "the split is"),
    ({"split": {"now": 0, "next": 0}}, "has no traffic"),
    ({"split": "100/0"}, "arms.treatment"),
    ({"split": {"now": 1}}, "there is 1 arm"),
    ({"difference": "-5%"}, "difference"),
    ({"difference": "much"}, "difference"),
    ({"baseline": 0, "sd": 1}, "ctr is 0 here, so that 5% of it is nothing"),
    ({"alpha": 2}, "alpha"),
    ({"timezone": "Nowhere"}, "timezone"),
    ({"start": "soon"}, "start"),
    ({"before": "two weeks"}, "before"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_what_cannot_be_planned_is_refused(options: Mapping[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        plan(**options)


@pytest.mark.parametrize(
    ("logs", "metric", "message"),
    [
        (SMALL, "requests", "is a number of a time"),
        (SMALL, "reciprocal", "reciprocal"),
        (logs_of(**chance_rows(1)), "ctr", "the logs hold 0 whole days; expected 7"),
        (logs_of([]), "ctr", "the logs hold 0 whole days"),
        (logs_of(**chance_rows(1, n_users=5, hours=24 * 10)), "ctr", "the logs hold 5 users; expected 10"),
        (SMALL, "tokens_in", "'tokens_in' does not vary between the users"),
    ],
)
def test_logs_that_cannot_say_are_refused(logs: sy.Logs, metric: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        sy.plan_experiment(logs, metric=metric, difference=0.1)


def test_requests_without_a_user_are_counted() -> None:
    rows = chance_rows(3, n=900, n_users=40, hours=24 * 30)["impressions"]
    own = sy.plan_experiment(SMALL, metric="ctr", difference="200%")
    latest = max(row["time"] for row in rows) - 86400 * own.n_days
    inside = [row for row in rows if row["time"] > latest and not row["is_bot"]]
    assert (own.n_requests, own.n_unknown) == (len(inside), sum(row["user"] is None for row in inside))
    assert "9% of the requests have no user" in own.text(lang="en")


def test_a_metric_that_the_past_foretells_wholly_keeps_a_little() -> None:
    assert Accrual("x", 1.0, "higher", Curve.of({7: 1}), Curve.of({7: 2}), Curve.of({7: 0.5})).variance_at(7) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(("analysis", "before"), [("fixed", "14d"), ("fixed", "0d"), ("always-valid", "14d")])
def test_tests_of_the_planned_size_have_the_planned_power(analysis: Analysis, before: str) -> None:
    _, _, power = power_of_plans(1200, 2, analysis=analysis, before=before)
    assert power == pytest.approx(0.8, abs=0.04)


@pytest.mark.slow
def test_the_same_of_whole_logs() -> None:
    assert power_by_logs(400, 2)[2] == pytest.approx(0.8, abs=0.06)
