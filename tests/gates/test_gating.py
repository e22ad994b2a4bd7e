import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.align.resolver import GoldMapping
from steelyard.base.errors import InputError
from steelyard.experiment.table.scores import Scores
from steelyard.gates.checks import Check
from steelyard.gates.gating import EXIT_CODES, Gate, gate
from steelyard.gates.profiles import Profile
from steelyard.reports.views.gate import gate_sheet, gate_sheets, reason_text
from steelyard.reports.words import read_words
from steelyard.stats.power.detectable import min_detectable_difference
from steelyard.stats.power.power import questions_needed
from steelyard.stats.power.resolution import Resolution
from steelyard.stats.tests.effects import relative_change
from steelyard.stats.tests.equivalence import non_inferiority
from tests.gates.stated import scores_of, stated
from tests.hypothesis_profiles import examples
from tests.measures.registered import forget_afterwards

pytest.importorskip("scipy.stats", reason="gates against a baseline need the extra stats")

FINE = (0.9, 0.88, 0.92)
GOOD = {"recall@5": FINE, "precision@5": FINE, "mrr": FINE}


def only(found: Gate, name: str, kind: str = "level") -> Check:
    (check,) = [check for check in found.checks if (check.name, check.kind) == (name, kind)]
    return check


@pytest.mark.parametrize(
    ("interval", "reason", "outcome", "code"),
    [
        ((0.75, 0.71, 0.79), "reached", "pass", 0), ((0.75, 0.70, 0.79), "reached", "pass", 0),
        ((0.75, 0.69, 0.79), "spans", "insufficient", 3), ((0.69, 0.65, 0.70), "spans", "insufficient", 3),
        ((0.69, 0.65, 0.699), "missed", "fail", 1), ((0.10, 0.05, 0.20), "missed", "fail", 1),
        ((0.70, 0.70, 0.70), "reached", "pass", 0), ((0.75, math.nan, math.nan), "no_interval", "insufficient", 3),
    ],
)  # fmt: skip
def test_the_whole_interval_decides(interval, reason: str, outcome: str, code: int) -> None:
    found = gate(stated({**GOOD, "recall@5": interval}), profile="production")
    assert (only(found, "recall@5").reason, found.outcome, found.exit_code) == (reason, outcome, code)
    assert {check.outcome for check in found.checks if check.name != "recall@5"} == {"pass"}
    assert only(found, "recall@5").limit == 0.70


def test_the_first_level_counts_unless_another_is_named() -> None:
    scores = stated({**GOOD, "recall@5": (0.82, 0.81, 0.83)})
    assert (gate(scores, profile="production").level, gate(scores, profile="production").outcome) == ("minimum", "pass")
    assert gate(scores, profile=Profile.read("production"), level="good").outcome == "pass"
    assert gate(scores, profile="production", level="excellent").outcome == "fail"


def test_too_few_questions_are_no_proof_either_way() -> None:
    for value in ((0.9, 0.9, 0.9), (0.1, 0.1, 0.1)):
        scores = stated({**GOOD, "recall@5": value}, n=9)
        assert only(gate(scores, profile="production"), "recall@5").reason == "few_questions"
        assert only(gate(scores, profile="production", min_questions=9), "recall@5").outcome in ("pass", "fail")


def test_what_the_profile_asks_for_and_nobody_measured_is_told() -> None:
    found = gate(stated({"mrr@10": FINE}), profile="production")
    assert [(check.name, check.reason) for check in found.checks] == [
        ("mrr@10", "reached"),
        ("recall@5", "not_measured"),
        ("precision@5", "not_measured"),
    ]
    assert found.exit_code == 3


def test_the_gravest_check_decides() -> None:
    found = gate(stated({"mrr": (0.1, 0.1, 0.1), "recall@5": FINE}), profile="production")
    assert {check.outcome for check in found.checks} == {"pass", "fail", "insufficient"}
    assert (found.outcome, found.exit_code) == ("fail", 1)
    assert EXIT_CODES == {"pass": 0, "fail": 1, "insufficient": 3}


def test_numbers_and_latencies_lower_being_better() -> None:
    scores = stated({"ndcg@10": FINE, "mrr": FINE, "recall@5": FINE, "precision@5": FINE})
    known = {"latency_ms:p95": 400.0, "cost_usd_per_million_tokens": 0.05}
    found = gate(scores, profile="reranker", numbers=known)
    assert (found.outcome, found.not_judged) == ("pass", ("ndcg@10", 0.15))
    assert (
        only(gate(scores, profile="reranker", numbers={**known, "latency_ms:p95": 501.0}), "latency_ms:p95").reason
        == "missed"
    )
    assert only(gate(scores, profile="reranker"), "latency_ms:p95").reason == "not_measured"
    text = gate(scores, profile="reranker").text("markdown", lang="en")
    assert [row.split("|")[2].strip() for row in text.splitlines() if row.startswith("| latency")] == ["not measured"]

    def by_times(times: Any) -> str:
        return only(gate(scores, profile="reranker", latency_ms={"a": times}), "latency_ms:p95").reason

    assert by_times(np.linspace(1, 499, 100)) == "reached"
    assert by_times(np.linspace(600, 900, 100)) == "missed"
    assert by_times(np.linspace(1, 510, 100)) == "spans"
    assert by_times(np.linspace(1, 100, 40)) == "spans"  # P95 of 40 values has no upper end
    assert by_times(np.linspace(1, 499, 9)) == "few_questions"


RNG = np.random.default_rng(3)
BASE = RNG.uniform(0.3, 0.7, 40)
AWAY = RNG.normal(0, 0.02, 40)
AWAY -= AWAY.mean()


def beside(shift: float, margin: float, *, spread: float = 1.0, **options: Any) -> Check:
    scores = scores_of([BASE, BASE + shift + spread * AWAY], ["recall@5"], systems=["old", "new"])
    return only(gate(scores, baseline="old", margin=margin, **options), "recall@5", "baseline")


@pytest.mark.parametrize(
    ("shift", "margin", "reason"),
    [(0.0, 0.1, "not_worse"), (0.05, 0.1, "not_worse"), (-0.25, 0.1, "worse"), (-0.1, 0.1, "undecided"),
     (0.0, 0.01, "undecided"), (0.0, 0.001, "undecided"), (-0.004, 0.1, "not_worse")],
)  # fmt: skip
def test_against_a_baseline_the_margin_decides(shift: float, margin: float, reason: str) -> None:
    check = beside(shift, margin)
    d = shift + AWAY
    want, mirrored = (non_inferiority(sign * d, margin=margin, width=1.0) for sign in (1, -1))
    assert check.reason == reason
    assert (check.outcome == "pass") == want.not_worse
    assert check.value == pytest.approx(d.mean())
    assert (check.low, check.high) == pytest.approx((want.low, -mirrored.low))
    assert check.n == 40


def test_an_undecided_loss_tells_what_could_be_shown_and_how_many_would_show_it() -> None:
    for margin in (0.001, 0.02):
        check = beside(0.0, margin)
        resolution = Resolution.of(AWAY, width=1.0)
        assert check.detectable == pytest.approx(resolution.margin)
        assert check.needed == resolution.questions(margin)
        assert check.needed > 40
        # By t alone, too few.
        assert check.detectable > min_detectable_difference(AWAY, n_sides=1)
        assert check.needed > questions_needed(margin / AWAY.std(ddof=1), n_sides=1)
    assert beside(-0.1, 0.1).needed is None  # enough questions, were nothing lost; something seems to be
    assert beside(0.0, 1e-12).needed is None  # more than anybody asks


def test_where_t_alone_thinks_there_are_enough_the_number_is_that_of_the_gate() -> None:
    assert questions_needed(0.02 / AWAY.std(ddof=1), n_sides=1) < 40
    gated = gate(scores_of([BASE, BASE + AWAY], ["recall@5"], systems=["old", "new"]), baseline="old", margin=0.02)
    (check,) = gated.checks
    assert f"about {check.needed} could rule out 0.02" in reason_text(check, gated, read_words("en"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_pass_says_what_it_cannot_exclude(language: str) -> None:
    scores = scores_of([BASE, BASE + 0.2 + AWAY], ["recall@5"], systems=["old", "new"])
    gated = gate(scores, profile="production", baseline="old", margin=0.1, system="new", max_failed=0.5)
    words = read_words(language)
    level, difference, failed = (
        only(gated, name, kind) for name, kind in (("recall@5", "level"), ("recall@5", "baseline"), ("failed", "share"))
    )
    share = 1 - 0.05 ** (1 / 40)
    assert (difference.unseen_share, difference.unseen_loss) == pytest.approx((share, share))
    assert math.isnan(level.unseen_share) == (level.outcome != "pass")
    assert math.isnan(failed.unseen_share)
    note = words("gate.unseen", share="7.2%", loss="0.072")
    assert [text for text in gate_sheets(gated, words)[0].notes if text == note] == [note]
    assert note in gate_sheet(gated, words).notes
    assert note in " ".join(gated.text("markdown", lang=words.code).split("\n"))
    assert gated.text("junit", lang=words.code).count(f"<system-out>{note}</system-out>") == 1
    row = next(row for row in gated.data()["checks"] if row["kind"] == "baseline")
    assert (row["unseen_share"], row["unseen_loss"]) == (difference.unseen_share, difference.unseen_loss)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_a_level_says_how_much_worse_the_mean_may_be(better: str, tmp_path: Path) -> None:
    (path := tmp_path / "a.toml").write_text(
        f'levels = ["ok"]\n[measures."recall@5"]\nbetter = "{better}"\nlevels.ok = 0.5\n'
    )
    values = np.full((1, 100), 0.9 if better == "higher" else 0.1)
    (check,) = gate(scores_of(values, ["recall@5"]), profile=str(path)).checks
    assert check.outcome == "pass"
    assert check.unseen_share == pytest.approx(1 - 0.05**0.01)
    assert check.unseen_loss == pytest.approx(0.9 * check.unseen_share)


def test_a_mean_without_a_range_has_no_bound() -> None:
    clicks = np.random.default_rng(1).normal(100, 1, (2, 200))
    gated = gate(scores_of(clicks, ["n_retrieved"], systems=["old", "new"]), baseline="old", margin=20.0)
    (check,) = gated.checks
    assert (check.outcome, check.unseen_loss) == ("pass", math.inf)
    note = read_words("en")("gate.unseen_unbounded", share="1.5%")
    assert note in gate_sheets(gated, read_words("en"))[0].notes
    assert gated.data()["checks"][0]["unseen_loss"] is None


def test_less_latency_holds_the_margin_though_no_profile_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_afterwards(monkeypatch)
    sy.measure(name="latency_ms", range=(0.0, math.inf), relevant=False)(lambda alignment: np.zeros(0))
    for shift, reason in ((-0.1, "not_worse"), (0.1, "worse")):
        scores = scores_of([BASE, BASE + shift + AWAY], ["latency_ms"], systems=["old", "new"])
        check = only(gate(scores, baseline="old", margin=0.02), "latency_ms", "baseline")
        assert (check.reason, check.better) == (reason, "lower")
        assert check.value == pytest.approx(shift)
    equal = gate(scores_of([BASE, BASE], ["latency_ms"], systems=["old", "new"]), baseline="old", margin=0.02)
    check = only(equal, "latency_ms", "baseline")
    assert (check.reason, check.needed) == ("undecided", None)
    assert np.isnan([check.low, check.high, check.detectable]).all()


def test_the_frame_has_a_row_a_check() -> None:
    outcome = gate(stated({**GOOD, "recall@5": (0.75, math.nan, math.nan)}), profile="production", max_failed=0.05)
    frame = outcome.frame
    assert frame["name"].to_list() == [check.name for check in outcome.checks]
    assert frame["outcome"].to_list() == [check.outcome for check in outcome.checks]
    assert frame.filter(name="recall@5", kind="level").select("value", "low", "limit", "reason", "n").row(0) == (
        0.75, None, 0.7, "no_interval", 50
    )  # fmt: skip
    assert frame.filter(name="failed").select("limit", "better", "level").row(0) == (0.05, "lower", None)


def test_equal_values_prove_no_more_than_their_number_does() -> None:
    check = beside(0.0, 0.01, spread=0.0)
    assert (check.reason, check.needed) == ("undecided", 299)  # .99 ** 299 is below .05
    assert check.low == -check.high == pytest.approx(0.05 ** (1 / 40) - 1)
    assert check.detectable == pytest.approx(check.high)
    assert beside(0.0, 0.08, spread=0.0).reason == "not_worse"
    assert beside(-0.25, 0.01, spread=0.0).reason == "worse"


def test_the_same_lists_are_not_worse_and_equal_values_alone_are_no_sign_of_them() -> None:
    scores = scores_of([BASE, BASE], ["recall@5"], systems=["old", "new"])
    for new, reason in (("sha256:a", "identical"), ("sha256:b", "undecided")):
        runs = {**scores.recipe_parts, "runs": {"old": "sha256:a", "new": new}}
        check = only(gate(replace(scores, recipe_parts=runs), baseline="old", margin=0.01), "recall@5", "baseline")
        assert (check.reason, check.outcome == "pass", check.value) == (reason, reason == "identical", 0)
        assert ((check.low, check.high) == (0, 0)) == (reason == "identical")


@pytest.mark.parametrize("alike", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("runs", [{}, {"old": "sha256:a", "new": "sha256:a"}])
def test_gate_and_compare_give_one_answer(alike: float, runs: dict[str, str]) -> None:
    rng = np.random.default_rng(round(10 * alike))
    for n in (2, 12, 60, 200):
        for margin in (0.01, 0.05, 0.3):
            old = np.round(rng.random(n), 1)
            new = np.where(rng.random(n) < alike, old, np.clip(old + rng.choice([-0.1, 0.1, 0.3], n), 0, 1))
            scores = scores_of([old, new], ["recall@5"], systems=["old", "new"])
            scores = replace(scores, recipe_parts={**scores.recipe_parts, "runs": runs})
            check = only(gate(scores, baseline="old", margin=margin, min_questions=1), "recall@5", "baseline")
            (row,) = [row for row in sy.compare(scores, margin=margin).rows["recall@5"] if row.system == "new"]
            assert bool(row.not_worse) == (check.outcome == "pass")
            assert not row.equivalent or row.not_worse


def test_only_questions_that_both_have_are_compared_and_the_rest_is_counted() -> None:
    old = scores_of([BASE[:30]], ["recall@5"], systems=["old"], query_ids=[f"q{i}" for i in range(30)])
    new = scores_of([BASE + AWAY], ["recall@5"], systems=["new"], query_ids=[f"q{i}" for i in range(5, 45)])
    check = only(gate(new, baseline=old, margin=0.5), "recall@5", "baseline")
    assert (check.n, check.left_out) == (25, (15, 5))
    assert check.value == pytest.approx(float((BASE[:25] + AWAY[:25] - BASE[5:30]).mean()))
    few = only(gate(new, baseline=old, margin=0.5, min_questions=26), "recall@5", "baseline")
    assert (few.reason, few.n, few.left_out) == ("few_questions", 25, (15, 5))


def test_skipped_questions_are_left_out() -> None:
    values = np.array([BASE, BASE + AWAY])
    values[0, :4], values[1, 2:8] = np.nan, np.nan
    scores = scores_of(values, ["recall@5"], systems=["old", "new"])
    check = only(gate(scores, baseline="old", margin=0.1), "recall@5", "baseline")
    assert (check.n, check.left_out) == (32, (2, 4))


def test_one_question_allows_no_test() -> None:
    scores = scores_of([[0.5], [0.6]], ["recall@5"], systems=["old", "new"])
    assert (
        only(gate(scores, baseline="old", margin=0.1, min_questions=1), "recall@5", "baseline").reason == "no_interval"
    )


def test_a_profile_says_which_measures_are_compared() -> None:
    scores = scores_of(np.stack([[BASE, BASE, BASE]] * 2), ["hit_rate@5", "mrr(min_gain=2)", "map"])
    found = gate(scores, profile="monitoring", baseline="a", margin=0.01)
    assert [(check.system, check.name, check.kind) for check in found.checks] == [
        ("b", "hit_rate@5", "baseline"),
        ("b", "mrr(min_gain=2)", "baseline"),
    ]
    assert (found.level, found.outcome) == (None, "insufficient")
    with pytest.raises(InputError, match=r"monitoring does not judge map; evaluate .* -m hit_rate@5 -m mrr"):
        gate(scores_of([BASE, BASE], ["map"]), profile="monitoring", baseline="a", margin=0.01)


def test_a_baseline_of_other_scores_is_their_only_system_or_that_of_the_same_name() -> None:
    new = scores_of([BASE, BASE], ["recall@5"], systems=["x", "y"])
    only_one = gate(new, baseline=scores_of([BASE], ["recall@5"], systems=["old"]), margin=0.01)
    assert only_one.baselines == {"x": "old", "y": "old"}
    same_names = gate(new, baseline=scores_of([BASE, BASE], ["recall@5"], systems=["y", "x"]), margin=0.01)
    assert same_names.baselines == {"x": "x", "y": "y"}
    with pytest.raises(InputError, match="none is called 'x': y, z"):
        gate(new, baseline=scores_of([BASE, BASE], ["recall@5"], systems=["y", "z"]), margin=0.01)


def test_a_measure_that_the_baseline_lacks_is_told() -> None:
    new, old = scores_of([BASE], ["recall@5"]), scores_of([BASE], ["mrr"])
    assert only(gate(new, baseline=old, margin=0.01), "recall@5", "baseline").reason == "not_measured"


def test_truths_that_differ_are_told() -> None:
    new, old = scores_of([BASE], ["mrr"]), scores_of([BASE], ["mrr"], truth="sha256:2")
    assert gate(new, baseline=old, margin=0.1).other_truth
    assert not gate(new, baseline=new, margin=0.1).other_truth
    assert not gate(new, baseline=replace(old, recipe_parts={}), margin=0.1).other_truth


@pytest.mark.parametrize(("factor", "reason"), [(1.4, "reached"), (1.01, "missed"), (1.15, "spans")])
def test_a_reranker_is_held_against_none(factor: float, reason: str) -> None:
    new = factor * BASE + AWAY
    scores = scores_of([BASE, new], ["ndcg@10"], systems=["none", "reranked"])
    found = gate(scores, profile="reranker", baseline="none")
    check, want = only(found, "ndcg@10", "relative"), relative_change(BASE, new)
    assert (check.reason, check.value, check.low, check.high) == (reason, want.change, want.low, want.high)
    assert (found.not_judged, found.margin) == (None, None)
    assert not [check for check in found.checks if check.kind == "baseline"]
    assert gate(scores, profile="reranker", baseline="none", min_questions=41).checks[-1].reason == "few_questions"


def test_a_baseline_near_zero_has_no_ratio() -> None:
    zero = np.zeros(40)
    scores = scores_of([zero, BASE], ["ndcg@10"], systems=["none", "reranked"])
    assert only(gate(scores, profile="reranker", baseline="none"), "ndcg@10", "relative").reason == "no_ratio"


def report(n_pieces: int, n_lost: int) -> GoldMapping:
    return GoldMapping("any", (), {"span": n_pieces}, True, True, (("q", "piece", "why"),) * n_lost, ())


def marked(**changes: Any) -> Scores:
    return replace(stated(GOOD), **changes)


def shares(scores: Scores, **options: Any) -> list[tuple[str, str, float]]:
    found = gate(scores, **options)
    return [(check.name, check.reason, check.value) for check in found.checks if check.kind == "share"]


def test_bounds_on_what_could_not_be_measured() -> None:
    five = np.arange(50)[None, :] < 5
    judged = np.ones((1, 3, 50))
    judged[0, 1] = 0.8
    scores = marked(failed=five, missing=~five, judged=judged, gold=[report(20, 1)])
    most = {"max_failed": 0.1, "max_missing": 0.5, "max_unjudged": 0.1, "max_unmapped": 0.05}
    found = shares(scores, **most)
    assert [(name, reason) for name, reason, _ in found] == [
        ("failed", "within"),
        ("missing", "exceeded"),
        ("unjudged", "exceeded"),
        ("unmapped", "within"),
    ]
    assert [value for _, _, value in found] == pytest.approx([0.1, 0.9, 0.2, 0.05])
    assert gate(scores, **most).checks[-1].n == 20
    assert gate(scores, max_failed=0.09).exit_code == 1
    assert gate(scores, max_failed=0.0, max_missing=1.0).outcome == "fail"


def test_gold_named_by_id_cannot_tell_what_is_unmapped() -> None:
    assert shares(marked(), max_unmapped=1.0)[0][:2] == ("unmapped", "not_measured")


def test_only_measures_that_are_judged_tell_of_labels() -> None:
    judged = np.ones((1, 3, 50))
    judged[0, 2] = 0.5
    scores = replace(stated({"recall@5": FINE, "mrr": FINE, "hit_rate@9": FINE}), judged=judged)
    assert shares(scores, profile="production", max_unjudged=0.1)[0][1] == "within"
    assert shares(scores, max_unjudged=0.1)[0][1] == "exceeded"


def test_a_measure_with_a_k_tells_of_labels_before_one_without() -> None:
    judged = np.ones((1, 2, 50))
    judged[0, 1] = 0.5
    told = replace(stated({"recall@5": FINE, "mrr": FINE}), judged=judged)
    assert shares(told, max_unjudged=0.1) == [("unjudged", "within", 0.0)]
    alone = replace(stated({"map": FINE, "mrr": FINE}), judged=judged)
    assert shares(alone, max_unjudged=0.1) == [("unjudged", "exceeded", 0.5)]


def test_every_system_but_the_baseline_is_judged_unless_one_is_named() -> None:
    scores = scores_of([BASE, BASE, BASE], ["recall@5"], systems=["x", "y", "z"])
    assert gate(scores, profile="ratings").systems == ["x", "y", "z"]
    assert gate(scores, profile="ratings", baseline="y", margin=0.1).systems == ["x", "z"]
    assert gate(scores, profile="ratings", system="y").systems == ["y"]
    order = [check.system for check in gate(scores, profile="ratings", baseline="y", margin=0.1, max_failed=0.1).checks]
    assert order == ["x"] * 3 + ["z"] * 3


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "nothing to judge by; name a profile"),
    "profile": ({"profile": "prodution"}, r"did you mean production\?"),
    "level": ({"profile": "production", "level": "god"}, r"no level 'god'; did you mean good\?"),
    "level without a profile": ({"level": "good", "max_failed": 0}, "name the profile"),
    "no measure of it": ({"profile": "document-qa", "system": "b"}, None),
    "no levels": ({"profile": "monitoring"}, "nothing to judge by"),
    "no margin": ({"baseline": "a"}, "a baseline needs a margin"),
    "margin of 0": ({"baseline": "a", "margin": 0.0}, "margin must be a number above 0, not 0.0"),
    "negative margin": ({"baseline": "a", "margin": -0.1}, "margin must be a number above 0, not -0.1"),
    "nan as margin": ({"baseline": "a", "margin": math.nan}, "margin must be a number above 0, not nan"),
    "margin alone": ({"margin": 0.1, "max_failed": 0}, "needs a baseline"),
    "baseline": ({"baseline": "c", "margin": 0.1}, "c: is neither a system of the scores .there are a, b. nor a file"),
    "system": ({"profile": "ratings", "system": "c"}, "no system is called 'c'"),
    "itself": ({"baseline": "a", "system": "a", "margin": 0.1}, "a is the baseline itself"),
    "share": ({"max_failed": 5}, "max_failed must be a share from 0 to 1, such as 0.05, not 5"),
    "nan as share": ({"max_missing": math.nan}, "max_missing must be a share from 0 to 1, such as 0.05, not nan"),
    "min_questions": ({"profile": "ratings", "min_questions": 0}, "min_questions must be a whole number from 1, not 0"),
    "alpha": ({"profile": "ratings", "alpha": 1.0}, "alpha must be a number above 0 and below 1, not 1.0"),
    "numbers without a profile": ({"max_failed": 0, "numbers": {"x": 1.0}}, "name a profile"),
    "unknown number": ({"profile": "reranker", "numbers": {"latency": 1.0}}, "no levels for a number 'latency'"),
}


@pytest.mark.parametrize("label", BAD)
def test_bad_input_is_told(label: str) -> None:
    options, told = BAD[label]
    scores = scores_of([BASE, BASE], ["map" if label == "no measure of it" else "recall@5"])
    with pytest.raises(InputError, match=told or "document-qa does not judge map; evaluate .* -m recall@5 -m ndcg@5"):
        gate(scores, **options)


def test_the_baseline_alone_and_geometric_means_are_refused() -> None:
    with pytest.raises(InputError, match="is the only system"):
        gate(scores_of([BASE], ["mrr"]), baseline="a", margin=0.1)
    with pytest.raises(InputError, match="geometric"):
        gate(scores_of([BASE, BASE], ["gm_map"]), baseline="a", margin=0.1)


series = st.lists(st.integers(0, 4).map(lambda i: i / 4), min_size=2, max_size=25)


@examples(60)
@given(series)
def test_a_gate_never_passes_below_the_level_and_is_monotone_in_it(values: list[float]) -> None:
    scores = scores_of([values], ["precision@5"])
    grave = {"pass": 0, "insufficient": 1, "fail": 2}
    outcomes = []
    for level in Profile.read("ratings").levels:
        check = only(gate(scores, profile="ratings", level=level, min_questions=2), "precision@5")
        assert check.outcome != "pass" or check.low >= check.limit - 1e-9
        assert check.outcome != "fail" or check.high < check.limit
        outcomes.append(grave[check.outcome])
    assert outcomes == sorted(outcomes)


@examples(60)
@given(series, st.randoms(use_true_random=False), st.lists(st.floats(0.001, 1), min_size=2, max_size=2))
def test_a_wider_margin_is_never_harder_to_hold(values: list[float], shuffler, margins: list[float]) -> None:
    other = shuffler.sample(values, len(values))
    scores = scores_of([values, other], ["mrr"], systems=["old", "new"])
    grave = {"pass": 0, "insufficient": 1, "fail": 2}
    narrow, wide = (
        grave[gate(scores, baseline="old", margin=margin, min_questions=2).outcome] for margin in sorted(margins)
    )
    assert wide <= narrow


@pytest.mark.parametrize(
    ("shift", "reason", "low_sign"), [(-0.1, "not_worse", -1), (0.2, "worse", 1), (0.01, "undecided", -1)]
)
def test_where_lower_is_better_more_is_the_loss(shift: float, reason: str, low_sign: int, tmp_path: Path) -> None:
    (path := tmp_path / "low.toml").write_text(
        'levels = ["ok"]\n[measures.rbp_residual]\nbetter = "lower"\nlevels.ok = 0.9\n'
    )
    scores = scores_of([BASE, BASE + shift + AWAY], ["rbp_residual"], systems=["old", "new"])
    check = only(gate(scores, profile=str(path), baseline="old", margin=0.01), "rbp_residual", "baseline")
    assert (check.reason, check.better) == (reason, "lower")
    assert check.value == pytest.approx(shift)
    assert check.low < check.value < check.high
    assert math.copysign(1, check.low) == low_sign


def test_a_profile_without_a_gain_over_the_baseline_needs_a_margin() -> None:
    with pytest.raises(InputError, match="a baseline needs a margin"):
        gate(scores_of([BASE, BASE], ["recall@5"]), profile="ratings", baseline="a")


TOKENS = [311.0, 1207.0, 96.0, 2048.0, 733.0] * 8


@pytest.mark.parametrize(
    ("name", "columns", "limit"),
    [
        ("cost_usd_per_million_tokens", {"tokens": TOKENS, "cost_usd": [n * 0.05 / 1e6 for n in TOKENS]}, 0.05),
        ("cost_usd", {"cost_usd": [0.1] * 40}, 0.1),
        ("latency_ms", {"latency_ms": [0.1 + 0.2] * 40}, 0.3),
        ("latency_ms:p50", {"latency_ms": [0.1 + 0.2] * 40}, 0.3),
    ],
)
def test_a_constant_at_its_level_reaches_it(name: str, columns: dict[str, list[float]], limit: float, tmp_path) -> None:
    """More questions would narrow nothing; one digit beyond the level is a miss."""
    rows = [("a", f"q{i}", "ok", column, value) for column, values in columns.items() for i, value in enumerate(values)]
    schema = ["system", "query_id", "status", "measure", "value"]
    scores = Scores.of(pl.DataFrame(rows, schema=schema, orient="row"))
    for level, reason in ((limit, "reached"), (limit * 0.9999, "missed")):
        table = f'[measures."{name}"]\ngiven = true\nbetter = "lower"\nlevels = {{ slo = {level!r} }}\n'
        (tmp_path / "slo.toml").write_text(f'name = "slo"\nbelow = "slow"\nlevels = ["slo"]\n{table}')
        assert only(gate(scores, profile=str(tmp_path / "slo.toml")), name).reason == reason


TWO_RUNS = {
    "old": {f"q{n}": ["x", "d"] for n in range(30)},
    "new": {f"q{n}": ["d", "x"] if n % 3 else ["x", "d"] for n in range(30)},
}


def test_two_runs_and_a_margin_need_no_file_between() -> None:
    truth = {f"q{n}": {"d": 1} for n in range(30)}
    verdict = gate(truth, TWO_RUNS, measures=["mrr@10"], margin=0.02)
    assert verdict.baselines == {"new": "old"}
    assert [(check.name, check.kind, check.outcome) for check in verdict.checks] == [("mrr@10", "baseline", "pass")]
    scores = sy.evaluate(truth, TWO_RUNS, ["mrr@10", "recall@1"])
    named = gate(scores, baseline="old", measures="mrr@10", margin=0.02)
    assert named.frame.equals(verdict.frame)
    back = gate(truth, dict(reversed(TWO_RUNS.items())), measures=["mrr@10"], margin=0.02)
    assert (back.baselines, back.outcome) == ({"old": "new"}, "fail")


def test_without_a_margin_no_run_is_a_baseline() -> None:
    with pytest.raises(InputError, match="there is nothing to judge by"):
        gate({"q": {"d": 1}}, {"a": {"q": ["d"]}, "b": {"q": ["d"]}}, measures=["mrr@10"])
