"""What a path or an object is, decided here alone: truth or questions, systems and corpus, each opened once."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeGuard, cast

from steelyard.base.choices import OnDuplicate
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.base.options import WeighOptions
from steelyard.data.chunk_table import ChunkTable, Corpus, holds_chunks, read_chunks
from steelyard.data.corpus import Chunks, Document
from steelyard.data.folders.manifests import read_bench_manifest
from steelyard.data.folders.run_folder import RunFolder, RunReader, find_run_folder
from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.question_files import (
    are_questions,
    beir_queries_file,
    holds_other_gold,
    holds_questions,
    question_format,
    questions_file,
    says_more,
)
from steelyard.data.questions import LateQuestions, Questions
from steelyard.data.run import Repeats, Run, StreamedRun, is_path
from steelyard.data.truth import Truth
from steelyard.io import formats
from steelyard.io.evaluation_rows import columns_of, holds_rows, is_row, rows_of
from steelyard.io.json_files import is_graded_row, json_lines, names_question
from steelyard.io.named import named_paths
from steelyard.io.objects import RunDict, in_hand, is_frame, is_whole_number, ranx_dict
from steelyard.io.retrieved_items import answer_of, result_key
from steelyard.io.source import Source
from steelyard.io.traces.reading import frame_format

Texts = Callable[[Collection[str]], Mapping[str, str]]
"""Texts of documents by their ids, as far as they are there."""

_NamedRuns = Sequence[tuple[str | None, Sequence[object]]]
_ENTRIES = 20
"""Files of a folder that are looked at for runs."""


def no_texts(ids: Collection[str]) -> dict[str, str]:
    """The `Texts` of a truth without documents."""
    return {}


@dataclass(frozen=True, eq=False)
class System:
    """One system before it is weighed.

    run      its rankings
    outputs  its texts, places and answers; None where the gold names documents by id
    answered  reads the outputs, as they are, where answers are weighed, whatever the gold names
    folder   its run folder, if it has one
    repeats  its further runs, where there are several
    notes    what the traces that it was read from lack
    """

    name: str
    run: Run | StreamedRun
    outputs: Outputs | None = None
    answered: Callable[[], Outputs] = field(repr=False, kw_only=True)
    folder: RunFolder | None = None
    repeats: Sequence[System] = ()
    notes: Sequence[Note] = ()

    @property
    def runs(self) -> Sequence[System]:
        """Each of its runs."""
        return (self, *self.repeats)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What is to be weighed, opened.

    gold       the truth, or the questions with their evidence
    questions  query_id -> query, tags and answer, as far as they are given
    corpus     chunks or documents apart from the systems, if any are named
    texts      those of documents by id, of the corpus or of the truth's BEIR folder; read when they are asked for
    """

    gold: Truth | Questions
    systems: Sequence[System]
    questions: Mapping[str, Question]
    corpus: Corpus | None
    texts: Texts


def open_inputs(truth: object, runs: object, options: WeighOptions) -> Inputs:
    """Open everything that `weigh` takes; each file is opened once.

    Raises   InputError and its children, naming the file.
    """
    corpus, asked, on_duplicate = options.documents, options.questions, options.on_duplicate
    truth, named_runs = in_hand(truth), _named_runs(_in_hand(runs))
    _check_stdin(named_runs, truth, corpus, asked)
    opened_corpus = open_corpus(corpus)
    located_truth = _locate_truth(truth)
    located = _located(named_runs)
    systems = [run for _, repeats in located for run in repeats]
    looked_up = opened_corpus is not None or any(isinstance(run, Outputs | RunFolder) for run in systems)
    if isinstance(located_truth, Path) and beir_queries_file(located_truth) is not None:
        looked_up = looked_up or any(map(_names_documents, systems))
    gold, questions = _open_gold(located_truth, looked_up, on_duplicate)
    located = _named_by_text(located, questions)
    return Inputs(
        gold,
        _systems(located, evidence=isinstance(gold, Questions) or options.unit == "document"),
        questions if asked is None else _by_id(_open_queries(asked)),
        opened_corpus,
        _texts(opened_corpus, located_truth),
    )


def open_systems(runs: object) -> list[System]:
    """Open the rankings of systems alone, with names that differ.

    Raises   InputError and its children, naming the file.
    """
    named_runs = _named_runs(_in_hand(runs))
    _check_stdin(named_runs)
    return _systems(_located(named_runs), evidence=False)


def open_answers(questions: object, outputs: object) -> tuple[Questions, System]:
    """Open what `judge` takes: questions, with or without gold evidence, and the outputs of one system.

    Raises   InputError and its children, naming the file.
    """
    named_runs = _named_runs(_in_hand(outputs))
    n_runs = sum(len(repeats) for _, repeats in named_runs)
    if n_runs != 1:
        raise InputError(f"outputs: there are {n_runs} runs; judge the answers of one system at a time")
    asked, (system,) = _open_answers(in_hand(questions), named_runs)
    return asked, system


def open_all_answers(questions: object, runs: object) -> tuple[Questions, list[System]]:
    """Open questions, with or without gold evidence, and the outputs of one system or several.

    Raises   InputError and its children, naming the file.
    """
    return _open_answers(in_hand(questions), _named_runs(_in_hand(runs)))


def _open_answers(questions: object, named_runs: _NamedRuns) -> tuple[Questions, list[System]]:
    _check_stdin(named_runs, questions)
    located, asked = _located(named_runs), _open_queries(questions)
    return asked, _systems(_named_by_text(located, _by_id(asked)), evidence=True)


def _check_stdin(named_runs: _NamedRuns, *others: object) -> None:
    """Raise   InputError where several of these are standard input."""
    opened = (*others, *(run for _, repeats in named_runs for run in repeats))
    if sum(is_path(data) and str(data) == "-" for data in opened) > 1:
        raise InputError("standard input (-) can be read once only")


def _named_by_text(located: _NamedRuns, questions: Mapping[str, Question]) -> _NamedRuns:
    """The runs; traces, which have ids of their own, with the ids of the questions that have the same texts."""
    return [
        (
            name,
            [_asked_as(run, questions) if isinstance(run, Outputs) and run.asked.queries else run for run in repeats],
        )
        for name, repeats in located
    ]


def _asked_as(outputs: Outputs, questions: Mapping[str, Question]) -> Outputs:
    """Outputs whose questions are called as those with the same texts, where they have no id in common with them."""
    asked = outputs.asked.queries
    if not asked.keys().isdisjoint(questions):
        return outputs
    ids = {" ".join(question.query.split()): query_id for query_id, question in questions.items() if question.query}
    names: dict[str, str] = {}
    for own_id, query in asked.items():
        if (query_id := ids.pop(" ".join(query.split()), None)) is not None:
            names[own_id] = query_id
    if not names:
        return outputs
    note = Note("questions_by_text", {"n": len(names), "total": len(asked)})
    return outputs.renamed(names).changed(notes=(*outputs.notes, note))


def _located(named_runs: _NamedRuns) -> _NamedRuns:
    return [(name, [_locate_run(run) for run in repeats]) for name, repeats in named_runs]


def open_pool(questions: object, sources: object) -> tuple[Questions, list[System], list[Corpus]]:
    """Open what `label` takes: questions, and where documents to grade are: runs, and documents or chunks.

    sources   one or a list of them: what may be outputs, else what may be a corpus
    Raises    InputError and its children, naming the file.
    """
    questions, sources = in_hand(questions), _in_hand(sources)
    is_list = isinstance(sources, list | tuple) and not _are_results(sources) and not _is_corpus(sources)
    listed = list(cast("Sequence[object]", sources)) if is_list else [sources]
    _check_stdin([(None, listed)], questions)
    corpora = [cast("Corpus", open_corpus(source)) for source in listed if _is_corpus(source)]
    runs = [source for source in listed if not _is_corpus(source)]
    named_runs = [own for run in runs for own in _named_runs(run if isinstance(run, Mapping) else [run])]
    systems = _systems(_located(named_runs), evidence=True) if named_runs else []
    return _open_queries(questions), systems, corpora


def _is_corpus(source: object) -> bool:
    """True if this is documents or chunks, rather than a run.

    Raises   InputError for a folder of runs.
    """
    if not is_path(source) or str(source) == "-" or not os.path.exists(source):
        are_documents = isinstance(source, list | tuple) and bool(source) and isinstance(source[0], Document)
        return are_documents or isinstance(source, Corpus | Chunks)
    if _is_run(Path(source)):
        return False
    if os.path.isdir(source) and (advice := _runs_inside(Path(source))):
        raise InputError(f"{source}: is neither a run nor a folder of documents{advice}")
    return True


def open_corpus(data: object) -> Corpus | None:
    """Chunks or documents: of a run folder, a JSONL file of chunks, or documents in any form.

    data     None, a path, Corpus, Chunks, or a list of Documents
    Raises   InputError and its children.
    """
    if data is None or isinstance(data, Corpus):
        return data
    if isinstance(data, Chunks):
        return Corpus(ChunkTable.of(data), data.documents)
    if is_path(data):
        return _corpus_at(data)
    if isinstance(data, list | tuple) and data and all(isinstance(document, Document) for document in data):
        return Corpus(documents=data)
    raise InputError(
        f"corpus: cannot be read from {type(data).__name__}; pass a run folder, a JSONL file of chunks, Chunks, or "
        "a list of Documents"
    )


def _corpus_at(path: str | Path) -> Corpus:
    if (folder := find_run_folder(path)) is not None:
        if folder.documents is None:
            raise InputError(f"{path}: is the run of a system that names no chunks of its corpus; give them in JSONL")
        return Corpus(None if folder.chunks is None else ChunkTable.of(folder.chunks), folder.documents)
    if not os.path.isdir(path):
        source = Source(path)
        if formats.sniff(source) in ("json", "jsonl") and holds_chunks(source):
            return Corpus(read_chunks(source))
        if not source.can_be_read_again:
            raise InputError(
                f"{source.name}: holds no chunks (JSONL with `id`, `doc` and `text`); documents are read from "
                "files, whose suffixes say what they are"
            )
    from steelyard.data.loading import load

    return Corpus(documents=load(path).documents)


def _locate_truth(data: object) -> object:
    """A file as a Source, a folder as a Path; anything else as it is."""
    return data if not is_path(data) else Path(data) if str(data) != "-" and os.path.isdir(data) else Source(data)


def _open_gold(
    located: object, looked_up: bool, on_duplicate: OnDuplicate
) -> tuple[Truth | Questions, Mapping[str, Question]]:
    """Judged documents by id, or questions whose gold is looked up in chunks; and questions by id, if there are any.

    looked_up   whether the systems, or a corpus, have texts or places in which it can be
    """
    if isinstance(located, Path):
        return _open_folder(located, looked_up, on_duplicate)
    if isinstance(located, Source):
        return _open_file(located, looked_up, on_duplicate)
    if isinstance(located, Questions) or are_questions(located):
        questions = _open_queries(located)
        return questions, _by_id(questions)
    return located if isinstance(located, Truth) else Truth(located, on_duplicate=on_duplicate), {}


def _open_folder(
    folder: Path, looked_up: bool, on_duplicate: OnDuplicate
) -> tuple[Truth | Questions, Mapping[str, Question]]:
    if questions_file(folder) is not None or (looked_up and (folder / "qrels").is_dir()):
        questions = Questions.read(folder)
        return questions, _by_id(questions)
    file = beir_queries_file(folder)
    return Truth.read(folder, on_duplicate=on_duplicate), {} if file is None else LateQuestions(Source(file))


def _open_file(
    source: Source, looked_up: bool, on_duplicate: OnDuplicate
) -> tuple[Truth | Questions, Mapping[str, Question]]:
    """Questions whose gold is ids alone are judged documents, too, in whatever form they are."""
    format = question_format(source)
    if format == "jsonl" and not holds_rows(source, format) and not formats.holds_traces(source):
        source.hold()
        _, first = next(json_lines(source), (0, {}))
        if is_graded_row(first) or not (looked_up or holds_other_gold(source, first)):
            named = format if names_question(first) else None  # whatever the suffix
            truth = Truth.read(source, format=named, on_duplicate=on_duplicate)
            return truth, LateQuestions(source, is_open=True) if not is_graded_row(first) and says_more(source) else {}
    elif not holds_questions(source, format):
        return Truth.read(source, on_duplicate=on_duplicate), {}
    questions = Questions.read(source)
    by_ids = not looked_up and format == "json" and not questions.n_pieces and not holds_rows(source, format)
    has_labels = by_ids and any(question.labels is not None for question in questions)
    return questions.truth() if has_labels else questions, _by_id(questions)


def _by_id(questions: Questions) -> dict[str, Question]:
    return {question.query_id: question for question in questions}


def _open_queries(data: object) -> Questions:
    if isinstance(data, Questions):
        return data
    return Questions.read(data) if is_path(data) else Questions(data)


def _texts(corpus: Corpus | None, located_truth: object) -> Texts:
    """The texts of documents that runs and truth name by their ids."""
    if corpus is not None:
        return corpus.texts
    if not isinstance(located_truth, Path):
        return no_texts
    from steelyard.data.loading import beir_corpus, read_texts

    file = beir_corpus(located_truth)
    return no_texts if file is None else partial(read_texts, file)


def _in_hand(runs: object) -> object:
    """Runs that come from iterators, or as named tuples, as lists and frames, wherever a run may be."""
    runs = in_hand(runs)
    if isinstance(runs, list | tuple):
        return [in_hand(run) for run in runs]
    if isinstance(runs, Mapping) and not isinstance(next(iter(runs.values()), None), Mapping):
        return {name: in_hand(run) for name, run in runs.items()}
    return runs


def _named_runs(runs: object) -> _NamedRuns:
    """The runs of every system, one as a rule, with its name where the caller gives one."""
    if rows_of(runs) is not None:
        return [(None, (runs,))]
    if isinstance(runs, Mapping) and not _is_run_dict(runs):
        return [(str(name), _repeats(run)) for name, run in runs.items()]
    listed = runs if isinstance(runs, list | tuple) and not _are_results(runs) else [runs]
    return [named_paths(run) if isinstance(run, str) else (None, _repeats(run)) for run in listed]


def _repeats(run: object) -> Sequence[object]:
    return run.runs if isinstance(run, Repeats) else (run,)


def _locate_run(data: object) -> object:
    """A path as a RunFolder or a Source, rows and documents of other tools as a list or Outputs; else as it is."""
    if not is_path(data):
        are_traces = frame_format(columns_of(data)) is not None
        return Outputs(cast("Mapping[Any, Any]", data)) if are_traces or _are_responses(data) else rows_of(data) or data
    if (folder := find_run_folder(data)) is not None:
        return folder
    if read_bench_manifest(Path(data)) is not None:
        raise InputError(
            f"{data}: is the folder of a bench, whose lists are evaluated already; read it with `steelyard report`, or "
            "hold it against levels with `steelyard gate`"
        )
    if str(data) != "-" and os.path.isdir(data):
        raise InputError(f"{data}: is a folder but not of a run; it has no manifest.json{_runs_inside(Path(data))}")
    source = Source(data)
    return Outputs.read(source) if formats.holds_traces(source) else source


def _names_documents(run: object) -> bool:
    """True if outputs say of which documents their chunks are: by the first ones."""
    if isinstance(run, Source):
        return formats.sniff(run) == "jsonl" and b'"doc"' in run.head
    line = cast("list[dict[str, Any]]", run)[0] if _are_results(run) else {}
    items = line.get(result_key(line) or "")
    return isinstance(items, list) and any(isinstance(item, Mapping) and "doc" in item for item in items)


def _runs_inside(folder: Path) -> str:
    """Names of the runs that a folder holds, as half a sentence; nothing where its first entries are none."""
    entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))[:_ENTRIES]
    return f"; it holds runs, try {folder / '*'}" if any(map(_is_run, entries)) else ""


def _is_run(path: Path) -> bool:
    """True if a path looks like a run."""
    try:
        return find_run_folder(path) is not None if path.is_dir() else formats.looks_like_run(path)
    except (InputError, OSError):
        return False


def _systems(located: _NamedRuns, *, evidence: bool) -> list[System]:
    """The systems; names that files share are made distinct by their folders."""
    twins: dict[str, RunFolder] = {}
    several = sum(len(repeats) for _, repeats in located) > 1
    systems = []
    for name, repeats in located:
        own = name if len(repeats) == 1 else None
        first, *others = (_system(run, own, twins, evidence=evidence, several=several) for run in repeats)
        systems.append(replace(first, name=name or first.name, repeats=tuple(others)) if name or others else first)
    if not systems:
        raise InputError("there is no run; pass one or several")
    return _distinct(systems, [None if name else repeats[0] for name, repeats in located])


def _system(run: object, name: str | None, twins: dict[str, RunFolder], *, evidence: bool, several: bool) -> System:
    """One run;   twins   digest -> the first folder with the same chunks;   several   whether there are others"""
    if not evidence:
        rankings = _rankings(run, name)
        if isinstance(run, Source) and several:
            run.release()
        folder = run if isinstance(run, RunFolder) else None
        return System(
            name or rankings.name, rankings, folder=folder, answered=LateOutputs(_outputs, (run, name)),
            notes=run.notes if isinstance(run, Outputs) else (),
        )  # fmt: skip
    if isinstance(run, RunFolder) and (digest := run.chunks_digest) is not None:
        first = twins.setdefault(digest, run)
        run = run if first is run else replace(run, twin=first)
    outputs = _outputs(run, name)
    folder = run if isinstance(run, RunFolder) else None
    answered = LateOutputs(_outputs, (outputs, None))
    return System(name or outputs.name, outputs.run, outputs, folder, answered=answered, notes=outputs.notes)


@dataclass(frozen=True, eq=False)
class LateOutputs:
    """The outputs of a run, read by a function of some values when they are first asked for."""

    read: Callable[..., Outputs]
    values: Sequence[object]

    def __call__(self) -> Outputs:
        """The outputs."""
        return self._outputs

    @cached_property
    def _outputs(self) -> Outputs:
        return self.read(*self.values)


def _are_results(data: object) -> bool:
    """True if a list holds results of questions rather than runs."""
    return (
        isinstance(data, list | tuple)
        and bool(data)
        and isinstance(data[0], Mapping)
        and (result_key(data[0]) is not None or "error" in data[0] or is_row(data[0]) or answer_of(data[0]) is not None)
    )


def _are_responses(data: object) -> TypeGuard[Mapping[Any, Any]]:
    """True if this maps questions to what a system gave.

    That is lists of what is more than an id, such as LangChain's documents, or dicts with such a list or an answer.
    """
    values = data.values() if isinstance(data, Mapping) else ()
    first = next((value for value in values if not isinstance(value, Mapping) or value), None)
    if isinstance(first, Mapping):
        key = result_key(first)
        return isinstance(answer_of(first), str) or (key is not None and isinstance(first[key], list | tuple))
    return (
        isinstance(first, list | tuple)
        and bool(first)
        and not isinstance(first[0], str)
        and not is_whole_number(first[0])
    )


def _is_run_dict(data: Mapping[Any, Any]) -> bool:
    """True if a dict is {query_id: ranking} rather than {name: run}: its values hold ids or numbers, not runs."""
    first = next((value for value in data.values() if not isinstance(value, Mapping) or value), None)
    if rows_of(first) is not None:
        return False
    if isinstance(first, list | tuple):
        return not _are_results(first)
    if (
        isinstance(first, Run | StreamedRun | Outputs | Repeats)
        or is_path(first)
        or is_frame(first)
        or ranx_dict(first) is not None
    ):
        return False
    if isinstance(first, Mapping):
        return _are_responses(data) or not isinstance(next(iter(first.values()), None), Mapping | list)
    return True


def _rankings(run: object, name: str | None) -> Run | StreamedRun:
    if isinstance(run, Run | StreamedRun):
        return run
    if isinstance(run, Outputs):
        return run.run
    if isinstance(run, RunFolder):
        rankings = StreamedRun(run.outputs, name=name or run.name)
        if not isinstance(rankings.content, RunDict):
            rankings.content = RunReader(rankings.name, rankings.content, run)
        rankings.digest = rankings.rankings_digest
        return rankings
    if isinstance(run, Source):
        return StreamedRun(run, name=name)
    if _are_results(run):
        return Outputs(cast("list[dict[str, Any]]", run), name=name or "run").run
    return Run(run, name=name or "run")


def _outputs(run: object, name: str | None) -> Outputs:
    if isinstance(run, Outputs):
        return run
    if isinstance(run, RunFolder | Source):
        return Outputs.read(run, name=name)
    if _are_results(run):
        return Outputs(cast("list[dict[str, Any]]", run), name=name or "run")
    if isinstance(run, StreamedRun):
        raise InputError(
            f"{run.name}: pass the path, or Outputs.read(path), where gold is evidence, or answers are evaluated"
        )
    return Outputs.of_run(run if isinstance(run, Run) else Run(run, name=name or "run"))


def _distinct(systems: list[System], located: Sequence[object]) -> list[System]:
    names = [system.name for system in systems]
    if len(set(names)) == len(names):
        return systems
    longer = [
        f"{run.path.resolve().parent.name}/{name}"
        if isinstance(run, RunFolder | Source) and names.count(name) > 1
        else name
        for name, run in zip(names, located, strict=True)
    ]
    if len(set(longer)) < len(longer):
        twice = next(name for name, long in zip(names, longer, strict=True) if longer.count(long) > 1)
        raise InputError(
            f"two runs are called {twice!r}; name each file once, or rename one: NAME=FILE ({{name: run}}); "
            "several runs of one system are NAME=FILE,FILE ({name: Repeats(runs)})"
        )
    return [replace(system, name=name) for system, name in zip(systems, longer, strict=True)]
