"""Weigh systems: a truth, runs and measures in, Scores out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from steelyard.align.evidence import align_evidence
from steelyard.align.rankings import align
from steelyard.align.resolver import Resolver
from steelyard.base.errors import InputError
from steelyard.data.chunk_table import ChunkTable, Corpus, read_corpus
from steelyard.data.corpus import Chunks, Document
from steelyard.data.outputs import Outputs
from steelyard.data.questions import Questions, has_evidence, is_dataset, read_queries
from steelyard.data.run import Run, StreamedRun, is_path
from steelyard.data.run_folder import RunFolder, is_run_folder, read_run_folder
from steelyard.data.truth import OnDuplicate, Truth
from steelyard.experiment import defaults
from steelyard.experiment.defaults import Policy
from steelyard.experiment.scores import Scores
from steelyard.experiment.weighing import Weighed, Weighing
from steelyard.io.objects import is_frame, ranx_dict
from steelyard.measures import Measure
from steelyard.text.folding import DEFAULT_STEPS

S = TypeVar("S", Run | StreamedRun, Outputs)


def evaluate(
    truth: object,
    runs: object,
    measures: Iterable[str | Measure] | str | Measure = defaults.MEASURES,
    *,
    min_gain: float | None = None,
    missing: Policy = defaults.MISSING,
    no_relevant: Policy = defaults.NO_RELEVANT,
    on_duplicate: OnDuplicate = defaults.ON_DUPLICATE,
    rule: str = defaults.RULE,
    steps: Sequence[str] | None = None,
    corpus: object = None,
    seed: int = defaults.SEED,
) -> Scores:
    """Weigh one or several runs against a truth.

    truth         a Truth, a path, a dict {query_id: {doc_id: gain}}, a frame, or ranx Qrels; or Questions (a path to
                  them, or a list of dicts), whose gold evidence is found in the chunks of each run
    runs          a Run, a path, a dict {query_id: {doc_id: score}}, a frame or a ranx Run; Outputs, a run folder, or a
                  list of dicts with `retrieved`; a list of Runs, Outputs and paths, or a dict {name: any of these}
    measures      specs such as "ndcg@10", in our spelling or that of trec_eval, ir_measures or ranx
    min_gain      smallest gain that counts as relevant, for measures that do not say it themselves; 1 by default
    missing       a query of the truth that is absent from a run: "zero" or "skip"
    no_relevant   a query without relevant documents: "zero" or "skip"
    on_duplicate  a document twice in one query: "error", or keep the "first" or the one with "max" score or gain
    rule          when a chunk holds a gold span: "any" overlap, "contains", or "share>=0.5" of the span
    steps         of folding, by which gold texts and chunks are compared; lower case and white space by default
    corpus        chunks of the corpus, or the documents behind them: Corpus, Chunks, documents, a run folder, or a
                  JSONL file of chunks; by default what a run tells itself
    seed          of the bootstrap behind the intervals
    Raises        InputError and its children, MeasureError: with the place, what was expected and what to try.

    >>> scores = evaluate({"q": {"a": 1, "c": 2}}, {"q": {"a": 0.9, "b": 0.5, "c": 0.1}}, ["mrr", "recall@2"])
    >>> scores.mean()["mean"].to_list()
    [1.0, 0.5]
    """
    weighing = weigh(truth, runs, on_duplicate=on_duplicate, rule=rule, steps=steps, corpus=corpus)
    return weighing.scores(measures, min_gain=min_gain, missing=missing, no_relevant=no_relevant, seed=seed)


def weigh(
    truth: object,
    runs: object,
    *,
    on_duplicate: OnDuplicate = defaults.ON_DUPLICATE,
    rule: str = defaults.RULE,
    steps: Sequence[str] | None = None,
    corpus: object = None,
    queries: object = None,
) -> Weighing:
    """Align one or several runs with a truth, for whatever is to be computed from that.

    queries   Questions, or a path to them, that tell the text and the tags of each query where the truth does not;
              other options as of `evaluate`
    Raises    InputError and its children.

    >>> weighing = weigh({"q": {"a": 1}}, {"q": ["b", "a"]})
    >>> [float(weighing.scores(f"recall@{k}").means[0, 0]) for k in (1, 2)]
    [0.0, 1.0]
    """
    if on_duplicate not in ("error", "first", "max"):
        raise InputError(f"on_duplicate must be 'error' or 'first' or 'max', not {on_duplicate!r}")
    known_corpus, steps = _corpus(corpus), DEFAULT_STEPS if steps is None else tuple(steps)
    gold = _gold(truth, runs, known_corpus, on_duplicate)
    asked = (
        gold if queries is None else queries if isinstance(queries, Questions) else read_queries(cast("str", queries))
    )
    recipe: dict[str, Any] = {"on_duplicate": on_duplicate}
    if isinstance(gold, Questions):
        recipe |= {"rule": rule, "steps": list(steps)}
        resolver = Resolver(gold, corpus=known_corpus, rule=rule, steps=steps)
        weighed = [
            _weigh_evidence(name, gold, outputs, known_corpus, resolver, on_duplicate)
            for name, outputs in _systems(runs, _outputs).items()
        ]
    else:
        weighed = [
            Weighed(name, align(gold, run, on_duplicate=on_duplicate), run, run.digest)
            for name, run in _systems(runs, _system).items()
        ]
    questions = {question.query_id: question for question in asked} if isinstance(asked, Questions) else {}
    folders = _run_folders(runs, [system.name for system in weighed])
    return Weighing(gold, weighed, questions, recipe, folders)


def _run_folders(runs: object, names: Sequence[str]) -> dict[str, RunFolder]:
    """The run folders among the systems, by name."""
    listed = list(runs.values()) if isinstance(runs, Mapping) else runs if isinstance(runs, list | tuple) else [runs]
    if len(listed) != len(names):  # results of one run
        return {}
    return {
        name: read_run_folder(run)
        for name, run in zip(names, listed, strict=True)
        if is_path(run) and is_run_folder(run)
    }


def _weigh_evidence(
    name: str, questions: Questions, outputs: Outputs, corpus: Corpus | None, resolver: Resolver,
    on_duplicate: OnDuplicate,
) -> Weighed:  # fmt: skip
    """By evidence where the chunks tell anything but their ids, and by the labels of ids otherwise."""
    before = outputs.before_reranking()
    if corpus is None and len(outputs.table) and not outputs.table.says_where:
        truth = questions.truth()
        aligned = align(truth, outputs.run, on_duplicate=on_duplicate)
        first = None if before is None else align(truth, before.run, on_duplicate=on_duplicate).alignment
        return Weighed(name, aligned, outputs.run, outputs.digest, outputs, None, first)
    gold = resolver.resolve(outputs)
    aligned = align_evidence(gold, outputs, on_duplicate=on_duplicate)
    first = None
    if before is not None:
        first = align_evidence(resolver.resolve(before), before, on_duplicate=on_duplicate).alignment
    return Weighed(name, aligned, outputs.run, outputs.digest, outputs, gold, first)


def _gold(truth: object, runs: object, corpus: Corpus | None, on_duplicate: OnDuplicate) -> Truth | Questions:
    """Judged documents by id, or questions whose gold must be looked up in chunks."""
    if isinstance(truth, Truth | Questions):
        return truth
    if isinstance(truth, list | tuple):
        return Questions(truth)
    if not is_path(truth):
        return Truth(truth, on_duplicate=on_duplicate)
    listed = list(runs.values()) if isinstance(runs, Mapping) else runs if isinstance(runs, list | tuple) else [runs]
    looked_up = corpus is not None or any(isinstance(r, Outputs) or (is_path(r) and is_run_folder(r)) for r in listed)
    if has_evidence(truth) or (looked_up and is_dataset(truth)):
        return Questions.read(truth)
    return Truth.read(truth, on_duplicate=on_duplicate)


def _corpus(data: object) -> Corpus | None:
    if data is None or isinstance(data, Corpus):
        return data
    if isinstance(data, Chunks):
        return Corpus(ChunkTable.of(data), data.documents)
    if is_path(data):
        return read_corpus(data)
    if isinstance(data, list | tuple) and data and all(isinstance(document, Document) for document in data):
        return Corpus(documents=data)
    raise InputError(
        f"corpus: cannot be read from {type(data).__name__}; pass a run folder, a JSONL file of chunks, Chunks, or "
        "a list of Documents"
    )


def _systems(data: object, made: Callable[[object, str | None], S]) -> dict[str, S]:
    """Systems by name; names that files share are told apart by their folders."""
    if isinstance(data, Mapping) and not _is_one_run(data):
        named = {str(name): made(run, str(name)) for name, run in data.items()}
    elif isinstance(data, list | tuple) and not _is_one_output(data):
        each = [made(run, None) for run in data]
        names = _distinct([run.name for run in each], data)
        named = dict(zip(names, each, strict=True))
    else:
        run = made(data, None)
        named = {run.name: run}
    if not named:
        raise InputError("no run is given; pass one or several")
    return named


def _is_one_output(data: object) -> bool:
    """Whether a list holds results of questions rather than runs."""
    return (
        isinstance(data, list | tuple)
        and bool(data)
        and isinstance(data[0], Mapping)
        and bool({"retrieved", "error"} & data[0].keys())
    )


def _is_one_run(data: Mapping[Any, Any]) -> bool:
    """Whether a dict is {query_id: ranking} rather than {name: run}: its values hold ids or numbers, not runs."""
    first = next((value for value in data.values() if not isinstance(value, Mapping) or value), None)
    if isinstance(first, list | tuple):
        return not _is_one_output(first)
    if (
        isinstance(first, Run | StreamedRun | Outputs)
        or is_path(first)
        or is_frame(first)
        or ranx_dict(first) is not None
    ):
        return False
    if isinstance(first, Mapping):
        return not isinstance(next(iter(first.values()), None), Mapping | list)
    return True


def _system(data: object, name: str | None) -> Run | StreamedRun:
    if isinstance(data, Run | StreamedRun):
        return data
    if isinstance(data, Outputs):
        return data.run
    if is_path(data) and is_run_folder(data):
        folder = read_run_folder(data)
        return StreamedRun(folder.outputs, name=name or folder.name)
    if is_path(data):
        return StreamedRun(data, name=name)
    if _is_one_output(data):
        return Outputs(cast("list[dict[str, Any]]", data), name=name or "run").run
    return Run(data, name=name or "run")


def _outputs(data: object, name: str | None) -> Outputs:
    if isinstance(data, Outputs):
        return data
    if is_path(data):
        return Outputs.read(data, name=name)
    if _is_one_output(data):
        return Outputs(cast("list[dict[str, Any]]", data), name=name or "run")
    if isinstance(data, StreamedRun):
        raise InputError(f"{data.name}: pass the path, or Outputs.read(path), where the gold is evidence")
    return Outputs.of_run(data if isinstance(data, Run) else Run(data, name=name or "run"))


def _distinct(names: list[str], runs: list[Any] | tuple[Any, ...]) -> list[str]:
    if len(set(names)) == len(names):
        return names
    longer = [
        f"{Path(run).resolve().parent.name}/{name}" if is_path(run) and names.count(name) > 1 else name
        for name, run in zip(names, runs, strict=True)
    ]
    if len(set(longer)) == len(longer):
        return longer
    twice = next(name for name in longer if longer.count(name) > 1)
    raise InputError(f"two runs are called {twice!r}; name each file once, or rename one (in Python: {{name: run}})")
