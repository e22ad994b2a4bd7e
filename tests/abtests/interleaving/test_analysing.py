from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import steelyard as sy
from steelyard.abtests.interleaving.analysing import preferences
from steelyard.abtests.interleaving.credits import Credits, credits
from steelyard.base.errors import InputError
from steelyard.stats.sequences import Betting
from tests.abtests.interleaving.shared_pages import rows
from tests.traffic.made_logs import logs_of


def counted_slowly(logged, credit, systems):
    """unit -> (requests, credits by system), one record after the other."""
    units = defaultdict(lambda: [0, defaultdict(float)])
    for page in logged["impressions"]:
        if page.get("is_bot") or page.get("error") or "teams" not in page:
            continue
        places = set()
        for event in logged["events"]:
            is_own = event["request"] == page["request"] and event["kind"] == credit
            if is_own and (credit == "click" or event["value"] >= 30):
                has_place = "position" in event
                places.add(event["position"] - 1 if has_place else page["doc_ids"].index(event["doc_id"]))
        for answer in logged["answers"] if credit == "citation" else []:
            if answer["request"] == page["request"]:
                places |= {page["doc_ids"].index(d) for d in answer["citations"] if d in page["doc_ids"]}
        unit = units[page["user"]]
        unit[0] += 1
        for place in places:
            if (team := page["teams"][place]) is not None:
                share = (page.get("team_shares") or [1.0] * 99)[place]
                for system in systems:
                    unit[1][system] += share if system == team else (1 - share) / (len(systems) - 1)
    return units


@pytest.mark.parametrize("credit", ["click", "dwell", "citation"])
@pytest.mark.parametrize(
    ("systems", "method"),
    [(("new", "old"), "team-draft"), (("a", "b", "c"), "team-draft"), (("new", "old"), "probabilistic")],
)
def test_credits_are_those_of_one_record_after_the_other(credit, systems, method):
    logged = rows(3, systems=systems, method=method)
    counted, slow = credits(logs_of(**logged), credit), counted_slowly(logged, credit, systems)
    assert counted.systems == list(systems)
    expected = {unit: (n, [sums[system] for system in systems]) for unit, (n, sums) in slow.items()}
    units = sorted(expected)
    assert counted.n.tolist() == [expected[unit][0] for unit in units]
    np.testing.assert_allclose(counted.sums, [expected[unit][1] for unit in units], atol=1e-12)
    assert counted.sums.sum() > 10


def test_a_preference_is_a_ratio_tested_by_student_s_t_of_users():
    logged = rows(5)
    result = sy.analyse_interleaving(logs_of(**logged), baseline="old")
    slow = counted_slowly(logged, "click", ["old", "new"])
    totals = np.array([(sums["new"] - sums["old"], n) for n, sums in slow.values()])
    ratio = totals[:, 0].sum() / totals[:, 1].sum()
    d = ratio + (totals[:, 0] - ratio * totals[:, 1]) / totals[:, 1].mean()  # Taylor's series of the ratio of means
    own, oracle = result.preferences[0], stats.ttest_1samp(d, 0)
    assert (result.baseline, own.system, own.n_units) == ("old", "new", len(d))
    assert (own.difference, own.p) == pytest.approx((ratio, oracle.pvalue))
    assert (own.low, own.high) == pytest.approx(tuple(oracle.confidence_interval()))
    leads = totals[:, 0]
    assert (own.wins, own.losses, own.ties) == ((leads > 0).sum(), (leads < 0).sum(), (leads == 0).sum())
    assert own.sign_p == pytest.approx(stats.binomtest(own.wins, own.wins + own.losses).pvalue)


@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_first_preferences_are_those_of_one_request_after_the_other(method):
    logged = rows(5, method=method)
    for i, page in enumerate(logged["impressions"]):
        page["time"] = 9000.0 - i
    logs, first = logs_of(**logged), {}
    for page in sorted(logged["impressions"], key=lambda page: page["time"]):
        one = counted_slowly({**logged, "impressions": [page]}, "click", ["old", "new"])
        for unit, (_, sums) in one.items():
            if abs(sums["new"] - sums["old"]) > 1e-9:
                first.setdefault(unit, 1.0 if sums["new"] > sums["old"] else -1.0)
    counted = credits(logs, "click", "old")
    assert counted.first_preferences[0].tolist() == list(first.values())
    own = sy.analyse_interleaving(logs, baseline="old", analysis="always-valid").preferences[0]
    assert own.sign_p == Betting(np.array([*first.values()]), -1, 1).p()


@given(st.integers(0, 10**6))
def test_a_preference_turns_with_its_sides(seed):
    logs = logs_of(**rows(seed % 50, n=12))
    there, back = (sy.analyse_interleaving(logs, baseline=name).preferences[0] for name in ("old", "new"))
    assert (there.difference, there.low, there.wins) == pytest.approx(
        (-back.difference, -back.high, back.losses), nan_ok=True
    )
    assert there.p == pytest.approx(back.p, nan_ok=True)


def of_arrays(d, n_requests=1):
    """Credits of two systems whose difference by unit is d, in pages that were drafted well."""
    sums = np.stack([np.maximum(-d, 0), np.maximum(d, 0)], axis=1) * n_requests
    n = np.full(len(d), n_requests)
    half = int(n.sum()) // 2
    return Credits(
        ["old", "new"], sums, n, [np.sign(d[d != 0])], np.array([half, half]), 0, int(sums.sum()), int(sums.sum()), 0, 0
    )


@pytest.mark.parametrize(
    ("d", "verdict"),
    [
        ([1.0] * 30 + [0.0] * 10, "better"),
        ([-1.0] * 30 + [0.0] * 10, "worse"),
        ([1.0, -1.0] * 20, "unclear"),
        ([0.0] * 40, "unclear"),
        ([1.0] * 9, "few"),
    ],
)
def test_verdicts(d, verdict):
    assert preferences(of_arrays(np.array(d)))[0].verdict == verdict


def test_looking_often_needs_more_evidence():
    counted = of_arrays(np.array([1.0] * 60 + [-1.0] * 40))
    once, often = preferences(counted)[0], preferences(counted, planned_units=100)[0]
    assert (once.verdict, often.verdict) == ("better", "unclear")
    assert once.p < often.p
    assert often.low < once.low < once.high < often.high
    half, error = (often.high - often.low) / 2, (once.high - once.low) / 2 / stats.t.ppf(0.975, 99)
    assert stats.norm.cdf((often.detectable - half) / error) == pytest.approx(0.8)
    assert once.detectable == pytest.approx(error * (stats.t.ppf(0.975, 99) + stats.t.ppf(0.8, 99)), rel=0.01)


def test_pages_that_were_not_drafted_block():
    logged = rows(1, n=200)
    logs = logs_of(**logged)
    assert {check.code: check.state for check in sy.analyse_interleaving(logs).checks} == {
        "draft": "well",
        "seeds": "well",
    }
    biased = [
        page | ({"teams": ["new", "old", "new", "old", "new"][: len(page["teams"])]} if "teams" in page else {})
        for page in logged["impressions"]
    ]
    result = sy.analyse_interleaving(logs_of(biased, logged["events"]))
    assert (result.checks[0].state, result.preferences[0].verdict) == ("blocks", "blocked")


def test_pages_that_share_their_coins_are_a_caution():
    logged = rows(1)
    same = [page | {"seed": 7} if "seed" in page else page for page in logged["impressions"]]
    checks = {check.code: check for check in sy.analyse_interleaving(logs_of(same, logged["events"])).checks}
    assert (checks["seeds"].state, checks["seeds"].values["n_seeds"]) == ("careful", 1)


def test_requests_of_the_systems_alone_say_what_interleaving_gains():
    logged = rows(2, n=300)
    alone = [
        {"request": f"alone{i}", "user": f"v{i}", "doc_ids": ["d1", "d2"], "arm": "old" if i % 2 else "new"}
        for i in range(400)
    ]
    clicks = [{"request": f"alone{i}", "kind": "click", "position": 1} for i in range(400) if i % 2 == 0 or i % 3 == 0]
    result = sy.analyse_interleaving(
        logs_of([*logged["impressions"], *alone], [*logged["events"], *clicks]), baseline="old"
    )
    best = result.sensitivities[0]
    own = result.preferences[0]
    assert {row.metric for row in result.sensitivities} == {"ctr", "clicks@1", "clicks@5", "first_click_rr"}
    assert abs(best.z) == max(abs(row.z) for row in result.sensitivities)
    assert (best.n, best.n_interleaving) == (401, result.n_requests)
    half = stats.t.ppf(0.975, own.n_units - 1)
    z = own.difference / ((own.high - own.low) / 2 / half)
    assert best.z_interleaving == pytest.approx(z)
    assert best.times == pytest.approx((z / best.z) ** 2 * best.n / best.n_interleaving)
    assert best.at_least <= best.times


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "third"}, "no page has a result of the baseline 'third'; systems of the log are new, old"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"credit": "dwell"}, "no interleaved page has a dwell to credit; log its events"),
        ({"planned_units": 3}, "planned_units is 3; expected 10 or more"),
    ],
)
def test_bad_options_are_said(options, message):
    own = rows(1, n=5)
    clicks = [event for event in own["events"] if event["kind"] == "click"]
    with pytest.raises(InputError, match=message):
        sy.analyse_interleaving(logs_of(**own | {"events": clicks}), **options)


def test_a_log_without_teams_is_said():
    page = {"request": "r1", "user": "u", "doc_ids": ["d1", "d2"]}
    with pytest.raises(InputError, match="the log has pages of 0 systems; expected two"):
        sy.analyse_interleaving(logs_of([page]))
    with pytest.raises(InputError, match="the log has pages of 1 systems"):
        sy.analyse_interleaving(logs_of([page | {"teams": [None, "old"]}]))
