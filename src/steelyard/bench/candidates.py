"""What rerankers are given: for each question the results of a first search, best first, with their texts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from steelyard.base.errors import InputError, quoted
from steelyard.base.notes import Note
from steelyard.base.options import WeighOptions
from steelyard.base.progress import Progress
from steelyard.base.schema import canonical_order
from steelyard.bench.config import BenchConfig
from steelyard.data.folders.run_folder import find_run_folder
from steelyard.data.outputs import Outputs
from steelyard.data.question_files import beir_queries_file
from steelyard.data.questions import Questions
from steelyard.data.truth import Truth
from steelyard.experiment.door.opening import Inputs, open_inputs
from steelyard.io import formats
from steelyard.io.json_files import json_lines, query_id_of
from steelyard.io.objects import text_id
from steelyard.io.source import Source
from steelyard.rag.config import Config
from steelyard.rag.runs.running import run
from steelyard.rag.weighed_run import read_system

_NAMED = 5
"""So many of the things that a message is about are named."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The lists of a first search.

    name       of the run that they are from
    query_ids  every question of the truth, in ascending order
    queries    query_id -> what is asked
    doc_ids    query_id -> the whole list, best first; empty or absent where the search gave nothing
    texts      doc_id -> its text, of every candidate that some depth reaches
    notes      what a reader should know: duplicates, empty texts, documents left out, lists shorter than a depth
    inputs     that they are from, with the truth; None opens them anew where that is needed
    """

    name: str
    query_ids: Sequence[str]
    queries: Mapping[str, str]
    doc_ids: Mapping[str, Sequence[str]]
    texts: Mapping[str, str]
    notes: Sequence[Note] = ()
    inputs: Inputs | None = field(default=None, repr=False)

    def first(self, query_id: str, depth: int | None) -> Sequence[str]:
        """The candidates that are reranked: the first `depth`, or all where there are fewer."""
        return self.doc_ids.get(query_id, ())[:depth]

    @property
    def searched(self) -> list[str]:
        """The questions that have candidates, in their order."""
        return [query_id for query_id in self.query_ids if self.doc_ids.get(query_id)]


def open_candidates(config: BenchConfig) -> Candidates:
    """The candidates that a bench names, with their texts.

    Lists are in the order of the run, equal scores by document, descending, as everywhere.  A document that is there
    twice counts where it is ranked higher.  Of a pipeline that reranks, they are the lists before its reranker.
    Raises   InputError for what is not named or cannot be read, for questions and candidates without a text, and where
             no question of the truth has candidates.
    """
    inputs = open_bench_inputs(config)
    with config.origin.locating("candidates"):
        return _candidates(inputs, config)


def open_bench_inputs(config: BenchConfig) -> Inputs:
    """Truth and candidates of a bench as `weigh` opens them: one system, that of the candidates.

    The configuration of a pipeline names its questions itself, and a folder in BEIR's layout its queries.
    Raises   InputError and its children, naming the file.
    """
    path = candidates_path(config)
    queries = config.questions or _queries_beside(config.documents)
    return open_inputs(_truth(config, path), [path], WeighOptions(documents=config.documents, questions=queries))


def _truth(config: BenchConfig, candidates: Path) -> str | Path:
    if config.truth is not None:
        return config.truth
    search, folder = first_search(config), find_run_folder(candidates)
    if search is not None and search.questions is not None:
        return search.questions
    if folder is not None:
        return folder.questions
    raise InputError(f'{config.origin.place()}names no truth; name judged documents, or questions: truth = "qrels.txt"')


def _queries_beside(documents: Path | None) -> Path | None:
    """The queries of a folder in BEIR's layout, of which the documents are named."""
    if documents is None:
        return None
    return beir_queries_file(documents if documents.is_dir() else documents.parent)


def _candidates(inputs: Inputs, config: BenchConfig) -> Candidates:
    outputs = inputs.systems[0].answered()
    gold = inputs.gold
    # In the order of scores, so that times of neighbouring questions are neighbours in time there, too.
    query_ids = list(gold.query_ids) if isinstance(gold, Truth) else sorted(question.query_id for question in gold)
    lists, notes = _lists(outputs, query_ids, config)
    if not any(lists.values()):
        raise InputError(
            f"{outputs.name}: has no list for any of the {len(query_ids)} questions of {inputs.gold.name}, such as "
            f"{quoted(query_ids[0])}; check that both name the same questions"
        )
    _refuse_unlabelled(inputs.gold, lists, outputs.name)
    reached = dict.fromkeys(doc for listed in lists.values() for doc in listed[: config.depths[-1]])
    texts = _texts(list(reached), outputs, inputs)
    queries = _queries([query_id for query_id, listed in lists.items() if listed], inputs)
    notes += [*_named("candidates_empty", [doc for doc, text in texts.items() if not text.strip()])]
    notes += [*_short(lists, config.depths)]
    return Candidates(outputs.name, query_ids, queries, doc_ids=lists, texts=texts, notes=tuple(notes), inputs=inputs)


def _refuse_unlabelled(gold: Truth | Questions, lists: Mapping[str, Sequence[str]], name: str) -> None:
    """Refuse lists of other things than those that the truth names: no order of them is better than another."""
    if not isinstance(gold, Truth):
        return
    labels = zip(gold.query_ids, gold.labels, strict=True)
    if not any(not labelled.keys().isdisjoint(lists[query_id]) for query_id, labelled in labels):
        raise InputError(
            f"{name}: no candidate of any question has a label in {gold.name}; check that both name the same things. A "
            "run folder names chunks, such as doc#1: evaluate it by questions, or by a folder in BEIR's layout"
        )


def _lists(outputs: Outputs, query_ids: Sequence[str], config: BenchConfig) -> tuple[dict[str, list[str]], list[Note]]:
    """query_id -> documents, best first, of every question; and what was done to the lists."""
    notes = list[Note]()
    if outputs.candidates is not None and (outputs.folder is None or outputs.folder.reranks is not False):
        notes.append(Note("candidates_before_reranking", {"name": outputs.name}))
    asked = pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String})
    frame = canonical_order(_first_search(outputs).drop_nulls("doc_id").join(asked, on="query_id", how="semi"))
    once = frame.unique(["query_id", "doc_id"], keep="first", maintain_order=True)
    if once.height < frame.height:
        twice = frame.filter(pl.struct("query_id", "doc_id").is_duplicated())["query_id"].unique(maintain_order=True)
        n, names = frame.height - once.height, twice.head(_NAMED).to_list()
        notes.append(Note("candidates_duplicate", {"n": n, "names": names}))
    if config.exclude is not None:
        rest = once.join(_excluded(config.exclude), on=["query_id", "doc_id"], how="anti", maintain_order="left")
        notes.append(Note("candidates_excluded", {"n": once.height - rest.height, "name": config.exclude.name}))
        once = rest
    grouped = once.group_by("query_id", maintain_order=True).agg("doc_id")
    by_id = dict(zip(grouped["query_id"].to_list(), grouped["doc_id"].to_list(), strict=True))
    return {query_id: by_id.get(query_id, []) for query_id in query_ids}, notes


def _first_search(outputs: Outputs) -> pl.DataFrame:
    """Rows of the lists as deep as the search gave them: the candidates of a question, else its results."""
    if outputs.candidates is None:
        return outputs.run.frame
    candidates = outputs.candidates.frame
    return pl.concat([candidates, outputs.run.frame.join(candidates, on="query_id", how="anti", maintain_order="left")])


def _excluded(path: Path) -> pl.DataFrame:
    """query_id and doc_id of what is left out.

    Raises   InputError for a line of JSONL without `exclude`, and as `Truth.read` does for any other file.
    """
    source = Source(path)
    if formats.sniff(source) != "jsonl":
        return Truth.read(source).frame.select("query_id", "doc_id").drop_nulls()
    rows = list[tuple[str, str]]()
    for number, line in json_lines(source):
        where = f"{source.name}, line {number}"
        if not isinstance(listed := line.get("exclude"), list):
            raise InputError(f"{where}: must have `exclude`, a list of documents (keys: {', '.join(line) or 'none'})")
        rows += [(query_id_of(line, where), text_id(doc, where, "a document of `exclude`")) for doc in listed]
    return pl.DataFrame(rows, schema={"query_id": pl.String, "doc_id": pl.String}, orient="row")


def _texts(doc_ids: Sequence[str], outputs: Outputs, inputs: Inputs) -> dict[str, str]:
    """Texts of the candidates, of the run's own chunks first."""
    rows, of_chunks = outputs.table.row_of, outputs.table.texts
    own = {id: text for id in doc_ids if id in rows and (text := of_chunks[rows[id]]) is not None}
    others = [id for id in doc_ids if id not in own]
    texts = own | dict(inputs.texts(others))
    if absent := [id for id in doc_ids if id not in texts]:
        advice = (
            'name the documents with their texts: documents = "corpus.jsonl"'
            if len(absent) == len(doc_ids)
            else "add them to the documents, or leave them out with `exclude`"
        )
        raise InputError(f"{outputs.name}: {_without_text(absent, len(doc_ids), 'candidate')}; {advice}")
    return {id: texts[id] for id in doc_ids}


def _queries(query_ids: Collection[str], inputs: Inputs) -> dict[str, str]:
    """The texts of these questions."""
    queries = {
        query_id: question.query
        for query_id in query_ids
        if (question := inputs.questions.get(query_id)) is not None and question.query and question.query.strip()
    }
    if absent := [query_id for query_id in query_ids if query_id not in queries]:
        advice = (
            'name the file that says what is asked: questions = "queries.jsonl"'
            if len(absent) == len(query_ids)
            else "add them to the questions, or take them out of the truth"
        )
        raise InputError(f"{inputs.gold.name}: {_without_text(absent, len(query_ids), 'question')}; {advice}")
    return queries


def _without_text(absent: Sequence[str], n: int, noun: str) -> str:
    names = ", ".join(map(quoted, absent[:_NAMED])) + (", ..." if len(absent) > _NAMED else "")
    return f"{len(absent)} of {n} {noun}{'s' if n != 1 else ''} without a text ({names})"


def _short(lists: Mapping[str, Sequence[str]], depths: Iterable[int]) -> Iterable[Note]:
    """A note on the depths that some lists do not reach, and on the shortest of these lists."""
    counts = {depth: sum(len(listed) < depth for listed in lists.values()) for depth in depths}
    if n := max(counts.values()):
        names = sorted(lists, key=lambda query_id: len(lists[query_id]))[: min(n, _NAMED)]
        depths_text = ", ".join(f"{depth} ({n:,})" for depth, n in counts.items() if n)
        yield Note("candidates_short", {"n": n, "total": len(lists), "depths": depths_text, "names": names})


def _named(code: str, names: Sequence[str]) -> Iterable[Note]:
    if names:
        yield Note(code, {"n": len(names), "names": list(names[:_NAMED])})


def first_search(config: BenchConfig) -> Config | None:
    """The configuration that the candidates are from; None where they are a run that is there.

    It asks its own questions, else those of the bench.
    Raises   InputError for a configuration that cannot be read.
    """
    if config.candidates is None or config.candidates.suffix != ".toml":
        return None
    search = Config.read(config.candidates)
    return search.model_copy(update={"questions": search.questions or config.questions or config.truth})


def search_candidates(config: BenchConfig, *, overwrite: bool = False, progress: Progress | None = None) -> None:
    """Run the first search of a bench into the run folder that its configuration names, as `steelyard run` does.

    overwrite   replace a run of another configuration.  One that is finished is not run again in any case, and one that
                was interrupted goes on
    progress    called as progress(stage, done, total)
    Raises      InputError, StageError and OutputError as `steelyard.rag.runs.running.run` does.
    """
    search = first_search(config)
    if search is None:
        return
    if search.questions is None:
        raise InputError(f'{search.origin.name}: names no questions to ask; name them: questions = "questions.jsonl"')
    questions = Questions.read(search.questions)
    system = read_system(search.with_unit_of(questions))
    run(system, questions, search.folder, overwrite=overwrite, anew=False, progress=progress)


def candidates_path(config: BenchConfig) -> Path:
    """The run that candidates are read from.

    Raises   InputError where none is named, and where it is to be run first.
    """
    if config.candidates is None:
        raise InputError(
            f"{config.origin.place()}names no candidates; name a run, a run folder, or the configuration of a "
            'pipeline: candidates = "bm25.run"'
        )
    search = first_search(config)
    if search is None:
        return config.candidates
    if find_run_folder(search.folder) is None:
        raise InputError(
            f"{search.folder}: holds no run of {config.candidates.name} yet; run it first: "
            f"steelyard run {config.candidates}"
        )
    return search.folder
