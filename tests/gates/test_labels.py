"""Gates and ratings by means that labels of people correct: the corrected limit decides, and the check says so."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.data.folders.run_folder import write_run_folder
from steelyard.data.responses import Response
from steelyard.experiment.table.json import as_json
from steelyard.gates.profile_files import parse_profile
from steelyard.judges.people.review import Decision, Review, StratifiedSample, Stratum
from steelyard.judges.tables.items import items
from steelyard.reports.words import read_words
from tests.cli.command import steelyard
from tests.comparison.test_labels import OTHER, labels_of, lenient, strict, weighing

pytest.importorskip("scipy.stats", reason="comparing needs the extra stats")

PROFILE = """
below = "poor"
levels = ["good"]
[measures.faithfulness]
better = "higher"
levels = { good = 0.7 }
"""


def profile(text: str = PROFILE) -> sy.Profile:
    return sy.Profile(**parse_profile(text, name="own", file="own.toml"))


def scores(labels: Any = None, verdicts: Any = None) -> sy.Scores:
    return by_people() if labels is None and verdicts is None else _scores(labels, verdicts)


@cache
def by_people() -> sy.Scores:
    return _scores(None, None)


def _scores(labels: Any, verdicts: Any) -> sy.Scores:
    return weighing(labels_of() if labels is None else labels, verdicts).scores("faithfulness")


def test_a_level_is_reached_by_the_corrected_limit() -> None:
    """By the judge b is above .8; by people about half of it is supported."""
    (plain,) = sy.gate(scores({}), profile=profile(), system="b").checks
    assert (plain.reason, plain.n_labels) == ("reached", 0)
    (check,) = sy.gate(scores(), profile=profile(), system="b").checks
    mean = scores().corrections["b"]["faithfulness"].mean.corrected
    assert (check.value, check.low, check.high, check.n_labels) == (mean.mean, mean.low, mean.high, 80)
    assert check.reason in ("missed", "spans")


def test_a_gate_says_by_how_many_labels() -> None:
    gate = sy.gate(scores(), profile=profile(), system="b")
    english, chinese = read_words("en"), read_words("zh")
    for text in (
        gate.text(lang=english.code),
        gate.text("markdown", lang=english.code),
        gate.text("junit", lang=english.code),
    ):
        assert "corrected by 80 labels of people" in text
    assert "已用 80 条人工标注校正" in gate.text(lang=chinese.code)
    passed = sy.gate(scores(), profile=profile(PROFILE.replace("0.7", "0.2")), system="b")
    assert passed.outcome == "pass"
    assert "faithfulness: corrected by 80 labels of people." in passed.text(lang=english.code)
    assert gate.frame["n_labels"].to_list() == [80]
    assert gate.data()["checks"][0]["n_labels"] == 80
    plain = sy.gate(scores({}), profile=profile(), system="b")
    assert "n_labels" not in plain.frame.columns
    assert "corrected" not in plain.text(lang=english.code)


def test_ratings_are_by_the_corrected_interval() -> None:
    ratings = sy.rate(scores(), profile())
    mean = scores().corrections["b"]["faithfulness"].mean.corrected
    rating = next(rating for rating in ratings if rating.system == "b")
    assert (rating.level, rating.value, rating.low, rating.high) == ("poor", mean.mean, mean.low, mean.high)
    assert ratings.frame["n_labels"].to_list() == [80, 80]
    assert sy.rate(scores({}), profile())[1].level == "good"
    assert "n_labels" not in sy.rate(scores({}), profile()).frame.columns


def test_a_margin_is_held_by_the_corrected_difference(tmp_path: Path) -> None:
    """The judge calls a worse than b by far; people call both alike."""
    (check,) = sy.gate(scores({}), baseline="b", margin=0.2).checks
    assert check.reason == "worse"
    (check,) = sy.gate(scores(), baseline="b", margin=0.3).checks
    values = {name: scores().corrections[name]["faithfulness"].mean.corrected.values for name in "ab"}
    assert check.value == pytest.approx((values["a"] - values["b"]).mean())
    assert (check.reason, check.n_labels) == ("not_worse", 80)
    (check,) = sy.gate(scores(), baseline="b", margin=0.01).checks
    assert check.reason == "undecided"
    assert 0.05 < check.detectable < 0.4
    (tmp_path / "b.json").write_text(as_json(scores().filter(systems="b")))
    (stored,) = sy.gate(scores().filter(systems="a"), baseline=tmp_path / "b.json", margin=0.3).checks
    assert stored.low == pytest.approx(sy.gate(scores(), baseline="b", margin=0.3).checks[0].low)


def test_few_labels_are_too_few_data() -> None:
    gate = sy.gate(scores(labels_of(6)), baseline="b", margin=0.3)
    assert (gate.outcome, gate.checks[0].reason) == ("insufficient", "few_labels")
    for lang, said in (("en", "10 labels of system and baseline"), ("zh", "各需至少 10 条标注")):
        assert said in gate.text(lang=lang)


def test_a_relative_gain_is_corrected_too() -> None:
    relative = '[relative]\nmeasure = "faithfulness"\nleast = 0.05\n'
    own = profile(PROFILE + relative)
    plain, corrected = (
        next(check for check in sy.gate(s, profile=own, system="b", baseline="a").checks if check.kind == "relative")
        for s in (scores({}), scores())
    )
    assert (plain.reason, corrected.reason) == ("reached", "spans")
    assert corrected.high - corrected.low > plain.high - plain.low
    assert np.isfinite(corrected.low)


def test_whoever_judged_labels_decide() -> None:
    both = {"a": strict(), "b": sy.Verdicts(list(lenient().records.values()), OTHER)}
    assert sy.gate(scores(verdicts=both), baseline="b", margin=0.3).outcome == "pass"
    with pytest.raises(sy.InputError, match="judged differently"):
        sy.gate(scores(labels_of(names="a"), both), baseline="b", margin=0.3)


def test_a_report_holds_corrected_values() -> None:
    report = sy.report(weighing(labels_of()), measures=["faithfulness"], profile=profile())
    content = json.loads(report.text("json"))
    assert content["comparison"]["labels"]["corrected"][0]["n_labels"] == 80
    for lang, said in (("en", "corrected by labels of people"), ("zh", "人工标注校正")):
        for name in ("table", "markdown", "html"):
            assert said in report.text(name, lang=lang), (lang, name)
    again = sy.Report.from_parts(json.loads(json.dumps(report.parts())))
    assert again.text("markdown", lang="en") == report.text("markdown", lang="en")


def labelled_folder(path: Path) -> Path:
    """The run of a system whose every answer is a quote; of two in three, people say that they have no support."""
    chunk = sy.Passage("c", text="The hall opens at nine. It closes at ten.")
    responses = [(q["qid"], Response(q["query"], (chunk,), "The hall opens at nine.")) for q in ASKED]
    manifest = {"name": path.name, "finished": "2026-11-22T00:00:00Z", "counts": {"questions": 24, "failed": 0}}
    write_run_folder(path, config={}, manifest=manifest, responses=responses)
    ids = [item.item_id for r in sy.judge(ASKED, path).records.values() for item in items(r, "grounded")]
    sample = StratifiedSample("grounded", path.name, "", 0, (Stratum("all", tuple(ids), tuple(ids)),))
    decisions = [Decision(id, "ann", "not_found" if n % 3 else "supported") for n, id in enumerate(ids)]
    Review([sample], decisions).write(path / "verdicts" / "review.json")
    return path


ASKED = [{"qid": str(n), "query": f"When does hall {n} open?"} for n in range(24)]


def test_labels_of_a_run_folder_count_unless_told_otherwise(tmp_path: Path) -> None:
    folder, truth, levels = labelled_folder(tmp_path / "quoting"), tmp_path / "q.jsonl", tmp_path / "levels.toml"
    truth.write_text("".join(json.dumps(question) + "\n" for question in ASKED), "utf-8")
    levels.write_text(PROFILE, "utf-8")
    words = ["gate", str(folder), "--truth", str(truth), "--profile", str(levels)]
    assert steelyard(*words).returncode == 1
    assert steelyard(*words, "--no-labels").returncode == 0
    elsewhere = tmp_path / "labels.json"
    (folder / "verdicts" / "review.json").rename(elsewhere)
    assert steelyard(*words).returncode == 0
    corrected = steelyard(*words, "--labels", elsewhere, columns=120)
    assert corrected.returncode == 1
    assert b"corrected by 24 labels of people" in corrected.stdout
    plain = sy.gate(folder, profile=profile(), truth=truth, labels=False, baseline=folder, margin=0.5)
    assert [(check.value, check.n_labels) for check in plain.checks] == [(1.0, 0), (0.0, 0)]
    with pytest.raises(sy.InputError, match="these are scores, and labels is an option of evaluating"):
        sy.gate(scores(), profile=profile(), labels=elsewhere)


def lacking(name: str) -> dict[str, Review]:
    """Labels of both, of which one system has four of ten less: these are unsupported."""
    own = labels_of()[name]
    skipped = {d.item_id for d in own.labels.decisions if d.label == "not_found" and int(d.item_id[-1], 16) % 5 < 4}
    kept = [d for d in own.labels.decisions if d.item_id not in skipped]
    return {**labels_of(), name: Review(own.samples, kept)}


def test_items_without_a_label_are_at_either_end_for_gates_and_comparisons() -> None:
    """Without most of the unsupported items b seems to be above .55, and about half of it is supported."""
    held = profile(PROFILE.replace("0.7", "0.55"))
    own = scores(lacking("b"))
    mean = own.corrections["b"]["faithfulness"].mean
    assert mean.ends is not None
    assert mean.corrected.low > 0.55 > mean.ends.lowest.low
    gate = sy.gate(own, profile=held, system="b")
    (check,) = gate.checks
    assert (check.reason, check.low, check.high) == ("spans", *mean.interval)
    assert check.n_undecided == mean.ends.n
    assert f"at either end until they have one: {mean.ends.n})" in gate.text(lang="en", width=300)
    assert f"无标注的 {mean.ends.n} 条" in gate.text(lang="zh", width=300)
    assert gate.data()["checks"][0]["n_undecided"] == mean.ends.n
    (rating,) = sy.rate(own, held)[1:]
    assert (rating.low, rating.high, rating.n_undecided) == (*mean.interval, mean.ends.n)


def test_a_difference_allows_for_items_without_a_label() -> None:
    full, open_ = (
        sy.compare(weighing(labels), measures="faithfulness", margin=0.05) for labels in (labels_of(), lacking("b"))
    )
    rows = [next(row for row in own.rows["faithfulness"] if row.system == "b") for own in (full, open_)]
    assert rows[1].difference > rows[1].low + 0.2
    assert (rows[1].verdict, rows[1].p) == ("no difference shown", pytest.approx(1))
    assert rows[1].limit_low < rows[0].limit_low
    n = scores(lacking("b")).corrections["b"]["faithfulness"].n_undecided
    for lang, said in (("en", f"Drawn, and without a label: b {n}."), ("zh", f"抽到而无标注：b {n}。")):
        text = open_.text("markdown", lang=lang)
        assert said in text
        assert said not in full.text("markdown", lang=lang)
    checks = [sy.gate(own, system="b", baseline="a", margin=0.05).checks[0] for own in (scores(), scores(lacking("b")))]
    assert checks[1].low < checks[0].low
    assert (checks[1].reason, checks[1].n_undecided) == ("undecided", n)
