"""Everything public pickles and copies, so that it can go to other processes and be kept."""

from __future__ import annotations

import copy
import inspect
import json
import multiprocessing
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import steelyard as sy
from steelyard.data.run import StreamedRun
from steelyard.judges.people.review import Labels
from steelyard.services.cache import Cache
from tests.abtests.bandit import propensity_logs
from tests.abtests.experiments import experiment
from tests.abtests.interleaving.shared_pages import rows as interleaved_rows
from tests.abtests.simulated import write_experiment
from tests.bench.benches import rerank_bench
from tests.gates.test_judges import by_labels
from tests.monitoring.looks import look
from tests.traffic.made_logs import chance_rows, logs_of

DOCUMENTS = {"h": "The hall opens at 9. It closes at 5.", "c": "The café is on floor 2."}
TRUTH = {"q1": {"h": 1}, "q2": {"c": 1}}
RUNS = {"a": {"q1": {"h": 2.0}, "q2": {"c": 1.0}}, "b": {"q1": {"x": 2.0, "h": 1.0}, "q2": {"c": 1.0}}}
QUESTIONS = [
    {"qid": "q1", "query": "When does it open?", "evidence": [{"doc": "h", "quote": "opens at 9", "gain": 1}]},
    {"qid": "q2", "query": "Where is the café?", "evidence": [{"doc": "c", "quote": "on floor 2", "gain": 1}]},
]
LINES = [
    {"qid": "q1", "retrieved": [{"id": "h#1", "doc": "h", "text": DOCUMENTS["h"]}], "answer": "It opens at 9."},
    {"qid": "q2", "retrieved": [{"id": "c#1", "doc": "c", "text": DOCUMENTS["c"]}], "answer": "On floor 3."},
]
FILES = {
    "qrels.txt": "q1 0 h 1\nq2 0 c 1\n",
    "run.trec": "q1 Q0 h 1 2.0 a\nq2 Q0 c 1 1 a\n",
    "run.csv": "query_id,doc_id,score\nq1,h,2\nq2,c,1\n",
    "questions.jsonl": "".join(json.dumps(line) + "\n" for line in QUESTIONS),
    "outputs.jsonl": "".join(json.dumps(line) + "\n" for line in LINES),
}
ROUND_TRIPS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def beir(folder: Path) -> Path:
    (folder / "beir" / "qrels").mkdir(parents=True)
    (folder / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\th\t1\n")
    return folder / "beir"


def parquet(folder: Path) -> Path:
    pl.DataFrame({"query_id": ["q1"], "doc_id": ["h"], "score": [1.0]}).write_parquet(folder / "run.parquet")
    return folder / "run.parquet"


def pipeline(folder: Path, *, asked: bool = True) -> sy.Pipeline:
    stages = {"rerank": "lexical", "generate": "extractive"}
    made = sy.Pipeline(DOCUMENTS, index=["bm25", "dense"], cache=Cache(folder / "cache.sqlite"), **stages)
    if asked:
        made.ask("When does it open?")
    return made


def weighing(_: Path) -> sy.Weighing:
    return sy.weigh(TRUTH, RUNS)


def scores(_: Path) -> sy.Scores:
    return sy.evaluate(TRUTH, RUNS)


def from_files(make: Callable[..., Any], *names: str) -> Callable[[Path], Any]:
    return lambda folder: make(*(folder / name for name in names))


MAKERS: dict[str, Callable[[Path], Any]] = {
    "Agreement": lambda _: sy.agreement({"ann": {"a": 2, "b": 0, "c": 1}, "bob": {"a": 2, "b": 0, "c": 0}}),
    "Alignment": lambda _: sy.weigh(TRUTH, RUNS).alignments[0],
    "Bench": rerank_bench,
    "BenchReport": lambda folder: sy.BenchReport(rerank_bench(folder)),
    "Calibration": lambda _: by_labels(),
    "Chunks": lambda folder: pipeline(folder).chunks,
    "Comparison": lambda folder: sy.compare(scores(folder)),
    "Corpus": lambda _: sy.Corpus(documents=[sy.Document(*item) for item in DOCUMENTS.items()]),
    "Criterion": lambda _: sy.Criterion("polite", "The answer is polite.", "1-5"),
    "Design": lambda folder: sy.plan(scores(folder), measures="mrr@10", difference=0.1),
    "Diagnosis": lambda folder: sy.diagnose(weighing(folder)),
    "Experiment": lambda _: experiment(),
    "ExperimentConfig": lambda folder: sy.ExperimentConfig.read(write_experiment(folder)[0]),
    "ExperimentPlan": lambda _: sy.plan_experiment(
        metric="ctr", difference="5%", baseline=0.2, users_per_day=900, start="2026-12-07"
    ),
    "Logs": lambda _: logs_of(**chance_rows(1)),
    "LogCheck": lambda _: sy.check_logs(logs_of(**chance_rows(1))),
    "DrawnQuestions": lambda _: sy.questions_from_logs(logs_of(**chance_rows(1)), n=12),
    "Document": lambda _: sy.Document("h", "Text."),
    "Entry": lambda folder: sy.Store(folder / "history.db").add(scores(folder)),
    "Gate": lambda folder: sy.gate(scores(folder), baseline="a", margin=0.5),
    "Grades": lambda _: sy.label(QUESTIONS, LINES, scale="0-3"),
    "Interleaving": lambda _: sy.analyse_interleaving(logs_of(**interleaved_rows(2))),
    "Look": lambda _: look("alert"),
    "Measure": lambda _: sy.parse("ndcg@10"),
    "OffPolicy": lambda _: sy.off_policy(propensity_logs(), "uniform", clip=5.0),
    "Outputs": lambda _: sy.Outputs(LINES),
    "Outputs of a file": from_files(sy.Outputs.read, "outputs.jsonl"),
    "Passage": lambda _: sy.Passage("h#1", "h", 0, 4, text="Text"),
    "Pipeline": partial(pipeline, asked=False),
    "Pipeline that was asked": pipeline,
    "Profile": lambda _: sy.Profile.read("production"),
    "Questions": lambda _: sy.Questions(QUESTIONS),
    "Questions of a file": from_files(sy.Questions.read, "questions.jsonl"),
    "Rating": lambda folder: sy.rate(scores(folder), "production")[0],
    "Ratings": lambda folder: sy.rate(scores(folder), "production"),
    "Repeats": lambda _: sy.Repeats([RUNS["a"], RUNS["b"]]),
    "Report": lambda folder: sy.report(weighing(folder)),
    "Review": lambda _: sy.Review([], Labels([])),
    "Run": lambda _: sy.Run(RUNS["a"]),
    "Run of a frame": lambda _: sy.Run(pl.DataFrame({"query_id": ["q1"], "doc_id": ["h"], "score": [1.0]})),
    "Run of a file of TREC": from_files(sy.Run.read, "run.trec"),
    "Run of a CSV": from_files(sy.Run.read, "run.csv"),
    "Store": lambda folder: sy.Store(folder / "history.db"),
    "StreamedRun": from_files(StreamedRun, "run.trec"),
    "StreamedRun of a CSV": from_files(StreamedRun, "run.csv"),
    "StreamedRun of Parquet": lambda folder: StreamedRun(parquet(folder)),
    "Scores": scores,
    "Scores of evidence": from_files(sy.evaluate, "questions.jsonl", "outputs.jsonl"),
    "Truth": lambda _: sy.Truth(TRUTH),
    "Truth of a file": from_files(sy.Truth.read, "qrels.txt"),
    "Truth of a folder of BEIR": lambda folder: sy.Truth.read(beir(folder)),
    "Truth of questions": lambda _: sy.Questions([{"qid": "q1", "relevant": ["h"]}]).truth(),
    "Verdicts": lambda _: sy.judge(QUESTIONS, LINES, "lexical"),
    "Weighing": weighing,
    "Weighing of files": from_files(sy.weigh, "qrels.txt", "run.trec"),
    "Weighing of evidence": lambda _: sy.weigh(QUESTIONS, LINES),
}


ERRORS = {name for name in sy.__all__ if isinstance(kind := getattr(sy, name), type) and issubclass(kind, Exception)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


VALUES: dict[type, Callable[[Any], object]] = {
    sy.Pipeline: lambda it: (it.ask("Where is the café?").passages, it.fingerprint),
    sy.Report: lambda it: it.text("json"),
    sy.BenchReport: lambda it: it.text("json"),
    sy.Bench: lambda it: it.scores.frame.to_dicts(),
    sy.Weighing: lambda it: (it.scores(["mrr"]).frame.to_dicts(), it.digests),
    sy.Run: lambda it: (it.name, it.digest(), it.top(5).to_dicts()),
    StreamedRun: lambda it: (it.name, it.digest(), it.top(5).to_dicts()),
    sy.Outputs: lambda it: (it.digest(), it.run.frame.to_dicts(), it.answers),
    sy.Chunks: lambda it: (it.ids, it.texts),
    sy.Corpus: lambda it: it.digest(),
    sy.Repeats: lambda it: list(map(str, vars(it).values())),
    sy.Truth: lambda it: (it.digest(), it.frame.to_dicts()),
}


def values(thing: Any) -> object:
    """What a reader would see of a thing, or compute with it."""
    if type(thing) in VALUES:
        return VALUES[type(thing)](thing)
    frame = getattr(thing, "frame", None)
    return frame.to_dicts() if isinstance(frame, pl.DataFrame) else repr(thing)


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_public_pickles_and_copies(name: str, folder: Path) -> None:
    thing = MAKERS[name](folder)
    copies = {how: take(thing) for how, take in ROUND_TRIPS.items()}
    for how, again in copies.items():
        assert type(again) is type(thing), how
        assert repr(values(again)) == repr(values(thing)), how


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_errors_pickle_with_their_message(name: str) -> None:
    error = getattr(sy, name)("what was found; what to try")
    assert [str(take(error)) for take in ROUND_TRIPS.values()] == [str(error)] * len(ROUND_TRIPS)


def test_every_public_class_is_among_the_cases() -> None:
    classes = {name for name in sy.__all__ if inspect.isclass(getattr(sy, name))}
    assert classes - ERRORS <= {name.partition(" of ")[0].partition(" that ")[0] for name in MAKERS}


def test_what_was_used_pickles_too(folder: Path) -> None:
    for name in ("Run of a CSV", "Outputs", "Weighing of evidence", "Pipeline", "Verdicts", "Truth"):
        thing = MAKERS[name](folder)
        before = values(thing)  # Whatever is remembered of it must pickle, too.
        assert repr(values(pickle.loads(pickle.dumps(thing)))) == repr(before), name


def test_a_stage_that_calls_out_leaves_its_key_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sesame-open-now")
    made = sy.Pipeline(
        DOCUMENTS,
        generate={"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:1/v1", "api_key_env": "MY_KEY"},
    )
    made.endpoints["generator"]._service  # noqa: B018  Its client has the key in a header.
    assert b"sesame" not in pickle.dumps(made)


def worked(things: dict[str, Any]) -> dict[str, str]:
    return {name: repr(values(thing)) for name, thing in things.items()}


def test_another_process_can_work_with_them(folder: Path) -> None:
    names = (
        "Run",
        "Run of a CSV",
        "StreamedRun",
        "Truth",
        "Outputs",
        "Weighing",
        "Verdicts",
        "Pipeline that was asked",
    )
    things = {name: MAKERS[name](folder) for name in names}
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(worked, (things,)) == worked(things)
