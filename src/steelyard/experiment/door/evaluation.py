"""Weigh systems: a truth, runs and measures in, Scores out; the door of every verb that weighs; stored Scores."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Unpack

from steelyard.base import defaults
from steelyard.base.errors import InputError, quoted
from steelyard.base.options import WeighKeywords, WeighOptions, check_names, with_options
from steelyard.base.shapes import Each, Object, check_shape
from steelyard.data.folders.manifests import CONFIG, find_bench_folder
from steelyard.data.folders.run_folder import RunFolder, find_run_folder
from steelyard.data.outputs import Outputs
from steelyard.data.question_files import question_format
from steelyard.data.questions import Questions
from steelyard.data.run import Repeats, Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.experiment.door.id_forms import same_form
from steelyard.experiment.door.opening import Inputs, open_inputs
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.table.json import read_scores
from steelyard.experiment.table.scores import Scores
from steelyard.io.evaluation_rows import holds_rows
from steelyard.io.source import Source
from steelyard.measures import Measure


@with_options("evaluate")
def evaluate(
    truth: object,
    runs: object = None,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    **options: Unpack[WeighKeywords],
) -> Scores:
    """Weigh one or several runs against a truth.

    truth         a Truth, a path, a dict {query_id: {doc_id: gain}}, a frame, or ranx Qrels; or Questions (a path to
                  them, or a list of dicts), whose gold evidence is looked up in the chunks of each run
    runs          a Run, a path, a dict {query_id: {doc_id: score}}, a frame or a ranx Run; Outputs, a run folder, or a
                  list of dicts with `retrieved`; a list of Runs, Outputs and paths, or a dict {name: any of these}.
                  Several runs of one system are Repeats of any of these, or "NAME=FILE,FILE": each value is then their
                  mean.  None where the rows of the truth hold questions, gold and what a system gave, as a test set of
                  ragas or deepeval does
    measures      specs such as "ndcg@10", in our spelling or that of trec_eval, ir_measures or ranx; by default
                  those of defaults.MEASURES for this kind of gold
    progress      called as progress("runs", done, total) after every run, and with "answers" while the lexical judge
                  judges one
    Raises        InputError and its children, MeasureError: with the place, what was expected and what to try.

    >>> scores = evaluate({"q": {"a": 1, "c": 2}}, {"q": {"a": 0.9, "b": 0.5, "c": 0.1}}, ["mrr", "recall@2"])
    >>> scores.mean()["mean"].to_list()
    [1.0, 0.5]
    """
    weighing = weigh(truth, runs, **options)
    specs = weighing.measures_or((), defaults.MEASURES) if measures is None else measures
    return weighing.scores(specs).of_weighing(weighing)


@with_options("evaluate")
def weigh(truth: object, runs: object = None, **options: Unpack[WeighKeywords]) -> Weighing:
    """Align one or several runs with a truth, to compute anything from that.

    truth, runs   as of `evaluate`
    Raises   InputError and its children.

    >>> weighing = weigh({"q": {"a": 1}}, {"q": ["b", "a"]})
    >>> [float(weighing.scores(f"recall@{k}").means[0, 0]) for k in (1, 2)]
    [0.0, 1.0]
    """
    check_names("weigh", options, WeighOptions)
    return _weigh("weigh", truth, runs, options)


def _weigh(verb: str, truth: object, runs: object, options: Mapping[str, Any]) -> Weighing:
    _refuse_results(verb, truth)
    declared = WeighOptions.of(options)
    inputs = _both_sides(verb, truth, declared) if runs is None else open_inputs(truth, runs, declared)
    return Weighing.of(same_form(inputs, declared.normalise_ids), declared)


def _both_sides(verb: str, rows: object, options: WeighOptions) -> Inputs:
    """Questions, and what a system gave for them, of the same rows.

    Raises   InputError for judged documents, and for questions alone.
    """
    verb = "evaluate" if verb == "weigh" else verb
    advice = f"name one run or several behind it: sy.{verb}(truth, runs), steelyard {verb} TRUTH RUN"
    try:
        inputs = open_inputs(rows, rows, options)
    except InputError as error:
        raise InputError(f"{error}; where there are no results beside the questions, {advice}") from None
    if not isinstance(inputs.gold, Questions):
        raise InputError(f"{_kind(rows)} holds judged documents and no results; {advice}")
    return inputs


def weighed_or_scores(verb: str, truth: object, runs: object, options: Mapping[str, Any]) -> Weighing | Scores:
    """The input of a verb: a truth and runs, or rows that hold both, weighed now; or a Weighing or Scores without runs.

    options   of weighing: those that are given
    Raises    InputError for another kind of object, and for options that what is given can no longer follow.
    """
    if not isinstance(truth, Weighing | Scores):
        return _weigh(verb, truth, runs, options)
    if runs is not None:
        raise InputError(
            f"{verb} was given {_kind(truth)}, which holds its runs, and {_kind(runs)}; name other arguments, such as "
            f"measures=..., or call sy.{verb}(truth, runs)"
        )
    for name in options:
        if isinstance(truth, Scores):
            raise InputError(f"{name} needs rankings, and these are scores; pass what `weigh` returns, or leave it out")
        if name not in (*WeighOptions.SCORING, "progress"):
            raise InputError(
                f"{name} says how runs are evaluated, and these are already; call sy.weigh(truth, runs, {name}=...)"
            )
    return truth


def weighed(verb: str, truth: object, runs: object, options: Mapping[str, Any]) -> Weighing:
    """The same of a verb that needs rankings: Scores are those of `evaluate`, which know what they were computed from.

    Raises   InputError for other Scores too.
    """
    weighing = truth.weighing if isinstance(truth, Scores) else truth
    if weighing is None and isinstance(truth, Scores):
        raise InputError(
            f"{verb} needs rankings, and was given Scores without them, as scores are that were read from a file or "
            f"are a part of others; call sy.{verb}(truth, runs)"
        )
    of = weighed_or_scores(verb, weighing, runs, options)
    assert isinstance(of, Weighing)
    return of


def counting(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are given of what `Weighing.scores` counts."""
    return {name: options[name] for name in WeighOptions.SCORING if name in options}


def check_scores(verb: str, scores: object) -> None:
    """Raise   InputError for what are no Scores."""
    if not isinstance(scores, Scores):
        raise InputError(
            f"{verb} takes Scores, and was given {_kind(scores)}; call sy.{verb}(sy.evaluate(truth, runs), ...)"
        )


def _refuse_results(verb: str, truth: object) -> None:
    """Raise   InputError for a result of ours where a truth is expected."""
    data = (Truth, Questions, Run, StreamedRun, Outputs, Repeats)
    if type(truth).__module__.startswith("steelyard.") and not isinstance(truth, data):
        also = "" if verb == "weigh" else ", a Weighing or Scores"
        raise InputError(
            f"{verb} takes a truth and runs{also}, and was given {_kind(truth)}; call sy.{verb}(truth, runs)"
        )


def _kind(value: object) -> str:
    """A value in a message: a text as it is, of anything else what it is."""
    if value is None or isinstance(value, str):
        return quoted(value)
    name = type(value).__name__
    return name if name.endswith(("es", "ts", "ns", "gs")) else f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


Origin = Literal["scores", "run", "bench", "load"]
"""What scores were read from: their own file, a run folder that is weighed now, a bench of rerankers, a load test."""


@dataclass(frozen=True, eq=False)
class StoredScores:
    """Scores at a path.

    latency_ms   system -> run -> milliseconds of each question, of a run folder; scores have a column, if at all
    base         of a bench, the system that all others are held against: the candidates as they are; else None
    recommended  of a bench, the system that is to be taken, by its choice; else None
    origin       what the path is of
    """

    scores: Scores
    latency_ms: Mapping[str, Sequence[Sequence[float]]] = field(default_factory=dict)
    base: str | None = None
    recommended: str | None = None
    origin: Origin = "scores"


def open_scores(
    path: str | Path,
    *,
    measures: Sequence[str | Measure] = (),
    truth: object = None,
    options: Mapping[str, Any] = MappingProxyType({}),
) -> StoredScores:
    """The Scores of a JSON file or of the folder of a bench, or those of what is weighed now: a run folder, or a file
    whose rows hold both sides.

    measures   of what is weighed; by default those that its configuration names, else those of `evaluate`
    truth      of what is weighed; needed unless it has its questions
    options    of weighing that are given; by default, of a run folder those of its configuration count
    Raises     InputError where a run folder's questions are not named, and as `read_scores` and `evaluate` do
    """
    folder = find_run_folder(path)
    if folder is not None:
        return _weighed_folder(folder, measures, truth, options)
    if os.path.isfile(path) and _holds_rows(Source(path)):
        weighing = weigh(path, **options) if truth is None else weigh(truth, path, **options)
        return _stored(weighing, measures)
    bench = find_bench_folder(path)
    if bench is None and os.path.isdir(path):
        raise InputError(
            f"{path}: is a folder but neither of a run nor of a bench; give the JSON of scores, or such a folder"
        )
    refuse_options(f"{path}: holds scores already", options)
    if bench is None:
        return StoredScores(read_scores(path))
    return StoredScores(
        read_scores(bench.scores),
        base=bench.manifest.get("base"),
        recommended=bench.manifest.get("recommended"),
        origin="bench" if bench.kind == "rerank" else "load",
    )


_WEIGH = Object(
    optional={
        "rule": str,
        "steps": Each(list, str),
        "cluster": str,
        "measures": Each(list, str),
        "min_gain": (int, float),
        "hold_out": float,
    }
)
"""What `weigh` of config.json may hold, which others may have edited."""


def refuse_options(what: str, options: Iterable[str]) -> None:
    """Raise   InputError for options of weighing where there are scores; clusters and units of these are checked."""
    for name in options:
        if name not in ("cluster", "unit", "progress"):
            raise InputError(
                f"{what}, and {name} is an option of evaluating; evaluate with it (steelyard evaluate "
                f"--{name.replace('_', '-')}, sy.evaluate), or leave it out"
            )


def _weighed_folder(
    folder: RunFolder, measures: Sequence[str | Measure], truth: object, options: Mapping[str, Any]
) -> StoredScores:
    settings = folder.config.get("weigh") or {}
    try:
        check_shape(
            {k: v for k, v in settings.items() if v is not None} if isinstance(settings, dict) else settings, _WEIGH
        )
    except ValueError as error:
        raise InputError(f"{folder.path / CONFIG}: in `weigh`, {error}") from None
    named = {name: settings.get(name) for name in ("rule", "steps", "cluster", "min_gain", "hold_out")}
    named |= {"unit": folder.config.get("unit")}
    configured = {name: value for name, value in named.items() if value}
    weighing = weigh(folder.questions if truth is None else truth, [folder.path], **{**configured, **options})
    return _stored(weighing, measures or settings.get("measures") or ())


def _stored(weighing: Weighing, measures: Sequence[str | Measure]) -> StoredScores:
    specs = weighing.measures_or(measures, defaults.MEASURES)
    return StoredScores(weighing.scores(specs), weighing.latency_ms, origin="run")


def _holds_rows(source: Source) -> bool:
    """True if a file is a list of rows; scores are one object of JSON."""
    format = question_format(source)
    return format != "json" or holds_rows(source, format)
