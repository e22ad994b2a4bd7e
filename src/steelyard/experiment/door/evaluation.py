"""Weigh systems: a truth, runs and measures in, Scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from steelyard.base import defaults
from steelyard.base.choices import OnDuplicate, Policy, Unit
from steelyard.base.progress import Progress, no_progress
from steelyard.experiment.door.opening import open_inputs
from steelyard.experiment.door.verdict_choice import VerdictChoice
from steelyard.experiment.door.weighing import Weighing
from steelyard.experiment.review_choice import check_labels
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.text.folding import DEFAULT_STEPS


def evaluate(
    truth: object,
    runs: object,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    *,
    min_gain: float | None = None,
    missing: Policy = defaults.MISSING,
    no_relevant: Policy = defaults.NO_RELEVANT,
    on_duplicate: OnDuplicate = defaults.ON_DUPLICATE,
    rule: str = defaults.RULE,
    steps: Sequence[str] | None = None,
    unit: Unit | None = None,
    corpus: object = None,
    queries: object = None,
    cluster: str | Mapping[str, object] | None = None,
    verdicts: object = None,
    judge: str | None = None,
    labels: object = None,
    progress: Progress = no_progress,
) -> Scores:
    """Weigh one or several runs against a truth.

    truth         a Truth, a path, a dict {query_id: {doc_id: gain}}, a frame, or ranx Qrels; or Questions (a path to
                  them, or a list of dicts), whose gold evidence is looked up in the chunks of each run
    runs          a Run, a path, a dict {query_id: {doc_id: score}}, a frame or a ranx Run; Outputs, a run folder, or a
                  list of dicts with `retrieved`; a list of Runs, Outputs and paths, or a dict {name: any of these}.
                  Several runs of one system are Repeats of any of these, or "NAME=FILE,FILE": each value is then their
                  mean
    measures      specs such as "ndcg@10", in our spelling or that of trec_eval, ir_measures or ranx; by default
                  those of defaults.MEASURES for this kind of gold
    min_gain      smallest gain that counts as relevant, for measures without one of their own; 1 by default
    missing       a question of the truth that is absent from a run: "zero" or "skip"
    no_relevant   a question without relevant documents: "zero" or "skip"
    on_duplicate  a document twice in one query: "error", or keep the "first" or the one with "max" score or gain
    rule          when chunks hold a gold passage: "any" overlap, "contains", or "share>=0.5" of it
    steps         of folding, by which gold texts and chunks are compared; lower case and white space by default
    unit          what is weighed: "chunk", or "document": lists of chunks as lists of their documents, each at its best
                  chunk (MaxP); by default documents where all gold of questions names whole ones
    corpus        chunks of the corpus, or the documents behind them: Corpus, Chunks, documents, or the path of a run
                  folder, of a JSONL file of chunks with `start`, or of documents; by default what a run has itself
    queries       Questions, or a path to them, with the text, the tags and the fields of each question; by default
                  those of the truth, or of its BEIR folder
    cluster       questions that are no independent evidence, and count as one for intervals and tests: "doc" (those
                  with the same main gold document), a field of the questions, such as "conversation", or a dict
                  {query_id: cluster}; by default each counts by itself
    verdicts      for measures of answers: what `sy.judge` returns, or the path of such; of several systems a dict
                  {name: verdicts}, of several runs of one a list; by default those in each run folder, else the lexical
                  judge judges
    judge         whose verdicts in run folders count; by default those that were written last
    labels        what people decided about a random sample of what was judged, by which means are corrected: a Review,
                  or the path of one, or a dict {name: these}; by default those in each run folder, and none with False
    progress      called as progress("runs", done, total) after every run, and with "answers" while the lexical judge
                  judges one
    Raises        InputError and its children, MeasureError: with the place, what was expected and what to try.

    >>> scores = evaluate({"q": {"a": 1, "c": 2}}, {"q": {"a": 0.9, "b": 0.5, "c": 0.1}}, ["mrr", "recall@2"])
    >>> scores.mean()["mean"].to_list()
    [1.0, 0.5]
    """
    weighing = weigh(
        truth, runs, on_duplicate=on_duplicate, rule=rule, steps=steps, unit=unit, corpus=corpus, queries=queries,
        cluster=cluster, verdicts=verdicts, judge=judge, labels=labels, progress=progress,
    )  # fmt: skip
    specs = weighing.measures_or((), defaults.MEASURES) if measures is None else measures
    return weighing.scores(specs, min_gain=min_gain, missing=missing, no_relevant=no_relevant)


def weigh(
    truth: object,
    runs: object,
    *,
    on_duplicate: OnDuplicate = defaults.ON_DUPLICATE,
    rule: str = defaults.RULE,
    steps: Sequence[str] | None = None,
    unit: Unit | None = None,
    corpus: object = None,
    queries: object = None,
    cluster: str | Mapping[str, object] | None = None,
    verdicts: object = None,
    judge: str | None = None,
    labels: object = None,
    progress: Progress = no_progress,
) -> Weighing:
    """Align one or several runs with a truth, for whatever is to be computed from that.

    Options are those of `evaluate`.
    Raises   InputError and its children.

    >>> weighing = weigh({"q": {"a": 1}}, {"q": ["b", "a"]})
    >>> [float(weighing.scores(f"recall@{k}").means[0, 0]) for k in (1, 2)]
    [0.0, 1.0]
    """
    inputs = open_inputs(truth, runs, on_duplicate=on_duplicate, corpus=corpus, queries=queries, unit=unit)
    weighing = Weighing.of(
        inputs, on_duplicate=on_duplicate, rule=rule, steps=DEFAULT_STEPS if steps is None else tuple(steps),
        unit=unit, cluster=cluster, progress=progress,
    )  # fmt: skip
    check_labels(labels, weighing.systems)
    return replace(
        weighing,
        choice=VerdictChoice(verdicts, judge, progress).checked(weighing.systems),
        label_choice=labels,
    )
