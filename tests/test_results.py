"""Every result wears the same face: data, texts, files, a line for a debugger and a table for a notebook."""

import json
import math
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import mkdtemp

import numpy as np
import pytest

import steelyard
import steelyard as sy
from steelyard.abtests.interleaving.runs import interleave_runs
from steelyard.base.errors import InputError
from steelyard.base.result import Result, Shown
from steelyard.bench.run.planning import plan_bench
from steelyard.experiment.judging import judge_run, plan_judging
from steelyard.experiment.preferences import PairwisePlan
from steelyard.history.confirm import confirm
from steelyard.history.difference import difference
from steelyard.history.listing import list_entries, show_entry
from steelyard.history.wear import Wear, wear
from steelyard.judges.judging import JudgeOptions
from steelyard.monitoring.checking import CheckedSeries, MonitorCheck
from steelyard.monitoring.sinks.declared import Outcome, SinkTest
from steelyard.rag.config import Config
from steelyard.rag.labelling import LabelOptions
from steelyard.rag.sweeping import Swept
from steelyard.rag.weighed_run import WeighedRun, run_and_weigh
from steelyard.reports.benching import BenchReport
from steelyard.reports.views.view import view_of
from steelyard.reports.writing import chosen_format
from steelyard.reviewing.forms import ImportedLabels, RaterCount
from steelyard.store.store import Store
from tests.abtests.bandit import propensity_logs
from tests.abtests.experiments import experiment
from tests.abtests.interleaving.shared_pages import rows as interleaved_rows
from tests.bench.benches import rerank_bench
from tests.bench.run.test_planning import bench_config
from tests.experiment.judged import outputs, questions
from tests.experiment.test_preferences import preferences
from tests.gates.test_judges import by_labels
from tests.monitoring.looks import look
from tests.reports.test_reviewing import RUNS as SAMPLED
from tests.reviewing.small import QUESTIONS
from tests.reviewing.test_reporting import usual
from tests.traffic.made_logs import chance_rows, logs_of
from tests.traffic.test_checking import written

ASKED, ANSWERED = questions(), outputs()
LABELS = {"ann": {"a": 2, "b": 0, "c": 1, "d": 2}, "bob": {"a": 2, "b": 0, "c": 0, "d": 1}}
TRUTH = {f"q{n}": {"d1": 1, "d2": 2} for n in range(6)}
RUNS = {"bm25": {f"q{n}": ["d1", "d3"] for n in range(6)}, "dense": {f"q{n}": ["d2", "d1"] for n in range(6)}}


def scores() -> sy.Scores:
    return sy.evaluate(TRUTH, RUNS, ["ndcg@10", "mrr"])


def weighed_run(path: Path) -> WeighedRun:
    """A pipeline without any model over one document."""
    (path / "d.md").write_text("Whales sing. Snails do not.")
    (path / "questions.jsonl").write_text('{"query_id": "q", "query": "Who sings?", "evidence": ["Whales sing."]}')
    values = {"documents": "d.md", "questions": "questions.jsonl", "index": {"kind": "bm25"}}
    return run_and_weigh(Config.of(values, base=path), measures=["mrr"])


def swept(path: Path) -> Swept:
    """Two pipelines of six questions."""
    values = np.linspace(0, 1, 12).reshape(2, 1, 6)
    return Swept([{"k": 1}, {"k": 5}], [path, path], ["mrr"], values, list(TRUTH), np.zeros(6, bool), [])


def history() -> Store:
    """Two configurations, with held-out questions that agree with the others."""
    store, ids = Store(f"{mkdtemp()}/history.db"), [f"q{i}" for i in range(20)]
    truth, ends = {q: {"d": 1} for q in ids}, {q: ["d"] for q in ids}
    worse = {q: ["x", "d"] if i % 3 else ["d"] for i, q in enumerate(ids)}
    for name, run in (("old", worse), ("new", ends)):
        store.add(sy.evaluate(truth, {name: run}, "mrr", hold_out=0.3))
    return store


def wear_of_history() -> Wear:
    worn = wear(history())
    assert worn is not None
    return worn


def store(path: Path) -> sy.Store:
    """One entry, of the scores of two systems."""
    kept = sy.Store(path / "history.db")
    kept.add(scores(), tags=["v1"], note="first")
    return kept


MADE: dict[str, Callable[[Path], Result]] = {
    "Agreement": lambda path: sy.agreement(LABELS, n_resamples=50),
    "Bench": rerank_bench,
    "BenchPlan": lambda path: plan_bench(bench_config(path)),
    "BenchReport": lambda path: BenchReport(rerank_bench(path)),
    "Calibration": lambda path: by_labels(40),
    "Comparison": lambda path: sy.compare(scores(), baseline="bm25"),
    "LabelDesign": lambda path: sy.plan(labels=0.1, sensitivity=0.9, specificity=0.8),
    "Confirmation": lambda path: confirm(history()),
    "Design": lambda path: sy.plan(difference=0.05, sd=0.25),
    "Diagnosis": lambda path: sy.diagnose(sy.weigh(TRUTH, RUNS)),
    "LogCheck": lambda path: sy.check_logs(written(path)),
    "DrawnQuestions": lambda path: sy.questions_from_logs(logs_of(**chance_rows(1)), n=12),
    "ExperimentPlan": lambda path: sy.plan_experiment(
        metric="ctr", difference="5%", baseline=0.2, users_per_day=900, start="2026-12-07"
    ),
    "EntryDifference": lambda path: difference(past := history(), *past.entries()["id"]),
    "Experiment": lambda path: experiment(),
    "Gate": lambda path: sy.gate(scores(), baseline="bm25", margin=0.02),
    "Grades": lambda path: sy.label(ASKED, ANSWERED, scale="0-3"),
    "History": lambda path: list_entries(store(path)),
    "ImportedLabels": lambda path: ImportedLabels([RaterCount("ann", 3, 2, 1, 0, 0)], 3, 2, [], [path / "labels.json"]),
    "InterleavedRuns": lambda path: interleave_runs(RUNS),
    "Interleaving": lambda path: sy.analyse_interleaving(logs_of(**interleaved_rows(2))),
    "JudgedRun": lambda path: judge_run(ASKED, ANSWERED, options=JudgeOptions(save=False)),
    "JudgingPlan": lambda path: plan_judging(ASKED, ANSWERED, options=JudgeOptions(save=False)),
    "LabellingPlan": lambda path: LabelOptions(scale="0-3").plan(ASKED, ANSWERED),
    "Look": lambda path: look("alert"),
    "MonitorCheck": lambda path: MonitorCheck(
        budget=1.0,
        per_month=0.84,
        error=0.11,
        months=67.0,
        n_few=1,
        seed=0,
        rows=[
            CheckedSeries("ctr", "language=en", 0.1, 0.02, 3.0, 16.0),
            CheckedSeries("users", "", 0.0, 0.1, None, math.inf),
        ],
    ),
    "OffPolicy": lambda path: sy.off_policy(propensity_logs(), "uniform", clip=5.0),
    "PooledReview": lambda path: sy.review.pool(ASKED, ANSWERED, path / "pooled", path / "qrels.jsonl"),
    "PairwisePlan": lambda path: PairwisePlan(4, 3, 6, 0, 1200, 180, None),
    "Preferences": lambda path: preferences([(1, 1), (1, -1), (0, 1), (-1, -1)]),
    "Ratings": lambda path: sy.rate(scores(), "production"),
    "Report": lambda path: sy.report(sy.weigh(TRUTH, RUNS), date="2026-11-22"),
    "ReviewReport": lambda path: usual(),
    "SampledReview": lambda path: sy.review.sample(QUESTIONS, SAMPLED, path / "form", labels=path / "labels.json", n=8),
    "Scores": lambda path: scores(),
    "SelfTests": lambda path: sy.self_test(n=20),
    "SinkTest": lambda path: SinkTest("support", [Outcome("team", "slack", "", 0.3, True)]),
    "StoredEntry": lambda path: show_entry(store(path), "latest"),
    "Swept": swept,
    "Trend": lambda path: history().trend("mrr"),
    "Wear": lambda path: wear_of_history(),
    "WeighedRun": weighed_run,
}
"""How a result of each kind is made, by the name of its class."""


SHOWN: dict[str, Callable[[], Shown]] = {
    "Verdicts": lambda: judge_run(ASKED, ANSWERED, options=JudgeOptions(save=False)).verdicts,
    "Weighing": lambda: sy.weigh(TRUTH, RUNS),
}
"""What has a view and is no result."""


def subclasses(kind: type[Shown]) -> set[type[Shown]]:
    direct = set(kind.__subclasses__())
    return direct.union(*map(subclasses, direct))


def test_every_kind_of_result_is_tried_here() -> None:
    for module in walk_packages(steelyard.__path__, "steelyard."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    assert {kind.__name__ for kind in subclasses(Result)} == set(MADE)
    assert {kind.__name__ for kind in subclasses(Shown)} - {"Result"} == {*MADE, *SHOWN}


@pytest.mark.parametrize("name", MADE)
def test_a_result_has_every_door(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = MADE[name](tmp_path)
    assert not result.frame.is_empty()
    assert str(result) == result.text() == result.text("table")
    assert list(result.to_pandas().columns) == result.frame.columns
    assert len(result.to_pandas()) == result.frame.height
    line = repr(result)
    assert line.startswith(f"{name}(")
    assert "\n" not in line
    assert len(line) < 120
    assert result._repr_html_().count("<table") >= 1
    result.show(lang="en")
    assert capsys.readouterr().out.strip()
    for format in view_of(type(result)).formats:
        file = tmp_path / "result"
        result.write(file, format=format, lang="en")
        # Both are made: the same bytes each time.
        assert file.read_text() == result.text(format, lang="en", explain=True), format
    data = result.data()
    assert data["format"]
    assert json.loads(result.text("json"), parse_constant=pytest.fail) == data


@pytest.mark.parametrize("name", SHOWN)
def test_verdicts_and_weighings_are_shown_as_results_are(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = SHOWN[name]()
    assert repr(shown).startswith(f"{name}(")
    assert str(shown) == shown.text()
    assert shown._repr_html_().count("<table") == 1
    shown.show(lang="zh")
    assert capsys.readouterr().out == shown.text(lang="zh", width=80)
    assert json.loads(shown.text("json")) == shown.data()
    with pytest.raises(InputError, match="cannot be written as csv; choose table, markdown or json"):
        shown.text("csv")


def test_a_weighing_counts_what_systems_answered() -> None:
    rows = sy.weigh(TRUTH, {"full": RUNS["bm25"], "half": {"q1": ["d1"]}}).data()["systems"]
    assert [(row["system"], row["n_questions"], row["n_results"]) for row in rows] == [
        ("full", 6, 2.0),
        ("half", 1, 1.0),
    ]


def test_without_pandas_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(sy.MissingExtraError, match=r"to_pandas needs pandas.*\[pandas\]"):
        scores().to_pandas()


@pytest.mark.parametrize("name", MADE)
def test_what_a_file_holds_is_read_again(name: str, tmp_path: Path) -> None:
    result = MADE[name](tmp_path)
    kind, view = type(result), view_of(type(result))
    file = tmp_path / ("result.parts.json" if view.has_parts else "result.json")
    result.write(file)
    if "read" in vars(kind):
        pytest.skip("it is read from the folder or file that its command writes")
    if view.stored is None and not view.has_parts:
        with pytest.raises(InputError, match="does not hold all of"):
            kind.read(file)
        return
    again = kind.read(file)
    assert again.data() == result.data()
    assert again.text(lang="zh") == result.text(lang="zh")
    if view.has_parts:
        result.write(tmp_path / "result.json")
        with pytest.raises(InputError, match=r"does not hold all of .*; write it as NAME.parts.json"):
            kind.read(tmp_path / "result.json")


def test_what_a_kind_does_not_have_is_named() -> None:
    with pytest.raises(InputError, match="cannot be written as xml; choose table, markdown, "):
        sy.compare(scores()).text("xml")
    with pytest.raises(InputError, match="agreement has no option 'per_query'"):
        sy.agreement(LABELS, n_resamples=50).text(per_query=True)
    assert chosen_format(sy.Comparison, "comparison.csv.gz", None) == "csv"


def test_every_public_value_is_one_line_for_a_debugger(tmp_path: Path) -> None:
    (tmp_path / "truth.qrels").write_text("q1 0 d1 1\n")
    (tmp_path / "bm25.run").write_text("q1 Q0 d1 1 1.0 x\n")
    text = "A steelyard weighs with one weight.\n" * 99
    pipeline = sy.Pipeline({f"document {n}": text for n in range(30)})
    weighing = sy.weigh(TRUTH, RUNS)
    (tmp_path / "questions.jsonl").write_text(json.dumps({"query_id": "q", "query": text}))
    questions = sy.Questions.read(tmp_path / "questions.jsonl")
    values = [
        sy.Truth.read(tmp_path / "truth.qrels"), sy.Run.read(tmp_path / "bm25.run"), sy.Repeats([RUNS["bm25"]]),
        questions, questions[0], sy.Outputs.of_run(sy.Run.read(tmp_path / "bm25.run")), pipeline, pipeline.chunks,
        pipeline.documents[0],
        pipeline.search("weight")[0], weighing, weighing.alignments[0], sy.Profile.read("production"),
        sy.rate(scores(), "ratings")[0], sy.parse("ndcg@10"), sy.definitions()[0],
        sy.Corpus(documents=pipeline.documents), judge_run(ASKED, ANSWERED, options=JudgeOptions(save=False)).verdicts,
        sy.Review([]),
    ]  # fmt: skip
    for value in values:
        line = repr(value)
        assert line.startswith(f"{type(value).__name__}("), line
        assert "\n" not in line
        assert len(line) <= 110, line
