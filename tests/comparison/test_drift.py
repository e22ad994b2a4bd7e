"""Systems judged by two judges: the judges' shift is measured on what both judged, and taken off."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.simulated.drift import CALIBRATED, CalibratedRuns, held

import steelyard as sy
from steelyard.judges.people.calibration import Calibration, Confusion, Estimate
from steelyard.judges.verdict import JudgedAnswer
from steelyard.stats.labels.rogan_gladen import people_difference
from steelyard.stats.samples import MeanError
from tests.experiment.judged import outputs, questions
from tests.experiment.judged import record as small

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")

N = 60
OLD, NEW = {"judge": {"name": "llm", "model": "m-1"}}, {"judge": {"name": "llm", "model": "m-2"}}


def record(query_id: str, labels: Any, texts: Any) -> JudgedAnswer:
    made = small(query_id, "".join("NY"[int(label)] for label in labels))
    units = tuple(replace(unit, text=text) for unit, text in zip(made.units, texts, strict=True))
    return replace(made, units=units, answer=" ".join(texts), context_digests=("d1",), query="How many?")


def two_runs(
    seed: int = 1, *, same: float = 0.7, up: float = 0.3, elsewhere: float | None = None, longer: str = ""
) -> tuple[sy.Verdicts, sy.Verdicts]:
    """Two runs of one system: of each answer some sentences come again, and the second judge supports more.

    elsewhere   so much more of the others;   longer   added to the text of these
    """
    rng = np.random.default_rng(seed)
    before, after = [], []
    for q in range(1, N + 1):
        first, again, alike = rng.random(3) < 0.7, rng.random(3) < 0.7, rng.random(3) < same
        share = np.where(alike, up, up if elsewhere is None else elsewhere)
        second = np.where(alike, first, again) | (rng.random(3) < share)
        before.append(record(str(q), first, [f"s{n}" for n in range(3)]))
        after.append(record(str(q), second, [f"s{n}" if k else f"t{n}{longer}" for n, k in enumerate(alike)]))
    return sy.Verdicts(before, OLD), sy.Verdicts(after, NEW)


def weighing(before: sy.Verdicts, after: sy.Verdicts, **options: Any) -> sy.Weighing:
    runs = {"a": outputs(N, answered=N), "b": outputs(N, answered=N, answer="Ten.")}
    asked = [{**q, "tags": [("odd", "few")[int(q["qid"]) <= 5]]} for q in questions(N, gold_evidence=["c"])]
    return sy.weigh(asked, runs, verdicts={"a": before, "b": after}, **options)


def test_the_shift_is_taken_off() -> None:
    both = weighing(*two_runs())
    as_judged = sy.compare(sy.Scores.of(both.scores("faithfulness").frame))
    assert as_judged.rows["faithfulness"][0].verdict == "better"
    comparison = sy.compare(both, measures="faithfulness")
    assert comparison.drift is not None
    (drift,) = comparison.drift.frame.to_dicts()
    assert comparison.drift.differing == {"b": "judge.model is 'm-1' and 'm-2'"}
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "b")
    assert row.verdict == "no difference shown"
    assert drift["as_judged"] == pytest.approx(as_judged.rows["faithfulness"][0].difference)
    assert drift["as_judged"] - drift["shift"] == pytest.approx(row.difference) == pytest.approx(drift["difference"])
    assert drift["share"] == pytest.approx(drift["shift"] / drift["as_judged"])
    assert drift["shift_low"] > 0
    assert 100 < drift["n_anchors"] < 150
    baseline = next(row for row in comparison.rows["faithfulness"] if row.system == "a")
    assert row.mean - baseline.mean == pytest.approx(row.difference)
    assert row.low < 0 < row.high
    assert (row.n_wins, comparison.changes) == (None, ())


@pytest.mark.parametrize(
    ("elsewhere", "verdict", "bound"),
    [
        (0.1, "no difference shown", "no difference shown"),
        (0.6, "better", "no difference shown"),
        (1.0, "better", "better"),
    ],
)
def test_a_bound_allows_for_up_to_twice_the_shift_elsewhere(elsewhere: float, verdict: str, bound: str) -> None:
    comparison = sy.compare(weighing(*two_runs(same=0.45, up=0.15, elsewhere=elsewhere)), measures="faithfulness")
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "b")
    assert comparison.drift is not None
    (drift,) = comparison.drift.frame.to_dicts()
    assert (row.verdict, drift["bound_verdict"]) == (verdict, bound)
    assert drift["bound_low"] < row.low < row.high
    assert drift["bound_high"] >= row.high
    assert 0.4 < drift["elsewhere"] < 0.65


@pytest.mark.parametrize(
    ("elsewhere", "english", "chinese"),
    [
        (0.15, "are not told apart", "尚无法区分"),
        (0.6, "With up to twice that shift elsewhere it is no longer shown.", "则不再显出差异。"),
        (1.0, "On the anchors no shift is shown: a judge who shifts", "在锚点上未显出偏移：只在别处偏移的裁判"),
    ],
)
def test_the_verdict_says_what_it_supposes(elsewhere: float, english: str, chinese: str) -> None:
    comparison = sy.compare(weighing(*two_runs(same=0.45, up=0.15, elsewhere=elsewhere)), measures="faithfulness")
    for lang, said in (
        ("en", ("If the judge shifted elsewhere as on the anchors: ", english, "if up to twice elsewhere")),
        ("zh", ("若裁判在别处的偏移与在锚点上相同：", chinese, "别处至多两倍")),
    ):
        text = comparison.text("markdown", lang=lang)
        assert all(part in text for part in said)
    content = comparison.data()
    assert content["headline"].startswith("If the judge shifted elsewhere as on the anchors: ")
    assert {"bound_low", "bound_high", "bound_verdict", "score", "length"} <= {*content["drift"]["systems"][0]}


@pytest.mark.parametrize(("longer", "is_unlike"), [("", False), (" and more", True)])
def test_anchors_are_held_against_the_other_sentences(longer: str, is_unlike: bool) -> None:
    comparison = sy.compare(weighing(*two_runs(longer=longer)), measures="faithfulness")
    assert comparison.drift is not None
    (drift,) = comparison.drift.frame.to_dicts()
    assert drift["score"] > 0.05
    assert (drift["length"] is not None and drift["length"] < 1e-6) is is_unlike
    english, chinese = (comparison.text("markdown", lang=lang) for lang in ("en", "zh"))
    assert ("Caution, b, faithfulness: anchors are unlike its other sentences by length" in english) is is_unlike
    assert ("锚点在长度上与其余句子不同" in chinese) is is_unlike
    assert ("anchors are not shown to be unlike" in english) is not is_unlike
    assert "verdicts on anchors move more often at some values of score" in english  # Only what was unsupported moves.


def test_a_verdict_that_holds_with_twice_the_shift_says_so() -> None:
    comparison = sy.compare(weighing(*two_runs(same=0.45, up=0.15, elsewhere=1.0)), measures="faithfulness")
    assert comparison.drift is not None
    frame = comparison.drift.frame.with_columns(shift_low=pl.lit(0.01))  # A shift that the anchors show.
    shown = replace(comparison, drift=replace(comparison.drift, frame=frame))
    for lang, said in (("en", "So it is with up to twice that shift elsewhere."), ("zh", "结论不变。")):
        assert said in shown.text("markdown", lang=lang)
        assert said not in comparison.text("markdown", lang=lang)


def test_a_shift_elsewhere_alone_is_not_said_to_be_ruled_out() -> None:
    """The bound holds, as twice nothing is nothing; the headline says what that is worth."""
    comparison = sy.compare(weighing(*two_runs(same=0.45, up=0.0, elsewhere=0.8)), measures="faithfulness")
    assert comparison.drift is not None
    (drift,) = comparison.drift.frame.to_dicts()
    assert (drift["shift"], drift["bound_verdict"]) == (0, "better")
    for lang, said, not_said in (
        (
            "en",
            "On the anchors no shift is shown: a judge who shifts elsewhere alone would look like this, too.",
            "So it is",
        ),
        ("zh", "在锚点上未显出偏移：只在别处偏移的裁判也会得出这样的结果。", "结论不变"),
    ):
        text = comparison.text("markdown", lang=lang)
        assert said in text
        assert not_said not in text


def test_a_run_of_anchors_alone_supposes_nothing() -> None:
    comparison = sy.compare(weighing(*two_runs(same=1.0)), measures="faithfulness")
    assert comparison.drift is not None
    assert comparison.drift.frame["elsewhere"].to_list() == [0]
    text = comparison.text(lang="en")
    assert "If the judge shifted elsewhere" not in text
    assert "Caution" not in text


def test_one_run_judged_twice_differs_by_nothing() -> None:
    before, _ = two_runs()
    again = sy.Verdicts([replace(r, support=r.support[::-1]) for r in before.records.values()], NEW)
    comparison = sy.compare(weighing(before, again), measures="faithfulness")
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "b")
    assert (row.difference, row.p, row.n_ties) == (0, 1, N)
    assert "equal on all 60 questions" in comparison.text(lang="en")


def test_it_is_said_in_every_format_and_language() -> None:
    comparison = sy.compare(weighing(*two_runs()), measures="faithfulness", margin=0.5)
    for lang, said in (
        ("en", ("judge drift", "judged otherwise than a: judge.model is 'm-1' and 'm-2'")),
        ("zh", ("裁判偏移", "b 与 a 的判定方式不同")),
    ):
        for name in ("table", "markdown", "latex"):
            text = comparison.text(name, lang=lang, explain=True)
            assert said[0] in text
        assert said[1] in comparison.text("markdown", lang=lang).replace("\\_", "_")
    content = comparison.data()
    assert content["drift"]["systems"][0]["n_anchors"] > 100
    rows = {row["system"]: row for row in content["measures"]["faithfulness"]["systems"]}
    assert (rows["a"]["n_wins"], rows["b"]["n_wins"]) == (0, None)
    assert "not worse" in comparison.text("csv")
    assert not any(note.code == "judges_differ" for notes in comparison.notes.values() for note in notes)


def test_a_report_shows_it() -> None:
    report = sy.report(weighing(*two_runs()), measures=["faithfulness"])
    for name in ("table", "markdown", "html"):
        assert "judge drift" in report.text(name, lang="en", explain=True), name
    again = sy.Report.from_parts(json.loads(json.dumps(report.parts())))
    assert again.text("markdown", lang="zh") == report.text("markdown", lang="zh")
    assert "裁判偏移" in again.text("markdown", lang="zh")


def test_segments_with_few_anchors_have_no_test() -> None:
    comparison = sy.compare(weighing(*two_runs()), measures="faithfulness", segments="tag")
    rows = {(r["segment"], r["system"]): r for r in comparison.frame.iter_rows(named=True)}
    assert (rows["few", "b"]["verdict"], rows["few", "b"]["reason"]) == ("no test", "few anchors")
    assert rows["odd", "b"]["verdict"] == "no difference shown"
    assert "too little of the same texts" in comparison.text(lang="en")


def test_a_third_system_by_the_judge_of_the_baseline_is_left_as_it_is() -> None:
    before, after = two_runs()
    runs = {name: outputs(N, answered=N, answer=f"{name}.") for name in "abc"}
    three = sy.weigh(questions(N, gold_evidence=["c"]), runs, verdicts={"a": before, "b": after, "c": before})
    with pytest.raises(sy.InputError, match=r"were judged differently: .*; name the baseline whose judge counts"):
        sy.compare(three, measures=["faithfulness", "mrr"])
    comparison = sy.compare(three, measures=["faithfulness", "mrr"], baseline="a")
    assert comparison.drift is not None
    assert comparison.drift.frame["system"].to_list() == ["b"]
    row = next(row for row in comparison.rows["faithfulness"] if row.system == "c")
    assert (row.difference, row.n_ties) == (0, N)
    assert list(comparison.groups) == ["mrr"]


def test_too_few_anchors_are_refused() -> None:
    with pytest.raises(sy.InputError) as raised:
        sy.compare(weighing(*two_runs(same=0.1)), measures="faithfulness")
    assert "a and b were judged differently: judge.model is 'm-1' and 'm-2'; by faithfulness both judged 1" in str(
        raised.value
    )
    assert "--anchors OLD NEW" in str(raised.value)


@pytest.mark.parametrize("test", ["randomization", "wilcoxon", "sign", "tukey"])
def test_other_tests_are_refused(test: str) -> None:
    with pytest.raises(sy.InputError, match="t tests alone"):
        sy.compare(weighing(*two_runs()), measures="faithfulness", test=test)


def test_anchors_that_were_kept_for_it(tmp_path: Path) -> None:
    """Of scores without a run, and in either order; the shift and its variance are those of the anchors."""
    before, after = two_runs(same=0.0)
    old, new = two_runs(2, same=1.0)
    for name, verdicts in (("old", old), ("new", new)):
        verdicts.write(tmp_path / f"{name}.parquet")
    scores = weighing(before, after).scores("faithfulness")
    with pytest.raises(sy.InputError, match="judged differently"):
        sy.compare(scores)
    comparison = sy.compare(scores, anchors=(old, new))
    assert comparison.drift is not None
    assert comparison.drift.frozen
    assert comparison.drift.frame["n_anchors"].to_list() == [3 * N]
    assert comparison.drift.frame.select("elsewhere", "score", "length").rows() == [(1, None, None)]
    assert "is not checked" in comparison.text("markdown", lang="en")
    assert "是否与其余部分相似未作检查" in comparison.text("markdown", lang="zh")
    swapped = sy.compare(scores, anchors=(str(tmp_path / "new.parquet"), tmp_path / "old.parquet"))
    assert swapped.frame.equals(comparison.frame)
    plain = sy.compare(sy.Scores.of(scores.frame))
    row, by_judges = comparison.rows["faithfulness"][0], plain.rows["faithfulness"][0]
    assert row.high - row.low > by_judges.high - by_judges.low
    assert row.difference == pytest.approx(by_judges.difference - comparison.drift.frame["shift"][0])


def test_anchors_by_others_and_for_nothing_are_refused() -> None:
    before, after = two_runs()
    scores = weighing(before, after).scores("faithfulness")
    with pytest.raises(sy.InputError, match="none of them is by the judge of b"):
        sy.compare(scores, anchors=(before, before))
    other = sy.Verdicts(list(after.records.values()), {"judge": {"name": "llm", "model": "m-3"}})
    with pytest.raises(sy.InputError, match=r"the judge of b \(judge.model is 'm-2' and 'm-3'\)"):
        sy.compare(scores, anchors=(before, other))
    alike = weighing(before, sy.Verdicts(list(after.records.values()), OLD)).scores("faithfulness")
    with pytest.raises(sy.InputError, match="leave out --anchors"):
        sy.compare(alike, anchors=(before, after))


def test_runs_of_one_system_by_two_judges_are_refused() -> None:
    before, after = two_runs()
    both = sy.weigh(
        questions(N, gold_evidence=["c"]),
        {"a": outputs(N, answered=N), "b": sy.Repeats([outputs(N, answered=N)] * 2)},
        verdicts={"a": [before], "b": [before, after]},
    )
    with pytest.raises(sy.InputError, match="b: its runs were judged differently"):
        sy.compare(both, measures="faithfulness")


def at(first: str, second: str, runs: tuple[sy.Verdicts, sy.Verdicts]) -> tuple[sy.Verdicts, sy.Verdicts]:
    """Both runs by one judge, at two dates."""
    before, after = (
        sy.Verdicts(list(verdicts.records.values()), {**OLD, "date": date})
        for verdicts, date in zip(runs, (first, second), strict=True)
    )
    return before, after


def test_a_model_that_changes_while_its_name_stays_is_two_judges() -> None:
    before, after = at("2026-01-01", "2026-06-01", two_runs())
    comparison = sy.compare(weighing(before, after), measures="faithfulness")
    assert comparison.drift is not None
    assert comparison.drift.differing == {"b": "date is 2026-01-01 and 2026-06-01"}
    assert comparison.rows["faithfulness"][0].verdict in ("no difference shown", "baseline")
    # One that says the same of the same texts is one judge, whenever it judges, and so is one of which little is known.
    for runs in (two_runs(up=0.0), two_runs(same=0.1)):
        same = weighing(*at("2026-01-01", "2026-06-01", runs))
        assert sy.compare(same, measures="faithfulness").drift is None


def test_anchors_of_one_judge_at_two_dates() -> None:
    before, after = at("2026-01", "2026-06", two_runs(same=0.0))
    old, new = at("2026-02", "2026-07", two_runs(2, same=1.0))
    both = weighing(before, after)
    comparison = sy.compare(both, measures="faithfulness", anchors=(new, old))
    assert comparison.drift is not None
    assert comparison.drift.frame["shift"][0] > 0
    backwards = sy.compare(both, measures="faithfulness", anchors=(old, new), baseline="b")
    assert backwards.drift is not None
    assert backwards.drift.frame["shift"][0] == pytest.approx(-comparison.drift.frame["shift"][0])
    with pytest.raises(sy.InputError, match="at the same time"):
        sy.compare(both, measures="faithfulness", anchors=(old, old))
    other = sy.Verdicts(list(old.records.values()), NEW)
    with pytest.raises(sy.InputError, match="another judge than the systems"):
        sy.compare(both, measures="faithfulness", anchors=(old, other))


CALIBRATION = Calibration(
    judge=OLD["judge"], table="grounded", n=200, n_questions=60, date="2026-11-24T10:00:00Z", digest="d",
    confusion=Confusion(90, 10, 20, 80), kappa=Estimate(0.7, 0.6, 0.8), sensitivity=Estimate(0.9, 0.83, 0.945),
    specificity=Estimate(0.8, 0.71, 0.867), balanced_accuracy=Estimate(0.85, 0.8, 0.9),
)  # fmt: skip


def test_a_calibration_says_what_difference_people_would_find(tmp_path: Path) -> None:
    CALIBRATION.write(path := tmp_path / "calibration.json")
    runs = weighing(*two_runs())
    measures = ["faithfulness", "contradiction"]
    comparison = sy.compare(runs, measures=measures, calibration=path)
    assert comparison.drift is not None
    rows = {row["measure"]: row for row in comparison.drift.frame.to_dicts()}
    row, right = rows["faithfulness"], 0.9 + 0.8 - 1
    assert row["people"] == pytest.approx(row["difference"] / right)
    shown = next(own for own in comparison.rows["faithfulness"] if own.system == "b")
    assert row["people_high"] - row["people_low"] > (shown.high - shown.low) / right
    assert row["people_low"] < row["people"] < row["people_high"]
    assert rows["contradiction"]["people"] is None
    assert "By the calibration, people would find faithfulness of b to differ by" in comparison.text(
        "markdown", lang="en"
    )
    assert "按校准推算，人会发现 b 的 faithfulness 相差" in comparison.text("markdown", lang="zh")
    without = sy.compare(runs, measures=measures).drift
    assert without is not None
    assert without.frame["people"].to_list() == [None, None]


@pytest.mark.parametrize(
    ("judges", "change", "message"),
    [
        ((OLD, NEW), {"judge": NEW["judge"]}, "is of another judge: model is 'm-2' there, and 'm-1' here"),
        ((OLD, OLD), {}, "all systems were judged in one way; leave out --calibration"),
    ],
)
def test_a_calibration_of_another_judge_or_for_nothing_is_refused(
    judges: Any, change: dict[str, Any], message: str
) -> None:
    runs = weighing(*(sy.Verdicts(own.records.values(), judge) for own, judge in zip(two_runs(), judges, strict=True)))
    with pytest.raises(sy.InputError, match=message):
        sy.compare(runs, measures="faithfulness", calibration=replace(CALIBRATION, **change))


@pytest.mark.slow
@pytest.mark.parametrize("setting", CALIBRATED, ids=str)
def test_labels_and_drift_together_hold_what_people_would_find(setting: CalibratedRuns) -> None:
    assert held(setting, 600)[2] >= 0.93 - 0.01


@pytest.mark.parametrize(
    ("difference", "right", "error", "want"),
    [
        (MeanError(0.1, 0.02, 200, 201), 1.0, 0.0, (0.1, 0.0606, 0.1394)),
        (MeanError(0.1, 0.02, 200, 201), 0.5, 0.0, (0.2, 0.1211, 0.2789)),
        (MeanError(0.0, 0.02, 200, 201), 0.5, 0.1, (0.0, -0.0859, 0.0859)),
        (MeanError(0.1, 0.02, 200, 201), 0.3, 0.2, (0.3333, -1.0, 1.0)),
        (MeanError(0.1, 0.02, 200, 201), 0.05, 0.01, (np.nan,) * 3),
        (MeanError(0.1, np.nan, 0, 1), 0.9, 0.01, (np.nan,) * 3),
    ],
)
def test_the_difference_of_people(difference: MeanError, right: float, error: float, want: Any) -> None:
    ends = people_difference(difference, right, error, alpha=0.05)
    np.testing.assert_allclose(ends, want, atol=2e-4)
