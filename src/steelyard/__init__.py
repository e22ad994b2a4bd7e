"""Steelyard weighs retrieval and RAG systems."""

from __future__ import annotations

from importlib import import_module

from steelyard._version import __version__

TYPE_CHECKING = False  # as type checkers know it; to import typing takes longer than all else here
if TYPE_CHECKING:
    from typing import Any

    from steelyard import plain, review
    from steelyard.abtests.analysing import analyse_experiment
    from steelyard.abtests.assigning import assign
    from steelyard.abtests.config import ExperimentConfig
    from steelyard.abtests.experiment import Experiment
    from steelyard.abtests.interleaving.analysing import Interleaving, analyse_interleaving
    from steelyard.abtests.interleaving.pages import interleave
    from steelyard.abtests.offpolicy.evaluating import OffPolicy, off_policy
    from steelyard.abtests.planning import ExperimentPlan, plan_experiment
    from steelyard.abtests.registration import register_experiment
    from steelyard.base.errors import (
        DuplicateError,
        InputError,
        MeasureError,
        MissingExtraError,
        NoCommonQueryError,
        OutputError,
        StageError,
        SteelyardError,
        UnknownMeasureError,
    )
    from steelyard.bench.bench import Bench
    from steelyard.bench.run.load_tests import load_test
    from steelyard.bench.run.rerankers import bench_rerankers
    from steelyard.comparison.comparison import compare
    from steelyard.comparison.design import Design, plan
    from steelyard.comparison.raters.agreement import Agreement, agreement
    from steelyard.comparison.result import Comparison
    from steelyard.data.chunk_table import Corpus
    from steelyard.data.corpus import Chunks, Document, Passage
    from steelyard.data.loading import load
    from steelyard.data.outputs import Outputs
    from steelyard.data.questions import Questions
    from steelyard.data.run import Repeats, Run
    from steelyard.data.truth import Truth
    from steelyard.diagnosis.diagnosing import Diagnosis, diagnose
    from steelyard.experiment.door.evaluation import evaluate, weigh
    from steelyard.experiment.door.weighing import Weighing
    from steelyard.experiment.exporting import export
    from steelyard.experiment.judging import judge
    from steelyard.experiment.preferences import compare_answers
    from steelyard.experiment.scorers import scorer
    from steelyard.experiment.self_testing import self_test
    from steelyard.experiment.table.scores import Scores
    from steelyard.experiment.weighted import weighted_means
    from steelyard.gates.gating import Gate, gate
    from steelyard.gates.profiles import Profile
    from steelyard.gates.ratings import Rating, Ratings, rate
    from steelyard.judges.criteria import Criterion
    from steelyard.judges.grading.grades import Grades
    from steelyard.judges.panel import panel
    from steelyard.judges.people.calibration import Calibration
    from steelyard.judges.people.review import Review
    from steelyard.judges.tables.verdicts import Verdicts
    from steelyard.measures import Alignment, Measure, definitions, measure, parse
    from steelyard.monitoring.looking import Look
    from steelyard.monitoring.watching import monitor
    from steelyard.rag.labelling import label
    from steelyard.rag.own.system import run
    from steelyard.rag.pipeline.pipeline import Pipeline
    from steelyard.rag.registry import stage
    from steelyard.reports.benching import BenchReport
    from steelyard.reports.report import Report, report
    from steelyard.reviewing.calibrating import calibrate
    from steelyard.store.entries import Entry
    from steelyard.store.store import Store
    from steelyard.traffic.checking import LogCheck, check_logs, convert_logs
    from steelyard.traffic.drawing import DrawnQuestions, questions_from_logs
    from steelyard.traffic.logs import Logs
    from steelyard.traffic.reading import read_logs

_HOMES = {
    "abtests.interleaving.analysing": "Interleaving analyse_interleaving",
    "abtests.interleaving.pages": "interleave",
    "abtests.assigning": "assign",
    "abtests.analysing": "analyse_experiment",
    "abtests.config": "ExperimentConfig",
    "abtests.experiment": "Experiment",
    "abtests.offpolicy.evaluating": "OffPolicy off_policy",
    "abtests.registration": "register_experiment",
    "abtests.planning": "ExperimentPlan plan_experiment",
    "bench.bench": "Bench",
    "bench.run.load_tests": "load_test",
    "bench.run.rerankers": "bench_rerankers",
    "comparison.raters.agreement": "Agreement agreement",
    "comparison.comparison": "compare",
    "comparison.design": "Design plan",
    "comparison.result": "Comparison",
    "data.corpus": "Chunks Document Passage",
    "base.errors": "DuplicateError InputError MeasureError MissingExtraError NoCommonQueryError OutputError StageError "
    "SteelyardError UnknownMeasureError",
    "diagnosis.diagnosing": "Diagnosis diagnose",
    "gates.gating": "Gate gate",
    "gates.profiles": "Profile",
    "gates.ratings": "Rating Ratings rate",
    "experiment.door.evaluation": "evaluate weigh",
    "experiment.exporting": "export",
    "experiment.judging": "judge",
    "experiment.preferences": "compare_answers",
    "data.outputs": "Outputs",
    "data.questions": "Questions",
    "data.chunk_table": "Corpus",
    "measures": "Alignment Measure definitions measure parse",
    "data.loading": "load",
    "monitoring.looking": "Look",
    "monitoring.watching": "monitor",
    "rag.labelling": "label",
    "rag.own.system": "run",
    "rag.pipeline.pipeline": "Pipeline",
    "rag.registry": "stage",
    "reports.benching": "BenchReport",
    "reports.report": "Report report",
    "reviewing.calibrating": "calibrate",
    "data.run": "Repeats Run",
    "experiment.scorers": "scorer",
    "experiment.table.scores": "Scores",
    "experiment.self_testing": "self_test",
    "experiment.weighted": "weighted_means",
    "data.truth": "Truth",
    "judges.people.calibration": "Calibration",
    "judges.panel": "panel",
    "judges.people.review": "Review",
    "judges.grading.grades": "Grades",
    "judges.criteria": "Criterion",
    "judges.tables.verdicts": "Verdicts",
    "experiment.door.weighing": "Weighing",
    "store.entries": "Entry",
    "store.store": "Store",
    "traffic.checking": "LogCheck check_logs convert_logs",
    "traffic.logs": "Logs",
    "traffic.reading": "read_logs",
    "traffic.drawing": "DrawnQuestions questions_from_logs",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

_MODULES = ("plain", "review")
"""Modules that are public as a whole."""

__all__ = [
    "Agreement",
    "Alignment",
    "Bench",
    "BenchReport",
    "Calibration",
    "Chunks",
    "Comparison",
    "Corpus",
    "Criterion",
    "Design",
    "Diagnosis",
    "Document",
    "DrawnQuestions",
    "DuplicateError",
    "Entry",
    "Experiment",
    "ExperimentConfig",
    "ExperimentPlan",
    "Gate",
    "Grades",
    "InputError",
    "Interleaving",
    "LogCheck",
    "Logs",
    "Look",
    "Measure",
    "MeasureError",
    "MissingExtraError",
    "NoCommonQueryError",
    "OffPolicy",
    "OutputError",
    "Outputs",
    "Passage",
    "Pipeline",
    "Profile",
    "Questions",
    "Rating",
    "Ratings",
    "Repeats",
    "Report",
    "Review",
    "Run",
    "Scores",
    "StageError",
    "SteelyardError",
    "Store",
    "Truth",
    "UnknownMeasureError",
    "Verdicts",
    "Weighing",
    "__version__",
    "agreement",
    "analyse_experiment",
    "analyse_interleaving",
    "assign",
    "bench_rerankers",
    "calibrate",
    "check_logs",
    "compare",
    "compare_answers",
    "convert_logs",
    "definitions",
    "diagnose",
    "evaluate",
    "export",
    "gate",
    "interleave",
    "judge",
    "label",
    "load",
    "load_test",
    "measure",
    "monitor",
    "off_policy",
    "panel",
    "parse",
    "plain",
    "plan",
    "plan_experiment",
    "questions_from_logs",
    "rate",
    "read_logs",
    "register_experiment",
    "report",
    "review",
    "run",
    "scorer",
    "self_test",
    "stage",
    "weigh",
    "weighted_means",
]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing Steelyard costs next to nothing."""
    if name in _MODULES:
        return import_module(f"steelyard.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'steelyard' has no attribute {name!r}")
    value = getattr(import_module(f"steelyard.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
