"""Means of measures of answers, corrected by labels of people: which, by what, and what is said of the rest."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import steelyard as sy
from steelyard.base.choices import ItemTable
from steelyard.experiment.corrections import COLUMNS
from steelyard.experiment.door.correcting import SystemLabels
from steelyard.experiment.table.json import as_json, read_scores
from steelyard.judges.people.calibration import labels_digest
from steelyard.judges.people.review import FILE, Decision, Labels
from steelyard.judges.tables.items import items
from steelyard.judges.tables.verdicts import FOLDER, Verdicts
from steelyard.judges.verdict import JudgedAnswer, Unit
from steelyard.measures import parse
from steelyard.measures.registry import definitions
from tests.experiment.judged import PEOPLE
from tests.experiment.judged import questions as four
from tests.experiment.labelled import answers, as_the_judge, outputs, questions, record, review, stricter
from tests.experiment.test_answers import run_folder

OF_UNITS = [definition.name for definition in definitions() if definition.items]
TABLES: Sequence[ItemTable] = ("grounded", "joint", "correctness", "said")
N = 120


def judged_by(records: Sequence[JudgedAnswer]) -> Verdicts:
    return Verdicts(records, PEOPLE)


def weighed(
    measures: Sequence[str], labels: object, records: Sequence[JudgedAnswer] | None = None, **options: Any
) -> sy.Scores:
    records = answers(N) if records is None else records
    n = len(records)
    return sy.evaluate(questions(n), outputs(n), measures, verdicts=judged_by(records), labels=labels, **options)


def notes_of(scores: sy.Scores) -> dict[str, dict[str, Any]]:
    return {note.code: dict(note.values) for note in scores.notes["run"] if note.code.startswith("labels")}


def test_measures_that_declare_items_are_means_of_their_units() -> None:
    records = [
        *answers(40),
        record("none", [], answer="Hello."),
        record("abstained", [], state="abstained"),
        record("gold", [0.9, 0.1], state="abstained"),
        record("lost", [0.9], state="failed", answer=""),
    ]
    verdicts = judged_by(records)
    labels = SystemLabels(records, verdicts.arrays(), review(verdicts, TABLES, 50, stricter).samples, Labels([]))
    assert len(OF_UNITS) == 5
    for name in OF_UNITS:
        spec = parse(name)
        units = labels.units(spec)
        assert units is not None
        means = [
            np.mean(units.judged[units.owner == q]) if (units.owner == q).any() else math.nan
            for q in range(len(records))
        ]
        assert means == pytest.approx(spec(verdicts.arrays()), nan_ok=True)
        assert not units.outside.any()


@pytest.mark.parametrize("name", [name for name in OF_UNITS if name != "contradiction"])
def test_people_who_agree_with_the_judge_leave_its_mean(name: str) -> None:
    verdicts = judged_by(answers(N))
    scores = weighed([name], review(verdicts, TABLES, 80, as_the_judge(verdicts, TABLES)))
    correction = scores.corrections["run"][name].mean
    assert correction.judge == pytest.approx(scores.means[0, 0])
    assert correction.corrected.mean == pytest.approx(scores.means[0, 0], abs=0.02)
    assert correction.worth > 1.5 * correction.n_labels
    assert correction.corrected.low < correction.corrected.mean < correction.corrected.high


@pytest.mark.parametrize("unit", ["item", "answer"])
@pytest.mark.parametrize("name", OF_UNITS)
def test_labels_of_everything_are_what_people_say(name: str, unit: Any) -> None:
    verdicts = judged_by(answers(N))
    everything = review(verdicts, TABLES, 1000, stricter, unit=unit)
    table = parse(name).definition.items
    assert table is not None
    correction = weighed([name], everything).corrections["run"][name]
    one = sy.evaluate(questions(N), outputs(N), [name], verdicts=people(answers(N), [table]), labels=False)
    assert correction.mean.corrected.values == pytest.approx(one.values[0, 0], nan_ok=True)
    assert correction.mean.corrected.mean == pytest.approx(one.means[0, 0])
    assert correction.unit == unit


def people(records: Sequence[JudgedAnswer], tables: Sequence[ItemTable]) -> Verdicts:
    """What `stricter` says of all, in the place of the judge."""
    from steelyard.judges.tables.items import decided
    from steelyard.judges.verdict import Verdict

    says = []
    for own in records:
        for table in tables:
            labels = {i.unit: Verdict("supported" if stricter(i.item_id) else "not_found") for i in items(own, table)}
            own = decided(own, table, labels)
        says.append(own)
    return judged_by(says)


def test_whole_answers_correct_what_is_no_mean_of_units() -> None:
    verdicts = judged_by(answers(N))
    drawn = review(verdicts, TABLES, 60, stricter, unit="answer")
    scores = weighed(["answer_f1", "hallucination", "faithfulness", "context_recall", "noise_sensitivity"], drawn)
    truth = sy.evaluate(questions(N), outputs(N), ["answer_f1", "hallucination"], verdicts=people(answers(N), TABLES))
    corrections = scores.corrections["run"]
    assert list(corrections) == ["answer_f1", "hallucination", "faithfulness"]
    for j, name in enumerate(["answer_f1", "hallucination"]):
        mean = corrections[name].mean
        assert mean.corrected.low < truth.means[0, j] < mean.corrected.high
        assert mean.judge == scores.means[0, j]
    assert notes_of(scores)["labels_do_not_correct"]["measures"] == ["context_recall", "noise_sensitivity"]


def test_items_correct_no_measure_that_needs_whole_answers() -> None:
    drawn = review(judged_by(answers(N)), TABLES, 60, stricter)
    scores = weighed(["answer_f1", "faithfulness", "abstention_f1(answerable=context)"], drawn)
    assert list(scores.corrections["run"]) == ["faithfulness"]
    assert notes_of(scores)["labels_do_not_correct"]["measures"] == ["answer_f1", "abstention_f1(answerable=context)"]


def test_a_table_that_nobody_was_asked_about_is_said() -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 60, stricter)
    scores = weighed(["faithfulness", "answer_recall"], drawn)
    assert notes_of(scores) == {"labels_of_no_table": {"measures": ["answer_recall"], "table": "said"}}


def test_recall_by_several_gold_answers_is_no_mean_of_units() -> None:
    records = answers(N)
    both = tuple(replace(unit, alternative=n % 2) for n, unit in enumerate([*records[0].gold_units, Unit(0, 4, "Ten")]))
    first = replace(
        records[0], gold_answers=("A.", "B."), gold_units=both, said=(*records[0].said, records[0].said[0]),
        reach=(*records[0].reach, records[0].reach[0]), correctness=tuple(row * 2 for row in records[0].correctness),
    )  # fmt: skip
    asked = [{**questions(N)[0], "answer": ["A.", "B."]}, *questions(N)[1:]]
    verdicts = judged_by([first, *records[1:]])
    drawn = review(verdicts, ["said"], 60, stricter)
    scores = sy.evaluate(asked, outputs(N), ["answer_recall"], verdicts=verdicts, labels=drawn)
    assert scores.corrections == {}
    assert notes_of(scores)["labels_do_not_correct"]["measures"] == ["answer_recall"]


def test_what_nobody_has_to_decide_is_as_it_is() -> None:
    lost = [replace(own, state="failed", answer="") for own in answers(N)[100:]]
    records = [*answers(N)[:100], *lost]
    drawn = review(judged_by(records), ["said"], 60, stricter)
    correction = weighed(["answer_recall"], drawn, records).corrections["run"]["answer_recall"]
    failed = [place for place, query_id in enumerate(sorted(own.query_id for own in records)) if int(query_id) >= 100]
    truth = weighed(["answer_recall"], False, records).values[0, 0]
    assert correction.mean.corrected.values[failed].tolist() == truth[failed].tolist()


def test_frames_and_files_have_corrections_where_there_are_any(tmp_path: Path) -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 60, stricter)
    measures = ["faithfulness", "answer_recall"]
    scores, without = weighed(measures, drawn), weighed(measures, False)
    columns = list(COLUMNS)
    assert scores.mean().columns == [*without.mean().columns, *columns]
    assert scores.mean()["n_labels"].to_list() == [60, None]
    assert scores.mean().drop(columns).equals(without.mean())
    path = tmp_path / "scores.json"
    path.write_text(as_json(scores))
    again = read_scores(path)
    assert as_json(again) == path.read_text()
    assert again.corrections["run"]["faithfulness"].digest == labels_digest(drawn.labels.consensus)
    assert again.mean().equals(scores.mean())
    assert "corrections" not in as_json(without)
    content = json.loads(path.read_text())
    content["systems"]["run"]["corrections"]["faithfulness"]["corrected"]["values"].pop()
    path.write_text(json.dumps(content))
    with pytest.raises(sy.InputError, match="119 values for 120 questions"):
        read_scores(path)


def test_corrections_stay_with_their_systems_and_measures() -> None:
    drawn = review(judged_by(answers(N)), ["grounded", "said"], 60, stricter)
    scores = weighed(["faithfulness", "answer_recall"], drawn)
    one = scores.filter(measures="faithfulness")
    assert list(one.corrections["run"]) == ["faithfulness"]
    together = sy.Scores.concat([one, scores.filter(measures="answer_recall")])
    assert together.mean().equals(scores.mean())
    ids = list(scores.query_ids)
    halves = [scores.filter(query_ids=ids[:60]), scores.filter(query_ids=ids[60:])]
    assert sy.Scores.concat(halves).corrections == {}


def test_means_of_part_of_the_questions_are_corrected_by_the_labels_among_them(tmp_path: Path) -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 80, stricter)
    scores = weighed(["faithfulness", "answer_recall"], drawn)
    (path := tmp_path / "scores.json").write_text(as_json(scores))
    ids = list(scores.query_ids)
    for own in (scores, read_scores(path)):
        part = own.filter(query_ids=ids[:70])
        mean = part.corrections["run"]["faithfulness"].mean
        counts = scores.corrections["run"]["faithfulness"].mean.counts
        assert counts is not None
        assert mean.n_labels == counts.labels[:70].sum() < 80
        assert part.mean().filter(measure="faithfulness")["n_labels"].to_list() == [mean.n_labels]
        assert mean.judge == pytest.approx(float(part.means[0, 0]))
        assert mean.corrected.low < mean.corrected.mean < mean.judge  # The person is stricter.
        few = own.filter(query_ids=ids[:5])
        assert few.corrections == {}
        assert notes_of(few)["labels_few_of_part"]["n"] == counts.labels[:5].sum()
        assert "labels_few_of_part" in [note.code for note in few.notes["run"]]


def test_labels_of_other_answers_are_refused_or_noted() -> None:
    drawn = review(judged_by(answers(N, seed=7)), ["grounded"], 60, stricter)
    others = [record(f"x{n}", [0.5]) for n in range(3)]
    elsewhere = review(judged_by(others), ["grounded"], 3, stricter)
    with pytest.raises(sy.InputError, match="labels are of other answers"):
        weighed(["faithfulness"], elsewhere)
    few = weighed(["faithfulness"], drawn)
    assert few.corrections == {}
    assert notes_of(few)["labels_of_other_answers"]["n"] > 0
    two = review(judged_by(answers(N)), ["grounded"], 60, stricter, system="a").with_sample(
        replace(drawn.samples[0], system="b")
    )
    with pytest.raises(sy.InputError, match=r"hold those of a, b, and nothing .* of run"):
        weighed(["faithfulness"], two)


def test_few_labels_and_undecided_items_are_said() -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 12, stricter)
    unsure = [replace(d, label="cannot_say") if n < 5 else d for n, d in enumerate(drawn.labels.decisions)]
    scores = weighed(["faithfulness"], sy.Review(drawn.samples, unsure))
    correction = scores.corrections["run"]["faithfulness"]
    assert (correction.n_drawn, correction.mean.n_labels, correction.mean.weight) == (12, 7, 0)
    assert correction.n_undecided == 5
    note, ends = notes_of(scores)["labels_undecided_bounds"], correction.mean.ends
    assert ends is not None
    assert (note["n"], note["total"], note["low"]) == (5, 12, round(ends.lowest.mean, 4))
    assert notes_of(scores)["labels_few"]["n"] == 7
    one = sy.Review(drawn.samples, drawn.labels.decisions[:1])
    too_few = weighed(["faithfulness"], one)
    assert too_few.corrections == {}
    assert notes_of(too_few)["labels_too_few"]["n"] == 1


def undecided(share: float, n: int = 100) -> sy.Review:
    """Labels by a strict person who leaves a share of what is unsupported without one."""
    drawn = review(judged_by(answers(N)), ["grounded"], n, stricter)
    open_ = [d.item_id for d in drawn.labels.decisions if d.label == "not_found"]
    skipped = set(open_[: round(share * len(open_))])
    return sy.Review(
        drawn.samples, [replace(d, label="cannot_say") if d.item_id in skipped else d for d in drawn.labels.decisions]
    )


def test_many_undecided_items_may_all_be_unsupported_or_all_supported(tmp_path: Path) -> None:
    by_all = weighed(["faithfulness"], undecided(0)).corrections["run"]["faithfulness"].mean
    scores = weighed(["faithfulness", "answer_f1"], undecided(0.7))
    correction = scores.corrections["run"]["faithfulness"]
    mean, ends = correction.mean, correction.mean.ends
    assert by_all.ends is None
    assert ends is not None
    assert mean.corrected.low > by_all.corrected.mean  # By the others alone it is far too high.
    assert ends.lowest.mean == pytest.approx(by_all.corrected.mean)  # All that is left out is unsupported.
    assert ends.lowest.mean < mean.corrected.mean < ends.highest.mean
    assert mean.interval == (ends.lowest.low, ends.highest.high)
    row = scores.mean().row(0, named=True)
    assert [row[name] for name in ("lowest", "lowest_low", "highest", "highest_high")] == list(ends.numbers)
    assert (row["n_undecided"], correction.n_undecided) == (ends.n, ends.n)
    path = tmp_path / "s.json"
    path.write_text(as_json(scores))
    assert read_scores(path).mean().equals(scores.mean())


def test_few_undecided_items_are_like_the_others() -> None:
    scores = weighed(["faithfulness"], undecided(0.1))
    correction = scores.corrections["run"]["faithfulness"]
    assert 0 < correction.n_undecided < 10
    assert correction.mean.ends is None
    assert notes_of(scores)["labels_undecided"] == {
        "measure": "faithfulness",
        "n": correction.n_undecided,
        "total": 100,
    }


@pytest.mark.parametrize("unit", ["item", "answer"])
def test_contradicted_and_not_found_are_one_where_a_measure_reads_both_alike(unit: Any) -> None:
    """Two raters who see no support agree, whatever they call it; on contradiction by the text they do not."""
    tables: list[ItemTable] = ["grounded"]
    drawn = review(judged_by(answers(N)), tables, 60, stricter, unit=unit)
    second = [
        replace(d, rater="bob", label="contradicted" if d.label == "not_found" else d.label)
        for d in drawn.labels.decisions
    ]
    both = drawn.with_decisions(second)
    alone, of_two = (weighed(["faithfulness", "contradiction"], labels) for labels in (drawn, both))
    by_one, by_two = (scores.corrections["run"]["faithfulness"].mean.corrected for scores in (alone, of_two))
    assert (by_two.mean, by_two.low, by_two.high) == (by_one.mean, by_one.low, by_one.high)
    assert notes_of(of_two)["labels_undecided_bounds"]["measure"] == "contradiction"
    assert {values["measure"] for values in notes_of(of_two).values()} == {"contradiction"}


def test_who_cannot_say_makes_no_conflict() -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 60, stricter)
    both = drawn.with_decisions(replace(d, rater="bob", label="cannot_say") for d in drawn.labels.decisions)
    assert both.labels.conflicts == ()
    assert weighed(["faithfulness"], both).mean().equals(weighed(["faithfulness"], drawn).mean())


@pytest.mark.parametrize(
    ("says", "consensus", "support"),
    [
        (["supported", "cannot_say"], "supported", "supported"),
        (["cannot_say", "cannot_say", "not_found"], "not_found", "not_found"),
        (["cannot_say", "cannot_say"], None, None),
        (["contradicted", "not_found"], None, "not_found"),
        (["contradicted", "contradicted", "not_found"], "contradicted", "not_found"),
        (["contradicted", "not_found", "supported"], None, "not_found"),
        (["contradicted", "not_found", "supported", "supported"], "supported", None),
        (["contradicted", "supported"], None, None),
        (["contradicted"], "contradicted", "not_found"),
    ],
)
def test_what_raters_come_to(says: list[Any], consensus: str | None, support: str | None) -> None:
    labels = Labels(Decision("i", str(n), label) for n, label in enumerate(says))
    assert (labels.consensus.get("i"), labels.support.get("i")) == (consensus, support)
    at_odds = None in (consensus, support) and set(says) != {"cannot_say"}
    assert labels.conflicts == (("i",) if at_odds else ())
    assert labels.support_conflicts == (("i",) if at_odds and support is None else ())
    settled = Labels([*labels.decisions, Decision("i", "adjudication", "contradicted")])
    assert (settled.consensus["i"], settled.support["i"], settled.conflicts) == ("contradicted", "not_found", ())


def test_a_stratum_without_labels_is_said() -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 60, stricter)
    first = drawn.samples[0].strata[0]
    rest = [decision for decision in drawn.labels.decisions if decision.item_id not in first.drawn]
    scores = weighed(["faithfulness"], sy.Review(drawn.samples, rest))
    assert notes_of(scores)["labels_strata_merged"]["names"] == [first.name]


def test_what_was_not_drawn_does_not_count() -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 60, stricter)
    others = set(drawn.samples[0].stratum_of) - set(drawn.samples[0].drawn)
    more = drawn.with_decisions(Decision(member, "ann", "supported") for member in others)
    assert weighed(["faithfulness"], more).mean().equals(weighed(["faithfulness"], drawn).mean())


def test_labels_of_no_system_and_of_no_kind_are_refused() -> None:
    with pytest.raises(sy.InputError, match="no system is called 'rum'"):
        weighed(["faithfulness"], {"rum": "x.json"})
    with pytest.raises(sy.InputError, match="cannot be read from int"):
        weighed(["faithfulness"], 3)


def test_columns_are_of_their_types() -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 60, stricter)
    table = weighed(["answer_recall", "faithfulness"], drawn).mean()
    assert table["n_labels"].dtype == pl.Int64
    assert table["worth"].dtype == pl.Float64


def test_labels_in_a_run_folder_count_by_themselves(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "hybrid")
    (folder / FOLDER).mkdir()
    own = judged_by([record(str(q), [0.9, 0.1, 0.4], gold_answers=("Nine.",)) for q in range(1, 5)])
    own.write(folder / FOLDER / "people.parquet")
    drawn = review(own, ["grounded"], 12, stricter, system="hybrid")
    drawn.write(folder / FOLDER / FILE)
    scores = sy.evaluate(four(), folder, "faithfulness")
    assert scores.corrections["hybrid"]["faithfulness"].mean.n_labels == 12
    named = sy.evaluate(four(), folder, "faithfulness", labels={"hybrid": folder / FOLDER / FILE})
    assert named.mean().equals(scores.mean())
    assert sy.evaluate(four(), folder, "faithfulness", labels=False).corrections == {}
    replace_system(drawn, "other").write(folder / FOLDER / FILE)
    assert sy.evaluate(four(), folder, "faithfulness").mean().equals(scores.mean())
    replace_system(drawn, "a").with_sample(replace(drawn.samples[0], system="b")).write(folder / FOLDER / FILE)
    others = sy.evaluate(four(), folder, "faithfulness")
    assert (others.corrections, others.notes["hybrid"][-1].values) == ({}, {"names": ["a", "b"]})


def replace_system(drawn: sy.Review, system: str) -> sy.Review:
    return sy.Review([replace(sample, system=system) for sample in drawn.samples], drawn.labels)


def test_means_of_several_runs_are_not_corrected() -> None:
    own = judged_by(answers(N))
    drawn = review(own, ["grounded"], 60, stricter)
    runs = {"run": sy.Repeats([outputs(N), outputs(N)])}
    scores = sy.evaluate(questions(N), runs, "faithfulness", verdicts={"run": [own, own]}, labels=drawn)
    assert scores.corrections == {}
    assert notes_of(scores)["labels_of_runs"] == {"n": 2}


def test_questions_of_a_cluster_count_as_one() -> None:
    drawn = review(judged_by(answers(N)), ["grounded"], 80, stricter)
    alone = weighed(["faithfulness"], drawn).corrections["run"]["faithfulness"].mean.corrected
    clusters = {str(q): str(q % 10) for q in range(N)}
    together = weighed(["faithfulness"], drawn, cluster=clusters).corrections["run"]["faithfulness"].mean.corrected
    assert together.mean == alone.mean
    assert together.df <= 9 < alone.df
