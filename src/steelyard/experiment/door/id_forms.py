"""Ids in one Unicode form: of questions and documents, in truth, runs, corpus, verdicts and labels, where asked for."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Generator, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import polars as pl

from steelyard.base.choices import IdForm
from steelyard.base.errors import DuplicateError
from steelyard.base.schema import FrameReader
from steelyard.data.chunk_table import ChunkTable, Corpus
from steelyard.data.corpus import Document
from steelyard.data.outputs import Outputs
from steelyard.data.question import Question
from steelyard.data.questions import Questions
from steelyard.data.run import Run, StreamedRun
from steelyard.data.truth import Truth
from steelyard.experiment.door.opening import LateOutputs, System
from steelyard.io.formats import TruthFile
from steelyard.io.objects import RunDict

if TYPE_CHECKING:
    from steelyard.experiment.door.opening import Inputs, Texts
    from steelyard.judges.people.review import Review
    from steelyard.judges.tables.verdicts import Verdicts

_V = TypeVar("_V")


def same_form(inputs: Inputs, form: IdForm | None) -> Inputs:
    """The same with all ids in one form; fingerprints stay those of the files.

    Raises   InputError, DuplicateError where two ids of one side are one in that form.
    """
    if form is None:
        return inputs
    gold = inputs.gold
    return replace(
        inputs,
        gold=_truth(gold) if isinstance(gold, Truth) else _questions(gold),
        systems=[_system(system) for system in inputs.systems],
        questions={_nfc(id): _question(question) for id, question in inputs.questions.items()},
        corpus=None if inputs.corpus is None else _corpus(inputs.corpus),
        texts=partial(_found, inputs.texts),
    )


def verdicts_in_form(verdicts: Verdicts, form: IdForm | None) -> Verdicts:
    """The same verdicts, on questions and chunks by ids in one form."""
    if form is None:
        return verdicts
    from steelyard.judges.tables.verdicts import Verdicts

    records = [
        replace(
            record,
            query_id=_nfc(record.query_id),
            context=None if record.context is None else tuple(map(_nfc, record.context)),
        )
        for record in verdicts.records.values()
    ]
    return Verdicts(records, verdicts.recipe, errors=verdicts.errors)


def review_in_form(review: Review, form: IdForm | None) -> Review:
    """The same review, where questions were drawn, by ids in one form; items have ids of their own."""
    if form is None:
        return review
    from steelyard.judges.people.review import Review

    samples = [
        replace(
            sample,
            strata=tuple(
                replace(stratum, members=tuple(map(_nfc, stratum.members)), drawn=tuple(map(_nfc, stratum.drawn)))
                for stratum in sample.strata
            ),
        )
        for sample in review.samples
    ]
    return Review(samples, review.labels)


def clusters_in_form(cluster: str | Mapping[str, _V], form: IdForm | None) -> str | Mapping[str, _V]:
    """Clusters by questions, with their ids in one form; a field of questions as it is."""
    return cluster if form is None or not isinstance(cluster, Mapping) else _unique(cluster, "cluster")


def _nfc(id: str) -> str:
    return unicodedata.normalize("NFC", id)


def _unique(by_id: Mapping[str, _V], where: str) -> dict[str, _V]:
    """A mapping by ids in one form.

    Raises   DuplicateError where two of them are one.
    """
    made: dict[str, _V] = {}
    for id, value in by_id.items():
        if _nfc(id) in made:
            raise DuplicateError(f"{where}: {_nfc(id)!r} is there twice, in two Unicode forms; remove one")
        made[_nfc(id)] = value
    return made


def _frame(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("query_id", "doc_id").str.normalize("NFC"))


@dataclass
class _Reader:
    """A reader of a run whose ids are brought into one form, batch by batch."""

    name: str
    reader: FrameReader

    def batches(self) -> Generator[pl.DataFrame]:
        """As the reader gives them."""
        yield from map(_frame, self.reader.batches())

    def locate(self, query_id: str, doc_id: str) -> str:
        """The file alone: its lines hold other forms."""
        return self.name


def _run(run: Run | StreamedRun) -> Run | StreamedRun:
    content = run.content.table() if isinstance(run.content, RunDict) else run.content
    made = copy(run)
    made.content = _Reader(content.name, content)
    made.__dict__.pop("frame", None)  # That of the ids as they were.
    if isinstance(made, Run):
        made._digest = run.digest
    return made


def _rankings(run: Run) -> Run:
    made = _run(run)
    assert isinstance(made, Run)
    return made


def _truth(truth: Truth) -> Truth:
    def frame() -> pl.DataFrame:
        return _frame(truth.frame)

    name = truth.name
    return Truth(TruthFile(name, frame, lambda query, doc: name, truth.digest, lambda: truth.judged_by))


def _question(question: Question) -> Question:
    evidence = tuple(replace(piece, doc=_nfc(piece.doc), chunk_id=_nfc(piece.chunk_id)) for piece in question.evidence)
    labels = None if question.labels is None else _unique(question.labels, question.where)
    return replace(question, query_id=_nfc(question.query_id), evidence=evidence, labels=labels)


def _questions(questions: Questions) -> Questions:
    made = Questions.of(map(_question, questions), name=questions.name)
    made.unjudged = [_nfc(id) for id in questions.unjudged]
    made.digest = questions.digest  # type: ignore[method-assign]
    return made


def _table(table: ChunkTable, where: str) -> ChunkTable:
    ids = list(_unique(dict.fromkeys(table.ids), where))
    return replace(table, ids=ids, docs=[None if doc is None else _nfc(doc) for doc in table.docs])


def _documents(documents: Iterable[Document]) -> list[Document]:
    return [replace(document, doc_id=_nfc(document.doc_id)) for document in documents]


def _corpus(corpus: Corpus) -> Corpus:
    return Corpus(
        None if corpus.chunks is None else _table(corpus.chunks, "corpus"),
        None if corpus.documents is None else _documents(corpus.documents),
    )


def _outputs(outputs: Outputs) -> Outputs:
    by_id = {
        name: _unique(getattr(outputs, name), outputs.name)
        for name in ("answers", "failures", "unanswered", "latency_ms")
    }
    made = outputs.changed(
        run=_rankings(outputs.run),
        candidates=None if outputs.candidates is None else _rankings(outputs.candidates),
        table=_table(outputs.table, outputs.name),
        chunks=outputs.chunks and replace(outputs.chunks, documents=_documents(outputs.chunks.documents)),
        documents=None if outputs.documents is None else _documents(outputs.documents),
        unlisted=frozenset(map(_nfc, outputs.unlisted)),
        **by_id,
    )
    made.digest = outputs.digest  # type: ignore[method-assign]
    return made


def _answered(answered: Callable[[], Outputs]) -> Outputs:
    return _outputs(answered())


def _system(system: System) -> System:
    answered = LateOutputs(_answered, (system.answered,))
    outputs = None if system.outputs is None else answered()
    return replace(
        system,
        run=_run(system.run) if outputs is None else outputs.run,
        outputs=outputs,
        answered=answered,
        repeats=tuple(_system(other) for other in system.repeats),
    )


def _found(texts: Texts, ids: Collection[str]) -> dict[str, str]:
    """Texts by ids in one form, of a collection that may have another."""
    forms = {*ids, *(unicodedata.normalize("NFD", id) for id in ids)}
    return {_nfc(id): text for id, text in texts(forms).items()}
